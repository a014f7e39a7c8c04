"""The cost report: one HTML file that opens anywhere, without network requests, and prints.

Every number is computed here or before; the template only loops and prints, and escapes every text.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterwright import assets
from clusterwright.outputs import report_charts
from clusterwright.plan.explain import explanations
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.recount import ledger
from clusterwright.plan.words import (
    NAME_OF_TARGET,
    answer_lines,
    cluster_text,
    days_band_text,
    layout_text,
    money,
    percent,
)
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PricePoint
from clusterwright.tco.engine import Ledger
from clusterwright.tco.records import CashFlowRow, PricedLine


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: column titles, rows of text, and which columns are numbers (aligned right)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A drawing with its caption, which says what is shown, in what unit and of what day."""

    svg: str
    caption: str


def report_html(plan: Plan) -> str:
    """Return the report as one HTML document."""
    book = PriceBook.open()
    money_of = ledger(plan, book)
    environment = Environment(
        loader=FileSystemLoader(assets.root() / "templates" / "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(**_context(plan, money_of, book))


def _context(plan: Plan, money_of: Ledger, book: PriceBook) -> dict[str, Any]:
    horizon = f"{plan.economics.horizon_months:.0f} months"
    return {
        "name": plan.name,
        "description": plan.description,
        "answer": [line[:1].upper() + line[1:] for line in answer_lines(plan)],
        "recommended": plan.recommended,
        "as_of": plan.as_of,
        "versions": f"Clusterwright {plan.clusterwright}, catalogue {plan.catalogue}",
        "findings": [(finding.id, finding.message, finding.help) for finding in plan.findings],
        "comparison": _comparison(plan),
        "breakevens": _breakevens(plan),
        "run_chart": Chart(
            svg=report_charts.cost_chart(plan, horizon=False),
            caption=f"Cost of this run by category, million USD, prices as of {plan.as_of}.",
        ),
        "horizon_chart": Chart(
            svg=report_charts.cost_chart(plan, horizon=True),
            caption=(
                f"Cost of the same work, {plan.options[0].runs_in_horizon:.1f} runs, over {horizon} by category, million "
                "USD; the figure at the right is after resale."
            ),
        ),
        "breakeven_chart": Chart(
            svg=report_charts.breakeven_chart(plan, money_of.cumulative()),
            caption=(
                f"Cash paid so far, before resale, million USD. Bands: every assumption at its cheap or dear end. Dots: "
                f"owning becomes cheaper. {percent(plan.economics.utilisation)} utilisation."
            ),
        ),
        "price_chart": Chart(
            svg=report_charts.price_chart(plan, _histories(plan, book)),
            caption=f"Documented on-demand price of one GPU-hour, USD, held until the next change; as of {plan.as_of}.",
        ),
        "memory_chart": Chart(
            svg=report_charts.memory_chart(plan),
            caption="Memory of the fullest GPU by term, GB (1e9 bytes); the line is what the GPU has.",
        ),
        "step_chart": Chart(
            svg=report_charts.step_chart(plan),
            caption="Where the time of one optimizer step goes, seconds; only what is not hidden behind other work.",
        ),
        "front_chart": Chart(
            svg=report_charts.front_chart(plan),
            caption="Cluster sizes that meet the goal and that no other size beats in both nodes and days.",
        ),
        "cash_flow": [(NAME_OF_TARGET[option.target], _cash_flow(money_of, option)) for option in plan.options],
        "horizon": horizon,
        "parameters": _parameters(plan),
        "prices": _prices(plan),
        "sizing": _sizing(plan),
        "not_counted": plan.not_counted,
        "missing": [
            f"{NAME_OF_TARGET[option.target]}: {entry.item}: {entry.reason}"
            for option in plan.options
            for entry in option.missing
        ],
        "formulas": _formulas(plan),
    }


def _comparison(plan: Plan) -> Table:
    rows = []
    for option in plan.options:
        rows.append(
            (
                NAME_OF_TARGET[option.target] + _mark(plan, option),
                cluster_text(option),
                days_band_text(option),
                _band(option.run_usd, option.run_usd_low, option.run_usd_high),
                _band(option.horizon_usd, option.horizon_usd_low, option.horizon_usd_high),
                money(option.npv_usd),
                money(option.capex_usd) if option.capex_usd != 0 else "–",
                "unknown" if option.usd_per_gpu_hour is None else f"{option.usd_per_gpu_hour:.2f}",
                percent(option.priced_share),
            )
        )
    months = f"{plan.economics.horizon_months:.0f} months"
    return Table(
        columns=(
            "Where", "Cluster", "Days (low to high)", "This run", f"Same work, {months}", "Present value", "Buy now",
            "USD per GPU-hour", "Priced from documents",
        ),
        rows=tuple(rows),
        numeric=frozenset({3, 4, 5, 6, 7, 8}),
    )  # fmt: skip


def _mark(plan: Plan, option: Option) -> str:
    marks = [
        name
        for name, target in (("this run", plan.recommended), ("horizon", plan.recommended_horizon))
        if option.target == target
    ]
    return f" — cheapest for {' and '.join(marks)}" if marks else ""


def _band(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None or low == high:
        return money(value)
    return f"{money(value)} ({money(low)} to {money(high)})"


def _breakevens(plan: Plan) -> list[str]:
    sentences = []
    for entry in plan.breakevens:
        rented = NAME_OF_TARGET[entry.rented_key]
        if entry.months is None:
            sentences.append(f"Against {rented}: no breakeven within the horizon; {entry.reason}.")
            continue
        low = "?" if entry.months_low is None else f"{entry.months_low:.0f}"
        high = "after the horizon" if entry.months_high is None else f"{entry.months_high:.0f}"
        share = (
            "" if entry.utilisation is None else f"; above {percent(entry.utilisation)} utilisation owning costs less"
        )
        sentences.append(f"Against {rented}: month {entry.months:.1f} (low {low}, high {high}){share}.")
    return sentences


def _histories(plan: Plan, book: PriceBook) -> dict[str, tuple[PricePoint, ...]]:
    return {
        option.target: tuple(
            point
            for point in book.history(f"{option.target}/{option.instance}", region=option.region, term="on_demand")
            if point.effective_from.isoformat() <= plan.as_of
        )
        for option in plan.options
        if option.facility is None
    }


def _cash_flow(money_of: Ledger, option: Option) -> Table:
    """Return cash by year and category; year 0 is the purchase."""
    years: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    rows: tuple[CashFlowRow, ...] = money_of.cash_flow_rows(option.target)
    for row in rows:
        years[row.category][_year(row.month)] += row.usd
    columns = sorted({year for amounts in years.values() for year in amounts})
    body = [
        (category, *(money(amounts.get(year, 0.0)) for year in columns), money(sum(amounts.values())))
        for category, amounts in years.items()
    ]
    total = [sum(amounts.get(year, 0.0) for amounts in years.values()) for year in columns]
    body.append(("total", *(money(amount) for amount in total), money(sum(total))))
    return Table(
        columns=("Category", *("purchase" if year == 0 else f"year {year}" for year in columns), "sum"),
        rows=tuple(body),
        numeric=frozenset(range(1, len(columns) + 2)),
    )


def _year(month: float) -> int:
    return 0 if month == 0 else int((month - 1e-9) // 12) + 1


def _parameters(plan: Plan) -> Table:
    rows = [
        (entry.key, f"{entry.value:,.4g}", f"{entry.low:,.4g} to {entry.high:,.4g}", entry.unit, entry.basis, entry.reason,
         entry.source, entry.date or "–")
        for entry in plan.parameters
    ]  # fmt: skip
    return Table(
        columns=("Value", "Base", "Cheap to dear", "Unit", "Basis", "Reason", "Source", "Date"),
        rows=tuple(rows),
        numeric=frozenset({1, 2}),
    )


def _prices(plan: Plan) -> Table:
    rows = [(NAME_OF_TARGET[option.target], *_price(line)) for option in plan.options for line in option.lines]
    return Table(
        columns=(
            "Where",
            "Item",
            "Quantity",
            "USD per unit",
            "Charged",
            "Basis",
            "In force from",
            "Last seen",
            "Source",
        ),
        rows=tuple(rows),
        numeric=frozenset({2, 3}),
    )


def _price(line: PricedLine) -> tuple[str, ...]:
    return (
        line.line.item,
        f"{line.line.quantity:,.0f} {line.line.unit}",
        "unknown" if line.unit_usd is None else f"{line.unit_usd:,.4g}",
        line.line.charge,
        line.basis + (f" ({line.confidence})" if line.confidence else ""),
        line.price_date or "–",
        line.last_seen.isoformat() if line.last_seen else "–",
        line.source + (f" — {line.note}" if line.note else ""),
    )


def _sizing(plan: Plan) -> Table:
    rows = [
        (
            NAME_OF_TARGET[option.target],
            layout_text(option.layout),
            f"{option.tokens_per_s_per_gpu:,.0f}",
            percent(option.mfu),
            percent(option.goodput),
            f"{option.failures.mean_time_between_interruptions_s / 3600:.1f} h",
            f"{option.failures.checkpoint_interval_s / 60:.0f} min",
            "; ".join(option.limited_by),
        )
        for option in plan.options
    ]
    return Table(
        columns=(
            "Where", "Layout", "Tokens/s per GPU", "MFU", "Goodput", "Between interruptions", "Checkpoint every",
            "Limited by",
        ),
        rows=tuple(rows),
        numeric=frozenset({2, 3, 4, 5, 6}),
    )  # fmt: skip


def _formulas(plan: Plan) -> list[dict[str, Any]]:
    target = plan.recommended or plan.options[0].target
    return [
        {
            "title": entry.title,
            "value": entry.value,
            "equation": entry.equation,
            "sources": entry.sources,
        }
        for entry in explanations(plan, target)
        if "/" not in entry.number and entry.number.islower()
    ]
