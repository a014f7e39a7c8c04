"""Servers that send a request elsewhere, never end, or take their time: nothing leaks, fills the disk or waits."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="the extra feeds is not installed")

from clusterwright.errors import EXIT_BAD_INPUT  # noqa: E402
from clusterwright.feeds import download  # noqa: E402
from clusterwright.feeds.download import FeedError, Fetcher, Manners, Request  # noqa: E402

from .server import Answer, Asked, Server, scripted, serving  # noqa: E402

PROGRAM = "from clusterwright.cli.main import run; run()"
KEY = {"x-goog-api-key": "secret"}


def fetch(url: str, folder: Path, *, hosts: tuple[str, ...] = (), body: str = "", **manners: Any) -> bytes:  # noqa: ANN401
    """Return what is fetched with a key."""
    settings = Manners(**({"pause_s": 0.0, "first_wait_s": 0.0} | manners))
    with Fetcher(manners=settings, redirect_hosts=hosts) as fetcher:
        return fetcher.fetch(Request(url=url, kind="json", headers=KEY, body=body), folder / "list").read_bytes()


def elsewhere(server: Server, host: str) -> str:
    """Return a server's address under another name of the loopback."""
    return server.url.replace("127.0.0.1", host)


def redirecting(to: Callable[[], str], status: int = 302) -> Callable[[Asked], Answer]:
    """Answer everything with a redirect."""
    return lambda _asked: Answer(status=status, headers={"Location": to()})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_another_host_is_not_asked(tmp_path: Path, status: int, host: str) -> None:
    """A redirect to another host, or another port, ends in a sentence; the other server hears nothing."""
    with serving(scripted(Answer(body=b"[1]"))) as other:
        target = elsewhere(other, host)
        with serving(redirecting(lambda: target, status)) as server, pytest.raises(FeedError, match="another host"):
            fetch(server.url, tmp_path)
    assert other.asked == []
    assert list(tmp_path.iterdir()) == []


def test_an_allowed_host_gets_no_key(tmp_path: Path) -> None:
    """With --redirect-to the document comes from there, and the key stays with the host that was named."""
    with (
        serving(scripted(Answer(body=b"[1]"))) as other,
        serving(redirecting(lambda: elsewhere(other, "localhost"))) as server,
    ):
        assert fetch(server.url, tmp_path, hosts=("LOCALHOST",)) == b"[1]"
    assert server.asked[0].headers["x-goog-api-key"] == "secret"
    assert "x-goog-api-key" not in other.asked[0].headers


def test_the_same_host_gets_the_key_once(tmp_path: Path) -> None:
    """A redirect on the same host is followed, without the key."""

    def answer(asked: Asked) -> Answer:
        return Answer(body=b"[1]") if asked.path == "/b" else Answer(status=307, headers={"Location": "/b"})

    with serving(answer) as server:
        assert fetch(f"{server.url}/a", tmp_path, body="{}") == b"[1]"
    assert [(one.path, "x-goog-api-key" in one.headers, one.body) for one in server.asked] == [
        ("/a", True, b"{}"),
        ("/b", False, b"{}"),
    ]


@pytest.mark.parametrize(
    "to", ["https://127.0.0.1/x", "file:///etc/passwd", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"]
)
def test_another_scheme_is_not_followed(tmp_path: Path, to: str) -> None:
    """Neither another protocol nor an address with a login is followed."""
    with serving(redirecting(lambda: to)) as server, pytest.raises(FeedError, match="another scheme or login"):
        fetch(server.url, tmp_path, hosts=("127.0.0.1",))


def test_a_circle_ends(tmp_path: Path) -> None:
    """A server that redirects to itself for ever is left after a few hops, in words."""
    with serving(redirecting(lambda: "/again")) as server, pytest.raises(FeedError, match="more than 5 times") as error:
        fetch(server.url, tmp_path)
    assert error.value.exit_code == EXIT_BAD_INPUT
    assert len(server.asked) == 6


@pytest.mark.parametrize("to", ["http://[", "http://127.0.0.1:99999/", "//", "\x00"])
def test_an_address_that_is_none_ends_in_words(tmp_path: Path, to: str) -> None:
    """A redirect to nonsense is an error for people."""
    with serving(redirecting(lambda: to)) as server, pytest.raises(FeedError):
        fetch(server.url, tmp_path, attempts=1)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2600::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:8.8.8.8", True),
        ("100.64.0.1", False),
        ("nonsense", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    """Loopback, link-local, private and shared addresses are none, in IPv4, IPv6 and mapped."""
    assert download._is_global(address) is public


def test_a_public_host_does_not_lead_to_a_private_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even an allowed host is refused where its address is private and the first one's was not."""
    monkeypatch.setattr(download, "_is_public", lambda host: host == "127.0.0.1")
    with (
        serving(scripted(Answer(body=b"[1]"))) as other,
        serving(redirecting(lambda: elsewhere(other, "localhost"))) as server,
        pytest.raises(FeedError, match="a private address"),
    ):
        fetch(server.url, tmp_path, hosts=("localhost",))
    assert other.asked == []


def test_a_name_that_moves_to_a_private_address_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers after a redirect is checked too: a name server may give another address the second time."""
    seen = itertools.count()
    monkeypatch.setattr(download, "_is_global", lambda address: bool(address) and next(seen) == 0)
    with (
        serving(redirecting(lambda: "/again")) as server,
        pytest.raises(FeedError, match="led from the public address"),
    ):
        fetch(server.url, tmp_path)


@contextmanager
def dribbling(head: bytes, body: Iterator[bytes], pause_s: float) -> Iterator[str]:
    """Serve a head and a body in pieces, with a pause after each, until the client goes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                try:
                    for piece in itertools.chain((head[at : at + 1] for at in range(len(head))), body):
                        client.sendall(piece)
                        time.sleep(pause_s)
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


def test_a_head_that_never_ends_meets_the_deadline(tmp_path: Path) -> None:
    """A server that sends its answer's head byte by byte is left at the deadline."""
    with (
        dribbling(HEAD[:-2] + b"X: " + b"y" * 10_000, iter(()), 0.02) as url,
        pytest.raises(FeedError, match=r"within 0\.5 s"),
    ):
        fetch(url, tmp_path, deadline_s=0.5)
    assert list(tmp_path.iterdir()) == []


def test_a_trickle_is_broken_off(tmp_path: Path) -> None:
    """A byte now and then is no answer, though no single wait is too long."""
    with (
        dribbling(HEAD, itertools.repeat(b"1"), 0.005) as url,
        pytest.raises(FeedError, match=r"\d+ bytes a second arrive"),
    ):
        fetch(url, tmp_path, attempts=2, rate_window_s=0.2, least_bytes_per_s=100_000)


def test_a_stream_without_end_is_cut(tmp_path: Path) -> None:
    """An answer larger than any price list is left while it arrives, and nothing of it stays."""
    with (
        dribbling(HEAD, itertools.repeat(b"1," * 50_000), 0.0) as url,
        pytest.raises(FeedError, match="so it is no price list"),
    ):
        fetch(url, tmp_path, most_bytes=5_000_000)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_is_noticed(tmp_path: Path) -> None:
    """Before the disk is full, the answer is left and its part removed."""
    with serving(scripted(Answer(body=b"[1]"))) as server, pytest.raises(FeedError, match="too little room"):
        fetch(server.url, tmp_path, least_free_bytes=2**62)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_ended_leaves_no_temporary_folder(tmp_path: Path) -> None:
    """SIGTERM in the middle of a fetch removes what was fetched, and the exit code says so."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with dribbling(HEAD, itertools.repeat(b"1," * 500), 0.01) as url:
        command = [sys.executable, "-c", PROGRAM, "prices", "fetch", "oci", "--url", url]
        program = subprocess.Popen(
            [*command, "--store", tmp_path / "prices.duckdb"],
            env={**os.environ, "TMPDIR": str(temporary)},
            stderr=subprocess.PIPE,
        )
        assert program.stderr is not None
        # The first line comes with the first block.
        assert program.stderr.readline().startswith(b"fetching")
        assert any(temporary.iterdir())
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=60)
    assert program.returncode == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []
