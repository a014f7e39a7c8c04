"""The commands that hold the engines of serving and fine-tuning against measurements, or adjust to them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.units import percent

#: Parts of the figures that the text shows; the JSON has all.
_SHOWN = (
    "throughput",
    "tpot_median",
    "ttft_median",
    "ttft_mean",
    "ttft_p99",
    "energy",
    "dense",
    "moe",
    "disaggregated",
    "speculative",
    "known pair",
    "unseen pair",
    "unseen hardware",
    "unseen model",
    "both unseen",
)


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
    from clusterwright.cli.measured.measurements import Judged, judge
    from clusterwright.evidence.serving import report
    from clusterwright.evidence.serving.measurements import read_measurements
    from clusterwright.sizing.serving.calibration import load_calibration

    engine = Judged(
        read=lambda file, catalogue, own, known: read_measurements(file, catalogue, own=own, known=known),
        predict=lambda rows: report.predictions_of(rows, load_calibration()),
        document=report.document,
        shown=_SHOWN,
    )
    return judge(engine, path, models=models, predictions_to=predictions_to, as_json=as_json)


def calibrate(paths: Sequence[Path], output: Path, *, models: Path | None) -> tuple[list[str], list[Path]]:
    """Write the shipped calibration of serving adjusted to own rows; return what to say, and the files.

    Raises:
        InputError: a file cannot be read, a row is wrong, or none can be used.
    """
    import numpy as np

    from clusterwright import assets
    from clusterwright.catalog.load import load
    from clusterwright.evidence import models as named
    from clusterwright.evidence.serving import own
    from clusterwright.evidence.serving.measurements import Measurement, read_measurements
    from clusterwright.sizing.serving.calibration import load_calibration

    catalogue = load()
    first, known = named.read_models(models) if models else {}, named.catalogued(catalogue)
    rows: list[Measurement] = []
    lines: list[str] = []
    for path in paths:
        read = read_measurements(path, catalogue, own=first, known=known)
        measured = [row for row in read.rows if row.measured]
        if read.wrong or not measured:
            told = "; ".join(f"{row.id}: {row.reason}" for row in (read.wrong or read.skipped)) or "nothing is measured"
            raise InputError(f"{path.name} cannot be calibrated on: {told}", help="correct these rows, or remove them")
        rows += measured
        if read.skipped:
            lines.append(f"{path.name}: {len(read.skipped)} rows not expressed")
    learnt = own.learn(rows, load_calibration(assets.root() / "catalog"))
    medians = (float(np.median(np.abs(np.expm1(-left)))) for left in (learnt.before, learnt.after))
    before, after = (percent(median, digits=1) for median in medians)
    effects = sum(len(values) for values in learnt.added.values())
    lines.insert(
        0, f"{len(rows)} measurements of serving, median error {before} before, {after} with {effects} effects"
    )
    source = " ".join(path.name for path in paths)
    return lines, own.write(output, learnt, source=source, today=datetime.now(tz=UTC).date())


#: Parts of the figures that the text shows; the JSON has all.
_SHOWN_OF_FINETUNING = (
    "memory",
    "throughput",
    "time_to_train",
    "full",
    "lora",
    "qlora",
    "inference",
    "known pair",
    "unseen pair",
    "unseen hardware",
    "unseen model",
    "both unseen",
)


def finetune(path: Path, *, models: Path | None, predictions_to: Path | None, as_json: bool) -> int:
    """Predict every measurement of a file and print the errors; return the exit code.

    Args:
        path: fine-tuning measurements of one of two kinds.
        models: a table of models that goes before the catalogue, None for none.
        predictions_to: a CSV file for the prediction of every metric of every row, None for none.
        as_json: whether to print JSON.

    Raises:
        InputError: a file cannot be read or written, or its header is of no known kind.
    """
    from clusterwright.cli.measured.measurements import Judged, judge
    from clusterwright.evidence.finetuning import report
    from clusterwright.evidence.finetuning.measurements import read_measurements
    from clusterwright.sizing.finetuning.calibration import load_calibration

    engine = Judged(
        read=lambda file, catalogue, own, known: read_measurements(file, catalogue, own=own, known=known),
        predict=lambda rows: report.predictions_of(rows, load_calibration()),
        document=report.document,
        shown=_SHOWN_OF_FINETUNING,
    )
    return judge(engine, path, models=models, predictions_to=predictions_to, as_json=as_json)
