"""A cash flow after tax, with the books that go with it."""

import csv
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from clusterwright.assets import root
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.statements import files
from clusterwright.tco.ledger.engine import Ledger

#: The tables of a taxed cash flow after `financed_flow`, each a statement of `tco/sql` over those before it.
TAX_TABLES = ("written_off", "taxed_flow")
#: Has a method of its own also where none is bought.
_MAY_BE_MISSING = ("building",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxes:
    """How a cash flow is taxed.

    Attributes:
        tax_rate: on income, 0 to below 1.
        depreciation: share of the purchase written off in each year; depreciation_of: other shares by category.
    """

    tax_rate: float
    depreciation: tuple[float, ...]
    depreciation_of: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterTax:
    """One candidate before and after tax, in USD; a cost is positive.

    Attributes:
        key: of the option.
        before_tax_usd, after_tax_usd: over the horizon; npv_*: present values.
        peak_cash_usd: most cash out at the end of a month, after tax.
        opex_usd, depreciation_usd, loss_on_disposal_usd: the same cost before tax as the books show it.
    """

    key: str
    before_tax_usd: float
    after_tax_usd: float
    npv_before_tax_usd: float
    npv_after_tax_usd: float
    peak_cash_usd: float
    opex_usd: float
    depreciation_usd: float
    loss_on_disposal_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BookYear:
    """What is written off at the end of a year after the purchase, and the value left in the books, in USD."""

    key: str
    year: int
    depreciation_usd: float
    book_value_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BookMonth:
    """What is written off at the end of a month, and what the books still show for what leaves then, in USD."""

    key: str
    month: float
    written_off_usd: float
    left_usd: float


def book_months(ledger: Ledger) -> tuple[BookMonth, ...]:
    """Return the months in which anything is written off or leaves, of every candidate that buys; after `after_tax`."""
    rows = ledger.query("tco/sql/book_month.sql", {})
    return tuple(BookMonth(month=row.pop("month_end"), **row) for row in rows)


def after_tax(ledger: Ledger, taxes: Taxes) -> tuple[tuple[AfterTax, ...], tuple[BookYear, ...]]:
    """Return every candidate after tax, cheapest first, and the books of those that buy.

    Tax on running costs falls due with them; that of a year's depreciation at the end of each year from the purchase
    on; that of the sale with the sale, at the end of the horizon.

    Args:
        ledger: the cash flow before tax.
        taxes: rate, depreciation.

    Raises:
        InputError: the tax rate is no share below 1.
        ClusterwrightError: the views do not reconcile, which is a bug.
    """
    if not 0 <= taxes.tax_rate < 1:
        raise InputError(f"a tax rate of {taxes.tax_rate:g} leaves nothing to pay with", help="give 0 to below 1")
    values = tax_values(ledger, taxes)
    for name in ("financed_flow", "asset_lot"):
        ledger.create(name, f"tco/sql/{name}.sql", values)
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": _written_off_rows(taxes, ledger)})
    for name in TAX_TABLES:
        ledger.create(name, f"tco/sql/{name}.sql", values)
    for path in files("tco/finance_audits"):
        broken = ledger.query(f"tco/finance_audits/{path.name}", values)
        if broken:
            raise ClusterwrightError(f"the views of the cash flow do not reconcile: {path.stem}: {broken[0]}")
    found = tuple(AfterTax(**row) for row in ledger.query("tco/sql/after_tax.sql", values))
    books = tuple(
        BookYear(
            key=row["key"],
            year=round(row["book_year"]),
            depreciation_usd=row["usd"],
            book_value_usd=max(0.0, row["book_usd"]),
        )
        for row in ledger.query("tco/sql/book_year.sql", {})
    )
    return found, books


def tax_values(ledger: Ledger, taxes: Taxes) -> dict[str, Any]:
    """Return the parameters of the statements of tax, by name."""
    return {"tax_rate": taxes.tax_rate, "refresh_months": ledger.economics.pace.refresh_months}


def _written_off_rows(taxes: Taxes, ledger: Ledger) -> list[dict[str, Any]]:
    """Return the share of each category that is written off in each year.

    Raises:
        InputError: a method is given for a category of which nothing is bought.
    """
    categories = {row["category"] for row in ledger.query("tco/sql/asset_category.sql", {})}
    for category in taxes.depreciation_of:
        if category not in categories and category not in _MAY_BE_MISSING:
            raise InputError(
                f"nothing of the category {category!r} is bought",
                help=f"categories of what is bought: {', '.join(sorted(categories))}",
                path=("tco", "depreciation_of", category),
            )
    return [
        {"category": category, "year": float(year), "fraction": share}
        for category in sorted(categories)
        for year, share in enumerate(taxes.depreciation_of.get(category, taxes.depreciation), start=1)
    ]


def tax_terms(ledger: Ledger, taxes: Taxes) -> None:
    """Put the present value after tax of every term of every option (`drawn_flow`) into the table `taxed_term`.

    Taxes are linear in the cash flow and grouped by key alone: each term is taxed as an option of its own, and the
    terms of an option sum to what it costs after tax.
    """
    values = tax_values(ledger, taxes)
    ledger.create("financed_flow", "tco/sql/taxed_term_flow.sql", {})
    ledger.create("asset_lot", "tco/sql/asset_lot.sql", values)
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": _written_off_rows(taxes, ledger)})
    for name in TAX_TABLES:
        ledger.create(name, f"tco/sql/{name}.sql", values)
    ledger.create("taxed_term", "tco/sql/taxed_term.sql", {})


@cache
def _bonuses() -> tuple[Mapping[str, str], ...]:
    with (root() / "tco" / "bonus_depreciation.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def bonus_fraction(day: dt.date) -> float:
    """Return the share of a purchase that United States law lets write off at once, for what is acquired on a day.

    Raises:
        InputError: no row of `tco/bonus_depreciation.csv` is as old as the day.

    >>> bonus_fraction(dt.date(2024, 6, 1)), bonus_fraction(dt.date(2025, 1, 19)), bonus_fraction(dt.date(2026, 1, 1))
    (0.6, 0.4, 1.0)
    """
    in_force = [row for row in _bonuses() if row["acquired_from"] <= day.isoformat()]
    if not in_force:
        raise InputError(
            f"the bonus depreciation of {day} is unknown",
            help="give it as a share, for example bonus_depreciation: 0 %",
        )
    return float(max(in_force, key=lambda row: row["acquired_from"])["fraction"])
