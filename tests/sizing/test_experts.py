"""Mixtures of experts: limiting cases, worked numbers, and the search over them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.columns import FULL, SELECTIVE, Layouts, Shape, Tuning
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.model import compute, experts, layer_memory
from clusterwright.sizing.model.shapes import attended_keys, shape_of, trained_layers
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training import layouts, memory, stages, step
from clusterwright.sizing.training.parallel_sizes import expert_parallel_sizes
from clusterwright.sizing.training.search import search
from clusterwright.workload import transformer

CALIBRATION = load_calibration()
TUNING = CALIBRATION.of(generation="hopper", stack="megatron").tuning
LAYOUT = Layouts(
    tp=1.0,
    sp=0.0,
    pp=1.0,
    vpp=1.0,
    dp=64.0,
    cp=1.0,
    zero_stage=1.0,
    micro_batch=1.0,
    micro_batches=4.0,
    recompute=1.0,
    ep=8.0,
)


@pytest.fixture(scope="module")
def mixtral() -> Model:
    """Mixtral 8x7B."""
    return lookup.model(load(), "mixtral-8x7b")


@pytest.fixture(scope="module")
def deepseek() -> Model:
    """DeepSeek-V3."""
    return lookup.model(load(), "deepseek-v3")


def _step_s(shape: Shape, node: NodeType, layout: Layouts, tuning: Tuning = TUNING) -> float:
    device = device_of(node, precision="bf16")
    times = step.layer_times(shape, device, tuning, layout)
    return float(np.asarray(step.step_columns(shape, device, tuning, layout, times).total_s()))


def test_one_expert_that_every_token_goes_to_multiplies_like_a_dense_mlp(mixtral: Model, h100: NodeType) -> None:
    """With one expert, one copy, no permutation, launches or grouping, the step is the dense model's."""
    dense = replace(mixtral, experts=None, experts_per_token=None, shared_experts=None, dense_layers=None)
    single = replace(mixtral, experts=1, experts_per_token=1)
    shapes = [shape_of(model, sequence_length=4096) for model in (dense, single)]
    free = replace(
        TUNING, grouped_efficiency=1.0, expert_rows_half=TUNING.rows_half, expert_passes=0.0, expert_launch_s=0.0
    )
    plain, routed = (_step_s(shape, h100, replace(LAYOUT, ep=1.0), free) for shape in shapes)
    assert routed == pytest.approx(plain, rel=2e-3)


def test_mixtral_holds_all_experts_but_computes_two(mixtral: Model, h100: NodeType) -> None:
    """46.7 billion parameters are held, 12.9 billion take part: twice the experts cost memory, not arithmetic."""
    shape = shape_of(mixtral, sequence_length=4096)
    held = stages.stage_parameters(shape, tp=1.0, pp=1.0, vpp=1.0)
    routed = stages.stage_expert_parameters(shape, layouts=LAYOUT)
    assert float(held + 8 * routed) == pytest.approx(transformer.parameters(mixtral), rel=1e-5)
    double = shape_of(replace(mixtral, experts=16), sequence_length=4096)
    long = replace(LAYOUT, micro_batches=64.0)
    slower = _step_s(double, h100, long) / _step_s(shape, h100, long)
    assert 1 < slower < 1.15


def test_expert_states_are_sharded_over_the_ranks_that_hold_the_same(mixtral: Model) -> None:
    """Of 64 ranks, 8 hold the same experts; of 8 tensor-parallel and 16 data-parallel ranks, 4 with ep 32."""
    assert memory.expert_shards(LAYOUT) == 8
    assert memory.expert_shards(replace(LAYOUT, tp=8.0, dp=16.0, ep=32.0)) == 4
    assert memory.expert_shards(replace(LAYOUT, tp=8.0, dp=16.0, ep=4.0, etp=8.0)) == 4
    shape = shape_of(mixtral, sequence_length=4096)
    layer = layer_memory.layer_bytes(shape, LAYOUT)
    few = memory.per_gpu(shape, LAYOUT, layer=layer)
    more = memory.per_gpu(shape, replace(LAYOUT, dp=128.0), layer=layer)
    routed = float(stages.stage_expert_parameters(shape, layouts=LAYOUT))
    plain = float(stages.stage_parameters(shape, tp=1.0, pp=1.0, vpp=1.0))
    assert float(few.optimizer - more.optimizer) == pytest.approx(12 * (routed / 16 + plain / 128), rel=1e-6)


def test_all_to_all_takes_what_its_bytes_take(deepseek: Model, h100: NodeType) -> None:
    """DeepSeek-V3 on 64 ranks of 8: 8 copies of 7168 elements, of which 7/8 cross the network, four times a layer."""
    shape = shape_of(deepseek, sequence_length=4096)
    device = device_of(h100, precision="bf16")
    plain = replace(
        TUNING,
        expert_overlap=0.0,
        network_fraction=1.0,
        scale_up_fraction=1.0,
        network_latency_s=0.0,
        scale_up_latency_s=0.0,
    )
    time = float(experts.exchange_s(shape, device, plain, layouts=replace(LAYOUT, ep=64.0), rows=4096.0))
    size = 2 * 7168 * 8 * 4096
    expected = 4 * (size * 7 / 8 / 50e9 + size * 7 / 64 / 450e9)
    assert time == pytest.approx(expected * (61 - 3 + 1) / 62)
    assert float(experts.exchange_s(shape, device, plain, layouts=replace(LAYOUT, ep=8.0), rows=4096.0)) < time / 5


def test_deepseek_trains_a_layer_and_a_head_more(deepseek: Model) -> None:
    """Its 61 layers are 62 in training, the output matrix is multiplied twice, and the sum of parameters is 685e9."""
    assert trained_layers(deepseek) == 62
    shape = shape_of(deepseek, sequence_length=4096)
    assert shape.predictions == 2
    total = shape.layers * (shape.layer_parameters + shape.expert_parameters)
    total += shape.table_parameters + shape.head_parameters
    assert float(total) == pytest.approx(671.03e9 + 11.6e9, rel=0.005)


def test_latent_attention_is_multiplied_as_it_is_held(deepseek: Model) -> None:
    """The sides of latent attention's multiplications are its 187 million weights."""
    widths = transformer.attention_widths(deepseek)
    sides = deepseek.hidden * widths.latent_in + widths.latent_query * widths.query
    sides += widths.latent_key * widths.up_key_value + widths.out * deepseek.hidden
    assert sides == transformer.attention_weights(deepseek)


def test_windows_shorten_attention(mixtral: Model) -> None:
    """A window of 4,096 in 32,768 tokens leaves 3,840 keys of 16,384; in half of the layers, the mean of both."""
    windowed = replace(mixtral, sliding_window=4096, sliding_layer_fraction=1.0)
    assert attended_keys(mixtral, sequence_length=32768) == 16384
    assert attended_keys(windowed, sequence_length=32768) == 4096 - 4096**2 / 65536
    half = replace(windowed, sliding_layer_fraction=0.5)
    assert attended_keys(half, sequence_length=32768) == (3840 + 16384) / 2
    assert attended_keys(windowed, sequence_length=2048) == 1024


def test_encoders_attend_to_everything() -> None:
    """BERT's tokens attend to the whole sequence."""
    assert attended_keys(lookup.model(load(), "bert-large"), sequence_length=512) == 512


def test_every_layout_of_experts_is_legal(mixtral: Model, h100: NodeType) -> None:
    """`ep etp` divides `tp cp dp`, ep divides the experts, and an expert is split over all tensor ranks or none."""
    job = _job(mixtral)
    found = layouts.enumerate_layouts(job, h100, max_nodes=8)
    assert found is not None
    ranks = np.asarray(found.tp * found.cp * found.dp)
    assert (np.mod(ranks, found.ep * found.etp) == 0).all()
    assert (np.mod(8, np.asarray(found.ep)) == 0).all()
    assert ((found.etp == 1) | (found.etp == found.tp)).all()
    assert {1.0, 2.0, 4.0, 8.0} == set(np.asarray(found.ep).tolist())


def _job(model: Model) -> TrainingJob:
    return TrainingJob(
        model=model,
        tokens=1e12,
        sequence_length=4096,
        global_batch_sequences=256,
        precision="bf16",
        finish_within_s=None,
        max_nodes=8,
    )


def test_mixtral_is_laid_out_with_expert_parallelism(mixtral: Model, h100: NodeType) -> None:
    """On 64 H100 the fastest layout spreads the experts, and 13 of 47 billion parameters train at a useful rate."""
    front = search(job=_job(mixtral), node=h100, calibration=CALIBRATION)
    fastest = front.points[-1]
    assert fastest.layout.ep > 1
    assert 0.2 < fastest.mfu < 0.6
    assert fastest.memory.total <= h100.hbm_bytes_per_gpu


@settings(max_examples=8, deadline=None)
@given(link=st.floats(1, 4), network=st.floats(1, 8), hbm=st.floats(1, 2), flops=st.floats(1, 3), size=st.floats(1, 2))
def test_better_hardware_is_never_slower_for_experts(
    *, mixtral: Model, h100: NodeType, link: float, network: float, hbm: float, flops: float, size: float
) -> None:
    """More bandwidth, memory or FLOP/s never makes the best layout of any cluster size slower."""
    gpu = h100.accelerator
    better = replace(
        h100,
        accelerator=replace(
            gpu,
            dense_bf16_flop_per_s=(gpu.dense_bf16_flop_per_s or 0) * flops,
            hbm_bytes_per_s=(gpu.hbm_bytes_per_s or 0) * hbm,
            scale_up_bytes_per_s_per_gpu_one_way=(gpu.scale_up_bytes_per_s_per_gpu_one_way or 0) * link,
        ),
        hbm_bytes_per_gpu=h100.hbm_bytes_per_gpu * size,
        network_bytes_per_s_per_gpu_one_way=h100.network_bytes_per_s_per_gpu_one_way * network,
    )
    job = replace(_job(mixtral), global_batch_sequences=64, max_nodes=8)
    before = search(job=job, node=h100, calibration=CALIBRATION)
    after = search(job=job, node=better, calibration=CALIBRATION)
    for point in before.points:
        best = min((other for other in after.points if other.nodes <= point.nodes), key=lambda one: one.calendar_days)
        assert best.step.total_s <= point.step.total_s * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_predictions_are_finite_and_positive(*, data: st.DataObject, h100: NodeType) -> None:
    """Any architecture and layout within the schema's domain has a finite positive step time and memory."""
    draw = data.draw
    heads = draw(st.integers(1, 128))
    groups = draw(st.sampled_from([count for count in range(1, heads + 1) if heads % count == 0]))
    experts_count = draw(st.sampled_from([0, 1, 8, 256]))
    layers = draw(st.integers(1, 200))
    model = Model(
        id="any",
        name="any",
        parameters=None,
        active_parameters=None,
        published_parameters=None,
        layers=layers,
        hidden=draw(st.integers(1, 65536)),
        heads=heads,
        kv_heads=groups,
        head_dim=draw(st.integers(1, 512)),
        ffn_hidden=draw(st.integers(1, 262144)),
        gated=draw(st.booleans()),
        vocab=draw(st.integers(1, 1_000_000)),
        tied_embeddings=draw(st.booleans()),
        max_context=None,
        attention_kind="gqa",
        sliding_window=draw(st.none() | st.integers(1, 10**6)),
    )
    if experts_count:
        model = replace(
            model,
            experts=experts_count,
            experts_per_token=draw(st.integers(1, min(8, experts_count))),
            shared_experts=draw(st.integers(0, 4)),
            moe_ffn_hidden=draw(st.integers(1, 32768)),
            dense_layers=draw(st.integers(0, layers - 1)),
        )
    size = st.sampled_from([1.0, 2.0, 8.0, 64.0])
    layout = Layouts(
        tp=draw(size),
        sp=draw(st.sampled_from([0.0, 1.0])),
        pp=draw(st.sampled_from([1.0, float(layers)])),
        vpp=1.0,
        dp=draw(size),
        cp=draw(size),
        zero_stage=draw(st.sampled_from([0.0, 1.0, 2.0, 3.0])),
        micro_batch=draw(size),
        micro_batches=draw(size),
        recompute=draw(st.sampled_from([0.0, 1.0, 2.0])),
        ep=draw(size),
        etp=draw(size),
    )
    shape = shape_of(model, sequence_length=draw(st.integers(1, 1_000_000)))
    assert 0 < _step_s(shape, h100, layout) < np.inf
    layer = layer_memory.layer_bytes(shape, layout)
    assert 0 < float(np.asarray(memory.per_gpu(shape, layout, layer=layer).total())) < np.inf


def test_what_experts_keep_and_move_by_hand(mixtral: Model, h100: NodeType) -> None:
    """Mixtral, 4,096 tokens over 2 ranks, 2 copies of each: counted from the definitions.

    Kept: each copy's input and output in bf16 (4 x 4,096 bytes) and its width (2 x 3 x 14,336 bytes), for 1.25 times
    the copies sent; the router's fp32 score of each of 8 experts for every token. Moved: each copy, its width, scores.
    """
    shape = shape_of(mixtral, sequence_length=4096)
    shape = replace(shape, expert_imbalance=1.25)
    tokens, copies = 4096 / 2, 2 * 4096 / 2
    kept = 1.25 * copies * (4 * 4096 + 2 * 3 * 14336) + 4 * tokens * 8
    assert float(experts.activation_bytes(shape, rows=4096.0, tp=2.0)) == pytest.approx(kept, rel=1e-12)
    passes, device = TUNING.memory_passes, device_of(h100, precision="bf16")
    moved = TUNING.expert_passes * 2 * copies * 4096 + passes * 2 * copies * 3 * 14336 + passes * 4 * tokens * 8
    seconds = experts.layer_streaming_s(shape, device, TUNING, rows=4096.0, tp=2.0)
    assert float(seconds) == pytest.approx(moved / (0.85 * 3.35e12), rel=1e-12)


def test_full_recomputation_sends_the_copies_two_more_times(deepseek: Model, h100: NodeType) -> None:
    """Six exchanges instead of four: the forward pass, with its two, is done again."""
    shape, device = shape_of(deepseek, sequence_length=4096), device_of(h100, precision="bf16")
    once, again = (
        float(experts.exchange_s(shape, device, TUNING, layouts=replace(LAYOUT, recompute=mode), rows=4096.0))
        for mode in (float(SELECTIVE), float(FULL))
    )
    assert again == pytest.approx(1.5 * once)


@pytest.mark.parametrize(("count", "largest"), [(128, 128), (129, 43), (256, 128), (258, 86)])
def test_experts_are_spread_over_at_most_128_ranks(mixtral: Model, count: int, largest: int) -> None:
    """Of the sizes that divide the experts, the largest within the limit."""
    job = _job(replace(mixtral, experts=count))
    assert max(expert_parallel_sizes(job)) == largest


def test_a_dense_model_has_no_experts_to_launch(h100: NodeType) -> None:
    """A layer whose share of experts goes to nothing takes what a dense layer takes, launches included."""
    device = device_of(h100, precision="bf16")
    dense = shape_of(lookup.model(load(), "llama-3.1-8b"), sequence_length=4096)
    layer = compute.layer_compute(dense, device, TUNING, layouts=LAYOUT, rows=4096.0)
    assert (layer.launch_s, layer.experts_s) == (0.0, 0.0)
    assert layer.total_s == pytest.approx(experts.at_least_launched(time_s=layer.total_s, launch_s=layer.launch_s))
