"""What sizing takes in and gives back."""

from dataclasses import dataclass, field
from typing import Literal

from clusterwright.blueprint.sizes import Multiple
from clusterwright.catalog.records import Model, NodeType
from clusterwright.formulas import Recorded, Term, formula
from clusterwright.sizing.records.loading import DataFeed, Loading
from clusterwright.sizing.records.offload import Offload
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.run import Goodput

OptimizerName = Literal["adam", "adam-bf16", "adafactor", "muon"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """A training run as the blueprint asks for it.

    Attributes:
        tokens: trained in total.
        sequence_length: tokens per sequence; global_batch_sequences: sequences per optimizer step.
        precision: of the matrix multiplications, one of `catalog.precisions.PRECISIONS`.
        framework: training software with its release, empty for the median of those measured.
        finish_within_s: calendar time allowed, None for no goal.
        confidence: the goal is met when this quantile of calendar time meets it.
        memory_confidence: probability with which a layout has to fit into memory; None counts memory as predicted.
        min_nodes, max_nodes: never fewer or more nodes that train, None for no limit.
        nodes_must_be: what the number of nodes divides into, with the nodes_beside those that train.
        node_counts: the only numbers of nodes, with those beside, that the hardware comes in; None for any.
        dataset_bytes: training data on shared storage; None derives it from the tokens.
        loading: how the data reaches the accelerators.
        tensor_parallel … recompute: fixed by the user where not None, else searched; max_tensor_parallel, data_must_be:
            bound what is searched.
        recompute_layers: of each chunk of a stage, fixed by the user with full recomputation; None for all, or for as
            few as fit where `recompute` is searched.
        sharding_group: ranks over which ZeRO shards, fixed by the user; None looks at all, a node, and the scale-up
            domain.
        schedule: of pipelines; None is 1F1B and interleaved, others only on demand, since few stacks have them.
        expert_imbalance: token copies that the fullest rank's experts receive over the mean.
        optimizer: by which weights are updated.
        offload: what lies outside the accelerators, None for nothing; offload_optional: layouts without it are looked
            at too.
        layout_tolerance: share of calendar time by which a layout may be slower than the fastest one of its size, if it
            recomputes fewer layers or has more usual sizes; 0 takes the fastest.
    """

    model: Model
    tokens: float
    sequence_length: int
    global_batch_sequences: int
    precision: str
    finish_within_s: float | None
    framework: str = ""
    confidence: float = 0.9
    memory_confidence: float | None = None
    max_nodes: int | None = None
    dataset_bytes: float | None = None
    loading: Loading = field(default_factory=Loading)
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    recompute_layers: int | None = None
    sharding_group: int | None = None
    schedule: str | None = None
    expert_imbalance: float = 1.0
    optimizer: OptimizerName = "adam"
    offload: Offload | None = None
    offload_optional: bool = False
    max_tensor_parallel: int | None = None
    context_parallel: int | None = None
    data_parallel: int | None = None
    data_must_be: Multiple | None = None
    expert_parallel: int | None = None
    min_nodes: int | None = None
    nodes_must_be: Multiple | None = None
    node_counts: tuple[int, ...] | None = None
    nodes_beside: int = 0
    layout_tolerance: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How the job is spread over accelerators, and what each device holds and recomputes.

    Attributes:
        tp, sp, pp, vpp, dp, cp, ep: tensor, sequence (0 or 1), pipeline, interleaving, data, context, expert parallel.
        etp: ranks that an expert is split over; `ep etp` divides `tp cp dp`.
        zero_stage: 0 to 3 (3 is FSDP).
        micro_batch: sequences per micro-batch; micro_batches: per step and pipeline.
        recompute: `none`, `selective` or `full`; recompute_layers: with `full`, of each chunk of a stage, the others
            are as with `selective`; None for all.
        sharding_group: ranks over which ZeRO shards, of which there are copies; None for all of `dp cp`.
        schedule: of the pipeline, `1f1b`, `interleaved`, `zero-bubble` (ZB-H1) or `dualpipe`.
    """

    tp: int
    sp: int
    pp: int
    vpp: int
    dp: int
    cp: int
    ep: int
    zero_stage: int
    micro_batch: int
    micro_batches: int
    recompute: str
    etp: int = 1
    recompute_layers: int | None = None
    sharding_group: int | None = None
    schedule: str = "1f1b"

    @property
    def sharding_groups(self) -> int:
        """Groups over each of which ZeRO shards the states; 1 where it shards over all of `dp cp`."""
        return self.dp * self.cp // self.sharding_group if self.sharding_group else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FasterLayout:
    """The fastest layout of a size, where another one is taken.

    Attributes:
        slower_share: calendar time of the layout that is taken, over that of this one, less one.
        reason: why the other one is taken, in words.
    """

    layout: Layout
    slower_share: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPerGpu:
    """Bytes on the fullest GPU, by term."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    communication: float
    reserve: float

    @property
    def total(self) -> float:
        """Sum of all terms, in bytes."""
        return self.allocated + self.reserve

    @property
    def allocated(self) -> float:
        """What tensors take, in bytes: all terms but the reserve."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits + self.communication


@dataclass(frozen=True, kw_only=True, slots=True)
class StageMemory:
    """Memory of one GPU of one pipeline stage.

    Attributes:
        stage: index from 0; layers: of the stage, expert_layers: of them with experts. Under `dualpipe` a GPU holds the
            stage and its mirror image, and layers are the mean of both.
        micro_batches_in_flight: whose activations are held at once.
        memory: bytes by term.
    """

    stage: int
    layers: float
    expert_layers: float
    micro_batches_in_flight: float
    memory: MemoryPerGpu


@formula(
    "{measured_over_predicted} × {micro_batches} × ({layers} × {layer_s} + {recomputed_layers} × {recompute_s}"
    " + {head_s}) / 1000",
    source="Narayanan et al., SC21: the slowest stage sets the pace",
    measured_over_predicted=Term("measured over predicted", ".5f"),
    micro_batches=Term("micro-batches", ",.0f"),
    layers=Term("layers of the stage", "g"),
    layer_s=Term("layer, forward and backward", ".5f", "ms", 1e3),
    recomputed_layers=Term("recomputed layers", "g"),
    recompute_s=Term("recomputation of a layer", ".5f", "ms", 1e3),
    head_s=Term("output head beyond the layers", ".5f", "ms", 1e3),
)
def step_compute_s(
    *,
    measured_over_predicted: float,
    micro_batches: float,
    layers: float,
    layer_s: float,
    recomputed_layers: float,
    recompute_s: float,
    head_s: float,
) -> float:
    """Return seconds of computation of a step on the slowest pipeline stage."""
    stage_s = layers * layer_s + recomputed_layers * recompute_s + head_s
    return measured_over_predicted * micro_batches * stage_s


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputeTime:
    """How a step's `compute_s` comes about: the slowest stage's layers and output head, for every micro-batch.

    Attributes:
        peak_flop_per_s: documented dense peak of the job's precision; speed_share: of it, what a power cap leaves.
        multiplications_s, streaming_s, attention_s, experts_s: one layer and micro-batch, forward: matrices,
            memory-bound operations, scores with weighted values, experts.
        attention_passes: times that the scores are computed, with the backward pass.
        overhead_s: launches and casts of one layer; expert_launch_s: least time, in which the experts' kernels are
            launched.
        layer_s: of one layer, forward and backward; recompute_s: besides, where it is recomputed as a whole.
        layers, recomputed_layers: of the slowest stage; head_s: what its output matrix and loss take beyond the layers
            that the last stage has less.
        measured_over_predicted: median over published runs.
    """

    peak_flop_per_s: float
    speed_share: float
    multiplications_s: float
    streaming_s: float
    attention_s: float
    attention_passes: float
    experts_s: float
    overhead_s: float
    expert_launch_s: float
    layer_s: float
    recompute_s: float
    layers: float
    recomputed_layers: float
    head_s: float
    micro_batches: int
    measured_over_predicted: float

    @property
    def total_s(self) -> float:
        """Seconds of a step."""
        return self.recorded().result

    def recorded(self) -> Recorded:
        """Return the calculation of the seconds of a step."""
        return step_compute_s.record(
            measured_over_predicted=self.measured_over_predicted,
            micro_batches=self.micro_batches,
            layers=self.layers,
            layer_s=self.layer_s,
            recomputed_layers=self.recomputed_layers,
            recompute_s=self.recompute_s,
            head_s=self.head_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTime:
    """Seconds of one optimizer step, by what the time is spent on; exposed parts only.

    `data_loading_s` is the time in which training waits for data.
    """

    compute_s: float
    tensor_parallel_s: float
    pipeline_bubble_s: float
    pipeline_transfer_s: float
    data_parallel_s: float
    optimizer_s: float
    offload_s: float = 0.0
    data_loading_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Sum of all parts, in seconds."""
        return (
            self.compute_s
            + self.tensor_parallel_s
            + self.pipeline_bubble_s
            + self.pipeline_transfer_s
            + self.data_parallel_s
            + self.optimizer_s
            + self.offload_s
            + self.data_loading_s
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class OffloadNeed:
    """What lies outside the accelerators, and the time it takes.

    Attributes:
        what: `optimizer`, `parameters`, `activations`; where: `cpu` or `nvme`, of the first two.
        optimizer_bytes_per_node … activations_bytes_per_node: in host memory; checkpoints_bytes_per_node: of copies
            there while they are written; host_memory_bytes_per_node: what the node has, None if unknown.
        nvme_bytes_per_node: on local drives; nvme_capacity_bytes_per_node: what these hold, None if unknown.
        to_host_s, to_device_s, drives_s: of a step on the link and the drives, beside computation; after_s: of the
            update on the host and what travels with it. `StepTime.offload_s` is what of the four is not hidden.
        host_bytes_per_s_per_gpu, update_bytes_per_s_per_gpu: one accelerator's link, and its share of the processors.
        owned_parameters: that one accelerator updates.
        overlap_share: of the traffic beside computation, what computation hides at best; None in plans of versions
            before it.
    """

    what: tuple[str, ...]
    where: str
    optimizer_bytes_per_node: float
    gradients_bytes_per_node: float
    parameters_bytes_per_node: float
    activations_bytes_per_node: float
    checkpoints_bytes_per_node: float
    host_memory_bytes_per_node: float | None
    nvme_bytes_per_node: float
    nvme_capacity_bytes_per_node: float | None
    to_host_s: float
    to_device_s: float
    drives_s: float
    after_s: float
    host_bytes_per_s_per_gpu: float
    update_bytes_per_s_per_gpu: float
    owned_parameters: float
    overlap_share: float | None = None

    @property
    def host_bytes_per_node(self) -> float:
        """What lies in host memory, in bytes."""
        states = self.optimizer_bytes_per_node + self.gradients_bytes_per_node + self.parameters_bytes_per_node
        return states + self.activations_bytes_per_node + self.checkpoints_bytes_per_node


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPoint(SizedPoint):
    """A cluster size that trains, with its best layout; the unit of work is a run.

    Attributes:
        mfu: model FLOPs (full attention) per second over the dense peak.
        tokens_per_s_per_gpu: while training, without interruptions.
        offload: what lies outside the accelerators, None for nothing.
        data: what is read and prepared, and how long training waits for it.
        faster: the fastest layout, where it is not taken.
    """

    layout: Layout
    memory: MemoryPerGpu
    step: StepTime
    mfu: float
    tokens_per_s_per_gpu: float
    goodput: Goodput
    data: DataFeed
    offload: OffloadNeed | None = None
    faster: FasterLayout | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Front:
    """The points of one node type that no other beats in both nodes and calendar days, fewest nodes first.

    Attributes:
        layouts_evaluated: how many layouts were looked at: the memory of each was computed, and the time of those that
            fit, except where less recomputation fits too and is faster whatever the numbers.
        layouts_rejected_by_memory: how many did not fit.
    """

    node: NodeType
    points: tuple[TrainingPoint, ...]
    layouts_evaluated: int
    layouts_rejected_by_memory: int
