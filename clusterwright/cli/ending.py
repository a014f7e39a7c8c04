"""How the command line ends: errors as people read them, exit codes, and a reader of the output who has enough."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

from typer.core import TyperGroup

from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.cli.render.help_text import GROUPS
from clusterwright.cli.render.terminal import columns_of_text, line_width
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_BUG, ClusterwrightError, RuleError

#: Characters of a command's first line of help, which is wrapped and not cut.
_WHOLE_LINE = 500
#: How lines begin that are words of ours.
_MESSAGES = ("error", "warning", "help:")
#: A line of a file, and the line below it that marks the place.
_SOURCE, _CARET = re.compile(r" *\d+ \| "), re.compile(r" +\|  *\^+")


class ReaderGoneError(Exception):
    """Whoever read our output has enough, as in `| head`."""


class Commands(TyperGroup):
    """The commands; ends quietly when the reader of the output goes away, which typer would call a failure."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the commands by what they are for; the width of the first column is that of all."""
        del ctx
        known = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, known))
        for title, names in GROUPS.items():
            rows = [(name.ljust(width), known[name].get_short_help_str(_WHOLE_LINE)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own context
        """Run the command and hand everything to the reader."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderGoneError from None


def show_error(error: ClusterwrightError) -> None:
    """Print an error to stderr: what is wrong, where, what to do."""
    render = getattr(error, "render", None)
    if render is not None:
        lines = [render()]
    elif isinstance(error, RuleError):
        lines = [f"error[{finding.id}]: {finding.message}\n  help: {finding.help}" for finding in error.findings]
    else:
        lines = [f"error: {error.message}"] + ([f"  help: {error.help}"] if error.help else [])
    show_line("\n".join(lines))


def _show_as_asked(error: ClusterwrightError) -> None:
    """Print an error to stderr, and as JSON to stdout for who asked for JSON."""
    if "--json" in sys.argv[1:]:
        print(json.dumps(error_document(error), indent=1))
        sys.stdout.flush()
    show_error(error)


def error_document(error: ClusterwrightError) -> dict[str, Any]:
    """Return an error as JSON holds it: a sentence, what to do, and each problem with its place."""
    if isinstance(error, BlueprintError):
        found = error.problems
    elif isinstance(error, RuleError):
        found = tuple(
            Problem(id=item.id, path=item.path, message=item.message, help=item.help) for item in error.findings
        )
    else:
        found = ()
    return {
        "schema": 1,
        "error": error.message,
        "help": error.help or "",
        "exit_code": error.exit_code,
        "problems": [problem.to_dict() for problem in found],
    }


def show_line(message: str) -> None:
    """Print a message to stderr."""
    print(_on_terminal(message), file=sys.stderr)


def _on_terminal(text: str) -> str:
    """Return messages and lines of a file within the width of the terminal; in a log one line each, as they are."""
    if not (sys.stderr.isatty() or os.environ.get("COLUMNS")):
        return text
    lines = text.split("\n")
    for place, (source, caret) in enumerate(pairwise(lines)):
        if _SOURCE.match(source) and _CARET.fullmatch(caret):
            lines[place : place + 2] = _around_caret(source, caret)
    return "\n".join(fitted(line) if line.lstrip().startswith(_MESSAGES) else line for line in lines)


def _around_caret(source: str, caret: str) -> tuple[str, str]:
    """Return a line of a file and the caret below it, cut to the part around the caret that the terminal has room for.

    A quarter of the room is for what is before the caret.
    """
    gutter = source.index("| ") + 2
    text, first, marked = source[gutter:], caret.index("^") - gutter, caret.count("^")
    room = width = line_width() - gutter
    shown = text
    while columns_of_text(shown) > width:
        room -= 1
        start = max(0, min(first - room // 4, len(text) - room))
        before, after = "…" * (start > 0), "…" * (start + room < len(text))
        shown = f"{before}{text[start : start + room]}{after}"
        column = first - start + len(before)
        caret = caret[:gutter] + " " * column + "^" * max(1, min(marked, len(shown) - len(after) - column))
    return source[:gutter] + shown, caret


def run_to_the_end(program: Callable[[], object], *, debug: bool) -> None:
    """Run a program; turn what it raises, and signals to end, into words on stderr and an exit code.

    Args:
        program: the command line.
        debug: let errors through as they are.
    """
    received: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    # Ended from outside, a command still removes its temporary files and what it has half written.
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, end)
    try:
        program()
    except ClusterwrightError as error:
        if debug:
            raise
        _show_as_asked(error)
        sys.exit(error.exit_code)
    except ReaderGoneError:
        # What is still in the buffer goes nowhere; else Python complains about it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # last resort: any bug ends in a sentence
        if received:
            # DuckDB makes an error of its own of what a signal raises during a query.
            sys.exit(128 + received[-1])
        if debug:
            raise
        print(
            f"error: this is a bug in Clusterwright: {type(error).__name__}: {error}\n"
            "  help: run again with --debug and report what it prints",
            file=sys.stderr,
        )
        sys.exit(EXIT_BUG)
