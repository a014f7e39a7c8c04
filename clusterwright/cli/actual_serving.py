"""actual --serving: a load test of the running service against its plan, as text or JSON."""

import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path

from clusterwright.actual.serving import Compared, ServingComparison, calibration_row, compare_serving, read_results
from clusterwright.cli.diff import plan_of_file
from clusterwright.cli.render.text_table import fitted, table
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_plan
from clusterwright.plan.text.serving import time_text
from clusterwright.plan.text.words import on_target

_NAMES = {
    "first_token": "first token", "time_per_token": "time per token", "output_tokens_per_s": "output tokens/s",
}  # fmt: skip


def serving(path: Path, results: Path, *, on: str | None, replicas: int | None, as_json: bool, as_csv: bool) -> int:
    """Print a load test against a plan; return the exit code.

    Args:
        path: the blueprint, or its plan.json.
        results: of the load test.
        on: the target that was tested; None where the plan has one alone.
        replicas: that answered, where the results do not say so.
        as_json: print JSON.
        as_csv: print the row of measurements that `calibrate` reads.

    Raises:
        InputError: a file cannot be read, or target or replicas are not known.
    """
    plan = serving_plan(plan_of_file(path))
    option = _option(plan, on)
    measured = read_results(results, percentile=plan.goals.percentile)
    found = compare_serving(plan, option, measured, replicas=replicas)
    if as_json:
        print(json.dumps({"schema": 1, "name": plan.name, **asdict(found)}, indent=1, allow_nan=False))  # noqa: T201
    elif as_csv:
        row = calibration_row(plan, option, found)
        writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)
    else:
        print(fitted(_text(plan, path, results, found)))  # noqa: T201 - the result
    return EXIT_FINE


def _option(plan: ServingPlan, on: str | None) -> ServingOption:
    targets = ", ".join(option.target for option in plan.options)
    if on is None and len(plan.options) > 1:
        raise InputError("which target was tested is not said", help=f"add --on TARGET, one of {targets}")
    found = next((option for option in plan.options if on in (None, option.target)), None)
    if found is None:
        raise InputError(f"the plan has no target {on!r}", help=f"one of {targets}")
    return found


def _text(plan: ServingPlan, path: Path, results: Path, found: ServingComparison) -> str:
    columns = [
        ("", "left"), ("planned", ""), ("low", ""), ("high", ""), ("measured", ""), ("", "left"),
    ]  # fmt: skip
    rows = [
        [
            f"{_NAMES[one.name]}{f' P{found.percentile:g}' if one.unit == 's' else ''}",
            *(_shown(one, value) for value in (one.planned, one.low, one.high, one.measured)),
            one.verdict,
        ]
        for one in found.figures
    ]
    measured = found.measured
    outside = [one for one in found.figures if one.because]
    lines = [
        (
            f"{plan.name} {on_target(found.target)}: {measured.completed:,} of {measured.requests:,} requests answered "
            f"by {found.replicas:,} replica{'s' if found.replicas > 1 else ''} ({measured.tool})"
        ),
        "",
        table(columns, rows),
        *(["", *(f"  {_NAMES[one.name]}: {one.because}" for one in outside)] if outside else []),
        *(["", *(f"  {note}" for note in found.notes)] if found.notes else []),
    ]
    if outside:
        on = f" --on {found.target}" if len(plan.options) > 1 else ""
        lines += [
            "",
            f"  Fit again: clusterwright actual {path} --serving {results}{on} --csv > measured.csv",
            "             clusterwright calibrate measured.csv -o mine",
        ]
    return "\n".join(lines)


def _shown(one: Compared, value: float | None) -> str:
    if value is None:
        return "–"
    return time_text(value) if one.unit == "s" else f"{value:,.0f}"
