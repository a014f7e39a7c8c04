"""The second level of the search: memory of every layout, and calendar days of those that can be on the front."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import FULL, Array, Device, Index, Layouts, Shape, Values, take
from clusterwright.sizing.feeding import feed as data_feed
from clusterwright.sizing.feeding import loading as data_loading
from clusterwright.sizing.feeding.starts import Starts
from clusterwright.sizing.hardware.calibration import StackCalibration
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.loading import Loading
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.reliability import goodput, storage
from clusterwright.sizing.training import layouts, memory, points, stages, step
from clusterwright.sizing.training.elastic import elastic_nodes
from clusterwright.sizing.training.layer_tables import CHUNK_ROWS, Tables, first_level, needed_bytes, rows_of, times_at
from clusterwright.sizing.training.layouts import Space
from clusterwright.sizing.training.optimizer import host_memory
from clusterwright.sizing.training.optimizer.upkeep import Upkeep, upkeep_of
from clusterwright.sizing.training.practice import FRAGMENTATION, STANDARD, Practice
from clusterwright.workload import training, transformer


def fewest_layers(
    shape: Shape,
    layouts: Layouts,
    *,
    layer: layer_memory.LayerBytes,
    limit_bytes: Values,
    practice: Practice = STANDARD,
) -> Array:
    """Return the fewest layers of each chunk whose recomputation lets a layout fit; infinite where all are needed.

    Recomputing more is slower, and memory falls by the same amount with every layer, so that the fewest that fit are
    the best and follow from the room that full recomputation leaves: of a stage with `l` layers, as many are spared as
    that room holds, and the rest is spread over its `v` chunks, `ceil((l - spared)/v)` each (Megatron-LM's
    `--recompute-method block`).

    Args:
        shape: the model.
        layouts: with full recomputation, of all layers fitting into memory.
        layer: `layer_memory.layer_bytes` of each.
        limit_bytes: of one GPU.
        practice: what the layouts do not say.
    """
    every = replace(layouts, recompute_layers=np.inf)
    none = replace(layouts, recompute_layers=0.0)
    shared = memory.shared_of(shape, layouts, practice=practice)
    split = shared.split
    needed: Values = 1.0
    for stage in stages.fullest_candidates(shape, layouts, split=split):
        held = stages.stage_at(shape, none, split=split, stage=stage)
        kept = memory.kept_bytes(held, layer)
        least = memory.kept_bytes(replace(held, recomputed_share=None), layer)
        scale = (1 + FRAGMENTATION) * practice.kept_share * held.in_flight
        of_one = scale * (kept - least) / np.maximum(held.layers, 1.0)
        room = (
            limit_bytes
            - memory.at_stage(shape, every, stage=stage, layer=layer, practice=practice, shared=shared).total()
        )
        spared = np.floor(room / np.maximum(of_one, 1.0))
        needed = np.maximum(needed, np.ceil((held.layers - spared) / layouts.vpp))
    found = np.where(needed >= split.chunk, np.inf, needed)
    total = memory.fullest_bytes(shape, replace(layouts, recompute_layers=found), layer=layer, practice=practice)
    return np.asarray(np.where(total <= limit_bytes, found, np.inf))


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """The layouts that can be on the front, with their time.

    Attributes:
        mode, row: their places in the space; recompute_layers: see `Layouts`; nodes, days: of each.
        fitting: how many layouts of the space fit into the accelerators' memory.
        outside: of those that do, what comes closest to what the host holds; None where nothing is offloaded.
    """

    mode: Index
    row: Index
    recompute_layers: Array
    nodes: Array
    days: Array
    fitting: int
    outside: host_memory.Outside | None = None


def time_all(
    job: TrainingJob,
    node: NodeType,
    shape: Shape,
    device: Device,
    space: Space,
    *,
    stacks: tuple[StackCalibration, StackCalibration],
    reliability: Reliability,
) -> Timed:
    """Return calendar days of the layouts that can be on the front.

    The memory of every layout is computed. Of the modes in which a row fits, the one that recomputes least is timed: on
    the same nodes the others compute and exchange more per micro-batch, of which communication can hide no more than
    that (`data_overlap` is at most 1), so that they are proven slower. Of an elastic job every mode is timed, the last
    one twice: one that recomputes more leaves memory with which the job may go on where it would stop.
    """
    # Without a time for repairs a job that shrinks loses as much as one that stops: nothing.
    elastic = reliability.elastic and reliability.repair_s is not None
    fsdp = np.broadcast_to(np.asarray(space.rows.zero_stage) >= FSDP_FROM_STAGE, np.shape(space.rows.dp))
    upkeep = upkeep_of(job, shape, node)
    found: list[tuple[Index, Index, Array, Array]] = []
    fitting, nearest = 0, None
    for stack, mine in zip(stacks, (np.flatnonzero(~fsdp), np.flatnonzero(fsdp)), strict=True):
        if not mine.size:
            continue
        correction = points.median_factor(stack.residuals)
        as_few = space.as_few_as_fit and upkeep.offload is None
        whole = replace(space, rows=take(space.rows, mine), as_few_as_fit=as_few)
        for first, part, is_again in _separately_timed(whole, job, upkeep, elastic=elastic):
            tables = first_level(shape, device, part, stack=stack)
            mode, row, count = _fitting(shape, device, part, tables, upkeep=upkeep, every=elastic)
            fitting += 0 if is_again else count
            for alike in _timed_together(part, mode):
                some = alike
                chosen = part.at(mode[some], row[some])
                layer = times_at(tables.times, mode[some], tables.key_of[row[some]])
                if upkeep.offload is not None:
                    outside = host_memory.outside_of(
                        shape, chosen, upkeep, layer=layer.kept(), node=node, reliability=reliability
                    )
                    nearest = outside.nearest(node, nearest)
                    held = np.flatnonzero(outside.fits(node))
                    some, chosen, layer = some[held], take(chosen, held), rows_of(layer, held)
                layers = _recomputed_layers(shape, device, part, chosen, layer, upkeep=upkeep)
                chosen = replace(chosen, recompute_layers=layers)
                timed = step.step_columns(shape, device, stack.tuning, chosen, layer, upkeep=upkeep)
                seconds = _with_waiting(job, node, chosen, timed, correction=correction)
                found.append((mode[some] + first, mine[row[some]], seconds, np.broadcast_to(layers, seconds.shape)))
    if not found:
        none = np.zeros(0)
        place = none.astype(np.intp)
        return Timed(
            mode=place, row=place, recompute_layers=none, nodes=none, days=none, fitting=fitting, outside=nearest
        )
    mode, row, step_s, layers = (np.concatenate(column) for column in zip(*found, strict=True))
    nodes = layouts.gpu_counts(take(space.rows, row)) / node.gpus
    running: Values = 0.0
    if elastic and row.size:
        kept = elastic_nodes(
            job,
            shape,
            device,
            replace(space.at(mode, row), recompute_layers=layers),
            gpus_per_node=node.gpus,
            upkeep=upkeep,
            node=node,
            reliability=reliability,
        )
        running = kept / nodes
    starts = _starts(job, node, space, row, step_s=step_s, reliability=reliability)
    days = calendar_days(job, step_s=step_s, nodes=nodes, running_share=running, reliability=reliability, starts=starts)
    return Timed(mode=mode, row=row, recompute_layers=layers, nodes=nodes, days=days, fitting=fitting, outside=nearest)


def _fitting(
    shape: Shape, device: Device, space: Space, tables: Tables, *, upkeep: Upkeep, every: bool
) -> tuple[Index, Index, int]:
    """Return the rows that fit, each with the first mode in which it does or with every one, and how many fit."""
    modes, rows, count = [], [], 0
    for chunk, needed in needed_bytes(shape, space, tables, upkeep=upkeep):
        fits = needed <= device.hbm_bytes
        count += int(np.count_nonzero(fits))
        if every:
            mode, row = np.nonzero(fits)
        else:
            row = np.flatnonzero(fits.any(axis=0))
            mode = fits.argmax(axis=0)[row]
        modes.append(mode)
        rows.append(row + chunk.start)
    return np.concatenate(modes), np.concatenate(rows), count


def _timed_together(space: Space, mode: Index) -> Iterator[Index]:
    """Yield the places of layouts that are timed together, a chunk at a time.

    Those that recompute whole layers are apart from the others, since it is asked of them how many.
    """
    full = space.modes[mode] == FULL
    for alike in (np.flatnonzero(~full), np.flatnonzero(full)):
        for start in range(0, alike.size, CHUNK_ROWS):
            yield alike[start : start + CHUNK_ROWS]


def _recomputed_layers(
    shape: Shape, device: Device, space: Space, chosen: Layouts, layer: step.LayerTimes, *, upkeep: Upkeep
) -> Values:
    """Return how many layers of each chunk full recomputation recomputes."""
    if not space.as_few_as_fit or np.any(np.asarray(chosen.recompute) != FULL):
        return chosen.recompute_layers
    return fewest_layers(shape, chosen, layer=layer.kept(), limit_bytes=device.hbm_bytes, practice=upkeep.practice)


def _separately_timed(
    space: Space, job: TrainingJob, upkeep: Upkeep, *, elastic: bool
) -> Iterator[tuple[int, Space, bool]]:
    """Yield the parts of a space of whose modes one is proven fastest.

    Each comes with the place of its first mode, and whether its layouts were in an earlier part. The proof needs that
    recomputing less never takes longer; offloaded activations may. Where training waits for data, more to compute can
    hide more of the gradient exchange, in whose pause loading stops. An elastic job may do best with every layer
    recomputed, which leaves memory to go on with, or with as few as fit: both are looked at.
    """
    alike = job.loading == Loading() and (upkeep.offload is None or not upkeep.offload.activations)
    places = [slice(None)] if alike else [slice(place, place + 1) for place in range(space.modes.size)]
    for place in places:
        part = replace(space, modes=space.modes[place])
        yield place.start or 0, replace(part, as_few_as_fit=part.as_few_as_fit and not elastic), False
    full = np.flatnonzero(space.modes == FULL)
    if elastic and space.as_few_as_fit and full.size:
        yield int(full[0]), replace(space, modes=space.modes[full[:1]]), True


def _with_waiting(
    job: TrainingJob, node: NodeType, found: Layouts, timed: step.StepColumns, *, correction: float
) -> Array:
    """Return median seconds of a step with the wait for data."""
    step_s = np.asarray(timed.total_s()) * correction
    least_s = correction * float(np.min(timed.compute_s, initial=np.inf))
    fewest = float(np.min(found.dp, initial=np.inf))
    if not step_s.size or not data_feed.may_wait(job, node, fewest_ranks=fewest, computing_s=least_s):
        return step_s
    pause_s = (timed.data_parallel_s + timed.optimizer_s) * correction
    return step_s + data_loading.waits_s(job, node, found, step_s=step_s, pause_s=pause_s)


def _starts(
    job: TrainingJob, node: NodeType, space: Space, row: Index, *, step_s: Array, reliability: Reliability
) -> Starts | None:
    """Return what loading adds to starts; None for loading by default, which adds nothing."""
    if job.loading == Loading():
        return None
    whole = storage.sized(reliability, parameters=float(transformer.parameters(job.model)))
    return data_feed.starts_of(job, node, take(space.rows, row), step_s=step_s, reliability=whole)


def calendar_days(
    job: TrainingJob,
    *,
    step_s: Array,
    nodes: Array,
    running_share: Values,
    reliability: Reliability,
    starts: Starts | None,
) -> Array:
    """Return calendar days: steps times seconds of a step, over the productive share of time, and the start.

    Args:
        job: the training run.
        step_s: median seconds of one step of each layout.
        nodes: of each.
        running_share: of its nodes while one is missing; see `checkpoints.waiting_ratio`.
        reliability: for failures and checkpoints.
        starts: what loading adds to them, None for nothing.
    """
    fraction = goodput.fraction_for_nodes(
        reliability,
        nodes=nodes,
        running_share=running_share,
        added_restart_s=0.0 if starts is None else starts.restart_s,
    )
    return np.asarray(
        goodput.run_days(
            steps=training.steps(
                tokens=job.tokens,
                sequence_length=job.sequence_length,
                global_batch_sequences=job.global_batch_sequences,
            ),
            step_s=step_s,
            productive=fraction,
            startup_s=0.0 if starts is None else starts.startup_s,
        )
    )
