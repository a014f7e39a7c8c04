"""A load test against the plan: first token, time per token and tokens a second, each with its band.

Results are those of `serving/loadtest/load.py`, of `vllm bench serve --save-result` (fields of vLLM 0.11.0) or of
AIPerf and GenAI-Perf (their `profile_export` as JSON, fields from memory). What is outside a band says which part of
the prediction to fit again.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.errors import InputError
from clusterwright.input_files import read_text
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.sizing.serving.sizes import Predicted

#: A test with every request of a day has some ten megabytes.
_MOST_BYTES = 200_000_000
_MILLISECONDS = 1e-3
#: Shares by which the load of a test may be off the plan's, and of the requests that may fail, to be compared at all.
_LOAD_OFF, _FAILED = 0.1, 0.01
#: Below this many requests a percentile of 95 rests on fewer than ten.
_FEW_REQUESTS = 200
_ADVICE = "give RESULTS.json of serving/loadtest/load.py, of vllm bench serve --save-result, or of AIPerf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A load test.

    Attributes:
        tool: that wrote it; requests, completed: how many; requests_per_s: that were asked for, None if not stated.
        replicas: that answered, None if not stated.
        first_token_s, time_per_token_s: at the percentile of the goals, None where the test does not have it.
        median_first_token_s, median_time_per_token_s, mean_total_s: of all requests; None if not stated.
        output_tokens_per_s, answers_per_s: of all replicas.
        mean_input_tokens, mean_output_tokens: of a request and its answer, None if not stated.
    """

    tool: str
    requests: int
    completed: int
    requests_per_s: float | None
    replicas: int | None
    first_token_s: float | None
    time_per_token_s: float | None
    output_tokens_per_s: float | None
    answers_per_s: float | None = None
    median_first_token_s: float | None = None
    median_time_per_token_s: float | None = None
    mean_total_s: float | None = None
    mean_input_tokens: float | None = None
    mean_output_tokens: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One figure.

    Attributes:
        name: `first_token`, `time_per_token` or `output_tokens_per_s`; unit: of the numbers.
        planned, low, high: of the plan; measured: of the test; None where it has none.
        verdict: `within`, `better`, `worse` or `not measured`, by the band.
        because: what to look at, and what to fit again; empty within the band.
    """

    name: str
    unit: str
    planned: float
    low: float
    high: float
    measured: float | None
    verdict: str
    because: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingComparison:
    """A load test against one option of a plan; notes: what to know before it is believed."""

    target: str
    percentile: float
    replicas: int
    measured: Measured
    figures: tuple[Compared, ...]
    notes: tuple[str, ...]


def read_results(path: Path, *, percentile: float) -> Measured:
    """Return a load test, with its times at a percentile.

    Raises:
        InputError: the file cannot be read, is of no known tool, or holds no number where one is needed.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="results of a load test", advice=_ADVICE)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # also a whole number of thousands of digits
        raise InputError(f"{path} is not JSON: {str(error)[:200]}", help=_ADVICE) from None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no object of JSON", help=_ADVICE)
    if "completed" in found:
        return _of_vllm(path, found, percentile)
    if isinstance(found.get("time_to_first_token"), dict):
        return _of_aiperf(path, found, percentile)
    raise InputError(
        f"{path} is of no load test that is known: it has neither completed nor time_to_first_token", help=_ADVICE
    )


def _number(path: Path, found: Mapping[str, Any], key: str) -> float | None:
    value = found.get(key)
    if value is None:
        return None
    # A request rate without bound is written as a text.
    if isinstance(value, str) and value.strip().lower() in ("inf", "infinity"):
        return None
    if isinstance(value, str | bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        if isinstance(value, str) and value.isdigit() and len(value) < 10:  # noqa: PLR2004 - metadata are texts
            return float(value)
        raise InputError(f"{path}: {key} is {str(value)[:60]!r}, no number of at least 0", help=_ADVICE)
    return float(value)


def _whole(path: Path, found: Mapping[str, Any], key: str) -> int | None:
    value = _number(path, found, key)
    return None if value is None else int(value)


def _of_vllm(path: Path, found: Mapping[str, Any], percentile: float) -> Measured:
    at = f"{percentile:g}"

    def seconds(key: str) -> float | None:
        value = _number(path, found, key)
        return None if value is None else value * _MILLISECONDS

    completed = _whole(path, found, "completed") or 0

    def each(key: str) -> float | None:
        value = _number(path, found, key)
        return None if value is None or not completed else value / completed

    return Measured(
        tool=str(found.get("tool", "vllm bench serve"))[:40],
        requests=_whole(path, found, "num_prompts") or completed,
        completed=completed,
        requests_per_s=_number(path, found, "request_rate"),
        replicas=_whole(path, found, "replicas"),
        first_token_s=seconds(f"p{at}_ttft_ms"),
        time_per_token_s=seconds(f"p{at}_tpot_ms"),
        output_tokens_per_s=_number(path, found, "output_throughput"),
        answers_per_s=_number(path, found, "request_throughput"),
        median_first_token_s=seconds("p50_ttft_ms") or seconds("median_ttft_ms"),
        median_time_per_token_s=seconds("p50_tpot_ms") or seconds("median_tpot_ms"),
        mean_total_s=seconds("mean_e2el_ms"),
        mean_input_tokens=each("total_input_tokens"),
        mean_output_tokens=each("total_output_tokens"),
    )


def _of_aiperf(path: Path, found: Mapping[str, Any], percentile: float) -> Measured:
    at = f"p{percentile:g}"

    def of(name: str, key: str) -> float | None:
        entry = found.get(name)
        if not isinstance(entry, dict):
            return None
        value = _number(path, entry, key)
        return (
            value
            if value is None or entry.get("unit") not in ("ms", "us", "ns")
            else value * {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[entry["unit"]]
        )

    count = int(of("request_count", "avg") or 0)
    return Measured(
        tool="AIPerf",
        requests=count,
        completed=count,
        requests_per_s=of("request_throughput", "avg"),
        replicas=None,
        first_token_s=of("time_to_first_token", at),
        time_per_token_s=of("inter_token_latency", at),
        output_tokens_per_s=of("output_token_throughput", "avg"),
    )


def compare_serving(
    plan: ServingPlan, option: ServingOption, measured: Measured, *, replicas: int | None
) -> ServingComparison:
    """Return a load test against an option.

    Args:
        plan: for the goals' percentile.
        option: the target that was tested.
        measured: the test.
        replicas: that answered, where the test does not say so.

    Raises:
        InputError: nothing was answered, or nobody says how many replicas answered.
    """
    performance = option.performance
    answered = replicas or measured.replicas
    if not answered:
        raise InputError("the results do not say how many replicas answered", help="add --replicas N")
    if not measured.completed:
        raise InputError("no request of the load test was answered", help="look at its errors, and run it again")
    share = answered / performance.replicas
    rate = performance.output_tokens_per_s
    figures = (
        _compared("first_token", "s", performance.first_token_s, measured.first_token_s, more_is_worse=True),
        _compared("time_per_token", "s", performance.time_per_token_s, measured.time_per_token_s, more_is_worse=True),
        _compared(
            "output_tokens_per_s",
            "tokens/s",
            Predicted(value=rate.value * share, low=rate.low * share, high=rate.high * share),
            measured.output_tokens_per_s,
            more_is_worse=False,
        ),
    )
    return ServingComparison(
        target=option.target,
        percentile=plan.goals.percentile,
        replicas=answered,
        measured=measured,
        figures=figures,
        notes=tuple(_notes(plan, option, measured, answered)),
    )


_BECAUSE = {
    "first_token": "prefill and the queue before it: look at the length of inputs, the share of the prefix cache that "
    "is hit and the size of chunks; then fit prefill and first token again",
    "time_per_token": "decode steps and the prefills between them: look at the accelerator's clocks, the format of "
    "weights and cache and the parallel sizes; then fit decode steps again",
    "output_tokens_per_s": "fewer tokens than the load asks for: look at failed and waiting requests; then fit "
    "throughput again",
}


def _compared(name: str, unit: str, planned: Predicted, measured: float | None, *, more_is_worse: bool) -> Compared:
    if measured is None:
        verdict = "not measured"
    elif planned.low <= measured <= planned.high:
        verdict = "within"
    else:
        verdict = "worse" if (measured > planned.high) is more_is_worse else "better"
    because = ""
    if verdict == "worse":
        because = _BECAUSE[name]
    elif verdict == "better":
        because = "the plan is too careful here: fewer replicas may do once it is fitted again"
    return Compared(
        name=name,
        unit=unit,
        planned=planned.value,
        low=planned.low,
        high=planned.high,
        measured=measured,
        verdict=verdict,
        because=because,
    )


def _notes(plan: ServingPlan, option: ServingOption, measured: Measured, replicas: int) -> Iterator[str]:
    wanted = option.performance.peak_requests_per_s / option.performance.replicas * replicas
    if measured.requests_per_s is None:
        yield f"the results do not say how many requests a second were asked; the plan's peak is {wanted:,.4g}"
    elif abs(measured.requests_per_s / wanted - 1) > _LOAD_OFF:
        yield (
            f"{measured.requests_per_s:,.4g} requests/s were asked of {replicas:,} replicas, and the plan's peak is "
            f"{wanted:,.4g}: times and tokens are of another load"
        )
    failed = measured.requests - measured.completed
    if failed > _FAILED * measured.requests:
        yield f"{failed:,} of {measured.requests:,} requests failed: those that answered are no fair sample"
    if measured.requests < _FEW_REQUESTS:
        yield f"{measured.requests:,} requests are few for P{plan.goals.percentile:g}: it may move with the next run"


def calibration_row(plan: ServingPlan, option: ServingOption, comparison: ServingComparison) -> dict[str, str]:
    """Return the test as one row of measurements, as `validate serving` and `calibrate` read them.

    Requests in flight are those of Little's law, the rate of answers times how long one takes; empty cells are unknown.
    """
    performance = option.performance
    work, measured, replicas = plan.workload, comparison.measured, comparison.replicas
    in_flight = None
    if measured.answers_per_s is not None and measured.mean_total_s is not None:
        in_flight = measured.answers_per_s * measured.mean_total_s / replicas
    tokens = measured.output_tokens_per_s
    return {
        "model": work.model,
        "hardware": option.cluster.accelerator,
        "engine": work.framework,
        "weights": work.precision,
        "n_chips": str(performance.layout.gpus),
        "tp": str(performance.layout.tensor),
        "isl": _cell(measured.mean_input_tokens or work.input_tokens),
        "osl": _cell(measured.mean_output_tokens or work.output_tokens),
        "concurrency_or_batch": _cell(max(in_flight or performance.in_flight, 1.0)),
        "output_tok_per_s_total": _cell(None if tokens is None else tokens / replicas),
        "tpot_p50_ms": _cell(measured.median_time_per_token_s, 1e3),
        "ttft_p50_ms": _cell(measured.median_first_token_s, 1e3),
    }


def _cell(value: float | None, scale: float = 1.0) -> str:
    return "" if value is None else f"{value * scale:.6g}"
