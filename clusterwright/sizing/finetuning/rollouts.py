"""Answers that a run generates for itself, with vLLM on the accelerators that train: seconds of a batch, and memory.

All answers of a batch start together, and no other joins them: the fewer are left, the shorter a step is, and the batch
waits for its longest answer. With `n` places in a worker's cache for its `N` answers, of which a share `S(k)` is longer
than `k` tokens, and a step of `t(sequences, context)` seconds (`serving.step.decode_step`):

    seconds = prompts t_prefill + (N - n) / n mean(answer) t(n, context)
              + sum over k of (1 - (1 - S(k))^n) t(n S(k) / (1 - (1 - S(k))^n), prompt + k)

The second term is that of answers that wait for a place; in the third, `1 - (1 - S)^n` is the probability that any of
`n` answers is longer than `k`, and the sequences are those left where any is.

The engine stays in memory while the run trains: so does TRL's (`vllm_mode: colocate`, `vllm_enable_sleep_mode` is false
by default, trl/trainer/grpo_config.py of release 1.16.0, seen 2026-11-29).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import Accelerator
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.job import FinetuneJob, FinetuneLayout, Rollouts
from clusterwright.sizing.serving.arrivals.requests import Lengths, log_normal
from clusterwright.sizing.serving.calibration import (
    THROUGHPUT,
    Calibration,
    factors_of,
    logarithms,
    memberships,
    scale_of,
)
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice, stacked, taken
from clusterwright.sizing.serving.configuration import Configuration, place_of
from clusterwright.sizing.serving.memory import cache_bytes, cache_copies, weight_bytes
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time
from clusterwright.workload.inference import ServedModel

#: The engine, and what it calls formats that only QLoRA's base has; keys and values stay in 16 bits.
ENGINE = "vllm"
_SERVED_FORMATS = MappingProxyType({"nf4": "int4", "nf4-dq": "int4"})
_CACHE_FORMAT = "bf16"
#: Parts that lengths are divided into, finer where few answers are left.
_PARTS = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class Generators:
    """Workers that generate, a row each.

    Attributes:
        tensor: accelerators of a worker; sequences: its answers of a batch.
        rate_scale: throughput over that of the formulas.
        band: P10 and P90 of ln(measured / predicted) of the throughput.
    """

    model: ServedModel
    device: ServingDevice
    place: Deployment
    factors: Factors
    tensor: Array
    sequences: Array
    rate_scale: Array
    band: tuple[float, float]

    def rows(self, index: npt.NDArray[np.intp]) -> "Generators":
        """Return the rows of an index of any shape."""
        return Generators(
            model=taken(self.model, index),
            device=taken(self.device, index),
            place=taken(self.place, index),
            factors=taken(self.factors, index),
            tensor=self.tensor[index],
            sequences=self.sequences[index],
            rate_scale=self.rate_scale[index],
            band=self.band,
        )

    def held_bytes(self) -> Array:
        """Return the bytes of the engine on one accelerator without its cache: weights of its own, and what it needs.

        The second copy of the weights is the price of generating and training in turns.
        """
        return np.asarray(weight_bytes(self.model, self.place) / self.tensor + self.factors.reserved_bytes)

    def cache_bytes(self, tokens: Array | float) -> Array:
        """Return the bytes of keys and values of a sequence on one accelerator of its worker."""
        each = cache_bytes(self.model, tokens, cache_bytes=self.place.cache_bytes)
        return np.asarray(each * cache_copies(self.model, attention_tp=self.tensor) / self.tensor)


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratedTime:
    """Seconds in which a worker generates its answers of a batch: computing prompts, then answers."""

    prefill_s: Array
    decode_s: Array

    @property
    def total_s(self) -> Array:
        """Seconds of the batch."""
        return self.prefill_s + self.decode_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """How the answers of a batch are generated on each of several layouts.

    Attributes:
        workers: by layout; slots: answers that a worker's cache has room for at a time; time: of a batch.
        weights, cache: bytes of the engine on one accelerator.
        longest: tokens of the longest answer of a worker's batch, on average.
    """

    workers: Generators
    slots: Array
    time: GeneratedTime
    weights: Array
    cache: Array
    longest: Array


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """Lengths of answers in parts.

    Attributes:
        steps: of a part; left: share of the answers that is longer, mean of the part; reached: tokens of those answers.
    """

    steps: Array
    left: Array
    reached: Array


@cache
def answer_lengths(rollouts: Rollouts) -> Lengths:
    """Return the distribution of answers, cut at the longest."""
    mean, longest = rollouts.answer_tokens, rollouts.longest_answer_tokens
    return log_normal(mean=mean, p95=rollouts.answer_p95_tokens, most=longest)


def longest_of(rollouts: Rollouts, count: Array) -> Array:
    """Return the tokens of the longest of as many answers, on average: `sum over k of 1 - (1 - S(k))^count`."""
    parts = _parts(rollouts)
    return np.asarray((_any_left(parts.left, count[:, None]) * parts.steps).sum(axis=-1))


def live_tokens(rollouts: Rollouts) -> float:
    """Return the tokens that memory holds of each answer in flight, with its prompt, at the fullest moment.

    The larger of what answers that start together hold at their fullest step, and of what answers that follow each
    other hold at all times: `E[L^2] / (2 E[L])` of their lengths `L`.
    """
    parts, lengths = _parts(rollouts), answer_lengths(rollouts).tokens
    together = float((parts.left * (rollouts.prompt_tokens + parts.reached)).max())
    return max(together, rollouts.prompt_tokens + float((lengths**2).mean() / lengths.mean() / 2))


def generators(
    job: FinetuneJob,
    accelerator: Accelerator,
    device: ServingDevice,
    workers: Sequence[tuple[int, float]],
    calibration: Calibration,
) -> Generators:
    """Return workers as columns.

    Args:
        job: with rollouts.
        accelerator: of all workers.
        device: the same with the links of its node, one row.
        workers: accelerators and answers of a batch of each.
        calibration: of serving.
    """
    rows = [_configuration(job, accelerator, tensor, sequences) for tensor, sequences in workers]
    given = logarithms(memberships(rows), calibration.fitted)
    level = calibration.level_of(rows[0])
    # No kind of measured load is that of rollouts: the band of all kinds, or of the nearest one where it is wider.
    own, every = calibration.band_of(rows[0], level, THROUGHPUT), calibration.band(level, THROUGHPUT, vague=True)
    return Generators(
        model=stacked([job.model.shape] * len(rows)),
        device=taken(device, np.zeros(len(rows), dtype=int)),
        place=stacked([place_of(row) for row in rows]),
        factors=factors_of(given),
        tensor=np.array([float(tensor) for tensor, _ in workers]),
        sequences=np.array([sequences for _, sequences in workers]),
        rate_scale=np.exp(scale_of(given, THROUGHPUT)),
        band=(min(own[0], every[0]), max(own[1], every[1])),
    )


def generation_of(
    job: FinetuneJob,
    layouts: Sequence[FinetuneLayout],
    accelerator: Accelerator,
    device: ServingDevice,
    calibration: Calibration | None,
    *,
    free: Array,
) -> Generation:
    """Return how answers are generated on layouts, with as large a cache as is of use in what training leaves.

    Args:
        job: with rollouts.
        layouts: of the run.
        accelerator: of all of them.
        device: the same with the links of its node, a row each.
        calibration: of serving.
        free: bytes of each accelerator.
    """
    rollouts = job.rollouts
    assert rollouts is not None  # noqa: S101 - asked where answers are generated
    assert calibration is not None  # noqa: S101 - the engine of a run that generates has it
    sizes = [(one.generation_tensor, job.global_batch * one.generation_tensor / one.gpus) for one in layouts]
    kinds = sorted(set(sizes))
    kind = np.array([kinds.index(one) for one in sizes])
    each = generators(job, accelerator, device, kinds, calibration)
    workers = each.rows(kind)
    weights, sequence = workers.held_bytes(), workers.cache_bytes(live_tokens(rollouts))
    slots = np.clip(np.floor((free - weights) / sequence), 1.0, workers.sequences)
    # Layouts differ in much that generation does not depend on.
    alike, place = np.unique(np.stack([kind, slots]), axis=1, return_inverse=True)
    time = generated_time(each.rows(alike[0].astype(np.intp)), rollouts, slots=alike[1])
    place = place.ravel()
    return Generation(
        workers=workers,
        slots=slots,
        time=GeneratedTime(prefill_s=time.prefill_s[place], decode_s=time.decode_s[place]),
        weights=weights,
        # The engine does not start without room for the longest sequence.
        cache=np.maximum(slots * sequence, workers.cache_bytes(job.sequence_tokens)),
        longest=longest_of(rollouts, each.sequences)[kind],
    )


def generated_time(workers: Generators, rollouts: Rollouts, *, slots: Array) -> GeneratedTime:
    """Return the seconds of a batch on each worker, see the module.

    Args:
        workers: by row.
        rollouts: prompts and lengths of answers.
        slots: answers that a worker's cache has room for at a time, at least 1.
    """
    parts, prompt = _parts(rollouts), rollouts.prompt_tokens
    rows = np.arange(len(workers.sequences))
    places = np.minimum(slots, workers.sequences)
    some = _any_left(parts.left, places[:, None])
    flowing = decode_step(
        *_formulas(workers.rows(rows[:, None])),
        sequences=places[:, None] * parts.left / some,
        context=prompt + parts.reached,
    ).total
    lengths = answer_lengths(rollouts).tokens
    waiting = decode_step(
        *_formulas(workers), sequences=places, context=prompt + float((lengths**2).mean() / lengths.mean() / 2)
    ).total
    waves = (workers.sequences - places) / places * lengths.mean()
    # Answers of a group have one prompt, which the engine computes once and finds again (prefix caching).
    prompts = np.maximum(workers.sequences / rollouts.answers, 1.0)
    among, alone = (formula(*_formulas(workers), tokens=prompt) for formula in (prefill_time, prefill_alone))
    return GeneratedTime(
        prefill_s=np.maximum(prompts * among, alone) / workers.rate_scale,
        decode_s=((some * parts.steps * flowing).sum(axis=1) + waves * waiting) / workers.rate_scale,
    )


def _formulas(workers: Generators) -> tuple[ServedModel, ServingDevice, Deployment, Factors]:
    return workers.model, workers.device, workers.place, workers.factors


def _any_left(left: Array, count: Array) -> Array:
    """Return the probability that any of as many answers is left, where a share `left` of all is."""
    return np.asarray(-np.expm1(count * np.log1p(-np.minimum(left, 1.0 - 1e-12))))


@cache
def _parts(rollouts: Rollouts) -> _Parts:
    """Return the lengths in parts, whose steps and tokens are those of the whole distribution."""
    tokens = answer_lengths(rollouts).tokens
    count = len(tokens)
    before = np.concatenate([[0.0], tokens[:-1]])
    steps, left = tokens - before, 1.0 - np.arange(count) / count
    bounds = np.unique(count - np.rint(np.geomspace(count, 1.0, _PARTS)).astype(int))

    def summed(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, bounds))

    whole, generated, reached = summed(steps), summed(steps * left), summed(steps * left * (before + tokens) / 2)
    # Where many answers are cut at the same length, the last parts have no steps.
    some = whole > 0
    return _Parts(steps=whole[some], left=generated[some] / whole[some], reached=reached[some] / generated[some])


def _configuration(job: FinetuneJob, accelerator: Accelerator, tensor: int, sequences: float) -> Configuration:
    """Return a worker as calibration distinguishes configurations."""
    rollouts = job.rollouts
    assert rollouts is not None  # noqa: S101 - asked where answers are generated
    gpus, prompt, answer = float(tensor), rollouts.prompt_tokens, rollouts.answer_tokens
    return Configuration(
        accelerator=accelerator,
        model=job.model,
        framework=ENGINE,
        precision=_SERVED_FORMATS.get(job.precision, job.precision),
        cache_precision=_CACHE_FORMAT,
        gpus=gpus,
        gpus_per_worker=gpus,
        workers=1.0,
        attention_tp=gpus,
        expert_parallel=1.0,
        pipeline=1.0,
        decode_gpus=gpus,
        speculative="",
        input_tokens=prompt,
        output_tokens=answer,
        reserved_tokens=job.sequence_tokens,
        shortest_share=1.0,
        concurrency=sequences,
        most_sequences=sequences,
        static=False,
        waves=1.0,
    )
