"""Two pools: rates that match, the way between them, and the closed form against single requests."""

import math
from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.sizing.serving.arrivals.requests import poisson
from clusterwright.sizing.serving.calibration import NOTHING_FITTED, Calibration, load_calibration
from clusterwright.sizing.serving.closed_loop import handing_s
from clusterwright.sizing.serving.layouts import layouts
from clusterwright.sizing.serving.pools import apart_sizes
from clusterwright.sizing.serving.replica_times import replica_columns, request_mix, scaled_work
from clusterwright.sizing.serving.search import search
from clusterwright.sizing.serving.service import LatencyGoals, Lengths, Load, Service
from clusterwright.sizing.serving.simulation.fleet import Outcome, simulate_apart, transfer_s
from clusterwright.sizing.serving.simulation.step_table import tabulated
from clusterwright.sizing.serving.sizes import ReplicaLayout, ServingSize, nodes_of_all
from clusterwright.workload.inference import inference_model

_CATALOGUE, _CALIBRATION = load(), load_calibration()
_H100 = lookup.node_type_of_system(_CATALOGUE, "dgx-h100")
_SERVICE = Service(
    model=inference_model(lookup.model(_CATALOGUE, "llama-3.1-70b")),
    framework="vllm",
    precision="fp8",
    cache_precision="",
    speculative="",
    inputs=Lengths(mean=2000.0, p95=4000.0),
    outputs=Lengths(mean=300.0, p95=600.0),
    prefix_share=0.0,
    load=Load(requests_per_s=40.0),
    goals=LatencyGoals(first_token_s=2.0, time_per_token_s=0.05, percentile=0.95, confidence=0.5),
    apart=True,
)


#: The formulas with their defaults, and queues as theory has them.
_PLAIN = replace(_CALIBRATION, fitted=replace(NOTHING_FITTED, shared={"queue_share": math.log(1 / 1.25)}))


def _size(service: Service = _SERVICE, calibration: Calibration = _CALIBRATION) -> ServingSize:
    (size,) = apart_sizes(service, [_H100], calibration, service.goals.confidence)
    return size


def test_each_pool_carries_the_load_and_one_worker_fewer_does_not() -> None:
    """`n_p r_p >= rate <= n_d r_d`, with the fewest workers of each."""
    size = _size()
    assert size.prefill is not None
    for workers, each in ((size.replicas, size.capacity_per_s), (size.prefill.workers, size.prefill.requests_per_s)):
        assert workers * each >= size.requests_per_s * (1 - 1e-6)
        assert (workers - 1) * each < size.requests_per_s


def test_more_requests_take_no_fewer_accelerators_and_half_the_inputs_fewer_that_prefill() -> None:
    """Each pool follows its own work."""
    few, many = (_size(replace(_SERVICE, load=Load(requests_per_s=rate))) for rate in (20.0, 160.0))
    assert few.gpus < many.gpus
    short = _size(replace(_SERVICE, inputs=Lengths(mean=500.0, p95=1000.0), load=Load(requests_per_s=160.0)))
    assert short.prefill is not None
    assert many.prefill is not None
    assert short.prefill.workers * short.prefill.layout.gpus < many.prefill.workers * many.prefill.layout.gpus


def test_the_way_between_takes_bytes_over_the_links_of_the_smaller_worker() -> None:
    """2,000 tokens of 163,840 bytes (Llama 70B, 8 bits) over two links of 50 GB/s are 3.28 ms."""
    layout = ReplicaLayout(gpus=4, tensor=4, pipeline=1, expert=1, spread_attention=False)
    own = replica_columns(_SERVICE, _H100, layout, _CALIBRATION, in_flight=1.0)
    place, device = replace(own.place, prefill_gpus=2.0), replace(own.device, network_bytes_per_s=50e9)
    assert handing_s(own.model, device, place, tokens=2000.0) == pytest.approx(2000 * 163_840 / (2 * 50e9))


def test_pools_stay_within_a_node_that_reaches_no_other() -> None:
    """Without a network both workers fit on the eight accelerators of a node; with one they need not."""
    alone = replace(_H100, network_kind="none", network_bytes_per_s_per_gpu_one_way=0.0)
    (size,) = apart_sizes(_SERVICE, [alone], _CALIBRATION, 0.5)
    assert size.prefill is not None
    assert size.layout.gpus + size.prefill.layout.gpus <= alone.gpus


def test_the_cheapest_is_never_more_than_replicas_that_do_both() -> None:
    """Where the two ways are compared, the first size takes no more nodes than each alone."""
    both, apart, cheapest = (
        search(replace(_SERVICE, apart=asked), [_H100], _CALIBRATION)[_H100.id][0] for asked in (False, True, None)
    )
    assert cheapest.nodes == min(both.nodes, apart.nodes)
    assert both.prefill is None
    assert apart.prefill is not None


def test_pools_share_nodes_that_their_workers_divide() -> None:
    """Three workers of two accelerators and one of four take ten of sixteen accelerators: two nodes."""
    two = next(one for one in layouts(_SERVICE, _H100) if one.gpus == 2)
    four = next(one for one in layouts(_SERVICE, _H100) if one.gpus == 4)
    assert nodes_of_all(((two, 3), (four, 1)), 8) == 2


@pytest.mark.parametrize("goal", [0.6, 1.0, 2.0])
def test_percentiles_are_those_of_single_requests_through_both_pools(goal: float) -> None:
    """P95 of first token and time per token within 15 % of a simulation with the same step times and the same way."""
    service = replace(_SERVICE, goals=replace(_SERVICE.goals, first_token_s=goal))
    size = _size(service, _PLAIN)
    assert size.prefill is not None
    prefilling, decoding = (
        replica_columns(service, _H100, layout, _PLAIN, in_flight=size.in_flight, apart=True)
        for layout in (size.prefill.layout, size.layout)
    )
    prefill, decode = (
        tabulated(own.model, own.device, own.place, own.factors, longest_tokens=20_000)
        for own in (prefilling, decoding)
    )
    mix, first_rate = request_mix(service), size.requests_per_s / size.prefill.workers
    links = min(size.layout.gpus, size.prefill.layout.gpus) * float(decoding.device.network_bytes_per_s)

    def seen(rate: float, before: int) -> Outcome:
        """Return what so many workers that prefill and one that decodes do with arrivals at this rate."""
        return simulate_apart(
            prefill,
            decode,
            poisson(mix, count=15_000, requests_per_s=rate, seed=4),
            prefill_workers=before,
            decode_workers=1,
            transfer_s_per_token=transfer_s(cache_bytes=163_840.0, gpus=1.0, network_bytes_per_s=links),
        ).steady()

    # Beside queue and prefill there is a time to hand over, and the wait for the scheduler's next look.
    beside = prefilling.factors.transfer_s + prefilling.factors.admission_steps * size.mean_time_per_token_s / 2.0
    first = seen(first_rate, 1).first_token_s + beside
    assert np.quantile(first, 0.95) == pytest.approx(size.first_token_s.value, rel=0.15)
    held = size.in_flight / (service.outputs.mean * size.mean_time_per_token_s)
    assert np.nanquantile(seen(held, 40).time_per_token_s, 0.95) == pytest.approx(size.time_per_token_s.value, rel=0.15)


def test_pools_carry_their_load_where_tokens_are_faster_than_the_formulas_and_inputs_differ_and_are_cached() -> None:
    """DeepSeek-V3 on B300: no pool is asked for more than its steps give, and P95 per token is that of single requests.

    What was measured of these accelerators is in the steps once, and attention makes long inputs take more than
    their share.
    """
    node = lookup.node_type_of_system(_CATALOGUE, "dgx-b300")
    service = replace(
        _SERVICE,
        model=inference_model(lookup.model(_CATALOGUE, "deepseek-v3")),
        framework="tensorrt-llm",
        precision="nvfp4",
        inputs=Lengths(mean=3000.0, p95=9000.0),
        outputs=Lengths(mean=600.0, p95=1800.0),
        prefix_share=0.4,
        load=Load(requests_per_s=340.0),
        goals=replace(_SERVICE.goals, time_per_token_s=0.03),
    )
    (size,) = apart_sizes(service, [node], _CALIBRATION, 0.5)
    assert size.prefill is not None
    prefill, decode = (
        tabulated(own.model, own.device, own.place, scaled_work(own.factors, own.token_scale), longest_tokens=100_000)
        for own in (
            replica_columns(service, node, layout, _CALIBRATION, in_flight=size.in_flight, apart=True)
            for layout in (size.prefill.layout, size.layout)
        )
    )
    requests = poisson(request_mix(service), count=8_000, requests_per_s=340.0 / size.replicas, seed=4)
    inputs, cached = requests.input_tokens.astype(int), requests.cached_tokens.astype(int)
    work = float((prefill.prefill_s[inputs] - prefill.prefill_s[cached]).mean())
    assert 340.0 / size.prefill.workers * work == pytest.approx(size.prefill.busy_share, rel=0.05)
    assert size.prefill.busy_share < 0.97
    seen = simulate_apart(
        prefill, decode, requests, prefill_workers=20, decode_workers=1, transfer_s_per_token=0.0
    ).steady()
    assert np.nanquantile(seen.time_per_token_s, 0.95) == pytest.approx(size.time_per_token_s.value, rel=0.15)
