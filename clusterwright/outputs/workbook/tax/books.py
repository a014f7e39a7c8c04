"""The sheet Books by month: what every option's purchases are written off by, month by month.

The rules of `tco/sql/asset_lot.sql` and `written_off.sql` a second time: what is bought in a month is written off at
the end of each year after it, by the method of its class, until it is replaced or the horizon ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.method_shares import METHODS, write_method_shares
from clusterwright.outputs.workbook.inputs.sheet import METHOD
from clusterwright.outputs.workbook.inputs.stages import staged
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    both,
    either,
    figure,
    item,
    looked_up,
    span,
    total,
    when,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Asset, Rows, Workbook, label_of

_FIRST = 4
_YEAR = 12
_QUICK = "macrs_"
#: Too slow for the bonus.
_BUILDING = "macrs_39"


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """How one class is written off: the share of each year, and of all years until it is replaced."""

    by_year: Rows
    all_years: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Books:
    """One option's books by month row: written off, and what the books still show for what leaves."""

    written: Rows
    left: Rows


def years_of(work: Workbook) -> int:
    """Return the years of the horizon, a part of one counted whole."""
    return max(1, -(-(work.rows - 1) // _YEAR))


def write_shares(work: Workbook, top: int, assets: Sequence[Asset]) -> dict[Asset, Share]:
    """Write the share that each class of what is bought writes off in each year; return it by class.

    Args:
        work: the workbook.
        top: first row on the sheet Tax.
        assets: the classes.
    """
    page, names = work.page("Tax"), work.names
    header, rows = write_method_shares(work)
    page.text(top, 0, "Written off in each year after the purchase, the bonus included", "bold")
    page.head(top + 1, ("class of what is bought", *(asset.text for asset in assets)))
    titles = ("method", "at once, by the bonus", *(f"year {year}" for year in range(1, years_of(work) + 1)), "together")
    for row, title in enumerate(titles, start=top + 2):
        page.text(row, 0, title)
    found = {}
    for column, asset in enumerate(assets, start=1):
        method = page.put(top + 2, column, _method(work, asset), "text_right")
        bonus = names["bonus_depreciation"] if not asset.category else _bonus(method, names["bonus_depreciation"])
        bonus = page.put(top + 3, column, bonus, "share_2")
        shares = []
        for year in range(1, years_of(work) + 1):
            share = looked_up(rows[year - 1], header, method) * (1.0 - bonus) if year <= len(rows) else figure(0.0)
            share = share + bonus if year == 1 else share
            if _replaced(work, asset):
                life = _life(work, asset)
                share = when(either(life.at_most(0.0), life.above(_YEAR * year - 1e-9)), share, 0.0)
            shares.append(page.put(top + 3 + year, column, share, "share_2"))
        together = page.put(top + 4 + years_of(work), column, total(span(shares)), "share_2")
        found[asset] = Share(by_year=tuple(shares), all_years=together)
    return found


def _method(work: Workbook, asset: Asset) -> Figure:
    return work.names[f"{METHOD}_of_{asset.category}" if asset.category else METHOD]


def _bonus(method: Figure, bonus: Figure) -> Figure:
    """Return the bonus of a class with a method of its own: only what MACRS writes off within 20 years has one."""
    quick = [name for name in METHODS if name.startswith(_QUICK) and name != _BUILDING]
    return when(either(*(method.says(name) for name in quick)), bonus, 0.0)


def _replaced(work: Workbook, asset: Asset) -> bool:
    """Return whether a class may be replaced within the horizon."""
    return staged(work) and not asset.stays


def _life(work: Workbook, asset: Asset) -> Figure:
    """Return the months after its payment in which a class is replaced, 0 for never."""
    refresh = work.names["refresh_months"]
    if not asset.late:
        return refresh
    return when(refresh.above(0.0), refresh - work.names["delivery_months"], 0.0)


def write_calendar(work: Workbook) -> None:
    """Write the months of the sheet."""
    page = work.page("Books by month")
    page.title(
        "Books by month: what is bought, written off, and still in the books when it leaves",
        "Each purchase is written off from the month in which it is paid, by the shares on the sheet Tax.",
    )
    page.widths(9)
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.repeat_columns(0)
    page.sheet.fit_to_pages(0, 1)
    page.head(_FIRST - 1, ("month",), texts=0)
    for row, month in enumerate(work.months):
        page.put(_FIRST + row, 0, month, "number")


def write_books(work: Workbook, key: str, bought: Mapping[Asset, Rows], shares: Mapping[Asset, Share]) -> Books:
    """Write one option's months right of the others.

    Args:
        work: the workbook.
        key: of the option.
        bought: what it buys, by class and month row.
        shares: as `write_shares` gives them.
    """
    page = work.page("Books by month")
    column = 1 + max(page.wide)
    page.text(_FIRST - 2, column, label_of(key), "bold")
    found = []
    for place, (asset, paid) in enumerate(bought.items()):
        at = column + 3 * place
        page.widths_at(at, 17.0, 17.0, 17.0)
        page.head(
            _FIRST - 1, [f"{asset.text}: {what}, USD" for what in ("bought", "written off", "left")], texts=0, column=at
        )
        found.append(_class_books(work, page, at, paid, (asset, shares[asset])))
    rows = range(work.rows)
    return Books(
        written=tuple(added([written[row] for written, _ in found]) for row in rows),
        left=tuple(added([left[row] for _, left in found]) for row in rows),
    )


def engine_books(work: Workbook, key: str) -> Books:
    """Return the books of an option whose purchases no formula counts: the engine's numbers."""
    found = {entry.month: entry for entry in work.found.taxed.months if entry.key == key}
    rows = [found.get(month.value) if isinstance(month.value, float) else None for month in work.months]
    return Books(
        written=tuple(figure(entry.written_off_usd if entry else 0.0) for entry in rows),
        left=tuple(figure(entry.left_usd if entry else 0.0) for entry in rows),
    )


def _class_books(
    work: Workbook, page: Page, column: int, paid: Rows, rule: tuple[Asset, Share]
) -> tuple[list[Figure], list[Figure]]:
    (asset, share), horizon = rule, work.names["horizon_months"]
    bought: list[Figure] = []
    written: list[Figure] = []
    left: list[Figure] = []
    for row, (month, length) in enumerate(zip(work.months, work.lengths, strict=True)):
        at = _FIRST + row
        bought.append(page.put(at, column, paid[row]))
        parts = [share.by_year[year - 1] * bought[row - _YEAR * year] for year in range(1, row // _YEAR + 1)]
        full = both(month.equals(float(row)), length.above(0.0))
        written.append(page.put(at, column + 1, when(full, added(parts), 0.0) if parts else figure(0.0)))
        rest = total(span(bought)) - total(span(written)) - (total(span(left)) if left else figure(0.0))
        gone = figure(0.0)
        if row and _replaced(work, asset):
            life = _life(work, asset)
            due = both(life.above(0.0), horizon.above(month), life.at_most(float(row)))
            gone = when(due, item(span(bought), float(row + 1) - life) * (1.0 - share.all_years), 0.0)
        last = both(month.equals(horizon), length.above(0.0))
        left.append(page.put(at, column + 2, when(last, rest, gone) if row else figure(0.0)))
    return written, left
