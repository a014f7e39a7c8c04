"""What the formulas say of each measurement, before and after the shipped calibration."""

from collections.abc import Sequence

import numpy as np

from clusterwright.evidence.serving.measurements import OUTPUT, OUTPUT_PER_GPU, TOTAL_PER_GPU, Measurement
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import (
    ENERGY,
    METRICS,
    THROUGHPUT,
    TPOT_MEDIAN,
    TTFT_MEAN,
    TTFT_MEDIAN,
    TTFT_P99,
)
from clusterwright.sizing.serving.closed_loop import Served, serve
from clusterwright.sizing.serving.columns import Deployment, Factors
from clusterwright.sizing.serving.configuration import Columns


def stated(rows: Sequence[Measurement], served: Served, factors: Factors, place: Deployment) -> dict[str, Array]:
    """Return what each metric of each row is by the formulas."""
    unit = np.array([row.unit for row in rows])
    gpus = np.array([row.gpus for row in rows])
    inputs, outputs = np.asarray(place.input_tokens), np.asarray(place.output_tokens)
    requests = served.requests_per_s * np.asarray(factors.drain_share)
    rate = np.select(
        [unit == TOTAL_PER_GPU, unit == OUTPUT_PER_GPU, unit == OUTPUT],
        [requests * (inputs + outputs) / gpus, requests * outputs / gpus, requests * outputs],
    )
    share = np.minimum(1.0 / np.asarray(place.waves), 1.0)
    median = served.first_token_s
    mean = (1.0 - share) * median + share * served.burst_first_token_s
    last = median + 2.0 * (served.burst_first_token_s - median)
    energy = served.power_w * gpus / (served.requests_per_s * outputs)
    return {
        THROUGHPUT: rate,
        TPOT_MEDIAN: served.time_per_token_s,
        TTFT_MEDIAN: median,
        TTFT_MEAN: mean,
        TTFT_P99: last,
        ENERGY: energy,
    }


def formulas(rows: Sequence[Measurement], columns: Columns, factors: Factors) -> tuple[Served, dict[str, Array]]:
    """Return what the formulas say of measurements under given factors."""
    served = serve(columns.model, columns.device, columns.place, factors)
    return served, stated(rows, served, factors, columns.place)


def measured_columns(rows: Sequence[Measurement]) -> dict[str, Array]:
    """Return what was measured by metric, NaN where it was not."""
    return {metric: np.array([row.measured.get(metric, np.nan) for row in rows]) for metric in METRICS}
