"""The simulation: queues with known waits, a slow run step by step, Little's law, preemption, prefix cache, fleets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.arrivals.requests import Lengths, RequestMix, Requests, log_normal, poisson
from clusterwright.sizing.serving.simulation.fleet import Outcome, Router, simulate, simulate_apart, transfer_s
from clusterwright.sizing.serving.simulation.step_table import StepTable


def _table(
    *,
    step_s: float = 0.01,
    sequence_s: float = 1e-4,
    context_s: float = 1e-8,
    token_s: float = 2e-5,
    carrying_s: float = 0.0,
    gain: float = 1.0,
    most: int = 64,
    pool: float = 1e9,
    chunk: int = 2048,
    longest: int = 20_000,
) -> StepTable:
    batch, context = np.arange(most + 1.0)[:, None], np.linspace(0, longest, 65)[None, :]
    decode = step_s + batch * (sequence_s + context * context_s)
    decode[0] = 0.0
    tokens = np.arange(longest + 1.0)
    return StepTable(
        decode_s=decode,
        context_tokens=longest / 64,
        prefill_s=token_s * tokens * (1 + tokens / 50_000),
        carrying_s=carrying_s,
        tokens_per_step=gain,
        first_token_s=0.0,
        most_sequences=most,
        pool_tokens=pool,
        chunk_tokens=chunk,
    )


def _requests(arrival: object, inputs: object, outputs: object, cached: object = 0.0) -> Requests:
    times = np.asarray(arrival, dtype=float)
    columns = [np.broadcast_to(np.asarray(one, dtype=float), times.shape).copy() for one in (inputs, outputs, cached)]
    return Requests(arrival_s=times, input_tokens=columns[0], output_tokens=columns[1], cached_tokens=columns[2])


def step_by_step(  # noqa: C901, PLR0912, PLR0915 - all rules of a step in their order
    table: StepTable, requests: Requests
) -> tuple[Array, Array, int]:
    """Return first and last token of each request, and preemptions, by taking every single step of one worker."""
    count = len(requests)
    arrival, inputs = requests.arrival_s, requests.input_tokens
    outputs, cached = requests.output_tokens, requests.cached_tokens
    first, last = np.full(count, np.inf), np.full(count, np.inf)
    done = np.zeros(count)  # tokens written
    target = inputs.copy()
    computed = np.zeros(count)
    waiting: list[int] = []
    filling: list[int] = []
    decoding: list[int] = []
    gained = np.zeros(count)  # tokens written since decoding began
    needed = np.zeros(count)
    now, coming, preemptions = 0.0, 0, 0
    while not np.isfinite(last).all():
        while coming < count and arrival[coming] <= now:
            waiting.append(coming)
            coming += 1
        if not (waiting or filling or decoding):
            now = arrival[coming]
            continue
        used = sum(target[one] - cached[one] for one in filling)
        used += sum(inputs[one] + done[one] + gained[one] - cached[one] for one in decoding)
        stopped = False
        while decoding and used + len(decoding) * table.tokens_per_step > table.pool_tokens:
            stopped = True
            preemptions += 1
            if filling:
                victim = filling.pop()
                used -= target[victim] - cached[victim]
            else:
                victim = decoding.pop()
                used -= inputs[victim] + done[victim] + gained[victim] - cached[victim]
                done[victim] += min(round(gained[victim]), outputs[victim] - done[victim] - 1)
                target[victim] = inputs[victim] + done[victim]
            waiting.insert(0, victim)
        budget = max(table.chunk_tokens - len(decoding), 1)
        added, complete = 0.0, []
        for one in list(filling):
            piece = min(target[one] - computed[one], budget)
            added += table.prefill[int(computed[one] + piece)] - table.prefill[int(computed[one])]
            computed[one] += piece
            budget -= piece
            if computed[one] == target[one]:
                filling.remove(one)
                complete.append(one)
        while waiting and budget > 0 and not filling and not stopped:
            one = waiting[0]
            held = target[one] - cached[one]
            together = len(decoding) + len(complete)
            if together >= table.most_sequences:
                break
            if used + held + (together + 1) * table.tokens_per_step > table.pool_tokens:
                break
            waiting.pop(0)
            used += held
            piece = min(held, budget)
            computed[one] = cached[one] + piece
            added += table.prefill[int(computed[one])] - table.prefill[int(cached[one])]
            budget -= piece
            (complete if piece == held else filling).append(one)
        step = added
        if decoding:
            context = sum(inputs[one] + done[one] + gained[one] for one in decoding) / len(decoding)
            step += table.step_s(len(decoding), context)
        now += step if decoding else max(step, table.carrying_s)
        for one in list(decoding):
            gained[one] += table.tokens_per_step
            if gained[one] >= needed[one] - 1e-9:
                last[one] = now
                decoding.remove(one)
        for one in complete:
            first[one] = min(first[one], now)
            done[one] += 1
            gained[one], needed[one] = 0.0, outputs[one] - done[one]
            if needed[one] <= 0:
                last[one] = now
            else:
                decoding.append(one)
    return first, last, preemptions


def _inside_by_area(found: Outcome) -> float:
    """Return the mean number of requests inside, from the times at which it changes."""
    at = np.concatenate([found.arrival_s, found.finished_s])
    change = np.concatenate([np.ones(len(found.arrival_s)), -np.ones(len(found.arrival_s))])
    order = np.argsort(at, kind="stable")
    inside = np.cumsum(change[order])[:-1]
    return float((inside * np.diff(at[order])).sum() / (at.max() - at.min()))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    load=st.floats(0.2, 1.4),
    pool=st.sampled_from([1e9, 30_000.0, 9_000.0]),
    chunk=st.sampled_from([300, 2048, 8192]),
    most=st.sampled_from([1, 5, 32]),
    gain=st.sampled_from([1.0, 1.7]),
    cached=st.sampled_from([0.0, 0.5]),
    carrying=st.sampled_from([0.0, 0.03]),
)
def test_jumps_between_events_equal_every_single_step(  # noqa: PLR0917 - drawn by name
    seed: int, load: float, pool: float, chunk: int, most: int, gain: float, cached: float, carrying: float
) -> None:
    """Jumps between events equal every single step, to a thousandth of each request's time."""
    table = _table(most=most, pool=pool, chunk=chunk, gain=gain, carrying_s=carrying)
    mix = RequestMix(
        inputs=log_normal(mean=700, p95=1800, most=4000), outputs=log_normal(mean=60, p95=150), cached_share=cached
    )
    requests = poisson(mix, count=150, requests_per_s=load * 10, seed=seed)
    first, last, preemptions = step_by_step(table, requests)
    found = simulate(table, requests)
    assert found.first_s - requests.arrival_s == pytest.approx(first - requests.arrival_s, rel=1e-3)
    assert found.finished_s - requests.arrival_s == pytest.approx(last - requests.arrival_s, rel=1e-3)
    assert found.preempted.sum() == preemptions


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), rate=st.floats(0.5, 60.0), workers=st.integers(1, 5), router=st.sampled_from(Router)
)
def test_requests_inside_are_rate_times_time(seed: int, rate: float, workers: int, router: Router) -> None:
    """Requests inside are rate times time, in every run, overloaded ones too."""
    mix = RequestMix(inputs=log_normal(mean=500, p95=1500), outputs=log_normal(mean=50, p95=120))
    found = simulate(
        _table(most=8), poisson(mix, count=300, requests_per_s=rate, seed=seed), workers=workers, router=router
    )
    assert found.requests_per_s * found.total_s.mean() == pytest.approx(_inside_by_area(found), rel=1e-9)


def _queue(services: Array, *, most: int, requests_per_s: float, seed: int) -> tuple[Outcome, Array]:
    """Return a run in which each request is one long decode of `services` seconds, and its arrivals."""
    tick = 1e-3
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(1 / requests_per_s, len(services)))
    table = _table(step_s=tick, sequence_s=0.0, context_s=0.0, token_s=0.0, most=most, longest=200_000, chunk=10**9)
    steps = np.maximum(np.rint(services / tick), 1)
    return simulate(table, _requests(arrival, 1, steps + 1)), arrival


def test_one_place_with_equal_service_waits_as_m_d_1() -> None:
    """One place with equal service waits as M/D/1: each wait is Lindley's, their mean `rho S / 2 (1 - rho)`."""
    draw = np.random.default_rng(3)
    arrival = np.cumsum(draw.exponential(1 / 0.7, 100_000))
    table = _table(token_s=1.0, most=1, chunk=10**9, longest=10)
    table = StepTable(**{**{n: getattr(table, n) for n in table.__dataclass_fields__}, "prefill_s": np.arange(11.0)})
    waits = simulate(table, _requests(arrival, 1, 1)).first_token_s - 1.0
    expected, wait = np.zeros(len(arrival)), 0.0
    for at in range(1, len(arrival)):
        wait = max(wait + 1.0 - (arrival[at] - arrival[at - 1]), 0.0)
        expected[at] = wait
    assert waits == pytest.approx(expected, abs=1e-6)
    assert waits.mean() == pytest.approx(0.7 / (2 * 0.3), rel=0.03)


@pytest.mark.parametrize(("places", "load"), [(1, 0.6), (2, 0.7), (8, 0.8)])
def test_several_places_with_exponential_service_wait_as_erlang_says(places: int, load: float) -> None:
    """Several places with exponential service wait as Erlang C says, each request as Kiefer and Wolfowitz say."""
    draw = np.random.default_rng(5)
    services = np.maximum(np.rint(draw.exponential(1.0, 60_000) / 1e-3), 1) * 1e-3
    found, arrival = _queue(services, most=places, requests_per_s=load * places, seed=7)
    waits = found.total_s - services
    free, expected = np.zeros(places), np.zeros(len(arrival))
    for at, arrived in enumerate(arrival):
        earliest = int(free.argmin())
        expected[at] = max(free[earliest] - arrived, 0.0)
        free[earliest] = arrived + expected[at] + services[at]
    # A request joins at the end of the step in progress, a thousandth of the mean service.
    assert waits.mean() == pytest.approx(expected.mean(), abs=0.005)
    offered = load * places
    terms = [offered**k / math.factorial(k) for k in range(places)]
    last = offered**places / math.factorial(places) / (1 - load)
    delayed = last / (sum(terms) + last)
    assert waits.mean() == pytest.approx(delayed / (places * (1 - load)), rel=0.08)


def test_memory_that_is_full_takes_the_newest_sequence_back_and_loses_no_token() -> None:
    """Memory that is full takes the newest sequence back, which pays for its input again and loses no token."""
    full = _table(pool=2_300.0)
    requests = _requests([0.0, 0.0], [1000, 1000], [400, 400])
    found = simulate(full, requests)
    assert list(found.preempted) == [0, 1]
    free = simulate(_table(), requests)
    assert found.finished_s[1] > free.finished_s[1]
    # What it wrote stands: it needs fewer steps after the first has ended than its output has tokens.
    assert found.finished_s[1] - found.finished_s[0] < free.total_s[0]


def test_a_request_that_no_memory_holds_is_refused() -> None:
    """A request that no memory holds is refused with its length."""
    with pytest.raises(InputError, match="request 1 has 2,400 tokens, but memory holds 2,300"):
        simulate(_table(pool=2_300.0), _requests([0.0, 1.0], [1000, 2000], [400, 400]))


def test_a_cached_prefix_is_neither_computed_nor_held_again() -> None:
    """A cached prefix is neither computed nor held again, but it is attended to."""
    table = _table(pool=2_300.0)
    plain, hit = (simulate(table, _requests([0.0], 1000, 2, cached)) for cached in (0.0, 900.0))
    assert plain.first_token_s[0] - hit.first_token_s[0] == pytest.approx(table.prefill[900])
    assert plain.time_per_token_s[0] == pytest.approx(hit.time_per_token_s[0])
    assert simulate(table, _requests([0.0], 3000, 100, 2900)).preempted.sum() == 0


def test_the_last_piece_of_an_input_gives_the_first_token() -> None:
    """The last piece of an input gives the first token: pieces add up, each step lasts as its decodes and its piece."""
    table = _table(chunk=500)
    alone = simulate(table, _requests([0.0], 1800, 1))
    assert alone.first_s[0] == pytest.approx(table.prefill[1800])
    # Beside one that decodes, four steps carry the pieces of 499 tokens.
    both = simulate(table, _requests([0.0, 0.02], [100, 1800], [500, 1]))
    decodes = 4 * table.step_s(1, 100)
    assert both.first_s[1] - both.first_s[0] > table.prefill[1800] + decodes
    assert both.first_s[1] - both.first_s[0] < table.prefill[1800] + 3 * decodes


def test_a_request_goes_where_fewest_are_and_in_turn_otherwise() -> None:
    """A request goes where fewest are, and in turn otherwise."""
    requests = _requests([0.0, 0.1, 10.0, 10.1, 10.2], 100, [2, 500, 2, 2, 2])
    loaded = simulate(_table(), requests, workers=2, router=Router.LEAST_LOADED)
    assert list(loaded.worker) == [0, 0, 0, 0, 0] or list(loaded.worker)[:2] == [0, 0]
    assert list(simulate(_table(), requests, workers=2).worker) == [0, 1, 0, 1, 0]


def test_the_least_loaded_worker_waits_less_than_turns() -> None:
    """Sending requests to the least loaded worker gives a lower P95 than turns do."""
    mix = RequestMix(inputs=log_normal(mean=500, p95=1500), outputs=log_normal(mean=100, p95=300))
    requests = poisson(mix, count=5000, requests_per_s=20.0, seed=2)
    turns, least = (simulate(_table(most=8), requests, workers=4, router=router) for router in Router)
    assert np.percentile(least.first_token_s, 95) < np.percentile(turns.first_token_s, 95)


def test_pools_apart_never_slow_a_token_for_an_input_and_pay_for_the_way_between() -> None:
    """Pools apart never slow a token for an input, and pay for the way of keys and values between them."""
    mix = RequestMix(inputs=Lengths(tokens=np.array([2000.0])), outputs=Lengths(tokens=np.array([100.0])))
    requests = poisson(mix, count=2000, requests_per_s=5.0, seed=4)
    way = transfer_s(cache_bytes=2000 * 327_680, gpus=8, network_bytes_per_s=50e9) / 2000
    assert way * 2000 == pytest.approx(1.6384e-3)
    table = _table()
    found = simulate_apart(table, table, requests, prefill_workers=1, decode_workers=1, transfer_s_per_token=1e-5)
    together = simulate(table, requests)
    assert np.nanpercentile(found.time_per_token_s, 95) < np.nanpercentile(together.time_per_token_s, 50)
    # The first token takes at least the input and the way.
    assert found.first_token_s.min() == pytest.approx(table.prefill[2000] + 2000 * 1e-5)
    assert found.requests_per_s * found.total_s.mean() == pytest.approx(_inside_by_area(found), rel=1e-9)


def test_a_pool_that_prefills_less_than_arrives_lets_requests_wait_without_end() -> None:
    """A pool that prefills less than arrives lets requests wait ever longer; one with a matched rate does not."""
    mix = RequestMix(inputs=Lengths(tokens=np.array([2000.0])), outputs=Lengths(tokens=np.array([50.0])))
    table = _table()
    rate = 1.5 / table.prefill[2000]
    requests = poisson(mix, count=3000, requests_per_s=rate, seed=4)
    one, two = (
        simulate_apart(table, table, requests, prefill_workers=count, decode_workers=4, transfer_s_per_token=0.0)
        for count in (1, 2)
    )
    assert one.first_token_s[-1] > 0.3 * requests.arrival_s[-1]
    assert two.first_token_s[-500:].mean() < 10 * table.prefill[2000]
