"""The blueprint's sections `data` and `storage` as sizing takes them, and what is named where data comes too slowly."""

from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.errors import Finding
from clusterwright.plan.record import TrainingOption
from clusterwright.sizing.records.loading import DataFeed, Loading
from clusterwright.units import BANDWIDTH, text
from clusterwright.workload import training

#: Training that waits for less than this share of a step is not given.
TOLD_SHARE = 0.01


def loading_of(blueprint: Blueprint, *, vocab: int) -> Loading:
    """Return how the blueprint's job loads its data.

    Args:
        blueprint: its sections `data` and `storage`.
        vocab: of the model, for the bytes of a sample of text.
    """
    asked, storage, workload = blueprint.data, blueprint.storage, train_of(blueprint)
    per_token = asked.bytes_per_token
    if asked.bytes_per_sample is not None:
        per_token = asked.bytes_per_sample / workload.sequence_length
    worker = asked.worker_bandwidth
    if asked.worker_samples_per_s is not None:
        stored = training.bytes_per_token_on_disk(vocab=vocab) if per_token is None else per_token
        worker = asked.worker_samples_per_s * stored * workload.sequence_length
    return Loading(
        bytes_per_token=per_token,
        workers=asked.workers,
        prefetch_batches=asked.prefetch,
        worker_bytes_per_s=worker,
        staged=asked.staging == "nvme",
        local_bytes=asked.local_nvme,
        local_read_bytes_per_s=asked.local_nvme_bandwidth,
        node_read_bytes_per_s=storage.node_read_bandwidth,
        shared_read_bytes_per_s=storage.read_bandwidth,
    )


def waiting(blueprint: Blueprint, option: TrainingOption) -> tuple[Finding, ...]:
    """Return `DAT001` where training waits for its data, with what would end that; nothing where it does not."""
    feed = option.data
    if feed.stall_s <= TOLD_SHARE * option.step.total_s:
        return ()
    path, remedy = _remedy(feed)
    return (
        Finding(
            id="DAT001",
            path=_written(blueprint, *path),
            message=(
                f"{option.target}: training waits for data for {feed.stall_s:.3g} s of every {option.step.total_s:.3g}"
                f" s: {_why(feed)}"
            ),
            help=remedy,
        ),
    )


def _written(blueprint: Blueprint, section: str, key: str = "") -> tuple[str, ...]:
    """Return the key, or what is in the blueprint in its place: its section, else the workload."""
    if section not in blueprint.model_fields_set:
        return ("workload",)
    return (section, key) if key in getattr(blueprint, section).model_fields_set else (section,)


def _why(feed: DataFeed) -> str:
    if not (feed.workers and feed.prefetch_batches):
        return "nothing is prepared while the step before runs"
    if feed.limited_by == "workers":
        return (
            f"{feed.workers} processes of each of {feed.loading_ranks:,} ranks prepare the data of a step in "
            f"{feed.workers_s:.3g} s"
        )
    if feed.limited_by == "node":
        where = "its local drives" if feed.staged else "shared storage"
        return f"a node reads the data of a step from {where} in {feed.node_s or 0.0:.3g} s"
    return f"shared storage gives the data of a step in {feed.shared_s or 0.0:.3g} s"


def _remedy(feed: DataFeed) -> tuple[tuple[str, ...], str]:
    if feed.limited_by == "workers" or not (feed.workers and feed.prefetch_batches):
        if feed.workers_needed is None:
            return ("data",), (
                "no number of processes that the node's processors run is enough: prepare the data before the run, or "
                "store less of each sample"
            )
        prefetch = "" if feed.prefetch_batches else " and data.prefetch to 2"
        path = ("data", "workers") if feed.prefetch_batches else ("data", "prefetch")
        return path, f"set data.workers to {max(feed.workers, feed.workers_needed)} or more{prefetch}"
    if feed.limited_by == "node":
        needed = text(feed.node_bytes_per_s_needed, BANDWIDTH, digits=4)
        if feed.staged:
            return ("data", "local_nvme_bandwidth"), f"choose nodes whose local drives read {needed}"
        return ("storage", "node_read_bandwidth"), (
            f"give each node {needed} from shared storage, or set data.staging to nvme"
        )
    needed = text(feed.shared_bytes_per_s_needed, BANDWIDTH, digits=4)
    return ("storage", "read_bandwidth"), f"set storage.read_bandwidth to {needed} or more, or data.staging to nvme"
