"""Cash flow after tax, with depreciation and book values."""

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

#: Tables of a taxed cash flow after `financed_flow`; each is a statement in `tco/sql` over the tables before it.
TAX_TABLES = ("written_off", "taxed_flow")
#: Categories whose depreciation method may be given even if nothing of the category is bought.
_MAY_BE_MISSING = ("building",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxes:
    """Tax rate and depreciation.

    Attributes:
        tax_rate: tax rate on income, 0 to below 1.
        depreciation: share of the purchase depreciated in each year.
        depreciation_of: shares by category, where they differ.
    """

    tax_rate: float
    depreciation: tuple[float, ...]
    depreciation_of: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterTax:
    """One candidate before and after tax, in USD; a cost is positive.

    Attributes:
        key: key of the option.
        before_tax_usd, after_tax_usd: cost over the horizon.
        npv_before_tax_usd, npv_after_tax_usd: present values of the cost.
        peak_cash_usd: peak funding need after tax: the largest cumulative cash out at the end of a month.
        opex_usd, depreciation_usd, loss_on_disposal_usd: the same cost before tax, as shown in the books.
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
    """Depreciation at the end of a year after the purchase, and the net book value after it, in USD."""

    key: str
    year: int
    depreciation_usd: float
    book_value_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BookMonth:
    """Depreciation at the end of a month, and the net book value of equipment that is removed then, in USD."""

    key: str
    month: float
    written_off_usd: float
    left_usd: float


def book_months(ledger: Ledger) -> tuple[BookMonth, ...]:
    """Return the months with depreciation or removals of every candidate with purchases; call it after `after_tax`."""
    rows = ledger.query("tco/sql/book_month.sql", {})
    return tuple(BookMonth(month=row.pop("month_end"), **row) for row in rows)


def after_tax(ledger: Ledger, taxes: Taxes) -> tuple[tuple[AfterTax, ...], tuple[BookYear, ...]]:
    """Return every candidate after tax, cheapest first, and the books of the candidates with purchases.

    The tax effect of running costs is due with them, that of a year's depreciation at the end of each year from the
    purchase on, and that of the sale with the sale, at the end of the horizon.

    Args:
        ledger: cash flow before tax.
        taxes: tax rate and depreciation.

    Raises:
        InputError: the tax rate is not a share below 1.
        ClusterwrightError: the views do not reconcile, which is a bug.
    """
    if not 0 <= taxes.tax_rate < 1:
        raise InputError(f"a tax rate of {taxes.tax_rate:g} leaves nothing to pay with", help="give 0 to below 1")
    values = tax_values(ledger, taxes)
    for name in ("financed_flow", "asset_lot"):
        ledger.create(name, f"tco/sql/{name}.sql", values)
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": _depreciation_rows(taxes, ledger)})
    for name in TAX_TABLES:
        ledger.create(name, f"tco/sql/{name}.sql", values)
    for path in files("tco/finance_audits"):
        broken = ledger.query(f"tco/finance_audits/{path.name}", values)
        if broken:
            raise ClusterwrightError(f"the views of the cash flow do not reconcile: {path.stem}: {broken[0]}")
    options = tuple(AfterTax(**row) for row in ledger.query("tco/sql/after_tax.sql", values))
    books = tuple(
        BookYear(
            key=row["key"],
            year=round(row["book_year"]),
            depreciation_usd=row["usd"],
            book_value_usd=max(0.0, row["book_usd"]),
        )
        for row in ledger.query("tco/sql/book_year.sql", {})
    )
    return options, books


def tax_values(ledger: Ledger, taxes: Taxes) -> dict[str, Any]:
    """Return the parameters of the tax statements, by name."""
    return {"tax_rate": taxes.tax_rate, "refresh_months": ledger.economics.growth.refresh_months}


def _depreciation_rows(taxes: Taxes, ledger: Ledger) -> list[dict[str, Any]]:
    """Return the share of each category that is depreciated in each year.

    Raises:
        InputError: a method is given for a category without purchases.
    """
    categories = {row["category"] for row in ledger.query("tco/sql/asset_category.sql", {})}
    for category in taxes.depreciation_of:
        if category not in categories and category not in _MAY_BE_MISSING:
            raise InputError(
                f"nothing of the category {category!r} is bought",
                help=f"categories with purchases: {', '.join(sorted(categories))}",
                path=("tco", "depreciation_of", category),
            )
    return [
        {"category": category, "year": float(year), "fraction": share}
        for category in sorted(categories)
        for year, share in enumerate(taxes.depreciation_of.get(category, taxes.depreciation), start=1)
    ]


def tax_terms(ledger: Ledger, taxes: Taxes) -> None:
    """Store the present value after tax of every term of every option (`drawn_flow`) in the table `taxed_term`.

    Taxes are linear in the cash flow and grouped by key alone, so each term is taxed like a separate option and the
    terms of an option sum to its cost after tax.
    """
    values = tax_values(ledger, taxes)
    ledger.create("financed_flow", "tco/sql/taxed_term_flow.sql", {})
    ledger.create("asset_lot", "tco/sql/asset_lot.sql", values)
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": _depreciation_rows(taxes, ledger)})
    for name in TAX_TABLES:
        ledger.create(name, f"tco/sql/{name}.sql", values)
    ledger.create("taxed_term", "tco/sql/taxed_term.sql", {})


@cache
def _bonuses() -> tuple[Mapping[str, str], ...]:
    with (root() / "tco" / "bonus_depreciation.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def bonus_fraction(day: dt.date) -> float:
    """Return the bonus depreciation of United States law: the share of a purchase on a day that is depreciated at once.

    Raises:
        InputError: `tco/bonus_depreciation.csv` has no row for the day or an earlier one.

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
