"""What a series of dated flows is worth: present value, internal rates of return, payback. Income is positive."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clusterwright.units import percent

#: (month, USD): paid or received at the end of that month; 0 is today.
Flow = tuple[float, float]
#: Where internal rates are looked for: growth factors per month. One change of sign has one rate, however far away;
#: several are looked for from a twentieth to a hundredfold.
_ANY_GROWTH, _USUAL_GROWTH, _STEPS, _HALVINGS = (1e-30, 1e30), (0.05, 100.0), 4000, 200
_CENT = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class InternalRates:
    """Internal rates of return per month, lowest first, and why there is no single one (empty if there is)."""

    per_month: tuple[float, ...]
    reason: str = ""

    @property
    def per_year(self) -> float | None:
        """The rate per year, compounded monthly; None unless there is exactly one."""
        return (1.0 + self.per_month[0]) ** 12 - 1.0 if len(self.per_month) == 1 else None


def present_value(flows: Sequence[Flow], rate_per_year: float) -> float:
    """Return sum of usd / (1 + rate)^(month / 12), in USD of today; the rate is above -1.

    >>> round(present_value([(0, -100.0), (12, 121.0)], 0.1), 9)
    10.0
    """
    return math.fsum(usd * (1.0 + rate_per_year) ** (-month / 12.0) for month, usd in flows)


def internal_rates(flows: Sequence[Flow]) -> InternalRates:
    """Return every rate per month at which the flows are worth nothing today.

    There is none without a change of sign, and there may be several with more than one (Descartes' rule of signs).
    Where there may be several, growth factors are searched from 0.05 to 100 a month in steps of 0.2 %; all are refined
    by halving.

    >>> rates = internal_rates([(0, -100.0), (12, 110.0)])
    >>> round(rates.per_year, 9)
    0.1
    >>> internal_rates([(0, 100.0), (1, 5.0)]).reason
    'the flows never change sign'
    """
    ordered = sorted((month, usd) for month, usd in flows if usd)
    signs = [usd > 0 for _, usd in ordered]
    if len(set(signs)) < 2:  # noqa: PLR2004 - paid and received
        return InternalRates(per_month=(), reason="the flows never change sign")
    once = sum(here != there for here, there in pairwise(signs)) == 1
    (least, most), steps = (_ANY_GROWTH, 1) if once else (_USUAL_GROWTH, _STEPS)
    step = (most / least) ** (1.0 / steps)
    points = [least * step**number for number in range(steps + 1)]
    values = [_scaled_value(ordered, point) for point in points]
    found = [
        _root(ordered, low, high)
        for low, high, here, there in zip(points, points[1:], values, values[1:], strict=False)
        if (here <= 0) != (there <= 0)
    ]
    if not found:
        looked = f"from {percent(least - 1, digits=None)} to {percent(most - 1, digits=None)}"
        return InternalRates(per_month=(), reason=f"no rate {looked} a month makes the flows worth nothing")
    rates = tuple(growth - 1.0 for growth in found)
    return InternalRates(per_month=rates, reason="" if len(rates) == 1 else "the flows change sign more than once")


def _scaled_value(ordered: Sequence[Flow], growth: float) -> float:
    """Return the value of the flows, scaled so that it neither overflows nor vanishes; the sign stays."""
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
    """Return the month from which the flows so far are worth at least nothing, and stay so; None if there is none.

    By a straight line within the month that brings the money back.

    Args:
        flows: in USD, income positive.
        rate_per_year: 0 for the plain payback, else the discounted one.

    >>> payback_month([(0, -100.0), (1, 40.0), (2, 40.0), (3, 40.0)])
    2.5
    >>> payback_month([(0, -100.0), (1, 40.0)]) is None
    True
    """
    total, before_month, before = 0.0, 0.0, 0.0
    found: float | None = 0.0
    for month, usd in sorted(flows):
        total += usd * (1.0 + rate_per_year) ** (-month / 12.0)
        if total < -_CENT / 100:
            found = None
        elif found is None:
            found = before_month + (month - before_month) * min(1.0, -before / (total - before))
        before_month, before = month, total
    return found
