"""Errors of predictions, their quantiles, and the bands that plans print."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.training.runs import Run, group_sizes
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.residuals import Residuals

#: Share of new runs below and above the band.
OUTSIDE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """Errors of predictions of tokens per second, as fractions of what was measured.

    Attributes:
        rows, groups: how many runs, and of how many groups.
        mean_error, median_error, p90_error: of |predicted/measured - 1|.
    """

    rows: int
    groups: int
    mean_error: float
    median_error: float
    p90_error: float


def score(runs: Sequence[Run], errors: Array) -> Score:
    """Return the errors in figures; `errors` are ln(measured/predicted)."""
    shares = np.abs(np.expm1(-errors))
    return Score(
        rows=len(runs),
        groups=len({run.group for run in runs}),
        mean_error=float(np.mean(shares)),
        median_error=float(np.median(shares)),
        p90_error=float(np.quantile(shares, 0.9)),
    )


def band(runs: Sequence[Run], errors: Array) -> Residuals:
    """Return the residuals' P10, P50 and P90, a group weighing as the square root of its rows.

    Rows of one group are alike, so that many of them say little more about a new job than one; but a published group
    of many releases and cluster sizes is better known than a single run. Of `n` groups, the quantile of a new one is
    farther out than theirs (conformal prediction, Vovk et al. 2005): `(0.1 (n + 1) - 0.5)/n` in the place of 0.1.
    """
    weights = group_sizes(runs) ** -0.5
    groups = len({run.group for run in runs})
    tail = max(0.0, (OUTSIDE * (groups + 1) - 0.5) / groups)
    p10, p50, p90 = (weighted_quantile(errors, weights, quantile) for quantile in (tail, 0.5, 1 - tail))
    return Residuals(p10=p10, p50=p50, p90=p90, rows=len(runs))


def weighted_quantile(values: Array, weights: Array, quantile: float) -> float:
    """Return a quantile of weighted values, interpolated between the middles of their weights."""
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    middles = (summed - weights[order] / 2) / summed[-1]
    return float(np.interp(quantile, middles, values[order]))


def share_in_bands_of_others(runs: Sequence[Run], errors: Array) -> float:
    """Return the share of runs inside the band that the errors of other groups give."""
    inside = 0
    groups = np.array([run.group for run in runs])
    for group in set(groups):
        held = groups == group
        others = [run for run, out in zip(runs, held, strict=True) if not out]
        if others:
            limits = band(others, errors[~held])
            inside += int(((errors[held] >= limits.p10) & (errors[held] <= limits.p90)).sum())
    return inside / len(runs)
