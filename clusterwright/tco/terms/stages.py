"""How much of the first purchase is in each month, where the work grows or equipment is replaced.

All factors are relative to the first purchase: 1 in every month where nothing grows and nothing is replaced.
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

    def reference_age(self, horizon_months: float, resale: Callable[[float], float]) -> float:
        """Return the age in months whose resale the parameter `resale_fraction` is; other ages are in proportion.

        That of the newest replacement of the first purchase, at the end of the horizon; where that is worth nothing,
        of what was added last and is worth something.

        >>> Pace(growth_per_year=0.2).reference_age(90, lambda months: max(0.0, 1 - months / 84))
        6.0
        """
        years = range(math.ceil(horizon_months / _YEAR) - 1, 0, -1) if self.growth_per_year > 0 else ()
        newest = self.newest_age(horizon_months)
        ages = (newest, *(self.newest_age(horizon_months - _YEAR * year) for year in years), self.refresh_months)
        return next((age for age in ages if age and resale(age)), newest)


#: Nothing grows and nothing is replaced.
CONSTANT = Pace()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One month: its work over that of the first year, and what is: capacity, and what it was bought for."""

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
        sold: what that was bought for, each part times its resale by age over that at `Pace.reference_age`; as it,
            where nothing is worth anything at base values.
    """

    key: str
    month_end: float
    bought: float
    added: float
    removed: float
    removed_bought: float
    sold: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Lot:
    """What is bought in one month to hold the work, and what replaces it later.

    Attributes:
        month: in which it is bought; 0 is the first purchase.
        size: units of capacity, over that of the first purchase; 0 where the work needs nothing more.
        stages, events: of one unit of capacity. The work is with the first purchase.
    """

    month: float
    size: float
    stages: tuple[Stage, ...]
    events: tuple[Event, ...]


def lot_sizes(
    pace: Pace, *, horizon_months: float, busy_fraction: "float | Column", nodes: int
) -> "dict[float, float | Column]":
    """Return the capacity that is bought at the start of each year to hold its work, over that of the first purchase.

    Whole nodes are bought, and none is given away where the work shrinks.

    Args:
        pace: growth.
        horizon_months: length of the view.
        busy_fraction: share of the hours worked in the first year, or that of each of many draws.
        nodes: of the first purchase.

    >>> sizes = lot_sizes(Pace(growth_per_year=0.5), horizon_months=36.0, busy_fraction=0.8, nodes=10)
    >>> {month: float(size) for month, size in sizes.items()}
    {0.0: 1.0, 12.0: 0.2, 24.0: 0.6}
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws hand in columns

    held = nodes + 0.0 * busy_fraction
    found = {0.0: held / nodes}
    for year in range(1, math.ceil(horizon_months / _YEAR) if pace.growth_per_year > 0 else 1):
        month = _YEAR * year
        needed = np.maximum(held, np.ceil(pace.work(month) * busy_fraction * nodes - _ROUNDING))
        found[month] = (needed - held) / nodes
        held = needed
    return found


def lots(
    key: str,
    pace: Pace,
    *,
    horizon_months: float,
    busy_fraction: float,
    nodes: int,
    resale: Callable[[float], float],
) -> tuple[Lot, ...]:
    """Return the first purchase of one candidate, and one for each later year whose work may not fit any more.

    What reaches the age of refresh is sold and bought again at the price of that day. At the end of the horizon
    everything is sold.

    Args:
        key: of the candidate.
        pace: growth, refresh, price change.
        horizon_months: length of the view.
        busy_fraction: share of the hours worked in the first year.
        nodes: of the first purchase.
        resale: share of the price by age in months.
    """
    sizes = lot_sizes(pace, horizon_months=horizon_months, busy_fraction=busy_fraction, nodes=nodes)
    return tuple(
        _lot(key, pace, month, float(size), horizon_months=horizon_months, resale=resale)
        for month, size in sizes.items()
    )


def _lot(
    key: str, pace: Pace, first: float, size: float, *, horizon_months: float, resale: Callable[[float], float]
) -> Lot:
    reference = resale(pace.reference_age(horizon_months, resale))
    life = pace.refresh_months or math.inf
    bought_month, price = first, pace.price(first)
    found: list[Stage] = []
    events = [Event(key=key, month_end=first, bought=price, added=1.0, removed=0.0, removed_bought=0.0, sold=0.0)]
    for month in _months(horizon_months):
        if month <= first:
            continue
        work = pace.work(max(0.0, math.ceil(month) - 1.0)) if first == 0 else 0.0
        found.append(Stage(key=key, month_end=month, work=work, capacity=1.0, equipment=price))
        last = month == horizon_months
        if last or month - bought_month >= life - _ROUNDING:
            sold = price * (resale(month - bought_month) / reference if reference else 1.0)
            again = 0.0 if last else pace.price(month)
            events.append(
                Event(key=key, month_end=month, bought=again, added=0.0, removed=1.0, removed_bought=price, sold=sold)
            )
            bought_month, price = month, again
    return Lot(month=first, size=size, stages=tuple(found), events=tuple(events))


def _months(horizon_months: float) -> list[float]:
    return [*(float(month) for month in range(1, math.ceil(horizon_months))), horizon_months]


def stages(
    key: str,
    pace: Pace,
    *,
    horizon_months: float,
    busy_fraction: float,
    nodes: int,
    resale: Callable[[float], float],
) -> tuple[list[Stage], list[Event]]:
    """Return the months of one candidate, and what it buys and sells: all its `lots` together."""
    found = lots(key, pace, horizon_months=horizon_months, busy_fraction=busy_fraction, nodes=nodes, resale=resale)
    return together(key, found)


def together(key: str, found: Sequence[Lot]) -> tuple[list[Stage], list[Event]]:
    """Return the months of all lots of a candidate together, and what they buy and sell."""
    months: dict[float, list[tuple[float, Stage]]] = {}
    dates: dict[float, list[tuple[float, Event]]] = {}
    for lot in found:
        for stage in lot.stages:
            months.setdefault(stage.month_end, []).append((lot.size, stage))
        for event in lot.events if lot.size else ():
            dates.setdefault(event.month_end, []).append((lot.size, event))
    return (
        [
            Stage(
                key=key,
                month_end=month,
                work=sum(stage.work for _, stage in rows),
                capacity=sum(size * stage.capacity for size, stage in rows),
                equipment=sum(size * stage.equipment for size, stage in rows),
            )
            for month, rows in sorted(months.items())
        ],
        [
            Event(
                key=key,
                month_end=month,
                bought=sum(size * event.bought for size, event in rows),
                added=sum(size * event.added for size, event in rows),
                removed=sum(size * event.removed for size, event in rows),
                removed_bought=sum(size * event.removed_bought for size, event in rows),
                sold=sum(size * event.sold for size, event in rows),
            )
            for month, rows in sorted(dates.items())
        ],
    )
