"""The command that writes a plan as another tool's file."""

import os
import sys
from pathlib import Path

from clusterwright.blueprint.load import load
from clusterwright.blueprint.schema import Blueprint
from clusterwright.cli.answer import exit_code
from clusterwright.cli.planning import planned
from clusterwright.cli.written.write import without_failures
from clusterwright.errors import InputError
from clusterwright.outputs.exports.focus_columns import VERSION
from clusterwright.outputs.exports.formats import FORMATS

FOCUS = "focus"


def export(
    path: Path,
    to: str,
    on: str | None,
    output: Path | None,
    set_values: list[str] | None,
    *,
    begin: str | None,
    force: bool,
) -> int:
    """Print or write one cloud's plan as another tool's file; return the exit code.

    Raises:
        InputError: there is no such tool, no target that it deploys to, or a file that is in the way.
    """
    if to == FOCUS:
        return _focus(path, on, output, set_values, begin=begin, force=force)
    if begin is not None:
        raise InputError(f"--begin has no effect on an export for {to}", help="give it with --to focus")
    if to not in FORMATS:
        raise InputError(f"there is no export {to!r}", help=f"one of {', '.join((*FORMATS, FOCUS))}")
    target = on or _only_target(load(path, tuple(set_values or ())).blueprint, to)
    made = without_failures(path, set_values, target)
    content = made.export(to, made.options[0].target)
    if output is None:
        print(content, end="")
        return exit_code(made, money=False)
    _write(output, content, force=force)
    print(f"{output}: written for {FORMATS[to].tool}")
    return exit_code(made, money=False)


def _focus(
    path: Path, on: str | None, output: Path | None, set_values: list[str] | None, *, begin: str | None, force: bool
) -> int:
    """Print or write what the plan will be billed as FOCUS rows: CSV, or Parquet where the file's name says so."""
    from clusterwright.outputs.exports.focus import focus_csv, write_focus_parquet
    from clusterwright.units import day_of

    first = None if begin is None else day_of(begin)
    # All targets are planned even if one is asked for: what the horizon costs depends on what all of them do.
    made = planned(path, set_values)
    plan = made.plan
    if on is not None and plan.option(on) is None:
        raise InputError(f"the plan has no option {on!r}", help=f"one of {', '.join(o.target for o in plan.options)}")
    every = made.focus(begin=first)
    rows = tuple(row for row in every if on is None or row["SubAccountId"] == f"{plan.cluster.name}-{on}")
    for option in plan.options:
        if option.money.missing and on in (None, option.target):
            names = ", ".join(entry.sku for entry in option.money.missing)
            print(f"{option.target} has no rows: no price of {names}", file=sys.stderr)
    if output is None:
        print(focus_csv(rows), end="")
        return exit_code(made)
    if output.suffix == ".parquet":
        _refuse_folder(output)
        if output.exists() and not force:
            raise InputError(f"{output} exists", help="choose another name, or --force to replace it")
        output.parent.mkdir(parents=True, exist_ok=True)
        write_focus_parquet(rows, output)
    else:
        _write(output, focus_csv(rows), force=force)
    print(f"{output}: {len(rows):,} rows of FOCUS {VERSION}")
    return exit_code(made)


def _only_target(blueprint: Blueprint, to: str) -> str:
    possible = [cloud for cloud in FORMATS[to].clouds if getattr(blueprint.targets, cloud) is not None]
    if len(possible) == 1:
        return possible[0]
    if possible:
        raise InputError(f"the blueprint has {len(possible)} targets for {to}", help=f"add --on {possible[0]}")
    clouds = " or ".join(FORMATS[to].clouds)
    raise InputError(f"{FORMATS[to].tool} deploys to {clouds}, which the blueprint does not target")


def _refuse_folder(output: Path) -> None:
    if output.is_dir():
        raise InputError(f"{output} is a folder", help=f"name a file, for example -o {output / 'cluster.yaml'}")


def _write(output: Path, content: str, *, force: bool) -> None:
    _refuse_folder(output)
    if output.exists() and not force and output.read_text(encoding="utf-8", errors="replace") != content:
        raise InputError(f"{output} exists with other content", help="choose another name, or --force to replace it")
    output.parent.mkdir(parents=True, exist_ok=True)
    beside = output.with_name(f".{output.name}.new")
    beside.write_text(content, encoding="utf-8")
    os.replace(beside, output)  # noqa: PTH105 - atomic where rename is
