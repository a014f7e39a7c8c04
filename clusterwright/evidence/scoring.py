"""Rows of measurements predicted with their bands, and the errors in figures, whatever was measured.

ape = |predicted / measured - 1|; quantiles are linear; `bias` is the median of predicted / measured - 1; `in_band` the
share of measured values inside P10 to P90; `band_width` the median of P90 / P10. Null where nothing was measured.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from clusterwright.evidence.reading import Read
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import LEVELS

SCHEMA = 1
WORST_SHOWN = 10
PREDICTION_COLUMNS = ("id", "metric", "measured", "predicted", "p10", "p90", "level")
#: Rows that are predicted together; more would not be faster and take more memory.
_CHUNK = 20_000
_FIGURES = ("median_ape", "p90_ape", "median_abs_log", "bias", "in_band", "band_width")


class Measured(Protocol):
    """A row: what it measured by metric, the metric that it counts by at the top, names as the file writes them."""

    @property
    def id(self) -> str:
        """Its id, or its line."""

    @property
    def line(self) -> int:
        """Of the file."""

    @property
    def top(self) -> str:
        """The metric that it counts by."""

    @property
    def measured(self) -> Mapping[str, float]:
        """What was measured, by metric."""

    @property
    def named_accelerator(self) -> str:
        """As the file writes it."""

    @property
    def named_model(self) -> str:
        """As the file writes it."""

    @property
    def named_framework(self) -> str:
        """As the file writes it."""


_Row = TypeVar("_Row", bound=Measured)
_Row_contra = TypeVar("_Row_contra", contravariant=True)


class Judge(Protocol[_Row_contra]):
    """A calibration: what it has seen of a row, and how far off it is there."""

    def level_of(self, row: _Row_contra, /) -> str:
        """Return how much of a row the calibration has seen."""

    def band_of(self, row: _Row_contra, level: str, metric: str, /) -> tuple[float, float]:
        """Return P10 and P90 of ln(measured/predicted)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Predictions(Generic[_Row]):
    """Every row, predicted.

    Attributes:
        metrics: in the order of printing.
        median, low, high: P50, P10 and P90 by metric, NaN where a row has no such metric; level: of each row, one of
            `LEVELS`.
        rows_per_s: reading the file left out.
    """

    rows: tuple[_Row, ...]
    metrics: tuple[str, ...]
    median: Mapping[str, Array]
    low: Mapping[str, Array]
    high: Mapping[str, Array]
    level: tuple[str, ...]
    rows_per_s: float | None


def predicted(
    rows: Sequence[_Row],
    *,
    metrics: tuple[str, ...],
    judge: Judge[_Row],
    formulas: Callable[[Sequence[_Row]], Mapping[str, Array]],
) -> Predictions[_Row]:
    """Return the predictions of rows by their configurations alone; `formulas` gives the logarithm of each metric."""
    started = time.perf_counter()
    levels = tuple(judge.level_of(row) for row in rows)
    medians: dict[str, list[Array]] = {metric: [] for metric in metrics}
    for start in range(0, len(rows), _CHUNK):
        found = formulas(rows[start : start + _CHUNK])
        for metric in metrics:
            medians[metric].append(found[metric])
    logarithm = {metric: np.concatenate(parts) if parts else np.zeros(0) for metric, parts in medians.items()}
    low, high = {}, {}
    for metric in metrics:
        bands = [judge.band_of(row, level, metric) for row, level in zip(rows, levels, strict=True)]
        low[metric] = np.exp(logarithm[metric] + np.array([band[0] for band in bands]))
        high[metric] = np.exp(logarithm[metric] + np.array([band[1] for band in bands]))
    spent = time.perf_counter() - started
    return Predictions(
        rows=tuple(rows),
        metrics=metrics,
        median={metric: np.exp(values) for metric, values in logarithm.items()},
        low=low,
        high=high,
        level=levels,
        rows_per_s=len(rows) / spent if rows and spent else None,
    )


def document(
    read: Read[_Row],
    predictions: Predictions[_Row],
    *,
    parts: Mapping[str, Callable[[_Row], bool]],
    level_metric: str = "",
) -> dict[str, Any]:
    """Return the figures of a file.

    Args:
        read: the file.
        predictions: of its rows.
        parts: of the rows, each with figures of its own.
        level_metric: the metric that a level's figures count, by rows that have it at the top; each row's own if empty.
    """
    rows = predictions.rows
    return {
        "schema": SCHEMA,
        "rows": len(rows) + len(read.skipped),
        "predicted": len(rows),
        "excluded": read.excluded,
        **_figures(predictions, [(index, row.top) for index, row in enumerate(rows)]),
        "rows_per_s": predictions.rows_per_s,
        "by": _by(predictions, parts, level_metric),
        "not_expressed": [{"id": row.id, "reason": row.reason} for row in read.skipped],
        "worst": _worst(predictions),
    }


def _by(
    predictions: Predictions[_Row], parts: Mapping[str, Callable[[_Row], bool]], level_metric: str
) -> dict[str, Any]:
    rows = predictions.rows
    found: dict[str, Any] = {}

    def part(name: str, chosen: Callable[[int], bool], metric: str = "") -> None:
        picked = [(index, metric or row.top) for index, row in enumerate(rows) if chosen(index)]
        found[name] = {"rows": len(picked), "predicted": len(picked), **_figures(predictions, picked)}

    for metric in predictions.metrics:
        part(metric, lambda index: metric in rows[index].measured, metric)  # noqa: B023 - called at once
    for name, belongs in parts.items():
        part(name, lambda index: belongs(rows[index]))  # noqa: B023
    for level in LEVELS:
        of_level = [name == level for name in predictions.level]
        part(
            level,
            lambda index: of_level[index] and level_metric in ("", rows[index].top),  # noqa: B023
            level_metric,
        )
        for metric in predictions.metrics:
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


def _figures(predictions: Predictions[_Row], picked: Sequence[tuple[int, str]]) -> dict[str, Any]:
    """Return the errors of (row, metric) pairs, those not measured left out; null without any."""
    measured, median, low, high = [], [], [], []
    for index, metric in picked:
        value = predictions.rows[index].measured.get(metric)
        if value is None or not np.isfinite(predictions.median[metric][index]):
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


def _worst(predictions: Predictions[_Row]) -> list[dict[str, Any]]:
    found = []
    for index, row in enumerate(predictions.rows):
        value = row.measured.get(row.top)
        if value is not None and np.isfinite(predictions.median[row.top][index]):
            said = float(predictions.median[row.top][index])
            found.append((abs(float(np.log(value / said))), row, value, said))
    found.sort(key=lambda one: (-one[0], one[1].line))
    return [
        {
            "id": row.id,
            "metric": row.top,
            "measured": value,
            "predicted": said,
            "ln_measured_over_predicted": float(np.log(value / said)),
        }
        for _, row, value, said in found[:WORST_SHOWN]
    ]


def prediction_rows(predictions: Predictions[_Row]) -> Iterator[tuple[str, ...]]:
    """Yield every metric of every row, measured or not; empty cells where a row has no such metric."""
    for index, row in enumerate(predictions.rows):
        for metric in predictions.metrics:
            value = row.measured.get(metric)
            columns = (predictions.median, predictions.low, predictions.high)
            numbers = [float(column[metric][index]) for column in columns]
            yield (
                row.id,
                metric,
                "" if value is None else f"{value:.6g}",
                *(f"{number:.6g}" if np.isfinite(number) else "" for number in numbers),
                predictions.level[index],
            )
