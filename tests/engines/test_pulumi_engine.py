"""The generated projects in the real Pulumi engine, with stand-in providers; and those providers by themselves.

The engine's part runs where the `pulumi` program is on the path, and is skipped elsewhere: continuous integration does
not install it. The stand-in is exercised without it, through its protocol, in the engine's order.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.cases import TYPICAL, stacks
from tests.stacks.projects import LAYERS, MONITOR, ROOT, STACK, Case, recorded, stacks_python, write

_PROVIDER = MONITOR.with_name("provider.py")
_SPEAKER = MONITOR.with_name("speak_to_provider.py")
_PLUGINS = ("aws", "azure-native", "gcp", "kubernetes")
_URN = "urn:pulumi:small::p::"


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Write a folder of plugins under the names that the engine looks for on the path."""
    if stacks_python() is None:
        if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
            pytest.fail("the stacks' environment is not installed (make .venv-stacks/installed)")
        pytest.skip("the stacks' environment is not installed (make .venv-stacks/installed)")
    folder = tmp_path / "plugins"
    folder.mkdir()
    for name in _PLUGINS:
        program = folder / f"pulumi-resource-{name}"
        program.write_text(f'#!/bin/sh\nexec "{stacks_python()}" "{_PROVIDER}" "$@"\n')
        program.chmod(0o755)
    return folder


def spoken(plugin: Path, resources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a plugin answers to the engine's calls."""
    done = subprocess.run(
        [str(stacks_python()), _SPEAKER, plugin],
        input=json.dumps(resources),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_the_stand_in_answers_in_the_engine_s_order(plugins: Path) -> None:
    """Ids and outputs only once deployed, secrets kept, no change against itself, a change where one is."""
    topic = {"urn": f"{_URN}aws:sns/topic:Topic::topic", "inputs": {"displayName": {"$secret": "hidden"}, "tags": {}}}
    said = spoken(plugins / "pulumi-resource-aws", [topic])
    assert (said["version"], said["secrets"], said["previews"], said["failures"]) == ("99.0.0", True, True, [])
    one = said["resources"][topic["urn"]]
    assert one["previewed"]["id"] == ""
    assert "arn" not in one["previewed"]["outputs"]
    assert one["made"]["id"] == one["read"] == "topic-topic-id"
    assert one["made"]["outputs"]["arn"] == "arn:aws:sns:us-east-1:123456789012:topic/topic"
    assert one["made"]["outputs"]["displayName"] == {"$secret": "hidden"}
    assert (one["same"], one["changed"]) == ([], ["tags"])
    assert said["partition"] == "aws"


def test_the_stand_in_refuses_what_the_sdk_has_no_place_for(plugins: Path) -> None:
    """A misspelt property, a wrong word and a missing property are failures of Check, each at its place."""
    template = {
        "urn": f"{_URN}aws:ec2/launchTemplate:LaunchTemplate::template",
        "inputs": {"networkInterfaces": [{"deviceIdx": 1}]},
    }
    group = {"urn": f"{_URN}aws:ec2/placementGroup:PlacementGroup::group", "inputs": {"strategy": "clstr"}}
    empty = {"urn": f"{_URN}aws:ec2/placementGroup:PlacementGroup::empty", "inputs": {}}
    failures = spoken(plugins / "pulumi-resource-aws", [template, group, empty])["failures"]
    assert [(name, path) for name, path, _ in failures] == [
        ("template", "networkInterfaces[0].deviceIdx"),
        ("group", "strategy"),
        ("empty", "strategy"),
    ]


def test_the_stand_in_takes_every_resource_of_a_project(plugins: Path) -> None:
    """What the recorded layers ask for passes Check and gets the ids that the recording monitor gives."""
    case = Case(cloud="aws", instance=TYPICAL["aws"], nodes=4)
    ours = [one for one in recorded(case).whole.cloud_resources if one.type.startswith("aws:ec2/")]
    said = spoken(plugins / "pulumi-resource-aws", [{"urn": one.urn, "inputs": one.inputs} for one in ours])
    assert said["failures"] == []
    assert all(said["resources"][one.urn]["made"]["id"] in one.identities for one in ours)


class Engine:
    """The `pulumi` program with a state folder of its own and stand-ins for every provider."""

    def __init__(self, *, program: str, project: Path, plugins: Path, folder: Path) -> None:
        self._program = program
        self._project = project
        (folder / "state").mkdir()
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "ARM_", "GOOGLE_"))},
            "PATH": f"{plugins}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(project),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }

    def run(self, layer: str, *arguments: str) -> str:
        """Return what a command in a layer's folder prints; it has to succeed."""
        done = subprocess.run(
            [self._program, "-C", str(self._project / layer), "--non-interactive", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{layer}: {arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def pulumi_program() -> str:
    """Return the `pulumi` program."""
    found = shutil.which("pulumi")
    if found is None:
        pytest.skip("pulumi is not on the path; the engine is not part of continuous integration")
    return found


@pytest.mark.engine
@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_three_layers_in_the_engine(
    cloud: str, scheduler: str, pulumi_program: str, plugins: Path, tmp_path: Path
) -> None:
    """Preview, deploy, preview without changes and destroy, layer by layer; with the resources that were recorded."""
    case = Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler)
    project = tmp_path / "project"
    write(case, project)
    python = stacks_python()
    assert python is not None
    (project / ".venv").symlink_to(python.parent.parent)
    packed = ROOT / ".venv-policy"
    policies = ("--policy-pack", str(project / "policy")) if packed.exists() else ()
    if policies:
        (project / ".venv-policy").symlink_to(packed)
    engine = Engine(program=pulumi_program, project=project, plugins=plugins, folder=tmp_path)
    for layer in LAYERS:
        engine.run(layer, "stack", "init", STACK)
        shown = json.loads(engine.run(layer, "preview", "--stack", STACK, "--json", *policies))
        previewed = {step["urn"] for step in shown["steps"] if "pulumi:providers:" not in step["urn"]}
        known = {one.urn for one in recorded(case).layers[layer].resources if "pulumi:providers:" not in one.urn}
        assert previewed == known
        engine.run(layer, "up", "--stack", STACK, "--yes", "--skip-preview", *policies)
        engine.run(layer, "preview", "--stack", STACK, "--expect-no-changes")
    for layer in reversed(LAYERS):
        engine.run(layer, "state", "unprotect", "--stack", STACK, "--all", "--yes")
        engine.run(layer, "destroy", "--stack", STACK, "--yes", "--skip-preview")
