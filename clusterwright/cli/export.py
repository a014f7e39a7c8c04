"""The command that writes a plan as another tool's file."""

import os
from pathlib import Path

from clusterwright.blueprint.load import load
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.answer import exit_code
from clusterwright.cli.write import without_failures
from clusterwright.errors import InputError
from clusterwright.outputs.exports.formats import FORMATS, export_text


def export(
    path: Path, to: str, on: str | None, output: Path | None, set_values: list[str] | None, *, force: bool
) -> int:
    """Print or write one cloud's plan as another tool's file; return the exit code.

    Raises:
        InputError: there is no such tool, no target that it deploys to, or a file that is in the way.
    """
    if to not in FORMATS:
        raise InputError(f"there is no export {to!r}", help=f"one of {', '.join(FORMATS)}")
    target = on or _only_target(load(path, tuple(set_values or ())).blueprint, to)
    loaded, plan = without_failures(path, set_values, target)
    content = export_text(plan, plan.options[0], load_catalogue(), to)
    if output is None:
        print(content, end="")  # noqa: T201 - the result
        return exit_code(loaded, plan)
    _write(output, content, force=force)
    print(f"{output}: written for {FORMATS[to].tool}")  # noqa: T201
    return exit_code(loaded, plan)


def _only_target(blueprint: Blueprint, to: str) -> str:
    possible = [cloud for cloud in FORMATS[to].clouds if getattr(blueprint.targets, cloud) is not None]
    if len(possible) == 1:
        return possible[0]
    if possible:
        raise InputError(f"the blueprint has {len(possible)} targets for {to}", help=f"add --on {possible[0]}")
    clouds = " or ".join(FORMATS[to].clouds)
    raise InputError(f"{FORMATS[to].tool} deploys to {clouds}, which the blueprint does not target")


def _write(output: Path, content: str, *, force: bool) -> None:
    if output.is_dir():
        raise InputError(f"{output} is a folder", help=f"name a file, for example -o {output / 'cluster.yaml'}")
    if output.exists() and not force and output.read_text(encoding="utf-8", errors="replace") != content:
        raise InputError(f"{output} exists with other content", help="choose another name, or --force to replace it")
    output.parent.mkdir(parents=True, exist_ok=True)
    beside = output.with_name(f".{output.name}.new")
    beside.write_text(content, encoding="utf-8")
    os.replace(beside, output)  # noqa: PTH105 - atomic where rename is
