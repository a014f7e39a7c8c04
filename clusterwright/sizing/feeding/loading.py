"""Training data on its way to the accelerators: what is read, how fast it is prepared, and when training waits for it.

One tensor-parallel rank reads for its group; each context-parallel rank reads whole samples and keeps its part; the
first pipeline stage needs the tokens and the last one the labels (Megatron-LM, `get_batch` of its pretraining scripts).
Loader processes read ahead of what they prepare, so that the slower of the two sets the pace.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from clusterwright.catalog.data_loading import loading_defaults
from clusterwright.catalog.records import NodeType
from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Layouts, Values
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.workload import training

#: Shares below it are nothing to divide by.
_SMALLEST_SHARE = 1e-12
#: More processes of one rank are not proposed: no node runs as many beside its accelerators.
MOST_WORKERS = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """What a job's loading can do on a node type.

    Attributes:
        bytes_per_sample: of one sequence, as stored.
        workers: processes of each rank that loads; prefetch: micro-batches that each holds ready.
        worker_bytes_per_s: that one process prepares.
        node_bytes_per_s: that a node reads, from its local drives if staged, else from shared storage; infinite where
            it is not known.
        shared_bytes_per_s: that shared storage gives to all nodes; infinite where it is sized to the need.
        staged: read from local drives; local_bytes: of them, infinite where it is not known.
    """

    bytes_per_sample: float
    workers: int
    prefetch: int
    worker_bytes_per_s: float
    node_bytes_per_s: float
    shared_bytes_per_s: float
    staged: bool
    local_bytes: float

    @property
    def ahead(self) -> bool:
        """Whether data is prepared while the step before it runs."""
        return self.workers > 0 and self.prefetch > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparation:
    """Seconds in which the data of one step is prepared by the processes, read by a node, and given by storage."""

    workers_s: Values
    node_s: Values
    shared_s: Values

    def total_s(self, *, ahead: bool) -> Values:
        """Return the seconds of all three: the longest where they run at the same time, else the two in a row."""
        reading = np.maximum(self.node_s, self.shared_s)
        return np.maximum(self.workers_s, reading) if ahead else self.workers_s + reading


def rates_of(job: TrainingJob, node: NodeType) -> Rates:
    """Return what a job's loading can do on a node type: what the user says, else the catalogue, else no limit."""
    asked, usual = job.loading, loading_defaults()
    per_token = asked.bytes_per_token
    if per_token is None:
        per_token = float(training.bytes_per_token_on_disk(vocab=job.model.vocab))
    local = _first(asked.local_read_bytes_per_s, node.local_nvme_read_bytes_per_s)
    network = _first(asked.node_read_bytes_per_s, node.storage_bytes_per_s_one_way)
    return Rates(
        bytes_per_sample=per_token * job.sequence_length,
        workers=int(_first(asked.workers, usual.workers)),
        prefetch=int(_first(asked.prefetch_batches, usual.prefetch_batches)),
        worker_bytes_per_s=_first(asked.worker_bytes_per_s, usual.worker_bytes_per_s),
        node_bytes_per_s=local if asked.staged else network,
        shared_bytes_per_s=np.inf if asked.staged else _first(asked.shared_read_bytes_per_s),
        staged=asked.staged,
        local_bytes=_first(asked.local_bytes, node.local_nvme_bytes),
    )


def _first(*values: float | None) -> float:
    return next((float(value) for value in values if value is not None), np.inf)


def copies(layouts: Layouts) -> Values:
    """Return how many ranks read each sample: all context-parallel ones, of the first and of the last stage."""
    return layouts.cp * np.where(np.asarray(layouts.pp) > 1, 2.0, 1.0)


def ranks_per_node(layouts: Layouts, *, gpus_per_node: int) -> Values:
    """Return the ranks that load on the busiest node: one of each tensor-parallel group that begins there."""
    return np.ceil(gpus_per_node / np.asarray(layouts.tp, dtype=np.float64))


def processes(rates: Rates, layouts: Layouts, *, node: NodeType) -> Values:
    """Return the loader processes of a rank that run at the same time: never more than its share of the threads."""
    asked = float(max(rates.workers, 1))
    if node.cpu_threads is None:
        return asked
    share = node.cpu_threads / ranks_per_node(layouts, gpus_per_node=node.gpus)
    return np.minimum(asked, np.maximum(share, 1.0))


def preparation(rates: Rates, job: TrainingJob, layouts: Layouts, *, node: NodeType) -> Preparation:
    """Return the seconds in which the data of one step is prepared.

    A rank's share of the step, `batch / dp` samples, over what its processes prepare; the share of all ranks of the
    busiest node over what a node reads; every copy of every sample over what shared storage gives.

    Args:
        rates: of the job on the node type.
        job: its batch.
        layouts: one or many.
        node: its GPUs and threads.
    """
    each = job.global_batch_sequences / layouts.dp * rates.bytes_per_sample
    return Preparation(
        workers_s=each / (rates.worker_bytes_per_s * processes(rates, layouts, node=node)),
        node_s=each * ranks_per_node(layouts, gpus_per_node=node.gpus) / rates.node_bytes_per_s,
        shared_s=job.global_batch_sequences * rates.bytes_per_sample * copies(layouts) / rates.shared_bytes_per_s,
    )


def ready_share(rates: Rates, layouts: Layouts, *, node: NodeType) -> Values:
    """Return the share of a step's micro-batches that a rank's processes hold ready at most, 0 to 1."""
    held = processes(rates, layouts, node=node) * rates.prefetch if rates.ahead else 0.0
    return np.minimum(held / layouts.micro_batches, 1.0)


def wait_s(*, prepare_s: Values, step_s: Values, pause_s: Values, ready: Values, ahead: bool) -> Values:
    """Return the seconds of each step in which training waits for data.

    Without prefetching that is all of the preparation. With it, preparation has the whole step except that in the
    pause, in which no micro-batch is taken, it fills what may be held ready and then stops:
    `max(0, prepare - (step - pause) - min(pause, ready × prepare))`.

    Args:
        prepare_s: of the data of one step.
        step_s: of the step without waiting.
        pause_s: of its gradient exchange and optimizer.
        ready: share of the step's data that can be held ready.
        ahead: whether there is any prefetching.
    """
    if not ahead:
        return prepare_s
    return late_s(
        prepare_s=prepare_s, step_s=step_s, pause_s=pause_s, ready_s=prepared_ahead_s(prepare_s, pause_s, ready)
    )


def prepared_ahead_s(prepare_s: Values, pause_s: Values, ready: Values) -> Values:
    """Return the seconds of preparation that fit into the pause; the arguments are those of `wait_s`."""
    return np.minimum(pause_s, ready * prepare_s)


@formula(
    "max(0, {prepare_s} - ({step_s} - {pause_s}) - {ready_s})",
    source="Megatron-LM: --num-workers; PyTorch DataLoader: prefetch_factor",
    prepare_s=Term("preparation", ".5f", "s"),
    step_s=Term("step without waiting", ".5f", "s"),
    pause_s=Term("pause", ".5f", "s"),
    ready_s=Term("made ready in the pause", ".5f", "s"),
)
def late_s(*, prepare_s: Values, step_s: Values, pause_s: Values, ready_s: Values) -> Values:
    """Return the seconds that a step waits for data which is prepared ahead."""
    return np.maximum(prepare_s - (step_s - pause_s) - ready_s, 0.0)


def longest_preparation_s(*, step_s: Values, pause_s: Values, ready: Values) -> Values:
    """Return the longest preparation for which `wait_s` is zero: `min(step, (step - pause) / (1 - ready))`."""
    missing = 1 - np.asarray(ready, dtype=np.float64)
    bounded = (step_s - pause_s) / np.maximum(missing, _SMALLEST_SHARE)
    return np.where(missing > 0, np.minimum(step_s, bounded), step_s)


def waits_s(job: TrainingJob, node: NodeType, layouts: Layouts, *, step_s: Values, pause_s: Values) -> Values:
    """Return the seconds of each step in which training waits for data, for one layout or many.

    Args:
        job: the training run.
        node: its node type.
        layouts: one or many.
        step_s: without waiting.
        pause_s: see `wait_s`.
    """
    rates = rates_of(job, node)
    return wait_s(
        prepare_s=preparation(rates, job, layouts, node=node).total_s(ahead=rates.ahead),
        step_s=step_s,
        pause_s=pause_s,
        ready=ready_share(rates, layouts, node=node),
        ahead=rates.ahead,
    )


def staged_bytes(rates: Rates, layouts: Layouts, *, dataset_bytes: float, gpus_per_node: int) -> Values:
    """Return what each loading node copies to its drives: what its data-parallel ranks read, each part once.

    The data set is parted by data-parallel rank, so that a sample is shuffled within its part only.
    """
    if not rates.staged:
        return 0.0
    parts = np.maximum(ranks_per_node(layouts, gpus_per_node=gpus_per_node) / layouts.cp, 1.0)
    return dataset_bytes * np.minimum(parts / layouts.dp, 1.0)


def workers_needed(prepare_one_s: float, *, step_s: float, pause_s: float, per_process: float) -> int | None:
    """Return the fewest processes of a rank for which training does not wait for them, None beyond `MOST_WORKERS`.

    Args:
        prepare_one_s: in which one process prepares the data of a step.
        step_s: see `wait_s`.
        pause_s: see `wait_s`.
        per_process: share of a step's data that each process holds ready, above 0.
    """
    fewest = max(1, ceil(prepare_one_s / step_s - 1e-9))
    for count in range(fewest, MOST_WORKERS + 1):
        ready = min(1.0, per_process * count)
        prepare_s = prepare_one_s / count
        late_s = prepare_s - (step_s - pause_s) - min(pause_s, ready * prepare_s)
        if late_s <= 1e-12 * step_s:
            return count
    return None
