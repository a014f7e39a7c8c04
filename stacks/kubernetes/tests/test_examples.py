"""The manifests are what their comments promise."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from layer_run import PROJECT

MANIFESTS = sorted((PROJECT / "examples").glob("*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a manifest."""
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_every_object_has_a_kind_and_a_name(path: Path) -> None:
    """`kubectl apply` refuses anything less."""
    for one in documents(path):
        assert one["apiVersion"]
        assert one["kind"]
        assert one["metadata"]["name"]


def test_the_job_goes_to_gpu_nodes_and_waits_in_the_queue() -> None:
    """It tolerates the taint, selects the label, asks for accelerators, and names a queue that the examples make."""
    job = next(one for one in documents(PROJECT / "examples" / "all_reduce.yaml") if one["kind"] == "Job")
    queues = [one for one in documents(PROJECT / "examples" / "queue.yaml") if one["kind"] == "LocalQueue"]
    pod = job["spec"]["template"]["spec"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] in [one["metadata"]["name"] for one in queues]
    assert pod["nodeSelector"] == {"node-kind": "gpu"}
    assert pod["tolerations"]
    limits = pod["containers"][0]["resources"]["limits"]
    assert [name for name in limits if "/" in name]
