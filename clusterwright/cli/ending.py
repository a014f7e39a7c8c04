"""How the command line ends: errors as people read them, exit codes, and a reader of the output who has enough."""

import os
import sys
from collections.abc import Callable
from typing import Any

from typer.core import TyperGroup

from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_BUG, ClusterwrightError, RuleError

#: How lines begin that are words of ours.
_MESSAGES = ("error", "warning", "help:")


class ReaderGoneError(Exception):
    """Whoever read our output has enough, as in `| head`."""


class Commands(TyperGroup):
    """The commands; ends quietly when the reader of the output goes away, which typer would call a failure."""

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


def show_line(message: str) -> None:
    """Print a message to stderr."""
    print(_on_terminal(message), file=sys.stderr)  # noqa: T201 - diagnostics


def _on_terminal(text: str) -> str:
    """Return messages within the width of the terminal; in a log one line each, and lines of a file as they are."""
    if not (sys.stderr.isatty() or os.environ.get("COLUMNS")):
        return text
    return "\n".join(fitted(line) if line.lstrip().startswith(_MESSAGES) else line for line in text.split("\n"))


def run_to_the_end(program: Callable[[], object], *, debug: bool) -> None:
    """Run a program; turn what it raises into words on stderr and an exit code.

    Args:
        program: the command line.
        debug: let errors through as they are.
    """
    try:
        program()
    except ClusterwrightError as error:
        if debug:
            raise
        show_error(error)
        sys.exit(error.exit_code)
    except ReaderGoneError:
        # What is still in the buffer goes nowhere; else Python complains about it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # last resort: any bug ends in a sentence
        if debug:
            raise
        print(  # noqa: T201
            f"error: this is a bug in Clusterwright: {type(error).__name__}: {error}\n"
            "  help: run again with --debug and report what it prints",
            file=sys.stderr,
        )
        sys.exit(EXIT_BUG)
