"""The workflow of a project: valid, without stored keys, with the least permissions, fit for the files beside it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright.outputs.example_project import example_files
from clusterwright.outputs.project_files import log_in

WORKFLOW = ".github/workflows/infrastructure.yml"
CLOUDS = ("aws", "azure", "gcp")


def workflow(cloud: str) -> dict[str, Any]:
    """Return the workflow as data."""
    found: dict[str, Any] = YAML(typ="safe").load(example_files(cloud, "slurm")[WORKFLOW].content)
    return found


@pytest.mark.parametrize("cloud", CLOUDS)
def test_it_is_valid(cloud: str, tmp_path: Path) -> None:
    """GitHub's schema of workflows accepts it, and refuses it with a step misspelt."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    path = tmp_path / "infrastructure.yml"
    path.write_bytes(example_files(cloud, "slurm")[WORKFLOW].content)
    done = subprocess.run([*check, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    path.write_text(path.read_text().replace("runs-on:", "run-on:"))
    assert subprocess.run([*check, path], capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("cloud", CLOUDS)
def test_permissions_are_the_least(cloud: str) -> None:
    """Everything reads; only the preview may ask for an identity, and never for a fork."""
    whole = workflow(cloud)
    assert whole["permissions"] == {"contents": "read"}
    assert "permissions" not in whole["jobs"]["check"]
    preview = whole["jobs"]["preview"]
    assert preview["permissions"] == {"contents": "read", "id-token": "write"}
    assert "head.repo.full_name == github.repository" in preview["if"]
    assert log_in(cloud).condition in preview["if"]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_no_key_is_stored(cloud: str) -> None:
    """The cloud is reached by the workflow's own identity; secrets are only those of Pulumi's state."""
    text = example_files(cloud, "slurm")[WORKFLOW].content.decode()
    assert set(re.findall(r"secrets\.(\w+)", text)) == {"PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE"}
    assert "LOG_IN_IS_SET" not in text
    assert "./log-in" not in text
    for variable in re.findall(r"vars\.(\w+)", text):
        assert variable in log_in(cloud).variables


@pytest.mark.parametrize("cloud", CLOUDS)
def test_actions_have_a_version(cloud: str) -> None:
    """No action is taken from a branch."""
    used = [step["uses"] for job in workflow(cloud)["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(used) == len([name for name in used if re.fullmatch(r"[\w-]+/[\w-]+@v\d+", name)])
    assert len(set(used)) == 4  # checkout, Python, Pulumi, the cloud's log-in


@pytest.mark.parametrize("cloud", CLOUDS)
def test_it_runs_what_is_there(cloud: str) -> None:
    """Every file that a step names is in the project, and each check that the README promises is a step."""
    files = example_files(cloud, "slurm")
    commands = "\n".join(step.get("run", "") for job in workflow(cloud)["jobs"].values() for step in job["steps"])
    for name in ("constraints.txt", "requirements.txt", "requirements-dev.txt", "cluster.sh"):
        assert name in commands
        assert name in files
    for check in ("basedpyright", "ruff check", "shellcheck", "-m pytest", "preview --policy-pack policy"):
        assert check in commands
