"""Terms of the time of a step that software and hardware bring: worked numbers and limits."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.columns import Layouts, Traits, Tuning, under
from clusterwright.sizing.hardware import groups
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.power_cap import speed_share
from clusterwright.sizing.hardware.training_software import software_of
from clusterwright.sizing.hardware.traits import ANY, FASTEST, attention_share, traits_of
from clusterwright.sizing.model import arithmetic, compute
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.training import memory, step
from clusterwright.sizing.training.practice import ALONE_BYTES, CONTEXT_BYTES, STANDARD

CALIBRATION = load_calibration()
TUNING = CALIBRATION.of(generation="hopper", stack="megatron").tuning
LAYOUT = Layouts(
    tp=8.0, sp=1.0, pp=4.0, vpp=1.0, dp=4.0, cp=1.0, zero_stage=1.0, micro_batch=1.0, micro_batches=16.0, recompute=1.0
)


def test_a_very_large_multiplication_reaches_its_share_of_what_was_measured(h100: NodeType) -> None:
    """0.9 of the 80.3 % of 989.4 TFLOP/s that the fastest multiplication on H100 was measured at."""
    device = device_of(h100, precision="bf16")
    rate = arithmetic.multiplication_rate(device, replace(TUNING, gemm_efficiency=0.9))
    assert float(rate) == pytest.approx(0.9 * 794.5 / 989 * 989.4e12)
    eight = arithmetic.multiplication_rate(
        device_of(h100, precision="fp8"), replace(TUNING, gemm_efficiency_eight_bit=0.8)
    )
    assert float(eight) == pytest.approx(0.8 * 1402.6 / 1979 * 1978.9e12)


def test_attention_that_writes_its_scores(gpt3: Model, a100: NodeType) -> None:
    """GPT-3 on one of eight ranks: ten bytes of each of 12 heads' 2,048 scores per token, and all keys multiplied.

    2,048 x 2,048 x 12 scores of ten bytes at 85 % of 2,039 GB/s take 0.29 ms; their two multiplications of
    2 x 2,048 x 2,048 x 1,536 FLOPs are not halved by the mask.
    """
    shape, device = shape_of(gpt3, sequence_length=2048), device_of(a100, precision="fp16")
    written = replace(TUNING, scores_written=1.0)
    moved = 10 * 2048 * 2048 * 12 / (0.85 * 2.039e12)
    multiplied = 2 * 2 * 2048 * 2048 * 1536 / float(arithmetic.sixteen_bit_rate(device, written))
    taken = compute.layer_attention_s(shape, device, written, rows=2048.0, tp=8.0)
    assert moved == pytest.approx(0.29e-3, rel=0.01)
    assert float(np.asarray(taken)) == pytest.approx(moved + multiplied)


def test_kernels_of_attention_by_generation() -> None:
    """FlashAttention-2 was measured at 60 % of A100 and 35 % of H100; an unknown kernel is as the fastest one."""
    assert attention_share("flash-2", "ampere") == 0.6
    assert attention_share("flash-2", "hopper") == 0.35
    assert attention_share("of next year", "hopper") == attention_share(FASTEST, "hopper")
    assert attention_share("of next year", "of next year") == attention_share(FASTEST, ANY)


def test_traits_of_software() -> None:
    """Megatron-LM of 2021 writes its scores and hides no traffic; nanotron waits for its transfers; none is tuned."""
    old = traits_of(software_of("Megatron-LM 2021", "fp16"), generation="ampere")
    assert (old.scores_written, old.plain, old.exposes_data, old.blocking) == (1.0, 1.0, 1.0, 0.0)
    assert traits_of(software_of("nanotron", "bf16"), generation="hopper").blocking == 1.0
    assert traits_of(None, generation="hopper") == Traits(attention_share=attention_share(FASTEST, "hopper"))


def test_traits_change_the_numbers_of_a_stack() -> None:
    """Plain software reaches a share of the overlap, exposed data none, eager kernels move bytes more often."""
    tuned = replace(
        TUNING,
        tensor_overlap=0.5,
        expert_overlap=0.3,
        data_overlap=0.8,
        plain_overlap=0.4,
        memory_passes=2.0,
        eager_passes=1.8,
        compiled_passes=0.8,
    )
    plain = under(tuned, Traits(attention_share=0.5, plain=1.0))
    assert (plain.tensor_overlap, plain.expert_overlap, plain.data_overlap) == pytest.approx((0.2, 0.12, 0.8))
    assert under(tuned, Traits(attention_share=0.5, exposes_data=1.0)).data_overlap == 0.0
    assert under(tuned, Traits(attention_share=0.5, eager=1.0)).memory_passes == pytest.approx(3.6)
    assert under(tuned, Traits(attention_share=0.5, compiled=1.0)).memory_passes == pytest.approx(1.6)


def _transfers(layout: Layouts, node: NodeType, model: Model, tuning: Tuning) -> float:
    shape, device = shape_of(model, sequence_length=2048), device_of(node, precision="bf16")
    return float(np.asarray(step.exposed_transfer_s(shape, device, tuning, layout)))


def test_stages_that_wait_for_what_they_send(gpt3: Model, h100: NodeType) -> None:
    """Between nodes 1 GB/s and none hidden: 2 x 16 transfers of 2 x 2,048 x 12,288 / 8 bytes take 0.2 s."""
    waiting = replace(TUNING, blocking=1.0)
    one = 2 * 2048 * 12288 / 8
    assert _transfers(LAYOUT, h100, gpt3, waiting) == pytest.approx(2 * 16 * one / 1e9, rel=0.01)
    inside = replace(LAYOUT, tp=1.0, pp=8.0, dp=1.0)
    assert _transfers(inside, h100, gpt3, waiting) == pytest.approx(2 * 16 * 8 * one / 3e9, rel=0.01)
    assert _transfers(LAYOUT, h100, gpt3, replace(TUNING, pipeline_overlap=1.0)) == 0.0
    assert _transfers(replace(LAYOUT, pp=1.0), h100, gpt3, waiting) == 0.0


def test_weights_gathered_layer_by_layer_wait_for_the_ring(h100: NodeType) -> None:
    """64 ranks in eight nodes: eight times seven steps inside, and seven between."""
    device = device_of(h100, precision="bf16")
    tuning = replace(TUNING, scale_up_latency_s=2e-6, network_latency_s=10e-6)
    ring = groups.ring_latency_s(device, tuning, ranks=64.0, stride=1.0)
    between = groups.ring_latency_s(device, tuning, ranks=64.0, stride=8.0)
    assert float(np.asarray(ring)) == pytest.approx(8 * 7 * 2e-6 + 7 * 10e-6)
    assert float(np.asarray(between)) == pytest.approx(63 * 10e-6)


def test_more_gathers_of_a_layer_take_as_much_more_of_its_latency(h100: NodeType) -> None:
    """ZeRO-3 that gathers a layer's parameters one by one waits as often for its ring: twelve times for twelve."""
    device = device_of(h100, precision="bf16")
    layout = replace(LAYOUT, tp=1.0, pp=1.0, dp=64.0, zero_stage=3.0, micro_batches=1.0)
    tuning = replace(TUNING, data_overlap=0.0)

    def taken(gathers: float) -> float:
        found = step.data_parallel_s(
            device, replace(tuning, gathers_per_layer=gathers), layout, parameters=1e9, micro_batch_s=1.0, layers=24.0
        )
        return float(np.asarray(found))

    ring = float(np.asarray(groups.ring_latency_s(device, tuning, ranks=64.0, stride=1.0)))
    assert taken(12.0) - taken(1.0) == pytest.approx(11 * 3 * 24 * ring)


def test_a_step_takes_its_overhead_once(gpt3: Model, h100: NodeType) -> None:
    """25 ms more of each step are 25 ms more, whatever the layout."""
    shape, device = shape_of(gpt3, sequence_length=2048), device_of(h100, precision="bf16")

    def total(tuning: Tuning) -> float:
        times = step.layer_times(shape, device, tuning, LAYOUT)
        return float(np.asarray(step.step_columns(shape, device, tuning, LAYOUT, times).total_s()))

    with_it, without = (total(replace(TUNING, step_overhead_s=seconds)) for seconds in (0.025, 0.0))
    assert with_it - without == pytest.approx(0.025)


def test_a_board_of_less_power_than_its_peaks_is_slower() -> None:
    """H100 of 96 GB at 500 W keeps what H100 keeps under a cap of 500 of 700 W, and no more under a higher cap."""
    catalogue = load()
    board = replace(
        lookup.node_type_of_system(catalogue, "dgx-h100"),
        accelerator=lookup.accelerator(catalogue, "h100-sxm-96gb-500w"),
    )
    capped = replace(lookup.node_type_of_system(catalogue, "dgx-h100"), power_cap_w=500.0)
    assert speed_share(board) == pytest.approx(speed_share(capped))
    assert speed_share(replace(board, power_cap_w=400.0)) == pytest.approx(
        speed_share(replace(capped, power_cap_w=400.0))
    )


def test_a_single_gpu_has_no_collective_library() -> None:
    """1 GiB of context alone, 4 GiB in a group, whatever divides the model."""
    alone = replace(LAYOUT, tp=1.0, pp=1.0, dp=1.0)
    assert float(np.asarray(memory.context_bytes(alone, STANDARD))) == ALONE_BYTES
    for group in (replace(alone, tp=2.0), replace(alone, pp=2.0), replace(alone, cp=2.0), replace(alone, dp=2.0)):
        assert float(np.asarray(memory.context_bytes(group, STANDARD))) == CONTEXT_BYTES
