"""Arguments of serving frameworks: the table is complete; what a version does not know is refused with its place."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clusterwright import assets
from clusterwright.cli.main import app
from clusterwright.cli.planning import plan_of
from clusterwright.errors import RuleError
from clusterwright.outputs.serving.engine import engine_of, fields_of, flags, framework_named, metrics
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option, serving_plan

LLAMA = assets.root() / "blueprints" / "serve-llama3-70b.yaml"


@pytest.fixture(scope="module")
def planned() -> tuple[ServingPlan, ServingOption]:
    """The shipped plan on AWS."""
    plan = plan_of(LLAMA, [], "aws")
    return serving_plan(plan), serving_option(plan.options[0])


def spoken(plan: ServingPlan, **changed: str) -> ServingPlan:
    """Return a plan whose service says something else."""
    return replace(plan, workload=replace(plan.workload, **changed))


def test_every_row_has_a_field_a_version_and_a_source(planned: tuple[ServingPlan, ServingOption]) -> None:
    """Fields are those that a plan gives; no flag of a framework stands twice for one version."""
    fields = fields_of(*planned)
    for row in flags():
        assert row.field in fields
        assert row.form in ("value", "switch")
        assert "" not in (row.source, row.read_on)
        assert row.since
        twice = [
            other
            for other in flags()
            if (other.framework, other.flag) == (row.framework, row.flag)
            and other is not row
            and other.since < (row.before or (999,))
            and row.since < (other.before or (999,))
        ]
        assert twice == []
    wanted = {
        "requests_running",
        "requests_waiting",
        "cache_share",
        "first_token_s",
        "time_per_token_s",
        "input_tokens",
        "output_tokens",
    }
    for framework in ("vllm", "sglang"):
        assert {row.field for row in metrics() if row.framework == framework} >= wanted
    for metric in metrics():
        assert (metric.kind == "histogram") is bool(metric.bounds)
        assert list(metric.bounds) == sorted(metric.bounds)


@pytest.mark.parametrize("framework", ["vllm", "vllm 0.9.2", "vLLM==0.11.0", "sglang", "SGLang 0.4.6"])
def test_named_versions_are_taken(planned: tuple[ServingPlan, ServingOption], framework: str) -> None:
    """The sentence says which versions the flags are valid for; without a version the newest that was read is meant."""
    plan, option = planned
    engine = engine_of(spoken(plan, framework=framework), option)
    name, version = framework_named(framework)
    assert engine.framework == name
    assert engine.arguments[:4] == ("--host", "0.0.0.0", "--port", "8000")  # noqa: S104
    assert ("which the blueprint names as" in engine.valid) is bool(version)
    old = engine_of(spoken(plan, framework="vllm 0.10.2"), option).metrics["time_per_token_s"].metric
    new = engine_of(spoken(plan, framework="vllm 0.11.1"), option).metrics["time_per_token_s"].metric
    assert (old, new) == ("vllm:time_per_output_token_seconds", "vllm:request_time_per_output_token_seconds")


@pytest.mark.parametrize(
    ("framework", "cache", "rule", "said"),
    [
        ("vllm 0.8.5", "fp8", "ENG001", "vLLM 0.8.5 is older than the table; name vLLM 0.9.2 or newer"),
        ("sglang 0.4.5", "fp8", "ENG001", "SGLang 0.4.5 is older than the table; name SGLang 0.4.6 or newer"),
        ("vllm", "int8", "ENG003", "flag --kv-cache-dtype of vLLM has no word for int8; one of 8 bits, fp8, bf16"),
    ],
)
def test_what_a_version_does_not_know_is_refused(
    planned: tuple[ServingPlan, ServingOption], framework: str, cache: str, rule: str, said: str
) -> None:
    """By id, with its place in the blueprint and what to do."""
    plan, option = planned
    with pytest.raises(RuleError) as error:
        engine_of(spoken(plan, framework=framework, cache_precision=cache), option)
    (finding,) = error.value.findings
    assert (finding.id, finding.path[0]) == (rule, "workload")
    wrong, fix = said.removeprefix("flag ").split("; ")
    assert wrong in finding.message
    assert fix in finding.help


def test_a_flag_that_came_later_is_refused(planned: tuple[ServingPlan, ServingOption]) -> None:
    """SGLang has stages since 0.5.3; a plan without them takes an older one."""
    plan, option = planned
    staged = replace(
        option,
        performance=replace(
            option.performance, layout=replace(option.performance.layout, gpus=16, tensor=8, pipeline=2)
        ),
    )
    with pytest.raises(RuleError) as error:
        engine_of(spoken(plan, framework="sglang 0.4.6"), staged)
    (finding,) = error.value.findings
    assert finding.id == "ENG002"
    assert "SGLang 0.4.6 does not know --pipeline-parallel-size" in finding.message
    assert "0.5.3" in finding.help
    assert "--pipeline-parallel-size" in engine_of(spoken(plan, framework="sglang 0.5.3"), staged).arguments


def test_attention_that_is_spread_has_groups(planned: tuple[ServingPlan, ServingOption]) -> None:
    """Beside the tensor parallel size of vLLM, within that of SGLang; vLLM is told the sequences of one group."""
    plan, option = planned
    layout = replace(option.performance.layout, gpus=8, tensor=1, expert=8, spread_attention=True)
    spread = replace(option, performance=replace(option.performance, layout=layout, most_in_flight=800))
    vllm = " ".join(engine_of(spoken(plan, framework="vllm"), spread).arguments)
    assert "--data-parallel-size 8 --enable-expert-parallel --max-num-seqs 100 " in vllm
    assert "--tensor-parallel-size" not in vllm
    sglang = " ".join(engine_of(spoken(plan, framework="sglang"), spread).arguments)
    assert "--tensor-parallel-size 8 --data-parallel-size 8 --enable-dp-attention --ep-size 8" in sglang
    assert "--max-running-requests 800 " in sglang


def test_drafted_tokens_are_those_that_the_plan_counts() -> None:
    """Three a step, in the words of the framework and of its version; none where the blueprint drafts none."""
    plan = serving_plan(plan_of(LLAMA, ["workload.options.speculative=mtp"], "aws"))
    option = serving_option(plan.options[0])

    def words(framework: str) -> dict[str, str]:
        arguments = engine_of(spoken(plan, framework=framework), option).arguments
        return dict(pairwise(arguments))

    old, new = (json.loads(words(f"vllm {version}")["--speculative-config"]) for version in ("0.10.0", "0.11.0"))
    assert (old["method"], new["method"]) == ("deepseek_mtp", "mtp")
    assert old["num_speculative_tokens"] == new["num_speculative_tokens"] == 3
    sglang = words("sglang")
    assert (sglang["--speculative-algorithm"], sglang["--speculative-num-steps"]) == ("NEXTN", "3")
    assert (sglang["--speculative-eagle-topk"], sglang["--speculative-num-draft-tokens"]) == ("1", "4")
    plain = " ".join(engine_of(spoken(plan, speculative="none"), option).arguments)
    assert "speculative" not in plain


@pytest.mark.parametrize(
    ("options", "vllm", "sglang"),
    [
        (
            "{adapters: {count: 20, rank: 24, resident: 8}}",
            "--enable-lora --max-loras 8 --max-cpu-loras 20 --max-lora-rank 32",
            "--enable-lora --max-loras-per-batch 8 --max-lora-rank 32 --lora-target-modules all",
        ),
        (
            "{adapters: {count: 2, targets: attention}}",
            "--enable-lora --max-loras 2 --max-cpu-loras 2 --max-lora-rank 16",
            "--lora-target-modules q_proj k_proj v_proj o_proj",
        ),
        (
            "{step_tokens: 2048}",
            "--max-num-batched-tokens 2048 --enable-chunked-prefill",
            "--chunked-prefill-size 2048",
        ),
        (
            "{chunked_prefill: false}",
            "--max-num-batched-tokens 26624 --no-enable-chunked-prefill",
            "--chunked-prefill-size -1",
        ),
        ("{batching: none}", "--max-num-seqs 1 ", "--max-running-requests 1 "),
        (
            "{speculative: ngram, draft_tokens: 5}",
            '--speculative-config {"method": "ngram", "prompt_lookup_max": 5, "num_speculative_tokens": 5}',
            "--speculative-algorithm NGRAM",
        ),
        (
            "{speculative: eagle, draft_tokens: 4}",
            '--speculative-config {"method": "eagle", "model": "/model/draft", "num_speculative_tokens": 4}',
            "--speculative-draft-model-path /model/draft",
        ),
    ],
)
def test_options_of_the_blueprint_are_arguments(options: str, vllm: str, sglang: str) -> None:
    """What was sized is what is started, in the words of either framework."""
    plan = serving_plan(plan_of(LLAMA, [f"workload.options={options}"], "aws"))
    option = serving_option(plan.options[0])
    for framework, wanted in (("vllm 0.11.0", vllm), ("sglang 0.5.3", sglang)):
        assert wanted in " ".join(engine_of(spoken(plan, framework=framework), option).arguments) + " "


def test_weights_and_caches_of_the_host_are_arguments_where_a_framework_has_them() -> None:
    """A fifth of 70 GB over two accelerators is 7 GiB of each; only SGLang has a flag for keys and values."""
    values = [
        "workload.options={offload: {weights: 20 %, cache: 100 GB}}",
        "workload.parallelism={tensor: 2}",
        "traffic.sessions={turns: 3}",
        "traffic.prefix_cache_hit=0",
    ]
    plan = serving_plan(plan_of(LLAMA, values, "aws"))
    option = serving_option(plan.options[0])
    sglang = " ".join(engine_of(spoken(plan, framework="sglang"), option).arguments)
    assert "--cpu-offload-gb 7 --enable-hierarchical-cache --hicache-size 100" in sglang
    with pytest.raises(RuleError) as error:
        engine_of(spoken(plan, framework="vllm"), option)
    (finding,) = error.value.findings
    assert (finding.id, finding.path) == ("ENG004", ("workload", "options", "offload"))


def test_one_pass_has_the_runner_of_its_version() -> None:
    """Embeddings are a task of vLLM 0.9, a runner of 0.11, and a switch of SGLang."""
    values = [
        "workload.task=embed",
        "workload.model=qwen3-8b",
        "traffic.output_tokens=null",
        "goals.time_per_token=null",
    ]
    plan = serving_plan(plan_of(LLAMA, values, "aws"))
    option = serving_option(plan.options[0])

    def words(framework: str) -> str:
        return " ".join(engine_of(spoken(plan, framework=framework), option).arguments)

    assert "--task embed" in words("vllm 0.9.2")
    assert "--runner pooling" in words("vllm 0.11.0")
    assert "--is-embedding" in words("sglang")


@pytest.mark.parametrize("options", ["{batching: static}", "{paged_cache: false}"])
def test_what_an_engine_does_not_do_is_refused(options: str) -> None:
    """Neither vLLM nor SGLang has batches that start together or memory without pages; another framework may."""
    plan = serving_plan(plan_of(LLAMA, [f"workload.options={options}"], "aws"))
    option = serving_option(plan.options[0])
    for framework in ("vllm", "sglang"):
        with pytest.raises(RuleError) as error:
            engine_of(spoken(plan, framework=framework), option)
        (finding,) = error.value.findings
        assert finding.id == "ENG004"
        assert "triton" in finding.help
    assert engine_of(spoken(plan, framework="triton"), option).arguments == ()


def test_the_command_line_shows_the_place(tmp_path: Path) -> None:
    """Exit code 2, with the line of the blueprint; no file is written."""
    done = CliRunner().invoke(
        app,
        [
            "stack",
            str(LLAMA),
            "--on",
            "aws",
            "-o",
            str(tmp_path / "out"),
            "--set",
            "targets.aws.scheduler=kubernetes",
            "--set",
            "workload.framework=vllm 0.8.5",
        ],
    )
    assert getattr(done.exception, "exit_code", done.exit_code) == 2
    assert "ENG001" in str(done.exception)
    assert "serve-llama3-70b.yaml" in str(done.exception)
    assert not (tmp_path / "out").exists()
