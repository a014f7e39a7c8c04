"""Contracts for rented nodes, and costs on top of the bill: charges, surcharges, support plans."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Length of the commitments with known prices, in months.
TERM_MONTHS = {"reserved_1y": 12.0, "reserved_3y": 36.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """Payment terms of the rented GPU nodes of a candidate, besides their price.

    Attributes:
        upfront_fraction: share (0 to 1) of each period's price that is paid at its start; the rest is paid monthly.
        period_months: length of a commitment or booking, in whole months, renewed until the end of the horizon; None
            takes the horizon.
        rest: treatment of the part of the last commitment beyond the horizon: `credited` (it serves later work, which
            pays for it) or `paid` (it is lost).
        discount: share (0 to below 1) off the list price of `categories`.
        categories: discounted categories of bill lines; empty for all.
        committed_usd_per_year: minimum spend per year; the shortfall of bill and charges is paid at the year's end.
        source: origin of the contract.
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
    """A charge outside the bill that does not depend on the hours worked.

    Attributes:
        category, item: category and name of its rows in the cash flow.
        usd: amount per month, or once at the start.
        once: whether it is paid only once, at the start.
        bytes_per_month: volume that is charged; 0 for charges that do not depend on a volume.
        basis, source, price_date, confidence: origin of the price, as in a row of the cash flow.
    """

    category: str
    item: str
    usd: float
    once: bool = False
    bytes_per_month: float = 0.0
    basis: str = "given"
    source: str = "blueprint"
    price_date: str = ""
    confidence: str = "high"


@dataclass(frozen=True, kw_only=True, slots=True)
class Surcharge:
    """A running cost that is a share of other costs, for example a support plan or the hours lost to failures.

    Attributes:
        category, item: category and name of its rows in the cash flow.
        fraction: share (0 to 1 and more) of the candidate's payments in `of_categories` in the same month.
        of_categories: categories of running costs; surcharges are not charged on other surcharges.
        source: origin of the share.
    """

    category: str
    item: str
    fraction: float
    of_categories: tuple[str, ...]
    source: str = "blueprint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tier:
    """One tier of a support plan: the share of a month's rent and charges above `from_usd`."""

    from_usd: float
    fraction: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportPlan:
    """A provider's support plan, charged on each month's spend.

    Attributes:
        item: name of the plan in outputs.
        tiers: marginal shares, lowest first.
        minimum_usd: minimum charge per month.
        basis, source, price_date, confidence: origin of the shares.
    """

    item: str
    tiers: tuple[Tier, ...]
    minimum_usd: float = 0.0
    basis: str = "given"
    source: str = "blueprint"
    price_date: str = ""
    confidence: str = "high"

    @property
    def share(self) -> float | None:
        """The share of everything that is spent, where the blueprint gives one; None for a provider's tiers."""
        return self.tiers[0].fraction if self.basis == "given" else None


def charge_of_tiers(amount: float, tiers: Sequence[tuple[float, float]]) -> float:
    """Return the price of an amount under marginal tiers.

    Args:
        amount: quantity in the unit of the tiers.
        tiers: (start of the tier, price per unit above it), lowest first.

    >>> round(charge_of_tiers(60_000, [(0, 0.09), (10_000, 0.085), (50_000, 0.07)]), 2)
    5000.0
    >>> charge_of_tiers(5_000, [(0, 0.0), (10_000, 0.0085)])
    0.0
    """
    ends = [*(start for start, _ in tiers[1:]), float("inf")]
    return sum(price * max(0.0, min(amount, end) - start) for (start, price), end in zip(tiers, ends, strict=True))
