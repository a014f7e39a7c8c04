"""Capacity and equipment in each month of a cluster whose work grows or whose equipment is replaced.

All factors are relative to the first purchase: 1 in every month without growth and replacement.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_YEAR = 12.0
#: Tolerance for products that are whole numbers except for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class GrowthSchedule:
    """Change of the work and of the equipment over the horizon.

    Attributes:
        growth_per_year: growth of the work from year to year, as a share; 0 is constant work.
        refresh_months: age at which equipment is sold and replaced, in months; None never replaces it.
        price_change_per_year: change of the equipment's price per year, as a share; -0.2 is 20 % less each year.
    """

    growth_per_year: float = 0.0
    refresh_months: float | None = None
    price_change_per_year: float = 0.0

    def work(self, month: float) -> float:
        """Return the work in the year of a time (months from the start), over the work of the first year."""
        return float((1.0 + self.growth_per_year) ** math.floor(month / _YEAR + _ROUNDING))

    def mean_work(self, horizon_months: float) -> float:
        """Return the mean of `work` over the horizon.

        >>> GrowthSchedule(growth_per_year=0.5).mean_work(24)
        1.25
        """
        years = math.ceil(horizon_months / _YEAR)
        return (
            sum(self.work(_YEAR * year) * min(_YEAR, horizon_months - _YEAR * year) for year in range(years))
            / horizon_months
        )

    def price(self, month: float) -> float:
        """Return the price of equipment at a time, over the price at the start: (1 + change)^(month / 12)."""
        return float((1.0 + self.price_change_per_year) ** (month / _YEAR))

    def newest_age(self, horizon_months: float) -> float:
        """Return the age in months, at the end of the horizon, of the last replacement of the first purchase."""
        if self.refresh_months is None:
            return horizon_months
        return horizon_months - self.refresh_months * (math.ceil(horizon_months / self.refresh_months) - 1)

    def reference_age(self, horizon_months: float, resale: Callable[[float], float]) -> float:
        """Return the age in months that the parameter `resale_fraction` refers to; other ages are scaled to it.

        It is the age, at the end of the horizon, of the newest replacement of the first purchase; if that is worth
        nothing, the age of the latest addition that is worth something.

        >>> GrowthSchedule(growth_per_year=0.2).reference_age(90, lambda months: max(0.0, 1 - months / 84))
        6.0
        """
        years = range(math.ceil(horizon_months / _YEAR) - 1, 0, -1) if self.growth_per_year > 0 else ()
        newest = self.newest_age(horizon_months)
        ages = (newest, *(self.newest_age(horizon_months - _YEAR * year) for year in years), self.refresh_months)
        return next((age for age in ages if age and resale(age)), newest)


#: No growth and no replacement.
CONSTANT = GrowthSchedule()


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthState:
    """One month: its work over that of the first year, the capacity in use and the purchase price of that capacity."""

    key: str
    month_end: float
    work: float
    capacity: float
    equipment: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityEvent:
    """Purchase and removal of equipment at the end of a month (0 is the start), relative to the first purchase.

    Attributes:
        bought: price of the purchase.
        added: new capacity.
        removed: removed capacity.
        removed_bought: purchase price of the removed capacity.
        sold: the same price, each part scaled by its resale value over the resale value at
            `GrowthSchedule.reference_age`; not scaled if equipment of that age is worth nothing at base values.
    """

    key: str
    month_end: float
    bought: float
    added: float
    removed: float
    removed_bought: float
    sold: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PurchaseLot:
    """Equipment bought in one month for the growth of the work, with its later replacements.

    Attributes:
        month: month of the purchase; 0 is the first purchase.
        size: capacity over that of the first purchase; 0 if the work needs nothing more.
        states, events: months and events of one unit of capacity. Only the first purchase carries the work.
    """

    month: float
    size: float
    states: tuple[MonthState, ...]
    events: tuple[CapacityEvent, ...]


def lot_sizes(
    growth: GrowthSchedule, *, horizon_months: float, busy_fraction: "float | Column", nodes: int
) -> "dict[float, float | Column]":
    """Return the capacity bought at the start of each year for its work, over the capacity of the first purchase.

    Whole nodes are bought, and none are given up when the work shrinks.

    Args:
        growth: growth of the work.
        horizon_months: length of the horizon.
        busy_fraction: share of the hours worked in the first year, or a column with this share in each draw.
        nodes: number of nodes of the first purchase.

    >>> growth = GrowthSchedule(growth_per_year=0.5)
    >>> sizes = lot_sizes(growth, horizon_months=36.0, busy_fraction=0.8, nodes=10)
    >>> {month: float(size) for month, size in sizes.items()}
    {0.0: 1.0, 12.0: 0.2, 24.0: 0.6}
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws pass columns

    capacity_nodes = nodes + 0.0 * busy_fraction
    sizes = {0.0: capacity_nodes / nodes}
    for year in range(1, math.ceil(horizon_months / _YEAR) if growth.growth_per_year > 0 else 1):
        month = _YEAR * year
        needed_nodes = np.maximum(capacity_nodes, np.ceil(growth.work(month) * busy_fraction * nodes - _ROUNDING))
        sizes[month] = (needed_nodes - capacity_nodes) / nodes
        capacity_nodes = needed_nodes
    return sizes


def purchase_lots(
    key: str,
    growth: GrowthSchedule,
    *,
    horizon_months: float,
    busy_fraction: float,
    nodes: int,
    resale: Callable[[float], float],
) -> tuple[PurchaseLot, ...]:
    """Return the purchases of one candidate: the first, and one for each later year whose work may no longer fit.

    Equipment that reaches the refresh age is sold and replaced at the price of that day. At the end of the horizon
    everything is sold.

    Args:
        key: key of the candidate.
        growth: growth, refresh and price change.
        horizon_months: length of the horizon.
        busy_fraction: share of the hours worked in the first year.
        nodes: number of nodes of the first purchase.
        resale: resale value by age in months, as a share of the price.
    """
    sizes = lot_sizes(growth, horizon_months=horizon_months, busy_fraction=busy_fraction, nodes=nodes)
    return tuple(
        _lot(key, growth, month, float(size), horizon_months=horizon_months, resale=resale)
        for month, size in sizes.items()
    )


def _lot(
    key: str,
    growth: GrowthSchedule,
    first: float,
    size: float,
    *,
    horizon_months: float,
    resale: Callable[[float], float],
) -> PurchaseLot:
    reference = resale(growth.reference_age(horizon_months, resale))
    refresh_age = growth.refresh_months or math.inf
    bought_month, price = first, growth.price(first)
    states: list[MonthState] = []
    events = [
        CapacityEvent(key=key, month_end=first, bought=price, added=1.0, removed=0.0, removed_bought=0.0, sold=0.0)
    ]
    for month in _months(horizon_months):
        if month <= first:
            continue
        work = growth.work(max(0.0, math.ceil(month) - 1.0)) if first == 0 else 0.0
        states.append(MonthState(key=key, month_end=month, work=work, capacity=1.0, equipment=price))
        is_last = month == horizon_months
        if is_last or month - bought_month >= refresh_age - _ROUNDING:
            sold = price * (resale(month - bought_month) / reference if reference else 1.0)
            replacement = 0.0 if is_last else growth.price(month)
            events.append(
                CapacityEvent(
                    key=key,
                    month_end=month,
                    bought=replacement,
                    added=0.0,
                    removed=1.0,
                    removed_bought=price,
                    sold=sold,
                )
            )
            bought_month, price = month, replacement
    return PurchaseLot(month=first, size=size, states=tuple(states), events=tuple(events))


def _months(horizon_months: float) -> list[float]:
    return [*(float(month) for month in range(1, math.ceil(horizon_months))), horizon_months]


def capacity_schedule(
    key: str,
    growth: GrowthSchedule,
    *,
    horizon_months: float,
    busy_fraction: float,
    nodes: int,
    resale: Callable[[float], float],
) -> tuple[list[MonthState], list[CapacityEvent]]:
    """Return the months and events of one candidate over all its lots (`purchase_lots`)."""
    lots = purchase_lots(
        key, growth, horizon_months=horizon_months, busy_fraction=busy_fraction, nodes=nodes, resale=resale
    )
    return combined(key, lots)


def combined(key: str, lots: Sequence[PurchaseLot]) -> tuple[list[MonthState], list[CapacityEvent]]:
    """Return the months and events of a candidate, summed over its lots."""
    if len(lots) == 1 and lots[0].size == 1.0:
        # Most clusters are bought once, and whole.
        return list(lots[0].states), list(lots[0].events)
    months: dict[float, list[tuple[float, MonthState]]] = {}
    events: dict[float, list[tuple[float, CapacityEvent]]] = {}
    for lot in lots:
        for state in lot.states:
            months.setdefault(state.month_end, []).append((lot.size, state))
        for event in lot.events if lot.size else ():
            events.setdefault(event.month_end, []).append((lot.size, event))
    return (
        [
            MonthState(
                key=key,
                month_end=month,
                work=sum(state.work for _, state in rows),
                capacity=sum(size * state.capacity for size, state in rows),
                equipment=sum(size * state.equipment for size, state in rows),
            )
            for month, rows in sorted(months.items())
        ],
        [
            CapacityEvent(
                key=key,
                month_end=month,
                bought=sum(size * event.bought for size, event in rows),
                added=sum(size * event.added for size, event in rows),
                removed=sum(size * event.removed for size, event in rows),
                removed_bought=sum(size * event.removed_bought for size, event in rows),
                sold=sum(size * event.sold for size, event in rows),
            )
            for month, rows in sorted(events.items())
        ],
    )
