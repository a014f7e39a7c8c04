"""What a blueprint says of a service's traffic: who asks, how often, in which lengths, in chats of how many turns."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Count, Duration, Fraction
from clusterwright.blueprint.workloads.training import beside_blueprint

HOURS_A_DAY = 24
#: Largest P95 over the mean that a log-normal distribution of lengths has: exp(z^2 / 2), z = 1.645.
MOST_P95_OVER_MEAN = 3.86
_Rate = Annotated[float, Field(gt=0, le=1e9)]
#: Rules that traffic breaks: how much is asked, and distributions that cannot be.
_ASKED, _LENGTHS = "SRV005", "SRV007"


def refused(rule: str, message: str, advice: str, *, at: str = "", **shown: str) -> PydanticCustomError:
    """Return the refusal of what a section says, at one of its keys."""
    return PydanticCustomError("choice", message, {**shown, "id": rule, "at": at, "help": advice})


class TokenLengths(Section):
    """Lengths of requests or answers, as a log-normal distribution with this mean and P95."""

    mean: Count = Field(ge=1, le=1e7, description="mean, tokens, for example 1500")
    p95: Count = Field(
        ge=1, le=1e8, description="95 of 100 are no longer; the same as the mean if all are alike, for example 4000"
    )

    @model_validator(mode="after")
    def _possible(self) -> "TokenLengths":
        if self.p95 < self.mean:
            raise refused(
                _LENGTHS,
                "a P95 of {p95} tokens is below the mean of {mean}",
                "lengths whose P95 is below their mean come from a few endless requests: limit those, or exchange the "
                "two values",
                at="p95",
                p95=f"{self.p95:,.6g}",
                mean=f"{self.mean:,.6g}",
            )
        if self.p95 > MOST_P95_OVER_MEAN * self.mean:
            raise refused(
                _LENGTHS,
                "no log-normal distribution has a P95 of {p95} tokens with a mean of {mean}: at most {most}",
                "lower p95, or plan short and long requests as two services",
                at="p95",
                p95=f"{self.p95:,.6g}",
                mean=f"{self.mean:,.6g}",
                most=f"{MOST_P95_OVER_MEAN * self.mean:,.0f}",
            )
        return self


def _alike(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return one length as a distribution of nothing else: all requests are alike."""
    alone = isinstance(value, int | float | str) and not isinstance(value, bool)
    return {"mean": value, "p95": value} if alone else value


def with_lengths_in_full(traffic: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section as it is written, with the mean and P95 of lengths that one number stands for."""
    return {key: _alike(value) if key in _LENGTH_KEYS else value for key, value in traffic.items()}


_LENGTH_KEYS = ("input_tokens", "output_tokens", "reasoning_tokens")
#: Lengths as mean and P95, or as one number where all are alike.
Lengths = Annotated[TokenLengths, BeforeValidator(_alike, json_schema_input_type=Count | TokenLengths)]


class ChatSessions(Section):
    """Chats of several turns, each of which sends again what came before."""

    turns: Annotated[float, Field(ge=1, le=1000)] = Field(description="turns of a chat, on average, for example 6")
    pause: Annotated[Duration, Field(gt=0, le=30 * 86400)] | None = Field(
        None, description="from an answer to the next turn, mean; think_time of the users by default"
    )
    system_tokens: Annotated[Count, Field(ge=0, le=1e7)] = Field(
        0.0, description="tokens that every chat begins with: instructions, tools, documents"
    )


class ImageInputs(Section):
    """Images in the requests to a vision-language model."""

    per_request: Annotated[float, Field(gt=0, le=1e4)] = Field(1.0, description="images of a request, on average")
    tokens: Annotated[Count, Field(ge=1, le=1e6)] = Field(
        description="tokens of one image in the input of the language model, for example 1,000; they come on top of "
        "input_tokens"
    )
    patches: Annotated[Count, Field(ge=1, le=1e7)] | None = Field(
        None,
        description="patches of one image that the encoder computes; four for each of its tokens by default",
        examples=["4000"],
    )
    encoder_parameters: Annotated[Count, Field(ge=1e6, le=1e12)] = Field(
        description="weights of the encoder of images, for example 600e6"
    )


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
    input_tokens: Lengths | None = Field(
        None,
        description="tokens of a request, what came before in its chat included unless sessions say that; one number "
        "if all are alike; or trace",
        examples=["1500"],
    )
    output_tokens: Lengths | None = Field(
        None,
        description="tokens of an answer, reasoning included unless reasoning_tokens say it; one number if all are "
        "alike; or trace",
        examples=["300"],
    )
    reasoning_tokens: Lengths | None = Field(
        None, description="tokens that come before an answer and that no later turn sends again", examples=["2000"]
    )
    sessions: ChatSessions | None = Field(
        None, description="chats of several turns; input_tokens are then what each turn adds"
    )
    documents: Annotated[Count, Field(ge=1, le=1e5)] | None = Field(
        None,
        description="of one request to rank; input_tokens are those of a query with one document, for example 100",
    )
    images: ImageInputs | None = Field(None, description="images in the requests to a vision-language model")
    trace: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(beside_blueprint)] | None = Field(
        None,
        description="CSV file beside the blueprint with arrival_s, input_tokens, output_tokens of single requests, "
        "sorted by time, and cached_tokens where known: their lengths as they are, and their mean rate where neither "
        "requests_per_s nor users is given",
        examples=["requests.csv"],
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
            raise refused(
                _ASKED,
                "requests_per_s and users both say how much is asked" if both else "nothing says how much is asked",
                "give requests_per_s, or users with active_share or think_time, or a trace of requests",
                at="users" if both else "",
            )
        behaviour = (self.active_share is not None) + (self.think_time is not None)
        if self.users is not None and behaviour != 1:
            raise refused(
                _ASKED,
                "{users} users say nothing of their requests without active_share or think_time"
                if not behaviour
                else "active_share and think_time both say how often {users} users ask",
                "add think_time, from an answer to the next request, for example 60 s; or active_share, of the users "
                "that wait for an answer, for example 10 %"
                if not behaviour
                else "keep one of the two",
                at="think_time" if behaviour else "users",
                users=f"{self.users:,.6g}",
            )
        if self.users is None and behaviour:
            raise refused(
                _ASKED,
                "active_share and think_time are of users, but requests_per_s is given",
                "remove it",
                at="active_share" if self.active_share is not None else "think_time",
            )
        return self

    @model_validator(mode="after")
    def _lengths_once(self) -> "Traffic":
        for name in ("input_tokens", "output_tokens"):
            given = getattr(self, name) is not None
            # What only passes over inputs answer has no output tokens.
            if given == (self.trace is None) or (not given and name == "output_tokens"):
                continue
            raise refused(
                _ASKED,
                "{name} and trace both say how long requests are" if given else "nothing says {name}",
                "keep one of the two"
                if given
                else f"add {name}: {{mean: 1000, p95: 3000}}, or trace: a CSV file of requests",
                at=name if given else "",
                name=name,
            )
        return self

    @model_validator(mode="after")
    def _of_lengths(self) -> "Traffic":
        for name in ("sessions", "reasoning_tokens", "images"):
            if getattr(self, name) is not None and self.trace is not None:
                raise refused(
                    _ASKED,
                    "{name} adds to lengths that a trace has already",
                    "remove it, or give input_tokens and output_tokens in the place of the trace",
                    at=name,
                    name=name,
                )
        if self.sessions is not None and self.prefix_cache_hit:
            raise refused(
                _ASKED,
                "prefix_cache_hit and sessions both say what is in memory already",
                "keep one of the two: what is found of earlier turns follows from sessions",
                at="prefix_cache_hit",
            )
        if self.sessions is not None and self.sessions.pause is None and self.think_time is None:
            raise refused(
                _ASKED,
                "sessions say nothing of the time between turns",
                "add pause, from an answer to the next turn, for example 45 s",
                at="sessions",
            )
        return self

    @model_validator(mode="after")
    def _one_peak(self) -> "Traffic":
        if self.daily_curve is None:
            return self
        if self.peak_over_mean is not None:
            raise refused(
                _ASKED,
                "peak_over_mean and daily_curve both say how high the peak is",
                "keep one of the two",
                at="peak_over_mean",
            )
        if not sum(self.daily_curve):
            raise refused(
                _LENGTHS, "the traffic of every hour is 0", "give each hour's share of the day", at="daily_curve"
            )
        return self
