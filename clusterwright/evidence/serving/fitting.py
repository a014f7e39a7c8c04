"""Factors fitted to measurements: global ones, and what accelerators, frameworks and formats add, shrunk to zero.

ln(metric) is linearised in the logarithms of the factors. A factor of a row is the global one plus what each of the
row's levels adds to it; additions have normal priors, the wider the more a level is known to matter, so that a level
with few rows stays with its parents. Student's t noise makes odd rows count less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.serving.measurements import Measurement
from clusterwright.evidence.serving.predictions import formulas, measured_columns
from clusterwright.evidence.shrinkage import misfit, roots, shrunk
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving import calibration
from clusterwright.sizing.serving.calibration import (
    ENERGY,
    LARGEST_MODEL_EFFECT,
    METRICS,
    NOTHING_FITTED,
    OF_MODEL,
    SCALES,
    THROUGHPUT,
    TPOT_MEDIAN,
    TTFT_MEAN,
    TTFT_MEDIAN,
    TTFT_P99,
    Fitted,
    Level,
    Memberships,
    factors_of,
    memberships,
    scale_of,
)
from clusterwright.sizing.serving.columns import taken
from clusterwright.sizing.serving.configuration import Columns, columns_of

#: Factors of the formulas that are fitted, and how far the global one may move (standard deviation of ln).
FITTED = MappingProxyType(
    {
        "efficiency_16": 0.3,
        "efficiency_8": 0.3,
        "efficiency_4": 0.4,
        "expert_efficiency": 0.3,
        "expert_rows": 0.7,
        "attention_efficiency": 0.4,
        "bandwidth_share": 0.2,
        "cache_share": 0.4,
        "expert_bandwidth_share": 0.3,
        "layer_s": 0.7,
        "expert_layer_s": 0.7,
        "step_s": 0.7,
        "sequence_s": 1.0,
        "collective_s": 0.7,
        "link_share": 0.4,
        "imbalance": 0.5,
        "first_token_s": 1.0,
        "transfer_s": 1.0,
        "prefill_layer_s": 0.7,
        "admission_steps": 1.0,
        "burst_share": 0.7,
        "queue_share": 0.7,
        "accepted_share": 0.3,
        "draft_cost": 0.7,
        "step_scale": 0.5,
        "prefill_scale": 0.5,
        "idle_power": 0.3,
        "compute_power": 0.3,
        "memory_power": 0.3,
        "reserved_bytes": 0.4,
    }
)
_EFFICIENCIES = ("efficiency_16", "efficiency_8", "efficiency_4")
_FIXED_TIMES = ("layer_s", "expert_layer_s", "step_s", "sequence_s", "collective_s")
_ALL = ("step_scale", "prefill_scale")
#: Levels by kind: standard deviation of what one adds to the logarithm of a factor, and the factors it adds to.
ADDITIONS: Mapping[str, tuple[float, tuple[str, ...]]] = MappingProxyType(
    {
        "vendor": (0.15, (*_ALL, *_EFFICIENCIES, *_FIXED_TIMES, "bandwidth_share", "cache_share", "link_share")),
        "generation": (
            0.15,
            (
                *_ALL,
                *_EFFICIENCIES,
                *_FIXED_TIMES,
                "bandwidth_share",
                "cache_share",
                "link_share",
                "energy_scale",
                "idle_power",
                "compute_power",
                "memory_power",
            ),
        ),
        "accelerator": (0.05, (*_ALL, "bandwidth_share", "layer_s", "energy_scale")),
        "framework": (
            0.2,
            (
                *_ALL,
                *_FIXED_TIMES,
                "expert_efficiency",
                "attention_efficiency",
                "cache_share",
                "queue_share",
                "first_token_s",
                "expert_bandwidth_share",
                "ttft_scale",
                "ttft_mean_scale",
                "reserved_bytes",
                "prefill_layer_s",
                "admission_steps",
                "burst_share",
            ),
        ),
        # Counted, to know which releases were seen; what one adds cannot be distinguished from what its model does.
        "release": (0.0, ()),
        # What a user's own rows say of one model on one accelerator; published rows leave it to the levels above.
        "pair": (0.0, ()),
        "format": (0.1, (*_ALL, "expert_efficiency", "expert_bandwidth_share", "expert_layer_s", "layer_s")),
        "framework vendor": (0.15, ("admission_steps", "prefill_layer_s", "first_token_s", "burst_share")),
        "framework load": (0.15, ("admission_steps",)),
        "generation framework": (
            0.12,
            (
                *_ALL,
                *_FIXED_TIMES,
                "expert_efficiency",
                "attention_efficiency",
                "cache_share",
                "ttft_scale",
                "prefill_layer_s",
                "admission_steps",
            ),
        ),
        "generation format": (0.1, (*_ALL, "expert_efficiency", "expert_bandwidth_share", "expert_layer_s")),
        "framework format": (0.1, (*_ALL, "expert_efficiency", "expert_bandwidth_share", "expert_layer_s", "layer_s")),
        "architecture": (
            0.12,
            (
                *_ALL,
                "attention_efficiency",
                "cache_share",
                "layer_s",
                "expert_layer_s",
                "sequence_s",
                "prefill_layer_s",
                "burst_share",
            ),
        ),
        "sparse": (0.25, (*_ALL, "cache_share", "layer_s", "sequence_s", "attention_efficiency")),
        "framework architecture": (
            0.12,
            (*_ALL, "attention_efficiency", "cache_share", "layer_s", "expert_layer_s", "sequence_s"),
        ),
        "disaggregated": (
            0.2,
            (
                *_ALL,
                *_FIXED_TIMES,
                "queue_share",
                "first_token_s",
                "ttft_scale",
                "ttft_mean_scale",
                "throughput_scale",
                "energy_scale",
            ),
        ),
        "framework disaggregated": (
            0.15,
            (*_ALL, "expert_layer_s", "sequence_s", "transfer_s", "ttft_scale", "admission_steps", "burst_share"),
        ),
        "speculative": (0.2, (*_ALL, "accepted_share", "draft_cost", "sequence_s", "step_s", "ttft_scale")),
        "framework speculative": (0.15, (*_ALL, "accepted_share", "draft_cost", "sequence_s", "step_s")),
        "architecture speculative": (0.12, (*_ALL, "accepted_share", "draft_cost")),
        "protocol": (
            0.25,
            (*_ALL, *_EFFICIENCIES, "sequence_s", "step_s", "throughput_scale", "ttft_scale", "reserved_bytes"),
        ),
        "data parallel": (0.2, (*_ALL, "collective_s", "link_share", "imbalance", "expert_layer_s", "sequence_s")),
        "framework data parallel": (0.12, (*_ALL, "collective_s", "expert_layer_s", "admission_steps", "burst_share")),
    }
)
#: Standard deviation of what no level explains, by metric; larger than one row's, as rows of a curve err together.
NOISE = MappingProxyType(
    {THROUGHPUT: 0.25, TPOT_MEDIAN: 0.25, TTFT_MEDIAN: 0.22, TTFT_MEAN: 0.22, TTFT_P99: 0.5, ENERGY: 0.25}
)
#: What a step that is slower by some share does to the scales of results, in ln.
_SLOWER = MappingProxyType({"tpot_scale": 1.0, "throughput_scale": -1.0, "ttft_scale": 1.0, "energy_scale": 1.0})
_STEP = 0.02
_ROUNDS = 5
NAMES = (*FITTED, *SCALES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Measurements ready to fit: columns, levels by row, what was measured."""

    rows: Sequence[Measurement]
    columns: Columns
    levels: tuple[Level, ...]
    members: npt.NDArray[np.float64]
    measured: Mapping[str, Array]


def problem_of(rows: Sequence[Measurement]) -> Problem:
    """Return measurements as a problem to fit or to predict."""
    belonging = memberships(rows)
    return Problem(
        rows=rows,
        columns=columns_of(rows),
        levels=belonging.levels,
        members=belonging.members,
        measured=measured_columns(rows),
    )


def logarithms(problem: Problem, fitted: Fitted) -> dict[str, Array]:
    """Return ln of each row's factors and scales over their defaults."""
    return calibration.logarithms(Memberships(levels=problem.levels, members=problem.members), fitted)


def predict(problem: Problem, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return ln of every metric under factors given by their logarithms."""
    return predict_columns(problem.rows, problem.columns, given)


def predict_columns(rows: Sequence[Measurement], columns: Columns, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return ln of every metric of measurements under factors given by their logarithms."""
    _, metrics = formulas(rows, columns, factors_of(given))
    found = {}
    for metric in METRICS:
        found[metric] = np.log(np.maximum(metrics[metric], 1e-12)) + scale_of(given, metric)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Linear:
    """The metrics of a problem linearised at given logarithms."""

    at: Mapping[str, Array]
    values: Mapping[str, Array]
    slopes: Mapping[str, Mapping[str, Array]]


def linearise(problem: Problem, at: Mapping[str, Array], *, names: Iterable[str] = FITTED) -> Linear:
    """Return metrics and their slopes in the logarithm of each factor of `names`."""
    values = predict(problem, at)
    slopes: dict[str, dict[str, Array]] = {metric: {} for metric in METRICS}
    for name in names:
        moved = predict(problem, {**at, name: at[name] + _STEP})
        for metric in METRICS:
            slope = (moved[metric] - values[metric]) / _STEP
            if np.abs(slope).max() > 1e-4:  # noqa: PLR2004 - rounding of the bisection
                slopes[metric][name] = np.clip(slope, -3.0, 3.0)
    return Linear(at=at, values=values, slopes=slopes)


def fit(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None, *, start: Linear | None = None, rounds: int = _ROUNDS
) -> Fitted:
    """Return fitted factors.

    Args:
        problem: measurements.
        used: rows to fit on, all if None.
        start: a linearisation to begin with.
        rounds: solutions, each linearised at the one before.
    """
    used = np.ones(len(problem.rows), dtype=bool) if used is None else used
    equations = _Equations(problem, used)
    linear = start or linearise(problem, logarithms(problem, NOTHING_FITTED))
    fitted = NOTHING_FITTED
    for turn in range(rounds):
        if turn:
            linear = linearise(problem, logarithms(problem, fitted))
        fitted = equations.solve(linear, fitted if turn else None)
    return _with_names(problem, used, fitted, slower=_slower(problem, predict(problem, logarithms(problem, fitted))))


def _slower(problem: Problem, said: Mapping[str, Array]) -> Array:
    """Return by how much each row's step is slower than said, in ln: of its time per token, else its throughput."""
    own = np.log(problem.measured[TPOT_MEDIAN]) - said[TPOT_MEDIAN]
    return np.where(np.isfinite(own), own, said[THROUGHPUT] - np.log(problem.measured[THROUGHPUT]))


def _with_names(problem: Problem, used: npt.NDArray[np.bool_], fitted: Fitted, *, slower: Array) -> Fitted:
    """Return factors with what models' names add to the step's time: the median of what is left, shrunk."""
    added, rows = dict(fitted.added), dict(fitted.rows)
    for kind, half in OF_MODEL.items():
        left = slower.copy()
        for index, level in enumerate(problem.levels):
            if level[0] != kind:
                continue
            members = problem.members[:, index] > 0
            own = slower[used & members]
            own = own[np.isfinite(own)]
            if len(own):
                shown = float(np.median(own)) * len(own) / (len(own) + half)
                shown = float(np.clip(shown, -LARGEST_MODEL_EFFECT, LARGEST_MODEL_EFFECT))
                # Of the results, so that a new name moves none of them by more: waiting would multiply what steps take.
                added[level] = {scale: sign * shown for scale, sign in _SLOWER.items()}
                rows[level] = len(own)
                left[members] -= shown
        slower = left
    return Fitted(shared=fitted.shared, added=added, rows=rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """Cells of measurements that are predicted, and those that the factors must not have seen."""

    predicted: frozenset[str]
    unseen: frozenset[str]


def left_out(problem: Problem, fitted: Fitted, cells: Sequence[str], folds: Sequence[Fold]) -> dict[str, Array]:
    """Return ln(measured/predicted) by metric, each row predicted with factors that have not seen its fold.

    The equations are linearised once, at the factors of all rows; each fold solves them again without its rows, and
    the formulas themselves predict what was left out.

    Args:
        problem: measurements.
        fitted: to all of them; where the equations are linearised.
        cells: of each measurement.
        folds: of cells.
    """
    plain = {level: values for level, values in fitted.added.items() if level[0] not in OF_MODEL}
    nameless = Fitted(shared=fitted.shared, added=plain, rows=fitted.rows)
    everything = np.ones(len(problem.rows), dtype=bool)
    equations = _Equations(problem, everything)
    system = equations.system(linearise(problem, logarithms(problem, nameless)), nameless)
    place = np.array(cells)
    parts = {cell: system.part(place == cell) for cell in sorted(set(cells))}
    whole = system.part(everything)
    residuals = {metric: np.full(len(problem.rows), np.nan) for metric in METRICS}
    for fold in folds:
        normal = whole[0] - sum(parts[cell][0] for cell in fold.unseen)
        right = whole[1] - sum(parts[cell][1] for cell in fold.unseen)
        values = np.linalg.solve(normal + np.eye(len(right)), right) * system.deviations
        used = ~np.isin(place, list(fold.unseen))
        own = _with_names(problem, used, equations.fitted(values), slower=system.slower(values))
        test = np.flatnonzero(np.isin(place, list(fold.predicted)))
        few = taken_problem(problem, test)
        said = predict(few, logarithms(few, own))
        for metric in METRICS:
            residuals[metric][test] = np.log(few.measured[metric]) - said[metric]
    return residuals


def taken_problem(problem: Problem, index: npt.NDArray[np.intp]) -> Problem:
    """Return some measurements of a problem."""
    columns = problem.columns
    return Problem(
        rows=[problem.rows[one] for one in index],
        columns=Columns(
            model=taken(columns.model, index), device=taken(columns.device, index), place=taken(columns.place, index)
        ),
        levels=problem.levels,
        members=problem.members[index],
        measured={metric: values[index] for metric, values in problem.measured.items()},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _System:
    """Linearised equations with the weights of all rows; row: the measurement behind each."""

    matrix: Array
    target: Array
    root: Array
    row: npt.NDArray[np.intp]
    metric: npt.NDArray[np.intp]
    count: int
    deviations: Array

    def part(self, chosen: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the normal equations of some measurements."""
        picked = chosen[self.row]
        root = self.root[picked]
        left = self.matrix[picked] * self.deviations.astype(np.float32) * root[:, None]
        return (left.T @ left).astype(float), left.T.astype(float) @ (root * self.target[picked])

    def slower(self, values: Array) -> Array:
        """Return by how much each measurement's step is slower than the solution says, in ln."""
        left = self.target - self.matrix @ values.astype(np.float32)
        found = np.full(self.count, np.nan)
        for metric, sign in ((THROUGHPUT, -1.0), (TPOT_MEDIAN, 1.0)):
            own = self.metric == METRICS.index(metric)
            found[self.row[own]] = sign * left[own]
        return found


class _Equations:
    """A row per measured metric, a column per factor and per level's addition to one."""

    def __init__(self, problem: Problem, used: npt.NDArray[np.bool_]) -> None:
        self._problem, self._used = problem, used
        counts = problem.members[used].sum(axis=0)
        self._counts = {level: int(count) for level, count in zip(problem.levels, counts, strict=True) if count >= 1}
        self._keys: list[tuple[int, str]] = [(-1, name) for name in NAMES]
        deviations = [FITTED.get(name, 0.03 if name in ("throughput_scale", "tpot_scale") else 0.3) for name in NAMES]
        for index, level in enumerate(problem.levels):
            if counts[index] < 1 or level[0] in OF_MODEL:
                continue
            deviation, names = ADDITIONS[level[0]]
            for name in names:
                self._keys.append((index, name))
                deviations.append(deviation * _width(name))
        self._deviations = np.array(deviations)
        self._rows = {metric: np.flatnonzero(used & np.isfinite(problem.measured[metric])) for metric in METRICS}
        self._log = {metric: np.log(problem.measured[metric][rows]) for metric, rows in self._rows.items()}

    def _matrix(self, linear: Linear) -> tuple[Array, Array, Array]:
        blocks, targets, noises = [], [], []
        for metric in METRICS:
            rows = self._rows[metric]
            slopes = {name: slope[rows] for name, slope in linear.slopes[metric].items()}
            slopes |= {name: np.ones(len(rows)) for name, scaled in SCALES.items() if metric in scaled}
            target = self._log[metric] - linear.values[metric][rows]
            # The unknowns are whole logarithms, not steps from where the metrics were linearised.
            for name, slope in slopes.items():
                target = target + slope * linear.at[name][rows]
            block = np.zeros((len(rows), len(self._keys)), dtype=np.float32)
            members = self._problem.members[rows]
            for column, (index, name) in enumerate(self._keys):
                if name in slopes:
                    block[:, column] = slopes[name] if index < 0 else slopes[name] * members[:, index]
            blocks.append(block)
            targets.append(target)
            noises.append(np.full(len(rows), NOISE[metric]))
        return np.concatenate(blocks), np.concatenate(targets), np.concatenate(noises)

    def _misfit(self, values: Array) -> tuple[float, Fitted]:
        fitted = self.fitted(values)
        found = predict(self._problem, logarithms(self._problem, fitted))
        total = float(np.sum((values / self._deviations) ** 2)) / 2
        for metric, rows in self._rows.items():
            rest = (self._log[metric] - found[metric][rows]) / NOISE[metric]
            total += misfit(rest)
        return total, fitted

    def system(self, linear: Linear, fitted: Fitted) -> _System:
        """Return the equations linearised, weighted by what fitted factors leave."""
        matrix, target, noise = self._matrix(linear)
        rest = (target - matrix @ self._values(fitted)) / noise
        return _System(
            matrix=matrix,
            target=target,
            root=roots(rest, noise=noise),
            row=np.concatenate([self._rows[metric] for metric in METRICS]),
            metric=np.concatenate([np.full(len(self._rows[metric]), at) for at, metric in enumerate(METRICS)]),
            count=len(self._problem.rows),
            deviations=self._deviations,
        )

    def solve(self, linear: Linear, before: Fitted | None) -> Fitted:
        """Return the solution of the linearised equations, or what lies on the way to it where that fits better."""
        matrix, target, noise = self._matrix(linear)
        start = self._values(before)
        values = shrunk(matrix, target, noise=noise, deviations=self._deviations, start=start)
        best = self._misfit(start) if before is not None else (np.inf, NOTHING_FITTED)
        for share in (1.0, 0.5, 0.25):
            tried = self._misfit(start + share * (values - start))
            if tried[0] < best[0]:
                return tried[1]
        return best[1]

    def _values(self, fitted: Fitted | None) -> Array:
        if fitted is None:
            return np.zeros(len(self._keys))
        levels = self._problem.levels
        return np.array(
            [
                fitted.shared.get(name, 0.0) if index < 0 else fitted.added.get(levels[index], {}).get(name, 0.0)
                for index, name in self._keys
            ]
        )

    def fitted(self, values: Array) -> Fitted:
        """Return the unknowns as factors."""
        shared: dict[str, float] = {}
        added: dict[Level, dict[str, float]] = {}
        for (index, name), value in zip(self._keys, values, strict=True):
            if index < 0:
                shared[name] = float(value)
            elif value:
                added.setdefault(self._problem.levels[index], {})[name] = float(value)
        return Fitted(shared=shared, added=added, rows=self._counts)


def _width(name: str) -> float:
    """Return how much wider than others a factor differs between levels: fixed times more, scales of metrics less."""
    if name in SCALES:
        return 1.0 if name.startswith("ttft") else 0.4
    if name == "admission_steps":
        return 5.0
    return 1.5 if name.endswith("_s") or name in ("queue_share", "draft_cost") else 1.0
