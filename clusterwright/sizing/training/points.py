"""The points of a front in full: memory and step time by part, goodput, storage, and days with their band."""

from collections.abc import Sequence

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Device, Layouts, Shape, stack, take
from clusterwright.sizing.feeding import feed as data_feed
from clusterwright.sizing.hardware.calibration import StackCalibration
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.records.job import (
    Front,
    Layout,
    MemoryPerGpu,
    OffloadNeed,
    StepTime,
    TrainingJob,
    TrainingPoint,
)
from clusterwright.sizing.records.loading import DataFeed
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.records.run import Goodput
from clusterwright.sizing.reliability import storage
from clusterwright.sizing.reliability.goodput import goodput, goodputs, run_days
from clusterwright.sizing.training import layouts, memory, step
from clusterwright.sizing.training.elastic import elastic_nodes
from clusterwright.sizing.training.optimizer.offloaded import away_of
from clusterwright.sizing.training.optimizer.upkeep import upkeep_of
from clusterwright.units import SECONDS_PER_DAY, percent
from clusterwright.workload import training, transformer

#: The optimistic end of the printed band.
LOW_QUANTILE = 0.1
#: Parts of a step below this share are not named as limits.
NAMED_SHARE = 0.02
_LIMITS = (
    ("tensor_parallel_s", "tensor-parallel traffic"),
    ("pipeline_bubble_s", "the pipeline bubble"),
    ("pipeline_transfer_s", "transfers between pipeline stages"),
    ("data_parallel_s", "data-parallel traffic"),
    ("optimizer_s", "the optimizer's update"),
    ("offload_s", "offloading to the host"),
    ("data_loading_s", "waiting for data"),
)


@formula(
    "{tokens_per_step} / ({step_s} × {gpus}) × {flop_per_token} / {peak_flop_per_s}",
    source="PaLM, arXiv 2204.02311, appendix B",
    tokens_per_step=Term("tokens of a step", ",.0f"),
    step_s=Term("step time", ".5f", "s"),
    gpus=Term("GPUs", ",.0f"),
    flop_per_token=Term("FLOP per token", ".6g"),
    peak_flop_per_s=Term("dense peak", ".6g", "FLOP/s"),
)
def model_flop_utilisation(
    *, tokens_per_step: float, step_s: float, gpus: float, flop_per_token: float, peak_flop_per_s: float
) -> float:
    """Return model FLOP/s over the dense peak (MFU)."""
    return tokens_per_step / (step_s * gpus) * flop_per_token / peak_flop_per_s


def describe(
    job: TrainingJob,
    node: NodeType,
    shape: Shape,
    device: Device,
    chosen: Layouts,
    *,
    stacks: tuple[StackCalibration, StackCalibration],
    reliability: Reliability,
) -> tuple[TrainingPoint, ...]:
    """Return the record of each chosen layout, in their order; time and memory are computed for all at once."""
    fsdp = np.asarray(np.asarray(chosen.zero_stage) >= 2, dtype=np.intp)  # noqa: PLR2004 - ZeRO stage
    tuning = take(stack([entry.tuning for entry in stacks]), fsdp)
    times = step.layer_times(shape, device, tuning, chosen)
    upkeep = upkeep_of(job, shape, node)
    parts = step.step_columns(shape, device, tuning, chosen, times, upkeep=upkeep)
    needed = memory.per_gpu(shape, chosen, layer=times.kept(), practice=upkeep.practice)
    away = None
    if upkeep.offload is not None:
        away = away_of(shape, chosen, upkeep, layer=times.kept(), node=node)
    parameters = float(transformer.parameters(job.model))
    flops = transformer.training_flops_per_token(job.model, sequence_length=job.sequence_length)
    nodes = (layouts.gpu_counts(chosen) / node.gpus).astype(int).tolist()
    elastic: list[int | None] = [None] * len(nodes)
    if reliability.elastic:
        kept = elastic_nodes(
            job, shape, device, chosen, gpus_per_node=node.gpus, upkeep=upkeep, node=node, reliability=reliability
        )
        elastic = [int(count) or None for count in kept]
    steps = [parts.row(row, scale=median_factor(stacks[kind].residuals)) for row, kind in enumerate(fsdp)]
    whole = storage.sized(reliability, parameters=parameters)
    fed = data_feed.fed(job, node, chosen, steps=steps, reliability=whole)
    useful = _goodputs(reliability, [feed for _, feed in fed], nodes=nodes, parameters=parameters, elastic=elastic)
    return tuple(
        point(
            job,
            node,
            layouts.layout_at(chosen, row),
            step_s=step_s,
            feed=feed,
            needed=needed.row(row),
            residuals=stacks[fsdp[row]].residuals,
            reliability=reliability,
            useful=useful[row],
            offload=None
            if away is None
            else away.row(
                row,
                scale=median_factor(stacks[fsdp[row]].residuals),
                overlap=float(stacks[fsdp[row]].tuning.data_overlap),
                copies=useful[row].host_bytes_per_node,
            ),
            parameters=parameters,
            flop_per_token=flops,
            peak_flop_per_s=float(device.peak_flop_per_s) / float(device.speed),
        )
        for row, (step_s, feed) in enumerate(fed)
    )


def point(
    job: TrainingJob,
    node: NodeType,
    layout: Layout,
    *,
    step_s: StepTime,
    feed: DataFeed,
    needed: MemoryPerGpu,
    residuals: Residuals,
    reliability: Reliability,
    useful: Goodput,
    offload: OffloadNeed | None,
    parameters: float,
    flop_per_token: float,
    peak_flop_per_s: float,
) -> TrainingPoint:
    """Return one layout's point.

    The step's parts are scaled by the median of measured over predicted time, so that they add up to the median step;
    the band scales days by the residuals' quantiles: days at quantile `c` are the predicted days times `exp(-r(1-c))`,
    where `r` is the residual of tokens per second. Starting takes its time once, before the run.

    Args:
        job: the training run.
        node: the node type.
        layout: how it is spread.
        step_s: its median step.
        feed: how it loads its data.
        needed: its memory.
        residuals: of its stack.
        reliability: for storage.
        useful: its goodput.
        offload: what lies outside its accelerators.
        parameters: of the model.
        flop_per_token: of the model.
        peak_flop_per_s: documented, dense, of the precision.
    """
    gpus = layout.tp * layout.cp * layout.pp * layout.dp
    per_step = training.tokens_per_step(
        sequence_length=job.sequence_length, global_batch_sequences=job.global_batch_sequences
    )
    tokens_per_s = per_step / step_s.total_s
    days = float(
        np.asarray(
            run_days(
                steps=job.tokens / per_step, step_s=step_s.total_s, productive=useful.fraction, startup_s=feed.startup_s
            )
        )
    )
    return TrainingPoint(
        node=node,
        nodes=gpus // node.gpus,
        gpus=gpus,
        layout=layout,
        memory=needed,
        step=step_s,
        mfu=model_flop_utilisation(
            tokens_per_step=per_step,
            step_s=step_s.total_s,
            gpus=gpus,
            flop_per_token=flop_per_token,
            peak_flop_per_s=peak_flop_per_s,
        ),
        tokens_per_s_per_gpu=tokens_per_s / gpus,
        goodput=useful,
        storage=storage.storage_need(
            job,
            reliability,
            parameters=parameters,
            data_read_bytes_per_s=feed.shared_read_bytes_per_s,
            run_s=days * SECONDS_PER_DAY,
        ),
        calendar_days=days,
        calendar_days_low=days * band_factor(residuals, quantile=LOW_QUANTILE),
        calendar_days_high=days * band_factor(residuals, quantile=job.confidence),
        limited_by=limits(step_s, experts=layout.ep > 1),
        offload=offload,
        data=feed,
    )


def joined(fronts: Sequence[Front]) -> Front:
    """Return the front of several fronts of one node type; on the same nodes and days the first one's point stays.

    Points are compared by the fastest layouts of their sizes, as everywhere.
    """
    found = [point for front in fronts for point in front.points]
    kept: list[TrainingPoint] = []
    for point in sorted(found, key=lambda point: (point.nodes, point.compared.calendar_days)):
        if not kept or point.compared.calendar_days < kept[-1].compared.calendar_days:
            kept.append(point)
    return Front(
        node=fronts[0].node,
        points=tuple(kept),
        layouts_evaluated=sum(front.layouts_evaluated for front in fronts),
        layouts_rejected_by_memory=sum(front.layouts_rejected_by_memory for front in fronts),
    )


def _goodputs(
    reliability: Reliability,
    feeds: Sequence[DataFeed],
    *,
    nodes: Sequence[int],
    parameters: float,
    elastic: Sequence[int | None],
) -> tuple[Goodput, ...]:
    """Return the goodput of each layout; one by one only where loading adds to their restarts."""
    if not any(feed.restart_s for feed in feeds):
        return goodputs(reliability, nodes=nodes, parameters=parameters, elastic_nodes=elastic)
    return tuple(
        goodput(reliability.with_restart(feed.restart_s), nodes=count, parameters=parameters, elastic_nodes=fewer)
        for feed, count, fewer in zip(feeds, nodes, elastic, strict=True)
    )


def median_factor(residuals: Residuals) -> float:
    """Return the median of measured over predicted step time, `exp(-p50)` of the residuals of tokens per second."""
    return float(np.exp(-residuals.p50))


def band_factor(residuals: Residuals, *, quantile: float) -> float:
    """Return the quantile of time over its median: `exp(p50 - r(1 - quantile))`."""
    return float(np.exp(residuals.p50 - residuals.at(1 - quantile)))


def limits(parts: StepTime, *, experts: bool = False) -> tuple[str, ...]:
    """Return what takes a named share of the step besides computation, largest first, in words.

    Args:
        parts: of a step.
        experts: traffic inside layers is that of expert parallelism too.
    """
    total = parts.total_s
    named = [(name, words.replace("tensor-", "tensor- and expert-") if experts else words) for name, words in _LIMITS]
    shares = sorted(((getattr(parts, name) / total, words) for name, words in named), reverse=True)
    return tuple(f"{words} ({percent(share)} of the step)" for share, words in shares if share >= NAMED_SHARE)
