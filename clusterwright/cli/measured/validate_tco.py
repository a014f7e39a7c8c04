"""The command that holds the cost engine against published calculations: validate tco."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.ending import show_error
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, ClusterwrightError, InputError
from clusterwright.feeds.object_storage import reach

if TYPE_CHECKING:
    from clusterwright.evidence.cost_cases.check import CheckedCase, Output


def tco(paths: Sequence[Path], *, every: bool, as_json: bool) -> int:
    """Run published cases and print their figures; return the exit code, 1 where a figure differs.

    A file that cannot be read, or is no case, is reported on stderr (and in JSON); the others are run.

    Args:
        paths: of the files; a folder stands for the `.yaml` files in it.
        every: show every figure, not only the expected ones.
        as_json: print JSON: of one file its document, of several a document of them all.

    Raises:
        InputError: a folder holds no case.
    """
    from clusterwright.evidence.cost_cases.check import check_case
    from clusterwright.pricing.book import PriceBook

    files = [file for path in paths for file in _files(path)]
    documents, worst, book = [], EXIT_FINE, PriceBook.open(reach=reach)
    for number, path in enumerate(files):
        try:
            checked = check_case(path, book)
        except ClusterwrightError as error:
            show_error(error)
            worst = max(worst, error.exit_code)
            documents.append({"file": str(path), "errors": _errors(error), "ok": False})
            continue
        worst = max(worst, EXIT_FINE if checked.ok else EXIT_RULE_FAILED)
        documents.append(({"file": str(path)} if len(files) > 1 else {}) | _document(checked, every=every))
        if not as_json:
            print(("\n" if number else "") + fitted(_text(checked, every=every)))
    good = sum(bool(document["ok"]) for document in documents)
    if as_json:
        whole = documents[0] if len(files) == 1 else {"cases": documents, "ok": good == len(files)}
        print(json.dumps({"schema": 1} | whole, indent=1, allow_nan=False))
    elif len(files) > 1:
        print(f"\n{good} of {len(files)} cases reproduced")
    return worst


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted({*path.glob("*.yaml"), *path.glob("*.yml")})
    if not found:
        raise InputError(f"{path} holds no .yaml file", help="clusterwright docs tco-cases shows a whole case")
    return found


def _errors(error: ClusterwrightError) -> list[dict[str, Any]]:
    """Return what is wrong with a file, with line and column where it is a place in it."""
    if not isinstance(error, BlueprintError):
        return [{"message": error.message, "help": error.help, "line": None, "column": None}]
    return [
        {
            "message": problem.message,
            "help": problem.help,
            "line": problem.position.line if problem.position else None,
            "column": problem.position.column if problem.position else None,
        }
        for problem in error.problems
    ]


def _document(checked: "CheckedCase", *, every: bool) -> dict[str, Any]:
    return {
        "case": checked.case,
        "source": checked.source,
        "hours_per_month": checked.hours_per_month,
        "outputs": {name: asdict(output) for name, output in checked.outputs.items()},
        **({"computed": checked.computed} if every else {}),
        "ok": checked.ok,
    }


def _text(checked: "CheckedCase", *, every: bool) -> str:
    rows = []
    for name, output in checked.outputs.items():
        mark = "ok" if output.ok else "DIFFERS"
        why = f"{mark}: {output.reason}" if output.reason else mark
        rows.append([name, *_compared(output), _number(output.tolerance), why])
    columns = [
        Column("", "left"),
        Column("computed", drop=0),
        Column("published", drop=0),
        Column("may differ by"),
        Column("", "left", drop=0, prose=True),
    ]
    lines = [f"{checked.case}  ({checked.hours_per_month:g} hours a month)", table(columns, rows)]
    agreed = sum(output.ok for output in checked.outputs.values())
    lines.append(f"{agreed} of {len(checked.outputs)} published figures reproduced")
    if every:
        figures = [[name, _number(value)] for name, value in sorted(checked.computed.items())]
        lines += ["", "every figure:", table([("", "left"), ("", "")], figures)]
    return "\n".join(lines)


def _compared(output: "Output") -> tuple[str, str]:
    """Return the computed and the published figure, with digits enough to see where they differ."""
    computed, published = _number(output.computed), _number(output.expected)
    if output.ok or computed != published:
        return computed, published
    return repr(output.computed), repr(output.expected)


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    if value == 0:
        return "0"
    # Cents below thousands are noise, and so are the digits of what no float holds exactly.
    return f"{value:,.2f}" if 1000 <= abs(value) < 1e15 else f"{value:.6g}"  # noqa: PLR2004
