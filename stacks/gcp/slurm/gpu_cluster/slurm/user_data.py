"""Writes what a machine reads at boot: an environment file and the scripts of `node/`, as cloud-init user data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import limits

ENVIRONMENT_PATH = "/etc/clusterwright/node.env"
SCRIPT_FOLDER = "/opt/clusterwright"
# cloud-init runs these at every boot: local disks come back empty after a stop and have to be set up again.
EVERY_BOOT_PATH = "/var/lib/cloud/scripts/per-boot/clusterwright.sh"


class UserDataError(ValueError):
    """The user data cannot be made from what is in the project folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEnvironment:
    """What a machine has to know. Nothing here is secret: user data can be read by every process on the machine."""

    role: str
    cluster_name: str
    partition: str
    controller_address: str
    region: str
    secret_id: str
    node_count: int
    gpus_per_node: int
    gpu_type: str
    fabric: str
    fabric_interfaces: int
    shared_source: str
    shared_path: str
    bucket: str

    def lines(self) -> str:
        """The environment file, one quoted variable per line."""
        variables = {
            "CLOUD": "gcp",
            "ROLE": self.role,
            "CLUSTER_NAME": self.cluster_name,
            "PARTITION": self.partition,
            "CONTROLLER_ADDRESS": self.controller_address,
            "REGION": self.region,
            "SECRET_ID": self.secret_id,
            # Slurm sizes its node table by this; a cluster without running nodes still needs one place.
            "NODE_COUNT": str(max(self.node_count, 1)),
            "GPUS_PER_NODE": str(self.gpus_per_node),
            "GPU_TYPE": self.gpu_type,
            "FABRIC": self.fabric,
            "FABRIC_INTERFACES": str(self.fabric_interfaces),
            "SHARED_SOURCE": self.shared_source,
            "SHARED_PATH": self.shared_path,
            "BUCKET": self.bucket,
        }
        return "".join(f"CLUSTERWRIGHT_{name}={_quote(value)}\n" for name, value in variables.items())


def read_scripts(folder: Path) -> dict[str, str]:
    """Scripts of the `node/` folder by file name. Raises UserDataError if there is no bootstrap.sh."""
    scripts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sh"))}
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


def _quote(value: str) -> str:
    if "\n" in value:
        raise UserDataError(f"a variable of node.env may not have more than one line: {value!r}")
    return "'" + value.replace("'", "'\\''") + "'"
