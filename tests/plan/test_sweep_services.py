"""A sweep of a service: every node type that was asked about, three answers first, the same sizes as the plan's."""

import json
from functools import cache
from pathlib import Path

import duckdb
import pytest

from clusterwright import assets
from clusterwright.cli.render.diff import plain_text
from clusterwright.cli.render.sweep_services import services_text
from clusterwright.cli.sweep import sweep
from clusterwright.diff.causes import Causes
from clusterwright.diff.differences import differences
from clusterwright.errors import InputError
from clusterwright.interface.sweeping import Request, Space, space_of
from clusterwright.outputs.drawing.sweep_chart import service_chart
from clusterwright.plan.serving.record import Outcome
from clusterwright.plan.text.money import USD
from clusterwright.sweep.records import NotSized
from clusterwright.sweep.services import SweptService, swept_services

from .test_hosted import _plan

_BLUEPRINT = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
_SOME = ("p5.48xlarge", "p5en.48xlarge", "g2-standard-96", "ct6e-standard-8t")


@cache
def _swept() -> tuple[Space, tuple[SweptService, ...], tuple[NotSized, ...]]:
    space = space_of(Request(sources=(_BLUEPRINT,), instances=_SOME))
    return space, *swept_services(space.questions)


def test_a_swept_node_type_has_the_size_of_the_plan() -> None:
    """Nodes, replicas, probability and the cash of a month are those of `plan` on the same instances."""
    _, points, _ = _swept()
    option = _plan().options[0]
    same = next(point for point in points if point.node_type == option.cluster.instance)
    assert (same.nodes, same.replicas, same.replica_gpus) == (
        option.cluster.nodes,
        option.performance.replicas,
        option.performance.layout.gpus,
    )
    assert same.probability == pytest.approx(option.performance.probability)
    assert same.tokens_per_s_per_gpu == pytest.approx(option.performance.tokens_per_s_per_gpu)
    assert same.month_usd == pytest.approx(option.money.run_usd, rel=0.01)
    assert same.rate_front == option.performance.rate_front


def test_three_answers_come_first_and_what_cannot_serve_is_stated() -> None:
    """The cheapest rented, the fastest and the smallest; a TPU without eight-bit floats has its reason."""
    space, points, missing = _swept()
    text = services_text(space.scenarios, points, missing, as_of=["2026-10-16"], every=False, money=USD)
    good = [point for point in points if point.outcome is Outcome.MET]
    cheapest = min(good, key=lambda point: point.month_usd or float("inf"))
    flat = " ".join(text.split())
    assert f"Cheapest to rent {cheapest.nodes} × {cheapest.node_type}" in flat
    assert f"Fewest GPUs {min(good, key=lambda point: point.gpus).nodes} ×" in flat
    assert "Fastest" in flat
    assert "cannot serve: ct6e-standard-8t" in flat
    assert {entry.node_type for entry in missing} == {"ct6e-standard-8t"}


def test_json_has_every_point_and_kinds_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    """The document has the points of the text; a service and a run in one sweep, or a table, are bad input."""
    request = Request(sources=(_BLUEPRINT,), instances=("p5.48xlarge",))
    held = {"jobs": None, "dask": None, "every": False, "parquet": None, "chart": None, "force": False, "quiet": True}
    assert sweep(request, as_json=True, **held) == 0  # type: ignore[arg-type]
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert point["outcome"] == "met"
    assert point["nodes"] > 0
    train = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
    with pytest.raises(InputError, match="not swept together"):
        sweep(Request(sources=(_BLUEPRINT, train), instances=("p5.48xlarge",)), as_json=True, **held)  # type: ignore[arg-type]


def test_table_and_chart_have_every_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parquet has a row for each node type with the figures of the points; the chart a line for each accelerator."""
    table, chart = tmp_path / "services.parquet", tmp_path / "services.svg"
    request = Request(sources=(_BLUEPRINT,), instances=("p5.48xlarge", "p5en.48xlarge", "ct6e-standard-8t"))
    held = {"jobs": None, "dask": None, "every": False, "force": False, "quiet": True}
    assert sweep(request, as_json=True, parquet=table, chart=chart, **held) == 0  # type: ignore[arg-type]
    points = json.loads(capsys.readouterr().out)["points"]
    rows = duckdb.read_parquet(str(table)).project(
        "node_type, nodes, month_usd, unbeaten, rate_front, not_sized_reason"
    )
    found = {row[0]: row[1:] for row in rows.fetchall()}
    assert set(found) == {"p5.48xlarge", "p5en.48xlarge", "ct6e-standard-8t"}
    for point in points:
        nodes, usd, unbeaten, front, reason = found[point["node_type"]]
        assert (nodes, usd, unbeaten, reason) == (point["nodes"], point["month_usd"], point["unbeaten"], None)
        assert json.loads(front) == point["rate_front"]
    assert "fp8" in found["ct6e-standard-8t"][-1]
    drawn = chart.read_text()
    assert "h100-sxm-80gb" in drawn
    assert "h200-sxm-141gb" in drawn
    with pytest.raises(InputError, match="exists"):
        sweep(request, as_json=True, parquet=table, chart=None, **held)  # type: ignore[arg-type]


def test_a_chart_without_points_is_refused() -> None:
    """Nothing that could be sized is nothing to draw."""
    with pytest.raises(InputError, match="nothing to draw"):
        service_chart(())


_EMBEDDING = """
name: search
workload: {kind: serve, model: qwen3-0.6b, task: embed}
traffic: {requests_per_s: 50, input_tokens: 200}
goals: {first_token: 300 ms}
targets: {aws: {instance: g6.xlarge, region: us-east-1}}
"""


def test_answers_of_one_pass_are_swept_without_rates_of_tokens(tmp_path: Path) -> None:
    """Embeddings have no token that follows another: the time to the answer stands alone, and no chart is drawn."""
    blueprint = tmp_path / "search.yaml"
    blueprint.write_text(_EMBEDDING)
    space = space_of(Request(sources=(blueprint,), instances=("g6.xlarge", "p5.48xlarge")))
    points, missing = swept_services(space.questions)
    assert {point.node_type for point in points} == {"g6.xlarge", "p5.48xlarge"}
    assert all(point.tokens_per_s_per_user is None and point.tokens_per_s_per_gpu is None for point in points)
    text = services_text(space.scenarios, points, missing, as_of=["2026-10-16"], every=True, money=USD)
    fastest = min(points, key=lambda point: point.first_token_s)
    assert f"Fastest 1 × {fastest.node_type}" in " ".join(text.split())
    assert "answer in" in text
    assert "tok/s" not in text
    with pytest.raises(InputError, match="one pass"):
        service_chart(points)


def test_tokens_of_an_accelerator_count_those_that_prefill(tmp_path: Path) -> None:
    """Two pools: the output of a swept node type is divided by the accelerators of both, as in the plan."""
    asked = "workload.options.disaggregated=always"
    space = space_of(Request(sources=(_BLUEPRINT,), instances=("p5.48xlarge",), set_values=(asked,)))
    ((point,), _) = swept_services(space.questions)
    option = _plan(asked, "targets.aws.allowed_instances=[p5.48xlarge]").options[0]
    assert option.performance.prefill_pool is not None
    assert point.tokens_per_s_per_gpu == pytest.approx(option.performance.tokens_per_s_per_gpu)


def test_a_difference_of_services_has_replicas_percentiles_and_token_prices() -> None:
    """Fewer users take fewer replicas; times at the percentile and dollars of tokens are compared beside them."""
    whole, half = _plan(), _plan("traffic.users=5300")
    found = differences(whole, half, ("whole", "half"))
    [aws] = [entry for entry in found.targets if entry.target == "aws"]
    changed = {change.name: change for change in aws.figures}
    assert changed["replicas"].before == whole.options[0].performance.replicas
    assert changed["replicas"].after == half.options[0].performance.replicas
    assert {"first_token_ms", "ms_per_token", "usd_per_million_output_tokens"} <= set(changed)
    text = plain_text(found, Causes(), whole.workload.unit, USD)
    assert "replicas: " in text
    assert " ms → " in text
    assert "a million output tokens: $" in text
