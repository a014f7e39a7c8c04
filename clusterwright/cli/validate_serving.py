"""The command that holds the serving engine against measurements: validate serving."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, InputError
from clusterwright.units import percent

#: Parts of the figures that the text shows; the JSON has all.
_SHOWN = (
    "throughput", "tpot_median", "ttft_median", "ttft_mean", "ttft_p99", "energy", "dense", "moe", "disaggregated",
    "speculative", "known pair", "unseen pair", "unseen hardware", "unseen model", "both unseen",
)  # fmt: skip
_NOT_EXPRESSED_SHOWN = 20


def serving(path: Path, *, models: Path | None, predictions_to: Path | None, as_json: bool) -> int:
    """Predict every measurement of a file and print the errors; return the exit code.

    Args:
        path: serving measurements of one of four kinds.
        models: a table of models that goes before the catalogue, None for none.
        predictions_to: a CSV file for the prediction of every metric of every row, None for none.
        as_json: whether to print JSON.

    Raises:
        InputError: a file cannot be read or written, or its header is of no known kind.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence.serving import models as named
    from clusterwright.evidence.serving import report
    from clusterwright.evidence.serving.measurements import read_measurements
    from clusterwright.sizing.serving.calibration import load_calibration

    catalogue = load()
    own = named.read_models(models) if models else {}
    read = read_measurements(path, catalogue, own=own, known=named.catalogued(catalogue))
    predictions = report.predictions_of(read.rows, load_calibration())
    found = report.document(read, predictions)
    if predictions_to is not None:
        try:
            with predictions_to.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(report.PREDICTION_COLUMNS)
                writer.writerows(report.prediction_rows(predictions))
        except OSError as error:
            raise InputError(
                f"cannot write {predictions_to}: {error.strerror}", help="name a file in an existing folder"
            ) from error
    print(json.dumps(found, indent=1, allow_nan=False) if as_json else fitted(_text(found)))  # noqa: T201 - the result
    wrong = report.skipped_wrong(read)
    for row in wrong:
        print(f"error: {path.name}: {row.id}: {row.reason}", file=sys.stderr)  # noqa: T201 - diagnostics
    return EXIT_BAD_INPUT if wrong else EXIT_FINE


def _text(found: dict[str, Any]) -> str:
    titles = ("", "rows", "median", "P90", "bias", "in band", "P90/P10")
    columns = [Column(title, "" if place else "left") for place, title in enumerate(titles)]
    parts = [("all", found), *((name, found["by"][name]) for name in _SHOWN if found["by"][name]["rows"])]
    lines = [table(columns, [_cells(name, part) for name, part in parts])]
    speed = found["rows_per_s"]
    said = f"{found['predicted']} of {found['rows']} rows predicted, {found['excluded']} excluded as unsound"
    lines += ["", said + (f"; {speed:,.0f} rows/s" if speed else "")]
    if found["worst"]:
        lines += ["", "farthest from what was measured:"]
        lines += [
            f"  {row['id']} {row['metric']}: ln(measured/predicted) {row['ln_measured_over_predicted']:+.2f}"
            for row in found["worst"]
        ]
    left = found["not_expressed"]
    if left:
        lines += ["", "not expressed:", *(f"  {row['id']}: {row['reason']}" for row in left[:_NOT_EXPRESSED_SHOWN])]
        if len(left) > _NOT_EXPRESSED_SHOWN:
            lines.append(f"  and {len(left) - _NOT_EXPRESSED_SHOWN} more")
    return "\n".join(lines)


def _cells(name: str, part: dict[str, Any]) -> tuple[str, ...]:
    shares = (part["median_ape"], part["p90_ape"], part["bias"], part["in_band"])
    printed = ("-" if share is None else percent(share, digits=1) for share in shares)
    width = "-" if part["band_width"] is None else f"{part['band_width']:.2f}"
    return name, str(part["rows"]), *printed, width
