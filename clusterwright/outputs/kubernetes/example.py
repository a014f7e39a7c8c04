"""A job on a cloud's Kubernetes, shaped after the all-reduce of the project's `examples/`.

What a pod needs of its node and of its fabric is there, and is written once.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapedJob:
    """The job of a name, with what the example has for another program taken out.

    Attributes:
        service: by which its pods find each other; job: with one container, whose program is still to be set.
        before: shell of the fabric's vendor, which runs before the program.
    """

    service: dict[str, Any]
    job: dict[str, Any]
    before: Sequence[str]

    @property
    def pod(self) -> dict[str, Any]:
        """What its pods have in common."""
        spec: dict[str, Any] = self.job["spec"]["template"]["spec"]
        return spec

    @property
    def worker(self) -> dict[str, Any]:
        """The container that works."""
        worker: dict[str, Any] = self.pod["containers"][0]
        return worker


def shaped_job(all_reduce: str, name: str, *, pods: int, restarts: int) -> ShapedJob:
    """Return the job of a name on whole nodes.

    Args:
        all_reduce: manifest of the example job, shaped for the instance type.
        name: of the job and its service.
        pods: at a time.
        restarts: of each.
    """
    found = [one for one in _yaml().load_all(all_reduce) if one is not None]
    job = next(one for one in found if one["kind"] == "Job")
    service = next(one for one in found if one["kind"] == "Service")
    service["metadata"]["name"] = job["metadata"]["name"] = name
    # Pods find each other before any of them is ready.
    service["spec"] |= {"selector": {"job-name": name}, "publishNotReadyAddresses": True}
    job["spec"] |= {
        "suspend": True,
        "completions": pods,
        "parallelism": pods,
        # Where the pod that the others meet at fails, all of them do, and each counts.
        "backoffLimit": restarts * pods,
        # Not before the old pod has ended: it holds the accelerators of its node.
        "podReplacementPolicy": "Failed",
    }
    spec = job["spec"]["template"]["spec"]
    spec["subdomain"] = name
    spec["volumes"] = [one for one in spec["volumes"] if one["name"] != "scripts"]
    worker = spec["containers"][0]
    written = worker["args"][0] if worker["command"][:1] == ["bash"] else ""
    worker["env"] = [
        {**one, "value": "WARN"} if one["name"] == "NCCL_DEBUG" else one
        for one in worker["env"]
        if one["name"] != "JOB_COMPLETION_INDEX"
    ]
    worker["volumeMounts"] = [one for one in worker["volumeMounts"] if one["name"] != "scripts"]
    before = [line for line in str(written).partition("exec torchrun")[0].splitlines() if line.strip()]
    return ShapedJob(service=service, job=job, before=before)


def shaped_text(documents: Sequence[dict[str, Any]]) -> str:
    """Return objects as YAML, without the comments of the example."""
    stream = io.StringIO()
    _yaml().dump_all(documents, stream)
    return "\n".join(line for line in stream.getvalue().splitlines() if not line.startswith("#"))


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 120
    return yaml
