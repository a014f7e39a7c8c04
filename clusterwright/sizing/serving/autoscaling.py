"""A day of load: replicas kept and worked by an autoscaler with bounds, start, warm-up and cool-down."""

from dataclasses import dataclass

import numpy as np

from clusterwright.errors import InputError
from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Array

DAY_S = 86_400.0
#: Of one point of a day.
_STEP_S = 60.0
_POINTS = int(DAY_S / _STEP_S)
_HALVINGS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Autoscaler:
    """How replicas follow the load.

    Attributes:
        replica_requests_per_s: load per replica that it aims at.
        least, most: replicas; 0 lets all of them go while nothing is asked.
        start_s: from the decision to the first request served (`start_s`).
        cool_down_s: that the load has been lower before a replica goes.
    """

    replica_requests_per_s: float
    least: int
    most: int
    start_s: float
    cool_down_s: float = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """What a day costs and serves.

    Attributes:
        kept_hours: of replicas that are paid for, starting ones too; worked_hours: at the aimed load, that the requests
            need; fixed_hours: kept by a fleet of the peak's size without an autoscaler.
        most_kept: at once.
        over_share: of the requests, that come while the replicas that serve are fewer than they need.
        cold_share: of the requests, that come while none serves and wait for a start.
    """

    kept_hours: float
    worked_hours: float
    fixed_hours: float
    most_kept: int
    over_share: float
    cold_share: float


@formula(
    "({replicas} + {spare}) × {hours}",
    source="all replicas of the peak are kept around the clock; clusterwright/sizing/serving/autoscaling.py",
    replicas=Term("replicas of the peak", ",.0f"),
    spare=Term("spare ones", ",.0f"),
    hours=Term("hours", ",.0f", "h"),
)
def replica_hours(*, replicas: float, spare: float, hours: float) -> float:
    """Return the hours of replicas that are kept without an autoscaler."""
    return (replicas + spare) * hours


def start_s(*, weight_bytes: float, storage_bytes_per_s: float, node_s: float = 0.0, warm_up_s: float = 0.0) -> float:
    """Return the seconds until a new replica serves: node, `bytes / bandwidth` of its weights, warm-up.

    Raises:
        InputError: the storage gives nothing.
    """
    if not storage_bytes_per_s > 0:
        raise InputError("weights never arrive from storage without bandwidth", help="give its bytes per second")
    return node_s + weight_bytes / storage_bytes_per_s + warm_up_s


def daily_curve(*, mean_requests_per_s: float, peak_over_mean: float) -> Array:
    """Return the requests per second of every minute of a day with one peak: `mean exp(k cos t) / I0(k)`.

    k is such that the peak is `peak_over_mean` times the mean (von Mises; positive at all hours).

    Raises:
        InputError: the peak is below the mean, or more than 20 times it.
    """
    if not 1 <= peak_over_mean <= 20:  # noqa: PLR2004 - a day with one hour of load has 24
        raise InputError(
            f"a peak of {peak_over_mean:g} times the mean is no daily curve", help="give a factor from 1 to 20"
        )

    low, high = 0.0, 500.0
    for _ in range(_HALVINGS if peak_over_mean > 1 else 0):
        middle = (low + high) / 2.0
        below = 1.0 / (np.i0(middle) * np.exp(-middle)) < peak_over_mean
        low, high = (middle, high) if below else (low, middle)
    sharpness = low
    angle = 2 * np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    shape = np.exp(sharpness * (np.cos(angle) - 1.0))
    return np.asarray(mean_requests_per_s * shape / shape.mean())


def minutes(hourly: Array) -> Array:
    """Return a curve of any even number of points per day as one of minutes, each point held until the next."""
    at = np.arange(_POINTS) * len(hourly) // _POINTS
    return np.asarray(hourly, dtype=float)[at]


def day(curve: Array, scaler: Autoscaler) -> Day:
    """Return what a day does that follows itself.

    Wanted are `ceil(rate / aimed load)` replicas within the bounds. A replica is kept until the load has been lower
    for the cool-down, and serves after its start.

    Args:
        curve: requests per second of every minute (`daily_curve`, `minutes`).
        scaler: its rules.

    Raises:
        InputError: bounds that cross, no load per replica, or a curve below zero.
    """
    if not 0 <= scaler.least <= scaler.most or scaler.most < 1:
        raise InputError(f"{scaler.least} to {scaler.most} are no bounds of replicas", help="give 0 <= least <= most")
    if not scaler.replica_requests_per_s > 0 or not np.all(np.isfinite(curve) & (curve >= 0)):
        raise InputError("a load is a rate of at least 0, per replica above 0", help="check curve and aimed load")
    wanted = np.ceil(curve / scaler.replica_requests_per_s - 1e-9)
    bounded = np.clip(wanted, scaler.least, scaler.most)
    kept = _windows(bounded, scaler.cool_down_s).max(axis=-1)
    serving = _windows(kept, scaler.start_s).min(axis=-1)
    hours = _STEP_S / 3600.0
    requests = float(curve.sum())
    asked = max(requests, 1e-300)
    cold = float(curve[serving == 0].sum())
    fixed = float(np.clip(wanted.max(), max(scaler.least, 1), scaler.most)) * DAY_S / 3600.0
    return Day(
        kept_hours=float(kept.sum()) * hours,
        worked_hours=requests / scaler.replica_requests_per_s * hours,
        fixed_hours=fixed,
        most_kept=int(kept.max()),
        over_share=float(curve[(serving < wanted) & (serving > 0)].sum()) / asked,
        cold_share=cold / asked,
    )


def _windows(values: Array, window_s: float) -> Array:
    """Return for each minute the values of it and of those before it in a window, around the clock."""
    span = min(int(np.ceil(window_s / _STEP_S)), len(values) - 1) + 1
    around = np.concatenate([values[len(values) - span + 1 :], values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(around, span))
