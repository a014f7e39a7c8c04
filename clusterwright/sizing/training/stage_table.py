"""The memory of every pipeline stage of one layout, for people to see which one is the fullest and why."""

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import RECOMPUTE, SCHEDULES, Layouts, Values
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of_job
from clusterwright.sizing.records.job import Layout, StageMemory, TrainingJob
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.optimizer.upkeep import upkeep_of


def columns_of(layout: Layout) -> Layouts:
    """Return one layout as columns; the reverse of `layouts.layout_at`."""
    every = layout.recompute_layers is None
    return Layouts(
        tp=float(layout.tp),
        sp=float(layout.sp),
        pp=float(layout.pp),
        vpp=float(layout.vpp),
        dp=float(layout.dp),
        cp=float(layout.cp),
        ep=float(layout.ep),
        etp=float(layout.etp),
        zero_stage=float(layout.zero_stage),
        micro_batch=float(layout.micro_batch),
        micro_batches=float(layout.micro_batches),
        recompute=float(RECOMPUTE.index(layout.recompute)),
        recompute_layers=np.inf if every else float(layout.recompute_layers or 0),
        replicas=float(layout.sharding_groups),
        schedule=0.0 if layout.schedule == "interleaved" else float(SCHEDULES.index(layout.schedule)),
    )


def memory_by_stage(job: TrainingJob, layout: Layout, node: NodeType) -> tuple[StageMemory, ...]:
    """Return the memory of a GPU of every stage, the first one first.

    Args:
        job: for the model and its sequences.
        layout: of the job.
        node: that it runs on.
    """
    shape = shape_of_job(job)
    practice = upkeep_of(job, shape, node).practice
    columns = columns_of(layout)
    index = np.arange(float(layout.pp))
    split = stages.split_of(shape, pp=columns.pp, vpp=columns.vpp)
    held = stages.stage_at(shape, columns, split=split, stage=index)
    layer = layer_memory.layer_bytes(shape, columns)
    needed = memory.at_stage(shape, columns, stage=index, layer=layer, practice=practice)

    def at(value: Values, stage: int) -> float:
        return float(np.broadcast_to(value, index.shape)[stage])

    return tuple(
        StageMemory(
            stage=stage,
            layers=at(held.layers, stage),
            expert_layers=at(held.routed_layers, stage),
            micro_batches_in_flight=at(held.in_flight, stage),
            memory=needed.row(stage),
        )
        for stage in range(layout.pp)
    )
