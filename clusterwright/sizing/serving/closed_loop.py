"""A replica at a fixed number of requests: the load that holds itself, and the times that a request sees.

In flight are the sequences whose decode time and wait for their first token add up to the concurrency (Little's law).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.memory import cache_bytes, largest_batch
from clusterwright.sizing.serving.step import StepTime, decode_step, prefill_alone, prefill_time, tokens_per_step
from clusterwright.workload.inference import ServedModel

Flags = npt.NDArray[np.bool_]
#: Halvings of the interval that holds the sequences in flight; in logarithms, of which 16 leave 0.02 %.
_HALVINGS = 16
#: Where 99 of 100 requests have to meet limits: P99 of the standard normal distribution, and the share of those late.
_P99, _LATE = 2.326, 0.01
#: Of the variance of a batch, what is left in its mean over a request's life (`latency_points`).
_LASTING = 0.736


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """What a replica does at its load.

    Attributes:
        requests_per_s: of the whole replica; sequences: decoding, on one worker; most_sequences: that fit on it.
        time_per_token_s: between two tokens of a request, the mean; first_token_s: time to first token in the steady
            state; burst_first_token_s: mean of those requests that arrive at once at the start.
        power_w: of one accelerator; step: of one decode step; prefill_s: of one request.
        fits: whether one sequence fits into memory.
    """

    requests_per_s: Array
    sequences: Array
    most_sequences: Array
    time_per_token_s: Array
    first_token_s: Array
    burst_first_token_s: Array
    power_w: Array
    prefill_share: Array
    step: StepTime
    prefill_s: Array
    fits: Flags


def serve(model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors) -> Served:
    """Return the steady state of replicas at their concurrency.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout, formats and load.
        factors: calibrated.
    """
    most = largest_batch(model, place, factors, hbm_bytes=device.hbm_bytes)
    fits = most >= 1
    most = np.maximum(most, 1.0)
    split = np.asarray(place.prefill_workers) > 0
    prefill, alone = _prefill(model, device, place, factors)
    share = place.concurrency / place.workers
    limited = np.isfinite(place.first_token_limit_s) | np.isfinite(place.time_per_token_limit_s)
    highest = np.minimum(np.where(limited, _with_room(most), most), share)
    low, high = np.zeros_like(highest) - 7.0, np.log(np.maximum(highest, 1e-3))

    def state_at(sequences: Array) -> _State:
        return _state(model, device, place, factors, sequences=sequences, prefill=prefill, alone=alone, split=split)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        state = state_at(np.exp(middle))
        over = (state.requests > share) | np.isinf(state.requests)
        if np.any(limited):
            over = over | (limited & _misses(place, state, state_at(_late_batch(np.exp(middle)))))
        high = np.where(over, middle, high)
        low = np.where(over, low, middle)
    sequences = np.exp(low)
    found = state_at(sequences)
    rate, per_token, wait, step = found.requests_per_s, found.per_token_s, found.wait_s, found.step
    # All at once, none joins: the batch is the concurrency, prefilled first.
    pools = np.maximum(np.asarray(place.prefill_workers), 1.0) / place.workers
    static = np.asarray(place.static) > 0
    together = np.minimum(share, most)
    still = decode_step(model, device, place, factors, sequences=together, context=_context(place))
    still_token = still.total / tokens_per_step(place, factors)
    still_wait = np.maximum(prefill * together, alone)
    still_rate = together / (still_wait + place.output_tokens * still_token)
    rate, per_token = np.where(static, still_rate, rate), np.where(static, still_token, per_token)
    wait = np.where(static, still_wait, wait)
    # What does not fit waits until another is through.
    bounded = np.isfinite(share)
    inside = rate * (wait + place.output_tokens * per_token)
    queue = np.where(bounded & ~static, share - inside, 0.0) / np.maximum(rate, 1e-12)
    queue = np.where(queue > wait / 100, queue, 0.0)
    first = wait + queue
    each = np.maximum(prefill, factors.burst_share * alone) / np.where(split, pools, 1.0)
    burst = first + each * np.where(bounded, np.minimum(share, most), most) / 2 * ~static
    busy = np.minimum(rate * prefill, 1.0)
    reading = (step.weights + step.cache) / step.total
    working = step.compute / step.total * (1.0 - busy) + busy
    power = factors.idle_power + factors.compute_power * working + factors.memory_power * reading * (1.0 - busy)
    return Served(
        requests_per_s=rate * place.workers,
        sequences=sequences,
        most_sequences=most,
        time_per_token_s=per_token,
        first_token_s=first,
        burst_first_token_s=burst,
        power_w=device.power_w * power,
        prefill_share=np.asarray(busy),
        step=step,
        prefill_s=prefill,
        fits=fits,
    )


def _context(place: Deployment) -> Values:
    return place.input_tokens + place.output_tokens / 2


def _prefill(model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors) -> tuple[Array, Array]:
    """Return the seconds of one request's input on one worker that prefills: among others, and alone."""
    split = np.asarray(place.prefill_workers) > 0
    own = replace(
        place,
        gpus=np.where(split, np.maximum(place.prefill_gpus, 1.0), place.gpus),
        attention_tp=np.where(split, place.prefill_attention_tp, place.attention_tp),
        expert_parallel=np.where(split, place.prefill_expert_parallel, place.expert_parallel),
    )
    tokens = place.input_tokens * (1.0 - place.prefix_share)
    among = prefill_time(model, device, own, factors, tokens=tokens)
    return among, prefill_alone(model, device, own, factors, tokens=tokens)


def handing_s(model: ServedModel, device: ServingDevice, place: Deployment, *, tokens: Values) -> Values:
    """Return the seconds in which keys and values of an input go to another worker: `bytes / (n link)`.

    Each accelerator of the smaller worker sends or takes its part over its own link of the network.
    """
    moved = cache_bytes(model, tokens, cache_bytes=place.cache_bytes)
    links = np.minimum(np.maximum(place.prefill_gpus, 1.0), place.gpus)
    return moved / (links * device.network_bytes_per_s)


def _with_room(most: Array) -> Array:
    """Return the mean number of sequences whose P99 is `most`: `n + z sqrt(n) = N`."""
    return np.asarray((np.sqrt(most + _P99**2 / 4.0) - _P99 / 2.0) ** 2)


def _late_batch(sequences: Array) -> Array:
    """Return the batch that one request in a hundred meets over its life, where arrivals are Poisson."""
    return np.asarray(sequences + _P99 * np.sqrt(_LASTING * sequences))


def _misses(place: Deployment, state: "_State", late: "_State") -> Flags:
    """Tell where one request in a hundred is beyond a limit.

    Args:
        place: with its limits.
        state: at the mean batch.
        late: at the batch that such a request meets.
    """
    # The wait behind prefills has an exponential tail: P(W > t) = rho exp(-rho t / mean).
    busy = np.maximum(state.busy, 1e-9)
    tail = np.maximum(np.log(np.maximum(busy / _LATE, 1.0)) / busy - 1.0, 0.0) * state.waiting_s
    first = late.wait_s + tail
    return np.asarray((first > place.first_token_limit_s) | (late.per_token_s > place.time_per_token_limit_s))


@dataclass(frozen=True, kw_only=True, slots=True)
class _State:
    """A worker at a batch.

    Attributes:
        requests: of the closed loop that the batch makes; requests_per_s; per_token_s: mean.
        wait_s: for a first token, of it waiting_s behind other prefills; busy: share of the time that prefills.
        step: of one decode step.
    """

    requests: Array
    requests_per_s: Array
    per_token_s: Array
    wait_s: Array
    waiting_s: Array
    busy: Array
    step: StepTime


def _state(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    sequences: Array,
    prefill: Array,
    alone: Array,
    split: Flags,
) -> _State:
    """Return what a worker does at a batch."""
    step = decode_step(model, device, place, factors, sequences=sequences, context=_context(place))
    gained = tokens_per_step(place, factors)
    others = np.maximum(sequences - 1.0, 0.0)
    between = np.where(split, 0.0, others * prefill / place.output_tokens)
    per_token = step.total / gained + between
    rate = sequences / (place.output_tokens * per_token)
    pools = np.where(split, np.maximum(place.prefill_workers, 1.0) / place.workers, 1.0)
    # A request of a closed loop meets the others, not itself (Reiser and Lavenberg's arrival theorem).
    others_rate = rate * (1.0 - 1.0 / np.maximum(place.concurrency, 1.0)) / pools
    used = np.minimum(others_rate * prefill, 0.999)
    # Waiting behind other prefills: M/D/1, whose mean wait is half of the service over what is idle.
    waiting = factors.queue_share * prefill * used / (2.0 * (1.0 - used))
    # The scheduler looks for requests every few steps: half of them pass on average, and those that came meanwhile
    # are prefilled together.
    gathered = factors.admission_steps * step.total
    together = np.maximum(alone, prefill * (1.0 + others_rate * gathered))
    handed = handing_s(model, device, place, tokens=place.input_tokens)
    wait = factors.first_token_s + gathered / 2 + together + waiting + np.where(split, factors.transfer_s + handed, 0.0)
    over = np.where(split & (rate * prefill / pools >= 1.0), np.inf, 0.0)
    return _State(
        requests=np.asarray(sequences + rate * wait + over),
        requests_per_s=np.asarray(rate),
        per_token_s=np.asarray(per_token),
        wait_s=np.asarray(wait),
        waiting_s=np.asarray(waiting),
        busy=np.asarray(used),
        step=step,
    )
