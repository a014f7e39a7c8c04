"""Builds the custom data of a machine: an environment file and the boot scripts as a cloud-config."""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pulumi

# Azure takes 65,535 bytes (SDK text of osProfile.customData); counted here after base64, the stricter reading.
CUSTOM_DATA_LIMIT_BYTES = 65_535
ENVIRONMENT_PATH = "/etc/gpu-cluster/node.env"
SCRIPT_FOLDER = "/opt/gpu-cluster"


class UserDataError(pulumi.RunError):
    """The boot scripts are missing or do not fit into custom data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnvironment:
    """What a machine has to know at boot. Nothing in it is secret: every process on the machine can read it.

    Each field is the variable of the environment file of the same name, with `CLUSTER_` before it; `node/README.md`
    explains them; directory_places: place of the directory's settings, and that of its password behind a blank.
    """

    role: str
    name: str
    partition: str
    controller_address: str
    region: str
    secret_id: str
    users_id: str
    identity_client_id: str
    gpus_per_node: int
    gpu_type: str
    fabric: str
    fabric_interfaces: int
    shared_source: str
    shared_path: str
    bucket: str
    data_identity: str = ""
    database_host: str = ""
    database_user: str = ""
    database_secret_id: str = ""
    spot: str = "no"
    busy_metric: str = "no"
    job_environment: str = "container"
    directory_places: str = ""


def shell_quoted(value: str) -> str:
    """Quote a value so that the shell takes it literally."""
    return "'" + value.replace("'", "'\\''") + "'"


def environment_file(environment: NodeEnvironment) -> str:
    """Write the environment file, one shell-quoted variable per line."""
    variables = {"cloud": "azure", **asdict(environment)}
    places = variables.pop("directory_places")
    # Without a directory the environment file has none of these variables.
    if places:
        variables["directory_id"], _, variables["directory_password_id"] = str(places).partition(" ")
    return "".join(f"CLUSTER_{name.upper()}={shell_quoted(str(value))}\n" for name, value in variables.items())


def read_scripts(folder: Path) -> dict[str, str]:
    """Read the boot scripts, and the table of software that they install, by file name.

    Raises:
        UserDataError: if the folder has no bootstrap.sh.
    """
    found = sorted((*folder.glob("*.sh"), *folder.glob("*.csv")))
    scripts = {path.name: path.read_text(encoding="utf-8") for path in found}
    if "bootstrap.sh" not in scripts:
        raise UserDataError(f"no bootstrap.sh in {folder}: the project needs its folder of boot scripts")
    return scripts


def cloud_config(environment: NodeEnvironment, scripts: Mapping[str, str]) -> str:
    """Write the cloud-config: files first, then the one command that runs them. Its body is JSON, which is YAML too."""
    files = [{"path": ENVIRONMENT_PATH, "permissions": "0644", "content": environment_file(environment)}]
    files += [
        {"path": f"{SCRIPT_FOLDER}/{name}", "permissions": "0755", "content": content}
        for name, content in sorted(scripts.items())
    ]
    body = {"write_files": files, "runcmd": [[f"{SCRIPT_FOLDER}/bootstrap.sh"]]}
    return "#cloud-config\n" + json.dumps(body, indent=0) + "\n"


def custom_data(environment: NodeEnvironment, scripts: Mapping[str, str]) -> str:
    """Compress the cloud-config, which cloud-init unpacks by itself, and encode it as Azure takes it.

    Raises:
        UserDataError: if the result exceeds what Azure accepts.
    """
    # No time stamp in the header: the same input has to give the same bytes, or every `up` would plan a change.
    packed = gzip.compress(cloud_config(environment, scripts).encode(), compresslevel=9, mtime=0)
    encoded = base64.b64encode(packed).decode()
    if len(encoded) > CUSTOM_DATA_LIMIT_BYTES:
        raise UserDataError(
            f"custom data is {len(encoded)} bytes; Azure takes {CUSTOM_DATA_LIMIT_BYTES}. Shorten the scripts in node/"
        )
    return encoded
