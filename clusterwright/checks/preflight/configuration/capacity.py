"""How nodes are obtained: a kind the type has, one object that decides placement, enough of it for long enough."""

from collections.abc import Iterator, Mapping

from clusterwright.blueprint.rules.cloud_places import RESERVATION_IDS, offer_problems, place_problems
from clusterwright.blueprint.sections.clouds import RESERVED
from clusterwright.catalog.clouds.objects import CapacityObject, PlacementObject
from clusterwright.checks.preflight.configuration.targets import outcomes_of, target_of
from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import flag, text, whole
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

_HOURS_PER_DAY = 24
#: Nodes of one scale set in projects without the key (stacks/azure/base/gpu_cluster/node_type.py); others have no sets.
_SCALE_SET_NODES = {"azure": 100}
#: Settings that ask for placement of one's own; a reservation brings its own.
_PLACEMENT = ("placementMaxDistance", "placementGroup", "placementGroupName", "proximityPlacementGroup", "placement")


def obtained(subject: Subject) -> CapacityObject | None:
    """Return the capacity object that the nodes come from; None where the type cannot be had so, or is unknown."""
    return None if subject.instance is None else subject.catalogue.capacity(subject.instance, subject.capacity)


def kind(subject: Subject) -> Iterator[Outcome]:
    """Check the kind of capacity, and that a reservation is named where one is meant and only there."""
    instance, capacity = subject.instance, subject.capacity
    if instance is None:
        return
    setting = subject.project.setting("capacity")
    place = setting.place if setting else None
    found, asked = obtained(subject), target_of(subject)
    problems = [
        *place_problems(subject.cloud, asked),
        *offer_problems(subject.catalogue, subject.cloud, asked, instance),
    ]
    yield from outcomes_of(subject, problems, "CAP001", "CAP002")
    if found is None:
        return
    named = subject.project.setting("reservationId")
    reservation, reserved = subject.reservation, capacity in RESERVED
    example = RESERVATION_IDS[subject.cloud][1]
    if reserved and not reservation:
        yield _outcome(
            setting,
            f"capacity is {capacity}, but no {found.name} is named",
            f"./cluster.sh set reservationId {example}; nothing is bought for you",
        )
    elif reservation and not reserved:
        yield _outcome(
            named,
            f"a reservation is named, but capacity is {capacity}",
            "./cluster.sh set capacity reservation, or remove reservationId: one of the two would be ignored",
        )
    elif not found.verified:
        yield Outcome(
            status="WARN",
            message=f"it is not verified that {instance.id} can be had as {capacity}: {found.note}",
            fix="ask the provider before you rely on it",
            place=place,
        )
    else:
        yield passed(f"{found.name}{f' {reservation}' if reservation else ''}", place)


def placement(subject: Subject) -> Iterator[Outcome]:
    """Check that placement and reservation are not both asked for: together they end in insufficient capacity."""
    found = obtained(subject)
    if found is None or subject.instance is None:
        return
    asked = [setting for key in _PLACEMENT for setting in subject.project.settings(key) if _asks(setting)]
    for setting in asked if found.placement != "own" else ():
        yield _outcome(
            setting,
            f"{setting.name} asks for placement beside a {found.name}, which decides it",
            f"remove {setting.name}: together they end in insufficient capacity, with part of the nodes missing",
        )
    own = subject.catalogue.placement(subject.instance)
    distances = own if own is not None and own.max_distance_least is not None else None
    for setting in subject.project.settings("placementMaxDistance") if distances and found.placement == "own" else ():
        yield from _distance(subject, setting, distances)
    decided = {"own": own.name if own else "nothing", "none": "nothing", "workload-policy": "a workload policy"}
    yield passed(f"placement by {decided.get(found.placement, f'the {found.name}')}")


def _distance(subject: Subject, setting: Setting, own: PlacementObject | None) -> Iterator[Outcome]:
    given = whole(setting.value)
    if own is None or not given or own.max_distance_least is None or own.max_distance_most is None:
        return
    # A3 takes no distance of 1 (cluster-toolkit, modules/compute/resource-policy).
    least = max(own.max_distance_least, 2) if subject.instance_type.startswith("a3-") else own.max_distance_least
    if not least <= given <= own.max_distance_most:
        yield _outcome(
            setting,
            f"{subject.instance_type} takes a maximum distance of {least} to {own.max_distance_most}, not {given}",
            f"./cluster.sh set placementMaxDistance {least}, or 0 for none",
        )


def limits(subject: Subject) -> Iterator[Outcome]:
    """Check the number of nodes against what one capacity object and one placement hold."""
    instance, nodes, found = subject.instance, subject.node_count, obtained(subject)
    if instance is None or nodes is None or found is None:
        return
    setting = subject.project.setting("nodeCount")
    place = setting.place if setting else None
    if nodes < 0:
        yield _outcome(setting, f"nodeCount is {nodes}", "set it to 0 or more")
        return
    own = subject.catalogue.placement(instance) if found.placement in ("own", "none") else None
    most_placed = None if own is None else own.most_nodes(chips_per_node=instance.gpus)
    holds = ((found.name, found.max_nodes), (own.name if own else "", most_placed))
    named = [(name, most) for name, most in holds if most is not None]
    for name, most in named:
        if nodes > most and not _split(subject):
            yield _outcome(
                setting, f"{nodes:,} nodes, but one {name} holds {most:,}", f"set nodeCount to {most} or less"
            )
    per_set = _nodes_of_a_scale_set(subject)
    if per_set is not None and per_set < nodes <= (most_placed or nodes) and not _split(subject):
        yield _outcome(
            setting,
            f"{nodes:,} nodes in one InfiniBand fabric, but nodeType.maxNodesPerScaleSet is {per_set:,}: the program "
            "refuses them",
            f"ask Azure support for scale sets of {nodes:,}, then ./cluster.sh set nodeType.maxNodesPerScaleSet "
            f"{most_placed or nodes}; or set nodeCount to {per_set} or less",
        )
    if own is not None and own.rack_nodes is not None and nodes > own.rack_nodes and nodes % own.rack_nodes:
        below = nodes // own.rack_nodes * own.rack_nodes
        yield _outcome(
            setting,
            f"{nodes:,} nodes are not whole racks of {own.rack_nodes}",
            f"set nodeCount to {below} or {below + own.rack_nodes}",
        )
    if own is not None and own.max_nodes is not None and own.max_nodes < nodes <= (most_placed or nodes):
        yield Outcome(
            status="WARN",
            message=f"{nodes:,} nodes are more than the {own.max_nodes:,} that one {own.name} holds without asking",
            fix="open a support request for the larger one before `up`",
            place=place,
        )
    shown = ", ".join(f"one {name} holds {most:,}" for name, most in named) or "no limit is known"
    yield passed(f"{nodes:,} nodes; {shown}", place)


def _nodes_of_a_scale_set(subject: Subject) -> int | None:
    """Return how many nodes the program puts into one scale set; None where they need no common one."""
    usual, setting = _SCALE_SET_NODES.get(subject.cloud), subject.project.setting("nodeType")
    if usual is None:
        return None
    node = setting.value if setting is not None else None
    if not isinstance(node, Mapping) or text(node.get("fabric")) != "infiniband":
        return None
    return whole(node.get("maxNodesPerScaleSet", usual))


def _split(subject: Subject) -> bool:
    """Tell whether the owner accepts several fabrics."""
    setting = subject.project.setting("allowSplitFabric")
    return setting is not None and flag(setting.value) is True


def lasts(subject: Subject) -> Iterator[Outcome]:
    """Check that the capacity object can be had for as long as the run takes."""
    option, found = subject.option, obtained(subject)
    if found is None or found.most_days is None:
        return
    setting = subject.project.setting("capacity")
    place = setting.place if setting else None
    hours = subject.project.setting("flexStartRunHours")
    given = whole(hours.value) if hours else None
    if given is not None and given > found.most_days * _HOURS_PER_DAY:
        yield _outcome(
            hours,
            f"{given} h are asked for, one {found.name} lasts at most {found.most_days} days",
            f"./cluster.sh set flexStartRunHours {found.most_days * _HOURS_PER_DAY}",
        )
    if option is None:
        yield Outcome(
            status="UNKNOWN",
            message=f"one {found.name} lasts at most {found.most_days} days; how long the run takes is in the plan",
            fix="run preflight on the blueprint, or with --online for the end of the reservation itself",
            place=place,
        )
        return
    days = option.performance.calendar_days_high
    needed = found.lasts(days)
    if needed is None:
        yield _outcome(
            setting,
            f"the run takes up to {days:.1f} days, one {found.name} lasts at most {found.most_days}",
            "choose another capacity, more nodes, or a second one in time; keep checkpoints outside the nodes",
        )
    else:
        yield passed(f"the run takes up to {days:.1f} days: a {found.name} of {needed} days", place)


def _asks(setting: Setting) -> bool:
    """Tell whether a value asks for placement: a number above 0, true, or a name."""
    number, switch = whole(setting.value), flag(setting.value)
    if number is not None:
        return number > 0
    return bool(text(setting.value)) if switch is None else switch


def _outcome(setting: Setting | None, message: str, fix: str) -> Outcome:
    return Outcome(status="FAIL", message=message, fix=fix, place=setting.place if setting else None)
