"""Prefill and decoding on accelerators of their own: two pools whose rates are matched to the load.

An input is computed by a worker of the first pool, its keys and values are handed over the network, and a worker of the
second pool decodes. No prefill slows a token, so that the two goals part: first tokens are those of the first pool,
times per token those of the second, and each pool is as large as the load asks at its goal (DistServe, OSDI 2024,
section 3; Splitwise, ISCA 2024).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import THROUGHPUT, TPOT_MEDIAN, TTFT_MEDIAN, Calibration
from clusterwright.sizing.serving.closed_loop import handing_s, serve
from clusterwright.sizing.serving.confidence import probability, score, slowdown
from clusterwright.sizing.serving.goal_tests import bands_of_layouts
from clusterwright.sizing.serving.layouts import layouts
from clusterwright.sizing.serving.replica_times import (
    Columns,
    adapter_s,
    columns_of_layouts,
    configuration,
    deepened,
    first_token_bound,
    memory_of,
    request_mix,
    single,
    time_per_token_bound,
    worker_of_pools,
)
from clusterwright.sizing.serving.replicas import replicas_needed
from clusterwright.sizing.serving.service import Service
from clusterwright.sizing.serving.sizes import (
    Predicted,
    PrefillPool,
    ReplicaLayout,
    ReplicaStep,
    ServingSize,
    nodes_of_all,
)
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time, tokens_per_step

#: Requests in flight of a decoding worker, and shares of a prefilling worker's time, that are looked at.
_BATCHES = np.unique(np.round(np.geomspace(1.0, 4096.0, 49), 3))
_BUSY = np.concatenate([np.linspace(0.02, 0.5, 13), np.linspace(0.54, 0.96, 22)])
#: Of the variance of a batch, what is left in its mean over a request's life (`latency_points`).
_LASTING = 0.736
_MEDIAN = 0.5
#: Of the equally likely lengths of inputs, those that the percentile of a first token is found from, and its halvings.
_THINNED, _HALVINGS = slice(1, None, 4), 24
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Workers:
    """Workers of every layout of a node, each of which may prefill or decode.

    Attributes:
        layouts: that fit; columns: of them; most: sequences that memory holds.
        bands: P10 and P90 of ln(measured/predicted) by metric; level: of all.
    """

    service: Service
    node: NodeType
    layouts: Sequence[ReplicaLayout]
    columns: Columns
    most: Array
    bands: Mapping[str, Array]
    level: str

    def slower(self, metric: str, confidence: float) -> Array:
        """Return what times, or rates, are multiplied by at a confidence, by layout."""
        return slowdown(self.bands[metric], confidence, rate=metric == THROUGHPUT)

    def banded(self, value: float, metric: str, layout: int) -> Predicted:
        """Return a figure of a layout with its band."""
        low, high = (value * math.exp(float(part)) for part in self.bands[metric][layout])
        return Predicted(value=value, low=low, high=high)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Decoding:
    """Decoding workers, a row for each layout and a column for each of `_BATCHES`.

    Attributes:
        token, token_at: seconds per token, mean and at the percentile; step: of decoding, seconds.
        rate: requests per second of a worker; room: whether memory holds what varies above the mean.
    """

    token: Array
    token_at: Array
    step: Array
    rate: Array
    room: Flags


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prefilling:
    """Prefilling workers by their layout, that of the workers which decode, and share of the time (`_BUSY`).

    Attributes:
        first, first_at: seconds to the first token, mean and at the percentile; rate: requests per second of a worker.
        handing: seconds, by the two layouts; reached: whether keys and values can be handed over.
    """

    first: Array
    first_at: Array
    rate: Array
    handing: Array
    reached: Flags


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    """The layouts that prefill and decode, by their places.

    Attributes:
        busy, batch: places of their loads; missed: ln of the goal that is missed most; asked: requests per second.
    """

    before: int
    after: int
    busy: int
    batch: int
    missed: float
    asked: float


def apart_sizes(
    service: Service, nodes: Sequence[NodeType], calibration: Calibration, confidence: float
) -> list[ServingSize]:
    """Return one size of two pools for each kind of node on which they fit, for goals tested with a confidence."""
    found = []
    for node in nodes:
        workers = _workers(service, node, calibration)
        if workers is not None:
            decoding = _decoding(workers)
            prefilling, choice = _chosen(workers, decoding, confidence)
            if choice is not None:
                found.append(_size(workers, decoding, prefilling, choice, confidence))
    return found


def _workers(service: Service, node: NodeType, calibration: Calibration) -> _Workers | None:
    whole = [one for one in layouts(service, node) if not one.slice and one.pipeline == 1]
    if not whole:
        return None
    rows = [(node, layout) for layout in whole]
    configurations = [worker_of_pools(configuration(service, node, layout), layout) for layout in whole]
    columns = columns_of_layouts(service, rows, configurations, calibration)
    most = columns.most_in_flight()
    fitting = [index for index in range(len(whole)) if most[index] >= 1]
    if not fitting:
        return None
    known = [configurations[index] for index in fitting]
    level = calibration.level_of(known[0])
    return _Workers(
        service=service,
        node=node,
        layouts=[whole[index] for index in fitting],
        columns=columns_of_layouts(service, [rows[index] for index in fitting], known, calibration),
        most=most[fitting],
        bands=bands_of_layouts(service, known, [level] * len(known), calibration),
        level=level,
    )


def _decoding(workers: _Workers) -> _Decoding:
    count, points = len(workers.layouts), len(_BATCHES)
    batch = np.tile(_BATCHES, count)
    own = workers.columns.at(np.repeat(np.arange(count), points), batch)
    normal = max(NormalDist().inv_cdf(workers.service.goals.percentile), 0.0)
    context = workers.service.inputs.mean + workers.service.outputs.mean / 2.0
    gained = tokens_per_step(own.place, own.factors)

    def step_s(sequences: Array) -> Array:
        step = decode_step(own.model, own.device, own.place, own.factors, sequences=sequences, context=context)
        return np.asarray(step.total) * own.token_scale

    def shaped(values: Array) -> Array:
        return np.asarray(values).reshape(count, points)

    step = step_s(batch)
    token = step / gained
    room = (_BATCHES + normal * np.sqrt(_BATCHES))[None, :] <= workers.most[:, None]
    # What measurements say of throughput is beside what they say of times per token, which `token` has already.
    rate = batch / (workers.service.outputs.mean * token) * own.token_scale * own.rate_scale
    return _Decoding(
        token=shaped(token),
        token_at=shaped(step_s(batch + normal * np.sqrt(_LASTING * batch)) / gained),
        step=shaped(step),
        rate=shaped(rate),
        room=room | (_BATCHES <= 1.0)[None, :],
    )


def _prefilling(workers: _Workers, step_s: Array) -> _Prefilling:
    """Return what prefilling workers do beside each layout that decodes, given its step in seconds."""
    service, count = workers.service, len(workers.layouts)
    share = service.goals.percentile
    own = workers.columns.at(np.arange(count), np.ones(count))
    known, factors = (own.model, own.device, own.place, own.factors), own.factors
    computed = 1.0 - service.prefix_share
    alone = np.asarray(prefill_alone(*known, tokens=service.inputs.mean * computed))[:, None, None]
    # Attention makes long inputs take more than their share, so that an input of mean length is not the mean of all.
    lengths = request_mix(service).inputs.tokens * computed
    each = prefill_time(
        deepened(own.model), deepened(own.device), deepened(own.place), deepened(own.factors), tokens=lengths
    )
    among = each.mean(axis=1)[:, None, None]
    variation = (each**2).mean(axis=1)[:, None, None] / among**2
    busy = _BUSY[None, None, :]
    # Of first tokens, calibration says what is beside the prefills; of the worker's time, what is in them.
    rate = busy / (among * own.token_scale[:, None, None])
    gathered = (np.asarray(factors.admission_steps) * step_s / own.token_scale)[None, :, None]
    # The mean wait of M/G/1.
    waiting = np.asarray(factors.queue_share)[:, None, None] * among * variation * busy / (2.0 * (1.0 - busy))
    gpus = np.asarray(own.place.gpus)
    handing = np.stack(
        [
            handing_s(
                own.model,
                own.device,
                replace(own.place, prefill_gpus=gpus, gpus=np.full(count, other)),
                tokens=service.inputs.mean,
            )
            for other in gpus
        ],
        axis=1,
    )
    fixed = (np.asarray(factors.first_token_s) + np.asarray(factors.transfer_s))[:, None, None]
    handed = handing[:, :, None]
    first = fixed + gathered / 2.0 + np.maximum(alone, among * (1.0 + rate * gathered)) + waiting + handed
    longest = service.inputs.quantile(max(share, _MEDIAN)) / service.inputs.mean
    later = _at_share(each, waiting[:, 0, :], share)[:, None, :] - among - waiting
    # A step that follows others carries what came meanwhile, up to its budget, and gives all first tokens at its end.
    together = np.minimum(1.0 / (1.0 - busy), np.maximum(service.running.chunk_tokens / lengths.mean(), 1.0))
    behind = among * busy * (together - 1.0) / 2.0
    late = first + later + behind + handed * (longest - 1.0)
    scale = own.first_scale[:, None, None]
    fetched = adapter_s(own)[:, None, None]
    return _Prefilling(
        first=first * scale + fetched,
        first_at=np.maximum(late, first) * scale + fetched,
        rate=rate * np.ones((count, count, 1)),
        handing=handing,
        reached=((gpus[:, None] + gpus[None, :] <= workers.node.gpus) | workers.node.reaches_others) & _handed(workers),
    )


def _handed(workers: _Workers) -> Flags:
    """Tell by the two layouts whether the framework hands keys and values between workers of their sizes.

    With vLLM (0.9.2 and 0.11.0, `nixl_connector.py`) the tensor parallelism of decode is a multiple of that of
    prefill; with SGLang (0.5.3, `server_args.py`) one size divides the other. Of others nothing is excluded.
    """
    if workers.service.framework == "vllm":
        split = np.array([layout.tensor for layout in workers.layouts])
        return np.asarray(split[None, :] % split[:, None] == 0)
    sizes = np.array([layout.gpus for layout in workers.layouts])
    larger, smaller = np.maximum.outer(sizes, sizes), np.minimum.outer(sizes, sizes)
    return np.asarray((workers.service.framework != "sglang") | (larger % smaller == 0))


def _at_share(each: Array, waiting: Array, share: float) -> Array:
    """Return what wait and prefill together do not exceed for a share of the requests, by layout and `_BUSY`.

    The two are independent, and `P(wait > t) = rho exp(-rho t / mean wait)` as in M/M/1: halving finds the time.

    Args:
        each: seconds of the prefills, equally likely, by layout.
        waiting: mean, by layout and `_BUSY`.
        share: of the requests.
    """
    each, mean = each[:, None, _THINNED], np.maximum(waiting, 1e-12)[:, :, None]
    busy = _BUSY[None, :, None]
    low = np.zeros(waiting.shape)
    high = each.max(axis=2) + waiting / _BUSY * np.log(1.0 / max(1.0 - share, 1e-9))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        beyond = middle[:, :, None] - each
        exceeded = np.where(beyond < 0, 1.0, busy * np.exp(-busy * np.maximum(beyond, 0.0) / mean)).mean(axis=2)
        late = exceeded > 1.0 - share
        low, high = np.where(late, middle, low), np.where(late, high, middle)
    return np.asarray(high)


def _chosen(workers: _Workers, decoding: _Decoding, confidence: float) -> tuple[_Prefilling, _Choice | None]:
    """Return the pair of layouts that misses the goals least, of those the one with the fewest accelerators."""
    goals, service = workers.service.goals, workers.service
    slower = {metric: workers.slower(metric, confidence) for metric in workers.bands}
    missed_token = _missed(goals.time_per_token_s, decoding.token_at * slower[TPOT_MEDIAN][:, None])
    # The largest batch whose tokens are in time; the fastest where none is.
    batches = _largest(decoding.rate, missed_token, decoding.room)
    places = np.arange(len(workers.layouts))
    prefilling = _prefilling(workers, decoding.step[places, batches])
    missed_first = _missed(goals.first_token_s, prefilling.first_at * slower[TTFT_MEDIAN][:, None, None])
    loads = _largest(prefilling.rate, missed_first, np.ones(prefilling.rate.shape, dtype=bool))
    best: tuple[tuple[float, float, float], _Choice] | None = None
    for before, after in zip(*np.nonzero(prefilling.reached), strict=True):
        busy, batch = int(loads[before, after]), int(batches[after])
        answer = float(prefilling.first[before, after, busy] + service.outputs.mean * decoding.token[after, batch])
        asked = float(service.load.rate(answer))
        missed = float(max(missed_first[before, after, busy], missed_token[after, batch]))
        gpus = sum(
            _count(asked, float(rate * slower[THROUGHPUT][place])) * workers.layouts[place].gpus
            for place, rate in ((before, prefilling.rate[before, after, busy]), (after, decoding.rate[after, batch]))
        )
        order = (max(missed, 0.0), float(gpus), answer)
        if best is None or order < best[0]:
            best = (
                order,
                _Choice(before=int(before), after=int(after), busy=busy, batch=batch, missed=missed, asked=asked),
            )
    return prefilling, None if best is None else best[1]


def _count(asked: float, each: float) -> int:
    return int(replicas_needed(requests_per_s=asked, replica_requests_per_s=each))


def _size(
    workers: _Workers, decoding: _Decoding, prefilling: _Prefilling, choice: _Choice, confidence: float
) -> ServingSize:
    """Return the two pools at the peak, each worker with its part of what is asked."""
    service, before, after, asked = workers.service, choice.before, choice.after, choice.asked
    decoder, prefiller = workers.layouts[after], workers.layouts[before]
    slower = workers.slower(THROUGHPUT, confidence)
    capacity = float(decoding.rate[after, choice.batch] * slower[after])
    capacity_before = float(prefilling.rate[before, after, choice.busy] * slower[before])
    replicas, count = _count(asked, capacity), _count(asked, capacity_before)
    batch = float(np.interp(asked / replicas, decoding.rate[after], _BATCHES))
    busy = float(np.interp(asked / count, prefilling.rate[before, after], _BUSY))

    def decoded(values: Array) -> float:
        return float(np.interp(batch, _BATCHES, values[after]))

    def prefilled(values: Array) -> float:
        return float(np.interp(busy, _BUSY, values[before, after]))

    own = workers.columns.at(np.array([after]), np.array([max(batch, 1.0)]))
    before_own = workers.columns.at(np.array([before]), np.ones(1))
    context = service.inputs.mean + service.outputs.mean / 2.0
    step = decode_step(
        own.model, own.device, own.place, own.factors, sequences=np.array([max(batch, 1.0)]), context=context
    )
    met, met_at_best = _probabilities(workers, decoding, prefilling, choice, replicas=replicas, count=count)
    spare = service.spare(replicas)
    spare_before = min(spare, 1)
    return ServingSize(
        node=workers.node,
        layout=decoder,
        replicas=replicas,
        nodes=nodes_of_all(((decoder, replicas + spare), (prefiller, count + spare_before)), workers.node.gpus),
        requests_per_s=asked,
        capacity_per_s=capacity,
        limit_per_s=asked,
        in_flight=batch,
        most_in_flight=int(min(workers.most[after], 1e9)),
        first_token_s=workers.banded(prefilled(prefilling.first_at), TTFT_MEDIAN, before),
        time_per_token_s=workers.banded(decoded(decoding.token_at), TPOT_MEDIAN, after),
        mean_first_token_s=prefilled(prefilling.first),
        mean_time_per_token_s=decoded(decoding.token),
        replica_requests_per_s=workers.banded(decoded(decoding.rate), THROUGHPUT, after),
        first_token_bound_s=first_token_bound(service, before_own),
        time_per_token_bound_s=time_per_token_bound(own),
        prefill_s=busy / (asked / count),
        busy_share=0.0,
        power_w=single(serve(own.model, own.device, own.place, own.factors).power_w),
        memory=memory_of(service, own),
        step=ReplicaStep(**{name: single(getattr(step, name)) for name in ReplicaStep.__slots__}),
        shortfall=choice.missed,
        confidence=confidence,
        probability=met,
        best_probability=met_at_best,
        level=workers.level,
        cached_share=service.prefix_share,
        prefill=PrefillPool(
            layout=prefiller,
            workers=count,
            spare=spare_before,
            busy_share=busy,
            requests_per_s=capacity_before,
            handing_s=float(prefilling.handing[before, after]),
            memory=memory_of(service, before_own),
        ),
    )


def _probabilities(
    workers: _Workers, decoding: _Decoding, prefilling: _Prefilling, choice: _Choice, *, replicas: int, count: int
) -> tuple[float, float]:
    """Return how probable it is that both pools meet their goals at the peak, and with as many workers as one likes."""
    goals, bands, before, after = workers.service.goals, workers.bands, choice.before, choice.after

    def scores(metric: str, place: int, logarithms: Array) -> Array:
        return np.asarray(score(bands[metric][place][None, :], logarithms[None, :], high=metric != THROUGHPUT)[0])

    def in_time(goal: float | None, times: Array, metric: str, place: int) -> Array:
        return np.full(len(times), np.inf) if goal is None else scores(metric, place, np.log(goal / times))

    tokens = in_time(goals.time_per_token_s, decoding.token_at[after], TPOT_MEDIAN, after)
    tokens = np.where(decoding.room[after], tokens, -np.inf)
    firsts = in_time(goals.first_token_s, prefilling.first_at[before, after], TTFT_MEDIAN, before)
    carried = scores(THROUGHPUT, after, np.log(choice.asked / (replicas * decoding.rate[after])))
    carried_before = scores(THROUGHPUT, before, np.log(choice.asked / (count * prefilling.rate[before, after])))
    met = min(float(np.minimum(tokens, carried).max()), float(np.minimum(firsts, carried_before).max()))
    return probability(met), probability(min(float(tokens.max()), float(firsts.max())))


def _missed(goal: float | None, times: Array) -> Array:
    """Return ln of times over a goal; minus infinity where there is none."""
    return np.full(times.shape, -np.inf) if goal is None else np.log(times / goal)


def _largest(rate: Array, missed: Array, room: Flags) -> npt.NDArray[np.intp]:
    """Return the place with the largest rate, along the last axis, of those that miss least and have room."""
    least = np.where(room, np.maximum(missed, 0.0), np.inf)
    allowed = room & (least <= least.min(axis=-1, keepdims=True) + 1e-12)
    return np.asarray(np.argmax(np.where(allowed, rate, -np.inf), axis=-1), dtype=np.intp)
