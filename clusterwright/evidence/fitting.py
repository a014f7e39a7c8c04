"""Fit the calibrated numbers to measured runs.

Each accelerator generation and stack is fitted alone by damped Gauss-Newton on ln(measured/predicted), with weak priors
at the defaults, so that what the runs do not determine stays there, and with weights that keep a group of like runs
from counting as often as it has rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.evidence.predictions import columns_of, predicted_tokens_per_s_per_gpu
from clusterwright.evidence.runs import Run, group_sizes
from clusterwright.sizing.columns import Array, Tuning

#: Largest |ln| that a single run contributes with full weight (Huber).
HUBER = 0.1
#: Standard deviation of one group's ln(measured/predicted) that the priors are weighed against.
NOISE = 0.06
_STEPS = 40
_DIFFERENCE = 1e-4


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """How a number may move: `logit` within 0 and 1, or `log`; and its standard deviation on that scale."""

    scale: str
    deviation: float


PRIORS = {
    "gemm_efficiency": Prior(scale="logit", deviation=0.6),
    "gemm_efficiency_eight_bit": Prior(scale="logit", deviation=0.6),
    "rows_half": Prior(scale="log", deviation=0.7),
    "width_half": Prior(scale="log", deviation=0.7),
    "attention_efficiency": Prior(scale="logit", deviation=0.6),
    "memory_passes": Prior(scale="log", deviation=0.5),
    "tensor_overlap": Prior(scale="logit", deviation=1.0),
    "data_overlap": Prior(scale="logit", deviation=1.0),
    "network_fraction": Prior(scale="logit", deviation=0.5),
    "layer_overhead_s": Prior(scale="log", deviation=0.7),
    "gemm_efficiency_four_bit": Prior(scale="logit", deviation=0.6),
    "grouped_efficiency": Prior(scale="logit", deviation=0.5),
    "expert_rows_half": Prior(scale="log", deviation=0.7),
    "expert_passes": Prior(scale="log", deviation=0.5),
    "expert_overlap": Prior(scale="logit", deviation=1.0),
    "expert_launch_s": Prior(scale="log", deviation=0.7),
    "plain_overlap": Prior(scale="logit", deviation=1.0),
}


def _to_free(value: float, scale: str) -> float:
    return float(np.log(value / (1 - value))) if scale == "logit" else float(np.log(value))


def _from_free(value: float, scale: str) -> float:
    return float(1 / (1 + np.exp(-value))) if scale == "logit" else float(np.exp(value))


def fit(
    runs: Sequence[Run],
    start: Tuning,
    *,
    explained: Array | None = None,
    near: Tuning | None = None,
    tightness: float = 1.0,
) -> Tuning:
    """Return the numbers that best explain the runs, drawn towards `start`.

    Minimises the Huber loss of ln(measured/predicted) over `NOISE` plus the squared distance from the priors.

    Args:
        runs: what is fitted.
        start: the priors' middle.
        explained: ln(measured/predicted) that effects explain already, per run.
        near: where the search begins, `start` if None.
        tightness: the priors' deviations are divided by it.
    """
    columns = columns_of(runs)
    measured = np.log([run.tokens_per_s_per_gpu for run in runs])
    if explained is not None:
        measured = measured - explained
    weights = group_sizes(runs) ** -0.25 / NOISE
    origin = _point(start)
    deviations = np.array([prior.deviation for prior in PRIORS.values()]) / tightness

    def errors(point: Array) -> Array:
        predicted = np.log(predicted_tokens_per_s_per_gpu(columns, _tuning(start, point)))
        apart = measured - predicted
        size = np.maximum(np.abs(apart), HUBER)
        robust = np.where(np.abs(apart) <= HUBER, apart, np.sign(apart) * np.sqrt(HUBER * (2 * size - HUBER)))
        return np.concatenate([weights * robust, (point - origin) / deviations])

    return _tuning(start, least_squares(errors, origin if near is None else _point(near)))


def _point(tuning: Tuning) -> Array:
    return np.array([_to_free(float(getattr(tuning, name)), prior.scale) for name, prior in PRIORS.items()])


def _tuning(start: Tuning, point: Array) -> Tuning:
    moved = {
        name: _from_free(float(value), prior.scale) for (name, prior), value in zip(PRIORS.items(), point, strict=True)
    }
    return replace(start, **moved)


def least_squares(errors: Callable[[Array], Array], start: Array) -> Array:
    """Return the point that minimises the sum of squared errors, by Levenberg-Marquardt with forward differences."""
    point, damping = start.copy(), 1e-2
    current = errors(point)
    for _ in range(_STEPS):
        jacobian = np.stack(
            [(errors(point + _DIFFERENCE * unit) - current) / _DIFFERENCE for unit in np.eye(point.size)], axis=1
        )
        gradient, curvature = jacobian.T @ current, jacobian.T @ jacobian
        moved = False
        while damping < 1e6 and not moved:  # noqa: PLR2004 - no descent direction is left
            change = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), -gradient)
            tried = errors(point + change)
            moved = bool(tried @ tried < current @ current)
            damping = damping / 3 if moved else damping * 4
        if not moved:
            break
        gain = current @ current - tried @ tried
        point, current = point + change, tried
        if gain < 1e-6 * (current @ current):
            break
    return point
