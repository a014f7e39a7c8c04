"""The sheet Summary below its figures: the plan's options, what the checks say, and links to the sheets."""

from collections.abc import Mapping

from clusterwright.outputs.workbook.inputs.front import FIGURES, OPTIONS, below_inputs, below_options
from clusterwright.outputs.workbook.months.cash import CashSheet, has_all
from clusterwright.outputs.workbook.results.units import unit_column
from clusterwright.outputs.workbook.writing.formula import Figure, when
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, option_of
from clusterwright.plan.record import Option
from clusterwright.plan.text.ranking import NONE
from clusterwright.plan.text.words import NAME_OF_TARGET, term_text

_SHEETS = {
    "Ranking": "every way that can be the answer, and apart what is cheaper on paper",
    "Options": "every target and term with a documented price, the same work for all",
    "Returns": "owning against each rented option: NPV, internal rate, money back, breakeven",
    "Breakeven": "cash paid so far by month, with a chart",
    "Heat map": "what owning saves by utilisation and rental price",
    "Uncertainty": "P10, P50, P90 and one input at a time (numbers of the engine)",
    "Unit costs": "{each}, a GPU-hour{tokens}{flop}",
    "P&L": "by year as the books show it",
    "Tax": "depreciation by year, book value, disposal; every option after tax",
    "Financing": "paid in cash, by a loan, by an operating or a finance lease",
    "Inputs": "every value that may be changed, by name",
    "Assumptions": "every value and price with range, reason, source and date",
    "Bill": "every line of every option",
    "Depreciation": "the shares of every method; may be changed",
    "Contracts": "discounts, terms, commitments, volumes and tiers; may be changed",
    "Not counted": "what the dollars leave out",
    "Checks": "identities of the books, each 0.00",
}
_FIRST = OPTIONS + 1
_GPUS, _FIRST_NUMBER, _FIRST_MONEY, _SHARE = 2, 3, 4, 10
_HOURS_A_DAY = 24.0


def write_summary(
    work: Workbook,
    sheets: Mapping[str, CashSheet],
    options: Mapping[str, Mapping[str, Figure]],
    units: Mapping[str, Mapping[str, Figure]],
) -> dict[str, dict[str, Figure]]:
    """Write the sheet but for what the checks say; return the cells of every option with known prices, by target.

    Args:
        work: the workbook.
        sheets: the options' cash, by target; without one the totals are unknown.
        options: cells of the sheet Options, by key and name: of what a cloud charges for beside the bill, the totals.
        units: cells of the sheet Unit costs, by key and name.
    """
    page, plan = work.page("Summary"), work.plan
    unit = plan.workload.unit
    columns = (
        "where",
        "cluster",
        "GPUs",
        "calendar days",
        f"{unit.asked}, USD",
        f"share of {unit.each}, USD",
        "horizon, USD",
        "present value, USD",
        "buy now, USD",
        "USD per GPU-hour",
        "priced from documents",
    )
    page.text(0, 0, plan.name, "title")
    page.head(OPTIONS, columns, texts=_GPUS)
    found: dict[str, dict[str, Figure]] = {}
    keys = {option.target: cost.key for cost in work.found.costs if (option := option_of(plan, cost))}
    for row, option in enumerate(plan.options, start=_FIRST):
        page.text(
            row, 0, NAME_OF_TARGET[option.target] + (" *" if plan.planned(plan.recommended_key) is option else "")
        )
        page.text(row, 1, f"{option.cluster.nodes:,} × {option.cluster.instance}")
        page.number(row, _GPUS, option.cluster.gpus, "count")
        if option.target not in sheets:
            page.number(row, _FIRST_NUMBER, option.performance.calendar_days, "days")
            for column in range(_FIRST_MONEY, _SHARE):
                page.text(row, column, "unknown", "text_right")
            continue
        page.put(row, _FIRST_NUMBER, sheets[option.target].days, "days")
        cash, key = sheets[option.target], keys.get(option.target, "")
        if has_all(option) or key not in options or key not in units:
            money = (cash.run_figure(), cash.sum_figure("total"), cash.sum_figure("present value"))
        else:
            money = (units[key][unit_column(unit)], options[key]["horizon"], options[key]["npv"])
        found[option.target] = _figures(page, row, option, cash, money)
    if plan.recommended_key:
        answer = f"* the answer for {unit.asked}: {term_text(plan.recommended_key)}; see Ranking"
        page.text(below_options(work), 0, answer, "note")
    below = below_inputs(work)
    page.text(below, 0, "Sheets", "bold")
    tokens = ", a million tokens" if plan.workload.unit_tokens else ""
    flop = ", a PFLOP-hour" if plan.workload.unit_flop else ""
    there = [(name, shown) for name, shown in _SHEETS.items() if name in work.pages]
    for row, (name, shown) in enumerate(there, start=below + 1):
        page.link(row, 0, name, "A1", name)
        page.text(row, 1, shown.format(each=unit.each, tokens=tokens, flop=flop))
    months = "Sheets by month are hidden after Checks: right-click any tab and choose Unhide (LibreOffice: Show Sheet)."
    page.text(below + 1 + len(there), 0, months, "note")
    return found


def write_result(work: Workbook, checked: Figure, changed: Figure, words: str) -> None:
    """Write whether the books reconcile, and whether the bands are still those of the inputs.

    Args:
        work: the workbook.
        checked: the cell that says whether all checks hold.
        changed: the cell with the number of inputs that are other than written.
        words: what is said where there are some.
    """
    page, row = work.page("Summary"), below_options(work) + 1
    page.text(row, 0, "Checks")
    page.put(row, 1, checked, "left")
    note = when(
        changed.equals(0.0),
        "Bands: every assumption at its low end, and at its high end. They and the answer are the engine's.",
        f"{words}: bands, answer and share of draws are those of the plan as it was written",
    )
    page.put(FIGURES + 5, 0, note, "note")


def _figures(
    page: Page, row: int, option: Option, cash: CashSheet, money: tuple[Figure, Figure, Figure]
) -> dict[str, Figure]:
    """Write an option's money: of a unit of work, of the horizon, and its present value; return the cells by name."""
    in_cash = option.money.run_share_usd is None
    run = page.put(row, _FIRST_MONEY if in_cash else _FIRST_MONEY + 1, money[0], "millions")
    page.text(row, _FIRST_MONEY + 1 if in_cash else _FIRST_MONEY, NONE, "text_right")
    figures: tuple[Figure, ...] = (
        money[1],
        money[2],
        cash.capex_figure(),
        (run / (cash.gpus * cash.days * _HOURS_A_DAY)).or_else("unknown"),
    )
    styles = ("millions", "millions", "millions", "usd")
    cells = [
        page.put(row, _FIRST_MONEY + 2 + place, usd, style)
        for place, (usd, style) in enumerate(zip(figures, styles, strict=True))
    ]
    if option.money.priced_share is not None:
        page.number(row, _SHARE, option.money.priced_share, "share")
    return dict(zip(("run", "horizon", "npv", "bought", "per hour"), (run, *cells), strict=True))
