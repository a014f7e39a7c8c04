"""Custom data carries the environment and every script, and fits into what Azure takes."""

import base64
import gzip
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_cluster.slurm.user_data import (
    CUSTOM_DATA_LIMIT_BYTES,
    NodeEnvironment,
    UserDataError,
    custom_data,
    environment_file,
    read_scripts,
    shell_quoted,
)
from recording import PROJECT

ENVIRONMENT = NodeEnvironment(
    role="compute",
    name="gpt3",
    partition="gpu",
    controller_address="10.40.0.4",
    region="eastus",
    secret_id="https://sv.vault.azure.net/secrets/munge-key",
    users_id="https://sv-x.vault.azure.net/secrets/users",
    identity_client_id="client",
    gpus_per_node=8,
    gpu_type="h100",
    fabric="infiniband",
    fabric_interfaces=8,
    shared_source="10.40.128.4@tcp:/lustrefs",
    shared_path="/shared",
    bucket="https://st.blob.core.windows.net/data",
)


def files_of(encoded: str) -> dict[str, tuple[str, str]]:
    """Return path -> (permissions, text) of a machine's files, unpacked as cloud-init does."""
    text = gzip.decompress(base64.b64decode(encoded)).decode()
    first, _, body = text.partition("\n")
    assert first == "#cloud-config"
    config: dict[str, Any] = json.loads(body)
    assert config["runcmd"] == [["/opt/gpu-cluster/bootstrap.sh"]]
    return {file["path"]: (file["permissions"], file["content"]) for file in config["write_files"]}


def test_every_script_arrives() -> None:
    """Every script of the folder arrives unchanged and executable; the environment is readable and no script."""
    scripts = read_scripts(PROJECT / "node")
    files = files_of(custom_data(ENVIRONMENT, scripts))
    assert {path.rpartition("/")[2]: text for path, (_, text) in files.items() if path.startswith("/opt")} == scripts
    assert {mode for path, (mode, _) in files.items() if path.startswith("/opt")} == {"0755"}
    assert files["/etc/gpu-cluster/node.env"] == ("0644", environment_file(ENVIRONMENT))


def test_environment_reads_back() -> None:
    """The shell reads the variables back as they were meant, an apostrophe included."""
    text = environment_file(replace(ENVIRONMENT, bucket="it's $HOME"))
    values = dict(line.split("=", 1) for line in shlex.split(text))
    assert values["CLUSTER_CLOUD"] == "azure"
    assert values["CLUSTER_BUCKET"] == "it's $HOME"
    assert values["CLUSTER_FABRIC_INTERFACES"] == "8"
    assert values["CLUSTER_SHARED_SOURCE"] == "10.40.128.4@tcp:/lustrefs"


def test_same_input_same_bytes() -> None:
    """Two runs give the same bytes, or every `up` would plan a new controller."""
    scripts = {"bootstrap.sh": "true\n"}
    assert custom_data(ENVIRONMENT, scripts) == custom_data(ENVIRONMENT, scripts)


def test_real_scripts_leave_room() -> None:
    """The real scripts take less than half of what Azure allows."""
    assert len(custom_data(ENVIRONMENT, read_scripts(PROJECT / "node"))) < CUSTOM_DATA_LIMIT_BYTES // 2


def test_too_large_is_refused() -> None:
    """Scripts that do not fit are refused here and not by Azure after minutes."""
    noise = "".join(f"{index * 2654435761 % 2**32:08x}" for index in range(30_000))
    with pytest.raises(UserDataError, match="65535"):
        custom_data(ENVIRONMENT, {"bootstrap.sh": noise})


def test_missing_scripts_are_refused(tmp_path: Path) -> None:
    """A project without its bootstrap scripts says so."""
    with pytest.raises(UserDataError, match=r"no bootstrap\.sh"):
        read_scripts(tmp_path)


@pytest.mark.parametrize("value", ["", "plain", "a'b", "$(reboot)", "two words", "`id`", "\\"])
def test_shell_quoting(value: str) -> None:
    """Any value reads back as itself."""
    assert shlex.split(shell_quoted(value)) == [value]
