"""Nodes are reimaged a part at a time, and only after their jobs have ended."""

import os
import subprocess
from pathlib import Path

import pytest

from recording import PROJECT

# Stands in for the Azure command line: writes down what it was asked for and answers as Azure would. The first look at
# a drained node still finds a job on it.
AZ = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$CALLS"
message() { printf 'Enable succeeded: \\n[stdout]\\n%s\\n\\n[stderr]\\n\\n' "$1"; }
case "$*" in
  "vmss list "*) printf 'gpt3-nodes-0\\n' ;;
  "vmss list-instances"*) printf '0\\tgpt3-g0000000\\t%s\\n1\\tgpt3-g0000001\\t%s\\n2\\tgpt3-g0000002\\t%s\\n' \
    "$NEWEST" "$NEWEST" "$NEWEST"
    printf '3\\tgpt3-g0000003\\tTrue\\n' ;;
  "resource list"*) printf '%s\\n' "${LEFT:-}" ;;
  *sinfo*)
    if [ ! -e "$CALLS.busy" ]; then touch "$CALLS.busy"; message draining
    elif tail -n 2 "$CALLS" | grep -q resume; then message idle
    else message drained; fi ;;
  *run-command*) message "" ;;
esac
"""
FRAME = """
set -euo pipefail
say() { printf '%s\\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
run() { "$@"; }
output() { printf '%s-of-%s' "$2" "$1"; }
configured() { printf 'gpt3'; }
. ./cloud.sh
"""


def called(folder: Path, command: str, **environment: str) -> tuple[list[str], str]:
    """Return what the Azure command line was asked for, and what was said, when a function of cloud.sh runs."""
    az = folder / "az"
    az.write_text(AZ)
    az.chmod(0o755)
    calls = folder / "calls"
    done = subprocess.run(  # noqa: S603 -- our own script
        ["/bin/bash", "-c", FRAME + command],
        cwd=PROJECT,
        env={
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "CALLS": str(calls),
            "NEWEST": "False",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return calls.read_text().splitlines(), done.stderr


def test_nodes_are_reimaged_in_batches(tmp_path: Path) -> None:
    """Each batch is drained, waited for, brought to the newest model, reimaged and taken back, in this order."""
    calls, said = called(tmp_path, "reimage_nodes", REIMAGE_BATCH="2", REIMAGE_POLL_S="0")
    steps = [
        step
        for call in calls
        for step in ("state=drain", "sinfo", "vmss update-instances", "vmss reimage", "state=resume")
        if step in call
    ]
    one = ["state=drain", "sinfo", "vmss update-instances", "vmss reimage", "sinfo", "state=resume", "sinfo"]
    # The first batch is looked at once more, because a job still ran.
    assert steps == [*one[:2], "sinfo", *one[2:], *one]
    reimaged = [call.partition("--instance-ids ")[2] for call in calls if "vmss reimage" in call]
    assert reimaged == ["0 1 --output none", "2 --output none"]
    assert "gpt3-g0000000,gpt3-g0000001" in said
    assert any("--ids controller_id-of-cluster" in call for call in calls)


@pytest.mark.parametrize(("settings", "count"), [({}, 0), ({"REIMAGE_ALL": "yes"}, 4)])
def test_nodes_of_the_newest_model_stay(tmp_path: Path, settings: dict[str, str], count: int) -> None:
    """After a resize alone every node is of the newest model, and none is drained, unless all are asked for."""
    calls, said = called(tmp_path, "reimage_nodes", NEWEST="True", REIMAGE_POLL_S="0", **settings)
    assert sum("state=drain" in call for call in calls) == bool(count)
    assert f"gpt3-nodes-0: {count} nodes were to reimage" in said


@pytest.mark.parametrize(
    ("left", "part"), [("", "no resource of gpt3"), ("/subscriptions/s/x", "still has, and bills")]
)
def test_leftovers_are_shown(tmp_path: Path, left: str, part: str) -> None:
    """What Azure still has after a destroy is listed by the cluster's tag."""
    calls, said = called(tmp_path, "show_leftovers", LEFT=left)
    assert part in said
    assert "gpu-cluster=gpt3" in calls[0]
