"""One worker's load under arrivals: work per request, time of a step with what it carries, the most that it takes."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.arrivals.requests import RequestMix
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.memory import largest_batch
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time, tokens_per_step
from clusterwright.workload.inference import ServedModel

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerLoad:
    """One worker's constants: arrivals, inputs in seconds, steps per request, contexts."""

    rate: Array
    prefill: Array
    prefill_square: Array
    linear: Array
    square: Array
    carrying: Array
    steps: Array
    held: Array
    gained: Array
    most: Array
    fits: Flags
    context: float
    chunk: float
    split: Flags


def load_of(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    mix: RequestMix,
    requests_per_s: Values,
    chunk_tokens: float,
) -> WorkerLoad:
    """Return the load of each worker of replicas that share their arrivals alike; parameters as `serve_arrivals`."""
    # What is cached is a matter of the mix.
    place = replace(place, prefix_share=0.0)
    inputs, outputs, cached = mix.inputs.tokens, mix.outputs.tokens, mix.cached_share
    # Time-weighted: a long output is met for longer.
    written = float(np.mean(outputs**2)) / mix.outputs.mean
    held = replace(place, input_tokens=mix.inputs.mean * (1.0 - cached), output_tokens=written)
    most = largest_batch(model, held, factors, hbm_bytes=device.hbm_bytes)
    fits = np.asarray(most >= 1)
    one, two = mix.inputs.mean, 2.0 * mix.inputs.mean
    first, double = (prefill_time(model, device, place, factors, tokens=tokens) for tokens in (one, two))
    square = np.maximum(double - 2.0 * first, 0.0) / (2.0 * one**2)
    linear = first / one - square * one
    new, new_square = inputs * (1.0 - cached), inputs**2 * (1.0 - cached**2)
    mean = linear * new.mean() + square * new_square.mean()
    moment = (
        linear**2 * np.mean(new**2)
        + 2.0 * linear * square * np.mean(new * new_square)
        + square**2 * np.mean(new_square**2)
    )
    gained = tokens_per_step(place, factors)
    steps = max(mix.outputs.mean - 1.0, 1e-3) / gained
    return WorkerLoad(
        rate=np.asarray(requests_per_s / np.asarray(place.workers)),
        prefill=np.asarray(mean),
        prefill_square=np.asarray(moment),
        linear=np.asarray(linear),
        square=np.asarray(square),
        carrying=np.asarray(prefill_alone(model, device, place, factors, tokens=1.0)),
        steps=np.asarray(steps),
        held=np.asarray(steps + np.mean(np.ceil(new / chunk_tokens))),
        gained=np.asarray(gained),
        most=np.maximum(most, 1.0),
        fits=fits,
        context=mix.inputs.mean + written / 2.0,
        chunk=float(chunk_tokens),
        split=np.asarray(place.prefill_workers) > 0,
    )


def busy(load: WorkerLoad) -> Array:
    """Return the share of a worker's time that inputs take."""
    return np.asarray(load.rate * load.prefill)


def cycle_s(load: WorkerLoad, step: Array) -> Array:
    """Return the mean time of a step with the inputs that it carries: `T / (1 - rho)`."""
    return np.asarray(step / np.maximum(1.0 - busy(load), 1e-3))


def largest_arrivals(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, *, load: WorkerLoad, mix: RequestMix
) -> Array:
    """Return the requests per second and worker at its largest batch: `1 / (P + steps T(N) / N)`.

    Each step carries no more input tokens than its budget, which bounds the rate too: `1 / (P + S T / chunk)`.
    """
    full = decode_step(model, device, place, factors, sequences=load.most, context=load.context).total
    room = np.maximum(load.chunk - load.most, load.chunk / 8)
    carrying = mix.inputs.mean * (1.0 - mix.cached_share) / room * full
    rate = 1.0 / (load.prefill + load.held * full / load.most)
    return np.asarray(np.minimum(rate, 1.0 / (load.prefill + carrying)))


def variability(mix: RequestMix) -> float:
    """Return Allen and Cunneen's factor of a wait: `(1 + c^2) / 2`, c the variation of output lengths."""
    outputs = mix.outputs.tokens
    return (1.0 + float(outputs.var()) / mix.outputs.mean**2) / 2.0


def backlog_of(load: WorkerLoad, step: Array, mix: RequestMix) -> tuple[Array, Array]:
    """Return how often input tokens are left over, and how many then: M/G/1 with `chunk` tokens per step of `T + P`."""
    new = mix.inputs.tokens * (1.0 - mix.cached_share)
    used = np.minimum(load.rate * (new.mean() / load.chunk * step + load.prefill), 0.999)
    return used, np.asarray(np.mean(new**2) / new.mean() / (2.0 * (1.0 - used)))
