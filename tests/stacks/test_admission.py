"""The admission rules of the namespace for jobs, evaluated by an implementation of CEL: who is let in, and who not."""

import json
from pathlib import Path
from typing import Any

import pytest

celpy = pytest.importorskip("celpy", reason="cel-python is not installed: make environments")

_GOLDEN = Path(__file__).parent / "golden"
_PODS: dict[str, tuple[dict[str, Any], str]] = {
    "plain": ({}, ""),
    "locks memory": ({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}, ""),
    "privileged": ({"securityContext": {"privileged": True}}, "privileged"),
    "administers": ({"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "capabilities"),
}
_SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "processes of the host": ({"hostPID": True}, "hostPID"),
    "network of the host": ({"hostNetwork": True}, "hostNetwork"),
    "another account": ({"serviceAccountName": "another"}, "service account"),
    "files of the host": ({"volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}]}, "host's files"),
}


def refusals(cloud: str, spec: dict[str, Any]) -> list[str]:
    """Return the messages of the rules that refuse a pod."""
    page = (_GOLDEN / f"{cloud}-kubernetes-cluster.txt").read_text()
    line = next(line for line in page.splitlines() if '"validations"' in line)
    environment, pod = celpy.Environment(), celpy.json_to_cel({"spec": spec})
    return [
        rule["message"]
        for rule in json.loads(line.partition(": ")[2])["validations"]
        if not environment.program(environment.compile(rule["expression"])).evaluate({"object": pod})
    ]


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_jobs_are_let_in_and_what_opens_the_node_is_not(cloud: str) -> None:
    """Each rule refuses what it is for, in any kind of container, and nothing else."""
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container, said in _PODS.values():
            spec = {"containers": [{"name": "job"}]} | {kind: [{"name": "job", **container}]}
            assert [said in message for message in refusals(cloud, spec)] == [True] * bool(said)
    for extra, said in _SPECS.values():
        (message,) = refusals(cloud, {"containers": [{"name": "job"}], **extra})
        assert said in message
