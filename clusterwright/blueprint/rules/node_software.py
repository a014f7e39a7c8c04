"""The software of one target's nodes: facts of the hardware, what the blueprint pins, and the set that follows."""

from collections.abc import Iterator
from functools import cache

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.catalog.parts.scalable_units import scalable_units
from clusterwright.catalog.records import NodeType
from clusterwright.catalog.software import mig, solver
from clusterwright.catalog.software.node import Software
from clusterwright.catalog.software.solver import Chosen, Pin
from clusterwright.clouds import CLOUDS

#: Operating systems where the blueprint names none: DGX systems come with their own.
_SYSTEM, _DGX_SYSTEM = "ubuntu-24.04", "dgx-os-7"
#: Parts of an image's name, and the image of the table.
_IMAGES = (
    ("ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04", "aws-dlami-x86_64"),
    ("ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-24.04", "aws-dlami-arm64"),
    ("ubuntu-accelerator-2404-amd64-with-nvidia-580", "gcp-ubuntu-2404-580"),
)


def facts_of(entry: ResolvedTarget, blueprint: Blueprint) -> dict[str, str]:
    """Return the facts of a target's nodes that decide about software."""
    asked = getattr(blueprint.targets, entry.target)
    chip = entry.node.accelerator
    kubernetes = asked.scheduler == "kubernetes"
    switched = chip.scale_up_kind == "nvlink" and chip.scale_up_topology == "switch"
    spans_hosts = switched and entry.system is not None and _hosts(entry.node) > 1
    facts = {
        "target": entry.target,
        "vendor": chip.vendor,
        "accelerator": chip.id,
        "generation": chip.generation,
        "nvswitch": "yes" if switched and not spans_hosts else "no",
        "nvlink_hosts": "several" if spans_hosts else "one",
        "fabric": _fabric(entry),
        "scheduler": "kubernetes" if kubernetes else "slurm",
        "host_architecture": _architecture(entry),
        "lustre": "yes" if isinstance(asked, CloudTarget) else "no",
    }
    if blueprint.software.mig is not None:
        facts["mig_gpu"] = chip.id
    image = _image(entry)
    if image and not kubernetes:
        facts["image"] = image
    elif entry.system is not None and blueprint.software.os is None:
        facts["os"] = _DGX_SYSTEM if entry.system.name.startswith("NVIDIA DGX") else _SYSTEM
    return facts


def _hosts(node: NodeType) -> int:
    """Return the hosts that one node consists of: the compute trays of a rack."""
    unit = scalable_units().get(node.id)
    return 1 if unit is None else unit.end_systems


def _fabric(entry: ResolvedTarget) -> str:
    kind = entry.node.network_kind
    if entry.system is not None:
        return kind if kind == "infiniband" else "roce" if entry.system.vendor == "NVIDIA" else "ethernet"
    return CLOUDS[entry.target].roce_library if kind == "roce" else kind


def _architecture(entry: ResolvedTarget) -> str:
    if entry.instance is not None:
        return entry.instance.architecture
    return "arm64" if entry.node.accelerator.form == "superchip" else "x86_64"


def _image(entry: ResolvedTarget) -> str:
    named = "" if entry.instance is None else entry.instance.image or ""
    return next((image for part, image in _IMAGES if part in named), "")


def divided_nodes(blueprint: Blueprint, node: NodeType) -> int:
    """Return the nodes that are there for parts of GPUs alone, beside those of the work.

    The section counts hosts; where a node is a whole rack, whole racks hold them. Without a count every node is divided
    or shared, and none is beside the work.

    Args:
        blueprint: with its section `software`.
        node: kind of node of the target.
    """
    slices, shared = blueprint.software.mig, blueprint.software.sharing
    hosts = max((part.nodes or 0 for part in (slices, shared) if part is not None), default=0)
    return -(-hosts // _hosts(node))


def software_of(entry: ResolvedTarget, blueprint: Blueprint) -> Software | None:
    """Return the software of a target's nodes; None where the tables have no set for it."""
    found = _resolved(tuple(facts_of(entry, blueprint).items()), blueprint.software.pins)
    if isinstance(found, solver.Problem):
        return None
    slices, shared = blueprint.software.mig, blueprint.software.sharing
    divided = 0 if slices is None else entry.node.gpus if slices.gpus is None else slices.gpus
    return Software(
        target=entry.target,
        parts=found,
        geometry=() if slices is None else tuple(slices.geometry),
        divided_gpus=divided,
        divided_nodes=None if slices is None else slices.nodes,
        sharing="" if shared is None else shared.way,
        shared_parts=1 if shared is None else shared.parts,
        shared_nodes=None if shared is None else shared.nodes,
    )


@cache
def _resolved(facts: tuple[tuple[str, str], ...], pins: tuple[Pin, ...]) -> tuple[Chosen, ...] | solver.Problem:
    """Return the set of these facts and pins, worked out once for all blueprints alike."""
    return solver.resolve(dict(facts), pins)


def name_problems(blueprint: Blueprint) -> list[Problem]:
    """Return components and versions that the section names and nothing is known of (`SFT001`, `SFT002`)."""
    return [
        Problem(id=found.id, path=found.path, message=found.message, help=found.help)
        for found in solver.pin_problems(blueprint.software.pins)
    ]


def software_problems(blueprint: Blueprint, entry: ResolvedTarget) -> list[Problem]:
    """Return what the section asks for and a target's nodes cannot have; empty where the section says nothing."""
    section = blueprint.software
    problems: list[Problem] = []
    if section.pins and not name_problems(blueprint):
        found = _resolved(tuple(facts_of(entry, blueprint).items()), section.pins)
        if isinstance(found, solver.Problem):
            message = f"{entry.node.id} ({entry.target}): {found.message}"
            path = found.path or ("software",)
            problems.append(Problem(id=found.id, path=path, message=message, help=found.help))
    if section.mig is not None:
        chip = entry.node.accelerator
        problems += [
            Problem(id=finding.id, path=finding.path, message=finding.message, help=finding.help)
            for finding in mig.findings(
                chip.id, chip.name, section.mig.slices, ("software", "mig"), gpus_per_node=entry.node.gpus
            )
        ]
        problems += _whole_nodes(blueprint, entry)
    return [*problems, *_sharing(blueprint, entry)]


#: Ways that no scheduler of jobs on bare metal has, and how many processes one server of MPS takes (NVIDIA, MPS guide).
_BY_PODS = frozenset({"hami", "vgpu"})


def _sharing(blueprint: Blueprint, entry: ResolvedTarget) -> Iterator[Problem]:
    """Yield what excludes the way in which jobs are to share GPUs.

    `SHR001`: slices are asked for too; `SHR002`: Slurm has no such way; `SHR003`: the GPUs are another maker's.
    """
    shared, path = blueprint.software.sharing, ("software", "sharing")
    if shared is None:
        return
    if blueprint.software.mig is not None:
        yield Problem(
            id="SHR001",
            path=path,
            message="GPUs are divided by software.mig, and shared by software.sharing too",
            help="keep one of the two: clusterwright docs gpu-slices compares them",
        )
    asked = getattr(blueprint.targets, entry.target)
    if shared.way in _BY_PODS and asked.scheduler != "kubernetes":
        yield Problem(
            id="SHR002",
            path=(*path, "way"),
            message=f"Slurm hands out no GPU by {shared.way} ({entry.target})",
            help="mps or time-slicing; or scheduler: kubernetes",
        )
    if entry.node.accelerator.vendor != "NVIDIA":
        yield Problem(
            id="SHR003",
            path=(*path, "way"),
            message=f"{shared.way} is a way of NVIDIA's GPUs, and {entry.node.id} has {entry.node.accelerator.name}",
            help="leave software.sharing out",
        )


def _whole_nodes(blueprint: Blueprint, entry: ResolvedTarget) -> list[Problem]:
    """Return `MIG004` where Slurm would have whole GPUs and slices of them on one node.

    slurmd finds slices by NVML and matches them with types of slurm.conf by a part of the name (gres.conf, AutoDetect):
    `h100` is a part of the name of both.
    """
    slices, asked = blueprint.software.mig, getattr(blueprint.targets, entry.target)
    if slices is None or slices.gpus in {None, entry.node.gpus} or entry.target != "onprem":
        return []
    if asked.scheduler == "kubernetes" or (slices.gpus or 0) > entry.node.gpus:
        return []
    return [
        Problem(
            id="MIG004",
            path=("software", "mig", "gpus"),
            message=f"{slices.gpus} of the {entry.node.gpus} GPUs of a node are divided, and Slurm tells whole GPUs "
            "from slices by a part of their name that both have",
            help="divide all GPUs of some nodes: software.mig.nodes in the place of gpus; or scheduler: kubernetes",
        )
    ]
