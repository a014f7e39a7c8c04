"""The commands that hold the training engine against measured runs: validate, calibrate."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clusterwright.cli.text_table import Column, fitted, table
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, InputError
from clusterwright.units import percent


def training(path: Path, *, as_json: bool, predictions_to: Path | None = None) -> int:
    """Predict every run of a file and print the errors; return the exit code.

    Args:
        path: a file of measured runs.
        as_json: whether to print JSON.
        predictions_to: a CSV file for the prediction of every row, None for none.

    Raises:
        InputError: the file cannot be read or lacks columns, or the predictions cannot be written.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence import baseline, measured_memory, report
    from clusterwright.evidence.nodes import measured_nodes
    from clusterwright.evidence.runs import read_measurements
    from clusterwright.sizing.calibration import load_calibration

    catalogue = load()
    measured, skipped = read_measurements(path, measured_nodes(catalogue), catalogue.models.values())
    runs = [run for run in measured if run.timed]
    predictions = report.predict(runs, load_calibration(), shares=baseline.load_shares()) if runs else None
    memory = measured_memory.predict(measured)
    found = report.document(predictions, skipped, memory)
    if predictions_to is not None:
        _write(predictions_to, report.PREDICTION_COLUMNS, report.prediction_rows(predictions, memory))
    print(json.dumps(found, indent=1, allow_nan=False) if as_json else fitted(_text(found)))  # noqa: T201 - the result
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


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", help="name a file in an existing folder") from error


def _text(found: dict[str, Any]) -> str:
    titles = ("", "rows", "predicted", "median", "P90", "baseline", "in band", "memory", "false OOM")
    columns = [Column(title, "" if place else "left") for place, title in enumerate(titles)]
    parts = [("all", found), *found["by"].items()]
    lines = [table(columns, [_cells(name, part) for name, part in parts])]
    memory = found["memory"]
    if memory["rows"]:
        refused = f"{memory['ran_refused']} of {memory['ran']} layouts that ran are refused"
        oom = f", {memory['oom_refused']} of {memory['oom']} that ran out of memory" if memory["oom"] else ""
        peaks = f"{memory['predicted']} published peaks" if memory["predicted"] else "no published peak"
        band = f", {percent(memory['in_band'], digits=1)} of them in band" if memory["predicted"] else ""
        lines += ["", f"memory: {peaks}{band}; {refused}{oom}; Brier score {memory['brier']:.3f}"]
    if found["worst"]:
        lines += ["", "farthest from what was measured:"]
        lines += [
            f"  {row['id']}: ln(measured/predicted) {row['ln_measured_over_predicted']:+.2f}" for row in found["worst"]
        ]
    if found["not_expressed"]:
        lines += ["", "not expressed:", *(f"  {row['id']}: {row['reason']}" for row in found["not_expressed"])]
    return "\n".join(lines)


def _cells(name: str, part: dict[str, Any]) -> tuple[str, ...]:
    shares = [part[key] for key in ("median_ape", "p90_ape", "baseline_median_ape", "in_band")]
    shares.append(part["memory"]["median_ape"])
    median, high, plain, inside, memory = ("-" if share is None else percent(share, digits=1) for share in shares)
    oom = "-" if part["false_oom"] is None else str(part["false_oom"])
    return name, str(part["rows"]), str(part["predicted"]), median, high, plain, inside, memory, oom
