"""A blueprint of kind `serve` goes from traffic and goals to replicas, dollars and explanations."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load, load_values
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.measured.validate import calibrate
from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.errors import InputError, RuleError
from clusterwright.explain.explanation import find
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.serving.job import service_of
from clusterwright.plan.serving.record import Outcome, ServingOption, ServingPlan, serving_option, serving_plan
from clusterwright.plan.text.money import USD
from clusterwright.sizing.serving.arrivals.requests import poisson
from clusterwright.sizing.serving.calibration import load_calibration
from clusterwright.sizing.serving.replica_times import replica_columns, request_mix, scaled_work
from clusterwright.sizing.serving.search import search
from clusterwright.sizing.serving.simulation.fleet import Router, simulate
from clusterwright.sizing.serving.simulation.step_table import tabulated
from clusterwright.sizing.serving.step import step_s
from tests.opened import explanations

from .examples import shipped

_VALUES: dict[str, Any] = {
    "name": "chat",
    "workload": {"kind": "serve", "model": "llama-3.1-70b", "precision": "fp8"},
    "traffic": {
        "requests_per_s": 20,
        "input_tokens": {"mean": 1000, "p95": 3000},
        "output_tokens": {"mean": 300, "p95": 900},
        "peak_over_mean": 1.5,
    },
    "goals": {"first_token": "1 s", "time_per_token": "50 ms", "percentile": 95},
    "targets": {
        "aws": {"instance": "p5.48xlarge", "region": "us-east-1"},
        "onprem": {"system": "dgx-h100"},
    },
}


def _plan(*overrides: str) -> ServingPlan:
    blueprint = load_values(_VALUES, overrides, name="chat.yaml").blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return serving_plan(decide(blueprint, resolved, Facts.open()))


@cache
def _chat() -> ServingPlan:
    return _plan()


def _aws(plan: ServingPlan) -> ServingOption:
    option = plan.option("aws")
    assert option is not None
    return option


def test_a_month_of_service_is_rented_for_all_its_hours() -> None:
    """The unit of work is a month of 730 hours, as many as the horizon has, at full use."""
    plan = _chat()
    option = _aws(plan)
    assert option.performance.calendar_days * 24 == pytest.approx(730)
    assert (
        option.performance.calendar_days_low
        == option.performance.calendar_days_high
        == option.performance.calendar_days
    )
    assert option.money.runs_in_horizon == pytest.approx(36)
    assert plan.economics.utilisation == pytest.approx(1.0)
    assert option.money.run_usd is not None
    assert option.money.usd_per_gpu_hour is not None
    assert option.money.run_usd > option.money.usd_per_gpu_hour * option.cluster.gpus * 730 * 0.99


def test_capacity_that_ends_cannot_be_the_answer_of_a_service() -> None:
    """A capacity block lasts for 182 days at most: it is cheaper on paper, whatever a month of it costs."""
    block = _chat().alternative("aws/capacity_block")
    assert block is not None
    assert not block.ranked
    assert block.reason == "the service is always on, one capacity block lasts at most 182 days"


def test_nodes_hold_the_replicas_of_the_peak_and_the_spare_ones() -> None:
    """Accelerators are those of replicas, spare replicas and idle ones; the peak is 1.5 times the mean."""
    for option in _chat().options:
        whole = (option.performance.replicas + option.performance.spare_replicas) * option.performance.layout.gpus
        assert (
            whole + option.performance.idle_gpus
            == option.cluster.gpus
            == option.cluster.nodes * option.cluster.gpus_per_node
        )
        assert option.performance.peak_requests_per_s == pytest.approx(30)
        assert option.performance.mean_requests_per_s == pytest.approx(20)
        assert option.performance.replicas * option.performance.capacity_requests_per_s >= 30 * (1 - 1e-9)
        assert option.performance.meets_goal


def test_a_million_tokens_cost_the_month_over_its_tokens() -> None:
    """20 requests/s of 300 tokens are 15,768 million output tokens in 730 hours."""
    option = _aws(_chat())
    price = option.money.usd_per_million_tokens
    assert option.performance.output_tokens_per_month == pytest.approx(20 * 300 * 730 * 3600)
    assert option.money.run_usd is not None
    assert price.output == pytest.approx(option.money.run_usd / 15_768)
    assert price.blended == pytest.approx(option.money.run_usd / (15_768 * 1300 / 300))
    assert price.output_at_capacity is not None
    assert price.output is not None
    assert price.output_at_capacity < price.output / 1.4


def test_renting_a_spare_replica_more_is_never_cheaper() -> None:
    """Spare replicas and users add nodes or none."""
    few, many = _plan("replicas.spare=0"), _plan("replicas.spare=6")
    for one, other in zip(few.options, many.options, strict=True):
        assert one.cluster.nodes < other.cluster.nodes
        assert (one.performance.spare_replicas, other.performance.spare_replicas) == (0, 6)


def test_growth_sizes_for_the_end_of_the_horizon_and_costs_todays_tokens() -> None:
    """Traffic that doubles every year is eight times as much after three; a million of today's tokens cost more."""
    grown = _aws(_plan("traffic.growth=1.0"))
    assert grown.performance.peak_requests_per_s == pytest.approx(30 * 8, rel=1e-6)
    assert grown.performance.mean_requests_per_s == pytest.approx(20)
    assert (grown.money.usd_per_million_tokens.output or 0) > 2 * (
        _aws(_chat()).money.usd_per_million_tokens.output or 0
    )


def test_a_daily_curve_gives_its_peak() -> None:
    """One hour with 3 times the traffic of the 23 others is 72 / 26 of the mean."""
    curve = json.dumps([3.0] + [1.0] * 23)
    plan = _plan(f"traffic.daily_curve={curve}", "traffic.peak_over_mean=null")
    assert plan.workload.peak_over_mean == pytest.approx(72 / 26)


def test_active_users_are_requests_in_flight() -> None:
    """300 users of whom a tenth waits keep 30 requests in flight over all replicas (Little's law)."""
    plan = _plan(
        "traffic.requests_per_s=null", "traffic.users=300", "traffic.active_share=10 %", "traffic.peak_over_mean=1"
    )
    option = _aws(plan)
    assert option.performance.in_flight * option.performance.replicas == pytest.approx(30, rel=0.1)


def test_a_plan_of_a_service_is_read_back_as_it_was_written() -> None:
    """plan.json of a service gives the same record."""
    plan = _chat()
    assert loads(dumps(plan)) == plan


def test_answer_and_comparison_tell_replicas_latencies_and_dollars() -> None:
    """The text for a terminal has the numbers of the record, and calls the unit a month."""
    plan = _chat()
    text = plan_text(plan, Path("chat.yaml"), details=True, money=USD)
    option = _aws(plan)
    assert f"{option.performance.replicas} replicas and 1 spare" in text
    assert "per million output tokens" in " ".join(text.split())
    assert "known pair" in text
    assert "keys and values" in text
    assert "months in 36 months: the service is always on" in " ".join(text.split())
    assert "first token 1 s, per token 50 ms" in " ".join(text.split())
    assert "a month of service" in " ".join(text.split())
    assert "36 months" in comparison_text(plan, USD)


def test_a_day_is_kept_for_its_peak_and_worked_for_its_requests() -> None:
    """20 requests/s of a day over those of a replica are the hours worked; dollars follow the hours."""
    option = _aws(_chat())
    day, kept = option.performance.day, (option.performance.replicas + option.performance.spare_replicas) * 24
    assert day.kept_hours == pytest.approx(kept)
    assert day.worked_hours == pytest.approx(20 * 24 / option.performance.capacity_requests_per_s, rel=1e-6)
    assert day.worked_hours < day.following_hours <= day.kept_hours
    cost = option.money.replica_hours
    assert cost.kept_usd == option.money.run_usd
    assert cost.worked_usd == pytest.approx((option.money.run_usd or 0) * day.worked_hours / kept)
    assert sum(day.hourly_requests_per_s) / 24 == pytest.approx(20)
    assert day.hourly_requests_per_s.index(max(day.hourly_requests_per_s)) in (11, 12)
    assert 1 <= day.least_replicas <= day.most_replicas == option.performance.replicas
    weights = option.performance.replica_memory.weights * option.performance.layout.gpus
    assert day.start_lag_s == pytest.approx(weights / option.design.storage.read_bytes_per_s)


def test_a_curve_given_drives_the_hours() -> None:
    """One busy hour in 24 leaves most hours of the peak's replicas idle; owned nodes save nothing by letting go."""
    curve = json.dumps([10.0] + [1.0] * 23)
    plan = _plan(f"traffic.daily_curve={curve}", "traffic.peak_over_mean=null", "traffic.requests_per_s=100")
    day = _aws(plan).performance.day
    assert day.hourly_requests_per_s[0] == pytest.approx(10 * day.hourly_requests_per_s[1], rel=1e-6)
    assert day.worked_hours < 0.3 * day.kept_hours
    owned = plan.option("onprem")
    assert owned is not None
    assert serving_option(owned).money.replica_hours.following_usd is None


def test_the_front_of_rates_is_one_and_holds_what_is_planned() -> None:
    """Fewer tokens for a user come with more of an accelerator, and no replica of the plan lies beyond the front."""
    for option in _chat().options:
        users = [point.tokens_per_s_per_user for point in option.performance.rate_front]
        gpus = [point.tokens_per_s_per_gpu for point in option.performance.rate_front]
        assert len(users) > 3
        assert users == sorted(users, reverse=True)
        assert gpus == sorted(gpus)
        beyond = [
            gpu
            for user, gpu in zip(users, gpus, strict=True)
            if user >= 0.98 * option.performance.output_tokens_per_s_per_user
        ]
        assert option.performance.tokens_per_s_per_gpu <= 1.3 * max(beyond, default=np.inf)
        # A user alone on the largest replica gets the inverse of its time per token, which no bound forbids.
        assert users[0] < 1 / min(other.performance.time_per_token_bound_s for other in _chat().options) * 8


def _traced(folder: Path, lines: list[str]) -> ServingPlan:
    (folder / "trace.csv").write_text("arrival_s,input_tokens,output_tokens\n" + "\n".join(lines) + "\n")
    traffic = {"trace": str(folder / "trace.csv"), "peak_over_mean": 1.5}
    values = {**_VALUES, "traffic": traffic, "targets": {"aws": _VALUES["targets"]["aws"]}}
    blueprint = load_values(values, (f"traffic.trace={folder / 'trace.csv'}",), name="chat.yaml").blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return serving_plan(decide(blueprint, resolved, Facts.open()))


def test_a_trace_is_the_distribution_and_the_rate(tmp_path: Path) -> None:
    """Requests of 1,000 and 3,000 tokens in turn, ten a second, have that mean, P95, rate, and no log-normal tail."""
    lines = [f"{number / 10},{1000 if number % 2 else 3000},{200}" for number in range(5001)]
    plan = _traced(tmp_path, lines)
    work, option = plan.workload, _aws(plan)
    assert work.requests_per_s == pytest.approx(10)
    assert work.input_tokens == pytest.approx(2000, rel=1e-3)
    assert (work.input_tokens_p95, work.output_tokens, work.output_tokens_p95) == (3000, 200, 200)
    assert option.performance.mean_requests_per_s == pytest.approx(10)
    assert option.performance.peak_requests_per_s == pytest.approx(15)


@pytest.mark.parametrize(
    ("lines", "identity"),
    [
        (["5,10,3", "4,10,3"], "TRACE002"),
        (["1,10,0"], "TRACE003"),
        (["1,ten,3"], "TRACE001"),
        ([], "TRACE006"),
        (["1,10,3", "1,10,3"], "TRACE007"),
    ],
)
def test_a_trace_that_is_none_is_refused_at_its_key(tmp_path: Path, lines: list[str], identity: str) -> None:
    """Unsorted times, impossible lengths, no requests and no rate have an id, a place and a fix."""
    with pytest.raises(InputError, match=identity) as held:
        _traced(tmp_path, lines)
    assert held.value.path == ("traffic", "trace")
    assert held.value.help


@pytest.mark.parametrize(
    ("overrides", "place"),
    [
        (("traffic.trace=x.csv",), ("traffic", "input_tokens")),
        (("traffic.input_tokens=null",), ("traffic",)),
    ],
)
def test_lengths_are_stated_once(overrides: tuple[str, ...], place: tuple[str, ...]) -> None:
    """A trace beside lengths, and neither of them, are mistakes at their place."""
    with pytest.raises(BlueprintError) as held:
        load_values(_VALUES, overrides, name="chat.yaml")
    assert {problem.path for problem in held.value.problems} == {place}


def test_every_number_of_a_service_is_explained() -> None:
    """Each explanation's last equation has the number that the plan has."""
    plan = _chat()
    option = _aws(plan)
    known = explanations(plan, "aws")
    for number in (
        "weights",
        "kv_cache",
        "batch",
        "first_token",
        "time_per_token",
        "time_per_token_bound",
        "peak_requests_per_s",
        "replicas",
        "goals_met",
        "nodes",
        "replica_hours",
        "usd_per_million_output_tokens",
        "usd_per_million_tokens",
        "run_usd",
        "usd_per_million_output_tokens_at_capacity",
        "output_tokens_per_s",
    ):
        assert find(known, number).equation
    made = find(known, "output_tokens_per_s")
    performance = option.performance
    assert made.equation[-1].endswith(f"= {performance.output_tokens_per_s.value:,.6g}")
    shares = {one.name: float(one.value.replace(",", "")) for one in made.inputs if one.name.startswith("of ")}
    assert shares["of an accelerator"] == pytest.approx(performance.tokens_per_s_per_gpu, rel=1e-3)
    assert shares["of a watt"] == pytest.approx(performance.tokens_per_joule, rel=1e-2)
    # Tokens of a dollar are those of an hour over what an hour of the month costs: 3,600 s, 730 h.
    paid = option.money.run_cost_usd or 0.0
    assert shares["of 1 USD an hour"] == pytest.approx(
        performance.output_tokens_per_s.value / (paid / (performance.calendar_days * 24)), rel=1e-3
    )
    assert find(known, "nodes").equation[-1].endswith(f"= {option.cluster.nodes}")
    assert find(known, "replicas").equation[-1].endswith(f"⌉ = {option.performance.replicas}")
    step = option.performance.decode_step
    assert find(known, "decode_step").equation[-1].endswith(f"= {step.total * 1e3:,.3f} ms")
    parts = (step.products, step.cache, step.network, step.overhead)
    assert sum(parts) * step.factor == pytest.approx(step.total, rel=1e-12)
    assert max(step.compute, step.weights) <= step.products <= 1.26 * max(step.compute, step.weights)


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("traffic={users: 900, active_share: 20 %, input_tokens: 1000, output_tokens: 200}",),
        ("traffic.growth=30 %", "traffic.peak_over_mean=3", "workload.options.max_sequences=8"),
        ("workload.options.disaggregated=always",),
        ("goals.time_per_token=2 ms", "targets.onprem=null"),
    ],
)
def test_what_is_recorded_is_what_the_plan_holds(overrides: tuple[str, ...]) -> None:
    """A formula that sized gives the plan's number again from the plan's own inputs."""
    plan = _plan(*overrides)
    names = [one.name for known in explanations(plan, "aws") for one in known.inputs]
    assert "differs from the plan" not in names


def test_a_changed_plan_differs_from_its_formula() -> None:
    """An explanation says where a number is not what its inputs give."""
    plan = _chat()
    option = _aws(plan)
    performance = replace(option.performance, peak_requests_per_s=2 * option.performance.peak_requests_per_s)
    options = tuple(replace(one, performance=performance) if one is option else one for one in plan.options)
    found = find(explanations(replace(plan, options=options), "aws"), "peak_requests_per_s")
    assert "differs from the plan" in [one.name for one in found.inputs]


def test_a_replaced_formula_is_what_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that sizes is the one that explains: another one changes both."""

    def twice(**parts: float) -> float:
        return 2.0 * (parts["products_s"] + parts["cache_s"] + parts["network_s"] + parts["overhead_s"])

    before = _aws(_chat()).performance.decode_step
    monkeypatch.setattr(step_s, "function", twice)
    plan = _plan("workload.options.max_sequences=64")
    after = _aws(plan).performance.decode_step
    assert after.total == pytest.approx(2.0 * (after.products + after.cache + after.network + after.overhead))
    assert after.total != before.total
    assert find(explanations(plan, "aws"), "decode_step").equation[-1].endswith(f"= {after.total * 1e3:,.3f} ms")


def test_pools_slices_chats_and_one_pass_are_explained() -> None:
    """What only some services have is explained with the plan's own numbers, and what they lack is not."""
    apart = _plan("workload.options.disaggregated=always")
    option, known = _aws(apart), explanations(apart, "aws")
    pool = option.performance.prefill_pool
    assert pool is not None
    assert find(known, "prefill_pool").equation[-1].endswith(f"⌉ = {pool.workers}")
    assert find(known, "nodes").equation[-1].endswith(f"= {option.cluster.nodes}")
    price = option.money.usd_per_million_tokens
    assert price.input_by_time is not None
    assert price.output_by_time is not None
    inputs, outputs = option.performance.input_tokens_per_month, option.performance.output_tokens_per_month
    assert price.input_by_time * inputs + price.output_by_time * outputs == pytest.approx((price.output or 0) * outputs)
    for number, value in (
        ("usd_per_million_input_tokens_by_time", price.input_by_time),
        ("usd_per_million_output_tokens_by_time", price.output_by_time),
    ):
        assert float(find(known, number).equation[-1].rpartition(" = ")[2].split()[0]) == pytest.approx(value, abs=1e-4)

    small = _plan("workload.model=llama-3.2-3b", "workload.options={mig_slices: true}", "traffic.requests_per_s=2")
    option = _aws(small)
    assert option.performance.layout.slice
    assert find(explanations(small, "aws"), "nodes").equation[-1].endswith(f"= {option.cluster.nodes}")

    chats = _plan("traffic.sessions={turns: 4, pause: 60 s}", "workload.options={offload: {cache: 50 GB}}")
    found = find(explanations(chats, "aws"), "reused_input")
    assert any(entry.value == "50 GB an accelerator" for entry in found.inputs)
    shares = [float(part.split(" %")[0].split()[-1]) for part in found.equation[-1].split(" %")[:-1]]
    assert shares[0] + shares[1] == pytest.approx(shares[2], abs=0.02)

    passes = _plan(
        "workload={kind: serve, task: embed, model: qwen3-8b}",
        "traffic.output_tokens=null",
        "goals.time_per_token=null",
        "traffic.input_tokens={mean: 500, p95: 1000}",
    )
    known = explanations(passes, "aws")
    assert "one pass over the input" in find(known, "first_token").title
    names = {entry.number for entry in known}
    assert not {"time_per_token", "prefill_pool", "reused_input", "usd_per_million_output_tokens"} & names
    assert "usd_per_million_tokens" in names


def test_the_explanation_of_a_day_has_the_autoscaler_of_the_blueprint() -> None:
    """Cool-down, warm-up and availability are those that are asked for."""
    plan = _plan("replicas={availability: 0.999, autoscaling: {cool_down: 90 s, warm_up: 2 minutes}}")
    known = explanations(plan, "aws")
    assert any("90 s" in entry.value for entry in find(known, "replica_hours").inputs)
    assert any("warm-up of 120 s" in entry.source for entry in find(known, "replica_hours").inputs)
    assert any("99.9 %" in entry.source for entry in find(known, "replicas").inputs)


@pytest.mark.parametrize(
    ("overrides", "identity", "place", "said"),
    [
        (("goals.time_per_token=1 ms",), "SRV012", ("goals", "time_per_token"), "below the bound"),
        (("goals.time_per_token=8 ms", "workload.precision=bf16"), "SRV013", ("goals", "time_per_token"), "nearest"),
        (("goals.first_token=30 ms",), "SRV014", ("goals", "first_token"), "nearest layout"),
        (("goals.first_token=1 ms",), "SRV012", ("goals", "first_token"), "compute an input"),
    ],
)
def test_goals_that_no_layout_meets_say_the_bound_or_the_nearest(
    overrides: tuple[str, ...], identity: str, place: tuple[str, ...], said: str
) -> None:
    """A missed goal is a finding at its key, with the value that would be met."""
    plan = _plan(*overrides)
    found = [finding for finding in plan.findings if finding.id == identity]
    assert found
    assert all(finding.path == place and said in finding.message and "set goals." in finding.help for finding in found)
    assert not any(option.performance.meets_goal for option in plan.options)


def test_a_model_that_does_not_fit_names_the_smallest_that_does() -> None:
    """405B in 16 bits takes more than one node of eight 80 GB; held to one accelerator, the layout is named."""
    with pytest.raises(RuleError) as held:
        _plan(
            "workload.model=llama-3.1-405b",
            "workload.precision=bf16",
            "workload.parallelism.tensor=8",
            "workload.parallelism.pipeline=1",
        )
    (finding, *_) = held.value.findings
    assert finding.id == "SRV010"
    assert "16 × NVIDIA H100" in (finding.help or "")


def test_nodes_of_one_accelerator_serve_without_a_fabric() -> None:
    """An 8B model takes L40S nodes of one card each, a replica on each; 70B in 16 bits says why it cannot."""
    one = ("targets.aws={region: us-east-1, instance: g6e.xlarge}", "targets.onprem=null", "workload.precision=bf16")
    (option,) = _plan(*one, "workload.model=llama-3.1-8b").options
    assert option.performance.layout.gpus == option.cluster.gpus_per_node == 1
    assert option.cluster.nodes == option.performance.replicas + option.performance.spare_replicas
    with pytest.raises(RuleError) as held:
        _plan(*one, "workload.model=llama-3.1-70b")
    (finding,) = held.value.findings
    assert finding.id == "SRV010"
    assert "no bandwidth between several g6e.xlarge is known" in (finding.help or "")


def test_too_few_nodes_for_the_peak_say_how_many_it_needs() -> None:
    """One node does not hold what the peak needs."""
    with pytest.raises(RuleError) as held:
        _plan("targets.aws.max_nodes=1", "targets.onprem=null", "traffic.requests_per_s=200")
    assert [finding.id for finding in held.value.findings] == ["SRV011"]
    assert held.value.findings[0].path == ("targets", "aws", "max_nodes")


_UNKNOWN = "workload.framework=an engine nobody measured"


@pytest.mark.parametrize(("model", "said"), [("llama-3-70b", {"SRV027"}), ("deepseek-v3", set())])
def test_drafts_of_heads_that_a_model_does_not_have_are_warned_of(model: str, said: set[str]) -> None:
    """DeepSeek-V3 was trained with a layer that predicts a further token, Llama 3 without."""
    plan = _plan(f"workload.model={model}", "workload.precision=fp8", "workload.options.speculative=mtp")
    assert {warning.id for warning in plan.warnings} & {"SRV027"} == said


def test_an_unknown_framework_is_taken_with_a_warning_and_a_wider_band() -> None:
    """A name without measurements widens the band and says so."""
    other = _plan("workload.framework=my-engine", "workload.parallelism.tensor=8")
    known = _plan("workload.parallelism.tensor=8")
    assert {warning.id for warning in other.warnings if warning.id.startswith("SRV")} == {"SRV020", "SRV022"}
    wide, narrow = _aws(other).performance.time_per_token_s, _aws(known).performance.time_per_token_s
    assert wide.high / wide.low > narrow.high / narrow.low


def test_a_costly_confidence_that_nobody_asked_for_gives_way_to_even_odds() -> None:
    """With an unknown framework the plan is that of even odds; header, answer, option and SRV022 name the 90 %."""
    slow = "goals.first_token=2 s"
    unset, even = _plan(_UNKNOWN, slow), _plan(_UNKNOWN, slow, "goals.confidence=0.5")
    sure = _aws(_plan(_UNKNOWN, slow, "goals.confidence=0.9"))
    option = _aws(unset)
    assert (option.cluster.nodes, option.performance.replicas) == (
        _aws(even).cluster.nodes,
        _aws(even).performance.replicas,
    )
    assert (option.performance.confidence, option.performance.sure_nodes, option.performance.even_odds_nodes) == (
        0.5,
        sure.cluster.nodes,
        option.cluster.nodes,
    )
    assert option.performance.meets_goal
    text = " ".join(plan_text(unset, Path("chat.yaml"), money=USD).split())
    assert "at P95, even odds: the prediction is too uncertain for 90 % confidence" in text
    answer = text.split(" One month ")[1].split(" Ranked ")[0]
    assert "even odds: the prediction is uncertain, 90 % confidence would take" in answer
    assert "load-test one replica first" in answer
    (warning,) = (one for one in unset.warnings if one.id == "SRV022" and one.message.startswith("aws"))
    assert f"{option.cluster.nodes:,} nodes; 90 % would take {sure.cluster.nodes:,}" in warning.message


def test_a_confidence_that_is_set_is_obeyed_whatever_it_costs() -> None:
    """The 90 % that the blueprint asks for takes over 1.5 times the nodes of even odds, and SRV022 says so."""
    wide = _plan(_UNKNOWN, "goals.first_token=2 s", "goals.confidence=0.9")
    by_target = {
        target: finding
        for finding in wide.warnings
        if finding.id == "SRV022"
        for target in finding.message.split(":")[0].split(", ")
    }
    nodes = int(re.search(r"even odds ([\d,]+):", by_target["aws"].message)[1])  # type: ignore[index]
    even = _plan(_UNKNOWN, "goals.first_token=2 s", "goals.confidence=0.5")
    assert _aws(even).cluster.nodes == nodes
    assert _aws(wide).cluster.nodes > 1.5 * nodes
    assert _aws(wide).performance.confidence == 0.9
    assert not [finding for finding in even.warnings if finding.id == "SRV022"]


def test_where_it_costs_little_the_usual_confidence_holds() -> None:
    """Of a measured pair the default is the plan of 90 %, with at least that probability."""
    for option, asked in zip(_chat().options, _plan("goals.confidence=0.9").options, strict=True):
        assert option.cluster.nodes == asked.cluster.nodes
        assert option.performance.confidence == 0.9
        assert option.performance.probability >= 0.9
        assert (
            option.cluster.nodes < 1.5 * (option.performance.even_odds_nodes or 0)
            or option.cluster.nodes - (option.performance.even_odds_nodes or 0) <= 1
        )


def test_what_only_the_favourable_end_of_the_band_meets_is_uncertain() -> None:
    """As the goal tightens a target is met, then uncertain (SRV015), and not possible only beyond the band's end."""
    seen = []
    for milliseconds in (60, 24, 18, 14, 10, 7, 5, 3):
        plan = _plan(f"goals.time_per_token={milliseconds} ms", "workload.precision=bf16", "workload.framework=tgi")
        option = _aws(plan)
        seen.append(option.performance.outcome)
        identities = {finding.id for finding in plan.findings if finding.message.startswith("aws")}
        if option.performance.outcome is Outcome.MET:
            assert not identities
        elif option.performance.outcome is Outcome.UNCERTAIN:
            assert identities == {"SRV015"}
            assert 0.05 < option.performance.probability < 0.5
            assert not option.performance.meets_goal
            text = " ".join(plan_text(plan, Path("chat.yaml"), money=USD).split())
            assert "not possible" not in text.split(" Service ")[0]
            assert "uncertain: no layout reaches 90 % confidence" in text
        else:
            assert identities <= {"SRV012", "SRV013", "SRV014"}
            assert identities
            assert option.performance.probability < 0.1
    assert set(seen) == set(Outcome)
    assert seen == sorted(seen, key=list(Outcome).index)


@pytest.mark.parametrize("milliseconds", [140, 110, 80])
def test_what_only_the_favourable_end_meets_has_replicas_for_the_whole_load(milliseconds: int) -> None:
    """The first token of an uncertain option is within the goal at the favourable end: queues do not grow."""
    performance = _aws(_plan(f"goals.first_token={milliseconds} ms", "workload.framework=tgi")).performance
    assert performance.outcome is Outcome.UNCERTAIN
    assert performance.first_token_s.at(0.1) * 1e3 <= milliseconds


def test_goals_that_leave_a_replica_one_request_say_what_looser_ones_take() -> None:
    """A first token near that of a single request takes many nodes; SRV023 has those of a quarter more."""
    tight = "goals.first_token=340 ms"
    plan = _plan(
        tight,
        "goals.confidence=0.5",
        "traffic.requests_per_s=200",
        "workload.parallelism.tensor=2",
        "workload.framework=trtllm",
    )
    (warning,) = (one for one in plan.warnings if one.id == "SRV023" and one.message.startswith("aws"))
    looser = _plan(
        "goals.first_token=425 ms",
        "goals.time_per_token=62.5 ms",
        "goals.confidence=0.5",
        "traffic.requests_per_s=200",
        "workload.parallelism.tensor=2",
        "workload.framework=trtllm",
    )
    assert f"{_aws(plan).cluster.nodes:,} nodes, and {_aws(looser).cluster.nodes:,} were" in warning.message
    assert 2 * _aws(looser).cluster.nodes <= _aws(plan).cluster.nodes


def test_the_probability_of_an_option_is_printed_explained_and_in_the_plan() -> None:
    """JSON, the table of the answer, the details of the service and `explain goals_met` have one number."""
    plan = _chat()
    option = _aws(plan)
    said = f"{option.performance.probability * 100:.0f} %"
    assert json.loads(dumps(plan))["options"][0]["performance"]["probability"] == option.performance.probability
    assert ("goals met", said) in option.key_figures
    for details in (False, True):
        text = " ".join(plan_text(plan, Path("chat.yaml"), details=details, money=USD).split())
        assert f"{said} probable that the goals are met" in text
    assert find(explanations(plan, "aws"), "goals_met").value == said


def test_a_service_without_a_price_on_demand_has_its_answer_for_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commitment is priced where a month on demand is not: the answer is that, and each cell has its title."""
    blueprint = load_values(
        {
            "name": "chat",
            "workload": {"kind": "serve", "model": "qwen3-32b", "framework": "sglang"},
            "traffic": {"users": 2000, "think_time": "45 s", "input_tokens": 800, "output_tokens": 250},
            "targets": {"gcp": {"instance": "a4-highgpu-8g", "region": "us-central1"}},
            "economics": {"as_of": "2026-10-16"},
        },
        name="chat.yaml",
    ).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    plan = serving_plan(decide(blueprint, resolved, Facts.open()))
    way = plan.alternative(plan.recommended_horizon_key)
    assert plan.options[0].money.run_cost_usd is None
    assert not plan.recommended_key
    assert way is not None
    planned = plan.planned(way.key)
    assert planned is not None
    assert "$/M out" not in dict(plan.options[0].key_figures)
    monkeypatch.setenv("COLUMNS", "300")
    first = plan_text(plan, Path("chat.yaml"), money=USD).splitlines()
    assert first[2].endswith("no way that is paid by the month has all its prices on 2026-10-16")
    assert first[3].split()[:2] == ["36", "months"]
    assert USD.text(way.money.npv_usd) in first[3]
    titles, row = next(pair for pair in pairwise(first) if pair[0].startswith("  Ranked"))
    for title, cell in {
        "$/M out": dict(planned.key_figures)["$/M out"],
        "NPV": USD.text(way.money.npv_usd),
        "USD/GPU-h": f"{way.money.usd_per_gpu_hour:.2f}",
        "priced": f"{way.money.priced_share:.0%}".replace("%", " %"),
    }.items():
        assert row[: titles.index(title) + len(title)].endswith(cell), title
    assert row.endswith("◀ horizon")
    whole = " ".join(plan_text(plan, Path("chat.yaml"), details=True, money=USD).split())
    assert "for a month of service: no way that is paid by the month" in whole
    assert f"{USD.text(way.money.npv_usd)} (" in whole


def test_rows_of_a_framework_of_ones_own_change_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighteen measured loads of LMDeploy make it a known framework: narrower bands, no SRV020, other latencies."""
    held = ("workload.framework=LMDeploy 0.7", "targets.aws.instance=p5en.48xlarge")
    before = _plan(*held)
    header = (
        "id,source,model,params_b,layers,hidden,heads,kv_heads,head_dim,ffn_hidden,vocab,gpu,n_gpus,tp,pp,ep,"
        "precision_weights,precision_kv,engine,isl,osl,concurrency_or_batch,measured_kind,measured_value"
    )
    rows = [
        f"X{gpus}-{load}-{kind},own,Llama-3.1-70B,70.554,80,8192,64,8,128,28672,128256,H200,{gpus},{gpus},1,,FP8,FP8,"
        f"LMDeploy 0.7,1000,300,{load},{kind},{value:.4g}"
        for gpus, faster in ((2, 1.0), (4, 1.8), (8, 3.0))
        for load, rate in ((8, 380.0), (32, 1100.0), (128, 2400.0))
        for kind, value in (("output_tok_per_s_total", rate * faster), ("tpot_ms", 1e3 * load / (rate * faster)))
    ]
    table = tmp_path / "own.csv"
    table.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    assert calibrate([table], tmp_path / "mine", anew=False) == 0
    monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", str(tmp_path / "mine"))
    after = _plan(*held)
    assert "SRV020" in {warning.id for warning in before.warnings}
    assert "SRV020" not in {warning.id for warning in after.warnings}
    wide, narrow = _aws(before).performance.time_per_token_s, _aws(after).performance.time_per_token_s
    assert narrow.high / narrow.low < 0.8 * wide.high / wide.low
    assert _aws(after).performance.probability > _aws(before).performance.probability
    assert narrow.value != wide.value


def test_a_service_that_misses_its_goals_finishes_nothing() -> None:
    """The answer of a service without one speaks of goals, not of finishing in time."""
    text = plan_text(_plan("goals.time_per_token=1 ms"), Path("chat.yaml"), money=USD)
    assert "no target meets the goals" in text
    assert "finish" not in text


def test_a_failed_rule_is_named_once_beside_the_answer() -> None:
    """The block names each rule with its condition; the figures of every target are reported once, with the errors."""
    plan = _plan("goals.time_per_token=8 ms", "workload.precision=bf16")
    failed = Counter(finding.id for finding in plan.findings)
    assert failed["SRV013"]
    text = " ".join(plan_text(plan, Path("chat.yaml"), money=USD).split())
    for name, times in failed.items():
        assert text.count(f"[{name}]") == 1
        assert (f"({times} times)" in text) == (times > 1)
    assert not [finding for finding in plan.findings if finding.message in text]
    assert "[SRV013] No layout reaches the time per token, even at the favourable end of the band." in text


def test_a_plan_of_training_is_no_service() -> None:
    """What only services have is refused for other kinds."""
    assert serving_option(_aws(_chat())).performance.replicas > 0
    with pytest.raises(InputError, match="workloads of kind train do not serve"):
        serving_plan(shipped())


@pytest.mark.parametrize("name", ["serve-llama3-70b", "serve-gpt-oss-120b"])
def test_times_per_token_at_a_percentile_are_those_of_simulated_requests(name: str) -> None:
    """One replica with its share of the peak as Poisson arrivals sees the plan's time per token within 15 %."""
    blueprint = load(assets.root() / "blueprints" / f"{name}.yaml").blueprint
    facts = Facts.open()
    resolved = resolve(blueprint, facts.catalogue)
    assert isinstance(resolved, Resolved), resolved
    service, calibration = service_of(blueprint, resolved), load_calibration()
    node = resolved.targets[0].node
    size = search(service, [node], calibration)[node.id][0]
    own = replica_columns(service, node, size.layout, calibration, in_flight=size.in_flight)
    mix = request_mix(service)
    table = tabulated(
        own.model,
        own.device,
        own.place,
        scaled_work(own.factors, own.token_scale),
        longest_tokens=int(mix.inputs.longest + mix.outputs.longest) + 2,
        most_sequences=1024,
    )
    arrivals = poisson(mix, count=20_000, requests_per_s=size.requests_per_s / size.replicas, seed=20261123)
    seen = simulate(table, arrivals, workers=1, router=Router.LEAST_LOADED).steady()
    late = float(np.nanquantile(seen.time_per_token_s, service.goals.percentile))
    assert size.time_per_token_s.value == pytest.approx(late, rel=0.15)
    assert size.mean_time_per_token_s == pytest.approx(float(np.nanmean(seen.time_per_token_s)), rel=0.15)
