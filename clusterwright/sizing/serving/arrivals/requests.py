"""Requests as a replica sees them: lengths of inputs and outputs as distributions, and a list of single requests.

A distribution is held as equally likely lengths, so that one from a table and one from a formula are used alike.
"""

import csv
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

import numpy as np

from clusterwright.errors import Finding, InputError
from clusterwright.input_files import read_text
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving import service

#: Equally likely lengths that stand for a distribution.
POINTS = 512
#: Of the standard normal distribution.
_P95 = NormalDist().inv_cdf(0.95)
#: The largest P95 over mean that a log-normal distribution can have: exp(z^2 / 2), z its P95.
_MOST_P95_OVER_MEAN = math.exp(_P95**2 / 2)
#: No request is longer; keeps products finite.
_MOST_TOKENS = 1e9
#: A trace of a million requests has 20 MB.
_MOST_BYTES = 100_000_000
#: Mistakes of one trace that are reported at once.
_MOST_TOLD = 20
TRACE_COLUMNS = ("arrival_s", "input_tokens", "output_tokens")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """A distribution of lengths in tokens: `tokens`, ascending and equally likely."""

    tokens: Array

    @property
    def mean(self) -> float:
        """Tokens of a request, on average."""
        return float(self.tokens.mean())

    @property
    def longest(self) -> float:
        """Tokens of the longest request."""
        return float(self.tokens[-1])

    def quantile(self, share: Array | float) -> Array:
        """Return the lengths below which a share of the requests is, between 0 and 1."""
        count = len(self.tokens)
        at = np.asarray(share) * count - 0.5
        return np.asarray(np.interp(at, np.arange(count), self.tokens))


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestMix:
    """What requests ask for: lengths of inputs and outputs, and the share of input that a prefix cache holds."""

    inputs: Lengths
    outputs: Lengths
    cached_share: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Requests:
    """Single requests in the order of their arrival.

    Attributes:
        arrival_s: seconds from the start, ascending.
        input_tokens, output_tokens: whole numbers of at least 1, as floats.
        cached_tokens: of the input, those whose keys and values a prefix cache holds, below `input_tokens`.
    """

    arrival_s: Array
    input_tokens: Array
    output_tokens: Array
    cached_tokens: Array

    def __len__(self) -> int:
        """Return how many requests there are."""
        return len(self.arrival_s)


def log_normal(*, mean: float, p95: float, most: float = math.inf) -> Lengths:
    """Return lengths that are log-normal with a mean and a P95; all alike where both are equal.

    The deviation of the logarithm is `service.Lengths.deviation`. The lengths keep the mean, within 1 and `most`.

    Args:
        mean: tokens.
        p95: tokens, from mean to 3.87 times the mean, the most that a log-normal distribution can have.
        most: no request is longer, such as the context that the model takes.

    Raises:
        InputError: no such distribution exists.
    """
    if not (math.isfinite(mean) and math.isfinite(p95) and 1 <= mean <= _MOST_TOKENS):
        raise InputError(f"a mean of {mean:g} tokens is no mean length", help="give a mean of at least one token")
    ratio = p95 / mean
    if not 1 <= ratio <= _MOST_P95_OVER_MEAN:
        raise InputError(
            f"no log-normal distribution has a mean of {mean:g} and a P95 of {p95:g} tokens",
            help=f"give a P95 from {mean:,.0f} to {mean * _MOST_P95_OVER_MEAN:,.0f}, or a table of requests",
        )
    if mean > most:
        raise InputError(f"a mean of {mean:g} tokens is beyond the longest request, {most:g}", help="give a lower mean")
    if ratio == 1:
        return Lengths(tokens=np.full(1, float(mean)))
    spread = service.Lengths(mean=mean, p95=p95).deviation
    normal = NormalDist()
    shape = np.exp(spread * np.array([normal.inv_cdf((at + 0.5) / POINTS) for at in range(POINTS)]))
    # Scaled so that the mean is kept within the bounds; it grows with the scale, so halving finds it.
    low, high = 0.0, most if math.isfinite(most) else 4.0 * p95
    low, high = low / shape[-1], high / shape[0]
    for _ in range(100):
        middle = (low + high) / 2
        if np.clip(shape * middle, 1.0, most).mean() < mean:
            low = middle
        else:
            high = middle
    return Lengths(tokens=np.clip(shape * high, 1.0, most))


def uniform(*, least: float, most: float) -> Lengths:
    """Return lengths that are uniform between two bounds, in tokens."""
    return Lengths(tokens=least + (most - least) * (np.arange(POINTS) + 0.5) / POINTS)


def mix_of(requests: Requests) -> RequestMix:
    """Return the distributions of a list of requests."""
    return RequestMix(
        inputs=Lengths(tokens=np.sort(requests.input_tokens)),
        outputs=Lengths(tokens=np.sort(requests.output_tokens)),
        cached_share=float(requests.cached_tokens.sum() / requests.input_tokens.sum()),
    )


def rate_of(requests: Requests, path: Path) -> float:
    """Return the mean requests per second of a trace, from its first to its last.

    Raises:
        TraceError: all come at one moment.
    """
    span = float(requests.arrival_s[-1] - requests.arrival_s[0])
    if not span > 0:
        raise _refused(
            path,
            "TRACE007",
            "all requests come at one moment, which is no rate",
            "give traffic.requests_per_s or traffic.users, or a trace that lasts",
        )
    return (len(requests) - 1) / span


def poisson(mix: RequestMix, *, count: int, requests_per_s: float, seed: int) -> Requests:
    """Return requests whose gaps are exponential and whose lengths are drawn from a mix, in whole tokens."""
    draw = np.random.default_rng(seed)
    inputs = np.maximum(np.rint(mix.inputs.quantile(draw.random(count))), 1.0)
    return Requests(
        arrival_s=np.cumsum(draw.exponential(1.0 / requests_per_s, count)),
        input_tokens=inputs,
        output_tokens=np.maximum(np.rint(mix.outputs.quantile(draw.random(count))), 1.0),
        cached_tokens=np.minimum(np.floor(inputs * mix.cached_share), inputs - 1.0),
    )


def replayed(requests: Requests, *, count: int, requests_per_s: float) -> Requests:
    """Return a trace at the speed that gives it a mean rate, again from its start until the count is reached.

    The gap between two rounds is the mean one, so that bursts stay as they were.
    """
    arrivals = requests.arrival_s - requests.arrival_s[0]
    if not arrivals[-1] > 0:
        # All at one moment, or one alone: one after the other.
        arrivals = np.arange(len(requests), dtype=float)
    own = (len(requests) - 1) / float(arrivals[-1]) if len(requests) > 1 else 1.0
    rounds = -(-count // len(requests))
    spans = np.arange(rounds)[:, None] * (arrivals[-1] + 1.0 / own)
    at = np.arange(count) % len(requests)
    return Requests(
        arrival_s=(spans + arrivals[None, :]).reshape(-1)[:count] * own / requests_per_s,
        input_tokens=requests.input_tokens[at],
        output_tokens=requests.output_tokens[at],
        cached_tokens=requests.cached_tokens[at],
    )


def read_trace(path: Path) -> Requests:
    """Return the requests of a CSV file with the columns `arrival_s`, `input_tokens` and `output_tokens`.

    A column `cached_tokens` may be there too; without it nothing is cached.

    Raises:
        InputError: the file cannot be read.
        TraceError: no requests, a column that lacks, cells that are no numbers, times that go back, lengths below one
            token; all of them, with file and line.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a trace of requests", advice="give a CSV file of requests")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{path.name}:{reader.line_num}: {error}", help="save it as CSV UTF-8") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    lacking = [name for name in TRACE_COLUMNS if name not in header]
    if lacking:
        raise _refused(
            path,
            "TRACE005",
            f"the columns {', '.join(lacking)} are missing",
            f"name the columns {', '.join(TRACE_COLUMNS)} in the first line, separated by commas",
        )
    if len(rows) == 1:
        raise _refused(path, "TRACE006", "there are no requests", "give one line per request")
    names = [name for name in (*TRACE_COLUMNS, "cached_tokens") if name in header]
    places = [header.index(name) for name in names]
    found, wrong = [], []
    before = 0.0
    for line, row in rows[1:]:
        values = [_number(row[at] if at < len(row) else "") for at in places]
        mistakes = list(_mistakes(dict(zip(names, values, strict=True)), before=before))
        wrong += [
            Finding(id=name, path=(path.name, line), message=f"{path.name}:{line}: {message}", help=advice)
            for name, message, advice in mistakes
        ]
        before = before if mistakes else values[0]
        found.append(values)
    if wrong:
        raise TraceError(tuple(wrong[:_MOST_TOLD]), more=len(wrong) - _MOST_TOLD)
    columns = dict(zip(names, np.array(found, dtype=float).T, strict=True))
    columns.setdefault("cached_tokens", np.zeros(len(found)))
    return Requests(**columns)


class TraceError(InputError):
    """A trace of requests with wrong lines; `findings` holds each with its file and line."""

    def __init__(self, findings: tuple[Finding, ...], *, more: int) -> None:
        if more > 0:
            last = findings[-1]
            findings = (*findings[:-1], replace(last, message=f"{last.message}; {more:,} more lines are wrong"))
        super().__init__("\n".join(f"{one.id}: {one.message}" for one in findings), help=findings[0].help)
        self.findings = findings


def _refused(path: Path, identity: str, message: str, advice: str) -> TraceError:
    """Return the refusal of a whole trace."""
    finding = Finding(id=identity, path=(path.name, 1), message=f"{path.name}:1: {message}", help=advice)
    return TraceError((finding,), more=0)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _mistakes(values: dict[str, float], *, before: float) -> "list[tuple[str, str, str]]":
    """Return id, message and fix of what is wrong with one line."""
    mistakes = [
        ("TRACE001", f"{name} is not a number", "write a number, with a point and without a unit")
        for name, value in values.items()
        if not math.isfinite(value)
    ]
    if mistakes:
        return mistakes
    if values["arrival_s"] < before:
        text = f"arrival_s {values['arrival_s']:g} is before {before:g} of the line above"
        mistakes.append(("TRACE002", text, "sort the lines by arrival_s, which counts seconds from 0"))
    for name in ("input_tokens", "output_tokens"):
        if not (1 <= values[name] <= _MOST_TOKENS and values[name] % 1 == 0):
            text = f"{name} {values[name]:g} is not a whole number of at least 1"
            mistakes.append(("TRACE003", text, "write how many tokens the request has"))
    if not 0 <= values.get("cached_tokens", 0.0) < max(values["input_tokens"], 1.0):
        text = f"cached_tokens {values['cached_tokens']:g} is not from 0 to below input_tokens"
        mistakes.append(("TRACE004", text, "at least the last token of an input is always computed"))
    return mistakes
