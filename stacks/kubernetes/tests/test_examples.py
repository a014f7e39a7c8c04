"""The manifests are what their comments promise."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_cluster.kubernetes import workload
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


def _pods() -> list[dict[str, Any]]:
    """The pods of the examples' jobs."""
    jobs = [one for path in MANIFESTS for one in documents(path) if one["kind"] == "Job"]
    return [one["spec"]["template"]["spec"] for one in jobs]


def test_the_namespace_admits_the_examples() -> None:
    """No example needs what the admission rules of the namespace refuse."""
    for pod in _pods():
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            context = container.get("securityContext", {})
            assert not context.get("privileged")
            assert set(context.get("capabilities", {}).get("add", [])) <= set(workload.CAPABILITIES)
        for volume in pod.get("volumes", []):
            path = volume.get("hostPath", {}).get("path")
            assert path is None or f"{path}/".startswith(workload.HOST_PATHS)
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert pod.get("serviceAccountName", "default") in ("default", workload.SERVICE_ACCOUNT)


def test_the_admission_rules_refuse_the_ways_to_the_node() -> None:
    """Each of them is in an expression: the node's processes, privileged containers, capabilities, files of the host."""
    said = " ".join(rule.expression for rule in workload.ADMISSION_RULES)
    for way in ("hostNetwork", "hostPID", "hostIPC", "privileged", "capabilities.add", "hostPath"):
        assert way in said
    assert "serviceAccountName" in said
    # A rule that forgets a kind of container admits it.
    assert said.count("ephemeralContainers") >= said.count("securityContext.privileged)") >= 1
    assert all("SYS_ADMIN" not in rule.expression for rule in workload.ADMISSION_RULES)
