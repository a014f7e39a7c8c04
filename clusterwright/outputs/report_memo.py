"""The first page of the report: four figures with their bands, which a decision can be signed on."""

from dataclasses import dataclass

from clusterwright.plan.finances import Finances
from clusterwright.plan.money import money, money_span
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.words import NAME_OF_TARGET, on_target, term_text
from clusterwright.tco.records import Breakeven
from clusterwright.units import percent

UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A figure of the first page: what it is, its value, its band, and what it is of."""

    title: str
    value: str
    band: str
    of: str


def figures(plan: Plan, found: Finances) -> tuple[Figure, ...]:
    """Return cost of one run, cost of the horizon, payback and how sure owning is the cheapest; fewer if not known."""
    run, kept = plan.planned(plan.recommended_key), plan.planned(plan.recommended_horizon_key)
    shown = [
        None if run is None or run.capex_usd else _run(run),
        None if kept is None else _horizon(plan, kept),
        _payback(plan, run),
        _sure(found, kept),
    ]
    return tuple(figure for figure in shown if figure is not None)


def _run(option: Option) -> Figure:
    return Figure(
        title="One run",
        value=money(option.run_usd),
        band=_span(option.run_usd_low, option.run_usd_high),
        of=f"{option.nodes:,} × {option.instance} {on_target(option.target)}, {option.calendar_days:.1f} days",
    )


def _horizon(plan: Plan, option: Option) -> Figure:
    bought = f", {money(option.capex_usd)} at the start" if option.capex_usd else ""
    return Figure(
        title=f"{plan.economics.horizon_months:.0f} months",
        value=money(option.horizon_usd),
        band=_span(option.horizon_usd_low, option.horizon_usd_high),
        of=f"{option.nodes:,} × {option.instance} {on_target(option.target)}{bought}",
    )


def _payback(plan: Plan, run: Option | None) -> Figure | None:
    """Return the month from which owning has cost less than the answer for one run, else than the first rented way."""
    pairs: list[Breakeven] = sorted(
        plan.breakevens, key=lambda pair: run is None or pair.rented_key.partition("/")[0] != run.target
    )
    if not pairs:
        return None
    pair = pairs[0]
    against = f"owning against {NAME_OF_TARGET[pair.rented_key.partition('/')[0]]}"
    if pair.months is None:
        return Figure(title="Payback", value="none", band=pair.reason, of=against)
    low = "the start" if pair.months_low is None else f"{pair.months_low:.0f}"
    high = "later than the horizon" if pair.months_high is None else f"{pair.months_high:.0f}"
    return Figure(title="Payback", value=f"month {pair.months:.0f}", band=f"{low} to {high}", of=against)


def _sure(found: Finances, kept: Option | None) -> Figure | None:
    """Return in how many draws the answer for the horizon is the cheapest, with the band of its present value."""
    competing = {cost.key for cost in found.costs if cost.competes}
    mine = [
        entry
        for entry in found.drawn
        if kept is not None and entry.key in competing and entry.key.partition("/")[0] == kept.target
    ]
    if not mine:
        return None
    best = max(mine, key=lambda entry: entry.probability_cheapest)
    return Figure(
        title="Cheapest in",
        value=percent(best.probability_cheapest),
        band=f"present value {_span(best.npv_usd_p10, best.npv_usd_p90)}",
        of=f"{term_text(best.key)}, of {found.draws:,} draws",
    )


def _span(low: float | None, high: float | None) -> str:
    return UNKNOWN if low is None or high is None else money_span(low, high) or money(low)
