"""Memory of measured runs as their sources count it, and how likely a layout is to fit.

A peak is predicted with what is known of the run's software (copies of the states, scores that attention keeps, bytes
of a logit) and compared with the terms that its source counts. ln(measured/predicted) of published runs, by whether
their software is known, says how likely a layout is to fit into the memory of its GPUs:
`catalog/calibration_memory.csv`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.evidence.training.predictions import RunColumns, columns_of
from clusterwright.evidence.training.runs import ALLOCATED, RESERVED, Run
from clusterwright.evidence.training.runs import UNKNOWN as NOT_STATED
from clusterwright.sizing.columns import Array, Layouts
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.training import memory
from clusterwright.sizing.training.memory_margin import (
    KNOWN,
    UNKNOWN,
    Bands,
    fit_probability,
    load_residuals,
    software_class,
)
from clusterwright.sizing.training.practice import FRAGMENTATION, FUSED_LOGIT_BYTES, LEAN, Practice, practice_under

#: Share of activations that selective recomputation by operation keeps: every second multiplication's output, the
#: attention's and the layer's input, 14.5 of 34 bytes per element of Llama 3 (torchtitan's policy).
KEPT_BY_OPERATION = 0.43
#: Share of published runs whose states and activations are as lean as `LEAN`: of software of which nothing is known,
#: and of software whose defaults are, since recipes turn options on that their rows do not name.
LEAN_SHARE = {UNKNOWN: 0.25, KNOWN: 0.1}
#: Quantiles that a prediction is given with.
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPrediction:
    """The peak of one run as its source counts it, and whether it fits.

    Attributes:
        predicted_bytes, low_bytes, high_bytes: P50, P10 and P90.
        fit_probability: that the layout, or the leanest choice that its source leaves open, fits into its GPUs.
    """

    run: Run
    predicted_bytes: float
    low_bytes: float
    high_bytes: float
    fit_probability: float

    @property
    def error(self) -> float | None:
        """Return predicted over measured bytes less one; None where no peak is published."""
        return None if self.run.memory_bytes is None else self.predicted_bytes / self.run.memory_bytes - 1

    @property
    def in_band(self) -> bool | None:
        """Tell whether the measured peak lies between P10 and P90; None where none is published."""
        return None if self.run.memory_bytes is None else self.low_bytes <= self.run.memory_bytes <= self.high_bytes


def predict(runs: Sequence[Run], residuals: Bands | None = None) -> list[MemoryPrediction]:
    """Return the memory of every run.

    Args:
        runs: measured runs, with or without a throughput.
        residuals: ln(measured/predicted) by `KNOWN` and `UNKNOWN` software and count; the shipped ones if None.
    """
    if not runs:
        return []
    bands = residuals or load_residuals()
    columns = columns_of(runs)
    practice = practice_of(columns, runs)
    counted = _counted_bytes(columns, runs, practice)[columns.first]
    choices = [_device_bytes(columns, runs, layouts, practice) for layouts in _shardings(columns)]
    lean = [_device_bytes(columns, runs, layouts, lean_under(practice)) for layouts in _shardings(columns)]
    least, leanest = (np.minimum.reduceat(np.minimum.reduce(found), columns.first) for found in (choices, lean))
    found = []
    for index, run in enumerate(runs):
        name = software_class(run.known)
        share = LEAN_SHARE[name]
        fits = fit_probability(float(least[index]), run.device_bytes, bands[name, KNOWN])
        leaner = fit_probability(float(leanest[index]), run.device_bytes, bands[UNKNOWN, KNOWN])
        fits = (1 - share) * fits + share * max(fits, leaner)
        band = bands[name, count_class(run.counted)]
        low, middle, high = (float(counted[index] * np.exp(band.at(quantile))) for quantile in (LOW, 0.5, HIGH))
        found.append(
            MemoryPrediction(run=run, predicted_bytes=middle, low_bytes=low, high_bytes=high, fit_probability=fits)
        )
    return found


def practice_of(columns: RunColumns, runs: Sequence[Run]) -> Practice:
    """Return what the software of every candidate keeps, with the standard where it is not known."""
    each = [practice_under(run.known) for run in runs for _ in run.candidates]

    def column(name: str) -> Array:
        return np.array([getattr(practice, name) for practice in each], dtype=np.float64)

    by_operation = np.asarray(columns.layouts.zero_stage >= FSDP_FROM_STAGE) & columns.selective
    return Practice(
        weight_bytes=column("weight_bytes"),
        gradient_bytes=column("gradient_bytes"),
        optimizer_bytes=column("optimizer_bytes"),
        logit_bytes=column("logit_bytes"),
        persistent_gradients=column("persistent_gradients"),
        # A policy by operation recomputes what eager execution would keep besides.
        kept_share=np.where(by_operation, KEPT_BY_OPERATION, column("kept_share")),
        working_share=column("working_share"),
        gathered_share=column("gathered_share"),
    )


def lean_under(practice: Practice) -> Practice:
    """Return the lesser of what a software keeps by default and what published runs come down to, value by value."""
    return replace(
        practice,
        weight_bytes=np.minimum(practice.weight_bytes, LEAN.weight_bytes),
        gradient_bytes=np.minimum(practice.gradient_bytes, LEAN.gradient_bytes),
        optimizer_bytes=np.minimum(practice.optimizer_bytes, LEAN.optimizer_bytes),
        kept_share=np.minimum(practice.kept_share, LEAN.kept_share),
        working_share=np.minimum(practice.working_share, LEAN.working_share),
        gathered_share=np.minimum(practice.gathered_share, LEAN.gathered_share),
        # NaN, which is unknown software's, takes what a loss in place keeps.
        logit_bytes=np.fmin(np.nan if practice.logit_bytes is None else practice.logit_bytes, FUSED_LOGIT_BYTES),
        fused_loss=LEAN.fused_loss,
        context_bytes=LEAN.context_bytes,
    )


def raw_errors(runs: Sequence[Run]) -> Array:
    """Return ln(measured/predicted) of the published peak of each run; NaN where none is published."""
    columns = columns_of(runs)
    counted = _counted_bytes(columns, runs, practice_of(columns, runs))[columns.first]
    measured = np.array([np.nan if run.memory_bytes is None else run.memory_bytes for run in runs])
    return np.asarray(np.log(measured / counted))


def _shardings(columns: RunColumns) -> tuple[Layouts, ...]:
    """Return the layouts, and those with full sharding where no sharding is stated and there is no pipeline."""
    layouts = columns.layouts
    may_shard = columns.sharding_open & (np.asarray(layouts.pp) == 1)
    if not may_shard.any():
        return (layouts,)
    return layouts, replace(layouts, zero_stage=np.where(may_shard, 3.0, layouts.zero_stage))


def _terms(columns: RunColumns, runs: Sequence[Run], layouts: Layouts, practice: Practice) -> memory.MemoryColumns:
    scores = np.array([float(run.keeps_scores) for run in runs for _ in run.candidates])
    layer = layer_memory.layer_bytes(columns.shape, layouts, keeps_scores=scores)
    plain = np.array([run.sharding_open and not _shards(run) for run in runs for _ in run.candidates])
    layouts = replace(
        layouts, zero_stage=np.where(plain & (np.asarray(layouts.zero_stage) == 1), 0.0, layouts.zero_stage)
    )
    return memory.per_gpu(columns.shape, layouts, layer=layer, practice=practice)


def _shards(run: Run) -> bool:
    return run.known is None or run.known.shards_optimizer


def _device_bytes(columns: RunColumns, runs: Sequence[Run], layouts: Layouts, practice: Practice) -> Array:
    return np.asarray(_terms(columns, runs, layouts, practice).total())


def _counted_bytes(columns: RunColumns, runs: Sequence[Run], practice: Practice) -> Array:
    """Return what the source of each candidate's run counts, in bytes."""
    terms = _terms(columns, runs, columns.layouts, practice)
    counted = [run.counted for run in runs for _ in run.candidates]
    total, reserve = np.asarray(terms.total()), np.asarray(terms.reserve)
    tensors = total - reserve
    reserved = (1 + FRAGMENTATION) * tensors
    found = np.where([count == ALLOCATED for count in counted], tensors, total)
    return np.where([count == RESERVED for count in counted], reserved, found)


def count_class(counted: str) -> str:
    """Return which residuals a peak has: of those of which it is known what they count, or of any."""
    return UNKNOWN if counted == NOT_STATED else KNOWN


def figures(predictions: Iterable[MemoryPrediction]) -> dict[str, float | int | None]:
    """Return the figures of memory: errors of peaks, layouts that ran and were refused, and the Brier score.

    A layout that ran is refused below a fit probability of 0.05, one that ran out of memory below 0.5. The Brier score
    is the mean of (fit probability - outcome)^2 over both.
    """
    every = list(predictions)
    errors = np.array([abs(one.error) for one in every if one.error is not None])
    inside = [one.in_band for one in every if one.in_band is not None]
    ran = [one.fit_probability for one in every if not one.run.out_of_memory]
    oom = [one.fit_probability for one in every if one.run.out_of_memory]
    squares = [(1 - chance) ** 2 for chance in ran] + [chance**2 for chance in oom]
    return {
        "rows": len(every),
        "predicted": int(errors.size),
        "median_ape": float(np.median(errors)) if errors.size else None,
        "p90_ape": float(np.quantile(errors, 0.9)) if errors.size else None,
        "in_band": float(np.mean(inside)) if inside else None,
        "ran": len(ran),
        "ran_refused": sum(chance < RAN_REFUSED_BELOW for chance in ran),
        "oom": len(oom),
        "oom_refused": sum(chance < OOM_REFUSED_BELOW for chance in oom),
        "brier": float(np.mean(squares)) if squares else None,
    }


#: Fit probabilities below which a layout that ran, and one that ran out of memory, counts as refused.
RAN_REFUSED_BELOW, OOM_REFUSED_BELOW = 0.05, 0.5
