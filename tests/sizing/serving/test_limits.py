"""Limits at P99 on Poisson arrivals: the closed loop's largest load against the search by percentiles."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.serving.arrivals.open_loop import FIRST_TOKEN, PER_TOKEN, Goal, largest_rate
from clusterwright.sizing.serving.arrivals.requests import Lengths, RequestMix
from clusterwright.sizing.serving.closed_loop import serve
from clusterwright.sizing.serving.columns import Deployment, Factors
from clusterwright.sizing.serving.configuration import device_of

_CATALOGUE = load()
#: MLPerf Inference 6.0: model, accelerator, accelerators of a replica, bytes of a weight and bits, lengths, limits.
_TASKS = (
    ("Llama-2-70B", "h200-sxm-141gb", 1, 1.0, 8.0, 290, 294, 2.0, 0.2),
    ("Llama-2-70B", "h200-sxm-141gb", 1, 1.0, 8.0, 290, 294, 0.45, 0.04),
    ("Llama-2-70B", "b200-sxm-180gb", 1, 0.5625, 4.0, 290, 294, 2.0, 0.2),
    ("Llama-2-70B", "b200-sxm-180gb", 1, 0.5625, 4.0, 290, 294, 0.45, 0.04),
    ("Llama-3.1-8B", "h100-sxm-80gb", 1, 1.0, 8.0, 778, 128, 2.0, 0.1),
    ("Llama-3.1-8B", "h100-sxm-80gb", 1, 1.0, 8.0, 778, 128, 0.5, 0.03),
    ("Mixtral-8x7B", "h200-sxm-141gb", 1, 1.0, 8.0, 480, 145, 2.0, 0.2),
    ("gpt-oss-120b", "b200-sxm-180gb", 1, 0.53125, 4.0, 8000, 1278, 3.0, 0.08),
    ("DeepSeek-R1", "h200-sxm-141gb", 8, 1.0, 8.0, 800, 3886, 2.0, 0.08),
)


def _known(model: str, accelerator: str, gpus: int, weight: float, bits: float, inputs: float, outputs: float):  # type: ignore[no-untyped-def]  # noqa: ANN202, PLR0917
    found = find(model, catalogued(_CATALOGUE))
    assert found is not None
    place = Deployment(
        gpus=float(gpus),
        workers=1.0,
        attention_tp=1.0 if found.latent else float(gpus),
        expert_parallel=1.0,
        attention_bytes=weight,
        expert_bytes=weight,
        cache_bytes=1.0,
        attention_bits=bits,
        expert_bits=bits,
        input_tokens=float(inputs),
        output_tokens=float(outputs),
        reserved_tokens=float(inputs + outputs),
        concurrency=np.inf,
        most_sequences=4096.0,
    )
    # Without the factors that measurements put beside the queues of theory.
    factors = Factors(queue_share=1.0, admission_steps=0.0)
    return found.shape, device_of(_CATALOGUE.accelerators[accelerator]), place, factors


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: f"{task[0]}-{task[1]}-{task[-1]}")
def test_the_largest_load_within_limits_is_that_of_the_search_by_percentiles(task: tuple) -> None:  # type: ignore[type-arg]
    """Within 15 % on the tasks of MLPerf, whose limits hold for 99 of 100 requests."""
    *described, first_s, token_s = task
    model, device, place, factors = _known(*described)
    limited = serve(model, device, replace(place, first_token_limit_s=first_s, time_per_token_limit_s=token_s), factors)
    mix = RequestMix(
        inputs=Lengths(tokens=np.array([float(described[5])])), outputs=Lengths(tokens=np.array([float(described[6])]))
    )
    goals = (
        Goal(metric=FIRST_TOKEN, share=0.99, most_s=first_s),
        Goal(metric=PER_TOKEN, share=0.99, most_s=token_s),
    )
    searched = largest_rate(model, device, place, factors, mix=mix, most_load=0.99, chunk_tokens=65_536.0, goals=goals)
    assert float(limited.requests_per_s) == pytest.approx(float(searched), rel=0.15)


def test_tighter_limits_never_carry_more_and_none_are_the_largest_batch() -> None:
    """Ten milliseconds carry less than twenty; without limits it is as many as fit."""
    model, device, place, factors = _known(*_TASKS[0][:-2])
    rates = [
        float(serve(model, device, replace(place, time_per_token_limit_s=limit), factors).requests_per_s)
        for limit in (0.02, 0.03, 0.06, 10.0)
    ]
    free = float(serve(model, device, place, factors).requests_per_s)
    assert rates == sorted(rates)
    assert 0 < rates[0] < 0.7 * free
    assert rates[-1] == pytest.approx(free, rel=0.05)


def test_a_limit_that_nothing_meets_carries_nothing() -> None:
    """Below the time in which the weights are read, hardly a request is left."""
    model, device, place, factors = _known(*_TASKS[0][:-2])
    found = serve(model, device, replace(place, time_per_token_limit_s=1e-4), factors)
    assert float(found.requests_per_s) < 0.01 * float(serve(model, device, place, factors).requests_per_s)
