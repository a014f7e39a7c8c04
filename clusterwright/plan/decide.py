"""The only place that chooses: which cluster size per target, and which target.

Per target, every point of the sizing front (nodes against calendar days) is billed and costed; among the points whose
P-confidence of calendar days meets the goal, the cheapest is taken: by the cost of one run where it is rented, by the
cost of the horizon's work where it is owned. Recommended are the
target on which this run alone takes least cash, and the one on which the work of the horizon costs least.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from clusterwright import __version__
from clusterwright.blueprint.resolve import CLOUDS, Resolved, ResolvedTarget
from clusterwright.blueprint.schema import Blueprint, CloudTarget, Train
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding, RuleError
from clusterwright.facility.bill import Bill
from clusterwright.facility.cloud_bill import FileSystem, choose_file_system, cloud_bill
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import Site
from clusterwright.plan.record import (
    ClusterNames,
    EconomicsSummary,
    FrontPoint,
    GoalSummary,
    Option,
    Plan,
    WorkloadSummary,
)
from clusterwright.plan.recount import not_counted
from clusterwright.pricing.book import PriceBook
from clusterwright.sizing.calibration import load_calibration
from clusterwright.sizing.records import SizedPoint, TrainingJob
from clusterwright.sizing.search import search
from clusterwright.tco.engine import Ledger, cost
from clusterwright.tco.records import Candidate, CandidateCost, Economics
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_DAY, SECONDS_PER_HOUR
from clusterwright.workload.transformer import parameters, training_flops_per_token

#: Terms under which rented compute nodes are paid, by how their capacity is obtained.
TERM_OF_CAPACITY = {
    "on-demand": "on_demand",
    "spot": "spot",
    "reservation": "on_demand",
    "capacity-block": "capacity_block",
}

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    """One point of a target's front with its bill, before and after costing."""

    resolved: ResolvedTarget
    point: SizedPoint
    bill: Bill
    design: OnPremDesign | None
    file_system: FileSystem | None
    key: str
    term: str | None
    meets_goal: bool


def decide(
    blueprint: Blueprint, resolved: Resolved, catalogue: Catalogue, *, progress: Progress = lambda _: None
) -> Plan:
    """Size, bill, cost and choose.

    Args:
        blueprint: a training blueprint.
        resolved: its names, looked up.
        catalogue: the facts.
        progress: called with a few words before each longer piece of work.

    Raises:
        RuleError: no target fits; every target's reason is a finding. A target that does not fit while others do is a
            finding of the plan.
        MissingFactError: a fact that the answer needs is missing.
    """
    if not isinstance(blueprint.workload, Train):
        raise TypeError("only training blueprints are resolved")
    job = _job(blueprint, resolved)
    economics = _economics(blueprint)
    choices: list[_Choice] = []
    failures: list[Finding] = []
    for target in resolved.targets:
        progress(f"sizing {target.target} ({target.node.id})")
        try:
            choices += _choices(blueprint, catalogue, job, target)
        except RuleError as error:
            failures += [replace(finding, message=f"{target.target}: {finding.message}") for finding in error.findings]
    if not choices:
        raise RuleError(tuple(failures))
    progress(f"pricing {len(choices)} clusters")
    book = PriceBook.open()
    costs = {entry.key: entry for entry in cost([_candidate(choice) for choice in choices], economics, book)}
    chosen = [_best(points, costs) for target in resolved.targets if (points := _points_of(target, choices))]
    # The same work for all: what the chosen clusters do over the horizon is counted again among themselves.
    ledger = Ledger([replace(_candidate(choice), key=choice.resolved.target) for choice in chosen], economics, book)
    final = {entry.key: entry for entry in ledger.costs()}
    options = tuple(
        _option(
            blueprint,
            choice,
            final[choice.resolved.target],
            [other for other in choices if other.resolved is choice.resolved],
            costs,
        )
        for choice in chosen
    )
    return Plan(
        schema=1,
        clusterwright=__version__,
        catalogue=catalogue.version,
        name=blueprint.name,
        description=blueprint.description,
        as_of=ledger.as_of.isoformat(),
        workload=_workload(blueprint.workload, resolved),
        goals=GoalSummary(
            finish_within_days=_days(blueprint.goals.finish_within),
            confidence=blueprint.goals.confidence,
            budget_usd=blueprint.economics.budget,
        ),
        economics=EconomicsSummary(
            horizon_months=economics.horizon_months,
            utilisation=economics.utilisation,
            discount_rate=economics.discount_rate,
            hours_per_month=economics.hours_per_month,
            power_price_usd_per_kwh=economics.power_price_usd_per_kwh,
            pue=economics.pue,
        ),
        cluster=ClusterNames(
            name=blueprint.cluster.name or blueprint.name,
            partition=blueprint.cluster.partition,
            host_prefix=blueprint.cluster.host_prefix,
            tags=tuple(sorted(blueprint.cluster.tags.items())),
        ),
        recommended=_recommended(options, blueprint.economics.budget),
        recommended_horizon=_recommended_horizon(options),
        options=options,
        breakevens=ledger.breakevens(),
        parameters=ledger.parameters,
        findings=(*failures, *_findings(blueprint, options)),
        not_counted=not_counted(
            owned=any(option.facility is not None for option in options),
            rented=any(option.facility is None for option in options),
        ),
    )


def _job(blueprint: Blueprint, resolved: Resolved) -> TrainingJob:
    workload = blueprint.workload
    assert isinstance(workload, Train)  # noqa: S101 - narrowed by `decide`
    return TrainingJob(
        model=resolved.model,
        tokens=workload.tokens,
        sequence_length=workload.sequence_length,
        global_batch_sequences=workload.global_batch,
        precision=workload.precision,
        finish_within_s=blueprint.goals.finish_within,
        confidence=blueprint.goals.confidence,
        tensor_parallel=workload.parallelism.tensor,
        pipeline_parallel=workload.parallelism.pipeline,
        micro_batch=workload.parallelism.micro_batch,
        recompute=workload.parallelism.recompute,
    )


def _economics(blueprint: Blueprint) -> Economics:
    section = blueprint.economics
    return Economics(
        horizon_months=section.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR),
        utilisation=section.utilisation,
        discount_rate=section.discount_rate,
        as_of=section.as_of,
        power_price_usd_per_kwh=blueprint.site.power_price,
        pue=blueprint.site.pue,
    )


def _choices(blueprint: Blueprint, catalogue: Catalogue, job: TrainingJob, target: ResolvedTarget) -> list[_Choice]:
    asked = getattr(blueprint.targets, target.target)
    front = search(job=replace(job, max_nodes=asked.max_nodes), node=target.node, calibration=load_calibration())
    goal_days = _days(blueprint.goals.finish_within)
    meeting = [point for point in front.points if goal_days is None or point.calendar_days_high <= goal_days]
    # Where no size meets the goal, the fastest is shown with what is missing.
    points = meeting or [min(front.points, key=lambda point: point.calendar_days_high)]
    choices: list[_Choice] = []
    refused: list[Finding] = []
    for point in points:
        try:
            bill, design, file_system = _bill(blueprint, catalogue, target, point)
        except RuleError as error:
            refused += error.findings
            continue
        choices.append(
            _Choice(
                resolved=target,
                point=point,
                bill=bill,
                design=design,
                file_system=file_system,
                key=f"{target.target}/{point.nodes}",
                term=None if target.system else TERM_OF_CAPACITY[asked.capacity],
                meets_goal=bool(meeting),
            )
        )
    if not choices:
        # Every size is refused for the same rule; the first one's numbers are those of the smallest cluster.
        raise RuleError((refused[0],))
    return choices


def _bill(
    blueprint: Blueprint, catalogue: Catalogue, target: ResolvedTarget, point: SizedPoint
) -> tuple[Bill, OnPremDesign | None, FileSystem | None]:
    if target.system is None:
        asked: CloudTarget = getattr(blueprint.targets, target.target)
        file_system = choose_file_system(cloud=target.target, need=point.storage)
        bill = cloud_bill(cloud=target.target, region=asked.region, point=point, file_system=file_system)
        return bill, None, file_system
    site = Site(
        rack_power_w=blueprint.site.rack_power,
        rack_height_u=blueprint.site.rack_height,
        pue=blueprint.site.pue,
        power_limit_w=blueprint.site.power_limit,
    )
    design = design_onprem(
        system=target.system,
        nodes=point.nodes,
        storage=point.storage,
        site=site,
        catalogue=catalogue,
        host_prefix=blueprint.cluster.host_prefix,
    )
    return design.bill, design, None


def _candidate(choice: _Choice) -> Candidate:
    return Candidate(
        key=choice.key,
        target=choice.resolved.target,
        bill=choice.bill,
        nodes=choice.point.nodes,
        gpus=choice.point.gpus,
        calendar_days=choice.point.calendar_days,
        term=choice.term,
    )


def _best(points: list[_Choice], costs: dict[str, CandidateCost]) -> _Choice:
    """Return the point that costs least: for one run where it is rented, for the horizon's work where it is owned.

    All points of a target do the same work over the horizon, so an owner pays for the smallest cluster that suffices.
    Points that the building cannot hold come last; so do unknown costs, then fewer nodes and fewer days decide.
    """

    def rank(choice: _Choice) -> tuple[bool, float, int, float]:
        cost = costs[choice.key]
        usd = cost.horizon_usd if cost.owned else cost.run_usd
        broken = choice.design is not None and bool(choice.design.findings)
        return broken, float("inf") if usd is None else usd, choice.point.nodes, choice.point.calendar_days

    return min(points, key=rank)


def _points_of(target: ResolvedTarget, choices: list[_Choice]) -> list[_Choice]:
    return [choice for choice in choices if choice.resolved is target]


def _option(
    blueprint: Blueprint,
    choice: _Choice,
    cost: CandidateCost,
    front: list[_Choice],
    costs: dict[str, CandidateCost],
) -> Option:
    target, point = choice.resolved, choice.point
    asked = getattr(blueprint.targets, target.target)
    shared = {field.name for field in fields(CandidateCost)} & {field.name for field in fields(Option)}
    described = {"target", "nodes", "gpus", "calendar_days"}
    return Option(
        target=target.target,
        instance=target.node.id,
        region=asked.region if target.target in CLOUDS else "",
        zone=(asked.zone or "") if target.target in CLOUDS else "",
        capacity=asked.capacity if target.target in CLOUDS else "",
        reservation=(asked.reservation or "") if target.target in CLOUDS else "",
        accelerator=target.node.accelerator.id,
        accelerator_name=target.node.accelerator.name,
        nodes=point.nodes,
        gpus=point.gpus,
        gpus_per_node=target.node.gpus,
        layout=point.layout,
        memory_bytes_per_gpu=point.memory,
        hbm_bytes_per_gpu=target.node.hbm_bytes_per_gpu,
        step=point.step,
        mfu=point.mfu,
        tokens_per_s_per_gpu=point.tokens_per_s_per_gpu,
        goodput=point.goodput.fraction,
        failures=point.goodput,
        storage=point.storage,
        calendar_days=point.calendar_days,
        calendar_days_low=point.calendar_days_low,
        calendar_days_high=point.calendar_days_high,
        meets_goal=choice.meets_goal,
        limited_by=point.limited_by,
        it_power_w=choice.bill.it_power_w,
        unknown_power_items=choice.bill.unknown_power_items,
        facility=choice.design,
        file_system=choice.file_system,
        front=tuple(
            FrontPoint(
                nodes=other.point.nodes,
                gpus=other.point.gpus,
                calendar_days=other.point.calendar_days,
                calendar_days_high=other.point.calendar_days_high,
                mfu=other.point.mfu,
                meets_goal=other.meets_goal,
                run_usd=costs[other.key].run_usd,
            )
            for other in front
        ),
        **{name: getattr(cost, name) for name in shared - described},
    )


def _workload(workload: Train, resolved: Resolved) -> WorkloadSummary:
    return WorkloadSummary(
        kind=workload.kind,
        model=resolved.model.id,
        model_name=resolved.model.name,
        parameters=parameters(resolved.model),
        flop_per_token=training_flops_per_token(resolved.model, sequence_length=workload.sequence_length, causal=False),
        tokens=workload.tokens,
        sequence_length=workload.sequence_length,
        global_batch_sequences=workload.global_batch,
        precision=workload.precision,
    )


def _recommended(options: tuple[Option, ...], budget_usd: float | None) -> str:
    """Return where this run alone takes least cash: buying is for the horizon, so renting comes first."""
    known = [
        (option.target == "onprem", option.run_usd, option.target)
        for option in options
        if option.meets_goal and option.run_usd is not None and (budget_usd is None or option.run_usd <= budget_usd)
    ]
    return min(known)[2] if known else ""


def _recommended_horizon(options: tuple[Option, ...]) -> str:
    known = [
        (option.horizon_usd, option.target)
        for option in options
        if option.meets_goal and option.horizon_usd is not None
    ]
    return min(known)[1] if known else ""


def _findings(blueprint: Blueprint, options: tuple[Option, ...]) -> tuple[Finding, ...]:
    findings = [_goal_missed(blueprint, option) for option in options if not option.meets_goal]
    budget = blueprint.economics.budget
    known = [option.run_usd for option in options if option.run_usd is not None]
    if budget is not None and known and min(known) > budget:
        findings.append(
            Finding(
                id="TCO001",
                path=("economics", "budget"),
                message=f"the cheapest run costs {min(known):,.0f} USD, the budget is {budget:,.0f} USD",
                help="raise economics.budget, allow more days, or add a cheaper target",
            )
        )
    for option in options:
        if option.facility is not None:
            findings += option.facility.findings
    return tuple(findings)


def _goal_missed(blueprint: Blueprint, option: Option) -> Finding:
    goal = _days(blueprint.goals.finish_within)
    return Finding(
        id="GOAL001",
        path=("goals", "finish_within"),
        message=(
            f"{option.target}: the fastest cluster ({option.nodes} × {option.instance}) takes "
            f"{option.calendar_days_high:.1f} days at {blueprint.goals.confidence:.0%} confidence; "
            f"the goal is {goal:.1f}"
        ),
        help=(
            f"allow {option.calendar_days_high:.0f} days, raise global_batch so that more GPUs can work, "
            "raise max_nodes if it is set, or choose a faster instance"
        ),
    )


def _days(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / SECONDS_PER_DAY
