"""The training run of a blueprint as sizing takes it, and the front of sizes of one kind of node."""

from dataclasses import replace

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.blueprint.workloads.training import Train
from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.training.loading import loading_of
from clusterwright.plan.training.reliability import reliability_of
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.hardware.training_software import as_measured
from clusterwright.sizing.records.job import Front, TrainingJob, TrainingPoint
from clusterwright.sizing.records.offload import Offload
from clusterwright.sizing.training.parallel_sizes import node_limit
from clusterwright.sizing.training.search import search


def training_job(blueprint: Blueprint, resolved: Resolved) -> TrainingJob:
    """Return the blueprint's run as sizing takes it."""
    workload = train_of(blueprint)
    layout = workload.parallelism
    return TrainingJob(
        model=resolved.model,
        tokens=workload.tokens,
        sequence_length=workload.sequence_length,
        global_batch_sequences=workload.global_batch,
        precision=workload.precision,
        framework=as_measured(workload.framework),
        finish_within_s=blueprint.goals.finish_within,
        confidence=blueprint.goals.confidence,
        memory_confidence=blueprint.goals.memory_confidence,
        dataset_bytes=blueprint.storage.dataset,
        loading=loading_of(blueprint, vocab=resolved.model.vocab),
        tensor_parallel=layout.tensor,
        pipeline_parallel=layout.pipeline,
        micro_batch=layout.micro_batch,
        recompute="full" if layout.recompute_layers else layout.recompute,
        recompute_layers=layout.recompute_layers,
        sharding_group=layout.sharding_group,
        schedule=None if layout.schedule == "auto" else layout.schedule,
        expert_imbalance=layout.expert_imbalance,
        max_tensor_parallel=layout.max_tensor,
        context_parallel=layout.context,
        data_parallel=layout.data,
        data_must_be=layout.data_must_be,
        expert_parallel=layout.expert,
        optimizer=workload.optimizer,
        offload=_offload(workload),
        offload_optional=workload.memory.optional,
        layout_tolerance=layout.tolerance,
    )


def _offload(workload: Train) -> Offload | None:
    moved = workload.memory.offload
    if not moved:
        return None
    return Offload(**dict.fromkeys(moved, True), nvme=workload.memory.offload_to == "nvme")


def front_of(
    blueprint: Blueprint, calibration: Calibration, job: TrainingJob, node: NodeType, *, bounds: NodeBounds, spot: bool
) -> Front:
    """Return the sizes of a node type that no size beats; their counts have all nodes beside those that train.

    Spare and divided nodes are paid for too.

    Args:
        blueprint: for failures, checkpoints and spares.
        calibration: calibrated constants.
        job: the training run.
        node: the node type.
        bounds: sizes to look at; of these, a size that one with fewer nodes outside of them beats is kept.
        spot: whether the nodes come from the spot market.

    Raises:
        RuleError: the job does not fit, nothing divides as asked, or the spares leave no node that trains (`REL001`).
    """
    spare = blueprint.reliability.spare_nodes
    beside = spare + bounds.divided
    limit = bounds.most if beside == 0 else node_limit(replace(job, max_nodes=bounds.most), node) - beside
    if limit is not None and limit < 1:
        divided = f" and {bounds.divided} divided" if bounds.divided else ""
        raise RuleError(
            (
                Finding(
                    id="REL001",
                    path=("reliability", "spare_nodes"),
                    message=f"{spare} spare{divided} nodes of at most {limit + beside} leave none that train",
                    help="lower reliability.spare_nodes, or raise max_nodes of the target",
                ),
            )
        )
    reliability = reliability_of(blueprint, calibration, model=job.model, node=node, spot=spot)
    bounded = replace(
        job,
        min_nodes=None if bounds.least is None else max(1, bounds.least - beside),
        max_nodes=limit,
        nodes_must_be=bounds.must_be,
        node_counts=bounds.counts,
        nodes_beside=beside,
    )
    found = search(job=bounded, node=node, calibration=calibration, reliability=reliability)
    if not beside:
        return found
    return replace(
        found,
        points=tuple(_with_beside(point, beside, divided=bounds.divided) for point in found.points),
    )


def _with_beside(point: TrainingPoint, beside: int, *, divided: int) -> TrainingPoint:
    nodes, gpus = point.nodes + beside, point.gpus + beside * point.node.gpus
    fastest = point.fastest and replace(point.fastest, nodes=nodes, gpus=gpus, divided_nodes=divided)
    return replace(point, nodes=nodes, gpus=gpus, divided_nodes=divided, fastest=fastest)
