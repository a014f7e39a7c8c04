"""From plans of single workloads to one cluster for all of them on each target."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.blueprint.schema import TARGETS
from clusterwright.blueprint.shared import Member, SharedBlueprint
from clusterwright.errors import Finding
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import ServingOption
from clusterwright.plan.text.words import on_target
from clusterwright.sharing.hours import (
    Claim,
    best_start,
    busiest,
    cluster_nodes,
    hour_text,
    hours_text,
    lent_shares,
    run_nodes_by_hour,
    segments,
    service_nodes_by_hour,
    worked_share,
)
from clusterwright.sharing.money import owned_usd, rented_usd, split
from clusterwright.sharing.record import Part, SharedOption, SharedPlan
from clusterwright.units import HOURS_PER_MONTH

_HOURS_A_DAY = 24.0
#: A plan of one workload with other values, None where it fits nowhere.
Replan = Callable[[Member, Mapping[tuple[str, ...], Any]], Plan | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """A workload on the hardware that is shared.

    Attributes:
        nodes: that it takes; days, days_high: of a run on them.
    """

    member: Member
    option: Option
    nodes: int
    days: float
    days_high: float


def shared_plan(shared: SharedBlueprint, plans: Mapping[str, Plan], replan: Replan) -> SharedPlan:
    """Return the plan of several workloads that share their targets.

    Args:
        shared: the blueprint.
        plans: of every workload alone, by name.
        replan: makes the plan of a workload with other values, for hardware and size that others decide on.
    """
    any_plan = next(iter(plans.values()))
    anchors = {target: _anchor(target, shared.members, plans) for target in TARGETS}
    alike = {member.name: _on_hardware_of_anchors(member, plans, anchors, replan) for member in shared.members}
    options: list[SharedOption] = []
    left_out: list[tuple[str, str]] = []
    findings: list[Finding] = []
    for target, anchor in anchors.items():
        if anchor is None:
            continue
        works = [_work(member, alike[member.name].get(target)) for member in shared.members]
        missing = [member.name for member, work in zip(shared.members, works, strict=True) if work is None]
        if missing:
            left_out.append((target, f"{', '.join(missing)} does not fit the nodes of {anchor.name}"))
            continue
        known = [work for work in works if work is not None]
        claims = _claims(shared, known)
        findings += _findings(shared, target, known, claims)
        options.append(_shared(shared, target, anchor, known, claims, plans, replan))
    return SharedPlan(
        name=shared.name,
        description=shared.description,
        as_of=str(any_plan.as_of),
        horizon_months=shared.horizon_months,
        options=tuple(options),
        left_out=tuple(left_out),
        findings=tuple(findings),
    )


def _anchor(target: str, members: Sequence[Member], plans: Mapping[str, Plan]) -> Member | None:
    """Return the workload that costs most alone on a target, whose hardware the others share; None without one.

    Services come first: their nodes are kept.
    """
    there = [(member, plans[member.name].option(target)) for member in members]
    if any(option is None for _, option in there):
        return None

    def rank(entry: tuple[Member, Option | None]) -> tuple[bool, float, int]:
        member, option = entry
        return (
            member.serves,
            (option.money.horizon_usd if option else None) or 0.0,
            option.cluster.gpus if option else 0,
        )

    return max(there, key=rank)[0]


def hardware_path(target: str) -> tuple[str, str, str]:
    """Return the key that names the hardware of a target."""
    return ("targets", target, "system" if target == "onprem" else "instance")


def _on_hardware_of_anchors(
    member: Member, plans: Mapping[str, Plan], anchors: Mapping[str, Member | None], replan: Replan
) -> dict[str, Option]:
    """Return a workload's option on each target with the hardware that its anchor has chosen."""
    own = {option.target: option for option in plans[member.name].options}
    values: dict[tuple[str, ...], Any] = {}
    for target, anchor in anchors.items():
        theirs = None if anchor is None else plans[anchor.name].option(target)
        if theirs is None or own[target].cluster.instance == theirs.cluster.instance:
            continue
        path = hardware_path(target)
        values[path] = theirs.cluster.instance
        values[*path[:2], f"allowed_{path[2]}s"] = None
    if not values:
        return own
    made = replan(member, values)
    changed = {} if made is None else {option.target: option for option in made.options}
    touched = {path[1] for path in values}
    return {target: option for target, option in own.items() if target not in touched} | {
        target: option for target, option in changed.items() if target in touched
    }


def _work(member: Member, option: Option | None) -> _Work | None:
    """Return what a workload takes: a service its nodes, a run the fewest that meet its goal."""
    if option is None:
        return None
    if member.serves:
        return _Work(member=member, option=option, nodes=option.cluster.nodes, days=0.0, days_high=0.0)
    met = [point for point in option.performance.front if point.meets_goal]
    least = min(met, key=lambda point: point.nodes) if met else None
    nodes = option.cluster.nodes if least is None else least.nodes
    time = option.performance if least is None else least
    return _Work(member=member, option=option, nodes=nodes, days=time.calendar_days, days_high=time.calendar_days_high)


def _claims(shared: SharedBlueprint, works: Sequence[_Work]) -> tuple[Claim, ...]:
    return tuple(_claim(shared, work) for work in works)


def _claim(shared: SharedBlueprint, work: _Work) -> Claim:
    schedule, option = work.member.schedule, work.option
    months = shared.horizon_months - schedule.from_month
    if isinstance(option, ServingOption):
        by_hour = service_nodes_by_hour(
            option.performance.day.hourly_requests_per_s,
            replicas=option.performance.replicas,
            spare=option.performance.spare_replicas,
            gpus_per_replica=option.performance.layout.gpus,
            gpus_per_node=option.cluster.gpus_per_node,
            nodes=option.cluster.work_nodes,
        )
        # Nodes with parts of GPUs are never lent.
        by_hour = tuple(nodes + option.cluster.divided_nodes for nodes in by_hour)
        return Claim(
            name=work.member.name,
            nodes_by_hour=by_hour,
            kept_nodes=option.cluster.nodes,
            from_month=schedule.from_month,
            until_month=shared.horizon_months,
            worked_node_hours=sum(by_hour) / len(by_hour) * months * HOURS_PER_MONTH,
        )
    runs = option.money.runs_in_horizon
    if schedule.hours is not None:
        end = shared.horizon_months
    else:
        end = min(schedule.from_month + runs * work.days * _HOURS_A_DAY / HOURS_PER_MONTH, shared.horizon_months)
    return Claim(
        name=work.member.name,
        nodes_by_hour=run_nodes_by_hour(schedule.hours, work.nodes),
        kept_nodes=0,
        from_month=schedule.from_month,
        until_month=end,
        worked_node_hours=runs * work.days * _HOURS_A_DAY * work.nodes,
    )


def _shared(  # noqa: PLR0917 - what one target has
    shared: SharedBlueprint,
    target: str,
    anchor: Member,
    works: Sequence[_Work],
    claims: Sequence[Claim],
    plans: Mapping[str, Plan],
    replan: Replan,
) -> SharedOption:
    nodes = cluster_nodes(claims)
    lent = lent_shares(claims)
    main = next(work.option for work in works if work.member is anchor)
    owned = main.cluster.it_power_w is not None
    if owned:
        cluster = _owned_cluster(shared, target, anchor, main, nodes, replan)
        others = [work.option for work in works if work.member is not anchor]
        usd = None if cluster is None else owned_usd(cluster, others, always_on=anchor.serves)
    else:
        usd = rented_usd({work.member.name: work.option for work in works}, lent)
    paid = split(usd, claims)
    worked = sum(claim.worked_node_hours for claim in claims)
    parts = []
    for work, claim in zip(works, claims, strict=True):
        alone = plans[work.member.name].option(target)
        assert alone is not None  # noqa: S101 - an anchor is of targets that all have
        serves = work.member.serves
        parts.append(
            Part(
                name=claim.name,
                kind=work.member.loaded.blueprint.workload.kind,
                amount=plans[work.member.name].workload.amount_text,
                hours=_when(shared, work.member, claim),
                nodes=max(claim.nodes_by_hour),
                run_hours=None if serves else work.days_high * _HOURS_A_DAY,
                runs=1.0 if serves else work.option.money.runs_in_horizon,
                worked_node_hours=claim.worked_node_hours,
                worked_share=claim.worked_node_hours / worked if worked else 0.0,
                usd=paid[claim.name],
                lent_share=lent.get(claim.name),
                separate_instance=alone.cluster.instance,
                separate_nodes=alone.cluster.nodes,
                separate_usd=alone.money.horizon_usd,
            )
        )
    separate = [part.separate_usd for part in parts]
    fullest = max(segments(claims), key=lambda part: int(part.needed.max()))
    return SharedOption(
        target=target,
        instance=main.cluster.instance,
        accelerator_name=main.cluster.accelerator_name,
        nodes=nodes,
        gpus=nodes * main.cluster.gpus_per_node,
        owned=owned,
        usd=usd,
        separate_usd=None if None in separate else sum(one for one in separate if one is not None),
        busy_share=worked_share(claims, nodes, shared.horizon_months),
        anchor=anchor.name,
        parts=tuple(parts),
        nodes_by_hour=tuple(int(one) for one in fullest.needed),
    )


def _owned_cluster(  # noqa: PLR0917 - the same
    shared: SharedBlueprint, target: str, anchor: Member, main: Option, nodes: int, replan: Replan
) -> Option | None:
    """Return the shared cluster as the anchor's own with as many nodes, owned for the whole horizon."""
    if nodes == main.cluster.nodes and not anchor.schedule.from_month:
        return main
    path = hardware_path(target)
    made = replan(
        anchor,
        {
            **{("targets", other): None for other in TARGETS if other != target},
            path: main.cluster.instance,
            (*path[:2], f"allowed_{path[2]}s"): None,
            (*path[:2], "min_nodes"): nodes,
            (*path[:2], "max_nodes"): nodes,
            ("economics", "horizon"): f"{shared.horizon_months:.6f} months",
        },
    )
    return None if made is None else made.option(target)


def _when(shared: SharedBlueprint, member: Member, claim: Claim) -> str:
    begins = f"from month {member.schedule.from_month:g}" if member.schedule.from_month else ""
    if member.serves:
        return begins or "always"
    if member.schedule.hours is not None:
        return ", ".join(part for part in (hours_text(member.schedule.hours), begins) if part)
    return f"months {claim.from_month:.2g} to {claim.until_month:.2g} of {shared.horizon_months:g}"


def _findings(shared: SharedBlueprint, target: str, works: Sequence[_Work], claims: Sequence[Claim]) -> list[Finding]:
    """Return hours that are claimed beyond the cluster, runs longer than their hours, and runs that do not end."""
    found = []
    for work, claim in zip(works, claims, strict=True):
        schedule, place = work.member.schedule, ("workloads", work.member.place)
        if schedule.hours is not None and work.days_high * _HOURS_A_DAY > schedule.hours.hours * (1 + 1e-9):
            found.append(
                Finding(
                    id="WRK002",
                    path=(*place, "hours", "hours"),
                    message=f"{target}: a run of {claim.name} takes {work.days_high * _HOURS_A_DAY:.1f} hours on "
                    f"{work.nodes:,} nodes, its hours are {schedule.hours.hours}",
                    help="write more hours, or a shorter goals.finish_within, so that more nodes are claimed",
                )
            )
        wanted = schedule.from_month + work.option.money.runs_in_horizon * work.days * _HOURS_A_DAY / HOURS_PER_MONTH
        if not work.member.serves and schedule.hours is None and wanted > shared.horizon_months * (1 + 1e-9):
            found.append(
                Finding(
                    id="WRK003",
                    path=(*place, "runs") if schedule.runs is not None else (*place, "name"),
                    message=f"{target}: the runs of {claim.name} end in month {wanted:.1f} of a horizon of "
                    f"{shared.horizon_months:g}",
                    help="plan fewer runs, a shorter goals.finish_within, or a longer economics.horizon",
                )
            )
    section = getattr(shared.members[0].loaded.blueprint.targets, target)
    nodes = cluster_nodes(claims)
    most = getattr(section, "max_nodes", None)
    if most is None or nodes <= most:
        return found
    hour, names = busiest(claims)
    movable = next((work for work in works if not work.member.serves and work.member.name in names), works[-1])
    hours = movable.member.schedule.hours
    keys = ("hours",) if hours is not None else ("name",)
    advice = f"raise targets.{target}.max_nodes to {nodes}"
    if hours is not None:
        start, free = best_start(claims, hours.hours)
        advice += (
            f", or begin {hour_text(start)}, from when {free} kept nodes are free for {hours.hours} h" if free else ""
        )
    else:
        advice += ", or begin later (from_month)"
    found.append(
        Finding(
            id="WRK001",
            path=("workloads", movable.member.place, *keys),
            message=f"{' and '.join(names)} claim {nodes:,} nodes {on_target(target)} at the same time "
            f"({hour_text(hour)}), the cluster has {most:,} at most",
            help=advice,
        )
    )
    return found
