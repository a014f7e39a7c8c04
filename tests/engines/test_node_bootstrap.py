"""The node bootstrap on real slurmctld, slurmd, slurmdbd, MariaDB and munged, on machines made of namespaces."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
MACHINE = Path(__file__).with_name("machine.sh")
NODES = [f"node{i}" for i in range(1, 5)]
ADDRESSES = {"head": "10.77.0.1", "database": "10.77.0.2", "login": "10.77.0.3", "metadata": "10.77.0.4"} | {
    name: f"10.77.0.{10 + i}" for i, name in enumerate(NODES, start=1)
}
ROLES = {"head": "controller", "login": "login"}
#: Machines that stand for the cloud's own services and run no bootstrap.
SERVICES = ("database", "metadata")
#: Where AWS, Azure and Google Cloud answer with the machine's identity, and Azure's wire server.
METADATA_ADDRESSES = ("169.254.169.254", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")
USERS = """\
group research 20100
user alice 20001 no research
key alice ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKx0 alice@example.com
user bob 20002 no
user eve 20003 yes
key eve ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAb1
"""
#: Signs that slurmdbd.conf would read as something else.
DATABASE_PASSWORD = "p#ss\\w=rd 'x'"  # noqa: S105 - of a server that lives as long as the test
GPUS_PER_NODE = 8
FABRIC_INTERFACES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A set of namespaces with their first process."""

    holder: subprocess.Popen[str]
    pid: int
    sysfs: Path

    def run(self, *command: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a command inside the machine."""
        return subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--net", "--pid", "--", *command],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def bootstrap(self) -> subprocess.CompletedProcess[str]:
        """Run the entry script as user-data does."""
        return self.run("bash", str(NODE_SCRIPTS / "bootstrap.sh"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Authority:
    """Files of a certificate authority and of the database server's certificate that it signed."""

    authority: Path
    certificate: Path
    key: Path


def sign(folder: Path) -> Authority:
    """Make a certificate authority and a certificate of the machine `database`."""
    folder.mkdir()
    openssl: list[str | Path] = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    own = Authority(authority=folder / "ca.pem", certificate=folder / "server.pem", key=folder / "server.key")
    ca_key = folder / "ca.key"
    subprocess.run(
        [*openssl, "-keyout", ca_key, "-out", own.authority, "-subj", "/CN=trial authority"],
        check=True,
        capture_output=True,
    )
    signed: list[str | Path] = [
        "-CA",
        own.authority,
        "-CAkey",
        ca_key,
        "-addext",
        "subjectAltName=DNS:database",
        "-subj",
        "/CN=database",
    ]
    subprocess.run([*openssl, "-keyout", own.key, "-out", own.certificate, *signed], check=True, capture_output=True)
    for file in (own.authority, own.certificate, own.key):
        file.chmod(0o644)
    folder.chmod(0o755)
    return own


def start_database(machine: Machine, own: Authority) -> None:
    """Start MariaDB as the clouds' managed databases are: encrypted connections only, one user for slurmdbd."""
    user = (
        f"'slurm'@'%' IDENTIFIED BY '{DATABASE_PASSWORD.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}'"
    )
    script = f"""
set -e
mariadb-install-db --user=mysql --datadir=/var/trial-db --skip-test-db >/dev/null
mkdir -p /run/mysqld && chown mysql /run/mysqld
cat >/var/trial.sql <<'SQL'
CREATE USER {user};
GRANT ALL ON slurm_accounting.* TO 'slurm'@'%';
SQL
setsid mariadbd --no-defaults --user=mysql --datadir=/var/trial-db --socket=/run/mysqld/trial.sock \
    --bind-address={ADDRESSES["database"]} --init-file=/var/trial.sql --require-secure-transport=ON \
    --ssl-cert={own.certificate} --ssl-key={own.key} >/var/trial-db.log 2>&1 </dev/null &
for _ in $(seq 150); do
    if (exec 3<>/dev/tcp/{ADDRESSES["database"]}/3306) 2>/dev/null; then exit 0; fi
    sleep 0.2
done
cat /var/trial-db.log >&2
exit 1
"""
    result = machine.run("bash", "-c", script)
    assert result.returncode == 0, result.stderr


def node_env(*, role: str, folder: Path, devices: Path, sysfs: Path) -> str:
    """Return the environment file of one machine."""
    authority = base64.b64encode((folder / "tls" / "ca.pem").read_bytes()).decode()
    database = {
        "DATABASE_HOST": "database",
        "DATABASE_USER": "slurm",
        "DATABASE_SECRET_ID": folder / "database-secret",
        "DATABASE_CA": authority,
    }
    variables = {
        "CLOUD": "local",
        "ROLE": role,
        "NAME": "trial",
        "PARTITION": "gpu",
        "CONTROLLER_ADDRESS": ADDRESSES["head"],
        "SECRET_ID": folder / "secret",
        "USERS_ID": folder / "users",
        "SHARED_PATH": folder / "shared",
        "GPUS_PER_NODE": GPUS_PER_NODE,
        "GPU_TYPE": "h100",
        "FABRIC": "efa",
        "FABRIC_INTERFACES": FABRIC_INTERFACES,
        "SCRATCH_PATH": "/var/scratch",
        "BUCKET": "s3://trial-data",
        "WAIT_S": 20,
        "SKIP_PACKAGES": 1,
        "JOB_ENVIRONMENT": "venv",
        "CONFINEMENT": "none",
        "DEVICES": devices,
        "SYSFS": sysfs,
        **({} if role == "compute" else database),
    }
    return "".join(f"CLUSTER_{name}='{value}'\n" for name, value in variables.items())


def add_efa_device(sysfs: Path, index: int) -> None:
    """Put one EFA device into a copy of the kernel's device tree."""
    driver = sysfs / "bus" / "efa"
    driver.mkdir(parents=True, exist_ok=True)
    device = sysfs / "class" / "infiniband" / f"rdmap{index}" / "device"
    device.mkdir(parents=True)
    (device / "driver").symlink_to(driver)


def start_machine(name: str, folder: Path, devices: Path) -> Machine:
    """Start the namespaces of one machine and wait until they are set up."""
    sysfs = folder / name
    for index in range(FABRIC_INTERFACES):
        add_efa_device(sysfs, index)
    env, hosts = folder / f"{name}.env", folder / "hosts"
    env.write_text(node_env(role=ROLES.get(name, "compute"), folder=folder, devices=devices, sysfs=sysfs))
    (folder / "shared").mkdir(exist_ok=True)
    (folder / "users").write_text(USERS)
    hosts.write_text(
        "".join(f"{address} {host}\n" for host, address in {"localhost": "127.0.0.1", **ADDRESSES}.items())
    )
    spaces = ["--mount", "--uts", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    holder = subprocess.Popen(
        ["unshare", *spaces, "bash", str(MACHINE), name, str(env), str(hosts)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
    return Machine(holder=holder, pid=int(children[0]), sysfs=sysfs)


def connect(machines: dict[str, Machine]) -> None:
    """Join the machines by a bridge that lives in the controller's namespace: the host's network is not touched."""
    head = machines["head"].pid
    in_head = ["nsenter", f"--target={head}", "--net", "ip"]
    subprocess.run([*in_head, "link", "add", "br0", "type", "bridge"], check=True)
    subprocess.run([*in_head, "address", "add", f"{ADDRESSES['head']}/24", "dev", "br0"], check=True)
    subprocess.run([*in_head, "link", "set", "br0", "up"], check=True)
    for name in [name for name in machines if name != "head"]:
        peer = ["type", "veth", "peer", "name", "eth0", "netns", str(machines[name].pid)]
        subprocess.run([*in_head, "link", "add", name, *peer], check=True)
        subprocess.run([*in_head, "link", "set", name, "master", "br0", "up"], check=True)
        in_node = ["nsenter", f"--target={machines[name].pid}", "--net", "ip"]
        subprocess.run([*in_node, "address", "add", f"{ADDRESSES[name]}/24", "dev", "eth0"], check=True)
        subprocess.run([*in_node, "link", "set", "eth0", "up"], check=True)
    # The bridge stands for a switch: what passes through it is not the controller's to forward.
    filters = "for one in /proc/sys/net/bridge/bridge-nf-call-ip*tables; do [ ! -e $one ] || echo 0 >$one; done"
    assert machines["head"].run("bash", "-c", filters).returncode == 0
    for number, (name, machine) in enumerate(machines.items(), start=1):
        link = "br0" if name == "head" else "eth0"
        own = METADATA_ADDRESSES if name == "metadata" else ()
        lines = [f"ip address add fd00:77::{number}/64 dev {link} nodad"]
        for address in METADATA_ADDRESSES:
            length = 128 if ":" in address else 32
            lines.append(
                f"ip address add {address}/{length} dev {link} nodad"
                if own and length > 32
                else f"ip address add {address}/{length} dev {link}"
                if own
                else f"ip route add {address}/{length} dev {link}"
            )
        assert machine.run("bash", "-c", "set -e; " + "; ".join(lines)).returncode == 0


def start_metadata(machine: Machine) -> None:
    """Start what stands for the cloud's metadata service: whoever gets an answer could act as the machine."""
    machine.run("bash", "-c", "mkdir /var/metadata && echo identity >/var/metadata/index.html")
    serve = "setsid python3 -m http.server --directory /var/metadata --bind :: {0} >/dev/null 2>&1 </dev/null &"
    for port in (80, 32526):
        machine.run("bash", "-c", serve.format(port))
        wait = f"for _ in $(seq 100); do curl -sf http://127.0.0.1:{port}/ && exit 0; sleep 0.1; done; exit 1"
        assert machine.run("bash", "-c", wait).stdout == "identity\n"


def namespaces_work() -> bool:
    """Tell whether this user may make the namespaces, a bridge and device files."""
    command = ["unshare", "--mount", "--uts", "--net", "--pid", "--fork", "ip", "link", "add", "br0", "type", "bridge"]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def machines(require_engine: Callable[..., None]) -> Iterator[dict[str, Machine]]:
    """Return fresh machines; everything that runs in them ends with the module."""
    require_engine(
        "slurmctld", "slurmd", "slurmdbd", "srun", "munged", "mariadbd", "openssl", "unshare", "nsenter", "ip", "nft"
    )
    require_engine(working=namespaces_work(), reason="needs root and Linux namespaces with a bridge")
    # slurmctld, mariadbd and the cluster's users look at files in here: pytest's own folders are closed to them, and
    # every further session of pytest closes them again.
    folder = Path(tempfile.mkdtemp(prefix="site-"))
    folder.chmod(0o755)
    devices = folder / "dev"
    devices.mkdir()
    for index in range(GPUS_PER_NODE):
        # Slurm asks for character devices; 195 is the number of NVIDIA's driver, which is not needed.
        os.mknod(devices / f"nvidia{index}", mode=0o020666, device=os.makedev(195, index))
    own = sign(folder / "tls")
    # As AWS stores it: a JSON document.
    (folder / "database-secret").write_text(json.dumps({"username": "slurm", "password": DATABASE_PASSWORD}))
    started: dict[str, Machine] = {}
    try:
        for name in ADDRESSES:
            started[name] = start_machine(name, folder, devices)
        connect(started)
        start_database(started["database"], own)
        start_metadata(started["metadata"])
        # The controller is a machine without GPUs.
        assert started["head"].run("mount", "-t", "tmpfs", "tmpfs", str(devices)).returncode == 0
        yield started
    finally:
        for machine in started.values():
            machine.holder.kill()
            machine.holder.communicate(timeout=120)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def cluster(machines: dict[str, Machine]) -> dict[str, Machine]:
    """Return the machines after each has run its bootstrap, the controller first."""
    for name, machine in machines.items():
        if name in SERVICES:
            continue
        result = machine.bootstrap()
        assert result.returncode == 0, f"{name}: {result.stderr}"
    return machines


def snapshot(machine: Machine) -> str:
    """Return owner, mode and time of every file the bootstrap installs, and the daemons with their process ids."""
    files = "/etc/slurm /etc/munge /etc/gpu-cluster /etc/profile.d/gpu-cluster.sh /run/gpu-cluster"
    script = (
        f"find {files} -type f -printf '%p %u %m %T@\\n' | sort; ps -C munged,slurmctld,slurmd,slurmdbd -o pid=,comm="
    )
    return machine.run("bash", "-c", script).stdout


def test_every_node_joins_under_its_own_host_name(cluster: dict[str, Machine]) -> None:
    """Four dynamic nodes named after their machines are idle in the partition, each with its GPUs and address."""
    result = cluster["head"].run("sinfo", "--noheader", "--Node", "--format=%N %P %T %G")
    assert result.stdout.split("\n")[:-1] == [f"{name} gpu* idle gpu:h100:8" for name in NODES]
    shown = cluster["head"].run("scontrol", "show", "node", "node3", "-o").stdout
    assert "DYNAMIC_NORM" in shown
    assert f"NodeAddr={ADDRESSES['node3']} " in shown


def test_a_job_runs_on_all_four_nodes_with_all_gpus(cluster: dict[str, Machine]) -> None:
    """A four-node job starts one task per node and sees all eight GPUs of each."""
    script = 'echo "$(hostname) $CUDA_VISIBLE_DEVICES"'
    result = cluster["head"].run("srun", "--nodes=4", "--gres=gpu:h100:8", "bash", "-c", script)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split("\n")[:-1]) == [f"{name} 0,1,2,3,4,5,6,7" for name in NODES]


def test_a_compute_node_can_submit_too(cluster: dict[str, Machine]) -> None:
    """A configless node finds the controller without a Slurm file of its own."""
    result = cluster["node2"].run("srun", "--nodes=4", "hostname")
    assert sorted(result.stdout.split()) == NODES, result.stderr
    assert cluster["node2"].run("test", "-e", "/etc/slurm/slurm.conf").returncode == 1


def test_a_login_machine_submits_without_a_daemon(cluster: dict[str, Machine]) -> None:
    """Users start jobs on every node from the login machine, which is no node and runs no daemon of Slurm."""
    result = cluster["login"].run("srun", "--nodes=4", "--gres=gpu:h100:8", "hostname")
    assert sorted(result.stdout.split()) == NODES, result.stderr
    daemons = cluster["login"].run("ps", "-C", "slurmctld,slurmd,slurmdbd", "-o", "comm=").stdout
    assert daemons == ""
    configs = [cluster[name].run("cat", "/etc/slurm/slurm.conf").stdout.splitlines() for name in ("head", "login")]
    differing = [pair for pair in zip(*configs, strict=True) if pair[0] != pair[1]]
    assert [line.split("=")[0] for line, _ in differing] == [
        "# Written by /opt/gpu-cluster/controller.sh",
        "SlurmctldHost",
    ]


def test_jobs_and_their_gpus_are_accounted_for(cluster: dict[str, Machine]) -> None:
    """A job is in the database with its nodes and GPUs, asked from the login machine."""
    run = cluster["login"].run(
        "sbatch", "--wait", "--nodes=2", "--gres=gpu:h100:8", "--wrap=true", "--output=/dev/null"
    )
    assert run.returncode == 0, run.stderr
    job = run.stdout.split()[-1]
    for _ in range(300):
        shown = cluster["login"].run("sacct", "-X", "-n", "-P", "-j", job, "-o", "State,NNodes,AllocTRES").stdout
        if shown.startswith("COMPLETED"):
            break
        time.sleep(0.2)
    assert shown.startswith("COMPLETED|2|")
    assert "gres/gpu=16" in shown


def test_the_database_password_is_for_slurm_alone(cluster: dict[str, Machine]) -> None:
    """The password is in one file, readable by slurm only, and in no process's arguments."""
    head = cluster["head"]
    assert head.run("stat", "--format=%U %a", "/etc/slurm/slurmdbd.conf").stdout == "slurm 600\n"
    assert "p#ss" not in head.run("ps", "-eo", "args").stdout
    assert "p#ss" not in head.run("cat", "/etc/gpu-cluster/node.env", "/var/log/gpu-cluster/slurmdbd.log").stdout


def test_a_database_with_another_certificate_is_refused(cluster: dict[str, Machine], tmp_path: Path) -> None:
    """Somebody else's server never gets the password: its certificate is not of the authority that was named."""
    folder = "/run/other"
    own = sign(tmp_path / "other").authority.read_text()
    script = f"""
mkdir -p {folder} && cp /etc/slurm/slurm.conf {folder} && cat >{folder}/ca.pem <<'PEM'
{own}
PEM
sed 's#SSL_CA=.*#SSL_CA={folder}/ca.pem#; s#slurmdbd.pid#other.pid#; s#slurmdbd.log#other.log#' \\
    /etc/slurm/slurmdbd.conf >{folder}/slurmdbd.conf
printf 'DbdPort=6999\\n' >>{folder}/slurmdbd.conf
chown -R slurm {folder} && chmod 600 {folder}/slurmdbd.conf
export SLURM_CONF={folder}/slurm.conf
timeout 60 setpriv --reuid=slurm --regid=slurm --clear-groups slurmdbd -D &
until grep -qs 'TLS/SSL error' /var/log/slurm/other.log || ! kill -0 $!; do sleep 0.1; done
kill $!
"""
    cluster["head"].run("bash", "-c", script)
    log = cluster["head"].run("cat", "/var/log/slurm/other.log").stdout
    assert "TLS/SSL error" in log
    assert "certificate" in log


def test_a_spot_node_that_is_taken_back_drains_and_hands_its_job_back(cluster: dict[str, Machine]) -> None:
    """The notice takes the node out of service; its job saves on SIGTERM, as Megatron-LM does, and is queued again."""
    node, head, saved = cluster["node3"], cluster["head"], "/var/saved"
    step = f"trap 'touch {saved}; exit 0' TERM; while true; do sleep 0.1; done"
    submit = ["sbatch", "--requeue", "--nodelist=node3", "--output=/dev/null", f'--wrap=srun bash -c "{step}"']
    job = head.run(*submit).stdout.split()[-1]

    def until(done: Callable[[], bool]) -> bool:
        for _ in range(600):
            if done():
                return True
            time.sleep(0.1)
        return False

    assert until(lambda: head.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout.startswith(f"{job}.0"))
    watch = f"CLUSTER_INTERRUPTION_POLL_S=0.1 setsid bash {NODE_SCRIPTS}/interruption.sh >/dev/null 2>&1 </dev/null &"
    node.run("bash", "-c", watch)
    time.sleep(1)
    quiet = head.run("sinfo", "-h", "-n", "node3", "-o", "%T").stdout
    node.run("mkdir", "-p", "/run/gpu-cluster")
    node.run("touch", "/run/gpu-cluster/interruption")
    queued = until(lambda: "Restarts=1" in head.run("scontrol", "show", "job", job, "-o").stdout)
    reason = head.run("sinfo", "--noheader", "--list-reasons", "--format=%N %E").stdout
    head.run("scancel", job)
    node.run("pkill", "-f", "sleep infinity")
    head.run("scontrol", "update", "nodename=node3", "state=resume")
    assert "drain" not in quiet
    assert queued
    assert node.run("test", "-e", saved).returncode == 0
    assert reason == "node3 spot: taken back by the cloud\n"


@pytest.mark.parametrize("request_", [["--nodes=5"], ["--nodes=4", "--gres=gpu:h100:9"], ["--gres=gpu:a100:1"]])
def test_more_than_there_is_gets_refused(cluster: dict[str, Machine], request_: list[str]) -> None:
    """A fifth node, a ninth GPU and a GPU of another type are refused at once."""
    result = cluster["head"].run("srun", "--immediate=1", *request_, "hostname")
    assert result.returncode != 0
    assert "Unable to allocate resources" in result.stderr


def test_all_machines_share_the_key_that_the_controller_made(cluster: dict[str, Machine]) -> None:
    """The key in the secret is on every machine, readable by munge alone, and replaces the package's own."""
    members = [machine for name, machine in cluster.items() if name not in SERVICES]
    keys = {machine.run("sha256sum", "/etc/munge/munge.key").stdout for machine in members}
    assert len(keys) == 1
    own = subprocess.run(["sha256sum", "/etc/munge/munge.key"], capture_output=True, text=True, check=False)
    assert keys != {own.stdout}
    assert cluster["node1"].run("stat", "--format=%U %a", "/etc/munge/munge.key").stdout == "munge 400\n"
    assert "munge.key" not in cluster["node1"].run("cat", "/etc/gpu-cluster/node.env").stdout
    credential = cluster["node1"].run("munge", "--no-input").stdout
    assert cluster["node4"].run("bash", "-c", f"unmunge <<<'{credential}'").returncode == 0


def test_slurm_listens_on_the_cluster_address_only(cluster: dict[str, Machine]) -> None:
    """Each daemon is bound to its machine's own address; slurmdbd alone has no setting for that."""
    own = {"head": ["0.0.0.0:6819", "10.77.0.1:6817"], "node1": [f"{ADDRESSES['node1']}:6818"], "login": []}
    for name, expected in own.items():
        listening = cluster[name].run("ss", "--listening", "--tcp", "--numeric", "--no-header").stdout
        assert sorted(line.split()[3] for line in listening.splitlines()) == expected


@pytest.mark.parametrize("name", ["head", "login", "node1"])
def test_a_second_run_changes_nothing(cluster: dict[str, Machine], name: str) -> None:
    """Running the bootstrap again leaves every file, its time, and every daemon as it was."""
    before = snapshot(cluster[name])
    assert "munged" in before
    daemons = {"head": [" slurmctld\n", " slurmdbd\n"], "login": [], "node1": [" slurmd\n"]}[name]
    assert [daemon for daemon in daemons if daemon not in before] == []
    result = cluster[name].bootstrap()
    assert result.returncode == 0, result.stderr
    assert snapshot(cluster[name]) == before


def test_a_node_that_lost_a_fabric_device_is_drained_and_cannot_rejoin(cluster: dict[str, Machine]) -> None:
    """Slurm's health check drains the node with the reason, and its bootstrap refuses until the device is back."""
    node = cluster["node4"]
    lost = node.sysfs / "class" / "infiniband" / "rdmap3"
    lost.rename(node.sysfs / "rdmap3")
    check = node.run("bash", str(NODE_SCRIPTS / "health_check.sh"))
    refused = node.bootstrap()
    reason = cluster["head"].run("sinfo", "--noheader", "--list-reasons", "--format=%N %E").stdout
    short = cluster["head"].run("srun", "--immediate=1", "--nodes=4", "hostname")
    (node.sysfs / "rdmap3").rename(lost)
    healthy = node.run("bash", str(NODE_SCRIPTS / "health_check.sh"))
    cluster["head"].run("scontrol", "update", "nodename=node4", "state=resume")
    assert check.returncode == 3
    assert reason == "node4 fabric: 3 of 4 efa devices\n"
    assert refused.returncode == 3
    assert "3 of 4 efa devices" in refused.stderr
    assert "TCP" in refused.stderr
    assert short.returncode != 0
    assert healthy.returncode == 0
    assert cluster["head"].run("srun", "--nodes=4", "hostname").returncode == 0


def test_jobs_learn_where_storage_and_data_are(cluster: dict[str, Machine]) -> None:
    """A login shell on a node knows the scratch path and the bucket."""
    shell = cluster["node1"].run("bash", "-lc", 'echo "$CLUSTER_SCRATCH_PATH $CLUSTER_BUCKET"')
    assert shell.stdout == "/var/scratch s3://trial-data\n"


def test_slurm_settings_that_gpu_clusters_depend_on(cluster: dict[str, Machine]) -> None:
    """The running controller is configless, with room for replacements and no inherited limit on pinned memory."""
    config = cluster["head"].run("scontrol", "show", "config").stdout
    values = dict(line.split("=", 1) for line in config.replace(" ", "").splitlines() if "=" in line)
    assert values["SlurmctldParameters"] == "enable_configless"
    assert values["MaxNodeCount"] == "16384"
    assert values["SelectType"] == "select/cons_tres"
    assert values["AuthType"] == "auth/munge"
    assert values["PropagateResourceLimitsExcept"] == "MEMLOCK"
    assert values["HealthCheckProgram"] == str(NODE_SCRIPTS / "health_check.sh")


def test_growth_to_ten_times_the_nodes_keeps_queue_and_controller(cluster: dict[str, Machine]) -> None:
    """From 4 nodes to 40 and back none is refused, no file changes, and a restarted controller has queue and nodes."""
    head = cluster["head"]

    def nodes() -> int:
        partition = head.run("scontrol", "--oneliner", "show", "partition", "gpu").stdout
        return int(partition.split("TotalNodes=")[1].split()[0])

    before = head.run("sha256sum", "/etc/slurm/slurm.conf").stdout
    job = head.run("sbatch", "--hold", "--nodes=4", "--output=/dev/null", "--wrap=true").stdout.split()[-1]
    assert nodes() == len(NODES)
    grown = "NodeName=grown[1-36]"
    created = head.run("scontrol", "create", grown, "CPUs=1", "Gres=gpu:h100:8", "Feature=gpu", "State=CLOUD")
    assert created.returncode == 0, created.stderr
    log = head.run("cat", "/var/log/slurm/slurmctld.log").stdout
    assert "past MaxNodeCount" not in log
    assert nodes() == 40
    head.run("pkill", "--exact", "slurmctld")
    for _ in range(100):
        if "DOWN" in head.run("scontrol", "ping").stdout:
            break
        time.sleep(0.1)
    restarted = head.run("slurmctld")
    assert restarted.returncode == 0, restarted.stderr
    for _ in range(100):
        if "UP" in head.run("scontrol", "ping").stdout:
            break
        time.sleep(0.1)
    assert nodes() == 40
    assert head.run("squeue", "--noheader", "--format=%i %T").stdout == f"{job} PENDING\n"
    deleted = head.run("scontrol", "delete", grown)
    assert deleted.returncode == 0, deleted.stderr
    head.run("scancel", job)
    assert nodes() == len(NODES)
    assert head.run("sha256sum", "/etc/slurm/slurm.conf").stdout == before


SYSTEMCTL = """#!/bin/bash
echo "$*" >>/run/systemctl.log
"""
COMPUTE_UNIT = f"""[Unit]
ConditionPathExists=
[Service]
Type=simple
ExecStartPre=/bin/bash {NODE_SCRIPTS}/fabric_check.sh
ExecStart=
ExecStart=/usr/sbin/slurmd -D -s -Z --conf-server {ADDRESSES["head"]} --conf "Feature=gpu Gres=gpu:h100:8"
Restart=on-failure
RestartSec=10
"""


def test_under_systemd_the_units_start_the_daemons(cluster: dict[str, Machine], tmp_path: Path) -> None:
    """With systemd the node gets a unit that fits a configless node; a second run restarts nothing."""
    node = cluster["node1"]
    (tmp_path / "systemctl").write_text(SYSTEMCTL)
    (tmp_path / "systemctl").chmod(0o755)
    node.run("mkdir", "-p", "/run/systemd/system")
    script = f"PATH={tmp_path}:$PATH exec bash {NODE_SCRIPTS}/bootstrap.sh"
    logs = []
    for _ in range(2):
        result = node.run("bash", "-c", script)
        assert result.returncode == 0, result.stderr
        logs.append(node.run("cat", "/run/systemctl.log").stdout.splitlines())
        node.run("rm", "/run/systemctl.log")
    unit = node.run("cat", "/etc/systemd/system/slurmd.service.d/gpu-cluster.conf").stdout
    boot = node.run("cat", "/etc/systemd/system/gpu-cluster.service").stdout
    node.run("rm", "-r", "/run/systemd/system")
    assert unit == COMPUTE_UNIT
    assert f"ExecStart={NODE_SCRIPTS}/bootstrap.sh" in boot
    assert "enable --quiet gpu-cluster.service" in logs[0]
    assert [line for line in logs[0] if "start" in line] == ["start munge", "restart slurmd"]
    assert [line for line in logs[1] if "start" in line] == ["start munge", "start slurmd"]
