"""Checkpoint strategies: blocking time, lag, bandwidth, retention, spares."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.reliability import STRATEGIES, Reliability
from clusterwright.sizing.reliability import checkpoints

BASE = load_calibration().reliability()


def of(strategy: str, *, checkpoint_bytes: float = 13 * 405e9) -> Reliability:
    """Return a job with a strategy and a checkpoint."""
    return replace(BASE, strategy=strategy, checkpoint_bytes=checkpoint_bytes)  # type: ignore[arg-type]


def test_a_snapshot_lies_between_the_published_ones() -> None:
    """Llama 405B on 8,960 GPUs stops for 0.59 s (ByteCheckpoint), a 7B model for 6.3 s (PyTorch); ours is between."""
    assert 0.59 < float(checkpoints.snapshot_s(of("async"), nodes=1120.0)) < 6.3


def test_one_writer_takes_what_gemini_reports() -> None:
    """Over 20 Gb/s, MT-NLG 530B takes 42 minutes."""
    assert checkpoints.single_writer_s(of("full", checkpoint_bytes=530e9 * 11.9)) / 60 == pytest.approx(42, rel=0.01)


def test_writing_within_a_minute_is_what_is_done() -> None:
    """ByteCheckpoint saves Llama 405B from 8,960 GPUs in 51.06 s, which needs 103 GB/s; the design value needs 88."""
    assert checkpoints.write_bytes_per_s(of("async")) == pytest.approx(13 * 405e9 / 60)
    assert checkpoints.write_bytes_per_s(of("async")) < 13 * 405e9 / 51.06


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_interruption_is_served_by_one_level(strategy: str) -> None:
    """Shares of the levels sum to 1, and nothing takes negative time."""
    found = checkpoints.levels(of(strategy), nodes=64.0)
    assert sum(level.share for level in found) == pytest.approx(1)
    assert all(float(level.blocking_s) >= 0 and float(level.lag_s) >= 0 for level in found)


def test_only_the_blocking_strategies_stop_for_the_write() -> None:
    """One writer stops training longest, all writers for the write time, the others for a copy into host memory."""
    blocking = {name: float(checkpoints.levels(of(name), nodes=64.0)[0].blocking_s) for name in STRATEGIES}
    assert blocking["full"] == pytest.approx(13 * 405e9 / 2.5e9)
    assert blocking["distributed"] == 60
    assert blocking["async"] == blocking["memory"] == blocking["incremental"] == pytest.approx(2 + 5265 / 5120)


def test_copies_take_host_memory() -> None:
    """Of 5.3 TB on 1,024 nodes each holds 5 GB behind training, and four times that in memory with its peer's."""
    held = {name: float(checkpoints.host_bytes_per_node(of(name), nodes=1024.0)) for name in STRATEGIES}
    assert held["async"] == pytest.approx(13 * 405e9 / 1024)
    assert held["memory"] == 4 * held["async"]
    assert held["full"] == held["distributed"] == 0


def test_memory_needs_little_of_storage() -> None:
    """A flush every half hour takes a thirtieth of the bandwidth of a write within a minute."""
    assert checkpoints.write_bytes_per_s(of("memory")) == pytest.approx(checkpoints.write_bytes_per_s(of("async")) / 30)


def test_incremental_of_a_dense_model_saves_nothing() -> None:
    """Adam changes every weight, so changes are as large as the whole; a tenth of it makes a mean of 0.19."""
    assert checkpoints.mean_change(of("incremental")) == 1
    sparse = replace(of("incremental"), changed_fraction=0.1)
    assert checkpoints.mean_change(sparse) == pytest.approx(0.19)
    assert checkpoints.restored_bytes(sparse) == pytest.approx(1.45 * 13 * 405e9)
    assert checkpoints.kept_bytes(sparse, run_s=1e6) == pytest.approx(2 * 1.9 * 13 * 405e9)


def test_retention_is_the_latest_and_the_milestones() -> None:
    """Five latest of 5.3 TB are 26 TB; 30 days with one kept every 2 days add 15 more."""
    latest = of("async")
    assert checkpoints.kept_bytes(latest, run_s=30 * 86400) == pytest.approx(5 * 13 * 405e9)
    with_milestones = replace(latest, milestone_every_s=2 * 86400.0)
    assert checkpoints.milestones(with_milestones, run_s=30 * 86400) == 15
    assert checkpoints.kept_bytes(with_milestones, run_s=30 * 86400) == pytest.approx(20 * 13 * 405e9)


def test_spares_are_poisson() -> None:
    """With one node away on average, no spare is left with 1, 1 - 1/e and 1 - 2/e for none, one and two spares."""
    day = replace(of("async"), repair_s=86400.0)
    nodes = 1 / day.lost_nodes_per_node_day
    for spares, expected in ((0, 1.0), (1, 1 - 1 / math.e), (2, 1 - 2 / math.e)):
        found = checkpoints.no_spare_probability(replace(day, spare_nodes=spares), nodes=nodes)
        assert float(found) == pytest.approx(expected)


@settings(deadline=None)  # a busy machine is no finding
@given(nodes=st.integers(1, 5000), spares=st.integers(0, 60), repair=st.floats(60, 1e6), share=st.floats(0, 1))
def test_more_spares_never_wait_longer(nodes: int, spares: int, repair: float, share: float) -> None:
    """A further spare or a job that goes on never lengthens the wait, which is never longer than the repairs."""
    job = replace(of("async"), spare_nodes=spares, repair_s=repair)
    wait = float(checkpoints.waiting_ratio(job, nodes=float(nodes)))
    assert 0 <= wait <= float(checkpoints.missing_nodes(job, nodes=float(nodes))) * (1 + 1e-12)
    assert float(checkpoints.waiting_ratio(replace(job, spare_nodes=spares + 1), nodes=float(nodes))) <= wait
    assert float(checkpoints.waiting_ratio(job, nodes=float(nodes), running_share=share)) <= wait


def test_without_a_repair_time_nothing_is_waited_for() -> None:
    """The restart time then includes a working node."""
    assert float(checkpoints.waiting_ratio(of("async"), nodes=100.0)) == 0
    assert float(checkpoints.missing_nodes(of("async"), nodes=100.0)) == 0
