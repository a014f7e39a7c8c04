"""Runs as columns, and what the engine says of all of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array, Device, Layouts, Shape, Traits, Tuning, stack, under
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.training import memory, step
from clusterwright.sizing.training.optimizer.optimizers import ADAM, traffic_bytes
from clusterwright.sizing.training.optimizer.upkeep import DEFAULT
from clusterwright.sizing.training.practice import LEAN, STANDARD, Practice, practice_under


@dataclass(frozen=True, kw_only=True, slots=True)
class RunColumns:
    """All candidates of all runs as columns.

    Attributes:
        first: index of each run's first candidate; run_of: the run of each candidate.
        gpus: accelerators of each candidate's run.
        sharding_open: its source does not say how states are sharded; selective: it names selective recomputation.
        traits: of its software; update_bytes: that its optimizer's update moves per parameter.
        likely: it fits into memory with the practice of published runs (`LEAN`), or is its run's only candidate.
    """

    shape: Shape
    device: Device
    layouts: Layouts
    first: npt.NDArray[np.intp]
    run_of: npt.NDArray[np.intp]
    gpus: Array
    sharding_open: npt.NDArray[np.bool_]
    selective: npt.NDArray[np.bool_]
    traits: Traits
    update_bytes: Array
    likely: npt.NDArray[np.bool_]


def columns_of(runs: Sequence[Run]) -> RunColumns:
    """Return the runs as columns."""
    sizes = [len(run.candidates) for run in runs]
    repeated = [run for run in runs for _ in run.candidates]
    shape, device = stack([run.shape for run in repeated]), stack([run.device for run in repeated])
    layouts = stack([layout for run in runs for layout in run.candidates])
    alone = np.array([len(run.candidates) == 1 for run in repeated])
    layer = layer_memory.layer_bytes(shape, layouts)
    needed = memory.per_gpu(shape, layouts, layer=layer, practice=LEAN).total()
    return RunColumns(
        shape=shape,
        device=device,
        layouts=layouts,
        first=np.cumsum([0, *sizes[:-1]]),
        run_of=np.repeat(np.arange(len(runs)), sizes),
        gpus=np.array([run.gpus for run in repeated]),
        sharding_open=np.array([run.sharding_open for run in repeated]),
        selective=np.array([run.selective for run in repeated]),
        traits=stack([run.traits for run in repeated]),
        update_bytes=np.array([traffic_bytes(ADAM, run.shape, practice_under(run.known)) for run in repeated]),
        likely=alone | (np.asarray(needed) <= device.hbm_bytes),
    )


def predicted_tokens_per_s_per_gpu(columns: RunColumns, tuning: Tuning) -> Array:
    """Return tokens/s per GPU of each run: of its layout, or of the fastest candidate that fits into memory.

    Args:
        columns: the runs.
        tuning: scalars, or one value per candidate.
    """
    shape, layouts = columns.shape, columns.layouts
    tuning = under(tuning, columns.traits)
    times = step.layer_times(shape, columns.device, tuning, layouts)
    upkeep = replace(DEFAULT, traffic_bytes=columns.update_bytes)
    seconds = step.step_columns(shape, columns.device, tuning, layouts, times, upkeep=upkeep).total_s()
    tokens = layouts.dp * layouts.micro_batch * layouts.micro_batches * shape.sequence
    rate = np.asarray(tokens / seconds / columns.gpus)
    best = np.maximum.reduceat(np.where(columns.likely, rate, 0.0), columns.first)
    return np.where(best > 0, best, np.maximum.reduceat(rate, columns.first))


def needed_bytes(
    columns: RunColumns, *, practice: Practice = STANDARD, layouts: Layouts | None = None
) -> memory.MemoryColumns:
    """Return the memory that every candidate of every run needs on its fullest GPU, by term.

    Args:
        columns: the runs.
        practice: what the layouts do not say.
        layouts: others than the runs' own.
    """
    shape, layouts = columns.shape, layouts or columns.layouts
    layer = layer_memory.layer_bytes(shape, layouts)
    return memory.per_gpu(shape, layouts, layer=layer, practice=practice)


def fits_memory(columns: RunColumns) -> npt.NDArray[np.bool_]:
    """Tell for each run whether it fits into memory with any choice that its source leaves open.

    Open are its candidates; gradients, moments and part of the activations (`LEAN`); and full sharding where no
    sharding is stated and there is no pipeline.
    """
    layouts = columns.layouts
    may_shard = columns.sharding_open & (np.asarray(layouts.pp) == 1)
    sharded = replace(layouts, zero_stage=np.where(may_shard, 3.0, layouts.zero_stage))
    fits = np.zeros(columns.run_of.size, dtype=bool)
    for tried in (layouts, sharded):
        for practice in (STANDARD, LEAN):
            needed = needed_bytes(columns, practice=practice, layouts=tried)
            fits |= np.asarray(needed.total()) <= columns.device.hbm_bytes
    return np.asarray(np.logical_or.reduceat(fits, columns.first))
