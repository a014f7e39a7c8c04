"""The command preflight: tables, JSON, exit codes, and what it refuses."""

import json
from pathlib import Path

import pytest

from .conftest import Command


@pytest.fixture
def project(command: Command, small: Path, tmp_path: Path) -> Path:
    """Return the project of a small blueprint."""
    folder = tmp_path / "project"
    command("stack", small, "--on", "aws", "-o", folder)
    return folder


def test_a_blueprint_is_checked_at_its_own_lines(command: Command, small: Path) -> None:
    """What is found in the configuration that would be written is shown where the blueprint says it."""
    ended = command("preflight", small, "--all")
    assert f"{small} on aws (slurm)" in ended.out
    number = int(ended.out.split(f"--> {small}:")[-1].split()[0])
    assert "max_nodes" in small.read_text().splitlines()[number - 1]  # what the quota is asked for
    assert "Not asked: PRE101" in ended.out


def test_checks_that_say_the_same_share_a_line(command: Command, small: Path) -> None:
    """What only a run of the program shows is said once, with every check of it, and so is what to do."""
    checks = json.loads(command("preflight", small, "--json").out)["results"]
    waiting = [entry["check"] for entry in checks if "the program was not run" in entry["message"]]
    out = command("preflight", small).out
    assert len(set(waiting)) > 1
    assert out.count("the program was not run") == 1
    assert all(check in out for check in waiting)
    (fix,) = [line for line in out.splitlines() if line.startswith(f"  {waiting[0]}, ")]
    assert fix.strip().split("  ")[0] == ", ".join(dict.fromkeys(waiting))


def test_a_project_fails_by_what_its_owner_changed(command: Command, project: Path) -> None:
    """A changed region fails in one layer, with exit code 1, the line, and what to do."""
    nodes = project / "nodes" / "Pulumi.small-us-east-1.yaml"
    nodes.write_text(nodes.read_text().replace("aws:region: us-east-1", "aws:region: us-west-2"))
    ended = command("preflight", project)
    assert ended.code == 1
    (line,) = [line for line in ended.out.splitlines() if " PRE004 " in line and "FAIL" in line]
    fixes = ended.out.partition("What to do")[2].splitlines()
    place = fixes[next(number for number, fix in enumerate(fixes) if " PRE004 " in fix) + 1]
    assert place.startswith(f"    --> {nodes}:")
    assert "'us-west-2' in nodes, but 'us-east-1' in foundation" in line
    assert "./cluster.sh set aws:region" in ended.out


_CHAT = """\
name: chat
workload: {kind: serve, model: mistral-7b}
traffic: {users: 500, active_share: 5 %, input_tokens: {mean: 800, p95: 2000}, output_tokens: {mean: 200, p95: 600}}
goals: {first_token: 2 s}
targets:
  aws: {region: us-east-1, instance: g6e.xlarge, scheduler: kubernetes}
  azure: {region: eastus, instance: Standard_NC40ads_H100_v5, scheduler: kubernetes}
  gcp: {region: us-central1, instance: g2-standard-4, scheduler: kubernetes}
"""
_TUNE = """\
name: tune
workload:
  kind: finetune
  model: llama-3.1-8b
  method: lora
  sequence_length: 2048
  global_batch: 32
  data: {samples: 20000, mean_tokens: 500, epochs: 3}
targets:
  aws: {region: us-east-1, instance: p5.4xlarge, max_nodes: 1}
"""


@pytest.mark.parametrize(
    ("text", "target"), [(_CHAT, "aws"), (_CHAT, "azure"), (_CHAT, "gcp"), (_TUNE, "aws")], ids=lambda given: given[:9]
)
def test_a_project_of_single_gpus_passes_as_it_is_written(
    command: Command, tmp_path: Path, text: str, target: str
) -> None:
    """Nodes of one GPU without a fabric: nothing fails but what only its owner knows, which is said to be set."""
    blueprint, folder = tmp_path / "blueprint.yaml", tmp_path / "project"
    blueprint.write_text(text)
    assert command("stack", blueprint, "--on", target, "-o", folder).code == 0
    results = json.loads(command("preflight", folder, "--no-run", "--json").out)["results"]
    failed = {(one["check"], one["message"]) for one in results if one["status"] == "FAIL"}
    assert {check for check, _ in failed} <= {"PRE003"}, failed


_GROUPS = _TUNE.replace("sequence_length: 2048", "framework: trl\n  objective: grpo").replace(
    "mean_tokens: 500, epochs: 3}", "epochs: 1}\n  rollouts: {prompt_tokens: 200, answer_tokens: 400}"
)


_NEMO = _TUNE.replace("global_batch: 32", "global_batch: 32\n  framework: nemo").replace(
    "p5.4xlarge, max_nodes: 1", "p5.48xlarge, min_nodes: 2, max_nodes: 2"
)


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("text", [_GROUPS, _TUNE, _NEMO], ids=["trl", "torchtune", "megatron-bridge"])
def test_jobs_that_fine_tune_start_with_stand_ins(command: Command, tmp_path: Path, text: str, scheduler: str) -> None:
    """What only their user knows is made up: weights, data, learning rate, and the reward of generated answers."""
    blueprint, folder = tmp_path / "blueprint.yaml", tmp_path / "project"
    blueprint.write_text(text)
    chosen = f"targets.aws.scheduler={scheduler}"
    assert command("stack", blueprint, "--on", "aws", "-o", folder, "--set", chosen).code == 0
    results = json.loads(command("preflight", folder, "--no-run", "--json").out)["results"]
    (tried,) = (one for one in results if one["check"] == "PRE047")
    assert tried["status"] == "PASS", tried["message"]


def test_json(command: Command, project: Path) -> None:
    """JSON has every result with id, status, place and fix; the counts are those of the results."""
    document = json.loads(command("preflight", project, "--json").out)
    assert document["schema"] == 1
    assert document["not_asked"][0] == "PRE101"
    statuses = [entry["status"] for entry in document["results"]]
    assert document["counts"] == {status: statuses.count(status) for status in ("FAIL", "WARN", "UNKNOWN", "PASS")}
    by_id = {entry["check"]: entry for entry in document["results"]}
    assert by_id["PRE007"]["file"].endswith("nodes/Pulumi.small-us-east-1.yaml")
    assert by_id["PRE007"]["line"] > 1
    assert all(entry["fix"] for entry in document["results"] if entry["status"] != "PASS")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--stack", "small"), "--stack is for projects"),
        (("--on", "azure"), "no target 'azure'"),
    ],
)
def test_what_a_blueprint_does_not_take(command: Command, small: Path, arguments: tuple[str, ...], words: str) -> None:
    """Options of projects, and clouds that it has not, are bad input."""
    ended = command("preflight", small, *arguments)
    assert (ended.code, words in ended.err) == (2, True)


def test_what_a_project_does_not_take(command: Command, project: Path) -> None:
    """Options of blueprints are bad input; so are stacks that there are not, and other folders."""
    assert command("preflight", project, "--set", "name=x").code == 2
    assert "no stack 'other'" in command("preflight", project, "--stack", "other").err
    assert "no generated project" in command("preflight", project / "nodes").err


def test_a_rule_of_the_plan_fails_the_blueprint(command: Command, small: Path) -> None:
    """A network too small for the nodes fails with the numbers, as it does when the plan is made."""
    ended = command("preflight", small, "--set", "targets.aws.network.cidr=10.0.0.0/27")
    assert ended.code == 1
    assert " PRE032 " in ended.out


def test_a_blueprint_without_a_cloud(command: Command, small: Path) -> None:
    """Hardware to buy has nothing to bring up."""
    ended = command("preflight", small, "--on", "onprem")
    assert (ended.code, "has no cloud to check" in ended.err) == (2, True)


def test_online_without_the_extra(command: Command, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the provider's SDK the command says what to install."""

    def missing(name: str) -> object:
        raise ModuleNotFoundError(name="boto3")

    monkeypatch.setattr("clusterwright.checks.preflight.online.import_module", missing)
    ended = command("preflight", project, "--online")
    assert (ended.code, "pip install 'clusterwright[aws]'" in ended.err) == (2, True)
