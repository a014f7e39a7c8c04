"""The step time and memory of one layout, written again in scalars, straight from the equations of the docs."""

import math

from clusterwright.catalog.matmul_rates import share_of
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.hardware.calibration import StackCalibration
from clusterwright.sizing.records.job import Layout, TrainingJob
from clusterwright.workload import transformer


def pace_parameters(job: TrainingJob, layout: Layout) -> float:
    """Parameters whose gradients the fullest stage reduces, taken apart from its memory: the larger table counts."""
    model = job.model
    each, head = transformer.layer_parameters(model), model.hidden * model.vocab
    if layout.pp == 1:
        return sum(parameters_at(job, layout, 0))
    middle, last = stages(job, layout)
    return max(middle * each, last * each + max(transformer.embedding_parameters(model), head)) / layout.tp


def parameters_at(job: TrainingJob, layout: Layout, stage: int) -> tuple[float, float]:
    """Parameters of layers and of tables on one GPU of a stage."""
    model = job.model
    tables = 0.0
    if stage == 0:
        tables += transformer.embedding_parameters(model)
    if stage == layout.pp - 1 and not (layout.pp == 1 and model.tied_embeddings):
        tables += model.hidden * model.vocab
    each = transformer.layer_parameters(model)
    return sum(chunks(job, layout)[stage]) * each / layout.tp, tables / layout.tp


def chunks(job: TrainingJob, layout: Layout) -> list[list[float]]:
    """Layers of each chunk of each stage; dealt out one chunk after the other, round and round the stages."""
    slots = layout.pp * layout.vpp
    uneven = job.model.layers % slots > 0
    dealt = [(job.model.layers + 2 * uneven) / slots] * slots
    dealt[0] -= uneven
    dealt[-1] -= uneven
    return [dealt[stage :: layout.pp] for stage in range(layout.pp)]


def stages(job: TrainingJob, layout: Layout) -> tuple[float, float]:
    """Layers of a middle stage and of the last one."""
    uneven = job.model.layers % (layout.pp * layout.vpp) > 0
    return (job.model.layers + 2 * uneven) / layout.pp, sum(chunks(job, layout)[-1])


def recomputed(layout: Layout, sizes: list[float]) -> float:
    """Layers of a stage's chunks that are recomputed as a whole."""
    if layout.recompute != "full":
        return 0.0
    return sum(size if layout.recompute_layers is None else min(layout.recompute_layers, size) for size in sizes)


def in_flight(layout: Layout, stage: int) -> float:
    """Micro-batches whose activations a stage holds."""
    if layout.schedule == "zero-bubble":
        return min(layout.micro_batches, layout.pp)
    if layout.schedule == "dualpipe":
        return min(layout.micro_batches, layout.pp + 1)
    ahead = layout.pp - stage
    if layout.vpp > 1:
        ahead = (2 * (layout.pp - stage - 1) + (layout.vpp - 1) * layout.pp + 1) / layout.vpp
    return min(layout.micro_batches, ahead)


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


def memory_at(job: TrainingJob, layout: Layout, stage: int) -> float:
    """Memory of a GPU of one stage."""
    held = [stage] if layout.schedule != "dualpipe" else [stage, layout.pp - 1 - stage]
    model, group = job.model, (layout.sharding_group or layout.dp * layout.cp) * len(held)
    parameters = sum(sum(parameters_at(job, layout, each)) for each in held)
    weights = 2 / group if layout.zero_stage == 3 else 2
    gradients = 4 / group if layout.zero_stage >= 2 else 4
    optimizer = 12 / group if layout.zero_stage >= 1 else 12
    rows = job.sequence_length * layout.micro_batch / layout.cp
    ordinary = kept_bytes(job, layout, "none" if layout.recompute == "none" else "selective")
    stored = 0.0
    for each in held:
        sizes = chunks(job, layout)[each]
        again = recomputed(layout, sizes)
        stored += (again * kept_bytes(job, layout, "full") + (sum(sizes) - again) * ordinary) / len(held)
    live = stored * in_flight(layout, stage) + (ordinary if again else 0)
    if layout.pp - 1 in held:
        live += rows * (4 * model.hidden + (12 if layout.zero_stage >= 2 else 4) * model.vocab) / layout.tp
    gathered = 12 * transformer.layer_parameters(model) / layout.tp if layout.zero_stage == 3 else 0
    buffers = 4 * rows * model.hidden + gathered
    return 1.05 * (parameters * (weights + gradients + optimizer) + live + buffers) + 4 * 2**30


def memory_bytes(job: TrainingJob, layout: Layout) -> float:
    """Memory of the fullest GPU."""
    return max(memory_at(job, layout, stage) for stage in range(layout.pp))


def step_s(job: TrainingJob, node: NodeType, layout: Layout, calibrated: StackCalibration) -> float:
    """Median seconds of one step."""
    model, tuning, gpu = job.model, calibrated.tuning, node.accelerator
    t, rows = layout.tp, job.sequence_length * layout.micro_batch / layout.cp
    query, key = model.heads * model.head_dim, model.kv_heads * model.head_dim
    matrices = 3 if model.gated else 2
    peak = gpu.dense_bf16_flop_per_s
    fastest = peak * share_of(gpu.id, "bf16")
    stream = gpu.hbm_bytes_per_s * 0.85
    link = gpu.scale_up_bytes_per_s_per_gpu_one_way * tuning.scale_up_fraction
    wire = node.network_bytes_per_s_per_gpu_one_way * tuning.network_fraction

    def multiply(inner: float, outer: float) -> float:
        saturation = (1 + tuning.rows_half / rows) * (1 + tuning.width_half / min(inner, outer))
        return 2 * rows * inner * outer / (fastest * tuning.gemm_efficiency) * saturation

    forward = multiply(model.hidden, (query + 2 * key) / t) + multiply(query / t, model.hidden)
    forward += multiply(model.hidden, (matrices - 1) * model.ffn_hidden / t) + multiply(
        model.ffn_hidden / t, model.hidden
    )
    matmuls = forward
    elements = 6 * model.hidden / (t if layout.sp else 1) + (query + 2 * key + matrices * model.ffn_hidden) / t
    forward += 2 * tuning.memory_passes * rows * elements / stream
    attention = 2 * rows * job.sequence_length * query / t
    attention /= peak * tuning.attention_share * tuning.attention_efficiency
    compute = 3 * forward + (3 if layout.recompute == "none" else 4) * attention + tuning.layer_overhead_s
    again = forward + tuning.layer_overhead_s / 3
    reduce = 2 * ((t - 1) / t * 2 * rows * model.hidden / link + (t - 1) * tuning.scale_up_latency_s)
    reduce *= 1 - tuning.tensor_overlap
    layer, again = compute + 4 * reduce, again + 2 * reduce
    head = 3 * multiply(model.hidden, model.vocab / t) + 16 * rows * model.vocab / t / stream
    middle, last = stages(job, layout)
    stage = middle * layer + recomputed(layout, [middle / layout.vpp] * layout.vpp) * again
    edge = last * layer + recomputed(layout, chunks(job, layout)[-1]) * again + head
    total = layout.micro_batches * max(stage, edge)
    weights = middle * matmuls
    if layout.schedule == "zero-bubble":
        total += (layout.pp - 1) * (stage - 2 * weights)
    elif layout.schedule == "dualpipe":
        ahead = middle * (forward + attention + tuning.layer_overhead_s / 3 + 2 * reduce)
        total += max(0, layout.pp / 2 - 1) * (stage + (stage - ahead) - 3 * weights)
    else:
        total += (layout.pp - 1) / layout.vpp * stage

    ranks = layout.dp * layout.cp
    crosses = t * ranks * layout.pp > gpu.scale_up_domain_gpus
    if layout.pp > 1:
        latency = tuning.network_latency_s if crosses else tuning.scale_up_latency_s
        one = 2 * rows * model.hidden / t / (wire if crosses else link) + latency
        total += 2 * layout.vpp * layout.micro_batches * one * (1 - tuning.pipeline_overlap)

    count = layout.micro_batches if layout.zero_stage >= 2 else 1
    traffic = replicas_s(job, node, layout, calibrated)
    total += traffic - tuning.data_overlap * min(traffic, stage * count)
    copies = 2 if layout.schedule == "dualpipe" else 1
    shards = (layout.sharding_group or ranks) * copies if layout.zero_stage >= 1 else 1
    total += 30 * copies * pace_parameters(job, layout) / shards / stream + tuning.step_overhead_s
    return total * math.exp(-calibrated.residuals.p50)


def replicas_s(job: TrainingJob, node: NodeType, layout: Layout, calibrated: StackCalibration) -> float:
    """Traffic of gradients and weights among the ranks that hold the same stage, before any of it is hidden."""
    tuning, gpu, t = calibrated.tuning, node.accelerator, layout.tp
    link = gpu.scale_up_bytes_per_s_per_gpu_one_way * tuning.scale_up_fraction
    wire = node.network_bytes_per_s_per_gpu_one_way * tuning.network_fraction
    copies = 2 if layout.schedule == "dualpipe" else 1
    ranks, held = layout.dp * layout.cp * copies, copies * pace_parameters(job, layout)
    group = (layout.sharding_group or layout.dp * layout.cp) * copies

    def half(size: float, among: float, apart: float) -> float:
        local = max(1, min(among, gpu.scale_up_domain_gpus // apart))
        remote = max(1, among / local)
        inside = (local - 1) / local * size / link + (local - 1) * tuning.scale_up_latency_s
        return inside + (remote - 1) / remote * size / local / wire + (remote - 1) * tuning.network_latency_s

    scatter, gather, count = half(4 * held, group, t), half(2 * held, group, t), layout.micro_batches
    traffic = {
        0: 2 * scatter,
        1: scatter + gather,
        2: count * scatter + gather,
        3: count * (scatter + 2 * gather),
    }[layout.zero_stage]
    if layout.zero_stage == 3:
        local = max(1, min(group, gpu.scale_up_domain_gpus // t))
        ring = (group - group / local) * tuning.scale_up_latency_s + (group / local - 1) * tuning.network_latency_s
        traffic += 3 * count * stages(job, layout)[0] * ring
    if group < ranks:
        traffic += 2 * half(4 * held / group, ranks / group, t * group)
    return traffic
