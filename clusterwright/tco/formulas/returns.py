"""Value of a series of dated cash flows: present value, internal rates of return, payback. Income is positive."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clusterwright.units import percent

#: Month and USD paid or received at the end of that month; 0 is today.
Flow = tuple[float, float]
#: Search ranges of internal rates as growth factors per month. With one change of sign there is exactly one rate, which
#: may be anywhere; with several changes the search covers factors from a twentieth to a hundred.
_ANY_GROWTH, _USUAL_GROWTH, _STEPS, _HALVINGS = (1e-30, 1e30), (0.05, 100.0), 4000, 200
_CENT = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class InternalRates:
    """Internal rates of return per month, lowest first, and the reason if there is not exactly one."""

    per_month: tuple[float, ...]
    reason: str = ""

    @property
    def per_year(self) -> float | None:
        """The rate per year, compounded monthly; None unless there is exactly one."""
        return (1.0 + self.per_month[0]) ** 12 - 1.0 if len(self.per_month) == 1 else None


def present_value(flows: Sequence[Flow], rate_per_year: float) -> float:
    """Return the present value in USD, the sum of usd / (1 + rate)^(month / 12); the rate is above -1.

    >>> round(present_value([(0, -100.0), (12, 121.0)], 0.1), 9)
    10.0
    """
    return math.fsum(usd * (1.0 + rate_per_year) ** (-month / 12.0) for month, usd in flows)


def internal_rates(flows: Sequence[Flow]) -> InternalRates:
    """Return every rate per month at which the present value of the flows is 0.

    Without a change of sign there is none; with more than one change there may be several (Descartes' rule of signs).
    In that case growth factors from 0.05 to 100 a month are searched in steps of 0.2 %. All rates are refined by
    bisection.

    >>> rates = internal_rates([(0, -100.0), (12, 110.0)])
    >>> round(rates.per_year, 9)
    0.1
    >>> internal_rates([(0, 100.0), (1, 5.0)]).reason
    'the flows never change sign'
    """
    ordered = sorted((month, usd) for month, usd in flows if usd)
    signs = [usd > 0 for _, usd in ordered]
    if len(set(signs)) < 2:  # noqa: PLR2004 - both paid and received amounts are needed
        return InternalRates(per_month=(), reason="the flows never change sign")
    once = sum(here != there for here, there in pairwise(signs)) == 1
    (least, most), steps = (_ANY_GROWTH, 1) if once else (_USUAL_GROWTH, _STEPS)
    step = (most / least) ** (1.0 / steps)
    points = [least * step**number for number in range(steps + 1)]
    values = [_scaled_value(ordered, point) for point in points]
    growths = [
        _root(ordered, low, high)
        for low, high, here, there in zip(points, points[1:], values, values[1:], strict=False)
        if (here <= 0) != (there <= 0)
    ]
    if not growths:
        span = f"from {percent(least - 1, digits=None)} to {percent(most - 1, digits=None)}"
        return InternalRates(per_month=(), reason=f"no rate {span} a month makes the present value 0")
    rates = tuple(growth - 1.0 for growth in growths)
    return InternalRates(per_month=rates, reason="" if len(rates) == 1 else "the flows change sign more than once")


def _scaled_value(ordered: Sequence[Flow], growth: float) -> float:
    """Return the value of the flows, scaled so that it neither overflows nor underflows; the sign is kept."""
    latest = ordered[-1][0]
    first = ordered[0][0]
    anchor = latest if growth < 1 else first
    return math.fsum(usd * growth ** (anchor - month) for month, usd in ordered)


def _root(ordered: Sequence[Flow], low: float, high: float) -> float:
    below = _scaled_value(ordered, low) <= 0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if middle in (low, high):
            break
        if (_scaled_value(ordered, middle) <= 0) == below:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def payback_month(flows: Sequence[Flow], rate_per_year: float = 0.0) -> float | None:
    """Return the month from which the cumulative flows are at least 0 and stay so; None if there is none.

    Within the month of the payback the value is interpolated linearly.

    Args:
        flows: dated flows in USD, income positive.
        rate_per_year: discount rate; 0 for the simple payback, otherwise the discounted payback.

    >>> payback_month([(0, -100.0), (1, 40.0), (2, 40.0), (3, 40.0)])
    2.5
    >>> payback_month([(0, -100.0), (1, 40.0)]) is None
    True
    """
    total, before_month, before = 0.0, 0.0, 0.0
    payback: float | None = 0.0
    for month, usd in sorted(flows):
        total += usd * (1.0 + rate_per_year) ** (-month / 12.0)
        if total < -_CENT / 100:
            payback = None
        elif payback is None:
            payback = before_month + (month - before_month) * min(1.0, -before / (total - before))
        before_month, before = month, total
    return payback
