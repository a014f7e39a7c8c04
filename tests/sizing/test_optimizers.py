"""Optimizers: bytes, traffic and arithmetic against the figures of their papers, and what they change in a plan."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.blueprint.workloads.training import Train
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Device, Layouts, Shape, Tuning
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import OptimizerName, TrainingJob
from clusterwright.sizing.training import memory, step
from clusterwright.sizing.training.optimizer import optimizers
from clusterwright.sizing.training.optimizer.optimizers import ADAM, OPTIMIZERS, newton_schulz_flop
from clusterwright.sizing.training.optimizer.upkeep import DEFAULT, upkeep_of
from clusterwright.sizing.training.practice import STANDARD, practice_for
from clusterwright.sizing.training.search import search
from clusterwright.workload import transformer

CATALOGUE = load()
CALIBRATION = load_calibration()
LLAMA = shape_of(CATALOGUE.models["llama-3-8b"], sequence_length=8192)
LAYOUT = Layouts(
    tp=1.0, sp=0.0, pp=1.0, vpp=1.0, dp=64.0, cp=1.0, zero_stage=1.0, micro_batch=1.0, micro_batches=8.0, recompute=1.0
)


def sums(name: str, shape: Shape = LLAMA) -> float:
    """Return all bytes per parameter, unsharded."""
    practice = optimizers.practice_of(OPTIMIZERS[name], shape)
    return sum(float(term) for term in memory.state_bytes_per_parameter(shards=1.0, zero_stage=0.0, practice=practice))


def test_names_are_those_of_the_blueprint() -> None:
    """What a blueprint may ask for is what sizing knows."""
    assert get_args(Train.model_fields["optimizer"].annotation) == get_args(OptimizerName) == tuple(OPTIMIZERS)


def test_bytes_per_parameter() -> None:
    """Adam 18; with bf16 moments 14; Adafactor hardly more than 10; Muon 14 but for the tables of Llama 3 8B, 13 %."""
    assert sums("adam") == 18
    assert sums("adam-bf16") == 14
    assert sums("adafactor") == pytest.approx(10, abs=0.01)
    tables = 2 * 128256 * 4096 / 8030261248
    assert optimizers.table_share(LLAMA) == pytest.approx(tables, rel=1e-3)
    assert sums("muon") == pytest.approx(14 + 4 * tables, rel=1e-3)


def test_muon_keeps_half_of_the_moments() -> None:
    """Moonlight, section 2.3: one momentum buffer where AdamW has two."""
    muon = OPTIMIZERS["muon"]
    assert muon.moment_bytes == ADAM.moment_bytes / 2


def test_adafactor_of_a_square_matrix() -> None:
    """A 4,096 x 4,096 matrix has 8,192 sums of 4 bytes: 0.002 bytes per parameter (Shazeer and Stern, section 3)."""
    assert optimizers.moment_bytes(OPTIMIZERS["adafactor"], LLAMA) == pytest.approx(8192 * 4 / 4096**2)


def test_bytes_that_an_update_moves() -> None:
    """Adam reads 4 + 12 and writes 14 bytes; with 4 bytes less of moments 8 fewer move; Adafactor reads thrice."""
    moved = {name: optimizers.traffic_bytes(chosen, LLAMA) for name, chosen in OPTIMIZERS.items()}
    assert moved["adam"] == DEFAULT.traffic_bytes == 30
    # fp32 weights that are their own master copy: 4 + 2 × 8 + 2 × 4; all in bf16: 2 + 2 × 4 + 2 × 2.
    assert optimizers.traffic_bytes(OPTIMIZERS["adam"], LLAMA, practice_for("torchtitan", "bf16")) == 28
    assert optimizers.traffic_bytes(OPTIMIZERS["adam"], LLAMA, practice_for("torchtune", "bf16")) == 14
    assert moved["adam-bf16"] == 22
    assert moved["adafactor"] == pytest.approx(12 + 8 + 2, abs=0.01)
    assert 22 < moved["muon"] < 24


@pytest.mark.parametrize(
    ("side", "tokens", "share"), [(768, 524_288, 0.007), (16_384, 16_000_000, 0.005)], ids=["NanoGPT", "Llama 405B"]
)
def test_newton_schulz_share_of_training(side: int, tokens: int, share: float) -> None:
    """Jordan 2024: 0.7 % more FLOPs for NanoGPT at 0.5 M tokens a batch, 0.5 % for Llama 405B at 16 M."""
    training = 6 * side**2 * tokens
    assert float(newton_schulz_flop(side, side)) / training == pytest.approx(share, abs=0.0005)


@given(rows=st.integers(1, 4096), columns=st.integers(1, 4096))
def test_newton_schulz_is_symmetric_and_bounded(rows: int, columns: int) -> None:
    """A matrix costs what its transpose costs, and at most 6 n m^2 per iteration, m the shorter side."""
    flop = float(newton_schulz_flop(rows, columns))
    assert flop == float(newton_schulz_flop(columns, rows))
    assert flop <= 5 * 6 * max(rows, columns) * min(rows, columns) ** 2 * (1 + 1e-12)


def _orthogonalised(shape: Shape, layout: Layouts, *, shards: float, expert_shards: float = 1.0) -> float:
    device = Device(
        peak_flop_per_s=1e15,
        peak_bf16_flop_per_s=1e15,
        eight_bit=0.0,
        hbm_bytes=80e9,
        hbm_bytes_per_s=3e12,
        scale_up_bytes_per_s=450e9,
        scale_up_gpus=8.0,
        network_bytes_per_s=50e9,
    )
    tuning: Tuning = replace(CALIBRATION.of(generation="none", stack="none").tuning, gemm_efficiency=1.0)
    found = optimizers.orthogonalisation_s(
        OPTIMIZERS["muon"],
        shape,
        device,
        tuning,
        layout,
        stage_layers=shape.layers,
        shards=shards,
        expert_shards=expert_shards,
    )
    return float(found)


def test_orthogonalisation_of_llama_by_hand() -> None:
    """Llama 3 8B: per layer q and o 4,096^2, k and v 4,096 x 1,024, three MLP matrices of 4,096 x 14,336; 32 layers."""
    square = 5 * (4 + 2) * 4096**3
    narrow = 5 * (4 * 1024**2 * 4096 + 2 * 1024**3)
    wide = 5 * (4 * 4096**2 * 14336 + 2 * 4096**3)
    flop = 32 * (2 * square + 2 * narrow + 3 * wide)
    assert _orthogonalised(LLAMA, LAYOUT, shards=1.0) == pytest.approx(flop / 1e15)
    assert _orthogonalised(LLAMA, LAYOUT, shards=16.0) == pytest.approx(flop / 16e15)
    # No rank is done before one whole matrix is.
    assert _orthogonalised(LLAMA, LAYOUT, shards=1e6) == pytest.approx(wide / 1e15)
    assert _orthogonalised(LLAMA, replace(LAYOUT, tp=8.0), shards=1.0) < flop / 8e15


def test_orthogonalisation_of_experts_is_shared_by_those_who_hold_them() -> None:
    """Moonlight-like experts: twice the expert parallelism halves a rank's experts; more replicas share them."""
    shape = shape_of(CATALOGUE.models["deepseek-v2-lite"], sequence_length=4096)
    alone = _orthogonalised(shape, LAYOUT, shards=64.0, expert_shards=1.0)
    halved = _orthogonalised(shape, replace(LAYOUT, ep=2.0), shards=64.0, expert_shards=1.0)
    shared = _orthogonalised(shape, LAYOUT, shards=64.0, expert_shards=2.0)
    assert halved == pytest.approx(shared)
    assert 0.4 * alone < shared < 0.7 * alone


def test_an_optimizer_without_iterations_orthogonalises_nothing(h100: NodeType) -> None:
    """Adam has no such time at all."""
    device = device_of(h100, precision="bf16")
    tuning = CALIBRATION.of(generation="hopper", stack="megatron").tuning
    assert (
        optimizers.orthogonalisation_s(
            ADAM, LLAMA, device, tuning, LAYOUT, stage_layers=32.0, shards=1.0, expert_shards=1.0
        )
        == 0
    )


def test_distributed_muon_sends_at_most_what_the_paper_says(h100: NodeType) -> None:
    """One bf16 gather more than ZeRO-1's fp32 scatter and bf16 gather: 8 bytes for 6, and nothing without sharding."""
    device = device_of(h100, precision="bf16")
    tuning = replace(
        CALIBRATION.of(generation="hopper", stack="megatron").tuning,
        data_overlap=0.0,
        network_latency_s=0.0,
        scale_up_latency_s=0.0,
    )

    def seconds(*, zero: float, gathered: bool) -> float:
        return float(
            step.data_parallel_s(
                device,
                tuning,
                replace(LAYOUT, zero_stage=zero),
                parameters=8e9,
                micro_batch_s=1.0,
                moments_gathered=gathered,
            )
        )

    assert seconds(zero=1.0, gathered=True) / seconds(zero=1.0, gathered=False) == pytest.approx(8 / 6)
    assert seconds(zero=0.0, gathered=True) == seconds(zero=0.0, gathered=False)


def test_checkpoints_follow_the_optimizer() -> None:
    """13 bytes as published with Adam; 9 with bf16 moments, 5 with Adafactor's sums, in between with Muon."""
    sizes = {
        name: optimizers.checkpoint_bytes_per_parameter(chosen, LLAMA, with_adam=13.0)
        for name, chosen in OPTIMIZERS.items()
    }
    assert sizes["adam"] == 13
    assert sizes["adam-bf16"] == 9
    assert sizes["adafactor"] == pytest.approx(5, abs=0.01)
    assert 9 < sizes["muon"] < 10


@settings(max_examples=12, deadline=None)
@given(
    model=st.sampled_from(["llama-2-7b", "gpt3-175b", "mixtral-8x7b"]),
    optimizer=st.sampled_from(["adam-bf16", "adafactor", "muon"]),
    zero=st.sampled_from([0.0, 1.0]),
    dp=st.sampled_from([1.0, 8.0, 64.0]),
)
def test_no_optimizer_holds_more_than_adam(*, model: str, optimizer: str, zero: float, dp: float) -> None:
    """Bytes of memory and of traffic never exceed those of fp32 Adam."""
    shape = shape_of(CATALOGUE.models[model], sequence_length=2048)
    layout = replace(LAYOUT, zero_stage=zero, dp=dp)
    chosen = OPTIMIZERS[optimizer]
    held = {
        name: float(
            np.asarray(
                memory.per_gpu(
                    shape,
                    layout,
                    layer=layer_memory.LayerBytes(plain=1e6, routed=1e6),
                    practice=optimizers.practice_of(entry, shape),
                ).total()
            )
        )
        for name, entry in (("adam", ADAM), (optimizer, chosen))
    }
    assert held[optimizer] < held["adam"]
    assert optimizers.traffic_bytes(chosen, shape) < 30


def test_adam_is_what_it_was(job: TrainingJob, h100: NodeType) -> None:
    """The default optimizer leaves practice, traffic and layouts as they were without a choice."""
    upkeep = upkeep_of(job, shape_of(job.model, sequence_length=2048), h100)
    assert upkeep == DEFAULT
    assert upkeep.practice == STANDARD


def test_searching_with_each_optimizer(job: TrainingJob, h100: NodeType) -> None:
    """Less state never needs more nodes; Muon keeps its matrices whole, so that it has no ZeRO-2 or 3."""
    small = replace(job, max_nodes=96)
    fronts = {
        name: search(job=replace(small, optimizer=name), node=h100, calibration=CALIBRATION)  # type: ignore[arg-type]
        for name in OPTIMIZERS
    }
    fewest = {name: front.points[0].nodes for name, front in fronts.items()}
    assert fewest["adafactor"] <= fewest["adam-bf16"] <= fewest["adam"]
    assert all(point.layout.zero_stage <= 1 for point in fronts["muon"].points)
    assert fronts["muon"].layouts_evaluated < fronts["adam"].layouts_evaluated
    muon, adam = fronts["muon"].points[-1], fronts["adam"].points[-1]
    parameters = transformer.parameters(job.model)
    assert muon.step.optimizer_s > adam.step.optimizer_s
    # A step of 1,536 x 2,048 tokens: 5 x 12,288 / 3.1 M is 2 % of the arithmetic, if every rank took an equal part.
    assert muon.step.optimizer_s < 0.1 * muon.step.compute_s
    assert parameters > 0
