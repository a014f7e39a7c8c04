"""The fine-tuning run of a blueprint as sizing takes it, and what it needs of storage and against failures."""

import math
from types import MappingProxyType

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, finetune_of
from clusterwright.blueprint.workloads.finetuning import Finetune
from clusterwright.catalog.records import Model, NodeType
from clusterwright.plan.training.reliability import reliability_with
from clusterwright.sizing.finetuning.configuration import FULL, QLORA, framework_of, practices, targets_of
from clusterwright.sizing.finetuning.job import FinetuneJob, Rollouts
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.records.run import Goodput, StorageNeed
from clusterwright.sizing.reliability import checkpoints
from clusterwright.sizing.reliability.goodput import goodputs
from clusterwright.workload import training
from clusterwright.workload.inference import inference_model
from clusterwright.workload.transformer import parameters

#: Bytes of the moments of a weight on the accelerator: two in 8 bits (arXiv 2110.02861); paged ones rest in host
#: memory (arXiv 2305.14314, section 3). Other moments are those that the framework keeps.
_MOMENTS = MappingProxyType({"adamw-8bit": 2.0, "paged-adamw": 0.0, "paged-adamw-8bit": 0.0})
#: Bytes of both moments in a checkpoint, in 32 bits or in 8, and of a weight in 16.
_STORED_MOMENTS = MappingProxyType({"adamw-8bit": 2.0, "paged-adamw-8bit": 2.0})
_MOMENTS_32 = 8.0
WEIGHT_BYTES = 2.0
#: What measurements call formats that frameworks have under another name.
_SAME_FORMAT = MappingProxyType({"fp16": "bf16", "fp4": "nf4"})


def finetune_job(blueprint: Blueprint, resolved: Resolved) -> FinetuneJob:
    """Return the blueprint's run as sizing takes it."""
    workload = finetune_of(blueprint)
    fixed, model = workload.parallelism, resolved.model
    family = framework_of(workload.framework)
    practice = practices()[family or "other"]
    quantised = "nf4-dq" if practice.double_quantised else "nf4"
    precision = workload.precision or (quantised if workload.method == QLORA else "bf16")
    optimizer = workload.optimizer or ""
    pairs = workload.objective == "dpo"
    each = float(workload.sequence_length)
    filled = 1.0 if is_packed(blueprint) else sequence_tokens(blueprint) / each
    tokens, rollouts = run_tokens(blueprint), rollouts_of(workload)
    return FinetuneJob(
        model=inference_model(model),
        framework=family,
        method=workload.method,
        precision=_SAME_FORMAT.get(precision, precision),
        rank=None if workload.rank is None else float(workload.rank),
        targets=None if workload.targets is None else frozenset(workload.targets),
        trained_parameters=None if workload.trainable is None else workload.trainable * parameters(model),
        optimizer_bytes=practice.listed_optimizer_bytes if optimizer == "adamw" else _MOMENTS.get(optimizer),
        recompute=workload.gradient_checkpointing,
        preference=pairs,
        sequence_tokens=each,
        filled=filled,
        global_batch=workload.global_batch * (2 if pairs else 1),
        tokens=tokens,
        # Padded sequences are whole ones, whatever is lost by rounding their share that counts.
        sequences=tokens / (each * filled) if rollouts is None else tokens / rollouts.sequence_tokens,
        memory_confidence=blueprint.goals.memory_confidence,
        gpus=fixed.gpus,
        tensor=fixed.tensor,
        sharding=fixed.sharding,
        micro_batch=None if fixed.micro_batch is None else fixed.micro_batch * (2 if pairs else 1),
        rollouts=rollouts,
    )


def rollouts_of(workload: Finetune) -> Rollouts | None:
    """Return the answers that a run generates as sizing takes them, None where all are given."""
    given = workload.rollouts
    if given is None:
        return None
    room = workload.sequence_length - given.prompt_tokens
    return Rollouts(
        answers=given.answers,
        prompt_tokens=given.prompt_tokens,
        answer_tokens=given.answer_tokens.mean,
        answer_p95_tokens=given.answer_tokens.p95,
        longest_answer_tokens=room if given.longest_answer is None else given.longest_answer,
        updates=given.updates,
        reference=given.reference,
    )


def is_packed(blueprint: Blueprint) -> bool:
    """Tell whether samples fill whole sequences: pairs of answers and those of groups do not."""
    workload = finetune_of(blueprint)
    return workload.objective == "supervised" if workload.packing is None else workload.packing


def sequence_tokens(blueprint: Blueprint) -> float:
    """Return the mean tokens of one sequence of a sample; the longest where nothing is given."""
    workload = finetune_of(blueprint)
    rollouts = rollouts_of(workload)
    if rollouts is not None:
        return rollouts.sequence_tokens
    return workload.data.mean_tokens or float(workload.sequence_length)


def samples(blueprint: Blueprint) -> float:
    """Return the samples of the data set, as given or from its tokens."""
    workload = finetune_of(blueprint)
    if workload.data.samples is not None:
        return workload.data.samples
    return max(1.0, (workload.data.tokens or 0.0) / sequence_tokens(blueprint) / _sequences_of_a_sample(workload))


def run_tokens(blueprint: Blueprint) -> float:
    """Return the tokens of all passes over the data; those of both answers of a pair.

    Of generated answers those of all updates that are made with them, each with its prompt.
    """
    workload = finetune_of(blueprint)
    data = workload.data
    sequences = _sequences_of_a_sample(workload)
    each = samples(blueprint) * sequences * sequence_tokens(blueprint) if data.tokens is None else data.tokens
    return each * data.epochs


def data_tokens(blueprint: Blueprint) -> float:
    """Return the tokens of the data set as it is stored: of prompts alone where the answers are generated."""
    workload = finetune_of(blueprint)
    if workload.rollouts is not None:
        return samples(blueprint) * workload.rollouts.prompt_tokens
    return run_tokens(blueprint) / workload.data.epochs


def _sequences_of_a_sample(workload: Finetune) -> int:
    """Return the sequences that a sample is trained on as: both answers of a pair, or all of a group in all updates."""
    if workload.rollouts is not None:
        return workload.rollouts.answers * workload.rollouts.updates
    return 2 if workload.objective == "dpo" else 1


def rank_of(job: FinetuneJob) -> float:
    """Return the rank that is used; 0 where a share of the weights is given, or all are trained."""
    if job.method == FULL or job.trained_parameters is not None:
        return 0.0
    return job.rank or job.practice.rank


def targets_used(job: FinetuneJob) -> tuple[str, ...]:
    """Return the matrices that low-rank ones are attached to, in the order of a layer."""
    chosen = job.targets or job.practice.targets
    return tuple(name for name in ("query", "key", "value", "output", "mlp") if name in chosen & targets_of("all"))


def reliability_of(
    blueprint: Blueprint,
    calibration: Calibration,
    *,
    model: Model,
    node: NodeType,
    spot: bool,
    trained_parameters: float,
) -> Reliability:
    """Return failures and checkpoints of a run; a checkpoint holds what is trained, with its moments."""
    optimizer = finetune_of(blueprint).optimizer or ""
    each = WEIGHT_BYTES + _STORED_MOMENTS.get(optimizer, _MOMENTS_32)
    return reliability_with(
        blueprint,
        calibration,
        model=model,
        node=node,
        spot=spot,
        bytes_per_parameter=trained_parameters * each / parameters(model),
    )


def goodputs_of(reliability: Reliability, *, nodes: list[int], model: Model) -> tuple[Goodput, ...]:
    """Return the goodput of numbers of nodes that train."""
    return goodputs(reliability, nodes=nodes, parameters=float(parameters(model)), elastic_nodes=[None] * len(nodes))


def storage_of(blueprint: Blueprint, reliability: Reliability, *, model: Model, run_s: float) -> StorageNeed:
    """Return what a run needs of shared storage: data, base weights in 16 bits, checkpoints, with headroom.

    Weights are read by one node and passed on, within the time planned for reading a checkpoint; so are checkpoints.
    """
    numbers = reliability.numbers
    base = WEIGHT_BYTES * parameters(model)
    tokens = data_tokens(blueprint)
    dataset = blueprint.storage.dataset or training.dataset_bytes(tokens=tokens, vocab=model.vocab)
    kept = checkpoints.kept_bytes(reliability, run_s=run_s)
    restart = max(base, checkpoints.restored_bytes(reliability)) / numbers.checkpoint_read_s
    return StorageNeed(
        dataset_bytes=dataset + base,
        checkpoint_bytes_kept=kept,
        capacity_bytes=(dataset + base + kept) * numbers.capacity_headroom,
        read_bytes_per_s=blueprint.storage.read_bandwidth or restart,
        write_bytes_per_s=checkpoints.write_bytes_per_s(reliability),
        checkpoints_kept=math.floor(numbers.checkpoints_kept),
        milestones=checkpoints.milestones(reliability, run_s=run_s),
        milestone_every_s=reliability.milestone_every_s,
        restart_read_bytes_per_s=restart,
    )
