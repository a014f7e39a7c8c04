"""The command that holds the fine-tuning engine against measurements: validate finetune."""

from pathlib import Path

#: Parts of the figures that the text shows; the JSON has all.
_SHOWN = (
    "memory", "throughput", "time_to_train", "full", "lora", "qlora", "inference", "known pair", "unseen pair",
    "unseen hardware", "unseen model", "both unseen",
)  # fmt: skip


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
    from clusterwright.catalog.load import load
    from clusterwright.cli.measurements import tell
    from clusterwright.evidence import models as named
    from clusterwright.evidence.finetuning import report
    from clusterwright.evidence.finetuning.measurements import read_measurements
    from clusterwright.sizing.finetuning.calibration import load_calibration

    catalogue = load()
    own = named.read_models(models) if models else {}
    read = read_measurements(path, catalogue, own=own, known=named.catalogued(catalogue))
    predictions = report.predictions_of(read.rows, load_calibration())
    found = report.document(read, predictions)
    return tell(path, read, predictions, found, shown=_SHOWN, predictions_to=predictions_to, as_json=as_json)
