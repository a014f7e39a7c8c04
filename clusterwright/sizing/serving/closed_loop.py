"""A replica at a fixed number of requests: the load that holds itself, and the times that a request sees.

In flight are the sequences whose decode time and wait for their first token add up to the concurrency (Little's law).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.memory import largest_batch
from clusterwright.sizing.serving.step import StepTime, decode_step, prefill_alone, prefill_time
from clusterwright.workload.inference import ServedModel

Flags = npt.NDArray[np.bool_]
#: Halvings of the interval that holds the sequences in flight; in logarithms, of which 16 leave 0.02 %.
_HALVINGS = 16


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
    highest = np.minimum(most, share)
    low, high = np.zeros_like(highest) - 7.0, np.log(np.maximum(highest, 1e-3))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        state = _state(
            model, device, place, factors, sequences=np.exp(middle), prefill=prefill, alone=alone, split=split
        )
        over = (state[0] > share) | np.isinf(state[0])
        high = np.where(over, middle, high)
        low = np.where(over, low, middle)
    sequences = np.exp(low)
    _, rate, per_token, wait, step = _state(
        model, device, place, factors, sequences=sequences, prefill=prefill, alone=alone, split=split
    )
    # All at once, none joins: the batch is the concurrency, prefilled first.
    pools = np.maximum(np.asarray(place.prefill_workers), 1.0) / place.workers
    static = np.asarray(place.static) > 0
    together = np.minimum(share, most)
    still = decode_step(model, device, place, factors, sequences=together, context=_context(place))
    still_token = still.total / _tokens_per_step(place, factors)
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


def _tokens_per_step(place: Deployment, factors: Factors) -> Values:
    """Return the tokens that a sequence gains in a step: one, and those of its draft that are accepted in a row."""
    share = factors.accepted_share
    return (1.0 - share ** (place.draft_tokens + 1.0)) / (1.0 - share)


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
) -> tuple[Array, Array, Array, Array, StepTime]:
    """Return requests per worker, requests/s, time per token, wait for a first token and the step, at a batch."""
    step = decode_step(model, device, place, factors, sequences=sequences, context=_context(place))
    gained = _tokens_per_step(place, factors)
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
    wait = factors.first_token_s + gathered / 2 + together + waiting + np.where(split, factors.transfer_s, 0.0)
    over = np.where(split & (rate * prefill / pools >= 1.0), np.inf, 0.0)
    return sequences + rate * wait + over, rate, per_token, wait, step
