"""Loans and leases for purchases, calculated outside the cash flow: payments, interest, present value after tax."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.tco.formulas.payments import schedule
from clusterwright.tco.formulas.returns import Flow, present_value
from clusterwright.tco.ledger.engine import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Financed:
    """A financed purchase.

    Attributes:
        kind: `loan`, `operating lease` or `finance lease`.
        financed_usd: amount that the bank or the lessor pays at the start.
        usd_per_month: monthly payment.
        interest_usd: sum of the payments less the repaid principal.
        liability_usd: liability in the books at the start, the present value of the payments at the financing rate.
        npv_after_tax_usd: present value of the option with this financing instead of cash; a cost is positive.
    """

    kind: str
    financed_usd: float
    usd_per_month: float
    interest_usd: float
    liability_usd: float
    npv_after_tax_usd: float


def with_loan(
    ledger: Ledger,
    key: str,
    npv_after_tax_usd: float,
    *,
    share: float,
    rate_per_year: float,
    months: int,
    tax_rate: float,
) -> Financed:
    """Return a purchase with a bank loan for a share of it; the remaining debt is repaid at the end of the horizon.

    Args:
        ledger: ledger after `taxes.after_tax`.
        key: key of the candidate with the purchase.
        npv_after_tax_usd: present value after tax without the loan.
        share: financed share of the purchase.
        rate_per_year: nominal interest rate per year.
        months: number of payments.
        tax_rate: tax rate on income, which interest lowers.
    """
    bought = _flows_of(_capital(ledger, key), "purchase")
    principal = share * sum(usd for _, usd in bought)
    horizon = ledger.economics.horizon_months
    due = [entry for entry in schedule(principal, rate_per_year, months) if entry.month <= horizon]
    flows: list[Flow] = [(0.0, -principal)]
    flows += [(float(entry.month), entry.interest_usd * (1.0 - tax_rate) + entry.principal_usd) for entry in due]
    if due:
        flows.append((horizon, due[-1].owed_usd))
    return Financed(
        kind="loan",
        financed_usd=principal,
        usd_per_month=due[0].interest_usd + due[0].principal_usd if due else 0.0,
        interest_usd=sum(entry.interest_usd for entry in due),
        liability_usd=principal,
        npv_after_tax_usd=npv_after_tax_usd + present_value(flows, ledger.economics.discount_rate),
    )


def with_lease(
    ledger: Ledger,
    key: str,
    npv_after_tax_usd: float,
    *,
    kind: str,
    rate_per_year: float,
    residual: float,
    tax_rate: float,
) -> Financed:
    """Return a purchase that is leased over the whole months of the horizon.

    Operating lease: every payment lowers taxable income, and the equipment is returned at the end, without depreciation
    or sale. Finance lease: the lessee is taxed as an owner, interest lowers taxable income, and the equipment is bought
    at the residual value and then sold.

    Args:
        ledger: ledger after `taxes.after_tax`.
        key: key of the candidate with the purchase.
        npv_after_tax_usd: present value after tax with payment in cash.
        kind: `operating` or `finance`.
        rate_per_year: nominal rate of the lessor per year.
        residual: residual value at the end, as a share of the purchase.
        tax_rate: tax rate on income.
    """
    capital = _capital(ledger, key)
    bought = _flows_of(capital, "purchase")
    cost = sum(usd for _, usd in bought)
    months = max(1, int(ledger.economics.horizon_months))
    residual_usd = residual * cost
    payments = schedule(cost, rate_per_year, months, residual_usd)
    rate = ledger.economics.discount_rate
    if kind == "operating":
        replaced = [(month, usd) for month, _, usd in capital]
        flows = [
            (float(entry.month), (entry.interest_usd + entry.principal_usd) * (1.0 - tax_rate)) for entry in payments
        ]
        liability = cost - residual_usd * (1.0 + rate_per_year / 12.0) ** -months
    else:
        replaced = list(bought)
        flows = [
            (float(entry.month), entry.interest_usd * (1.0 - tax_rate) + entry.principal_usd) for entry in payments
        ]
        flows.append((float(months), residual_usd))
        liability = cost
    return Financed(
        kind=f"{kind} lease",
        financed_usd=cost,
        usd_per_month=payments[0].interest_usd + payments[0].principal_usd,
        interest_usd=sum(entry.interest_usd for entry in payments),
        liability_usd=liability,
        npv_after_tax_usd=npv_after_tax_usd - present_value(replaced, rate) + present_value(flows, rate),
    )


def _capital(ledger: Ledger, key: str) -> list[tuple[float, str, float]]:
    rows = ledger.query("tco/sql/capital_flow.sql", {"key": key})
    return [(row["month_end"], row["kind"], row["usd"]) for row in rows]


def _flows_of(capital: Sequence[tuple[float, str, float]], kind: str) -> list[Flow]:
    return [(month, usd) for month, name, usd in capital if name == kind]
