"""The tables of the report: what of the plan each of them lists."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from clusterwright.outputs.page_parts import Cell, Table, plain
from clusterwright.plan.findings.price_evidence import age_days
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import RANKED, days_shown, main_ways, purchase_text, time_column
from clusterwright.plan.text.words import NAME_OF_TARGET, beside_text, capital, term_text
from clusterwright.pricing.records import PricePoint
from clusterwright.tco.terms.records import CashFlowRow, Parameter, PricedLine
from clusterwright.units import HOURS_PER_DAY, counted, days_text, percent

_NONE = "–"
#: What kind of price it is, by where it comes from (`tco.terms.records.BASES`).
PRICE_KINDS = {"documented": "list", "given": "quote", "assumed": "estimate", "unknown": "no price"}


@dataclass(slots=True)
class Sources:
    """The sources of the prices, numbered from 1 in the order in which they are first named."""

    texts: list[str] = field(default_factory=list)

    def number(self, line: PricedLine) -> int:
        """Return the number of a price's source."""
        words = line.source + (f": {line.note}" if line.note else "")
        if words not in self.texts:
            self.texts.append(words)
        return self.texts.index(words) + 1


def heading(option: Option) -> str:
    """Return the name of an option's target as a heading."""
    name = NAME_OF_TARGET[option.target]
    return name[:1].upper() + name[1:]


def comparison(plan: Plan, sources: Sources, money: MoneyFormat) -> Table:
    """Return one row per ranked way that a run can be done on: totals with bands, days, cluster, price of a node.

    What decides is first: narrow screens show the first columns.
    """
    months, unit = f"{plan.economics.horizon_months:.0f} months", plan.workload.unit
    ways = main_ways(plan)
    columns = (
        RANKED,
        capital(unit.asked),
        f"Share of {unit.each}",
        f"Same work, {months}",
        "Present value",
        *days_shown(plan, capital(time_column(ways))),
        "Cluster",
        "Buy now",
        f"{money.code} per GPU-hour",
        "Price of a node",
        "Priced from documents",
    )
    return Table(
        columns=columns,
        rows=tuple(
            _compared(plan, way, sources, totals, money)
            for way, *totals in zip(
                ways,
                money.column(way.money.run_usd for way in ways),
                money.column(way.money.run_share_usd for way in ways),
                money.column(way.money.horizon_usd for way in ways),
                money.column(way.money.npv_usd for way in ways),
                strict=True,
            )
        ),
        numeric=frozenset(place for place, title in enumerate(columns) if title not in (RANKED, "Cluster")),
    )


def _compared(
    plan: Plan, way: Alternative, sources: Sources, totals: Sequence[str], money: MoneyFormat
) -> tuple[Cell, ...]:
    run, share, horizon, present = totals
    option = plan.planned(way.key)
    return (
        Cell(text=capital(term_text(way.key)), detail=_mark(plan, way)),
        Cell(
            text=_NONE if way.money.run_usd is None else run,
            detail=_band(way.money.run_usd, way.money.run_usd_low, way.money.run_usd_high, money),
        ),
        Cell(text=_NONE if way.money.run_share_usd is None else share),
        Cell(
            text=horizon,
            detail=_band(way.money.horizon_usd, way.money.horizon_usd_low, way.money.horizon_usd_high, money),
        ),
        Cell(text=present, detail=_band(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high, money)),
        *(_time(way, unit) for unit in days_shown(plan, time_column(main_ways(plan)))),
        Cell(
            text=f"{way.cluster.nodes:,} × {way.cluster.instance}"
            if way.cluster.instance
            else f"{way.cluster.nodes:,} nodes",
            detail=counted(way.cluster.gpus, "GPU")
            if option is None
            else f"{way.cluster.gpus:,} {option.cluster.accelerator_name}{beside_text(option)}",
        ),
        Cell(text=purchase_text(way, money)),
        Cell(
            text="unknown" if way.money.usd_per_gpu_hour is None else f"{money.amount(way.money.usd_per_gpu_hour):,.2f}"
        ),
        Cell(text=_NONE) if option is None else _node_price(option, sources, money),
        Cell(text=percent(way.money.priced_share)),
    )


def _time(way: Alternative, unit: str) -> Cell:
    """Return the time of a run in the unit of its column, with its band."""
    days, low, high = (
        way.performance.calendar_days,
        way.performance.calendar_days_low,
        way.performance.calendar_days_high,
    )
    each = 1.0 if unit == "days" else HOURS_PER_DAY
    return Cell(
        text=days_text(days) if unit == "days" else f"{days * each:.1f} {unit}",
        detail="" if low is None or high is None else f"{low * each:.1f} to {high * each:.1f}",
    )


def _mark(plan: Plan, way: Alternative) -> str:
    answers = (
        (plan.recommended_key, f"for {plan.workload.unit.asked}"),
        (plan.recommended_horizon_key, "over the horizon"),
    )
    marks = [name for key, name in answers if key == way.key]
    return f"cheapest {' and '.join(marks)}" if marks else ""


def _node_price(option: Option, sources: Sources, money: MoneyFormat) -> Cell:
    nodes = [line for line in option.money.lines if line.line.category == "compute"]
    if not nodes or nodes[0].unit_usd is None:
        return Cell(text="unknown")
    node = nodes[0]
    ending = {"hourly": " an hour", "monthly": " a month", "once": ""}[node.line.charge]
    return Cell(
        text=f"{money.bill(node.unit_usd)}{ending}",
        badge=PRICE_KINDS[node.basis],
        detail=f"since {node.price_date}" if node.price_date else "",
        sources=(sources.number(node),),
    )


def _band(value: float | None, low: float | None, high: float | None, money: MoneyFormat) -> str:
    return "" if value is None or low is None or high is None else money.span(low, high)


def cash_flow(rows: Sequence[CashFlowRow], money: MoneyFormat) -> Table:
    """Return cash by year and category in whole USD; `purchase` is paid at the start; empty if a price is unknown."""
    years: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        years[row.category][_year(row.month)] += row.usd
    columns = sorted({year for amounts in years.values() for year in amounts})
    body = [(category, [amounts.get(year, 0.0) for year in columns]) for category, amounts in years.items()]
    if not body:
        return Table(columns=(), rows=())
    body.append(("total", [sum(amounts[index] for _, amounts in body) for index in range(len(columns))]))
    return Table(
        columns=(money.code, *("purchase" if year == 0 else f"year {year}" for year in columns), "sum"),
        rows=tuple(
            (Cell(text=name), *(Cell(text=_whole(amount, money)) for amount in (*amounts, sum(amounts))))
            for name, amounts in body
        ),
        numeric=frozenset(range(1, len(columns) + 2)),
        sums=frozenset({len(body) - 1}),
    )


def _year(month: float) -> int:
    return 0 if month == 0 else int((month - 1e-9) // 12) + 1


def _whole(usd: float, money: MoneyFormat) -> str:
    return _NONE if usd == 0 else f"{money.amount(usd):,.0f}"


def prices(option: Option, sources: Sources, as_of: str, money: MoneyFormat) -> Table:
    """Return the bill: each line with its price, of which day and how old it is on a day, and where it comes from."""
    return Table(
        columns=(
            "Item",
            "Quantity",
            f"Price, {money.code}",
            f"Amount, {money.code}",
            "Kind",
            "In force from",
            "Last seen",
            "Source",
        ),
        rows=tuple(_priced(line, sources, dt.date.fromisoformat(as_of), money) for line in option.money.lines),
        numeric=frozenset({1, 2, 3}),
        narrow=frozenset({4, 5, 6, 7}),
    )


def _priced(line: PricedLine, sources: Sources, as_of: dt.date, money: MoneyFormat) -> tuple[Cell, ...]:
    unknown = line.unit_usd is None or line.usd_per_period is None
    age = age_days(line, as_of)
    return (
        Cell(text=line.line.item, detail=line.line.note),
        Cell(text=f"{line.line.quantity:,.0f}", detail=line.line.unit),
        Cell(
            text="unknown" if line.unit_usd is None else plain(money.amount(line.unit_usd)),
            detail="each" if line.line.unit == "each" else f"per {line.line.unit}",
        ),
        Cell(
            text="unknown" if line.usd_per_period is None else plain(money.amount(line.usd_per_period)),
            detail=line.line.charge,
        ),
        Cell(
            text="",
            badge=PRICE_KINDS[line.basis],
            detail=f"{line.confidence} confidence" if line.confidence else "",
        ),
        Cell(text=line.price_date or _NONE),
        Cell(
            text=line.last_seen.isoformat() if line.last_seen else _NONE,
            detail="" if age is None else f"{age:,} day{'' if age == 1 else 's'} old",
        ),
        Cell(text=line.note or "no price", sources=()) if unknown else Cell(text="", sources=(sources.number(line),)),
    )


def price_changes(plan: Plan, histories: Mapping[str, Sequence[PricePoint]], money: MoneyFormat) -> Table:
    """Return every documented change of the on-demand price of the rented nodes, newest first within a target.

    Args:
        plan: names the options.
        histories: chosen price points by target, oldest first.
        money: how amounts are written.
    """
    rows = []
    for option in plan.options:
        points = [
            point
            for before, point in pairwise((None, *histories.get(option.target, ())))
            if point is not None and (before is None or before.usd != point.usd)
        ]
        rows += [
            (
                Cell(text=option.cluster.instance, detail=f"{heading(option)}, {point.region or 'all regions'}"),
                Cell(text=point.effective_from.isoformat()),
                Cell(text=plain(money.amount(point.usd))),
                Cell(text=plain(money.amount(point.usd) / option.cluster.gpus_per_node)),
                Cell(text=point.source, detail=point.locator),
            )
            for point in reversed(points)
        ]
    return Table(
        columns=("Node", "In force from", f"{money.code} per hour", f"{money.code} per GPU-hour", "Source"),
        rows=tuple(rows),
        numeric=frozenset({2, 3}),
        narrow=frozenset({1}),
    )


def parameters(plan: Plan, money: MoneyFormat) -> Table:
    """Return the economic values with their ends, reason, source and date."""
    return Table(
        columns=("Value", "Base", "Cheap to dear", "Basis", "Reason", "Source"),
        rows=tuple(
            (
                Cell(text=input_words(entry.key), detail=f"{entry.key}, {money.unit(entry.unit)}"),
                Cell(text=plain(money.value(entry.value, entry.unit))),
                Cell(text=_ends(entry, money)),
                Cell(text=entry.basis),
                Cell(text=entry.reason),
                Cell(text=entry.source, detail=entry.date),
            )
            for entry in plan.parameters
        ),
        numeric=frozenset({1, 2}),
    )


def _ends(entry: Parameter, money: MoneyFormat) -> str:
    low, high = (plain(money.value(value, entry.unit)) for value in (entry.low, entry.high))
    return _NONE if entry.low == entry.high else f"{low} to {high}"
