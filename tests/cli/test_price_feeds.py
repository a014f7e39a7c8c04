"""The command that fetches prices: from saved documents, from a server, and what people see when it goes wrong."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from .conftest import Command

CATALOGUE = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice,AvailabilityZone\n"
    "p5.48xlarge,H100,8.0,192.0,2048.0,51.25,us-east-1,x,,\n"
)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved catalogue with one price, and a store of its own."""
    monkeypatch.setenv("CLUSTERWRIGHT_STORE", str(tmp_path / "data" / "prices.duckdb"))
    path = tmp_path / "aws.csv"
    path.write_text(CATALOGUE, encoding="utf-8")
    return path


def test_a_fetched_price_is_in_force_from_the_day_it_was_seen(command: Command, saved: Path) -> None:
    """A saved document is read as of its day; the price is used from then on and not before."""
    ended = command("prices", "fetch", "skypilot", "--from", saved, "--seen-on", "2026-10-20")
    assert (ended.code, ended.err) == (0, "")
    assert "skypilot-aws: 1 file from" in ended.out
    assert "1 prices read, 1 stored" in ended.out

    def price(day: str) -> float:
        shown = json.loads(command("prices", "aws/p5.48xlarge", "--as-of", day, "--json").out)
        found = [row["usd"] for row in shown["prices"] if (row["region"], row["term"]) == ("us-east-1", "on_demand")]
        return float(found[0])

    assert (price("2026-10-19"), price("2026-10-20")) == (55.04, 51.25)
    again = json.loads(command("prices", "fetch", "skypilot", "--from", saved, "--seen-on", "2026-10-20", "--json").out)
    assert again["fetched"][0]["ingested"]["known"]


def test_what_is_held_back_ends_in_one(command: Command, saved: Path) -> None:
    """A price of zero waits in quarantine, and the exit code says so."""
    saved.write_text(CATALOGUE.replace("51.25", "0.0"), encoding="utf-8")
    ended = command("prices", "fetch", "skypilot", "--from", saved)
    assert ended.code == 1
    assert "in quarantine by 01_price_not_positive: 1" in ended.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ibm",), 2, "there is no feed 'ibm'"),
        (("aws",), 2, "one large document per region"),
        (("aws-spot",), 2, "from files only"),
        (("gcp",), 2, "set the environment variable GOOGLE_API_KEY"),
        (("azure", "--seen-on", "2026-10-01"), 2, "seen today"),
        (("azure", "--from", "none.json"), 3, "cannot be read"),
        (("skypilot", "--from", "FILE", "--region", "aws"), 2, "files are read whole"),
        (("skypilot", "--from", "FILE", "--seen-on", "2099-01-01"), 2, "yet to come"),
        (("azure", "--from", "FILE"), 3, "no whole JSON"),
    ],
)
def test_mistakes_are_told(
    command: Command, saved: Path, monkeypatch: pytest.MonkeyPatch, *, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """Each with what to do, its exit code, and no traceback."""
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    ended = command("prices", "fetch", *(saved if entry == "FILE" else entry for entry in arguments))
    assert ended.code == code
    assert said in ended.err
    assert "help:" in ended.err
    assert "Traceback" not in ended.err


def test_a_server_that_is_not_there(command: Command, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store stays as it was, and the reason is told with the address."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    ended = command("prices", "fetch", "oci", "--url", "http://127.0.0.1:9/list")
    assert ended.code == 3
    assert "http://127.0.0.1:9/list cannot be had after 6 attempts" in ended.err


def test_without_the_extra(command: Command, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, fetching says what to install; saved documents are still read."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    ended = command("prices", "fetch", "oci")
    assert ended.code == 3
    assert "clusterwright[feeds]" in ended.err
    assert command("prices", "fetch", "skypilot", "--from", saved).code == 0
    assert os.environ["CLUSTERWRIGHT_STORE"]


def test_in_a_pipe_each_place_is_named_once(command: Command, saved: Path) -> None:
    """What is under way stands on stderr, so that JSON on stdout stays whole."""
    server = HTTPServer(("127.0.0.1", 0), _Catalogue)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        ended = command("prices", "fetch", "skypilot", "--region", "aws", "--url", url, "--json")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["fetched"][0]["ingested"]["stored"] == 1
    assert ended.err == f"fetching {url}/aws/vms.csv, 0.0 MB\n"


class _Catalogue(BaseHTTPRequestHandler):
    """Serves the catalogue above."""

    def do_GET(self) -> None:
        body = CATALOGUE.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
