"""A replica under arrivals that do not wait for it: load, queues, and what requests see at percentiles.

Decoding sequences share a worker: the more, the longer a step. Their number is the state of a birth-death process; as
long as all have a place, its distribution knows no more of output lengths than their mean (processor sharing with rates
that depend on the state: Cohen, "The multiple phase service network with generalized processor sharing", 1979). Those
who find none wait in the order of their arrival (Allen and Cunneen's factor for lengths). Inputs ride in the steps: the
arrivals of one step are carried by the next (a gated queue), up to the budget of input tokens; what is beyond it waits
as in M/G/1.

A load that the replica does not keep up with gives infinite times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.arrivals.latency_points import FIRST_TOKEN, METRICS, PER_TOKEN, TOTAL, points
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

__all__ = [
    "FIRST_TOKEN",
    "METRICS",
    "PER_TOKEN",
    "SHARES",
    "TOTAL",
    "Goal",
    "Opened",
    "Percentiles",
    "largest_rate",
    "latencies",
    "serve_arrivals",
]

Flags = npt.NDArray[np.bool_]
SHARES = (0.5, 0.9, 0.95, 0.99)
#: Secant steps of the load; step times are nearly straight lines over the batch.
_SECANTS = 3
#: Halvings of the largest rate; 14 leave 0.01 %.
_HALVINGS = 14


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """Means of a replica under its arrivals; infinite where it does not keep up.

    Attributes:
        sequences: decoding on one worker; most_sequences: that memory and framework hold.
        most_requests_per_s: arrivals of the whole replica from which on queues grow without end.
        load: arrivals over that rate.
        time_per_token_s, first_token_s, total_s: means over requests.
        prefill_share: of a worker's time.
        fits: whether one sequence fits into memory.
    """

    sequences: Array
    most_sequences: Array
    most_requests_per_s: Array
    load: Array
    time_per_token_s: Array
    first_token_s: Array
    total_s: Array
    prefill_share: Array
    fits: Flags


@dataclass(frozen=True, kw_only=True, slots=True)
class Percentiles:
    """Times that a share of requests does not exceed, by metric: one row per configuration, one column per share."""

    shares: tuple[float, ...]
    times_s: Mapping[str, Array]
    mean_s: Mapping[str, Array]

    def at(self, metric: str, share: float) -> Array:
        """Return one percentile of one metric, in seconds."""
        return np.asarray(self.times_s[metric][..., self.shares.index(share)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """A percentile of a metric that must not exceed a time: `share` of requests within `most_s`."""

    metric: str
    share: float
    most_s: float


def serve_arrivals(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    mix: RequestMix,
    requests_per_s: Values,
    chunk_tokens: float = 8192.0,
) -> Opened:
    """Return the means of replicas under Poisson arrivals.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout and formats; its lengths and concurrency are not read.
        factors: calibrated.
        mix: lengths of the requests.
        requests_per_s: at the whole replica, shared alike by its workers.
        chunk_tokens: of inputs that one step carries at most.
    """
    load = load_of(model, device, place, factors, mix=mix, requests_per_s=requests_per_s, chunk_tokens=chunk_tokens)
    most_rate = largest_arrivals(model, device, place, factors, load=load, mix=mix)
    used = load.rate / most_rate
    stable = (used < 1.0) & load.fits
    load = replace(load, rate=np.minimum(load.rate, 0.9999 * most_rate))
    sequences, step = _sequences(model, device, place, factors, load)
    cycle = cycle_s(load, step)
    per_token = cycle / load.gained
    second = np.square(cycle) + load.rate * cycle * load.prefill_square / (1.0 - np.minimum(busy(load), 0.99) ** 2)
    residual = second / (2.0 * cycle)
    idle = np.exp(-sequences) * (1.0 - busy(load))
    needed = mix.inputs.tokens * (1.0 - mix.cached_share)
    further = float(np.mean(np.ceil(needed / load.chunk))) - 1.0
    lone = np.maximum(load.prefill, load.carrying)
    own = step + load.prefill + further * step
    among = residual * (1.0 + 2.0 * busy(load)) + own
    waiting = _slot_wait(load, used, most_rate / np.asarray(place.workers), mix) + _budget_wait(load, step, mix)
    first = factors.first_token_s + idle * (lone + further * load.carrying) + (1.0 - idle) * among + waiting
    last = mix.outputs.mean - 1.0
    return Opened(
        sequences=np.where(stable, sequences, np.inf),
        most_sequences=load.most,
        most_requests_per_s=np.where(load.fits, most_rate * place.workers, 0.0),
        load=np.where(load.fits, used, np.inf),
        time_per_token_s=np.where(stable, per_token, np.inf),
        first_token_s=np.where(stable, first, np.inf),
        total_s=np.where(stable, first + last * per_token, np.inf),
        prefill_share=np.minimum(busy(load), 1.0),
        fits=load.fits,
    )


def latencies(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    mix: RequestMix,
    requests_per_s: Values,
    chunk_tokens: float = 8192.0,
    shares: tuple[float, ...] = SHARES,
) -> Percentiles:
    """Return percentiles of the times that requests see; parameters as `serve_arrivals`, shares between 0 and 1."""
    times, stable = points(
        model, device, place, factors, mix=mix, requests_per_s=requests_per_s, chunk_tokens=chunk_tokens
    )
    found, means = {}, {}
    for name, values in times.items():
        cut = np.moveaxis(np.quantile(values, shares, axis=-1), 0, -1)
        found[name] = np.where(stable[..., None], cut, np.inf)
        means[name] = np.where(stable, values.mean(axis=-1), np.inf)
    return Percentiles(shares=tuple(shares), times_s=found, mean_s=means)


def largest_rate(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    mix: RequestMix,
    goals: tuple[Goal, ...],
    chunk_tokens: float = 8192.0,
    most_load: float = 0.95,
) -> Array:
    """Return the arrivals per second at which replicas still meet all goals, 0 where an idle one does not.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout and formats.
        factors: calibrated.
        mix: lengths of the requests.
        goals: all of which hold.
        chunk_tokens: of inputs that one step carries at most.
        most_load: arrivals over those that can be kept up with are never higher.
    """
    start = serve_arrivals(model, device, place, factors, mix=mix, requests_per_s=1e-9, chunk_tokens=chunk_tokens)
    top = np.asarray(start.most_requests_per_s) * most_load
    shares = tuple(sorted({goal.share for goal in goals}))

    def met(rate: Array) -> Flags:
        if not goals:
            return np.ones(rate.shape, dtype=bool)
        seen = latencies(
            model, device, place, factors, mix=mix, requests_per_s=rate, chunk_tokens=chunk_tokens, shares=shares
        )
        holds = [seen.at(goal.metric, goal.share) <= goal.most_s for goal in goals]
        return np.asarray(np.all(holds, axis=0), dtype=bool)

    low, high = top * 1e-4, top
    possible, all_the_way = met(low), met(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        holds = met(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(all_the_way, top, np.where(possible, low, 0.0))


def _sequences(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, load: WorkerLoad
) -> tuple[Array, Array]:
    """Return the sequences that hold themselves, `n = arrivals x steps x cycle(n)`, and their decode step."""

    def timed(sequences: Array) -> Array:
        return decode_step(model, device, place, factors, sequences=sequences, context=load.context).total

    demand = load.rate * load.steps
    before = np.ones_like(load.most + demand)
    step_before = timed(before)
    now = np.clip(demand * cycle_s(load, step_before), 1e-6, load.most)
    # The whole range at first, where one sequence says little of many.
    now = np.where(np.abs(now - before) < 1e-3 * before, before * 1.01, now)
    step = timed(now)
    for _ in range(_SECANTS):
        gap, gap_before = now - demand * cycle_s(load, step), before - demand * cycle_s(load, step_before)
        slope = (gap - gap_before) / np.where(now == before, 1.0, now - before)
        moved = now - gap / np.maximum(slope, 1e-3)
        moved = np.where(slope <= 0, load.most, moved)
        before, step_before = now, step
        now = np.clip(moved, 1e-6, load.most)
        step = timed(now)
    return now, step


def _slot_wait(load: WorkerLoad, used: Array, most_rate: Array, mix: RequestMix) -> Array:
    """Return the mean wait for a place among N (Sakasegawa's form of M/M/N), with Allen and Cunneen's factor."""
    used = np.minimum(used, 0.9999)
    power = np.sqrt(2.0 * (load.most + 1.0)) - 1.0
    return np.asarray(used**power / (most_rate * (1.0 - used)) * variability(mix))


def _budget_wait(load: WorkerLoad, step: Array, mix: RequestMix) -> Array:
    """Return the mean seconds behind input tokens that the budgets of earlier steps left over."""
    used, backlog = backlog_of(load, step, mix)
    return np.asarray(np.where(backlog > load.chunk, used * backlog / load.chunk * step, 0.0))
