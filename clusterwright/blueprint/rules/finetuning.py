"""What a fine-tuning run asks of its method, model, data and hardware that they cannot have, each as a problem."""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.rules.kinds import chip_problems
from clusterwright.blueprint.workloads.finetuning import (
    MATRICES,
    QLORA_PRECISIONS,
    WORKING_PRECISIONS,
    Finetune,
    Rollouts,
)
from clusterwright.catalog.records import Accelerator, Model

#: Methods whose rank is that of two matrices beside one of the model's.
_LOW_RANK = ("lora", "qlora", "dora")
#: What objectives compare that take no packed sequences.
_UNPACKED = MappingProxyType({"dpo": "pairs of answers", "grpo": "answers of a group"})


def precision_problems(workload: Finetune, targets: Sequence[ResolvedTarget]) -> list[Problem]:
    """Return formats that an accelerator does not multiply in, and facts that a run cannot go without.

    Formats of QLoRA are unpacked to 16 bits for every multiplication: what has kernels that unpack them has them all.
    """
    wanted = workload.precision if workload.precision in WORKING_PRECISIONS else None
    found = chip_problems(targets, wanted=wanted, able=_working, unknown="FTN002", absent="FTN003")
    return [*found, *(_without_kernels(targets) if workload.method == "qlora" else ())]


#: Makers of accelerators for which kernels unpack QLoRA's formats: NVIDIA's and AMD's GPUs, Intel's GPUs and Gaudi
#: (installation guide of bitsandbytes 0.50.2, huggingface.co/docs/bitsandbytes, seen 2026-11-24).
_UNPACKED_BY = frozenset({"NVIDIA", "AMD", "Intel"})


def _without_kernels(targets: Sequence[ResolvedTarget]) -> Iterator[Problem]:
    for target in targets:
        chip = target.node.accelerator
        if chip.vendor not in _UNPACKED_BY:
            yield Problem(
                path=("workload", "method"),
                id="FTN008",
                message=f"no kernel is known that unpacks QLoRA's formats on {chip.name} ({target.target})",
                help="set workload.method to lora, or choose another "
                f"{'system' if target.system else 'instance'}: {', '.join(sorted(_UNPACKED_BY))} have such kernels",
            )


def _working(chip: Accelerator) -> tuple[str, ...]:
    """Return the formats that an accelerator multiplies in; none where its 16-bit peak is not known."""
    bf16, fp16 = chip.dense_bf16_flop_per_s, chip.dense_fp16_flop_per_s
    if not bf16 and not fp16:
        return ()
    has = {
        "bf16": bf16,
        "fp16": bf16 or fp16,
        "fp8": chip.dense_fp8_flop_per_s,
        "mxfp4": chip.dense_fp4_flop_per_s,
        "nvfp4": chip.dense_fp4_flop_per_s if chip.vendor == "NVIDIA" else None,
    }
    return tuple(name for name in WORKING_PRECISIONS if has[name])


def method_problems(workload: Finetune) -> Iterator[Problem]:
    """Yield what method, precision, rank, data and layout exclude of each other, whatever the model is."""
    yield from _formats(workload)
    yield from _trained(workload)
    yield from _data(workload)
    yield from _batch(workload)
    yield from _rollouts(workload)


def model_problems(workload: Finetune, model: Model) -> Iterator[Problem]:
    """Yield what a model cannot have: a rank above its width, a sequence beyond its context, heads in such parts."""
    tensor = workload.parallelism.tensor or 1
    yield from _rank(workload, model)
    if model.max_context is not None and workload.sequence_length > model.max_context:
        yield Problem(
            path=("workload", "sequence_length"),
            id="FTN005",
            message=f"{model.name} has a context of {model.max_context:,} tokens; {workload.sequence_length:,} are "
            "asked for",
            help=f"choose at most {model.max_context:,}",
        )
    if model.heads % tensor:
        yield Problem(
            path=("workload", "parallelism", "tensor"),
            id="FTN007",
            message=f"the {model.heads} heads of {model.name} do not divide over {tensor} accelerators",
            help="choose a divisor of its heads",
        )


def _formats(workload: Finetune) -> Iterator[Problem]:
    precision = workload.precision
    if precision is None:
        return
    if workload.method == "qlora" and precision not in QLORA_PRECISIONS:
        yield Problem(
            path=("workload", "precision"),
            id="FTN001",
            message=f"QLoRA has no {precision}: it freezes its base in 4 or 8 bits",
            help=f"choose one of {', '.join(QLORA_PRECISIONS)}, or set workload.method to lora",
        )
    elif workload.method != "qlora" and precision in QLORA_PRECISIONS:
        yield Problem(
            path=("workload", "precision"),
            id="FTN001",
            message=f"{precision} is a format of QLoRA's base; {workload.method} multiplies in its own",
            help=f"set workload.method to qlora, or choose one of {', '.join(WORKING_PRECISIONS)}",
        )
    elif workload.method == "full" and precision in ("nvfp4", "mxfp4", "fp8"):
        yield Problem(
            path=("workload", "precision"),
            id="FTN001",
            message=f"full fine-tuning in {precision} updates weights of 16 bits, which is predicted by nothing here",
            help="choose bf16 or fp16; a run in fp8 takes kind: train",
        )


def _trained(workload: Finetune) -> Iterator[Problem]:
    """Yield what says twice, or in vain, which weights are trained, and answers that cannot be packed."""
    if workload.objective in _UNPACKED and workload.packing:
        yield Problem(
            path=("workload", "packing"),
            id="FTN006",
            message=f"{_UNPACKED[workload.objective]} are compared one by one: sequences that hold several are not "
            "packed",
            help="remove packing, or set workload.objective to supervised",
        )
    if workload.trainable is not None and (workload.rank is not None or workload.targets is not None):
        yield Problem(
            path=("workload", "trainable"),
            id="FTN006",
            message="trainable stands in the place of rank and targets, and one of them is given too",
            help="keep trainable, or rank and targets",
        )
    if workload.method == "full":
        for name in ("rank", "alpha", "targets", "trainable"):
            if getattr(workload, name) is not None:
                yield Problem(
                    path=("workload", name),
                    id="FTN006",
                    message=f"{name} says what is trained beside frozen weights; full fine-tuning trains all",
                    help=f"remove {name}, or set workload.method to lora",
                )


def _rank(workload: Finetune, model: Model) -> Iterator[Problem]:
    if workload.rank is None or workload.method not in _LOW_RANK:
        return
    width, name = min((width, name) for name, width in _widths(model).items() if name in (workload.targets or MATRICES))
    if workload.rank > width:
        yield Problem(
            path=("workload", "rank"),
            id="FTN004",
            message=f"a rank of {workload.rank:,} is above the width of {width:,} of {model.name}'s {name} matrix: no "
            "matrix of that width has it",
            help=f"choose at most {width:,}; 8 to 64 are usual",
        )


def _widths(model: Model) -> dict[str, int]:
    """Return the shorter side of each kind of matrix of a layer."""
    cached = min(model.hidden, model.kv_heads * model.head_dim)
    width = min(model.hidden, model.heads * model.head_dim)
    ffn = min(model.hidden, model.moe_ffn_hidden or model.ffn_hidden)
    return {"query": width, "key": cached, "value": cached, "output": width, "mlp": ffn}


def _data(workload: Finetune) -> Iterator[Problem]:
    """Yield lengths that no sequence has."""
    data, longest = workload.data, workload.sequence_length
    if data.mean_tokens is not None and data.mean_tokens > longest:
        yield Problem(
            path=("workload", "data", "mean_tokens"),
            id="FTN005",
            message=f"samples of {data.mean_tokens:,.6g} tokens on average do not fit into sequences of {longest:,}",
            help="raise workload.sequence_length, or lower mean_tokens to what is left of cut samples",
        )
    if data.tokens is not None and data.mean_tokens is not None and data.mean_tokens > data.tokens:
        yield Problem(
            path=("workload", "data", "tokens"),
            id="FTN005",
            message=f"{data.tokens:,.6g} tokens are less than one sample of {data.mean_tokens:,.6g}",
            help="tokens are those of the whole data set",
        )


def _batch(workload: Finetune) -> Iterator[Problem]:
    """Yield what the global batch does not divide into."""
    fixed, batch, path = workload.parallelism, workload.global_batch, ("workload", "parallelism")
    tensor = fixed.tensor or 1
    if fixed.gpus is not None and (fixed.gpus % tensor or batch % (fixed.gpus // tensor)):
        yield Problem(
            path=(*path, "gpus"),
            id="FTN007",
            message=f"a batch of {batch} sequences does not divide over {fixed.gpus} accelerators"
            + (f" in groups of {tensor}" if tensor > 1 else ""),
            help="make workload.global_batch a multiple of its replicas, or change gpus",
        )
    elif fixed.micro_batch is not None and batch % fixed.micro_batch:
        yield Problem(
            path=(*path, "micro_batch"),
            id="FTN007",
            message=f"a batch of {batch} sequences does not divide into passes of {fixed.micro_batch}",
            help="choose a divisor of workload.global_batch",
        )


def _rollouts(workload: Finetune) -> Iterator[Problem]:
    """Yield what generated answers lack, exclude, or cannot be."""
    rollouts = workload.rollouts
    if (rollouts is None) == (workload.objective == "grpo"):
        yield Problem(
            path=("workload", "objective" if rollouts is None else "rollouts"),
            id="FTN009",
            message="GRPO trains on answers that the model generates, and nothing says how many and how long they are"
            if rollouts is None
            else f"the model generates answers with objective: grpo alone, and the objective is {workload.objective}",
            help="add workload.rollouts, for example {answers: 8, prompt_tokens: 200, answer_tokens: {mean: 600, p95: "
            "1500}}"
            if rollouts is None
            else "set workload.objective to grpo, or remove rollouts",
        )
    elif rollouts is not None:
        yield from _prompts(workload)
        yield from _answers(workload, rollouts)


def _prompts(workload: Finetune) -> Iterator[Problem]:
    """Yield what says of prompts what rollouts say of their answers."""
    for name, given in (("mean_tokens", workload.data.mean_tokens), ("tokens", workload.data.tokens)):
        if given is not None:
            yield Problem(
                path=("workload", "data", name),
                id="FTN006",
                message=f"{name} says how long samples are; with objective: grpo rollouts do, and data are prompts",
                help="give samples, the number of prompts, and their length as rollouts.prompt_tokens",
            )


def _answers(workload: Finetune, rollouts: Rollouts) -> Iterator[Problem]:
    """Yield groups that a batch does not divide into, and answers that no sequence has."""
    if workload.global_batch % rollouts.answers:
        yield Problem(
            path=("workload", "global_batch"),
            id="FTN007",
            message=f"a batch of {workload.global_batch:,} answers does not divide into groups of "
            f"{rollouts.answers:,}, which are rewarded together",
            help="make it a multiple of workload.rollouts.answers, for example "
            f"{-(-workload.global_batch // rollouts.answers) * rollouts.answers:,}",
        )
    room = workload.sequence_length - rollouts.prompt_tokens
    longest = room if rollouts.longest_answer is None else rollouts.longest_answer
    if longest > room:
        yield Problem(
            path=("workload", "rollouts", "longest_answer"),
            id="FTN012",
            message=f"an answer of {longest:,.6g} tokens after a prompt of {rollouts.prompt_tokens:,.6g} does not fit "
            f"into sequences of {workload.sequence_length:,}",
            help=f"raise workload.sequence_length to {longest + rollouts.prompt_tokens:,.0f} or more, or cut answers "
            "sooner",
        )
    elif longest < rollouts.answer_tokens.mean:
        cut = rollouts.longest_answer is not None
        yield Problem(
            path=("workload", "rollouts", "answer_tokens"),
            id="FTN012",
            message=f"answers of {rollouts.answer_tokens.mean:,.6g} tokens on average are longer than the longest, "
            f"{max(longest, 0):,.6g}"
            + ("" if cut else f": what sequences of {workload.sequence_length:,} leave beside a prompt"),
            help=("raise workload.rollouts.longest_answer" if cut else "raise workload.sequence_length")
            + ", or lower the mean to what is left of cut answers",
        )
