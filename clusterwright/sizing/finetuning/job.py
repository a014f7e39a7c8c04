"""One fine-tuning run as sizing takes it, and what a search finds for it: layouts, memory, times."""

from dataclasses import dataclass

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.finetuning.configuration import Practice, practices
from clusterwright.sizing.serving.sizes import Predicted
from clusterwright.workload.inference import NamedModel

#: What weights and states are divided over: nothing (data parallel copies), the accelerators of a node, all of them.
NONE, NODE, ALL = SHARDINGS = ("none", "node", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollouts:
    """Answers that a run generates, and is trained on (GRPO: Shao et al. 2024, arXiv 2402.03300, section 4.1).

    Attributes:
        answers: to each prompt.
        prompt_tokens: of a prompt, on average.
        answer_tokens, answer_p95_tokens: of answers, mean and P95; longest_answer_tokens: at which they are cut.
        updates: optimizer steps on the same answers.
        reference: a frozen reference computes each answer once more.
    """

    answers: int
    prompt_tokens: float
    answer_tokens: float
    answer_p95_tokens: float
    longest_answer_tokens: float
    updates: int
    reference: bool

    @property
    def sequence_tokens(self) -> float:
        """Tokens of a prompt with its answer, on average."""
        return self.prompt_tokens + self.answer_tokens


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
        rollouts: answers that the run generates; None where all are given.
        sequence_tokens: of the longest sequence; filled: share of a batch of such that counts.
        global_batch: sequences of an update; those of both answers of a pair, and all answers to a prompt.
        tokens: that count, of all passes over the data, in every update that has them; sequences: of all of them.
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
    rollouts: Rollouts | None = None

    @property
    def practice(self) -> Practice:
        """What the framework does where nothing is stated."""
        return practices()[self.framework or "other"]

    @property
    def sequences_per_sample(self) -> int:
        """Two for a pair of answers, else one."""
        return 2 if self.preference else 1

    @property
    def has_reference(self) -> bool:
        """Whether a frozen reference computes sequences once more."""
        return self.preference or (self.rollouts is not None and self.rollouts.reference)


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneLayout:
    """How a run lies on accelerators.

    Attributes:
        gpus: that work; tensor: that share each layer; data: groups with sequences of their own.
        sharding: one of `SHARDINGS`; shards: groups that weights and states are divided over.
        micro_batch: sequences of a pass and group; accumulation: passes of an update.
        recompute: all layers are computed again in the backward pass.
        generation_tensor: accelerators that generate answers together, each with a part of every layer.
    """

    gpus: int
    tensor: int
    data: int
    sharding: str
    shards: int
    micro_batch: int
    accumulation: int
    recompute: bool
    generation_tensor: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneMemory:
    """Bytes on one accelerator at the peak of a step, by term: tensors, what the allocator loses, and the context.

    Attributes:
        serving_weights: of the engine that generates answers, with what it needs to compute; serving_cache: its keys
            and values.
    """

    weights: float
    adapters: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    buffers: float
    allocator: float
    context: float
    serving_weights: float = 0.0
    serving_cache: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuneStep:
    """Shares of a step's time by what takes it; see `throughput.TokenTime`. They sum to 1.

    Attributes:
        reference: forward passes of a frozen reference; scoring: those that give the probabilities of generated answers
            before the first update; generating: the answers.
    """

    multiplying: float
    element_wise: float
    unpacking: float
    gathering: float
    uncompiled: float
    tensor_parallel: float
    host_memory: float
    updating: float
    reference: float
    scoring: float = 0.0
    generating: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutSize:
    """How answers are generated.

    Attributes:
        workers: copies of the engine, each on `FinetuneLayout.generation_tensor` accelerators.
        answers: of a batch on each worker; slots: that its cache has room for at a time.
        longest_tokens: of the longest answer of a worker's batch, on average.
        trained_tokens: of a sequence as it is trained on, padded to the longest of its group of accelerators.
        prefill_s, decode_s: of a batch, prompts and answers; scoring_s: forward passes over a batch before its updates.
        memory_share: of an accelerator's memory, that the engine takes.
    """

    workers: int
    answers: int
    slots: int
    longest_tokens: float
    trained_tokens: float
    prefill_s: float
    decode_s: float
    scoring_s: float
    memory_share: float

    @property
    def generating_s(self) -> float:
        """Seconds in which a batch is generated."""
        return self.prefill_s + self.decode_s


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
        rollouts: how answers are generated, None where all are given.
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
    rollouts: RolloutSize | None = None
