"""A load test against the plan: asked as the plan says, measured as it was answered, judged by the plan's bands."""

import asyncio
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clusterwright import assets
from clusterwright.actual.serving import calibration_row, compare_serving, read_results
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.main import app
from clusterwright.errors import InputError
from clusterwright.evidence import models as named
from clusterwright.evidence.serving.measurements import read_measurements
from clusterwright.outputs.serving.load_test import expected, load_test_files
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps
from clusterwright.plan.facts import Facts
from clusterwright.plan.serving.job import service_of
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_plan
from clusterwright.sizing.serving.arrivals.requests import poisson
from clusterwright.sizing.serving.calibration import load_calibration
from clusterwright.sizing.serving.replica_times import replica_columns, request_mix, scaled_work
from clusterwright.sizing.serving.service import Service
from clusterwright.sizing.serving.simulation.fleet import Router, simulate
from clusterwright.sizing.serving.simulation.step_table import StepTable, tabulated
from tests.plan.stand_in_service import Clock, Loop, StandIn
from tests.ports import free_port

REQUESTS = 400


class Planned:
    """The shipped plan on AWS, and the step times of one of its replicas."""

    def __init__(self) -> None:
        blueprint = load(assets.root() / "blueprints" / "serve-llama3-70b.yaml").blueprint
        facts = Facts.open()
        resolved = resolve(blueprint, facts.catalogue)
        assert isinstance(resolved, Resolved), resolved
        self.plan: ServingPlan = serving_plan(decide(blueprint, resolved, facts))
        (option,) = (entry for entry in self.plan.options if entry.target == "aws")
        self.option: ServingOption = option
        self.service: Service = service_of(blueprint, resolved)
        nodes = {entry.node.id: entry.node for entry in resolved.targets}
        node = nodes.get(option.cluster.instance) or next(
            entry.node for entry in resolved.targets if (entry.instance or entry.node).id == option.cluster.instance
        )
        own = replica_columns(
            self.service, node, option.performance.layout, load_calibration(), in_flight=option.performance.in_flight
        )
        self.table: StepTable = tabulated(
            own.model,
            own.device,
            own.place,
            scaled_work(own.factors, own.token_scale),
            longest_tokens=200_000,
            most_sequences=1024,
        )


@pytest.fixture(scope="module")
def planned() -> Planned:
    """The plan, once."""
    return Planned()


@pytest.fixture(scope="module")
def loader(planned: Planned, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The written `load.py`, beside its plan."""
    folder = tmp_path_factory.mktemp("loadtest")
    for name, file in load_test_files(planned.plan, planned.option).items():
        (folder / name).write_bytes(file.content)
    spec = importlib.util.spec_from_file_location("load_of_test", folder / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked_plan(loader: ModuleType) -> dict[str, Any]:
    """Return `plan.json` as it was written."""
    found: dict[str, Any] = json.loads((Path(str(loader.__file__)).parent / "plan.json").read_text())
    return found


def measure(
    loader: ModuleType, planned: Planned, folder: Path, monkeypatch: pytest.MonkeyPatch, *, slower: float = 1.0
) -> tuple[Path, StandIn]:
    """Run the load against the stand-in on loopback; return the results' file and the stand-in."""
    clock, asked, port = Clock(), asked_plan(loader), free_port()
    monkeypatch.setattr(loader, "time", clock)
    rate = asked["requests_per_s_per_replica"]
    requests = loader.requests_of(asked, REQUESTS, rate, 1)

    async def both() -> tuple[list[dict[str, Any]], float, StandIn]:
        service = StandIn(planned.table, cached=asked["prefix_cache_hit"], slower=slower)
        server = await asyncio.start_server(service.answer, "127.0.0.1", port, limit=2**22)
        steps = asyncio.ensure_future(service.run())
        to = loader.Service(f"http://127.0.0.1:{port}", asked["model"])
        answers, seconds = await loader.load(to, asked, requests, 1)
        steps.cancel()
        server.close()
        return answers, seconds, service

    loop = Loop(clock)
    try:
        answers, seconds, service = loop.run_until_complete(both())
    finally:
        loop.close()
    path = folder / "results.json"
    path.write_text(json.dumps(loader.results(asked, answers, seconds, 1, rate, requests[-1][0])))
    return path, service


def test_the_load_is_that_of_the_plan(loader: ModuleType, planned: Planned) -> None:
    """Rates, means and P95 of many drawn requests are the plan's; none is longer than the engine takes."""
    asked = asked_plan(loader)
    assert asked == json.loads(json.dumps(expected(planned.plan, planned.option)))
    assert asked["requests_per_s_per_replica"] * planned.option.performance.replicas == pytest.approx(
        planned.option.performance.peak_requests_per_s
    )
    requests = loader.requests_of(asked, 40_000, 5.0, 3)
    arrivals, inputs, outputs = (np.array(part, dtype=float) for part in zip(*requests, strict=True))
    assert np.diff(arrivals).mean() == pytest.approx(0.2, rel=0.03)
    for drawn, name in ((inputs, "input_tokens"), (outputs, "output_tokens")):
        assert drawn.mean() == pytest.approx(asked[name]["mean"], rel=0.03)
        assert np.quantile(drawn, 0.95) == pytest.approx(asked[name]["p95"], rel=0.05)
    assert (inputs + outputs).max() <= asked["longest_tokens"]


def test_a_service_as_fast_as_the_simulator_is_measured_so(
    loader: ModuleType, planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `load.py` measures on loopback is what the simulator says of such requests, and within the plan's bands."""
    path, service = measure(loader, planned, tmp_path, monkeypatch)
    asked = asked_plan(loader)
    assert len(service.asked) == REQUESTS
    assert {(body["model"], body["stream"], body["ignore_eos"]) for body in service.asked} == {
        (planned.plan.workload.model, True, True)
    }
    prompts = [body["prompt"] for body in service.asked]
    shared = [sum(a == b for a, b in zip(one, prompts[0], strict=False)) for one in prompts[1:]]
    assert min(shared) > 0
    measured = read_results(path, percentile=planned.plan.goals.percentile)
    assert (measured.completed, measured.replicas) == (REQUESTS, 1)
    mix = request_mix(planned.service)
    arrivals = poisson(mix, count=20_000, requests_per_s=asked["requests_per_s_per_replica"], seed=7)
    seen = simulate(planned.table, arrivals, workers=1, router=Router.LEAST_LOADED).steady()
    assert measured.median_time_per_token_s == pytest.approx(float(np.nanmedian(seen.time_per_token_s)), rel=0.15)
    assert measured.median_first_token_s == pytest.approx(float(np.nanmedian(seen.first_token_s)), rel=0.35)
    found = compare_serving(planned.plan, planned.option, measured, replicas=None)
    figures = {one.name: one for one in found.figures}
    assert figures["time_per_token"].verdict in ("within", "better")
    assert figures["first_token"].verdict in ("within", "better")
    assert figures["output_tokens_per_s"].measured == pytest.approx(figures["output_tokens_per_s"].planned, rel=0.2)
    assert found.notes == ()


def test_a_slower_service_is_reported_as_worse(
    loader: ModuleType, planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps 1.6 times as long are beyond the band of the time per token, and decode steps are to be fitted."""
    path, _ = measure(loader, planned, tmp_path, monkeypatch, slower=1.6)
    measured = read_results(path, percentile=planned.plan.goals.percentile)
    found = compare_serving(planned.plan, planned.option, measured, replicas=None)
    figures = {one.name: one for one in found.figures}
    assert figures["time_per_token"].verdict == "worse"
    assert "fit decode steps again" in figures["time_per_token"].because
    row = calibration_row(planned.plan, planned.option, found)
    rows = tmp_path / "measured.csv"
    rows.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    catalogue = load_catalogue()
    read = read_measurements(rows, catalogue, own={}, known=named.catalogued(catalogue))
    (one,) = read.rows
    assert one.accelerator.id == planned.option.cluster.accelerator
    assert one.gpus == planned.option.performance.layout.gpus


def written(folder: Path, planned: Planned, results: dict[str, Any]) -> list[str]:
    """Write a plan and results; return their paths."""
    (folder / "plan.json").write_text(dumps(planned.plan))
    (folder / "results.json").write_text(json.dumps(results))
    return [str(folder / "plan.json"), "--serving", str(folder / "results.json")]


def vllm_results(planned: Planned, **changed: object) -> dict[str, Any]:
    """Return results of `vllm bench serve` that the plan predicts."""
    served = planned.option.performance
    return {
        "completed": 1000,
        "num_prompts": 1000,
        "request_rate": served.peak_requests_per_s,
        "replicas": str(served.replicas),
        "output_throughput": served.output_tokens_per_s.value,
        "request_throughput": served.peak_requests_per_s,
        "p95_ttft_ms": served.first_token_s.value * 1e3,
        "p95_tpot_ms": served.time_per_token_s.value * 1e3,
    } | changed


def test_the_command_says_what_to_fit_again(planned: Planned, tmp_path: Path) -> None:
    """Within the bands nothing; beyond them the part of the prediction, and the commands that fit it."""
    told = CliRunner().invoke(app, ["actual", *written(tmp_path, planned, vllm_results(planned)), "--on", "aws"])
    assert told.exit_code == 0, told.output
    assert told.output.count("within") == 3
    assert "Fit again" not in told.output
    slow = vllm_results(planned, p95_ttft_ms=planned.option.performance.first_token_s.high * 1500)
    told = CliRunner().invoke(app, ["actual", *written(tmp_path, planned, slow), "--on", "aws"])
    assert "then fit prefill and first token again" in " ".join(told.output.split())
    assert "clusterwright calibrate measured.csv -o mine" in told.output
    as_json = CliRunner().invoke(app, ["actual", *written(tmp_path, planned, slow), "--on", "aws", "--json"])
    figures = {one["name"]: one for one in json.loads(as_json.output)["figures"]}
    assert (figures["first_token"]["verdict"], figures["time_per_token"]["verdict"]) == ("worse", "within")


def test_results_of_aiperf_are_read(planned: Planned, tmp_path: Path) -> None:
    """Their times have units of their own; how many replicas answered has to be said."""
    option = planned.option
    path = tmp_path / "profile_export_aiperf.json"
    path.write_text(
        json.dumps(
            {
                "request_count": {"unit": "requests", "avg": 1000},
                "request_throughput": {"avg": option.performance.peak_requests_per_s},
                "time_to_first_token": {"unit": "ms", "avg": 1, "p95": option.performance.first_token_s.value * 1e3},
                "inter_token_latency": {"unit": "ms", "avg": 1, "p95": option.performance.time_per_token_s.value * 1e3},
                "output_token_throughput": {"unit": "tokens/sec", "avg": option.performance.output_tokens_per_s.value},
            }
        )
    )
    measured = read_results(path, percentile=95)
    with pytest.raises(InputError, match="how many replicas"):
        compare_serving(planned.plan, option, measured, replicas=None)
    found = compare_serving(planned.plan, option, measured, replicas=option.performance.replicas)
    assert [one.verdict for one in found.figures] == ["within"] * 3


@pytest.mark.parametrize(
    ("results", "words", "said"),
    [
        ({}, ["--on", "aws"], "is of no load test that is known"),
        ([], ["--on", "aws"], "holds no object"),
        ({"completed": "many"}, ["--on", "aws"], "completed is 'many', no number"),
        ({"completed": float("nan")}, ["--on", "aws"], "no number"),
        ({"completed": -1}, ["--on", "aws"], "no number of at least 0"),
        ({"completed": 0, "replicas": 1}, ["--on", "aws"], "no request of the load test was answered"),
        ({"completed": 5}, ["--on", "aws"], "do not say how many replicas answered"),
        ({"completed": 5, "replicas": 1}, [], "which target was tested is not said"),
        ({"completed": 5, "replicas": 1}, ["--on", "mars"], "the plan has no target 'mars'"),
        ({"completed": 5}, ["--on", "aws", "--replicas", "0"], "greater than or equal to 1"),
    ],
)
def test_wrong_results_are_refused(
    planned: Planned, tmp_path: Path, results: dict[str, Any], words: list[str], said: str
) -> None:
    """With a sentence, exit code 2 and no traceback."""
    told = CliRunner().invoke(app, ["actual", *written(tmp_path, planned, results), *words])
    assert getattr(told.exception, "exit_code", told.exit_code) == 2
    assert said in f"{told.output} {told.exception}"


def test_a_load_of_another_size_is_noted(planned: Planned, tmp_path: Path) -> None:
    """Half the rate, failures, and few requests each stand beside the verdicts."""
    option = planned.option
    half = vllm_results(planned, request_rate=option.performance.peak_requests_per_s / 2, completed=90, num_prompts=100)
    written(tmp_path, planned, half)
    measured = read_results(tmp_path / "results.json", percentile=95)
    notes = " ".join(compare_serving(planned.plan, option, measured, replicas=None).notes)
    assert "times and tokens are of another load" in notes
    assert "10 of 100 requests failed" in notes
    assert "100 requests are few" in notes


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"completed": ' + "9" * 6000 + "}", "{"], ids=["deep", "digits", "cut"]
)
def test_results_that_python_cannot_read_are_bad_input(tmp_path: Path, text: str) -> None:
    """Deep nesting and whole numbers of thousands of digits are no bug of ours."""
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not JSON"):
        read_results(path, percentile=95)
