"""Pipeline schedules against published tables and against schedules that are played through event by event."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.sizing.columns import DUALPIPE, ONE_F_ONE_B, ZERO_BUBBLE, Layouts
from clusterwright.sizing.training import stages
from clusterwright.sizing.training import step as pipeline

LAYOUT = Layouts(
    tp=1.0, sp=0.0, pp=4.0, vpp=1.0, dp=1.0, cp=1.0, zero_stage=1.0, micro_batch=1.0, micro_batches=8.0, recompute=1.0
)
Task = tuple[str, int]


def bubble(layout: Layouts, *, forward: float, inputs: float, weights: float) -> float:
    """Return the bubble for times of forward, gradients of inputs, gradients of weights."""
    whole = forward + inputs + weights
    return float(pipeline.bubble_s(layout, micro_batch_s=whole, forward_s=forward, weight_s=weights))


def test_the_bubble_is_narayanans() -> None:
    """(p-1)/(v m): four stages and eight micro-batches idle 3/8, two chunks halve it, one stage has none."""
    share = 1 / 8 / 3.0
    assert bubble(LAYOUT, forward=1.0, inputs=1.0, weights=1.0) * share == 3 / 8
    assert bubble(replace(LAYOUT, vpp=2.0), forward=1.0, inputs=1.0, weights=1.0) * share == 3 / 16
    assert bubble(replace(LAYOUT, pp=1.0), forward=1.0, inputs=1.0, weights=1.0) == 0
    assert bubble(LAYOUT, forward=0.1, inputs=0.2, weights=0.2) == pytest.approx(1.5)


def test_deepseeks_table_2() -> None:
    """Bubbles of 8 stages with F 1, B 2.1 of which W 0.9: 1F1B 7 (F+B), ZB1P 7 (F+B-2W), DualPipe 3 (F+B + B - 3W)."""
    times = {"forward": 1.0, "inputs": 1.2, "weights": 0.9}
    eight = replace(LAYOUT, pp=8.0, micro_batches=20.0)
    expected = {ONE_F_ONE_B: 7 * 3.1, ZERO_BUBBLE: 7 * (3.1 - 1.8), DUALPIPE: 3 * (3.1 + 2.1 - 2.7)}
    for schedule, seconds in expected.items():
        assert bubble(replace(eight, schedule=float(schedule)), **times) == pytest.approx(seconds)
    held = {ONE_F_ONE_B: 8, ZERO_BUBBLE: 8, DUALPIPE: 9}
    for schedule, chunks in held.items():
        assert float(stages.in_flight(replace(eight, schedule=float(schedule)), stage=0.0)) == chunks
    assert stages.model_copies(replace(eight, schedule=float(DUALPIPE))) == 2


def test_zero_bubble_idles_a_third_of_1f1b_when_all_passes_take_equally_long() -> None:
    """Qi et al. 2024, section 2.1; DualPipe idles two thirds of that with many stages."""
    equal = {"forward": 1.0, "inputs": 1.0, "weights": 1.0}
    plain, zero, dual = (bubble(replace(LAYOUT, pp=16.0, schedule=float(each)), **equal) for each in range(3))
    assert zero == plain / 3
    assert dual == 14.0
    assert bubble(replace(LAYOUT, pp=2.0, schedule=float(DUALPIPE)), **equal) == 0


def one_f_one_b(stage: int, pp: int, count: int) -> Iterator[Task]:
    """Yield a stage's work: forward passes until the pipeline is full, then backward and forward by turns."""
    ahead = min(pp - stage, count)
    yield from (("F", batch) for batch in range(ahead))
    for batch in range(count):
        yield "B", batch
        yield "W", batch
        if batch + ahead < count:
            yield "F", batch + ahead


def zb_h1(stage: int, pp: int, count: int) -> Iterator[Task]:
    """Yield the same with each stage's gradients of weights as many micro-batches late as there are stages before."""
    ahead, late = min(pp - stage, count), stage
    yield from (("F", batch) for batch in range(ahead))
    for batch in range(count):
        yield "B", batch
        if batch >= late:
            yield "W", batch - late
        if batch + ahead < count:
            yield "F", batch + ahead
    yield from (("W", batch) for batch in range(max(0, count - late), count))


def played(order: list[list[Task]], seconds: dict[str, float], *, fused: bool) -> tuple[float, list[int]]:
    """Return when all is done, and the most micro-batches that each stage held between F and the end of W.

    Args:
        order: of each stage.
        seconds: of each kind of pass.
        fused: gradients go to the stage before only after those of weights are done, too.
    """
    done: dict[tuple[int, Task], float] = {}
    clock, place = [0.0] * len(order), [0] * len(order)
    held, most = [0] * len(order), [0] * len(order)
    last = len(order) - 1
    sent = "W" if fused else "B"
    while any(place[stage] < len(work) for stage, work in enumerate(order)):
        for stage, work in enumerate(order):
            while place[stage] < len(work):
                kind, batch = task = work[place[stage]]
                needs = {
                    "F": [(stage - 1, ("F", batch))] if stage else [],
                    "B": [(stage + 1, (sent, batch))] if stage < last else [(stage, ("F", batch))],
                    "W": [(stage, ("B", batch))],
                }[kind]
                if any(need not in done for need in needs):
                    break
                clock[stage] = max([clock[stage], *(done[need] for need in needs)]) + seconds[kind]
                done[stage, task] = clock[stage]
                place[stage] += 1
                held[stage] += {"F": 1, "B": 0, "W": -1}[kind]
                most[stage] = max(most[stage], held[stage])
    return max(clock), most


@given(pp=st.integers(1, 8), more=st.integers(0, 12), late=st.floats(0.5, 1.0))
def test_1f1b_played_through_takes_and_holds_what_the_formulas_say(pp: int, more: int, late: float) -> None:
    """The first stage is busy or in the bubble until the end, and stage s holds p - s micro-batches."""
    count = pp + more
    times = {"F": 1.0, "B": 1.0, "W": late}
    end, held = played([list(one_f_one_b(stage, pp, count)) for stage in range(pp)], times, fused=True)
    layout = replace(LAYOUT, pp=float(pp), micro_batches=float(count))
    idle = bubble(layout, forward=1.0, inputs=1.0, weights=late)
    assert end == pytest.approx(count * (2 + late) + idle)
    assert held == [stages.in_flight(layout, stage=float(stage)) for stage in range(pp)]


@given(pp=st.integers(2, 8), more=st.integers(0, 12), late=st.floats(0.5, 1.0))
def test_zb_h1_played_through_takes_and_holds_what_the_formulas_say(pp: int, more: int, late: float) -> None:
    """(p-1)(F + B - W) of idle time with B without W; every stage holds p micro-batches at most, the first just so."""
    count = 2 * pp + more
    times = {"F": 1.0, "B": 1.0, "W": late}
    end, held = played([list(zb_h1(stage, pp, count)) for stage in range(pp)], times, fused=False)
    layout = replace(LAYOUT, pp=float(pp), micro_batches=float(count), schedule=float(ZERO_BUBBLE))
    assert end == pytest.approx(count * (2 + late) + bubble(layout, forward=1.0, inputs=1.0, weights=late))
    assert max(held) == held[0] == stages.in_flight(layout, stage=0.0) == pp


def interleaved(stage: int, pp: int, vpp: int, count: int) -> Iterator[str]:
    """Yield the kinds of a stage's passes over its chunks in Megatron's interleaved order."""
    total = count * vpp
    warm_up = min(total, 2 * (pp - stage - 1) + (vpp - 1) * pp)
    yield from "F" * warm_up
    for _ in range(total - warm_up):
        yield from "FB"
    yield from "B" * warm_up


@given(pp=st.integers(2, 8), vpp=st.integers(2, 6), rounds=st.integers(1, 4))
def test_interleaving_holds_what_its_order_holds(pp: int, vpp: int, rounds: int) -> None:
    """Chunks between forward and backward in the order, over the chunks of a stage."""
    count = pp * rounds
    layout = replace(LAYOUT, pp=float(pp), vpp=float(vpp), micro_batches=float(count))
    for stage in range(pp):
        steps = [1 if kind == "F" else -1 for kind in interleaved(stage, pp, vpp, count)]
        assert max(np.cumsum(steps)) / vpp == pytest.approx(float(stages.in_flight(layout, stage=float(stage))))
