"""How a replica is run: adapters, drafts, memory of the host, chats, slices, encoders, and batches of other kinds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.sizing.serving.calibration import THROUGHPUT, load_calibration
from clusterwright.sizing.serving.columns import Factors
from clusterwright.sizing.serving.goal_tests import bands_of_layouts
from clusterwright.sizing.serving.layouts import layouts
from clusterwright.sizing.serving.memory import held_bytes, largest_batch, touched_adapters, weight_bytes
from clusterwright.sizing.serving.replica_times import (
    Replica,
    columns_of_layouts,
    configuration,
    found_again,
    replica_columns,
)
from clusterwright.sizing.serving.search import search
from clusterwright.sizing.serving.service import (
    Adapters,
    Batching,
    Drafting,
    Images,
    LatencyGoals,
    Lengths,
    Load,
    Running,
    Service,
    Sessions,
    Task,
)
from clusterwright.sizing.serving.sizes import ReplicaLayout, ServingSize
from clusterwright.sizing.serving.step import decode_step, prefill_time, tokens_per_step
from clusterwright.workload.inference import inference_model

_CATALOGUE, _CALIBRATION = load(), load_calibration()
_H100 = lookup.node_type_of_system(_CATALOGUE, "dgx-h100")
_TP4 = ReplicaLayout(gpus=4, tensor=4, pipeline=1, expert=1, spread_attention=False)


def _service(model: str = "llama-3.1-70b", precision: str = "fp8", **changed: Any) -> Service:  # noqa: ANN401
    return replace(
        Service(
            model=inference_model(lookup.model(_CATALOGUE, model)),
            framework="vllm",
            precision=precision,
            cache_precision="",
            speculative="",
            inputs=Lengths(mean=1500.0, p95=4000.0),
            outputs=Lengths(mean=300.0, p95=900.0),
            prefix_share=0.0,
            load=Load(requests_per_s=40.0),
            goals=LatencyGoals(first_token_s=1.0, time_per_token_s=0.05, percentile=0.95, confidence=0.5),
        ),
        **changed,
    )


def _replica(service: Service, layout: ReplicaLayout = _TP4) -> Replica:
    return replica_columns(service, _H100, layout, _CALIBRATION, in_flight=16.0)


def _step(own: Replica, sequences: float = 16.0, context: float = 1650.0) -> float:
    return float(decode_step(own.model, own.device, own.place, own.factors, sequences=sequences, context=context).total)


def _best(service: Service) -> ServingSize:
    return search(service, [_H100], _CALIBRATION)[_H100.id][0]


def test_adapters_take_memory_and_are_read_as_often_as_a_batch_asks_for_them() -> None:
    """20 adapters of 200 million weights are 8 GB; 16 requests for 100 adapters ask for 14.9 of them on average."""
    asked = Adapters(count=100, weights=200e6, resident=20)
    plain, adapted = _replica(_service()), _replica(_service(adapters=asked))
    assert held_bytes(adapted.model, adapted.place) - held_bytes(plain.model, plain.place) == pytest.approx(8e9)
    drawn = np.random.default_rng(2).integers(100, size=(20_000, 16))
    distinct = np.mean([len(set(row)) for row in drawn])
    assert touched_adapters(adapted.place, 16.0) == pytest.approx(distinct, rel=0.01)
    assert _step(adapted) > _step(plain)


def test_one_adapter_for_all_is_cheaper_than_one_for_each() -> None:
    """What a batch reads of adapters grows with how many it asks for."""
    one, many = (_replica(_service(adapters=Adapters(count=count, weights=400e6, resident=1))) for count in (1, 1000))
    assert _step(one) < _step(many)


def test_adapters_widen_the_band_by_what_is_known_of_their_cost() -> None:
    """Measured slow-downs are 8 to 50 % around 20 %."""
    service = _service()
    row = configuration(service, _H100, _TP4)
    plain, wide = (
        bands_of_layouts(one, [row], ["known pair"], _CALIBRATION)
        for one in (service, replace(service, adapters=Adapters(count=2, weights=1e8, resident=2)))
    )
    assert wide["tpot_median"][0] - plain["tpot_median"][0] == pytest.approx([math.log(1.08 / 1.2), math.log(1.25)])
    assert wide[THROUGHPUT][0] - plain[THROUGHPUT][0] == pytest.approx([-math.log(1.25), math.log(1.2 / 1.08)])


@pytest.mark.parametrize(("length", "share"), [(2.5, 0.02), (4.0, 0.05)])
def test_an_accepted_length_is_the_tokens_of_a_step(length: float, share: float) -> None:
    """The step is that of a batch of drafts, lengthened by the drafting; the gain is what was given."""
    service = _service(speculative="eagle", drafting=Drafting(tokens=3.0, accepted_length=length, step_share=share))
    own = _replica(service)
    assert float(tokens_per_step(own.place, own.factors)) == length
    without = replace(own, place=replace(own.place, draft_step_share=1e-9))
    assert _step(own) / _step(without) == pytest.approx(1.0 + 3.0 * share, rel=1e-6)


def test_weights_left_in_the_host_free_memory_and_are_read_over_its_link() -> None:
    """30 % of 72 GB over four links of 63 GB/s lengthen a step by 86 ms, less what memory reads no longer."""
    plain, left = _replica(_service()), _replica(_service(running=Running(host_weight_share=0.3)))
    weights = float(weight_bytes(plain.model, plain.place))
    assert held_bytes(left.model, left.place) == pytest.approx(0.7 * weights)
    scaled = float(left.factors.step_scale)
    assert _step(left) - _step(plain) == pytest.approx(0.3 * weights / (4 * 63e9) * scaled, rel=1e-6)


def test_memory_without_pages_holds_the_longest_requests_it_was_given_out_for() -> None:
    """A sequence takes 4,900 tokens in the place of 1,650: a third of the batch fits."""
    paged, whole = _replica(_service()), _replica(_service(running=Running(paged=False)))
    fitting = [
        float(largest_batch(own.model, own.place, own.factors, hbm_bytes=own.device.hbm_bytes))
        for own in (paged, whole)
    ]
    assert fitting[0] / fitting[1] == pytest.approx(4900 / 1650, rel=0.02)


def test_chats_find_their_history_while_the_pause_is_short_and_lose_it_in_a_long_one() -> None:
    """Between 0 and the share that earlier turns had; what the host keeps is found later than what memory does."""
    shares = []
    for pause_s in (0.01, 60.0, 1e7):
        service = _service(
            prefix_share=0.7, sessions=Sessions(history_share=0.7, pause_s=pause_s, host_cache_bytes=100e9)
        )
        rows = [(_H100, _TP4)]
        columns = columns_of_layouts(service, rows, [configuration(service, _H100, _TP4)], _CALIBRATION)
        hit, host = found_again(service, columns.at(np.zeros(1, dtype=np.intp), np.array([8.0])), np.array([3.0]))
        shares.append((float(hit[0]), float(host[0])))
    assert shares[0] == pytest.approx((0.7, 0.0), abs=1e-3)
    assert shares[2] == pytest.approx((0.0, 0.0), abs=1e-3)
    assert 0.0 < shares[1][0] < 0.7
    assert shares[1][1] > 0.0
    assert sum(shares[1]) <= 0.7


def test_history_that_is_found_takes_no_more_accelerators_than_history_that_is_not() -> None:
    """Chats with pauses of a second, and of a month."""
    inputs = Lengths(mean=4000.0, p95=9000.0)
    soon, never = (
        _best(_service(inputs=inputs, prefix_share=0.7, sessions=Sessions(history_share=0.7, pause_s=pause_s)))
        for pause_s in (1.0, 2.6e6)
    )
    assert soon.gpus < never.gpus
    assert soon.cached_share == pytest.approx(0.7, abs=0.02)
    assert never.cached_share == pytest.approx(0.0, abs=0.02)


def test_a_slice_has_its_part_of_peak_memory_and_bandwidth_and_divides_an_accelerator() -> None:
    """1g.10gb of H100: a seventh of the multiplications, an eighth of memory and bandwidth, seven of one GPU."""
    service = _service("llama-3.2-1b", "bf16", slices=True, load=Load(requests_per_s=1.0))
    found = {layout.slice: layout for layout in layouts(service, _H100)}
    small = found["1g.10gb"]
    whole, part = _replica(service, replace(_TP4, gpus=1, tensor=1)), _replica(service, small)
    assert small.per_gpu == 7
    assert float(part.device.flop_per_s_16) == pytest.approx(float(whole.device.flop_per_s_16) / 7)
    assert float(part.device.hbm_bytes_per_s) == pytest.approx(float(whole.device.hbm_bytes_per_s) / 8)
    assert float(part.device.hbm_bytes) == pytest.approx(_H100.hbm_bytes_per_gpu / 8)
    assert all(layout.slice == "" for layout in layouts(replace(service, slices=False), _H100))


def test_a_small_model_takes_less_on_slices() -> None:
    """The cheapest size of a little traffic is a part of one accelerator."""
    service = _service("llama-3.2-1b", "bf16", load=Load(requests_per_s=1.0))
    sliced, whole = _best(replace(service, slices=True)), _best(service)
    assert sliced.layout.slice
    assert sliced.gpus < whole.gpus == 1.0


def test_experts_are_spread_over_nodes_where_that_is_asked() -> None:
    """16 and more accelerators with attention data parallel, only for experts and nodes that reach each other."""
    wide = {layout.gpus for layout in layouts(_service("deepseek-v3", wide_expert=True), _H100) if layout.expert > 8}
    assert wide == {16, 32, 64}
    assert not [layout for layout in layouts(_service("deepseek-v3"), _H100) if layout.expert > 8]
    assert not [layout for layout in layouts(_service(wide_expert=True), _H100) if layout.expert > 8]


def test_an_encoder_attends_both_ways_and_a_pass_has_no_tokens_after_it() -> None:
    """Twice the scores of a causal model; the time per token is nothing, and its goal no part of the search."""
    shape = inference_model(lookup.model(_CATALOGUE, "bert-large")).shape
    own = _replica(_service("bert-large", "bf16", task=Task.EMBED), replace(_TP4, gpus=1, tensor=1))
    factors = Factors(prefill_scale=1.0, link_share=0.33)

    def seconds(both_ways: float) -> float:
        model = replace(shape, both_ways=both_ways)
        return float(prefill_time(model, own.device, own.place, factors, tokens=512.0))

    scores = 2.0 * 512 * 256 * float(shape.layers) * float(shape.score_width)
    extra = scores / (float(own.device.flop_per_s_16) * 0.7)
    assert seconds(1.0) - seconds(0.0) == pytest.approx(extra, rel=1e-6)
    goals = LatencyGoals(first_token_s=0.5, time_per_token_s=None, percentile=0.95, confidence=0.5)
    size = _best(_service("bert-large", "bf16", task=Task.EMBED, goals=goals, outputs=Lengths(mean=1.0, p95=1.0)))
    assert size.mean_time_per_token_s == 0.0
    assert 0.0 < size.mean_first_token_s < size.first_token_s.value < 0.5


def test_ranking_fifty_documents_is_fifty_passes() -> None:
    """Fifty times the work of a request, and more accelerators for the same requests."""
    goals = LatencyGoals(first_token_s=5.0, time_per_token_s=None, percentile=0.95, confidence=0.5)
    service = _service(
        "qwen3-0.6b",
        "bf16",
        task=Task.RERANK,
        goals=goals,
        load=Load(requests_per_s=400.0),
        inputs=Lengths(mean=500.0, p95=500.0),
        outputs=Lengths(mean=1.0, p95=1.0),
    )
    one, fifty = (
        _best(replace(service, running=Running(passes=passes, chunk_tokens=65_536.0))) for passes in (1.0, 50.0)
    )
    assert fifty.prefill_s == pytest.approx(50.0 * one.prefill_s, rel=0.01)
    assert fifty.gpus > one.gpus


def test_images_take_the_flop_of_their_encoder_and_memory_for_its_weights() -> None:
    """2 × 600 million weights for each of 4,000 patches, and 1.2 GB on each rank of attention."""
    images = Images(encoder_weights=600e6, patches=4000.0)
    plain, seeing = _replica(_service()), _replica(_service(images=images))
    held = [float(held_bytes(own.model, own.place)) for own in (plain, seeing)]
    assert held[1] - held[0] == pytest.approx(1.2e9)
    times = [
        float(prefill_time(own.model, own.device, own.place, own.factors, tokens=1500.0)) for own in (plain, seeing)
    ]
    rate = 4 * float(plain.device.flop_per_s_16) * float(plain.factors.efficiency_16)
    flop = 2.0 * 600e6 * 4000.0
    assert times[1] - times[0] == pytest.approx(flop / rate * float(plain.factors.prefill_scale), rel=1e-6)


def test_continuous_batches_take_the_fewest_accelerators_and_one_at_a_time_the_most() -> None:
    """What one model serves 10 requests a second with, by the kind of its batches."""
    goals = LatencyGoals(first_token_s=10.0, time_per_token_s=0.05, percentile=0.95, confidence=0.5)
    gpus = {
        batching: _best(
            _service(
                "llama-3.1-8b",
                "bf16",
                goals=goals,
                load=Load(requests_per_s=10.0),
                running=Running(batching=batching, window_s=0.05),
            )
        ).gpus
        for batching in Batching
    }
    assert gpus[Batching.CONTINUOUS] < gpus[Batching.STATIC] <= gpus[Batching.NONE]
    assert gpus[Batching.WINDOWED] <= gpus[Batching.NONE]


def test_what_was_never_measured_widens_the_band() -> None:
    """A quarter for one such thing, in squares for two."""
    service, row = _service(), configuration(_service(), _H100, _TP4)
    static = replace(service, running=Running(batching=Batching.STATIC))
    both = replace(service, running=Running(batching=Batching.STATIC, paged=False))
    plain, one, two = (
        float(np.diff(bands_of_layouts(asked, [row], ["known pair"], _CALIBRATION)[THROUGHPUT])[0, 0])
        for asked in (service, static, both)
    )
    assert one / plain == pytest.approx(1.25)
    assert two / plain == pytest.approx(math.sqrt(1 + 2 * (1.25**2 - 1)))


def test_spare_replicas_follow_from_an_availability() -> None:
    """Ten replicas that are up for 99 % of the time need two spare ones for 999 in a thousand."""
    service = _service(availability=(0.999, 0.99))
    assert service.spare(10) == 2
    assert _service().spare(10) == 1
