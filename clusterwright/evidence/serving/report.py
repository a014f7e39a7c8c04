"""What `clusterwright validate serving` says: every row predicted with its band, and the errors in figures."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterwright.evidence import scoring
from clusterwright.evidence.reading import Read
from clusterwright.evidence.serving.fitting import predict_columns
from clusterwright.evidence.serving.measurements import Measurement
from clusterwright.sizing.serving.calibration import (
    METRICS,
    THROUGHPUT,
    Calibration,
    logarithms,
    memberships,
    seen_alike,
)
from clusterwright.sizing.serving.configuration import columns_of, distinct

#: Rows that are predicted together; their columns stay in the processor's caches.
_CHUNK = 2_000


def predictions_of(rows: Sequence[Measurement], calibration: Calibration) -> scoring.Predictions[Measurement]:
    """Return the predictions of rows by their configurations alone."""
    started = time.process_time()
    # Of rows that differ in their load alone, levels and bands are looked up once.
    alike, index = distinct(rows, seen_alike)
    levels = [calibration.level_of(row) for row in alike]
    given = logarithms(memberships(alike), calibration.fitted) if rows else {}
    parts = []
    for start in range(0, len(rows), _CHUNK):
        own = index[start : start + _CHUNK]
        chunk = rows[start : start + _CHUNK]
        parts.append(predict_columns(chunk, columns_of(chunk), {name: values[own] for name, values in given.items()}))
    median, low, high = {}, {}, {}
    for metric in METRICS:
        logarithm = np.concatenate([part[metric] for part in parts]) if parts else np.zeros(0)
        bands = np.array([calibration.band_of(row, level, metric) for row, level in zip(alike, levels, strict=True)])
        below, above = bands.reshape(-1, 2)[index].T
        median[metric] = np.exp(logarithm)
        low[metric], high[metric] = np.exp(logarithm + below), np.exp(logarithm + above)
    spent = time.process_time() - started
    return scoring.Predictions(
        rows=tuple(rows),
        metrics=METRICS,
        median=median,
        low=low,
        high=high,
        level=tuple(levels[one] for one in index),
        rows_per_s=len(rows) / spent if rows and spent else None,
    )


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
