"""Which layouts exist: every split of a node type's accelerators that divides the model and the batch."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import RECOMPUTE, SCHEDULES, Array, Index, Layouts, Values, take
from clusterwright.sizing.hardware.software_layouts import runs_of
from clusterwright.sizing.records.job import Layout, TrainingJob
from clusterwright.sizing.records.offload import WEIGHTS_FROM_STAGE, Offload
from clusterwright.sizing.training.constraints import allowed_nodes
from clusterwright.sizing.training.optimizer.optimizers import OPTIMIZERS
from clusterwright.sizing.training.parallel_sizes import (
    SPLIT_BACKWARD,
    context_parallel_sizes,
    expert_parallel_sizes,
    micro_batches,
    pipelines,
    recompute_modes,
    tensor_parallel_sizes,
)

FSDP_STAGES = (2, 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """Every legal layout, as rows that can each be had with every mode of recomputation.

    Which layers are recomputed decides no other rule, so that what does not depend on it is computed once per row.

    Attributes:
        rows: the layouts without their recomputation; columns that are the same for all are plain numbers.
        modes: indices into `RECOMPUTE`, from the fewest layers recomputed to the most.
        as_few_as_fit: full recomputation is of as few layers as memory asks for, not of `rows.recompute_layers`.
    """

    rows: Layouts
    modes: Array
    as_few_as_fit: bool

    @property
    def count(self) -> int:
        """Layouts in the space: rows times modes."""
        return int(np.asarray(self.rows.dp).size) * self.modes.size

    def at(self, mode: Index | int, row: Index | int) -> Layouts:
        """Return the layouts of rows with the modes at these places of `modes`."""
        return replace(take(self.rows, row), recompute=self.modes[mode])


def enumerate_space(job: TrainingJob, node: NodeType, *, max_nodes: int) -> Space | None:
    """Return every legal layout on whole nodes up to a limit, or None if there is none.

    Rules: the micro-batches are whole; interleaved schedules need micro-batches in multiples of the stages (Narayanan
    et al. 2021, section 2.2), ZB-H1 as many as stages, DualPipe an even number and twice as many; sequence parallelism
    accompanies tensor parallelism; ZeRO-2 and 3 come without a pipeline, over all ranks or hybrid, within a node or
    scale-up domain; the optimizer is sharded (ZeRO-1) otherwise. Sharding groups are whole. Tensor-parallel sizes and
    numbers of stages are those that are run; where none of them divides the job, any.
    """
    blocks: list[Array] = []
    for usual in (True, False):
        blocks = blocks or [block for block in _blocks(job, node, max_nodes=max_nodes, usual=usual) if block.shape[1]]
    held = job.expert_parallel
    if not blocks or (held not in (None, 1) and held not in expert_parallel_sizes(job)):
        return None
    tp, cp, pp, vpp, micro_batch, count, dp, zero, replicas = np.concatenate(blocks, axis=1)
    rows = Layouts(
        tp=_column(tp),
        sp=_column(np.minimum(tp - 1, 1.0)),
        pp=pp,
        vpp=vpp,
        dp=dp,
        cp=_column(cp),
        zero_stage=zero,
        micro_batch=micro_batch,
        micro_batches=count,
        recompute=0.0,
        recompute_layers=np.inf if job.recompute_layers is None else float(job.recompute_layers),
        replicas=_column(replicas),
        schedule=_column(np.where(pp > 1, _schedule_code(job), 0.0)) if job.schedule in SPLIT_BACKWARD else 0.0,
    )
    if job.model.experts:
        rows = with_experts(job, rows)
    modes = np.array(recompute_modes(job), dtype=np.float64)
    partly = job.recompute is None and runs_of(job.framework).partial
    found = Space(rows=rows, modes=modes, as_few_as_fit=partly)
    return found if found.count else None


def enumerate_layouts(job: TrainingJob, node: NodeType, *, max_nodes: int) -> Layouts | None:
    """Return the layouts of `enumerate_space` one by one, every column an array but for what there is no choice of."""
    space = enumerate_space(job, node, max_nodes=max_nodes)
    if space is None:
        return None
    mode, row = np.divmod(np.arange(space.count), space.count // space.modes.size)
    found = space.at(mode, row)
    whole = {name: np.broadcast_to(getattr(found, name), row.shape) for name in ("tp", "sp", "cp")}
    return replace(found, **whole)


def _schedule_code(job: TrainingJob) -> float:
    return float(SCHEDULES.index(job.schedule or SCHEDULES[0]))


def _column(values: Array) -> Values:
    """Return the one value of a column that is the same everywhere, else the column: formulas are cheaper so."""
    return float(values[0]) if (values == values[0]).all() else values


def with_experts(job: TrainingJob, found: Layouts) -> Layouts:
    """Return every layout with every legal expert-parallel and expert-tensor-parallel size.

    `ep etp` divides `tp cp dp`, in each sharding group; an expert is whole, or split over the tensor-parallel ranks.
    """
    width = job.model.moe_ffn_hidden or job.model.ffn_hidden
    ranks = np.asarray(found.tp * found.cp * found.dp / found.replicas)
    whole = np.ones_like(ranks)
    split = np.broadcast_to(found.tp, ranks.shape)
    splittable = (split > 1) & divides(split, width)
    index, sizes, splits = [], [], []
    for ep in expert_parallel_sizes(job):
        for etp, allowed in ((whole, True), (split, splittable)):
            rows = np.flatnonzero(allowed & divides(ep * etp, ranks))
            index.append(rows)
            sizes.append(np.full(rows.size, float(ep)))
            splits.append(etp[rows])
    chosen = take(found, np.concatenate(index))
    return replace(chosen, ep=np.concatenate(sizes), etp=np.concatenate(splits))


def sharded_stages(job: TrainingJob) -> tuple[int, ...]:
    """Return the ZeRO stages beyond the optimizer's that a job may use; none where matrices must stay whole."""
    return () if OPTIMIZERS[job.optimizer].iterations else FSDP_STAGES


def zero_stages(job: TrainingJob, kept: Array, *, cp: int) -> Iterator[tuple[Array, Array]]:
    """Yield rows of `_blocks` with a ZeRO stage each: those that a job may use with what it offloads.

    Weights can only lie with the host where ZeRO-3 shards them. Offloading gives one accelerator alone something to
    shard, too: its states are streamed as with ZeRO-2 and 3.

    Args:
        job: the training run.
        kept: pipeline stages, chunks, micro-batch, micro-batches and data-parallel size of each row.
        cp: context-parallel size.
    """
    away = job.offload or Offload()
    sharded = kept[4] * cp > 1
    if not away.parameters:
        yield kept, np.where(sharded, 1.0, 0.0)
    alone = kept[:, (kept[0] == 1) & (sharded | away.optimizer | away.parameters)]
    for zero in sharded_stages(job):
        if zero >= WEIGHTS_FROM_STAGE or not away.parameters:
            yield alone, np.full(alone.shape[1], float(zero))


def _blocks(job: TrainingJob, node: NodeType, *, max_nodes: int, usual: bool) -> Iterator[Array]:
    batches = np.array(micro_batches(job), dtype=np.float64).reshape(-1, 3).T
    stages = np.array(pipelines(job, usual=usual), dtype=np.float64).reshape(-1, 2).T
    pp, vpp, (_, count, dp) = stages[0][:, np.newaxis], stages[1][:, np.newaxis], batches
    replicas, whole = pp * dp, _whole_schedule(job, pp=pp, vpp=vpp, count=count)
    allowed = allowed_nodes(job, most=max_nodes)
    bounded = not allowed[1:].all()
    for tp in tensor_parallel_sizes(job, node, usual=usual):
        for cp in context_parallel_sizes(job):
            gpus = tp * cp * replicas
            stage, batch = np.nonzero(whole & (gpus <= max_nodes * node.gpus) & divides(node.gpus, gpus))
            if bounded:
                kept_sizes = np.flatnonzero(allowed[(gpus[stage, batch] / node.gpus).astype(np.intp)])
                stage, batch = stage[kept_sizes], batch[kept_sizes]
            kept = np.vstack([stages.take(stage, axis=1), batches.take(batch, axis=1)])
            for rows, zero in zero_stages(job, kept, cp=cp):
                beyond = bool(zero.size) and zero[0] >= FSDP_STAGES[0]
                for group in sharding_groups(job, node, tp=tp) if beyond else [job.sharding_group]:
                    # A group of all ranks is there already, unless it is the only one that the user wants.
                    several = rows[4] * cp > (group or 0) if job.sharding_group is None else zero >= 0
                    yield _with(tp, cp, rows[:, several], zero[several], group=group)


def _whole_schedule(job: TrainingJob, *, pp: Array, vpp: Array, count: Array) -> npt.NDArray[np.bool_]:
    """Return whether the number of micro-batches is one that a pipeline's schedule can have."""
    if job.schedule == "zero-bubble":
        return np.asarray((pp == 1) | (count >= pp))
    if job.schedule == "dualpipe":
        return np.asarray((pp == 1) | (divides(2.0, count) & (count >= 2 * pp)))
    return np.asarray((vpp == 1) | divides(pp, count))


def sharding_groups(job: TrainingJob, node: NodeType, *, tp: int) -> list[int | None]:
    """Return the sizes of groups over which ZeRO-2 and 3 shard, None for all ranks: also a node and a domain."""
    if job.sharding_group is not None:
        return [job.sharding_group]
    sizes = {node.gpus // tp, (node.accelerator.scale_up_domain_gpus or 1) // tp}
    return [None, *sorted(size for size in sizes if size > 1)]


def divides(divisor: Values, number: Values) -> npt.NDArray[np.bool_]:
    """Return whether whole numbers divide others: the quotient is whole. Cheaper than a remainder, and exact here."""
    quotient = np.asarray(number / divisor)
    whole: npt.NDArray[np.bool_] = quotient == np.floor(quotient)
    return whole


def _with(tp: int, cp: int, kept: Array, zero: Array, *, group: int | None) -> Array:
    """Return rows with their sharding: over all of `dp cp`, or over groups of some ranks where there are several."""
    ranks = kept[4] * cp
    replicas = np.ones_like(ranks)
    if group is not None:
        whole = divides(float(group), ranks) & (zero > 0)
        kept, zero, replicas = kept[:, whole], zero[whole], ranks[whole] / group
    size = kept.shape[1]
    return np.vstack([np.full(size, float(tp)), np.full(size, float(cp)), kept, zero, replicas])


def gpu_counts(layouts: Layouts) -> Array:
    """Return the accelerators of each layout: `tp cp pp dp`."""
    return np.asarray(layouts.tp * layouts.cp * layouts.pp * layouts.dp)


def layout_at(layouts: Layouts, index: int | tuple[()] = ()) -> Layout:
    """Return one layout of several as a record, or the only one."""
    one = take(layouts, index)
    mode, layers = RECOMPUTE[int(one.recompute)], float(one.recompute_layers)
    schedule = SCHEDULES[int(one.schedule)]
    return Layout(
        tp=int(one.tp),
        sp=int(one.sp),
        pp=int(one.pp),
        vpp=int(one.vpp),
        dp=int(one.dp),
        cp=int(one.cp),
        ep=int(one.ep),
        zero_stage=int(one.zero_stage),
        micro_batch=int(one.micro_batch),
        micro_batches=int(one.micro_batches),
        recompute=mode,
        etp=int(one.etp),
        recompute_layers=int(layers) if mode == "full" and math.isfinite(layers) else None,
        sharding_group=int(one.dp * one.cp / one.replicas) if one.replicas > 1 else None,
        schedule="interleaved" if one.vpp > 1 else schedule,
    )
