"""The commands of a blueprint with several workloads: plan, compare, check, report."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli.planning import progress_display
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.interface.sharing import SharedResult, plan_shared
from clusterwright.sharing.record import SharedPlan

if TYPE_CHECKING:
    from clusterwright.outputs.folder import File
    from clusterwright.plan.text.money import MoneyFormat


def refuse(given: dict[str, object]) -> None:
    """Refuse options that are of a plan of one workload.

    Raises:
        InputError: one of them is given.
    """
    for name, value in given.items():
        if value:
            raise InputError(f"{name} is of one workload", help=f"leave out {name}, or name the workload: FILE#NAME")


def plan(path: Path, set_values: list[str] | None, *, as_json: bool, quiet: bool) -> int:
    """Print the plan of a shared cluster; return the exit code."""
    with progress_display(quiet=quiet or as_json) as progress:
        made = plan_shared(path, overrides=tuple(set_values or ()), progress=progress)
    if as_json:
        print(json.dumps(document(made.plan), indent=1, allow_nan=False))
    else:
        from clusterwright.cli.render.sharing import shared_text

        print(shared_text(made.plan, str(path), _money(made)))
    return exit_code(made)


def report(path: Path, output: Path, set_values: list[str] | None, *, force: bool) -> int:
    """Write what sharing saves, and the cost report of each workload alone; return the exit code."""
    from clusterwright.outputs import folder

    made = plan_shared(path, overrides=tuple(set_values or ()))
    written = folder.write(output, report_files(made), force=force)
    what = "nothing changed" if written.changed == 0 else f"{written.changed} written"
    print(f"\n{written.folder}: {written.files} files, {what}")
    return exit_code(made)


def report_files(made: SharedResult) -> "dict[str, File]":
    """Return the page of the shared cluster, the same as JSON, and a folder with the report of each workload alone."""
    from clusterwright.cli.render.sharing import shared_markdown
    from clusterwright.outputs import folder
    from clusterwright.outputs.deliverables import report_files as files_of
    from clusterwright.plan.text.currency import money_as_asked

    files = {
        "sharing.md": folder.text(shared_markdown(made.plan, _money(made))),
        "sharing.json": folder.text(json.dumps(document(made.plan), indent=1, allow_nan=False)),
    }
    for name, result in made.alone.items():
        money = money_as_asked(result.plan)
        written = files_of(result.plan, result.facts, money=money)
        files |= {f"{name}/{file}": content for file, content in written.items()}
    return files


def _money(made: SharedResult) -> "MoneyFormat":
    from clusterwright.plan.text.currency import money_of_all

    return money_of_all(result.plan.currency for result in made.alone.values())


def exit_code(made: SharedResult) -> int:
    """Show failed rules on stderr at their places; return the exit code."""
    from clusterwright.cli.ending import show_error

    sys.stdout.flush()
    error = made.error
    if error is None:
        return EXIT_FINE
    show_error(error)
    return error.exit_code


def document(plan: SharedPlan) -> dict[str, Any]:
    """Return the plan of a shared cluster as JSON holds it."""
    from dataclasses import asdict

    best = plan.recommended
    options = [
        asdict(option) | {"saved_usd": option.saved_usd, "saved_share": option.saved_share} for option in plan.options
    ]
    return {
        "schema": 1,
        "kind": "shared",
        **asdict(plan),
        "options": options,
        "recommended": None if best is None else best.target,
    }
