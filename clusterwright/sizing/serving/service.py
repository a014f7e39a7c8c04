"""What a service must do: its model, the lengths of its requests, how often they come, and the latency asked of it."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Values
from clusterwright.sizing.serving.replicas import spare_replicas
from clusterwright.workload.inference import NamedModel

_P95 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """Tokens of requests or answers, log-normal unless their lengths are known.

    Attributes:
        mean, p95: of all.
        tokens: equally likely lengths, ascending, of a measured distribution; empty for a log-normal one.
    """

    mean: float
    p95: float
    tokens: tuple[float, ...] = ()

    @property
    def deviation(self) -> float:
        """Standard deviation of the logarithm: the smaller root of `z s - s^2 / 2 = ln(P95 / mean)`, z = 1.645."""
        return _P95 - math.sqrt(max(_P95**2 - 2.0 * math.log(max(self.p95 / self.mean, 1.0)), 0.0))

    @property
    def variation(self) -> float:
        """Squared coefficient of variation: `exp(s^2) - 1`, or that of the lengths."""
        if self.tokens:
            return sum((one / self.mean - 1.0) ** 2 for one in self.tokens) / len(self.tokens)
        return math.expm1(self.deviation**2)

    def quantile(self, share: float) -> float:
        """Return the tokens that this share of all does not exceed.

        >>> round(Lengths(mean=1000, p95=3000).quantile(0.95))
        3000
        """
        if self.tokens:
            place = min(max(share * len(self.tokens) - 0.5, 0.0), len(self.tokens) - 1.0)
            low, part = self.tokens[int(place)], place % 1.0
            return low + part * (self.tokens[min(int(place) + 1, len(self.tokens) - 1)] - low)
        spread = self.deviation
        return self.mean * math.exp(NormalDist().inv_cdf(share) * spread - spread**2 / 2.0)

    def share_above(self, tokens: float) -> float:
        """Return the share of all that is above a given number of tokens.

        >>> round(Lengths(mean=1000, p95=3000).share_above(3000), 3)
        0.05
        """
        if self.tokens:
            return sum(one > tokens for one in self.tokens) / len(self.tokens)
        spread = self.deviation
        if not spread:
            return float(self.mean > tokens)
        return 0.5 * math.erfc((math.log(tokens / self.mean) + spread**2 / 2.0) / spread / math.sqrt(2.0))


@formula(
    "{users} / ({think_s} + {answer_s})",
    source="interactive response time law, N / (Z + T)",
    users=Term("users at the peak"),
    think_s=Term("think time", ",.6g", "s"),
    answer_s=Term("time of an answer", ",.4g", "s"),
)
def requests_of_users(*, users: float, think_s: float, answer_s: Values) -> Values:
    """Return the requests per second of users who ask again after they have read; who waits thinks for no time."""
    return users / (think_s + answer_s)


@formula(
    "{mean} × {peak_over_mean} × {growth}",
    source="the busiest time of a day at the end of the horizon",
    mean=Term("of today, on average"),
    peak_over_mean=Term("peak over mean", ".4g"),
    growth=Term("growth", ".4g"),
)
def at_the_peak(*, mean: float, peak_over_mean: float, growth: float) -> float:
    """Return the requests per second, or the users, of the busiest time that replicas are sized for."""
    return mean * peak_over_mean * growth


@formula(
    "{requests_per_s} × {tokens}",
    source="what is asked: explain peak_requests_per_s",
    requests_per_s=Term("requests/s at the peak"),
    tokens=Term("tokens of an answer"),
)
def tokens_asked_per_s(*, requests_per_s: float, tokens: float) -> float:
    """Return the output tokens per second that requests ask for."""
    return requests_per_s * tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """How often the service is asked at its peak.

    Attributes:
        requests_per_s: None where users ask again after they have read.
        users: that are signed on, or wait for an answer where think_s is 0; think_s: from an answer to the next
            request.
    """

    requests_per_s: float | None = None
    users: float = 0.0
    think_s: float = 0.0

    def rate(self, answer_s: float) -> float:
        """Return the requests per second where an answer takes so long."""
        if self.requests_per_s is not None:
            return self.requests_per_s
        return float(requests_of_users(users=self.users, think_s=self.think_s, answer_s=answer_s))


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyGoals:
    """What the required number of the requests must meet.

    Attributes:
        first_token_s, time_per_token_s: longest, None for no goal; percentile: share of the requests, 0 to 1.
        confidence: probability with which the prediction meets the goals.
    """

    first_token_s: float | None
    time_per_token_s: float | None
    percentile: float
    confidence: float


class Batching(StrEnum):
    """How a replica takes requests together.

    Continuous: they join and leave at every step. Static: what waits when a batch ends makes the next one. Windowed: a
    replica that is idle waits for more before it starts. None: one after the other.
    """

    CONTINUOUS = "continuous"
    WINDOWED = "windowed"
    STATIC = "static"
    NONE = "none"


class Task(StrEnum):
    """What is asked of the model: tokens, or one pass over the input."""

    GENERATE = "generate"
    EMBED = "embed"
    RERANK = "rerank"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafting:
    """How tokens are drafted for the model to verify.

    Attributes:
        tokens: of a draft; accepted_length: tokens that a sequence gains in a step, its own included, 0 as calibrated.
        step_share: of a decode step, that one drafted token takes; 0 as calibrated.
    """

    tokens: float = 3.0
    accepted_length: float = 0.0
    step_share: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapters:
    """Low-rank adapters of one model, asked for alike often: how many, weights of each, and those that memory holds."""

    count: float
    weights: float
    resident: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Images:
    """Images in the inputs of a vision-language model.

    Attributes:
        encoder_weights: of the encoder; patches: of a request that it computes, on average.
    """

    encoder_weights: float
    patches: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Sessions:
    """Chats of several turns, each of which sends again what came before.

    Attributes:
        history_share: of the input tokens, that an earlier turn had; pause_s: from an answer to the next turn, mean of
            an exponential distribution; host_cache_bytes: of one accelerator, where keys and values go that its own
            memory has no room for.
    """

    history_share: float
    pause_s: float
    host_cache_bytes: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """How the framework runs a replica, where it is not as usual.

    Attributes:
        window_s: that a windowed batch waits for more; chunk_tokens: of inputs, that one step carries at most; paged:
            memory is given out for the tokens that there are, not for the longest request.
        host_weight_share: of the weights, left in the host's memory.
        passes: over the model that a request takes at once, such as the documents that are ranked.
    """

    batching: Batching = Batching.CONTINUOUS
    window_s: float = 0.0
    chunk_tokens: float = 8192.0
    paged: bool = True
    host_weight_share: float = 0.0
    passes: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """What replicas are sized for.

    Attributes:
        framework: its family, or its own name; precision, cache_precision: of weights and of keys and values, the
            latter empty for the usual; speculative: how tokens are drafted, empty for not at all.
        prefix_share: of the input tokens, whose keys and values are in memory.
        most_sequences: limit of the framework; tensor, pipeline, expert: sizes held fixed, None to search.
        spread_attention: accelerators take different sequences in attention; None to search.
        spare_replicas: beside those that the load needs; availability: of all of these together, and of one replica,
            from which the spare ones follow instead.
        task: tokens, or one pass over the input; running, drafting, adapters, images, sessions: where there are any.
        apart: prefill and decoding have accelerators of their own; None for what takes fewer nodes.
        wide_expert: experts may be spread over several nodes; slices: replicas may lie on slices of an accelerator.
    """

    model: NamedModel
    framework: str
    precision: str
    cache_precision: str
    speculative: str
    inputs: Lengths
    outputs: Lengths
    prefix_share: float
    load: Load
    goals: LatencyGoals
    most_sequences: float = math.inf
    tensor: int | None = None
    pipeline: int | None = None
    expert: int | None = None
    spread_attention: bool | None = None
    spare_replicas: int = 1
    availability: tuple[float, float] | None = None
    task: Task = Task.GENERATE
    running: Running = field(default_factory=Running)
    drafting: Drafting = field(default_factory=Drafting)
    adapters: Adapters | None = None
    images: Images | None = None
    sessions: Sessions | None = None
    apart: bool | None = False
    wide_expert: bool = False
    slices: bool = False

    def spare(self, needed: int) -> int:
        """Return the replicas that are kept beside those that the load needs."""
        if self.availability is None:
            return self.spare_replicas
        goal, each = self.availability
        return spare_replicas(needed, availability=each, goal=goal)

    @property
    def gathered(self) -> bool:
        """Whether batches start together and nothing joins them."""
        return self.running.batching is not Batching.CONTINUOUS or self.task is not Task.GENERATE

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """What no measurement is of, in words; each makes the bands wider."""
        return tuple(
            name
            for name, applies in (
                (f"{self.running.batching} batching", self.running.batching is not Batching.CONTINUOUS),
                ("one pass over the input", self.task is not Task.GENERATE),
                ("memory without pages", not self.running.paged),
                ("weights in the host's memory", self.running.host_weight_share > 0),
                ("images", self.images is not None),
            )
            if applies
        )
