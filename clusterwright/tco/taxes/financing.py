"""Loans and leases of what is bought, beside the cash flow: payments, interest, and the present value after tax."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.tco.formulas.payments import schedule
from clusterwright.tco.formulas.returns import Flow, present_value
from clusterwright.tco.ledger.engine import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Financed:
    """A purchase that is financed.

    Attributes:
        kind: `loan`, `operating lease` or `finance lease`.
        financed_usd: what the bank or the lessor pays at the start.
        usd_per_month: each payment; interest_usd: all of them less what they pay back.
        liability_usd: present value at the financing rate of what is owed at the start, as it is in the books.
        npv_after_tax_usd: of the option with this financing in the place of paying cash; a cost is positive.
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
    """Return a purchase of which a bank pays a share; what is still owed at the end of the horizon is paid then.

    Args:
        ledger: after `taxes.after_tax`.
        key: candidate that buys.
        npv_after_tax_usd: without the loan.
        share: of the purchase.
        rate_per_year: nominal.
        months: number of payments.
        tax_rate: interest lowers income.
    """
    bought = _of(_capital(ledger, key), "purchase")
    principal = share * sum(usd for _, usd in bought)
    horizon = ledger.economics.horizon_months
    paid = [entry for entry in schedule(principal, rate_per_year, months) if entry.month <= horizon]
    flows: list[Flow] = [(0.0, -principal)]
    flows += [(float(entry.month), entry.interest_usd * (1.0 - tax_rate) + entry.principal_usd) for entry in paid]
    if paid:
        flows.append((horizon, paid[-1].owed_usd))
    return Financed(
        kind="loan",
        financed_usd=principal,
        usd_per_month=paid[0].interest_usd + paid[0].principal_usd if paid else 0.0,
        interest_usd=sum(entry.interest_usd for entry in paid),
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

    Operating: every payment lowers income, and the equipment goes back at the end: no depreciation, no sale. Finance:
    the lessee is taxed as an owner, interest lowers income, and the equipment is bought at the residual and then sold.

    Args:
        ledger: after `taxes.after_tax`.
        key: candidate that buys.
        npv_after_tax_usd: if it paid cash.
        kind: `operating` or `finance`.
        rate_per_year: nominal, of the lessor.
        residual: share of the purchase left at the end.
        tax_rate: on income.
    """
    capital = _capital(ledger, key)
    bought = _of(capital, "purchase")
    cost = sum(usd for _, usd in bought)
    months = max(1, int(ledger.economics.horizon_months))
    left = residual * cost
    payments = schedule(cost, rate_per_year, months, left)
    rate = ledger.economics.discount_rate
    if kind == "operating":
        replaced = [(month, usd) for month, _, usd in capital]
        flows = [
            (float(entry.month), (entry.interest_usd + entry.principal_usd) * (1.0 - tax_rate)) for entry in payments
        ]
        liability = cost - left * (1.0 + rate_per_year / 12.0) ** -months
    else:
        replaced = list(bought)
        flows = [
            (float(entry.month), entry.interest_usd * (1.0 - tax_rate) + entry.principal_usd) for entry in payments
        ]
        flows.append((float(months), left))
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


def _of(capital: Sequence[tuple[float, str, float]], kind: str) -> list[Flow]:
    return [(month, usd) for month, name, usd in capital if name == kind]
