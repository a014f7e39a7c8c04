"""The workflow of a project: valid, without stored keys, with the least permissions, fit for the files beside it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import __version__
from clusterwright.outputs.project.example import example_files
from clusterwright.outputs.project.files import log_in

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


def test_the_comment_is_written_by_a_job_that_reads_nothing() -> None:
    """What reads the pull request may not write; what writes takes no code, no key, and only the text."""
    jobs = workflow("aws")["jobs"]
    assert jobs["cost"]["permissions"] == {"contents": "read"}
    assert "head.repo.full_name == github.repository" in jobs["cost"]["if"]
    assert jobs["comment"]["permissions"] == {"pull-requests": "write"}
    assert all("uses" not in step for step in jobs["comment"]["steps"])
    assert f"clusterwright=={__version__}" in str(jobs["cost"])


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nothing_of_others_is_in_a_script(cloud: str) -> None:
    """Expressions reach a shell as environment variables, never as text of the script."""
    for job in workflow(cloud)["jobs"].values():
        assert all("${{" not in step.get("run", "") for step in job["steps"])


def script(job: str, name: str) -> str:
    """Return the script of a step, as the runner starts it."""
    (step,) = (step for step in workflow("aws")["jobs"][job]["steps"] if step.get("name") == name)
    return "set -eo pipefail\n" + step["run"]


def stand_in(folder: Path, name: str, text: str) -> None:
    """Write a program that takes another one's place."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("known", ["", "7\n8"])
def test_one_comment_is_renewed(known: str, tmp_path: Path) -> None:
    """Without a comment of its own it writes one, else it renews that; the text is neither run nor changed."""
    text = 'cost $(touch run) `touch run` "quoted"\n@all'
    stand_in(
        tmp_path,
        "gh",
        f'[[ " $* " == *" --paginate "* ]] && {{ printf "%b" {known!r}; exit; }}; printf "%s\\n" "$@" >> asked',
    )
    done = subprocess.run(
        ["bash", "-c", script("comment", "Write the comment, or renew it")],
        cwd=tmp_path,
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "COMMENT": text,
            "NUMBER": "5",
            "GITHUB_REPOSITORY": "me/mine",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked").read_text()
    place = "repos/me/mine/issues/comments/7" if known else "repos/me/mine/issues/5/comments"
    assert f"{'PATCH' if known else 'POST'}\n{place}\n--raw-field\nbody=<!-- cost of the cluster -->\n{text}\n" in asked
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("has_base", [True, False])
def test_cost_is_compared_with_the_branch_to_merge_into(has_base: bool, tmp_path: Path) -> None:
    """With the blueprint there, both are compared; a new one is reported alone. The output ends where its text does."""
    (tmp_path / "clusterwright" / "bin").mkdir(parents=True)
    stand_in(tmp_path / "clusterwright" / "bin", "clusterwright", 'echo "asked $*"; echo comment=forged')
    author = ["-c", "user.name=maintainers", "-c", "user.email=maintainers@example.org"]
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    for number, name in enumerate(["train.yaml" if has_base else "other", "train.yaml"]):
        (tmp_path / name).write_text(str(number))
        subprocess.run([*git, "add", name], check=True)
        subprocess.run([*git, *author, "commit", "-q", "-m", "x"], check=True)
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    done = subprocess.run(
        ["bash", "-c", script("cost", "Compare")],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "RUNNER_TEMP": str(tmp_path),
            "BLUEPRINT": "train.yaml",
            **{name: str(tmp_path / file) for name, file in files.items()},
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asked = "diff HEAD^1:train.yaml train.yaml --markdown" if has_base else "compare train.yaml --markdown"
    first, *told, last = (tmp_path / "output").read_text().splitlines()
    assert first == f"comment<<{last}"
    assert told == [f"asked {asked}", "comment=forged", ""]
    assert (tmp_path / "summary").read_text().startswith("asked")


@pytest.mark.parametrize("cloud", CLOUDS)
def test_no_key_is_stored(cloud: str) -> None:
    """The cloud is reached by the workflow's own identity; secrets are only those of Pulumi's state."""
    text = example_files(cloud, "slurm")[WORKFLOW].content.decode()
    assert set(re.findall(r"secrets\.(\w+)", text)) == {"PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE"}
    assert "LOG_IN_IS_SET" not in text
    assert "./log-in" not in text
    for variable in re.findall(r"vars\.(\w+)", text):
        assert variable in (*re.findall(r"\w+", log_in(cloud).variables), "BLUEPRINT", "CLUSTERWRIGHT")


@pytest.mark.parametrize("cloud", CLOUDS)
def test_actions_are_pinned_to_a_commit(cloud: str) -> None:
    """No action is taken from a branch or tag, which can be moved; the release that the commit is of is named."""
    used = [step["uses"] for job in workflow(cloud)["jobs"].values() for step in job["steps"] if "uses" in step]
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)] == []
    page = example_files(cloud, "slurm")[".github/workflows/infrastructure.yml"].content.decode()
    for name in used:
        assert re.search(rf"{re.escape(name)} # v\d+\.\d+\.\d+", page)
    assert len(set(used)) == 4  # checkout, Python, Pulumi, the cloud's log-in


@pytest.mark.parametrize("cloud", CLOUDS)
def test_it_runs_what_is_there(cloud: str) -> None:
    """Every file that a step names is in the project, and each check that the README promises is a step."""
    files = example_files(cloud, "slurm")
    commands = "\n".join(step.get("run", "") for job in workflow(cloud)["jobs"].values() for step in job["steps"])
    for name in ("constraints-dev.txt", "cluster.sh"):
        assert name in commands
        assert name in files
    for check in ("basedpyright", "ruff check", "shellcheck", "-m pytest", "preview --policy-pack policy"):
        assert check in commands
