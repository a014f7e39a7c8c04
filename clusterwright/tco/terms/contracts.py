"""How rented nodes are paid, and what comes on top of the bill: contracts, charges, plans of support."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Length of the commitments that prices are known of, in months.
TERM_MONTHS = {"reserved_1y": 12.0, "reserved_3y": 36.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """How the rented GPU nodes of a candidate are paid, beside their price.

    Attributes:
        upfront_fraction: share (0 to 1) of each period's price that is paid at its start; the rest by the month.
        period_months: length of a commitment, or of what is booked at once, in whole months; it is renewed until the
            end of the horizon. None is the horizon.
        rest: what the horizon cuts off the last commitment: `credited` (it serves the work that follows, which pays
            for it) or `paid` (it is lost).
        discount: share (0 to below 1) off the list price, of `categories`.
        categories: of bill lines that the discount is on; empty for every one.
        committed_usd_per_year: least spend a year; what the bill and its charges fall short of it is paid at the
            year's end.
        source: where the contract comes from.
    """

    upfront_fraction: float = 0.0
    period_months: float | None = None
    rest: str = "credited"
    discount: float = 0.0
    categories: tuple[str, ...] = ("compute",)
    committed_usd_per_year: float = 0.0
    source: str = "blueprint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """An amount beside the bill that does not depend on the hours worked.

    Attributes:
        category, item: of the rows it becomes.
        usd: per month, or once at the start.
        once: whether it is paid at the start alone.
        basis, source, price_date, confidence: as in a row of the cash flow.
    """

    category: str
    item: str
    usd: float
    once: bool = False
    basis: str = "given"
    source: str = "blueprint"
    price_date: str = ""
    confidence: str = "high"


@dataclass(frozen=True, kw_only=True, slots=True)
class Surcharge:
    """A running cost that is a share of others, for example a support plan or the hours that failures take.

    Attributes:
        category, item: of the rows it becomes.
        fraction: share (0 to 1 and more) of what the candidate pays in `of_categories` in the same month.
        of_categories: categories of running costs; surcharges are not charged on each other.
        source: where the share comes from.
    """

    category: str
    item: str
    fraction: float
    of_categories: tuple[str, ...]
    source: str = "blueprint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tier:
    """One step of a plan of support: the share of what a month's rent and charges have above `from_usd`."""

    from_usd: float
    fraction: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportPlan:
    """A plan of support of a provider, paid each month by what is spent in it.

    Attributes:
        item: the name people read.
        tiers: marginal shares, lowest first.
        minimum_usd: per month.
        basis, source, price_date, confidence: of the shares.
    """

    item: str
    tiers: tuple[Tier, ...]
    minimum_usd: float = 0.0
    basis: str = "given"
    source: str = "blueprint"
    price_date: str = ""
    confidence: str = "high"


def charge_of_tiers(amount: float, tiers: Sequence[tuple[float, float]]) -> float:
    """Return the price of an amount under marginal tiers.

    Args:
        amount: in some unit.
        tiers: (from, price per unit above it), lowest first.

    >>> round(charge_of_tiers(60_000, [(0, 0.09), (10_000, 0.085), (50_000, 0.07)]), 2)
    5000.0
    >>> charge_of_tiers(5_000, [(0, 0.0), (10_000, 0.0085)])
    0.0
    """
    ends = [*(start for start, _ in tiers[1:]), float("inf")]
    return sum(price * max(0.0, min(amount, end) - start) for (start, price), end in zip(tiers, ends, strict=True))
