"""The node scripts one by one: what they refuse, how they count, and how they talk to each cloud's secret store."""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
SCRIPTS = sorted(NODE_SCRIPTS.glob("*.sh"))
POD_SCRIPTS = sorted((Path(__file__).parents[2] / "stacks" / "kubernetes" / "node").glob("*.sh"))
KEY = base64.b64encode(bytes(range(128))).decode()
GOOD = {
    "CLOUD": "local",
    "ROLE": "compute",
    "NAME": "trial",
    "PARTITION": "gpu",
    "CONTROLLER_ADDRESS": "10.0.0.1",
    "SECRET_ID": "/var/key",
    "GPUS_PER_NODE": "8",
    "GPU_TYPE": "h100",
    "FABRIC": "none",
}


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs one script with an environment file, and with other programs first on the path."""

    def run(
        script: str, *arguments: str, text: str | None = None, path: Path | None = None, **changes: str | None
    ) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
        env = tmp_path / "node.env"
        env.write_text("".join(f"CLUSTER_{name}='{value}'\n" for name, value in variables.items()))
        search = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
        # Sourced by the caller in production; here the secret scripts run alone, so their variables are given directly.
        environment = {f"CLUSTER_{name}": value for name, value in variables.items()}
        return subprocess.run(
            ["bash", str(NODE_SCRIPTS / script), *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={"PATH": search, "CLUSTER_NODE_ENV": str(env), **environment},
        )

    return run


def program(folder: Path, name: str, body: str) -> None:
    """Put a stand-in for a program into a folder of the search path."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/bash\n{body}\n")
    file.chmod(0o755)


def test_scripts_are_clean_for_shellcheck() -> None:
    """Shellcheck has nothing to say about any script."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    result = subprocess.run([shellcheck, *map(str, SCRIPTS)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("script", [*SCRIPTS, *POD_SCRIPTS], ids=lambda script: script.name)
def test_every_script_stops_at_the_first_error(script: Path) -> None:
    """Each script is executable, names its interpreter, says what it does, and turns on strict mode."""
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[1].startswith("# ")
    assert "set -euo pipefail" in lines
    assert os.access(script, os.X_OK)


def test_the_pages_list_every_script() -> None:
    """The file tables and the folder agree; scripts of a directory have a page that goes where they go."""
    pages = {page: (NODE_SCRIPTS / page).read_text() for page in ("README.md", "users_directory.md")}
    of_directory = {f"users_directory{part}.sh" for part in ("", "_logins", "_password")}
    page_of = {script.name: "users_directory.md" if script.name in of_directory else "README.md" for script in SCRIPTS}
    assert [name for name, page in page_of.items() if f"`{name}`" not in pages[page]] == []


def test_a_missing_environment_file_is_named(tmp_path: Path) -> None:
    """Without node.env the bootstrap says which file it looked for."""
    missing = tmp_path / "absent.env"
    result = subprocess.run(
        ["bash", str(NODE_SCRIPTS / "bootstrap.sh")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "CLUSTER_NODE_ENV": str(missing)},
    )
    assert result.returncode == 2
    assert str(missing) in result.stderr


def test_all_missing_variables_are_named_at_once(run_script: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Two forgotten variables give one message with both names."""
    result = run_script("bootstrap.sh", PARTITION=None, SECRET_ID=None)
    assert result.returncode == 2
    assert "does not set CLUSTER_PARTITION CLUSTER_SECRET_ID" in result.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CLOUD", "onprem"),
        ("ROLE", "worker"),
        ("GPUS_PER_NODE", "8x"),
        ("NAME", "Trial"),
        ("PARTITION", "gpu State=DOWN"),
        ("PARTITION", "gpu\nNodeName=x"),
        ("GPU_TYPE", "h100,a100"),
        ("FABRIC", "ethernet"),
        ("CONTROLLER_ADDRESS", "10.0.0.1)\n"),
        ("SHARED_PATH", "shared"),
        ("BUCKET", "$(reboot)"),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    run_script: Callable[..., subprocess.CompletedProcess[str]], name: str, value: str
) -> None:
    """A value that is not what the README says stops the bootstrap before anything is changed."""
    result = run_script("bootstrap.sh", **{name: value})
    assert result.returncode == 2
    assert f"CLUSTER_{name}=" in result.stderr


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"GPU_TYPE": None}, "CLUSTER_GPU_TYPE"),
        ({"CONTROLLER_ADDRESS": None}, "CLUSTER_CONTROLLER_ADDRESS"),
        ({"CLOUD": "aws"}, "CLUSTER_REGION"),
        ({"FABRIC": "efa"}, "CLUSTER_FABRIC_INTERFACES"),
    ],
)
def test_variables_that_others_make_necessary(
    run_script: Callable[..., subprocess.CompletedProcess[str]], changes: dict[str, str | None], named: str
) -> None:
    """GPUs need a type, compute nodes a controller, AWS a region and a fabric its number of devices."""
    result = run_script("bootstrap.sh", **changes)
    assert result.returncode == 2
    assert named in result.stderr


@pytest.mark.parametrize(
    ("gpu_type", "files"),
    [
        ("h100", "dev/nvidia[0-7]"),
        ("mi300x", "dev/dri/renderD[128,136,144,152,160,168,176,184] Flags=amd_gpu_env"),
        ("mi250", "dev/dri/renderD[128-135] Flags=amd_gpu_env"),
        ("trainium2", "dev/neuron[0-7]"),
    ],
)
def test_each_maker_s_devices_reach_slurm(tmp_path: Path, gpu_type: str, files: str) -> None:
    """gres.conf names the device files of NVIDIA, AMD (render nodes, from 128) and, where told, of Neuron."""
    told = "CLUSTER_ACCELERATOR_DEVICE=neuron\n" if gpu_type == "trainium2" else ""
    env = tmp_path / "node.env"
    lines = {**GOOD, "ROLE": "controller", "GPU_TYPE": gpu_type, "DEVICES": "dev"}
    env.write_text("".join(f"CLUSTER_{name}='{value}'\n" for name, value in lines.items()) + told)
    functions = "source <(sed -n '/^gres_conf()/,/^}/p' controller.sh)"
    done = subprocess.run(
        ["bash", "-c", f"set -e; . ./environment.sh; {functions}; gres_conf"],
        cwd=NODE_SCRIPTS,
        env={"PATH": os.environ["PATH"], "CLUSTER_NODE_ENV": str(env)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Name=gpu Type={gpu_type} File={files}"


@pytest.mark.parametrize(("version", "accepted"), [("21.08.5", False), ("22.05.8", True), ("23.11.4", True)])
def test_slurm_without_dynamic_nodes_is_refused(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, version: str, accepted: bool
) -> None:
    """Slurm 21.08 of Ubuntu 22.04 is refused with the reason; 22.05 is the first that passes."""
    programs = tmp_path / "bin"
    program(programs, "slurmd", f"echo slurm-wlm {version}")
    devices = tmp_path / "dev"
    devices.mkdir()
    result = run_script("compute.sh", path=programs, DEVICES=str(devices))
    assert result.returncode == 3
    assert ("dynamic nodes need 22.05" in result.stderr) is not accepted
    assert ("0 of 8 GPUs found" in result.stderr) is accepted


def rdma_device(sysfs: Path, name: str, *, driver: str, link_layer: str = "Unspecified", state: str = "ACTIVE") -> None:
    """Put an RDMA device with one port into a copy of the kernel's device tree."""
    (sysfs / "bus" / driver).mkdir(parents=True, exist_ok=True)
    folder = sysfs / "class" / "infiniband" / name
    (folder / "device").mkdir(parents=True)
    (folder / "device" / "driver").symlink_to(sysfs / "bus" / driver)
    (folder / "ports" / "1").mkdir(parents=True)
    (folder / "ports" / "1" / "link_layer").write_text(f"{link_layer}\n")
    (folder / "ports" / "1" / "state").write_text(f"4: {state}\n")


def net_device(sysfs: Path, name: str, *, driver: str) -> None:
    """Put a network interface into a copy of the kernel's device tree."""
    (sysfs / "bus" / driver).mkdir(parents=True, exist_ok=True)
    (sysfs / "class" / "net" / name / "device").mkdir(parents=True)
    (sysfs / "class" / "net" / name / "device" / "driver").symlink_to(sysfs / "bus" / driver)


@pytest.fixture
def device_tree(tmp_path: Path) -> Path:
    """Return a machine with 4 EFA, 2 InfiniBand (one down), 1 Ethernet RDMA device, 5 gVNIC and one other interface."""
    sysfs = tmp_path / "sys"
    for index in range(4):
        rdma_device(sysfs, f"rdmap{index}", driver="efa")
    rdma_device(sysfs, "mlx5_0", driver="mlx5_core", link_layer="InfiniBand")
    rdma_device(sysfs, "mlx5_1", driver="mlx5_core", link_layer="InfiniBand", state="DOWN")
    rdma_device(sysfs, "mlx5_an0", driver="mlx5_core", link_layer="Ethernet")
    for index in range(5):
        net_device(sysfs, f"eth{index}", driver="gve")
    net_device(sysfs, "ens0", driver="mlx5_core")
    (sysfs / "class" / "net" / "lo").mkdir()
    return sysfs


@pytest.mark.parametrize(("fabric", "devices"), [("efa", 4), ("infiniband", 1), ("roce", 1), ("tcpx", 4), ("tcpxo", 4)])
def test_fabric_devices_are_counted_by_kind(
    run_script: Callable[..., subprocess.CompletedProcess[str]], device_tree: Path, fabric: str, devices: int
) -> None:
    """Only working devices of the fabric's own kind count; one more than there is makes the check fail."""
    planned = {"FABRIC": fabric, "SYSFS": str(device_tree)}
    enough = run_script("fabric_check.sh", **planned, FABRIC_INTERFACES=str(devices))
    short = run_script("fabric_check.sh", **planned, FABRIC_INTERFACES=str(devices + 1))
    assert enough.returncode == 0, enough.stderr
    assert short.returncode == 3
    assert f"{devices} of {devices + 1} {fabric} devices" in short.stderr


def test_a_machine_without_any_fabric_device_counts_zero(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """No device tree at all is zero devices, not an error of the shell."""
    result = run_script("fabric_check.sh", FABRIC="efa", FABRIC_INTERFACES="32", SYSFS=str(tmp_path / "none"))
    assert result.returncode == 3
    assert "0 of 32 efa devices" in result.stderr


class SecretStore(BaseHTTPRequestHandler):
    """Metadata service and secret stores of Azure and GCP, as far as the scripts use them."""

    values: ClassVar[dict[str, str]] = {}
    denied: ClassVar[bool] = False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def answer(self, status: int, body: object) -> None:
        """Send one JSON answer."""
        text = json.dumps(body).encode()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text)

    def allowed(self) -> bool:
        """Tell whether the request carries the token that the metadata service handed out."""
        return not self.denied and self.headers["Authorization"] == "Bearer the-token"

    def do_GET(self) -> None:
        """Hand out a token, or a secret's value."""
        path, _, query = self.path.partition("?")
        azure = path == "/metadata/identity/oauth2/token" and self.headers["Metadata"] == "true" and "vault" in query
        gcp = path.startswith("/computeMetadata/v1/") and self.headers["Metadata-Flavor"] == "Google"
        if azure or gcp:
            self.answer(200, {"access_token": "the-token"})
        elif not self.allowed():
            self.answer(403, {})
        elif path == "/secrets/key" and "azure" in self.values and query == "api-version=7.4":
            self.answer(200, {"value": self.values["azure"]})
        elif path == "/v1/projects/p/secrets/key/versions/latest:access" and "gcp" in self.values:
            self.answer(200, {"payload": {"data": self.values["gcp"]}})
        else:
            self.answer(404, {})

    def do_PUT(self) -> None:
        """Store a secret of Azure."""
        self.store("azure", ("value",), path="/secrets/key?api-version=7.4")

    def do_POST(self) -> None:
        """Store a secret of GCP."""
        self.store("gcp", ("payload", "data"), path="/v1/projects/p/secrets/key:addVersion")

    def store(self, cloud: str, names: tuple[str, ...], *, path: str) -> None:
        """Keep the named field of the body."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != path or not self.allowed():
            self.answer(403, {})
            return
        for name in names:
            body = body[name]
        self.values[cloud] = body
        self.answer(200, {})


@pytest.fixture
def store() -> Iterator[tuple[type[SecretStore], str]]:
    """Return an empty secret store and its address on loopback."""
    SecretStore.values, SecretStore.denied = {}, False
    server = ThreadingHTTPServer(("127.0.0.1", 0), SecretStore)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield SecretStore, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


AWS_STAND_IN = """
[ "$1" = secretsmanager ] && [[ "$*" == *"--region us-east-1 --secret-id arn:aws:secretsmanager:key"* ]] || exit 9
case "$2" in
get-secret-value)
    if [ -f "$0.denied" ]; then echo 'An error occurred (AccessDeniedException)' >&2; exit 254; fi
    [ -f "$0.value" ] && exec cat "$0.value"
    echo "An error occurred (ResourceNotFoundException): Secrets Manager can't find the specified secret value for \
staging label: AWSCURRENT" >&2
    exit 254 ;;
put-secret-value) [[ "$*" == *"--secret-string file:///dev/stdin"* ]] && cat /dev/stdin >"$0.value" ;;
esac
"""


@pytest.fixture(params=["aws", "azure", "gcp", "local"])
def cloud(request: pytest.FixtureRequest, tmp_path: Path, store: tuple[type[SecretStore], str]) -> dict[str, object]:
    """Return the arguments that make the secret script of one cloud talk to a stand-in on this machine."""
    _, address = store
    programs = tmp_path / "bin"
    program(programs, "aws", AWS_STAND_IN)
    secret = {
        "aws": "arn:aws:secretsmanager:key",
        "azure": f"{address}/secrets/key",
        "gcp": "projects/p/secrets/key",
        "local": str(tmp_path / "key"),
    }
    return {
        "CLOUD": request.param,
        "REGION": "us-east-1",
        "SECRET_ID": secret[request.param],
        "METADATA_URL": address,
        "SECRET_ENDPOINT": address,
        "path": programs,
    }


def test_a_secret_is_empty_until_written_and_then_comes_back(
    run_script: Callable[..., subprocess.CompletedProcess[str]], cloud: dict[str, object]
) -> None:
    """Reading an unwritten secret ends with status 4; after one write the same key is read on each cloud."""
    script = f"secret_{cloud['CLOUD']}.sh"
    empty = run_script(script, "read", **cloud)
    written = run_script(script, "write", text=KEY, **cloud)
    read = run_script(script, "read", **cloud)
    assert (empty.returncode, empty.stdout) == (4, "")
    assert written.returncode == 0, written.stderr
    assert (read.returncode, read.stdout.strip()) == (0, KEY)


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"], indirect=True)
def test_a_refused_secret_is_not_an_empty_one(
    run_script: Callable[..., subprocess.CompletedProcess[str]],
    cloud: dict[str, object],
    store: tuple[type[SecretStore], str],
    tmp_path: Path,
) -> None:
    """No permission is status 1, never 4: otherwise a controller would overwrite the key of a running cluster."""
    store[0].denied = True
    (tmp_path / "bin" / "aws.denied").touch()
    result = run_script(f"secret_{cloud['CLOUD']}.sh", "read", **cloud)
    assert result.returncode == 1
    assert "403" in result.stderr or "AccessDenied" in result.stderr


@pytest.mark.parametrize("cloud", ["azure", "gcp"], indirect=True)
def test_a_machine_without_an_identity_does_not_look_like_an_empty_secret(
    run_script: Callable[..., subprocess.CompletedProcess[str]], cloud: dict[str, object]
) -> None:
    """A metadata service that knows no identity answers 404, which is a failure and not "no value yet"."""
    address = f"{cloud['METADATA_URL']}/nowhere"
    result = run_script(f"secret_{cloud['CLOUD']}.sh", "read", **{**cloud, "METADATA_URL": address})
    assert result.returncode == 1


def test_a_compute_node_never_makes_the_key(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A compute node waits for the key, then gives up with what to look at; it writes nothing."""
    secret = tmp_path / "key"
    result = run_script("auth_key.sh", SECRET_ID=str(secret), WAIT_S="0")
    assert result.returncode == 1
    assert "is the controller up" in result.stderr
    assert not secret.exists()


@pytest.mark.parametrize("value", ["c2hvcnQ=", "%%% not base64 %%%"])
def test_a_secret_that_is_no_key_is_refused(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, value: str
) -> None:
    """A value that is too short or not base64 is not installed as the cluster's key."""
    secret = tmp_path / "key"
    secret.write_text(value)
    result = run_script("auth_key.sh", SECRET_ID=str(secret), WAIT_S="0")
    assert result.returncode == 1
    assert "munge key" in result.stderr


DISKS = """
[[ "$*" == *PATH,MODEL* ]] && printf '%s\\n' '/dev/nvme0n1 Amazon Elastic Block Store' \
'/dev/nvme1n1 Amazon EC2 NVMe Instance Storage' '/dev/nvme2n1 Amazon EC2 NVMe Instance Storage' || echo one
"""


@pytest.mark.parametrize("already", ["", "labelled", "mounted"])
def test_local_disks_become_one_scratch_volume(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, already: str
) -> None:
    """Local disks, and no network disk, are joined and mounted; an array or a mount that is there stays untouched."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    program(programs, "lsblk", DISKS)
    program(programs, "mountpoint", f'[ "{already}" = mounted ] && [[ "$*" == *scratch* ]]')
    program(programs, "blkid", f'[ "{already}" = labelled ] && [ "$1" = --label ] && echo /dev/md127')
    for name in ("mdadm", "mkfs.xfs", "mount"):
        program(programs, name, f'echo "{name} $*" >>{log}')
    scratch = tmp_path / "scratch"
    result = run_script("scratch.sh", path=programs, CLOUD="aws", REGION="us-east-1", SCRATCH_PATH=str(scratch))
    assert result.returncode == 0, result.stderr
    done = log.read_text().splitlines() if log.exists() else []
    volume = "/dev/md/gpu-scratch"
    made = [
        f"mdadm --create {volume} --run --level=0 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1",
        f"mkfs.xfs -q -L gpu-scratch {volume}",
        f"mount --options noatime {volume} {scratch}",
    ]
    assert done == {"": made, "labelled": [f"mount --options noatime /dev/md127 {scratch}"], "mounted": []}[already]


def test_the_shared_file_system_is_mounted_once(
    run_script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """The Lustre source is mounted with locks; where it is mounted already nothing happens."""
    programs, log, shared = tmp_path / "bin", tmp_path / "log", tmp_path / "shared"
    program(programs, "mountpoint", f"[ -f {log} ]")
    program(programs, "mount", f'echo "mount $*" >>{log}')
    storage = {"SHARED_SOURCE": "10.0.0.9@tcp:/lustrefs", "SHARED_PATH": str(shared), "WAIT_S": "1"}
    for _ in range(2):
        assert run_script("shared_storage.sh", path=programs, **storage).returncode == 0
    assert log.read_text() == f"mount -t lustre -o noatime,flock 10.0.0.9@tcp:/lustrefs {shared}\n"


def test_a_shared_source_that_is_no_lustre_address_is_refused(
    run_script: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """An NFS path or an option in the source is refused before mount sees it."""
    result = run_script("shared_storage.sh", SHARED_SOURCE="-o suid server:/x")
    assert result.returncode == 2
    assert "Lustre source" in result.stderr
