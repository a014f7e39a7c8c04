"""What a blueprint of a service may not say: each mistake has its place and what to do."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.reading.problems import BlueprintError, Problem, dotted
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.workloads.traffic import Traffic, with_lengths_in_full
from clusterwright.catalog.load import load as load_catalogue

_CATALOGUE = load_catalogue()
_LENGTHS = {"input_tokens": {"mean": 1000, "p95": 3000}, "output_tokens": {"mean": 300, "p95": 900}}
_SERVE: dict[str, Any] = {
    "name": "chat",
    "workload": {"kind": "serve", "model": "llama-3.1-70b"},
    "traffic": {"requests_per_s": 20, **_LENGTHS},
    "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1"}},
}
_TRAIN: dict[str, Any] = {
    "name": "run",
    "workload": {
        "kind": "train",
        "model": "llama-2-7b",
        "tokens": "1e9",
        "sequence_length": 4096,
        "global_batch": 64,
    },
    "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1"}},
}


def _problems(values: dict[str, Any], **sections: Any) -> tuple[Problem, ...]:  # noqa: ANN401 - YAML holds anything
    changed = copy.deepcopy(values)
    for name, section in sections.items():
        if isinstance(section, dict) and isinstance(changed.get(name), dict):
            changed[name] = {**changed[name], **section}
        else:
            changed[name] = section
    try:
        blueprint = load_values(changed, (), name="x").blueprint
    except BlueprintError as error:
        return error.problems
    found = resolve(blueprint, _CATALOGUE)
    return found if isinstance(found, tuple) else ()


def test_a_service_that_says_nothing_wrong_has_no_problems() -> None:
    """The blueprint that the others spoil is fine."""
    assert _problems(_SERVE) == ()


@pytest.mark.parametrize("tokens", [1000, 1000.0, "1e3", "1,000"])
def test_one_number_stands_for_lengths_that_are_all_alike(tokens: object) -> None:
    """A number alone is the mean and the P95 of the lengths."""
    traffic = {"requests_per_s": 20, "input_tokens": tokens, "output_tokens": 300, "reasoning_tokens": 50}
    found = Traffic.model_validate(traffic)
    in_full = {key: {"mean": value, "p95": value} for key, value in traffic.items() if key != "requests_per_s"}
    assert found == Traffic.model_validate({"requests_per_s": 20, **in_full})
    assert with_lengths_in_full(traffic) == {"requests_per_s": 20, **in_full}
    assert _problems(_SERVE, traffic={"input_tokens": tokens}) == ()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [("many", "'many' is not a count"), (0, "greater than or equal to 1"), (True, "keys of its own"), ([3], "keys of")],
)
def test_a_number_that_is_no_length_is_refused_once(tokens: object, said: str) -> None:
    """What stands for two values is wrong once."""
    (problem,) = _problems(_SERVE, traffic={"input_tokens": tokens})
    assert dotted(problem.path).startswith("traffic.input_tokens")
    assert said in problem.message


@pytest.mark.parametrize(
    ("traffic", "place", "said"),
    [
        ({"users": 100, "requests_per_s": None}, "traffic.users", "without active_share or think_time"),
        (
            {"users": 100, "requests_per_s": None, "think_time": "60 s", "active_share": 0.1},
            "traffic.think_time",
            "both say how often",
        ),
        ({"users": 100, "think_time": "60 s"}, "traffic.users", "requests_per_s and users both"),
        ({"requests_per_s": None}, "traffic", "nothing says how much is asked"),
        ({"think_time": "60 s"}, "traffic.think_time", "are of users"),
        ({"requests_per_s": -1}, "traffic.requests_per_s", "greater than 0"),
        ({"requests_per_s": 0}, "traffic.requests_per_s", "greater than 0"),
        ({"input_tokens": {"mean": 1000, "p95": 500}}, "traffic.input_tokens.p95", "below the mean"),
        ({"output_tokens": {"mean": 100, "p95": 5000}}, "traffic.output_tokens.p95", "at most 386"),
        ({"output_tokens": {"mean": 0, "p95": 0}}, "traffic.output_tokens.mean", "greater than or equal to 1"),
        ({"output_tokens": {}}, "traffic.output_tokens.mean", "is missing"),
        ({"prefix_cache_hit": 1.0}, "traffic.prefix_cache_hit", "less than or equal to 0.99"),
        ({"daily_curve": [1.0] * 23}, "traffic.daily_curve", "at least 24"),
        ({"daily_curve": [0.0] * 24}, "traffic.daily_curve", "every hour is 0"),
        ({"daily_curve": [1.0] * 24, "peak_over_mean": 2.0}, "traffic.peak_over_mean", "both say how high"),
        ({"peak_over_mean": 0.5}, "traffic.peak_over_mean", "greater than or equal to 1"),
        ({"growth": -0.1}, "traffic.growth", "greater than or equal to 0"),
    ],
)
def test_impossible_traffic_is_reported_at_its_key(traffic: dict[str, Any], place: str, said: str) -> None:
    """Users without behaviour, negative rates, empty and impossible distributions."""
    found = _problems(_SERVE, traffic=traffic)
    assert any(dotted(problem.path) == place and said in problem.message for problem in found), found
    assert all(problem.help for problem in found)


@pytest.mark.parametrize("percentile", [-5.0, 0.0, 100.0, 120.0])
def test_a_percentile_is_between_nothing_and_everything(percentile: float) -> None:
    """Percentiles outside 0 to 100, and both ends, are refused at their key."""
    (problem,) = _problems(_SERVE, goals={"percentile": percentile})
    assert dotted(problem.path) == "goals.percentile"
    assert problem.help


@pytest.mark.parametrize(
    ("values", "sections", "place"),
    [
        (_SERVE, {"goals": {"finish_within": "30 days"}}, "goals.finish_within"),
        (_SERVE, {"reliability": {"spare_nodes": 1}}, "reliability"),
        (_SERVE, {"data": {"staging": "none"}}, "data"),
        (_SERVE, {"economics": {"runs": 12.0}}, "economics.runs"),
        (_SERVE, {"economics": {"utilisation": "50 %"}}, "economics.utilisation"),
        (_TRAIN, {"goals": {"first_token": "1 s"}}, "goals.first_token"),
        (_TRAIN, {"goals": {"time_per_token": "50 ms"}}, "goals.time_per_token"),
        (_TRAIN, {"goals": {"percentile": 99.0}}, "goals.percentile"),
        (_TRAIN, {"replicas": {"spare": 1}}, "replicas"),
        (_TRAIN, {"traffic": _SERVE["traffic"]}, "traffic"),
    ],
)
def test_keys_of_one_kind_are_errors_in_another(values: dict[str, Any], sections: dict[str, Any], place: str) -> None:
    """Each is reported at its place, with what this kind has instead."""
    (problem,) = _problems(values, **sections)
    assert (problem.id, dotted(problem.path)) == ("KIND001", place)
    assert "remove" in problem.help


def test_a_service_without_traffic_is_told_what_to_add() -> None:
    """The help is a line that can be taken as it is."""
    (problem,) = _problems({name: value for name, value in _SERVE.items() if name != "traffic"})
    assert problem.id == "KIND002"
    assert "add traffic: {requests_per_s:" in problem.help


@pytest.mark.parametrize(
    ("instance", "precision", "able"),
    [
        ("p4d.24xlarge", "fp8", "bf16, fp16, int8, int4, mxfp4"),
        ("p5.48xlarge", "nvfp4", "bf16, fp16, fp8, int8, int4, mxfp4"),
    ],
)
def test_a_format_that_the_accelerator_cannot_run_names_those_that_it_can(
    instance: str, precision: str, able: str
) -> None:
    """An A100 multiplies no eight-bit floats and an H100 no four-bit ones."""
    workload = {"precision": precision}
    (problem,) = _problems(_SERVE, workload=workload, targets={"aws": {"instance": instance, "region": "us-east-1"}})
    assert (problem.id, dotted(problem.path)) == ("SRV003", "workload.precision")
    assert able in problem.help


@pytest.mark.parametrize(
    ("model", "of"),
    [
        ("whisper-large-v3", "speech"),
        ("parakeet-tdt-0.6b", "speech"),
        ("stable-diffusion-xl", "images"),
        ("flux.1-dev", "images"),
        ("wan2.1-t2v-14b", "video"),
    ],
)
def test_speech_and_diffusion_are_refused_with_a_sentence(model: str, of: str) -> None:
    """The refusal says what the model is of and why it is not sized."""
    (problem,) = _problems(_SERVE, workload={"model": model})
    assert (problem.id, dotted(problem.path)) == ("SRV001", "workload.model")
    assert f"is a model of {of}" in problem.message
    assert "not counted in tokens" in problem.message


@pytest.mark.parametrize(
    ("model", "task"),
    [
        ("bge-large-en-v1.5", "embed"),
        ("e5-mistral-7b-instruct", "embed"),
        ("qwen3-embedding-8b", "embed"),
        ("qwen3-reranker-8b", "rerank"),
    ],
)
def test_models_of_one_pass_are_served_by_their_task(model: str, task: str) -> None:
    """Embeddings and rankings are refused as generation, with the task that they are sized as, and sized so."""
    (problem,) = _problems(_SERVE, workload={"model": model})
    assert (problem.id, dotted(problem.path)) == ("SRV001", "workload.model")
    assert "one pass over the input" in problem.message
    assert f"workload.task: {task}" in problem.help
    short = {"input_tokens": {"mean": 200, "p95": 400}, "output_tokens": None}
    traffic = {**short, **({"documents": 50} if task == "rerank" else {})}
    assert _problems(_SERVE, workload={"model": model, "task": task}, traffic=traffic) == ()


def test_an_encoder_is_served_by_one_pass() -> None:
    """BERT generates nothing and embeds."""
    short = {"input_tokens": {"mean": 200, "p95": 400}, "output_tokens": None}
    (problem,) = _problems(
        _SERVE,
        workload={"model": "bert-large"},
        traffic={"output_tokens": {"mean": 100, "p95": 200}, "input_tokens": {"mean": 200, "p95": 400}},
    )
    assert problem.id == "SRV001"
    assert "workload.task: embed" in problem.help
    assert _problems(_SERVE, workload={"model": "bert-large", "task": "embed"}, traffic=short) == ()
    (problem,) = _problems(_SERVE, workload={"model": "bert-large", "task": "embed"}, traffic={"output_tokens": None})
    assert (problem.id, dotted(problem.path)) == ("SRV009", "traffic.input_tokens")


def test_a_model_of_images_and_text_is_served_with_its_encoder() -> None:
    """Without images it is told what to add; with them the language model and its encoder are sized."""
    (problem,) = _problems(_SERVE, workload={"model": "qwen2-vl-72b"})
    assert (problem.id, dotted(problem.path)) == ("SRV001", "workload.model")
    assert "traffic.images" in problem.help
    images = {"images": {"tokens": 1000, "encoder_parameters": 600e6}}
    assert _problems(_SERVE, workload={"model": "qwen2-vl-72b"}, traffic=images) == ()


@pytest.mark.parametrize(
    ("sections", "rule", "place", "said"),
    [
        ({"traffic": {"users": 100, "requests_per_s": None}}, "SRV005", "traffic.users", "active_share or think_time"),
        ({"traffic": {"requests_per_s": None}}, "SRV005", "traffic", "how much is asked"),
        ({"traffic": {"output_tokens": None}}, "SRV005", "traffic", "nothing says output_tokens"),
        ({"traffic": {"sessions": {"turns": 5}}}, "SRV005", "traffic.sessions", "time between turns"),
        (
            {"traffic": {"sessions": {"turns": 5, "pause": "60 s"}, "prefix_cache_hit": 0.5}},
            "SRV005",
            "traffic.prefix_cache_hit",
            "in memory already",
        ),
        ({"traffic": {"requests_per_s": -1}}, "SRV006", "traffic.requests_per_s", "greater than 0"),
        ({"traffic": {"sessions": {"turns": 0.5, "pause": "1 s"}}}, "SRV006", "traffic.sessions.turns", "equal to 1"),
        ({"goals": {"percentile": 100}}, "SRV006", "goals.percentile", "less than 100"),
        ({"goals": {"first_token": "0 s"}}, "SRV006", "goals.first_token", "greater than 0"),
        ({"traffic": {"input_tokens": {"mean": 10, "p95": 5}}}, "SRV007", "traffic.input_tokens.p95", "below the mean"),
        ({"traffic": {"daily_curve": [0.0] * 24}}, "SRV007", "traffic.daily_curve", "every hour is 0"),
        (
            {"workload": {"options": {"batching": "windowed"}}},
            "SRV008",
            "workload.options.batching",
            "batch_window, which is missing",
        ),
        (
            {"workload": {"options": {"batch_window": "50 ms"}}},
            "SRV008",
            "workload.options.batch_window",
            "is of windowed batching",
        ),
        (
            {"workload": {"options": {"accepted_length": 2.5}}},
            "SRV008",
            "workload.options.accepted_length",
            "speculative is none",
        ),
        (
            {"workload": {"options": {"speculative": "mtp", "draft_tokens": 2, "accepted_length": 4}}},
            "SRV008",
            "workload.options.accepted_length",
            "no more than 3 tokens",
        ),
        (
            {"workload": {"options": {"batching": "static", "disaggregated": "always"}}},
            "SRV008",
            "workload.options.disaggregated",
            "goes with continuous batching",
        ),
        (
            {"workload": {"options": {"adapters": {"count": 4, "resident": 8}}}},
            "SRV008",
            "workload.options.adapters.resident",
            "cannot be resident of 4",
        ),
        (
            {
                "workload": {"model": "bert-large", "task": "embed", "options": {"speculative": "mtp"}},
                "traffic": {"output_tokens": None},
            },
            "SRV008",
            "workload.options.speculative",
            "no meaning where workload.task is embed",
        ),
        (
            {"workload": {"options": {"wide_expert_parallel": True}}},
            "SRV004",
            "workload.options.wide_expert_parallel",
            "no experts to spread",
        ),
        (
            {"replicas": {"autoscaling": {"least": 5, "most": 2}}},
            "SRV008",
            "replicas.autoscaling.least",
            "more than at most 2",
        ),
        (
            {"replicas": {"autoscaling": {"least": 1, "scale_to_zero": True}}},
            "SRV008",
            "replicas.autoscaling.least",
            "keeps no replica",
        ),
        ({"replicas": {"availability": 0.999, "spare": 2}}, "SRV008", "replicas.spare", "both say how many"),
        ({"replicas": {"replica_availability": 0.98}}, "SRV008", "replicas.replica_availability", "is missing"),
        *(
            ({"workload": {"options": options}}, "SRV008", f"workload.options.{name}", said)
            for name, options, said in (
                ("draft_tokens", {"draft_tokens": 5}, "speculative is none"),
                ("step_tokens", {"step_tokens": 2048, "chunked_prefill": False}, "each input is computed at once"),
                ("max_sequences", {"max_sequences": 8, "batching": "none"}, "one request after the other"),
                (
                    "wide_expert_parallel",
                    {"wide_expert_parallel": True, "attention_data_parallel": False},
                    "attention_data_parallel is false",
                ),
                ("mig_slices", {"mig_slices": True, "disaggregated": "always"}, "hands nothing over"),
                ("offload", {"offload": {"cache": "100 GB"}}, "no sessions"),
            )
        ),
        *(
            (
                {"workload": {"options": options}, "traffic": {"sessions": {"turns": 4, "pause": "60 s"}}},
                "SRV008",
                "traffic.sessions",
                said,
            )
            for options, said in (
                ({"batching": "static"}, "batching is static"),
                ({"disaggregated": "cheapest"}, "accelerators of their own"),
            )
        ),
        (
            {
                "workload": {"options": {"mig_slices": True}},
                "targets": {"aws": {"instance": "g6e.48xlarge", "region": "us-east-1"}},
            },
            "SRV004",
            "workload.options.mig_slices",
            "no slice of NVIDIA L40S",
        ),
    ],
)
def test_what_contradicts_itself_has_its_rule_place_and_advice(
    sections: dict[str, Any], rule: str, place: str, said: str
) -> None:
    """Each mistake of traffic, goals, options and replicas is of a rule that is documented."""
    found = _problems(_SERVE, **sections)
    (problem,) = (one for one in found if dotted(one.path) == place)
    assert problem.id == rule
    assert said in problem.message
    assert problem.help


@pytest.mark.parametrize(
    "framework", ["vllm", "sglang", "tensorrt-llm", "tgi", "triton", "dynamo", "llm-d", "nim", "our own engine"]
)
def test_frameworks_are_names(framework: str) -> None:
    """Those without measurements are planned with a wider band, whatever they are called."""
    assert _problems(_SERVE, workload={"framework": framework}) == ()


@pytest.mark.parametrize(
    ("workload", "place"),
    [
        ({"parallelism": {"tensor": 7}}, "workload.parallelism.tensor"),
        ({"parallelism": {"expert": 8}}, "workload.parallelism.expert"),
        ({"options": {"attention_data_parallel": True}}, "workload.options.attention_data_parallel"),
        ({"parallelism": {"pipeline": 64}, "model": "llama-3.1-8b"}, "workload.parallelism.pipeline"),
    ],
)
def test_a_layout_that_nothing_divides_into_is_reported(workload: dict[str, Any], place: str) -> None:
    """64 heads on 7 accelerators, experts of a dense model, more stages than layers."""
    (problem,) = _problems(_SERVE, workload=workload)
    assert (problem.id, dotted(problem.path)) == ("SRV004", place)


def test_every_mistake_is_reported_at_once() -> None:
    """Mistakes of traffic, goals and workload come together."""
    found = _problems(
        _SERVE,
        workload={"precision": "fp3"},
        traffic={"requests_per_s": -1},
        goals={"percentile": 101.0},
    )
    assert {dotted(problem.path) for problem in found} == {
        "workload.precision",
        "traffic.requests_per_s",
        "goals.percentile",
    }


@given(st.lists(st.floats(0, 1e6), min_size=24, max_size=24).filter(lambda curve: sum(curve) > 0))
def test_the_peak_of_a_curve_is_at_least_its_mean(curve: list[float]) -> None:
    """No day has a busiest hour below its mean, and none above 24 times of it."""
    traffic = Traffic.model_validate({"requests_per_s": 1.0, **_LENGTHS, "daily_curve": curve})
    assert 1 - 1e-9 <= traffic.peak <= 24 + 1e-9
