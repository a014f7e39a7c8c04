"""Smaller clusters that miss the goal by little are named, with how late they are."""

from dataclasses import dataclass
from typing import cast

import pytest

from clusterwright.cli.render.answer import plan_text
from clusterwright.outputs.summary import readme
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.findings.near_misses import near_miss_lines, near_misses
from clusterwright.plan.text.money import USD
from clusterwright.sizing.records.point import SizedPoint

from .examples import SHIPPED, shipped


@dataclass(frozen=True, kw_only=True)
class Size:
    """What near misses ask of a size."""

    nodes: int
    calendar_days_high: float

    @property
    def gpus(self) -> int:
        """Eight a node."""
        return 8 * self.nodes


def found(goal_days: float | None, *sizes: tuple[int, float]) -> list[tuple[int, float]]:
    """Return nodes and days of the near misses of 512 nodes."""
    points = [cast("SizedPoint", Size(nodes=nodes, calendar_days_high=days)) for nodes, days in sizes]
    return [(miss.nodes, pytest.approx(miss.late_days)) for miss in near_misses(points, nodes=512, goal_days=goal_days)]


def test_only_smaller_sizes_that_are_at_most_a_tenth_late() -> None:
    """256 nodes miss 35 days by 1.8; what is later than 38.5 days, larger, or in time is none; the nearest is first."""
    assert found(35.0, (256, 36.8)) == [(256, 1.8)]
    assert found(35.0, (200, 38.4), (256, 36.8), (300, 35.5)) == [(300, 0.5), (256, 1.8)]
    assert found(35.0, (128, 38.6), (600, 36.0), (400, 35.0)) == []
    assert found(None, (256, 36.8)) == []


def test_every_output_says_so() -> None:
    """Terminal and README of the shipped plan name the nodes that are some hours late, and the plan keeps them."""
    plan = shipped()
    lines = near_miss_lines(plan)
    assert len(lines) == sum(bool(option.near_misses) for option in plan.options) > 0
    index = next(index for index, option in enumerate(plan.options) if option.near_misses)
    option = plan.options[index]
    goal_days = plan.goals.finish_within_days
    assert goal_days is not None
    for miss in option.near_misses:
        assert miss.nodes < option.nodes
        assert miss.late_days == pytest.approx(miss.calendar_days_high - goal_days)
        assert f"{miss.nodes} miss by" in lines[0]
    assert f": {option.nodes} nodes chosen, {option.near_misses[0].nodes} miss by" in lines[0]
    for text in (plan_text(plan, SHIPPED, details=True, money=USD), readme(plan, USD)):
        assert all(" ".join(line.split()) in " ".join(text.split()) for line in lines)
    assert loads(dumps(plan)).options[index].near_misses == option.near_misses
