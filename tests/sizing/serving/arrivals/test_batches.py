"""Batches that start together: the chain of batches is held to single requests and to queueing theory."""

import itertools

import numpy as np
import pytest

from clusterwright.sizing.serving.arrivals.batches import BatchWork, batch_sizes, gathered, mean_longest
from clusterwright.sizing.serving.arrivals.requests import Lengths, RequestMix, log_normal

_INPUT_S, _STEP_S, _SEQUENCE_S = 0.02, 0.01, 0.0002


def _mix(p95: float) -> RequestMix:
    return RequestMix(inputs=Lengths(tokens=np.array([1000.0])), outputs=log_normal(mean=100, p95=p95))


def _work(most: int, rows: int, window_s: float = 0.0) -> BatchWork:
    limits = np.full(rows, float(most))
    return BatchWork(
        input_s=np.full(rows, _INPUT_S),
        least_input_s=np.zeros(rows),
        step_s=_STEP_S + _SEQUENCE_S * batch_sizes(limits),
        gained=np.ones(rows),
        most=limits,
        window_s=window_s,
    )


def _requests(rate: float, most: int, window_s: float, mix: RequestMix, count: int = 25_000) -> tuple[float, float]:
    """Return mean and P95 of the time to first token, each request followed from its arrival."""
    draw = np.random.default_rng(1)
    arrivals = np.cumsum(draw.exponential(1.0 / rate, count))
    lengths = np.maximum(np.rint(mix.outputs.quantile(draw.random(count))), 1.0)
    first = np.zeros(count)
    now, index = 0.0, 0
    while index < count:
        if arrivals[index] > now:
            now = arrivals[index] + (window_s if most > 1 else 0.0)
            full = index + most - 1
            if full < count and arrivals[full] < now:
                now = arrivals[full]
        last = min(int(np.searchsorted(arrivals, now, side="right")), index + most)
        batch = last - index
        first[index:last] = now + _INPUT_S * batch - arrivals[index:last]
        now += _INPUT_S * batch + lengths[index:last].max() * (_STEP_S + _SEQUENCE_S * batch)
        index = last
    steady = first[count // 10 : count * 19 // 20]
    return float(steady.mean()), float(np.quantile(steady, 0.95))


def test_the_chain_of_batches_is_within_15_percent_of_single_requests_in_nine_of_ten_cases() -> None:
    """Mean and P95 of the first token, for batches of 1 to 32, alike and spread lengths, loads of 0.2 to 0.8."""
    errors = []
    loads = np.array([0.2, 0.5, 0.8])
    for most, p95, window_s in itertools.product((1, 4, 32), (100.0, 200.0), (0.0, 0.3)):
        mix, work = _mix(p95), _work(most, len(loads), window_s)
        rates = loads * work.full_rate(mix)
        seen = gathered(work, mix, requests_per_s=rates, share=0.95)
        for row, rate in enumerate(rates):
            mean, late = _requests(float(rate), most, window_s, mix)
            errors.append(max(abs(seen.first_s[row] / mean - 1.0), abs(seen.first_late_s[row] / late - 1.0)))
    assert np.mean(np.array(errors) <= 0.15) >= 0.9


def test_one_at_a_time_with_equal_service_waits_as_m_d_1() -> None:
    """The mean wait is `rho S / (2 (1 - rho))`, here at half load half of the service."""
    mix, work = _mix(100.0), _work(1, 1)
    service = _INPUT_S + 100 * (_STEP_S + _SEQUENCE_S)
    rate = np.array([0.5 / service])
    seen = gathered(work, mix, requests_per_s=rate, share=0.95)
    assert work.full_rate(mix)[0] == pytest.approx(1.0 / service)
    assert seen.first_s[0] - _INPUT_S == pytest.approx(0.5 * service, rel=0.1)
    assert seen.busy[0] == pytest.approx(0.5, rel=0.1)


def test_the_longest_of_many_is_the_mean_of_the_largest_drawn() -> None:
    """Of equal answers it is each; of log-normal ones that of 100,000 drawn batches."""
    assert mean_longest(_mix(100.0), np.array([1.0, 50.0])) == pytest.approx([100.0, 100.0])
    mix = _mix(300.0)
    drawn = mix.outputs.quantile(np.random.default_rng(3).random((100_000, 8))).max(axis=1).mean()
    assert mean_longest(mix, np.array([8.0]))[0] == pytest.approx(drawn, rel=0.02)
    assert mean_longest(mix, np.array([1.0]))[0] == pytest.approx(100.0, rel=0.02)


def test_a_window_delays_who_finds_the_worker_idle_and_nobody_under_load() -> None:
    """At a load of 2 % a window of 300 ms is waited by nearly all; at 80 % it is lost in the batch before."""
    mix, rows = _mix(100.0), 2
    without, within = (_work(16, rows, window_s) for window_s in (0.0, 0.3))
    rates = np.array([0.02, 0.8]) * without.full_rate(mix)
    plain, windowed = (gathered(work, mix, requests_per_s=rates, share=0.95) for work in (without, within))
    assert windowed.first_s[0] - plain.first_s[0] > 0.1
    assert windowed.first_s[1] == pytest.approx(plain.first_s[1], rel=0.02)
