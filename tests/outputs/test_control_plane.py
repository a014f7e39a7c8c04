"""A control plane on premises: what kubeadm is told, and copies of etcd that are whole."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.errors import InputError
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.kubernetes.control_plane import control_plane_of

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


@cache
def _files() -> dict[str, str]:
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100", "targets.onprem.scheduler=kubernetes"], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return {name: file.content.decode() for name, file in files.items() if not name.endswith(".xlsx")}


def _documents(name: str) -> list[dict[str, object]]:
    return list(YAML(typ="safe").load_all(_files()[f"kubernetes/control-plane/{name}"]))


def test_three_servers_answer_at_one_address() -> None:
    """The shared address is in the in-band network, in front of those of machines, and the certificate has it."""
    init, cluster, kubelet = _documents("kubeadm-init.yaml")
    assert init["localAPIEndpoint"] == {"advertiseAddress": _address("mgmt-001"), "bindPort": 6443}
    shared = str(cluster["controlPlaneEndpoint"]).removesuffix(":6443")
    names = cluster["apiServer"]["certSANs"]  # type: ignore[index]
    assert names[0] == shared
    assert [name for name in names if str(name).startswith("mgmt-")] == ["mgmt-001", "mgmt-002", "mgmt-003"]
    assert shared not in _files()["dhcp-hosts.csv"]
    (pod,) = _documents("kube-vip.yaml")
    variables = {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}  # type: ignore[index]
    assert variables["address"] == shared
    assert kubelet["cpuManagerPolicy"] == "static"
    assert kubelet["topologyManagerPolicy"] == "best-effort"


def _address(machine: str) -> str:
    rows = [row.split(",") for row in _files()["dhcp-hosts.csv"].splitlines()]
    return next(row[3] for row in rows if row[0] == machine and row[5] == "in-band")


def test_no_key_is_in_a_file() -> None:
    """Token, hash and keys are places to be filled in."""
    assert _documents("encryption.yaml")[0]["resources"] == [
        {
            "resources": ["secrets"],
            "providers": [{"secretbox": {"keys": [{"name": "first", "secret": "SECRET"}]}}, {"identity": {}}],
        }
    ]
    joined = _documents("kubeadm-join-control.yaml")[0]
    assert joined["controlPlane"]["certificateKey"] == "KEY"  # type: ignore[index]


def test_a_network_that_pods_have_is_refused() -> None:
    """Machines and pods with one range would not reach each other."""
    with pytest.raises(InputError, match=r"10\.32\.0\.0/11"):
        control_plane_of("pod", [("mgmt-001", "10.33.0.20")], "10.33.0.0/24")


@pytest.mark.engine
def test_a_copy_of_etcd_is_whole(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """The script keeps a copy of a real etcd that can be put back, and the newest copies alone."""
    require_engine("etcd", "etcdctl")
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        client, peer = first.getsockname()[1], second.getsockname()[1]
    endpoint, member = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    server = subprocess.Popen(
        [
            *("etcd", f"--data-dir={tmp_path}/data", f"--listen-client-urls={endpoint}"),
            *(f"--advertise-client-urls={endpoint}", f"--listen-peer-urls={member}"),
            *(f"--initial-advertise-peer-urls={member}", f"--initial-cluster=default={member}"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    environment = {
        "PATH": os.environ["PATH"],
        "ETCDCTL_API": "3",
        "CLUSTER_BACKUPS": str(tmp_path / "copies"),
        "CLUSTER_ETCD_ENDPOINT": endpoint,
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)

    try:
        deadline = time.monotonic() + 60
        while run("etcdctl", f"--endpoints={endpoint}", "put", "job", "train").returncode != 0:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        script = tmp_path / "etcd_backup.sh"
        script.write_text(_files()["kubernetes/control-plane/etcd_backup.sh"])
        folder = tmp_path / "copies" / socket.gethostname().split(".", maxsplit=1)[0]
        folder.mkdir(parents=True)
        for number in range(60):
            (folder / f"etcd-20200101T0000{number:02d}Z.db").write_text("old")
        done = run("bash", str(script))
        assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.wait()
    copies = sorted(path.name for path in folder.iterdir())
    assert len(copies) == 48
    assert copies[-1] > "etcd-2026"
    tool = "etcdutl" if shutil.which("etcdutl") else "etcdctl"
    put_back = run(tool, "snapshot", "restore", str(folder / copies[-1]), f"--data-dir={tmp_path}/restored")
    assert put_back.returncode == 0, put_back.stderr
    assert b"train" in (tmp_path / "restored" / "member" / "snap" / "db").read_bytes()
