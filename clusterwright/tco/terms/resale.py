"""Resale value by age: linear between points, or exponential decay with a drop at each successor."""

import math
from dataclasses import dataclass

_YEAR = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ResaleShare:
    """Resale value as a share of the purchase price: base value and range."""

    low: float
    base: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ResaleCurve:
    """Resale value by age, from points or from decay.

    Attributes:
        points: (age in months, share); the curve starts at 100 % at the purchase and is constant after the last point.
        decay_per_year: rate of decay, whose low end is the slowest; None takes the points.
        step: share of the value that is left after a successor is released.
        step_months: months between successors, None for no successor.
    """

    points: tuple[tuple[float, ResaleShare], ...] = ()
    decay_per_year: ResaleShare | None = None
    step: float = 1.0
    step_months: float | None = None

    def at(self, months: float) -> ResaleShare:
        """Return the resale value of equipment of an age in months, as a share of its price.

        Decay: exp(-decay x years) x step^(successors so far).

        >>> share = ResaleShare(low=0.15, base=0.35, high=0.55)
        >>> round(ResaleCurve(decay_per_year=share, step=0.75, step_months=24).at(36).base, 6)
        0.262453
        """
        if self.decay_per_year is None:
            return ResaleShare(
                low=line({month: share.low for month, share in self.points}, months),
                base=line({month: share.base for month, share in self.points}, months),
                high=line({month: share.high for month, share in self.points}, months),
            )
        steps = 0 if self.step_months is None else math.floor(months / self.step_months + 1e-9)
        after_steps = self.step**steps
        years = months / _YEAR
        return ResaleShare(
            low=after_steps * math.exp(-self.decay_per_year.high * years),
            base=after_steps * math.exp(-self.decay_per_year.base * years),
            high=after_steps * math.exp(-self.decay_per_year.low * years),
        )


def line(fraction_by_month: dict[float, float], months: float) -> float:
    """Return the share at an age: linear between points, from 1 at the purchase, constant after the last point.

    >>> line({24: 0.5}, 12), line({24: 0.5}, 40)
    (0.75, 0.5)
    """
    before_month, before = 0.0, 1.0
    for month, fraction in sorted(fraction_by_month.items()):
        if months <= month:
            passed = (months - before_month) / (month - before_month)
            return before * (1 - passed) + fraction * passed
        before_month, before = month, fraction
    return before
