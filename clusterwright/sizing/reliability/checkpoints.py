"""Checkpoint strategies: how long each stops training, when it can be restored, and what storage has to sustain.

- `full`: one process gathers the whole state and writes it, while training waits
- `distributed`: every rank writes its part at the same time, while training waits
- `async`: ranks copy their part into host memory, training goes on, and the copy is written behind it
- `memory`: copies stay in the host memory of a node and of a peer; every `flush_s` one of them goes to storage
- `incremental`: like `async`, but between full checkpoints only what has changed is written

Sources: PyTorch Distributed, "Reducing model checkpointing times by over 10x with asynchronous checkpointing" (2024);
ByteCheckpoint (arXiv 2407.20143, table 8); Wang et al., Gemini: Fast failure recovery in distributed training with
in-memory checkpoints (SOSP 23); Eisenman et al., Check-N-Run (arXiv 2010.08679).
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.sizing.columns import Values
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.units import SECONDS_PER_DAY


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """One kind of checkpoint and the interruptions that it serves.

    Attributes:
        share: of the interruptions that are recovered from it, above 0 and at most 1.
        blocking_s: training waits; lag_s: from then until it can be restored.
        shortest_interval_s: of training between two of them, below which the writing would not keep up.
        fixed_interval_s: where the user sets it, else None.
    """

    share: float
    blocking_s: Values
    lag_s: Values
    shortest_interval_s: Values
    fixed_interval_s: float | None = None


def snapshot_s(reliability: Reliability, *, nodes: Values) -> Values:
    """Return seconds in which every GPU copies its part into host memory: `overhead + bytes / (GPUs × rate)`.

    Llama 405B on 8,960 GPUs stops for 0.59 s (ByteCheckpoint, table 8); a 7B model for 6.3 s (PyTorch, 2024). Most of
    it does not depend on the size.
    """
    numbers = reliability.numbers
    rate = nodes * reliability.gpus_per_node * numbers.snapshot_bytes_per_s_per_gpu
    return numbers.snapshot_overhead_s + reliability.checkpoint_bytes / rate


def single_writer_s(reliability: Reliability) -> float:
    """Return seconds in which one process writes the whole checkpoint.

    Over 20 Gb/s the 6.3 TB of MT-NLG take 42 minutes (Gemini, section 2.2).
    """
    return reliability.checkpoint_bytes / reliability.numbers.single_writer_bytes_per_s


def mean_change(reliability: Reliability) -> float:
    """Return the mean share of a full checkpoint's bytes that an incremental one writes.

    Of every `n`, one is full: `(1 + (n - 1) changed) / n`.
    """
    every = reliability.numbers.full_every
    return (1 + (every - 1) * reliability.changed_fraction) / every


def levels(reliability: Reliability, *, nodes: Values) -> tuple[Level, ...]:
    """Return the kinds of checkpoint that a strategy takes, the most frequent first; their shares sum to 1."""
    numbers = reliability.numbers
    copied = snapshot_s(reliability, nodes=nodes)
    write = numbers.checkpoint_write_s
    match reliability.strategy:
        case "full":
            return (Level(share=1, blocking_s=single_writer_s(reliability), lag_s=0.0, shortest_interval_s=0.0),)
        case "distributed":
            return (Level(share=1, blocking_s=write, lag_s=0.0, shortest_interval_s=0.0),)
        case "async":
            return (Level(share=1, blocking_s=copied, lag_s=write, shortest_interval_s=write),)
        case "incremental":
            part = mean_change(reliability)
            behind = write * part
            return (Level(share=1, blocking_s=copied, lag_s=behind, shortest_interval_s=behind),)
        case "memory":
            # The copy to the peer leaves at the rate of the copy to the host, behind the training.
            kept = numbers.memory_recovery_share
            flush = numbers.flush_s
            first = Level(share=kept, blocking_s=copied, lag_s=copied, shortest_interval_s=copied)
            second = Level(
                share=1 - kept, blocking_s=0.0, lag_s=flush, shortest_interval_s=flush, fixed_interval_s=flush
            )
            return (first, second)


def host_bytes_per_node(reliability: Reliability, *, nodes: Values) -> Values:
    """Return host memory that copies of checkpoints take on each node, in bytes.

    One copy of the node's part while it is written behind training; in memory, two of its own (the complete one and the
    next) and two of its peer, as Gemini places them.
    """
    copies = {"full": 0, "distributed": 0, "async": 1, "incremental": 1, "memory": 4}[reliability.strategy]
    return copies * reliability.checkpoint_bytes / nodes


def write_bytes_per_s(reliability: Reliability) -> float:
    """Return what storage must take in while a checkpoint is written, in bytes/s."""
    match reliability.strategy:
        case "full":
            return reliability.numbers.single_writer_bytes_per_s
        case "memory":
            return reliability.checkpoint_bytes / reliability.numbers.flush_s
        case _:
            return reliability.checkpoint_bytes / reliability.numbers.checkpoint_write_s


def restored_bytes(reliability: Reliability) -> float:
    """Return what a restart reads: the checkpoint, and for incremental ones on average half of the changes since."""
    whole = reliability.checkpoint_bytes
    if reliability.strategy != "incremental":
        return whole
    return whole * (1 + (reliability.numbers.full_every - 1) / 2 * reliability.changed_fraction)


def kept_bytes(reliability: Reliability, *, run_s: float) -> float:
    """Return what retention holds on storage at the end of a run: the latest ones, the one in work, and milestones.

    Incremental checkpoints hold full ones with their changes, so their latest are counted in whole chains. A milestone
    is full, taken every `milestone_every_s` of the run.

    Args:
        reliability: how many are kept.
        run_s: calendar time of the run.
    """
    numbers = reliability.numbers
    latest = numbers.checkpoints_kept * reliability.checkpoint_bytes
    if reliability.strategy == "incremental":
        chains = int(np.ceil(numbers.checkpoints_kept / numbers.full_every))
        chain = reliability.checkpoint_bytes * numbers.full_every * mean_change(reliability)
        # A chain can only go when the next one is complete.
        latest = (chains + 1) * chain
    return latest + milestones(reliability, run_s=run_s) * reliability.checkpoint_bytes


def milestones(reliability: Reliability, *, run_s: float) -> int:
    """Return how many checkpoints a run keeps for good."""
    if reliability.milestone_every_s is None:
        return 0
    return int(run_s // reliability.milestone_every_s)


def missing_nodes(reliability: Reliability, *, nodes: Values) -> Values:
    """Return the mean number of nodes that are away for repair: rate × time (Little's law); 0 if repair is unknown."""
    if reliability.repair_s is None:
        return nodes * 0.0
    return nodes * reliability.lost_nodes_per_node_day * reliability.repair_s / SECONDS_PER_DAY


def no_spare_probability(reliability: Reliability, *, nodes: Values) -> Values:
    """Return the probability that a node fails when all spares are already in use.

    Nodes away for repair are Poisson-distributed whatever the distribution of repair times (M/G/∞), and arrivals see
    that distribution: `1 - sum over j < spares of exp(-a) a^j / j!`, with `a` from `missing_nodes`.
    """
    mean = np.asarray(missing_nodes(reliability, nodes=nodes), dtype=np.float64)
    term = np.exp(-mean)
    below = np.zeros_like(mean)
    for spare in range(reliability.spare_nodes):
        below = below + term
        term = term * mean / (spare + 1)
    return np.clip(1 - below, 0.0, 1.0)


def waiting_ratio(reliability: Reliability, *, nodes: Values, running_share: Values = 0.0) -> Values:
    """Return the time lost because no node is at hand, over the time in which the job runs.

    Where every spare is in use, the first of `spares + 1` repairs under way is waited for; an elastic job goes on
    meanwhile with a share of its replicas: `nodes lost per s × P(no spare) × repair / (spares + 1) × (1 - running)`.

    Args:
        reliability: repair time, spares.
        nodes: that train.
        running_share: of the throughput that an elastic job keeps without the node; 0 if it stops.
    """
    if reliability.repair_s is None:
        return np.asarray(nodes, dtype=np.float64) * 0.0
    first_s = reliability.repair_s / (reliability.spare_nodes + 1)
    lost_per_s = nodes * reliability.lost_nodes_per_node_day / SECONDS_PER_DAY
    return lost_per_s * no_spare_probability(reliability, nodes=nodes) * first_s * (1 - running_share)
