"""How well the engine predicts runs it was not fitted on, against the plainest alternative.

Grouped cross-validation: all runs of one group (model, accelerator, precision) are predicted with numbers fitted on the
other groups. The baseline is a constant MFU per accelerator and precision, the median of the same other groups.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.fitting import fit
from clusterwright.evidence.runs import Run, columns_of, predicted_tokens_per_s_per_gpu
from clusterwright.sizing.calibration import Residuals
from clusterwright.sizing.columns import Array, Tuning

BAND = (0.1, 0.5, 0.9)


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


def residuals(runs: Sequence[Run], tuning: Tuning) -> Array:
    """Return ln(measured/predicted) of tokens per second for each run."""
    measured = np.array([run.tokens_per_s_per_gpu for run in runs])
    return np.asarray(np.log(measured / predicted_tokens_per_s_per_gpu(columns_of(runs), tuning)))


def cross_validated(runs: Sequence[Run], start: Tuning, *, fold_of: Callable[[Run], str]) -> Array:
    """Return ln(measured/predicted) of each run, predicted with numbers fitted on the other folds.

    Args:
        runs: of one generation and stack.
        start: defaults that the fit is drawn towards, and what is used where there is only one fold.
        fold_of: names the fold of a run, its group as a rule.
    """
    folds = np.array([fold_of(run) for run in runs])
    errors = np.zeros(len(runs))
    for fold in sorted(set(folds)):
        held = np.flatnonzero(folds == fold)
        others = [run for run, name in zip(runs, folds, strict=True) if name != fold]
        tuning = fit(others, start) if others else start
        errors[held] = residuals([run for run, name in zip(runs, folds, strict=True) if name == fold], tuning)
    return errors


def constant_mfu(runs: Sequence[Run]) -> Array:
    """Return ln(measured/predicted) of the baseline for each run.

    The prediction is the median MFU of the runs of other groups on the same accelerator and precision, else on the same
    precision, else on all.
    """
    shares = np.array([_mfu(run) for run in runs])
    errors = np.zeros(len(runs))
    for index, run in enumerate(runs):
        others = [other for other in range(len(runs)) if runs[other].group != run.group]
        like = [other for other in others if runs[other].precision == run.precision]
        same = [other for other in like if runs[other].gpu == run.gpu]
        pool = same or like or others
        errors[index] = np.log(shares[index] / np.median(shares[pool])) if pool else 0.0
    return errors


def _mfu(run: Run) -> float:
    shape = run.shape
    attention = shape.hidden * (2 * shape.query + 2 * shape.key_value)
    weights = shape.layers * (attention + shape.mlp_matrices * shape.hidden * shape.ffn) + shape.hidden * shape.vocab
    flops = 6 * weights + 12 * shape.layers * shape.sequence * shape.query
    return float(run.tokens_per_s_per_gpu * flops / run.device.peak_flop_per_s)


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
    """Return the residuals' P10, P50 and P90, each group counting once, however many rows it has.

    A job to be planned is a new group, so that many rows of one group say little more about it than one.
    """
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.group] = sizes.get(run.group, 0) + 1
    weights = np.array([1 / sizes[run.group] for run in runs])
    p10, p50, p90 = (weighted_quantile(errors, weights, quantile) for quantile in BAND)
    return Residuals(p10=p10, p50=p50, p90=p90, rows=len(runs))


def weighted_quantile(values: Array, weights: Array, quantile: float) -> float:
    """Return a quantile of weighted values, interpolated between the middles of their weights."""
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    middles = (summed - weights[order] / 2) / summed[-1]
    return float(np.interp(quantile, middles, values[order]))
