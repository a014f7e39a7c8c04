"""The command that looks at everything: the front of each node type, for one blueprint or many, with costs."""

import json
import sys
from pathlib import Path

from clusterwright.cli.planning import progress_display
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.interface.sweeping import Request, Space, answered, space_of


def sweep(
    request: Request,
    *,
    jobs: int | None,
    dask: str | None,
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
    asked = len(space.questions)
    with progress_display(quiet=quiet or as_json) as progress:
        swept = answered(
            space, jobs=jobs, dask=dask, done=lambda count: progress(f"sized {count:,} of {asked:,} fronts")
        )
    result = swept.record
    if as_json:
        print(json.dumps(swept.to_dict(), indent=1, allow_nan=False))  # noqa: T201 - the result
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
