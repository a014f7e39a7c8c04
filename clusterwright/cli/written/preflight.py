"""The command preflight: check a generated project, or what a blueprint would generate, before `pulumi up`."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.checks.preflight.results import ORDER, Result, counts
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.table import BY_ID, CREDENTIALS, NOTHING
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.feeds.object_storage import reach
from clusterwright.plan.text.money import USD


def preflight(
    path: Path,
    *,
    on: str,
    stack: str | None,
    set_values: list[str] | None,
    online: bool,
    as_json: bool,
    every: bool,
    python: Path | None = None,
    run: bool = True,
) -> int:
    """Check a project or a blueprint; return 1 if a check failed, else 0.

    Args:
        path: folder of a project, or a blueprint.
        on: of a blueprint, which cloud, or `all`.
        stack: of a project, which stack, where there are several.
        set_values: of a blueprint, values to replace.
        online: ask the provider too, read-only.
        as_json: print JSON.
        every: also print checks that passed.
        python: of a project, interpreter of an environment with its SDKs; `.venv` of the project by default.
        run: of a project, run its program, as `pulumi preview` does, but without a login and against a stand-in.
    """
    from clusterwright.checks.preflight.offline import offline

    subjects = (
        _of_project(path, on, stack, set_values, python=python, run=run)
        if path.is_dir()
        else _of_blueprint(path, on, stack, set_values)
    )
    results: list[Result] = []
    for subject in subjects:
        results += offline(subject)
        if online:
            from clusterwright.checks.preflight.online import online as ask_the_provider

            results += ask_the_provider(subject)
    if as_json:
        print(json.dumps(_document(path, results, online=online), indent=1))
    else:
        print(fitted(_text(path, subjects, results, online=online, every=every)))
    return EXIT_RULE_FAILED if counts(results)["FAIL"] else EXIT_FINE


def _of_project(
    path: Path, on: str, stack: str | None, set_values: list[str] | None, *, python: Path | None, run: bool
) -> tuple[Subject, ...]:
    from clusterwright.checks.preflight.files.reading import read_project
    from clusterwright.checks.preflight.judging import Recorded, recorded_project
    from clusterwright.checks.preflight.recording import Recording
    from clusterwright.outputs.folder import MANIFEST
    from clusterwright.pricing.book import PriceBook

    if set_values or on != "all":
        raise InputError("--set and --on are for blueprints", help="of a project, edit or set its configuration")
    project = read_project(path, manifest=MANIFEST, stack=stack)
    not_run = Recording(missing="--no-run was given", fix="leave --no-run out")
    recorded = (
        recorded_project(project, path, python=python)
        if run
        else Recorded(recording=not_run, folder=path, cloud=project.cloud)
    )
    return (Subject(project=project, catalogue=load_catalogue(), book=PriceBook.open(reach=reach), recorded=recorded),)


def _of_blueprint(path: Path, on: str, stack: str | None, set_values: list[str] | None) -> tuple[Subject, ...]:
    from clusterwright.checks.preflight.files.blueprints import placing, relocation
    from clusterwright.checks.preflight.files.project import project_of
    from clusterwright.cli.planning import planned
    from clusterwright.outputs.project.stack import stack_files

    if stack is not None:
        raise InputError("--stack is for projects", help="a blueprint has one stack, named as its cluster")
    made = planned(path, set_values, on)
    loaded, plan, catalogue = made.blueprint, made.plan, made.facts.catalogue
    subjects = []
    for option in plan.options:
        if option.design.facility is not None:
            continue
        files = stack_files(plan, option, catalogue, USD)
        text = {name: file.content.decode("utf-8", "replace") for name, file in files.items()}
        project = project_of("", text, relocated=relocation(loaded, option.target))
        place_of = placing(loaded)
        subjects.append(
            Subject(
                project=project,
                catalogue=catalogue,
                book=made.facts.book,
                plan=plan,
                option=option,
                place_of=place_of,
            )
        )
    if not subjects:
        raise InputError(f"{path} has no cloud to check", help="add targets.aws, targets.azure or targets.gcp")
    return tuple(subjects)


def _text(path: Path, subjects: Sequence[Subject], results: Sequence[Result], *, online: bool, every: bool) -> str:
    lines = []
    for subject in subjects:
        own = [result for result in results if result.cloud == subject.cloud]
        lines += [f"{path} on {subject.cloud} ({subject.project.scheduler})", ""]
        shown = [result for result in own if every or result.outcome.status != "PASS"]
        rows = [row for group in _alike(shown) for row in _rows(group)]
        columns = [
            Column("Status", "left"),
            Column("Check", "left", drop=0),
            Column("What", "left", drop=3),
            Column("Found", "left", drop=0, prose=True),
        ]
        lines += [table(columns, rows), ""] if rows else []
        lines += _fixes(shown)
    lines.append(_closing(results, online=online))
    return "\n".join(lines)


def _alike(results: Iterable[Result]) -> list[list[Result]]:
    """Return results by status, those that say the same and have the same fix together."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in sorted(results, key=lambda result: ORDER.index(result.outcome.status)):
        said = (result.outcome.status, result.outcome.message, fix_of(result), result.outcome.place)
        groups.setdefault(said, []).append(result)
    return list(groups.values())


def _rows(group: Sequence[Result]) -> list[tuple[str, ...]]:
    first = group[0]
    checks = list(dict.fromkeys(result.check for result in group))
    if first.outcome.status == "PASS" or len(checks) == 1:
        return [(entry.outcome.status, entry.check, entry.title, entry.outcome.message) for entry in group]
    said = f"{first.outcome.message} ({', '.join(checks)})"
    return [(first.outcome.status, f"{len(checks)} checks", "", said)]


def _fixes(results: Sequence[Result]) -> list[str]:
    """Return what to do and where, each in a line of its own: no path is cut, and a terminal can open it."""
    lines = []
    for group in _alike(result for result in results if result.outcome.status != "PASS"):
        checks = ", ".join(dict.fromkeys(result.check for result in group))
        lines.append(f"  {checks}  {fix_of(group[0])}")
        if place := group[0].outcome.place:
            lines.append(f"    --> {place}")
    return ["What to do", *dict.fromkeys(lines), ""] if lines else []


def fix_of(result: Result) -> str:
    """Return what to do about a result: its own words, else those of its check."""
    return result.outcome.fix or BY_ID[result.check].fix


def _closing(results: Sequence[Result], *, online: bool) -> str:
    found = ", ".join(f"{count} {status}" for status, count in counts(results).items() if count)
    asks = [check.id for check in BY_ID.values() if check.needs == CREDENTIALS]
    later = (
        f"\nNot asked: {', '.join(asks)} need read-only credentials of the provider: add --online "
        "(clusterwright docs preflight)"
        if asks and not online
        else ""
    )
    return f"{found}{later}"


def _document(path: Path, results: Sequence[Result], *, online: bool) -> dict[str, Any]:
    return {
        "schema": 1,
        "path": str(path),
        "online": online,
        "counts": counts(results),
        "results": [_entry(result) for result in results],
        "not_asked": [] if online else [check.id for check in BY_ID.values() if check.needs != NOTHING],
    }


def _entry(result: Result) -> dict[str, Any]:
    outcome, place = result.outcome, result.outcome.place
    return {
        "check": result.check,
        "title": result.title,
        "cloud": result.cloud,
        "status": outcome.status,
        "message": outcome.message,
        "fix": "" if outcome.status == "PASS" else fix_of(result),
        "rule": outcome.rule or None,
        "file": place.file if place else None,
        "line": place.line or None if place else None,
        "column": place.column or None if place else None,
    }
