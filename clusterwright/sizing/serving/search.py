"""Replicas for a service: every layout on every kind of node at every batch, in one pass of the formulas.

A layout's replica takes more requests the more of them it holds at once, and each of them then waits longer. For each
layout the largest load that meets the goals is sought on a grid of requests in flight; the replicas follow from it.

Arrivals are Poisson, so that requests in flight vary. The time per token at a percentile is that of `open_loop`, which
the simulation is compared with: single answers meet batches and prefills of their own. The first token is tested at
`n + z_p sqrt(n)` requests, n in the mean, with an input of that percentile behind a queue of prefills whose wait has an
exponential tail.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving import requests
from clusterwright.sizing.serving.calibration import (
    MANY_REQUESTS,
    THROUGHPUT,
    TPOT_MEDIAN,
    TTFT_MEDIAN,
    Calibration,
    factors_of,
    logarithms,
    memberships,
    scale_of,
)
from clusterwright.sizing.serving.closed_loop import Served, serve
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice, stacked, taken
from clusterwright.sizing.serving.confidence import at_confidence, probability, score
from clusterwright.sizing.serving.configuration import Configuration, device_of, place_of
from clusterwright.sizing.serving.memory import (
    WEIGHT_BYTES,
    cache_bytes,
    cache_bytes_per_token,
    cache_copies,
    largest_batch,
    touched_experts,
    weight_bytes,
)
from clusterwright.sizing.serving.open_loop import PER_TOKEN, latencies
from clusterwright.sizing.serving.requests import RequestMix, log_normal
from clusterwright.sizing.serving.service import LatencyGoals, Lengths, Service
from clusterwright.workload.inference import ServedModel

#: Requests in flight that are looked at: 1 to 4,096, 12 % apart.
_GRID = np.unique(np.round(np.geomspace(1.0, 4096.0, 74), 3))
#: Requests in flight at which percentiles of the time per token are computed, and interpolated between.
_COARSE = np.array([1.0, 4.0, 16.0, 48.0, 128.0, 384.0, 1024.0, 4096.0])
#: A percentile over its mean is not given beyond this: the replica does not keep up.
_MOST_SPREAD = 1e3
#: No length is beyond this many times its P95.
_LONGEST = 4.0
#: Accelerators of a replica within one scale-up domain, and nodes of one that is larger than a node.
_SIZES = (1, 2, 4, 8, 16)
_STAGES = (2, 3, 4, 6, 8, 12, 16)
#: Weights that take more than this share of a node's memory have layouts over several nodes looked at.
_LARGE = 0.5
_MEDIAN = 0.5
#: Of tokens per second of an accelerator, between two points of a front.
_STEP_OF_FRONT = 1.25
Flags = npt.NDArray[np.bool_]
_Record = TypeVar("_Record", ServedModel, ServingDevice, Deployment, Factors)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaLayout:
    """How one replica lies on accelerators.

    Attributes:
        gpus: accelerators of the replica; tensor: that split attention; pipeline: stages; expert: that hold whole
            experts; spread_attention: accelerators take different sequences in attention.
    """

    gpus: int
    tensor: int
    pipeline: int
    expert: int
    spread_attention: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """One predicted figure: P50, and the band that measurements say."""

    value: float
    low: float
    high: float

    def at(self, confidence: float) -> float:
        """Return what the figure does not exceed with a confidence."""
        band = np.log([[self.low / self.value, self.high / self.value]])
        return self.value * math.exp(float(at_confidence(band, confidence, high=True)[0]))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaMemory:
    """Bytes of one accelerator: weights, pool of keys and values, what the framework keeps, and what is left."""

    weights: float
    cache_pool: float
    reserved: float
    unused: float
    cache_per_token: float
    cache_per_request: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaStep:
    """Seconds of one decode step by what takes them."""

    compute: float
    weights: float
    cache: float
    network: float
    overhead: float
    total: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RatePoint:
    """One layout at one load: output tokens per second, by accelerator and as a user sees them on average.

    Attributes:
        in_flight: requests of a replica; replica_gpus: its accelerators.
    """

    tokens_per_s_per_gpu: float
    tokens_per_s_per_user: float
    in_flight: float
    replica_gpus: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingSize:
    """One layout on one kind of node, sized for the load.

    Attributes:
        replicas: that the peak needs; nodes: for them and the spare ones.
        requests_per_s: at the peak, of all replicas; capacity_per_s: of one replica, that meets the goals with the
            confidence; limit_per_s: asked of all where answers take as long as they do then.
        in_flight: requests of one replica at the peak; most_in_flight: what memory holds.
        first_token_s, time_per_token_s: at the percentile of the goals; mean_first_token_s, mean_time_per_token_s: of
            all requests. At the peak without the spare replicas.
        first_token_bound_s, time_per_token_bound_s: what nothing can be faster than: computing the input at the dense
            peak, reading the weights of one token at the nominal bandwidth.
        prefill_s: of one request of mean length; busy_share: of the replica's time that prefills.
        shortfall: ln of the goal that is missed most over what is reached, at most 0 where all are met.
        confidence: with which goals and throughput were tested.
        probability: that these replicas meet the goals at the peak, by the bands; best_probability: that as many
            replicas of the layout as one likes do.
        level: how much of model and accelerator the calibration has seen.
    """

    node: NodeType
    layout: ReplicaLayout
    replicas: int
    nodes: int
    requests_per_s: float
    capacity_per_s: float
    limit_per_s: float
    in_flight: float
    most_in_flight: int
    first_token_s: Predicted
    time_per_token_s: Predicted
    mean_first_token_s: float
    mean_time_per_token_s: float
    replica_requests_per_s: Predicted
    first_token_bound_s: float
    time_per_token_bound_s: float
    prefill_s: float
    busy_share: float
    power_w: float
    memory: ReplicaMemory
    step: ReplicaStep
    shortfall: float
    confidence: float
    probability: float
    best_probability: float
    level: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """What a search found.

    Attributes:
        sizes: by confidence and id of the node type, the best first; fronts: by node type, as `front_of_rates`.
    """

    sizes: dict[float, dict[str, tuple[ServingSize, ...]]]
    fronts: dict[str, tuple[RatePoint, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Columns:
    """Layouts as columns, with what corrects the formulas for each.

    Attributes:
        factors, first_scale, token_scale, rate_scale: of all layouts with few requests in flight, then with many.
    """

    model: ServedModel
    device: ServingDevice
    place: Deployment
    factors: Factors
    first_scale: Array
    token_scale: Array
    rate_scale: Array

    def at(self, index: npt.NDArray[np.intp], in_flight: Array) -> "_Columns":
        """Return the rows of an index with a given number of requests in flight."""
        place = replace(taken(self.place, index), concurrency=in_flight)
        loaded = index + np.where(in_flight >= MANY_REQUESTS, len(self.first_scale) // 2, 0)
        return _Columns(
            model=taken(self.model, index),
            device=taken(self.device, index),
            place=place,
            factors=taken(self.factors, loaded),
            first_scale=self.first_scale[loaded],
            token_scale=self.token_scale[loaded],
            rate_scale=self.rate_scale[loaded],
        )

    def most_in_flight(self) -> Array:
        """Return the requests that the memory of each layout's replica holds, with the reserve of a loaded one."""
        own = taken(self.factors, np.arange(len(self.first_scale) // 2, len(self.first_scale)))
        return largest_batch(self.model, self.place, own, hbm_bytes=self.device.hbm_bytes)

    def served(self) -> Served:
        """Return what the replicas do."""
        return serve(self.model, self.device, self.place, self.factors)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Times:
    """Times at a mean load: means, and those that a share of the requests does not exceed."""

    rate: Array
    first: Array
    token: Array
    first_at: Array
    token_at: Array
    served: Served


def search(service: Service, nodes: Sequence[NodeType], calibration: Calibration) -> dict[str, tuple[ServingSize, ...]]:
    """Return `searches` with the confidence of the service's goals."""
    asked = service.goals.confidence
    return searches(service, nodes, calibration, (asked,)).sizes[asked]


def searches(
    service: Service, nodes: Sequence[NodeType], calibration: Calibration, confidences: Sequence[float]
) -> Searched:
    """Return the sizes of every layout that fits, by confidence and id of the node type, and the fronts of rates.

    Those that meet the goals come first: the one with the fewest nodes, then with the fewest accelerators, then the
    fastest. A node type on which the model does not fit has none.
    """
    rows = [(node, layout) for node in nodes for layout in layouts(service, node)]
    found: dict[float, dict[str, tuple[ServingSize, ...]]] = {
        confidence: {node.id: () for node in nodes} for confidence in confidences
    }
    nothing = Searched(sizes=found, fronts={node.id: () for node in nodes})
    if not rows:
        return nothing
    configurations = [_configuration(service, node, layout) for node, layout in rows]
    columns = _columns(service, rows, configurations, calibration)
    most = columns.most_in_flight()
    fitting = np.flatnonzero(most >= 1)
    if not len(fitting):
        return nothing
    levels = [calibration.level_of(configurations[row]) for row in fitting]
    bands = {
        metric: np.array(
            [
                calibration.band_of(configurations[row], level, metric)
                for row, level in zip(fitting, levels, strict=True)
            ]
        )
        for metric in (TTFT_MEDIAN, TPOT_MEDIAN, THROUGHPUT)
    }
    held = _Fitting(
        rows=[rows[row] for row in fitting],
        columns=columns,
        index=fitting,
        most=most[fitting],
        bands=bands,
        levels=levels,
    )
    loads = _loads(service, held)
    for confidence in confidences:
        sizes = _sized(service, held, loads, confidence)
        for node in {node.id: node for node in nodes}.values():
            own = [size for size in sizes if size.node.id == node.id]
            found[confidence][node.id] = tuple(sorted(own, key=_order))
    fronts = {node.id: front_of_rates(service, held, loads, node.id) for node in nodes}
    return Searched(sizes=found, fronts=fronts)


def front_of_rates(service: Service, fitting: "_Fitting", loads: "_Loads", node_id: str) -> tuple[RatePoint, ...]:
    """Return what no other layout and load on a node type beats in tokens per second of an accelerator and of a user.

    Goals do not matter here. The fastest for a user comes first; each point makes a quarter more than the one before.
    """
    own = np.array([node.id == node_id for node, _ in fitting.rows])
    gpus = np.array([layout.gpus for _, layout in fitting.rows])
    by_gpu = loads.rate * service.outputs.mean / gpus[:, None]
    by_user = 1.0 / loads.token
    lines, places = np.nonzero(loads.room & own[:, None])
    order = np.lexsort((-by_gpu[lines, places], -by_user[lines, places]))
    found: list[RatePoint] = []
    for line, place in zip(lines[order], places[order], strict=True):
        value = float(by_gpu[line, place])
        if not found or value > found[-1].tokens_per_s_per_gpu * _STEP_OF_FRONT:
            found.append(
                RatePoint(
                    tokens_per_s_per_gpu=value,
                    tokens_per_s_per_user=float(by_user[line, place]),
                    in_flight=float(_GRID[place]),
                    replica_gpus=int(gpus[line]),
                )
            )
    return tuple(found)


def _order(size: ServingSize) -> tuple[bool, float, int, int, float]:
    missed = max(size.shortfall, 0.0)
    return missed > 0, missed, size.nodes, size.replicas * size.layout.gpus, size.time_per_token_s.value


def layouts(service: Service, node: NodeType) -> Iterator[ReplicaLayout]:
    """Yield the layouts of a replica on a kind of node that the service does not exclude."""
    model = service.model
    domain = max(node.accelerator.scale_up_domain_gpus or 1, 1)
    within = [
        size
        for size in sorted({*_SIZES, node.gpus, *([service.tensor] if service.tensor else [])})
        if _whole(size, node.gpus) and (size <= node.gpus or size <= domain or size == service.tensor)
    ]
    stages: tuple[int, ...] = (1,) if service.pipeline is None else (service.pipeline,)
    weights = float(model.shape.parameters) * WEIGHT_BYTES[service.precision]
    if service.pipeline is None and weights > _LARGE * node.gpus * node.hbm_bytes_per_gpu:
        stages = (1, *_STAGES)
    for size in within:
        for pipeline in stages:
            if pipeline > 1 and service.pipeline is None and size != node.gpus:
                continue
            if not _whole(size * pipeline, node.gpus) or (size * pipeline > node.gpus and not node.reaches_others):
                continue
            yield from (layout for layout in _attentions(service, size, pipeline) if _allowed(service, layout))


def _whole(size: int, gpus: int) -> bool:
    """Tell whether replicas of a size leave no part of a node that belongs to two of them."""
    return gpus % size == 0 or size % gpus == 0


def _attentions(service: Service, size: int, pipeline: int) -> Iterator[ReplicaLayout]:
    """Yield the ways to split attention and experts over the accelerators of a stage."""
    gpus = size * pipeline
    yield ReplicaLayout(gpus=gpus, tensor=size, pipeline=pipeline, expert=1, spread_attention=False)
    if service.model.routed and size > 1:
        yield ReplicaLayout(gpus=gpus, tensor=size, pipeline=pipeline, expert=size, spread_attention=False)
        if pipeline == 1:
            yield ReplicaLayout(gpus=gpus, tensor=1, pipeline=1, expert=size, spread_attention=True)


def _allowed(service: Service, layout: ReplicaLayout) -> bool:
    shape = service.model.shape
    return (
        float(shape.query_heads) % layout.tensor == 0
        and (layout.expert == 1 or float(shape.experts) % layout.expert == 0)
        and service.tensor in (None, layout.tensor)
        and service.expert in (None, layout.expert)
        and service.spread_attention in (None, layout.spread_attention)
    )


def _configuration(service: Service, node: NodeType, layout: ReplicaLayout) -> Configuration:
    return Configuration(
        accelerator=node.accelerator,
        model=service.model,
        framework=service.framework,
        precision=service.precision,
        cache_precision=service.cache_precision,
        gpus=float(layout.gpus),
        gpus_per_worker=float(layout.gpus),
        workers=1.0,
        attention_tp=float(layout.tensor),
        expert_parallel=float(layout.expert),
        pipeline=float(layout.pipeline),
        prefill_gpus_per_worker=0.0,
        prefill_workers=0.0,
        prefill_attention_tp=1.0,
        prefill_expert_parallel=1.0,
        decode_gpus=float(layout.gpus),
        speculative=service.speculative,
        input_tokens=service.inputs.mean,
        output_tokens=service.outputs.mean,
        reserved_tokens=service.inputs.p95 + service.outputs.p95,
        shortest_share=1.0,
        concurrency=1.0,
        most_sequences=service.most_sequences,
        static=False,
        waves=10.0,
    )


def _columns(
    service: Service,
    rows: Sequence[tuple[NodeType, ReplicaLayout]],
    configurations: Sequence[Configuration],
    calibration: Calibration,
) -> _Columns:
    loads = [1.0, float(MANY_REQUESTS)]
    by_load = [replace(one, concurrency=load) for load in loads for one in configurations]
    given = logarithms(memberships(by_load), calibration.fitted)
    count = len(rows)
    place = stacked([place_of(one) for one in configurations])
    return _Columns(
        model=stacked([one.model.shape for one in configurations]),
        device=stacked([_device(node, layout) for node, layout in rows]),
        place=replace(place, prefix_share=np.full(count, service.prefix_share)),
        factors=_filled(factors_of(given), len(by_load)),
        first_scale=np.exp(scale_of(given, TTFT_MEDIAN)),
        token_scale=np.exp(scale_of(given, TPOT_MEDIAN)),
        rate_scale=np.exp(scale_of(given, THROUGHPUT)),
    )


def _filled(factors: Factors, count: int) -> Factors:
    """Return factors with a value for each of `count` rows."""
    names = Factors.__slots__
    return Factors(**{name: np.broadcast_to(np.asarray(getattr(factors, name), dtype=float), count) for name in names})


def _device(node: NodeType, layout: ReplicaLayout) -> ServingDevice:
    """Return an accelerator of a node; stages lie on one scale-up domain each, with little to send to the next."""
    device = device_of(node.accelerator)
    domain = node.accelerator.scale_up_domain_gpus or 1
    # A card without links of its own to others reaches those of its node over PCIe.
    reach = node.gpus if domain <= 1 else domain if domain > node.gpus * 4 else min(domain, node.gpus)
    return replace(
        device,
        hbm_bytes=min(float(device.hbm_bytes), node.hbm_bytes_per_gpu),
        scale_up_gpus=float(layout.gpus if layout.pipeline > 1 else reach),
        network_bytes_per_s=node.network_bytes_per_s_per_gpu_one_way or device.network_bytes_per_s,
    )


def request_mix(service: Service) -> RequestMix:
    """Return the lengths of a service's requests as points of their distributions."""
    return RequestMix(
        inputs=_points(service.inputs), outputs=_points(service.outputs), cached_share=service.prefix_share
    )


def _points(lengths: Lengths) -> requests.Lengths:
    if lengths.tokens:
        return requests.Lengths(tokens=np.array(lengths.tokens))
    return log_normal(mean=lengths.mean, p95=lengths.p95, most=_LONGEST * lengths.p95)


def scaled_work(factors: Factors, token_scale: Array | float) -> Factors:
    """Return factors with which steps and prefills take what measurements say of times per token.

    A time per token is that of its step and of the prefills between: the scale is of both.
    """
    return replace(
        factors, step_scale=factors.step_scale * token_scale, prefill_scale=factors.prefill_scale * token_scale
    )


def _token_spread(service: Service, columns: _Columns, index: npt.NDArray[np.intp], in_flight: Array) -> Array:
    """Return the time per token at the percentile of the goals over the mean of the closed form, at least 1."""
    own = columns.at(index, in_flight)
    served = own.served()
    token = served.time_per_token_s * own.token_scale
    answer = served.first_token_s * own.first_scale + service.outputs.mean * token
    seen = latencies(
        own.model,
        own.device,
        own.place,
        scaled_work(own.factors, own.token_scale),
        mix=request_mix(service),
        requests_per_s=in_flight / answer,
        shares=(service.goals.percentile,),
    )
    return np.clip(seen.at(PER_TOKEN, service.goals.percentile) / token, 1.0, _MOST_SPREAD)


def _times(
    service: Service, columns: _Columns, index: npt.NDArray[np.intp], in_flight: Array, token_spread: Array
) -> _Times:
    """Return the times of layouts with this many requests in flight, on average and at the percentile of the goals."""
    share = service.goals.percentile
    normal = max(NormalDist().inv_cdf(share), 0.0)
    mean = columns.at(index, in_flight)
    served = mean.served()
    full = columns.at(index, in_flight + normal * np.sqrt(in_flight)).served()
    longest = service.inputs.quantile(max(share, _MEDIAN)) / service.inputs.mean
    busy = np.minimum(full.prefill_share, 0.999)
    # The mean wait of M/G/1 over that of M/D/1, and its tail: P(W > t) = rho exp(-rho t / mean).
    variation = 1.0 + service.inputs.variation
    waits = mean.factors.queue_share * served.prefill_s * busy / (2.0 * (1.0 - busy))
    tail = np.log(np.maximum(busy / max(1.0 - share, 1e-9), 1.0)) / np.maximum(busy, 1e-9)
    late = waits * np.maximum(variation * tail - 1.0, 0.0)
    first_at = full.first_token_s + served.prefill_s * (longest - 1.0) + late
    token = served.time_per_token_s * mean.token_scale
    return _Times(
        rate=served.requests_per_s * mean.rate_scale,
        first=served.first_token_s * mean.first_scale,
        token=token,
        first_at=np.maximum(first_at, served.first_token_s) * mean.first_scale,
        token_at=token * token_spread,
        served=served,
    )


def _shortfall(goals: LatencyGoals, first: Array, token: Array) -> Array:
    """Return ln of times over their goals, the larger one; minus infinity where there is no goal."""
    found = np.full(first.shape, -np.inf)
    if goals.first_token_s is not None:
        found = np.maximum(found, np.log(first / goals.first_token_s))
    if goals.time_per_token_s is not None:
        found = np.maximum(found, np.log(token / goals.time_per_token_s))
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fitting:
    """Layouts that fit: their rows of the columns, the sequences that memory holds, bands by metric, and levels."""

    rows: Sequence[tuple[NodeType, ReplicaLayout]]
    columns: _Columns
    index: npt.NDArray[np.intp]
    most: Array
    bands: dict[str, Array]
    levels: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Loads:
    """Layouts at every load of `_GRID`, a row each.

    Attributes:
        first_at, token_at: times at the percentile of the goals; token: per token, mean.
        rate: requests per second of a replica; asked: of all.
        room: whether memory holds what varies above the mean.
    """

    first_at: Array
    token_at: Array
    token: Array
    rate: Array
    asked: Array
    room: Flags


def _loads(service: Service, fitting: _Fitting) -> _Loads:
    """Return what every layout does at every load."""
    columns, most = fitting.columns, fitting.most
    count, points = len(fitting.index), len(_GRID)
    coarse = _token_spread(service, columns, np.repeat(fitting.index, len(_COARSE)), np.tile(_COARSE, count)).reshape(
        count, len(_COARSE)
    )
    spread = np.exp([np.interp(np.log(_GRID), np.log(_COARSE), row) for row in np.log(coarse)])
    times = _times(service, columns, np.repeat(fitting.index, points), np.tile(_GRID, count), spread.reshape(-1))

    def shaped(values: Array) -> Array:
        return values.reshape(count, points)

    normal = max(NormalDist().inv_cdf(service.goals.percentile), 0.0)
    # What varies above the mean must fit into memory too, else it waits to be admitted; one request always fits.
    room = (np.maximum(_GRID + normal * np.sqrt(_GRID), 1.0)[None, :] <= most[:, None]) | (_GRID <= 1.0)[None, :]
    return _Loads(
        first_at=shaped(times.first_at),
        token_at=shaped(times.token_at),
        token=shaped(times.token),
        rate=shaped(times.rate),
        asked=_rates(service, shaped(times.first) + service.outputs.mean * shaped(times.token)),
        room=room,
    )


def _sized(service: Service, fitting: _Fitting, loads: _Loads, confidence: float) -> list[ServingSize]:
    """Return every layout with the replicas that the load needs, goals and throughput tested with a confidence."""
    columns, bands, goals = fitting.columns, fitting.bands, service.goals
    count = len(fitting.index)
    slow_first, slow_token, slow_rate = (
        np.exp(at_confidence(bands[metric], confidence, high=metric != THROUGHPUT))[:, None]
        for metric in (TTFT_MEDIAN, TPOT_MEDIAN, THROUGHPUT)
    )
    missed = _shortfall(goals, loads.first_at * slow_first, loads.token_at * slow_token)
    capacity = loads.rate * slow_rate
    needed = loads.asked / capacity
    # Goals first, then the largest load that a replica may have, so that the fewest do.
    least = np.where(loads.room, np.maximum(missed, 0.0), np.inf)
    best = np.min(least, axis=1)
    allowed = loads.room & (least <= best[:, None] + 1e-12)
    chosen = np.argmin(np.where(allowed, needed, np.inf), axis=1)
    lines = np.arange(count)
    replicas = np.maximum(np.ceil(needed[lines, chosen] - 1e-9), 1.0)
    in_flight = _load(loads.rate, loads.asked, replicas)
    final = _times(
        service, columns, fitting.index, in_flight, _token_spread(service, columns, fitting.index, in_flight)
    )
    in_time = _goal_scores(goals, bands, loads)
    carried = score(bands[THROUGHPUT], np.log(needed * slow_rate / replicas[:, None]), high=False)
    return [
        _size(
            service,
            fitting,
            final,
            line,
            _Found(
                replicas=int(replicas[line]),
                capacity=float(capacity[line, chosen[line]]),
                asked=float(loads.asked[line, chosen[line]]),
                in_flight=float(in_flight[line]),
                shortfall=float(missed[line, chosen[line]]),
                confidence=confidence,
                probability=probability(float(np.minimum(in_time, carried)[line].max())),
                best_probability=probability(float(in_time[line].max())),
            ),
        )
        for line in range(count)
    ]


def _goal_scores(goals: LatencyGoals, bands: dict[str, Array], loads: _Loads) -> Array:
    """Return the normal score with which each layout meets the goals at each load; minus infinity without room."""
    found = np.where(loads.room, np.inf, -np.inf)
    for goal, times, metric in (
        (goals.first_token_s, loads.first_at, TTFT_MEDIAN),
        (goals.time_per_token_s, loads.token_at, TPOT_MEDIAN),
    ):
        if goal is not None:
            found = np.minimum(found, score(bands[metric], np.log(goal / times), high=True))
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What was found for one layout, as in `ServingSize`."""

    replicas: int
    capacity: float
    asked: float
    in_flight: float
    shortfall: float
    confidence: float
    probability: float
    best_probability: float


def _rates(service: Service, answer_s: Array) -> Array:
    """Return the requests per second that the load brings where answers take so long."""
    load = service.load
    if load.requests_per_s is not None:
        return np.full(answer_s.shape, load.requests_per_s)
    return load.users / (load.think_s + answer_s)


def _load(rate: Array, asked: Array, replicas: Array) -> Array:
    """Return requests in flight on each of the replicas at the peak: where what they do is what is asked of them."""
    left = np.log(rate * replicas[:, None]) - np.log(asked)
    found = np.empty(len(rate))
    for line, values in enumerate(left):
        rising = np.maximum.accumulate(values)
        found[line] = np.exp(np.interp(0.0, rising, np.log(_GRID)))
        if rising[0] > 0:
            # Less than one request at a time: in proportion to what is asked.
            found[line] = max(float(np.exp(-rising[0])), 1e-3)
    return found


def _size(service: Service, fitting: _Fitting, times: _Times, line: int, found: _Found) -> ServingSize:
    node, layout = fitting.rows[line]
    own = fitting.columns.at(fitting.index[line : line + 1], np.array([max(found.in_flight, 1.0)]))
    served = times.served
    answer = float(times.first[line] + service.outputs.mean * times.token[line])
    asked = float(service.load.rate(answer))

    def banded(value: float, metric: str) -> Predicted:
        low, high = (float(value * math.exp(part)) for part in fitting.bands[metric][line])
        return Predicted(value=value, low=low, high=high)

    return ServingSize(
        node=node,
        layout=layout,
        replicas=found.replicas,
        nodes=nodes_of(layout, found.replicas + service.spare_replicas, node.gpus),
        requests_per_s=asked,
        capacity_per_s=found.capacity,
        limit_per_s=found.asked,
        in_flight=found.in_flight,
        most_in_flight=int(min(fitting.most[line], 1e9)),
        first_token_s=banded(float(times.first_at[line]), TTFT_MEDIAN),
        time_per_token_s=banded(float(times.token_at[line]), TPOT_MEDIAN),
        mean_first_token_s=float(times.first[line]),
        mean_time_per_token_s=float(times.token[line]),
        replica_requests_per_s=banded(float(times.rate[line]), THROUGHPUT),
        first_token_bound_s=_first_token_bound(service, own),
        time_per_token_bound_s=_time_per_token_bound(own),
        prefill_s=float(served.prefill_s[line]),
        busy_share=float(served.prefill_share[line]),
        power_w=float(np.asarray(served.power_w)[line]),
        memory=_memory(service, own),
        step=ReplicaStep(
            **{name: float(getattr(served.step, name)[line]) for name in ReplicaStep.__slots__},
        ),
        shortfall=found.shortfall,
        confidence=found.confidence,
        probability=found.probability,
        best_probability=found.best_probability,
        level=fitting.levels[line],
    )


def nodes_of(layout: ReplicaLayout, replicas: int, gpus: int) -> int:
    """Return the nodes that a given number of replicas take; none lies on parts of two nodes unless it fills both."""
    if layout.gpus >= gpus:
        return replicas * (layout.gpus // gpus)
    return -(-replicas // (gpus // layout.gpus))


def _first(values: object) -> float:
    return float(np.asarray(values).reshape(-1)[0])


def _time_per_token_bound(own: _Columns) -> float:
    """Return the seconds in which a replica reads what one token needs: weights, and its cache, at full bandwidth."""
    model, place = own.model, own.place
    experts = touched_experts(model, 1.0) * model.expert_weights * place.expert_bytes * model.expert_layers
    always = model.layers * (model.attention_weights + model.dense_ffn_weights) * place.attention_bytes
    read = always + experts + model.head_weights * 2.0
    stage_gpus = place.gpus / place.pipeline
    gained = 1.0 + _first(place.draft_tokens)
    return _first(read / (stage_gpus * own.device.hbm_bytes_per_s)) / gained


def _first_token_bound(service: Service, own: _Columns) -> float:
    """Return the seconds in which a replica computes an input of mean length at its dense peak: `2 A S / (n F)`."""
    device, place = own.device, own.place
    peak = max(_first(device.flop_per_s_16), _first(device.flop_per_s_8), _first(device.flop_per_s_4))
    tokens = service.inputs.mean * (1.0 - service.prefix_share)
    active = _first(own.model.active_weights) - _first(own.model.head_weights)
    return 2.0 * active * tokens / (_first(place.gpus) * peak)


def _memory(service: Service, own: _Columns) -> ReplicaMemory:
    model, place, factors = own.model, own.place, own.factors
    hbm, gpus = _first(own.device.hbm_bytes), _first(place.gpus)
    weights = _first(weight_bytes(model, place)) / gpus
    reserved = _first(factors.reserved_bytes)
    pool = max(_first(factors.cache_fraction) * hbm - reserved - weights, 0.0)
    copies = _first(cache_copies(model, attention_tp=place.attention_tp))
    request = cache_bytes(model, service.inputs.mean + service.outputs.mean / 2.0, cache_bytes=place.cache_bytes)
    return ReplicaMemory(
        weights=weights,
        cache_pool=pool,
        reserved=reserved,
        unused=hbm - weights - reserved - pool,
        cache_per_token=_first(cache_bytes_per_token(model, cache_bytes=place.cache_bytes)) * copies,
        cache_per_request=_first(request) * copies,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """One replica as the formulas take it, single values all, with what corrects its times."""

    model: ServedModel
    device: ServingDevice
    place: Deployment
    factors: Factors
    first_scale: float
    token_scale: float


def replica_columns(
    service: Service, node: NodeType, layout: ReplicaLayout, calibration: Calibration, *, in_flight: float
) -> Replica:
    """Return one layout's replica with a given number of requests in flight, for what looks at single requests."""
    columns = _columns(service, [(node, layout)], [_configuration(service, node, layout)], calibration)
    own = columns.at(np.zeros(1, dtype=np.intp), np.array([max(in_flight, 1.0)]))

    def single(record: _Record) -> _Record:
        return type(record)(**{name: _first(getattr(record, name)) for name in record.__slots__})

    return Replica(
        model=single(own.model),
        device=single(own.device),
        place=single(own.place),
        factors=single(own.factors),
        first_scale=_first(own.first_scale),
        token_scale=_first(own.token_scale),
    )


def least_accelerators(service: Service, node: NodeType, calibration: Calibration) -> int | None:
    """Return the fewest accelerators of a kind whose memory holds the weights and one request; None for none."""
    for gpus in (1, 2, 4, 8, *(node.gpus * stages for stages in (*_STAGES, 24, 32, 64) if node.gpus * stages > 8)):  # noqa: PLR2004
        layout = ReplicaLayout(gpus=gpus, tensor=gpus, pipeline=1, expert=1, spread_attention=False)
        rows = [(node, layout)]
        columns = _columns(service, rows, [_configuration(service, node, layout)], calibration)
        if columns.most_in_flight()[0] >= 1:
            return gpus
    return None
