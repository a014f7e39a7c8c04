"""What a plan of a service has beside what plans of all kinds have."""

from dataclasses import dataclass
from typing import ClassVar

from clusterwright.errors import InputError
from clusterwright.plan.record import GoalSummary, Option, OtherOption, Plan, WorkloadSummary, WorkUnit
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.serving.search import (
    Predicted,
    ReplicaLayout,
    ReplicaMemory,
    ReplicaStep,
    ServingSize,
)
from clusterwright.sizing.serving.service import Load
from clusterwright.units import percent


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPoint(SizedPoint):
    """A number of nodes with the replicas on them, as `sizing.serving` found them, and the mean load of today."""

    size: ServingSize
    mean_load: Load


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingWorkload(WorkloadSummary):
    """A service as it was sized.

    Attributes:
        framework: as the blueprint names it; cache_precision: of keys and values.
        requests_per_s: mean of a day, in the month that is sized; None where users ask as fast as they are answered.
        users: that are signed on, None where requests are given; active_share, think_time_s: how they ask.
        peak_over_mean: of the traffic; growth_factor: traffic at the end of the horizon over that of today.
        input_tokens, input_tokens_p95, output_tokens, output_tokens_p95: of a request and its answer.
        prefix_cache_hit: share of the input that is in memory; month_s: seconds of a month.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="month", plural="months", this="a month of service", always_on=True)
    always_on: ClassVar[bool] = True

    framework: str
    cache_precision: str
    requests_per_s: float | None
    users: float | None
    active_share: float | None
    think_time_s: float | None
    peak_over_mean: float
    growth_factor: float
    input_tokens: float
    input_tokens_p95: float
    output_tokens: float
    output_tokens_p95: float
    prefix_cache_hit: float
    month_s: float

    @property
    def amount_text(self) -> str:
        """Requests or users, and their tokens."""
        if self.requests_per_s is not None:
            asked = f"{self.requests_per_s:,.4g} requests/s"
        elif self.active_share is not None:
            asked = f"{self.users:,.0f} users, {percent(self.active_share)} of them waiting"
        else:
            asked = f"{self.users:,.0f} users, {self.think_time_s:,.4g} s apart"
        return f"{asked}, {self.input_tokens:,.0f} tokens in, {self.output_tokens:,.0f} out"

    @property
    def unit_tokens(self) -> float | None:
        """Tokens in and out of a month; None where they depend on how fast answers are."""
        if self.requests_per_s is None:
            return None
        return self.requests_per_s * (self.input_tokens + self.output_tokens) * self.month_s


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingGoals(GoalSummary):
    """What a service must meet: times that a share of the requests (0 to 100) does not exceed; None for no goal."""

    first_token_s: float | None
    time_per_token_s: float | None
    percentile: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPrices:
    """USD per million tokens, all cost on the tokens named.

    Attributes:
        output, output_low, output_high: of the mean traffic, all hours that are kept on its output tokens; None where
            the cost is unknown.
        blended: the same on input and output tokens together.
        output_at_capacity: on what the replicas of the peak could make, day and night; what idle hours and spare
            replicas cost is the rest.
    """

    output: float | None
    output_low: float | None
    output_high: float | None
    blended: float | None
    output_at_capacity: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOption(Option):
    """One target that serves, sized, billed and costed.

    Attributes:
        layout: of a replica; replicas: that the peak needs; spare_replicas: beside them; idle_gpus: of the nodes that
            no replica takes.
        peak_requests_per_s, mean_requests_per_s: of all replicas; capacity_requests_per_s: of one, within the goals
            with their confidence; limit_requests_per_s: of all, asked while answers take as long as they do then.
        in_flight: requests of one replica at the peak; most_in_flight: that its memory holds.
        first_token_s, time_per_token_s: at the percentile of the goals and the peak, with their bands;
            mean_first_token_s, mean_time_per_token_s: of all requests then.
        first_token_bound_s, time_per_token_bound_s: what no software on this layout can be faster than.
        output_tokens_per_s: of all replicas at the peak; per_user: of one answer.
        output_tokens_per_month, input_tokens_per_month: at the mean traffic.
        replica_memory: of one accelerator; decode_step: of one replica at the peak; prefill_s: of a request of mean
            length; prefill_share: of a replica's time.
        gpu_power_w: of one accelerator at the peak.
        level: how much of model and accelerator measurements show; level_text: the same in a sentence.
        usd_per_million_tokens: what tokens cost.
    """

    layout: ReplicaLayout
    replicas: int
    spare_replicas: int
    idle_gpus: int
    peak_requests_per_s: float
    mean_requests_per_s: float
    capacity_requests_per_s: float
    limit_requests_per_s: float
    in_flight: float
    most_in_flight: int
    first_token_s: Predicted
    time_per_token_s: Predicted
    mean_first_token_s: float
    mean_time_per_token_s: float
    first_token_bound_s: float
    time_per_token_bound_s: float
    output_tokens_per_s: Predicted
    output_tokens_per_s_per_user: float
    output_tokens_per_month: float
    input_tokens_per_month: float
    replica_memory: ReplicaMemory
    decode_step: ReplicaStep
    prefill_s: float
    prefill_share: float
    gpu_power_w: float
    level: str
    level_text: str
    usd_per_million_tokens: TokenPrices

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """First token and time per token at the goals' percentile, and what a million output tokens costs."""
        price = self.usd_per_million_tokens.output
        return (
            ("first token", f"{self.first_token_s.value:.2f} s"),
            ("per token", f"{self.time_per_token_s.value * 1e3:.0f} ms"),
            *((("$/M out", f"{price:.2f}"),) if price is not None else ()),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOtherOption(OtherOption):
    """Another capacity or commitment of a cloud, sized for serving."""

    option: ServingOption | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPlan(Plan):
    """The plan of a service: all its options serve."""

    workload: ServingWorkload
    goals: ServingGoals
    options: tuple[ServingOption, ...]
    other_options: tuple[ServingOtherOption, ...] = ()

    def option(self, target: str) -> ServingOption | None:
        """Return the option of a target, None if the blueprint does not have it."""
        return next((option for option in self.options if option.target == target), None)


def serving_plan(plan: Plan) -> ServingPlan:
    """Return a plan as that of a service, for what only services have.

    Raises:
        InputError: its workload is of another kind.
    """
    if not isinstance(plan, ServingPlan):
        raise InputError(f"workloads of kind {plan.workload.kind} do not serve")
    return plan


def serving_option(option: Option) -> ServingOption:
    """Return an option of a service's plan as such."""
    if not isinstance(option, ServingOption):
        raise InputError(f"the cluster on {option.target} does not serve")
    return option
