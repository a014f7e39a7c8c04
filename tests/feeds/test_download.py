"""Fetching a document from a server that breaks off, asks to wait, changes its mind, or answers with something else."""

from pathlib import Path

import pytest

httpx = pytest.importorskip("httpx", reason="the extra feeds is not installed")

from clusterwright.feeds.download import FeedError, Fetcher, Manners, Request  # noqa: E402

from .server import Answer, Asked, Server, scripted, serving  # noqa: E402

BODY = b"[" + b"1," * 50_000 + b"2]"


def _fetch(server: Server, folder: Path, *, kind: str = "json", **manners: float) -> tuple[bytes, list[float]]:
    waits: list[float] = []
    with Fetcher(manners=Manners(**({"pause_s": 0.0} | manners)), sleep=waits.append) as fetcher:  # type: ignore[arg-type]
        path = fetcher.fetch(Request(url=f"{server.url}/list?x=1", kind=kind), folder / "list")
    assert [entry.name for entry in folder.iterdir()] == ["list"]
    return path.read_bytes(), waits


def test_a_whole_document(tmp_path: Path) -> None:
    """What the server has is in the file, asked for once and without a compression of the way."""
    with serving(scripted(Answer(body=BODY))) as server:
        assert _fetch(server, tmp_path) == (BODY, [])
    assert [entry.headers["accept-encoding"] for entry in server.asked] == ["identity"]


def _of_a_version(asked: Asked, tag: str, body: bytes) -> Answer:
    """Answer as servers with ranges do: the rest of the same version, all of another one."""
    headers = {"ETag": tag}
    if "range" in asked.headers and asked.headers.get("if-range") == tag:
        start = int(asked.headers["range"].removeprefix("bytes=").removesuffix("-"))
        span = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
        return Answer(body=body[start:], status=206, headers=headers | span)
    return Answer(body=body, headers=headers)


def test_what_broke_off_is_resumed(tmp_path: Path) -> None:
    """After a broken connection only the rest is asked for."""

    def answer(asked: Asked) -> Answer:
        whole = _of_a_version(asked, '"v1"', BODY)
        cut = 30_000 if len(server.asked) < 3 else None
        return Answer(body=whole.body, status=whole.status, headers=whole.headers, cut_at=cut)

    with serving(answer) as server:
        assert _fetch(server, tmp_path) == (BODY, [1.0, 2.0])
    assert [entry.headers.get("range") for entry in server.asked] == [None, "bytes=30000-", "bytes=60000-"]


def test_a_document_that_changed_meanwhile_is_begun_again(tmp_path: Path) -> None:
    """The rest of another version never ends up behind the start of the first one."""
    other = BODY.replace(b"1", b"3")

    def answer(asked: Asked) -> Answer:
        if len(server.asked) == 1:
            return Answer(body=BODY, headers={"ETag": '"v1"'}, cut_at=1000)
        return _of_a_version(asked, '"v2"', other)

    with serving(answer) as server:
        assert _fetch(server, tmp_path)[0] == other
    assert server.asked[1].headers["if-range"] == '"v1"'


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"weak"'}])
def test_without_a_version_nothing_is_resumed(tmp_path: Path, headers: dict[str, str]) -> None:
    """Where nothing sure names the version, the second attempt begins anew."""
    cut, whole = Answer(body=BODY, headers=headers, cut_at=500), Answer(body=BODY, headers=headers)
    with serving(scripted(cut, whole)) as server:
        assert _fetch(server, tmp_path)[0] == BODY
    assert "range" not in server.asked[1].headers


def test_a_server_that_gives_another_range_is_asked_again(tmp_path: Path) -> None:
    """A part from the wrong place is not appended."""

    def answer(_asked: Asked) -> Answer:
        tag = {"ETag": '"v1"'}
        if len(server.asked) == 1:
            return Answer(body=BODY, headers=tag, cut_at=500)
        if len(server.asked) == 2:
            return Answer(body=BODY[9:], status=206, headers=tag | {"Content-Range": f"bytes 9-{len(BODY) - 1}/9"})
        return _of_a_version(_asked, '"v1"', BODY)

    with serving(answer) as server:
        assert _fetch(server, tmp_path)[0] == BODY


def test_waits_as_long_as_asked(tmp_path: Path) -> None:
    """The wait is the server's where it says one, else longer each time, and never beyond the limit."""
    answers = (
        Answer(status=429, headers={"Retry-After": "7"}),
        Answer(status=503),
        Answer(status=503, headers={"Retry-After": "86400"}),
        Answer(body=BODY),
    )
    with serving(scripted(*answers)) as server:
        assert _fetch(server, tmp_path) == (BODY, [7.0, 2.0, 60.0])


def test_waits_are_reported(tmp_path: Path) -> None:
    """Before each wait: who, why, and how long; without the query, which may be long."""
    noted: list[str] = []
    answers = (Answer(status=429, headers={"Retry-After": "7"}), Answer(status=503), Answer(body=BODY))
    with (
        serving(scripted(*answers)) as server,
        Fetcher(manners=Manners(pause_s=0.0), sleep=lambda _: None, noted=noted.append) as fetcher,
    ):
        fetcher.fetch(Request(url=f"{server.url}/list?x=1", kind="json"), tmp_path / "list")
        place = f"{server.url}/list"
    assert noted == [f"{place}: HTTP 429; again in 7 s", f"{place}: HTTP 503; again in 2 s"]


def test_requests_keep_a_distance(tmp_path: Path) -> None:
    """Two requests of one run are at least the pause apart."""
    waits: list[float] = []
    with (
        serving(scripted(Answer(body=BODY))) as server,
        Fetcher(manners=Manners(pause_s=1000.0), sleep=waits.append) as fetcher,
    ):
        for name in ("a", "b"):
            fetcher.fetch(Request(url=server.url, kind="json"), tmp_path / name)
    assert len(waits) == 1
    assert 900 < waits[0] <= 1000


HTML = b"\n <!DOCTYPE html><html><body>Service unavailable</body></html>"


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (Answer(status=404), "json", "answers HTTP 404"),
        (Answer(status=403), "json", "refuses"),
        (Answer(status=500), "json", "after 3 attempts: HTTP 500"),
        (Answer(body=HTML, headers={"Content-Type": "text/html; charset=utf-8"}), "json", "text/html instead of JSON"),
        (Answer(body=HTML), "json", "HTML or XML instead of JSON"),
        (Answer(body=HTML, headers={"Content-Type": "text/csv"}), "csv", "HTML or XML instead of CSV"),
        (Answer(body=b"a,b\n1,2\n"), "json", "no JSON instead of JSON"),
        (Answer(body=b"a\0b"), "csv", "binary data instead of CSV"),
        (Answer(body=b" \n"), "csv", "nothing instead of CSV"),
        (Answer(body=BODY, headers={"Content-Encoding": "gzip"}), "json", "answers in gzip"),
        (Answer(body=BODY, cut_at=10), "json", "after 3 attempts"),
        (Answer(body=b"[" + b" " * 300_000, say_length=True), "json", "larger than"),
        (Answer(body=b"[" + b" " * 300_000, say_length=False), "json", "larger than"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, answer: Answer, kind: str, said: str) -> None:
    """An error page, another type, too much, or too little ends with the reason, and no file is left."""
    with serving(scripted(answer)) as server, pytest.raises(FeedError, match=said) as caught:
        _fetch(server, tmp_path, kind=kind, attempts=3, most_bytes=200_000)
    assert caught.value.help or "gzip" in said
    assert "?x=1" not in caught.value.message
    assert not (tmp_path / "list").exists()


def test_nobody_listens(tmp_path: Path) -> None:
    """A server that is not there is reported after the attempts, and an address that is none at once."""
    with serving(scripted(Answer())) as server:
        pass
    with pytest.raises(FeedError, match="cannot be had after 2 attempts"):
        _fetch(server, tmp_path, attempts=2)
    for url in ("http://[", "example", "ftp://example/list"):
        with Fetcher(sleep=lambda _: None) as fetcher, pytest.raises(FeedError):
            fetcher.fetch(Request(url=url, kind="json"), tmp_path / "x")


def test_a_key_is_never_shown() -> None:
    """Headers with a key are sent and not printed."""
    assert "secret" not in repr(Request(url="http://x", kind="json", headers={"authorization": "secret"}))
