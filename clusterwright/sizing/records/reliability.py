"""What sizing knows of failures, checkpoints and spares: the numbers of the calibration file, and the job's choices."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

Strategy = Literal["full", "distributed", "async", "memory", "incremental"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityNumbers:
    """Rates, times and sizes of `catalog/calibration.csv`, each with its source there.

    Attributes:
        failures_per_node_day: of each node; failures_per_job_day: of the job whatever its size.
        spot_interruptions_per_node_day: by which a cloud takes back a node rented on its spot market.
        detection_s: from the failure to knowing it; restart_s: from there to training again, with the loading.
        node_loss_share: share of interruptions after which a node is missing until it is repaired or replaced.
        checkpoint_write_s: time in which storage takes a whole checkpoint; checkpoint_read_s: and gives it back.
        checkpoint_bytes_per_parameter: size on disk with optimizer state.
        checkpoints_kept: latest ones that are retained.
        snapshot_overhead_s: of a copy into host memory, whatever its size; snapshot_bytes_per_s_per_gpu: its rate.
        single_writer_bytes_per_s: of one process that writes everything.
        memory_recovery_share: share of interruptions after which the peers' host memory still holds a checkpoint.
        flush_s: between two flushes of checkpoints held in memory; full_every: incremental ones per full one.
        capacity_headroom: storage bought over storage used.
    """

    failures_per_node_day: float
    failures_per_job_day: float
    spot_interruptions_per_node_day: float
    detection_s: float
    restart_s: float
    node_loss_share: float
    checkpoint_write_s: float
    checkpoint_read_s: float
    checkpoint_bytes_per_parameter: float
    checkpoints_kept: float
    snapshot_overhead_s: float
    snapshot_bytes_per_s_per_gpu: float
    single_writer_bytes_per_s: float
    memory_recovery_share: float
    flush_s: float
    full_every: float
    capacity_headroom: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Reliability:
    """Failures and checkpoints of one job: the numbers, as far as the user does not replace them, and the choices.

    Attributes:
        numbers: rates, times and sizes.
        strategy: one of `STRATEGIES`, see `sizing.checkpoints`.
        checkpoint_bytes: of the model with optimizer state; 0 where only the size of the job matters.
        gpus_per_node: that copy their part of a checkpoint at the same time.
        changed_fraction: of the bytes, between two incremental checkpoints. Adam changes every weight at every step,
            so this is 1 unless parts of the model are frozen or rarely used.
        milestone_every_s: run time between checkpoints that are kept for good, None for none.
        spare_nodes: in working order beside those that train.
        elastic: the job goes on with fewer replicas while a node is missing and no spare is left.
        repair_s: until a missing node is back, None where the restart time includes a working node.
        spot: nodes are rented on the spot market.
    """

    numbers: ReliabilityNumbers
    strategy: Strategy = "async"
    checkpoint_bytes: float = 0.0
    gpus_per_node: int = 8
    changed_fraction: float = 1.0
    milestone_every_s: float | None = None
    spare_nodes: int = 0
    elastic: bool = False
    repair_s: float | None = None
    spot: bool = False

    @property
    def interruptions_per_node_day(self) -> float:
        """Failures and, on the spot market, nodes taken back, per node and day."""
        taken_back = self.numbers.spot_interruptions_per_node_day if self.spot else 0.0
        return self.numbers.failures_per_node_day + taken_back

    @property
    def lost_nodes_per_node_day(self) -> float:
        """Nodes that go missing until repaired or replaced, per node and day; what the cloud takes back, it keeps."""
        taken_back = self.numbers.spot_interruptions_per_node_day if self.spot else 0.0
        return self.numbers.failures_per_node_day * self.numbers.node_loss_share + taken_back

    @property
    def recovery_s(self) -> float:
        """From the failure to training again where a node is at hand: detection and restart."""
        return self.numbers.detection_s + self.numbers.restart_s

    def with_restart(self, added_s: float) -> "Reliability":
        """Return the same with restarts that take a given number of seconds more."""
        numbers = replace(self.numbers, restart_s=self.numbers.restart_s + added_s)
        return replace(self, numbers=numbers) if added_s else self
