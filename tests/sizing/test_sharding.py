"""Sharding groups: limits, worked traffic, experts in them, and what the search makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import RuleError
from clusterwright.sizing.columns import Layouts, Shape, Tuning
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training import layouts, memory, step
from clusterwright.sizing.training.elastic import smaller_data_parallel
from clusterwright.sizing.training.search import search
from clusterwright.sizing.training.stage_table import columns_of, memory_by_stage

CALIBRATION = load_calibration()
TUNING = CALIBRATION.of(generation="hopper", stack="fsdp").tuning
LAYOUT = Layouts(
    tp=1.0, sp=0.0, pp=1.0, vpp=1.0, dp=64.0, cp=1.0, zero_stage=3.0, micro_batch=1.0, micro_batches=4.0, recompute=1.0
)
#: Everything exposed, at nominal bandwidth and without latency.
PLAIN = replace(
    TUNING, data_overlap=0.0, network_fraction=1.0, scale_up_fraction=1.0, network_latency_s=0.0, scale_up_latency_s=0.0
)


@pytest.fixture(scope="module")
def llama() -> Model:
    """Llama 3 8B."""
    return lookup.model(load(), "llama-3-8b")


def exposed_s(node: NodeType, layout: Layouts, *, parameters: float, tuning: Tuning = PLAIN) -> float:
    """Return the data-parallel traffic of a number of parameters."""
    device = device_of(node, precision="bf16")
    return float(np.asarray(step.data_parallel_s(device, tuning, layout, parameters=parameters, micro_batch_s=1.0)))


def held(shape: Shape, layout: Layouts) -> float:
    """Return the memory of the fullest GPU."""
    return float(memory.per_gpu(shape, layout, layer=layer_memory.layer_bytes(shape, layout)).total())


def test_a_group_in_a_node_uses_the_network_for_its_shard_only(h100: NodeType) -> None:
    """1e9 parameters on 8 nodes: gathers and scatters at 450 GB/s, one all-reduce of an eighth at 50 GB/s per step."""
    hybrid = replace(LAYOUT, replicas=8.0)
    inside = 4 * (4e9 + 2 * 2e9) * 7 / 8 / 450e9
    across = 2 * 7 / 8 * (4e9 / 8) / 50e9
    assert exposed_s(h100, hybrid, parameters=1e9) == pytest.approx(inside + across)
    whole = exposed_s(h100, LAYOUT, parameters=1e9)
    assert whole == pytest.approx(4 * 8e9 * (7 / 8 / 450e9 + 7 / 8 / 8 / 50e9))
    assert inside + across < whole


def test_gradient_accumulation_pays_the_network_once(h100: NodeType) -> None:
    """Twice the micro-batches double what happens inside the group, not the all-reduce between groups."""
    few, many = (
        exposed_s(h100, replace(LAYOUT, replicas=8.0, micro_batches=count), parameters=1e9) for count in (4.0, 8.0)
    )
    assert many - few == pytest.approx(4 * 8e9 * 7 / 8 / 450e9)


@pytest.mark.parametrize("stage", [1.0, 2.0, 3.0])
def test_one_group_of_all_ranks_is_plain_sharding(llama: Model, h100: NodeType, stage: float) -> None:
    """One group is what there was without groups; a group of one rank shards nothing."""
    shape = shape_of(llama, sequence_length=8192)
    plain = replace(LAYOUT, zero_stage=stage)
    assert held(shape, replace(plain, replicas=1.0)) == held(shape, plain)
    assert exposed_s(h100, replace(plain, replicas=1.0), parameters=1e9) == exposed_s(h100, plain, parameters=1e9)
    alone, unsharded = replace(plain, replicas=64.0), replace(plain, zero_stage=0.0)
    states = [memory.per_gpu(shape, each, layer=layer_memory.layer_bytes(shape, each)) for each in (alone, unsharded)]
    for term in ("weights", "gradients", "optimizer"):
        assert float(getattr(states[0], term)) == pytest.approx(float(getattr(states[1], term)))
    once = replace(plain, zero_stage=1.0, replicas=64.0)
    assert exposed_s(h100, once, parameters=1e9) == pytest.approx(
        exposed_s(h100, replace(plain, zero_stage=0.0), parameters=1e9)
    )


@given(stage=st.sampled_from([1.0, 2.0, 3.0]), power=st.integers(0, 5))
def test_larger_groups_hold_less(*, llama: Model, stage: float, power: int) -> None:
    """Twice the group never holds more of the states."""
    shape = shape_of(llama, sequence_length=8192)
    small = replace(LAYOUT, zero_stage=stage, replicas=float(2 ** (power + 1)))
    assert held(shape, replace(small, replicas=float(2**power))) < held(shape, small)


def test_experts_are_sharded_in_each_group(h100: NodeType) -> None:
    """64 ranks with 8 different experts: 8 ranks hold the same; in two groups, 4 of them share the states."""
    layout = replace(LAYOUT, ep=8.0)
    assert memory.expert_shards(layout) == 8
    assert memory.expert_shards(replace(layout, replicas=2.0)) == 4
    assert memory.shards(replace(layout, replicas=2.0)) == 32
    mixtral = lookup.model(load(), "mixtral-8x7b")
    job = TrainingJob(
        model=mixtral,
        tokens=1e12,
        sequence_length=4096,
        global_batch_sequences=256,
        precision="bf16",
        finish_within_s=None,
        max_nodes=16,
        sharding_group=8,
    )
    found = layouts.enumerate_layouts(job, h100, max_nodes=16)
    assert found is not None
    shards = np.asarray(found.tp * found.cp * found.dp / (found.ep * found.etp * found.replicas))
    assert (shards >= 1).all()
    assert (np.mod(shards, 1) == 0).all()
    assert (np.asarray(found.dp * found.cp / found.replicas) == 8).all()


def test_the_search_takes_groups_where_the_network_is_slow(h100: NodeType) -> None:
    """13B on nodes with 5 GB/s per GPU shards within a node; with a fixed group, every layout has it."""
    slow = replace(h100, network_bytes_per_s_per_gpu_one_way=5e9)
    job = TrainingJob(
        model=lookup.model(load(), "llama-2-13b"),
        tokens=1e12,
        sequence_length=4096,
        global_batch_sequences=512,
        precision="bf16",
        finish_within_s=None,
        max_nodes=8,
        tensor_parallel=1,
        pipeline_parallel=1,
    )
    front = search(job=job, node=slow, calibration=CALIBRATION)
    assert any(point.layout.sharding_group == 8 and point.layout.zero_stage >= 2 for point in front.points)
    fixed = search(job=replace(job, sharding_group=16), node=slow, calibration=CALIBRATION)
    for point in fixed.points:
        assert point.layout.dp * point.layout.cp // point.layout.sharding_groups == 16
        assert max(entry.memory.total for entry in memory_by_stage(job, point.layout, slow)) == point.memory.total
    with pytest.raises(RuleError, match=r"LAY001.*sharding group 48"):
        search(job=replace(job, sharding_group=48), node=slow, calibration=CALIBRATION)


def test_the_search_recomputes_as_few_layers_as_fit(job: TrainingJob, a100: NodeType) -> None:
    """GPT-3 on small A100 recomputes part of its layers; one less does not fit, and full recomputation is slower."""
    small = replace(a100, hbm_bytes_per_gpu=40 * 2.0**30)
    front = search(job=replace(job, max_nodes=64), node=small, calibration=CALIBRATION)
    partial = [point for point in front.points if point.layout.recompute_layers]
    assert partial
    for point in partial:
        count = point.layout.recompute_layers
        assert count is not None
        fewer = replace(point.layout, recompute_layers=count - 1)
        if count == 1:
            fewer = replace(fewer, recompute="selective", recompute_layers=None)
        assert max(entry.memory.total for entry in memory_by_stage(job, fewer, small)) > small.hbm_bytes_per_gpu
        assert point.memory.total <= small.hbm_bytes_per_gpu
    every = search(job=replace(job, max_nodes=64, recompute="full"), node=small, calibration=CALIBRATION)
    for point in partial:
        assert all(other.calendar_days > point.calendar_days for other in every.points if other.nodes <= point.nodes)


def test_layouts_survive_the_way_to_records_and_back(job: TrainingJob, h100: NodeType) -> None:
    """Schedules, groups and recomputed layers too."""
    for changes in (
        {"schedule": "dualpipe", "pipeline_parallel": 8},
        {"schedule": "zero-bubble", "pipeline_parallel": 8},
        {"sharding_group": 4},
        {"recompute": "full", "recompute_layers": 3},
    ):
        found = layouts.enumerate_layouts(replace(job, max_nodes=32, **changes), h100, max_nodes=32)  # type: ignore[arg-type]
        assert found is not None
        for row in range(0, np.size(found.dp), 97):
            record = layouts.layout_at(found, row)
            assert layouts.layout_at(columns_of(record)) == record


def test_an_elastic_job_keeps_its_number_of_groups(job: TrainingJob, h100: NodeType) -> None:
    """Eight replicas in two groups can become six or four, not seven."""
    found = layouts.enumerate_layouts(
        replace(job, max_nodes=8, tensor_parallel=8, pipeline_parallel=1), h100, max_nodes=8
    )
    assert found is not None
    layout = replace(
        layouts.layout_at(found, 0), tp=8, dp=8, cp=1, pp=1, micro_batch=1, micro_batches=42, sharding_group=4
    )
    assert layout.sharding_groups == 2
    plain = replace(layout, sharding_group=None)
    zero = replace(plain, pp=4, micro_batches=2, schedule="zero-bubble")
    for record, batch, expected in ((layout, 336, 6), (plain, 336, 7), (zero, 16, 4)):
        found = smaller_data_parallel(columns_of(record), global_batch_sequences=batch, gpus_per_node=8)
        assert float(found) == expected
