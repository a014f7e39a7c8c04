"""Checks user-data: what a shell and cloud-init make of it, and that it fits."""

import base64
import gzip
import re
import secrets
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gpu_cluster.slurm.user_data import (
    USER_DATA_LIMIT_BYTES,
    NodeEnvironment,
    UserDataError,
    cloud_config,
    environment_file,
    for_role,
    read_scripts,
    shortened,
    user_data_base64,
    without_comments,
)

ENVIRONMENT = NodeEnvironment(
    role="compute",
    cluster_name="gpt3",
    partition="gpu",
    controller_address="10.64.0.10",
    region="us-east-1",
    secret_id="arn:aws:secretsmanager:us-east-1:123456789012:secret:gpu-cluster/gpt3",
    users_id="arn:aws:secretsmanager:us-east-1:1:secret:users",
    gpus_per_node=8,
    gpu_type="h100",
    accelerator_device="nvidia",
    fabric="efa",
    fabric_interfaces=32,
    shared_source="fs-0.fsx.us-east-1.amazonaws.com@tcp:/abcd",
    shared_path="/shared",
    bucket="bucket",
)


@pytest.mark.parametrize("value", ["plain", "with space", "it's", "$HOME `id` \\", 'a"b', "", "line\nbreak", "ü"])
def test_shell_reads_back_what_was_written(tmp_path: Path, value: str) -> None:
    """Any value comes through the shell unchanged, and none is executed."""
    file = tmp_path / "node.env"
    file.write_text(environment_file(replace(ENVIRONMENT, bucket=value)), encoding="utf-8")
    script = f'. "{file}"; printf %s "$CLUSTER_BUCKET"'
    result = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)  # noqa: S603 - the test's own script
    assert result.stdout.decode() == value


def test_cloud_config_keeps_scripts_byte_for_byte() -> None:
    """Tabs, quotes, backslashes and non-ASCII characters of a script survive YAML."""
    script = "#!/bin/sh\n\techo \"a\\nb\" 'c' : # ü 🙂\n"
    body = yaml.safe_load(cloud_config(ENVIRONMENT, {"bootstrap.sh": script}))
    files = {file["path"]: file["content"] for file in body["write_files"]}
    assert files["/opt/gpu-cluster/bootstrap.sh"] == script


def test_same_input_gives_same_bytes() -> None:
    """No time stamp gets into the compressed data, so an unchanged stack plans no change."""
    scripts = {"bootstrap.sh": "true\n"}
    first = user_data_base64(ENVIRONMENT, scripts)
    assert first == user_data_base64(ENVIRONMENT, scripts)
    assert base64.b64decode(first)[4:8] == b"\0\0\0\0"
    assert gzip.decompress(base64.b64decode(first)).startswith(b"#cloud-config\n")


def test_too_much_is_refused_with_advice() -> None:
    """User-data above 16 KiB is refused here, not by EC2 after the rest was deployed."""
    with pytest.raises(UserDataError, match="EC2 accepts 16384"):
        user_data_base64(ENVIRONMENT, {"bootstrap.sh": secrets.token_hex(40_000)})


@pytest.mark.parametrize("role", ["controller", "login", "compute"])
def test_shipped_scripts_fit_with_room(project: Path, role: str) -> None:
    """The shipped scripts leave at least 2 KiB of EC2's 16 for longer names and scripts of one's own."""
    packed = base64.b64decode(user_data_base64(replace(ENVIRONMENT, role=role), read_scripts(project / "node")))
    assert len(packed) <= USER_DATA_LIMIT_BYTES - 2 * 1024


@pytest.mark.parametrize("role", ["controller", "login", "compute"])
def test_a_role_gets_every_script_that_its_scripts_name(project: Path, role: str) -> None:
    """From the entry script on, no script of the folder is called or sourced that the role does not get."""
    scripts = read_scripts(project / "node")
    got = for_role(role, scripts)
    # Branches of other roles name scripts too; they are not taken.
    others = {f"{other}.sh" for other in ("controller", "login", "compute") if other != role}
    never = others | (set() if role == "compute" else {"scratch.sh", "watches.sh"})
    named = {
        name for text in got.values() for name in re.findall(r"\$(?:here|scripts)/([a-z_]+\.[a-z]+)", text)
    } & scripts.keys()
    assert f"{role}.sh" in got
    # slurmd runs these, and the controller's slurm.conf only names their paths.
    on_nodes = set() if role == "compute" else {"prolog.sh", "epilog.sh", "health_check.sh"}
    assert named - never - on_nodes - got.keys() == set()
    assert for_role(role, {"own.sh": "true\n"}) == {"own.sh": "true\n"}


def test_a_node_has_no_script_that_it_never_starts(project: Path) -> None:
    """The watches that node.env turns off are not sent either; those that it turns on are."""
    scripts = read_scripts(project / "node")
    watches = {"interruption.sh", "busy_gpus.sh", "metric_aws.sh"}

    def sent(*, spot: bool, busy_metric: bool) -> set[str]:
        body = yaml.safe_load(cloud_config(replace(ENVIRONMENT, spot=spot, busy_metric=busy_metric), scripts))
        return {Path(file["path"]).name for file in body["write_files"]} - {"node.env"}

    assert sent(spot=True, busy_metric=True) == {*for_role("compute", scripts)} >= watches
    assert sent(spot=False, busy_metric=True) == {*for_role("compute", scripts)} - {"interruption.sh"}
    assert sent(spot=False, busy_metric=False) == {*for_role("compute", scripts)} - watches


def test_only_comments_are_left_out(project: Path) -> None:
    """Bash reads the same commands in the shipped scripts with and without comments; a written file keeps its own."""
    scripts = {name: text for name, text in read_scripts(project / "node").items() if name.endswith(".sh")}
    for name, script in scripts.items():
        shorter = without_comments(script)
        assert len(shorter) < len(script)
        assert shorter.startswith("#!/usr/bin/env bash\n")
        assert _as_bash_reads(shorter) == _as_bash_reads(script), name
    assert without_comments("#!/bin/sh\n  # no\ncat <<'X'\n# yes\nX\n# no\nread a <<<\"# yes\"\n") == (
        "#!/bin/sh\ncat <<'X'\n# yes\nX\nread a <<<\"# yes\"\n"
    )


def _as_bash_reads(script: str) -> list[str]:
    command = ["bash", "--pretty-print"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        pytest.skip("this bash cannot print how it reads a script")
    # Within quotes stands Python, whose comments bash prints.
    return [line for line in done.stdout.splitlines() if line and not line.lstrip().startswith("#")]


def test_folder_without_bootstrap_is_refused(tmp_path: Path) -> None:
    """Scripts without their entry point are refused."""
    (tmp_path / "other.sh").write_text("true\n")
    with pytest.raises(UserDataError, match=r"no bootstrap\.sh"):
        read_scripts(tmp_path)


def test_the_table_of_software_is_sent_without_its_prose(project: Path) -> None:
    """Scripts read four columns, and no row of another cloud; the rest is for readers, and user-data is short."""
    table = "name,version,source,reference,date,what\nmunge,0.5,apt,,2026-11-22,why\ngcsfuse,3,apt,,2026-11-22,why\n"
    assert shortened("software.csv", table) == "name,version,source,reference\nmunge,0.5,apt,\n"
    shipped = (project / "node" / "software.csv").read_text()
    kept = {row.partition(",")[0] for row in shortened("software.csv", shipped).splitlines()}
    ours = {"ubuntu-archive", "enroot", "pyxis", "nvidia-container-toolkit", "lustre-client-aws"}
    assert kept == {"name"} | ours
    assert shortened("login.sh", "#!/bin/sh\na,b,c,d,e\n") == "#!/bin/sh\na,b,c,d,e\n"
