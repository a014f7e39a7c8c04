"""Payments for borrowed money: instalments of loans and leases, and the payments per USD of purchases."""

from dataclasses import dataclass

from clusterwright.tco.formulas.finance import loan_payment


@dataclass(frozen=True, kw_only=True, slots=True)
class Instalment:
    """One monthly payment: interest, repaid principal, and outstanding debt after it, in USD."""

    month: int
    interest_usd: float
    principal_usd: float
    owed_usd: float


def schedule(
    financed_usd: float, rate_per_year: float, months: int, residual_usd: float = 0.0
) -> tuple[Instalment, ...]:
    """Return constant monthly payments that reduce a debt to a residual, at a twelfth of the nominal yearly rate.

    payment = (financed - residual / (1 + r)^n) x CRF(r, n).

    >>> first, *_, last = schedule(1_000_000, 0.08, 48)
    >>> round(first.interest_usd + first.principal_usd, 2), abs(round(last.owed_usd, 6))
    (24412.92, 0.0)
    """
    rate = rate_per_year / 12.0
    payment = loan_payment(financed_usd, rate_per_year, months, residual_usd)
    instalments, owed = [], financed_usd
    for month in range(1, months + 1):
        interest = owed * rate
        owed -= payment - interest
        instalments.append(
            Instalment(month=month, interest_usd=interest, principal_usd=payment - interest, owed_usd=owed)
        )
    return tuple(instalments)


@dataclass(frozen=True, kw_only=True, slots=True)
class Financing:
    """Loan or lease for the purchases of an option.

    Attributes:
        kind: `loan`, `operating_lease` or `finance_lease`.
        rate_per_year: nominal interest rate per year.
        share: share of the purchases that a bank finances; a lessor finances all of them.
        months: number of payments; None takes all whole months of the horizon.
        residual: share of the purchases still owed after the payments.
    """

    kind: str
    rate_per_year: float
    share: float = 1.0
    months: int | None = None
    residual: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """Payment at the end of a month per USD of purchases; negative if it is received.

    Attributes:
        month_end: month of the payment; None for the time of the purchase, whenever that is paid.
        category: `interest` and `lease` lower taxable income; `principal` is the borrowed and repaid amount.
        usd: amount per USD of purchases.
    """

    month_end: float | None
    category: str
    usd: float


def payments(financing: Financing, horizon_months: float) -> tuple[Payment, ...]:
    """Return the payments over the horizon of a financing of 1 USD of purchases; the remaining debt is paid at its end.

    An operating lease replaces the purchases and their sale. With a loan or a finance lease purchases, sale and
    depreciation stay: a bank lends with the order, a lessor pays for the purchase when it is due.

    >>> loan = Financing(kind="loan", rate_per_year=0.12, months=2)
    >>> [(entry.month_end, entry.category, round(entry.usd, 4)) for entry in payments(loan, 1.0)]
    [(0.0, 'principal', -1.0), (1.0, 'interest', 0.01), (1.0, 'principal', 0.4975), (1.0, 'principal', 0.5025)]
    """
    months = financing.months or max(1, int(horizon_months))
    due = [
        entry
        for entry in schedule(financing.share, financing.rate_per_year, months, financing.residual)
        if entry.month <= horizon_months
    ]
    if financing.kind == "operating_lease":
        return tuple(
            Payment(month_end=float(entry.month), category="lease", usd=entry.interest_usd + entry.principal_usd)
            for entry in due
        )
    leased = financing.kind == "finance_lease"
    all_payments = [Payment(month_end=None if leased else 0.0, category="principal", usd=-financing.share)]
    for entry in due:
        all_payments.append(Payment(month_end=float(entry.month), category="interest", usd=entry.interest_usd))
        all_payments.append(Payment(month_end=float(entry.month), category="principal", usd=entry.principal_usd))
    owed = due[-1].owed_usd if due else financing.share
    all_payments.append(Payment(month_end=float(months) if leased else horizon_months, category="principal", usd=owed))
    return tuple(all_payments)
