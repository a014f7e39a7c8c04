"""How far elastic jobs shrink."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.calibration import load_calibration
from clusterwright.sizing.elastic import smaller_data_parallel
from clusterwright.sizing.records import Layout, TrainingJob
from clusterwright.sizing.search import search


def layout(*, tp: int = 4, pp: int = 12, dp: int = 8, vpp: int = 1, micro_batch: int = 2, cp: int = 1) -> Layout:
    """Return a layout of GPT-3's shape."""
    return Layout(
        tp=tp, sp=1, pp=pp, vpp=vpp, dp=dp, cp=cp, ep=1, zero_stage=1, micro_batch=micro_batch, micro_batches=96,
        recompute="none",
    )  # fmt: skip


def test_the_batch_must_divide() -> None:
    """Of 8 replicas with 1,536 sequences in twos, 7 do not divide the batch and 6 do."""
    assert smaller_data_parallel(layout(), global_batch_sequences=1536, gpus_per_node=8) == 6


def test_interleaved_pipelines_need_multiples_of_their_stages() -> None:
    """128 micro-batches of 6 replicas are no multiple of 12 stages, 192 of 4 are."""
    assert smaller_data_parallel(layout(vpp=8), global_batch_sequences=1536, gpus_per_node=8) == 4


def test_one_replica_cannot_shrink() -> None:
    """A job of a single replica stops with its node."""
    assert smaller_data_parallel(layout(dp=1), global_batch_sequences=1536, gpus_per_node=8) is None


def test_a_job_that_would_not_fit_stops(gpt3: Model, h100: NodeType) -> None:
    """With weights sharded over all GPUs, fewer replicas hold more each: the job shrinks only while it fits."""
    reliability = replace(load_calibration().reliability(), elastic=True)
    calibration = replace(load_calibration(), job=reliability)
    job = TrainingJob(
        model=gpt3, tokens=1e9, sequence_length=2048, global_batch_sequences=512, precision="bf16",
        finish_within_s=None, max_nodes=64, tensor_parallel=1, pipeline_parallel=1, micro_batch=1, recompute="full",
    )  # fmt: skip
    points = {point.nodes: point for point in search(job=job, node=h100, calibration=calibration).points}
    assert points[64].goodput.elastic_nodes == 32
    assert points[min(points)].goodput.elastic_nodes is None


@settings(deadline=None)  # a busy machine is no finding
@given(
    tp=st.sampled_from([1, 2, 4, 8]), pp=st.integers(1, 12), dp=st.integers(1, 64), batch=st.integers(1, 4096),
    micro_batch=st.integers(1, 8),
)  # fmt: skip
def test_what_is_left_is_a_valid_job(tp: int, pp: int, dp: int, batch: int, micro_batch: int) -> None:
    """The smaller job has fewer replicas, whole nodes and whole micro-batches."""
    gpus = 8
    full = layout(tp=tp, pp=pp, dp=dp, micro_batch=micro_batch)
    ranks = smaller_data_parallel(full, global_batch_sequences=batch, gpus_per_node=gpus)
    if ranks is not None:
        assert 0 < ranks < dp
        assert tp * pp * ranks % gpus == 0
        assert batch % (micro_batch * ranks) == 0
