"""The command that looks at everything: the front of each node type, for one blueprint or many, with costs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import progress_display
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.feeds.object_storage import reach
from clusterwright.interface.sweeping import Request, Space, answered, space_of
from clusterwright.sweep.fronts import facts

if TYPE_CHECKING:
    from clusterwright.plan.text.money import MoneyFormat


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
    kinds = {scenario.blueprint.workload.kind for scenario in space.scenarios}
    if kinds == {"serve"}:
        return _services(space, as_json=as_json, every=every, files=(parquet, chart))
    if len(kinds) > 1:
        raise InputError(
            f"{' and '.join(sorted(kinds))} are not swept together: their points have nothing in common",
            help="sweep each kind for itself",
        )
    if chart is not None:
        check_lines(space)
    asked = len(space.questions)
    with progress_display(quiet=quiet or as_json) as progress:
        swept = answered(
            space, jobs=jobs, dask=dask, done=lambda count: progress(f"sized {count:,} of {asked:,} fronts")
        )
    result = swept.record
    if as_json:
        print(json.dumps(swept.to_dict(), indent=1, allow_nan=False))
    else:
        from clusterwright.cli.render.sweep import sweep_text

        print(sweep_text(result, every=every, money=_money(space, result.as_of)))
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


def _money(space: Space, as_of: Sequence[str]) -> "MoneyFormat":
    """Return how money is written: in the currency of the blueprints, each with the rate of its day of prices."""
    from clusterwright.plan.currency import currency_of
    from clusterwright.plan.text.currency import money_of_all

    book = facts(reach).book
    return money_of_all(
        currency_of(entry.blueprint.tco.currency, day, book) for entry, day in zip(space.scenarios, as_of, strict=True)
    )


def _services(space: Space, *, as_json: bool, every: bool, files: tuple[Path | None, Path | None]) -> int:
    """Print a sweep of services, write its table and its chart; return 0, or 1 if nothing could be sized."""
    from clusterwright.cli.render.sweep_services import services_text
    from clusterwright.sweep.services import services_document, swept_services

    parquet, chart = files
    if chart is not None:
        check_lines(space)
    points, found = swept_services(space.questions, reach)
    missing = (*space.not_sized, *found)
    newest = facts(reach).book.newest_day
    as_of = [(entry.blueprint.economics.as_of or newest).isoformat() for entry in space.scenarios]
    if as_json:
        made = services_document(points, missing, catalogue=load_catalogue().version, as_of=as_of)
        print(json.dumps(made, indent=1, allow_nan=False))
    else:
        print(services_text(space.scenarios, points, missing, as_of=as_of, every=every, money=_money(space, as_of)))
    if parquet is not None:
        from clusterwright.sweep.services import COLUMNS, services_rows
        from clusterwright.tco.parquet import write_typed_rows

        write_typed_rows(services_rows(points, missing), COLUMNS, parquet)
        _say(parquet)
    if chart is not None:
        from clusterwright.outputs.drawing.sweep_chart import service_chart

        _write_text(chart, service_chart(points))
        _say(chart)
    return EXIT_FINE if points else EXIT_RULE_FAILED


def check_lines(space: Space) -> None:
    """Refuse a chart of more lines than can be distinguished, before the work.

    Raises:
        InputError: there are more.
    """
    from clusterwright.outputs.drawing.sweep_chart import check_count

    lines = {(question.scenario.label, question.place.node.accelerator.id) for question in space.questions}
    check_count(len(lines))


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
    print(f"wrote {path}", file=sys.stderr)
