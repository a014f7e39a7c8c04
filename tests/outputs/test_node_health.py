"""Scripts around jobs on premises: what makes a node unfit, what is drained with which reason, and what is reset."""

import os
import subprocess
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.outputs.project.files import project_files
from clusterwright.outputs.templates import render

IMEX = assets.root() / "templates" / "nvlink" / "imex.sh"
TEMPLATES = assets.root() / "templates" / "slurm"
ENVIRONMENT = """\
CLUSTER_GPUS_PER_NODE=2
CLUSTER_GPU_TYPE=h100
CLUSTER_FABRIC=infiniband
CLUSTER_FABRIC_INTERFACES=1
CLUSTER_FABRIC_GBIT_PER_S=400
CLUSTER_SHARED_PATH=/
"""
#: What the stand-in for nvidia-smi answers, by the option that asks.
HEALTHY = {
    "--query-gpu": "0, 0, Not Active, Not Active\\n1, 0, Not Active, Not Active\\n",
    "--query-remapped-rows": "00000000:1B:00.0, No, No\\n",
    "nvlink": "GPU 0\\n Link 0: 26.562 GB/s\\n",
    "-q": "    Fabric\\n        State   : Completed\\n        Status  : Success\\n",
    "--query-compute-apps": "",
}


class Node:
    """A machine made of stand-ins: what it was told is in `calls`."""

    def __init__(self, folder: Path) -> None:
        """Make the programs, a fabric port at its rate, and the scripts."""
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        (folder / "node.env").write_text(ENVIRONMENT)
        port = folder / "sys" / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
        port.mkdir(parents=True)
        for name, value in {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}.items():
            (port / name).write_text(f"{value}\n")
        self.port = port
        self.answers(HEALTHY)
        self.program("scontrol", 'case "$1 $2" in "show node") echo "State=IDLE";; esac')
        self.program("squeue", "echo 7")
        self.program("hostname", "echo node001")
        for script in ("node_check.sh", "health_check.sh"):
            (folder / script).write_bytes((TEMPLATES / script).read_bytes())
        for script in ("prolog.sh", "epilog.sh"):
            (folder / script).write_text(render("slurm", f"{script}.j2", imex=False))

    def program(self, name: str, body: str) -> None:
        """Make a stand-in that notes how it was called."""
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.folder}/calls"\n{body}\n')
        path.chmod(0o755)

    def answers(self, by_option: dict[str, str]) -> None:
        """Make nvidia-smi."""
        cases = "\n".join(f'{option}*) printf "{answer}" ;;' for option, answer in by_option.items())
        self.program("nvidia-smi", f'case "$1" in\n{cases}\n*) exit 0 ;;\nesac')

    def run(self, script: str, *words: str, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts as Slurm would."""
        environment = {
            "CLUSTER_PATH": f"{self.bin}:{os.environ['PATH']}",
            "CLUSTER_NODE_ENV": str(self.folder / "node.env"),
            "CLUSTER_SYSFS": str(self.folder / "sys"),
            "SLURM_JOB_ID": "7",
            "PATH": os.environ["PATH"],
            **(more or {}),
        }
        command = ["bash", str(self.folder / script), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    @property
    def drained(self) -> list[str]:
        """The reasons that Slurm was told."""
        calls = (self.folder / "calls").read_text().splitlines()
        return [call.partition("reason=")[2] for call in calls if "state=drain" in call]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Return a machine that is fit."""
    return Node(tmp_path)


def test_a_fit_machine_takes_jobs(node: Node) -> None:
    """Prolog, epilog and health check end with 0, and drain nothing."""
    for script in ("prolog.sh", "epilog.sh", "health_check.sh"):
        done = node.run(script)
        assert (done.returncode, done.stderr) == (0, ""), script
    assert node.drained == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"--query-gpu": "0, 0, Not Active, Not Active\\n"}, "1 GPUs, 2 planned"),
        (
            {"--query-gpu": "0, 0, Not Active, Not Active\\n1, 2, Not Active, Not Active\\n"},
            "GPU 1: 2 uncorrectable memory errors since the driver was loaded",
        ),
        ({"--query-gpu": "0, 0, Active, Not Active\\n1, 0, Not Active, Not Active\\n"}, "GPU 0: slowed by heat"),
        (
            {"--query-remapped-rows": "00000000:1B:00.0, No, Yes\\n"},
            "GPU 00000000:1B:00.0: a row of its memory cannot be remapped: replace it",
        ),
        ({"nvlink": "GPU 0\\n Link 0: <inactive>\\n"}, "1 NVLinks are inactive"),
        ({"-q": "    Fabric\\n        State   : In Progress\\n        Status  : N/A\\n"}, "NVLink fabric: In Progress"),
    ],
)
def test_what_is_wrong_is_the_reason(node: Node, change: dict[str, str], reason: str) -> None:
    """Before a job a node with a fault is drained with it, and the job goes elsewhere."""
    node.answers(HEALTHY | change)
    assert node.run("prolog.sh").returncode != 0
    assert node.drained == [f"check: {reason}"]


@pytest.mark.parametrize(
    ("file", "value", "reason"),
    [
        ("state", "1: DOWN", "0 active fabric ports, 1 planned"),
        ("rate", "200 Gb/sec (2X NDR)", "mlx5_0: 200 Gb/sec (2X NDR), 400 Gb/s planned"),
    ],
)
def test_a_port_that_is_down_or_slow_is_a_fault(node: Node, file: str, value: str, reason: str) -> None:
    """A job would fall back to TCP, or wait for its slowest port."""
    (node.port / file).write_text(f"{value}\n")
    assert node.run("health_check.sh").returncode == 3
    assert node.drained == [f"check: {reason}"]


def test_a_gpu_with_errors_is_reset_before_the_node_is_drained(node: Node) -> None:
    """The epilog ends what is left on GPUs, resets, and drains only what a reset did not mend."""
    node.answers(HEALTHY | {"--query-gpu": "0, 3, Not Active, Not Active\\n1, 0, Not Active, Not Active\\n"})
    assert node.run("epilog.sh").returncode == 0
    calls = (node.folder / "calls").read_text()
    assert "nvidia-smi --gpu-reset" in calls
    assert node.drained == ["check: GPU 0: 3 uncorrectable memory errors since the driver was loaded"]


def test_a_node_with_other_jobs_is_left_alone(node: Node) -> None:
    """Processes of other jobs are not ended, GPUs are not reset."""
    node.program("squeue", "printf '7\\n8\\n'")
    node.answers(HEALTHY | {"--query-compute-apps": "999999", "--query-gpu": "0, 3, Active, Active\\n"})
    assert node.run("epilog.sh").returncode == 0
    assert "nvidia-smi" not in (node.folder / "calls").read_text()


def test_an_operator_s_reason_stays(node: Node) -> None:
    """A node that is drained already keeps its reason."""
    node.program("scontrol", 'echo "State=IDLE+DRAIN"')
    node.answers(HEALTHY | {"--query-gpu": ""})
    assert node.run("health_check.sh").returncode == 3
    assert node.drained == []


def test_trays_of_one_rack_reach_each_other_s_memory(node: Node) -> None:
    """IMEX gets the addresses of the job's nodes in this node's NVLink domain, and of no others."""
    (node.folder / "prolog.sh").write_text(render("slurm", "prolog.sh.j2", imex=True))
    (node.folder / "imex.sh").write_bytes(IMEX.read_bytes())
    domains = "host,domain\nnode001,nvl1\nnode002,nvl1\nnode019,nvl2\n"
    (node.folder / "nvlink_domains.csv").write_text(domains)
    hosts = 'printf "node001\\nnode002\\nnode019\\n"'
    node.program("scontrol", f'case "$1 $2" in "show hostnames") {hosts} ;; *) echo "State=IDLE" ;; esac')
    node.program("getent", 'echo "10.0.0.${2#node0} STREAM $2"')
    node.program("systemctl", "exit 0")
    done = node.run(
        "prolog.sh", more={"CLUSTER_IMEX": str(node.folder / "imex"), "SLURM_JOB_NODELIST": "node[001-002,019]"}
    )
    assert done.returncode == 0, done.stderr
    assert (node.folder / "imex" / "nodes_config.cfg").read_text() == "10.0.0.01\n10.0.0.02\n"


def test_a_node_without_a_domain_takes_no_job(node: Node) -> None:
    """Its memory would be out of reach of the job's other nodes: it is drained with the reason."""
    (node.folder / "prolog.sh").write_text(render("slurm", "prolog.sh.j2", imex=True))
    (node.folder / "imex.sh").write_bytes(IMEX.read_bytes())
    (node.folder / "nvlink_domains.csv").write_text("host,domain\nnode002,nvl1\n")
    done = node.run("prolog.sh", more={"SLURM_JOB_NODELIST": "node001"})
    assert done.returncode == 1
    assert node.drained == ["prolog: the NVLink domain of node001 is not known"]


#: What nvidia-smi says of two GPUs in one NVLink domain, and the feature that names it.
FABRIC = "    Fabric\\n  State : Completed\\n  CliqueId : 7\\n  ClusterUUID : 36a6b01c-57f8-4ba4-9a2d-0d3c6d5d0e11\\n"
FEATURE = "nvl_36a6b01c57f84ba49a2d0d3c6d5d0e11_7"


@pytest.fixture(params=["aws", "azure"])
def cloud_node(node: Node, request: pytest.FixtureRequest) -> Node:
    """Return a machine with the scripts of a cloud's project whose nodes are in NVLink domains."""
    for path, file in project_files(request.param, "slurm", with_domains=True).items():
        if path.startswith("node/") and path.endswith(".sh"):
            (node.folder / path.removeprefix("node/")).write_bytes(file.content)
    (node.folder / "transport.sh").write_bytes((node.folder / f"transport_{request.param}.sh").read_bytes())
    variables = {
        "CLOUD": request.param,
        "ROLE": "compute",
        "NAME": "trial",
        "PARTITION": "gpu",
        "CONTROLLER_ADDRESS": "10.0.0.1",
        "REGION": "us-east-1",
        "SECRET_ID": "key",
        "GPUS_PER_NODE": "4",
        "GPU_TYPE": "gb200",
        "FABRIC": "none",
        "WAIT_S": "0",
    }
    (node.folder / "node.env").write_text("".join(f"CLUSTER_{key}='{value}'\n" for key, value in variables.items()))
    node.answers({"-q": FABRIC * 2})
    node.program("systemctl", "exit 0")
    node.program("nvidia-imex", "exit 0")
    return node


@pytest.mark.parametrize(
    "said",
    [
        FABRIC.replace("36a6b01c-57f8-4ba4-9a2d-0d3c6d5d0e11", "00000000-0000-0000-0000-000000000000"),
        FABRIC.replace("36a6b01c-57f8-4ba4-9a2d-0d3c6d5d0e11", "N/A"),
        FABRIC + FABRIC.replace("CliqueId : 7", "CliqueId : 8"),
        "",
    ],
)
def test_gpus_say_their_domain(cloud_node: Node, said: str) -> None:
    """The node's feature is the one domain of all its GPUs; GPUs that have not joined, or differ, have none."""
    path = {"PATH": f"{cloud_node.bin}:{os.environ['PATH']}"}
    assert cloud_node.run("transport.sh", "domain", more=path).stdout == f"{FEATURE}\n"
    cloud_node.answers({"-q": said})
    done = cloud_node.run("transport.sh", "domain", more=path)
    assert (done.returncode, done.stdout) == (1, "")


def test_nodes_of_a_job_on_a_cloud_reach_each_other_by_their_features(cloud_node: Node) -> None:
    """IMEX gets the addresses of the job's nodes with this node's feature; without one the job does not start."""
    features = {"node001": f"gpu,{FEATURE}", "node002": f"{FEATURE},gpu", "node003": "gpu,nvl_36_7", "node004": "gpu"}
    shown = "".join(
        f"NodeName={name} Arch=aarch64 AvailableFeatures={own} ActiveFeatures={own} Gres=gpu:4\\n"
        for name, own in features.items()
    )
    names = "\\n".join(features)
    cloud_node.program(
        "scontrol", f'case "$*" in "show hostnames"*) printf "{names}\\n" ;; *oneliner*) printf "{shown}" ;; esac'
    )
    cloud_node.program("getent", 'echo "10.0.0.${2#node00} STREAM $2"')
    job = {"CLUSTER_IMEX": str(cloud_node.folder / "imex"), "SLURM_JOB_NODELIST": "node[001-004]"}
    path = {"PATH": f"{cloud_node.bin}:{os.environ['PATH']}"}
    written = cloud_node.folder / "imex" / "nodes_config.cfg"
    assert cloud_node.run("transport.sh", "start", more=job | path).returncode == 0
    assert written.read_text() == "10.0.0.1\n10.0.0.2\n"
    assert (cloud_node.folder / "calls").read_text().splitlines()[-1] == "systemctl start nvidia-imex"
    assert cloud_node.run("transport.sh", "stop", more=job | path).returncode == 0
    assert written.read_text() == ""
    cloud_node.program("hostname", "echo node004")
    done = cloud_node.run("transport.sh", "start", more=job | path)
    assert done.stderr.endswith("error: the NVLink domain of node004 is not known\n")


def test_a_cloud_s_node_has_a_channel_of_imex(cloud_node: Node) -> None:
    """Boot makes the device file by the driver's number, and leaves the daemon to the prolog."""
    proc, devices = cloud_node.folder / "proc", cloud_node.folder / "dev"
    proc.mkdir()
    # It fails: the step behind it writes below this machine's own /etc.
    cloud_node.program("mknod", "exit 1")
    path = {
        "PATH": f"{cloud_node.bin}:{os.environ['PATH']}",
        "CLUSTER_PROC": str(proc),
        "CLUSTER_DEVICES": str(devices),
    }
    (proc / "devices").write_text("Character devices:\n195 nvidia\n")
    done = cloud_node.run("transport.sh", "setup", more=path)
    assert (done.returncode, "makes no channels of IMEX" in done.stderr) == (3, True)
    (proc / "devices").write_text("Character devices:\n195 nvidia\n234 nvidia-caps-imex-channels\n")
    assert cloud_node.run("transport.sh", "setup", more=path).returncode == 1
    calls = (cloud_node.folder / "calls").read_text()
    assert f"mknod --mode=0666 {devices}/nvidia-caps-imex-channels/channel0 c 234 0\n" in calls
    assert "systemctl disable --now --quiet nvidia-imex\n" in calls
    cloud_node.answers({"-q": ""})
    done = cloud_node.run("transport.sh", "setup", more=path)
    assert done.stderr.endswith("error: the NVLink domain of the GPUs did not come up within 0 s\n")
