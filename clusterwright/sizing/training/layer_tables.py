"""The first level of the search: layer times and memory of every distinct layer, which layouts look up.

A few thousand layers stand behind hundreds of thousands of layouts, so that each is computed once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import Array, Device, Index, Layouts, Shape, take
from clusterwright.sizing.hardware.calibration import StackCalibration
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.training import memory, step
from clusterwright.sizing.training.layouts import Space
from clusterwright.sizing.training.optimizer.upkeep import Upkeep

#: Rows of a space that are looked at together, with every mode of recomputation: they stay in the processor's cache.
CHUNK_ROWS = 4096
#: What the times of one layer depend on, besides recomputation.
LAYER_COLUMNS = ("tp", "sp", "cp", "micro_batch", "ep", "etp")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """The first level: the times of each distinct layer, by mode of recomputation, and which one each row has."""

    key_of: Index
    times: step.LayerTimes


def first_level(shape: Shape, device: Device, space: Space, *, stack: StackCalibration) -> Tables:
    """Return the times of the distinct layers of a space under one stack."""
    key_of, layers = _distinct_layers(space.rows)
    times = step.layer_times(shape, device, stack.tuning, replace(layers, recompute=space.modes[:, np.newaxis]))
    size = (space.modes.size, np.asarray(layers.micro_batch).size)
    table = {name: np.ascontiguousarray(np.broadcast_to(getattr(times, name), size)) for name in times.__slots__}
    return Tables(key_of=key_of, times=step.LayerTimes(**table))


def _distinct_layers(rows: Layouts) -> tuple[Index, Layouts]:
    """Return the distinct combinations of `LAYER_COLUMNS`, and which of them each row has.

    Columns hold small whole numbers, so that values are counted rather than sorted.
    """
    place: Index = np.zeros(np.asarray(rows.dp).size, dtype=np.intp)
    values = []
    for name in LAYER_COLUMNS:
        present, code = _codes(np.atleast_1d(np.asarray(getattr(rows, name), dtype=np.intp)))
        values.append(present)
        if present.size > 1:
            place = place * present.size + code
    used, key_of = _codes(place)
    digits = np.unravel_index(used, [present.size for present in values])
    columns = {
        name: present[digit].astype(np.float64)
        for name, present, digit in zip(LAYER_COLUMNS, values, digits, strict=True)
    }
    return key_of, Layouts(**columns, pp=1.0, vpp=1.0, dp=1.0, zero_stage=0.0, micro_batches=1.0, recompute=0.0)


def _codes(whole: Index) -> tuple[Index, Index]:
    """Return the distinct values of whole numbers, ascending, and the place of each number among them."""
    least = whole.min()
    present = np.bincount(whole - least) > 0
    return np.flatnonzero(present) + least, (np.cumsum(present) - 1)[whole - least]


def needed_bytes(shape: Shape, space: Space, tables: Tables, *, upkeep: Upkeep) -> Iterator[tuple[slice, Array]]:
    """Yield the memory of a space chunk by chunk, each with a line per mode of recomputation."""
    rows = np.asarray(space.rows.dp).size
    for start in range(0, rows, CHUNK_ROWS):
        chunk = slice(start, min(start + CHUNK_ROWS, rows))
        key = tables.key_of[chunk]
        held = {name: getattr(tables.times.kept(), name) for name in layer_memory.LayerBytes.__slots__}
        layer = layer_memory.LayerBytes(
            **{name: table.take(key, axis=1) for name, table in held.items() if table.any()}
        )
        yield chunk, memory.fullest_bytes(shape, take(space.rows, chunk), layer=layer, practice=upkeep.practice)


def times_at(times: step.LayerTimes, mode: Index, key: Index) -> step.LayerTimes:
    """Return the layer times of layouts from the table: of a mode of recomputation (line) and a key (column)."""
    place = mode * np.shape(times.compute_s)[1] + key
    return step.LayerTimes(**{name: np.ravel(getattr(times, name)).take(place) for name in times.__slots__})


def rows_of(times: step.LayerTimes, rows: Index) -> step.LayerTimes:
    """Return the layer times of some of the layouts."""
    return step.LayerTimes(**{name: np.asarray(getattr(times, name))[rows] for name in times.__slots__})
