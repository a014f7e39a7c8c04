"""The rendered on-premises files, accepted by a real slurmctld that knows every node but needs none."""

import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from clusterwright.outputs.slurm_cluster import SlurmCluster, slurm_texts, two_level_topology

pytestmark = pytest.mark.engine

POD = SlurmCluster(
    cluster_name="pod",
    controller_host="mgmt-001",
    host_prefix="dgx",
    node_count=127,
    sockets=2,
    cores_per_socket=56,
    threads_per_core=2,
    memory_mib=1_811_981,
    gpus_per_node=8,
    gres_type="h100",
    partition="gpu",
    topology=two_level_topology([range(1, 33), range(33, 65), range(65, 97), range(97, 128)]),
)
#: Errors that slurmctld always logs on a machine without mail, PMIx and an earlier state.
HARMLESS = re.compile(
    r"MailProg|pmix|PMIx|state file|NOTE: Trying backup|cannot create context for mpi"
    r"|High latency for \d+ calls to gettimeofday",  # a slow clock of the machine says nothing about our files
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """A running slurmctld."""

    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command against it."""
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SLURM_CONF": str(self.folder / "slurm.conf")}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)

    def submit(self, *request: str) -> subprocess.CompletedProcess[str]:
        """Ask whether a job could ever run."""
        return self.run("sbatch", "--test-only", *request, "--wrap=true")

    @property
    def log(self) -> list[str]:
        """Lines of its log."""
        return (self.folder / "slurmctld.log").read_text().splitlines()


def proof_variant(text: str, folder: Path, port: int) -> str:
    """Return slurm.conf for a proof without munge, cgroups and machines: only these lines differ from production."""
    changes = {
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": "root",
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
    }
    for key, value in changes.items():
        text, count = re.subn(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
        assert count == 1, key
    # Nodes in the cloud state are taken for usable without a slurmd.
    text, count = re.subn(r"State=UNKNOWN$", "State=CLOUD", text, flags=re.MULTILINE)
    assert count == 1
    # Both are needed: NoInAddrAny alone leaves slurmctld open to every interface.
    loopback = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny"
    return "\n".join(
        [text, "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", f"SlurmctldPort={port}", loopback, ""]
    )


def free_port() -> int:
    """Return a TCP port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(texts: dict[str, str], folder: Path) -> Iterator[Controller]:
    """Run slurmctld on rendered files until the block ends."""
    port = free_port()
    (folder / "state").mkdir()
    for name in ("gres.conf", "topology.conf"):
        (folder / name).write_text(texts[name])
    (folder / "slurm.conf").write_text(proof_variant(texts["slurm.conf"], folder, port))
    controller = Controller(folder=folder)
    process = subprocess.Popen(
        ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 20
        while controller.run("scontrol", "ping").returncode != 0:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline, "\n".join(controller.log)
            time.sleep(0.1)
        listening = [line.split()[3] for line in controller.run("ss", "-ltnH", f"sport = :{port}").stdout.splitlines()]
        assert listening == [f"127.0.0.1:{port}"]
        yield controller
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]) -> Iterator[Controller]:
    """Return slurmctld on the files of 127 nodes in four units."""
    require_engine("slurmctld", "sbatch", "scontrol", "ss")
    with running(slurm_texts(POD), tmp_path_factory.mktemp("pod")) as started:
        yield started


def test_all_nodes_with_all_gpus_are_accepted(controller: Controller) -> None:
    """A job on every node with eight GPUs each can run; its processors are those of 127 nodes."""
    result = controller.submit("--nodes=127", "--gres=gpu:h100:8", "--exclusive")
    assert result.returncode == 0, result.stderr
    assert f"using {127 * 224} processors" in result.stderr
    assert "nodes dgx[001-127]" in result.stderr


@pytest.mark.parametrize(
    "request_",
    [
        ["--nodes=128"],
        ["--nodes=1", "--gres=gpu:h100:9"],
        ["--nodes=1", "--gres=gpu:a100:1"],
        ["--nodes=1", "--mem=1811982M"],
        ["--nodes=1", "--ntasks=225", "--ntasks-per-node=225"],
    ],
)
def test_more_than_the_cluster_has_is_refused(controller: Controller, request_: list[str]) -> None:
    """One node, GPU, MiB or processor more than there is, or a GPU of another type, is refused."""
    assert controller.submit(*request_).returncode != 0


def test_all_memory_of_a_node_can_be_asked_for(controller: Controller) -> None:
    """The memory in the node line is what a job may have, to the MiB."""
    assert controller.submit("--nodes=1", "--mem=1811981M").returncode == 0


def test_the_topology_is_the_one_that_was_written(controller: Controller) -> None:
    """Slurm shows four units below one spine, with the nodes of each."""
    lines = controller.run("scontrol", "show", "topology").stdout.splitlines()
    shown = [re.sub(r" LinkSpeed=\d+", "", line).split() for line in lines]
    assert shown == [
        ["SwitchName=su1", "Level=0", "Nodes=dgx[001-032]"],
        ["SwitchName=su2", "Level=0", "Nodes=dgx[033-064]"],
        ["SwitchName=su3", "Level=0", "Nodes=dgx[065-096]"],
        ["SwitchName=su4", "Level=0", "Nodes=dgx[097-127]"],
        ["SwitchName=spine", "Level=1", "Nodes=dgx[001-127]", "Switches=su1,su2,su3,su4"],
    ]


def test_a_job_of_one_unit_stays_in_one_unit(controller: Controller) -> None:
    """Thirty-two nodes are offered as one whole unit, which is why the topology is written at all."""
    offered = controller.submit("--nodes=32", "--exclusive").stderr
    assert re.search(r"nodes dgx\[(001-032|033-064|065-096)\]", offered), offered


def test_slurmctld_neither_warns_nor_corrects(controller: Controller) -> None:
    """The log has no topology warning, no reset of processors, and no error but the known harmless ones."""
    suspicious = [
        line
        for line in controller.log
        if re.search(r"warning|error|fatal|resetting", line, re.IGNORECASE) and not HARMLESS.search(line)
    ]
    assert suspicious == []


def test_the_log_check_sees_a_wrong_topology(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """A node missing from topology.conf leaves slurmctld up; only the log tells, and the check sees it."""
    require_engine("slurmctld")
    texts = slurm_texts(POD)
    texts["topology.conf"] = texts["topology.conf"].replace("dgx[097-127]", "dgx[097-126]")
    with running(texts, tmp_path) as started:
        assert any("WARNING" in line and "dgx127" in line for line in started.log)


def test_files_of_a_single_node_are_accepted(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """The smallest cluster, one node below one switch, starts too."""
    require_engine("slurmctld")
    single = replace(POD, node_count=1, topology=two_level_topology([[1]]))
    with running(slurm_texts(single), tmp_path) as started:
        assert started.submit("--nodes=1", "--gres=gpu:h100:8").returncode == 0
        assert started.submit("--nodes=2").returncode != 0
