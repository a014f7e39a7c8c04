"""What the user holds fixed or within bounds, in words, and which of it leaves no layout."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.records.job import TrainingJob

Path = tuple[str | int, ...]
#: Placeholder in a path for the target that is being sized, which sizing does not know.
THIS_TARGET = "this target"
_PARALLELISM = ("workload", "parallelism")
_TARGET = ("targets", THIS_TARGET)
#: Field of the job, what it says, and where the blueprint says it.
_SAID: tuple[tuple[str, str, Path], ...] = (
    ("tensor_parallel", "tensor parallel {}", (*_PARALLELISM, "tensor")),
    ("max_tensor_parallel", "tensor parallel up to {}", (*_PARALLELISM, "max_tensor")),
    ("context_parallel", "context parallel {}", (*_PARALLELISM, "context")),
    ("pipeline_parallel", "pipeline parallel {}", (*_PARALLELISM, "pipeline")),
    ("data_parallel", "data parallel {}", (*_PARALLELISM, "data")),
    ("data_must_be", "data parallel a {}", (*_PARALLELISM, "data_must_be")),
    ("expert_parallel", "expert parallel {}", (*_PARALLELISM, "expert")),
    ("micro_batch", "micro-batch {}", (*_PARALLELISM, "micro_batch")),
    ("recompute", "recomputation {}", (*_PARALLELISM, "recompute")),
    ("recompute_layers", "{} recomputed layers", (*_PARALLELISM, "recompute_layers")),
    ("sharding_group", "sharding group {}", (*_PARALLELISM, "sharding_group")),
    ("schedule", "schedule {}", (*_PARALLELISM, "schedule")),
    ("min_nodes", "at least {} nodes", (*_TARGET, "min_nodes")),
    ("nodes_must_be", "nodes a {}", (*_TARGET, "nodes_must_be")),
    ("max_nodes", "at most {} nodes", (*_TARGET, "max_nodes")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """One thing that the user holds.

    Attributes:
        field: of the job.
        words: what it says, with its value.
        path: where the blueprint says it.
    """

    field: str
    words: str
    path: Path


def constraints_of(job: TrainingJob) -> tuple[Constraint, ...]:
    """Return what the user holds of a job; nodes are reported as the blueprint counts them, with those beside."""
    found = []
    for field, words, path in _SAID:
        value = getattr(job, field)
        if value is not None:
            of_all = value + job.nodes_beside if field in ("min_nodes", "max_nodes") else value
            found.append(Constraint(field=field, words=words.format(of_all), path=path))
    return tuple(found)


def to_blame(job: TrainingJob, possible: Callable[[TrainingJob], bool]) -> tuple[Constraint, ...]:
    """Return each constraint without which alone the job would be possible."""

    def without(entry: Constraint) -> TrainingJob:
        freer: dict[str, Any] = {entry.field: None}
        return replace(job, **freer)

    return tuple(entry for entry in constraints_of(job) if possible(without(entry)))


def fixed_parallelism(job: TrainingJob) -> tuple[str, ...]:
    """Return the keys of `workload.parallelism` that the user holds."""
    return tuple(str(entry.path[-1]) for entry in constraints_of(job) if entry.path[:-1] == _PARALLELISM)


def allowed_nodes(job: TrainingJob, *, most: int) -> npt.NDArray[np.bool_]:
    """Return whether a number of training nodes is allowed, for 0 to `most`; the user counts those beside as well."""
    allowed = np.ones(most + 1, dtype=np.bool_)
    allowed[: max(job.min_nodes or 1, 1)] = False
    rule = job.nodes_must_be
    if rule is not None:
        allowed &= np.array([rule.holds(nodes + job.nodes_beside) for nodes in range(most + 1)], dtype=np.bool_)
    if job.node_counts is not None:
        allowed &= np.isin(np.arange(most + 1) + job.nodes_beside, job.node_counts)
    return allowed


def allowed_data_parallel(job: TrainingJob, sizes: Iterable[int]) -> list[int]:
    """Return the data-parallel sizes that the user allows."""
    rule = job.data_must_be
    return [size for size in sizes if job.data_parallel in (None, size) and (rule is None or rule.holds(size))]
