"""Smaller clusters that miss the time of the goal by little: which they are, and the sentences that say so."""

from collections.abc import Iterable

from clusterwright import units
from clusterwright.plan.record import NearMiss, Plan
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import NAME_OF_TARGET, term_text
from clusterwright.sizing.records.point import SizedPoint

#: A size that needs at most this much longer than the goal is worth a word, and this many of one target are.
LATE_SHARE = 0.1
MOST = 2


def near_misses(points: Iterable[SizedPoint], *, nodes: int, goal_days: float | None) -> tuple[NearMiss, ...]:
    """Return the sizes below a chosen one that miss the goal by at most `LATE_SHARE` of it, the nearest first.

    Args:
        points: sizes that miss the goal.
        nodes: of the chosen size.
        goal_days: time of the goal; None where there is none.
    """
    if goal_days is None:
        return ()
    found = [
        NearMiss(
            nodes=point.nodes,
            gpus=point.gpus,
            calendar_days_high=point.calendar_days_high,
            late_days=point.calendar_days_high - goal_days,
        )
        for point in points
        if point.nodes < nodes and goal_days < point.calendar_days_high <= (1 + LATE_SHARE) * goal_days
    ]
    return tuple(sorted(found, key=lambda miss: miss.late_days)[:MOST])


def near_miss_lines(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each way of the short ranking that has near misses: which smaller sizes are how late.

    A cloud's size is that of the capacity it is rented under, so that the sentence names both. Without a ranking, the
    plan's options are spoken of.
    """
    ways = [(term_text(way.key), plan.planned(way.key)) for way in main_ways(plan)]
    lines = []
    for name, option in ways or [(NAME_OF_TARGET[option.target], option) for option in plan.options]:
        said = [
            f"{miss.nodes:,} miss by {units.duration_text(miss.late_days)} ({miss.calendar_days_high:.1f} days at "
            f"{units.percent(plan.goals.confidence)})"
            for miss in (() if option is None else option.performance.near_misses)
        ]
        if option is not None and said:
            lines.append(f"{name}: {option.cluster.nodes:,} nodes chosen, {' and '.join(said)}")
    return tuple(lines)
