"""Times of requests at points that fill the unit cube evenly, one dimension for each cause of chance.

Percentiles are those of the points, so that no form of their distribution is assumed.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.arrivals.requests import RequestMix
from clusterwright.sizing.serving.arrivals.worker_load import (
    WorkerLoad,
    backlog_of,
    busy,
    cycle_s,
    largest_arrivals,
    load_of,
    variability,
)
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.step import decode_step
from clusterwright.workload.inference import ServedModel

Flags = npt.NDArray[np.bool_]
FIRST_TOKEN, PER_TOKEN, TOTAL = METRICS = ("first_token_s", "time_per_token_s", "total_s")
#: Points per request distribution, and sizes of the batch at which a step is timed.
_POINTS, _BATCHES = 1024, 33
#: Requests that arrive during one step are counted up to this many.
_MOST_TOGETHER = 12
#: A batch varies while a request lasts: of its variance, the share that is left in the mean over a lifetime as long as
#: the others' (2 (x - 1 + exp(-x)) / x^2 at x = 1).
_LASTING = 0.736
#: Correlation of the batch that a request meets with the inputs that come during its life: both follow arrivals.
_TOGETHER = 0.5
#: What differs between requests, one dimension each.
_CAUSES = ("state", "input", "output", "rest", "step", "beside", "slot", "life", "other input", "step before")


def _deep(record: object) -> dict[str, Values]:
    """Return a record's columns with one more axis behind."""
    found = {}
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        found[field.name] = value[..., None] if isinstance(value, np.ndarray) and value.ndim else value
    return found


def _even(dimensions: int, count: int) -> Array:
    """Return points that fill the unit cube evenly: multiples of the powers of the root of `x^(d+1) = x + 1`."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[None, :] * steps[:, None]) % 1.0)


def points(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    mix: RequestMix,
    requests_per_s: Values,
    chunk_tokens: float,
) -> tuple[dict[str, Array], Flags]:
    """Return the times of the points, one row per configuration, and which configurations keep up."""
    shape = np.broadcast_shapes(
        *(np.shape(getattr(one, field.name)) for one in (model, device, place, factors) for field in fields(one)),
        np.shape(requests_per_s),
    )
    flat = np.broadcast_to(np.asarray(requests_per_s, dtype=float), shape)
    deep_model, deep_device = ServedModel(**_deep(model)), ServingDevice(**_deep(device))
    deep_place, deep_factors = Deployment(**_deep(place)), Factors(**_deep(factors))
    own = (deep_model, deep_device, deep_place, deep_factors)
    load = load_of(*own, mix=mix, requests_per_s=flat[..., None], chunk_tokens=chunk_tokens)
    capacity = largest_arrivals(*own, load=load, mix=mix)
    stable = np.broadcast_to(((load.rate < capacity) & load.fits)[..., 0], shape)
    load = replace(load, rate=np.minimum(load.rate, 0.9999 * capacity))
    chance = dict(zip(_CAUSES, _even(len(_CAUSES), _POINTS), strict=True))
    # Decode steps over the batch, of sequences without context and with the mean one.
    batch = 1.0 + (load.most - 1.0) * np.linspace(0.0, 1.0, _BATCHES) ** 2
    empty, full = (decode_step(*own, sequences=batch, context=context).total for context in (0.0, load.context))
    state, waits = _states(load, batch, full, chance["state"])
    slot = np.where(waits, -np.log1p(-chance["slot"]) / (capacity - load.rate) * variability(mix), 0.0)
    inputs = mix.inputs.quantile(chance["input"])
    outputs = np.maximum(np.rint(mix.outputs.quantile(chance["output"])), 1.0)
    step = _interpolated(state, batch, full)
    first = (
        deep_factors.first_token_s
        + slot
        + _first_token(load, mix, step=step, state=state, inputs=inputs, chance=chance)
    )
    # Until its last token: the batch changes meanwhile.
    mean_state = np.mean(state, axis=-1, keepdims=True)
    lived = mean_state + (state - mean_state) * np.sqrt(_LASTING) + (state < load.most)
    lived = np.clip(lived, 1.0, load.most)
    own_context = (inputs + outputs / 2.0 + (lived - 1.0) * load.context) / lived
    base, usual = _interpolated(lived, batch, empty), _interpolated(lived, batch, full)
    step = base + (usual - base) * own_context / load.context
    decoding = _decoding(load, step, outputs - 1.0, chance)
    per_token = decoding / np.maximum(outputs - 1.0, 1.0)
    return {FIRST_TOKEN: first, PER_TOKEN: per_token, TOTAL: first + decoding}, stable


def _first_token(
    load: WorkerLoad, mix: RequestMix, *, step: Array, state: Array, inputs: Array, chance: Mapping[str, Array]
) -> Array:
    """Return the seconds from having a place to the first token: rest of the step in progress, steps that carry it."""
    others, missed = mix.inputs.quantile(chance["other input"]), 1.0 - mix.cached_share
    new, mean_new = inputs * missed, mix.inputs.mean * missed
    squares = load.square * (1.0 - mix.cached_share**2)
    prefill, other = load.linear * new + squares * inputs**2, load.linear * others * missed + squares * others**2
    # The step in progress carries what came during the one before; it is met the more likely the longer it is.
    earlier = _count(load.rate * cycle_s(load, step), chance["step before"], lambda _: 1.0)
    earlier = step + earlier * load.prefill
    met = _count(load.rate * earlier, chance["step"], lambda k: 1.0 + k * load.prefill / step)
    current = step + _sum(met, other, load.prefill)
    alone, rest = state < 1.0, chance["rest"]
    current = np.where(alone & (met > 0), np.maximum(current - step, load.carrying), current)
    idle = alone & (rest >= busy(load))
    share = np.where(alone, rest / np.maximum(busy(load), 1e-9), rest)
    waited = np.where(idle, 0.0, share * current)
    came = np.where(idle, 0.0, _count(load.rate * current, chance["beside"], lambda _: 1.0))
    # Those before it in the order of arrival, or what the budget left over from earlier steps.
    early = np.clip(share, 0.0, 1.0)
    used, backlog = backlog_of(load, step, mix)
    left_over = np.where(chance["step"] < used, -np.log(np.maximum(chance["step"] / used, 1e-12)), 0.0) * backlog
    # Of that, the step in progress carries its budget.
    left_over = np.where(backlog > load.chunk / 2, np.maximum(left_over - early * load.chunk, 0.0), 0.0)
    ahead = np.maximum(came * (1.0 - early) * mean_new, left_over)
    room = np.maximum(load.chunk - state, load.chunk / 8)
    steps = np.ceil((new + ahead) / room)
    behind = np.minimum(came * early * mean_new, np.maximum(steps * room - new - ahead, 0.0))
    work = prefill + _sum((ahead + behind) / mean_new, other, load.prefill)
    # All steps but the last carry as much as they may.
    whole = work * np.minimum((steps - 1.0) * room / (new + ahead + behind), 1.0)
    decoding = np.where(alone, 0.0, step)
    least = np.where(alone, load.carrying, 0.0)
    carried = np.maximum((steps - 1.0) * decoding + whole, (steps - 1.0) * least)
    return np.asarray(waited + carried + np.maximum(decoding + work - whole, least))


def _decoding(load: WorkerLoad, step: Array, left: Array, chance: Mapping[str, Array]) -> Array:
    """Return the seconds of `left` tokens: their steps, and the inputs that come meanwhile.

    Inputs lengthen the time in which further ones come: a delay busy period, of variance
    `arrivals E[P^2] / (1 - rho)^2`.
    """
    cycle = cycle_s(load, step)
    arrivals = load.rate * left / load.gained * cycle
    free = np.maximum(1.0 - busy(load), 0.05)
    normal = normal_quantile(chance["state"]) * _TOGETHER + normal_quantile(chance["life"]) * np.sqrt(
        1.0 - _TOGETHER**2
    )
    return np.asarray(
        left / load.gained * step + _gamma(arrivals * load.prefill, arrivals * load.prefill_square / free**2, normal)
    )


def _states(load: WorkerLoad, batch: Array, step: Array, share: Array) -> tuple[Array, Flags]:
    """Return the decoding sequences that each point meets on arrival, and whether all places are taken."""
    # Rates at each size of the batch, and sums of their logarithms along it: ln pi(n) = sum ln(arrivals / rate(k)).
    cycle = cycle_s(load, step)
    speed = batch / (load.held * cycle)
    fine = np.linspace(0.0, 1.0, 257)
    sizes = np.maximum(load.most - 0.5, 0.5) * fine**1.5
    ratio = np.log(np.maximum(load.rate, 1e-300)) - np.log(_interpolated(np.maximum(sizes, 1.0), batch, speed))
    width = np.diff(sizes, axis=-1)
    middle = (ratio[..., 1:] + ratio[..., :-1]) / 2
    weight = np.concatenate([np.zeros_like(ratio[..., :1]), np.cumsum(middle * width, axis=-1)], axis=-1)
    weight = weight - weight.max(axis=-1, keepdims=True)
    density = np.exp(weight)
    mass = (density[..., 1:] + density[..., :-1]) / 2 * width
    over = np.minimum(load.rate / speed[..., -1:], 0.9999)
    queued = density[..., -1:] * np.sqrt(over) / (1.0 - over)
    whole = mass.sum(axis=-1, keepdims=True) + queued
    summed = np.concatenate([np.zeros_like(whole), np.cumsum(mass, axis=-1)], axis=-1) / whole
    found = np.empty(np.broadcast_shapes(summed.shape[:-1], whole.shape[:-1]) + share.shape)
    for at in np.ndindex(found.shape[:-1]):
        found[at] = np.interp(share, summed[at], np.broadcast_to(sizes, summed.shape)[at])
    waits = np.asarray(share > summed[..., -1:])
    return np.where(waits, load.most, found), waits


def _interpolated(at: Array, grid: Array, values: Array) -> Array:
    """Return values at points of a grid whose squares of steps are even: `1 + (N - 1) u^2`."""
    span = np.maximum(grid[..., -1:] - 1.0, 1e-9)
    place = np.sqrt(np.clip((at - 1.0) / span, 0.0, 1.0)) * (_BATCHES - 1)
    lead = np.broadcast_shapes(values.shape[:-1], place.shape[:-1])
    place = np.broadcast_to(place, lead + place.shape[-1:])
    values, grid = (np.broadcast_to(one, lead + one.shape[-1:]) for one in (values, grid))
    low = np.minimum(place.astype(int), _BATCHES - 2)
    before, after = np.take_along_axis(values, low, axis=-1), np.take_along_axis(values, low + 1, axis=-1)
    start, end = np.take_along_axis(grid, low, axis=-1), np.take_along_axis(grid, low + 1, axis=-1)
    share = np.clip((at - start) / np.maximum(end - start, 1e-12), 0.0, 1.0)
    return np.asarray(before + (after - before) * share)


def _count(mean: Array, share: Array, weight_of: Callable[[int], Values]) -> Array:
    """Return quantiles of a Poisson number, each of which but 0 has a weight."""
    probability = np.exp(-mean)
    weights = [np.asarray(probability)]
    for k in range(1, _MOST_TOGETHER):
        probability = probability * mean / k
        weights.append(probability * weight_of(k))
    whole = sum(weights)
    found, summed = np.zeros(np.broadcast_shapes(np.shape(mean), share.shape)), np.zeros(1)
    for weight in weights[:-1]:
        summed = summed + weight / whole
        found = found + (share > summed)
    return found


def _sum(count: Array, one: Array, mean: Array) -> Array:
    """Return the sum of `count` works, of which one is drawn and the others are alike."""
    return np.minimum(count, 1.0) * one + np.maximum(count - 1.0, 0.0) * mean


def _gamma(mean: Array, variance: Array, normal: Array) -> Array:
    """Return a gamma distribution's quantile of each quantile of a normal one (Wilson and Hilferty's cube)."""
    shape = np.maximum(mean**2 / np.maximum(variance, 1e-300), 1e-6)
    cube = 1.0 - 1.0 / (9.0 * shape) + normal / (3.0 * np.sqrt(shape))
    return np.asarray(mean * np.maximum(cube, 0.0) ** 3)


def normal_quantile(share: Array) -> Array:
    """Return quantiles of the standard normal distribution, to 4.5e-4 (Abramowitz and Stegun 26.2.23)."""
    tail = np.minimum(share, 1.0 - share)
    root = np.sqrt(-2.0 * np.log(np.maximum(tail, 1e-12)))
    above = 2.515517 + 0.802853 * root + 0.010328 * root**2
    below = 1.0 + 1.432788 * root + 0.189269 * root**2 + 0.001308 * root**3
    return np.asarray(np.where(share < 0.5, -1.0, 1.0) * (root - above / below))  # noqa: PLR2004 - the median
