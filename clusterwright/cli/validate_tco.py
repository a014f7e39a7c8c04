"""The command that holds the cost engine against published calculations: validate tco."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED

if TYPE_CHECKING:
    from clusterwright.evidence.tco_check import CheckedCase


def tco(path: Path, *, every: bool, as_json: bool) -> int:
    """Run a published case and print its figures; return the exit code, 1 where one differs.

    Raises:
        InputError: the file cannot be read.
        BlueprintError: it is no case.
    """
    from clusterwright.evidence.tco_check import check_case

    checked = check_case(path)
    if as_json:
        print(json.dumps(_document(checked, every=every), indent=1, allow_nan=False))  # noqa: T201 - the result
    else:
        print(_text(checked, every=every))  # noqa: T201
    return EXIT_FINE if checked.ok else EXIT_RULE_FAILED


def _document(checked: "CheckedCase", *, every: bool) -> dict[str, object]:
    return {
        "schema": 1,
        "case": checked.case,
        "source": checked.source,
        "hours_per_month": checked.hours_per_month,
        "outputs": {name: asdict(output) for name, output in checked.outputs.items()},
        **({"computed": checked.computed} if every else {}),
        "ok": checked.ok,
    }


def _text(checked: "CheckedCase", *, every: bool) -> str:
    rows = [("", "computed", "published", "may differ by", "")]
    for name, output in checked.outputs.items():
        mark = "ok" if output.ok else "DIFFERS"
        why = f"{mark}: {output.reason}" if output.reason else mark
        rows.append((name, _number(output.computed), _number(output.expected), _number(output.tolerance), why))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{checked.case}  ({checked.hours_per_month:g} hours a month)"]
    lines += [
        "  ".join(
            [row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in (1, 2, 3)), row[4]]
        ).rstrip()
        for row in rows
    ]
    agreed = sum(output.ok for output in checked.outputs.values())
    lines.append(f"{agreed} of {len(checked.outputs)} published figures reproduced")
    if every:
        width = max(len(name) for name in checked.computed)
        lines += ["", "every figure:", *(f"  {name:<{width}}  {_number(value)}" for name, value in
                                         sorted(checked.computed.items()))]  # fmt: skip
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    if value == 0:
        return "0"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"  # noqa: PLR2004 - cents below that are noise
