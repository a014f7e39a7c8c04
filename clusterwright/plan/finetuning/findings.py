"""What is wrong with a fine-tuning run on a target, and what would make it right."""

from collections.abc import Iterator, Sequence

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import TARGETS, Blueprint, finetune_of
from clusterwright.catalog.records import Catalogue, Model, NodeType
from clusterwright.errors import Finding
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.finetuning.megatron_bridge import counts_with_megatron, unbridged
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningWorkload
from clusterwright.sizing.finetuning.calibration import Calibration
from clusterwright.sizing.finetuning.configuration import FULL, QLORA
from clusterwright.sizing.finetuning.job import FinetuneJob
from clusterwright.sizing.finetuning.search import fewest_cards, node_counts, unheld
from clusterwright.sizing.finetuning.search import search as layouts
from clusterwright.units import percent


def does_not_fit(
    job: FinetuneJob, model: Model, node: NodeType, catalogue: Catalogue, calibration: Calibration
) -> Finding:
    """Return `FTN010`: no layout holds the run, with the smallest configuration that does."""
    return Finding(
        id="FTN010",
        path=("workload", "model"),
        message=(
            f"{job.method} fine-tuning of {model.name} in {job.precision} with sequences of {job.sequence_tokens:,.0f} "
            f"tokens fits on no layout of {node.id} with {percent(job.memory_confidence)} probability"
        ),
        help=_advice(job, node, catalogue, calibration),
    )


def _advice(job: FinetuneJob, node: NodeType, catalogue: Catalogue, calibration: Calibration) -> str:
    free = unheld(job)
    counts = node_counts(free, node, most=None)
    own = layouts(free, node, counts, calibration) if free != job else ()
    if own:
        least = own[0]
        return (
            f"{least.layout.gpus} × {node.accelerator.name} hold it"
            f"{' with all layers computed again' if least.layout.recompute else ''}: remove what holds the layout "
            "(workload.parallelism, gradient_checkpointing)"
        )
    cards = [
        chip
        for chip in catalogue.accelerators.values()
        if chip.vendor == node.accelerator.vendor and chip.hbm_bytes and chip.hbm_bytes_per_s
        if chip.dense_bf16_flop_per_s or chip.dense_fp16_flop_per_s
    ]
    found = fewest_cards(job, cards, calibration)
    less = {FULL: "train adapters (method: lora)", QLORA: "shorten the sequences"}.get(
        job.method, "freeze the base in fewer bits (method: qlora)"
    )
    if found is None:
        return f"no node of eight accelerators of the catalogue holds it: {less}"
    chip, count = found
    return f"the smallest configuration of the catalogue that holds it is {count} × {chip.name}: use it, or {less}"


def too_few_nodes(needed: int, bounds: NodeBounds, target: ResolvedTarget) -> Finding:
    """Return `FTN011`: the target may not have a number of nodes on which the run fits and its batch divides."""
    node = target.node
    allowed = (
        "no number of nodes that the target may have"
        if bounds.most is None
        else (f"no number of nodes up to {bounds.most:,}")
    )
    divided = f", {bounds.divided:,} of them with divided or shared GPUs" if bounds.divided else ""
    return Finding(
        id="FTN011",
        path=("targets", target.target, "max_nodes"),
        message=f"{allowed} of {node.id} holds the run and divides its batch; the smallest is {needed:,} nodes "
        f"({needed * node.gpus:,} × {node.accelerator.name}){divided}",
        help=f"allow {needed:,} nodes, choose nodes with more memory, or change workload.global_batch",
    )


def unknown_framework(blueprint: Blueprint, job: FinetuneJob, calibration: Calibration) -> tuple[Finding, ...]:
    """Return `FTN020` where no measurement is of the framework that is named."""
    spoken = finetune_of(blueprint).framework
    rows = calibration.fitted.rows
    if job.framework and ("framework", job.framework) in rows:
        return ()
    known = "its practice is known, its speed and memory are not" if job.framework else "nothing of it is known"
    return (
        Finding(
            id="FTN020",
            path=("workload", "framework"),
            message=f"no measurement is of {spoken}: {known}, and the band is that of frameworks left out",
            help="torchtune, litgpt and nemo have measurements of their own",
        ),
    )


def unmeasured_objective(job: FinetuneJob) -> Iterator[Finding]:
    """Yield `FTN023` for answers that a run generates: none was measured as a whole."""
    if job.rollouts is not None:
        yield Finding(
            id="FTN023",
            path=("workload", "objective"),
            message="no GRPO run was measured: generation and training are each as their own engine was measured, and "
            "the bands of both count together",
            help="measure a few updates before you rent for the whole run; rewards take what your function takes",
        )


def idle_accelerators(options: Sequence[FinetuningOption]) -> Iterator[Finding]:
    """Yield `FTN021` for nodes of which a part works, because whole nodes are paid for."""
    for option in options:
        working, idle = option.performance.layout.gpus, option.performance.idle_gpus
        if idle:
            yield Finding(
                id="FTN021",
                path=("workload", "global_batch"),
                message=f"{option.target}: {working} of the {working + idle} accelerators of "
                f"{option.cluster.instance} work; whole nodes are paid for",
                help="make workload.global_batch a multiple of all of them, or choose a smaller instance",
            )


def capped_power(blueprint: Blueprint) -> Iterator[Finding]:
    """Yield `FTN022` for power caps, which predictions of fine-tuning do not count."""
    for name in TARGETS:
        asked = getattr(blueprint.targets, name)
        if asked is not None and getattr(asked, "power_cap", None) is not None:
            yield Finding(
                id="FTN022",
                path=("targets", name, "power_cap"),
                message=f"targets.{name}.power_cap slows no prediction of fine-tuning",
                help="measure a run with the cap, or remove it",
            )


def unlaunched(work: FinetuningWorkload, options: Sequence[FinetuningOption]) -> tuple[Finding, ...]:
    """Return `FTN024` for a run that counts with NeMo or Megatron and that Megatron-Bridge cannot start, each once."""
    if not counts_with_megatron(work):
        return ()
    return tuple(dict.fromkeys(finding for option in options for finding in unbridged(work, option)))
