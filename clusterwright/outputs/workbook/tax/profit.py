"""The sheet P&L: what every option costs by year as the books show it, before and after tax."""

from collections.abc import Mapping

from clusterwright.outputs.workbook.tax.sheet import Taxed
from clusterwright.outputs.workbook.writing.formula import Figure, added, figure, span, total, total_where
from clusterwright.outputs.workbook.writing.shared import Workbook

_FIRST = 4
_LINES = (
    "running costs",
    "written off",
    "loss on the sale (gain negative)",
    "cost before tax",
    "tax",
    "cost after tax",
)
_BOUGHT = ("written off", "loss on the sale (gain negative)")


def write_profit(work: Workbook, taxed: Mapping[str, Taxed]) -> dict[str, dict[str, Figure]]:
    """Write the sheet; return the cells of every option's lines over the horizon, by key and name."""
    page = work.page("P&L")
    years = _years(work)
    page.title(
        "Profit and loss by year from the purchase: the cost of every option, USD",
        "A purchase is no cost; writing it off is. Over the horizon this equals the cash before tax.",
    )
    page.widths(38, rest=18, columns=2 + years)
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.repeat_rows(_FIRST - 1)
    page.head(_FIRST - 1, ("", *(f"year {year}" for year in range(1, years + 1)), "horizon"))
    row = _FIRST
    found = {}
    for key, option in taxed.items():
        found[key] = _option(work, row, option)
        row += 2 + len(_LINES if option.buys else _LINES[:1] + _LINES[3:])
    return found


def _years(work: Workbook) -> int:
    return max(1, -(-(work.rows - 1) // 12))


def _option(work: Workbook, row: int, option: Taxed) -> dict[str, Figure]:
    page = work.page("P&L")
    page.text(row, 0, option.label, "bold")
    years = _years(work)
    running, dated = span(option.running), span(work.years)
    lines: dict[str, list[Figure]] = {name: [] for name in _LINES}
    order = [name for name in _LINES if option.buys or name not in _BOUGHT]
    at = {name: row + 1 + place for place, name in enumerate(order)}
    for name in order:
        page.text(at[name], 0, name)
    for year in range(1, years + 1):
        spent = [page.put(at["running costs"], year, total_where(running, dated, figure(float(year))))]
        lines["running costs"].append(spent[0])
        if option.buys:
            wanted = figure(float(year))
            written = total_where(span(option.written), dated, wanted)
            loss = total_where(span(option.left), dated, wanted) + total_where(span(option.sold), dated, wanted)
            spent += [page.put(at[name], year, usd) for name, usd in zip(_BOUGHT, (written, loss), strict=True)]
            for name, cell in zip(_BOUGHT, spent[1:], strict=True):
                lines[name].append(cell)
        before = page.put(at["cost before tax"], year, added(spent), "total")
        tax = page.put(at["tax"], year, -(work.names["tax_rate"] * before))
        after = page.put(at["cost after tax"], year, before + tax, "total")
        for name, cell in (("cost before tax", before), ("tax", tax), ("cost after tax", after)):
            lines[name].append(cell)
    return {
        name: page.put(at[name], years + 1, total(span(lines[name])), "total" if "cost " in name else "usd")
        for name in order
    }
