"""What each pipeline stage holds: everything once, and nowhere more than the reported peak."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.columns import DUALPIPE, FULL, NONE, ONE_F_ONE_B, SELECTIVE, ZERO_BUBBLE, Layouts, Shape
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.training import memory, stages, step
from clusterwright.workload import transformer

TUNING = load_calibration().of(generation="hopper", stack="megatron").tuning
LAYOUT = Layouts(
    tp=8.0, sp=1.0, pp=8.0, vpp=1.0, dp=4.0, cp=1.0, zero_stage=1.0, micro_batch=1.0, micro_batches=64.0, recompute=1.0
)


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    """Dense, experts in every layer, and experts after dense layers."""
    return {name: lookup.model(load(), name) for name in ("gpt3-175b", "mixtral-8x7b", "deepseek-v3")}


def shape_at(model: Model, length: int = 4096) -> Shape:
    """Return a model's dimensions."""
    return shape_of(model, sequence_length=length)


def totals_by_stage(shape: Shape, layout: Layouts) -> list[float]:
    """Return the memory of a GPU of every stage."""
    layer = layer_memory.layer_bytes(shape, layout)
    indices = range(int(float(layout.pp)))
    return [float(memory.at_stage(shape, layout, stage=float(stage), layer=layer).total()) for stage in indices]


def peak(shape: Shape, layout: Layouts) -> float:
    """Return the reported memory of the fullest GPU."""
    return float(memory.per_gpu(shape, layout, layer=layer_memory.layer_bytes(shape, layout)).total())


@st.composite
def layouts(draw: st.DrawFn) -> Layouts:
    """Return any split; layers need not divide."""
    pp = draw(st.integers(1, 16))
    schedule = draw(st.sampled_from([ONE_F_ONE_B, ONE_F_ONE_B, ZERO_BUBBLE, DUALPIPE]))
    full = schedule == ONE_F_ONE_B and draw(st.booleans())
    # Of the fewest layers of the models, 32, no chunk has less than one.
    vpp = draw(st.integers(1, 32 // pp)) if schedule == ONE_F_ONE_B and pp > 1 else 1
    return replace(
        LAYOUT,
        pp=float(pp + pp % 2 if schedule == DUALPIPE else pp),
        vpp=float(vpp),
        tp=draw(st.sampled_from([1.0, 8.0])),
        dp=float(draw(st.integers(1, 64)) * 8),
        ep=draw(st.sampled_from([1.0, 8.0])),
        replicas=draw(st.sampled_from([1.0, 2.0, 8.0])),
        micro_batches=float(draw(st.integers(1, 200))),
        recompute=float(FULL if full else draw(st.sampled_from([NONE, SELECTIVE]))),
        recompute_layers=float(draw(st.integers(0, 5))) if full and draw(st.booleans()) else np.inf,
        schedule=float(schedule),
    )


@settings(max_examples=300)
@given(layout=layouts(), name=st.sampled_from(["gpt3-175b", "mixtral-8x7b", "deepseek-v3"]))
def test_no_stage_holds_more_than_the_reported_peak(*, models: dict[str, Model], layout: Layouts, name: str) -> None:
    """The fullest of the stages that are looked at is the fullest of all, and the search's sum is the same."""
    shape = shape_at(models[name])
    most = max(totals_by_stage(shape, layout))
    assert peak(shape, layout) == pytest.approx(most, rel=1e-12)
    layer = layer_memory.layer_bytes(shape, layout)
    assert float(memory.fullest_bytes(shape, layout, layer=layer)) == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "pp", "vpp"),
    [("gpt3-175b", 8, 3), ("gpt3-175b", 14, 7), ("mixtral-8x7b", 4, 2), ("deepseek-v3", 16, 1), ("deepseek-v3", 2, 2)],
)
def test_all_stages_together_are_the_model(models: dict[str, Model], name: str, pp: int, vpp: int) -> None:
    """Layers, expert layers and parameters of all stages add up; tied tables count on both ends."""
    shape = shape_at(models[name])
    layout = replace(LAYOUT, tp=1.0, pp=float(pp), vpp=float(vpp))
    split = stages.split_of(shape, pp=layout.pp, vpp=layout.vpp)
    found = [stages.stage_at(shape, layout, split=split, stage=float(stage)) for stage in range(pp)]
    assert sum(float(stage.layers) for stage in found) == pytest.approx(shape.layers)
    assert sum(float(stage.routed_layers) for stage in found) == pytest.approx(shape.layers * shape.expert_share)
    held = sum(float(stage.parameters + stage.routed_parameters) for stage in found)
    every = shape.layers * (shape.layer_parameters + shape.expert_parameters)
    assert held == pytest.approx(every + shape.table_parameters + shape.head_parameters)
    if name != "deepseek-v3":
        tied = shape.head_parameters * (1 - shape.untied)
        assert held == pytest.approx(transformer.parameters(models[name]) + tied, rel=1e-6)


def test_deepseeks_first_stage_has_its_dense_layers(models: dict[str, Model]) -> None:
    """61 layers and one that predicts a further token, in 16 stages: 3 + 14 x 4 + 3, of which the first 3 are dense."""
    shape = shape_at(models["deepseek-v3"])
    layout = replace(LAYOUT, tp=1.0, pp=16.0, ep=64.0, dp=128.0, micro_batches=120.0)
    split = stages.split_of(shape, pp=16.0, vpp=1.0)
    found = [stages.stage_at(shape, layout, split=split, stage=float(stage)) for stage in range(16)]
    assert [float(stage.layers) for stage in found] == [3.0, *[4.0] * 14, 3.0]
    assert [round(float(stage.routed_layers)) for stage in found] == [0, *[4] * 14, 3]
    totals = totals_by_stage(shape, layout)
    assert int(np.argmax(totals)) == 1
    assert totals[1] > 1.2 * max(totals[0], totals[-1])


def test_dense_layers_of_several_stages(models: dict[str, Model]) -> None:
    """With one layer per chunk, three dense layers lie on three stages; with one stage of two chunks, on its first."""
    shape = replace(shape_at(models["deepseek-v3"]), layers=64.0, expert_share=61 / 64)
    for pp, vpp, expected in ((64, 1, [1, 1, 1, 0]), (16, 4, [1, 1, 1, 0]), (16, 1, [3, 0, 0, 0]), (2, 32, [2, 1])):
        split = stages.split_of(shape, pp=float(pp), vpp=float(vpp))
        found = [stages.dense_layers(shape, pp=float(pp), split=split, stage=float(stage)) for stage in range(pp)]
        assert [round(float(count), 9) for count in found[: len(expected)]] == expected


def _step_s(shape: Shape, node: NodeType, layout: Layouts) -> float:
    device = device_of(node, precision="bf16")
    times = step.layer_times(shape, device, TUNING, layout)
    return float(np.asarray(step.step_columns(shape, device, TUNING, layout, times).total_s()))


@pytest.mark.parametrize("name", ["gpt3-175b", "mixtral-8x7b", "deepseek-v3"])
def test_recomputing_no_layer_is_selective_and_recomputing_all_is_full(
    models: dict[str, Model], h100: NodeType, name: str
) -> None:
    """Both ends of `recompute_layers`, in memory and in time."""
    shape = shape_at(models[name])
    plain, full = replace(LAYOUT, vpp=2.0), replace(LAYOUT, vpp=2.0, recompute=float(FULL))
    chunk = float(stages.split_of(shape, pp=8.0, vpp=2.0).chunk)
    none, every = replace(full, recompute_layers=0.0), replace(full, recompute_layers=np.ceil(chunk))
    for one, other in ((none, plain), (every, full)):
        assert peak(shape, one) == pytest.approx(peak(shape, other), rel=1e-12)
        assert _step_s(shape, h100, one) == pytest.approx(_step_s(shape, h100, other), rel=1e-12)


def test_recomputed_layers_interpolate(models: dict[str, Model], h100: NodeType) -> None:
    """GPT-3 in 8 stages of 12 layers: each recomputed layer saves as much memory and costs as much time as the last."""
    shape = shape_at(models["gpt3-175b"], 2048)
    full = replace(LAYOUT, recompute=float(FULL))
    memories = [peak(shape, replace(full, recompute_layers=float(count))) for count in range(1, 13)]
    seconds = [_step_s(shape, h100, replace(full, recompute_layers=float(count))) for count in range(13)]
    saved = np.diff(memories)
    each = layer_memory.layer_bytes(shape, full)
    assert saved == pytest.approx(-1.05 * 8 * (each.plain_again - each.plain) * np.ones(11))
    slower = np.diff(seconds)
    assert slower == pytest.approx(slower[0] * np.ones(12))
    assert 0.2 < seconds[12] / seconds[0] - 1 < 0.35


@settings(max_examples=100)
@given(layout=layouts(), more=st.integers(1, 5), name=st.sampled_from(["gpt3-175b", "deepseek-v3"]))
def test_recomputing_more_is_slower_and_holds_less(
    *, models: dict[str, Model], h100: NodeType, layout: Layouts, more: int, name: str
) -> None:
    """From the first recomputed layer on; the first one needs room to be computed again."""
    shape = shape_at(models[name])
    few = replace(layout, schedule=0.0, recompute=float(FULL), recompute_layers=1.0)
    many = replace(few, recompute_layers=1.0 + more)
    assert peak(shape, many) <= peak(shape, few) * (1 + 1e-12)
    assert _step_s(shape, h100, many) >= _step_s(shape, h100, few) * (1 - 1e-12)


def test_unbalanced_experts_hold_more(models: dict[str, Model]) -> None:
    """A rank that receives a quarter more copies keeps a quarter more of what it keeps per copy."""
    shape = shape_at(models["mixtral-8x7b"])
    even, uneven = (layer_memory.layer_bytes(replace(shape, expert_imbalance=each), LAYOUT) for each in (1.0, 1.25))
    copies = 4096 / 8 * 2
    assert float(uneven.routed - even.routed) == pytest.approx(0.25 * copies * (4 * 4096 + 6 * 14336))
    assert uneven.plain == even.plain
