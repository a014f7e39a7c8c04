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
    from clusterwright.cli.measurements import Judged, judge
    from clusterwright.evidence.finetuning import report
    from clusterwright.evidence.finetuning.measurements import read_measurements
    from clusterwright.sizing.finetuning.calibration import load_calibration

    engine = Judged(
        read=lambda file, catalogue, own, known: read_measurements(file, catalogue, own=own, known=known),
        predict=lambda rows: report.predictions_of(rows, load_calibration()),
        document=report.document,
        shown=_SHOWN,
    )
    return judge(engine, path, models=models, predictions_to=predictions_to, as_json=as_json)
