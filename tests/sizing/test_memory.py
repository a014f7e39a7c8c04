"""Memory per GPU against published equations and figures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.sizing.columns import FULL, NONE, SELECTIVE, Layouts, Shape
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.practice import GRADIENT_BYTES
from clusterwright.sizing.training.timing import fewest_layers

GPT3 = Shape(
    layers=96.0,
    hidden=12288.0,
    query=12288.0,
    key_value=12288.0,
    ffn=49152.0,
    mlp_matrices=2.0,
    heads=96.0,
    vocab=51200.0,
    sequence=2048.0,
    layer_parameters=12.0 * 12288**2,
    table_parameters=12288.0 * 51200,
    head_parameters=12288.0 * 51200,
    untied=0.0,
    value_out=12288.0,
    attended=1024.0,
)
LAYOUT = Layouts(
    tp=8.0, sp=1.0, pp=8.0, vpp=3.0, dp=1.0, cp=1.0, zero_stage=1.0, micro_batch=1.0, micro_batches=64.0, recompute=1.0
)


def kept(recompute: int, *, tp: float = 8.0, sp: float = 1.0) -> float:
    """Return what one layer of GPT-3 keeps."""
    return float(layer_memory.layer_bytes(GPT3, replace(LAYOUT, tp=tp, sp=sp, recompute=float(recompute))).plain)


def total(layout: Layouts) -> float:
    """Return the memory of the fullest GPU of GPT-3."""
    return float(memory.per_gpu(GPT3, layout, layer=layer_memory.layer_bytes(GPT3, layout)).total())


def test_adam_needs_18_bytes_per_parameter() -> None:
    """A 7B model takes 126 GB of weights, gradients and Adam state (112 GB with 16-bit gradients)."""
    states = sum(float(term) for term in memory.state_bytes_per_parameter(shards=1.0, zero_stage=0.0))
    assert states * 7e9 == pytest.approx(126e9)
    assert (states - GRADIENT_BYTES + 2) * 7e9 == pytest.approx(112e9)


@pytest.mark.parametrize(("stage", "expected"), [(0, 18), (1, 6 + 12 / 4), (2, 2 + 16 / 4), (3, 18 / 4)])
def test_zero_stages_shard_one_term_after_the_other(stage: int, expected: float) -> None:
    """Over four ranks: 18, 6 + 12/4, 2 + 16/4 and 18/4 bytes per parameter."""
    states = memory.state_bytes_per_parameter(shards=4.0, zero_stage=float(stage))
    assert sum(float(term) for term in states) == expected


def test_activations_follow_korthikanti() -> None:
    """Equations 1, 2, 4 and 6 of arXiv 2205.05198; 5 a s/h is 80 for GPT-3."""
    sbh = 2048 * 12288
    assert kept(NONE, tp=1.0, sp=0.0) == pytest.approx(sbh * (34 + 80))
    assert kept(NONE, sp=0.0) == pytest.approx(sbh * (10 + 24 / 8 + 80 / 8))
    assert kept(NONE) == pytest.approx(sbh / 8 * (34 + 80))
    assert kept(SELECTIVE) == pytest.approx(sbh * 34 / 8)
    assert kept(FULL, sp=0.0) == pytest.approx(sbh * 2)


def test_selective_recomputation_saves_70_percent_of_gpt3() -> None:
    """Korthikanti, section 5: attention holds 70 % of GPT-3's activations."""
    assert 1 - kept(SELECTIVE) / kept(NONE) == pytest.approx(0.70, abs=0.005)


def test_interleaving_costs_what_the_paper_says() -> None:
    """In flight: p micro-batches at first, times 1 + (p-1)/(p v) when interleaved; one on the last stage without."""
    plain = replace(LAYOUT, vpp=1.0)
    assert stages.in_flight(plain, stage=0.0) == 8
    assert stages.in_flight(LAYOUT, stage=0.0) == pytest.approx(8 * (1 + 7 / 24))
    assert stages.in_flight(replace(plain, micro_batches=2.0), stage=0.0) == 2
    assert stages.in_flight(plain, stage=7.0) == 1


def test_the_published_175b_run_on_64_a100_fits_80_gb() -> None:
    """Korthikanti Table 5 trained 175B with tp 8, pp 8, v 3 and selective recomputation on 80 GB, nothing sharded."""
    assert 60e9 < total(LAYOUT) < 80 * 2**30


def test_llama_405b_has_one_layer_less_on_both_ends() -> None:
    """126 layers in 16 stages are 8 each but 7 on the first and last, as Llama 3 was laid out."""
    shape = replace(GPT3, layers=126.0)
    assert stages.stage_layers(shape, pp=16.0, vpp=1.0) == (8.0, 7.0)
    assert stages.stage_layers(shape, pp=9.0, vpp=7.0) == (14.0, 14.0)


@given(
    zero=st.sampled_from([1.0, 2.0, 3.0]),
    dp=st.integers(1, 512),
    more=st.integers(2, 8),
    tp=st.sampled_from([1.0, 2.0, 4.0, 8.0]),
    recompute=st.sampled_from([NONE, SELECTIVE, FULL]),
)
def test_more_ranks_never_need_more_memory(*, zero: float, dp: int, more: int, tp: float, recompute: int) -> None:
    """With a sharded optimizer or more, adding data-parallel ranks at the same micro-batches never costs memory."""
    few = replace(LAYOUT, zero_stage=zero, dp=float(dp), tp=tp, recompute=float(recompute))
    assert total(replace(few, dp=float(dp * more))) <= total(few)


@given(zero=st.sampled_from([0.0, 1.0, 2.0]), dp=st.integers(2, 64))
def test_higher_zero_stages_hold_less_state(*, zero: float, dp: int) -> None:
    """Each stage shards one more term."""
    lower = memory.state_bytes_per_parameter(shards=float(dp), zero_stage=zero)
    higher = memory.state_bytes_per_parameter(shards=float(dp), zero_stage=zero + 1)
    assert sum(float(term) for term in higher) < sum(float(term) for term in lower)


def test_recomputation_orders_memory() -> None:
    """Full keeps least, none keeps most."""
    assert kept(FULL) < kept(SELECTIVE) < kept(NONE)


def test_gradients_that_stream_to_the_host_pass_through_two_layers_of_bf16() -> None:
    """Under ZeRO-2 `2 x 2` bytes per parameter of a layer, over the tensor-parallel ranks; under ZeRO-1 none."""
    arguments = {"rows": 2048.0, "share": 1.0}
    for stage, more in ((1.0, 0.0), (2.0, 2 * 2 * 12 * 12288**2 / 8)):
        layouts = replace(LAYOUT, zero_stage=stage)
        plain = float(memory.gathered_bytes(GPT3, layouts=layouts, **arguments))
        streamed = float(memory.gathered_bytes(GPT3, layouts=layouts, **arguments, streamed=True))
        assert plain == 2 * 2 * 2048 * 12288
        assert streamed - plain == pytest.approx(more)


def test_a_width_that_ranks_do_not_divide_is_shared_all_the_same() -> None:
    """Equation 4 of arXiv 2205.05198 for seven ranks, which do not divide 12,288: a seventh of 34 s b h."""
    assert kept(SELECTIVE, tp=7.0) == pytest.approx(2048 * 12288 * 34 / 7, rel=1e-12)


@given(
    room=st.floats(min_value=0.0, max_value=1.0),
    vpp=st.sampled_from([1, 2, 3, 4]),
    pp=st.sampled_from([1, 2, 4, 8]),
)
def test_the_fewest_layers_recomputed_are_those_of_trying_each_number(*, room: float, vpp: int, pp: int) -> None:
    """Between the memory with all layers recomputed and with none, the first number of layers that fits."""
    full = replace(LAYOUT, pp=float(pp), vpp=float(vpp), recompute=float(FULL))
    layer = layer_memory.layer_bytes(GPT3, full)

    def needed(layers: float) -> float:
        return float(memory.fullest_bytes(GPT3, replace(full, recompute_layers=layers), layer=layer))

    least, most = needed(np.inf), needed(0.0)
    limit = least + room * (most - least)
    found = float(fewest_layers(GPT3, full, layer=layer, limit_bytes=limit))
    chunk = 96 // pp // vpp
    tried = [count for count in range(1, chunk) if needed(float(count)) <= limit * (1 - 1e-12)]
    exact = [count for count in range(1, chunk) if needed(float(count)) <= limit * (1 + 1e-12)]
    assert found in {min(tried, default=np.inf), min(exact, default=np.inf)}
