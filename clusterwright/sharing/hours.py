"""Hours of a week in which workloads claim nodes, and the cluster that suffices for what works at the same time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clusterwright.blueprint.sections.schedule import DAYS, HOURS_A_DAY, HOURS_A_WEEK, Hours
from clusterwright.sizing.columns import Array
from clusterwright.units import HOURS_PER_MONTH

_NONE_OF_THE_WEEK = (0,) * HOURS_A_WEEK


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Nodes that one workload needs.

    Attributes:
        nodes_by_hour: that it claims in each hour of a week, from Monday 00:00, between its months.
        kept_nodes: that it pays in every hour between its months, worked or not: those of a service.
        from_month, until_month: of the horizon.
        worked_node_hours: in which its nodes work, over the horizon.
    """

    name: str
    nodes_by_hour: tuple[int, ...]
    kept_nodes: int
    from_month: float
    until_month: float
    worked_node_hours: float

    @property
    def always_on(self) -> bool:
        """Whether its nodes are kept."""
        return self.kept_nodes > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Months in which the same workloads are there.

    Attributes:
        claims: of those.
        needed: nodes that they claim together in each hour of a week; kept: nodes that are paid all the time.
    """

    from_month: float
    until_month: float
    claims: tuple[Claim, ...]

    @property
    def needed(self) -> Array:
        """Nodes that are claimed together in each hour of a week."""
        return _together(self.claims)

    @property
    def kept(self) -> int:
        """Nodes that services keep."""
        return sum(claim.kept_nodes for claim in self.claims)

    @property
    def free(self) -> Array:
        """Kept nodes that no service needs, in each hour of a week."""
        return self.kept - _together([claim for claim in self.claims if claim.always_on])


def _together(claims: Sequence[Claim]) -> Array:
    nodes: Array = np.array([_NONE_OF_THE_WEEK, *(claim.nodes_by_hour for claim in claims)], dtype=float).sum(axis=0)
    return nodes


def service_nodes_by_hour(
    hourly_rate: Sequence[float], *, replicas: int, spare: int, gpus_per_replica: int, gpus_per_node: int, nodes: int
) -> tuple[int, ...]:
    """Return the nodes of a service in each hour of a week.

    The replicas of the busiest hour shrink as the rate does; an hour counts as the busiest of itself and its two
    neighbours, so that a replica has started when it is needed and its node is empty when it is lent.

    Args:
        hourly_rate: requests per second of the hours of a day.
        replicas: that the busiest hour needs.
        spare: beside them, always.
        gpus_per_replica: accelerators of one.
        gpus_per_node: accelerators of a node.
        nodes: that are kept; no hour needs more.

    >>> service_nodes_by_hour(
    ...     [8.0] * 12 + [2.0] * 12, replicas=8, spare=0, gpus_per_replica=4, gpus_per_node=8, nodes=4
    ... )[10:16]
    (4, 4, 4, 1, 1, 1)
    """
    most = max(hourly_rate)
    near = [
        max(hourly_rate[hour - 1], rate, hourly_rate[(hour + 1) % len(hourly_rate)])
        for hour, rate in enumerate(hourly_rate)
    ]
    per_node = max(gpus_per_node // gpus_per_replica, 1)
    per_replica = math.ceil(gpus_per_replica / gpus_per_node)
    day = []
    for rate in near:
        needed = max(math.ceil(replicas * rate / most - 1e-9), 1) + spare
        day.append(min(math.ceil(needed / per_node) * per_replica, nodes))
    return tuple(day) * len(DAYS)


def run_nodes_by_hour(hours: Hours | None, nodes: int) -> tuple[int, ...]:
    """Return the nodes of a run in each hour of a week: in its hours, or always where it has none."""
    if hours is None:
        return (nodes,) * HOURS_A_WEEK
    return tuple(nodes if hour in hours.claimed else 0 for hour in range(HOURS_A_WEEK))


def segments(claims: Sequence[Claim]) -> tuple[Segment, ...]:
    """Return the months of the horizon, cut where a workload begins or ends."""
    cuts = sorted({month for claim in claims for month in (claim.from_month, claim.until_month)})
    return tuple(
        Segment(
            from_month=begin,
            until_month=end,
            claims=tuple(claim for claim in claims if claim.from_month <= begin and claim.until_month >= end),
        )
        for begin, end in pairwise(cuts)
    )


def cluster_nodes(claims: Sequence[Claim]) -> int:
    """Return the nodes that suffice in every hour for what works at the same time; those that are kept at least."""
    return max((max(int(part.needed.max()), part.kept) for part in segments(claims)), default=0)


def busiest(claims: Sequence[Claim]) -> tuple[int, tuple[str, ...]]:
    """Return the hour of the week in which most nodes are claimed, and by which workloads."""
    part = max(segments(claims), key=lambda one: int(one.needed.max()))
    hour = int(part.needed.argmax())
    return hour, tuple(claim.name for claim in part.claims if claim.nodes_by_hour[hour])


def lent_shares(claims: Sequence[Claim]) -> dict[str, float]:
    """Return which share of a run's node-hours are of nodes that are kept for services anyway, by name.

    What is free in an hour is divided among the runs of that hour in proportion to what they claim.
    """
    lent = {claim.name: 0.0 for claim in claims if not claim.always_on}
    claimed = dict(lent)
    for part in segments(claims):
        months = part.until_month - part.from_month
        runs = [claim for claim in part.claims if not claim.always_on]
        if not runs:
            continue
        asked = np.sum([claim.nodes_by_hour for claim in runs], axis=0)
        share = np.minimum(part.free / np.maximum(asked, 1), 1.0)
        for claim in runs:
            nodes = np.array(claim.nodes_by_hour)
            claimed[claim.name] += months * float(nodes.sum())
            lent[claim.name] += months * float((nodes * share).sum())
    return {name: lent[name] / claimed[name] if claimed[name] else 0.0 for name in lent}


def worked_share(claims: Sequence[Claim], nodes: int, horizon_months: float) -> float:
    """Return the share of a cluster's node-hours over the horizon that workloads work."""
    worked = sum(claim.worked_node_hours for claim in claims)
    return worked / (nodes * horizon_months * HOURS_PER_MONTH)


def best_start(claims: Sequence[Claim], hours: int) -> tuple[int, int]:
    """Return the hour of the week from which most kept nodes are free for a given number of hours, and how many are."""
    free = np.min([part.free for part in segments(claims) if part.kept] or [np.zeros(HOURS_A_WEEK)], axis=0)
    least = [int(min(free[(start + hour) % HOURS_A_WEEK] for hour in range(hours))) for start in range(HOURS_A_WEEK)]
    most = max(least)
    return least.index(most), most


def hour_text(hour: int) -> str:
    """Return an hour of the week as people say it.

    >>> hour_text(122)
    'Saturday 02:00'
    """
    return f"{DAYS[hour // HOURS_A_DAY].capitalize()} {hour % HOURS_A_DAY:02}:00"


def hours_text(hours: Hours | None) -> str:
    """Return hours of the week in words.

    >>> hours_text(Hours(days=["saturday"], start=22, hours=6))
    'Saturday 22:00 to 04:00'
    """
    if hours is None:
        return ""
    days = (
        "every day"
        if len(hours.starts) == len(DAYS)
        else ", ".join(DAYS[start // HOURS_A_DAY].capitalize() for start in hours.starts)
    )
    end = (hours.start + hours.hours) % HOURS_A_DAY
    length = "" if hours.hours <= HOURS_A_DAY else f" ({hours.hours} h)"
    return f"{days} {hours.start:02}:00 to {end:02}:00{length}"
