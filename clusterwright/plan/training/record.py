"""What a plan of training has beside what plans of all kinds have."""

from dataclasses import dataclass
from typing import ClassVar

from clusterwright.plan.record import (
    Figure,
    FrontPoint,
    Option,
    Plan,
    PlannedPerformance,
    WorkloadSummary,
    WorkUnit,
    option_of_kind,
    plan_of_kind,
)
from clusterwright.sizing.records.job import (
    ComputeTime,
    FasterLayout,
    Layout,
    MemoryPerGpu,
    OffloadNeed,
    StageMemory,
    StepTime,
)
from clusterwright.sizing.records.loading import DataFeed
from clusterwright.sizing.records.run import Goodput
from clusterwright.sizing.training.traffic import Traffic
from clusterwright.units import percent

#: What tokens are counted in, the largest that they reach.
_PREFIXES = ((1e9, " B"), (1e6, " M"))
#: Amounts of fewer digits before the point have some after it.
_THREE_DIGITS = 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingWorkload(WorkloadSummary):
    """A training run as it was sized.

    Attributes:
        flop_per_token: training FLOPs per token, forward and backward, with full (not causal) attention, the convention
            of `mfu`.
        tokens: tokens of a run.
        sequence_length: tokens per sequence; global_batch_sequences: sequences per step.
        optimizer: name of the rule that updates the weights, see `sizing.optimizers`.
        framework: training software as the blueprint names it, empty where it names none.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="run", plural="runs")

    flop_per_token: float
    tokens: float
    sequence_length: int
    global_batch_sequences: int
    optimizer: str = "adam"
    framework: str = ""

    @property
    def amount_text(self) -> str:
        """The tokens of a run, and the software where it is named."""
        under = f" under {self.framework}" if self.framework else ""
        amount, prefix = next(
            ((self.tokens / size, name) for size, name in _PREFIXES if self.tokens >= size), (self.tokens, "")
        )
        shown = f"{amount:,.0f}" if amount >= _THREE_DIGITS else f"{amount:.3g}"
        return f"{shown}{prefix} tokens{under}"

    @property
    def unit_tokens(self) -> float:
        """Tokens of a run."""
        return self.tokens

    @property
    def unit_flop(self) -> float:
        """Model FLOP of a run, with full attention."""
        return self.flop_per_token * self.tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingFrontPoint(FrontPoint):
    """A cluster size that was looked at for training, with its model FLOP/s utilisation, 0 to 1."""

    mfu: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPerformance(PlannedPerformance):
    """Results of sizing a cluster that trains.

    Attributes:
        layout: parallel sizes, schedule, ZeRO stage, recomputation and micro-batch.
        memory_bytes_per_gpu: memory of the fullest GPU by term, bytes; memory_by_stage: that of a GPU of every pipeline
            stage.
        memory_allocated_bytes_per_gpu: memory that tensors take of it, bytes; memory_reserved_bytes_per_gpu: with what
            the allocator keeps beside them (`torch.cuda.memory_reserved`); the rest belongs to driver and collective
            library.
        traffic: bytes of each group of the layout, before computation hides any of it.
        step: time of a step by part, s.
        mfu: model FLOP/s (full attention) over the dense peak of the precision, 0 to 1.
        tokens_per_s_per_gpu: throughput of each GPU while it trains, tokens/s.
        failures: failures and checkpoints behind `goodput`.
        data: what is read and prepared, and how long training waits for it.
        offload: what lies outside the accelerators; None for nothing.
        compute: parts of `step.compute_s`, and the dense peak behind `mfu`.
        fit_probability: probability that the layout fits, by the residuals of published peaks, 0 to 1.
        memory_confidence: probability asked for, 0 to 1; memory_margin: factor by which it multiplies the prediction
            before that is compared with `hbm_bytes_per_gpu`.
        faster: fastest layout, where another one is taken; None where the layout is the fastest.
    """

    front: tuple[TrainingFrontPoint, ...]
    layout: Layout
    memory_bytes_per_gpu: MemoryPerGpu
    memory_by_stage: tuple[StageMemory, ...]
    memory_allocated_bytes_per_gpu: float
    memory_reserved_bytes_per_gpu: float
    traffic: tuple[Traffic, ...]
    step: StepTime
    mfu: float
    tokens_per_s_per_gpu: float
    failures: Goodput
    data: DataFeed
    offload: OffloadNeed | None = None
    compute: ComputeTime | None = None
    fit_probability: float | None = None
    memory_confidence: float | None = None
    memory_margin: float = 1.0
    faster: FasterLayout | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOption(Option):
    """One target that trains, sized, billed and costed."""

    performance: TrainingPerformance

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """Model FLOP/s utilisation."""
        return (("MFU", percent(self.performance.mfu)),)

    @property
    def own_figures(self) -> tuple[Figure, ...]:
        """Model FLOP/s utilisation."""
        return (Figure(name="mfu", unit="share", value=self.performance.mfu),)

    @property
    def training_nodes(self) -> int:
        """Nodes that train: those of the work but the spares."""
        return self.cluster.work_nodes - self.performance.failures.spare_nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan(Plan):
    """The plan of a training run: all its options train."""

    workload: TrainingWorkload
    options: tuple[TrainingOption, ...]
    other_options: tuple[TrainingOption, ...] = ()


def training_plan(plan: Plan) -> TrainingPlan:
    """Return a plan as that of a training run, for what only training has.

    Raises:
        InputError: its workload is of another kind.
    """
    return plan_of_kind(plan, TrainingPlan, "train")


def training_option(option: Option) -> TrainingOption:
    """Return an option of a training plan as such."""
    return option_of_kind(option, TrainingOption, "train")
