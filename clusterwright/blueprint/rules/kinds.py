"""Keys that only some kinds of workload have, and what a service asks of its hardware and model."""

from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType

from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.workloads.serving import Serve
from clusterwright.blueprint.workloads.traffic import Traffic
from clusterwright.catalog.records import Accelerator, Model
from clusterwright.catalog.software.mig import profiles_by_gpu
from clusterwright.errors import EXIT_FACT_MISSING

_TRAINING = ("train", "finetune")
_PRETRAINING = ("train",)
_FINETUNING = ("finetune",)
_SERVING = ("serve",)
#: Keys that some kinds alone have, and what the others have in their place.
OF_KINDS: MappingProxyType[Path, tuple[tuple[str, ...], str]] = MappingProxyType(
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
        "e5-": "embeddings",
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
    for path, (kinds, advice) in OF_KINDS.items():
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
    if isinstance(blueprint.workload, Serve) and blueprint.traffic is not None:
        yield from _task_problems(blueprint.workload, blueprint.traffic, blueprint.goals.time_per_token)
        if blueprint.workload.task == "generate":
            yield from _session_problems(blueprint.workload, blueprint.traffic)
    if kind in _SERVING and blueprint.traffic is None:
        yield Problem(
            path=("workload", "kind"),
            id="KIND002",
            message="a service has traffic, and the blueprint says nothing of it",
            help="add traffic: {requests_per_s: 10, input_tokens: {mean: 1000, p95: 3000}, output_tokens: {mean: 300, "
            "p95: 900}}",
        )


def _task_problems(workload: Serve, traffic: Traffic, time_per_token: float | None) -> Iterator[Problem]:
    """Yield what a task lacks, or has that it does not use."""
    generates, ranks = workload.task == "generate", workload.task == "rerank"
    if generates and traffic.output_tokens is None and traffic.trace is None:
        yield Problem(
            path=("traffic",),
            id="SRV005",
            message="nothing says output_tokens",
            help="add output_tokens: {mean: 300, p95: 900}, or trace: a CSV file of requests",
        )
    if ranks and traffic.documents is None:
        yield Problem(
            path=("traffic",),
            id="SRV005",
            message="a request to rank has documents, and nothing says how many",
            help="add documents: 50; input_tokens are those of a query with one document",
        )
    used = {
        ("traffic", "output_tokens"): generates or traffic.output_tokens is None,
        ("traffic", "reasoning_tokens"): generates or traffic.reasoning_tokens is None,
        ("traffic", "sessions"): generates or traffic.sessions is None,
        ("traffic", "documents"): ranks or traffic.documents is None,
        ("goals", "time_per_token"): generates or time_per_token is None,
        ("workload", "options", "disaggregated"): generates or workload.options.disaggregated == "never",
        ("workload", "options", "speculative"): generates or workload.options.speculative == "none",
        ("workload", "options", "batching"): generates or workload.options.batching == "continuous",
        ("workload", "options", "offload"): generates or workload.options.offload.cache is None,
        ("workload", "options", "max_sequences"): generates or workload.options.max_sequences is None,
    }
    for path, fine in used.items():
        if not fine:
            yield Problem(
                path=path,
                id="SRV008",
                message=f"{path[-1]} has no meaning where workload.task is {workload.task}",
                help="remove it"
                if path[-1] != "time_per_token"
                else "remove it; first_token is the time to the answer",
            )


def _session_problems(workload: Serve, traffic: Traffic) -> Iterator[Problem]:
    """Yield options that go with chats of several turns alone, or without them alone."""
    options, chats = workload.options, traffic.sessions is not None
    refused = (
        (
            ("workload", "options", "offload"),
            options.offload.cache is not None and not chats,
            "offload.cache holds keys and values of earlier turns, and the traffic has no sessions",
            "add traffic.sessions: {turns: 5, pause: 60 s}, or remove it",
        ),
        (
            ("traffic", "sessions"),
            chats and options.batching != "continuous",
            f"what earlier turns leave in memory is sized for continuous batching; batching is {options.batching}",
            "set batching: continuous, or give prefix_cache_hit in the place of sessions",
        ),
        (
            ("traffic", "sessions"),
            chats and options.disaggregated != "never",
            "what earlier turns leave in memory is not sized where prefill and decoding have accelerators of their own",
            "set disaggregated: never, or give prefix_cache_hit in the place of sessions",
        ),
    )
    for path, applies, message, advice in refused:
        if applies:
            yield Problem(path=path, id="SRV008", message=message, help=advice)


def not_of_text(name: str, *, task: str = "generate", images: bool = False) -> Problem | None:
    """Return the refusal of a model that cannot do the task; None for any other.

    Args:
        name: of the model.
        task: of the workload; embeddings and rankings are passes over text.
        images: the requests have images, whose encoder is given.
    """
    spoken = name.lower()
    found = next((kind for part, kind in _NOT_OF_TEXT.items() if part in spoken), None)
    wanted = {"embeddings": "embed", "rankings": "rerank"}.get(found or "")
    if found is None or (wanted is not None and task != "generate") or (found == "images and text" and images):
        return None
    if found == "images and text":
        return Problem(
            path=("workload", "model"),
            id="SRV001",
            message=f"{name} is a model of {found}, and the requests have no images",
            help="add traffic.images: {tokens: 1000, encoder_parameters: 600e6}, or name its language model",
        )
    if wanted is not None:
        return Problem(
            path=("workload", "model"),
            id="SRV001",
            message=f"{name} is a model of {found}: it generates no tokens, but answers with one pass over the input",
            help=f"set workload.task: {wanted}, or choose a language model; clusterwright facts lists them",
        )
    return Problem(
        path=("workload", "model"),
        id="SRV001",
        message=f"{name} is a model of {found}: models of text are sized, those of speech, diffusion and video are "
        "not, because their work is not counted in tokens",
        help="choose a language model; clusterwright facts lists them",
    )


def format_problems(workload: Serve, targets: Sequence[ResolvedTarget]) -> list[Problem]:
    """Return the formats that a target's accelerator does not multiply in, and facts that a service cannot go without.

    Weights of int8, int4 and mxfp4 are unpacked where the accelerator has no such multiplications; fp8 and nvfp4 with
    their kernels need them.
    """
    found = chip_problems(targets, wanted=workload.precision, able=formats_of, unknown="SRV002", absent="SRV003")
    divided = profiles_by_gpu()
    if workload.options.mig_slices and not any(target.node.accelerator.id in divided for target in targets):
        names = ", ".join(dict.fromkeys(target.node.accelerator.name for target in targets))
        found.append(
            Problem(
                path=("workload", "options", "mig_slices"),
                id="SRV004",
                message=f"no slice of {names} is known",
                help="remove mig_slices, or choose accelerators that MIG divides",
            )
        )
    return found


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


def context_problems(traffic: Traffic, model: Model) -> Iterator[Problem]:
    """Yield that a request of mean length, with its answer, is longer than the model's context."""
    if model.max_context is None or traffic.input_tokens is None:
        return
    own, answer = traffic.input_tokens.mean, traffic.output_tokens.mean if traffic.output_tokens else 0.0
    chats, thought = traffic.sessions, traffic.reasoning_tokens.mean if traffic.reasoning_tokens else 0.0
    before = chats.system_tokens + (chats.turns - 1.0) * (own + answer) if chats else 0.0
    seen = traffic.images.per_request * traffic.images.tokens if traffic.images else 0.0
    tokens = before + own + seen + thought + answer
    if tokens > model.max_context:
        yield Problem(
            path=("traffic", "input_tokens"),
            id="SRV009",
            message=f"requests of {tokens:,.0f} tokens on average, answers included, are beyond the context of "
            f"{model.name}, {model.max_context:,}",
            help="shorten requests, or choose a model with a longer context",
        )


def layout_problems(workload: Serve, model: Model) -> Iterator[Problem]:
    """Yield what the held layout does not divide into, and that an encoder generates nothing."""
    if not model.causal and workload.task == "generate":
        yield Problem(
            path=("workload", "model"),
            id="SRV001",
            message=f"{model.name} is an encoder: it generates no tokens, but answers with one pass over the input",
            help="set workload.task: embed or rerank, or choose a language model; clusterwright facts lists them",
        )
    if workload.options.wide_expert_parallel and not model.experts:
        yield Problem(
            path=("workload", "options", "wide_expert_parallel"),
            id="SRV004",
            message=f"{model.name} has no experts to spread",
            help="remove wide_expert_parallel",
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
