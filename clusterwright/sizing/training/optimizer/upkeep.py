"""How a run keeps its weights up to date: with which optimizer, and what of its states lies outside the accelerator."""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Layouts, Shape, Values
from clusterwright.sizing.model.layer_memory import LayerBytes
from clusterwright.sizing.records import offload
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.offload import HostBytes, Links, Offload, OffloadTimes, Owned
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.optimizer import optimizers
from clusterwright.sizing.training.optimizer.optimizers import ADAM, OPTIMIZERS, Optimizer
from clusterwright.sizing.training.practice import STANDARD, Practice, practice_for


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep:
    """The choices of a job that are the same for all its layouts.

    Attributes:
        optimizer: by which weights are updated; traffic_bytes: that its update moves per parameter; state_bytes: that
            it keeps.
        practice: bytes per parameter on the accelerator.
        offload: what lies outside it, None for nothing; links: one accelerator's share of the links there.
    """

    optimizer: Optimizer = ADAM
    traffic_bytes: Values = 30.0
    state_bytes: float = 12.0
    practice: Practice = STANDARD
    offload: Offload | None = None
    links: Links | None = None


#: What measured runs are predicted with: Adam in fp32, everything on the accelerator.
DEFAULT = Upkeep()


def upkeep_of(job: TrainingJob, shape: Shape, node: NodeType) -> Upkeep:
    """Return how a job keeps its weights up to date on a node type.

    Raises:
        MissingFactError: the job offloads, and the catalogue does not know a link that its time needs.
    """
    optimizer = OPTIMIZERS[job.optimizer]
    software = practice_for(job.framework, job.precision)
    practice = optimizers.practice_of(optimizer, shape, practice=software)
    away = job.offload
    links = None
    if away is not None:
        links = offload.links_of(node.host, away, gpus=node.gpus, node=node.id)
        practice = replace(
            practice,
            optimizer_bytes=0.0 if away.optimizer else practice.optimizer_bytes,
            weight_bytes=0.0 if away.parameters else practice.weight_bytes,
            streams_gradients=away.optimizer,
            buffered_layers=offload.BUFFERED_LAYERS if away.activations else None,
        )
    return Upkeep(
        optimizer=optimizer,
        traffic_bytes=optimizers.traffic_bytes(optimizer, shape, software),
        state_bytes=optimizers.state_bytes(optimizer, shape, software),
        practice=practice,
        offload=away,
        links=links,
    )


def optimizer_shards(shape: Shape, layouts: Layouts) -> tuple[Values, Values]:
    """Return the ranks that share the optimizer of a stage, and that of its routed experts; 1 where they do not."""
    sharded = np.asarray(layouts.zero_stage) >= 1
    shards = np.where(sharded, memory.shards(layouts), 1.0)
    if not np.any(shape.expert_parameters):
        return shards, 1.0
    return shards, np.where(sharded, memory.expert_shards(layouts), 1.0)


def updated_parameters(shape: Shape, layouts: Layouts) -> Values:
    """Return the parameters that one accelerator of the fullest stage updates."""
    shards, expert_shards = optimizer_shards(shape, layouts)
    updated = stages.stage_parameters(shape, tp=layouts.tp, pp=layouts.pp, vpp=layouts.vpp) / shards
    if np.any(shape.expert_parameters):
        updated = updated + stages.stage_expert_parameters(shape, layouts=layouts) / expert_shards
    return stages.model_copies(layouts) * updated


def owned_of(shape: Shape, layouts: Layouts, upkeep: Upkeep, *, layer: LayerBytes) -> Owned:
    """Return what one accelerator owns of a step: the most that any stage updates, and the first one's activations.

    Args:
        shape: the model.
        layouts: the layouts.
        upkeep: optimizer.
        layer: what one layer keeps of one micro-batch.
    """
    split = stages.split_of(shape, pp=layouts.pp, vpp=layouts.vpp)
    first = stages.stage_at(shape, layouts, split=split, stage=0.0)
    return Owned(
        parameters=updated_parameters(shape, layouts),
        state_bytes=upkeep.state_bytes,
        traffic_bytes=upkeep.traffic_bytes,
        activation_bytes=memory.kept_bytes(first, layer),
        in_flight=first.in_flight,
        micro_batches=layouts.micro_batches,
        streamed=np.where(np.asarray(layouts.zero_stage) >= offload.STREAMED_FROM_STAGE, 1.0, 0.0),
    )


def offload_times(shape: Shape, layouts: Layouts, upkeep: Upkeep, *, layer: LayerBytes) -> OffloadTimes:
    """Return the seconds that a step's states and activations travel; the arguments are those of `owned_of`."""
    if upkeep.offload is None or upkeep.links is None:
        return OffloadTimes(to_host=0.0, to_device=0.0, drives=0.0, after=0.0)
    return offload.times(upkeep.offload, upkeep.links, owned_of(shape, layouts, upkeep, layer=layer))


def outside_bytes(shape: Shape, layouts: Layouts, upkeep: Upkeep, *, layer: LayerBytes) -> HostBytes:
    """Return what lies outside one accelerator; the arguments are those of `owned_of`."""
    if upkeep.offload is None:
        return HostBytes()
    return offload.host_bytes(upkeep.offload, owned_of(shape, layouts, upkeep, layer=layer))
