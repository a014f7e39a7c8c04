"""Replicas under arrivals: limits, what must grow, unstable loads, goals, and the simulation as the judge."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.sizing.serving.arrivals.open_loop import (
    FIRST_TOKEN,
    METRICS,
    PER_TOKEN,
    TOTAL,
    Goal,
    largest_rate,
    latencies,
    serve_arrivals,
)
from clusterwright.sizing.serving.arrivals.requests import Lengths, RequestMix, log_normal
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.step import decode_step, prefill_time
from clusterwright.workload.inference import ServedModel

Known = tuple[ServedModel, ServingDevice, Deployment, Factors]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """Return the benchmark, which draws the cases."""
    path = Path(__file__).parents[4] / "benchmarks" / "serving_simulation.py"
    spec = importlib.util.spec_from_file_location("serving_simulation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def known(benchmark: ModuleType) -> Known:
    """Return Llama 3 70B in FP8 on eight H100."""
    found: Known = benchmark.fixed(load())
    return found


def _mix() -> RequestMix:
    return RequestMix(inputs=log_normal(mean=1024, p95=2600, most=16_000), outputs=log_normal(mean=256, p95=600))


def test_an_idle_replica_takes_a_prefill_and_a_step_per_token(known: Known) -> None:
    """An idle replica takes one prefill, and one step of a single sequence per token."""
    model, device, place, factors = known
    mix = RequestMix(inputs=Lengths(tokens=np.array([8000.0])), outputs=Lengths(tokens=np.array([100.0])))
    seen = serve_arrivals(*known, mix=mix, requests_per_s=1e-6)
    prefill = float(prefill_time(model, device, place, factors, tokens=8000.0))
    step = float(decode_step(model, device, place, factors, sequences=1.0, context=8050.0).total)
    assert float(seen.first_token_s) == pytest.approx(float(factors.first_token_s) + prefill, rel=0.01)
    assert float(seen.time_per_token_s) == pytest.approx(step, rel=0.01)
    percentiles = latencies(*known, mix=mix, requests_per_s=1e-6)
    assert float(percentiles.at(TOTAL, 0.99)) == pytest.approx(
        float(factors.first_token_s) + prefill + 99 * step, rel=0.01
    )


def test_a_load_that_is_not_kept_up_with_gives_infinite_times(known: Known) -> None:
    """A load that is not kept up with gives infinite times, never a number."""
    top = float(serve_arrivals(*known, mix=_mix(), requests_per_s=1.0).most_requests_per_s)
    rates = top * np.array([0.9, 1.0, 1.5, 100.0])
    means = serve_arrivals(*known, mix=_mix(), requests_per_s=rates)
    seen = latencies(*known, mix=_mix(), requests_per_s=rates)
    for values in (means.first_token_s, means.total_s, means.sequences, *(seen.at(one, 0.5) for one in METRICS)):
        assert np.isfinite(values[0])
        assert np.all(np.isinf(values[1:]))


def test_a_model_that_does_not_fit_serves_no_request(known: Known) -> None:
    """A model that does not fit serves no request, in infinite time."""
    model, device, place, factors = known
    small = replace(place, gpus=np.array([1.0, 8.0]), attention_tp=np.array([1.0, 8.0]), attention_bytes=2.0)
    seen = serve_arrivals(model, device, small, factors, mix=_mix(), requests_per_s=0.5)
    assert list(seen.fits) == [False, True]
    assert list(seen.most_requests_per_s > 0) == [False, True]
    assert list(np.isfinite(seen.total_s)) == [False, True]


def test_times_grow_with_load_and_percentiles_with_their_share(known: Known) -> None:
    """Times grow with the load, and percentiles with their share."""
    top = float(serve_arrivals(*known, mix=_mix(), requests_per_s=1.0).most_requests_per_s)
    rates = top * np.linspace(0.05, 0.95, 12)
    means = serve_arrivals(*known, mix=_mix(), requests_per_s=rates)
    assert np.all(np.diff(means.first_token_s) > 0)
    assert np.all(np.diff(means.time_per_token_s) > 0)
    seen = latencies(*known, mix=_mix(), requests_per_s=rates)
    for metric in METRICS:
        assert np.all(np.diff(seen.times_s[metric], axis=-1) >= 0)
        # Points count events in whole numbers, so a percentile may stand still or tremble, not fall.
        assert np.all(np.diff(seen.at(metric, 0.95)) > -0.03 * seen.at(metric, 0.95)[:-1])


def test_requests_decoding_are_rate_times_time(known: Known) -> None:
    """Sequences that decode are the rate times what a request decodes for."""
    means = serve_arrivals(*known, mix=_mix(), requests_per_s=np.array([0.5, 2.0, 6.0]))
    decoding = np.array([0.5, 2.0, 6.0]) * 255.0 * means.time_per_token_s
    assert means.sequences == pytest.approx(decoding, rel=0.01)


def test_means_of_both_ways_agree(known: Known) -> None:
    """Means of the fast pass are near those of the points that percentiles are taken from."""
    top = float(serve_arrivals(*known, mix=_mix(), requests_per_s=1.0).most_requests_per_s)
    rates = top * np.array([0.2, 0.5, 0.8])
    means, seen = (of(*known, mix=_mix(), requests_per_s=rates) for of in (serve_arrivals, latencies))
    assert means.time_per_token_s == pytest.approx(seen.mean_s[PER_TOKEN], rel=0.1)
    assert means.first_token_s == pytest.approx(seen.mean_s[FIRST_TOKEN], rel=0.2)


def test_workers_share_the_arrivals(known: Known) -> None:
    """Two workers take twice the rate of one at the same times."""
    model, device, place, factors = known
    two = replace(place, workers=2.0)
    one = latencies(*known, mix=_mix(), requests_per_s=3.0)
    both = latencies(model, device, two, factors, mix=_mix(), requests_per_s=6.0)
    assert both.times_s[TOTAL] == pytest.approx(one.times_s[TOTAL])


def test_the_largest_rate_is_the_last_that_meets_the_goals(known: Known) -> None:
    """The largest rate meets the goals, a higher one does not, and a goal that an idle replica misses gives 0."""
    goals = (Goal(metric=FIRST_TOKEN, share=0.95, most_s=0.25), Goal(metric=PER_TOKEN, share=0.9, most_s=0.02))
    found = float(largest_rate(*known, mix=_mix(), goals=goals))
    for factor, holds in ((0.97, True), (1.05, False)):
        seen = latencies(*known, mix=_mix(), requests_per_s=found * factor, shares=(0.9, 0.95))
        assert all(float(seen.at(goal.metric, goal.share)) <= goal.most_s for goal in goals) == holds
    impossible = (Goal(metric=PER_TOKEN, share=0.5, most_s=1e-4),)
    assert float(largest_rate(*known, mix=_mix(), goals=impossible)) == 0.0


def test_a_prefix_cache_raises_what_a_replica_takes(known: Known) -> None:
    """A prefix cache that holds half of the inputs raises what a replica takes, and shortens the first token."""
    rates = 3.0
    plain, hit = (
        serve_arrivals(*known, mix=replace(_mix(), cached_share=share), requests_per_s=rates) for share in (0.0, 0.5)
    )
    assert hit.most_requests_per_s > plain.most_requests_per_s
    assert hit.first_token_s < plain.first_token_s


def test_the_closed_form_is_within_15_percent_of_the_simulation_in_nine_of_ten_cases(benchmark: ModuleType) -> None:
    """P50 and P95 of the closed form are within 15 % of the simulation in nine of ten cases, up to a load of 0.8.

    The benchmark draws 200 cases and more requests.
    """
    errors = benchmark.compare(benchmark.draw_cases(load(), 30, seed=7), requests=6000)
    for values in errors.values():
        assert np.mean(np.abs(values) <= 0.15) >= 0.85
    assert np.mean([np.mean(np.abs(values) <= 0.15) for values in errors.values()]) >= 0.9
