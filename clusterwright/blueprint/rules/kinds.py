"""Keys that only some kinds of workload have, and what a service asks of its hardware and model."""

from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType

from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.workloads.serving import Serve
from clusterwright.catalog.records import Accelerator, Model
from clusterwright.errors import EXIT_FACT_MISSING

_TRAINING = ("train", "finetune")
_PRETRAINING = ("train",)
_FINETUNING = ("finetune",)
_SERVING = ("serve",)
#: Keys that some kinds alone have, and what the others have in their place.
_OF_KINDS: MappingProxyType[Path, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        ("traffic",): (_SERVING, "remove traffic, or set workload.kind to serve"),
        ("replicas",): (_SERVING, "remove replicas; reliability.spare_nodes are the spares of a run"),
        ("goals", "first_token"): (_SERVING, "remove it; a run has goals.finish_within"),
        ("goals", "time_per_token"): (_SERVING, "remove it; a run has goals.finish_within"),
        ("goals", "percentile"): (_SERVING, "remove it; a run has goals.confidence"),
        ("goals", "finish_within"): (_TRAINING, "remove it; a service has goals.first_token and goals.time_per_token"),
        ("targets", "api"): (_SERVING, "remove targets.api; hosted models answer requests"),
        ("goals", "memory_confidence"): (_TRAINING, "remove it; a service counts memory with a reserve"),
        ("data",): (_PRETRAINING, "remove data; only pre-training reads enough to wait for it"),
        ("reliability",): (_TRAINING, "remove reliability; replicas.spare are the spares of a service"),
        ("storage", "dataset"): (_TRAINING, "remove it; a service stores its weights"),
        ("economics", "runs"): (_TRAINING, "remove it; a service works every month of economics.horizon"),
        ("economics", "runs_per_month"): (_TRAINING, "remove it; a service works every month of economics.horizon"),
        ("economics", "utilisation"): (_TRAINING, "remove it; a service is always on"),
        ("reliability", "elastic"): (_PRETRAINING, "remove it; a run of hours starts again from its checkpoint"),
        ("cluster", "jobs"): (_TRAINING, "remove cluster.jobs; it is of training jobs"),
    }
)
#: Parts of names by which models that generate no text are known, and what they are of.
_NOT_OF_TEXT = MappingProxyType(
    {
        "whisper": "speech",
        "wav2vec": "speech",
        "seamless": "speech",
        "parakeet": "speech",
        "canary": "speech",
        "xtts": "speech",
        "bark": "speech",
        "kokoro": "speech",
        "diffusion": "images",
        "flux": "images",
        "sdxl": "images",
        "dall-e": "images",
        "wan2": "video",
        "hunyuanvideo": "video",
        "cogvideo": "video",
        "embed": "embeddings",
        "bge-": "embeddings",
        "gte-": "embeddings",
        "rerank": "rankings",
        "colbert": "rankings",
        "llava": "images and text",
        "pixtral": "images and text",
        "-vl": "images and text",
        "vision": "images and text",
    }
)
_EIGHT_BITS = ("fp8",)
_FOUR_BITS = ("nvfp4",)


def kind_problems(blueprint: Blueprint) -> Iterator[Problem]:
    """Yield keys that the workload's kind does not have, and what it lacks."""
    kind = blueprint.workload.kind
    for path, (kinds, advice) in _OF_KINDS.items():
        section = blueprint if len(path) == 1 else getattr(blueprint, str(path[0]))
        name = str(path[-1])
        if kind in kinds or name not in section.model_fields_set or getattr(section, name) is None:
            continue
        yield Problem(
            path=path,
            id="KIND001",
            message=f"{'.'.join(map(str, path))} is of workloads of kind {' or '.join(kinds)}; this one is {kind}",
            help=advice,
        )
    if kind in _SERVING and blueprint.traffic is None:
        yield Problem(
            path=("workload", "kind"),
            id="KIND002",
            message="a service has traffic, and the blueprint says nothing of it",
            help="add traffic: {requests_per_s: 10, input_tokens: {mean: 1000, p95: 3000}, output_tokens: {mean: 300, "
            "p95: 900}}",
        )


def not_of_text(name: str) -> Problem | None:
    """Return the refusal of a model that generates no text, or not from text alone; None for any other name."""
    spoken = name.lower()
    found = next((kind for part, kind in _NOT_OF_TEXT.items() if part in spoken), None)
    if found is None:
        return None
    if found == "images and text":
        return Problem(
            path=("workload", "model"),
            id="SRV001",
            message=f"{name} is a model of {found}: its language model is sized, the encoder of its images is not",
            help="name its language model, or the config.json of it, and count the tokens of the images in "
            "traffic.input_tokens",
        )
    return Problem(
        path=("workload", "model"),
        id="SRV001",
        message=f"{name} is a model of {found}: models that generate text are sized, those of speech, diffusion and "
        "embeddings are not, because their work is not counted in generated tokens",
        help="choose a language model; clusterwright facts lists them",
    )


def format_problems(workload: Serve, targets: Sequence[ResolvedTarget]) -> list[Problem]:
    """Return the formats that a target's accelerator does not multiply in, and facts that a service cannot go without.

    Weights of int8, int4 and mxfp4 are unpacked where the accelerator has no such multiplications; fp8 and nvfp4 with
    their kernels need them.
    """
    return chip_problems(targets, wanted=workload.precision, able=formats_of, unknown="SRV002", absent="SRV003")


def chip_problems(
    targets: Sequence[ResolvedTarget],
    *,
    wanted: str | None,
    able: Callable[[Accelerator], tuple[str, ...]],
    unknown: str,
    absent: str,
) -> list[Problem]:
    """Return facts of accelerators that a kind of work cannot go without, and formats that they do not multiply in.

    Args:
        targets: with their accelerators.
        wanted: format to multiply in; None for one that all have.
        able: gives the formats of an accelerator; none where its peak is not known.
        unknown: id of the problem of missing facts.
        absent: id of the problem of a format that an accelerator does not have.
    """
    found = []
    for target in targets:
        chip, other = target.node.accelerator, f"another {'system' if target.system else 'instance'}"
        formats = able(chip)
        if not formats or not chip.hbm_bytes or not chip.hbm_bytes_per_s:
            found.append(
                Problem(
                    path=("workload", "kind"),
                    id=unknown,
                    message=f"memory, its bandwidth or peak of {chip.name} ({target.target}) is not known",
                    help=f"choose {other}",
                    exit_code=EXIT_FACT_MISSING,
                )
            )
        elif wanted is not None and wanted not in formats:
            found.append(
                Problem(
                    path=("workload", "precision"),
                    id=absent,
                    message=f"{chip.name} ({target.target}) has no {wanted} multiplication that is documented",
                    help=f"choose one of {', '.join(formats)}, or {other}",
                )
            )
    return found


def formats_of(chip: Accelerator) -> tuple[str, ...]:
    """Return the formats of weights that an accelerator can serve; none where its 16-bit peak is not known."""
    if not (chip.dense_bf16_flop_per_s or chip.dense_fp16_flop_per_s):
        return ()
    sixteen = [
        *(["bf16"] if chip.dense_bf16_flop_per_s else []),
        *(["fp16"] if chip.dense_fp16_flop_per_s or chip.dense_bf16_flop_per_s else []),
    ]
    eight = list(_EIGHT_BITS) if chip.dense_fp8_flop_per_s else []
    four = list(_FOUR_BITS) if chip.dense_fp4_flop_per_s and chip.vendor == "NVIDIA" else []
    return (*sixteen, *eight, "int8", "int4", "mxfp4", *four)


def layout_problems(workload: Serve, model: Model) -> Iterator[Problem]:
    """Yield what the held layout does not divide into, and that an encoder generates nothing."""
    if not model.causal:
        yield Problem(
            path=("workload", "model"),
            id="SRV001",
            message=f"{model.name} is an encoder: embeddings and rankings are one pass over the input, and services "
            "are sized for the tokens that they generate",
            help="choose a language model; clusterwright facts lists them",
        )
    fixed, path = workload.parallelism, ("workload", "parallelism")
    if fixed.tensor is not None and model.heads % fixed.tensor:
        yield Problem(
            path=(*path, "tensor"),
            id="SRV004",
            message=f"the {model.heads} heads of {model.name} do not divide over {fixed.tensor} accelerators",
            help="choose a divisor of its heads",
        )
    if fixed.expert is not None and fixed.expert > 1 and (not model.experts or model.experts % fixed.expert):
        said = f"{model.experts} experts, which do not divide over {fixed.expert}" if model.experts else "no experts"
        yield Problem(
            path=(*path, "expert"),
            id="SRV004",
            message=f"{model.name} has {said}",
            help="choose a divisor of its experts" if model.experts else "leave expert out",
        )
    if fixed.pipeline is not None and fixed.pipeline > model.layers:
        yield Problem(
            path=(*path, "pipeline"),
            id="SRV004",
            message=f"{model.name} has {model.layers} layers, fewer than {fixed.pipeline} stages",
            help="lower pipeline",
        )
    if workload.options.attention_data_parallel and not model.experts:
        yield Problem(
            path=("workload", "options", "attention_data_parallel"),
            id="SRV004",
            message=f"{model.name} has no experts: replicas of fewer accelerators do the same",
            help="remove attention_data_parallel",
        )
