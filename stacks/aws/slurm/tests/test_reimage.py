"""Runs the rolling replacement against a stand-in for the AWS command line and looks at what it asked, in which order."""

import json
import os
import subprocess
from pathlib import Path

import pytest

# A stand-in whose groups replace an instance as soon as it is ended; every call is a line of the log.
AWS = r"""#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
words = [one for one in sys.argv[1:]]
words = words[2:] if words[0] == "--region" else words
folder = Path(os.environ["STAND_IN"])
state = json.loads((folder / "state.json").read_text())
with (folder / "log").open("a") as log:
    log.write(" ".join(words) + "\n")
def value(name): return words[words.index(name) + 1]
call = words[1]
if call == "send-command":
    print("command-1")
    (folder / "last").write_text(json.loads(value("--parameters"))["commands"][0])
elif call == "get-command-invocation":
    last = (folder / "last").read_text()
    print("Success" if value("--query") == "Status" else "drained" if "sinfo" in last else "")
elif call == "describe-auto-scaling-groups":
    group = state[value("--auto-scaling-group-names")]
    query = value("--query")
    if "LaunchTemplate.Version'" in query or query.endswith("LaunchTemplate.Version"):
        print(group["newest"])
    elif "DesiredCapacity" in query:
        print(len(group["nodes"]))
    else:
        print("\n".join(f"{node}\t{version}" for node, version in group["nodes"].items()))
elif call == "describe-instances":
    first = words.index("--instance-ids") + 1
    last = words.index("--output")
    print("\n".join(f"ip-10-0-0-{one[2:]}.ec2.internal" for one in words[first:last]))
elif call == "terminate-instance-in-auto-scaling-group":
    for group in state.values():
        if value("--instance-id") in group["nodes"]:
            del group["nodes"][value("--instance-id")]
            group["nodes"]["i-9" + value("--instance-id")[2:]] = group["newest"]
    (folder / "state.json").write_text(json.dumps(state))
else:
    sys.exit(f"unknown call {words}")
"""
CLUSTER = r"""
set -euo pipefail
say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
run() { "$@"; }
output() { printf 'i-controller\n'; }
outputs() { printf 'one\ntwo\n'; }
configured() { if [ "$2" = aws:region ]; then printf 'us-east-1\n'; fi; }
. ./cloud.sh
reimage_nodes
"""
NODES = {
    "one": {"newest": "7", "nodes": {"i-1": "6", "i-2": "7", "i-3": "6", "i-4": "6"}},
    "two": {"newest": "7", "nodes": {"i-5": "7"}},
}


def reimage(project: Path, folder: Path, **environment: str) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Run it once; the calls in order, and the nodes of each group afterwards."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "aws").write_text(AWS)
    (tools / "aws").chmod(0o755)
    (folder / "state.json").write_text(json.dumps(NODES))
    given = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "STAND_IN": str(folder), "REIMAGE_POLL_S": "0"}
    subprocess.run(["bash", "-c", CLUSTER], cwd=project, env={**given, **environment}, check=True, timeout=120)  # noqa: S603, S607 - the project's own script
    after = json.loads((folder / "state.json").read_text())
    return (folder / "log").read_text().splitlines(), {name: group["nodes"] for name, group in after.items()}


@pytest.fixture(scope="module")
def calls(project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Two nodes at a time, with three old ones."""
    return reimage(project, tmp_path_factory.mktemp("reimage"), REIMAGE_BATCH="2")


def test_old_nodes_are_replaced_and_others_stay(calls: tuple[list[str], dict[str, dict[str, str]]]) -> None:
    """Only nodes of an older template are ended, each once, and every group is whole at the end."""
    log, after = calls
    ended = [line.split("--instance-id ")[1].split()[0] for line in log if "terminate-instance" in line]
    assert ended == ["i-1", "i-3", "i-4"]
    assert all("--no-should-decrement-desired-capacity" in line for line in log if "terminate-instance" in line)
    assert set(after["one"].values()) == {"7"}
    assert after["two"] == {"i-5": "7"}


def test_no_node_is_ended_before_it_is_drained(calls: tuple[list[str], dict[str, dict[str, str]]]) -> None:
    """Slurm drains a batch and says so before its instances end, and forgets their names afterwards."""
    log, _ = calls
    steps = [
        word
        for line in log
        for word in ("state=drain", "sinfo", "terminate-instance", "scontrol delete")
        if word in line
    ]
    assert steps == [
        "state=drain",
        "sinfo",
        "terminate-instance",
        "terminate-instance",
        "scontrol delete",
        "state=drain",
        "sinfo",
        "terminate-instance",
        "scontrol delete",
    ]
    assert any("nodename=ip-10-0-0-1,ip-10-0-0-3 state=drain" in line for line in log)


def test_all_nodes_on_request(project: Path, tmp_path: Path) -> None:
    """With REIMAGE_ALL every node is replaced."""
    log, _ = reimage(project, tmp_path, REIMAGE_ALL="yes")
    assert sum("terminate-instance" in line for line in log) == 5
