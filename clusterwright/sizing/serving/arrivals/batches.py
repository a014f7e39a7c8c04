"""Batches that start together and that nothing joins, and single passes over inputs: what requests see, batch by batch.

While a batch is worked on, requests gather for the next one, in the order of their arrival and up to a limit. A batch
lasts from its first input to the last token of its longest answer. The chain of batches is drawn, for all
configurations at once and with the same draws, and requests come evenly over each batch; the tests hold it to single
requests.
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.arrivals.latency_points import normal_quantile
from clusterwright.sizing.serving.arrivals.requests import RequestMix

#: Batches that are drawn in each of several chains, of which the first part only fills the queue; requests of each that
#: are looked at.
_BATCHES, _FILLING, _CHAINS, _LOOKED_AT = 700, 100, 8, 2
#: Arrivals below which their number is drawn as it is, beyond which a normal distribution will do.
_FEW = 10.0
_SEED = 20261127
#: Sizes of batches at which a step is timed.
_SIZES = 17


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchWork:
    """One worker's work, by rows of configurations.

    Attributes:
        input_s: of an input of mean length among others; least_input_s: that the inputs of any batch take at least.
        step_s: of one decode step, a column for each of `batch_sizes`; None where one pass answers.
        gained: tokens that a sequence gains in a step.
        most: requests that a batch may hold.
        window_s: that an idle worker waits for more before it starts.
    """

    input_s: Array
    least_input_s: Array
    step_s: Array | None
    gained: Array
    most: Array
    window_s: float = 0.0

    def full_rate(self, mix: RequestMix) -> Array:
        """Return the requests per second where every batch is full: `N / E[time of N]`, with the longest answer."""
        inputs = np.maximum(self.most * self.input_s, self.least_input_s)
        if self.step_s is None:
            return np.asarray(self.most / inputs)
        step = self.step_s[:, -1] / self.gained
        return np.asarray(self.most / (inputs + mean_longest(mix, self.most) * step))

    def step_of(self, batch: Array) -> Array:
        """Return the seconds per token of a batch."""
        assert self.step_s is not None  # noqa: S101 - asked where there are steps
        place = np.sqrt((batch - 1.0) / np.maximum(self.most - 1.0, 1e-9)) * (_SIZES - 1)
        low = np.clip(place.astype(int), 0, _SIZES - 2)
        rows = np.arange(len(batch))
        below, above = self.step_s[rows, low], self.step_s[rows, low + 1]
        return np.asarray((below + (above - below) * np.minimum(place - low, 1.0)) / self.gained)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """What requests see.

    Attributes:
        first_s, first_late_s: to the first token, mean and that a share does not exceed; one pass ends with it.
        token_s, token_late_s: per token, likewise; 0 where one pass answers.
        batch: requests of a batch, as a request meets it; busy: share of the time that a batch is worked on.
    """

    first_s: Array
    first_late_s: Array
    token_s: Array
    token_late_s: Array
    batch: Array
    busy: Array


def batch_sizes(most: Array) -> Array:
    """Return the sizes at which steps are timed, a row for each limit: `1 + (N - 1) u^2`, u even from 0 to 1."""
    return np.asarray(1.0 + (most[:, None] - 1.0) * np.linspace(0.0, 1.0, _SIZES) ** 2)


def mean_longest(mix: RequestMix, count: Array) -> Array:
    """Return the mean of the longest of as many answers, in tokens: `E[Q(v^(1/n))]`, v uniform, Q their quantiles."""
    even = (np.arange(64) + 0.5) / 64
    return np.asarray(mix.outputs.quantile(even ** (1.0 / np.asarray(count)[..., None])).mean(axis=-1))


def gathered(work: BatchWork, mix: RequestMix, *, requests_per_s: Array, share: float) -> Gathered:
    """Return what requests see of workers at rates below `full_rate`.

    Args:
        work: by rows.
        mix: lengths of inputs and outputs.
        requests_per_s: Poisson arrivals at one worker.
        share: of the requests, which the late times are not exceeded by.
    """
    rows = len(requests_per_s)
    # Every row is drawn in several chains, that of each is in the same places.
    many = _Chains(
        work=BatchWork(
            input_s=np.repeat(work.input_s, _CHAINS),
            least_input_s=np.repeat(work.least_input_s, _CHAINS),
            step_s=None if work.step_s is None else np.repeat(work.step_s, _CHAINS, axis=0),
            gained=np.repeat(work.gained, _CHAINS),
            most=np.repeat(work.most, _CHAINS),
            window_s=work.window_s,
        ),
        mix=mix,
        rate=np.repeat(requests_per_s, _CHAINS),
    )
    waits, came, steps, batches, lasted, idle = many.drawn()

    def by_row(values: Array) -> Array:
        """Return what chains saw, all of a row's behind each other."""
        return np.asarray(values.reshape(len(values), rows, -1).swapaxes(0, 1).reshape(rows, -1))

    first, first_late = _weighted(by_row(waits), by_row(came), share)
    token, token_late = _weighted(by_row(steps), by_row(batches), share)
    sizes = by_row(batches)
    return Gathered(
        first_s=first,
        first_late_s=first_late,
        token_s=token,
        token_late_s=token_late,
        batch=(sizes**2).sum(axis=1) / np.maximum(sizes.sum(axis=1), 1.0),
        busy=by_row(lasted).sum(axis=1) / (by_row(lasted) + by_row(idle)).sum(axis=1),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chains:
    """Chains of batches, a row each."""

    work: BatchWork
    mix: RequestMix
    rate: Array

    def drawn(self) -> tuple[Array, ...]:
        """Return waits and their weights, seconds per token, batches, and seconds worked and idle, by batch and row."""
        work, rate, rows = self.work, self.rate, len(self.rate)
        draw = np.random.default_rng(_SEED)
        # Every part of a distribution is met alike often, in no order; chains of different rows have the same draws.
        even = (np.argsort(draw.random((4, _BATCHES, _CHAINS)), axis=1) + draw.random((4, 1, _CHAINS))) / _BATCHES
        uniforms, longest, others, normals = (np.tile(one, rows // _CHAINS) for one in even)
        others = self.mix.inputs.quantile(others) / self.mix.inputs.mean
        normals = normal_quantile(np.clip(normals, 1e-9, 1.0 - 1e-9))
        full_s = work.most / work.full_rate(self.mix)
        window = np.where(work.most > 1.0, work.window_s, 0.0)
        looked_at = np.tile(draw.random((_BATCHES, _CHAINS)), rows // _CHAINS)
        queue, seen = np.zeros(rows), []
        for turn in range(_BATCHES):
            idle, uniform = queue < 1.0, uniforms[turn]
            # Who finds an idle worker starts it, after the window in which others may join.
            joined = np.where(idle, np.minimum(1.0 + _poisson(rate * window, uniform), work.most), 0.0)
            batch = np.where(idle, joined, np.minimum(queue, work.most))
            left = np.where(idle, 0.0, queue - batch)
            inputs = np.maximum(work.input_s * (batch - 1.0 + others[turn]), work.least_input_s)
            lasted, step = inputs, np.zeros(rows)
            if work.step_s is not None:
                step = work.step_of(batch)
                lasted = inputs + _quantile(self.mix.outputs.tokens, longest[turn] ** (1.0 / batch)) * step
            came = _arrived(rate * lasted, uniform, normals[turn])
            if turn >= _FILLING:
                places = (np.arange(_LOOKED_AT) + looked_at[turn][:, None]) / _LOOKED_AT
                place = left[:, None] + places * came[:, None]
                ahead = np.floor(place / work.most[:, None])
                waited = (1.0 - places) * lasted[:, None] + ahead * full_s[:, None] + inputs[:, None]
                weight = np.repeat(came[:, None] / _LOOKED_AT, _LOOKED_AT, axis=1)
                seen.append(
                    (
                        np.concatenate([waited, (inputs + window)[:, None]], axis=1),
                        np.concatenate([weight, joined[:, None]], axis=1),
                        step,
                        batch,
                        lasted,
                        np.where(idle, 1.0 / rate + window, 0.0),
                    )
                )
            queue = left + came
        return tuple(np.array(values) for values in zip(*seen, strict=True))


def _arrived(mean: Array, uniform: Array, normal: Array) -> Array:
    """Return a number of arrivals at a quantile of its Poisson distribution, by the normal one where many come."""
    many = np.maximum(np.rint(mean + normal * np.sqrt(mean)), 0.0)
    return np.where(mean < _FEW, _poisson(np.minimum(mean, _FEW), uniform), many)


def _quantile(tokens: Array, share: Array) -> Array:
    """Return equally likely lengths by their share."""
    return np.asarray(tokens[np.minimum((share * len(tokens)).astype(int), len(tokens) - 1)])


def _poisson(mean: Array, uniform: Array) -> Array:
    """Return the number of arrivals at a quantile of a Poisson distribution of a small mean."""
    probability = np.exp(-mean)
    summed, found = probability.copy(), np.zeros_like(mean)
    for k in range(1, 40):
        more = uniform > summed
        if not more.any():
            break
        found = found + more
        probability = probability * mean / k
        summed = summed + probability
    return found


def _weighted(values: Array, weights: Array, share: float) -> tuple[Array, Array]:
    """Return the weighted mean of each row, and the value that a share of its weight does not exceed."""
    whole = np.maximum(weights.sum(axis=1), 1e-12)
    order = np.argsort(values, axis=1)
    summed = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1) / whole[:, None]
    at = np.minimum((summed < share).sum(axis=1), values.shape[1] - 1)
    ordered = np.take_along_axis(values, order, axis=1)
    return (values * weights).sum(axis=1) / whole, ordered[np.arange(len(values)), at]
