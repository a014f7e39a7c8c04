"""What a blueprint says of inference: the model and how it runs, and the replicas kept for it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Count, Duration, Fraction, Size
from clusterwright.blueprint.workloads.traffic import refused
from clusterwright.blueprint.workloads.training import ModelReference

_WeightFormat = Literal["bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "mxfp4"]
#: The rule that options break which contradict each other.
_OPTIONS = "SRV008"


class ServeParallelism(Section):
    """Parts of a replica's layout to hold fixed; what is left out is searched."""

    tensor: Annotated[int, Field(ge=1, le=1024)] | None = Field(None, description="tensor parallel size, accelerators")
    pipeline: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="pipeline stages")
    expert: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="accelerators that whole experts are spread over"
    )


class ServedAdapters(Section):
    """Low-rank adapters of the model, each of which requests ask for alike often."""

    count: Annotated[int, Field(ge=1, le=100_000)] = Field(description="adapters that requests ask for")
    rank: Annotated[int, Field(ge=1, le=1024)] = Field(16, description="rank of an adapter")
    targets: Literal["attention", "all"] = Field(
        "all", description="matrices that are adapted: of attention, or of attention and MLPs"
    )
    resident: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="adapters that the accelerators' memory holds; the others come from the host; all by default"
    )

    @model_validator(mode="after")
    def _held(self) -> "ServedAdapters":
        if self.resident is not None and self.resident > self.count:
            raise refused(
                _OPTIONS,
                "{resident} adapters cannot be resident of {count}",
                "lower resident, or remove it",
                at="resident",
                resident=str(self.resident),
                count=str(self.count),
            )
        return self


class Offload(Section):
    """What is kept in the memory of the hosts."""

    weights: Annotated[Fraction, Field(ge=0, le=0.95)] = Field(
        0.0, description="share of the weights that the accelerators read from the host in every step, for example 20 %"
    )
    cache: Annotated[Size, Field(ge=0, le=1e15)] | None = Field(
        None, description="memory for keys and values of earlier turns, per accelerator, for example 200 GB"
    )


class ServeOptions(Section):
    """How the framework runs a replica."""

    batching: Literal["continuous", "windowed", "static", "none"] = Field(
        "continuous",
        description="continuous: requests join and leave at every step; static: what waits when a batch ends is the "
        "next one; windowed: an idle replica also waits batch_window for more; none: one after the other",
    )
    batch_window: Annotated[Duration, Field(gt=0, le=600)] | None = Field(
        None, description="how long a windowed batch waits for more requests, for example 50 ms"
    )
    max_sequences: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="most sequences in a batch; by default as many as memory holds"
    )
    chunked_prefill: bool = Field(
        True, description="inputs are computed in pieces beside the decode steps of others; false: each at once"
    )
    step_tokens: Annotated[int, Field(ge=16, le=10_000_000)] = Field(
        8192, description="most tokens of inputs that one step carries"
    )
    paged_cache: bool = Field(
        True, description="memory is given out for the tokens that there are; false: for the longest request"
    )
    attention_data_parallel: bool | None = Field(
        None,
        description="accelerators of a replica take different sequences in attention; true, false, or left out: both "
        "are tried for mixtures of experts",
    )
    wide_expert_parallel: bool = Field(
        False, description="experts of one replica may lie on several nodes, with attention data parallel"
    )
    disaggregated: Literal["never", "always", "cheapest"] = Field(
        "never", description="prefill and decoding on accelerators of their own; cheapest: where that takes fewer nodes"
    )
    mig_slices: bool = Field(False, description="replicas may lie on slices of an accelerator (MIG), for small models")
    speculative: Literal["none", "mtp", "eagle", "medusa", "ngram", "draft_model"] = Field(
        "none", description="how tokens are drafted; mtp: by heads of the model itself"
    )
    draft_tokens: Annotated[int, Field(ge=1, le=64)] = Field(3, description="tokens of a draft")
    accepted_length: Annotated[float, Field(ge=1, le=65)] | None = Field(
        None,
        description="tokens that an answer gains in a step, the model's own included, as you measured it; by default "
        "that of published measurements",
    )
    draft_share: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(
        None, description="share of a decode step that one drafted token takes, for example 5 %"
    )
    adapters: ServedAdapters | None = Field(None, description="low-rank adapters (LoRA) beside the model")
    offload: Offload = Field(default_factory=Offload, description="what is kept in the memory of the hosts")

    @model_validator(mode="after")
    def _consistent(self) -> "ServeOptions":
        if (self.batching == "windowed") != (self.batch_window is not None):
            missing = self.batch_window is None
            raise refused(
                _OPTIONS,
                "windowed batching waits batch_window, which is missing"
                if missing
                else "batch_window is of windowed batching; batching is {batching}",
                "add batch_window: 50 ms" if missing else "set batching: windowed, or remove batch_window",
                at="batching" if missing else "batch_window",
                batching=self.batching,
            )
        if self.speculative == "none":
            for name in ("accepted_length", "draft_share"):
                if getattr(self, name) is not None:
                    raise refused(
                        _OPTIONS,
                        "{name} is of speculative decoding, and speculative is none",
                        "set speculative: mtp or another method, or remove it",
                        at=name,
                        name=name,
                    )
        elif self.accepted_length is not None and self.accepted_length > self.draft_tokens + 1:
            raise refused(
                _OPTIONS,
                "no more than {most} tokens are gained in a step: {draft} of the draft and the model's own",
                "lower accepted_length, or raise draft_tokens",
                at="accepted_length",
                most=str(self.draft_tokens + 1),
                draft=str(self.draft_tokens),
            )
        self._without_effect()
        if self.batching != "continuous":
            for name, applies in (
                ("disaggregated", self.disaggregated != "never"),
                ("offload", self.offload.cache is not None),
            ):
                if applies:
                    raise refused(
                        _OPTIONS,
                        "{name} goes with continuous batching; batching is {batching}",
                        "set batching: continuous, or remove it",
                        at=name,
                        name=name,
                        batching=self.batching,
                    )
        return self

    def _without_effect(self) -> None:
        """Refuse what another option leaves no effect.

        Raises:
            PydanticCustomError: with the option and the other.
        """
        given = self.model_fields_set
        for name, applies, other in (
            ("draft_tokens", self.speculative == "none", "speculative is none"),
            ("step_tokens", not self.chunked_prefill, "chunked_prefill is false: each input is computed at once"),
            ("max_sequences", self.batching == "none", "batching is none: one request after the other"),
            ("wide_expert_parallel", self.attention_data_parallel is False, "attention_data_parallel is false"),
            ("mig_slices", self.disaggregated == "always", "disaggregated is always: a slice hands nothing over"),
        ):
            if applies and name in given and getattr(self, name):
                raise refused(
                    _OPTIONS,
                    "{name} has no effect where {other}",
                    "remove one of the two",
                    at=name,
                    name=name,
                    other=other,
                )


class Serve(Section):
    """Inference for users."""

    kind: Literal["serve"] = Field(description="serve: inference for users")
    task: Literal["generate", "embed", "rerank"] = Field(
        "generate", description="generate: tokens of an answer; embed, rerank: one pass over the input answers"
    )
    model: ModelReference = Field(
        description="a model of the catalogue or its Hugging Face name, or config: and the path of its config.json"
    )
    precision: _WeightFormat = Field(
        "bf16", description="of the weights; int4: AWQ or GPTQ; nvfp4, mxfp4: four bits with scales of small blocks"
    )
    kv_precision: Literal["bf16", "fp16", "fp8", "int8"] | None = Field(
        None, description="of keys and values; by default 8 bits with weights of at most 8, else 16"
    )
    framework: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(names.plain)] = Field(
        "vllm",
        description="vllm, sglang, tensorrt-llm or another, such as tgi, triton, dynamo, llm-d, nim, or a vendor's "
        "engine; one without measurements has a wider band",
    )
    options: ServeOptions = Field(default_factory=ServeOptions, description="how the framework runs a replica")
    parallelism: ServeParallelism = Field(
        default_factory=ServeParallelism, description="layout choices to hold fixed; the rest is searched"
    )


class Autoscaling(Section):
    """How an autoscaler follows the traffic of a day."""

    least: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="replicas that are always kept; what the quietest minute needs by default, at least one"
    )
    most: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="replicas at most; those of the peak by default"
    )
    metric: Literal["requests", "cache", "queue"] = Field(
        "requests", description="what is watched: requests in flight, share of the cache that is used, waiting requests"
    )
    warm_up: Annotated[Duration, Field(ge=0, le=86400)] = Field(
        0.0, description="from weights in memory to the first answer: compilation, graphs, for example 2 minutes"
    )
    cool_down: Annotated[Duration, Field(ge=0, le=86400)] = Field(
        300.0, description="for which the load has been lower before a replica goes"
    )
    scale_to_zero: bool = Field(False, description="all replicas go while nothing is asked")

    @model_validator(mode="after")
    def _ordered(self) -> "Autoscaling":
        if self.least is not None and self.most is not None and self.least > self.most:
            raise refused(
                _OPTIONS,
                "at least {least} replicas are more than at most {most}",
                "exchange the two",
                at="least",
                least=str(self.least),
                most=str(self.most),
            )
        if self.scale_to_zero and self.least:
            raise refused(
                _OPTIONS,
                "scale_to_zero keeps no replica, and least keeps {least}",
                "remove one of the two",
                at="least",
                least=str(self.least),
            )
        return self


class Replicas(Section):
    """Copies of the model that run beside each other."""

    spare: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="replicas in working order beside those that the peak needs"
    )
    availability: Annotated[Fraction, Field(gt=0, lt=1)] | None = Field(
        None,
        description="share of the time in which the replicas of the peak are up, for example 99.9 %; the spare ones "
        "follow from it and replica_availability",
    )
    replica_availability: Annotated[Fraction, Field(gt=0, lt=1)] = Field(
        0.99, description="share of the time in which one replica is up, for availability"
    )
    autoscaling: Autoscaling | None = Field(None, description="how replicas follow the day; all are kept by default")
    start_time: Annotated[Duration, Field(ge=1, le=86400)] = Field(
        600.0, description="in which all replicas may read their weights from storage; sets its bandwidth"
    )

    @model_validator(mode="after")
    def _spare_once(self) -> "Replicas":
        if self.availability is not None and "spare" in self.model_fields_set:
            raise refused(
                _OPTIONS,
                "spare and availability both say how many replicas are kept beside those of the peak",
                "keep one of the two",
                at="spare",
            )
        if self.availability is None and "replica_availability" in self.model_fields_set:
            raise refused(
                _OPTIONS,
                "replica_availability is for availability, which is missing",
                "add availability: 99.9 %, or remove it",
                at="replica_availability",
            )
        return self


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
    requests_per_minute: _RateLimit | None = Field(None, description="limit of your account, for example 10000")
    tokens_per_minute: _RateLimit | None = Field(
        None, description="limit of your account, input and output together", examples=["2e6"]
    )
    concurrent_requests: _RateLimit | None = Field(
        None, description="limit of your account, requests in flight", examples=["200"]
    )
