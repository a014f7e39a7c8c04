"""How sure a prediction is: what a figure is not beyond with a confidence, and how probably a figure keeps to a goal.

A band is P10 and P90 of ln(measured / predicted) of rows that were left out of the fit. Each of its sides is taken as
that of a normal distribution whose middle is the prediction. Times and throughput of one prediction are taken to err
together: a confidence is that of each of them.
"""

from statistics import NormalDist

import numpy as np

from clusterwright.sizing.columns import Array

#: Confidence of the middle of a band, and that of its favourable end.
EVEN_ODDS, FAVOURABLE = 0.5, 0.1
_NORMAL = NormalDist()
_Z90 = _NORMAL.inv_cdf(0.9)
#: No band is narrower than a hundredth of a percent.
_NARROWEST = 1e-4


def at_confidence(bands: Array, confidence: float, *, high: bool) -> Array:
    """Return ln of measured over predicted that a figure is not above (`high`), or else not below, by confidence.

    Args:
        bands: P10 and P90 of ln(measured / predicted), a row each.
        confidence: from 0 to 1; at 0.5 the prediction itself, below it the favourable side of the band.
        high: of a time, which is good where it is low; else of a rate.
    """
    score = _NORMAL.inv_cdf(confidence) / _Z90
    side = 1 if high == (score >= 0) else 0
    return bands[:, side] * abs(score)


def slowdown(bands: Array, confidence: float, *, rate: bool) -> Array:
    """Return what a time, or else a rate, is multiplied by at a confidence; a rate by that of even odds at least.

    Goals that only the favourable side of the band meets still get replicas enough for the load as predicted: with
    fewer, queues grow without end, and the times that are shown are none that a goal was sized for.
    """
    return np.exp(at_confidence(bands, max(confidence, EVEN_ODDS) if rate else confidence, high=not rate))


def score(bands: Array, room: Array, *, high: bool) -> Array:
    """Return the standard normal score with which ln(measured / predicted) is at most `room`, or else at least.

    Args:
        bands: P10 and P90 of ln(measured / predicted), a row each.
        room: ln of what the figure may be over its prediction, a row for each of the bands.
        high: the figure may not be above it; else not below.
    """
    below, above = np.minimum(bands[:, :1], -_NARROWEST), np.maximum(bands[:, 1:], _NARROWEST)
    found = np.where(room >= 0, room / above, room / -below) * _Z90
    return found if high else -found


def probability(score_of: float) -> float:
    """Return the probability of a standard normal score.

    >>> round(probability(0.0), 3), round(probability(1.2816), 3)
    (0.5, 0.9)
    """
    return _NORMAL.cdf(score_of)
