"""What loading adds to the start of a run and to every restart: copying to local drives, the first micro-batch."""

from dataclasses import dataclass

import numpy as np

from clusterwright.catalog.data_loading import loading_defaults
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Layouts, Values
from clusterwright.sizing.feeding import loading as data_loading
from clusterwright.sizing.feeding.loading import Rates
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.reliability import checkpoints
from clusterwright.sizing.reliability.storage import dataset_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Amounts:
    """Who reads how much, for one layout or many.

    Attributes:
        ranks: that load; on_node: of them on the busiest node.
        step_bytes, node_step_bytes: of one step, read by all nodes and by the busiest one.
        batch_bytes: of a micro-batch; staged_bytes: copied to each node that loads.
    """

    ranks: Values
    on_node: Values
    step_bytes: Values
    node_step_bytes: Values
    batch_bytes: Values
    staged_bytes: Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Starts:
    """Seconds of copying, of the first micro-batch, and what both add to the first start and to every restart."""

    staging_s: Values
    first_batch_s: Values
    startup_s: Values
    restart_s: Values


def amounts(rates: Rates, job: TrainingJob, node: NodeType, layouts: Layouts) -> Amounts:
    """Return who reads how much."""
    copies = data_loading.copies(layouts)
    on_node = data_loading.ranks_per_node(layouts, gpus_per_node=node.gpus)
    step_bytes = job.global_batch_sequences * rates.bytes_per_sample
    return Amounts(
        ranks=layouts.dp * copies,
        on_node=on_node,
        step_bytes=step_bytes * copies,
        node_step_bytes=step_bytes * on_node / layouts.dp,
        batch_bytes=layouts.micro_batch * rates.bytes_per_sample,
        staged_bytes=data_loading.staged_bytes(
            rates, layouts, dataset_bytes=dataset_bytes(job), gpus_per_node=node.gpus
        ),
    )


def starts(
    rates: Rates, job: TrainingJob, node: NodeType, read: Amounts, *, shared: Values, reliability: Reliability
) -> Starts:
    """Return what starts take.

    Copying: the part of each node over what it reads, or all parts over what shared storage gives, whichever is longer.
    The first micro-batch: one process prepares it after it is read, as those of all other ranks.
    A restart takes longer by the checkpoint, where shared storage reads it more slowly than `checkpoint_read_s`, which
    a restart's time holds; by the first micro-batch, beyond `first_batch_included_s`; and where data is staged, by the
    part of a node that was replaced, times the share of interruptions after which one is.

    Args:
        rates: of the job on the node type.
        job: the training run.
        node: its node type.
        read: who reads how much.
        shared: bytes/s that shared storage gives.
        reliability: with the size of the checkpoint.
    """
    numbers = reliability.numbers
    network = _network(job, node)
    staging_s = np.maximum(read.staged_bytes / network, read.staged_bytes * read.ranks / read.on_node / shared)
    reading_s: Values = read.on_node * read.batch_bytes / rates.node_bytes_per_s
    if not rates.staged:
        reading_s = np.maximum(reading_s, read.ranks * read.batch_bytes / shared)
    first_s = read.batch_bytes / rates.worker_bytes_per_s + reading_s
    beyond_s = np.maximum(first_s - loading_defaults().first_batch_included_s, 0.0)
    late_s = np.maximum(checkpoints.restored_bytes(reliability) / shared - numbers.checkpoint_read_s, 0.0)
    # Copies in the memory of peers are read from there.
    from_storage = 1 - numbers.memory_recovery_share if reliability.strategy == "memory" else 1.0
    copied_s = read.staged_bytes / np.minimum(network, shared) * numbers.node_loss_share
    return Starts(
        staging_s=staging_s,
        first_batch_s=first_s,
        startup_s=staging_s + beyond_s,
        restart_s=late_s * from_storage + beyond_s + copied_s,
    )


def _network(job: TrainingJob, node: NodeType) -> float:
    given = job.loading.node_read_bytes_per_s
    known = node.storage_bytes_per_s_one_way if given is None else given
    return np.inf if known is None else known
