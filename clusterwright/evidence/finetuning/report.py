"""What `clusterwright validate finetune` says: every row predicted with its band, and the errors in figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterwright.evidence import scoring
from clusterwright.evidence.finetuning.fitting import predict, problem_of
from clusterwright.evidence.finetuning.measurements import Measurement
from clusterwright.evidence.reading import Read
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.calibration import MEMORY, METRICS, Calibration
from clusterwright.sizing.finetuning.configuration import FULL, INFERENCE, LORA, QLORA


def predictions_of(rows: Sequence[Measurement], calibration: Calibration) -> scoring.Predictions[Measurement]:
    """Return the predictions of rows by their configurations alone."""

    def formulas(chosen: Sequence[Measurement]) -> Mapping[str, Array]:
        return predict(problem_of(chosen), calibration.fitted)

    return scoring.predicted(rows, metrics=METRICS, judge=calibration, formulas=formulas)


def document(read: Read[Measurement], predictions: scoring.Predictions[Measurement]) -> dict[str, Any]:
    """Return the figures of a file, what was assumed of its rows, and how many that ran are predicted not to fit."""
    found = scoring.document(
        read,
        predictions,
        parts={
            "full": lambda row: row.method == FULL,
            "lora": lambda row: row.method == LORA,
            "qlora": lambda row: row.method == QLORA,
            "inference": lambda row: row.method == INFERENCE,
        },
    )
    rows = predictions.rows
    held = np.array([row.accelerator.hbm_bytes or np.inf for row in rows])
    found["ran_refused"] = int(np.sum(predictions.median[MEMORY] * 1e9 > held)) if rows else 0
    found["assumed"] = [{"id": row.id, "assumed": list(row.assumed)} for row in rows if row.assumed]
    return found
