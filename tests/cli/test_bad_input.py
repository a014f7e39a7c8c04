"""Bad input: a clear message, where it stands, what to do, the right exit code, and nothing half-written."""

import json
import os
import re
import signal
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import SMALL, Command


def test_missing_file(command: Command, tmp_path: Path) -> None:
    """A file that is not there is bad input, with the command that writes one."""
    ended = command("plan", tmp_path / "none.yaml")
    assert ended.code == 2
    assert ended.out == ""
    assert "there is no file" in ended.err
    assert "clusterwright init train" in ended.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"# only a comment\n", "is empty"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"name: [1, 2\n", "not valid YAML"),
        (b"- a\n- b\n", "not a blueprint"),
        (b"just text\n", "not a blueprint"),
        (b"\tname: x\n", "not valid YAML"),
        (b"name: x\n\tworkload: {}\n", "write blanks in the place of this tab"),
        (b"name: x\n---\nname: y\n", "a file holds one blueprint"),
        (b'name: "x\n', "a quote or bracket that opens further up is not closed"),
        (b"- a\n", "holds a list, not"),
        (b"a,b\n", "holds a text, not"),
        (b"null\n", "holds nothing, not"),
        (b"a: &a [*a]\n", "too large or nested"),
    ],
)
def test_unreadable_file(command: Command, tmp_path: Path, content: bytes, said: str) -> None:
    """What is not a page of YAML is told so."""
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    ended = command("plan", path)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("workload.tokens=1e40", "less than or equal to 1e18 (found"),
        ("workload.tokens=", "nothing is not a count"),
        ("workload.sequence_length=8e3", "help: write 8000"),
        ("workload.sequence_length=8.5", "help: sequence_length: "),
        ("economics.discount_rate=8", "help: write 8 % for a share of 0.08"),
        ("economics.discount_rate=800", "help: discount_rate: "),
    ],
)
def test_a_number_that_is_meant_otherwise_is_shown_as_it_is_written(
    command: Command, small: Path, value: str, said: str
) -> None:
    """Whole numbers, shares in percent and bounds of many digits are told as people write them."""
    ended = command("check", small, "--set", value)
    assert ended.code == 2
    assert said in ended.err


def test_folder_instead_of_file(command: Command, tmp_path: Path) -> None:
    """A folder is not a blueprint."""
    ended = command("check", tmp_path)
    assert ended.code == 2
    assert "is a folder" in ended.err


_GENERATED = """\
name: tune
workload:
  kind: finetune
  model: llama-3.1-8b
  objective: grpo
  global_batch: 64
  data: {samples: 8000}
  rollouts: {answers: 8, prompt_tokens: 500, answer_tokens: 400}
targets:
  aws: {instance: p5.48xlarge, region: us-east-1}
"""


@pytest.mark.parametrize(
    ("old", "new", "rule", "marked", "advice"),
    [
        ("objective: grpo", "objective: dpo", "FTN009", "{answers: 8", "set workload.objective to grpo"),
        (
            "  rollouts: {answers: 8, prompt_tokens: 500, answer_tokens: 400}\n",
            "",
            "FTN009",
            "grpo",
            "add workload.roll",
        ),
        ("global_batch: 64", "global_batch: 30", "FTN007", "30", "for example 32"),
        ("answer_tokens: 400", "answer_tokens: 1600", "FTN012", "1600", "raise workload.sequence_length"),
        ("400}", "400, longest_answer: 2000}", "FTN012", "2000", "raise workload.sequence_length to 2,500"),
        ("400}", "400, longest_answer: 300}", "FTN012", "400", "raise workload.rollouts.longest_answer"),
        ("samples: 8000", "samples: 8000, mean_tokens: 400", "FTN006", "400", "rollouts.prompt_tokens"),
        ("global_batch", "packing: true\n  global_batch", "FTN006", "true", "remove packing"),
    ],
)
def test_mistakes_of_generated_answers_are_shown_where_they_stand(  # noqa: PLR0917 - one column each
    command: Command, tmp_path: Path, old: str, new: str, rule: str, marked: str, advice: str
) -> None:
    """Each with its rule, its line, a caret under the value, and what to do."""
    path = tmp_path / "tune.yaml"
    path.write_text(_GENERATED.replace(old, new, 1))
    ended = command("plan", path)
    assert ended.code == 2
    assert f"[{rule}]" in ended.err
    assert advice in " ".join(ended.err.split())
    lines = ended.err.splitlines()
    carets = next(index for index, line in enumerate(lines) if "^" in line)
    assert lines[carets - 1][lines[carets].index("^") :].startswith(marked)


@pytest.mark.parametrize(
    ("old", "new", "place", "said", "advice"),
    [
        ("llama-2-7b", "lama-2-7b", "4:10", "no model is called 'lama-2-7b'", "did you mean 'llama-2-7b'"),
        ("p5.48xlarge", "p5.49xlarge", "12:15", "no aws instance type is called", "p5.48xlarge"),
        ("p5.48xlarge", "a3-highgpu-8g", "12:15", "no aws instance type", "a3-highgpu-8g is an instance type of gcp"),
        ("us-east-1", "us-east-9", "13:13", "no source lists p5.48xlarge in 'us-east-9'", "us-east-1"),
        ("dgx-h100", "dgx-h1000", "16:13", "no system is called", "dgx-h100"),
        ("tokens: 100e9", "tokenz: 100e9", "5:3", "there is no key 'tokenz' here", "did you mean 'tokens'?"),
        ("30 days", "30 bananas", "9:18", "'bananas' is not a unit", "30 days"),
        ("kind: train", "kind: finetune", "5:3", "there is no key 'tokens' here", ""),
        ("kind: train", "kind: dance", "3:9", "must be one of train, finetune, serve", ""),
        ("region: us-east-1", "region: us-east-1\n    zone: us-west-2a", "14:11", "is not in region", "one zone"),
        ("max_nodes: 8\n  onprem", "capacity: capacity-block\n    reservation: abc\n  onprem", "15:18", "'abc'", "cr-"),
        (
            "max_nodes: 8\n  onprem",
            "reservation: cr-0123456789\n  onprem",
            "11:3",
            "capacity is 'on-demand'",
            "set cap",
        ),
        (
            "  tokens: 100e9",
            "  parallelism: {recompute: none, recompute_layers: 2}\n  tokens: 100e9",
            "5:16",
            "recompute_layers is of full recomputation, but recompute is 'none'",
            "set recompute: full",
        ),
        (
            "  tokens: 100e9",
            "  parallelism: {recompute_layers: 0}\n  tokens: 100e9",
            "5:35",
            "greater than or equal",
            "",
        ),
        ("  tokens: 100e9", "  parallelism: {sharding_group: 1}\n  tokens: 100e9", "5:33", "greater than or equal", ""),
        ("  tokens: 100e9", "  parallelism: {expert_imbalance: 0.5}\n  tokens: 100e9", "5:35", "greater than", ""),
        (
            "  tokens: 100e9",
            "  parallelism: {schedule: zero-buble}\n  tokens: 100e9",
            "5:27",
            "'zero-bubble'",
            "",
        ),
        (
            "  tokens: 100e9",
            "  parallelism: {schedule: zero-bubble, recompute: full}\n  tokens: 100e9",
            "5:16",
            "zero-bubble computes gradients of weights apart",
            "recompute: none or selective",
        ),
        (
            "  tokens: 100e9",
            "  parallelism: {schedule: interleaved, pipeline: 1}\n  tokens: 100e9",
            "5:16",
            "leaves nothing to schedule",
            "set pipeline to 2 or more",
        ),
        (
            "  tokens: 100e9",
            "  parallelism: {schedule: dualpipe, pipeline: 3}\n  tokens: 100e9",
            "5:16",
            "pairs stages from both ends, but there are 3",
            "even number",
        ),
        ("name: small", "name: small\nname: other", "2:1", "'name' is given twice", "keep one"),
        ("name: small", 'name: "a; rm -rf /"', "1:7", "cannot be a cluster name", ""),
        ("name: small", "name: small\ncluster: {tags: {cluster: x}}", "2:17", "the stacks set themselves", ""),
    ],
)
def test_mistakes_show_the_place(  # noqa: PLR0917 - one column each
    command: Command, small: Path, old: str, new: str, place: str, said: str, advice: str
) -> None:
    """Each mistake names file, line and column, shows the line with a caret, and says what to do."""
    assert old in SMALL
    small.write_text(SMALL.replace(old, new, 1))
    ended = command("plan", small)
    assert ended.code == 2
    assert ended.out == ""
    assert f"--> {small}:{place}\n" in ended.err
    assert "^" in ended.err
    assert said in ended.err
    assert advice in ended.err


@pytest.mark.parametrize(
    ("lines", "place", "said", "advice"),
    [
        ("optimizer: sgd", "5:14", "workload.optimizer", "'sgd'"),
        ("memory: {offload: weights}", "5:21", "'optimizer', 'parameters' or 'activations'", ""),
        ("memory: {offload_to: disk}", "5:24", "workload.memory.offload_to", "'disk'"),
        ("memory: {ofload: optimizer}", "5:12", "there is no key 'ofload'", "did you mean 'offload'?"),
        (
            "optimizer: muon\n  memory: {offload: optimizer}",
            "6:21",
            "muon cannot be updated on the host",
            "another opt",
        ),
        ("optimizer: muon\n  memory: {offload: parameters}", "6:21", "parts the matrices of muon", "another opt"),
        ("memory: {offload: [optimizer, optimizer]}", "5:21", "'optimizer' is listed twice", "keep one"),
        ("memory: {optional: true}", "5:22", "nothing is offloaded that could be optional", "memory.offload"),
        ("memory: {offload: activations, offload_to: nvme}", "5:46", "nothing is offloaded that could", "host memory"),
        (
            "parallelism: {pipeline: 4}\n  memory: {offload: [optimizer, parameters]}",
            "5:27",
            "comes without a pipeline",
            "set pipeline: 1",
        ),
    ],
)
def test_states_that_cannot_be_kept_so(  # noqa: PLR0917 - one column each
    command: Command, small: Path, lines: str, place: str, said: str, advice: str
) -> None:
    """Unknown optimizers and places, and what contradicts itself, are refused where they stand."""
    small.write_text(SMALL.replace("  tokens: 100e9", f"  {lines}\n  tokens: 100e9"))
    ended = command("check", small)
    assert ended.code == 2
    assert f"--> {small}:{place}\n" in ended.err
    assert "^" in ended.err
    assert said in ended.err
    assert advice in ended.err


def test_a_host_that_is_too_small_is_told(command: Command, small: Path) -> None:
    """GPT-3 with its optimizer on one host of 2 TB needs 3: MEM002 says so at the section that asks for it."""
    text = SMALL.replace("max_nodes: 8", "max_nodes: 1").replace("llama-2-7b", "gpt3-175b")
    fixed = "  parallelism: {tensor: 8, pipeline: 1}\n  memory: {offload: [optimizer, parameters]}\n  tokens: 1e9"
    small.write_text(text.replace("  tokens: 100e9", fixed))
    ended = command("plan", small)
    assert ended.code == 1
    assert "MEM002" in ended.err
    assert "host memory of p5.48xlarge" in ended.err
    assert f"--> {small}:6:" in ended.err


def test_drives_that_nobody_measured_are_told(command: Command, small: Path) -> None:
    """A node type whose drives' rates the catalogue does not know cannot be timed: a fact is missing."""
    text = SMALL.replace("p5.48xlarge", "p6-b200.48xlarge")
    text = text.replace("  tokens: 100e9", "  memory: {offload: optimizer, offload_to: nvme}\n  tokens: 100e9")
    small.write_text(text)
    ended = command("plan", small, "--on", "aws")
    assert ended.code == 3
    assert "drives are read" in ended.err
    assert "offload_to: cpu" in ended.err


@pytest.mark.parametrize(
    ("precision", "instance", "said", "advice"),
    [
        ("fp8", "p4d.24xlarge", "NVIDIA A100 SXM 40 GB (aws) has no fp8", "it has bf16, fp16;"),
        ("fp8-block", "p4d.24xlarge", "NVIDIA A100 SXM 40 GB (aws) has no fp8-block", "it has bf16, fp16;"),
        ("mxfp8", "p5.48xlarge", "NVIDIA H100 SXM 80 GB (aws) has no mxfp8", "it has bf16, fp16, fp8, fp8-block;"),
        (
            "nvfp4",
            "p5.48xlarge",
            "NVIDIA H100 SXM 80 GB (aws) has no nvfp4",
            "choose one of these, or another instance",
        ),
        ("fp8-block", "g6e.48xlarge", "NVIDIA L40S 48 GB (aws) has no fp8-block", "it has bf16, fp16, fp8;"),
        ("fp7", "p5.48xlarge", "workload.precision", "'fp7'"),
    ],
)
def test_precision_that_the_accelerator_lacks(  # noqa: PLR0917 - one column each
    command: Command, small: Path, precision: str, instance: str, said: str, advice: str
) -> None:
    """A precision without hardware is refused where it stands, with what the accelerator has instead."""
    text = SMALL.replace("p5.48xlarge", instance).replace(
        "  tokens: 100e9", f"  precision: {precision}\n  tokens: 100e9"
    )
    small.write_text(text)
    ended = command("check", small)
    assert ended.code == 2
    assert f"--> {small}:5:14\n" in ended.err
    assert f"  precision: {precision}\n" in ended.err
    assert "^" * len(precision) in ended.err
    assert said in ended.err
    assert advice in ended.err


def test_a_system_without_a_design_shows_the_place(command: Command, small: Path) -> None:
    """A rack-scale system, which the rules of single servers do not fit, is refused where the blueprint names it."""
    small.write_text(SMALL.replace("dgx-h100", "gb300-nvl72").replace("global_batch: 512", "global_batch: 576"))
    ended = command("plan", small)
    assert ended.code == 2
    assert "is a whole rack" in ended.err
    assert f"--> {small}:16:13\n   16 |     system: gb300-nvl72\n      |             ^^^^^^^^^^^\n" in ended.err


def test_an_impossible_architecture_shows_the_model(command: Command, small: Path, tmp_path: Path) -> None:
    """A configuration file whose heads do not divide is refused at the model, with both numbers."""
    config = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 5,
        "intermediate_size": 11008,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    small.write_text(SMALL.replace("model: llama-2-7b", "model: {config: config.json}"))
    ended = command("plan", small)
    assert ended.code == 2
    assert f"{small}:4:" in ended.err
    assert "32" in ended.err
    assert "5" in ended.err


def test_every_mistake_at_once(command: Command, small: Path) -> None:
    """Names that the catalogue does not know are told together."""
    small.write_text(SMALL.replace("llama-2-7b", "nope").replace("p5.48xlarge", "nope").replace("dgx-h100", "nope"))
    ended = command("plan", small)
    assert ended.err.count("error:") == 3


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("workload.tokenz=3", "did you mean 'tokens'?"),
        ("nope=1", "there is no key 'nope'"),
        ("goals", "is not path=value"),
        ("=1", "is not path=value"),
        ("name.first=1", "'name' is a value, not a section"),
        ("workload=3", "is a section with keys"),
        ("goals.finish_within=3", "has no unit"),
    ],
)
def test_wrong_override(command: Command, small: Path, override: str, said: str) -> None:
    """A `--set` that cannot be used is refused; what it gave is not looked for in the file."""
    ended = command("plan", small, "--set", override)
    assert ended.code == 2
    assert said in ended.err
    assert "^" not in ended.err


@pytest.mark.parametrize(
    ("target", "said"), [("gcp", "has no target 'gcp'"), ("moon", "there is no target 'moon'"), ("", "no target ''")]
)
def test_target_that_is_not_there(command: Command, small: Path, target: str, said: str) -> None:
    """`--on` takes a target of the blueprint."""
    ended = command("plan", small, "--on", target)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(
    ("overrides", "rule", "place", "said"),
    [
        (("goals.finish_within=1 hour",), "GOAL001", "--set goals.finish_within", "allow more than 8 nodes"),
        (("goals.finish_within=1 hour",), "GOAL001", "--set goals.finish_within", "the fastest cluster"),
        (("economics.budget=1 USD",), "TCO001", "--set economics.budget", "the budget is 1 USD"),
        (("site.power_limit=1 kW",), "PWR001", "--set site.power_limit", "the hall has 1 kW"),
        (("site.rack_power=5 kW",), "RCK001", "--set site.rack_power", "a rack may draw 5.0 kW"),
        (
            ("workload.parallelism={tensor: 1, micro_batch: 64, recompute: none}",),
            "MEM001",
            "--set workload.parallelism",
            "leave tensor, micro_batch, recompute of workload.parallelism to the search",
        ),
    ],
)
def test_rules_that_fail(  # noqa: PLR0917 - one column each
    command: Command, small: Path, overrides: tuple[str, ...], rule: str, place: str, said: str
) -> None:
    """A valid blueprint whose rule fails ends with 1, names the rule and says what would help."""
    ended = command("plan", small, *(part for value in overrides for part in ("--set", value)))
    assert ended.code == 1
    assert f"error[{rule}]: " in ended.err
    assert place in ended.err
    assert said in ended.err


def test_rule_shows_the_line(command: Command, small: Path) -> None:
    """A goal in the file that cannot be met is shown there, the plan is still printed."""
    small.write_text(SMALL.replace("30 days", "2 hours"))
    ended = command("plan", small)
    assert ended.code == 1
    assert f"--> {small}:9:18\n    9 |   finish_within: 2 hours\n      |                  ^^^^^^^\n" in ended.err
    assert "misses the goal" in ended.out
    assert "GOAL001" in ended.out


def test_files_of_a_cluster_that_fails_are_not_written(command: Command, small: Path, tmp_path: Path) -> None:
    """A stack or documents for a cluster that misses the goal are refused; `build` writes them and says so."""
    late = ("--set", "goals.finish_within=1 hour")
    for arguments in (("stack", "--on", "aws"), ("onprem",)):
        ended = command(arguments[0], small, "-o", tmp_path / "out", *arguments[1:], *late)
        assert ended.code == 1
        assert "GOAL001" in ended.err
        assert not (tmp_path / "out").exists()


def test_missing_prices_are_unknown_not_zero(command: Command, small: Path) -> None:
    """Before the first documented price totals are unknown and the lines are listed; without any total it is exit 3."""
    ended = command("plan", small, "--set", "economics.as_of=2015-01-01")
    assert ended.code == 3
    assert "error: no way has all its prices on 2015-01-01: no price of GPU node p5.48xlarge" in ended.err
    assert "unknown" in ended.out
    assert "No price" in ended.out
    assert "GPU node p5.48xlarge" in ended.out
    assert "$0" not in ended.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("plan", "--json"), 3),
        (("compare",), 3),
        (("compare", "--json"), 3),
        (("compare", "--markdown"), 3),
        (("compare", "--finance", "--draws", "10"), 3),
        (("report", "-o", "out"), 3),
        (("build", "-o", "out"), 3),
        (("export", "--to", "focus"), 3),
        (("check",), 0),
        (("export", "--to", "skypilot"), 0),
        (("stack", "-o", "out", "--on", "aws"), 0),
    ],
)
def test_without_any_price_what_is_about_money_ends_with_3(
    command: Command, small: Path, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    """Every command gives what it has; whose answer is money says that there is none. Code and checks need no price."""
    name, *more = (str(tmp_path / one) if one == "out" else one for one in arguments)
    ended = command(name, small, *more, "--set", "economics.as_of=2015-01-01")
    assert ended.code == code, ended.err
    assert ("no way has all its prices on 2015-01-01" in ended.err) == (code == 3)
    assert ended.out


def test_missing_fact_is_exit_code_3(command: Command, small: Path) -> None:
    """A right blueprint that needs a fact which the catalogue lacks ends with 3, placed in the file."""
    small.write_text(SMALL.replace("dgx-h100", "lenovo-sr675-v3-8xh100-nvl"))
    ended = command("plan", small)
    assert ended.code == 3
    assert f"{small}:16:13" in ended.err
    both = command("plan", small, "--set", "workload.model=nope")
    assert both.code == 2


def test_output_is_a_file(command: Command, small: Path, tmp_path: Path) -> None:
    """A file in the place of the folder is left alone."""
    (tmp_path / "out").write_text("mine")
    ended = command("stack", small, "--on", "aws", "-o", tmp_path / "out")
    assert ended.code == 2
    assert "is a file" in ended.err
    assert (tmp_path / "out").read_text() == "mine"


def test_output_below_a_file(command: Command, small: Path, tmp_path: Path) -> None:
    """A folder that cannot be made is told so."""
    (tmp_path / "file").write_text("mine")
    ended = command("stack", small, "--on", "aws", "-o", tmp_path / "file" / "out")
    assert ended.code == 2
    assert "cannot be written" in ended.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_not_writable(command: Command, small: Path, tmp_path: Path) -> None:
    """A folder without permission is told so and stays empty."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    ended = command("stack", small, "--on", "aws", "-o", locked / "out")
    assert ended.code == 2
    assert "cannot be written" in ended.err
    assert not list(locked.iterdir())


def test_changes_of_the_user_are_kept(command: Command, small: Path, tmp_path: Path) -> None:
    """A second write refuses to lose what the user changed, and leaves every file as it was."""
    out = tmp_path / "out"
    assert command("stack", small, "--on", "aws", "-o", out).code == 0
    again = command("stack", small, "--on", "aws", "-o", out)
    assert again.code == 0
    assert "nothing changed" in again.out
    (out / "nodes" / "__main__.py").write_text("# mine\n")
    values = next((out / "nodes").glob("Pulumi.*-*.yaml"), None) or next((out / "nodes").glob("Pulumi.*.yaml"))
    values.write_text(re.sub(r"nodeCount: \d+", "nodeCount: 7", values.read_text()))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refused = command("stack", small, "--on", "aws", "-o", out, "--set", "targets.aws.max_nodes=4")
    assert refused.code == 2
    assert "nodes/__main__.py" in refused.err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    forced = command("stack", small, "--on", "aws", "-o", out, "--force")
    assert forced.code == 0
    assert (out / "nodes" / "__main__.py").read_text() != "# mine\n"
    assert "nodeCount: 7" in values.read_text()
    assert "kept  nodes/" in forced.out
    assert "nodeCount 7 is kept (the plan has " in forced.out


def test_folder_of_others_is_refused(command: Command, small: Path, tmp_path: Path) -> None:
    """A folder with files that were not written here is not written into."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    ended = command("stack", small, "--on", "aws", "-o", out)
    assert ended.code == 2
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_a_signal_during_a_query_is_no_bug(command: Command, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB turns what a signal raises into an error of its own: the exit code is still the signal's."""

    def interrupted(*_arguments: object, **_more: object) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr("clusterwright.interface.planning.decide", interrupted)
    ended = command("plan", small)
    assert ended.code == 128 + signal.SIGTERM
    assert "bug" not in ended.err


def test_a_bug_is_exit_code_70(command: Command, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw ends in a sentence that asks for a report."""

    def broken(*_arguments: object, **_more: object) -> None:
        raise ZeroDivisionError("no nodes")

    monkeypatch.setattr("clusterwright.interface.planning.decide", broken)
    ended = command("plan", small)
    assert ended.code == 70
    assert "this is a bug in Clusterwright: ZeroDivisionError: no nodes" in ended.err
    assert "--debug" in ended.err


_LINES = SMALL.splitlines()
_VALUES = st.sampled_from(
    [
        "",
        "null",
        "-1",
        "0",
        "1e999",
        ".nan",
        "no",
        "[]",
        "{}",
        "[1, 2]",
        "'x",
        "30 days",
        "&a *a",
        "!!int x",
        "2e12",
        "99999999999",
        "0.0",
        "true",
        "2026-11-20",
        "Ω",
        "a: b",
        "0x10",
        "1_000",
        "- ",
        "{a: {b: {c: 1}}}",
        "? x",
        "|",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, len(_LINES) - 1), st.sampled_from(["value", "drop", "twice", "indent"]), _VALUES),
        max_size=3,
    )
)
def test_no_blueprint_is_a_bug(command: Command, tmp_path: Path, changes: list[tuple[int, str, str]]) -> None:
    """However a blueprint is spoilt, the command ends with an answer or a message, never as a bug."""
    lines = list(_LINES)
    for index, how, value in changes:
        key = lines[index].partition(":")[0]
        lines[index] = {
            "value": f"{key}: {value}",
            "drop": "",
            "twice": f"{lines[index]}\n{lines[index]}",
            "indent": f"  {lines[index]}",
        }[how]
    path = tmp_path / "spoilt.yaml"
    path.write_text("\n".join(lines) + "\n")
    ended = command("plan", path, "--on", "aws", "--json")
    assert ended.code in (0, 1, 2, 3), ended.err


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_file_is_a_bug(command: Command, tmp_path: Path, content: bytes) -> None:
    """Any bytes at all are refused as bad input."""
    path = tmp_path / "bytes.yaml"
    path.write_bytes(content)
    assert command("plan", path).code == 2


def test_report_of_a_day_before_every_price(command: Command, small: Path, tmp_path: Path) -> None:
    """Where no price is known figures are unknown: report and workbook are written, all the same, and the end is 3."""
    ended = command("report", small, "-o", tmp_path / "out", "--set", "economics.as_of=2019-01-01")
    assert ended.code == 3, ended.err
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "unknown" in page
    assert not re.search(r"(?i)>[^<]*\b(nan|inf|null)\b", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    summary = openpyxl.load_workbook(tmp_path / "out" / "tco.xlsx", data_only=True)["Summary"]
    assert "no price is known" in [cell.value for row in summary.iter_rows() for cell in row]


def test_key_on_the_way_to_a_value_of_the_command_line(command: Command, small: Path) -> None:
    """A section that only `--set` brings stands in no line of the file."""
    ended = command("check", small, "--set", "tco.power.region=nowhere")
    assert ended.code == 2
    assert "with --set tco.power" in ended.err


def test_every_mistake_of_a_trace_has_its_id_its_line_and_its_fix(command: Command, tmp_path: Path) -> None:
    """Times that go back and a length below a token are two errors at the key that names the file."""
    (tmp_path / "trace.csv").write_text("arrival_s,input_tokens,output_tokens\n1,100,10\n0.5,100,10\n2,-4,10\n")
    blueprint = tmp_path / "chat.yaml"
    blueprint.write_text(
        "name: chat\nworkload: {kind: serve, model: llama-3.1-8b}\ntraffic: {trace: trace.csv}\n"
        "goals: {first_token: 1 s}\ntargets: {onprem: {system: dgx-h100}}\n"
    )
    ended = command("plan", blueprint)
    assert ended.code == 2
    said = ended.err.split("error[")[1:]
    assert [block.partition("]")[0] for block in said] == ["TRACE002", "TRACE003"]
    assert "trace.csv:3: arrival_s 0.5 is before 1" in said[0]
    assert "sort the lines by arrival_s" in said[0]
    assert "trace.csv:4: input_tokens -4" in said[1]
    assert "write how many tokens the request has" in said[1]
    assert all("chat.yaml:3:18" in block for block in said)
