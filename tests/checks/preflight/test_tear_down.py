"""`cluster.sh` is tried to its end with stand-ins, the tunnel to a private API server among them."""

import socket
import time

import pytest

from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.project import project_of
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.scripts import tear_down
from clusterwright.checks.preflight.subject import Subject
from clusterwright.outputs.project.example import example_files
from clusterwright.pricing.book import PriceBook


def said(cloud: str, old: str = "", new: str = "") -> list[Outcome]:
    """Return what the check says of a project with Kubernetes, with a change of its script."""
    files = {name: file.content.decode(errors="replace") for name, file in example_files(cloud, "kubernetes").items()}
    assert old in files[tear_down.SCRIPT]
    files[tear_down.SCRIPT] = files[tear_down.SCRIPT].replace(old, new)
    subject = Subject(project=project_of("here", files, stack="small"), catalogue=load(), book=PriceBook.open())
    return list(tear_down.destroys_with_a_question(subject))


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_destroy_behind_a_private_api_server_is_tried_to_its_end(cloud: str) -> None:
    """Where `cluster.sh` opens a tunnel it gets one: an untouched project passes, and one that takes data fails."""
    (outcome,) = said(cloud)
    assert (outcome.status, outcome.message[:10]) == ("PASS", "11 ways to")
    (outcome,) = said(cloud, "destroy_layer foundation --exclude-protected", "destroy_layer foundation")
    assert outcome.status == "FAIL"
    assert "destroys the foundation with its data" in outcome.message


def test_no_stand_in_outlives_its_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that leaves its tunnel open leaves nothing behind on this machine."""
    ports: list[int] = []
    free_port = tear_down._free_port

    def noted() -> int:
        ports.append(free_port())
        return ports[-1]

    monkeypatch.setattr(tear_down, "_free_port", noted)
    said("azure", "close_tunnel() {\n", "close_tunnel() {\n  return 0\n")
    assert len(ports) == len(tear_down.TRIALS)
    by = time.monotonic() + 20
    while any(answers(port) for port in ports):
        assert time.monotonic() < by, "a stand-in still listens"
        time.sleep(0.1)


def answers(port: int) -> bool:
    """Tell whether something listens on a port of this machine."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
