"""What is paid for money that is borrowed: instalments of loans and leases, and what they come to for 1 USD bought."""

from dataclasses import dataclass

from clusterwright.tco.formulas.finance import loan_payment


@dataclass(frozen=True, kw_only=True, slots=True)
class Instalment:
    """One monthly payment: its interest, what it pays back, and what is owed after it, in USD."""

    month: int
    interest_usd: float
    principal_usd: float
    owed_usd: float


def schedule(
    financed_usd: float, rate_per_year: float, months: int, residual_usd: float = 0.0
) -> tuple[Instalment, ...]:
    """Return equal monthly payments that bring a debt down to a residual, at a twelfth of the nominal yearly rate.

    payment = (financed - residual / (1 + r)^n) x CRF(r, n).

    >>> first, *_, last = schedule(1_000_000, 0.08, 48)
    >>> round(first.interest_usd + first.principal_usd, 2), abs(round(last.owed_usd, 6))
    (24412.92, 0.0)
    """
    rate = rate_per_year / 12.0
    payment = loan_payment(financed_usd, rate_per_year, months, residual_usd)
    found, owed = [], financed_usd
    for month in range(1, months + 1):
        interest = owed * rate
        owed -= payment - interest
        found.append(Instalment(month=month, interest_usd=interest, principal_usd=payment - interest, owed_usd=owed))
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Financing:
    """How what an option buys is paid for.

    Attributes:
        kind: `loan`, `operating_lease` or `finance_lease`.
        rate_per_year: nominal.
        share: of the purchases that a bank pays; a lessor pays all of them.
        months: number of payments; None is all whole months of the horizon.
        residual: share of the purchases that is left after the payments.
    """

    kind: str
    rate_per_year: float
    share: float = 1.0
    months: int | None = None
    residual: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """What is paid at the end of a month for 1 USD of purchases; received is negative.

    Attributes:
        month_end: None with the purchase, whenever it is paid.
        category: `interest` and `lease` lower income; `principal` is what is borrowed and paid back.
    """

    month_end: float | None
    category: str
    usd: float


def payments(financing: Financing, horizon_months: float) -> tuple[Payment, ...]:
    """Return what a financing of 1 USD of purchases pays over the horizon; what is then owed is paid at its end.

    An operating lease takes the place of the purchases and of their sale. A bank lends at the order, a lessor pays what
    is bought when it is due; purchases, sale and depreciation stay.

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
    found = [Payment(month_end=None if leased else 0.0, category="principal", usd=-financing.share)]
    for entry in due:
        found.append(Payment(month_end=float(entry.month), category="interest", usd=entry.interest_usd))
        found.append(Payment(month_end=float(entry.month), category="principal", usd=entry.principal_usd))
    owed = due[-1].owed_usd if due else financing.share
    found.append(Payment(month_end=float(months) if leased else horizon_months, category="principal", usd=owed))
    return tuple(found)
