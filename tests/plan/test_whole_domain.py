"""Whatever the schema accepts gives finite, positive numbers or a reason, and the order of what is given is nothing."""

import dataclasses
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import ClusterwrightError, RuleError
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sweep.fronts import facts, gathered
from clusterwright.sweep.run import run
from clusterwright.sweep.space import NodeRange, questions, scenarios
from tests.opened import explanations

from .examples import SMALL

CATALOGUE = load_catalogue()
CLOUDS = ("aws", "azure", "gcp")


def magnitude(low: float, high: float) -> st.SearchStrategy[float]:
    """Return numbers spread evenly over orders of magnitude, the ends among them."""
    return st.just(low) | st.just(high) | st.floats(math.log10(low), math.log10(high)).map(lambda power: 10**power)


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    """Return whole numbers spread likewise."""
    return magnitude(low, high).map(lambda value: min(max(round(value), low), high))


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return sections with any of their keys."""
    return st.fixed_dictionaries({}, optional=fields)


RULES = st.just("power of two") | st.integers(1, 64).map(lambda number: f"multiple of {number}")
SIZES = {"min_nodes": whole(1, 100), "max_nodes": whole(1, 3000), "nodes_must_be": RULES}
PARALLELISM = some(
    tensor=whole(1, 64),
    max_tensor=whole(1, 64),
    context=whole(1, 64),
    pipeline=whole(1, 512),
    data=whole(1, 1_000_000),
    data_must_be=RULES,
    expert=whole(1, 1024),
    micro_batch=whole(1, 1024),
    recompute=st.sampled_from(["none", "selective", "full"]),
)
WORKLOADS = st.fixed_dictionaries(
    {
        "kind": st.just("train"),
        "model": st.sampled_from(sorted(CATALOGUE.models)),
        "tokens": magnitude(1, 1e18),
        "sequence_length": st.sampled_from([1, 2, 512, 2048, 8192, 131_072]) | whole(1, 16_777_216),
        "global_batch": st.sampled_from([1, 8, 96, 512, 1536, 27_720]) | whole(1, 1_000_000),
    },
    optional={"precision": st.sampled_from(["bf16", "fp16", "fp8"]), "parallelism": st.just({}) | PARALLELISM},
)
RELIABILITY = some(
    spare_nodes=whole(1, 10_000),
    elastic=st.booleans(),
    repair=whole(1, 90 * 24).map(lambda hours: f"{hours} h"),
    detection=whole(1, 86_400).map(lambda seconds: f"{seconds} s"),
    restart=whole(1, 86_400).map(lambda seconds: f"{seconds} s"),
    interruptions_per_1000_node_days=magnitude(1e-3, 1e5),
    checkpoint=some(
        strategy=st.sampled_from(["full", "distributed", "async", "memory", "incremental"]),
        keep=whole(1, 1000),
        changed=magnitude(1e-6, 1.0),
    ),
)
ECONOMICS = some(
    horizon=whole(1, 240).map(lambda months: f"{months} months"),
    utilisation=magnitude(1e-3, 1.0),
    discount_rate=st.floats(0, 1),
    budget=magnitude(1, 1e12),
)
GOALS = some(finish_within=magnitude(1e-3, 1e6).map(lambda days: f"{days:.6f} days"), confidence=st.floats(0.5, 0.99))


@st.composite
def targets(draw: st.DrawFn) -> dict[str, Any]:
    """Return one target with hardware of the catalogue, in a region that lists it."""
    target = draw(st.sampled_from([*CLOUDS, "onprem"]))
    sizes = draw(some(**SIZES))
    if target == "onprem":
        return {target: {"system": draw(st.sampled_from(sorted(CATALOGUE.systems))), **sizes}}
    instance = CATALOGUE.instances[
        draw(st.sampled_from([key for key, entry in CATALOGUE.instances.items() if entry.cloud == target]))
    ]
    region = draw(st.sampled_from(sorted(instance.regions) or ["us-east-1"]))
    if target == "gcp" and region.count("-") > 1:
        region = region.rpartition("-")[0]
    capacity = draw(st.sampled_from(["on-demand", "spot"]))
    return {target: {"instance": instance.id, "region": region, "capacity": capacity, **sizes}}


BLUEPRINTS = st.fixed_dictionaries(
    {"name": st.just("any"), "workload": WORKLOADS, "targets": targets()},
    optional={"reliability": RELIABILITY, "economics": ECONOMICS, "goals": GOALS},
)


def planned(folder: Path, values: dict[str, Any]) -> TrainingPlan | None:
    """Return the plan of a blueprint, None where it is refused; what refuses it has words."""
    path = folder / "any.yaml"
    path.write_text(json.dumps(values))
    try:
        blueprint = load(path).blueprint
        resolved = resolve(blueprint, CATALOGUE)
        if not isinstance(resolved, Resolved):
            check_words(BlueprintError(name="any", text="", problems=resolved))
            return None
        return decide(blueprint, resolved, Facts.open())
    except ClusterwrightError as error:
        check_words(error)
        return None


def check_words(error: ClusterwrightError) -> None:
    """Check that what refuses a blueprint is not a bug, and says what is wrong and what to do."""
    assert error.exit_code in (1, 2, 3)
    assert error.message
    if isinstance(error, RuleError):
        assert all(finding.id and finding.message and finding.help for finding in error.findings)
    if isinstance(error, BlueprintError):
        assert all(problem.message for problem in error.problems)


def numbers(value: Any, path: str = "") -> Any:  # noqa: ANN401 - anything of a plan
    """Yield every number of a record with its path."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from numbers(entry, f"{path}.{key}")
    elif isinstance(value, tuple | list):
        for index, entry in enumerate(value):
            yield from numbers(entry, f"{path}[{index}]")
    elif isinstance(value, float | int) and not isinstance(value, bool):
        yield path, value


def check_option(option: TrainingOption) -> None:
    """Check that what must be positive is, and that bands and shares are in order."""
    for name in ("nodes", "gpus", "hbm_bytes_per_gpu"):
        assert getattr(option.cluster, name) > 0, name
    for name in ("mfu", "tokens_per_s_per_gpu", "calendar_days"):
        assert getattr(option.performance, name) > 0, name
    assert 0 < option.performance.goodput <= 1
    assert option.performance.mfu <= 1
    assert (
        option.performance.calendar_days_low
        <= option.performance.calendar_days
        <= option.performance.calendar_days_high * (1 + 1e-12)
    )
    assert 0 < option.performance.memory_bytes_per_gpu.total <= option.cluster.hbm_bytes_per_gpu
    assert option.performance.step.total_s > 0
    assert all(part >= 0 for _, part in numbers(option.performance.step))
    assert option.money.run_usd is None or option.money.run_usd > 0
    assert option.design.storage.capacity_bytes > 0
    layout = option.performance.layout
    assert layout.tp * layout.cp * layout.pp * layout.dp == option.training_nodes * option.cluster.gpus_per_node


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(values=BLUEPRINTS)
def test_any_blueprint_gives_finite_numbers_or_a_reason(tmp_path_factory: Any, values: dict[str, Any]) -> None:  # noqa: ANN401
    """Over the whole schema, extremes included, every number of an accepted plan is finite and can be explained."""
    plan = planned(tmp_path_factory.mktemp("any"), values)
    if plan is None:
        return
    assert all(math.isfinite(value) for _, value in numbers(plan))
    assert loads(dumps(plan)) == plan
    for option in plan.options:
        check_option(option)
        assert all(entry.value for entry in explanations(plan, option.target))


@settings(max_examples=6, deadline=None)
@given(order=st.permutations(["aws", "azure", "gcp", "onprem"]), sections=st.permutations(range(5)))
def test_the_order_of_a_blueprint_changes_nothing(tmp_path_factory: Any, order: list[str], sections: list[int]) -> None:  # noqa: ANN401
    """Permuting targets and sections of the text gives the same plan to the last byte."""
    sizes = {"max_nodes": 8}
    places = {
        "aws": {"instance": "p5.48xlarge", "region": "us-east-1", **sizes},
        "azure": {"instance": "Standard_ND96isr_H100_v5", "region": "eastus", **sizes},
        "gcp": {"instance": "a3-highgpu-8g", "region": "us-central1", **sizes},
        "onprem": {"system": "dgx-h100", **sizes},
    }
    workload = {"kind": "train", "model": "llama-2-7b", "tokens": 1e11, "sequence_length": 2048, "global_batch": 512}
    parts: list[tuple[str, Any]] = [
        ("name", "small"),
        ("workload", dict(reversed(workload.items()))),
        ("goals", {"finish_within": "30 days"}),
        ("targets", {name: places[name] for name in order}),
        ("economics", {"utilisation": 0.7}),
    ]
    folder = tmp_path_factory.mktemp("order")
    plain = planned(folder, {**dict(parts), "targets": places})
    mixed = planned(folder, dict(parts[index] for index in sections))
    assert plain is not None
    assert mixed is not None
    assert dumps(mixed) == dumps(plain)


@pytest.mark.parametrize("values", list(itertools.permutations(["256", "512", "768"]))[1::2])
def test_the_order_of_varied_values_and_node_types_changes_nothing(tmp_path: Path, values: tuple[str, ...]) -> None:
    """A sweep has the same points whatever the order of its values, only in that order."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)

    def points(given_values: tuple[str, ...], names: list[str]) -> set[Any]:
        found = scenarios([path], [f"workload.global_batch={','.join(given_values)}"], [], CATALOGUE)
        asked = [
            question
            for scenario in found
            for question in questions(scenario, CATALOGUE, names, NodeRange(most=8), facts().book)[0]
        ]
        return set(gathered(found, run(asked, jobs=1), [], catalogue="test").points)

    names = ["p5.48xlarge", "dgx-h100", "a3-highgpu-8g"]
    assert points(values, names[::-1]) == points(("256", "512", "768"), names)
