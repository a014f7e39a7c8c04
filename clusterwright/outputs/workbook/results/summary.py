"""The sheet Summary: the plan's options with the figures people ask for first."""

from collections.abc import Mapping

from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.workbook.months.cash import CashSheet, has_all
from clusterwright.outputs.workbook.results.units import unit_column
from clusterwright.outputs.workbook.writing.formula import Figure
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
    "Cash ...": "an option's cash by month and category",
    "Cash by option": "all options' cash by month; the two sheets after it hold savings and cash after tax by month",
    "Books by month": "each purchase written off by class, and what the books show for what leaves",
    "Depreciation": "the shares of every method; may be changed",
    "Financing by month": "the schedules of loan and lease",
    "Contracts": "discounts, terms, commitments, volumes and tiers; may be changed",
    "Contracts by month": "what contracts pay in advance, by the month and at the end, charges and support",
    "Mixes": "what is owned, and what is rented for the rest, by month",
    "Stages": "growth and refresh: what is bought, stands and leaves in each month",
    "Not counted": "what the dollars leave out",
    "Checks": "identities of the books, each 0.00",
}
_FIRST = 4
_FIRST_NUMBER, _FIRST_MONEY, _SHARE = 3, 4, 10
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
    unit, kind = plan.workload.unit, outputs_of(plan)
    columns = (
        "where",
        "cluster",
        kind.arrangement_title,
        "calendar days",
        f"{unit.asked}, USD",
        f"share of {unit.each}, USD",
        "horizon, USD",
        "present value, USD",
        "buy now, USD",
        "USD per GPU-hour",
        "priced from documents",
    )
    page.widths(16, 34, 42, rest=16, columns=len(columns))
    page.sheet.freeze_panes(_FIRST, 1)
    page.text(0, 0, plan.name, "title")
    page.text(1, 0, f"Prices as of {plan.as_of}. All values are live; inputs are on the sheet Inputs.", "note")
    page.head(_FIRST - 1, columns, texts=_FIRST_NUMBER)
    found: dict[str, dict[str, Figure]] = {}
    keys = {option.target: cost.key for cost in work.found.costs if (option := option_of(plan, cost))}
    for row, option in enumerate(plan.options, start=_FIRST):
        arrangement = kind.arrangement(option)
        page.text(
            row, 0, NAME_OF_TARGET[option.target] + (" *" if plan.planned(plan.recommended_key) is option else "")
        )
        page.text(row, 1, f"{option.cluster.nodes} x {option.cluster.instance}, {option.cluster.gpus} GPUs")
        page.heighten(row, {2: arrangement})
        page.text(row, 2, arrangement, "wrapped")
        if option.target not in sheets:
            page.number(row, _FIRST_NUMBER, option.performance.calendar_days, "number")
            for column in range(_FIRST_MONEY, _SHARE):
                page.text(row, column, "unknown", "text_right")
            continue
        page.put(row, _FIRST_NUMBER, sheets[option.target].days, "number")
        cash, key = sheets[option.target], keys.get(option.target, "")
        if has_all(option) or key not in options or key not in units:
            money = (cash.run_figure(), cash.sum_figure("total"), cash.sum_figure("present value"))
        else:
            money = (units[key][unit_column(unit)], options[key]["horizon"], options[key]["npv"])
        found[option.target] = _figures(page, row, option, cash, money)
    below = _below(work)
    if plan.recommended_key:
        answer = (
            f"The answer for {unit.asked} (* where it stands above): {term_text(plan.recommended_key)}; see Ranking"
        )
        page.text(below, 0, answer, "note")
    page.text(below + 3, 0, "Sheets", "bold")
    tokens = ", a million tokens" if plan.workload.unit_tokens else ""
    flop = ", a PFLOP-hour" if plan.workload.unit_flop else ""
    there = [(name, shown) for name, shown in _SHEETS.items() if name in work.pages or name.endswith("...")]
    for row, (name, shown) in enumerate(there, start=below + 4):
        page.text(row, 0, name)
        page.text(row, 1, shown.format(each=unit.each, tokens=tokens, flop=flop))
    return found


def write_result(work: Workbook, checked: Figure) -> None:
    """Write the cell that says whether the books reconcile."""
    page, row = work.page("Summary"), _below(work) + 1
    page.text(row, 0, "Checks")
    page.put(row, 1, checked, "left")


def _below(work: Workbook) -> int:
    """Return the row below the options."""
    return len(work.plan.options) + _FIRST + 1


def _figures(
    page: Page, row: int, option: Option, cash: CashSheet, money: tuple[Figure, Figure, Figure]
) -> dict[str, Figure]:
    """Write an option's money: of a unit of work, of the horizon, and its present value; return the cells by name."""
    in_cash = option.money.run_share_usd is None
    run = page.put(row, _FIRST_MONEY if in_cash else _FIRST_MONEY + 1, money[0])
    page.text(row, _FIRST_MONEY + 1 if in_cash else _FIRST_MONEY, NONE, "text_right")
    figures: tuple[Figure, ...] = (
        money[1],
        money[2],
        cash.capex_figure(),
        (run / (cash.gpus * cash.days * _HOURS_A_DAY)).or_else("unknown"),
    )
    cells = [page.put(row, column, usd) for column, usd in enumerate(figures, start=_FIRST_MONEY + 2)]
    if option.money.priced_share is not None:
        page.number(row, _SHARE, option.money.priced_share, "share")
    return dict(zip(("run", "horizon", "npv", "bought", "per hour"), (run, *cells), strict=True))
