"""What a run needs of storage."""

from dataclasses import replace

import pytest

from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.reliability.storage import storage_need

BASE = load_calibration().reliability()


def test_gpt3_needs_its_data_set_and_five_checkpoints(job: TrainingJob) -> None:
    """300e9 tokens of 2 bytes and five checkpoints of 2.27 TB, and a quarter more; 38 GB/s write one a minute."""
    need = storage_need(job, BASE, parameters=174.6e9, data_read_bytes_per_s=2e6, run_s=20 * 86400)
    assert need.dataset_bytes == 600e9
    assert need.checkpoint_bytes_kept == pytest.approx(5 * 13 * 174.6e9)
    assert need.capacity_bytes == pytest.approx(1.25 * (600e9 + 5 * 13 * 174.6e9))
    assert need.write_bytes_per_s == pytest.approx(13 * 174.6e9 / 60)
    assert need.read_bytes_per_s == pytest.approx(13 * 174.6e9 / 120)
    assert (need.checkpoints_kept, need.milestones) == (5, 0)


def test_milestones_add_capacity_and_memory_saves_bandwidth(job: TrainingJob) -> None:
    """A checkpoint kept every five of twenty days adds four; flushing twice an hour takes a thirtieth to write."""
    plain = storage_need(job, BASE, parameters=174.6e9, data_read_bytes_per_s=2e6, run_s=20 * 86400)
    kept = replace(BASE, milestone_every_s=5 * 86400.0, strategy="memory")
    need = storage_need(job, kept, parameters=174.6e9, data_read_bytes_per_s=2e6, run_s=20 * 86400)
    assert need.milestones == 4
    assert need.checkpoint_bytes_kept == pytest.approx(plain.checkpoint_bytes_kept * 9 / 5)
    assert need.write_bytes_per_s == pytest.approx(plain.write_bytes_per_s / 30)
