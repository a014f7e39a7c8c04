"""diff: what changed between two blueprints, plans or revisions, as text, JSON or Markdown for a pull request."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TypeAlias

from clusterwright import interface
from clusterwright.cli.planning import planned
from clusterwright.cli.render.diff import markdown_text, plain_text, verdict
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.interface.results import PlanResult
from clusterwright.plan.record import Plan
from clusterwright.plan.text.currency import with_currency
from clusterwright.plan.text.money import MoneyFormat


def diff(before: str, after: str, *, as_json: bool, markdown: bool) -> int:
    """Print what changed from one plan to another, both in the currency of the second; return the exit code.

    Args:
        before: a blueprint, a `plan.json`, or `REVISION:path` of either in the git repository around.
        after: the same.
        as_json: print JSON.
        markdown: print Markdown, for a comment of a pull request.

    Raises:
        InputError: one of the two cannot be read, or both forms are asked for.
    """
    if as_json and markdown:
        raise InputError("--json and --markdown exclude each other", help="ask for one of them")
    mine, theirs = _read(before), _read(after)
    found = interface.diff(mine, theirs, names=(before, after))
    currency = _plan(theirs).currency
    if as_json:
        print(json.dumps(with_currency(found.to_dict(), currency), indent=1, allow_nan=False))
        return EXIT_FINE
    changes, why, unit = found.changes, found.causes, _plan(theirs).workload.unit
    money = MoneyFormat(currency=currency)
    if markdown:
        answers = verdict(_plan(mine), _plan(theirs), money)
        print(markdown_text(changes, why, unit, money, answers=answers))
    else:
        print(fitted(plain_text(changes, why, unit, money)))
    return EXIT_FINE


#: What one side is: the result of a blueprint, or a plan that was read as `plan.json`.
_Side: TypeAlias = PlanResult | Plan


def _plan(side: _Side) -> Plan:
    return side.plan if isinstance(side, PlanResult) else side


def _read(name: str) -> _Side:
    path = Path(name)
    if ":" in name and not path.exists():
        return _of_revision(name)
    return _of_file(path, name)


def plan_of_file(path: Path) -> Plan:
    """Return the plan of a blueprint, or the one that a `plan.json` holds.

    Raises:
        InputError: the file cannot be read, or holds neither.
    """
    return _plan(_of_file(path, str(path)))


def _of_file(path: Path, name: str) -> _Side:
    if path.suffix != ".json":
        return planned(path, None)
    from clusterwright.plan.document import loads

    try:
        return loads(path.read_text(encoding="utf-8"), file=name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _of_revision(name: str) -> _Side:
    revision, _, path = name.partition(":")
    try:
        shown = subprocess.run(  # noqa: S603 - no shell; git takes what follows as a name
            ["git", "show", "--end-of-options", f"{revision}:./{path}"],  # noqa: S607 - the user's own git
            capture_output=True,
            check=False,
        )
    except OSError:
        raise InputError("git cannot be started", help="install git, or name two files") from None
    if shown.returncode:
        told = (shown.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
        raise InputError(
            f"{name} is no file, and git does not know it as a revision's file: {told}",
            help="name a file, or REVISION:path from this folder, for example main:blueprint.yaml",
        )
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / Path(path).name
        written.write_bytes(shown.stdout)
        return _of_file(written, name)
