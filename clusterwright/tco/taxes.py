"""A cash flow after tax, with the books that go with it, and what delivery, a loan or a lease change."""

import csv
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from clusterwright.assets import root
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.statements import files
from clusterwright.tco.engine import Ledger

_STATEMENTS = ("financed_flow", "written_off", "taxed_flow")


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxes:
    """How a cash flow is taxed and when what is bought arrives.

    Attributes:
        tax_rate: on income, 0 to below 1.
        depreciation: share of the purchase written off in each year.
        owned_key: candidate that buys; bridge_key: candidate that is rented until delivery.
        delivery_months: from payment to work, whole months; 0 at once.
    """

    tax_rate: float
    depreciation: tuple[float, ...]
    owned_key: str = ""
    bridge_key: str = ""
    delivery_months: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterTax:
    """One candidate before and after tax, in USD; a cost is positive.

    Attributes:
        key: of the candidate; with `/bridged`, rented until delivery.
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


def after_tax(ledger: Ledger, taxes: Taxes) -> tuple[tuple[AfterTax, ...], tuple[BookYear, ...]]:
    """Return every candidate after tax, cheapest first, and the books of those that buy.

    Tax on running costs falls due with them; that of a year's depreciation at the end of each year from the purchase
    on; that of the sale with the sale, at the end of the horizon.

    Args:
        ledger: the cash flow before tax.
        taxes: rate, depreciation, delivery.

    Raises:
        InputError: the tax rate is no share below 1, or delivery takes the whole horizon.
        ClusterwrightError: the views do not reconcile, which is a bug.
    """
    if not 0 <= taxes.tax_rate < 1:
        raise InputError(f"a tax rate of {taxes.tax_rate:g} leaves nothing to pay with", help="give 0 to below 1")
    if taxes.delivery_months and taxes.delivery_months >= ledger.economics.horizon_months:
        raise InputError(
            f"delivery after {taxes.delivery_months:g} months is no sooner than the end of the horizon, "
            f"{ledger.economics.horizon_months:g} months",
            help="lengthen economics.horizon, or shorten tco.delivery",
            path=("tco", "delivery"),
        )
    values: dict[str, Any] = {
        "tax_rate": taxes.tax_rate,
        "owned_key": taxes.owned_key,
        "bridge_key": taxes.bridge_key,
        "delivery_months": taxes.delivery_months,
    }
    years = [{"year": float(year), "fraction": share} for year, share in enumerate(taxes.depreciation, start=1)]
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": years})
    for name in _STATEMENTS:
        ledger.create(name, f"tco/sql/{name}.sql", values)
    for path in files("tco/finance_audits"):
        broken = ledger.query(f"tco/finance_audits/{path.name}", values)
        if broken:
            raise ClusterwrightError(f"the views of the cash flow do not reconcile: {path.stem}: {broken[0]}")
    found = tuple(AfterTax(**row) for row in ledger.query("tco/sql/after_tax.sql", values))
    books = tuple(
        BookYear(
            key=row["key"],
            year=round(row["year"]),
            depreciation_usd=row["usd"],
            book_value_usd=max(0.0, row["book_usd"]),
        )
        for row in ledger.query("tco/sql/book_year.sql", {})
    )
    return found, books


def tax_terms(ledger: Ledger, taxes: Taxes) -> None:
    """Put the present value after tax of every term of every option (`drawn_flow`) into the table `taxed_term`.

    Taxes are linear in the cash flow and grouped by key alone: each term is taxed as an option of its own, and the
    terms of an option sum to what it costs after tax.
    """
    values: dict[str, Any] = {"tax_rate": taxes.tax_rate}
    years = [{"year": float(year), "fraction": share} for year, share in enumerate(taxes.depreciation, start=1)]
    ledger.create("depreciation_year", "tco/sql/stg_depreciation_year.sql", {"rows": years})
    ledger.create("financed_flow", "tco/sql/taxed_term_flow.sql", {})
    for name in _STATEMENTS[1:]:
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
