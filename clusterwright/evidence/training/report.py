"""What `clusterwright validate training` says: every row of a file predicted, and the errors in figures.

Predictions are those of the calibration in use: numbers of the run's generation and stack, and the effects of its
accelerator, precision, architecture and software release as far as they are known. A release that was never measured
is as others of its family, and what was never measured widens the band (`sizing.hardware.bands`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.rows import NotExpressed
from clusterwright.evidence.training import band_parts, baseline
from clusterwright.evidence.training.effects import levels_of
from clusterwright.evidence.training.measured_memory import MemoryPrediction, figures
from clusterwright.evidence.training.predictions import columns_of, fits_memory, predicted_tokens_per_s_per_gpu
from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array, Tuning, stack
from clusterwright.sizing.hardware.bands import band_of
from clusterwright.sizing.hardware.calibration import DENSE, EXPERTS, Calibration
from clusterwright.sizing.hardware.residuals import Residuals

WORST_SHOWN = 10
GIB = 2.0**30
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Predictions:
    """Every run of a file, predicted.

    Attributes:
        rate: tokens per second per GPU; errors, baseline_errors: ln(measured/predicted).
        low, high: P10 and P90 of the rate; in_band: measured lies between; fits: the layout fits into memory.
        rows_per_s: predictions per second, reading the file left out.
    """

    runs: tuple[Run, ...]
    rate: Array
    errors: Array
    baseline_errors: Array
    low: Array
    high: Array
    in_band: Flags
    fits: Flags
    rows_per_s: float


def predict(runs: Sequence[Run], calibration: Calibration, *, shares: baseline.Shares) -> Predictions:
    """Return the predictions of all runs.

    Args:
        runs: of a file.
        calibration: numbers, effects and bands.
        shares: the baseline's.
    """
    began = time.perf_counter()
    numbers = _Numbers(calibration)
    tuning = _per_candidate(runs, [numbers.tuning(run) for run in runs])
    columns = columns_of(runs)
    bands = [numbers.band(run) for run in runs]
    medians = np.array([band.p50 for band in bands])
    rate = predicted_tokens_per_s_per_gpu(columns, tuning) * np.exp(medians)
    elapsed = time.perf_counter() - began
    measured = np.array([run.tokens_per_s_per_gpu for run in runs])
    errors = np.log(measured / rate)
    low = np.array([band.p10 for band in bands]) - medians
    high = np.array([band.p90 for band in bands]) - medians
    return Predictions(
        runs=tuple(runs),
        rate=rate,
        errors=errors,
        baseline_errors=baseline.residuals(runs, shares),
        low=rate * np.exp(low),
        high=rate * np.exp(high),
        in_band=(errors >= low) & (errors <= high),
        fits=fits_memory(columns),
        rows_per_s=len(runs) / elapsed,
    )


class _Numbers:
    """The calibrated numbers and bands of runs, each looked up once per accelerator and stack."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._measured = calibration.measured()
        self._of = cache(
            lambda generation, accelerator, stack: (
                calibration.of(generation=generation, accelerator=accelerator, stack=stack).tuning
            )
        )

    def tuning(self, run: Run) -> Tuning:
        """Return the numbers of a run's accelerator and stack."""
        return self._of(run.generation, run.accelerator, run.stack)

    def band(self, run: Run) -> Residuals:
        """Return the band of a run about the effects that it is known to have."""
        band = band_of(self._calibration.bands, band_parts.parts_of(run, self._measured))
        return band.shifted(self._calibration.effect(levels_of(run)))


def _per_candidate(runs: Sequence[Run], tunings: Sequence[Tuning]) -> Tuning:
    return stack([tuning for run, tuning in zip(runs, tunings, strict=True) for _ in run.candidates])


def document(
    predictions: Predictions | None, skipped: Sequence[NotExpressed], memory: Sequence[MemoryPrediction] = ()
) -> dict[str, Any]:
    """Return the JSON document: the figures of all rows, and by kind of model and by accelerator.

    Args:
        predictions: None where no row could be predicted.
        skipped: the rows that were not.
        memory: of the rows with a published peak, or that are known to have run or not.
    """
    runs = (*(predictions.runs if predictions else ()), *(one.run for one in memory))
    names = sorted({run.gpu for run in runs} | {row.gpu for row in skipped})
    parts: dict[str, tuple[Callable[[Run], bool], Callable[[NotExpressed], bool]]] = {
        DENSE: (lambda run: run.kind == DENSE, lambda row: not row.experts),
        EXPERTS: (lambda run: run.kind == EXPERTS, lambda row: row.experts),
    }
    for name in names:
        parts[name] = (lambda run, gpu=name: run.gpu == gpu, lambda row, gpu=name: row.gpu == gpu)  # type: ignore[misc]
    everything = _figures(predictions, skipped, memory, lambda _: True)
    by = {
        name: _figures(predictions, [row for row in skipped if left(row)], memory, chosen)
        for name, (chosen, left) in parts.items()
    }
    return {"schema": 1, **everything, "by": by}


def _figures(
    predictions: Predictions | None,
    skipped: Sequence[NotExpressed],
    memory: Sequence[MemoryPrediction],
    chosen: Callable[[Run], bool],
) -> dict[str, Any]:
    rows: list[int] = []
    if predictions is not None:
        rows = [index for index, run in enumerate(predictions.runs) if chosen(run)]
    if predictions is None or not rows:
        found: dict[str, Any] = dict.fromkeys(
            ("median_ape", "p90_ape", "median_abs_log", "baseline_median_ape", "in_band", "false_oom", "rows_per_s")
        )
        worst: list[dict[str, Any]] = []
    else:
        errors = predictions.errors[rows]
        shares = np.abs(np.expm1(-errors))
        found = {
            "median_ape": float(np.median(shares)),
            "p90_ape": float(np.quantile(shares, 0.9)),
            "median_abs_log": float(np.median(np.abs(errors))),
            "baseline_median_ape": float(np.median(np.abs(np.expm1(-predictions.baseline_errors[rows])))),
            "in_band": float(np.mean(predictions.in_band[rows])),
            "false_oom": int(np.sum(~predictions.fits[rows])),
            "rows_per_s": predictions.rows_per_s,
        }
        order = sorted(rows, key=lambda index: (-abs(float(predictions.errors[index])), predictions.runs[index].id))
        worst = [_row(predictions, index) for index in order[:WORST_SHOWN]]
    left = [{"id": row.id, "reason": row.reason} for row in skipped]
    return {
        "rows": len(rows) + len(left) + sum(chosen(one.run) and not one.run.timed for one in memory),
        "predicted": len(rows),
        **found,
        "memory": figures(one for one in memory if chosen(one.run)),
        "not_expressed": left,
        "worst": worst,
    }


#: Columns of the file that `--predictions` names.
PREDICTION_COLUMNS = ("id", "metric", "measured", "predicted", "p10", "p90", "fit_probability")


def prediction_rows(predictions: Predictions | None, memory: Sequence[MemoryPrediction]) -> Iterator[tuple[str, ...]]:
    """Yield the prediction of every row: tokens per second per GPU, and peak memory in GiB with its chance to fit."""
    if predictions is not None:
        columns = (predictions.rate, predictions.low, predictions.high)
        for run, rate, low, high in zip(predictions.runs, *columns, strict=True):
            yield run.id, "tokens_per_s_per_gpu", *(f"{x:.6g}" for x in (run.tokens_per_s_per_gpu, rate, low, high)), ""
    for one in memory:
        peak = "" if one.run.memory_bytes is None else f"{one.run.memory_bytes / GIB:.6g}"
        predicted = (f"{x / GIB:.6g}" for x in (one.predicted_bytes, one.low_bytes, one.high_bytes))
        yield one.run.id, "peak_memory_gib", peak, *predicted, f"{one.fit_probability:.4f}"


def _row(predictions: Predictions, index: int) -> dict[str, Any]:
    run = predictions.runs[index]
    return {
        "id": run.id,
        "measured_tokens_per_s_per_gpu": run.tokens_per_s_per_gpu,
        "predicted_tokens_per_s_per_gpu": float(predictions.rate[index]),
        "ln_measured_over_predicted": float(predictions.errors[index]),
    }
