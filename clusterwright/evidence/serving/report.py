"""What `clusterwright validate serving` says: every row predicted with its band, and the errors in figures."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.rows import NotExpressed
from clusterwright.evidence.serving.fitting import logarithms, predict, problem_of
from clusterwright.evidence.serving.measurements import Measurement, Read
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import LEVELS, METRICS, THROUGHPUT, Calibration

SCHEMA = 1
WORST_SHOWN = 10
PREDICTION_COLUMNS = ("id", "metric", "measured", "predicted", "p10", "p90", "level")
#: Rows that are predicted together; more would not be faster and take more memory.
_CHUNK = 20_000
_FIGURES = ("median_ape", "p90_ape", "median_abs_log", "bias", "in_band", "band_width")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Predictions:
    """Every row, predicted.

    Attributes:
        median, low, high: P50, P10 and P90 by metric; level: of each row, one of `LEVELS`.
        rows_per_s: reading the file left out.
    """

    rows: tuple[Measurement, ...]
    median: Mapping[str, Array]
    low: Mapping[str, Array]
    high: Mapping[str, Array]
    level: tuple[str, ...]
    rows_per_s: float | None


def predictions_of(rows: Sequence[Measurement], calibration: Calibration) -> Predictions:
    """Return the predictions of rows by their configurations alone."""
    started = time.perf_counter()
    parts = [_chunk(rows[start : start + _CHUNK], calibration) for start in range(0, len(rows), _CHUNK)]
    spent = time.perf_counter() - started
    joined = [
        {
            metric: np.concatenate([part[which][metric] for part in parts]) if parts else np.zeros(0)
            for metric in METRICS
        }
        for which in range(3)
    ]
    return Predictions(
        rows=tuple(rows),
        median=joined[0],
        low=joined[1],
        high=joined[2],
        level=tuple(calibration.level_of(row) for row in rows),
        rows_per_s=len(rows) / spent if rows and spent else None,
    )


def _chunk(rows: Sequence[Measurement], calibration: Calibration) -> tuple[dict[str, Array], ...]:
    problem = problem_of(rows)
    found = predict(problem, logarithms(problem, calibration.fitted))
    levels = [calibration.level_of(row) for row in rows]
    median: dict[str, Array] = {}
    low: dict[str, Array] = {}
    high: dict[str, Array] = {}
    for metric in METRICS:
        bands = [calibration.band_of(row, level, metric) for row, level in zip(rows, levels, strict=True)]
        median[metric] = np.exp(found[metric])
        low[metric] = np.exp(found[metric] + np.array([band[0] for band in bands]))
        high[metric] = np.exp(found[metric] + np.array([band[1] for band in bands]))
    return median, low, high


def document(read: Read, predictions: Predictions) -> dict[str, Any]:
    """Return the figures of a file."""
    rows = predictions.rows
    tops = _figures(predictions, [(index, row.top) for index, row in enumerate(rows)])
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "rows": len(rows) + len(read.skipped),
        "predicted": len(rows),
        "excluded": read.excluded,
        **tops,
        "rows_per_s": predictions.rows_per_s,
        "by": _by(predictions),
        "not_expressed": [{"id": row.id, "reason": row.reason} for row in read.skipped],
        "worst": _worst(predictions),
    }
    return found


def _by(predictions: Predictions) -> dict[str, Any]:
    rows = predictions.rows
    found: dict[str, Any] = {}

    def part(name: str, chosen: Callable[[int], bool], metric: str = "") -> None:
        picked = [(index, metric or row.top) for index, row in enumerate(rows) if chosen(index)]
        found[name] = {"rows": len(picked), "predicted": len(picked), **_figures(predictions, picked)}

    for metric in METRICS:
        part(metric, lambda index: metric in rows[index].measured, metric)  # noqa: B023 - called at once
    part("dense", lambda index: not rows[index].model.routed)
    part("moe", lambda index: rows[index].model.routed)
    part("disaggregated", lambda index: rows[index].disaggregated)
    part("speculative", lambda index: bool(rows[index].speculative))
    for level in LEVELS:
        of_level = [name == level for name in predictions.level]
        part(level, lambda index: of_level[index] and rows[index].top == THROUGHPUT, THROUGHPUT)  # noqa: B023
        for metric in METRICS:
            part(
                f"{level} {metric}",
                lambda index: of_level[index] and metric in rows[index].measured,  # noqa: B023
                metric,
            )
    for attribute in ("named_accelerator", "named_model", "named_framework"):
        for name in dict.fromkeys(getattr(row, attribute) for row in rows):
            if name:
                part(name, lambda index: getattr(rows[index], attribute) == name)  # noqa: B023
    return found


def _figures(predictions: Predictions, picked: Sequence[tuple[int, str]]) -> dict[str, Any]:
    """Return the errors of (row, metric) pairs, those not measured left out; null without any."""
    measured, median, low, high = [], [], [], []
    for index, metric in picked:
        value = predictions.rows[index].measured.get(metric)
        if value is None:
            continue
        measured.append(value)
        median.append(predictions.median[metric][index])
        low.append(predictions.low[metric][index])
        high.append(predictions.high[metric][index])
    if not measured:
        return dict.fromkeys(_FIGURES)
    true, said = np.array(measured), np.array(median)
    least, most = np.array(low), np.array(high)
    apes = np.abs(said / true - 1.0)
    return {
        "median_ape": float(np.median(apes)),
        "p90_ape": float(np.quantile(apes, 0.9)),
        "median_abs_log": float(np.median(np.abs(np.log(said / true)))),
        "bias": float(np.median(said / true - 1.0)),
        "in_band": float(np.mean((least <= true) & (true <= most))),
        "band_width": float(np.median(most / least)),
    }


def _worst(predictions: Predictions) -> list[dict[str, Any]]:
    found = []
    for index, row in enumerate(predictions.rows):
        value = row.measured.get(row.top)
        if value is not None:
            said = float(predictions.median[row.top][index])
            found.append((abs(float(np.log(value / said))), row, value, said))
    found.sort(key=lambda one: (-one[0], one[1].line))
    return [
        {"id": row.id, "metric": row.top, "measured": value, "predicted": said,
         "ln_measured_over_predicted": float(np.log(value / said))}
        for _, row, value, said in found[:WORST_SHOWN]
    ]  # fmt: skip


def prediction_rows(predictions: Predictions) -> Iterator[tuple[str, ...]]:
    """Yield every metric of every row, measured or not."""
    for index, row in enumerate(predictions.rows):
        for metric in METRICS:
            value = row.measured.get(metric)
            numbers = (predictions.median, predictions.low, predictions.high)
            yield (
                row.id, metric, "" if value is None else f"{value:.6g}",
                *(f"{column[metric][index]:.6g}" for column in numbers), predictions.level[index],
            )  # fmt: skip


def skipped_wrong(read: Read) -> list[NotExpressed]:
    """Return the rows that are bad input rather than beyond what the formulas express."""
    return [row for row in read.skipped if row.wrong]
