"""Builds the user-data of a machine: an environment file and the bootstrap scripts, as gzipped cloud-config."""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# EC2 limits user-data to 16 KiB before base64 (Amazon EC2 User Guide, "Run commands at launch").
USER_DATA_LIMIT_BYTES = 16 * 1024
ENVIRONMENT_PATH = "/etc/gpu-cluster/node.env"
SCRIPT_FOLDER = "/opt/gpu-cluster"
# Scripts that only some roles run, by the first letters of their names: user-data is short.
_ONLY_FOR = {
    "accounting": ("controller",),
    "busy_gpus": ("compute",),
    "compute": ("compute",),
    "controller": ("controller",),
    "epilog": ("compute",),
    "fabric_check": ("compute",),
    "health_check": ("compute",),
    "imex": ("compute",),
    "interruption": ("compute",),
    "login": ("login",),
    "metric_": ("compute",),
    "prolog": ("compute",),
    "scratch": ("compute",),
    "slurm_conf": ("controller", "login"),
    "transport_": ("compute",),
    "users_directory_logins": ("controller", "login"),
    "users_directory_password": ("controller",),
    "watches": ("compute",),
}
# Those that compute nodes run only if they are told to watch for interruptions, or to publish their busy GPUs.
_ONLY_WITH_SPOT = ("interruption",)
_ONLY_WITH_METRIC = ("busy_gpus", "metric_")
# Rows of the table of software that machines of other clouds read, by the first letters of their names.
_OF_OTHER_CLOUDS = ("tcpx", "gib-", "gcsfuse", "blobfuse", "lustre-client-gcp", "lustre-client-azure")
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?\s*['\"]?(\w+)['\"]?")


class UserDataError(Exception):
    """The bootstrap scripts are missing or do not fit into user-data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEnvironment:
    """What a machine has to know at boot. Nothing in it is secret: user-data is readable by every process on it.

    Attributes:
        accelerator_device: name of the accelerators' device files, without their numbers.
        database_host: of the accounting database; empty for none, and for machines that do not need it.
        spot: whether to watch for the notice of an interruption.
        busy_metric: whether to publish how many accelerators are busy.
        directory_places: of the directory's settings and its password, with a blank between; empty for no directory.
        login_role: of the machine on which ordinary users work.
        job_environment: `container`, `venv` or `modules`.
    """

    role: str
    cluster_name: str
    partition: str
    controller_address: str
    region: str
    secret_id: str
    users_id: str
    gpus_per_node: int
    gpu_type: str
    accelerator_device: str
    fabric: str
    fabric_interfaces: int
    shared_source: str
    shared_path: str
    bucket: str
    database_host: str = ""
    database_user: str = ""
    database_secret_id: str = ""
    database_authority: str = ""
    spot: bool = False
    busy_metric: bool = False
    directory_places: str = ""
    login_role: str = "login"
    job_environment: str = "container"


def environment_file(environment: NodeEnvironment) -> str:
    """Write the environment file, one shell-quoted variable per line."""
    variables = {
        "CLOUD": "aws",
        "ROLE": environment.role,
        "NAME": environment.cluster_name,
        "PARTITION": environment.partition,
        "CONTROLLER_ADDRESS": environment.controller_address,
        "REGION": environment.region,
        "SECRET_ID": environment.secret_id,
        "USERS_ID": environment.users_id,
        "LOGIN_ROLE": environment.login_role,
        "GPUS_PER_NODE": str(environment.gpus_per_node),
        "GPU_TYPE": environment.gpu_type,
        "ACCELERATOR_DEVICE": environment.accelerator_device,
        "FABRIC": environment.fabric,
        "FABRIC_INTERFACES": str(environment.fabric_interfaces),
        "SHARED_SOURCE": environment.shared_source,
        "SHARED_PATH": environment.shared_path,
        "BUCKET": environment.bucket,
        "DATABASE_HOST": environment.database_host,
        "DATABASE_USER": environment.database_user,
        "DATABASE_SECRET_ID": environment.database_secret_id,
        "DATABASE_CA": environment.database_authority,
        "SPOT": "yes" if environment.spot else "no",
        "BUSY_METRIC": "yes" if environment.busy_metric else "no",
        "JOB_ENVIRONMENT": environment.job_environment,
    }
    if environment.directory_places:
        variables["DIRECTORY_ID"], _, variables["DIRECTORY_PASSWORD_ID"] = environment.directory_places.partition(" ")
    return "".join(f"CLUSTER_{name}={shell_quoted(value)}\n" for name, value in variables.items())


def shell_quoted(value: str) -> str:
    """Quote a value so that the shell takes it literally."""
    return "'" + value.replace("'", "'\\''") + "'"


def read_scripts(folder: Path) -> dict[str, str]:
    """Read the bootstrap scripts, and the table of software that they install, by file name.

    Raises:
        UserDataError: if the folder has no bootstrap.sh.
    """
    found = sorted((*folder.glob("*.sh"), *folder.glob("*.csv")))
    scripts = {path.name: path.read_text(encoding="utf-8") for path in found}
    if "bootstrap.sh" not in scripts:
        raise UserDataError(f"no bootstrap.sh in {folder}: the project needs its folder of bootstrap scripts")
    return scripts


def for_role(role: str, scripts: Mapping[str, str], *, spot: bool = True, busy_metric: bool = True) -> dict[str, str]:
    """Leave out the scripts that other roles run, or that this machine never starts; one of one's own is everywhere."""
    foreign = (
        *(start for start, roles in _ONLY_FOR.items() if role not in roles),
        *(() if spot else _ONLY_WITH_SPOT),
        *(() if busy_metric else _ONLY_WITH_METRIC),
    )
    return {name: script for name, script in scripts.items() if not name.startswith(foreign)}


def shortened(name: str, content: str) -> str:
    """Return what the machine needs of a file: of the table of software, its own rows and the columns that are read."""
    if name.endswith(".csv"):
        rows = (row.split(",")[:4] for row in content.splitlines() if not row.startswith(_OF_OTHER_CLOUDS))
        return "".join(",".join(row) + "\n" for row in rows)
    return without_comments(content)


def without_comments(script: str) -> str:
    """Leave out the lines of a script that are comments, but for the first; files that it writes keep theirs.

    A quarter of the scripts is comments: they are for readers of this project, and user-data is short.
    """
    kept: list[str] = []
    end = ""
    for line in script.splitlines(keepends=True):
        if kept and not end and line.lstrip().startswith("#"):
            continue
        kept.append(line)
        opened = _HERE_DOCUMENT.search(line)
        end = "" if end and line.strip() == end else end or (opened[1] if opened else "")
    return "".join(kept)


def cloud_config(environment: NodeEnvironment, scripts: Mapping[str, str]) -> str:
    """Write the cloud-config: files first, then the one command that runs them. Its body is JSON, which is YAML too."""
    files = [{"path": ENVIRONMENT_PATH, "permissions": "0644", "content": environment_file(environment)}]
    files.extend(
        {"path": f"{SCRIPT_FOLDER}/{name}", "permissions": "0755", "content": shortened(name, content)}
        for name, content in sorted(
            for_role(environment.role, scripts, spot=environment.spot, busy_metric=environment.busy_metric).items()
        )
    )
    body = {"write_files": files, "runcmd": [[f"{SCRIPT_FOLDER}/bootstrap.sh"]]}
    return "#cloud-config\n" + json.dumps(body, ensure_ascii=False, indent=0) + "\n"


def user_data_base64(environment: NodeEnvironment, scripts: Mapping[str, str]) -> str:
    """Compress the cloud-config and encode it as launch templates and instances take it.

    cloud-init unpacks gzip by itself. The header has no time stamp, so that the same input gives the same bytes and
    an `up` without changes plans none.

    Raises:
        UserDataError: if the result exceeds what EC2 accepts.
    """
    packed = gzip.compress(cloud_config(environment, scripts).encode(), compresslevel=9, mtime=0)
    if len(packed) > USER_DATA_LIMIT_BYTES:
        raise UserDataError(
            f"user-data is {len(packed)} bytes after compression; EC2 accepts {USER_DATA_LIMIT_BYTES}. "
            "Shorten the scripts in node/, or fetch the larger ones from the bucket at boot."
        )
    return base64.b64encode(packed).decode()
