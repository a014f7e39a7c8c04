"""Projects as they are generated pass, and what their owners change is found."""

import json
from functools import cache
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.checks.offline import offline
from clusterwright.checks.project import project_of
from clusterwright.checks.reading import read_project
from clusterwright.checks.results import Result
from clusterwright.checks.subject import Subject
from clusterwright.cli.answer import plan_of
from clusterwright.errors import InputError
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File
from clusterwright.outputs.stack import stack_files

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
CLOUDS = ("aws", "azure", "gcp")


@cache
def generated(cloud: str, scheduler: str) -> dict[str, File]:
    """Return the files of a cloud's project."""
    plan = plan_of(BLUEPRINT, [f"targets.{cloud}.scheduler={scheduler}"], cloud)
    return stack_files(plan, plan.options[0], load())


def results(cloud: str, scheduler: str) -> tuple[Result, ...]:
    """Return what the checks find in a project as it is generated."""
    text = {name: file.content.decode() for name, file in generated(cloud, scheduler).items()}
    return offline(Subject(project=project_of("here", text), catalogue=load()))


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_generated_project_passes(cloud: str, scheduler: str) -> None:
    """Nothing fails but what only the owner can know."""
    failed = {
        (result.check, result.outcome.message)
        for result in results(cloud, scheduler)
        if result.outcome.status == "FAIL" and result.check != "PRE003"
    }
    assert failed == set()


def test_a_written_project_is_read_with_what_was_changed(tmp_path: Path) -> None:
    """Files that differ from what was written are named; the rest of the folder is looked at too."""
    target = tmp_path / "aws"
    folder.write(target, generated("aws", "slurm"))
    assert read_project(target, manifest=folder.MANIFEST).changed == frozenset()
    command = target / "cluster.sh"
    command.write_text(command.read_text() + "# mine\n")
    (target / "notes.txt").write_text("AKIAIOSFODNN7EXAMPLE")
    project = read_project(target, manifest=folder.MANIFEST)
    assert project.changed == frozenset({"cluster.sh"})
    found = {
        (result.check, result.outcome.status): result.outcome
        for result in offline(Subject(project=project, catalogue=load()))
    }
    assert found["PRE006", "FAIL"].place is not None
    assert found["PRE006", "FAIL"].place.file.endswith("notes.txt")


def test_a_project_built_for_all_clouds_knows_its_changes(tmp_path: Path) -> None:
    """The record of a build lies above the cloud's folder."""
    files = {f"aws/{name}": file for name, file in generated("aws", "slurm").items()}
    folder.write(tmp_path / "out", files)
    (tmp_path / "out" / "aws" / "cluster.sh").write_text("")
    assert read_project(tmp_path / "out" / "aws", manifest=folder.MANIFEST).changed == frozenset({"cluster.sh"})


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    """Another folder is bad input."""
    (tmp_path / "plan.json").write_text(json.dumps({}))
    with pytest.raises(InputError, match="no generated project"):
        read_project(tmp_path, manifest=folder.MANIFEST)
