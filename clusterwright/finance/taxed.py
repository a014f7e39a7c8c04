"""A plan after tax: the blueprint's `tco` section applied to its cash flow."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.plan.alternatives.hybrids import BRIDGED
from clusterwright.tco.formulas.finance import depreciation_fractions
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import (
    AfterTax,
    BookMonth,
    BookYear,
    Taxes,
    after_tax,
    bonus_fraction,
    book_months,
)
from clusterwright.tco.taxes.financing import Financed, with_lease, with_loan
from clusterwright.tco.terms.records import CandidateCost

_MONTH_S = 730 * 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxed:
    """A plan after tax.

    Attributes:
        tax_rate, depreciation, bonus_fraction: what was counted with.
        delivery_months: whole months until what is bought works; deposit: share paid at the order; bridged_by: what
            is rented until then.
        options: every option after tax, cheapest present value first; books: of the one that buys.
        months: the same books by month, of every option that buys.
        financed: the purchase with the loan or the lease of the blueprint, None without one.
    """

    tax_rate: float
    depreciation: str
    bonus_fraction: float
    delivery_months: int
    deposit: float
    bridged_by: str
    options: tuple[AfterTax, ...]
    books: tuple[BookYear, ...]
    months: tuple[BookMonth, ...]
    financed: Financed | None


def taxes_of(section: TcoSection, ledger: Ledger) -> Taxes:
    """Return how a plan is taxed.

    Raises:
        InputError: the bonus of the as-of day is unknown.
    """
    bonus = _bonus(section, ledger.as_of)
    return Taxes(
        tax_rate=section.tax_rate,
        depreciation=depreciation_fractions(section.depreciation, bonus_fraction=bonus),
        depreciation_of={category: _fractions(method, bonus) for category, method in _methods(section).items()},
    )


def taxed(section: TcoSection, ledger: Ledger, costs: Sequence[CandidateCost]) -> Taxed:
    """Return a plan after tax, delivery and financing.

    Args:
        section: `tco` of the blueprint.
        ledger: its cash flow.
        costs: of every option with a known price, cheapest first.

    Raises:
        InputError: the bonus of the as-of day is unknown.
    """
    owned = next((cost for cost in costs if cost.owned and not cost.mixed), None)
    bridged = next((mix for mix in ledger.mixes if owned is not None and mix.key == owned.key + BRIDGED), None)
    options, books = after_tax(ledger, taxes_of(section, ledger))
    known = {cost.key for cost in costs}
    shown = [entry for entry in options if entry.key in known]
    key = bridged.key if bridged else owned.key if owned else ""
    mine = next((entry for entry in shown if entry.key == key), None)
    return Taxed(
        tax_rate=section.tax_rate,
        depreciation=section.depreciation,
        bonus_fraction=_bonus(section, ledger.as_of),
        delivery_months=round(bridged.delivery_months) if bridged else 0,
        deposit=section.deposit,
        bridged_by=bridged.parts[0].key if bridged else "",
        options=tuple(shown),
        books=tuple(year for year in books if year.key == key),
        months=book_months(ledger),
        financed=_financed(section, ledger, mine),
    )


def _bonus(section: TcoSection, day: dt.date) -> float:
    return bonus_fraction(day) if section.bonus_depreciation == "law" else float(section.bonus_depreciation)


def _methods(section: TcoSection) -> dict[str, str]:
    """Return the methods of categories that are not written off like the rest."""
    return {"building": section.owner.building_depreciation, **section.depreciation_of}


def _fractions(method: str, bonus: float) -> tuple[float, ...]:
    """Return the shares of a category's method; only what is written off within 20 years by MACRS has the bonus."""
    quick = method.startswith("macrs_") and method != "macrs_39"
    return depreciation_fractions(method, bonus_fraction=bonus if quick else 0.0)


def _financed(section: TcoSection, ledger: Ledger, mine: AfterTax | None) -> Financed | None:
    if mine is None or (section.loan is None and section.lease is None):
        return None
    if section.loan is not None:
        return with_loan(
            ledger,
            mine.key,
            mine.npv_after_tax_usd,
            share=section.loan.share,
            rate_per_year=section.loan.rate,
            months=max(1, round(section.loan.term / _MONTH_S)),
            tax_rate=section.tax_rate,
        )
    assert section.lease is not None  # noqa: S101 - one of the two is there
    return with_lease(
        ledger,
        mine.key,
        mine.npv_after_tax_usd,
        kind=section.lease.kind,
        rate_per_year=section.lease.rate,
        residual=section.lease.residual,
        tax_rate=section.tax_rate,
    )
