"""The only place that chooses: which cluster size per target, and which target.

Per target, the sizing front (nodes against calendar days) is billed and costed; among the points whose
P-confidence of calendar days meets the goal, the cheapest is taken: by the cost of one run where it is rented, by the
cost of the horizon's work where it is owned. Recommended are the target on which this run alone takes least cash, and
the one on which the work of the horizon costs least.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from clusterwright.blueprint.hardware import ResolvedTarget, Unusable
from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.workloads import Train
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding, InputError, MissingFactError, RuleError
from clusterwright.facility.storage_checks import storage_warnings
from clusterwright.plan.answer_basis import with_basis
from clusterwright.plan.candidates import Choice, Considered, candidate, consider, days, training_job
from clusterwright.plan.cloud_addresses import address_findings
from clusterwright.plan.cloud_limits import capacity_warnings, time_findings
from clusterwright.plan.cloud_warnings import place_warnings
from clusterwright.plan.compose import compose, option
from clusterwright.plan.fronts import most_nodes
from clusterwright.plan.hardware import chosen_by_usd, hardware, hardware_field
from clusterwright.plan.loading import waiting
from clusterwright.plan.owning import pace_of, parameters_of, resale_of
from clusterwright.plan.price_age import old_prices
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.without_effect import without_effect
from clusterwright.plan.work import UTILISATION, too_many_runs, with_reference
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.sizing.calibration import load_calibration
from clusterwright.sizing.records import SizedPoint, TrainingJob
from clusterwright.sizing.traffic import traffic_of
from clusterwright.tco.engine import Ledger, cost
from clusterwright.tco.records import CandidateCost, Economics
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, percent

Progress = Callable[[str], None]


def decide(
    blueprint: Blueprint,
    resolved: Resolved,
    catalogue: Catalogue,
    *,
    whole: Blueprint | None = None,
    quotes: tuple[QuotedPrice, ...] = (),
    progress: Progress = lambda _: None,
) -> Plan:
    """Size, bill, cost and choose.

    Args:
        blueprint: a training blueprint.
        resolved: its names, looked up.
        catalogue: the facts.
        whole: the blueprint with all its targets, where `blueprint` holds only some of them.
        quotes: prices of vendors for parts to buy; they win over every other price.
        progress: called with a few words before each longer piece of work.

    Raises:
        RuleError: no target fits; every target's reason is a finding. A target that does not fit while others do is a
            finding of the plan.
        InputError, MissingFactError: a target cannot be designed, with its place in the blueprint.
    """
    if not isinstance(blueprint.workload, Train):
        raise TypeError("only training blueprints are resolved")
    job = training_job(blueprint, resolved)
    book = PriceBook.open()
    economics = replace(economics_of(blueprint, book), quotes=quotes)
    targets: list[list[Considered]] = []
    refused: list[Unusable] = list(resolved.unusable)
    failures: list[Finding] = []
    for name, several in groupby(resolved.targets, key=lambda target: target.target):
        found, findings, left_out = _looked_at(blueprint, catalogue, job, list(several), progress)
        if found:
            targets.append(found)
            refused += left_out
        else:
            failures += [replace(finding, message=f"{name}: {finding.message}") for finding in findings]
    if not targets:
        raise RuleError(tuple(failures))
    choices = [choice for several in targets for considered in several for choice in considered.choices]
    progress(f"pricing {len(choices)} clusters")
    looked_at = cost([candidate(choice) for choice in choices], economics, book, scenarios=("base",))
    costs = {entry.key: entry for entry in looked_at}
    chosen = [_chosen(several, costs) for several in targets]
    # The same work for all: what the chosen clusters do over the horizon is counted again among themselves.
    named = [replace(candidate(choice), key=choice.resolved.target) for choice, _ in chosen]
    ledger = Ledger(named, with_reference(economics, named), book).reconciled()
    final = {entry.key: entry for entry in ledger.costs()}
    options = tuple(
        option(
            blueprint,
            choice,
            final[choice.resolved.target],
            front,
            costs,
            job=job,
            considered=hardware(blueprint, choice, several, costs, refused, job=job),
            traffic=traffic_of(job, choice.resolved.node, choice.point.layout, load_calibration()),
        )
        for (choice, front), several in zip(chosen, targets, strict=True)
    )
    options = with_basis(options, ledger, max_age_s=blueprint.economics.max_price_age)
    return compose(
        blueprint,
        resolved,
        catalogue,
        options,
        ledger,
        recommended=_recommended(options, blueprint.economics.budget),
        recommended_horizon=_recommended_horizon(options),
        findings=(*failures, *_findings(blueprint, options, [choice.resolved for choice, _ in chosen])),
        warnings=(
            *(
                warning
                for entry, (choice, _) in zip(options, chosen, strict=True)
                for warning in (
                    *place_warnings(blueprint, catalogue, choice.resolved),
                    *capacity_warnings(entry, choice.resolved),
                )
            ),
            *(
                warning
                for entry in options
                if entry.facility is not None
                for warning in storage_warnings(entry.facility.inventory)
            ),
            *old_prices(options, as_of=ledger.as_of, max_age_s=blueprint.economics.max_price_age),
            *without_effect(whole or blueprint, options),
        ),
    )


def _looked_at(
    blueprint: Blueprint,
    catalogue: Catalogue,
    job: TrainingJob,
    several: Sequence[ResolvedTarget],
    progress: Progress,
) -> tuple[list[Considered], list[Finding], list[Unusable]]:
    """Return what was considered of one target's hardware, and what was refused, as findings and in words.

    Raises:
        InputError, MissingFactError: of the only hardware, or the first of several that all fail; with its place.
    """
    found: list[Considered] = []
    findings: list[Finding] = []
    refused: list[Unusable] = []
    broken: list[InputError | MissingFactError] = []
    for target in several:
        progress(f"sizing {target.target} ({target.node.id})")
        try:
            found.append(consider(blueprint, catalogue, job, target))
        except RuleError as error:
            findings += error.findings
            reason = "; ".join(finding.message for finding in error.findings)
            refused.append(Unusable(target=target.target, name=target.node.id, reason=reason))
        except (InputError, MissingFactError) as error:
            # What says nothing of its place is wrong with the hardware: nothing else is new at this point.
            error.path = error.path or ("targets", target.target, hardware_field(blueprint, target.target))
            broken.append(error)
            refused.append(Unusable(target=target.target, name=target.node.id, reason=error.message))
    if broken and not found and not findings:
        raise broken[0]
    return found, findings, refused


def _chosen(several: Sequence[Considered], costs: dict[str, CandidateCost]) -> tuple[Choice, tuple[SizedPoint, ...]]:
    """Return the best size of the best hardware, and the sizes of that hardware that were considered."""
    best = _best([choice for considered in several for choice in considered.choices], costs)
    return best, next(considered.points for considered in several if best in considered.choices)


def economics_of(blueprint: Blueprint, book: PriceBook) -> Economics:
    """Return what the blueprint's money is counted with.

    Raises:
        InputError: a tariff or a licence is unknown on the as-of day.
    """
    section = blueprint.economics
    horizon_months = section.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR)
    return Economics(
        horizon_months=horizon_months,
        utilisation=UTILISATION if section.utilisation is None else section.utilisation,
        runs=section.runs,
        discount_rate=section.discount_rate,
        hours_per_month=section.hours_per_month,
        as_of=section.as_of,
        power_price_usd_per_kwh=blueprint.site.power_price,
        pue=blueprint.site.pue,
        given=parameters_of(
            blueprint.tco,
            book,
            as_of=section.as_of or book.newest_day,
            horizon_months=horizon_months,
            power_price_given=blueprint.site.power_price is not None,
        ),
        pace=pace_of(blueprint.tco),
        resale=resale_of(blueprint.tco),
    )


def _best(points: Sequence[Choice], costs: dict[str, CandidateCost]) -> Choice:
    """Return the point that costs least: for one run where it is rented, for the horizon's work where it is owned.

    All points of a target do the same work over the horizon, so an owner pays for the smallest cluster that suffices.
    Points that the building cannot hold come last; so do unknown costs, then fewer nodes and fewer days decide. Where
    no hardware of a choice meets the goal, the fastest is taken.
    """

    def rank(choice: Choice) -> tuple[bool, bool, float, float, int, float, str]:
        broken = choice.design is not None and bool(choice.design.findings)
        late = 0.0 if choice.meets_goal else choice.point.calendar_days_high
        usd = chosen_by_usd(costs[choice.key])
        paid = float("inf") if usd is None else usd
        point = choice.point
        return not choice.meets_goal, broken, late, paid, point.nodes, point.calendar_days, point.node.id

    return min(points, key=rank)


def _recommended(options: Sequence[Option], budget_usd: float | None) -> str:
    """Return where this run alone takes least cash: buying is for the horizon, so renting comes first."""
    known = [
        (option.target == "onprem", option.run_usd, option.target)
        for option in options
        if _usable(option) and option.run_usd is not None and (budget_usd is None or option.run_usd <= budget_usd)
    ]
    return min(known)[2] if known else ""


def _recommended_horizon(options: Sequence[Option]) -> str:
    """Return where the work of the horizon costs least."""
    known = [
        (option.horizon_usd, option.target) for option in options if _usable(option) and option.horizon_usd is not None
    ]
    return min(known)[1] if known else ""


def _usable(option: Option) -> bool:
    """Tell whether an option meets the goal and, if it is to be built, the building holds it."""
    return option.meets_goal and not (option.facility is not None and option.facility.findings)


def _findings(
    blueprint: Blueprint, options: Sequence[Option], targets: Sequence[ResolvedTarget]
) -> tuple[Finding, ...]:
    findings = [
        _goal_missed(blueprint, option, target)
        for option, target in zip(options, targets, strict=True)
        if not option.meets_goal
    ]
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
    for entry, target in zip(options, targets, strict=True):
        findings += [
            *too_many_runs(blueprint, entry),
            *waiting(blueprint, entry),
            *time_findings(entry, target),
            *address_findings(entry),
        ]
        if entry.facility is not None:
            findings += entry.facility.findings
    return tuple(findings)


def _goal_missed(blueprint: Blueprint, option: Option, target: ResolvedTarget) -> Finding:
    goal = days(blueprint.goals.finish_within)
    most, limit = most_nodes(blueprint, target)
    wider = "raise workload.global_batch so that more GPUs can work"
    if most is not None:
        wider = f"allow more than {most} nodes (the limit is {limit})"
    return Finding(
        id="GOAL001",
        path=("goals", "finish_within"),
        message=(
            f"{option.target}: the fastest cluster ({option.nodes} × {option.instance}) takes "
            f"{option.calendar_days_high:.1f} days at {percent(blueprint.goals.confidence)} confidence; "
            f"the goal is {goal:.1f}"
        ),
        help=(
            f"set goals.finish_within to {math.ceil(option.calendar_days_high)} days, {wider}, "
            f"or choose a faster {'system' if target.system else 'instance'}"
        ),
    )
