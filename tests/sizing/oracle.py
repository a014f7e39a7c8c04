"""The step time and memory of one layout, written again in scalars, straight from the equations of the docs."""

import math

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.calibration import StackCalibration
from clusterwright.sizing.records import Layout, TrainingJob
from clusterwright.workload import transformer


def held_parameters(job: TrainingJob, layout: Layout) -> float:
    """Parameters on one GPU of the fullest stage."""
    model = job.model
    tables = transformer.embedding_parameters(model)
    head = model.hidden * model.vocab
    each = transformer.layer_parameters(model)
    if layout.pp == 1:
        return (model.layers * each + tables + (0 if model.tied_embeddings else head)) / layout.tp
    middle, last = stages(job, layout)
    return max(middle * each, last * each + max(tables, head)) / layout.tp


def stages(job: TrainingJob, layout: Layout) -> tuple[float, float]:
    """Layers of a middle stage and of the last one."""
    layers = job.model.layers
    if layers % (layout.pp * layout.vpp) == 0:
        return layers / layout.pp, layers / layout.pp
    return (layers + 2) / layout.pp, (layers + 2) / layout.pp - 1


def kept_bytes(job: TrainingJob, layout: Layout, recompute: str) -> float:
    """Activations one layer keeps for one micro-batch."""
    model, t = job.model, layout.tp
    shard = t if layout.sp else 1
    rows = job.sequence_length * layout.micro_batch / layout.cp
    if recompute == "full":
        return rows * 2 * model.hidden / shard
    query, key = model.heads * model.head_dim, model.kv_heads * model.head_dim
    matrices = 3 if model.gated else 2
    total = (10 if matrices == 2 else 8) * model.hidden / shard
    total += (4 * query + 4 * key + 2 * matrices * model.ffn_hidden) / t
    if recompute == "none":
        total += 5 * model.heads * job.sequence_length / t
    return rows * total


def memory_bytes(job: TrainingJob, layout: Layout) -> float:
    """Memory of the fullest GPU."""
    model, held, shards = job.model, held_parameters(job, layout), layout.dp * layout.cp
    weights = 2 / shards if layout.zero_stage == 3 else 2
    gradients = 4 / shards if layout.zero_stage >= 2 else 4
    optimizer = 12 / shards if layout.zero_stage >= 1 else 12
    rows = job.sequence_length * layout.micro_batch / layout.cp
    middle, last = stages(job, layout)
    penalty = 1 + (layout.pp - 1) / (layout.pp * layout.vpp) if layout.vpp > 1 else 1
    in_flight = min(layout.micro_batches, layout.pp * penalty)
    at_end = min(layout.micro_batches, (layout.pp * (layout.vpp - 1) + 1) / layout.vpp)
    kept = kept_bytes(job, layout, layout.recompute)
    working = kept_bytes(job, layout, "selective") if layout.recompute == "full" else 0
    logits = rows * (4 * model.hidden + (12 if layout.zero_stage >= 2 else 4) * model.vocab) / layout.tp
    live = max(kept * middle * in_flight, kept * last * at_end + logits) + working
    gathered = 8 * transformer.layer_parameters(model) / layout.tp if layout.zero_stage == 3 else 0
    buffers = 4 * rows * model.hidden + gathered
    return held * (weights + gradients + optimizer) + 1.05 * (live + buffers) + 4 * 2**30


def step_s(job: TrainingJob, node: NodeType, layout: Layout, calibrated: StackCalibration) -> float:
    """Median seconds of one step."""
    model, tuning, gpu = job.model, calibrated.tuning, node.accelerator
    t, rows = layout.tp, job.sequence_length * layout.micro_batch / layout.cp
    query, key = model.heads * model.head_dim, model.kv_heads * model.head_dim
    matrices = 3 if model.gated else 2
    peak = gpu.dense_bf16_flop_per_s
    stream = gpu.hbm_bytes_per_s * 0.85
    link = gpu.scale_up_bytes_per_s_per_gpu_one_way * tuning.scale_up_fraction
    wire = node.network_bytes_per_s_per_gpu_one_way * tuning.network_fraction

    def multiply(inner: float, outer: float) -> float:
        saturation = (1 + tuning.rows_half / rows) * (1 + tuning.width_half / min(inner, outer))
        return 2 * rows * inner * outer / (peak * tuning.gemm_efficiency) * saturation

    forward = multiply(model.hidden, (query + 2 * key) / t) + multiply(query / t, model.hidden)
    forward += multiply(model.hidden, (matrices - 1) * model.ffn_hidden / t) + multiply(
        model.ffn_hidden / t, model.hidden
    )
    elements = 6 * model.hidden / (t if layout.sp else 1) + (query + 2 * key + matrices * model.ffn_hidden) / t
    forward += 2 * tuning.memory_passes * rows * elements / stream
    attention = 2 * rows * job.sequence_length * query / t / (peak * tuning.attention_efficiency)
    passes = 4 if layout.recompute == "full" else 3
    compute = passes * forward + (3 if layout.recompute == "none" else 4) * attention
    compute += passes / 3 * tuning.layer_overhead_s
    reduce = 2 * ((t - 1) / t * 2 * rows * model.hidden / link + (t - 1) * tuning.scale_up_latency_s)
    exchange = (6 if layout.recompute == "full" else 4) * reduce * (1 - tuning.tensor_overlap)
    layer = compute + exchange
    head = 3 * multiply(model.hidden, model.vocab / t) + 16 * rows * model.vocab / t / stream
    middle, last = stages(job, layout)
    slowest = max(middle * layer, last * layer + head)
    total = layout.micro_batches * slowest + (layout.pp - 1) / layout.vpp * middle * layer

    ranks = layout.dp * layout.cp
    crosses = t * ranks * layout.pp > gpu.scale_up_domain_gpus
    if layout.pp > 1:
        latency = tuning.network_latency_s if crosses else tuning.scale_up_latency_s
        one = 2 * rows * model.hidden / t / (wire if crosses else link) + latency
        total += 2 * layout.vpp * layout.micro_batches * one * (1 - tuning.pipeline_overlap)

    held = held_parameters(job, layout)
    local = max(1, min(ranks, gpu.scale_up_domain_gpus // t))
    remote = max(1, ranks / local)

    def half(size: float) -> float:
        inside = (local - 1) / local * size / link + (local - 1) * tuning.scale_up_latency_s
        return inside + (remote - 1) / remote * size / local / wire + (remote - 1) * tuning.network_latency_s

    scatter, gather, count = half(4 * held), half(2 * held), layout.micro_batches
    traffic = {
        0: 2 * scatter,
        1: scatter + gather,
        2: count * scatter + gather,
        3: count * (scatter + 2 * gather),
    }[layout.zero_stage]
    window = middle * layer * (count if layout.zero_stage >= 2 else 1)
    total += traffic - tuning.data_overlap * min(traffic, window)
    total += 30 * held / (ranks if layout.zero_stage >= 1 else 1) / stream
    return total * math.exp(-calibrated.residuals.p50)
