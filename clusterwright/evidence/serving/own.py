"""Rows of a user's own: what they add to the shipped factors of serving, shrunk to nothing where they show nothing.

ln(measured/predicted) of each row is taken as a sum of additions to the times of a step and a prefill and to the scales
of first tokens, energy and throughput, by accelerator, framework and pair of model and accelerator. Each is drawn from
a normal distribution around what is shipped, so that few rows move little and none move nothing.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType

import numpy as np

from clusterwright import assets
from clusterwright.evidence.calibration_tables import FACTOR_COLUMNS, PAIR_COLUMNS
from clusterwright.evidence.serving.fitting import Problem, linearise, logarithms, problem_of
from clusterwright.evidence.serving.measurements import Measurement
from clusterwright.evidence.shrinkage import shrunk
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import (
    ENERGY,
    FEWEST_ROWS,
    METRICS,
    SCALES,
    THROUGHPUT,
    TPOT_MEDIAN,
    TTFT_MEAN,
    TTFT_MEDIAN,
    TTFT_P99,
    Calibration,
    Level,
    table_names,
)

#: Standard deviation of what own rows add, by kind of level and by factor, in ln.
_OF_LEVELS = MappingProxyType({"accelerator": 0.1, "framework": 0.1, "generation framework": 0.07, "pair": 0.15})
_OF_FACTORS = MappingProxyType(
    {"step_scale": 1.0, "prefill_scale": 1.0, "ttft_scale": 2.0, "energy_scale": 0.5, "throughput_scale": 0.5}
)
#: Of a single row, with what it errs in common with the others of its curve.
_NOISE = MappingProxyType(
    {THROUGHPUT: 0.25, TPOT_MEDIAN: 0.25, TTFT_MEDIAN: 0.4, TTFT_MEAN: 0.4, TTFT_P99: 0.6, ENERGY: 0.25}
)
#: What the folder of an own calibration has beside serving, so that a plan finds both.
_OF_TRAINING = ("calibration.csv", "calibration_effects.csv")


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """What own rows add.

    Attributes:
        added: by level and factor, ln; rows: behind each level; pairs: rows by model and accelerator, of those that
            now count as seen.
        before, after: ln(measured/predicted) of all rows and metrics that were measured.
    """

    added: Mapping[Level, Mapping[str, float]]
    rows: Mapping[Level, int]
    pairs: Mapping[tuple[str, str], int]
    before: Array
    after: Array


def learn(rows: Sequence[Measurement], shipped: Calibration) -> Own:
    """Return what own rows add to a calibration; nothing without rows."""
    rows = [row for row in rows if row.measured]
    if not rows:
        return Own(added={}, rows={}, pairs={}, before=np.zeros(0), after=np.zeros(0))
    problem = problem_of(rows)
    keys = [
        (index, name) for index, level in enumerate(problem.levels) if level[0] in _OF_LEVELS for name in _OF_FACTORS
    ]
    deviations = np.array([_OF_LEVELS[problem.levels[index][0]] * _OF_FACTORS[name] for index, name in keys])
    matrix, target, noise = _equations(problem, shipped, keys)
    values = shrunk(matrix, target, noise=noise, deviations=deviations, start=np.zeros(len(keys)), rounds=5)
    added: dict[Level, dict[str, float]] = {}
    for (index, name), value in zip(keys, values, strict=True):
        if value:
            added.setdefault(problem.levels[index], {})[name] = float(value)
    counts = {level: int(problem.members[:, index].sum()) for index, level in enumerate(problem.levels)}
    pairs: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = row.model.name, row.accelerator.id
        pairs[pair] = pairs.get(pair, 0) + 1
    return Own(
        added=added,
        rows=counts,
        pairs={pair: count for pair, count in pairs.items() if count >= FEWEST_ROWS},
        before=target,
        after=target - matrix @ values,
    )


def _equations(problem: Problem, shipped: Calibration, keys: Sequence[tuple[int, str]]) -> tuple[Array, Array, Array]:
    """Return a row per measured metric and a column per unknown, what is left to explain, and its noise."""
    slopes = linearise(problem, logarithms(problem, shipped.fitted), names=("step_scale", "prefill_scale"))
    blocks, targets, noises = [], [], []
    for metric in METRICS:
        measured = np.isfinite(problem.measured[metric])
        block = np.zeros((int(measured.sum()), len(keys)))
        for column, (index, name) in enumerate(keys):
            moved = slopes.slopes[metric].get(name)
            if name in SCALES:
                moved = np.full(len(measured), float(metric in SCALES[name]))
            if moved is not None:
                block[:, column] = (moved * problem.members[:, index])[measured]
        blocks.append(block)
        targets.append(np.log(problem.measured[metric][measured]) - slopes.values[metric][measured])
        noises.append(np.full(len(block), _NOISE[metric]))
    return np.concatenate(blocks), np.concatenate(targets), np.concatenate(noises)


def write(folder: Path, own: Own, *, source: str, today: date) -> list[Path]:
    """Write the shipped tables with own additions to a folder, and what a plan needs beside; return their paths."""
    shipped = assets.root() / "catalog"
    factor_table, band_table, pair_table = table_names("serving")
    factors = {(row["kind"], row["level"], row["factor"]): row for row in _rows(shipped / factor_table)}
    for level, count in own.rows.items():
        for name, value in (own.added.get(level) or {"none": 0.0}).items():
            before = factors.get((*level, name), {"value": "0", "rows": "0", "source": ""})
            factors[(*level, name)] = {
                "kind": level[0],
                "level": level[1],
                "factor": name,
                "unit": "ln",
                "date": today.isoformat(),
                "value": f"{float(before['value']) + value:.4f}",
                "rows": str(int(before["rows"]) + count),
                "source": " ".join(part for part in (before["source"], source) if part),
            }
    pairs = {(row["model"], row["accelerator"]): row for row in _rows(shipped / pair_table)}
    for pair, count in own.pairs.items():
        before = pairs.get(pair, {"rows": "0", "source": ""})
        pairs[pair] = {
            "model": pair[0],
            "accelerator": pair[1],
            "rows": str(int(before["rows"]) + count),
            "source": " ".join(part for part in (before["source"], source) if part),
            "date": today.isoformat(),
        }
    texts = {
        factor_table: _text(FACTOR_COLUMNS, factors.values()),
        band_table: (shipped / band_table).read_text(encoding="utf-8"),
        pair_table: _text(PAIR_COLUMNS, pairs.values()),
    }
    folder.mkdir(parents=True, exist_ok=True)
    texts |= {
        name: (shipped / name).read_text(encoding="utf-8") for name in _OF_TRAINING if not (folder / name).exists()
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _text(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
