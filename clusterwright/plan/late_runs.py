"""Runs that are to end within a time: their goals, and the finding of those that take longer, for every such kind."""

import math

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.errors import Finding
from clusterwright.plan.bounds import most_nodes
from clusterwright.plan.record import Option
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.units import SECONDS_PER_DAY, duration_text, percent

_HOURS_A_DAY = 24


class EndingRun:
    """The goals of an engine whose work is a run that ends: the methods are those of `plan.engine.Engine`."""

    __slots__ = ()

    def units_of_horizon(self, blueprint: Blueprint) -> None:
        """Return None: runs follow from `economics`."""

    def meets_goals(self, blueprint: Blueprint, point: SizedPoint) -> bool:
        """Tell whether the run ends within the time of the goal, with its confidence."""
        goal_s = blueprint.goals.finish_within
        return goal_s is None or point.calendar_days_high <= goal_s / SECONDS_PER_DAY

    def shortfall(self, point: SizedPoint) -> float:
        """Return the days of the run with the goal's confidence."""
        return point.calendar_days_high

    def goal_findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> tuple[Finding, ...]:
        """Return `GOAL001`: the run takes longer than the goal."""
        return (too_late(blueprint, option, target),)


def too_late(blueprint: Blueprint, option: Option, target: ResolvedTarget) -> Finding:
    """Return `GOAL001`: the fastest cluster takes longer than the goal."""
    most, limit = most_nodes(blueprint, target)
    wider = "raise workload.global_batch so that more GPUs can work"
    if most is not None:
        wider = f"allow more than {most} nodes (the limit is {limit})"
    if not target.node.reaches_others:
        wider = "choose nodes with a GPU fabric"
    goal_days = (blueprint.goals.finish_within or math.nan) / SECONDS_PER_DAY
    return Finding(
        id="GOAL001",
        path=("goals", "finish_within"),
        message=(
            f"{option.target}: the fastest cluster ({option.cluster.nodes} × {option.cluster.instance}) takes "
            f"{duration_text(option.performance.calendar_days_high)} at {percent(blueprint.goals.confidence)} "
            f"confidence; the goal is {duration_text(goal_days)}{target.node.alone_text}"
        ),
        help=(
            f"set goals.finish_within to {_whole(option.performance.calendar_days_high)}, {wider}, "
            f"or choose a faster {'system' if target.system else 'instance'}"
        ),
    )


def _whole(days: float) -> str:
    """Return the next whole days, or hours below one day, as a blueprint has them."""
    return f"{math.ceil(days)} days" if days > 1 else f"{math.ceil(days * _HOURS_A_DAY)} hours"
