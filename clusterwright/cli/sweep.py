"""The command that looks at everything: the front of each node type, for one blueprint or many, with costs."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import progress_display
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.sweep.fronts import facts, gathered
from clusterwright.sweep.records import NotSized, Question, Scenario, Sweep
from clusterwright.sweep.run import run
from clusterwright.sweep.space import NodeRange, chosen_ids, node_range, questions, scenarios, without_node_type

#: A front holds about 30 points of 1 kB each; with this many a sweep stays within 1 GB.
MOST_FRONTS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is swept over, as the command line gives it."""

    blueprints: Sequence[Path]
    set_values: Sequence[str] = ()
    vary: Sequence[str] = ()
    accelerators: Sequence[str] = ()
    instances: Sequence[str] = ()
    nodes: str | None = None
    jobs: int | None = None
    dask: str | None = None


def sweep(
    request: Request,
    *,
    as_json: bool,
    every: bool,
    parquet: Path | None,
    chart: Path | None,
    force: bool,
    quiet: bool,
) -> int:
    """Print a sweep and write its files; return 0, or 1 if nothing could be sized."""
    for path in (parquet, chart):
        _check_writable(path, force=force)
    space = space_of(request)
    if chart is not None:
        check_lines(space)
    result = answered(space, request, quiet=quiet or as_json)
    if as_json:
        from clusterwright.sweep.document import document

        print(json.dumps(document(result), indent=1, allow_nan=False))  # noqa: T201 - the result
    else:
        from clusterwright.cli.render.sweep import sweep_text

        print(sweep_text(result, every=every))  # noqa: T201
    if parquet is not None:
        from clusterwright.sweep.document import rows
        from clusterwright.tco.parquet import write_swept_points

        write_swept_points(rows(result), parquet)
        _say(parquet)
    if chart is not None:
        from clusterwright.outputs.drawing.sweep_chart import sweep_chart

        _write_text(chart, sweep_chart(result))
        _say(chart)
    return EXIT_FINE if result.points else EXIT_RULE_FAILED


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """What a request comes to: scenarios, questions, and what is known not to be sizable before any is asked."""

    scenarios: tuple[Scenario, ...]
    questions: tuple[Question, ...]
    not_sized: tuple[NotSized, ...]


def space_of(request: Request) -> Space:
    """Check what is asked; nothing is computed here.

    Raises:
        InputError: a name, a path, a range or a blueprint is wrong.
    """
    catalogue = load_catalogue()
    sizes = NodeRange() if request.nodes is None else node_range(request.nodes)
    accelerators, instances = _listed("--accelerators", request.accelerators), _listed("--instances", request.instances)
    ids, lonely = chosen_ids(catalogue, accelerators=accelerators, instances=instances)
    found = scenarios(request.blueprints, request.vary, request.set_values, catalogue)
    asked: list[Question] = []
    missing: list[NotSized] = []
    for scenario in found:
        more, without = questions(scenario, catalogue, ids, sizes, facts().book)
        asked += more
        missing += [*without, *without_node_type(scenario, lonely)]
        if len(asked) > MOST_FRONTS:
            raise InputError(
                f"the sweep comes to more than {MOST_FRONTS:,} fronts",
                help="vary fewer values, or name fewer node types, and sweep in parts",
            )
    return Space(scenarios=found, questions=tuple(asked), not_sized=tuple(missing))


def check_lines(space: Space) -> None:
    """Refuse a chart of more lines than can be told apart, before the work.

    Raises:
        InputError: there are more.
    """
    from clusterwright.outputs.drawing.sweep_chart import MOST_LINES

    lines = {(question.scenario.label, question.place.node.accelerator.id) for question in space.questions}
    if len(lines) > MOST_LINES:
        raise InputError(
            f"a chart of {len(lines)} lines cannot be read", help="choose some with --accelerators or --instances"
        )


def answered(space: Space, request: Request, *, quiet: bool = True) -> Sweep:
    """Answer every question where the request says, and put the answers together."""
    asked = space.questions
    with progress_display(quiet=quiet) as progress:
        answers = run(
            asked,
            jobs=request.jobs,
            dask=request.dask,
            done=lambda count: progress(f"sized {count:,} of {len(asked):,} fronts"),
        )
    return gathered(space.scenarios, answers, space.not_sized, catalogue=load_catalogue().version)


def _listed(option: str, given: Sequence[str]) -> list[str]:
    """Return the names of an option that may be repeated and may hold several, separated by commas."""
    names = [name.strip() for text in given for name in text.split(",")]
    if given and not all(names):
        raise InputError(f"{option} has an empty name", help=f"for example {option} h100,b200")
    return names


def _check_writable(path: Path | None, *, force: bool) -> None:
    if path is None:
        return
    try:
        is_folder, exists, has_folder = path.is_dir(), path.exists(), path.parent.is_dir()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if is_folder:
        raise InputError(f"{path} is a folder", help="name a file")
    if exists and not force:
        raise InputError(f"{path} exists", help="name another file, or replace it with --force; nothing was changed")
    if not has_folder:
        raise InputError(f"there is no folder {path.parent}", help="create it first")


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _say(path: Path) -> None:
    print(f"wrote {path}", file=sys.stderr)  # noqa: T201 - diagnostics
