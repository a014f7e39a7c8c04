"""Step times and the closed loop: limiting cases, Little's law, and what must grow or shrink."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.catalog.records import Catalogue
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.columns import Values
from clusterwright.sizing.serving.closed_loop import serve
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.configuration import device_of
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time
from clusterwright.workload.inference import ServedModel

#: No time but that of the datasheet's bandwidth and peaks.
IDEAL = Factors(
    efficiency_16=1.0,
    efficiency_8=1.0,
    efficiency_4=1.0,
    expert_efficiency=1.0,
    attention_efficiency=1.0,
    bandwidth_share=1.0,
    cache_share=1.0,
    expert_bandwidth_share=1.0,
    layer_s=0.0,
    expert_layer_s=0.0,
    step_s=0.0,
    sequence_s=0.0,
    collective_s=0.0,
    link_share=1e9,
    imbalance=0.0,
    first_token_s=0.0,
    transfer_s=0.0,
    prefill_layer_s=0.0,
    admission_steps=0.0,
)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """Return the catalogue."""
    return load()


@pytest.fixture(scope="module")
def h100(catalogue: Catalogue) -> ServingDevice:
    """Return an H100 as columns."""
    return device_of(catalogue.accelerators["h100-sxm-80gb"])


@pytest.fixture(scope="module")
def shape(catalogue: Catalogue) -> Callable[[str], ServedModel]:
    """Return a function from a model's name to its columns."""

    def named(name: str) -> ServedModel:
        found = find(name, catalogued(catalogue))
        assert found is not None
        return found.shape

    return named


def _place(**changed: Values) -> Deployment:
    values = {
        "gpus": 1.0,
        "workers": 1.0,
        "attention_tp": 1.0,
        "expert_parallel": 1.0,
        "attention_bytes": 2.0,
        "expert_bytes": 2.0,
        "cache_bytes": 2.0,
        "attention_bits": 16.0,
        "expert_bits": 16.0,
        "input_tokens": 1000.0,
        "output_tokens": 1000.0,
        "reserved_tokens": 2000.0,
        "concurrency": 1.0,
    }
    return Deployment(**{**values, **changed})


def test_8b_at_batch_one_is_bound_by_reading_its_weights(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """8b at batch one is bound by reading its weights."""
    step = decode_step(shape("Llama-3-8B"), h100, _place(), IDEAL, sequences=1.0, context=1.0)
    assert 1 / step.total == pytest.approx(223, rel=0.01)  # 3.35 TB/s over 15.0 GB


def test_prefill_takes_twice_the_weights_of_each_token_and_half_the_square_of_the_context(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Prefill takes twice the weights of each token and half the square of the context."""
    model = shape("Llama-3-8B")
    found = prefill_time(model, h100, _place(), IDEAL, tokens=8192.0)
    matrices = 2 * 8192 * float(model.active_weights)
    attention = 4 * 32 * 128 * 32 * 8192**2 / 2
    assert found == pytest.approx((matrices + attention) / 989.4e12, rel=1e-6)


@pytest.mark.parametrize("name", ["Llama-3-70B", "DeepSeek-V3", "gpt-oss-120b", "Qwen3.5-397B-A17B"])
def test_a_step_grows_with_its_batch_and_its_context(
    h100: ServingDevice, shape: Callable[[str], ServedModel], name: str
) -> None:
    """A step grows with its batch and its context."""
    place = _place(gpus=8.0, attention_tp=8.0)
    batches = decode_step(shape(name), h100, place, Factors(), sequences=np.arange(1.0, 300.0), context=2000.0).total
    contexts = decode_step(shape(name), h100, place, Factors(), sequences=8.0, context=np.arange(1.0, 9000.0, 50.0))
    assert np.all(np.diff(batches) > 0)
    assert np.all(np.diff(contexts.total) >= 0)


def test_sparse_attention_reads_no_more_than_its_limit(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Sparse attention reads no more than its limit."""
    model = shape("MiniMax-M3")
    far = [decode_step(model, h100, _place(), IDEAL, sequences=64.0, context=at).cache for at in (4096.0, 65536.0)]
    assert far[0] == pytest.approx(float(far[1]))


@pytest.mark.parametrize("concurrency", [1.0, 7.0, 64.0, 500.0])
def test_requests_in_the_system_are_rate_times_time(
    h100: ServingDevice, shape: Callable[[str], ServedModel], concurrency: float
) -> None:
    """Requests in the system are rate times time."""
    place = _place(gpus=8.0, attention_tp=8.0, concurrency=concurrency)
    found = serve(shape("Llama-3-70B"), h100, place, Factors(first_token_s=0.0))
    inside = found.requests_per_s * (found.first_token_s + 1000.0 * found.time_per_token_s)
    assert inside == pytest.approx(concurrency, rel=0.01)


def test_throughput_grows_with_concurrency_until_memory_is_full_and_then_requests_wait(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Throughput grows with concurrency until memory is full and then requests wait."""
    place = _place(gpus=4.0, attention_tp=4.0, concurrency=np.array([1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0]))
    found = serve(shape("Llama-3-70B"), h100, place, Factors())
    assert np.all(np.diff(found.requests_per_s) > -1e-9 * found.requests_per_s[:-1])
    assert found.requests_per_s[-1] == pytest.approx(found.requests_per_s[-2], rel=1e-3)
    assert found.sequences[-1] <= float(found.most_sequences) * 1.001
    assert found.first_token_s[-1] > 10 * found.first_token_s[-3]


def test_as_many_as_fit_is_the_rate_at_the_largest_batch(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """As many as fit is the rate at the largest batch."""
    place = _place(gpus=4.0, attention_tp=4.0, concurrency=np.inf)
    crowded = serve(shape("Llama-3-70B"), h100, replace(place, concurrency=1e5), Factors())
    assert serve(shape("Llama-3-70B"), h100, place, Factors()).requests_per_s == pytest.approx(
        float(crowded.requests_per_s), rel=0.01
    )


def test_a_prefill_pool_of_its_own_bounds_the_rate(h100: ServingDevice, shape: Callable[[str], ServedModel]) -> None:
    """A prefill pool of its own bounds the rate."""
    place = _place(
        gpus=8.0,
        attention_tp=8.0,
        concurrency=1000.0,
        input_tokens=8000.0,
        output_tokens=100.0,
        prefill_gpus=4.0,
        prefill_workers=1.0,
        prefill_attention_tp=4.0,
    )
    one = serve(shape("Llama-3-70B"), h100, place, Factors())
    two = serve(shape("Llama-3-70B"), h100, replace(place, prefill_workers=2.0), Factors())
    assert one.requests_per_s * one.prefill_s <= 1.0
    assert 1.5 < float(two.requests_per_s / one.requests_per_s) <= 2.01


def test_speculation_helps_while_reading_weights_and_costs_once_computing(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Speculation helps while reading weights and costs once computing."""
    plain = _place(gpus=4.0, attention_tp=4.0, concurrency=np.array([1.0, 300.0]))
    drafted = replace(plain, draft_tokens=3.0)
    model, factors = shape("Llama-3-70B"), Factors()
    gain = serve(model, h100, drafted, factors).requests_per_s / serve(model, h100, plain, factors).requests_per_s
    assert gain[0] > 1.4
    assert gain[1] < gain[0]


def test_the_first_token_of_a_lone_request_is_its_prefill(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Without fixed times it is that and half a step at most: there is nobody to queue behind."""
    model = shape("Llama-3-8B")
    served = serve(model, h100, _place(input_tokens=8192.0), IDEAL)
    alone = prefill_time(model, h100, _place(), IDEAL, tokens=8192.0)
    half_a_step = float(served.step.total) / 2
    assert served.first_token_s == pytest.approx(float(alone), rel=0.01, abs=half_a_step)


def test_a_short_prefill_waits_for_its_launches_and_a_long_one_for_its_flops(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Thirty-two layers of a millisecond bound eight tokens; 32,768 tokens take what their FLOPs take."""
    model = shape("Llama-3-8B")
    factors = replace(IDEAL, prefill_layer_s=1e-3)
    short = prefill_alone(model, h100, _place(), factors, tokens=8.0)
    assert short == pytest.approx(32e-3, rel=0.01)
    long = prefill_alone(model, h100, _place(), factors, tokens=32768.0)
    assert long == pytest.approx(float(prefill_time(model, h100, _place(), IDEAL, tokens=32768.0)), rel=0.01)


def test_one_rank_of_data_parallel_attention_prefills_a_request_alone(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Of eight ranks one works on the request: what all of them take for eight requests, it takes for this one."""
    model = shape("Llama-3-8B")
    spread = _place(gpus=8.0, attention_tp=1.0)
    alone = prefill_alone(model, h100, spread, IDEAL, tokens=8192.0)
    among = prefill_time(model, h100, spread, IDEAL, tokens=8192.0)
    assert alone == pytest.approx(8 * float(among), rel=0.01)


def test_a_scheduler_that_looks_seldom_delays_first_tokens_by_half_of_what_passes(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """Thirty steps between two looks delay the first token of a lone request by fifteen of them."""
    model, place = shape("Llama-3-8B"), _place(input_tokens=100.0)
    often, seldom = (serve(model, h100, place, replace(IDEAL, admission_steps=steps)) for steps in (0.0, 30.0))
    assert float(seldom.first_token_s - often.first_token_s) == pytest.approx(15 * float(often.step.total), rel=0.02)


def test_requests_that_arrive_at_once_wait_for_each_other(
    h100: ServingDevice, shape: Callable[[str], ServedModel]
) -> None:
    """The burst at the start waits half of all its prefills more than a request of the steady state."""
    model, place = shape("Llama-3-8B"), _place(input_tokens=1000.0, concurrency=np.array([2.0, 16.0]))
    served = serve(model, h100, place, IDEAL)
    more = served.burst_first_token_s - served.first_token_s
    assert more == pytest.approx(np.array([1.0, 8.0]) * served.prefill_s, rel=1e-6)
