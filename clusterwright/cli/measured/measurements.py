"""What `validate serving` and `validate finetune` write and print of predicted measurements."""

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from clusterwright.catalog.load import load
from clusterwright.catalog.records import Catalogue
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, InputError
from clusterwright.evidence import models as named
from clusterwright.evidence import scoring
from clusterwright.evidence.reading import Read
from clusterwright.units import percent
from clusterwright.workload.inference import NamedModel

_NOT_EXPRESSED_SHOWN = 20


Models: TypeAlias = Mapping[str, NamedModel]
_Row = TypeVar("_Row", bound=scoring.Measured)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged(Generic[_Row]):
    """An engine whose predictions are compared with measurements.

    Attributes:
        read: gives the rows of a file, of a catalogue and models of one's own and of the catalogue.
        predict: gives the predictions of rows; document: the figures of rows and predictions.
        shown: parts of the figures that the text shows; the JSON has all.
    """

    read: Callable[[Path, Catalogue, Models, Models], Read[_Row]]
    predict: Callable[[Sequence[_Row]], scoring.Predictions[_Row]]
    document: Callable[[Read[_Row], scoring.Predictions[_Row]], dict[str, Any]]
    shown: Sequence[str]


def judge(engine: Judged[_Row], path: Path, *, models: Path | None, predictions_to: Path | None, as_json: bool) -> int:
    """Predict every measurement of a file, write the predictions, print the figures; return the exit code.

    Args:
        engine: what predicts.
        path: the file of measurements.
        models: a table of models that goes before the catalogue, None for none.
        predictions_to: a CSV file for the prediction of every metric of every row, None for none.
        as_json: whether to print JSON.

    Raises:
        InputError: a file cannot be read or written, or its header is of no known kind.
    """
    catalogue = load()
    own = named.read_models(models) if models else {}
    read = engine.read(path, catalogue, own, named.catalogued(catalogue))
    predictions = engine.predict(read.rows)
    found = engine.document(read, predictions)
    if predictions_to is not None:
        try:
            with predictions_to.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(scoring.PREDICTION_COLUMNS)
                writer.writerows(scoring.prediction_rows(predictions))
        except OSError as error:
            raise InputError(
                f"cannot write {predictions_to}: {error.strerror}", help="name a file in an existing folder"
            ) from error
    said = json.dumps(found, indent=1, allow_nan=False) if as_json else fitted(_text(found, engine.shown))
    print(said)
    for row in read.wrong:
        print(f"error: {path.name}: {row.id}: {row.reason}", file=sys.stderr)
    return EXIT_BAD_INPUT if read.wrong else EXIT_FINE


def _text(found: dict[str, Any], shown: Sequence[str]) -> str:
    titles = ("", "rows", "median", "P90", "bias", "in band", "P90/P10")
    columns = [Column(title, "" if place else "left") for place, title in enumerate(titles)]
    parts = [("all", found), *((name, found["by"][name]) for name in shown if found["by"][name]["rows"])]
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
