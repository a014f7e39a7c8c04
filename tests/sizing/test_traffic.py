"""Traffic by group against the step that it is part of."""

from dataclasses import replace

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeNetwork, NodeType
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.records.job import Layout, TrainingJob, TrainingPoint
from clusterwright.sizing.training.points import median_factor
from clusterwright.sizing.training.search import search
from clusterwright.sizing.training.traffic import Traffic, traffic_of


def sized(job: TrainingJob, node: NodeType, **fixed: int) -> tuple[TrainingPoint, dict[str, Traffic]]:
    """Return the fastest point of at most 64 nodes and its traffic by name."""
    asked = replace(job, max_nodes=64, **fixed)
    point = search(job=asked, node=node, calibration=load_calibration()).points[-1]
    found = traffic_of(asked, node, point.layout, load_calibration())
    return point, {entry.name: entry for entry in found}


def test_explained_terms_add_up_to_the_step(job: TrainingJob, h100: NodeType) -> None:
    """Times x seconds, less what overlap hides, times the stack's median is the step's share for traffic."""
    point, found = sized(job, h100, tensor_parallel=8, pipeline_parallel=8)
    stack = stacks_of(load_calibration(), h100, job)[0]
    factor = median_factor(stack.residuals)
    inside = found["tensor"].times * found["tensor"].seconds * (1 - float(stack.tuning.tensor_overlap))
    assert inside * factor == pytest.approx(point.step.tensor_parallel_s)
    between = found["pipeline"].times * found["pipeline"].seconds * (1 - float(stack.tuning.pipeline_overlap))
    assert between * factor == pytest.approx(point.step.pipeline_transfer_s)
    gradients = sum(found[name].times * found[name].seconds for name in ("gradients", "weights"))
    assert point.step.data_parallel_s <= gradients * factor
    assert point.step.data_parallel_s >= gradients * factor * (1 - float(stack.tuning.data_overlap)) * (1 - 1e-12)


def test_levels_and_groups_of_a_layout(job: TrainingJob, h100: NodeType) -> None:
    """Tensor parallelism stays in the domain; replicas eight apart stay below a leaf of 32 nodes, or leave it."""
    layout = Layout(
        tp=8,
        sp=1,
        pp=4,
        vpp=1,
        dp=16,
        cp=1,
        ep=1,
        zero_stage=1,
        micro_batch=1,
        micro_batches=96,
        recompute="selective",
    )
    node = replace(h100, network=NodeNetwork(leaf_gpus=256.0, spine_gpus=8192.0, leaf_oversubscription=2.0))
    found = {entry.name: entry for entry in traffic_of(job, node, layout, load_calibration())}
    assert (found["tensor"].ranks, found["tensor"].stride, found["tensor"].level) == (8, 1, "scale-up domain")
    assert (found["gradients"].ranks, found["gradients"].stride, found["gradients"].level) == (16, 8, "leaf")
    assert (found["pipeline"].stride, found["pipeline"].level) == (128, "spine")
    assert found["pipeline"].bytes_per_s == pytest.approx(found["gradients"].bytes_per_s / 2)
    wide = replace(layout, dp=64, micro_batches=24)
    crossing = {entry.name: entry for entry in traffic_of(job, node, wide, load_calibration())}
    assert crossing["gradients"].level == "spine"
    plain = {entry.name: entry for entry in traffic_of(job, h100, wide, load_calibration())}
    assert plain["gradients"].level == "network"
    assert crossing["gradients"].seconds > 1.9 * plain["gradients"].seconds - 1e-3


def test_the_way_is_explained(job: TrainingJob, h100: NodeType) -> None:
    """With narrow uplinks, leaf by leaf is the fastest way that is allowed."""
    layout = Layout(
        tp=8, sp=1, pp=1, vpp=1, dp=64, cp=1, ep=1, zero_stage=1, micro_batch=1, micro_batches=24, recompute="full"
    )
    network = NodeNetwork(leaf_gpus=256.0, spine_gpus=8192.0, leaf_oversubscription=4.0, leafwise=True)
    ways = {
        entry.name: entry.way for entry in traffic_of(job, replace(h100, network=network), layout, load_calibration())
    }
    assert ways["gradients"] == "two levels, leaf by leaf"
    assert ways["tensor"] == "two levels, a ring in each"


def test_oversubscription_and_sharding_groups(job: TrainingJob, h100: NodeType) -> None:
    """States sharded inside a node leave only gradients between copies for the network."""
    layout = Layout(
        tp=1,
        sp=0,
        pp=1,
        vpp=1,
        dp=64,
        cp=1,
        ep=1,
        zero_stage=3,
        micro_batch=1,
        micro_batches=24,
        recompute="full",
        sharding_group=8,
    )
    found = {entry.name: entry for entry in traffic_of(job, h100, layout, load_calibration())}
    assert (found["weights"].level, found["weights"].times) == ("scale-up domain", 48)
    copies = found["gradients between copies"]
    assert (copies.ranks, copies.stride, copies.level, copies.times) == (8, 8, "network", 1)


def test_layers_of_experts_reduce_once_a_pass_beside_their_exchange(h100: NodeType) -> None:
    """Copies travel in the exchange instead: of four all-reduces of a layer and micro-batch two are left."""
    layout = Layout(
        tp=2,
        sp=1,
        pp=4,
        vpp=1,
        dp=8,
        cp=1,
        ep=8,
        zero_stage=1,
        micro_batch=1,
        micro_batches=64,
        recompute="selective",
    )
    for name, reduces in (("mixtral-8x7b", 2), ("llama-3.1-8b", 4)):
        model = lookup.model(load(), name)
        job = TrainingJob(
            model=model,
            tokens=1e11,
            sequence_length=4096,
            global_batch_sequences=512,
            precision="bf16",
            finish_within_s=None,
        )
        used = layout if model.experts else replace(layout, ep=1)
        found = {entry.name: entry for entry in traffic_of(job, h100, used, load_calibration())}
        assert found["tensor"].times == pytest.approx(reduces * 64 * model.layers / 4)


def test_gradients_travel_as_fp32_and_weights_as_bf16(job: TrainingJob, h100: NodeType) -> None:
    """One of 96 layers of GPT-3 on each of four stages and eight tensor-parallel ranks: 4 and 2 bytes a parameter."""
    layout = Layout(
        tp=8,
        sp=1,
        pp=4,
        vpp=1,
        dp=16,
        cp=1,
        ep=1,
        zero_stage=1,
        micro_batch=1,
        micro_batches=96,
        recompute="selective",
    )
    found = {entry.name: entry for entry in traffic_of(job, h100, layout, load_calibration())}
    assert found["gradients"].size_bytes == 2 * found["weights"].size_bytes
    of_layers = 24 * 12 * 12288**2 / 8
    assert of_layers * 4 < found["gradients"].size_bytes < 1.1 * of_layers * 4
