"""A plan after tax: its terms of finance applied to its cash flow."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.plan.alternatives.hybrids import BRIDGED
from clusterwright.tco.finance_terms import FinanceTerms, TaxTerms
from clusterwright.tco.formulas.finance import depreciation_fractions
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import (
    AfterTax,
    BookMonth,
    BookYear,
    Taxes,
    after_tax,
    book_months,
)
from clusterwright.tco.taxes.financing import Financed, with_lease, with_loan
from clusterwright.tco.terms.records import CandidateCost


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


def taxes_of(terms: TaxTerms) -> Taxes:
    """Return the shares that a plan's purchases are written off by, and its tax."""
    bonus = terms.bonus_fraction
    return Taxes(
        tax_rate=terms.tax_rate,
        depreciation=depreciation_fractions(terms.depreciation, bonus_fraction=bonus),
        depreciation_of={category: _fractions(method, bonus) for category, method in terms.depreciation_of.items()},
    )


def taxed(terms: FinanceTerms, ledger: Ledger, costs: Sequence[CandidateCost]) -> Taxed:
    """Return a plan after tax, delivery and financing.

    Args:
        terms: of tax, delivery and financing.
        ledger: its cash flow.
        costs: of every option with a known price, cheapest first.
    """
    owned = next((cost for cost in costs if cost.owned and not cost.mixed), None)
    bridged = next((mix for mix in ledger.mixes if owned is not None and mix.key == owned.key + BRIDGED), None)
    options, books = after_tax(ledger, taxes_of(terms.taxes))
    known = {cost.key for cost in costs}
    shown = [entry for entry in options if entry.key in known]
    key = bridged.key if bridged else owned.key if owned else ""
    mine = next((entry for entry in shown if entry.key == key), None)
    return Taxed(
        tax_rate=terms.taxes.tax_rate,
        depreciation=terms.taxes.depreciation,
        bonus_fraction=terms.taxes.bonus_fraction,
        delivery_months=round(bridged.delivery_months) if bridged else 0,
        deposit=terms.deposit,
        bridged_by=bridged.parts[0].key if bridged else "",
        options=tuple(shown),
        books=tuple(year for year in books if year.key == key),
        months=book_months(ledger),
        financed=_financed(terms, ledger, mine),
    )


def _fractions(method: str, bonus: float) -> tuple[float, ...]:
    """Return the shares of a category's method; only what is written off within 20 years by MACRS has the bonus."""
    quick = method.startswith("macrs_") and method != "macrs_39"
    return depreciation_fractions(method, bonus_fraction=bonus if quick else 0.0)


def _financed(terms: FinanceTerms, ledger: Ledger, mine: AfterTax | None) -> Financed | None:
    financing, tax_rate = terms.financing, terms.taxes.tax_rate
    if mine is None or financing is None:
        return None
    if financing.kind == "loan":
        return with_loan(
            ledger,
            mine.key,
            mine.npv_after_tax_usd,
            share=financing.share,
            rate_per_year=financing.rate_per_year,
            months=financing.months or 1,
            tax_rate=tax_rate,
        )
    return with_lease(
        ledger,
        mine.key,
        mine.npv_after_tax_usd,
        kind=financing.kind.removesuffix("_lease"),
        rate_per_year=financing.rate_per_year,
        residual=financing.residual,
        tax_rate=tax_rate,
    )
