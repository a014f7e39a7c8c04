"""The sheet Checks: identities of sound books, and every view against the engine's figures; red where one is off."""

from collections.abc import Mapping

from clusterwright.outputs.workbook.months.by_option import sums
from clusterwright.outputs.workbook.months.cash import CashSheet
from clusterwright.outputs.workbook.tax.sheet import Taxed
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    is_formula,
    is_number,
    size,
    span,
    to_millionths,
    total,
    when,
)
from clusterwright.outputs.workbook.writing.shared import Workbook

_FIRST = 5
_CENT = 0.005
_COLUMNS = ("what must hold", "difference", "result")
_NOTE = "Views are held against the engine's figures as long as no input is changed; the inputs stand on the right."
#: First column of the inputs.
_INPUTS = 4
#: Result of a figure of the engine's where an input has another value.
CHANGED = "inputs changed"
#: A number read back from a file is no closer than that.
_ROUNDING = 1e-12


def add_checks(
    work: Workbook,
    sheets: Mapping[str, CashSheet],
    options: Mapping[str, Mapping[str, Figure]],
    taxed: Mapping[str, Taxed],
) -> None:
    """Add the identities between the sheets: cash, options, and what is after tax with the owner's books."""
    for target, sheet in sheets.items():
        columns = added([total(span(column.cells)) for column in sheet.columns])
        page = sheet.work.page(f"Cash {target}").name
        work.checks.append((f"{page}: columns add up to the total", columns - total(span(sheet.totals["total"]))))
    for key, flows in work.flows.items():
        parts = sums(flows)
        together = added(list(parts.values()))
        shown = added([options[key][name] for name in ("bought", "used", "kept", "sold")])
        work.checks.append((f"{flows.label}: categories add up to the horizon", together - shown))
    for option in taxed.values():
        found = option.figures
        share = 1.0 - work.names["tax_rate"]
        work.checks.append(
            (f"{option.label}: cash after tax = (1 - tax) x cash before", found["after"] - share * found["before"])
        )
        if option.buys:
            written = total(span(option.written)) + total(span(option.left))
            text = f"{option.label}: written off + book value of what leaves = bought"
            work.checks.append((text, written - total(span(option.bought))))
        with_tax = found["before"] + found["tax_running"] + found["tax_capital"]
        work.checks.append((f"{option.label}: before tax + taxes = after tax", with_tax - found["after"]))


def add_profit_checks(work: Workbook, profit: Mapping[str, Mapping[str, Figure]], taxed: Mapping[str, Taxed]) -> None:
    """Add that the books show the same cost as the cash."""
    for key, lines in profit.items():
        work.checks.append(
            (
                f"{taxed[key].label}: P&L over the horizon = cash before tax",
                lines["cost before tax"] - taxed[key].figures["before"],
            )
        )


def write_checks(work: Workbook) -> tuple[Figure, Figure]:
    """Write the sheet; return the cells that say whether all hold, and how many inputs are other than written."""
    page = work.page("Checks")
    page.title("Checks: every difference is 0.00, or the books do not reconcile")
    page.text(1, 0, _NOTE, "note")
    page.widths(78, 18, 16, 4, 34, 18, 10)
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, _COLUMNS)
    if not work.checks:
        return page.put(2, 2, Figure('"no price is known"', "no price is known"), "text_right"), _inputs(work)
    changed = _inputs(work)
    unchanged = changed.equals(0.0)
    results = []
    for row, (text, difference) in enumerate(work.checks, start=_FIRST):
        page.text(row, 0, text)
        cell = page.put(row, 1, to_millionths(difference))
        results.append(page.put(row, 2, when(size(cell).above(_CENT), "BROKEN", "OK").or_else("BROKEN"), "text_right"))
    for row, check in enumerate(work.engine_checks, start=_FIRST + len(results)):
        page.text(row, 0, f"{check.text}, as the engine has it")
        if check.engine is None:
            holds = when(is_number(check.cell), "BROKEN", "OK")
        else:
            cell = page.put(row, 1, (check.cell - check.engine).or_else("none"))
            holds = when(size(cell).above(check.within), "BROKEN", "OK").or_else("BROKEN")
        results.append(page.put(row, 2, when(unchanged, holds, CHANGED), "text_right"))
    last = _FIRST + len(results) - 1
    broken = Figure(f'COUNTIF({span(results).text},"BROKEN")', float(sum(cell.value == "BROKEN" for cell in results)))
    page.text(2, 0, "all checks", "bold")
    worst = page.put(2, 1, broken, "count")
    answer = page.put(2, 2, when(worst.equals(0.0), "OK", "BROKEN"), "text_right")
    bad = {"type": "cell", "criteria": "==", "value": '"BROKEN"', "format": work.formats["bad"]}
    good = {"type": "cell", "criteria": "==", "value": '"OK"', "format": work.formats["good"]}
    for rule in (bad, good):
        page.sheet.conditional_format(_FIRST, 2, last, 2, rule)
        page.sheet.conditional_format(2, 2, 2, 2, rule)
    return answer, changed


def _inputs(work: Workbook) -> Figure:
    """Write every cell that may be changed, as it was written; return how many are other now."""
    page = work.page("Checks")
    page.head(_FIRST - 1, ("input", "as written", "changed"), column=_INPUTS)
    cells = [cell for other in work.pages.values() for cell in other.inputs]
    changed = []
    for row, (cell, formula) in enumerate(cells, start=_FIRST):
        page.text(row, _INPUTS, cell.text.replace("'", "").replace("$", ""))
        if formula:  # as long as nobody types a value over it
            page.text(row, _INPUTS + 1, "formula", "text_right")
            other = when(is_formula(cell), 0.0, 1.0)
        elif isinstance(cell.value, str):
            page.text(row, _INPUTS + 1, cell.value, "text_right")
            other = when(cell.says(cell.value), 0.0, 1.0)
        else:
            written = page.number(row, _INPUTS + 1, float(cell.value or 0.0))
            other = when(size(cell - written).above(_ROUNDING * abs(float(cell.value or 0.0))), 1.0, 0.0)
        changed.append(page.put(row, _INPUTS + 2, other.or_number(1.0), "count"))
    page.text(2, _INPUTS, "inputs changed", "bold")
    return page.put(2, _INPUTS + 2, total(span(changed)), "count")
