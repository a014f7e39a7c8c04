"""What a plan of a service has beside what plans of all kinds have."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from clusterwright.plan.record import (
    Figure,
    GoalSummary,
    Option,
    Plan,
    PlannedMoney,
    PlannedPerformance,
    WorkloadSummary,
    WorkUnit,
    option_of_kind,
    plan_of_kind,
)
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.serving.service import Load
from clusterwright.sizing.serving.sizes import (
    Predicted,
    PrefillPool,
    RatePoint,
    ReplicaLayout,
    ReplicaMemory,
    ReplicaStep,
    ServingSize,
)
from clusterwright.units import SECONDS_PER_DAY, percent

_ALMOST_SURE = 0.99


class Outcome(StrEnum):
    """Whether replicas meet the goals with the confidence that they are sized with.

    Uncertain is what only the favourable side of the prediction's band meets, or what a lower confidence than the one
    that was set meets; not possible is what even the favourable end, P10, misses.
    """

    MET = "met"
    UNCERTAIN = "uncertain"
    MISSED = "not possible"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPoint(SizedPoint):
    """A number of nodes with the replicas on them, as `sizing.serving` found them, and the mean load of today.

    Attributes:
        sure_nodes, even_odds_nodes: as in `ServingPerformance`.
    """

    size: ServingSize
    outcome: Outcome
    sure_nodes: int | None
    even_odds_nodes: int | None
    mean_load: Load


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingWorkload(WorkloadSummary):
    """A service as it was sized.

    Attributes:
        task: what is asked of the model; framework: as the blueprint names it; cache_precision: of keys and values;
            speculative: how tokens are drafted.
        requests_per_s: mean of a day, in the month that is sized; None where users ask as fast as they are answered.
        users: that are signed on, None where requests are given; active_share, think_time_s: how they ask.
        peak_over_mean: of the traffic; growth_factor: traffic at the end of the horizon over that of today.
        input_tokens, input_tokens_p95, output_tokens, output_tokens_p95: of a request and its answer.
        prefix_cache_hit: share of the input that is in memory, or that earlier turns had; month_s: seconds of a month.
        reasoning_tokens: of the output, that come before the answer itself; turns: of a chat; documents: of a request
            to rank.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="month", plural="months", this="a month of service", always_on=True)
    always_on: ClassVar[bool] = True

    framework: str
    cache_precision: str
    speculative: str
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
    task: str = "generate"
    reasoning_tokens: float = 0.0
    turns: float = 1.0
    documents: float = 1.0

    @property
    def generates(self) -> bool:
        """Whether answers are generated tokens, and not one pass over the input."""
        return self.task == "generate"

    @property
    def amount_text(self) -> str:
        """Requests or users, and their tokens."""
        if self.requests_per_s is not None:
            asked = f"{self.requests_per_s:,.4g} requests/s"
        elif self.active_share is not None:
            asked = f"{self.users:,.0f} users, {percent(self.active_share)} of them waiting"
        else:
            asked = f"{self.users:,.0f} users, {self.think_time_s:,.4g} s apart"
        chats = f", chats of {self.turns:g} turns" if self.turns > 1 else ""
        if not self.generates:
            each = f" for each of {self.documents:,.0f} documents" if self.task == "rerank" else ""
            return f"{asked}, {self.input_tokens:,.0f} tokens in{each}"
        thought = f", {self.reasoning_tokens:,.0f} of them reasoning" if self.reasoning_tokens else ""
        return f"{asked}{chats}, {self.input_tokens:,.0f} tokens in, {self.output_tokens:,.0f} out{thought}"

    @property
    def unit_tokens(self) -> float | None:
        """Tokens in and out of a month; None where they depend on how fast answers are."""
        if self.requests_per_s is None:
            return None
        return self.requests_per_s * (self.input_tokens + self.output_tokens) * self.month_s


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingGoals(GoalSummary):
    """What a service must meet: times that a share of the requests (0 to 100) does not exceed; None for no goal.

    Attributes:
        confidence_is_set: by the user; else targets on which it is costly are sized at even odds.
    """

    first_token_s: float | None
    time_per_token_s: float | None
    percentile: float
    confidence_is_set: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPrices:
    """USD per million tokens, all cost on the tokens named.

    Attributes:
        output, output_low, output_high: of the mean traffic, all hours that are kept on its output tokens; None where
            the cost is unknown.
        blended: the same on input and output tokens together.
        output_at_capacity: on what the replicas of the peak could make, day and night; what idle hours and spare
            replicas cost is the rest.
        input_by_time, output_by_time: the cost of the time that replicas prefill, and decode, on the tokens of each.
    """

    output: float | None
    output_low: float | None
    output_high: float | None
    blended: float | None
    output_at_capacity: float | None
    input_by_time: float | None = None
    output_by_time: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceDay:
    """A day of today's traffic on the replicas that the plan keeps.

    Attributes:
        hourly_requests_per_s: mean of each hour, from midnight, requests/s.
        least_replicas, most_replicas: bounds of an autoscaler, without the spare ones: what the quietest minute needs,
            and the replicas of the peak at the end of the horizon.
        start_lag_s: time in which one more replica reads its weights, s; a node that is rented for it and the warm-up
            come on top.
        kept_hours: hours of replicas in a day, all of them always on; worked_hours: hours that the requests need;
            following_hours: hours that an autoscaler within the bounds would keep, the spare ones always.
        late_share: share of the requests, 0 to 1, that come while such a start lasts and find fewer replicas than they
            need; cold_share: share of them that find none.
    """

    hourly_requests_per_s: tuple[float, ...]
    least_replicas: int
    most_replicas: int
    start_lag_s: float
    kept_hours: float
    worked_hours: float
    following_hours: float
    late_share: float
    cold_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaHoursCost:
    """Cost of a month with the replica hours of `ServiceDay`, USD.

    Attributes:
        kept_usd, worked_usd, following_usd: with the hours that are kept, that the requests need, and that an
            autoscaler would keep; None where the cost is unknown, or where nodes that are let go are paid all the same.
    """

    kept_usd: float | None
    worked_usd: float | None
    following_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPerformance(PlannedPerformance):
    """Results of sizing a cluster that serves.

    Attributes:
        outcome: whether the goals are met; confidence: probability with which the replicas are sized, 0 to 1.
        probability: probability that the goals are met at the peak, by the bands of times and throughput, 0 to 1;
            `docs/howto/serving.md`.
        goal_confidence: confidence of the goals, 0 to 1; sure_nodes, even_odds_nodes: nodes of the cluster, divided
            ones included, at that confidence and at 0.5; None where no size meets the goals with it.
        layout: accelerators of a replica; replicas: count that the peak needs; spare_replicas: count beside them;
            idle_gpus: accelerators of the nodes that no replica takes; prefill_pool: workers that compute inputs alone,
            None where replicas do both.
        cached_share, host_share: shares of the input found in the memory of accelerators and of hosts, 0 to 1.
        peak_requests_per_s, mean_requests_per_s: traffic of all replicas, requests/s; capacity_requests_per_s: traffic
            that one replica carries within the goals with their confidence; limit_requests_per_s: traffic of all while
            answers take as long as they do then.
        in_flight: requests of one replica at the peak; most_in_flight: requests that its memory holds.
        first_token_s, time_per_token_s: times at the percentile of the goals and the peak, s, with their bands;
            mean_first_token_s, mean_time_per_token_s: means of all requests then, s.
        first_token_bound_s, time_per_token_bound_s: least times of any software on this layout, s.
        output_tokens_per_s: throughput of all replicas at the peak, tokens/s; output_tokens_per_s_per_user: speed of
            one answer, tokens/s.
        output_tokens_per_month, input_tokens_per_month: tokens of a month of the mean traffic.
        replica_memory: memory of one accelerator by term, bytes; decode_step: time of a step of one replica at the
            peak by part, s; prefill_s: prefill of a request of mean length, s; prefill_share: share of the
            accelerators' time that goes to inputs, 0 to 1.
        gpu_power_w: draw of one accelerator at the peak, W.
        level: how much of model and accelerator measurements show; level_text: the same in a sentence.
        day: a day of its replicas.
        rate_front: layouts and loads on this hardware that no other beats in tokens per second of an accelerator and of
            a user, the fastest for the user first.
    """

    outcome: Outcome
    confidence: float
    probability: float
    goal_confidence: float
    sure_nodes: int | None
    even_odds_nodes: int | None
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
    day: ServiceDay
    cached_share: float = 0.0
    host_share: float = 0.0
    prefill_pool: PrefillPool | None = None
    rate_front: tuple[RatePoint, ...] = ()

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Output tokens per second at the peak, of an accelerator that serves."""
        return self.output_tokens_per_s.value / self.serving_gpus

    @property
    def serving_gpus(self) -> int:
        """Accelerators of the replicas that the peak needs, and of those that prefill for them."""
        before = self.prefill_pool.layout.accelerators(self.prefill_pool.workers) if self.prefill_pool else 0
        return before + self.layout.accelerators(self.replicas)

    @property
    def tokens_per_joule(self) -> float:
        """Output tokens per second at the peak, of a watt of the accelerators, or slices, that serve."""
        prefills = self.prefill_pool.layout.gpus * self.prefill_pool.workers if self.prefill_pool else 0
        return self.output_tokens_per_s.value / ((self.replicas * self.layout.gpus + prefills) * self.gpu_power_w)

    @property
    def uncertain(self) -> bool:
        """Whether only the favourable side of the band, or a lower confidence than the one set, meets the goals."""
        return self.outcome is Outcome.UNCERTAIN

    @property
    def outlook(self) -> str:
        """What is uncertain about the goals, and what to do; empty where they are met with their confidence."""
        if self.outcome is Outcome.MISSED:
            return "not possible: even the favourable end of the band misses the goals"
        if self.outcome is Outcome.MET and self.confidence >= self.goal_confidence:
            return ""
        sure = f"{percent(self.goal_confidence)} confidence"
        more = f"{sure} would take {self.sure_nodes:,} nodes" if self.sure_nodes else f"no layout reaches {sure}"
        name = "even odds" if self.outcome is Outcome.MET else "uncertain"
        because = "the prediction is uncertain, " if self.outcome is Outcome.MET else ""
        return f"{name}: {because}{more}; {self.odds}; load-test one replica first"

    @property
    def odds(self) -> str:
        """How probably the goals are met, where that is less than the confidence asked; else empty."""
        sure = self.outcome is Outcome.MET and self.confidence >= self.goal_confidence
        if sure or self.outcome is Outcome.MISSED:
            return ""
        return f"{probability_text(self.probability)} probable that the goals are met"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingMoney(PlannedMoney):
    """Cost of a cluster that serves.

    Attributes:
        usd_per_million_tokens: cost of a million tokens, USD.
        replica_hours: cost of a month by the replica hours that are kept.
    """

    usd_per_million_tokens: TokenPrices
    replica_hours: ReplicaHoursCost


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOption(Option):
    """One target that serves, sized, billed and costed."""

    performance: ServingPerformance
    money: ServingMoney

    @property
    def tokens_per_s_per_usd_per_hour(self) -> float | None:
        """Output tokens per second at the peak over what an hour of the month costs; None without a price."""
        usd, hours = self.money.run_cost_usd, self.performance.calendar_days * SECONDS_PER_DAY / 3600.0
        return self.performance.output_tokens_per_s.value / (usd / hours) if usd else None

    @property
    def own_figures(self) -> tuple[Figure, ...]:
        """Replicas, times and throughput at the peak, probability that the goals are met, prices of tokens."""
        served, price = self.performance, self.money.usd_per_million_tokens
        return (
            Figure(name="replicas", unit="", value=served.replicas),
            Figure(name="spare_replicas", unit="", value=served.spare_replicas),
            Figure(name="replica_gpus", unit="", value=served.layout.gpus),
            Figure(name="first_token_ms", unit="ms", value=served.first_token_s.value * 1e3),
            Figure(name="ms_per_token", unit="ms", value=served.time_per_token_s.value * 1e3),
            Figure(name="output_tokens_per_s_at_peak", unit="tokens/s", value=served.output_tokens_per_s.value),
            Figure(name="probability", unit="share", value=served.probability),
            Figure(name="usd_per_million_output_tokens", unit="USD", value=price.output),
            Figure(name="usd_per_million_tokens_in_and_out", unit="USD", value=price.blended),
        )

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """First token and time per token at the goals' percentile, and what a million output tokens costs."""
        served, price = self.performance, self.money.usd_per_million_tokens.output
        token = served.time_per_token_s.value
        return (
            ("first token", f"{served.first_token_s.value:.2f} s"),
            *((("per token", f"{token * 1e3:.0f} ms"),) if token else ()),
            *((("$/M out", f"{price:.2f}"),) if price is not None else ()),
            ("goals met", probability_text(served.probability)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedOffer:
    """A service's traffic on a model that a provider hosts.

    Attributes:
        product: the provider's name of the model; model: as it is known here.
        input_usd_per_million … batch_output_usd_per_million: list prices; None where there is none.
        blended_usd_per_million: of this traffic, cached input and batches at their prices; usd_per_month: of it all.
        tokens_per_day: input and output of the mean traffic.
        own_target: the cheapest option that meets the goals; own_usd_per_month: what it costs.
        own_wins_from_tokens_per_day: replicas of one's own on its hardware cost less from there; None for never.
        context_tokens … tokens_per_minute: limits; None where they are not known.
        price_first_seen, price_last_seen: days, ISO 8601; sources: titles.
        broken: id and text of the limits that the traffic breaks.
    """

    provider: str
    product: str
    model: str
    input_usd_per_million: float
    output_usd_per_million: float
    cached_input_usd_per_million: float | None
    batch_input_usd_per_million: float | None
    batch_output_usd_per_million: float | None
    blended_usd_per_million: float
    usd_per_month: float
    tokens_per_day: float
    own_target: str
    own_usd_per_month: float | None
    own_wins_from_tokens_per_day: float | None
    context_tokens: float | None
    most_input_tokens: float | None
    most_output_tokens: float | None
    requests_per_minute: float | None
    tokens_per_minute: float | None
    price_first_seen: str
    price_last_seen: str
    sources: tuple[str, ...]
    broken: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedOffer:
    """An option's nodes behind a managed endpoint of its cloud, which runs the user's image on them.

    Attributes:
        service: name of the cloud's service; empty where no price of one is known.
        usd_per_node_hour: of the instance behind the endpoint, estimated as its price on demand times `over_instance`;
            None where one of the two is not known, as all dollars are then.
        over_instance: price behind the endpoint over that of the bare instance, when both were seen.
        blended_usd_per_million: of the month over its input and output tokens.
        seen_on: instances whose two prices give the ratio; price_first_seen, price_last_seen: days, ISO 8601.
        sources: titles.
    """

    target: str
    service: str
    instance: str
    nodes: int
    usd_per_node_hour: float | None
    over_instance: float | None
    usd_per_month: float | None
    blended_usd_per_million: float | None
    seen_on: tuple[str, ...]
    price_first_seen: str
    price_last_seen: str
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPlan(Plan):
    """The plan of a service: all its options serve.

    Attributes:
        hosted: models of others that `targets.api` compares it with, the cheapest month first; none are ranked.
        managed: the rented options behind managed endpoints, where `targets.api` asks for the comparison.
    """

    workload: ServingWorkload
    goals: ServingGoals
    options: tuple[ServingOption, ...]
    other_options: tuple[ServingOption, ...] = ()
    hosted: tuple[HostedOffer, ...] = ()
    managed: tuple[ManagedOffer, ...] = ()


def probability_text(probability: float) -> str:
    """Return a probability in words; a band says little of what is beyond 1 in 100.

    >>> probability_text(0.923), probability_text(0.9999), probability_text(0.001)
    ('92 %', 'over 99 %', 'below 1 %')
    """
    if probability > _ALMOST_SURE:
        return "over 99 %"
    return "below 1 %" if probability < 1.0 - _ALMOST_SURE else percent(probability)


def serving_plan(plan: Plan) -> ServingPlan:
    """Return a plan as that of a service, for what only services have.

    Raises:
        InputError: its workload is of another kind.
    """
    return plan_of_kind(plan, ServingPlan, "serve")


def serving_option(option: Option) -> ServingOption:
    """Return an option of a service's plan as such."""
    return option_of_kind(option, ServingOption, "serve")
