"""What a service must do: its model, the lengths of its requests, how often they come, and the latency asked of it."""

import math
from dataclasses import dataclass
from statistics import NormalDist

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
        """Return the requests per second where an answer takes so long: `N / (Z + T)`, the interactive law."""
        return self.users / (self.think_s + answer_s) if self.requests_per_s is None else self.requests_per_s


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """What replicas are sized for.

    Attributes:
        framework: its family, or its own name; precision, cache_precision: of weights and of keys and values, the
            latter empty for the usual; speculative: how tokens are drafted, empty for not at all.
        prefix_share: of the input tokens, whose keys and values are in memory.
        most_sequences: limit of the framework; tensor, pipeline, expert: sizes held fixed, None to search.
        spread_attention: accelerators take different sequences in attention; None to search.
        spare_replicas: beside those that the load needs.
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
