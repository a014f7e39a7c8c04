"""The hardware that a target names, looked up in the catalogue, with its place: region, zone, capacity."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from clusterwright.blueprint.clouds import CloudTarget
from clusterwright.blueprint.fields import ANY
from clusterwright.blueprint.networks import node_with_choices
from clusterwright.blueprint.problems import Path, Problem
from clusterwright.blueprint.schema import OnPremTarget
from clusterwright.catalog import lookup
from clusterwright.catalog.cloud_objects import CapacityObject, PlacementObject
from clusterwright.catalog.records import Catalogue, Instance, NodeType, System
from clusterwright.catalog.tpu import TpuSlice
from clusterwright.errors import EXIT_FACT_MISSING, ClusterwrightError

CLOUDS = ("aws", "azure", "gcp")
#: How each cloud names a reservation of capacity: (pattern, example).
RESERVATION_IDS = {
    "aws": (r"cr-[0-9a-f]{8,17}", "cr-0123456789abcdef0"),
    "azure": (
        r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+",
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/capacityReservationGroups/NAME",
    ),
    "gcp": (
        r"[a-z][a-z0-9-]*|projects/[a-z0-9-]+/reservations/[a-z0-9-]+(/reservationBlocks/[a-z0-9-]+)?",
        "my-reservation, or projects/PROJECT/reservations/NAME",
    ),
}
#: Kinds of capacity that one cloud alone has: its name, and what to say of them elsewhere.
_OFFERS = {
    "capacity-block": ("aws", "capacity blocks are an offer of AWS"),
    "block-reservation": ("azure", "block capacity reservations are an offer of Azure"),
    "flex-start": ("gcp", "flex-start is an offer of Google Cloud"),
}
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedTarget:
    """One target with its hardware.

    Attributes:
        target: `aws`, `azure`, `gcp` or `onprem`.
        instance: for clouds; system: on premises.
        capacity: kind of capacity that the instances come from; placement: what keeps them close; tpu_slice: what their
            chips form; None where there is none.
    """

    target: str
    node: NodeType
    instance: Instance | None = None
    system: System | None = None
    capacity: CapacityObject | None = None
    placement: PlacementObject | None = None
    tpu_slice: TpuSlice | None = None


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
        problems += _place_problems(target, asked)
    allowed = _allowed(asked)
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
        entry = attempt(problems, (*path, index), lambda name=name: _entry(catalogue, target, name).id)  # type: ignore[misc]
        if entry in found:
            problems.append(Problem(path=(*path, index), message=f"{name!r} is given twice", help="name it once"))
        elif entry is not None:
            found.append(entry)
    return found


def _entry(catalogue: Catalogue, target: str, name: str) -> Instance | System:
    return lookup.system(catalogue, name) if target == "onprem" else lookup.instance(catalogue, name, cloud=target)


def attempt(problems: list[Problem], path: Path, look_up: Callable[[], _T]) -> _T | None:
    """Return what a look-up gives; where it fails, note the problem at a path and return None."""
    try:
        return look_up()
    except ClusterwrightError as error:
        problems.append(Problem(path=path, message=error.message, help=error.help, exit_code=error.exit_code))
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
    entry = attempt(problems, path, lambda: _entry(catalogue, target, name))
    if isinstance(entry, System):
        node = attempt(problems, path, lambda: lookup.node_type_of_system(catalogue, entry.id))
        if node is None:
            return None
        node = _as_asked(problems, target, asked, node)
        return ResolvedTarget(target=target, node=node, system=entry)
    if entry is None or not isinstance(asked, CloudTarget):
        return None
    problems += _offer_problems(target, asked, entry)
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


def _place_problems(cloud: str, asked: CloudTarget) -> list[Problem]:
    """Return what is wrong with zone and capacity, whatever the instance type."""
    path: Path = ("targets", cloud)
    problems = []
    if asked.zone is not None and not _zone_in_region(cloud, asked.zone, asked.region):
        problems.append(
            Problem(
                path=(*path, "zone"),
                message=f"zone {asked.zone!r} is not in region {asked.region!r}",
                help="the GPU nodes, their fabric and the file system share one zone of the region",
            )
        )
    shape, example = RESERVATION_IDS[cloud]
    owner, offer = _OFFERS.get(asked.capacity, (cloud, ""))
    if owner != cloud:
        problems.append(
            Problem(
                path=(*path, "capacity"),
                message=f"{offer}, not of {cloud}",
                help="choose on-demand, spot or reservation",
            )
        )
    elif asked.reservation is not None and re.fullmatch(shape, asked.reservation) is None:
        problems.append(
            Problem(
                path=(*path, "reservation"),
                message=f"{asked.reservation!r} is not the id of a reservation of {cloud}",
                help=f"for example {example}",
            )
        )
    return problems


def _offer_problems(cloud: str, asked: CloudTarget, instance: Instance) -> list[Problem]:
    """Return why an instance type cannot be had where and as the target asks."""
    path: Path = ("targets", cloud)
    problems = []
    if asked.capacity == "reservation" and cloud == "azure" and instance.fabric_kind == "infiniband":
        problems.append(
            Problem(
                path=(*path, "capacity"),
                message=f"Azure reserves no capacity for sizes with InfiniBand such as {instance.id}",
                help="choose on-demand or spot",
            )
        )
    regions = sorted({_region_of(cloud, region) for region in instance.regions})
    if regions and asked.region not in regions:
        problems.append(
            Problem(
                path=(*path, "region"),
                message=f"no source lists {instance.id} in {asked.region!r}",
                help=f"it is listed in {', '.join(regions)}",
            )
        )
    return problems


def _zone_in_region(cloud: str, zone: str, region: str) -> bool:
    """Tell whether a zone's name fits its region: `us-east-1a`, `us-central1-a`; Azure zones are 1, 2 and 3."""
    if cloud == "azure":
        return zone in ("1", "2", "3")
    suffix = zone.removeprefix(region)
    return suffix != zone and suffix.lstrip("-").isalnum()


def _region_of(cloud: str, place: str) -> str:
    """Return the region of a place that may be a GCP zone such as `us-central1-a`."""
    head, _, tail = place.rpartition("-")
    return head if cloud == "gcp" and len(tail) == 1 else place
