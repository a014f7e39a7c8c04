"""Small rules of sizing, each at and beside its limit, without a search."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clusterwright.sizing.columns import SCHEDULES
from clusterwright.sizing.hardware import topology
from clusterwright.sizing.hardware.groups import _tiers
from clusterwright.sizing.records.job import StepTime
from clusterwright.sizing.reliability.checkpoints import host_bytes_per_node
from clusterwright.sizing.training.layouts import _schedule_code
from clusterwright.sizing.training.memory import FRAGMENTATION, reserved_bytes
from clusterwright.sizing.training.points import limits


def _record(**values: object) -> Any:  # noqa: ANN401 - stands for a record of which a rule reads these fields alone
    return SimpleNamespace(**values)


def test_the_schedule_that_is_asked_for_is_timed() -> None:
    """Without one it is the first."""
    assert [_schedule_code(_record(schedule=name)) for name in SCHEDULES] == [float(n) for n in range(len(SCHEDULES))]
    assert _schedule_code(_record(schedule=None)) == 0.0


def test_traffic_inside_layers_is_that_of_experts_only_where_there_are_some() -> None:
    """The words of a dense model speak of tensor parallelism alone."""
    parts = StepTime(
        compute_s=1, tensor_parallel_s=1, pipeline_bubble_s=0, pipeline_transfer_s=0, data_parallel_s=0, optimizer_s=0
    )
    assert limits(parts) == limits(parts, experts=False)
    assert "expert" not in limits(parts)[0]
    assert "expert" in limits(parts, experts=True)[0]


@pytest.mark.parametrize(
    ("strategy", "copies"), [("full", 0), ("distributed", 0), ("async", 1), ("incremental", 1), ("memory", 4)]
)
def test_copies_of_a_checkpoint_in_host_memory(strategy: str, copies: int) -> None:
    """One while it is written behind training; two of its own and two of its peer where memory is the store."""
    reliability = _record(strategy=strategy, checkpoint_bytes=8e9)
    assert host_bytes_per_node(reliability, nodes=4.0) == copies * 2e9


def test_a_part_of_what_is_handed_out_is_lost() -> None:
    """The allocator holds more than tensors take, states included."""
    memory = _record(activations=1e9, logits=2e9, communication=3e9, allocated=2e10)
    assert reserved_bytes(memory) == pytest.approx((1 + FRAGMENTATION) * 2e10)


def test_a_closed_torus_takes_three_steps_around_four_by_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """`e - 1` along each of two axes, both ways at a time: 2 x 3 / 2; an open one takes 6."""
    monkeypatch.setattr(topology, "switched", lambda _: False)
    device = _record(torus_axes=2, mesh_peers=0)
    monkeypatch.setattr(topology, "_axes", lambda *_, **__: (np.array(2.0), np.array(2.0)))
    assert topology.ring_steps(device, ranks=np.array(16.0)) == pytest.approx(3.0)
    monkeypatch.setattr(topology, "_axes", lambda *_, **__: (np.array(0.0), np.array(2.0)))
    assert topology.ring_steps(device, ranks=np.array(16.0)) == pytest.approx(6.0)


def test_tiers_of_switches_that_a_group_crosses() -> None:
    """One below a leaf, two below spines, three beyond them."""
    where = _record(spine=np.array([1, 2, 3]), core=np.array([1, 1, 2]))
    assert _tiers(where).tolist() == [1.0, 2.0, 3.0]
