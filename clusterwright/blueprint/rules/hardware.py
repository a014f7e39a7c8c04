"""The hardware that a target names, looked up in the catalogue, with its place: region, zone, capacity."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from clusterwright.blueprint.fields import ANY
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, Path, Problem
from clusterwright.blueprint.rules.cloud_places import offer_problems, place_problems, zone_problems
from clusterwright.blueprint.rules.existing import existing_problems
from clusterwright.blueprint.schema import OnPremTarget
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.blueprint.sections.networks import node_with_choices
from clusterwright.blueprint.sections.onprem_fabric import fabric_kind
from clusterwright.catalog import lookup
from clusterwright.catalog.clouds.objects import CapacityObject, PlacementObject
from clusterwright.catalog.records import Catalogue, Instance, NodeType, System
from clusterwright.catalog.tpu import TpuSlice
from clusterwright.errors import EXIT_FACT_MISSING, ClusterwrightError

CLOUDS = ("aws", "azure", "gcp")
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedTarget:
    """One target with its hardware.

    Attributes:
        target: `aws`, `azure`, `gcp` or `onprem`.
        instance: for clouds; system: on premises.
        capacity: kind of capacity that the instances come from; placement: what keeps them close; tpu_slice: what their
            chips form; None where there is none.
        hall_nodes: that the building holds, None if not limited; hall_keys: of the blueprint that say so.
    """

    target: str
    node: NodeType
    instance: Instance | None = None
    system: System | None = None
    capacity: CapacityObject | None = None
    placement: PlacementObject | None = None
    tpu_slice: TpuSlice | None = None
    hall_nodes: int | None = None
    hall_keys: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unusable:
    """Hardware that a target leaves to choose and that cannot be: why, and whether a fact of it is missing."""

    target: str
    name: str
    reason: str
    fact_missing: bool = False


def is_choice(asked: CloudTarget | OnPremTarget) -> bool:
    """Tell whether a target leaves the choice of hardware."""
    return _allowed(asked) is not None


def speaks_of(asked: CloudTarget | OnPremTarget, node_type: str) -> bool:
    """Tell whether a target's section names a node type, alone or among those to choose from."""
    allowed = _allowed(asked)
    if allowed is None:
        return node_type == (asked.instance if isinstance(asked, CloudTarget) else asked.system)
    return allowed == [ANY] or node_type in allowed


def _allowed(asked: CloudTarget | OnPremTarget) -> list[str] | None:
    return asked.allowed_instances if isinstance(asked, CloudTarget) else asked.allowed_systems


def hardware_of(
    problems: list[Problem], catalogue: Catalogue, target: str, asked: CloudTarget | OnPremTarget
) -> list[ResolvedTarget | Unusable]:
    """Return the hardware of one target: what it names, or each of what it leaves to choose, in the order given.

    Args:
        problems: gets what is wrong with the target. Of a choice, only names that are unknown or given twice are
            wrong; what cannot be used for another reason is returned as such.
        catalogue: the facts.
        target: `aws`, `azure`, `gcp` or `onprem`.
        asked: the section of the blueprint.
    """
    if isinstance(asked, CloudTarget):
        problems += [*place_problems(target, asked), *zone_problems(catalogue, target, asked)]
    allowed = _allowed(asked)
    if isinstance(asked, CloudTarget) and allowed is not None:
        problems += existing_problems(target, asked, None)
    if allowed is None:
        field = "instance" if isinstance(asked, CloudTarget) else "system"
        name = (asked.instance if isinstance(asked, CloudTarget) else asked.system) or ""
        one = _look_up(problems, catalogue, target, asked, name=name, path=("targets", target, field))
        return [] if one is None else [one]
    names = _everything(catalogue, target) if allowed == [ANY] else _known(problems, catalogue, target, allowed)
    found: list[ResolvedTarget | Unusable] = []
    for name in names:
        wrong: list[Problem] = []
        entry = _look_up(wrong, catalogue, target, asked, name=name, path=())
        if entry is not None and not wrong:
            found.append(entry)
        else:
            missing = all(problem.exit_code == EXIT_FACT_MISSING for problem in wrong)
            reason = "; ".join(problem.message for problem in wrong)
            found.append(Unusable(target=target, name=name, reason=reason, fact_missing=missing))
    return found


def _everything(catalogue: Catalogue, target: str) -> list[str]:
    if target == "onprem":
        return list(catalogue.systems)
    return [key for key, entry in catalogue.instances.items() if entry.cloud == target]


def _known(problems: list[Problem], catalogue: Catalogue, target: str, allowed: list[str]) -> list[str]:
    """Return the ids of the names given; what is unknown or given twice is a problem."""
    path: Path = ("targets", target, "allowed_systems" if target == "onprem" else "allowed_instances")
    found: list[str] = []
    for index, name in enumerate(allowed):
        entry = attempt(problems, (*path, index), partial(entry_of, catalogue, target, name))
        if entry is None:
            continue
        if entry.id in found:
            problems.append(Problem(path=(*path, index), message=f"{name!r} is given twice", help="name it once"))
        else:
            found.append(entry.id)
    return found


def entry_of(catalogue: Catalogue, target: str, name: str) -> Instance | System:
    """Return the system or the cloud's instance type that a name means; errors as `lookup.system`."""
    return lookup.system(catalogue, name) if target == "onprem" else lookup.instance(catalogue, name, cloud=target)


def attempt(problems: list[Problem], path: Path, look_up: Callable[[], _T]) -> _T | None:
    """Return what a look-up gives; where it fails, note the problem at a path and return None."""
    try:
        return look_up()
    except ClusterwrightError as error:
        problems.append(
            Problem(path=path, message=error.message, help=error.help or LOOK_IT_UP, exit_code=error.exit_code)
        )
        return None


def _look_up(
    problems: list[Problem],
    catalogue: Catalogue,
    target: str,
    asked: CloudTarget | OnPremTarget,
    *,
    name: str,
    path: Path,
) -> ResolvedTarget | None:
    entry = attempt(problems, path, lambda: entry_of(catalogue, target, name))
    if isinstance(entry, System):
        node = attempt(problems, path, lambda: lookup.node_type_of_system(catalogue, entry.id))
        if node is None:
            return None
        if isinstance(asked, OnPremTarget):
            kind = fabric_kind(problems, ("targets", target, "fabric"), asked.fabric, catalogue)
            node = replace(node, network_kind=kind or node.network_kind)
        node = _as_asked(problems, target, asked, node)
        return ResolvedTarget(target=target, node=node, system=entry)
    if entry is None or not isinstance(asked, CloudTarget):
        return None
    problems += offer_problems(catalogue, target, asked, entry)
    if path:
        problems += existing_problems(target, asked, entry)
    node = attempt(problems, path, lambda: lookup.node_type_of_instance(catalogue, entry.id))
    if node is None:
        return None
    return ResolvedTarget(
        target=target,
        node=_as_asked(problems, target, asked, node),
        instance=entry,
        capacity=catalogue.capacity(entry, asked.capacity),
        placement=catalogue.placement(entry),
        tpu_slice=catalogue.tpu_slice(entry),
    )


def _as_asked(problems: list[Problem], target: str, asked: CloudTarget | OnPremTarget, node: NodeType) -> NodeType:
    return node_with_choices(problems, ("targets", target), node, network=asked.network, power_cap_w=asked.power_cap)
