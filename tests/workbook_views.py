"""What the workbook's views must show: the engine's figures, read off a plan in the terms of finance."""

from collections.abc import Iterator
from typing import Any

import pytest
from openpyxl.workbook import Workbook

from clusterwright.finance.finances import Finances
from clusterwright.outputs.workbook.checks.sheet import CHANGED
from clusterwright.outputs.workbook.writing.shared import label_of

CENT = 0.005


def rows_of(book: Workbook, sheet: str, first: str) -> Iterator[tuple[Any, ...]]:
    """Return a sheet's rows below the one whose first cell has a title, up to an empty one."""
    found = False
    for row in book[sheet].iter_rows(values_only=True):
        if found and row[0] is None:
            return
        if found:
            yield row
        found = found or row[0] == first


def by_label(book: Workbook, sheet: str, first: str) -> dict[str, tuple[Any, ...]]:
    """Return the same rows by their first cell."""
    return {str(row[0]): row for row in rows_of(book, sheet, first)}


def agree(book: Workbook, found: Finances, *, bent: bool = True) -> int:
    """Hold every view against the engine, dollars to the cent; return how many figures were compared.

    `bent`: also the heat map and the breakeven price, parts of which may be numbers of the engine that follow no input.
    """
    compared = _options(book, found) + _returns(book, found, bent=bent) + _tax(book, found) + _units(book, found)
    compared += (_heat(book, found) if bent else 0) + _financing(book, found)
    results = {row[2] for row in rows_of(book, "Checks", "what must hold")}
    assert results == ({"OK", CHANGED} if book["Checks"]["G3"].value else {"OK"})
    return compared


def _same(shown: object, wanted: float | None, what: str, *, within: float = CENT) -> int:
    if wanted is None:
        assert isinstance(shown, str), what
    else:
        assert shown == pytest.approx(wanted, abs=within), what
    return 1


def _options(book: Workbook, found: Finances) -> int:
    shown = by_label(book, "Options", "where and how")
    assert len(shown) == len(found.costs)
    for cost in found.costs:
        row = shown[label_of(cost.key)]
        _same(row[8], cost.horizon_usd, cost.key)
        _same(row[9], cost.npv_usd, cost.key)
    return 2 * len(shown)


def _returns(book: Workbook, found: Finances, *, bent: bool) -> int:
    shown = by_label(book, "Returns", "owning against")
    mine = [entry for entry in found.returns if entry.owned_key == found.owned_key]
    for entry in mine:
        row = shown[label_of(entry.rented_key)]
        if row[2] == "none for a part of a month":
            row = (*row[:2], entry.irr_per_year, *row[3:])
        wanted = (
            (1, entry.npv_usd, CENT),
            (2, entry.irr_per_year, 1e-7),
            (4, entry.payback_months, 1e-6),
            (5, entry.discounted_payback_months, 1e-6),
            (6, entry.breakeven_months, 1e-6),
            (7, entry.breakeven_utilisation, 1e-8),
            (8, entry.breakeven_rent_factor, 1e-8),
        )
        for column, value, within in wanted if bent else wanted[:-1]:
            _same(row[column], value, f"{entry.rented_key}, column {column}", within=within)
    return 7 * len(mine)


def _tax(book: Workbook, found: Finances) -> int:
    shown = by_label(book, "Tax", "where and how")
    profit = list(book["P&L"].iter_rows(values_only=True))
    for entry in found.taxed.options:
        label = label_of(entry.key)
        row = shown[label]
        values = (entry.before_tax_usd, entry.npv_before_tax_usd)
        after = (entry.after_tax_usd, entry.npv_after_tax_usd, entry.peak_cash_usd)
        for value, usd in zip((*row[1:3], *row[5:8]), (*values, *after), strict=True):
            _same(value, usd, label)
        at = next(place for place, line in enumerate(profit) if line[0] == label)
        lines = {str(line[0]): line[-1] for line in profit[at + 1 : at + 7]}
        _same(lines["running costs"], entry.opex_usd, label)
        _same(lines["cost before tax"], entry.before_tax_usd, label)
        _same(lines["cost after tax"], entry.after_tax_usd, label)
        if entry.depreciation_usd:
            _same(lines["written off"], entry.depreciation_usd, label)
            _same(lines["loss on the sale (gain negative)"], entry.loss_on_disposal_usd, label)
    schedule = list(rows_of(book, "Tax", "year after the purchase"))
    owner = found.taxed.books[0].key if found.taxed.books else ""
    at = next((place for place, line in enumerate(profit) if owner and line[0] == label_of(owner)), 0)
    for year in found.taxed.books:
        _same(profit[at + 2][year.year], year.depreciation_usd, f"P&L, year {year.year}")
        if not schedule:
            continue
        _same(schedule[year.year - 1][1], year.depreciation_usd, f"year {year.year}")
        _same(schedule[year.year - 1][2], year.book_value_usd, f"year {year.year}")
    return 8 * len(found.taxed.options) + 2 * len(found.taxed.books)


def _units(book: Workbook, found: Finances) -> int:
    shown = by_label(book, "Unit costs", "where and how")
    for cost, unit in zip(found.costs, found.unit_costs, strict=True):
        row = shown[label_of(cost.key)]
        if cost.mixed and row[1] == "engine":
            continue
        _same(row[2], cost.run_usd, cost.key)
        for value, usd in zip(
            row[3:7],
            (
                cost.usd_per_gpu_hour,
                unit.levelised_usd_per_gpu_hour,
                unit.usd_per_million_tokens,
                unit.usd_per_effective_pflop_hour,
            ),
            strict=True,
        ):
            _same(value, usd, cost.key, within=1e-6)
    return 5 * len(found.costs)


def _heat(book: Workbook, found: Finances) -> int:
    rows = list(rows_of(book, "Heat map", "factor on utilisation"))
    shown = [usd for row in rows for usd in row[2:7]]
    assert shown == pytest.approx([cell.saving_usd for cell in found.heat], abs=CENT)
    return len(shown)


def _financing(book: Workbook, found: Finances) -> int:
    paid = found.taxed.financed
    if paid is None:
        return 0
    table = list(book["Financing"].iter_rows(min_row=4, max_row=10, values_only=True))
    column = table[0].index(paid.kind)
    wanted = (paid.financed_usd, paid.usd_per_month, paid.interest_usd, paid.liability_usd, paid.npv_after_tax_usd)
    for row, usd in zip(table[1:6], wanted, strict=True):
        _same(row[column], usd, str(row[0]))
    return len(wanted)
