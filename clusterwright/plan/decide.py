"""The only place that chooses: which cluster size per target, and which target.

Per target, the front of sizes that the workload's engine gives is billed and costed; among the sizes that meet the
goals, the cheapest is taken: by the cost of one unit of the work where it is rented, by the present value of the
horizon's work where it is owned or committed, in both with the fastest layout of each size. Every way is then ranked
(`alternatives.ranking`); recommended are the ranked way on which one unit alone takes least cash, and the one on which
the work of the horizon costs least.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.rules.hardware import ResolvedTarget, Unusable, is_choice
from clusterwright.blueprint.rules.node_software import software_of
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.contracts import CloudExtras
from clusterwright.errors import Finding, InputError, MissingFactError, RuleError
from clusterwright.facility.fabric.compute import fabric_warnings
from clusterwright.facility.storage_checks import storage_warnings
from clusterwright.plan.alternatives.answer_basis import bases
from clusterwright.plan.alternatives.contracted import charged
from clusterwright.plan.alternatives.offers import Asked, PlannedSize, not_met, offers, planned_sizes
from clusterwright.plan.alternatives.ranking import ranked
from clusterwright.plan.candidates.capacities import OtherCapacity, other_capacities, pinned, too_short
from clusterwright.plan.candidates.cloud_addresses import address_findings
from clusterwright.plan.candidates.cloud_limits import capacity_warnings, time_findings
from clusterwright.plan.candidates.cloud_warnings import place_warnings
from clusterwright.plan.candidates.consider import Considered, SizedAlternative, consider
from clusterwright.plan.candidates.hardware import best_of_each, chosen_by_usd, hardware, hardware_field
from clusterwright.plan.compose import compose, option
from clusterwright.plan.engine import Engine
from clusterwright.plan.engines import engine_of
from clusterwright.plan.facts import Facts
from clusterwright.plan.findings.price_evidence import old_prices
from clusterwright.plan.findings.slices import slice_warnings
from clusterwright.plan.findings.tenants import tenant_warnings
from clusterwright.plan.owned.cost import growth_of, parameters_of, resale_of
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.without_effect import without_effect
from clusterwright.plan.work import UTILISATION, too_many_runs, with_reference
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.tco.ledger.engine import Ledger, cost
from clusterwright.tco.terms.records import CandidateCost, Economics
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

Progress = Callable[[str], None]


def decide(
    blueprint: Blueprint,
    resolved: Resolved,
    facts: Facts,
    *,
    whole: Blueprint | None = None,
    quotes: tuple[QuotedPrice, ...] = (),
    engine: Engine | None = None,
    progress: Progress = lambda _: None,
) -> Plan:
    """Size, bill, cost and choose.

    Args:
        blueprint: of any kind of workload that has an engine.
        resolved: its names, looked up.
        facts: catalogue, prices and calibrated constants.
        whole: the blueprint with all its targets, where `blueprint` holds only some of them.
        quotes: prices of vendors for parts to buy; they win over every other price.
        engine: of the workload; that of its kind by default.
        progress: called with a few words before each longer piece of work.

    Raises:
        RuleError: no target fits; every target's reason is a finding. A target that does not fit while others do is a
            finding of the plan.
        InputError, MissingFactError: a target cannot be designed, with its place in the blueprint.
    """
    engine = engine or engine_of(blueprint, resolved, facts)
    book = facts.book
    economics = replace(economics_of(blueprint, book), quotes=quotes)
    fixed = engine.units_of_horizon(blueprint)
    if fixed is not None:
        economics = replace(economics, runs=fixed)
    targets: list[list[Considered]] = []
    refused: list[Unusable] = list(resolved.unusable)
    failures: list[Finding] = []
    for name, several in groupby(resolved.targets, key=lambda target: target.target):
        found, findings, left_out = _looked_at(blueprint, facts, engine, list(several), progress)
        if found:
            targets.append(found)
            refused += left_out
        else:
            failures += [replace(finding, message=f"{name}: {finding.message}") for finding in findings]
    if not targets:
        raise RuleError(tuple(failures))
    others = other_capacities(
        blueprint, facts, engine, {several[0].sized[0].resolved.target: several for several in targets}
    )
    sized = [
        entry
        for several in (*targets, *(other.several for other in others))
        for considered in several
        for entry in considered.sized
    ]
    fastest = [entry.compared for entry in sized if entry.compared is not entry]
    progress(f"pricing {len(sized)} clusters")
    # What a provider charges beside the bill is a part of every size's cost, as it is of every way that is ranked.
    priced = partial(_priced, extras=blueprint.tco.cloud, day=economics.as_of or book.newest_day)
    looked_at = cost([priced(entry).candidate for entry in (*sized, *fastest)], economics, book, scenarios=("base",))
    costs = {entry.key: entry for entry in looked_at}
    chosen = [_chosen(several, costs, engine) for several in targets]
    # The same work for all: what the chosen clusters do over the horizon is counted again among themselves.
    named = [priced(best.sized, best.sized.resolved.target) for best in chosen]
    economics = with_reference(economics, [entry.candidate for entry in named])
    # Other capacities and commitments do the same work, beside the options and without a word in it.
    best_others = {other.key: _chosen(other.several, costs, engine) for other in others if other.several}
    others_named = {key: priced(best.sized, key) for key, best in best_others.items()}
    every = [entry.candidate for entry in (*named, *others_named.values())]
    ledger = Ledger(every, economics, book).reconciled()
    final = {entry.key: entry for entry in ledger.costs()}
    workload = engine.workload(blueprint)
    unit = workload.unit
    record = partial(_option, engine=engine, costs=costs, final=final, refused=refused)
    options = tuple(
        record(blueprint, entry, best, several) for entry, best, several in zip(named, chosen, targets, strict=True)
    )
    worth_a_word = [other for other in others if _is_priced(other, costs)]
    other_options = {
        other.key: record(other.blueprint, others_named[other.key], best_others[other.key], other.several)
        for other in worth_a_word
        if other.key in best_others
    }
    plan = compose(
        blueprint,
        engine,
        facts,
        options,
        ledger,
        other_options=tuple(other_options.values()),
        warnings=(
            *(
                warning
                for entry, best in zip(options, chosen, strict=True)
                for warning in (
                    *place_warnings(blueprint, facts.catalogue, best.sized.resolved),
                    *capacity_warnings(entry, best.sized.resolved, unit),
                )
            ),
            *(
                warning
                for entry in options
                if entry.design.facility is not None
                for warning in (
                    *storage_warnings(entry.design.facility.inventory),
                    *fabric_warnings(entry.design.facility.inventory.fabric),
                )
            ),
            *old_prices(options, as_of=ledger.as_of, max_age_s=blueprint.economics.max_price_age),
            *engine.warnings(whole or blueprint, options),
            *without_effect(whole or blueprint, options),
        ),
    )
    nodes = [software_of(best.sized.resolved, blueprint) for best in chosen]
    plan = replace(
        plan,
        software=tuple(found for found in nodes if found is not None),
        warnings=(*plan.warnings, *slice_warnings(nodes, options), *tenant_warnings(plan.cluster.tenants, options)),
        findings=(*failures, *_findings(blueprint, engine, options, [best.sized.resolved for best in chosen])),
    )
    progress("ranking every way")
    asked = Asked(section=blueprint.tco, economics=plan.economics, book=book, day=ledger.as_of, unit=unit)
    sizes = [
        size
        for option, best, several in zip(options, chosen, targets, strict=True)
        for size in planned_sizes(
            blueprint,
            engine,
            _hardware(blueprint, best.sized, several, costs),
            costs,
            reason=not_met(option, plan.goals.finish_within_days, _ended(plan, option)),
        )
    ]
    others_sized = [
        size
        for other in worth_a_word
        if other.key in other_options
        for size in _other_sizes(
            other, other_options[other.key], best_others[other.key].sized, plan, engine=engine, costs=costs
        )
    ]
    held = {other.key: other.held for other in worth_a_word if other.key not in other_options}
    ways = offers(sizes, others_sized, held, asked)
    max_age_s = blueprint.economics.max_price_age
    every_way = ranked(ways, options, asked, max_age_s=max_age_s)
    return _ranked(_with_bases(plan, every_way, ledger, max_age_s), every_way)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Best:
    """The best size of the best hardware of a target, with the sizes of that hardware that were considered."""

    sized: SizedAlternative
    considered: Considered


def _priced(sized: SizedAlternative, key: str | None = None, *, extras: CloudExtras, day: dt.date) -> SizedAlternative:
    """Return a size with what its provider charges beside the bill, under another name if one is given."""
    candidate = sized.candidate if key is None else replace(sized.candidate, key=key)
    return replace(sized, candidate=charged(candidate, extras, day)[0])


def _with_bases(plan: Plan, ways: Sequence[Alternative], ledger: Ledger, max_age_s: float) -> Plan:
    """Return a plan with what the dollars of its options rest on: what those of the same ways do.

    A way of unknown cost is not counted among the others; its basis comes from the options' own cash flow.
    """
    found = {way.key: way.money.basis for way in ways if way.money.basis is not None}
    every = (*plan.options, *plan.other_options)
    alone = {} if all(option.key in found for option in every) else bases(ledger, max_age_s=max_age_s)
    options, others = (
        tuple(
            replace(option, money=replace(option.money, basis=found.get(option.key) or alone[option.candidate.key]))
            for option in several
        )
        for several in (plan.options, plan.other_options)
    )
    return replace(plan, options=options, other_options=others)


def _ranked(plan: Plan, ways: tuple[Alternative, ...]) -> Plan:
    """Return a plan with every way, those that it recommends, and whether one is within the budget."""
    plan = replace(plan, alternatives=ways)
    alone = recommended(plan.ranking, plan.goals.budget_usd)
    kept = recommended_horizon(plan.ranking)
    return replace(
        plan,
        recommended="" if alone is None else alone.target,
        recommended_key="" if alone is None else alone.key,
        recommended_horizon="" if kept is None else kept.target,
        recommended_horizon_key="" if kept is None else kept.key,
        findings=(*plan.findings, *_over_budget(plan, plan.ranking)),
    )


def _option(
    blueprint: Blueprint,
    priced: SizedAlternative,
    best: _Best,
    several: Sequence[Considered],
    *,
    engine: Engine,
    costs: dict[str, CandidateCost],
    final: dict[str, CandidateCost],
    refused: Sequence[Unusable],
) -> Option:
    """Return the record of a size, with the hardware that there was to choose from."""
    return option(
        blueprint,
        priced,
        final[priced.key],
        best.considered.points,
        costs,
        engine=engine,
        considered=hardware(blueprint, best.sized, several, costs, refused),
        missing=best.considered.missing,
    )


def _is_priced(other: OtherCapacity, costs: dict[str, CandidateCost]) -> bool:
    """Tell whether a capacity is worth a word: a price of it is known, or why it cannot be had."""
    sized = [entry for considered in other.several for entry in considered.sized]
    return not sized or any(chosen_by_usd(costs[entry.key]) is not None for entry in sized)


def _hardware(
    blueprint: Blueprint, best: SizedAlternative, several: Sequence[Considered], costs: dict[str, CandidateCost]
) -> list[SizedAlternative]:
    """Return the best size of each hardware that a target leaves to choose, the chosen one first."""
    free = is_choice(getattr(blueprint.targets, best.resolved.target))
    return best_of_each(best, several, costs) if free else [best]


def _other_sizes(
    other: OtherCapacity,
    option: Option,
    best: SizedAlternative,
    plan: Plan,
    *,
    engine: Engine,
    costs: dict[str, CandidateCost],
) -> Iterator[PlannedSize]:
    """Yield the sizes of another capacity or commitment as it is planned, with why it cannot be the answer."""
    late = too_short(best.resolved, best.point.calendar_days_high, plan.workload)
    return planned_sizes(
        other.blueprint,
        engine,
        _hardware(other.blueprint, best, other.several, costs),
        costs,
        reason=not_met(option, plan.goals.finish_within_days),
        held=other.held or late,
        set_values=pinned(other, best),
    )


def _ended(plan: Plan, option: Option) -> str:
    """Return what `CAP004` says of an option's capacity; empty where it lasts."""
    return next((entry.message for entry in plan.findings if entry.id == "CAP004" and option.target in entry.path), "")


def _looked_at(
    blueprint: Blueprint,
    facts: Facts,
    engine: Engine,
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
            found.append(consider(blueprint, facts, engine, target))
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


def _chosen(several: Sequence[Considered], costs: dict[str, CandidateCost], engine: Engine) -> _Best:
    """Return the best size of the best hardware."""
    best = _best([entry for considered in several for entry in considered.sized], costs, engine.shortfall)
    return _Best(sized=best, considered=next(considered for considered in several if best in considered.sized))


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
        runs=section.work_runs,
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
        growth=growth_of(blueprint.tco),
        resale=resale_of(blueprint.tco),
    )


def _best(
    points: Sequence[SizedAlternative], costs: dict[str, CandidateCost], shortfall: Callable[[SizedPoint], float]
) -> SizedAlternative:
    """Return the point that costs least: for a unit of work where it is rented, for the horizon's where it is owned.

    A size is compared by its fastest layout; which of its layouts is taken is no reason for another size. All points of
    a target do the same work over the horizon, so an owner pays for the smallest cluster that suffices.
    Points that the building cannot hold come last; so do unknown costs, then fewer nodes and fewer days decide. Where
    no hardware of a choice meets the goals, the nearest to them is taken.
    """

    def rank(entry: SizedAlternative) -> tuple[bool, bool, float, float, int, float, str]:
        broken = entry.design is not None and bool(entry.design.findings)
        point = entry.compared.point
        missed = 0.0 if entry.meets_goal else shortfall(point)
        usd = chosen_by_usd(costs[entry.compared.key])
        paid = float("inf") if usd is None else usd
        return not entry.meets_goal, broken, missed, paid, point.nodes, point.calendar_days, point.node.id

    return min(points, key=rank)


def recommended(ways: Sequence[Alternative], budget_usd: float | None) -> Alternative | None:
    """Return the ranked way that takes least cash for this run alone; what is bought only where nothing is rented.

    What is bought is within the budget of a run by the share of it that a run takes.
    """
    known = [
        (
            way.money.run_usd is None,
            way.money.capex_usd if way.money.run_usd is None else way.money.run_usd,
            way.key,
            way,
        )
        for way in ways
        if way.ranked and (way.money.run_usd is not None or (way.owned and way.money.capex_usd is not None))
        if budget_usd is None or _of_a_run(way) <= budget_usd
    ]
    return min(known, key=lambda entry: entry[:3])[3] if known else None


def _of_a_run(way: Alternative) -> float:
    """Return what a run costs, in cash or as its share; endless where neither is known."""
    costs = (usd for usd in (way.money.run_usd, way.money.run_share_usd) if usd is not None)
    return next(costs, float("inf"))


def recommended_horizon(ways: Sequence[Alternative]) -> Alternative | None:
    """Return the ranked way on which the work of the horizon costs least in present value."""
    known = [way for way in ways if way.ranked and way.money.npv_usd is not None]
    return min(known, key=lambda way: (way.money.npv_usd, way.key), default=None)


def _over_budget(plan: Plan, ways: Sequence[Alternative]) -> list[Finding]:
    """Return `TCO001` where the cheapest unit of work costs more than the budget."""
    budget = plan.goals.budget_usd
    least = min((_of_a_run(way) for way in ways if way.ranked), default=float("inf"))
    if budget is None or least == float("inf") or least <= budget:
        return []
    return [
        Finding(
            id="TCO001",
            path=("economics", "budget"),
            message=f"the cheapest {plan.workload.unit.name} costs {least:,.0f} USD, the budget is {budget:,.0f} USD",
            help="raise economics.budget, allow more days, or add a cheaper target",
        )
    ]


def _findings(
    blueprint: Blueprint, engine: Engine, options: Sequence[Option], targets: Sequence[ResolvedTarget]
) -> tuple[Finding, ...]:
    findings = [
        finding
        for option, target in zip(options, targets, strict=True)
        if not option.performance.meets_goal
        for finding in engine.goal_findings(blueprint, option, target)
    ]
    unit = engine.workload(blueprint).unit
    for entry, target in zip(options, targets, strict=True):
        findings += [
            *too_many_runs(blueprint, entry, unit),
            *engine.findings(blueprint, entry, target),
            *time_findings(entry, target, unit),
            *address_findings(entry),
        ]
        if entry.design.facility is not None:
            findings += entry.design.facility.findings
    return tuple(findings)
