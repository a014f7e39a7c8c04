"""How far elastic jobs shrink."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.columns import Layouts, take
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.training import elastic, layouts, points
from clusterwright.sizing.training.search import search


def layout(*, tp: int = 4, pp: int = 12, dp: int = 8, vpp: int = 1, micro_batch: int = 2, cp: int = 1) -> Layouts:
    """Return a layout of GPT-3's shape."""
    return Layouts(
        tp=float(tp),
        sp=1.0,
        pp=float(pp),
        vpp=float(vpp),
        dp=np.array([float(dp)]),
        cp=float(cp),
        zero_stage=1.0,
        micro_batch=float(micro_batch),
        micro_batches=96.0,
        recompute=0.0,
    )


def smaller_data_parallel(found: Layouts, *, global_batch_sequences: int, gpus_per_node: int) -> int | None:
    """Return the smaller size of one layout, None where there is none."""
    (ranks,) = elastic.smaller_data_parallel(
        found, global_batch_sequences=global_batch_sequences, gpus_per_node=gpus_per_node
    )
    return int(ranks) or None


def test_the_batch_must_divide() -> None:
    """Of 8 replicas with 1,536 sequences in twos, 7 do not divide the batch and 6 do."""
    assert smaller_data_parallel(layout(), global_batch_sequences=1536, gpus_per_node=8) == 6


def test_interleaved_pipelines_need_multiples_of_their_stages() -> None:
    """128 micro-batches of 6 replicas are no multiple of 12 stages, 192 of 4 are."""
    assert smaller_data_parallel(layout(vpp=8), global_batch_sequences=1536, gpus_per_node=8) == 4


def test_one_replica_cannot_shrink() -> None:
    """A job of a single replica stops with its node."""
    assert smaller_data_parallel(layout(dp=1), global_batch_sequences=1536, gpus_per_node=8) is None


def elastic_reliability() -> Reliability:
    """Return the shipped numbers for a job that shrinks while a node is in repair for two days."""
    return replace(load_calibration().reliability(), elastic=True, repair_s=2 * 86400.0)


@pytest.mark.parametrize("size", [1.0, 0.55])
def test_the_search_ranks_by_the_days_that_are_printed(gpt3: Model, h100: NodeType, size: float) -> None:
    """Every layout that fits, described one by one, gives the same front: none is ranked as if the job stopped.

    With less memory some layouts no longer fit when they shrink, and one that recomputes more may win.
    """
    model = replace(gpt3, layers=12, hidden=4096, heads=32, kv_heads=32, ffn_hidden=16384)
    node = replace(h100, hbm_bytes_per_gpu=h100.hbm_bytes_per_gpu * size)
    job = TrainingJob(
        model=model,
        tokens=1e12,
        sequence_length=2048,
        global_batch_sequences=24,
        precision="bf16",
        finish_within_s=None,
        max_nodes=6,
    )
    calibration, reliability = load_calibration(), elastic_reliability()
    shape, device = shape_of(model, sequence_length=2048), device_of(node, precision="bf16")
    found = layouts.enumerate_layouts(job, node, max_nodes=6)
    assert found is not None
    described = points.describe(
        job, node, shape, device, found, stacks=stacks_of(calibration, node, job), reliability=reliability
    )
    fitting = [point for point in described if point.memory.total <= node.hbm_bytes_per_gpu]
    least: dict[int, float] = {}
    for point in fitting:
        least[point.nodes] = min(point.calendar_days, least.get(point.nodes, float("inf")))
    expected = {n: day for n, day in least.items() if all(day < other for m, other in least.items() if m < n)}
    front = search(job=job, node=node, calibration=calibration, reliability=reliability).points
    assert {point.nodes: point.calendar_days for point in front} == pytest.approx(expected, rel=1e-12)
    assert any(point.goodput.elastic_nodes for point in front)


@pytest.mark.parametrize("recompute", [None, "none", "selective", "full"])
def test_shrinking_is_never_worse_than_stopping(job: TrainingJob, h100: NodeType, recompute: str | None) -> None:
    """On every size the elastic job takes at most the days of one that waits for the node."""
    limited = replace(job, max_nodes=64, recompute=recompute)
    shrinking, calibration = elastic_reliability(), load_calibration()
    stopping = replace(shrinking, elastic=False)
    shrinks = {
        point.nodes: point.calendar_days
        for point in search(job=limited, node=h100, calibration=calibration, reliability=shrinking).points
    }
    for point in search(job=limited, node=h100, calibration=calibration, reliability=stopping).points:
        reachable = [day for nodes, day in shrinks.items() if nodes <= point.nodes]
        assert min(reachable) <= point.calendar_days * (1 + 1e-12)


def brute(found: Layouts, *, batch: int, gpus_per_node: int) -> int:
    """Return the smaller size by trying every one."""
    names = ("tp", "pp", "vpp", "dp", "cp", "micro_batch", "ep", "etp", "replicas")
    tp, pp, vpp, dp, cp, micro_batch, ep, etp, groups = (int(np.asarray(getattr(found, name)).item()) for name in names)
    for ranks in range(dp - 1, 0, -1):
        count, rest = divmod(batch, micro_batch * ranks)
        whole = rest == 0 and (tp * pp * cp * ranks) % gpus_per_node == 0 and (tp * ranks * cp) % (ep * etp) == 0
        if whole and (ranks * cp) % groups == 0 and (vpp == 1 or count % pp == 0):
            return ranks
    return 0


def test_columns_agree_with_trying_every_size(job: TrainingJob, h100: NodeType) -> None:
    """All layouts of a job with experts at once, and each alone by division."""
    model = replace(
        job.model, layers=8, hidden=2048, heads=16, kv_heads=16, ffn_hidden=8192, experts=8, experts_per_token=2
    )
    found = layouts.enumerate_layouts(replace(job, model=model, global_batch_sequences=48), h100, max_nodes=12)
    assert found is not None
    together = elastic.smaller_data_parallel(found, global_batch_sequences=48, gpus_per_node=8)
    each = [brute(take(found, row), batch=48, gpus_per_node=8) for row in range(together.size)]
    assert together.tolist() == each


def test_a_job_that_would_not_fit_stops(gpt3: Model, h100: NodeType) -> None:
    """With weights sharded over all GPUs, fewer replicas hold more each: the job shrinks only while it fits."""
    reliability = replace(load_calibration().reliability(), elastic=True)
    calibration = load_calibration()
    job = TrainingJob(
        model=gpt3,
        tokens=1e9,
        sequence_length=2048,
        global_batch_sequences=512,
        precision="bf16",
        finish_within_s=None,
        max_nodes=64,
        tensor_parallel=1,
        pipeline_parallel=1,
        micro_batch=1,
        recompute="full",
    )
    front = search(job=job, node=h100, calibration=calibration, reliability=reliability)
    points = {point.nodes: point for point in front.points}
    assert points[64].goodput.elastic_nodes == 32
    assert points[min(points)].goodput.elastic_nodes is None


@settings(deadline=None)  # a busy machine is no finding
@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.integers(1, 12),
    dp=st.integers(1, 64),
    batch=st.integers(1, 4096),
    micro_batch=st.integers(1, 8),
)
def test_what_is_left_is_a_valid_job(tp: int, pp: int, dp: int, batch: int, micro_batch: int) -> None:
    """The smaller job has fewer replicas, whole nodes and whole micro-batches."""
    gpus = 8
    full = layout(tp=tp, pp=pp, dp=dp, micro_batch=micro_batch)
    ranks = smaller_data_parallel(full, global_batch_sequences=batch, gpus_per_node=gpus)
    if ranks is not None:
        assert 0 < ranks < dp
        assert tp * pp * ranks % gpus == 0
        assert batch % (micro_batch * ranks) == 0
