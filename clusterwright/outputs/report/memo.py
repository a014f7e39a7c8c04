"""The first page of the report: what is asked for, and four figures with their bands, to sign a decision on."""

from dataclasses import dataclass

from clusterwright.finance.finances import Finances
from clusterwright.outputs.kinds import outputs_of
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import days_shown
from clusterwright.plan.text.words import booking_text, term_text
from clusterwright.tco.terms.records import Breakeven
from clusterwright.units import duration_text, percent

UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A figure of the first page: what it is, its value, its band, and what it is of."""

    title: str
    value: str
    band: str
    of: str


def ask(plan: Plan) -> str:
    """Return what is asked for: the work, and what it must meet."""
    work = plan.workload
    return ", ".join(part for part in (work.model_name, work.amount_text, work.precision) if part) + (
        f"; {outputs_of(plan).goal(plan)}"
    )


def figures(plan: Plan, found: Finances, money: MoneyFormat) -> tuple[Figure, ...]:
    """Return cost of one run, cost of the horizon, payback and how sure the answer is the cheapest; fewer if not known.

    Run and horizon are the quantities of the answer above them: cash, and present value.
    """
    run, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    shown = [
        None if run is None or run.money.run_usd is None else _run(plan, run, money),
        None if kept is None else _horizon(plan, kept, money),
        _payback(plan, run),
        _sure(found, kept, money),
    ]
    return tuple(figure for figure in shown if figure is not None)


def _run(plan: Plan, way: Alternative, money: MoneyFormat) -> Figure:
    option = plan.planned(way.key)
    paid = "" if option is None else booking_text(option)
    return Figure(
        title=f"One {plan.workload.unit.name}, cash",
        value=money.text(way.money.run_usd),
        band=_span(way.money.run_usd_low, way.money.run_usd_high, money) or paid or "no price in it is assumed",
        of=", ".join((cluster_text(way), *days_shown(plan, duration_text(way.performance.calendar_days)))),
    )


def _horizon(plan: Plan, way: Alternative, money: MoneyFormat) -> Figure:
    bought = f" net of resale, {money.text(way.money.capex_usd)} at the start" if way.money.capex_usd else ""
    return Figure(
        title=f"{plan.economics.horizon_months:.0f} months, present value",
        value=money.text(way.money.npv_usd),
        band=_span(way.money.npv_usd_low, way.money.npv_usd_high, money) or "no price in it is assumed",
        of=f"{cluster_text(way)}: {money.text(way.money.horizon_usd)} paid{bought}",
    )


def cluster_text(way: Alternative) -> str:
    """Return the nodes of a way and how they are paid."""
    cluster = way.cluster
    nodes = f"{cluster.nodes:,} × {cluster.instance}" if cluster.instance else f"{cluster.nodes:,} nodes"
    return f"{nodes}, {term_text(way.key)}"


def payback_pair(plan: Plan, run: Alternative | None) -> Breakeven | None:
    """Return owning against the answer for one run, else against the first rented way; None where none is compared."""
    pairs = sorted(plan.breakevens, key=lambda pair: run is None or pair.rented_key.partition("/")[0] != run.target)
    return pairs[0] if pairs else None


def payback_text(plan: Plan, pair: Breakeven) -> str:
    """Return what the payback is of: owning against a rented way with its term."""
    rented = plan.option(pair.rented_key.partition("/")[0])
    return f"owning against {term_text(pair.rented_key if rented is None else f'{rented.target}/{rented.money.term}')}"


def _payback(plan: Plan, run: Alternative | None) -> Figure | None:
    """Return the month from which owning has cost less than renting."""
    pair = payback_pair(plan, run)
    if pair is None:
        return None
    against = payback_text(plan, pair)
    if pair.months is None:
        return Figure(title="Payback", value="none", band=pair.reason, of=against)
    low = "the start" if pair.months_low is None else f"{pair.months_low:.0f}"
    high = "later than the horizon" if pair.months_high is None else f"{pair.months_high:.0f}"
    return Figure(title="Payback", value=f"month {pair.months:.0f}", band=f"{low} to {high}", of=against)


def _sure(found: Finances, kept: Alternative | None, money: MoneyFormat) -> Figure | None:
    """Return in how many draws the answer for the horizon is the cheapest, with the band of its present value."""
    drawn = next((entry for entry in found.drawn if kept is not None and entry.key == kept.key), None)
    if drawn is None:
        return None
    span = _span(drawn.npv_usd_p10, drawn.npv_usd_p90, money) or money.text(drawn.npv_usd_p50)
    return Figure(
        title="Cheapest in",
        value=percent(drawn.probability_cheapest),
        band=f"present value, P10 to P90: {span}",
        of=f"{term_text(drawn.key)}, of {found.draws:,} draws",
    )


def _span(low: float | None, high: float | None, money: MoneyFormat) -> str:
    """Return a band; empty where it has no two ends that three digits tell apart."""
    return UNKNOWN if low is None or high is None else money.span(low, high)
