"""Sizes and times that a kind of capacity or a placement does not give: findings and warnings of one target."""

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.errors import Finding
from clusterwright.facility.storage.file_system import AskedFileSystem, FileSystem, asked_problem
from clusterwright.plan.bounds import hardware_limits, node_counts
from clusterwright.plan.candidates.cloud_addresses import overlap_findings
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Option, WorkUnit
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceRequest
from clusterwright.units import duration_text

_GB_PER_GIB = 2.0**30 / 1e9


def asked_of(asked: CloudTarget) -> AskedFileSystem:
    """Return tier and size that a target asks for."""
    return AskedFileSystem(
        capacity_bytes=asked.file_system.capacity, mb_per_s_per_tib=asked.file_system.mb_per_s_per_tib
    )


def usd_per_month(blueprint: Blueprint, book: PriceBook, target: str, system: FileSystem) -> float | None:
    """Return the documented price of a file system for a month in a target's region; None where there is none."""
    region = getattr(blueprint.targets, target).region
    request = PriceRequest(sku=system.tier.sku, region=region, term="on_demand")
    found = book.in_force([request], blueprint.economics.as_of or book.newest_day)[0]
    if found is None or found.point.charge != "monthly":
        return None
    per_gib = found.point.usd * (_GB_PER_GIB if found.point.unit == "GB" else 1.0)
    return per_gib * system.capacity_gib


def cloud_findings(blueprint: Blueprint, facts: Facts, target: ResolvedTarget) -> list[Finding]:
    """Return why what a cloud target asks for cannot be had, before anything is sized; nothing on premises.

    Beside those of `size_findings` and `overlap_findings`, `STO002` and `STO003`: a file system that is not sold.
    """
    asked = getattr(blueprint.targets, target.target)
    if target.instance is None:
        return []
    file_system = asked_problem(
        cloud=target.target,
        asked=asked_of(asked),
        usd_per_month=lambda system: usd_per_month(blueprint, facts.book, target.target, system),
    )
    return [
        *size_findings(blueprint, target),
        *overlap_findings(target.target, asked, target.instance),
        *([] if file_system is None else [file_system]),
    ]


def size_findings(blueprint: Blueprint, target: ResolvedTarget) -> list[Finding]:
    """Return why no cluster of the sizes asked for can be had, before anything is sized.

    `PLC010`: more nodes than the placement or the capacity object holds; `PLC011`: no number of nodes that is allowed
    makes whole racks or a slice.
    """
    asked = getattr(blueprint.targets, target.target)
    path = ("targets", target.target)
    least = asked.min_nodes or 1
    limited_to, limit = min(hardware_limits(target), default=(None, ""))
    if limited_to is not None and least > limited_to:
        return [
            Finding(
                id="PLC010",
                path=(*path, "min_nodes"),
                message=f"at least {least} nodes are asked for, but {limit} holds {limited_to}",
                help=f"set min_nodes to {limited_to} or less, {_way_out(target)}",
            )
        ]
    counts = node_counts(target)
    if counts is None:
        return []
    rule = asked.nodes_must_be
    most = asked.max_nodes or max(counts)
    fitting = [nodes for nodes in counts if least <= nodes <= most and (rule is None or rule.holds(nodes))]
    if fitting:
        return []
    below = max((nodes for nodes in counts if nodes < least), default=None)
    above = min((nodes for nodes in counts if nodes > least), default=None)
    near = " or ".join(str(nodes) for nodes in (below, above) if nodes is not None)
    field = "min_nodes" if asked.min_nodes is not None else "max_nodes" if rule is None else "nodes_must_be"
    what = "slice" if target.tpu_slice is not None else "number of whole racks"
    return [
        Finding(
            id="PLC011",
            path=(*path, field),
            message=f"no number of nodes that is allowed is a {what} of {target.node.id}",
            help=f"allow {near} nodes",
        )
    ]


def _way_out(target: ResolvedTarget) -> str:
    capacity = target.capacity
    if capacity is not None and capacity.max_nodes is not None:
        return f"or choose another capacity than {capacity.kind}"
    return "or choose an instance type with more accelerators"


def time_findings(option: Option, target: ResolvedTarget, unit: WorkUnit) -> list[Finding]:
    """Return `CAP004` where the work takes longer than its capacity can be had for."""
    performance = option.performance
    capacity = target.capacity
    if capacity is None or capacity.most_days is None or capacity.lasts(performance.calendar_days) is not None:
        return []
    return [
        Finding(
            id="CAP004",
            path=("targets", option.target, "capacity"),
            message=(
                f"the {unit.name} takes {performance.calendar_days:.1f} days ({performance.calendar_days_low:.1f} to "
                f"{performance.calendar_days_high:.1f}), one {capacity.name} lasts at most {capacity.most_days}"
            ),
            help=(
                f"set goals.finish_within to {capacity.most_days} days or less, choose another capacity, or plan each "
                f"part of the {unit.name} between two checkpoints on its own"
            ),
        )
    ]


def capacity_warnings(option: Option, target: ResolvedTarget, unit: WorkUnit) -> list[Finding]:
    """Return what of a target's capacity and placement may still go wrong.

    `PLC012`: more nodes than a placement holds without a support request; `CAP005`: the facts of this capacity are not
    verified; `CAP006`: nodes of a block that stay idle; `CAP007`: the reservation decides where the nodes are;
    `CAP008`: the slow end of the band is longer than the capacity lasts; `CAP009`: days of a block that stay unused;
    `STO005`: a file system that needs a support request.
    """
    cluster = option.cluster
    capacity, placement = target.capacity, target.placement
    path = ("targets", option.target, "capacity")
    found = []
    if placement is not None and placement.max_nodes is not None and cluster.nodes > placement.max_nodes:
        found.append(
            Finding(
                id="PLC012",
                path=("targets", option.target),
                message=(
                    f"{cluster.nodes} nodes are more than the {placement.max_nodes} that one {placement.name} of "
                    f"{cluster.instance} holds without a support request"
                ),
                help=(
                    f"ask for {placement.max_nodes_on_request} before you bring nodes up, or set max_nodes to "
                    f"{placement.max_nodes}"
                ),
            )
        )
    found += _large_file_system(option)
    if capacity is None:
        return found
    if not capacity.verified:
        found.append(
            Finding(
                id="CAP005",
                path=path,
                message=f"it is not verified that {cluster.instance} can be had as {capacity.kind}: {capacity.note}",
                help="ask the cloud before you rely on it",
            )
        )
    if capacity.node_counts and cluster.nodes not in capacity.node_counts:
        covering = min((count for count in capacity.node_counts if count > cluster.nodes), default=None)
        if covering is not None:
            found.append(
                Finding(
                    id="CAP006",
                    path=path,
                    message=(
                        f"one {capacity.name} has {_listed(capacity.node_counts)} nodes: {covering} cover the "
                        f"{cluster.nodes}, and {covering - cluster.nodes} are paid for without work"
                    ),
                    help=f"set min_nodes to {covering} and use them all, or another capacity",
                )
            )
    if capacity.kind == "reservation" and capacity.placement == "brought" and placement is not None:
        found.append(
            Finding(
                id="CAP007",
                path=path,
                message=f"the {capacity.name} decides where the nodes are; no {placement.name} is added to it",
                help="see that the reservation itself keeps its nodes close",
            )
        )
    return found + _band(option, target, unit)


def _large_file_system(option: Option) -> list[Finding]:
    system = option.design.file_system
    if system is None or not system.on_request:
        return []
    return [
        Finding(
            id="STO005",
            path=("targets", option.target, "file_system"),
            message=(
                f"{system.capacity_gib:,} GiB are more than the {system.tier.largest_gib:,} that the provider gives at "
                f"{system.tier.mb_per_s_per_tib} MB/s per TiB without a support request"
            ),
            help="ask for it before you bring the foundation up, or set file_system.capacity to less",
        )
    ]


def _band(option: Option, target: ResolvedTarget, unit: WorkUnit) -> list[Finding]:
    performance = option.performance
    capacity = target.capacity
    if capacity is None or capacity.most_days is None or capacity.lasts(performance.calendar_days) is None:
        return []
    path = ("targets", option.target, "capacity")
    needed = capacity.lasts(performance.calendar_days_high)
    if needed is None:
        return [
            Finding(
                id="CAP008",
                path=path,
                message=(
                    f"the {unit.name} takes up to {performance.calendar_days_high:.1f} days, one {capacity.name} lasts "
                    f"at most {capacity.most_days}"
                ),
                help="keep checkpoints outside the nodes, and ask for a second one in time",
            )
        ]
    if capacity.step_days is None:
        return []
    return [
        Finding(
            id="CAP009",
            path=path,
            message=(
                f"the {unit.name} takes up to {duration_text(performance.calendar_days_high)}, one {capacity.name} "
                f"lasts {duration_text(needed)} at least and is paid for whole, as the plan counts"
            ),
            help=f"see that it lasts {duration_text(needed)} and is not shorter",
        )
    ]


def _listed(counts: tuple[int, ...]) -> str:
    *first, last = [str(count) for count in counts]
    return f"{', '.join(first)} or {last}" if first else last
