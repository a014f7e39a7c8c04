"""Replicas for a rate, spare ones, pools of matched rates, and a day of an autoscaler."""

import importlib.util
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.sizing.serving.arrivals.open_loop import FIRST_TOKEN, PER_TOKEN, Goal, largest_rate
from clusterwright.sizing.serving.arrivals.requests import RequestMix, log_normal, poisson
from clusterwright.sizing.serving.autoscaling import Autoscaler, daily_curve, day, minutes, start_s
from clusterwright.sizing.serving.replicas import enough_up, matched_pools, replicas, spare_replicas
from clusterwright.sizing.serving.simulation.fleet import Router, simulate
from clusterwright.sizing.serving.simulation.step_table import tabulated


def test_replicas_carry_the_peak_and_one_fewer_does_not() -> None:
    """Replicas carry the peak, and one fewer does not."""
    found = replicas(requests_per_s=101.0, replica_requests_per_s=10.0)
    assert found.needed == 11
    assert found.load == pytest.approx(101 / 110)
    assert replicas(requests_per_s=100.0, replica_requests_per_s=10.0).needed == 10


@given(needed=st.integers(1, 60), spare=st.integers(0, 8), availability=st.floats(0.5, 0.9999))
def test_enough_are_up_as_the_binomial_sum_says(needed: int, spare: int, availability: float) -> None:
    """Enough replicas are up as often as the binomial sum says."""
    count = needed + spare
    expected = sum(
        comb(count, up) * availability**up * (1 - availability) ** (count - up) for up in range(needed, count + 1)
    )
    assert enough_up(needed, spare=spare, availability=availability) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(needed=st.integers(1, 200), availability=st.floats(0.9, 0.9999), goal=st.floats(0.9, 0.99999))
def test_spare_replicas_are_the_fewest_that_reach_the_goal(needed: int, availability: float, goal: float) -> None:
    """Spare replicas are the fewest that reach the goal."""
    spare = spare_replicas(needed, availability=availability, goal=goal)
    assert enough_up(needed, spare=spare, availability=availability) >= goal
    assert spare == 0 or enough_up(needed, spare=spare - 1, availability=availability) < goal


def test_ten_replicas_at_99_percent_need_two_spare_ones_for_999_in_a_thousand() -> None:
    """Ten replicas that are up 99 % of the time need two spare ones for 99.9 %: with one it is 99.4 %."""
    assert enough_up(10, spare=1, availability=0.99) == pytest.approx(0.9948, abs=1e-4)
    assert spare_replicas(10, availability=0.99, goal=0.999) == 2


@pytest.mark.parametrize(("rate", "each"), [(10.0, 0.0), (-1.0, 1.0), (float("inf"), 1.0), (1e9, 1e-3)])
def test_a_rate_that_no_fleet_takes_is_refused(rate: float, each: float) -> None:
    """A rate that no fleet takes is refused."""
    with pytest.raises(InputError):
        replicas(requests_per_s=rate, replica_requests_per_s=each)


def test_pools_take_the_same_rate() -> None:
    """Pools that prefill and decode take the same rate, each as far as whole workers allow."""
    found = matched_pools(requests_per_s=30.0, prefill_requests_per_s=8.0, decode_requests_per_s=5.0)
    assert (found.prefill_workers, found.decode_workers) == (4, 6)
    assert found.prefill_load == pytest.approx(30 / 32)
    assert found.decode_load == 1.0


@pytest.mark.parametrize("router", Router)
def test_a_simulated_fleet_of_that_size_meets_the_goals(router: Router) -> None:
    """A simulated fleet of the size that the closed form gives meets its goals behind either router."""
    path = Path(__file__).parents[3] / "benchmarks" / "serving_simulation.py"
    spec = importlib.util.spec_from_file_location("serving_simulation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = module.fixed(load())
    mix = RequestMix(inputs=log_normal(mean=1024, p95=2600, most=16_000), outputs=log_normal(mean=256, p95=600))
    goals = (Goal(metric=FIRST_TOKEN, share=0.95, most_s=0.3), Goal(metric=PER_TOKEN, share=0.95, most_s=0.025))
    each = float(largest_rate(*known, mix=mix, goals=goals))
    fleet = replicas(requests_per_s=3.7 * each, replica_requests_per_s=each)
    assert fleet.needed == 4
    table = tabulated(*known, longest_tokens=20_000)
    requests = poisson(mix, count=12_000, requests_per_s=3.7 * each, seed=3)
    seen = simulate(table, requests, workers=fleet.needed, router=router).steady()
    assert np.quantile(seen.first_token_s, 0.95) <= 0.3
    assert np.nanquantile(seen.time_per_token_s, 0.95) <= 0.025


def test_weights_arrive_at_the_bandwidth_of_the_storage() -> None:
    """140 GB of weights take 70 s at 2 GB/s, besides node and warm-up."""
    assert start_s(weight_bytes=140e9, storage_bytes_per_s=2e9, node_s=90, warm_up_s=30) == 190
    with pytest.raises(InputError):
        start_s(weight_bytes=140e9, storage_bytes_per_s=0)


@given(mean=st.floats(0.01, 1e4), factor=st.floats(1.0, 20.0))
def test_a_daily_curve_has_its_mean_and_its_peak(mean: float, factor: float) -> None:
    """A daily curve has its mean and its peak, and is never below zero."""
    curve = daily_curve(mean_requests_per_s=mean, peak_over_mean=factor)
    assert curve.mean() == pytest.approx(mean)
    assert curve.max() == pytest.approx(mean * factor, rel=1e-3)
    assert np.all(curve >= 0)


def _scaler(**changed: float) -> Autoscaler:
    values = {"replica_requests_per_s": 10.0, "least": 1, "most": 100, "start_s": 0.0, "cool_down_s": 0.0}
    return Autoscaler(**{**values, **changed})


def test_without_delay_replicas_kept_are_those_wanted() -> None:
    """Without start and cool-down the replicas kept are those wanted: 6 h of 2 and 18 h of 5."""
    found = day(minutes(np.array([20.0, 50.0, 50.0, 50.0])), _scaler())
    assert found.kept_hours == pytest.approx(6 * 2 + 18 * 5)
    assert found.worked_hours == pytest.approx(6 * 2 + 18 * 5)
    assert found.fixed_hours == 24 * 5
    assert found.over_share == found.cold_share == 0


def test_a_start_leaves_requests_over_and_a_cool_down_keeps_replicas_longer() -> None:
    """A start of an hour leaves its requests over; a cool-down of two hours keeps three replicas for as long."""
    curve = minutes(np.array([20.0, 50.0, 50.0, 50.0]))
    late, slow = day(curve, _scaler(start_s=3600.0)), day(curve, _scaler(cool_down_s=7200.0))
    assert late.over_share == pytest.approx(3600 * 50 / (curve.mean() * 86_400))
    assert late.kept_hours == pytest.approx(102)
    assert slow.kept_hours == pytest.approx(102 + 2 * 3)


def test_a_service_that_lets_all_replicas_go_has_cold_requests() -> None:
    """A service that lets all replicas go keeps nothing at night, and its first requests wait for a start."""
    curve = minutes(np.array([0.0, 5.0]))
    kept, gone = (day(curve, _scaler(least=least, start_s=600.0)) for least in (1, 0))
    assert kept.kept_hours == 24
    assert kept.cold_share == 0
    assert gone.kept_hours == pytest.approx(12)
    assert gone.cold_share == pytest.approx(10 / 720)


@given(factor=st.floats(1.0, 6.0), start=st.floats(0, 7200), cool=st.floats(0, 7200), least=st.integers(0, 3))
def test_a_day_is_never_worked_more_than_kept_nor_kept_beyond_its_bounds(
    factor: float, start: float, cool: float, least: int
) -> None:
    """A day is never worked more than kept, and kept within its bounds."""
    curve = daily_curve(mean_requests_per_s=70.0, peak_over_mean=factor)
    found = day(curve, _scaler(least=least, start_s=start, cool_down_s=cool))
    assert found.worked_hours <= found.kept_hours + 1e-6
    assert found.kept_hours <= found.fixed_hours + 1e-6
    assert 24 * least <= found.kept_hours
    assert 0 <= found.over_share + found.cold_share <= 1


@pytest.mark.parametrize(
    "changed", [{"least": 5, "most": 4}, {"least": -1}, {"most": 0, "least": 0}, {"replica_requests_per_s": 0.0}]
)
def test_bounds_that_cross_are_refused(changed: dict[str, float]) -> None:
    """Bounds that cross, and a replica without load, are refused."""
    with pytest.raises(InputError):
        day(minutes(np.array([1.0])), _scaler(**changed))
