"""Checks how nodes are spread over Auto Scaling groups."""

import pytest

from gpu_cluster.slurm.nodes import group_sizes


@pytest.mark.parametrize(
    ("node_count", "largest", "sizes"),
    [(0, 64, [0]), (1, 64, [1]), (64, 64, [64]), (65, 64, [64, 1]), (150, 64, [64, 64, 22]), (4, 1, [1, 1, 1, 1])],
)
def test_group_sizes(node_count: int, largest: int, sizes: list[int]) -> None:
    """Groups are filled one after another; an empty cluster keeps one empty group."""
    assert group_sizes(node_count, largest) == sizes


def test_growing_never_shrinks_a_group() -> None:
    """A larger cluster keeps every running node: no group gets smaller."""
    for count in range(200):
        before, after = group_sizes(count, 64), group_sizes(count + 1, 64)
        assert all(new >= old for old, new in zip(before, after, strict=False))
        assert len(after) >= len(before)
