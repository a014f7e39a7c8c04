"""Nodes are replaced a part at a time, and only after their jobs have ended; leftovers are listed after a destroy."""

import os
import subprocess
from pathlib import Path

import pytest

# Stands in for Google's command line: writes down what it was asked for and answers as Google would. The first look at
# drained nodes still finds a job on them; gpt3-gpu-b comes back under another name.
GCLOUD = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
  *"managed describe"*) printf 'template-2\\n' ;;
  *list-instances*version*) printf 'gpt3-gpu-a\\t%s\\ngpt3-gpu-b\\t%s\\ngpt3-gpu-c\\t%s\\ngpt3-gpu-d\\ttemplate-2\\n' \
    "$OF" "$OF" "$OF" ;;
  *list-instances*)
    if grep -q update-instances "$CALLS"; then printf 'gpt3-gpu-a\\ngpt3-gpu-x\\ngpt3-gpu-c\\n'
    else printf 'gpt3-gpu-a\\ngpt3-gpu-b\\ngpt3-gpu-c\\n'; fi ;;
  *squeue*)
    [ -z "${DEAF:-}" ] || exit 255
    if [ ! -e "$CALLS.busy" ]; then touch "$CALLS.busy"; printf '17 gpu work\\n'; fi ;;
  *"${LEFT:-nothing} list"*) printf 'gpt3-left\\n' ;;
esac
"""
PULUMI = """#!/usr/bin/env bash
case "$*" in *node_groups*) printf '%s' "${GROUPS_OF_NODES:-[]}" ;; *show-urns*) printf '%s' "${URNS:-}" ;; esac
"""
FRAME = """
set -euo pipefail
stack_name=dev
say() { printf '%s\\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
run() { "$@"; }
output() { printf '%s-of-%s' "$2" "$1"; }
outputs() { pulumi "$1" "$2" | tr -d '[]" ' | tr ',' ' '; }
configured() { printf 'gpt3'; }
. ./cloud.sh
"""


def called(project: Path, folder: Path, command: str, **environment: str) -> tuple[list[str], str, int]:
    """What Google's command line was asked for, what was said, and the status, when a function of cloud.sh runs."""
    for name, text in (("gcloud", GCLOUD), ("pulumi", PULUMI)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    calls.touch()
    done = subprocess.run(  # noqa: S603 - our own script
        ["/bin/bash", "-c", FRAME + command],
        cwd=project,
        env={
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "CALLS": str(calls),
            "OF": "template-1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return calls.read_text().splitlines(), done.stderr, done.returncode


def test_nodes_are_replaced_in_batches(project: Path, tmp_path: Path) -> None:
    """Each batch is drained, waited for, replaced and taken back, in this order; a lost name is forgotten."""
    settings = {"REIMAGE_BATCH": "2", "REIMAGE_POLL_S": "0", "GROUPS_OF_NODES": '["gpt3-gpu"]'}
    calls, said, status = called(project, tmp_path, "reimage_nodes", **settings)
    assert status == 0, said
    words = ("state=drain", "squeue", "update-instances", "wait-until", "state=resume", "delete nodename")
    steps = [word for call in calls for word in words if word in call]
    # The first batch is looked at once more, because a job still ran.
    assert steps == [
        "state=drain",
        "squeue",
        "squeue",
        "update-instances",
        "wait-until",
        "state=resume",
        "delete nodename",
        "state=drain",
        "squeue",
        "update-instances",
        "wait-until",
        "state=resume",
    ]
    replaced = [call for call in calls if "update-instances" in call]
    assert ["--instances gpt3-gpu-a,gpt3-gpu-b --minimal-action replace" in call for call in replaced] == [True, False]
    assert any("delete nodename=gpt3-gpu-b" in call for call in calls)
    assert not [call for call in calls if "gpt3-gpu-d" in call]


@pytest.mark.parametrize(("settings", "replaced"), [({}, 0), ({"REIMAGE_ALL": "yes"}, 1)])
def test_nodes_of_the_current_template_stay(
    project: Path, tmp_path: Path, settings: dict[str, str], replaced: int
) -> None:
    """After a resize alone every node is of the group's template, and none is drained, unless all are asked for."""
    settings = {"OF": "template-2", "REIMAGE_POLL_S": "0", "GROUPS_OF_NODES": '["gpt3-gpu"]', **settings}
    calls, said, status = called(project, tmp_path, "reimage_nodes", **settings)
    assert status == 0, said
    assert sum("state=drain" in call for call in calls) == replaced
    assert f"gpt3-gpu: {replaced * 4} nodes to replace" in said


def test_silence_of_the_controller_replaces_nothing(project: Path, tmp_path: Path) -> None:
    """No answer is not an empty queue: the nodes stay as they are."""
    calls, said, status = called(project, tmp_path, "reimage_nodes", GROUPS_OF_NODES='["gpt3-gpu"]', DEAF="yes")
    assert status != 0
    assert "does not answer" in said
    assert not [call for call in calls if "update-instances" in call]


def test_a_slice_is_not_replaced_like_nodes(project: Path, tmp_path: Path) -> None:
    """Without an instance group there is nothing to go through, and that is said."""
    calls, said, status = called(project, tmp_path, "reimage_nodes", GROUPS_OF_NODES="[]")
    assert (calls, status) == ([], 1)
    assert "no instance group" in said


@pytest.mark.parametrize("left", ["firewall-rules", "networks", "instances"])
def test_leftovers_are_shown(project: Path, tmp_path: Path, left: str) -> None:
    """What Google still has after a destroy is listed by name or by label."""
    calls, said, status = called(project, tmp_path, "show_leftovers", LEFT=left)
    assert status == 0
    assert f"{left} of gpt3" in said
    assert "gpt3-left" in said
    assert sum("labels.gpu-cluster=gpt3" in call for call in calls) == 2


@pytest.mark.parametrize(("urns", "emptied"), [("urn::gcp:storage/bucket:Bucket::data", 1), ("urn::other", 0)])
def test_only_an_own_bucket_is_emptied(project: Path, tmp_path: Path, urns: str, emptied: int) -> None:
    """A bucket that somebody else made keeps its objects when the cluster and its data go."""
    calls, _, status = called(project, tmp_path, "allow_deleting_data", URNS=urns, LEFT="storage ls --all-versions")
    assert status == 0
    assert sum("storage ls" in call for call in calls) == emptied
