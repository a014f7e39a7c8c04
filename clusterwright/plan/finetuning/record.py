"""What a plan of fine-tuning has beside what plans of all kinds have."""

from dataclasses import dataclass
from typing import ClassVar

from clusterwright.plan.record import (
    Figure,
    FrontPoint,
    Option,
    Plan,
    PlannedMoney,
    PlannedPerformance,
    WorkloadSummary,
    WorkUnit,
    option_of_kind,
    plan_of_kind,
)
from clusterwright.sizing.finetuning.job import (
    FinetuneLayout,
    FinetuneMemory,
    FinetuneSize,
    FinetuneStep,
    Rollouts,
    RolloutSize,
)
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.run import Goodput
from clusterwright.sizing.serving.sizes import Predicted

_OBJECTIVES = {"dpo": ", DPO", "grpo": ", GRPO"}
_NAMES = {"full": "full", "lora": "LoRA", "qlora": "QLoRA", "dora": "DoRA", "adapter": "adapters", "prompt": "prompts"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningPoint(SizedPoint):
    """A number of nodes with the fastest layout on them, and what is behind its days.

    Attributes:
        start_s: until steps begin; horizon_months: that a month's cost is a mean of.
    """

    size: FinetuneSize
    failures: Goodput
    start_s: float
    horizon_months: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningWorkload(WorkloadSummary):
    """A fine-tuning run as it was sized.

    Attributes:
        method, objective, optimizer, framework: as the blueprint names them; the optimizer empty for the framework's.
        rank: of LoRA and its kind, bottleneck or tokens of the others, 0 where a share of the weights is given;
            targets: matrices that it attaches to; alpha: scale.
        trained_parameters: weights that are trained.
        sequence_length, global_batch_sequences: as given; packing: whether samples fill sequences.
        tokens: of all passes over the data, without padding, in every update that has them; samples: of the data set;
            epochs: passes over it.
        flop_per_token: forward, gradients of inputs and of trained weights; nothing computed again.
        rollouts: answers that the run generates, None where all are given; reward: function that rewards them, empty
            for what is given on submission.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="run", plural="runs")

    method: str
    objective: str
    optimizer: str
    framework: str
    rank: float
    alpha: float
    targets: tuple[str, ...]
    trained_parameters: float
    sequence_length: int
    global_batch_sequences: int
    packing: bool
    tokens: float
    samples: float
    epochs: float
    flop_per_token: float
    rollouts: Rollouts | None = None
    reward: str = ""

    @property
    def method_text(self) -> str:
        """The method, its rank and its objective in words."""
        rank = f" r {self.rank:g}" if self.rank and self.method in ("lora", "qlora", "dora") else ""
        return f"{_NAMES[self.method]}{rank}{_OBJECTIVES.get(self.objective, '')}"

    @property
    def amount_text(self) -> str:
        """Method, samples and tokens of a run; of prompts the answers, and the updates that have them."""
        passes = "" if self.epochs == 1 else f" × {self.epochs:g} epochs"
        data = f"{self.samples:,.0f} samples{passes}"
        if self.rollouts is not None:
            again = "" if self.rollouts.updates == 1 else f" × {self.rollouts.updates} updates"
            data = f"{self.samples:,.0f} prompts{passes} × {self.rollouts.answers} answers{again}"
        return f"{self.method_text} · {data}, {self.tokens / 1e6:,.1f} M tokens"

    @property
    def unit_tokens(self) -> float:
        """Tokens of a run."""
        return self.tokens

    @property
    def unit_flop(self) -> float:
        """Model FLOP of a run."""
        return self.flop_per_token * self.tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningFrontPoint(FrontPoint):
    """A cluster size that was looked at for fine-tuning, with its throughput, tokens/s."""

    tokens_per_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningPerformance(PlannedPerformance):
    """Results of sizing a cluster that fine-tunes.

    Attributes:
        layout: parallel sizes on accelerators; idle_gpus: accelerators of the nodes that are paid for and do no work.
        memory: memory of an accelerator at its peak by term, bytes; memory_bytes: their sum, with the band of
            predictions; fit_probability: probability that it is no more than there is, 0 to 1.
        tokens_per_s: throughput of all accelerators, tokens/s, with its band: of samples, or of prompts and answers
            as often as an update has them.
        step_s: time of an update, s; steps: updates of a run; step: shares of an update by part, 0 to 1.
        train_s: time of the steps alone, s; start_s: time until they begin, with the loading of the weights, s.
        failures: failures and checkpoints behind `goodput`.
        base_bytes: bytes of the weights as the run holds them; result_bytes: bytes of what a run leaves (adapters, or
            all weights) in 16 bits; merged_bytes: bytes of the model with the result in it.
        level: how much of model and accelerator measurements show; level_text: the same in a sentence.
        rollouts: how answers are generated, None where all are given.
    """

    front: tuple[FinetuningFrontPoint, ...]
    layout: FinetuneLayout
    idle_gpus: int
    memory: FinetuneMemory
    memory_bytes: Predicted
    fit_probability: float
    tokens_per_s: Predicted
    step_s: float
    steps: int
    step: FinetuneStep
    train_s: Predicted
    start_s: float
    failures: Goodput
    base_bytes: float
    result_bytes: float
    merged_bytes: float
    level: str
    level_text: str
    rollouts: RolloutSize | None = None

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Tokens per second of each accelerator that works."""
        return self.tokens_per_s.value / self.layout.gpus

    @property
    def memory_gb(self) -> float:
        """Memory of an accelerator at its peak, GB of 1e9 bytes."""
        return self.memory_bytes.value / 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningMoney(PlannedMoney):
    """Cost of a cluster that fine-tunes.

    Attributes:
        month_usd: mean of the horizon's months, USD; None where the cost is unknown.
    """

    month_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningOption(Option):
    """One target that fine-tunes, sized, billed and costed."""

    performance: FinetuningPerformance
    money: FinetuningMoney

    @property
    def own_figures(self) -> tuple[Figure, ...]:
        """Throughput and memory of an accelerator, probability that the run fits, and cost of a month."""
        tuned = self.performance
        return (
            Figure(name="tokens_per_s_per_gpu", unit="tokens/s", value=tuned.tokens_per_s_per_gpu),
            Figure(name="memory_gb", unit="GB", value=tuned.memory_gb),
            Figure(name="fit_probability", unit="share", value=tuned.fit_probability),
            Figure(name="month_usd", unit="USD", value=self.money.month_usd),
        )

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """Tokens per second of an accelerator, and its memory."""
        tuned = self.performance
        return (
            ("tok/s/GPU", f"{tuned.tokens_per_s_per_gpu:,.0f}"),
            ("GB/GPU", f"{tuned.memory_gb:.0f} of {self.cluster.hbm_bytes_per_gpu / 1e9:.0f}"),
        )

    @property
    def training_nodes(self) -> int:
        """Nodes that train: those of the work but the spares."""
        return self.cluster.work_nodes - self.performance.failures.spare_nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningPlan(Plan):
    """The plan of a fine-tuning run: all its options fine-tune."""

    workload: FinetuningWorkload
    options: tuple[FinetuningOption, ...]
    other_options: tuple[FinetuningOption, ...] = ()


def finetuning_plan(plan: Plan) -> FinetuningPlan:
    """Return a plan as that of fine-tuning, for what only fine-tuning has.

    Raises:
        InputError: its workload is of another kind.
    """
    return plan_of_kind(plan, FinetuningPlan, "fine-tune")


def finetuning_option(option: Option) -> FinetuningOption:
    """Return an option of a fine-tuning plan as such."""
    return option_of_kind(option, FinetuningOption, "fine-tune")
