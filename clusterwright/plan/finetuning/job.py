"""The fine-tuning run of a blueprint as sizing takes it, and what it needs of storage and against failures."""

import math
from types import MappingProxyType

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, finetune_of
from clusterwright.catalog.records import Model, NodeType
from clusterwright.plan.training.reliability import reliability_with
from clusterwright.sizing.finetuning.configuration import FULL, QLORA, framework_of, practices, targets_of
from clusterwright.sizing.finetuning.job import FinetuneJob
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
    filled = 1.0 if is_packed(blueprint) else sample_tokens(blueprint) / each
    tokens = run_tokens(blueprint)
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
        sequences=tokens / (each * filled),
        memory_confidence=blueprint.goals.memory_confidence,
        gpus=fixed.gpus,
        tensor=fixed.tensor,
        sharding=fixed.sharding,
        micro_batch=None if fixed.micro_batch is None else fixed.micro_batch * (2 if pairs else 1),
    )


def is_packed(blueprint: Blueprint) -> bool:
    """Tell whether samples fill whole sequences: pairs of answers do not."""
    workload = finetune_of(blueprint)
    return workload.objective != "dpo" if workload.packing is None else workload.packing


def sample_tokens(blueprint: Blueprint) -> float:
    """Return the mean tokens of one sequence of a sample; the longest where nothing is given."""
    workload = finetune_of(blueprint)
    return workload.data.mean_tokens or float(workload.sequence_length)


def samples(blueprint: Blueprint) -> float:
    """Return the samples of the data set, as given or from its tokens."""
    workload = finetune_of(blueprint)
    if workload.data.samples is not None:
        return workload.data.samples
    answers = 2 if workload.objective == "dpo" else 1
    return max(1.0, (workload.data.tokens or 0.0) / sample_tokens(blueprint) / answers)


def run_tokens(blueprint: Blueprint) -> float:
    """Return the tokens of all passes over the data; those of both answers of a pair."""
    workload = finetune_of(blueprint)
    data, answers = workload.data, 2 if workload.objective == "dpo" else 1
    each = samples(blueprint) * answers * sample_tokens(blueprint) if data.tokens is None else data.tokens
    return each * data.epochs


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
    numbers, workload = reliability.numbers, finetune_of(blueprint)
    base = WEIGHT_BYTES * parameters(model)
    tokens = run_tokens(blueprint) / workload.data.epochs
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
