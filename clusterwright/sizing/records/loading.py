"""How a job loads its data, and what follows from it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Loading:
    """How a job loads its data; what is None is a default of `catalog/data_loading.csv` or a fact of the node.

    Attributes:
        bytes_per_token: as stored, with everything that belongs to a sample; None for tokenised text.
        workers: processes of each rank that loads; 0 loads in the training process.
        prefetch_batches: micro-batches that each process holds ready; 0 prepares each when it is asked for.
        worker_bytes_per_s: stored bytes that one process prepares per second.
        staged: the data is copied to the nodes' local drives before the run, and read from there.
        local_bytes, local_read_bytes_per_s: of a node's local drives.
        node_read_bytes_per_s: at most which a node reads from shared storage.
        shared_read_bytes_per_s: at most which shared storage gives to all nodes; None sizes it to the need.
    """

    bytes_per_token: float | None = None
    workers: int | None = None
    prefetch_batches: int | None = None
    worker_bytes_per_s: float | None = None
    staged: bool = False
    local_bytes: float | None = None
    local_read_bytes_per_s: float | None = None
    node_read_bytes_per_s: float | None = None
    shared_read_bytes_per_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFeed:
    """What a job reads and prepares, and how long training waits for it.

    Attributes:
        bytes_per_token: as stored; workers, prefetch_batches, worker_bytes_per_s: as in `Loading`.
        staged: read from local drives; else from shared storage.
        loading_ranks: ranks that load; ranks_per_node: of them on the busiest node. Every sample is read by each
            context-parallel rank, and by the first and the last pipeline stage.
        read_bytes_per_s, read_bytes_per_s_per_node: while training, by all nodes and by the busiest one.
        shared_read_bytes_per_s: that shared storage has to give while training; 0 if staged.
        workers_s, node_s, shared_s: in which the processes prepare the data of one step, the node reads it, and shared
            storage gives it to all; None where no rate limits it or the rate is not known.
        pause_s: of a step in which no micro-batch is taken; ready_share: of a step's data that is held ready at most.
        stall_s: of each step in which training waits for data.
        limited_by: `workers`, `node` or `storage` where training waits, else empty.
        workers_needed: of each rank that loads, so that training does not wait for them; None where no number of
            processes is enough.
        node_bytes_per_s_needed, shared_bytes_per_s_needed: so that training does not wait for reading.
        prefetch_bytes_per_node: of host memory for what is held ready.
        staged_bytes_per_node: copied to each node that loads; staging_s: in which all nodes copy.
        first_batch_s: until the first micro-batch is prepared; startup_s: of both before the run, beyond what a start
            takes anyway; restart_s: the same after an interruption, with a checkpoint that is read more slowly than
            planned.
    """

    bytes_per_token: float
    workers: int
    prefetch_batches: int
    worker_bytes_per_s: float
    staged: bool
    loading_ranks: int
    ranks_per_node: int
    read_bytes_per_s: float
    read_bytes_per_s_per_node: float
    shared_read_bytes_per_s: float
    workers_s: float
    node_s: float | None
    shared_s: float | None
    pause_s: float
    ready_share: float
    stall_s: float
    limited_by: str
    workers_needed: int | None
    node_bytes_per_s_needed: float
    shared_bytes_per_s_needed: float
    prefetch_bytes_per_node: float
    staged_bytes_per_node: float
    staging_s: float
    first_batch_s: float
    startup_s: float
    restart_s: float
