"""How much of the first purchase stands in each month, where the work grows or equipment is replaced.

All factors are relative to the first purchase: 1 in every month where nothing grows and nothing is replaced.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from clusterwright.errors import InputError

_YEAR = 12.0
#: Slack for products that are whole but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How the work and the equipment change over the horizon.

    Attributes:
        growth_per_year: share by which each year has more work than the one before; 0 is constant.
        refresh_months: age at which equipment is sold and bought again; None keeps it.
        price_change_per_year: of equipment that is bought later, -0.2 is 20 % less each year.
    """

    growth_per_year: float = 0.0
    refresh_months: float | None = None
    price_change_per_year: float = 0.0

    def work(self, month: float) -> float:
        """Return the work of the year in which a time (months from the start) lies, over that of the first year."""
        return float((1.0 + self.growth_per_year) ** math.floor(month / _YEAR + _ROUNDING))

    def mean_work(self, horizon_months: float) -> float:
        """Return the mean of `work` over the horizon.

        >>> Pace(growth_per_year=0.5).mean_work(24)
        1.25
        """
        years = math.ceil(horizon_months / _YEAR)
        return (
            sum(self.work(_YEAR * year) * min(_YEAR, horizon_months - _YEAR * year) for year in range(years))
            / horizon_months
        )

    def price(self, month: float) -> float:
        """Return the price of equipment at a time over that at the start: (1 + change)^(month / 12)."""
        return float((1.0 + self.price_change_per_year) ** (month / _YEAR))

    def newest_age(self, horizon_months: float) -> float:
        """Return the age in months, at the end of the horizon, of what replaced the first purchase last."""
        if self.refresh_months is None:
            return horizon_months
        return horizon_months - self.refresh_months * (math.ceil(horizon_months / self.refresh_months) - 1)


#: Nothing grows and nothing is replaced.
CONSTANT = Pace()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One month: its work over that of the first year, and what stands: capacity, and what it was bought for."""

    key: str
    month_end: float
    work: float
    capacity: float
    equipment: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What is bought and what leaves at the end of a month (0 is the start).

    Attributes:
        bought: price of what is bought, over that of the first purchase.
        added: capacity that was not there before.
        removed: capacity that is taken out; removed_bought: what that was bought for.
        sold: what that was bought for, each part times its resale by age over the resale of the newest equipment at
            the end of the horizon.
    """

    key: str
    month_end: float
    bought: float
    added: float
    removed: float
    removed_bought: float
    sold: float


def capacity_needed(work: float, busy_fraction: float, nodes: int) -> float:
    """Return the capacity over that of the first purchase, in whole nodes, that holds the work; never less than 1.

    >>> capacity_needed(1.5, 0.8, 10)
    1.2
    """
    return max(1.0, math.ceil(work * busy_fraction * nodes - _ROUNDING) / nodes)


def stages(
    key: str,
    pace: Pace,
    *,
    horizon_months: float,
    busy_fraction: float,
    nodes: int,
    resale: Callable[[float], float],
) -> tuple[list[Stage], list[Event]]:
    """Return the months of one candidate, and what it buys and sells.

    At the start of each year whose work no longer fits, whole nodes are bought. What reaches the age of refresh is sold
    and bought again at the price of that day. At the end of the horizon everything is sold.

    Args:
        key: of the candidate.
        pace: growth, refresh, price change.
        horizon_months: length of the view.
        busy_fraction: share of the hours worked in the first year.
        nodes: of the first purchase.
        resale: share of the price by age in months.

    Raises:
        InputError: the newest equipment is worth nothing at the end, and other equipment is not.
    """
    newest = resale(pace.newest_age(horizon_months))
    lots: list[tuple[float, float, float]] = []  # bought in month, capacity, price over the first purchase
    found, events, capacity = [], [], 0.0
    months = sorted({0.0, *(float(month) for month in range(1, math.ceil(horizon_months))), horizon_months})
    for month, end in zip(months, [*months[1:], None], strict=True):
        last = end is None
        age = 0.0 if last else pace.refresh_months or math.inf
        old = [lot for lot in lots if month - lot[0] >= age - _ROUNDING]
        lots = [lot for lot in lots if lot not in old]
        wanted = max(capacity, capacity_needed(pace.work(month), busy_fraction, nodes))
        new = [] if last else [(month, part[1], part[1] * pace.price(month)) for part in old]
        if not last and wanted > capacity:
            new.append((month, wanted - capacity, (wanted - capacity) * pace.price(month)))
        if new or old:
            events.append(
                Event(
                    key=key,
                    month_end=month,
                    bought=sum(lot[2] for lot in new),
                    added=0.0 if last else wanted - capacity,
                    removed=sum(lot[1] for lot in old),
                    removed_bought=sum(lot[2] for lot in old),
                    sold=sum(_sold(lot[2], resale(month - lot[0]), newest) for lot in old),
                )
            )
        lots += new
        capacity = capacity if last else wanted
        if end is not None:
            found.append(
                Stage(
                    key=key,
                    month_end=end,
                    work=pace.work(month),
                    capacity=capacity,
                    equipment=sum(lot[2] for lot in lots),
                )
            )
    return found, events


def _sold(bought: float, resale: float, newest: float) -> float:
    """Return a sale over the resale of the newest equipment; as it, where both are worth nothing.

    Raises:
        InputError: the newest is worth nothing and this is not, so that it has no value over it.
    """
    if resale and not newest:
        raise InputError(
            "resale is 0 % for what is oldest at the end of the horizon, while other equipment is sold for more",
            help="give the last age of tco.owner.resale_by_age a small share in its place, for example 0.1 %",
            path=("tco", "owner", "resale_by_age"),
        )
    return bought * (resale / newest if newest else 1.0)
