"""The example job of a Kubernetes project as the instance type's fabric and software need it.

What differs is data: `templates/launch/pods.yaml`, keyed by the catalogue's words for fabric and vendor's software. A
type that it does not know keeps the job as it is in `stacks/`.
"""

import io
import json
from functools import cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright import assets
from clusterwright.catalog.records import Instance

_FOLDER = "launch"
#: Pods of the job as it is in `stacks/`.
_PODS = 2
_HEAD = """\
# How fast the nodes reduce together, on {type}:
#   ./cluster.sh kubectl apply -f examples/queue.yaml -f examples/all_reduce.yaml
#   ./cluster.sh kubectl -n workload logs -f -l job-name=all-reduce --prefix
"""


@cache
def _pods() -> list[dict[str, Any]]:
    path = assets.root() / "templates" / _FOLDER / "pods.yaml"
    found: list[dict[str, Any]] = YAML(typ="safe").load(path)
    return found


def pod_of(instance: Instance) -> dict[str, Any] | None:
    """Return what the pods of an instance type differ in; None where the job in `stacks/` is right as it is."""
    wanted = (instance.fabric_kind, instance.vendor_software or "nvidia")
    found = next((one for one in _pods() if (one["fabric"], one["software"]) == wanted), None)
    return found if found and len(found) > len(("fabric", "software")) else None


def for_fabric(manifest: str, instance: Instance, nodes: int) -> str:
    """Return the manifest of the all-reduce with networks, daemon, environment and script of an instance type.

    Args:
        manifest: as it is in `stacks/`, with its objects.
        instance: the type of the nodes.
        nodes: of the cluster; a job on a TPU slice takes all of its hosts, and one node has no other to reduce with.
    """
    pod = pod_of(instance)
    pods = nodes if pod and pod.get("whole_slice") else min(nodes, _PODS)
    if pod is None:
        return manifest if pods == _PODS else _of_one_pod(manifest)
    yaml = YAML()
    yaml.width = 120
    documents = [one for one in yaml.load_all(manifest) if one is not None]
    job = next(one for one in documents if one["kind"] == "Job")
    scripts = next(one for one in documents if one["kind"] == "ConfigMap")
    job["spec"]["completions"] = job["spec"]["parallelism"] = pods
    template = job["spec"]["template"]
    _annotate(template, pod, instance)
    _worker(template["spec"], pod, instance, pods)
    if "script" in pod:
        scripts["data"]["all_reduce.py"] = LiteralScalarString(pod["script"])
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    body = "\n".join(line for line in stream.getvalue().splitlines() if not line.startswith("#"))
    return _HEAD.format(type=instance.id) + body + "\n"


def _annotate(template: dict[str, Any], pod: dict[str, Any], instance: Instance) -> None:
    """Give the pod as many interfaces as its GPUs have networks; without a word it has one."""
    metadata = template.get("metadata", {})
    annotations = metadata.get("annotations", {})
    key = "networking.gke.io/interfaces"
    if key not in annotations:
        return
    if "networks" not in pod:
        del template["metadata"]["annotations"]
        return
    names = ["default", *(f"{pod['networks']}{number}" for number in range(1, (instance.gpu_networks or 0) + 1))]
    listed = [{"interfaceName": f"eth{place}", "network": name} for place, name in enumerate(names)]
    lines = ",\n".join(f"  {json.dumps(one)}" for one in listed)
    annotations[key] = LiteralScalarString(f"[\n{lines}\n]\n")


def _of_one_pod(manifest: str) -> str:
    """Return the manifest for a single node with its comments: a second pod would wait for ever."""
    for several, one in (
        ("How fast two nodes reduce together", "How fast the accelerators of the one node reduce together"),
        (f"completions: {_PODS}", "completions: 1"),
        (f"parallelism: {_PODS}", "parallelism: 1"),
        (f"--nnodes={_PODS}", "--nnodes=1"),
    ):
        manifest = manifest.replace(several, one)
    return manifest


def _worker(spec: dict[str, Any], pod: dict[str, Any], instance: Instance, pods: int) -> None:
    worker = spec["containers"][0]
    worker["image"] = pod.get("image", worker["image"])
    worker["command"], worker["args"] = ["bash", "-c"], [LiteralScalarString(_command(pod, instance, pods))]
    given = pod["environment"]
    dropped = {*pod.get("drop", ()), *given}
    worker["env"] = [one for one in worker["env"] if one["name"] not in dropped] + _variables(given)
    # The gIB plugin of A3 Ultra and A4.
    worker["volumeMounts"] = [one for one in worker["volumeMounts"] if one["name"] != "gib"]
    spec["volumes"] = [one for one in spec["volumes"] if one["name"] != "gib"]
    if instance.vendor_software == "tpu":
        worker["volumeMounts"] = [one for one in worker["volumeMounts"] if one["name"] != "nvidia"]
        spec["volumes"] = [one for one in spec["volumes"] if one["name"] != "nvidia"]
    worker["volumeMounts"] += [{"name": name, "mountPath": at} for name, at in pod.get("shared", {}).items()]
    spec["volumes"] += [
        {"name": name, **({"hostPath": {"path": path}} if path else {"emptyDir": {}})}
        for name, path in pod.get("folders", {}).items()
    ]
    if "daemon" in pod:
        spec["initContainers"] = [_daemon(pod["daemon"])]


def _command(pod: dict[str, Any], instance: Instance, pods: int) -> str:
    before = f"{pod['before']}\n" if "before" in pod else ""
    if "command" in pod:
        return f"{before}{pod['command']}\n"
    processes = instance.gpus * pod.get("processes_per_accelerator", 1)
    return (
        f'{before}exec torchrun --nnodes={pods} --nproc-per-node={processes} --node-rank="$JOB_COMPLETION_INDEX" \\\n'
        "  --master-addr=all-reduce-0.all-reduce --master-port=29500 /scripts/all_reduce.py\n"
    )


def _variables(given: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": str(value)} for name, value in given.items()]


def _daemon(given: dict[str, Any]) -> dict[str, Any]:
    """Return the daemon as a sidecar: it starts before the worker, and ends with it."""
    return {
        "name": given["name"],
        "image": given["image"],
        "restartPolicy": "Always",
        "command": list(given["command"]),
        "args": list(given["args"]),
        "env": _variables(given["environment"]),
        "securityContext": {"capabilities": {"add": list(given["capabilities"])}},
        "volumeMounts": [{"name": name, "mountPath": at} for name, at in given["mounts"].items()],
    }
