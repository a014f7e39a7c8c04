"""A day of a service: its curve of requests, and the hours of replicas that are kept, needed and would follow it."""

import math

import numpy as np

from clusterwright.blueprint.schema import Blueprint, serve_of
from clusterwright.blueprint.workloads.serving import Autoscaling
from clusterwright.plan.serving.job import weight_bytes
from clusterwright.plan.serving.record import ReplicaHoursCost, ServiceDay
from clusterwright.sizing.columns import Array
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.sizing.serving.autoscaling import (
    DAY_S,
    Autoscaler,
    daily_curve,
    day,
    minutes,
    replica_hours,
    start_s,
)
from clusterwright.sizing.serving.sizes import ServingSize

_HOURS = 24
#: The sharpest peak that `daily_curve` draws.
_SHARPEST = 20.0


def curve_of(blueprint: Blueprint, mean_requests_per_s: float) -> Array:
    """Return the requests per second of every minute of a day of today's traffic: the curve given, or a peak at noon.

    A peak of more than 20 times the mean is drawn as 20 times.
    """
    _, traffic = serve_of(blueprint)
    if traffic.daily_curve is not None:
        hourly = np.array(traffic.daily_curve)
        return minutes(hourly * mean_requests_per_s / hourly.mean())
    at_midnight = daily_curve(mean_requests_per_s=mean_requests_per_s, peak_over_mean=min(traffic.peak, _SHARPEST))
    return np.roll(at_midnight, len(at_midnight) // 2)


def service_day(
    blueprint: Blueprint, size: ServingSize, storage: StorageNeed, *, replicas: int, spare: int, mean: float
) -> ServiceDay:
    """Return what a day of today's traffic keeps and needs of replicas, in hours.

    Args:
        blueprint: of the service.
        size: of one replica.
        storage: that the weights are read from.
        replicas: of the peak at the end of the horizon.
        spare: beside them, always kept.
        mean: requests per second of a day.
    """
    # Users who wait longer at the peak ask less often than the curve of the mean says: never more than is carried.
    curve = np.minimum(curve_of(blueprint, mean), size.capacity_per_s * replicas)
    scaler = _scaler(blueprint, size, storage, replicas=replicas, quietest=float(curve.min()))
    found = day(curve, scaler)
    return ServiceDay(
        hourly_requests_per_s=tuple(float(one) for one in curve.reshape(_HOURS, -1).mean(axis=1)),
        least_replicas=scaler.least,
        most_replicas=scaler.most,
        start_lag_s=scaler.start_s,
        kept_hours=replica_hours(replicas=replicas, spare=spare, hours=DAY_S / 3600.0),
        worked_hours=found.worked_hours,
        following_hours=found.kept_hours + spare * DAY_S / 3600.0,
        late_share=found.over_share + found.cold_share,
        cold_share=found.cold_share,
    )


def replica_hours_cost(of_day: ServiceDay, month_usd: float | None, *, by_the_hour: bool) -> ReplicaHoursCost:
    """Return the cost of a month by the replica hours of a day, USD.

    Args:
        of_day: with the hours.
        month_usd: what a month costs with all replicas kept; None where it is unknown.
        by_the_hour: nodes that are let go are not paid.
    """

    def usd(hours: float) -> float | None:
        return None if month_usd is None else month_usd * hours / of_day.kept_hours

    return ReplicaHoursCost(
        kept_usd=month_usd,
        worked_usd=usd(of_day.worked_hours),
        following_usd=usd(of_day.following_hours) if by_the_hour else None,
    )


def _scaler(
    blueprint: Blueprint, size: ServingSize, storage: StorageNeed, *, replicas: int, quietest: float
) -> Autoscaler:
    """Return the autoscaler of the blueprint, or the usual one: from what the quietest minute needs to the peak's."""
    asked = blueprint.replicas.autoscaling or Autoscaling()
    least = max(math.ceil(quietest / size.capacity_per_s - 1e-9), 1)
    least = 0 if asked.scale_to_zero else least if asked.least is None else asked.least
    most = max(replicas, least, 1) if asked.most is None else asked.most
    return Autoscaler(
        replica_requests_per_s=size.capacity_per_s,
        least=min(least, most),
        most=most,
        start_s=start_s(
            weight_bytes=weight_bytes(blueprint, size),
            storage_bytes_per_s=storage.read_bytes_per_s,
            warm_up_s=asked.warm_up,
        ),
        cool_down_s=asked.cool_down,
    )
