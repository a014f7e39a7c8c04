"""What equipment brings by its age: straight lines between points, or exponential decay with steps at successors."""

import math
from dataclasses import dataclass

_YEAR = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ResaleShare:
    """Share of the purchase price, with the ends between which it may lie."""

    low: float
    base: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ResaleCurve:
    """Resale by age, from points or from decay.

    Attributes:
        points: (age in months, share); from 100 % at the purchase, and as the last one afterwards.
        decay_per_year: of which the low end is the slowest; None takes the points.
        step: share that is left each time a successor comes; step_months: how often one does, None for never.
    """

    points: tuple[tuple[float, ResaleShare], ...] = ()
    decay_per_year: ResaleShare | None = None
    step: float = 1.0
    step_months: float | None = None

    def at(self, months: float) -> ResaleShare:
        """Return the share that equipment of an age in months brings.

        decay: exp(-decay x years) x step^(successors so far).

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
        left = self.step**steps
        years = months / _YEAR
        return ResaleShare(
            low=left * math.exp(-self.decay_per_year.high * years),
            base=left * math.exp(-self.decay_per_year.base * years),
            high=left * math.exp(-self.decay_per_year.low * years),
        )


def line(fraction_by_month: dict[float, float], months: float) -> float:
    """Return a share by age: straight lines between points, from 1 at the purchase; the last point's afterwards.

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
