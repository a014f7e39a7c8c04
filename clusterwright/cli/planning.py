"""The plan that a command is about, and what the terminal shows while it is made."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterwright import interface
from clusterwright.blueprint.load import load_text
from clusterwright.blueprint.reading.document import MOST_BYTES
from clusterwright.interface.results import PlanResult
from clusterwright.plan.decide import Progress
from clusterwright.plan.record import Plan

#: In the place of a file.
STANDARD_INPUT = Path("-")
STANDARD_INPUT_NAME = "standard input"


def plan_of(path: Path, set_values: list[str] | None, on: str = "all", *, progress: Progress = lambda _: None) -> Plan:
    """Return the plan of a blueprint's file; arguments and errors as `planned`."""
    return planned(path, set_values, on, progress=progress).plan


def planned(
    path: Path,
    set_values: list[str] | None,
    on: str = "all",
    quotes: Path | None = None,
    rates: list[str] | None = None,
    *,
    progress: Progress = lambda _: None,
) -> PlanResult:
    """Load, check and decide.

    Args:
        path: the blueprint; `-` is standard input, whose other files are named as seen from here.
        set_values: `path=value` overrides.
        on: one target, or `all`.
        quotes: a file of a vendor's quotes.
        rates: exchange rates of the quotes.
        progress: called with what is being done.

    Raises:
        InputError: the file or a name in it is wrong; BlueprintError: the job fits nowhere.
    """
    if path == STANDARD_INPUT:
        loaded = load_text(standard_input_text(), tuple(set_values or ()), name=STANDARD_INPUT_NAME)
        return interface.plan(loaded, on=on, quotes=quotes, rates=rates or (), progress=progress)
    return interface.plan(path, on=on, overrides=set_values or (), quotes=quotes, rates=rates or (), progress=progress)


def standard_input_text() -> str:
    """Return what standard input holds, at most a little more than a blueprint may have."""
    return sys.stdin.buffer.read(MOST_BYTES + 1).decode(errors="replace")


def say_quotes(result: PlanResult) -> None:
    """Say how many lines of the bill were quoted, and by whom; nothing without quotes."""
    quoted = result.quotes
    if quoted is not None:
        vendors = ", ".join(dict.fromkeys(price.vendor for price in quoted.prices))
        lines = f"{len(quoted.rows)} of {len(quoted.table.rows)} lines"
        print(f"{quoted.table.name}: {lines} quoted by {vendors}; the others keep their prices")


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[Progress]:
    """Show on stderr what is being done, while it takes time; nothing if quiet or not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(file=sys.__stderr__).status("reading the blueprint") as status:
        yield status.update
