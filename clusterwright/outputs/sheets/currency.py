"""A sheet of the totals in the report's currency: USD over one rate, which is an input."""

from collections.abc import Mapping

from clusterwright.outputs.sheets.formula import Figure
from clusterwright.outputs.sheets.shared import Workbook
from clusterwright.plan.words import Currency

_FIRST = 5
_RATE_ROW = 2


def sheet_name(currency: Currency) -> str:
    """Return the name on the tab.

    >>> sheet_name(Currency(code="EUR", usd=1.09, day="2026-10-01", source="ECB"))
    'In EUR'
    """
    return f"In {currency.code}"


def write_currency(
    work: Workbook,
    currency: Currency,
    *,
    options: Mapping[str, Mapping[str, Figure]],
    units: Mapping[str, Mapping[str, Figure]],
) -> None:
    """Write what every option costs in another currency.

    Args:
        work: the workbook.
        currency: with its dated rate.
        options: cells of the sheet Options by key.
        units: cells of the sheet Unit costs by key.
    """
    page, code = work.page(sheet_name(currency)), currency.code
    page.title(f"The same in {code}", f"{currency.text}; everything is counted in USD and divided by this one rate.")
    columns = (
        "where and how", f"bought, {code}", f"horizon, {code}", f"present value, {code}", f"this run, {code}",
        f"{code} per GPU-hour",
    )  # fmt: skip
    page.widths(34, rest=18, columns=len(columns))
    page.sheet.freeze_panes(_FIRST, 1)
    page.text(_RATE_ROW, 0, f"USD for one {code}")
    rate = page.number(_RATE_ROW, 1, currency.usd, "input")
    page.head(_FIRST - 1, columns)
    for row, (key, figures) in enumerate(options.items(), start=_FIRST):
        page.text(row, 0, work.flows[key].label)
        cells = (figures["bought"], figures["horizon"], figures["npv"], units[key]["run"], units[key]["gpu_hour"])
        for place, usd in enumerate(cells, start=1):
            style = "unit_usd" if place == len(cells) else "usd"
            page.put(row, place, (usd / rate).or_else("unknown"), style)
