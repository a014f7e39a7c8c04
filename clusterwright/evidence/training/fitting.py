"""Fit the calibrated numbers and the effects to measured runs, together.

ln(tokens per second) is linearised in the numbers; numbers and effects then are one linear model with normal priors,
whose best prediction takes one system of equations (Robinson 1991, "That BLUP is a good thing"). A few Gauss-Newton
steps repeat it at the point that it finds. What the runs do not determine stays at the priors, and what many like runs
share goes to an effect of theirs rather than into the numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from clusterwright.evidence.training import effects
from clusterwright.evidence.training.effects import Effects
from clusterwright.evidence.training.predictions import RunColumns, columns_of, predicted_tokens_per_s_per_gpu
from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array, Tuning

DEFAULT = "default"
_STEPS = 4
_DIFFERENCE = 1e-4
#: Farthest that a number moves in one step, on its own scale.
_FARTHEST = 1.0

Key = tuple[str, str]
_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """How a number may move: `logit` within 0 and 1, or `log`; and its standard deviation on that scale.

    A stack's number deviates by `STACK` of it from the default, and a generation's by `GENERATION` of it from the
    stack's. What half-saturates a multiplication is held closer: runs tell it from other losses only poorly, and plans
    extrapolate with it.
    """

    scale: str
    deviation: float


PRIORS = {
    "gemm_efficiency": Prior(scale="logit", deviation=0.4),
    "gemm_efficiency_eight_bit": Prior(scale="logit", deviation=0.4),
    "rows_half": Prior(scale="log", deviation=0.25),
    "width_half": Prior(scale="log", deviation=0.5),
    "attention_efficiency": Prior(scale="logit", deviation=0.4),
    "memory_passes": Prior(scale="log", deviation=0.35),
    "tensor_overlap": Prior(scale="logit", deviation=0.7),
    "data_overlap": Prior(scale="logit", deviation=0.7),
    "network_fraction": Prior(scale="logit", deviation=0.35),
    "layer_overhead_s": Prior(scale="log", deviation=0.5),
    "gemm_efficiency_four_bit": Prior(scale="logit", deviation=0.4),
    "grouped_efficiency": Prior(scale="logit", deviation=0.35),
    "expert_rows_half": Prior(scale="log", deviation=0.5),
    "expert_passes": Prior(scale="log", deviation=0.35),
    "expert_overlap": Prior(scale="logit", deviation=0.7),
    "expert_launch_s": Prior(scale="log", deviation=0.5),
    "plain_overlap": Prior(scale="logit", deviation=0.7),
    "eager_passes": Prior(scale="log", deviation=0.3),
    "compiled_passes": Prior(scale="log", deviation=0.3),
    "step_overhead_s": Prior(scale="log", deviation=0.7),
    "pipeline_overlap": Prior(scale="logit", deviation=0.7),
}
#: Sources that were left out are predicted best with numbers that move a third as far for a stack as single groups
#: want, and a fifth as far for a generation: with a few runs of one, fits follow what is odd about them.
STACK, GENERATION = 0.35, 0.21
_DEVIATIONS = STACK * np.array([prior.deviation for prior in PRIORS.values()])
_OF_GENERATION = GENERATION / STACK


def _to_free(value: float, scale: str) -> float:
    return float(np.log(value / (1 - value))) if scale == "logit" else float(np.log(value))


def _from_free(value: Array, scale: str) -> Array:
    return np.asarray(1 / (1 + np.exp(-value)) if scale == "logit" else np.exp(value))


def fit(
    runs: Sequence[Run], start: Tuning, *, deviations: Mapping[str, float], noise: float
) -> tuple[dict[Key, Tuning], Effects]:
    """Return the numbers by (generation or `default`, stack), and the effects, that best explain the runs.

    Args:
        runs: measured runs.
        start: the priors' middle.
        deviations: of every kind of effect.
        noise: deviation of single runs.
    """
    columns = columns_of(runs)
    measured = np.log([run.tokens_per_s_per_gpu for run in runs])
    origin = np.array([_to_free(float(getattr(start, name)), prior.scale) for name, prior in PRIORS.items()])
    stacks = _membership([run.stack for run in runs])
    generations = _membership([(run.generation, run.stack) for run in runs])
    weighted = ((1.0, tuple(stacks.values())), (_OF_GENERATION**2, tuple(generations.values())))
    like = sum(weight * (shared @ shared.T) for weight, each in weighted for shared in each)
    designs = effects.designs_of(runs, deviations)
    of_effects = effects.covariance_of(designs)
    points = np.tile(origin, (len(runs), 1))
    pulls, slopes = np.zeros(len(runs)), np.zeros(points.shape)
    for _ in range(_STEPS):
        predicted, slopes = _linearised(columns, start, points)
        wanted = measured - predicted + (slopes * (points - origin)).sum(axis=1)
        scaled = slopes * _DEVIATIONS
        pulls = effects.robust_pulls((scaled @ scaled.T) * like + of_effects, wanted, noise=noise)
        found = origin + (like @ (slopes * pulls[:, None])) * _DEVIATIONS**2
        points = points + np.clip(found - points, -_FARTHEST, _FARTHEST)
    tunings = {
        (DEFAULT, stack): _tuning(start, points=origin + _moved(shared, slopes, pulls))
        for stack, shared in stacks.items()
    }
    for (generation, stack), shared in generations.items():
        both = _OF_GENERATION**2 * _moved(shared, slopes, pulls) + _moved(stacks[stack], slopes, pulls)
        tunings[generation, stack] = _tuning(start, points=origin + both)
    return tunings, Effects(values=effects.values_of(designs, pulls), deviations=dict(deviations), noise=noise)


def _membership(names: Sequence[_Name]) -> dict[_Name, Array]:
    """Return for each name a column that is 1 where the run has it."""
    return {name: np.array([[1.0 if one == name else 0.0] for one in names]) for name in sorted(set(names))}


def _moved(shared: Array, slopes: Array, pulls: Array) -> Array:
    """Return how far the runs of a column pull the numbers that they share."""
    return np.asarray(_DEVIATIONS**2 * (shared.T @ (slopes * pulls[:, None]))[0])


def _linearised(columns: RunColumns, start: Tuning, points: Array) -> tuple[Array, Array]:
    """Return ln of predicted tokens per second, and its slope in every number, by forward differences."""

    def predicted(at: Array) -> Array:
        tuning = _tuning(start, points=at[columns.run_of])
        return np.asarray(np.log(predicted_tokens_per_s_per_gpu(columns, tuning)))

    current = predicted(points)
    slopes = [(predicted(points + _DIFFERENCE * unit) - current) / _DIFFERENCE for unit in np.eye(len(PRIORS))]
    return current, np.stack(slopes, axis=1)


def _tuning(start: Tuning, *, points: Array) -> Tuning:
    """Return numbers from a point, or a column of numbers from a row of points per candidate."""
    moved = {name: _from_free(points[..., index], prior.scale) for index, (name, prior) in enumerate(PRIORS.items())}
    if points.ndim == 1:
        moved = {name: float(value) for name, value in moved.items()}  # type: ignore[misc]
    return replace(start, **moved)
