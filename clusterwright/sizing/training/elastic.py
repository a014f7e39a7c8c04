"""How far a job can shrink while a node is missing: whole data-parallel replicas, with the same global batch."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import DUALPIPE, ZERO_BUBBLE, Array, Device, Layouts, Shape, take
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.training import layouts, memory, parallel_sizes
from clusterwright.sizing.training.optimizer import host_memory
from clusterwright.sizing.training.optimizer.upkeep import DEFAULT, Upkeep

#: Layouts of which the memory is looked at together, so that columns stay in the processor's cache.
CHUNK_ROWS = 8192


def smaller_data_parallel(found: Layouts, *, global_batch_sequences: int, gpus_per_node: int) -> Array:
    """Return the largest data-parallel size below each layout's that still divides the job, 0 where there is none.

    The global batch stays the same, so it must divide into whole micro-batches over the remaining replicas; with an
    interleaved pipeline these come in multiples of the stages, and other schedules need enough of them; the replicas
    fill whole nodes and as many sharding groups as before, whose number is an argument of the job.

    Args:
        found: layouts of the full job.
        global_batch_sequences: sequences per optimizer step.
        gpus_per_node: of one node.
    """
    replica, experts = found.tp * found.pp * found.cp, found.ep * found.etp
    sequences = global_batch_sequences / np.asarray(found.micro_batch)
    columns = (replica, experts, sequences, found.dp, found.vpp, found.replicas, found.schedule)
    smaller: Array = np.zeros(np.broadcast(*columns).shape)
    for ranks in reversed(parallel_sizes.divisors(global_batch_sequences)):
        count = sequences / ranks
        whole = (smaller == 0) & (ranks < np.asarray(found.dp)) & (count == np.floor(count))
        if not whole.any():
            continue
        whole &= layouts.divides(gpus_per_node, replica * ranks)
        whole &= layouts.divides(experts, found.tp * ranks * found.cp)
        whole &= layouts.divides(found.replicas, ranks * found.cp) & _schedulable(found, count)
        smaller = np.where(whole, float(ranks), smaller)
    return smaller


def _schedulable(found: Layouts, count: Array) -> npt.NDArray[np.bool_]:
    """Return whether pipelines can run a number of micro-batches; see `layouts.enumerate_space`."""
    whole = np.asarray((np.asarray(found.vpp) == 1) | layouts.divides(found.pp, count))
    if not np.any(found.schedule):
        return whole
    schedule = np.asarray(found.schedule)
    whole &= (schedule != ZERO_BUBBLE) | (count >= found.pp)
    return np.asarray(whole & ((schedule != DUALPIPE) | (layouts.divides(2.0, count) & (count >= 2 * found.pp))))


def elastic_nodes(
    job: TrainingJob,
    shape: Shape,
    device: Device,
    found: Layouts,
    *,
    gpus_per_node: int,
    upkeep: Upkeep = DEFAULT,
    node: NodeType | None = None,
    reliability: Reliability | None = None,
) -> Array:
    """Return the nodes that each layout can go on with when one is missing, 0 where it stops.

    Fewer replicas share the optimizer's state, so that each holds more of it and may no longer fit into memory.

    Args:
        job: the training run.
        shape: of its model.
        device: the accelerator.
        found: layouts of the full job, at least one of their columns an array.
        gpus_per_node: of one node.
        upkeep: optimizer, and what is offloaded.
        node: whose host holds what is offloaded.
        reliability: for the copies of checkpoints there.
    """
    batch = job.global_batch_sequences
    ranks = smaller_data_parallel(found, global_batch_sequences=batch, gpus_per_node=gpus_per_node)
    nodes = np.zeros(ranks.shape)
    shrinking = np.flatnonzero(ranks)
    for start in range(0, shrinking.size, CHUNK_ROWS):
        rows = shrinking[start : start + CHUNK_ROWS]
        full, dp = take(found, rows), ranks[rows]
        smaller = replace(full, dp=dp, micro_batches=np.asarray(batch / full.micro_batch / dp))
        layer = layer_memory.layer_bytes(shape, smaller)
        fits = memory.fullest_bytes(shape, smaller, layer=layer, practice=upkeep.practice) <= device.hbm_bytes
        if upkeep.offload is not None and node is not None and reliability is not None:
            fits &= host_memory.outside_of(
                shape, smaller, upkeep, layer=layer, node=node, reliability=reliability
            ).fits(node)
        nodes[rows] = np.where(fits, layouts.gpu_counts(smaller) / gpus_per_node, 0.0)
    return nodes
