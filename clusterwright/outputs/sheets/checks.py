"""The sheet Checks: identities that hold in sound books, each a difference that is 0.00, red where it is not."""

from collections.abc import Mapping

from clusterwright.outputs.sheets.by_option import sums
from clusterwright.outputs.sheets.cash import CashSheet
from clusterwright.outputs.sheets.formula import Figure, added, size, span, to_millionths, total, when
from clusterwright.outputs.sheets.shared import Workbook
from clusterwright.outputs.sheets.tax import Taxed

_FIRST = 5
_CENT = 0.005
_COLUMNS = ("what must hold", "difference, USD", "result")


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


def add_profit_checks(work: Workbook, profit: Mapping[str, Figure], taxed: Mapping[str, Taxed]) -> None:
    """Add that the books show the same cost as the cash."""
    for key, cost in profit.items():
        work.checks.append(
            (f"{taxed[key].label}: P&L over the horizon = cash before tax", cost - taxed[key].figures["before"])
        )


def write_checks(work: Workbook) -> Figure:
    """Write the sheet; return the cell that says whether all hold."""
    page = work.page("Checks")
    page.title("Checks: every difference is 0.00, or the books do not reconcile")
    page.widths(78, 18, 12)
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, _COLUMNS)
    results = []
    for row, (text, difference) in enumerate(work.checks, start=_FIRST):
        page.text(row, 0, text)
        cell = page.put(row, 1, to_millionths(difference))
        results.append(page.put(row, 2, when(size(cell).above(_CENT), "BROKEN", "OK"), "text_right"))
    if not results:
        return page.put(2, 2, Figure('"no price is known"', "no price is known"), "text_right")
    last = _FIRST + len(work.checks) - 1
    broken = Figure(f'COUNTIF({span(results).text},"BROKEN")', float(sum(cell.value == "BROKEN" for cell in results)))
    page.text(2, 0, "all checks", "bold")
    worst = page.put(2, 1, broken, "count")
    answer = page.put(2, 2, when(worst.equals(0.0), "OK", "BROKEN"), "text_right")
    bad = {"type": "cell", "criteria": "==", "value": '"BROKEN"', "format": work.formats["bad"]}
    good = {"type": "cell", "criteria": "==", "value": '"OK"', "format": work.formats["good"]}
    for rule in (bad, good):
        page.sheet.conditional_format(_FIRST, 2, last, 2, rule)
        page.sheet.conditional_format(2, 2, 2, 2, rule)
    return answer
