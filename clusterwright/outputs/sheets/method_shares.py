"""The table of depreciation methods: the share of the purchase that each writes off in each year."""

from clusterwright.outputs.sheets.formula import Span, span
from clusterwright.outputs.sheets.inputs import methods
from clusterwright.outputs.sheets.page import Page
from clusterwright.tco.finance import depreciation_fractions


def years() -> int:
    """Return over how many years the slowest method writes off."""
    return max(len(depreciation_fractions(method)) for method in methods())


def method_share_spans(page: Page, top: int) -> tuple[Span, list[Span]]:
    """Return the methods' names and the shares of every year, as `write_method_shares` puts them."""
    columns = range(1, 1 + len(methods()))
    header = span([page.cell(top + 1, column, name) for column, name in zip(columns, methods(), strict=True)])
    tables = [depreciation_fractions(method) for method in methods()]
    rows = [
        span(
            [
                page.cell(top + 2 + year, column, table[year] if year < len(table) else 0.0)
                for column, table in zip(columns, tables, strict=True)
            ]
        )
        for year in range(years())
    ]
    return header, rows


def write_method_shares(page: Page, top: int) -> None:
    """Write the shares that the methods write off, from a row on."""
    page.text(top, 0, "Shares by method and year (before the bonus)", "bold")
    page.text(top + 1, 0, "year", "head")
    for column, method in enumerate(methods(), start=1):
        page.text(top + 1, column, method, "right")
        table = depreciation_fractions(method)
        for year in range(years()):
            page.number(top + 2 + year, column, table[year] if year < len(table) else 0.0, "share_input")
    for year in range(years()):
        page.number(top + 2 + year, 0, float(year + 1), "count")
    page.text(
        top + 3 + years(),
        0,
        "MACRS: half-year convention, _q1 to _q4 mid-quarter, IRS Publication 946; tco/depreciation.csv",
        "note",
    )
