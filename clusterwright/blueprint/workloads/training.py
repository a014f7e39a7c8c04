"""Training as a kind of workload, and the model that a workload of any kind names."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Identifier, Section
from clusterwright.blueprint.quantities import Count, Fraction
from clusterwright.blueprint.sizes import MustBe
from clusterwright.catalog.precisions import Precision

_PRECISION = (
    "of the matrix multiplications; fp8: scaled per tensor; fp8-block: per 128 elements by software, as DeepSeek-V3; "
    "mxfp8, nvfp4: per 32 and 16 elements by the tensor core"
)


def beside_blueprint(value: str, info: ValidationInfo) -> str:
    """Return a path of the blueprint as seen from here: relative to the blueprint's folder, and inside it.

    A blueprint may come from anybody, as in a pull request: the file that it names is shown in messages, so it is one
    of the blueprint's own folder. What the user types on the command line (`--set`) may be anywhere.
    """
    context = info.context or {}
    if not context.get("files", True):
        raise PydanticCustomError(
            "choice",
            "{value} names a file, and a blueprint from elsewhere may name none here",
            {"value": repr(value), "help": "plan it with the command line, next to the file"},
        )
    folder: Path = context.get("folder", Path())
    path = folder / value
    if value not in context.get("typed", ()) and not path.resolve().is_relative_to(folder.resolve()):
        raise PydanticCustomError(
            "choice",
            "{value} is outside the blueprint's folder",
            {
                "value": repr(value),
                "help": "put the file next to the blueprint, or name it on the command line: --set PATH=FILE",
            },
        )
    return str(path)


class ModelFile(Section):
    """A model that is described by the `config.json` that Hugging Face publishes with it."""

    config: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(beside_blueprint)] = Field(
        description="path of the config.json, relative to the blueprint's folder, for example config.json"
    )


#: Tags of the two forms of a model; pydantic puts them into the place of an error, where no key can have that name.
MODEL_FORMS = ("<id>", "<file>")
ModelReference = Annotated[
    Annotated[Identifier, Tag(MODEL_FORMS[0])] | Annotated[ModelFile, Tag(MODEL_FORMS[1])],
    Discriminator(lambda value: MODEL_FORMS[isinstance(value, dict | ModelFile)]),
]


class Parallelism(Section):
    """Parts of the layout to hold fixed or within bounds; what is left out is searched."""

    tensor: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="tensor parallel size, GPUs")
    max_tensor: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="largest tensor parallel size")
    context: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="context parallel size, GPUs")
    pipeline: Annotated[int, Field(ge=1, le=512)] | None = Field(None, description="pipeline stages")
    data: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(None, description="data parallel size, replicas")
    data_must_be: MustBe | None = Field(
        None, description="data parallel sizes to look at, for example multiple of 8, or power of two"
    )
    expert: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="expert parallel size, GPUs that a layer's experts are spread over"
    )
    micro_batch: Annotated[int, Field(ge=1, le=1024)] | None = Field(None, description="sequences per micro-batch")
    recompute: Literal["none", "selective", "full"] | None = Field(
        None, description="activations computed again; left out, full is of as few layers as memory asks for"
    )
    recompute_layers: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="layers of each chunk of a stage that recompute: full is of; all by default"
    )
    sharding_group: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        None, description="GPUs over which ZeRO shards, of which there are copies; all, a node or a domain are searched"
    )
    schedule: Literal["auto", "1f1b", "interleaved", "zero-bubble", "dualpipe"] = Field(
        "auto",
        description="of pipelines; auto: 1f1b and interleaved; zero-bubble (ZB-H1) and dualpipe need software that has "
        "them",
    )
    # Switch Transformers train best with capacity factors of 1 to 1.25 (Fedus et al. 2021, arXiv 2101.03961, 2.2).
    expert_imbalance: Annotated[float, Field(ge=1, le=64)] = Field(
        1.25,
        description="tokens that the fullest GPU's experts get over the mean, an assumption; 1 if balance is forced",
    )
    tolerance: Annotated[Fraction, Field(ge=0, le=0.1)] = Field(
        0.02,
        description="calendar time that the chosen size gives up for a layout of usual sizes that recomputes fewer "
        "layers; 0 takes the fastest",
    )

    @model_validator(mode="after")
    def _recomputation_agrees(self) -> "Parallelism":
        if self.recompute_layers is not None and self.recompute not in (None, "full"):
            raise PydanticCustomError(
                "recompute_layers",
                "recompute_layers is of full recomputation, but recompute is {mode}",
                {"mode": repr(self.recompute), "help": "set recompute: full, or remove recompute_layers"},
            )
        full = self.recompute == "full" or self.recompute_layers is not None
        if full and self.schedule in ("zero-bubble", "dualpipe"):
            raise PydanticCustomError(
                "schedule",
                "{schedule} computes gradients of weights apart, for which recomputed layers would have to stay",
                {"schedule": self.schedule, "help": "use recompute: none or selective, or schedule: interleaved"},
            )
        return self

    @model_validator(mode="after")
    def _stages_agree(self) -> "Parallelism":
        if self.pipeline == 1 and self.schedule != "auto":
            raise PydanticCustomError(
                "schedule",
                "schedule is {schedule}, but pipeline: 1 leaves nothing to schedule",
                {"schedule": repr(self.schedule), "help": "remove schedule, or set pipeline to 2 or more"},
            )
        if self.schedule == "dualpipe" and (self.pipeline or 2) % 2:
            raise PydanticCustomError(
                "schedule",
                "dualpipe pairs stages from both ends, but there are {stages}",
                {"stages": self.pipeline, "help": "set pipeline to an even number"},
            )
        return self


def _listed(value: object) -> object:
    """Return one word as a list of one, and `none` as an empty one."""
    if value == "none":
        return []
    return [value] if isinstance(value, str) else value


def _once(value: list[str]) -> list[str]:
    """Refuse a list that names something twice."""
    twice = sorted({entry for entry in value if value.count(entry) > 1})
    if twice:
        raise PydanticCustomError(
            "twice", "{name} is listed twice", {"name": repr(twice[0]), "help": "keep one of them"}
        )
    return value


_MOVABLE = ("optimizer", "parameters", "activations")
Offloaded = Annotated[
    list[Literal["optimizer", "parameters", "activations"]],
    BeforeValidator(_listed),
    AfterValidator(_once),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["none", *_MOVABLE]},
                {"type": "array", "items": {"type": "string", "enum": list(_MOVABLE)}, "uniqueItems": True},
            ]
        }
    ),
]


class Memory(Section):
    """What of a training run lies outside the accelerators' memory."""

    offload: Offloaded = Field(
        [], description="optimizer: states and their update; parameters: with ZeRO-3; activations; one or a list"
    )
    offload_to: Literal["cpu", "nvme"] = Field(
        "cpu", description="where optimizer and parameters lie; activations always lie in host memory"
    )
    optional: bool = Field(False, description="layouts without offloading are looked at too, and the faster is taken")


class Train(Section):
    """Pre-training from scratch."""

    kind: Literal["train"] = Field(description="train: pre-training from scratch")
    model: ModelReference = Field(
        description="a model of the catalogue, for example gpt3-175b, or config: and the path of its config.json"
    )
    tokens: Count = Field(ge=1, le=1e18, description="tokens trained in total, for example 300e9")
    sequence_length: Annotated[int, Field(gt=0, le=16_777_216)] = Field(
        description="tokens per sequence, for example 4096"
    )
    global_batch: Annotated[int, Field(gt=0, le=1_000_000)] = Field(
        description="sequences per optimizer step, for example 1024"
    )
    precision: Precision = Field("bf16", description=_PRECISION)
    framework: Annotated[str, Field(max_length=100), AfterValidator(names.plain)] = Field(
        "",
        description="training software, with its release where known: Megatron-LM, NeMo 26.02, torchtitan, MaxText; "
        "narrows the band where it was measured, widens it where not; the median of those measured by default",
        examples=["Megatron-LM"],
    )
    optimizer: Literal["adam", "adam-bf16", "adafactor", "muon"] = Field(
        "adam", description="adam: fp32 moments; adam-bf16: bf16 moments; muon: orthogonalised momentum for matrices"
    )
    parallelism: Parallelism = Field(
        default_factory=Parallelism, description="layout choices to hold fixed or within bounds"
    )
    memory: Memory = Field(default_factory=Memory, description="what lies outside the accelerators")
