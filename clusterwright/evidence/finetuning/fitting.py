"""Factors of fine-tuning fitted to measurements, and what generations, accelerators and frameworks add, shrunk to zero.

As for serving: ln(metric) is linearised in the logarithms of the factors, a factor of a row is the global one plus what
each of its levels adds, and a level with few rows stays with its parents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.finetuning.measurements import Measurement
from clusterwright.evidence.shrinkage import shrunk
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.calibration import (
    MEMORY,
    METRICS,
    NAMES,
    SCALES,
    THROUGHPUT,
    TIME_TO_TRAIN,
    formulas,
    levels_of,
    samples_to_target,
)
from clusterwright.sizing.finetuning.configuration import Columns, columns_of
from clusterwright.sizing.serving.calibration import (
    NOTHING_FITTED,
    Fitted,
    Level,
    Memberships,
    logarithms,
    memberships_of,
)

#: How far a global factor may move: standard deviation of its logarithm.
FITTED = MappingProxyType(
    {
        "activation_share": 0.1,
        "eager_bytes": 0.2,
        "copies": 0.3,
        "logit_share": 0.15,
        "efficiency_16": 0.2,
        "efficiency_8": 0.2,
        "efficiency_4": 0.2,
        "power_share_16": 0.2,
        "power_share_8": 0.2,
        "power_share_4": 0.2,
        "eager_share": 0.2,
        "bandwidth_share": 0.1,
        "link_share": 0.4,
        "step_s": 0.5,
        "host_share": 0.4,
        "memory_scale": 0.02,
        "throughput_scale": 0.02,
        "time_scale": 0.05,
    }
)
#: Standard deviation of what a level adds, and the factors that it adds to.
ADDITIONS: Mapping[str, tuple[float, tuple[str, ...]]] = MappingProxyType(
    {
        "vendor": (0.1, ("throughput_scale", "link_share")),
        "generation": (0.15, ("throughput_scale", "link_share")),
        "accelerator": (0.12, ("throughput_scale",)),
        "format": (0.1, ("throughput_scale",)),
        "framework": (0.1, ("throughput_scale", "activation_share", "logit_share")),
    }
)
#: Standard deviation of what no level explains.
NOISE = MappingProxyType({MEMORY: 0.08, THROUGHPUT: 0.08, TIME_TO_TRAIN: 0.08})
_STEP = 0.02
_ROUNDS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Measurements ready to fit or to predict: columns, levels by row, what was measured."""

    rows: Sequence[Measurement]
    columns: Columns
    belonging: Memberships
    samples: Array
    measured: Mapping[str, Array]


def problem_of(rows: Sequence[Measurement]) -> Problem:
    """Return measurements as a problem."""
    return Problem(
        rows=rows,
        columns=columns_of(rows),
        belonging=memberships_of([levels_of(row) for row in rows]),
        samples=np.where(
            [bool(row.benchmark) for row in rows], samples_to_target([row.global_batch for row in rows]), np.nan
        ),
        measured={metric: np.array([row.measured.get(metric, np.nan) for row in rows]) for metric in METRICS},
    )


def predict(problem: Problem, fitted: Fitted) -> dict[str, Array]:
    """Return ln of every metric, NaN where a row has none."""
    given = logarithms(problem.belonging, fitted, names=NAMES)
    return formulas(problem.columns, given, samples=problem.samples)


def fit(problem: Problem, used: npt.NDArray[np.bool_] | None = None) -> Fitted:
    """Return factors fitted to the rows of `used`, all if None."""
    used = np.ones(len(problem.rows), dtype=bool) if used is None else used
    belonging = problem.belonging
    counts = belonging.members[used].sum(axis=0)
    keys: list[tuple[int, str]] = [(-1, name) for name in FITTED]
    deviations = list(FITTED.values())
    for place, level in enumerate(belonging.levels):
        if counts[place] >= 1:
            deviation, names = ADDITIONS[level[0]]
            keys += [(place, name) for name in names]
            deviations += [deviation] * len(names)
    rows = {metric: np.flatnonzero(used & np.isfinite(problem.measured[metric])) for metric in METRICS}
    rows = {metric: found for metric, found in rows.items() if len(found)}
    count = {level: int(number) for level, number in zip(belonging.levels, counts, strict=True) if number >= 1}
    fitted = NOTHING_FITTED
    values = np.zeros(len(keys))
    for _ in range(_ROUNDS):
        at = logarithms(belonging, fitted, names=NAMES)
        said = formulas(problem.columns, at, samples=problem.samples)
        slopes = {name: _slope(problem, at, said, name) for name in FITTED}
        blocks, targets, noises = [], [], []
        for metric, index in rows.items():
            block = np.zeros((len(index), len(keys)))
            target = np.log(problem.measured[metric][index]) - said[metric][index]
            for name, slope in slopes.items():
                target = target + slope[metric][index] * at[name][index]
            for column, (place, name) in enumerate(keys):
                member = 1.0 if place < 0 else belonging.members[index, place]
                block[:, column] = slopes[name][metric][index] * member
            blocks.append(block)
            targets.append(target)
            noises.append(np.full(len(index), NOISE[metric]))
        values = shrunk(
            np.concatenate(blocks),
            np.concatenate(targets),
            noise=np.concatenate(noises),
            deviations=np.array(deviations),
            start=values,
        )
        fitted = _fitted(keys, values, belonging.levels, count)
    return fitted


def _slope(problem: Problem, at: Mapping[str, Array], said: Mapping[str, Array], name: str) -> dict[str, Array]:
    """Return the slope of every metric in the logarithm of a factor."""
    if name in SCALES:
        metrics = {SCALES[name]} | ({TIME_TO_TRAIN} if name == "throughput_scale" else set())
        sign = {metric: -1.0 if (name, metric) == ("throughput_scale", TIME_TO_TRAIN) else 1.0 for metric in metrics}
        return {metric: np.full(len(problem.rows), sign.get(metric, 0.0)) for metric in METRICS}
    moved = formulas(problem.columns, {**at, name: at[name] + _STEP}, samples=problem.samples)
    return {metric: np.nan_to_num((moved[metric] - said[metric]) / _STEP) for metric in METRICS}


def _fitted(
    keys: Sequence[tuple[int, str]], values: Array, levels: Sequence[Level], count: Mapping[Level, int]
) -> Fitted:
    shared: dict[str, float] = {}
    added: dict[Level, dict[str, float]] = {}
    for (level, name), value in zip(keys, values, strict=True):
        if level < 0:
            shared[name] = float(value)
        else:
            added.setdefault(levels[level], {})[name] = float(value)
    return Fitted(shared=shared, added=added, rows=count)
