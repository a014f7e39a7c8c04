"""Waiting and starting of many layouts for the search, and the full record of one for the plan."""

from collections.abc import Sequence
from dataclasses import replace
from math import isinf

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Layouts, Values
from clusterwright.sizing.feeding import loading as data_loading
from clusterwright.sizing.feeding import starts as data_starts
from clusterwright.sizing.feeding.loading import Rates
from clusterwright.sizing.feeding.starts import Starts
from clusterwright.sizing.records.job import StepTime, TrainingJob
from clusterwright.sizing.records.loading import DataFeed
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.reliability.storage import read_bytes_per_s


def fed(
    job: TrainingJob, node: NodeType, layouts: Layouts, *, steps: Sequence[StepTime], reliability: Reliability
) -> tuple[tuple[StepTime, DataFeed], ...]:
    """Return the step of each layout with its wait for data, and the record of the loading.

    Args:
        job: the training run.
        node: the node type.
        layouts: as columns.
        steps: of each layout, without waiting.
        reliability: with the size of the checkpoint that restarts read.
    """
    rates = data_loading.rates_of(job, node)
    step_s = np.array([step.total_s for step in steps])
    pause_s = np.array([step.data_parallel_s + step.optimizer_s for step in steps])
    prepared = data_loading.preparation(rates, job, layouts, node=node)
    ready = data_loading.ready_share(rates, layouts, node=node)
    stall_s = data_loading.wait_s(
        prepare_s=prepared.total_s(ahead=rates.ahead), step_s=step_s, pause_s=pause_s, ready=ready, ahead=rates.ahead
    )
    whole_s = step_s + stall_s
    read = data_starts.amounts(rates, job, node, layouts)
    data_read = _data_read(rates, read.step_bytes, step_s=whole_s, pause_s=pause_s, ready=ready)
    shared = read_bytes_per_s(job, reliability, data_read_bytes_per_s=data_read)
    begun = data_starts.starts(rates, job, node, read, shared=shared, reliability=reliability)
    longest = data_loading.longest_preparation_s(step_s=step_s, pause_s=pause_s, ready=ready)
    running = data_loading.processes(rates, layouts, node=node)
    held = rates.prefetch if rates.ahead else 0
    columns: dict[str, Values] = {
        "loading_ranks": read.ranks,
        "ranks_per_node": read.on_node,
        "read_bytes_per_s": read.step_bytes / whole_s,
        "read_bytes_per_s_per_node": read.node_step_bytes / whole_s,
        "shared_read_bytes_per_s": data_read,
        "workers_s": prepared.workers_s,
        "node_s": prepared.node_s,
        "shared_s": prepared.shared_s,
        "pause_s": pause_s,
        "ready_share": ready,
        "stall_s": stall_s,
        "one_process_s": prepared.workers_s * running,
        "per_process": max(rates.prefetch, 1) / layouts.micro_batches,
        "node_bytes_per_s_needed": read.node_step_bytes / longest,
        "shared_bytes_per_s_needed": 0.0 if rates.staged else read.step_bytes / longest,
        "prefetch_bytes_per_node": read.on_node * running * held * read.batch_bytes,
        "staged_bytes_per_node": read.staged_bytes,
        "staging_s": begun.staging_s,
        "first_batch_s": begun.first_batch_s,
        "startup_s": begun.startup_s,
        "restart_s": begun.restart_s,
    }
    rows = zip(*(np.broadcast_to(column, step_s.shape).tolist() for column in columns.values()), strict=True)
    return tuple(
        (replace(step, data_loading_s=row["stall_s"]), _feed(job, node, rates, step, row))
        for step, row in zip(steps, (dict(zip(columns, row, strict=True)) for row in rows), strict=True)
    )


def _feed(job: TrainingJob, node: NodeType, rates: Rates, step: StepTime, row: dict[str, float]) -> DataFeed:
    """Return the record of one layout from its row of columns."""
    needed = data_loading.workers_needed(
        row.pop("one_process_s"), step_s=step.total_s, pause_s=row["pause_s"], per_process=row.pop("per_process")
    )
    if needed is not None and node.cpu_threads is not None and needed * row["ranks_per_node"] > node.cpu_threads:
        needed = None
    parts = {"workers": row.pop("workers_s"), "node": row.pop("node_s"), "storage": row.pop("shared_s")}
    return DataFeed(
        bytes_per_token=rates.bytes_per_sample / job.sequence_length,
        workers=rates.workers,
        prefetch_batches=rates.prefetch,
        worker_bytes_per_s=rates.worker_bytes_per_s,
        staged=rates.staged,
        loading_ranks=int(row.pop("loading_ranks")),
        ranks_per_node=int(row.pop("ranks_per_node")),
        workers_s=parts["workers"],
        node_s=None if isinf(rates.node_bytes_per_s) else parts["node"],
        shared_s=None if isinf(rates.shared_bytes_per_s) else parts["storage"],
        limited_by=max(parts, key=lambda name: parts[name]) if row["stall_s"] > 0 else "",
        workers_needed=needed,
        **row,
    )


def may_wait(job: TrainingJob, node: NodeType, *, fewest_ranks: float, computing_s: float) -> bool:
    """Tell whether any layout of a set can wait for data: a bound that is cheap where none does.

    Args:
        job: the training run.
        node: its node type.
        fewest_ranks: least data-parallel size of the set.
        computing_s: least time that a layout of the set computes for; data is prepared meanwhile.
    """
    rates = data_loading.rates_of(job, node)
    if not rates.ahead or not isinf(rates.shared_bytes_per_s):
        return True
    each = job.global_batch_sequences / fewest_ranks * rates.bytes_per_sample
    return max(each / rates.worker_bytes_per_s, each * node.gpus / rates.node_bytes_per_s) > computing_s


def starts_of(
    job: TrainingJob, node: NodeType, layouts: Layouts, *, step_s: Values, reliability: Reliability
) -> Starts:
    """Return what loading adds to the starts of many layouts.

    Args:
        job: the training run.
        node: its node type.
        layouts: one or many.
        step_s: with the waiting. The pause is left out: it matters only where reading data while training asks more of
            shared storage than reading checkpoints does.
        reliability: with the size of the checkpoint.
    """
    rates = data_loading.rates_of(job, node)
    read = data_starts.amounts(rates, job, node, layouts)
    data_read = 0.0 if rates.staged else read.step_bytes / step_s
    shared = read_bytes_per_s(job, reliability, data_read_bytes_per_s=data_read)
    return data_starts.starts(rates, job, node, read, shared=shared, reliability=reliability)


def _data_read(rates: Rates, step_bytes: Values, *, step_s: Values, pause_s: Values, ready: Values) -> Values:
    """Return what shared storage must give while training so that it does not make training wait, in bytes/s."""
    if rates.staged:
        return 0.0
    if not rates.ahead:
        return step_bytes / step_s
    return step_bytes / data_loading.longest_preparation_s(step_s=step_s, pause_s=pause_s, ready=ready)
