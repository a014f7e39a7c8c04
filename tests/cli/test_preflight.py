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
