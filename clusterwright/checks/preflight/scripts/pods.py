"""Do pods of a Kubernetes project ask for the fabric's devices: without them they use TCP, and nobody notices."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from clusterwright.blueprint.reading.document import Document, parsed
from clusterwright.checks.preflight.files.values import whole
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

ACCELERATORS = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neurondevice",
    "google.com/tpu",
)
#: Begin of the resources that stand for slices of GPUs, one for each profile.
SLICE = "nvidia.com/mig-"
_EFA = "vpc.amazonaws.com/efa"
#: Resources of RDMA shared devices and of the network operator are named by the owner, below these.
_RDMA = re.compile(r"^(rdma|nvidia\.com/(mlnx|rdma)|mellanox\.com)")
_SKIPPED = re.compile(r"^(tests/|\.github/|policy/)|(^|/)Pulumi\.[^/]*$")
_DOCUMENT_END = re.compile(r"(?m)^---\s*$")


def fabric_devices(subject: Subject) -> Iterator[Outcome]:
    """Check each container that asks for accelerators: as many as a node has, and the fabric's devices with them."""
    instance = subject.instance
    if subject.project.scheduler != "kubernetes" or instance is None:
        return
    looked_at, good = 0, True
    for file, first_line, document in _documents(subject):
        for path, limits in _limits(document.value, ()):
            asked = next((whole(limits[name]) for name in ACCELERATORS if name in limits), None)
            if asked is None:
                continue
            looked_at += 1
            problem = _problem(subject, asked, limits)
            if problem:
                good = False
                at = document.keys.get(path)
                place = Place(file=file, line=first_line + at.line if at else 0, column=at.column if at else 0)
                yield Outcome(status="FAIL", message=problem[0], fix=problem[1], place=place)
    if looked_at and good:
        yield passed(f"{looked_at} containers with accelerators")


def _problem(subject: Subject, asked: int, limits: dict[str, Any]) -> tuple[str, str] | None:
    instance = subject.instance
    if instance is None:
        return None
    if asked > instance.gpus:
        return f"{asked} accelerators are asked for, {instance.id} has {instance.gpus}", "ask for what one node has"
    if asked < instance.gpus:
        return None
    if instance.fabric_kind == "efa" and whole(limits.get(_EFA)) != instance.fabric_interfaces:
        return (
            f"a whole {instance.id} without its {instance.fabric_interfaces} EFA devices: NCCL falls back to TCP",
            f"add {_EFA}: {instance.fabric_interfaces} to the limits",
        )
    if instance.fabric_kind == "infiniband" and not any(_RDMA.match(name) for name in limits):
        return (
            f"a whole {instance.id} without an RDMA device: NCCL falls back to TCP",
            "add the device plugin's resource (rdma/…) to the limits",
        )
    return None


def quotas_below_a_job(subject: Subject) -> Iterator[tuple[str, int, str, str]]:
    """Yield file, line, what is wrong and what to do for each quota of a queue that a job of the project is beyond."""
    found = [(file, line, one.value) for file, line, one in _documents(subject) if isinstance(one.value, dict)]
    wanted: dict[str, int] = {}
    for _, _, value in found:
        if value.get("kind") != "Job" or not isinstance(value.get("spec"), dict):
            continue
        pods = whole(value["spec"].get("parallelism")) or 1
        for _, limits in _limits(value, ()):
            for name in ACCELERATORS:
                wanted[name] = max(wanted.get(name, 0), pods * (whole(limits.get(name)) or 0))
    for file, line, value in found:
        if value.get("kind") == "ClusterQueue":
            for name, quota in _nominal(value):
                if quota < wanted.get(name, 0):
                    message = f"gives the queue a nominalQuota of {quota} {name}, and a job asks for {wanted[name]}"
                    yield file, line, f"{message}: it is never admitted", f"nominalQuota: {wanted[name]}"


def _nominal(value: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - a manifest
    """Yield name and quota of every resource of a queue that is a whole number."""
    if isinstance(value, dict):
        quota = whole(value.get("nominalQuota"))
        if quota is not None and "name" in value:
            yield str(value["name"]), quota
        for one in value.values():
            yield from _nominal(one)
    elif isinstance(value, list):
        for one in value:
            yield from _nominal(one)


def _documents(subject: Subject) -> Iterator[tuple[str, int, Document]]:
    """Yield every YAML document that is not Pulumi's: file, lines before it, and the document."""
    for name, content in subject.project.files.items():
        if not name.endswith((".yaml", ".yml")) or _SKIPPED.search(name):
            continue
        line = 0
        for part in _DOCUMENT_END.split(content):
            # What is empty or a template is no manifest.
            with suppress(ClusterwrightError):
                yield subject.project.shown(name), line, parsed(part, name=name)
            line += part.count("\n")


def _limits(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:  # noqa: ANN401
    """Yield path and value of every `resources.limits`."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = (*path, key)
            if key == "resources" and isinstance(item, dict) and isinstance(item.get("limits"), dict):
                yield (*inner, "limits"), item["limits"]
            else:
                yield from _limits(item, inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _limits(item, (*path, index))
