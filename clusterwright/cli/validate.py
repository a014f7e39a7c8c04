"""The commands that hold the training engine against measured runs: validate, calibrate."""

import json
import sys
from pathlib import Path
from typing import Any

from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, InputError
from clusterwright.units import percent


def training(path: Path, *, as_json: bool) -> int:
    """Predict every run of a file and print the errors; return the exit code.

    Raises:
        InputError: the file cannot be read or lacks columns.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence import baseline, report
    from clusterwright.evidence.calibrate import read
    from clusterwright.sizing.calibration import load_calibration

    runs, skipped = read(path, load())
    predictions = report.predict(runs, load_calibration(), shares=baseline.load_shares()) if runs else None
    found = report.document(predictions, skipped)
    print(json.dumps(found, indent=1, allow_nan=False) if as_json else _text(found))  # noqa: T201 - the result
    wrong = [row for row in skipped if row.wrong]
    for row in wrong:
        print(f"error: {path.name}: {row.id}: {row.reason}", file=sys.stderr)  # noqa: T201 - diagnostics
    return EXIT_BAD_INPUT if wrong else EXIT_FINE


def calibrate(path: Path, output: Path, *, anew: bool) -> int:
    """Write a calibration from a file of runs; return the exit code.

    Raises:
        InputError: the file cannot be read, or a row of it is wrong.
    """
    import numpy as np

    from clusterwright import assets
    from clusterwright.catalog.load import load
    from clusterwright.evidence import accuracy, calibrate, effects, report, store
    from clusterwright.evidence.baseline import load_shares
    from clusterwright.sizing.calibration import load_calibration

    runs, skipped = calibrate.read(path, load())
    wrong = [row for row in skipped if row.wrong]
    if wrong or not runs:
        told = "; ".join(f"{row.id}: {row.reason}" for row in (wrong or skipped))
        raise InputError(f"{path.name} cannot be calibrated on: {told}", help="correct these rows, or remove them")
    shipped = load_calibration(assets.root() / "catalog" / "calibration.csv")
    if anew:
        calibrated = calibrate.calibrate(runs, shipped.of(generation="none", stack="none").tuning)
        written = store.write(output, calibrated, source=path.name)
        (output / "accuracy.md").write_text(accuracy.document(calibrated, skipped), encoding="utf-8")
        lines = accuracy.summary(calibrated)
    else:
        before = report.predict(runs, shipped, shares=load_shares()).errors
        own = effects.estimate(runs, before, deviations=effects.OWN_DEVIATIONS, noise=effects.OWN_NOISE)
        written = store.write_adjusted(output, own, runs, source=path.name)
        median = float(np.median(np.abs(np.expm1(-before))))
        lines = [f"{len(runs)} runs, median error {percent(median, digits=1)} before; {len(own.values)} effects added"]
    lines += [f"{len(skipped)} rows not expressed"] if skipped else []
    print("\n".join([*lines, *(f"wrote {entry}" for entry in written)]))  # noqa: T201 - the result
    print(f"use it with: CLUSTERWRIGHT_CALIBRATION={output} clusterwright plan BLUEPRINT")  # noqa: T201
    return EXIT_FINE


def _text(found: dict[str, Any]) -> str:
    header = ("", "rows", "predicted", "median", "P90", "baseline", "in band", "memory", "false OOM")
    table = [header, _cells("all", found), *(_cells(name, part) for name, part in found["by"].items())]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if not column else cell.rjust(width) for column, (cell, width) in
                  enumerate(zip(row, widths, strict=True)))
        for row in table
    ]  # fmt: skip
    if found["worst"]:
        lines += ["", "farthest from what was measured:"]
        lines += [
            f"  {row['id']}: ln(measured/predicted) {row['ln_measured_over_predicted']:+.2f}" for row in found["worst"]
        ]
    if found["not_expressed"]:
        lines += ["", "not expressed:", *(f"  {row['id']}: {row['reason']}" for row in found["not_expressed"])]
    return "\n".join(lines)


def _cells(name: str, part: dict[str, Any]) -> tuple[str, ...]:
    shares = ("median_ape", "p90_ape", "baseline_median_ape", "in_band", "memory_median_ape")
    median, high, plain, inside, memory = ("-" if part[key] is None else percent(part[key], digits=1) for key in shares)
    oom = "-" if part["false_oom"] is None else str(part["false_oom"])
    return name, str(part["rows"]), str(part["predicted"]), median, high, plain, inside, memory, oom
