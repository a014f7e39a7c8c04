"""The fronts of many node types for one blueprint or many: what is asked, and the answers as records and a table."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import InputError
from clusterwright.feeds.object_storage import reach
from clusterwright.interface.planning import Overrides, override_texts
from clusterwright.interface.tables import Relation, scalar_fields, table
from clusterwright.sweep import document as documents
from clusterwright.sweep.fronts import facts, gathered
from clusterwright.sweep.records import NotSized, Question, Scenario, Sweep, SweptPoint
from clusterwright.sweep.run import run
from clusterwright.sweep.space import (
    NodeRange,
    Source,
    chosen_ids,
    node_range,
    questions,
    scenarios,
    without_node_type,
)

#: A front holds about 30 points of 1 kB each; with this many a sweep stays within 1 GB.
MOST_FRONTS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is swept over.

    Attributes:
        sources: blueprints of training runs: files, or mappings that hold what a file would.
        set_values: `path=value` overrides; vary: `path=v1,v2`, every combination is a scenario.
        accelerators, instances: names of what to look at, also several in a text, separated by commas; all if empty.
        nodes: range of cluster sizes, such as `8..512`; None for as many as give 16,384 accelerators.
    """

    sources: Sequence[Source]
    set_values: Sequence[str] = ()
    vary: Sequence[str] = ()
    accelerators: Sequence[str] = ()
    instances: Sequence[str] = ()
    nodes: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """What a request comes to: scenarios, questions, and what is known not to be sizable before any is asked."""

    scenarios: tuple[Scenario, ...]
    questions: tuple[Question, ...]
    not_sized: tuple[NotSized, ...]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SweepResult:
    """The fronts of a sweep.

    Attributes:
        record: scenarios, points and what was not sized, in the order of the questions.
    """

    record: Sweep

    def __repr__(self) -> str:
        return f"<SweepResult: {len(self.record.scenarios)} scenarios, {len(self.record.points):,} points>"

    @property
    def points(self) -> tuple[SweptPoint, ...]:
        """Cluster sizes that no other of their node type beats, with their costs."""
        return self.record.points

    @property
    def not_sized(self) -> tuple[NotSized, ...]:
        """Node types without a size, each with the reason."""
        return self.record.not_sized

    def to_dict(self) -> dict[str, Any]:
        """Return what `clusterwright sweep --json` prints."""
        return documents.document(self.record)

    def table(self) -> Relation:
        """Return the points as a DuckDB relation; `varied` holds the varied values as JSON."""
        fields = scalar_fields(SweptPoint)
        rows = [
            {name: getattr(point, name) for name in fields} | {"varied": json.dumps(dict(point.varied))}
            for point in self.points
        ]
        return table(rows, fields | {"varied": str})


def sweep(
    *sources: Source,
    overrides: Overrides = (),
    vary: Mapping[str, Sequence[Any]] | None = None,
    accelerators: Sequence[str] = (),
    instances: Sequence[str] = (),
    nodes: str | None = None,
    jobs: int | None = 1,
    dask: str | None = None,
) -> SweepResult:
    """Return the front of every node type for blueprints of training runs, with costs.

    Args:
        sources: files, or mappings that hold what a file would.
        overrides: values by path for all of them, as for `plan`.
        vary: values to try by path; every combination is a scenario.
        accelerators: only node types with these.
        instances: only these instance types or systems.
        nodes: range of cluster sizes, such as `8..512`; as many as give 16,384 accelerators if None.
        jobs: processes; None for as many as there are cores and work for, which starts new interpreters.
        dask: address of a Dask scheduler that answers instead.

    Raises:
        InputError: a name, path, range or blueprint is wrong; BlueprintError: shown with its place.
    """
    varied = [f"{path}={','.join(_text(value) for value in values)}" for path, values in (vary or {}).items()]
    request = Request(
        sources=sources,
        set_values=override_texts(overrides),
        vary=varied,
        accelerators=accelerators,
        instances=instances,
        nodes=nodes,
    )
    return answered(space_of(request), jobs=jobs, dask=dask)


def _text(value: Any) -> str:  # noqa: ANN401 - a blueprint holds anything
    return value if isinstance(value, str) else json.dumps(value)


def space_of(request: Request) -> Space:
    """Check what is asked; nothing is computed here.

    Raises:
        InputError: a name, a path, a range or a blueprint is wrong.
    """
    catalogue = load_catalogue()
    sizes = NodeRange() if request.nodes is None else node_range(request.nodes)
    accelerators, instances = _listed("--accelerators", request.accelerators), _listed("--instances", request.instances)
    ids, lonely = chosen_ids(catalogue, accelerators=accelerators, instances=instances)
    found = scenarios(request.sources, request.vary, request.set_values, catalogue)
    asked: list[Question] = []
    missing: list[NotSized] = []
    for scenario in found:
        more, without = questions(scenario, catalogue, ids, sizes, facts(reach).book)
        asked += more
        missing += [*without, *without_node_type(scenario, lonely)]
        if len(asked) > MOST_FRONTS:
            raise InputError(
                f"the sweep comes to more than {MOST_FRONTS:,} fronts",
                help="vary fewer values, or name fewer node types, and sweep in parts",
            )
    return Space(scenarios=found, questions=tuple(asked), not_sized=tuple(missing))


def answered(
    space: Space, *, jobs: int | None = None, dask: str | None = None, done: Callable[[int], None] = lambda _: None
) -> SweepResult:
    """Answer every question, and put the answers together.

    Args:
        space: from `space_of`.
        jobs: processes; None for as many as there are cores and work for.
        dask: address of a Dask scheduler that answers instead.
        done: called with how many questions are answered.

    Raises:
        InputError: a scenario is a service, whose points are others.
    """
    other = next((entry.name for entry in space.scenarios if entry.blueprint.workload.kind != "train"), None)
    if other is not None:
        raise InputError(
            f"{other}: services are swept by the command alone", help="clusterwright sweep BLUEPRINT --json has all"
        )
    answers = run(space.questions, jobs=jobs, dask=dask, done=done, reach=reach)
    return SweepResult(
        record=gathered(space.scenarios, answers, space.not_sized, catalogue=load_catalogue().version, reach=reach)
    )


def _listed(option: str, given: Sequence[str]) -> list[str]:
    """Return the names of an option that may be repeated and may hold several, separated by commas."""
    names = [name.strip() for text in given for name in text.split(",")]
    if given and not all(names):
        raise InputError(f"{option} has an empty name", help=f"for example {option} h100,b200")
    return names
