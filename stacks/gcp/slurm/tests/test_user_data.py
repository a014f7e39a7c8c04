"""What machines read at boot."""

import base64
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_cluster.node_type import NodeType
from gpu_cluster.slurm.user_data import NodeEnvironment, UserDataError, read_scripts, render_user_data
from recording import LUSTRE_MOUNT, MACHINE_TYPES, scenario

ENVIRONMENT = NodeEnvironment(
    role="compute",
    cluster_name="gpt3",
    partition="gpu",
    controller_address="10.0.0.10",
    region="us-central1",
    secret_id="projects/p/secrets/s",
    users_id="projects/p/secrets/users",
    node_type=NodeType(
        instance_type="a3-megagpu-8g",
        gpus_per_node=8,
        gpu_type="h100",
        cpus=208,
        memory_mib=1,
        fabric="tcpxo",
        image="",
        gpu_networks=8,
        mtu_bytes=8244,
        rdma=False,
        rdma_subnets=0,
        placement_max_nodes=None,
    ),
    shared_source="",
    shared_path="/shared",
    bucket="gs://b",
)
FABRIC_INTERFACES = {
    "a2-ultragpu-8g": ("none", "0"),
    "a3-highgpu-8g": ("tcpx", "4"),
    "a3-megagpu-8g": ("tcpxo", "8"),
    "a3-ultragpu-8g": ("roce", "8"),
    "a4-highgpu-8g": ("roce", "8"),
}


def files_of(user_data: str) -> dict[str, dict[str, str]]:
    """Files of a cloud-config by path."""
    header, _, body = user_data.partition("\n")
    assert header == "#cloud-config"
    return {entry["path"]: entry for entry in json.loads(body)["write_files"]}


def environment_of(user_data: str) -> dict[str, str]:
    """Variables of node.env as a shell reads them."""
    lines = files_of(user_data)["/etc/gpu-cluster/node.env"]["content"]
    script = f"set -a\n{lines}\npython3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    # Nothing of the caller's environment may show among the variables.
    clean = {"PATH": os.environ["PATH"]}
    result = subprocess.run(["/bin/sh", "-ec", script], capture_output=True, text=True, check=True, env=clean)  # noqa: S603
    return {name: value for name, value in json.loads(result.stdout).items() if name.startswith("CLUSTER_")}


def user_data_of(project: Path, type_: str, **changes: Any) -> str:
    """User data of the controller or of the nodes."""
    return scenario(project, **changes).one(type_).inputs["metadata"]["user-data"]


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_nodes_know_their_cluster(project: Path, machine: str) -> None:
    """node.env of a compute node holds every variable that the boot scripts read, with the values of this cluster."""
    environment = environment_of(
        user_data_of(project, "gcp:compute/instanceTemplate:InstanceTemplate", machine=machine)
    )
    fabric, interfaces = FABRIC_INTERFACES[machine]
    assert environment.pop("CLUSTER_GPU_TYPE") in {"a100", "h100", "h200", "b200"}
    assert environment == {
        "CLUSTER_CLOUD": "gcp",
        "CLUSTER_ROLE": "compute",
        "CLUSTER_NAME": "gpt3",
        "CLUSTER_PARTITION": "gpu",
        "CLUSTER_CONTROLLER_ADDRESS": "10.0.0.10",
        "CLUSTER_REGION": "us-central1",
        "CLUSTER_USERS_ID": "projects/my-gpu-project/secrets/gpt3-users",
        "CLUSTER_SECRET_ID": "projects/my-gpu-project/secrets/gpt3-munge-key",
        "CLUSTER_GPUS_PER_NODE": "8",
        "CLUSTER_FABRIC": fabric,
        "CLUSTER_FABRIC_INTERFACES": interfaces,
        "CLUSTER_SHARED_SOURCE": LUSTRE_MOUNT,
        "CLUSTER_SHARED_PATH": "/shared",
        "CLUSTER_BUCKET": "gs://gpt3-data",
        "CLUSTER_DATA_IDENTITY": "gpt3-data@my-gpu-project.iam.gserviceaccount.com",
        "CLUSTER_DATABASE_HOST": "",
        "CLUSTER_DATABASE_USER": "",
        "CLUSTER_DATABASE_SECRET_ID": "",
        "CLUSTER_DATABASE_CA": "",
        "CLUSTER_SPOT": "no",
        "CLUSTER_BUSY_METRIC": "no",
        "CLUSTER_JOB_ENVIRONMENT": "container",
    }


HEADS = {
    # No job runs on the controller, which does not mount the bucket.
    "controller": {
        "CLUSTER_DATA_IDENTITY": "",
        "CLUSTER_DATABASE_HOST": "10.20.16.3",
        "CLUSTER_DATABASE_USER": "slurm",
        "CLUSTER_DATABASE_SECRET_ID": "projects/my-gpu-project/secrets/gpt3-database-password",
        "CLUSTER_DATABASE_CA": base64.b64encode(b"certificate of the authority").decode(),
    },
    # The login machine only has to know that there is one.
    "login": {"CLUSTER_DATABASE_HOST": "10.20.16.3"},
}


@pytest.mark.parametrize("role", HEADS)
def test_head_machines_differ_from_nodes_by_role_and_database(project: Path, role: str) -> None:
    """Head machines get the same variables and scripts, apart from the role and the way to the database."""
    instance = scenario(project).one("gcp:compute/instance:Instance", role)
    node = environment_of(user_data_of(project, "gcp:compute/instanceTemplate:InstanceTemplate"))
    assert environment_of(instance.inputs["metadata"]["user-data"]) == {**node, "CLUSTER_ROLE": role, **HEADS[role]}


def test_all_scripts_come_along_and_run_at_every_boot(project: Path) -> None:
    """Every script of node/ is on the machine unchanged and executable, and bootstrap.sh runs at each boot."""
    files = files_of(user_data_of(project, "gcp:compute/instanceTemplate:InstanceTemplate"))
    for script in (project / "node").glob("*.sh"):
        entry = files[f"/opt/gpu-cluster/{script.name}"]
        assert (entry["content"], entry["permissions"]) == (script.read_text(), "0755")
    assert files["/etc/gpu-cluster/node.env"]["permissions"] == "0644"
    start = files["/var/lib/cloud/scripts/per-boot/gpu-cluster.sh"]
    assert start["content"].endswith("exec /opt/gpu-cluster/bootstrap.sh\n")
    assert start["permissions"] == "0755"


def test_user_data_is_the_same_on_a_second_rendering(project: Path) -> None:
    """The same input gives the same text, so that an `up` without changes plans none."""
    scripts = read_scripts(project / "node")
    assert render_user_data(ENVIRONMENT, scripts) == render_user_data(ENVIRONMENT, dict(reversed(scripts.items())))


def test_shell_cannot_be_led_astray() -> None:
    """A value with quotes, dollars or backticks reaches the shell unchanged and runs nothing."""
    nasty = "a'b\"c$HOME`id`$(id)\\"
    text = render_user_data(replace(ENVIRONMENT, bucket=nasty), {"bootstrap.sh": "true\n"})
    assert environment_of(text)["CLUSTER_BUCKET"] == nasty


def test_second_line_in_a_value_is_refused() -> None:
    """A value cannot add lines of its own to node.env."""
    with pytest.raises(UserDataError, match="more than one line"):
        render_user_data(replace(ENVIRONMENT, partition="gpu\nEVIL=1"), {"bootstrap.sh": ""})


def test_user_data_fits_the_metadata_limit_or_is_refused(project: Path) -> None:
    """What is shipped fits with room to spare; more than 256 KiB is refused with the size."""
    assert len(render_user_data(ENVIRONMENT, read_scripts(project / "node")).encode()) < 262_144 / 2
    with pytest.raises(UserDataError, match="262144"):
        render_user_data(ENVIRONMENT, {"bootstrap.sh": "#" * 262_144})


def test_folder_without_bootstrap_is_refused(tmp_path: Path) -> None:
    """A project folder without the boot scripts says so."""
    with pytest.raises(UserDataError, match=r"no bootstrap\.sh"):
        read_scripts(tmp_path)
