"""The sheets Assumptions and Not counted: values with range, source and date, and what the dollars leave out."""

from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, label_of
from clusterwright.tco.terms.records import PricedLine

_FIRST = 4
_PARAMETERS = ("value", "counted with", "cheap end", "dear end", "unit", "basis", "reason", "source", "date")
_DRAWN = ("drawn input", "lowest factor", "highest factor", "reason", "source")
_PRICES = ("price of", "USD per unit", "cheap end", "dear end", "unit", "basis", "note", "source", "in force from")
_WIDE = 60
_AFTER = 4  # column right of the numbers


def write_assumptions(work: Workbook) -> None:
    """Write every parameter, what is drawn and every price, each with source and date."""
    page = work.page("Assumptions")
    page.title("Assumptions: values with range, reason, source and date", "Counted with: from the sheet Inputs.")
    page.widths(44, 16, 14, 14, 26, 14, _WIDE, _WIDE, 14)
    page.sheet.freeze_panes(_FIRST, 1)
    _titles(page, _FIRST - 1, _PARAMETERS, (1, 2, 3))
    row = _FIRST
    for entry in work.plan.parameters:
        page.text(row, 0, entry.key)
        if entry.key in work.names:
            page.put(row, 1, work.names[entry.key], "number")
        else:
            page.number(row, 1, entry.value)
        page.number(row, 2, entry.low)
        page.number(row, 3, entry.high)
        _texts(page, row, (entry.unit, entry.basis, entry.reason, entry.source, entry.date))
        row += 1
    row = _drawn(work, page, row + 2)
    _prices(work, page, row + 2)


def _titles(page: Page, row: int, titles: tuple[str, ...], numbers: tuple[int, ...]) -> None:
    for column, title in enumerate(titles):
        page.text(row, column, title, "right" if column in numbers else "after" if column - 1 in numbers else "head")


def _drawn(work: Workbook, page: Page, row: int) -> int:
    page.text(row - 1, 0, "Inputs of the draws: triangular from the lowest over 1 to the highest factor", "bold")
    _titles(page, row, _DRAWN[:3], (1, 2))
    page.text(row, 6, _DRAWN[3], "head")
    page.text(row, 7, _DRAWN[4], "head")
    for entry in work.found.inputs:
        row += 1
        page.text(row, 0, entry.key)
        page.number(row, 1, entry.low)
        page.number(row, 2, entry.high)
        _texts(page, row, ("", "", entry.reason, entry.source))
    return row + 1


def _prices(work: Workbook, page: Page, row: int) -> None:
    """Write every price once: lines of several options, or of one twice, stand there together."""
    page.text(row - 1, 0, "Prices", "bold")
    _titles(page, row, _PRICES, (1, 2, 3))
    lines = [(option.target, line) for option in work.plan.options for line in option.money.lines]
    lines += [(cost.key, line) for cost in work.found.costs for line in cost.lines]
    seen: set[tuple[str, str, str, float | None]] = set()
    for key, line in lines:
        name = (line.line.sku, line.line.region, line.term, line.unit_usd)
        if name in seen:
            continue
        seen.add(name)
        row += 1
        _price(page, row, key, line)


def _price(page: Page, row: int, key: str, line: PricedLine) -> None:
    place = label_of(key.partition("/")[0])
    term = "" if line.term in ("purchase", "on_demand") else f", {line.term.replace('_', ' ')}"
    page.text(row, 0, f"{line.line.item} ({place}{term})")
    for column, usd in enumerate((line.unit_usd, line.unit_usd_low, line.unit_usd_high), start=1):
        page.number(row, column, usd, "unit_usd")
    _texts(page, row, (f"{line.line.unit}, {line.line.charge}", line.basis, line.note, line.source, line.price_date))


def _texts(page: Page, row: int, texts: tuple[str, ...]) -> None:
    """Write what is right of the numbers; the row becomes as high as its longest text."""
    shown = dict(enumerate(texts, start=_AFTER))
    page.heighten(row, shown)
    for column, text in shown.items():
        page.text(row, column, text, "text" if column == _AFTER else "wrapped")


def write_not_counted(work: Workbook) -> None:
    """Write what the dollars leave out."""
    page = work.page("Not counted")
    page.title("What is not counted")
    page.widths(60, 110)
    page.head(3, ("item", "why"), texts=2)
    for row, text in enumerate(work.plan.not_counted, start=4):
        item, _, why = text.partition(": ")
        page.heighten(row, {0: item, 1: why})
        page.text(row, 0, item if why else text, "wrapped")
        page.text(row, 1, why, "wrapped")
