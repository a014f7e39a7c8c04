"""The page of commands: what `--help` prints of each, by what it is for."""

from collections.abc import Iterator
from typing import Any

import typer

from clusterwright.cli.main import app
from clusterwright.cli.render.help_text import GROUPS
from clusterwright.documentation.markdown import page

_WIDTH = 100
_INTRODUCTION = """
Every command with its arguments, options and an example, as `clusterwright COMMAND --help` prints it.

Exit codes are the same everywhere: 0 fine, 1 a rule failed (the job does not fit, misses its goal, or is over budget),
2 bad input, 3 a fact or price is missing, 70 a bug in Clusterwright. Commands that answer take `--json`; commands that
plan a blueprint take `--set path=value`, and `-` as a blueprint reads standard input. `NO_COLOR` turns colour off.
"""


def commands_page() -> str:
    """Return the page."""
    root: Any = typer.main.get_command(app)
    root.context_settings = {**root.context_settings, "max_content_width": _WIDTH, "terminal_width": _WIDTH}
    parts = []
    for group, names in GROUPS.items():
        parts.append(f"## {group}")
        for name in names:
            parts += _texts(root.commands[name], ("clusterwright", name))
    return page("Commands", _INTRODUCTION, *parts)


def _texts(command: Any, path: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 - click's own
    context = _context(path)
    text = command.get_help(context)
    yield f"### {' '.join(path[1:])}\n\n```text\n{text.rstrip()}\n```"
    for name, below in sorted(getattr(command, "commands", {}).items()):
        if not below.hidden:
            yield from _texts(below, (*path, name))


def _context(path: tuple[str, ...]) -> Any:  # noqa: ANN401 - click's own
    """Return the context of a command below its groups, whose names its usage line has."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("clusterwright", [], resilient_parsing=True, terminal_width=_WIDTH)
    for name in path[1:]:
        command = command.commands[name]
        context = typer.Context(
            command, parent=context, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH
        )
    return context
