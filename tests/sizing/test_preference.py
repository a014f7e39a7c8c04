"""Layouts that are about as fast as the fastest: which one is taken, and what it may cost."""

from dataclasses import replace
from functools import cache

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.job import Front, Layout, TrainingJob
from clusterwright.sizing.training.preference import is_usual
from clusterwright.sizing.training.search import search

CATALOGUE = load()
NODE = lookup.node_type_of_system(CATALOGUE, "dgx-h100")
JOB = TrainingJob(
    model=lookup.model(CATALOGUE, "llama-3.1-70b"),
    tokens=3e11,
    sequence_length=8192,
    global_batch_sequences=512,
    precision="bf16",
    finish_within_s=None,
    memory_confidence=0.95,
    max_nodes=64,
)


@cache
def front(tolerance: float, finish_within_s: float | None = None) -> Front:
    """Return the front of the job with a tolerance."""
    job = replace(JOB, layout_tolerance=tolerance, finish_within_s=finish_within_s)
    return search(job=job, node=NODE, calibration=load_calibration())


def _recomputed(layout: Layout) -> float:
    """Return the share of Llama 3.1 70B's 80 layers that a layout recomputes as a whole."""
    if layout.recompute != "full":
        return 0.0
    return 1.0 if layout.recompute_layers is None else layout.recompute_layers * layout.pp * layout.vpp / 80


@pytest.mark.parametrize(
    ("tp", "pp", "usual"),
    [(8, 12, True), (1, 1, True), (4, 20, True), (12, 1, False), (2, 41, False), (4, 49, False), (8, 7, False)],
)
def test_usual_sizes_are_powers_of_two_and_pipelines_of_small_factors(tp: int, pp: int, *, usual: bool) -> None:
    """TP 12, PP 7, PP 41 and PP 49 are layouts that are never chosen first."""
    assert is_usual(tp=tp, pp=pp) is usual


def test_without_a_tolerance_the_fastest_layouts_are_taken() -> None:
    """No point names a faster layout."""
    assert all(point.faster is None for point in front(0.0).points)


def test_a_tolerance_takes_a_layout_that_people_run() -> None:
    """On five nodes TP 4 with a quarter of the layers recomputed gives way to TP 8 and none recomputed."""
    (fastest,) = (point for point in front(0.0).points if point.nodes == 5)
    (taken,) = (point for point in front(0.02).points if point.nodes == 5)
    assert _recomputed(fastest.layout) > 0.05
    assert _recomputed(taken.layout) == 0
    assert is_usual(tp=taken.layout.tp, pp=taken.layout.pp)
    assert taken.faster is not None
    assert taken.faster.layout == fastest.layout
    assert taken.faster.slower_share == pytest.approx(taken.calendar_days / fastest.calendar_days - 1, rel=1e-6)
    assert "fewer layers" in taken.faster.reason


def test_no_size_gives_up_more_than_the_tolerance_or_recomputes_more() -> None:
    """Same sizes on the front, each within 2 % of its fastest, fewer days with more nodes, never more recomputation."""
    before, after = front(0.0).points, front(0.02).points
    assert [point.nodes for point in after] == [point.nodes for point in before]
    for fastest, taken in zip(before, after, strict=True):
        assert fastest.calendar_days <= taken.calendar_days * (1 + 1e-9)
        assert taken.calendar_days <= fastest.calendar_days * 1.02 * (1 + 1e-9)
        assert (taken.faster is None) == (taken.layout == fastest.layout)
        if is_usual(tp=fastest.layout.tp, pp=fastest.layout.pp):
            assert _recomputed(taken.layout) <= _recomputed(fastest.layout) + 0.1
    days = [point.calendar_days for point in after]
    assert days == sorted(days, reverse=True)
    assert len(set(days)) == len(days)


def test_a_size_that_meets_the_goal_is_not_moved_beyond_it() -> None:
    """With a goal between the two layouts' days at 90 %, five nodes keep the fastest layout."""
    (fastest,) = (point for point in front(0.0).points if point.nodes == 5)
    (taken,) = (point for point in front(0.02).points if point.nodes == 5)
    goal_s = 86400 * (fastest.calendar_days_high + taken.calendar_days_high) / 2
    assert fastest.calendar_days_high < taken.calendar_days_high
    (held,) = (point for point in front(0.02, goal_s).points if point.nodes == 5)
    assert held.calendar_days_high * 86400 <= goal_s
