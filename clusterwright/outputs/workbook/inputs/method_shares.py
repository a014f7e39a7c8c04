"""The sheet Depreciation: the share of a purchase that each method writes off in each year."""

from typing import get_args

from clusterwright.blueprint.sections.owner import AssetMethod
from clusterwright.outputs.workbook.writing.formula import Span, span
from clusterwright.outputs.workbook.writing.shared import Workbook
from clusterwright.tco.formulas.finance import depreciation_fractions

SHEET = "Depreciation"
METHODS: tuple[str, ...] = get_args(AssetMethod)
_FIRST = 4
#: Where the names of the methods stand, as the source of a list.
NAMES = f"='{SHEET}'!$A${_FIRST + 1}:$A${_FIRST + len(METHODS)}"


def write_method_shares(work: Workbook) -> tuple[Span, list[Span]]:
    """Write the sheet; return the methods' names, and the shares of every year below each other in the same order."""
    page = work.page(SHEET)
    page.title(
        "Depreciation: shares written off by method and year, before the bonus",
        "MACRS: half-year convention, _q1 to _q4 mid-quarter, IRS Publication 946; tco/depreciation.csv.",
    )
    tables = [depreciation_fractions(method) for method in METHODS]
    years = max(len(table) for table in tables)
    page.widths(20, rest=9, columns=1 + years)
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.fit_to_pages(0, 1)
    page.sheet.repeat_columns(0)
    page.head(_FIRST - 1, ("method", *(f"year {year}" for year in range(1, years + 1))))
    for row, (method, table) in enumerate(zip(METHODS, tables, strict=True), start=_FIRST):
        page.text(row, 0, method)
        for column, share in enumerate(table, start=1):
            page.number(row, column, share, "share_input")
    names = span([page.cell(row, 0, method) for row, method in enumerate(METHODS, start=_FIRST)])
    return names, [
        span(
            [
                page.cell(row, year + 1, table[year] if year < len(table) else 0.0)
                for row, table in enumerate(tables, start=_FIRST)
            ]
        )
        for year in range(years)
    ]
