"""Questions to Google Cloud through its own library, answered by a server on the loopback with recorded answers."""

import datetime as dt
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("google.cloud.compute_v1", reason="the extra clusterwright[gcp] is not installed")
from google.auth.credentials import AnonymousCredentials

from clusterwright.checks.preflight.online.answers import NoAnswerError, NoLoginError
from clusterwright.checks.preflight.online.gcp import Gcp

from .projects import asked

ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "answers" / "gcp.json").read_text())
PROJECT = "my-gpu-project"
A100 = asked("NVIDIA A100 80GB GPUs", "NVIDIA_A100_80GB_GPUS")


class Recorded(BaseHTTPRequestHandler):
    """Answers from the record; what is not in it does not exist, and the project `closed` may not be seen."""

    def do_GET(self) -> None:
        """Answer."""
        path = urlsplit(self.path).path
        status = 200 if path in ANSWERS else 403 if "/closed" in path else 404
        body = ANSWERS.get(path, {"error": {"code": status, "message": "not there" if status == 404 else "may not"}})
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return host and port of the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorded) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def project(address: str, name: str = PROJECT, mtu_bytes: int | None = None) -> Gcp:
    """Return a project that the server answers for."""

    def client(kind: type[Any]) -> object:
        transport = kind.get_transport_class("rest")
        return kind(transport=transport(host=address, url_scheme="http", credentials=AnonymousCredentials()))

    return Gcp(project=name, region="us-central1", client=client, mtu_bytes=mtu_bytes)


def test_account(address: str) -> None:
    """The project is named; one that may not be seen says which role is missing."""
    assert project(address).account() == f"project {PROJECT}"
    with pytest.raises(NoLoginError, match="does not show project closed") as raised:
        project(address, "closed").account()
    assert "compute.viewer" in str(raised.value.help)


def test_quotas(address: str) -> None:
    """GPUs by model are a quota of the region, networks one of the project; what is in neither has no limit."""
    found = project(address).quota(A100)
    assert (found.limit, found.used) == (64.0, 16.0)
    networks = project(address).network_quota()
    assert networks is not None
    assert (networks.limit, networks.used) == (15.0, 7.0)
    assert project(address).quota(asked("NVIDIA H200 GPUs", "NVIDIA_H200_GPUS")).limit is None


def test_offer(address: str) -> None:
    """Zones of other regions do not count."""
    assert project(address).offer("a3-megagpu-8g").zones == ("us-central1-a",)
    assert project(address).offer("a4-highgpu-8g").zones == ()


def test_reservation(address: str) -> None:
    """A reservation is read with what is in use and when it ends; also by its full name; a missing one is none."""
    for name in (
        "mine",
        f"projects/{PROJECT}/reservations/mine",
        f"projects/{PROJECT}/reservations/mine/reservationBlocks/b",
    ):
        (found,) = project(address).reservation(name, "us-central1-a")
        assert (found.instance_type, found.zone, found.total, found.free) == ("a3-megagpu-8g", "us-central1-a", 16, 12)
        assert found.ends == dt.datetime(2026, 12, 1, 8, tzinfo=dt.UTC)
        assert found.usable
    assert project(address).reservation("other", "us-central1-a") == ()


@pytest.mark.parametrize(
    ("reference", "pinned"),
    [
        ("ubuntu-os-accelerator-images/gpu-v20260522", "ubuntu-os-accelerator-images/gpu-v20260522"),
        (
            "projects/ubuntu-os-accelerator-images/global/images/family/gpu",
            "projects/ubuntu-os-accelerator-images/global/images/gpu-v20260522",
        ),
        (
            "ubuntu-os-accelerator-images/family/gpu",
            "projects/ubuntu-os-accelerator-images/global/images/gpu-v20260522",
        ),
        ("ubuntu-os-accelerator-images/other", None),
        ("gpu", None),
    ],
)
def test_image(address: str, reference: str, pinned: str | None) -> None:
    """An image by name stays as it is, a family becomes the image that it names today."""
    found = project(address).image(reference)
    assert (found.pinned if found else None) == pinned
    assert found is None or found.architecture == "x86_64"


def test_existing_network(address: str) -> None:
    """A /24 has 252 addresses to give; a network with another MTU than the fabric needs is refused."""
    own = f"projects/{PROJECT}/global/networks/own"
    found = project(address).subnet(f"projects/{PROJECT}/regions/us-central1/subnetworks/nodes")
    assert found is not None
    assert (found.free_addresses, found.network) == (252, own)
    assert project(address).subnet(f"projects/{PROJECT}/regions/us-central1/subnetworks/other") is None
    assert project(address, mtu_bytes=8244).network_problems(own) == (
        f"{own} has an MTU of 1460, the fabric needs 8244",
    )
    assert project(address).network_problems(own) == ()
    assert "there is no network" in project(address).network_problems(own.replace("own", "other"))[0]


def test_a_refused_question_names_the_permission(address: str) -> None:
    """What the login may not ask is unknown, with the permission that is missing."""
    with pytest.raises(NoAnswerError, match="may not") as raised:
        project(address, "closed").quota(A100)
    assert raised.value.help == "the login needs compute.regions.get"
