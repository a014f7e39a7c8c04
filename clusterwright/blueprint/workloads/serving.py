"""What a blueprint says of inference: the model and how it runs, the traffic, and the replicas kept for it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Count, Duration, Fraction
from clusterwright.blueprint.workloads.training import ModelReference, beside_blueprint

HOURS_A_DAY = 24
#: Largest P95 over the mean that a log-normal distribution of lengths has: exp(z^2 / 2), z = 1.645.
MOST_P95_OVER_MEAN = 3.86
_WeightFormat = Literal["bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "mxfp4"]
_Rate = Annotated[float, Field(gt=0, le=1e9)]


class ServeParallelism(Section):
    """Parts of a replica's layout to hold fixed; what is left out is searched."""

    tensor: Annotated[int, Field(ge=1, le=1024)] | None = Field(None, description="tensor parallel size, accelerators")
    pipeline: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="pipeline stages")
    expert: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="accelerators that whole experts are spread over"
    )


class ServeOptions(Section):
    """How the framework runs a replica."""

    max_sequences: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="most sequences in a batch; by default as many as memory holds"
    )
    attention_data_parallel: bool | None = Field(
        None,
        description="accelerators of a replica take different sequences in attention; true, false, or left out: both "
        "are tried for mixtures of experts",
    )
    speculative: Literal["none", "mtp"] = Field(
        "none", description="mtp: the model's own heads draft three tokens a step, or a method of similar gain"
    )


class Serve(Section):
    """Inference for users."""

    kind: Literal["serve"] = Field(description="serve: inference for users")
    model: ModelReference = Field(description="a model of the catalogue, or config: and the path of its config.json")
    precision: _WeightFormat = Field(
        "bf16", description="of the weights; int4: AWQ or GPTQ; nvfp4, mxfp4: four bits with scales of small blocks"
    )
    kv_precision: Literal["bf16", "fp16", "fp8", "int8"] | None = Field(
        None, description="of keys and values; by default 8 bits with weights of at most 8, else 16"
    )
    framework: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(names.plain)] = Field(
        "vllm", description="vllm, sglang, tensorrt-llm or another; one without measurements has a wider band"
    )
    options: ServeOptions = Field(default_factory=ServeOptions, description="how the framework runs a replica")
    parallelism: ServeParallelism = Field(
        default_factory=ServeParallelism, description="layout choices to hold fixed; the rest is searched"
    )


class TokenLengths(Section):
    """Lengths of requests or answers, as a log-normal distribution with this mean and P95."""

    mean: Count = Field(ge=1, le=1e7, description="mean, tokens")
    p95: Count = Field(ge=1, le=1e8, description="95 of 100 are no longer; the same as the mean if all are alike")

    @model_validator(mode="after")
    def _possible(self) -> "TokenLengths":
        if self.p95 < self.mean:
            raise PydanticCustomError(
                "choice",
                "a P95 of {p95} tokens is below the mean of {mean}",
                {
                    "p95": f"{self.p95:,.6g}",
                    "mean": f"{self.mean:,.6g}",
                    "at": "p95",
                    "help": "lengths whose P95 is below their mean come from a few endless requests: limit those, or "
                    "exchange the two values",
                },
            )
        if self.p95 > MOST_P95_OVER_MEAN * self.mean:
            raise PydanticCustomError(
                "choice",
                "no log-normal distribution has a P95 of {p95} tokens with a mean of {mean}: at most {most}",
                {
                    "p95": f"{self.p95:,.6g}",
                    "mean": f"{self.mean:,.6g}",
                    "most": f"{MOST_P95_OVER_MEAN * self.mean:,.0f}",
                    "at": "p95",
                    "help": "lower p95, or plan short and long requests as two services",
                },
            )
        return self


class Traffic(Section):
    """Who asks, how often, and how long requests and answers are."""

    requests_per_s: _Rate | None = Field(None, description="mean of a day; or users")
    users: Annotated[Count, Field(gt=0, le=1e10)] | None = Field(
        None, description="that are signed on, mean of a day; with active_share or think_time"
    )
    active_share: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(
        None, description="share of the users that wait for an answer at any time, for example 10 %"
    )
    think_time: Annotated[Duration, Field(ge=0, le=30 * 86400)] | None = Field(
        None, description="from the end of an answer to a user's next request, for example 60 s"
    )
    input_tokens: TokenLengths | None = Field(
        None, description="tokens of a request, what came before in its chat included; or trace"
    )
    output_tokens: TokenLengths | None = Field(None, description="tokens of an answer, reasoning included; or trace")
    trace: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(beside_blueprint)] | None = Field(
        None,
        description="CSV file beside the blueprint with arrival_s, input_tokens, output_tokens of single requests, "
        "sorted by time, and cached_tokens where known: their lengths as they are, and their mean rate where neither "
        "requests_per_s nor users is given",
    )
    prefix_cache_hit: Annotated[Fraction, Field(ge=0, le=0.99)] = Field(
        0.0, description="share of the input tokens whose keys and values are still in memory"
    )
    peak_over_mean: Annotated[float, Field(ge=1, le=100)] | None = Field(
        None, description="traffic of the busiest hour over the mean of a day; 1 by default"
    )
    daily_curve: Annotated[list[Annotated[float, Field(ge=0, le=1e9)]], Field(min_length=24, max_length=24)] | None = (
        Field(None, description="24 numbers, traffic of each hour of a day; their largest over their mean is the peak")
    )
    growth: Annotated[Fraction, Field(ge=0, le=10)] = Field(
        0.0, description="of the traffic per year; replicas suffice at the end of the horizon"
    )

    @property
    def peak(self) -> float:
        """Traffic of the busiest hour over the mean of a day."""
        if self.daily_curve is not None:
            return max(self.daily_curve) * HOURS_A_DAY / sum(self.daily_curve)
        return self.peak_over_mean or 1.0

    @model_validator(mode="after")
    def _asked_once(self) -> "Traffic":
        if (self.requests_per_s is None) == (self.users is None) and (self.trace is None or self.users is not None):
            both = self.users is not None
            raise PydanticCustomError(
                "choice",
                "requests_per_s and users both say how much is asked" if both else "nothing says how much is asked",
                {
                    "at": "users" if both else "",
                    "help": "give requests_per_s, or users with active_share or think_time, or a trace of requests",
                },
            )
        behaviour = (self.active_share is not None) + (self.think_time is not None)
        if self.users is not None and behaviour != 1:
            raise PydanticCustomError(
                "choice",
                "{users} users say nothing of their requests without active_share or think_time"
                if not behaviour
                else "active_share and think_time both say how often {users} users ask",
                {
                    "users": f"{self.users:,.6g}",
                    "at": "think_time" if behaviour else "users",
                    "help": "add think_time, from an answer to the next request, for example 60 s; or active_share, of "
                    "the users that wait for an answer, for example 10 %"
                    if not behaviour
                    else "keep one of the two",
                },
            )
        if self.users is None and behaviour:
            raise PydanticCustomError(
                "choice",
                "active_share and think_time are of users, but requests_per_s is given",
                {"at": "active_share" if self.active_share is not None else "think_time", "help": "remove it"},
            )
        return self

    @model_validator(mode="after")
    def _lengths_once(self) -> "Traffic":
        for name in ("input_tokens", "output_tokens"):
            given = getattr(self, name) is not None
            if given == (self.trace is None):
                continue
            raise PydanticCustomError(
                "choice",
                "{name} and trace both say how long requests are" if given else "nothing says {name}",
                {
                    "name": name,
                    "at": name if given else "",
                    "help": "keep one of the two"
                    if given
                    else f"add {name}: {{mean: 1000, p95: 3000}}, or trace: a CSV file of requests",
                },
            )
        return self

    @model_validator(mode="after")
    def _one_peak(self) -> "Traffic":
        if self.daily_curve is None:
            return self
        if self.peak_over_mean is not None:
            raise PydanticCustomError(
                "choice",
                "peak_over_mean and daily_curve both say how high the peak is",
                {"at": "peak_over_mean", "help": "keep one of the two"},
            )
        if not sum(self.daily_curve):
            raise PydanticCustomError(
                "choice",
                "the traffic of every hour is 0",
                {"at": "daily_curve", "help": "give each hour's share of the day"},
            )
        return self


class Replicas(Section):
    """Copies of the model that run beside each other."""

    spare: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="replicas in working order beside those that the peak needs"
    )
    start_time: Annotated[Duration, Field(ge=1, le=86400)] = Field(
        600.0, description="in which all replicas may read their weights from storage; sets its bandwidth"
    )


_Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(names.plain)]
_RateLimit = Annotated[Count, Field(gt=0, le=1e12)]


class ApiTarget(Section):
    """Hosted models that answer the same traffic: compared by dollars and limits, never deployed to, never ranked."""

    model: _Name | None = Field(
        None, description="hosted model to compare with, for example gpt-5-mini; by default the workload's own"
    )
    providers: Annotated[list[_Name], Field(min_length=1, max_length=50)] | None = Field(
        None, description="who hosts it, for example [DeepInfra, Together]; by default everybody who is known"
    )
    batch_share: Annotated[Fraction, Field(ge=0, le=1)] = Field(
        0.0, description="share of the requests that may wait for hours, at the price of batches where there is one"
    )
    requests_per_minute: _RateLimit | None = Field(None, description="limit of your account")
    tokens_per_minute: _RateLimit | None = Field(None, description="limit of your account, input and output together")
    concurrent_requests: _RateLimit | None = Field(None, description="limit of your account, requests in flight")
