"""Smaller clusters that miss the goal by little are named, with how late they are."""

from dataclasses import dataclass
from typing import cast

import pytest

from clusterwright.cli.render.answer import plan_text
from clusterwright.outputs.summary import readme
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.findings.near_misses import near_miss_lines, near_misses
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import term_text
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
    """Terminal and README name the nodes that are late, of each way under its capacity; the plan has them."""
    plan = shipped("goals.finish_within=28d")
    lines = near_miss_lines(plan)
    goal_days = plan.goals.finish_within_days
    assert goal_days is not None
    said = {
        way.key: option
        for way in main_ways(plan)
        if (option := plan.planned(way.key)) and option.performance.near_misses
    }
    assert len(lines) == len(said) > 0
    for line, (key, option) in zip(lines, said.items(), strict=True):
        assert line.startswith(
            f"{term_text(key)}: {option.cluster.nodes} nodes chosen, {option.performance.near_misses[0].nodes} miss by"
        )
        way = plan.alternative(key)
        assert way is not None
        assert way.cluster.nodes == option.cluster.nodes
        for miss in option.performance.near_misses:
            assert miss.nodes < option.cluster.nodes
            assert miss.late_days == pytest.approx(miss.calendar_days_high - goal_days)
            assert f"{miss.nodes} miss by" in line
    for text in (plan_text(plan, SHIPPED, details=True, money=USD), readme(plan, USD)):
        assert all(" ".join(line.split()) in " ".join(text.split()) for line in lines)
    again = loads(dumps(plan))
    assert [option.performance.near_misses for option in again.options] == [
        option.performance.near_misses for option in plan.options
    ]
