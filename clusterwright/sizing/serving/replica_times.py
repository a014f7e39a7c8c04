"""Layouts as columns of the formulas, and what requests see of their replicas at a load.

Arrivals are Poisson, so that requests in flight vary. The time per token at a percentile is that of `open_loop`, which
the simulation is compared with: single answers meet batches and prefills of their own. The first token is tested at
`n + z_p sqrt(n)` requests, n in the mean, with an input of that percentile behind a queue of prefills whose wait has an
exponential tail. Batches that start together are those of `batches`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.catalog.software.mig import compute_slices_of, profiles_by_gpu
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.arrivals import requests
from clusterwright.sizing.serving.arrivals.batches import BatchWork, batch_sizes, gathered
from clusterwright.sizing.serving.arrivals.open_loop import PER_TOKEN, latencies
from clusterwright.sizing.serving.arrivals.requests import RequestMix, log_normal
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
from clusterwright.sizing.serving.configuration import Configuration, device_of, place_of
from clusterwright.sizing.serving.layouts import STAGES
from clusterwright.sizing.serving.memory import (
    cache_bytes,
    cache_bytes_per_token,
    cache_copies,
    held_bytes,
    largest_batch,
    touched_experts,
)
from clusterwright.sizing.serving.service import Batching, Lengths, Service, Task
from clusterwright.sizing.serving.sizes import ReplicaLayout, ReplicaMemory
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time, tokens_per_step
from clusterwright.workload.inference import ServedModel

#: A percentile over its mean is not given beyond this: the replica does not keep up.
_MOST_SPREAD = 1e3
#: No length is beyond this many times its P95.
_LONGEST = 4.0
_MEDIAN = 0.5
#: Workers of one pool that never bound the other.
_MANY = 1e6
#: Memory slices of an accelerator that MIG divides.
_MEMORY_SLICES = 8.0
_Record = TypeVar("_Record", ServedModel, ServingDevice, Deployment, Factors)


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
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

    def at(self, index: npt.NDArray[np.intp], in_flight: Array) -> "Columns":
        """Return the rows of an index with a given number of requests in flight."""
        place = replace(taken(self.place, index), concurrency=in_flight)
        loaded = index + np.where(in_flight >= MANY_REQUESTS, len(self.first_scale) // 2, 0)
        return Columns(
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

    def held(self) -> Array:
        """Return the same of columns at a load."""
        return largest_batch(self.model, self.place, self.factors, hbm_bytes=self.device.hbm_bytes)

    def served(self) -> Served:
        """Return what the replicas do."""
        return serve(self.model, self.device, self.place, self.factors)


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """What requests see at a load, a row for each layout.

    Attributes:
        rate: requests per second of the replica; in_flight: in the system, on average.
        first, token: means; first_at, token_at: that the percentile of the goals does not exceed.
        served: the replica at that load; cached, host: shares of the input found in memory, and in the host's.
    """

    rate: Array
    in_flight: Array
    first: Array
    token: Array
    first_at: Array
    token_at: Array
    served: Served
    cached: Array
    host: Array


def configuration(service: Service, node: NodeType, layout: ReplicaLayout) -> Configuration:
    """Return a layout on a kind of node as calibration tells configurations apart."""
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


def worker_of_pools(row: Configuration, layout: ReplicaLayout) -> Configuration:
    """Return a decoding worker beside as many workers alike that prefill as one likes, as measured pools are."""
    return replace(
        row,
        prefill_workers=_MANY,
        prefill_gpus_per_worker=float(layout.gpus),
        prefill_attention_tp=float(layout.tensor),
        prefill_expert_parallel=float(layout.expert),
    )


def columns_of_layouts(
    service: Service,
    rows: Sequence[tuple[NodeType, ReplicaLayout]],
    configurations: Sequence[Configuration],
    calibration: Calibration,
) -> Columns:
    """Return layouts as columns, with what calibration says of each with few and with many requests in flight."""
    loads = [1.0, float(MANY_REQUESTS)]
    by_load = [replace(one, concurrency=load) for load in loads for one in configurations]
    given = logarithms(memberships(by_load), calibration.fitted)
    count = len(rows)
    place = stacked([place_of(one) for one in configurations])
    return Columns(
        model=stacked([one.model.shape for one in configurations]),
        device=stacked([_device(node, layout) for node, layout in rows]),
        place=_as_asked(service, place, count),
        factors=_filled(factors_of(given), len(by_load)),
        first_scale=np.exp(scale_of(given, TTFT_MEDIAN)),
        token_scale=np.exp(scale_of(given, TPOT_MEDIAN)),
        rate_scale=np.exp(scale_of(given, THROUGHPUT)),
    )


def _as_asked(service: Service, place: Deployment, count: int) -> Deployment:
    """Return deployments that run as a service asks."""
    running, drafting, adapters, images = service.running, service.drafting, service.adapters, service.images
    asked: dict[str, float] = {"prefix_share": service.prefix_share, "host_weight_share": running.host_weight_share}
    asked["paged"] = float(running.paged)
    if service.speculative:
        asked |= {
            "draft_tokens": drafting.tokens,
            "accepted_length": drafting.accepted_length,
            "draft_step_share": drafting.step_share,
        }
    if adapters is not None:
        asked |= {
            "adapters": adapters.count,
            "adapter_weights": adapters.weights,
            "resident_adapters": adapters.resident,
        }
    if images is not None:
        asked |= {
            "encoder_weights": images.encoder_weights,
            "encoded_share": images.patches / service.inputs.mean,
        }
    if running.batching is Batching.NONE:
        asked["most_sequences"] = 1.0
    elif service.task is not Task.GENERATE:
        # Inputs of a pass are bounded by the tokens that a step carries.
        asked["most_sequences"] = max(math.floor(running.chunk_tokens / (service.inputs.mean * running.passes)), 1.0)
    return replace(place, **{name: np.full(count, value) for name, value in asked.items()})


def _filled(factors: Factors, count: int) -> Factors:
    """Return factors with a value for each of `count` rows."""
    names = Factors.__slots__
    return Factors(**{name: np.broadcast_to(np.asarray(getattr(factors, name), dtype=float), count) for name in names})


def _device(node: NodeType, layout: ReplicaLayout) -> ServingDevice:
    """Return an accelerator of a node; stages lie on one scale-up domain each, with little to send to the next."""
    device = device_of(node.accelerator)
    domain = node.accelerator.scale_up_domain_gpus or 1
    if layout.slice:
        return _slice_of(device, node, layout.slice)
    # A card without links of its own to others reaches those of its node over PCIe.
    reach = node.gpus if domain <= 1 else domain if domain > node.gpus * 4 else min(domain, node.gpus)
    return replace(
        device,
        hbm_bytes=min(float(device.hbm_bytes), node.hbm_bytes_per_gpu),
        scale_up_gpus=float(layout.gpus if layout.pipeline > 1 else reach),
        network_bytes_per_s=node.network_bytes_per_s_per_gpu_one_way or device.network_bytes_per_s,
    )


def _slice_of(device: ServingDevice, node: NodeType, name: str) -> ServingDevice:
    """Return a slice of an accelerator: its shares of the peak and of the memory; it has no links to other slices."""
    profiles = profiles_by_gpu()[node.accelerator.id]
    profile = next(one for one in profiles if one.name == name)
    compute, memory = profile.compute_slices / compute_slices_of(profiles), profile.memory_slices / _MEMORY_SLICES
    return replace(
        device,
        flop_per_s_16=device.flop_per_s_16 * compute,
        flop_per_s_8=device.flop_per_s_8 * compute,
        flop_per_s_4=device.flop_per_s_4 * compute,
        hbm_bytes=profile.shown_memory_bytes or node.hbm_bytes_per_gpu * memory,
        hbm_bytes_per_s=device.hbm_bytes_per_s * memory,
        host_bytes_per_s=device.host_bytes_per_s * memory,
        scale_up_gpus=1.0,
        power_w=device.power_w * compute,
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


def loads_at(service: Service, columns: Columns, index: npt.NDArray[np.intp], load: Array) -> Times:
    """Return the times of layouts at a load: requests in flight, or where batches start together the share of the most.

    The percentile of the time per token is computed at that very load.
    """
    if service.gathered:
        return gathered_at(service, columns, index, load)
    return times_at(service, columns, index, load, token_spread(service, columns, index, load))


def gathered_at(service: Service, columns: Columns, index: npt.NDArray[np.intp], load: Array) -> Times:
    """Return the times of layouts whose batches start together, at a share of the rate of full batches."""
    running, mix, share = service.running, request_mix(service), service.goals.percentile
    own = columns.at(index, np.ones(len(index)))
    factors = scaled_work(own.factors, own.token_scale)
    known = (own.model, own.device, own.place, factors)
    decodes = service.task is Task.GENERATE
    most = np.maximum(own.held(), 1.0)
    new = service.inputs.mean * (1.0 - own.place.prefix_share)
    input_s = running.passes * np.asarray(prefill_time(*known, tokens=new))
    step_s = None
    if decodes:
        context = service.inputs.mean + service.outputs.mean / 2.0
        step_s = decode_step(
            deepened(own.model),
            deepened(own.device),
            deepened(own.place),
            deepened(factors),
            sequences=batch_sizes(most),
            context=context,
        ).total
    work = BatchWork(
        input_s=input_s,
        least_input_s=np.asarray(prefill_alone(*known, tokens=new)),
        step_s=step_s,
        gained=np.asarray(tokens_per_step(own.place, factors)) * np.ones(len(index)),
        most=most,
        window_s=running.window_s if running.batching is Batching.WINDOWED else 0.0,
    )
    rate = load * work.full_rate(mix)
    seen = gathered(work, mix, requests_per_s=rate, share=share)
    served = columns.at(index, seen.batch).served()
    beside = np.asarray(own.factors.first_token_s)
    fetched = adapter_s(own)
    first_scale = own.first_scale / own.token_scale
    first, first_at = ((beside + found) * first_scale + fetched for found in (seen.first_s, seen.first_late_s))
    return Times(
        rate=rate * own.rate_scale,
        in_flight=rate * (first + (service.outputs.mean * seen.token_s if decodes else 0.0)),
        first=first,
        token=seen.token_s,
        first_at=first_at,
        token_at=seen.token_late_s,
        served=replace(served, prefill_s=input_s, prefill_share=seen.busy),
        cached=np.asarray(own.place.prefix_share),
        host=np.zeros(len(index)),
    )


def deepened(record: _Record) -> _Record:
    """Return a record's columns with one more axis behind."""
    return type(record)(**{name: np.asarray(getattr(record, name))[..., None] for name in record.__slots__})


def token_spread(service: Service, columns: Columns, index: npt.NDArray[np.intp], in_flight: Array) -> Array:
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
        chunk_tokens=service.running.chunk_tokens,
        shares=(service.goals.percentile,),
    )
    return np.clip(seen.at(PER_TOKEN, service.goals.percentile) / token, 1.0, _MOST_SPREAD)


def times_at(
    service: Service, columns: Columns, index: npt.NDArray[np.intp], in_flight: Array, token_spread: Array
) -> Times:
    """Return the times of layouts with this many requests in flight, on average and at the percentile of the goals."""
    plain = columns.at(index, in_flight)
    times = _in_flight(service, columns, index, token_spread, place=plain.place, host=np.zeros(len(index)))
    if service.sessions is None:
        return times
    hit, host = found_again(service, plain, times.rate)
    place = replace(plain.place, prefix_share=hit + host)
    return _in_flight(service, columns, index, token_spread, place=place, host=host)


def _in_flight(
    service: Service,
    columns: Columns,
    index: npt.NDArray[np.intp],
    token_spread: Array,
    *,
    place: Deployment,
    host: Array,
) -> Times:
    """Return the times of layouts at the concurrency and with the share of inputs in memory that `place` has.

    Args:
        service: with its goals.
        columns: of all layouts.
        index: rows of them.
        token_spread: time per token at the percentile over its mean.
        place: of these rows.
        host: share of the inputs that is in the host's memory.
    """
    in_flight = np.asarray(place.concurrency)
    share = service.goals.percentile
    normal = max(NormalDist().inv_cdf(share), 0.0)
    mean = replace(columns.at(index, in_flight), place=place)
    served = mean.served()
    late = in_flight + normal * np.sqrt(in_flight)
    full = replace(columns.at(index, late), place=replace(place, concurrency=late)).served()
    longest = service.inputs.quantile(max(share, _MEDIAN)) / service.inputs.mean
    busy = np.minimum(full.prefill_share, 0.999)
    # The mean wait of M/G/1 over that of M/D/1, and its tail: P(W > t) = rho exp(-rho t / mean).
    variation = 1.0 + service.inputs.variation
    waits = mean.factors.queue_share * served.prefill_s * busy / (2.0 * (1.0 - busy))
    tail = np.log(np.maximum(busy / max(1.0 - share, 1e-9), 1.0)) / np.maximum(busy, 1e-9)
    waited = waits * np.maximum(variation * tail - 1.0, 0.0)
    first_at = full.first_token_s + served.prefill_s * (longest - 1.0) + waited
    token = served.time_per_token_s * mean.token_scale
    fetched = _fetched_s(mean, host * service.inputs.mean) + adapter_s(mean)
    return Times(
        rate=served.requests_per_s * mean.rate_scale,
        in_flight=in_flight,
        first=served.first_token_s * mean.first_scale + fetched,
        token=token,
        first_at=np.maximum(first_at, served.first_token_s) * mean.first_scale + fetched * longest,
        token_at=token * token_spread,
        served=served,
        cached=np.asarray(place.prefix_share) - host,
        host=host,
    )


def _fetched_s(own: Columns, tokens: Array) -> Array:
    """Return the seconds in which keys and values of a number of tokens come from the host, a part to each rank."""
    each = cache_bytes_per_token(own.model, cache_bytes=own.place.cache_bytes)
    each = each * cache_copies(own.model, attention_tp=own.place.attention_tp)
    return np.asarray(tokens * each / (own.place.attention_tp * own.device.host_bytes_per_s))


def adapter_s(own: Columns) -> Array:
    """Return the mean seconds in which an adapter that memory lacks comes from the host, a part to each rank."""
    missing = np.maximum(1.0 - own.place.resident_adapters / np.maximum(own.place.adapters, 1.0), 0.0)
    missing = np.where(np.asarray(own.place.adapters) > 0, missing, 0.0)
    return np.asarray(
        missing * own.place.adapter_weights * 2.0 / (own.place.attention_tp * own.device.host_bytes_per_s)
    )


def found_again(service: Service, own: Columns, rate: Array) -> tuple[Array, Array]:
    """Return the shares of the input that are still in the accelerators' memory, and in the host's, at the next turn.

    Least recently used: what is written pushes out what is oldest, so that keys and values stay for the free room over
    the tokens written per second, `T`. Pauses between turns are exponential: `1 - exp(-T / pause)` of what an earlier
    turn had is found. Requests of one chat come to the same replica.

    Args:
        service: with its sessions.
        own: columns at a load.
        rate: requests per second of the replica.
    """
    sessions, place, factors = service.sessions, own.place, own.factors
    assert sessions is not None  # noqa: S101 - asked of chats
    each = cache_bytes_per_token(own.model, cache_bytes=place.cache_bytes)
    each = each * cache_copies(own.model, attention_tp=place.attention_tp)
    free = place.gpus * (factors.cache_fraction * own.device.hbm_bytes - factors.reserved_bytes)
    free = free - held_bytes(own.model, place)
    live = np.asarray(place.concurrency) * (service.inputs.mean + service.outputs.mean / 2.0)
    room = np.maximum(free / each - live, 0.0)
    hosted = place.gpus * sessions.host_cache_bytes / each
    hit = np.full(len(rate), 0.0)
    host = np.full(len(rate), 0.0)
    for _ in range(4):
        written = rate * (service.inputs.mean * (1.0 - hit - host) + service.outputs.mean)
        kept = np.exp(-room / np.maximum(written, 1e-9) / sessions.pause_s)
        both = np.exp(-(room + hosted) / np.maximum(written, 1e-9) / sessions.pause_s)
        hit, host = sessions.history_share * (1.0 - kept), sessions.history_share * (kept - both)
    return hit, host


def single(values: object) -> float:
    """Return the first value of a column."""
    return float(np.asarray(values).reshape(-1)[0])


def memory_of(service: Service, own: Columns) -> ReplicaMemory:
    """Return what lies on one accelerator of the first row."""
    model, place, factors = own.model, own.place, own.factors
    hbm, gpus = single(own.device.hbm_bytes), single(place.gpus)
    weights = single(held_bytes(model, place)) / gpus
    reserved = single(factors.reserved_bytes)
    pool = max(single(factors.cache_fraction) * hbm - reserved - weights, 0.0)
    copies = single(cache_copies(model, attention_tp=place.attention_tp))
    request = cache_bytes(model, service.inputs.mean + service.outputs.mean / 2.0, cache_bytes=place.cache_bytes)
    return ReplicaMemory(
        weights=weights,
        cache_pool=pool,
        reserved=reserved,
        unused=hbm - weights - reserved - pool,
        cache_per_token=single(cache_bytes_per_token(model, cache_bytes=place.cache_bytes)) * copies,
        cache_per_request=single(request) * copies,
    )


def time_per_token_bound(own: Columns) -> float:
    """Return the seconds in which a replica reads what one token needs: weights, and its cache, at full bandwidth."""
    model, place = own.model, own.place
    experts = touched_experts(model, 1.0) * model.expert_weights * place.expert_bytes * model.expert_layers
    always = model.layers * (model.attention_weights + model.dense_ffn_weights) * place.attention_bytes
    read = always + experts + model.head_weights * 2.0
    stage_gpus = place.gpus / place.pipeline
    gained = max(1.0 + single(place.draft_tokens), single(place.accepted_length))
    return single(read / (stage_gpus * own.device.hbm_bytes_per_s)) / gained


def first_token_bound(service: Service, own: Columns) -> float:
    """Return the seconds in which a replica computes an input of mean length at its dense peak: `2 A S / (n F)`."""
    device, place = own.device, own.place
    peak = max(single(device.flop_per_s_16), single(device.flop_per_s_8), single(device.flop_per_s_4))
    tokens = service.inputs.mean * (1.0 - service.prefix_share)
    active = single(own.model.active_weights) - single(own.model.head_weights)
    return 2.0 * active * tokens * service.running.passes / (single(place.gpus) * peak)


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
    service: Service,
    node: NodeType,
    layout: ReplicaLayout,
    calibration: Calibration,
    *,
    in_flight: float,
    apart: bool = False,
) -> Replica:
    """Return one layout's replica with a given number of requests in flight, for what looks at single requests.

    Args:
        service: that it serves.
        node: that it lies on.
        layout: of it.
        calibration: of the formulas.
        in_flight: requests.
        apart: it is a worker of one of two pools.
    """
    own_configuration = configuration(service, node, layout)
    if apart:
        own_configuration = worker_of_pools(own_configuration, layout)
    columns = columns_of_layouts(service, [(node, layout)], [own_configuration], calibration)
    own = columns.at(np.zeros(1, dtype=np.intp), np.array([max(in_flight, 1.0)]))

    def alone(record: _Record) -> _Record:
        return type(record)(**{name: single(getattr(record, name)) for name in record.__slots__})

    return Replica(
        model=alone(own.model),
        device=alone(own.device),
        place=alone(own.place),
        factors=alone(own.factors),
        first_scale=single(own.first_scale),
        token_scale=single(own.token_scale),
    )


def least_accelerators(service: Service, node: NodeType, calibration: Calibration) -> int | None:
    """Return the fewest accelerators of a kind whose memory holds the weights and one request; None for none."""
    for gpus in (1, 2, 4, 8, *(node.gpus * stages for stages in (*STAGES, 24, 32, 64) if node.gpus * stages > 8)):  # noqa: PLR2004
        layout = ReplicaLayout(gpus=gpus, tensor=gpus, pipeline=1, expert=1, spread_attention=False)
        rows = [(node, layout)]
        columns = columns_of_layouts(service, rows, [configuration(service, node, layout)], calibration)
        if columns.most_in_flight()[0] >= 1:
            return gpus
    return None
