"""What a run takes beside its steps: time that failures and checkpoints cost, and storage."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """Share of calendar time that makes progress, and the checkpoints and failures behind it.

    Attributes:
        fraction: productive share of calendar time, 0 to 1.
        mean_time_between_interruptions_s: of the whole job.
        checkpoint_bytes: with optimizer state; checkpoint_write_s: training waits for each; checkpoint_interval_s: of
            training between two; checkpoint_lag_s: after which it can be restored.
        restart_s: detection and restart per interruption, with what the loading of data adds; detection_s: of it.
        strategy: of checkpoints, see `sizing.checkpoints`.
        recovered_share: of the interruptions, from these checkpoints; the others go back to one on storage, which gets
            one every flush_s. 1 and None except where checkpoints stay in memory.
        host_bytes_per_node: host memory of each node that copies of checkpoints take.
        wait_for_node_s: per interruption, because no node is at hand.
        spare_nodes: beside the nodes that train; missing_nodes: mean number away for repair, None if repair time is
            not given.
        elastic: the job is to go on with fewer replicas when a node is missing; elastic_nodes: with how many nodes,
            None if it stops all the same, because fewer do not divide the batch or do not fit into memory.
        spot_interruptions_per_node_day: None where nodes are not rented on the spot market.
    """

    fraction: float
    mean_time_between_interruptions_s: float
    checkpoint_bytes: float
    checkpoint_write_s: float
    checkpoint_interval_s: float
    restart_s: float
    strategy: str = "distributed"
    recovered_share: float = 1.0
    flush_s: float | None = None
    checkpoint_lag_s: float = 0.0
    detection_s: float = 0.0
    host_bytes_per_node: float = 0.0
    wait_for_node_s: float = 0.0
    spare_nodes: int = 0
    missing_nodes: float | None = None
    elastic: bool = False
    elastic_nodes: int | None = None
    spot_interruptions_per_node_day: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageNeed:
    """What the shared file system must hold and sustain.

    Attributes:
        dataset_bytes: tokenised training data; checkpoint_bytes_kept: checkpoints that are retained.
        capacity_bytes: sum with headroom; read_bytes_per_s, write_bytes_per_s: sustained.
        restart_read_bytes_per_s: for reading a checkpoint in the time planned; data_read_bytes_per_s: for training
            data while training. The larger one is read_bytes_per_s, unless the user says what there is.
        checkpoints_kept: latest ones retained; milestones: kept for good at the end of the run; milestone_every_s: run
            time between them, None for none.
        weights_only: it holds what a service reads, and no checkpoints of a run.
    """

    dataset_bytes: float
    checkpoint_bytes_kept: float
    capacity_bytes: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    checkpoints_kept: int = 0
    milestones: int = 0
    milestone_every_s: float | None = None
    restart_read_bytes_per_s: float = 0.0
    data_read_bytes_per_s: float = 0.0
    weights_only: bool = False
