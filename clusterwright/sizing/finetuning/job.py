"""One fine-tuning run as sizing takes it, and what a search finds for it: layouts, memory, times."""

from dataclasses import dataclass

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.finetuning.configuration import Practice, practices
from clusterwright.sizing.serving.sizes import Predicted
from clusterwright.workload.inference import NamedModel

#: What weights and states are divided over: nothing (data parallel copies), the accelerators of a node, all of them.
NONE, NODE, ALL = SHARDINGS = ("none", "node", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneJob:
    """A run.

    Attributes:
        framework: a family of the table of practices, empty if unknown.
        method, precision, rank, targets, trained_parameters: as `configuration.Configuration`.
        optimizer_bytes: of the moments of a weight; None for the framework's own, paged_optimizer: they rest in host
            memory.
        recompute: whether all layers are computed again; None for the faster that fits.
        preference: pairs of answers are compared, with a frozen reference that computes each once more.
        sequence_tokens: of the longest sequence; filled: share of a batch of such that counts.
        global_batch: sequences of an update; those of both answers of a pair.
        tokens: that count, of all passes over the data; sequences: of all of them.
        memory_confidence: probability with which a layout fits.
        gpus, tensor, sharding, micro_batch: held fixed; None where they are searched.
    """

    model: NamedModel
    framework: str
    method: str
    precision: str
    rank: float | None
    targets: frozenset[str] | None
    trained_parameters: float | None
    optimizer_bytes: float | None
    recompute: bool | None
    preference: bool
    sequence_tokens: float
    filled: float
    global_batch: int
    tokens: float
    sequences: float
    memory_confidence: float
    gpus: int | None = None
    tensor: int | None = None
    sharding: str | None = None
    micro_batch: int | None = None

    @property
    def practice(self) -> Practice:
        """What the framework does where nothing is stated."""
        return practices()[self.framework or "other"]

    @property
    def sequences_per_sample(self) -> int:
        """Two for a pair of answers, else one."""
        return 2 if self.preference else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneLayout:
    """How a run lies on accelerators.

    Attributes:
        gpus: that work; tensor: that share each layer; data: groups with sequences of their own.
        sharding: one of `SHARDINGS`; shards: groups that weights and states are divided over.
        micro_batch: sequences of a pass and group; accumulation: passes of an update.
        recompute: all layers are computed again in the backward pass.
    """

    gpus: int
    tensor: int
    data: int
    sharding: str
    shards: int
    micro_batch: int
    accumulation: int
    recompute: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneMemory:
    """Bytes on one accelerator at the peak of a step, by term: tensors, what the allocator loses, and the context."""

    weights: float
    adapters: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    buffers: float
    allocator: float
    context: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneStep:
    """Shares of a step's time by what takes it; see `throughput.TokenTime`. They sum to 1."""

    multiplying: float
    element_wise: float
    unpacking: float
    gathering: float
    uncompiled: float
    tensor_parallel: float
    host_memory: float
    updating: float
    reference: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneSize:
    """The fastest layout that fits on a number of nodes.

    Attributes:
        memory: of one accelerator; memory_bytes: its sum as predicted, with its band; fit_probability: that it is no
            more than the accelerator has.
        trained_parameters: weights that are trained; base_bytes: of the frozen or trained base, as stored.
        tokens_per_s: of all accelerators, that count; step_s: of an update; steps: of the run.
        train_s: of the run without starts and failures.
        passes: over the weights, forward and backward, of a token.
        level: how much of model and accelerator the calibration has seen.
    """

    node: NodeType
    nodes: int
    layout: FinetuneLayout
    memory: FinetuneMemory
    memory_bytes: Predicted
    fit_probability: float
    trained_parameters: float
    base_bytes: float
    tokens_per_s: Predicted
    step_s: float
    steps: int
    train_s: Predicted
    step: FinetuneStep
    passes: float
    level: str
