"""Distributions of uncertain inputs: the meaning of their low and high ends, and their quantiles."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Standard deviations from the median of a normal distribution to its P90.
_P90 = 1.2815515655446004
#: Weight of the base value in a beta distribution, as is usual for three-point estimates (PERT).
_BASE_WEIGHT = 4.0
_ROUNDING = 1e-9
#: Smaller probabilities are treated as 0, because the inverse beta distribution does not converge for them.
_MIN_PROBABILITY = 1e-30


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionBand:
    """Band of an input that applies to some options only.

    Attributes:
        name: name of the band, which seeds its draws independently of other bands.
        keys: keys of the options.
        low, high, values: as in `UncertainInput`; empty values take those of the input.
    """

    name: str
    keys: tuple[str, ...]
    low: float
    high: float
    values: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class UncertainInput:
    """An uncertain input, as factors on its base value.

    Attributes:
        key: name of the column of draws.
        low, high: ends of the distribution, whose meaning depends on its kind (`DISTRIBUTIONS`); equal ends make the
            input certain.
        reason, source: justification of the ends.
        distribution: one of `DISTRIBUTIONS`.
        values, shares: factors of a `discrete` distribution and their probabilities, which sum to 1.
        most: upper bound of the draws; None is no bound.
        bands: bands of single options; low and high then span all of them.
        correlation: correlation of the normal scores of these bands, from 0 (independent) to 1 (identical).
    """

    key: str
    low: float
    high: float
    reason: str
    source: str
    distribution: str = "triangular"
    values: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    most: float | None = None
    bands: tuple[OptionBand, ...] = ()
    correlation: float = 1.0

    @property
    def certain(self) -> bool:
        """Whether every draw is the same."""
        return self.low == self.high


def quantiles(entry: UncertainInput, share: "Column") -> "Column":
    """Return the quantiles of an input at the given probabilities (0 to 1); they are never negative.

    Raises:
        InputError: the distribution is unknown, or its ends do not fit it.

    >>> import numpy as np
    >>> band = dict(key="pue", low=0.8, high=1.2, reason="", source="")
    >>> quantiles(UncertainInput(**band, distribution="beta"), np.array([0.0, 0.5, 1.0])).round(9).tolist()
    [0.8, 1.0, 1.2]
    >>> quantiles(UncertainInput(**band, distribution="normal"), np.array([0.1, 0.5, 0.9])).round(2).tolist()
    [0.8, 1.0, 1.2]
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only simulations need it

    check(entry)
    if entry.certain:
        drawn = np.full_like(share, entry.low, dtype=float)
    else:
        drawn = DISTRIBUTIONS[entry.distribution](entry, share)
    return drawn if entry.most is None else np.minimum(drawn, entry.most)


def check(entry: UncertainInput) -> None:
    """Reject an input whose ends do not fit its distribution.

    Raises:
        InputError: the distribution is unknown, or its ends do not fit it.
    """
    if entry.distribution not in DISTRIBUTIONS:
        raise InputError(f"{entry.distribution!r} is not a distribution", help=f"use one of {', '.join(DISTRIBUTIONS)}")
    numbers = (entry.low, entry.high, *entry.values, *entry.shares)
    if not all(math.isfinite(number) and number >= 0 for number in numbers) or entry.low > entry.high:
        raise InputError(
            f"{entry.key}: the ends of a band must be 0 or more, the lower one first", help="correct the band"
        )
    if entry.distribution in ("triangular", "beta") and not (
        entry.certain or (entry.low <= 1 + _ROUNDING and entry.high >= 1 - _ROUNDING)
    ):
        raise InputError(f"{entry.key}: the value itself is outside its band", help="extend the band to include it")
    if entry.distribution in ("lognormal", "two_sided") and entry.low <= 0:
        raise InputError(f"{entry.key}: a lognormal value is never 0", help="give a low end above 0")
    if entry.distribution == "discrete" and (
        not entry.values or len(entry.values) != len(entry.shares) or abs(math.fsum(entry.shares) - 1) > _ROUNDING
    ):
        raise InputError(
            f"{entry.key} needs one share per value, and the shares must sum to 1", help="correct the shares"
        )


def triangular(share: "Column", low: float, high: float) -> "Column":
    """Return quantiles of the triangular distribution from low to high with its peak at 1.

    >>> import numpy as np
    >>> triangular(np.array([0.0, 0.5, 1.0]), 0.5, 1.5).tolist()
    [0.5, 1.0, 1.5]
    """
    import numpy as np  # noqa: PLC0415

    width = high - low
    if width <= 0:
        return np.ones_like(share)
    peak = (1.0 - low) / width
    rising = low + np.sqrt(share * width * (1.0 - low))
    falling = high - np.sqrt((1.0 - share) * width * (high - 1.0))
    return np.where(share < peak, rising, falling)


def _triangular(entry: UncertainInput, share: "Column") -> "Column":
    return triangular(share, min(entry.low, 1.0), max(entry.high, 1.0))


def _beta(entry: UncertainInput, share: "Column") -> "Column":
    """Beta distribution from low to high, peak at 1: alpha = 1 + 4 (1 - low) / (high - low), beta = 6 - alpha."""
    import numpy as np  # noqa: PLC0415
    from scipy import special  # noqa: PLC0415

    low, high = min(entry.low, 1.0), max(entry.high, 1.0)
    alpha = 1.0 + _BASE_WEIGHT * (1.0 - low) / (high - low)
    drawn: Column = low + (high - low) * special.betaincinv(
        alpha, 2.0 + _BASE_WEIGHT - alpha, np.where(share < _MIN_PROBABILITY, 0.0, share)
    )
    return drawn


def _normal(entry: UncertainInput, share: "Column") -> "Column":
    """Normal distribution with low and high as P10 and P90, truncated at 0."""
    from scipy import special  # noqa: PLC0415

    mean, deviation = (entry.low + entry.high) / 2.0, (entry.high - entry.low) / (2.0 * _P90)
    below = special.ndtr(-mean / deviation)
    drawn: Column = mean + deviation * special.ndtri(below + (1.0 - below) * _inner(share))
    return drawn


def _lognormal(entry: UncertainInput, share: "Column") -> "Column":
    """Lognormal distribution with low and high as P10 and P90, so that its median is their geometric mean."""
    import numpy as np  # noqa: PLC0415
    from scipy import special  # noqa: PLC0415

    middle = (math.log(entry.low) + math.log(entry.high)) / 2.0
    deviation = (math.log(entry.high) - math.log(entry.low)) / (2.0 * _P90)
    drawn: Column = np.exp(middle + deviation * special.ndtri(_inner(share)))
    return drawn


def _two_sided(entry: UncertainInput, share: "Column") -> "Column":
    """Two half-lognormal distributions that meet at the base value, their median, with low and high as P10 and P90."""
    import numpy as np  # noqa: PLC0415
    from scipy import special  # noqa: PLC0415

    score = special.ndtri(_inner(share)) / _P90
    drawn: Column = np.exp(np.where(score > 0, score * math.log(entry.high), -score * math.log(entry.low)))
    return drawn


def _discrete(entry: UncertainInput, share: "Column") -> "Column":
    import numpy as np  # noqa: PLC0415

    pairs = sorted(zip(entry.values, entry.shares, strict=True))
    steps = np.cumsum([chance for _, chance in pairs])[:-1]
    drawn: Column = np.array([value for value, _ in pairs], dtype=float)[np.searchsorted(steps, share, side="right")]
    return drawn


def _empirical(entry: UncertainInput, share: "Column") -> "Column":
    """Equally likely values, with linear interpolation between them."""
    import numpy as np  # noqa: PLC0415

    drawn: Column = np.interp(share, np.linspace(0.0, 1.0, len(entry.values)), np.array(sorted(entry.values)))
    return drawn


def _inner(share: "Column") -> "Column":
    """Keep probabilities away from 0 and 1, where the quantile of an unbounded distribution is infinite."""
    import numpy as np  # noqa: PLC0415

    return np.clip(share, 1e-12, 1.0 - 1e-12)


#: Quantile functions by name. Low and high are the ends (triangular and beta, with their peak at the base value), P10
#: and P90 (normal, lognormal, and two_sided, which is used for the plan's run times only), or the smallest and the
#: largest value (discrete, and empirical, which is used for price paths only).
DISTRIBUTIONS: Mapping[str, Callable[[UncertainInput, "Column"], "Column"]] = {
    "triangular": _triangular,
    "beta": _beta,
    "normal": _normal,
    "lognormal": _lognormal,
    "two_sided": _two_sided,
    "discrete": _discrete,
    "empirical": _empirical,
}
