"""Goals tested against predicted times: bands of layouts, what is missed, and how surely goals are met."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import (
    THROUGHPUT,
    TPOT_MEDIAN,
    TTFT_MEDIAN,
    VAGUE_WIDENING,
    Calibration,
)
from clusterwright.sizing.serving.confidence import score
from clusterwright.sizing.serving.configuration import Configuration
from clusterwright.sizing.serving.service import LatencyGoals, Service
from clusterwright.sizing.serving.step import ADAPTER_SLOWDOWN

Flags = npt.NDArray[np.bool_]
_METRICS = (TTFT_MEDIAN, TPOT_MEDIAN, THROUGHPUT)


def bands_of_layouts(
    service: Service, configurations: Sequence[Configuration], levels: Sequence[str], calibration: Calibration
) -> dict[str, Array]:
    """Return P10 and P90 of ln(measured/predicted) by metric, a row for each configuration.

    What no measurement is of makes a band a quarter wider each, in squares; adapters add what is known of their cost.
    """
    wider = math.sqrt(1.0 + len(service.unmeasured) * (VAGUE_WIDENING**2 - 1.0))
    low, base, high = (math.log(one) for one in ADAPTER_SLOWDOWN)
    faster, slower = (low - base, high - base) if service.adapters is not None else (0.0, 0.0)
    found = {}
    for metric in _METRICS:
        bands = np.array(
            [calibration.band_of(row, level, metric) for row, level in zip(configurations, levels, strict=True)]
        )
        found[metric] = bands.reshape(-1, 2) * wider + (
            [-slower, -faster] if metric == THROUGHPUT else [faster, slower]
        )
    return found


def shortfall(goals: LatencyGoals, first: Array, token: Array) -> Array:
    """Return ln of times over their goals, the larger one; minus infinity where there is no goal."""
    found = np.full(first.shape, -np.inf)
    if goals.first_token_s is not None:
        found = np.maximum(found, np.log(first / goals.first_token_s))
    if goals.time_per_token_s is not None:
        found = np.maximum(found, np.log(np.maximum(token, 1e-12) / goals.time_per_token_s))
    return found


def goal_scores(
    goals: LatencyGoals, bands: Mapping[str, Array], first_at: Array, token_at: Array, room: Flags
) -> Array:
    """Return the normal score with which times meet the goals; minus infinity without room."""
    found = np.where(room, np.inf, -np.inf)
    for goal, times, metric in (
        (goals.first_token_s, first_at, TTFT_MEDIAN),
        (goals.time_per_token_s, token_at, TPOT_MEDIAN),
    ):
        if goal is not None:
            found = np.minimum(found, score(bands[metric], np.log(goal / np.maximum(times, 1e-12)), high=True))
    return found
