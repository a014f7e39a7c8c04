"""Seconds of one optimizer step: a table of layer times first, then what depends on pipeline and data parallelism.

The first level depends on tensor, sequence and context parallelism, micro-batch and recomputation only, so it is
computed once per distinct combination; the second level is a few cheap operations per layout.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import (
    DUALPIPE,
    FULL,
    SELECTIVE,
    ZERO_BUBBLE,
    Device,
    Layouts,
    Shape,
    Tuning,
    Values,
    anywhere,
)
from clusterwright.sizing.hardware import groups
from clusterwright.sizing.model import compute, experts, layer_memory
from clusterwright.sizing.records.job import StepTime
from clusterwright.sizing.records.offload import WEIGHTS_FROM_STAGE
from clusterwright.sizing.records.offload import exposed_s as exposed_by_offload_s
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.optimizer.optimizers import orthogonalisation_s
from clusterwright.sizing.training.optimizer.upkeep import DEFAULT, Upkeep, offload_times, optimizer_shards


def bubble_s(layouts: Layouts, *, micro_batch_s: Values, forward_s: Values, weight_s: Values) -> Values:
    """Return seconds of the bubble per step, however many micro-batches there are (Narayanan et al. 2021, 2.2.2).

    With `F` forward, `B` all of backward and `W` its gradients of weights, of one stage and one micro-batch: 1F1B
    `(pp-1) (F + B)/v`; ZB-H1 `(pp-1) (F + B - 2 W)` (Qi et al. 2024, arXiv 2401.10241, table 2, whose `B` is without
    `W`); DualPipe `(pp/2-1) (F&B + B - 3 W)` (DeepSeek-V3, arXiv 2412.19437, table 2), where forward and backward
    chunks that run together take `F&B = F + B` here: what they hide of each other's traffic is not counted.

    Args:
        layouts: the layouts.
        micro_batch_s: `F + B`.
        forward_s: `F`.
        weight_s: `W`.
    """
    plain = (layouts.pp - 1) / layouts.vpp * micro_batch_s
    if not anywhere(layouts.schedule):
        return plain
    schedule = np.asarray(layouts.schedule)
    zero = (layouts.pp - 1) * (micro_batch_s - 2 * weight_s)
    dual = np.maximum(0.0, layouts.pp / 2 - 1) * (2 * micro_batch_s - forward_s - 3 * weight_s)
    return np.where(schedule == ZERO_BUBBLE, zero, np.where(schedule == DUALPIPE, dual, plain))


def transfer_s(
    *,
    rows: Values,
    hidden: Values,
    tp: Values,
    pp: Values,
    vpp: Values,
    micro_batches: Values,
    bytes_per_s: Values,
    latency_s: Values,
) -> Values:
    """Return seconds of sending activations and their gradients between stages, per step and without overlap.

    `2 v m (2 rows h/t / B + alpha)`: each of the `v` chunks of each micro-batch is sent once forward and once backward,
    and each tensor-parallel rank sends its share (scatter-gather, Narayanan et al. 2021, section 4.1). 0 for one stage.
    """
    one = 2 * rows * hidden / tp / bytes_per_s + latency_s
    return np.where(np.asarray(pp) > 1, 2 * vpp * micro_batches * one, 0.0)


def exposed_transfer_s(shape: Shape, device: Device, tuning: Tuning, layouts: Layouts) -> Values:
    """Return seconds of transfers between stages that computation does not hide, per step.

    Stages that wait for what they send, through buffers of the host, hide nothing, whatever the link.
    """
    span = layouts.tp * layouts.cp * layouts.dp * layouts.pp
    link, latency = groups.pair_links(device, tuning, span=span)
    hidden_share = tuning.pipeline_overlap
    if anywhere(tuning.blocking):
        inside = np.asarray(span) <= device.scale_up_gpus
        through_host = np.where(inside, BLOCKING_INSIDE_BYTES_PER_S, BLOCKING_OUTSIDE_BYTES_PER_S)
        waits = np.asarray(tuning.blocking) > 0
        link = np.where(waits, np.minimum(link, through_host), link)
        hidden_share = np.where(waits, 0.0, hidden_share)
    whole = transfer_s(
        rows=shape.sequence * layouts.micro_batch / layouts.cp,
        hidden=shape.hidden,
        tp=layouts.tp,
        pp=layouts.pp,
        vpp=layouts.vpp,
        micro_batches=layouts.micro_batches,
        bytes_per_s=link,
        latency_s=latency,
    )
    return whole * (1 - hidden_share)


#: All-reduces of one layer and micro-batch under tensor parallelism: two forward, two backward (Megatron-LM,
#: 1909.08053).
TENSOR_ALL_REDUCES = 4.0
#: Weights travel as bf16, gradients as fp32.
GATHER_BYTES = 2.0
SCATTER_BYTES = 4.0
#: Times that ZeRO-3 sends a layer's weights or gradients round: forward, backward, gradients.
GATHER_PASSES = 3.0
#: Bytes per second of one rank whose stages wait for what they send, through buffers of the host: inside a scale-up
#: domain and outside, as nanotron's sweep of 2024 shows them (docs/evidence/accuracy.md).
BLOCKING_INSIDE_BYTES_PER_S, BLOCKING_OUTSIDE_BYTES_PER_S = 3e9, 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerTimes:
    """The first level: one layer and one micro-batch on one GPU, and the memory that layer keeps.

    Attributes:
        compute_s: forward and backward of a layer that is not recomputed as a whole; again_s: besides, where it is.
        exchange_s: exposed tensor-, context- and expert-parallel traffic; again_exchange_s: besides, where the layer is
            recomputed as a whole.
        forward_s, weight_s: of compute_s and exchange_s, the forward pass and the gradients of weights.
        head_s: output matrix and loss on the last stage.
        plain_bytes, routed_bytes, plain_again_bytes, routed_again_bytes: see `layer_memory.LayerBytes`.
    """

    compute_s: Values
    again_s: Values
    exchange_s: Values
    again_exchange_s: Values
    forward_s: Values
    weight_s: Values
    head_s: Values
    plain_bytes: Values
    routed_bytes: Values
    plain_again_bytes: Values
    routed_again_bytes: Values

    def kept(self) -> layer_memory.LayerBytes:
        """Return what the layer keeps for its backward pass."""
        return layer_memory.LayerBytes(
            plain=self.plain_bytes,
            routed=self.routed_bytes,
            plain_again=self.plain_again_bytes,
            routed_again=self.routed_again_bytes,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class StepColumns:
    """Seconds of one step by part, as columns; the fields of `StepTime`."""

    compute_s: Values
    tensor_parallel_s: Values
    pipeline_bubble_s: Values
    pipeline_transfer_s: Values
    data_parallel_s: Values
    optimizer_s: Values
    offload_s: Values = 0.0

    def total_s(self) -> Values:
        """Return the sum of all parts."""
        inside = self.compute_s + self.tensor_parallel_s + self.pipeline_bubble_s + self.pipeline_transfer_s
        total = inside + self.data_parallel_s + self.optimizer_s
        return total + self.offload_s if np.any(self.offload_s) else total

    def row(self, index: int, *, scale: float = 1.0) -> StepTime:
        """Return one layout's parts, multiplied by `scale`."""
        names = (
            "compute_s",
            "tensor_parallel_s",
            "pipeline_bubble_s",
            "pipeline_transfer_s",
            "data_parallel_s",
            "optimizer_s",
            "offload_s",
        )
        columns = {name: np.atleast_1d(np.asarray(getattr(self, name))) for name in names}
        return StepTime(**{name: scale * float(each[index if each.size > 1 else 0]) for name, each in columns.items()})


def tensor_exchange_s(
    shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, sp: Values, recompute: Values
) -> Values:
    """Return exposed seconds of tensor-parallel traffic of one layer and micro-batch.

    Four all-reduces of `2 rows h` bytes (six with full recomputation) inside the scale-up domain; with sequence
    parallelism each is a reduce-scatter and an all-gather of the same volume (Korthikanti et al. 2022, section 4.2.2),
    which switches that reduce do not shorten. Half of them belong to the MLP; a layer with experts exchanges copies
    instead.
    """
    reductions = TENSOR_ALL_REDUCES + np.where(np.asarray(recompute) == FULL, 2.0, 0.0)
    reductions = reductions * (1 - shape.expert_share / 2)
    size = 2 * rows * shape.hidden
    one = 2 * groups.half_s(device, tuning, size_bytes=size, ranks=tp, stride=1.0)
    if groups.reduces_otherwise(device):
        whole = groups.all_reduce_s(device, tuning, size_bytes=size, ranks=tp, stride=1.0)
        one = np.where(np.asarray(sp) > 0, one, whole)
    return reductions * one * (1 - tuning.tensor_overlap)


def context_exchange_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, cp: Values) -> Values:
    """Return exposed seconds of context-parallel traffic of one layer and micro-batch.

    Keys and values of `2 x 2 k rows/t` bytes pass round a ring of `cp` ranks forward, and with their gradients
    backward: three times `(cp-1)` blocks (ring attention, arXiv 2310.01889). Inside the scale-up domain where `tp cp`
    fits, from one accelerator to one other.
    """
    bandwidth, latency = groups.pair_links(device, tuning, span=tp * cp)
    block = 2 * 2 * shape.key_value * rows / tp
    return 3 * (cp - 1) * (block / bandwidth + latency) * (1 - tuning.tensor_overlap)


def layer_times(shape: Shape, device: Device, tuning: Tuning, layouts: Layouts) -> LayerTimes:
    """Return the first level for every layout given; pipeline and data parallelism do not matter here."""
    rows = shape.sequence * layouts.micro_batch / layouts.cp
    tp = layouts.tp
    plain = _exchange_s(shape, device, tuning, replace(layouts, recompute=SELECTIVE))
    again: Values = 0.0
    if anywhere(np.asarray(layouts.recompute) == FULL):
        again = _exchange_s(shape, device, tuning, replace(layouts, recompute=FULL)) - plain
    computed = compute.layer_compute(shape, device, tuning, layouts=layouts, rows=rows)
    kept = layer_memory.layer_bytes(shape, layouts)
    return LayerTimes(
        compute_s=computed.total_s,
        again_s=computed.again_s,
        exchange_s=plain,
        again_exchange_s=again,
        # Half of the traffic accompanies the forward pass; the gradients of weights need none.
        forward_s=computed.forward_s + plain / 2,
        weight_s=computed.weight_s,
        head_s=compute.head_compute_s(shape, device, tuning, rows=rows, tp=tp),
        plain_bytes=kept.plain,
        routed_bytes=kept.routed,
        plain_again_bytes=kept.plain_again,
        routed_again_bytes=kept.routed_again,
    )


def _exchange_s(shape: Shape, device: Device, tuning: Tuning, layouts: Layouts) -> Values:
    rows, tp = shape.sequence * layouts.micro_batch / layouts.cp, layouts.tp
    exchange = tensor_exchange_s(shape, device, tuning, rows=rows, tp=tp, sp=layouts.sp, recompute=layouts.recompute)
    exchange = exchange + context_exchange_s(shape, device, tuning, rows=rows, tp=tp, cp=layouts.cp)
    if anywhere(shape.expert_share):
        exchange = exchange + experts.exchange_s(shape, device, tuning, layouts=layouts, rows=rows)
    return exchange


def exposed_s(*, traffic_s: Values, window_s: Values, overlap: Values) -> Values:
    """Return what remains of traffic after computation has hidden a share of it: `t - overlap min(t, window)`."""
    return traffic_s - overlap * np.minimum(traffic_s, window_s)


def data_parallel_s(
    device: Device,
    tuning: Tuning,
    layouts: Layouts,
    *,
    parameters: Values,
    micro_batch_s: Values,
    layers: Values = 1.0,
    expert_parameters: Values = 0.0,
    moments_gathered: bool = False,
) -> Values:
    """Return exposed seconds of gradient reduction and weight gathering per step.

    Stage 0 and 1: a reduce-scatter of fp32 gradients and an all-gather, once per step (of gradients for stage 0, of
    bf16 weights above); stage 2 reduces every micro-batch; stage 3 also gathers twice every micro-batch, layer by
    layer, each of which takes the latency of its ring. Hidden at most behind one micro-batch's computation (per
    micro-batch for stage 3).

    All of that within a sharding group; of several groups, ranks with the same shard add up their gradients once per
    step, by an all-reduce of the shard (hybrid sharding: Zhao et al. 2023, arXiv 2304.11277, section 3.2.2).

    Args:
        device: links.
        tuning: calibrated numbers.
        layouts: the layouts.
        parameters: parameters of one GPU's stage before sharding over data-parallel ranks, without routed experts.
        expert_parameters: routed experts of one GPU's stage, which fewer ranks hold in common.
        micro_batch_s: computation of one micro-batch on one stage.
        layers: of one stage.
        moments_gathered: ranks gather the bf16 moments of the matrices that they orthogonalise (distributed Muon, arXiv
            2502.16982, section 2.3).
    """
    sharded = [(parameters, memory.shards(layouts), layouts.tp)]
    if anywhere(expert_parameters):
        sharded.append((expert_parameters, memory.expert_shards(layouts), layouts.ep * layouts.etp))

    def over_shards(seconds: Callable[..., Values], byte_count: float) -> Values:
        total: Values = 0.0
        for held, ranks, stride in sharded:
            total = total + seconds(device, tuning, size_bytes=byte_count * held, ranks=ranks, stride=stride)
        return total

    scatter, gather = over_shards(groups.half_s, SCATTER_BYTES), over_shards(groups.half_s, GATHER_BYTES)
    count, stage = layouts.micro_batches, np.asarray(layouts.zero_stage)
    whole = 2 * scatter
    if groups.reduces_otherwise(device):
        whole = over_shards(groups.all_reduce_s, SCATTER_BYTES)
    gathered = 2 * gather if moments_gathered else gather
    once = np.where(stage >= 1, scatter + gathered, whole)
    grown = np.where(stage >= 2, count * scatter + gather, once)  # noqa: PLR2004 - ZeRO stages
    traffic = np.where(stage >= 3, count * (scatter + 2 * gather), grown)  # noqa: PLR2004
    if anywhere(np.asarray(layouts.replicas) > 1):
        for held, ranks, stride in sharded:
            shard = SCATTER_BYTES * held / ranks
            traffic = traffic + groups.all_reduce_s(
                device, tuning, size_bytes=shard, ranks=layouts.replicas, stride=stride * ranks
            )
    if anywhere(stage >= WEIGHTS_FROM_STAGE):
        passes = GATHER_PASSES * count * layers * tuning.gathers_per_layer
        ring = groups.ring_latency_s(device, tuning, ranks=memory.shards(layouts), stride=layouts.tp)
        traffic = traffic + np.where(stage >= WEIGHTS_FROM_STAGE, passes * ring, 0.0)
    window = micro_batch_s * np.where(stage >= 2, count, 1.0)  # noqa: PLR2004
    return exposed_s(traffic_s=traffic, window_s=window, overlap=tuning.data_overlap)


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCompute:
    """What the slowest stage computes for one micro-batch.

    Attributes:
        layers: of a middle stage; recomputed: of them, those that are recomputed as a whole.
        head_extra_s: seconds by which output matrix and loss take longer than the layers that the
            last stage has less.
    """

    layers: Values
    recomputed: Values
    head_extra_s: Values


def stage_compute(shape: Shape, layouts: Layouts, layer: LayerTimes) -> StageCompute:
    """Return what the slowest stage computes: a middle one's layers, and what the last one's head takes beyond them."""
    split = stages.split_of(shape, pp=layouts.pp, vpp=layouts.vpp)
    least = split.missing * (layer.compute_s + layer.exchange_s)
    again: Values = 0.0
    full = np.asarray(layouts.recompute) == FULL
    if anywhere(full):
        again = full * stages.recomputed_layers(layouts, split=split)
        less = again - full * stages.recomputed_layers(layouts, split=split, missing=split.missing)
        least = least + less * (layer.again_s + layer.again_exchange_s)
    return StageCompute(layers=split.middle, recomputed=again, head_extra_s=np.maximum(0.0, layer.head_s - least))


def step_columns(
    shape: Shape, device: Device, tuning: Tuning, layouts: Layouts, layer: LayerTimes, *, upkeep: Upkeep = DEFAULT
) -> StepColumns:
    """Return the second level: seconds of one step by part, for every layout.

    The slowest stage sets the pace: `T = m t_slow + (pp-1)/v t_stage + transfers + data parallel + optimizer`, where
    the last stage computes the output head besides its layers.
    """
    pp, vpp, count = layouts.pp, layouts.vpp, layouts.micro_batches
    stage = stage_compute(shape, layouts, layer)
    middle = stage.layers
    computed, exchanged = middle * layer.compute_s, middle * layer.exchange_s
    if anywhere(stage.recomputed):
        computed = computed + stage.recomputed * layer.again_s
        exchanged = exchanged + stage.recomputed * layer.again_exchange_s
    stage_s = computed + exchanged
    transfers = exposed_transfer_s(shape, device, tuning, layouts)
    copies = stages.model_copies(layouts) if anywhere(layouts.schedule) else 1.0
    parameters = copies * stages.stage_parameters(shape, tp=layouts.tp, pp=pp, vpp=vpp)
    shards, expert_shards = optimizer_shards(shape, layouts)
    updated = parameters / shards
    routed: Values = 0.0
    if anywhere(shape.expert_parameters):
        routed = copies * stages.stage_expert_parameters(shape, layouts=layouts)
        updated = updated + routed / expert_shards
    update_s = compute.optimizer_s(device, parameters=updated, traffic_bytes=upkeep.traffic_bytes)
    away_s: Values = 0.0
    if upkeep.offload is not None:
        found = offload_times(shape, layouts, upkeep, layer=layer.kept())
        away_s = exposed_by_offload_s(found, window_s=count * stage_s, overlap=tuning.data_overlap)
        update_s = update_s * (0.0 if upkeep.offload.optimizer else 1.0)
    if upkeep.optimizer.iterations:
        update_s = update_s + orthogonalisation_s(
            upkeep.optimizer,
            shape,
            device,
            tuning,
            layouts,
            stage_layers=copies * middle,
            shards=shards,
            expert_shards=expert_shards,
        )
    return StepColumns(
        compute_s=count * (computed + stage.head_extra_s),
        tensor_parallel_s=count * exchanged,
        pipeline_bubble_s=bubble_s(
            layouts, micro_batch_s=stage_s, forward_s=middle * layer.forward_s, weight_s=middle * layer.weight_s
        ),
        pipeline_transfer_s=transfers,
        data_parallel_s=data_parallel_s(
            device,
            tuning,
            layouts,
            parameters=parameters,
            micro_batch_s=stage_s,
            layers=middle,
            expert_parameters=routed,
            moments_gathered=bool(upkeep.optimizer.iterations),
        ),
        optimizer_s=update_s + tuning.step_overhead_s,
        offload_s=away_s,
    )
