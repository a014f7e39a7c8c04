"""How many jobs, pods or replicas a node holds: by accelerators or slices of them, by processors and by memory."""

import math
import re
from collections.abc import Mapping

from clusterwright.catalog.software.mig import Profile, profiles_by_gpu
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.scripts.pods import SLICE
from clusterwright.checks.preflight.subject import Subject

_MIB = 2**20


def profile_name(resource: str) -> str:
    """Return the profile behind a resource, whose name has a point where the profile has a plus.

    >>> profile_name("nvidia.com/mig-2g.20gb"), profile_name("nvidia.com/mig-1g.10gb.me")
    ('2g.20gb', '1g.10gb+me')
    """
    return re.sub(r"\.(me|gfx)\b", r"+\1", resource.removeprefix(SLICE))


def profiles_of(subject: Subject) -> tuple[Profile, ...]:
    """Return the profiles of the nodes' GPUs, none where they are not known to have MIG."""
    instance = subject.instance
    return profiles_by_gpu().get(instance.accelerator or "", ()) if instance is not None else ()


def held_by_a_node(subject: Subject, resource: str) -> int | None:
    """Return how many of a resource one node holds, None where that is not known."""
    instance = subject.instance
    if instance is None:
        return None
    if not resource.startswith(SLICE):
        return instance.gpus
    most = [one.most for one in profiles_of(subject) if one.name == profile_name(resource)]
    return instance.gpus * most[0] if most else None


def held(subject: Subject, asked: Mapping[str, float]) -> tuple[int, str] | None:
    """Return how many replicas one node holds, and what ends first; None where nothing is known.

    Args:
        subject: with the node's type.
        asked: by one replica: accelerators or slices by the name of the resource, `cpu` in cores, `memory` in bytes.
    """
    cores, memory = _setting(subject, "cpus"), _setting(subject, "memoryMib")
    room: dict[str, float | None] = {
        "cpu": cores,
        "memory": None if memory is None else memory * _MIB,
        # Slurm's name of accelerators is that of all of them.
        **{name: held_by_a_node(subject, name) for name in asked if name not in ("cpu", "memory")},
    }
    fits = [
        (math.floor(there / asked[name]), "processors" if name == "cpu" else name)
        for name, there in room.items()
        if there is not None and asked.get(name)
    ]
    return min(fits) if fits else None


def _setting(subject: Subject, name: str) -> float | None:
    found = subject.project.setting(f"nodeType.{name}")
    value = text(found.value) if found else ""
    return float(value) if re.fullmatch(r"[0-9.]+", value) else None
