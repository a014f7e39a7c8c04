"""Measuring within a time: every case of a suite on a backend, with what was left out and why."""

import datetime as dt
import math
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Self

from clusterwright.errors import shortened
from clusterwright.evidence.probe.backend import Backend
from clusterwright.evidence.probe.records import (
    COMPILED,
    STEP,
    STEP_MEMORY,
    Case,
    Environment,
    Measurement,
    NotSupportedError,
)
from clusterwright.evidence.probe.suite import COMPILE_S, SHARES, suite

#: Least seconds of a batch, so that the clock's steps and the wait for the device do not show.
_BATCH_S = 0.02
#: Batches of a case: the most, and the fewest where time allows.
_MOST_BATCHES, _FEWEST_BATCHES = 20, 3
_MOST_CALLS = 10_000
#: Most seconds of a case, beside its warm-up.
_CASE_S = 2.0
#: Warm-up, first timing and one batch: what a case takes at least, in calls.
_LEAST_CALLS = 3.0
_OUT_OF_TIME = "no time left"


class _OutOfTimeError(BaseException):
    """The time is over; not an `Exception`, so that libraries which handle those let it through."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A case that was not measured, and why."""

    case: Case
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Probed:
    """All results of a probe, what was left out, and the seconds it took."""

    environment: Environment
    measurements: tuple[Measurement, ...]
    left_out: tuple[LeftOut, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Timing:
    """Seconds of a call, in each batch, and calls in a batch."""

    samples: tuple[float, ...]
    calls: int


def probe(
    backend: Backend,
    *,
    seconds: float,
    accelerator: str = "",
    groups: dict[str, list[Case]] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Probed:
    """Measure the suite of a backend's device.

    Args:
        backend: library and device.
        seconds: bound of the whole; a single call that has begun is not cut short.
        accelerator: id of the catalogue that the results are of, empty if unknown.
        groups: cases by group in place of the device's suite.
        progress: receives a line after each group.
    """
    began = time.perf_counter()
    environment = replace(backend.environment, accelerator=accelerator)
    groups = suite(environment) if groups is None else groups
    measurements: list[Measurement] = []
    left_out: list[LeftOut] = []
    share = 0.0
    with _Alarm(seconds) as alarm:
        for name, cases in groups.items():
            share += SHARES[name]
            until = began + seconds * min(share, 1.0)
            before = len(measurements)
            _measure_group(backend, environment, cases, until=until, alarm=alarm, found=measurements, left_out=left_out)
            kept = sum(one.case.kind == name for one in measurements[before:])
            spent = time.perf_counter() - began
            progress(f"{name}: {kept} of {len(cases)} cases, {spent:.0f} of {seconds:.0f} s" if cases else f"{name}: -")
    return Probed(
        environment=environment,
        measurements=tuple(measurements),
        left_out=tuple(left_out),
        seconds=time.perf_counter() - began,
    )


def _measure_group(
    backend: Backend,
    environment: Environment,
    cases: list[Case],
    *,
    until: float,
    alarm: "_Alarm",
    found: list[Measurement],
    left_out: list[LeftOut],
) -> None:
    """Measure the cases of a group; results are added to `found`, the others to `left_out`."""
    seconds_per_cost: dict[tuple[str, str], float] = {}
    for place, case in enumerate(cases):
        now = time.perf_counter()
        key = (case.variant, case.precision)
        expected = _LEAST_CALLS * case.cost * seconds_per_cost.get(key, 0.0)
        expected += COMPILE_S if case.variant == COMPILED else 0.0
        if now + expected >= until:
            reason = f"needs about {expected:.1f} s" if now < until else _OUT_OF_TIME
            left_out.append(LeftOut(case=case, reason=reason))
            continue
        stop = min(until, now + _CASE_S, now + 2 * (until - now) / (len(cases) - place))
        try:
            with alarm.heard():
                results = _measured(backend, environment, case, stop=stop)
        except _OutOfTimeError:
            left_out.append(LeftOut(case=case, reason=_OUT_OF_TIME))
        except NotSupportedError as error:
            left_out.append(LeftOut(case=case, reason=str(error)))
        except Exception as error:  # noqa: BLE001 - whatever drivers and compilers raise leaves out the case alone
            said = str(error).strip().partition("\n")[0]
            left_out.append(LeftOut(case=case, reason=shortened(f"{type(error).__name__}: {said}")))
        else:
            found += results
            seconds = results[0].seconds
            if seconds:
                seconds_per_cost[key] = min(seconds / case.cost, seconds_per_cost.get(key, math.inf))
        backend.release()


def _measured(backend: Backend, environment: Environment, case: Case, *, stop: float) -> list[Measurement]:
    """Return the measurement of a case, and of a training step its peak of memory."""
    call = backend.prepare(case)
    call()
    backend.synchronize()
    timing = _timed(backend, call, stop=stop)
    clock_hz = backend.clock_hz()
    median = statistics.median(timing.samples)
    low, high = _quantiles(timing.samples)
    result = Measurement(
        case=case,
        environment=environment,
        value=case.value(median),
        seconds=median,
        seconds_p10=low,
        seconds_p90=high,
        batches=len(timing.samples),
        calls=timing.calls,
        clock_hz=clock_hz,
        measured_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    peak = backend.peak_bytes(call) if case.kind == STEP else None
    if peak is None:
        return [result]
    memory = replace(
        result,
        case=replace(case, kind=STEP_MEMORY),
        value=peak,
        seconds=None,
        seconds_p10=None,
        seconds_p90=None,
        batches=1,
        calls=1,
    )
    return [result, memory]


def _timed(backend: Backend, call: Callable[[], object], *, stop: float) -> _Timing:
    """Time batches of calls until `stop`, or until there are enough."""
    once = _batch_s(backend, call, calls=1)
    calls = max(1, min(_MOST_CALLS, round(_BATCH_S / once)))
    samples: list[float] = []
    while len(samples) < _MOST_BATCHES:
        now = time.perf_counter()
        late = now + once * calls > stop
        if samples and (late and (len(samples) >= _FEWEST_BATCHES or calls == 1)):
            break
        samples.append(_batch_s(backend, call, calls=calls) / calls)
    return _Timing(samples=tuple(samples), calls=calls)


def _batch_s(backend: Backend, call: Callable[[], object], *, calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    backend.synchronize()
    return max(time.perf_counter() - began, 1e-9)


def _quantiles(samples: tuple[float, ...]) -> tuple[float, float]:
    """Return P10 and P90 of samples; a single one is both."""
    if len(samples) == 1:
        return samples[0], samples[0]
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return tenths[0], tenths[-1]


class _Alarm:
    """Raises `_OutOfTimeError` in the running case when the time is over, where the system has such a timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._in_case = False
        self._before: Any = None
        self._possible = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")

    def __enter__(self) -> Self:
        if self._possible:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        if self._possible:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Let the alarm end what is inside; elsewhere the comparison with the clock does."""
        self._in_case = True
        try:
            yield
        finally:
            self._in_case = False

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self._in_case:
            raise _OutOfTimeError
