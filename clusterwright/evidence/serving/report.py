"""What `clusterwright validate serving` says: every row predicted with its band, and the errors in figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.evidence import scoring
from clusterwright.evidence.reading import Read
from clusterwright.evidence.serving.fitting import logarithms, predict, problem_of
from clusterwright.evidence.serving.measurements import Measurement
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import METRICS, THROUGHPUT, Calibration


def predictions_of(rows: Sequence[Measurement], calibration: Calibration) -> scoring.Predictions[Measurement]:
    """Return the predictions of rows by their configurations alone."""

    def formulas(chosen: Sequence[Measurement]) -> Mapping[str, Array]:
        problem = problem_of(chosen)
        return predict(problem, logarithms(problem, calibration.fitted))

    return scoring.predicted(rows, metrics=METRICS, judge=calibration, formulas=formulas)


def document(read: Read[Measurement], predictions: scoring.Predictions[Measurement]) -> dict[str, Any]:
    """Return the figures of a file."""
    return scoring.document(
        read,
        predictions,
        parts={
            "dense": lambda row: not row.model.routed,
            "moe": lambda row: row.model.routed,
            "disaggregated": lambda row: row.disaggregated,
            "speculative": lambda row: bool(row.speculative),
        },
        level_metric=THROUGHPUT,
    )
