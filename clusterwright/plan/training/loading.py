"""The blueprint's sections `data` and `storage` as sizing takes them, and what is named where data comes too slowly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil, floor, log10

from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.training.record import TrainingOption
from clusterwright.sizing.feeding.loading import MOST_WORKERS
from clusterwright.sizing.records.job import StepTime, TrainingPoint
from clusterwright.sizing.records.loading import DataFeed, Loading
from clusterwright.units import BANDWIDTH, text
from clusterwright.workload import training

#: Training that waits for less than this share of a step is not given.
TOLD_SHARE = 0.01
#: Micro-batches that each process holds ready where the blueprint holds none.
_PREFETCH = 2
#: Processes of a rank that are proposed at most where each has to be faster.
_WORKERS_OF_PREPARED_DATA = 16
#: What limits the loading is raised as often until no size waits.
_ROUNDS = 8


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


#: The sizes of a target for another way to load the data.
Fronts = Callable[[Loading], Sequence[TrainingPoint]]


def waiting(
    blueprint: Blueprint, option: TrainingOption, *, loading: Loading, node: NodeType, front: Fronts
) -> tuple[Finding, ...]:
    """Return `DAT001` where training waits for its data, with what would end that; nothing where it does not.

    Args:
        blueprint: for the keys that the remedy names.
        option: the chosen size.
        loading: how its job loads data.
        node: its kind of node.
        front: sizes of its target with another loading; with data that comes faster another size or layout is chosen,
            which can need more than the one that waits.
    """
    performance = option.performance
    feed = performance.data
    if feed.stall_s <= TOLD_SHARE * performance.step.total_s:
        return ()
    path = _limit_path(feed)
    return (
        Finding(
            id="DAT001",
            path=_written(blueprint, *path),
            message=(
                f"{option.target}: training waits for data for {feed.stall_s:.3g} s of every "
                f"{performance.step.total_s:.3g} s: {_why(feed)}"
            ),
            help=_remedy(blueprint, option, loading=loading, node=node, front=front),
        ),
    )


def _waits(feed: DataFeed, step_s: float) -> bool:
    return feed.stall_s > TOLD_SHARE * step_s


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


def _limit_path(feed: DataFeed) -> tuple[str, str]:
    """Return the key that sets what training waits for."""
    if not feed.prefetch_batches:
        return "data", "prefetch"
    if feed.limited_by == "workers" or not feed.workers:
        return "data", "workers"
    if feed.limited_by == "node":
        return ("data", "local_nvme_bandwidth") if feed.staged else ("storage", "node_read_bandwidth")
    return "storage", "read_bandwidth"


def _remedy(blueprint: Blueprint, option: TrainingOption, *, loading: Loading, node: NodeType, front: Fronts) -> str:
    """Return what ends the waiting: no size of the target waits then, or at least none of as many nodes."""
    performance = option.performance
    needed = (
        _enough(loading, option, node=node, front=front)
        or _enough(loading, option, node=node, front=lambda one: _of_nodes(front(one), option.cluster.nodes))
        or _raised(
            loading,
            performance.data,
            performance.step.total_s - performance.step.data_loading_s,
            node,
        )
    )
    words = ", and ".join(_changes(blueprint, loading, needed, performance.data))
    staged = replace(
        needed,
        staged=True,
        shared_read_bytes_per_s=loading.shared_read_bytes_per_s,
        node_read_bytes_per_s=loading.node_read_bytes_per_s,
    )
    known = loading.local_bytes is not None or node.local_nvme_bytes is not None
    reads = needed.shared_read_bytes_per_s != loading.shared_read_bytes_per_s or (
        needed.node_read_bytes_per_s != loading.node_read_bytes_per_s
    )
    if loading.staged or not reads or not known or not _is_better(staged, option, front):
        return words
    return f"{words}; data.staging set to nvme does without more bandwidth of shared storage"


def _is_better(loading: Loading, option: TrainingOption, front: Fronts) -> bool:
    """Tell whether with a loading no size waits, and as many nodes are no slower: copying takes time, too."""
    try:
        points = front(loading)
    except RuleError:
        return False
    if any(_waits(point.data, point.step.total_s) for point in points):
        return False
    days = [point.calendar_days for point in points if point.nodes <= option.cluster.nodes]
    return min(days, default=float("inf")) <= option.performance.calendar_days


def _of_nodes(points: Sequence[TrainingPoint], nodes: int) -> list[TrainingPoint]:
    """Return the points with a number of nodes."""
    return [point for point in points if point.nodes == nodes]


def _enough(loading: Loading, option: TrainingOption, *, node: NodeType, front: Fronts) -> Loading | None:
    """Return a loading with which no size waits, None where raising what limits it some times does not do."""
    performance = option.performance
    late: list[tuple[DataFeed, StepTime]] = [(performance.data, performance.step)]
    for _ in range(_ROUNDS):
        for feed, step in late:
            loading = _raised(loading, feed, step.total_s - step.data_loading_s, node)
        points = front(loading)
        late = [(point.data, point.step) for point in points if _waits(point.data, point.step.total_s)]
        if points and not late:
            return loading
    return None


def _raised(loading: Loading, feed: DataFeed, step_s: float, node: NodeType) -> Loading:
    """Return a loading in which what limits a layout is as fast as this layout needs, never slower than before.

    Args:
        loading: so far.
        feed: of the layout that waits.
        step_s: of its step without waiting.
        node: for the processes that its processors run.
    """
    if feed.limited_by == "node":
        if feed.staged:
            return replace(loading, local_read_bytes_per_s=_up(feed.node_bytes_per_s_needed))
        return replace(loading, node_read_bytes_per_s=_up(feed.node_bytes_per_s_needed))
    if feed.limited_by == "storage" and feed.workers and feed.prefetch_batches:
        return replace(loading, shared_read_bytes_per_s=_up(feed.shared_bytes_per_s_needed))
    raised = loading if feed.prefetch_batches else replace(loading, prefetch_batches=_PREFETCH)
    if feed.workers_needed is not None:
        return replace(raised, workers=max(feed.workers, feed.workers_needed, loading.workers or 0))
    # Even the most processes are too slow: each has to give more, in the part of the step in which data is taken.
    most = MOST_WORKERS if node.cpu_threads is None else max(node.cpu_threads // feed.ranks_per_node, 1)
    running = min(max(feed.workers, 1), most)
    workers = max(feed.workers, min(most, _WORKERS_OF_PREPARED_DATA))
    free_s = max(step_s - feed.pause_s, step_s * TOLD_SHARE)
    rate = feed.worker_bytes_per_s * feed.workers_s * running / min(workers, most) / free_s
    return replace(raised, workers=workers, worker_bytes_per_s=max(_up(rate), loading.worker_bytes_per_s or 0.0))


def _up(rate: float) -> float:
    """Return a rate rounded up to three digits."""
    unit = 10.0 ** (floor(log10(rate)) - 2)
    return ceil(rate / unit - 1e-9) * unit


def _changes(blueprint: Blueprint, before: Loading, after: Loading, feed: DataFeed) -> Iterator[str]:
    """Yield what a user changes so that the data is loaded in another way."""
    if after.worker_bytes_per_s not in (None, before.worker_bytes_per_s):
        rate = after.worker_bytes_per_s or 0.0
        each = f"{text(rate, BANDWIDTH, digits=4)} (data.worker_bandwidth)"
        if blueprint.data.worker_samples_per_s is not None:
            samples = rate / (feed.bytes_per_token * train_of(blueprint).sequence_length)
            each = f"{_up(samples):g} samples/s (data.worker_samples_per_s)"
        yield (
            "no number of processes that the node's processors run is enough: prepare the data before the run, or "
            f"store less of each sample, so that one process gives {each}"
        )
    if after.workers not in (before.workers, feed.workers):
        yield f"set data.workers to {after.workers} or more"
    if after.prefetch_batches != before.prefetch_batches:
        yield f"set data.prefetch to {after.prefetch_batches}"
    if after.local_read_bytes_per_s != before.local_read_bytes_per_s:
        rate = after.local_read_bytes_per_s or 0.0
        yield f"choose nodes whose local drives read {text(rate, BANDWIDTH, digits=4)} (data.local_nvme_bandwidth)"
    if after.node_read_bytes_per_s != before.node_read_bytes_per_s:
        rate = after.node_read_bytes_per_s or 0.0
        each = text(rate, BANDWIDTH, digits=4)
        yield f"give each node {each} from shared storage (storage.node_read_bandwidth)"
    if after.shared_read_bytes_per_s != before.shared_read_bytes_per_s:
        rate = after.shared_read_bytes_per_s or 0.0
        yield f"set storage.read_bandwidth to {text(rate, BANDWIDTH, digits=4)} or more"
