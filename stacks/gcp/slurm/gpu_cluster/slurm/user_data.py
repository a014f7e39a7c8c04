"""Writes what a machine reads at boot: an environment file and the scripts of `node/`, as cloud-init user data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_cluster import limits
from gpu_cluster.node_type import NodeType

ENVIRONMENT_PATH = "/etc/gpu-cluster/node.env"
SCRIPT_FOLDER = "/opt/gpu-cluster"
# cloud-init runs these at every boot: local disks come back empty after a stop and have to be set up again.
EVERY_BOOT_PATH = "/var/lib/cloud/scripts/per-boot/gpu-cluster.sh"


class UserDataError(ValueError):
    """The user data cannot be made from what is in the project folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """The accounting database, as the controller reaches it; the password is named, not held."""

    host: str = ""
    user: str = ""
    secret_id: str = ""
    certificate_base64: str = ""


NO_DATABASE = Database()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEnvironment:
    """What a machine has to know. Nothing here is secret: user data can be read by every process on the machine."""

    role: str
    cluster_name: str
    partition: str
    controller_address: str
    region: str
    secret_id: str
    users_id: str
    node_type: NodeType
    shared_source: str
    shared_path: str
    bucket: str
    data_identity: str = ""
    database: Database = NO_DATABASE
    spot: bool = False
    busy_metric: bool = False
    job_environment: str = "container"
    # Of the directory's settings and of its password, with a blank between; empty for no directory.
    directory_places: str = ""

    def lines(self) -> str:
        """The environment file, one quoted variable per line."""
        # Hosts of a TPU slice are no Slurm nodes: Slurm then runs what needs no accelerator.
        with_gpus = not self.node_type.is_tpu
        variables = {
            "CLUSTER_CLOUD": "gcp",
            "CLUSTER_ROLE": self.role,
            "CLUSTER_NAME": self.cluster_name,
            "CLUSTER_PARTITION": self.partition,
            "CLUSTER_CONTROLLER_ADDRESS": self.controller_address,
            "CLUSTER_REGION": self.region,
            "CLUSTER_SECRET_ID": self.secret_id,
            "CLUSTER_USERS_ID": self.users_id,
            "CLUSTER_GPUS_PER_NODE": str(self.node_type.gpus_per_node if with_gpus else 0),
            "CLUSTER_GPU_TYPE": self.node_type.gpu_type if with_gpus else "",
            "CLUSTER_FABRIC": self.node_type.fabric if with_gpus else "none",
            "CLUSTER_FABRIC_INTERFACES": str(self.node_type.fabric_interfaces),
            "CLUSTER_SHARED_SOURCE": self.shared_source,
            "CLUSTER_SHARED_PATH": self.shared_path,
            "CLUSTER_BUCKET": self.bucket,
            "CLUSTER_DATA_IDENTITY": self.data_identity,
            "CLUSTER_DATABASE_HOST": self.database.host,
            "CLUSTER_DATABASE_USER": self.database.user,
            "CLUSTER_DATABASE_SECRET_ID": self.database.secret_id,
            "CLUSTER_DATABASE_CA": self.database.certificate_base64,
            "CLUSTER_SPOT": "yes" if self.spot else "no",
            "CLUSTER_BUSY_METRIC": "yes" if self.busy_metric else "no",
            "CLUSTER_JOB_ENVIRONMENT": self.job_environment,
        }
        if self.directory_places:
            settings, _, password = self.directory_places.partition(" ")
            variables |= {"CLUSTER_DIRECTORY_ID": settings, "CLUSTER_DIRECTORY_PASSWORD_ID": password}
        return "".join(f"{name}={_quote(value)}\n" for name, value in variables.items())


def read_scripts(folder: Path) -> dict[str, str]:
    """Scripts and table of software of `node/`, by file name. Raises UserDataError if there is no bootstrap.sh."""
    found = sorted((*folder.glob("*.sh"), *folder.glob("*.csv")))
    scripts = {path.name: path.read_text(encoding="utf-8") for path in found}
    if "bootstrap.sh" not in scripts:
        raise UserDataError(f"{folder} has no bootstrap.sh: the project needs its folder node/ with the boot scripts")
    return scripts


def render_user_data(environment: NodeEnvironment, scripts: Mapping[str, str]) -> str:
    """cloud-init user data. It stays plain text, so that `pulumi preview` shows what changes on the machines.

    Raises UserDataError when it does not fit into one metadata value.
    """
    files = [
        {"path": ENVIRONMENT_PATH, "permissions": "0644", "content": environment.lines()},
        *(
            {"path": f"{SCRIPT_FOLDER}/{name}", "permissions": "0755", "content": content}
            for name, content in sorted(scripts.items())
        ),
        {"path": EVERY_BOOT_PATH, "permissions": "0755", "content": f"#!/bin/sh\nexec {SCRIPT_FOLDER}/bootstrap.sh\n"},
    ]
    # JSON is YAML too, and needs no further library.
    text = "#cloud-config\n" + json.dumps({"write_files": files}, indent=1) + "\n"
    size_bytes = len(text.encode())
    if size_bytes > limits.METADATA_VALUE_MAX_BYTES:
        raise UserDataError(
            f"user data is {size_bytes} bytes and a metadata value holds {limits.METADATA_VALUE_MAX_BYTES}: "
            "make the scripts in node/ smaller"
        )
    return text


def metadata_with(user_data: str) -> dict[str, str]:
    """Metadata of a machine: its user data, and logins by IAM alone."""
    return {
        "enable-oslogin": "TRUE",
        "block-project-ssh-keys": "TRUE",
        "serial-port-enable": "FALSE",
        "user-data": user_data,
    }


def _quote(value: str) -> str:
    if "\n" in value:
        raise UserDataError(f"a variable of node.env may not have more than one line: {value!r}")
    return "'" + value.replace("'", "'\\''") + "'"
