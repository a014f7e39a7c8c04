"""Runs as columns, and what the engine says of all of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.runs import Run
from clusterwright.sizing import memory, step
from clusterwright.sizing.columns import Array, Device, Layouts, Shape, Tuning, stack


@dataclass(frozen=True, kw_only=True, slots=True)
class RunColumns:
    """All candidates of all runs as columns.

    Attributes:
        first: index of each run's first candidate; run_of: the run of each candidate.
        gpus: accelerators of each candidate's run.
    """

    shape: Shape
    device: Device
    layouts: Layouts
    first: npt.NDArray[np.intp]
    run_of: npt.NDArray[np.intp]
    gpus: Array


def columns_of(runs: Sequence[Run]) -> RunColumns:
    """Return the runs as columns."""
    sizes = [len(run.candidates) for run in runs]
    repeated = [run for run in runs for _ in run.candidates]
    return RunColumns(
        shape=stack([run.shape for run in repeated]),
        device=stack([run.device for run in repeated]),
        layouts=stack([layout for run in runs for layout in run.candidates]),
        first=np.cumsum([0, *sizes[:-1]]),
        run_of=np.repeat(np.arange(len(runs)), sizes),
        gpus=np.array([run.gpus for run in repeated]),
    )


def predicted_tokens_per_s_per_gpu(columns: RunColumns, tuning: Tuning) -> Array:
    """Return tokens/s per GPU of each run: of its layout, or of the fastest candidate that fits into memory.

    Args:
        columns: the runs.
        tuning: scalars, or one value per candidate.
    """
    shape, layouts = columns.shape, columns.layouts
    times = step.layer_times(shape, columns.device, tuning, layouts)
    seconds = step.step_columns(shape, columns.device, tuning, layouts, times).total_s()
    tokens = layouts.dp * layouts.micro_batch * layouts.micro_batches * shape.sequence
    rate = np.asarray(tokens / seconds / columns.gpus)
    needed = memory.per_gpu(shape, layouts, kept=times.kept_bytes, working=times.working_bytes).total()
    alone = np.bincount(columns.run_of)[columns.run_of] == 1
    fits = (np.asarray(needed) <= columns.device.hbm_bytes) | alone
    best = np.maximum.reduceat(np.where(fits, rate, 0.0), columns.first)
    return np.where(best > 0, best, np.maximum.reduceat(rate, columns.first))


def needed_bytes(columns: RunColumns) -> memory.MemoryColumns:
    """Return the memory that every candidate of every run needs on its fullest GPU, by term."""
    shape, layouts = columns.shape, columns.layouts
    kept, working = step.layer_memory(shape, layouts)
    return memory.per_gpu(shape, layouts, kept=kept, working=working)


def memory_bytes(columns: RunColumns, *, allocated: npt.NDArray[np.bool_]) -> Array:
    """Return bytes on the fullest GPU of each run's first candidate; without the reserve where `allocated`."""
    needed = needed_bytes(columns)
    total = np.asarray(needed.total())[columns.first]
    reserve = np.asarray(needed.reserve)[columns.first]
    return np.where(allocated, total - reserve, total)


def fits_memory(columns: RunColumns) -> npt.NDArray[np.bool_]:
    """Tell for each run whether any of its candidates fits into memory."""
    fits = np.asarray(needed_bytes(columns).total()) <= columns.device.hbm_bytes
    return np.asarray(np.logical_or.reduceat(fits, columns.first))
