"""What a blueprint says of fine-tuning: the model, what of it is trained and how, the data, the layout that is held."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Count, Fraction
from clusterwright.blueprint.workloads.traffic import Lengths
from clusterwright.blueprint.workloads.training import ModelReference

#: Formats that QLoRA stores its base in; the others multiply in their own format, and belong to the other methods.
QLORA_PRECISIONS = ("nf4", "nf4-dq", "fp4", "int4", "int8")
WORKING_PRECISIONS = ("bf16", "fp16", "fp8", "mxfp4", "nvfp4")
#: Matrices of a layer that LoRA, QLoRA and DoRA attach to.
MATRICES = ("query", "key", "value", "output", "mlp")
#: Their names in models of Hugging Face and in torchtune.
MATRICES_BY_NAME = {
    "q_proj": "query",
    "k_proj": "key",
    "v_proj": "value",
    "o_proj": "output",
    "output_proj": "output",
    "gate_proj": "mlp",
    "up_proj": "mlp",
    "down_proj": "mlp",
}
_EVERY = ("all", "all-linear")
_FUNCTION = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
#: Functions of Python with the names of their modules, with commas between.
REWARDS = rf"^{_FUNCTION}(,{_FUNCTION})*$"
_FinetunePrecision = Literal["bf16", "fp16", "fp8", "nvfp4", "mxfp4", "nf4", "nf4-dq", "fp4", "int4", "int8"]


def _matrices(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return one word as a list, `all` as every matrix, and frameworks' names as ours, each once."""
    if value in _EVERY:
        return list(MATRICES)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return value
    named = [MATRICES_BY_NAME.get(entry, entry) if isinstance(entry, str) else entry for entry in value]
    return [name for index, name in enumerate(named) if name not in named[:index]]


Matrices = Annotated[
    list[Literal["query", "key", "value", "output", "mlp"]],
    BeforeValidator(_matrices),
    Field(min_length=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": [*_EVERY, *MATRICES, *MATRICES_BY_NAME]},
                {"type": "array", "minItems": 1, "items": {"type": "string", "enum": [*MATRICES, *MATRICES_BY_NAME]}},
            ]
        }
    ),
]


class FinetuneData(Section):
    """What the model is trained on."""

    samples: Annotated[Count, Field(ge=1, le=1e12)] | None = Field(
        None, description="of the data set (dpo: pairs of answers, grpo: prompts), for example 15000"
    )
    tokens: Annotated[Count, Field(ge=1, le=1e18)] | None = Field(
        None, description="of the data set, in the place of samples, for example 50e6"
    )
    mean_tokens: Annotated[Count, Field(ge=1, le=1e7)] | None = Field(
        None, description="of a sample with its prompt; as long as workload.sequence_length by default; not with grpo"
    )
    epochs: Annotated[float, Field(gt=0, le=10_000)] = Field(1.0, description="passes over the data set")

    @model_validator(mode="after")
    def _given_once(self) -> "FinetuneData":
        if (self.samples is None) == (self.tokens is None):
            raise PydanticCustomError(
                "choice",
                "{said}",
                {
                    "said": "samples or tokens say how much data there is, and neither is given"
                    if self.samples is None
                    else "samples and tokens both say how much data there is",
                    "id": "FTN005",
                    "help": "write samples: 15000 and mean_tokens: 400, or tokens: 6e6",
                },
            )
        return self


class Rollouts(Section):
    """Answers that the model itself generates, is rewarded for and is trained on (objective: grpo)."""

    answers: Annotated[int, Field(ge=2, le=1024)] = Field(8, description="to each prompt, compared with each other")
    prompt_tokens: Annotated[Count, Field(ge=1, le=1e7)] = Field(
        description="of a prompt, on average, for example 200", examples=["200"]
    )
    answer_tokens: Lengths = Field(description="of an answer; one number if all are alike", examples=["600"])
    longest_answer: Annotated[Count, Field(ge=1, le=1e7)] | None = Field(
        None,
        description="tokens at which an answer is cut; what sequence_length leaves beside a prompt by default",
        examples=["1800"],
    )
    updates: Annotated[int, Field(ge=1, le=100)] = Field(1, description="optimizer steps on the same answers")
    reference: bool = Field(
        False, description="a frozen reference computes each answer once more, for a penalty on leaving it"
    )
    reward: Annotated[str, Field(pattern=REWARDS, max_length=200)] | None = Field(
        None,
        description="functions that reward an answer, for the launch files: of TRL, or module.function; commas between",
        examples=["accuracy_reward"],
    )


class FinetuneParallelism(Section):
    """Parts of the layout to hold fixed; what is left out is searched."""

    gpus: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="accelerators that work; whole nodes are paid for"
    )
    tensor: Annotated[int, Field(ge=1, le=64)] | None = Field(
        None, description="accelerators that share each layer; 1 by default but for frameworks that are built for more"
    )
    sharding: Literal["none", "node", "all"] | None = Field(
        None, description="what weights and states are divided over (FSDP, ZeRO-3): nothing, a node, or all"
    )
    micro_batch: Annotated[int, Field(ge=1, le=4096)] | None = Field(None, description="sequences per pass and replica")


class Finetune(Section):
    """Fine-tuning of a given model."""

    kind: Literal["finetune"] = Field(description="finetune: adapting a trained model")
    model: ModelReference = Field(
        description="a model of the catalogue or its Hugging Face name, or config: and the path of its config.json"
    )
    method: Literal["full", "lora", "qlora", "dora", "adapter", "prompt"] = Field(
        "lora", description="which weights are trained: all, or few beside frozen ones (qlora: frozen in 4 or 8 bits)"
    )
    objective: Literal["supervised", "dpo", "grpo"] = Field(
        "supervised",
        description="dpo: pairs of answers, and a frozen reference that computes each once more; grpo: answers of the "
        "model itself, see rollouts",
    )
    precision: _FinetunePrecision | None = Field(
        None, description="of the base weights; bf16 by default, nf4 with qlora (nf4-dq: double quantisation)"
    )
    rank: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="of LoRA, QLoRA and DoRA; bottleneck of an adapter, tokens of a prompt; the framework's own"
    )
    alpha: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        None, description="scale of LoRA, for the launch files; twice the rank by default; no size depends on it"
    )
    targets: Matrices | None = Field(
        None, description="matrices that LoRA attaches to: all, or a list of query, key, value, output, mlp"
    )
    trainable: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(
        None, description="share of the weights that is trained, in the place of rank and targets, for example 0.5 %"
    )
    optimizer: Literal["adamw", "adamw-8bit", "paged-adamw", "paged-adamw-8bit"] | None = Field(
        None, description="moments of all trained weights; paged: they rest in host memory; the framework's own"
    )
    gradient_checkpointing: bool | None = Field(
        None, description="layers are computed again in the backward pass; the faster that fits by default"
    )
    sequence_length: Annotated[int, Field(gt=0, le=16_777_216)] = Field(
        2048, description="tokens of the longest sequence"
    )
    packing: bool | None = Field(
        None,
        description="samples fill sequences of that length, else each is padded to it; supervised ones do by default",
    )
    global_batch: Annotated[int, Field(gt=0, le=1_000_000)] = Field(
        description="sequences per optimizer step (dpo: pairs, grpo: answers), for example 32"
    )
    framework: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(names.plain)] = Field(
        "torchtune",
        description="torchtune, litgpt, nemo (megatron-bridge), trl, accelerate, axolotl, unsloth; others: wider band",
    )
    data: FinetuneData = Field(
        description="what the model is trained on, for example {samples: 15000, mean_tokens: 400}"
    )
    rollouts: Rollouts | None = Field(None, description="answers that the model generates, with objective: grpo")
    parallelism: FinetuneParallelism = Field(
        default_factory=FinetuneParallelism, description="layout choices to hold fixed; the rest is searched"
    )
