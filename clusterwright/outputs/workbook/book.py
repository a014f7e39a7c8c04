"""The cost workbook: every view of finance in live formulas over named inputs, so that a department can change a value.

Every formula carries its value as its cached result, so that previews show numbers. The formulas count by a second,
independent way what the engine counts in SQL; tests hold both together. Texts are strings and cannot become formulas.
"""

import datetime as dt
import io
from collections.abc import Sequence
from typing import Any

from clusterwright.finance.finances import Finances
from clusterwright.outputs.workbook.checks.engine import Views, add_engine_checks
from clusterwright.outputs.workbook.checks.sheet import CHANGED, add_checks, add_profit_checks, write_checks
from clusterwright.outputs.workbook.inputs.bill import Bill, write_bill
from clusterwright.outputs.workbook.inputs.contracts import contracted, write_contracts
from clusterwright.outputs.workbook.inputs.register import write_assumptions, write_not_counted
from clusterwright.outputs.workbook.inputs.resale import Resale
from clusterwright.outputs.workbook.inputs.sheet import write_inputs
from clusterwright.outputs.workbook.inputs.stages import BASE_STAGES, staged, write_stages
from clusterwright.outputs.workbook.months.by_option import write_by_option, write_calendar
from clusterwright.outputs.workbook.months.cash import CashSheet, owner_cells, write_cash
from clusterwright.outputs.workbook.months.contract_months import write_contract_calendar
from clusterwright.outputs.workbook.months.mixed import mixed_options, needs_base
from clusterwright.outputs.workbook.months.rent_case import Rents
from clusterwright.outputs.workbook.results.figures import write_chart, write_figures
from clusterwright.outputs.workbook.results.ranking import write_options, write_ranking
from clusterwright.outputs.workbook.results.returns import write_returns
from clusterwright.outputs.workbook.results.summary import write_result, write_summary
from clusterwright.outputs.workbook.results.units import write_units
from clusterwright.outputs.workbook.results.views import write_breakeven, write_heat_map, write_uncertainty
from clusterwright.outputs.workbook.tax.financing import write_financing
from clusterwright.outputs.workbook.tax.profit import write_profit
from clusterwright.outputs.workbook.tax.sheet import write_tax
from clusterwright.outputs.workbook.writing.formula import Figure, figure
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, option_of
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Option, Plan
from clusterwright.tco.terms.records import Candidate

_A4 = 9
#: Millions and thousands with one digit, the rest in full.
_MILLIONS = '[>=999950]#,##0.0,,\\ "M";[>=1000]#,##0.0,\\ "k";#,##0.00'
#: The sheets from the answer to its foundations; the cash of the plan's options is before the last ones.
_VIEWS = (
    "Summary",
    "Ranking",
    "Options",
    "Returns",
    "Breakeven",
    "Heat map",
    "Uncertainty",
    "Unit costs",
    "P&L",
    "Tax",
    "Financing",
)
_FOUNDATIONS = ("Inputs", "Assumptions", "Bill")
_METHODS = ("Depreciation",)
#: Views that are printed each on a page of its own, tables whole.
_PRINTED = ("Summary", "Ranking", "Options", "Returns")
#: Colour of the tabs of hidden sheets, those by month.
_MONTHLY = "#9AA5B1"
_BY_MONTH = ("Cash by option", "Returns by month", "After tax by month")
_BOOKS = ("Books by month", "Financing by month")
#: Cash of an owned base that keeps its size.
BASE_CASH = "Cash of a base"
_LAST = ("Not counted", "Checks")


def workbook_xlsx(plan: Plan, found: Finances, currency: Currency | None = None) -> bytes:
    """Return the workbook's bytes; the same plan gives the same bytes.

    Args:
        plan: with its options.
        found: the same plan in the terms of finance (`ranking.ranked`).
        currency: in which the views show money besides USD, None for USD alone.
    """
    import xlsxwriter  # noqa: PLC0415 - only where a workbook is written

    from clusterwright.outputs.workbook.writing.page import PlainWorksheet  # noqa: PLC0415

    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"title": f"{plan.name}: cost", "created": dt.datetime.fromisoformat(plan.as_of)})
    work = Workbook(book=book, formats=_formats(book), plan=plan, found=found, currency=currency)
    told = (Figure("shown_in", currency.code), Figure("usd_per_shown", currency.usd)) if currency else None
    stages = ("Stages",) if staged(work) else ()
    options = contracted(work)
    mixed = (
        *(("Mixes",) if mixed_options(work) else ()),
        *((BASE_CASH, BASE_STAGES) if needs_base(work) else ()),
    )
    owned = any(cost.owned for cost in work.found.costs)
    known = [option for option in plan.options if not option.money.missing]
    # Sheets by month stand together and are hidden: what they hold is summed on the views.
    monthly = (
        *(f"Cash {option.target}" for option in known),
        *_BY_MONTH,
        *(_BOOKS if owned else ()),
        *(("Contracts by month",) if options else ()),
        *mixed,
        *stages,
    )
    for name in (
        *_VIEWS,
        *_FOUNDATIONS,
        *(_METHODS if owned else ()),
        *(("Contracts",) if options else ()),
        *_LAST,
        *monthly,
    ):
        shown = told if name in _VIEWS else None
        work.pages[name] = Page(sheet=book.add_worksheet(name, PlainWorksheet), formats=work.formats, told=shown)
    for page in work.pages.values():
        page.sheet.set_landscape()
        page.sheet.set_paper(_A4)
        page.sheet.fit_to_pages(1, 0)
        page.sheet.set_footer("&L&F&C&A&R&P of &N")
    _fill(work, known, options)
    _finish(work, monthly)
    book.close()
    return stream.getvalue()


def _finish(work: Workbook, monthly: Sequence[str]) -> None:
    """Set what is printed of the views, repeat the heads of long tables, and hide the sheets by month."""
    for name, page in work.pages.items():
        head = page.sheet.panes[0] if page.sheet.panes else 0
        if head and name not in _PRINTED:
            page.sheet.repeat_rows(head - 1)
    for name in _PRINTED:
        sheet = work.page(name).sheet
        sheet.print_area(0, 0, sheet.dim_rowmax, sheet.dim_colmax)
        sheet.fit_to_pages(1, 1)
    for name in monthly:
        sheet = work.page(name).sheet
        sheet.set_tab_color(_MONTHLY)
        sheet.hide()
    work.page("Summary").sheet.activate()


def _fill(work: Workbook, known: list[Option], options: dict[str, Candidate]) -> None:
    resale = write_inputs(work)
    write_calendar(work)
    terms = write_contracts(work, options) if options else {}
    bill = write_bill(work, terms)
    keys = {option.target: cost.key for cost in work.found.costs if (option := option_of(work.plan, cost))}
    stages = write_stages(work, resale, _owner(work)) if staged(work) else None
    if terms:
        write_contract_calendar(work, stages)
    sheets: dict[str, CashSheet] = {
        option.target: write_cash(work, option, bill, stages, keys.get(option.target, option.target))
        for option in known
    }
    base = _base(work, bill, resale) if needs_base(work) else None
    mixes = write_by_option(work, Rents(bill=bill, stages=stages, terms=terms), sheets, base)
    shown = write_options(work)
    returns = write_returns(work, bill)
    axis = write_breakeven(work, sheets, returns)
    heat = write_heat_map(work)
    write_uncertainty(work)
    units = write_units(work, sheets, mixes)
    ranked = write_ranking(work, sheets, shown, units)
    taxed = write_tax(work)
    profit = write_profit(work, taxed)
    financing = write_financing(work, taxed)
    write_assumptions(work)
    write_not_counted(work)
    summary = write_summary(work, sheets, shown, units)
    write_figures(work, ranked, returns)
    if sheets:
        write_chart(work, list(sheets), axis)
    add_checks(work, sheets, shown, taxed)
    add_profit_checks(work, profit, taxed)
    add_engine_checks(
        work,
        Views(
            cash=sheets,
            summary=summary,
            options=shown,
            returns=returns,
            units=units,
            profit=profit,
            financing=financing,
            taxed=taxed,
            heat=heat,
        ),
    )
    write_result(work, *write_checks(work), CHANGED)


def _owned(work: Workbook) -> Option | None:
    """Return the plan's option that is bought, None where there is none with all its prices."""
    known = (option for option in work.plan.options if not option.money.missing)
    return next((option for option in known if option.cluster.it_power_w is not None), None)


def _owner(work: Workbook) -> tuple[Figure, Figure]:
    """Return the busy share and the nodes of the cluster that is owned, as cells of its sheet; 0 and 1 without one."""
    option = _owned(work)
    cost = next((cost for cost in work.found.costs if cost.owned and not cost.mixed), None)
    if option is None or cost is None:
        return figure(0.0), figure(1.0)
    return owner_cells(work, option, cost.busy_fraction)


def _base(work: Workbook, bill: Bill, resale: Resale) -> CashSheet | None:
    """Write the owned cluster as it is where it keeps its size; None where nothing is owned."""
    option = _owned(work)
    if option is None:
        return None
    stages = write_stages(work, resale, _owner(work), sheet=BASE_STAGES)
    return write_cash(work, option, bill, stages, "", sheet=BASE_CASH)


def _formats(book: Any) -> dict[str, Any]:  # noqa: ANN401 - XlsxWriter is untyped
    money, yellow = "#,##0.00;[Red]-#,##0.00", {"font_color": "#0000FF", "bg_color": "#FFF9E5"}
    head = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
    styles: dict[str, dict[str, Any]] = {
        "head": head,
        "right": head | {"align": "right"},
        "after": {"bold": True, "bottom": 1, "valign": "top", "align": "left", "indent": 1},
        "text": {"indent": 1},
        "left": {"align": "left"},
        "text_right": {"align": "right"},
        "wrapped": {"text_wrap": True, "valign": "top"},
        "bold": {"bold": True},
        "title": {"bold": True, "font_size": 14},
        "note": {"italic": True, "font_color": "#52606D"},
        "millions": {"num_format": _MILLIONS, "align": "right"},
        "headline": {"num_format": _MILLIONS, "align": "right", "bold": True},
        "headline_share": {"num_format": "0 %", "align": "right", "bold": True},
        "headline_month": {"num_format": '"month "0', "align": "right", "bold": True},
        "link": {"font_color": "#0563C1", "underline": 1},
        "usd": {"num_format": money, "align": "right"},
        "engine": {"num_format": money, "align": "right", "italic": True},
        "unit_usd": {"num_format": "#,##0.0000", "align": "right"},
        "total": {"num_format": money, "align": "right", "bold": True, "top": 1},
        "input": {"num_format": "#,##0.######"} | yellow,
        "input_text": {"align": "right"} | yellow,
        "share_input": {"num_format": "0.00 %"} | yellow,
        "number": {"num_format": "#,##0.####", "align": "right"},
        "count": {"num_format": "#,##0", "align": "right"},
        "days": {"num_format": "#,##0.0", "align": "right"},
        "month": {"num_format": "0.0", "align": "right"},
        "share": {"num_format": "0 %", "align": "right"},
        "factor_input": {"num_format": "0 %", "align": "right", "bold": True} | yellow,
        "hidden": {"num_format": ";;;"},
        "bad": {"font_color": "#9C0006", "bg_color": "#FFC7CE", "bold": True},
        "good": {"font_color": "#006100", "bg_color": "#E3F1E5"},
        "share_1": {"num_format": "0.0 %", "align": "right"},
        "share_2": {"num_format": "0.00 %", "align": "right"},
    }
    return {name: book.add_format(style) for name, style in styles.items()}
