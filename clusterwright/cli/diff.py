"""diff: what changed between two blueprints, plans or revisions, as text, JSON or Markdown for a pull request."""

import json
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path

from clusterwright.cli.answer import load_and_decide
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.plan.differences import Change, Differences, TargetChange, differences
from clusterwright.plan.record import Plan
from clusterwright.plan.words import NAME_OF_TARGET, money

_MOST = 8


def diff(before: str, after: str, *, as_json: bool, markdown: bool) -> int:
    """Print what changed from one plan to another; return the exit code.

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
    found = differences(_plan(before), _plan(after), (before, after))
    if as_json:
        told = {"schema": 1, "same": found.same, **asdict(found)}
        print(json.dumps(told, indent=1, allow_nan=False))  # noqa: T201 - the result
    else:
        print(_markdown(found) if markdown else _text(found))  # noqa: T201
    return EXIT_FINE


def _plan(name: str) -> Plan:
    path = Path(name)
    if ":" in name and not path.exists():
        return _of_revision(name)
    return plan_of_file(path)


def plan_of_file(path: Path) -> Plan:
    """Return the plan of a blueprint, or the one that a `plan.json` holds.

    Raises:
        InputError: the file cannot be read, or holds neither.
    """
    if path.suffix != ".json":
        return load_and_decide(path, None)[1]
    from clusterwright.plan.document import loads

    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _of_revision(name: str) -> Plan:
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
        return plan_of_file(written)


def _value(change: Change, which: str) -> str:
    value = getattr(change, which)
    if value is None:
        return "none"
    if isinstance(value, str | bool):
        return str(value)
    if change.unit == "USD":
        return money(value) if abs(value) >= 100 else f"${value:,.4g}"  # noqa: PLR2004 - unit prices keep their digits
    if change.unit == "share":
        return f"{value * 100:.1f} %"
    return f"{value:,.6g}"


def _delta(change: Change) -> str:
    if change.delta is None:
        return ""
    before = float(change.before or 0.0)
    signed = Change(name="", unit=change.unit, before=0.0, after=abs(change.delta))
    share = f" ({change.delta / abs(before):+.1%})" if before and change.unit != "share" else ""
    return f"{'+' if change.delta > 0 else '−'}{_value(signed, 'after')}{share}"


def _line(change: Change) -> str:
    delta = _delta(change)
    name = change.name.replace("_", " ")
    return f"{name}: {_value(change, 'before')} → {_value(change, 'after')}{'  ' + delta if delta else ''}"


def _groups(found: Differences) -> list[tuple[str, tuple[Change, ...]]]:
    groups = [("Inputs", found.inputs), ("Assumptions", found.assumptions)]
    for entry in found.targets:
        groups.append((_title(entry), entry.figures))
        groups += [(f"{NAME_OF_TARGET[entry.target]}: dollars of the horizon by category", entry.categories[:_MOST])]
        groups += [(f"{NAME_OF_TARGET[entry.target]}: bill, first {_MOST}", entry.lines[:_MOST])]
    groups.append(("Breakeven", found.breakevens))
    return [(title, changes) for title, changes in groups if changes]


def _title(entry: TargetChange) -> str:
    name = NAME_OF_TARGET[entry.target]
    return name if entry.presence == "both" else f"{name} ({entry.presence})"


def _text(found: Differences) -> str:
    lines = [f"{found.before} → {found.after}"]
    if found.same:
        return f"{lines[0]}: nothing changed"
    for title, changes in _groups(found):
        lines += ["", f"  {title}", *(f"    {_line(change)}" for change in changes)]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return text that stays one cell of a Markdown table and no markup: names may come from anyone's blueprint."""
    plain = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#!|~@" else letter for letter in text)
    return " ".join(plain.split())


def _markdown(found: Differences) -> str:
    lines = [f"### Cost of {_cell(found.before)} → {_cell(found.after)}"]
    if found.same:
        return f"{lines[0]}\n\nNothing changed."
    for title, changes in _groups(found):
        lines += ["", f"**{_cell(title)}**", "", "| what | before | after | change |", "|---|---:|---:|---:|"]
        lines += [
            f"| {_cell(change.name.replace('_', ' '))} | {_cell(_value(change, 'before'))} "
            f"| {_cell(_value(change, 'after'))} | {_cell(_delta(change))} |"
            for change in changes
        ]
    return "\n".join(lines)
