"""Explanations of what is read of the training data, how long training waits for it, and what starts take."""

from clusterwright import units
from clusterwright.explain.records import Explanation, Input
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.feeding.loading import Preparation, late_s, prepared_ahead_s
from clusterwright.units import percent

_SIZING = "clusterwright/sizing/feeding/loading.py"
_GIVEN = "catalog/data_loading.csv, or the blueprint's section data"
_NODE = "facts of the node, or the blueprint's sections data and storage"


def data_numbers(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the explanations of waiting for data, of what shared storage is read at, and of starts."""
    return _waiting(plan, option), _reading(plan, option), _bandwidth(option), _starting(option)


def _rate(value: float) -> str:
    return units.text(value, units.BANDWIDTH)


def _seconds(value: float | None) -> str:
    return "unknown or not limited" if value is None else f"{value:.5f} s"


def _waiting(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    performance = option.performance
    feed, step = performance.data, performance.step
    without = step.total_s - step.data_loading_s
    parts = Preparation(workers_s=feed.workers_s, node_s=feed.node_s or 0.0, shared_s=feed.shared_s or 0.0)
    ahead = feed.workers > 0 and feed.prefetch_batches > 0
    prepare = float(parts.total_s(ahead=ahead))
    ready = float(prepared_ahead_s(prepare, feed.pause_s, feed.ready_share))
    rule = "all of the preparation, since nothing is prepared while the step before runs"
    line = f"{parts.workers_s:.5f} + max({parts.node_s:.5f}, {parts.shared_s:.5f}) = {prepare:.5f} s"
    if ahead:
        late = late_s.record(prepare_s=prepare, step_s=without, pause_s=feed.pause_s, ready_s=ready)
        rule, line = late.rule, f"{late.filled} = {late.result:.5f} s"
    share = f"{plan.workload.global_batch_sequences:,} samples / {performance.layout.dp:,} ranks"
    return Explanation(
        number="data_loading",
        title="time of a step in which training waits for data",
        value=f"{feed.stall_s:.3f} s",
        equation=(rule, line),
        inputs=(
            Input(
                name="preparation",
                value=f"{_seconds(feed.workers_s)} by {feed.workers} processes of each rank that loads, "
                f"{_rate(feed.worker_bytes_per_s)} each",
                source=_GIVEN,
            ),
            Input(
                name="bytes of a rank",
                value=f"{share} × {plan.workload.sequence_length:,} tokens × {feed.bytes_per_token:.4g} bytes",
                source="blueprint, or the vocabulary: 2 bytes a token up to 65,536, else 4",
            ),
            Input(name="reading, node", value=_seconds(feed.node_s), source=_NODE),
            Input(name="reading, shared storage", value=_seconds(feed.shared_s), source=_NODE),
            Input(name="step", value=f"{without:.5f} s without waiting", source="explain step_time"),
            Input(name="pause", value=f"{feed.pause_s:.5f} s", source="gradient exchange and optimizer, step_time"),
            Input(
                name="ready",
                value=f"{ready:.5f} s, at most {percent(feed.ready_share, digits=1)} of a step's data: "
                f"{feed.workers} processes × {feed.prefetch_batches} micro-batches",
                source=_GIVEN,
            ),
            Input(
                name="processes needed",
                value="more than the node runs" if feed.workers_needed is None else f"{feed.workers_needed}",
                source=_SIZING,
            ),
        ),
        sources=("Megatron-LM: --num-workers; PyTorch DataLoader: prefetch_factor",),
    )


def _reading(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    performance = option.performance
    feed, work = performance.data, plan.workload
    copies = feed.loading_ranks / performance.layout.dp
    amount = f"{work.global_batch_sequences:,} × {work.sequence_length:,} × {feed.bytes_per_token:.6g} × {copies:.0f}"
    where = "local drives" if feed.staged else "shared storage"
    return Explanation(
        number="data_read",
        title=f"training data read from {where} while training",
        value=f"{_rate(feed.read_bytes_per_s)}, {_rate(feed.read_bytes_per_s_per_node)} by the busiest node",
        equation=(
            "samples of a step × tokens × bytes × ranks that read each / step time / 1000000000 bytes of a GB",
            f"{amount} / {performance.step.total_s:.5f} / 1000000000 = {feed.read_bytes_per_s / 1e9:.9f} GB",
        ),
        inputs=(
            Input(
                name="samples, tokens, bytes",
                value=f"{work.global_batch_sequences:,} × {work.sequence_length:,} × {feed.bytes_per_token:.6g}",
                source="blueprint",
            ),
            Input(
                name="ranks that read each",
                value=f"{copies:.0f}: every context-parallel rank, of the first and of the last pipeline stage",
                source=_SIZING,
            ),
            Input(
                name="ranks that load",
                value=f"{feed.loading_ranks:,}, at most {feed.ranks_per_node} on a node",
                source="one of each tensor-parallel group",
            ),
            Input(
                name="held ready",
                value=f"{units.text(feed.prefetch_bytes_per_node, units.BYTES)} of a node's memory",
                source=_SIZING,
            ),
            Input(name="step time", value=f"{performance.step.total_s:.5f} s", source="explain step_time"),
        ),
        sources=("Megatron-LM: get_batch of its pretraining scripts",),
    )


def _bandwidth(option: TrainingOption) -> Explanation:
    need = option.design.storage
    restart, data = need.restart_read_bytes_per_s, need.data_read_bytes_per_s
    rule = "the larger of reading a checkpoint in the time planned and of reading training data while training"
    numbers = f"max({restart / 1e9:.4f}, {data / 1e9:.4f})"
    if need.read_bytes_per_s not in (restart, data):
        rule, numbers = "given in the blueprint", f"{need.read_bytes_per_s / 1e9:.4f}"
    return Explanation(
        number="read_bandwidth",
        title="read bandwidth of shared storage, all nodes",
        value=_rate(need.read_bytes_per_s),
        equation=(rule, f"{numbers} = {need.read_bytes_per_s / 1e9:.4f} GB"),
        inputs=(
            Input(
                name="checkpoint", value=f"{restart / 1e9:.4f} GB/s", source="what a restart reads / checkpoint_read_s"
            ),
            Input(
                name="training data",
                value=f"{data / 1e9:.4f} GB/s",
                source="explain data_read, with time for the pause",
            ),
        ),
        sources=("clusterwright/sizing/reliability/storage.py: read_bytes_per_s",),
    )


def _starting(option: TrainingOption) -> Explanation:
    feed = option.performance.data
    late = feed.startup_s - feed.staging_s
    return Explanation(
        number="startup",
        title="time before the first step, beyond what a start takes anyway",
        value=f"{feed.startup_s:.1f} s",
        equation=(
            "copying data to local drives + first micro-batch beyond what a start holds",
            f"{feed.staging_s:.4f} + {late:.4f} = {feed.startup_s:.4f} s",
        ),
        inputs=(
            Input(
                name="copying",
                value=f"{feed.staging_s:.4f} s, {units.text(feed.staged_bytes_per_node, units.BYTES)} to each node "
                "that loads",
                source="data set / data-parallel ranks, for the ranks of a node; storage read bandwidth",
            ),
            Input(name="first micro-batch", value=f"{feed.first_batch_s:.4f} s, {late:.4f} s beyond", source=_GIVEN),
            Input(
                name="every restart",
                value=f"{feed.restart_s:.2f} s more",
                source="a checkpoint read late, the first micro-batch, and the copy of a node that was replaced",
            ),
        ),
        sources=("clusterwright/sizing/feeding/starts.py",),
    )
