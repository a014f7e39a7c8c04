"""The script of the tenants on a real slurmdbd with MariaDB: who is refused, who waits, and who gives way."""

import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.catalog.software.accelerators import DeviceFiles
from clusterwright.checks.prove.jobs.slurm import free_port
from clusterwright.outputs.onprem.slurm.cluster import SlurmCluster, TopologySwitch, slurm_texts
from clusterwright.outputs.onprem.slurm.tenants import SCRIPT, accounts_of, tenant_documents
from clusterwright.plan.tenants import Tenant

pytestmark = pytest.mark.engine

PROGRAMS = ("slurmdbd", "slurmctld", "slurmd", "sacctmgr", "sbatch", "mariadbd", "mariadb-install-db", "runuser")
NODES, GPUS = 2, 8
#: Accounts that every Debian has stand for people: Slurm looks the numbers of names up.
ADA, BOB, EVE = "games", "news", "uucp"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def tenant(name: str, share: float, users: Sequence[str], *, most: int | None = None, borrows: bool = True) -> Tenant:
    """Return a tenant."""
    return Tenant(
        name=name,
        share=share,
        borrows=borrows,
        users=tuple(users),
        most_gpus=most,
        most_gpus_per_user=None,
        longest_job_s=3600,
        weight=max(share, 0.1),
    )


TENANTS = (tenant("research", 0.5, [ADA], borrows=False), tenant("students", 0.0, [BOB], most=12))


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A scheduler with its accounting, and the folder of its files."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as root."""
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=self.environment, cwd="/"
        )

    def submit(self, user: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Submit a job that sleeps."""
        wrapped = ("sbatch", "--parsable", "--output=/dev/null", "--time=10", *options, "--wrap=sleep 300")
        return self.run("runuser", "--preserve-environment", "-u", user, "--", *wrapped)

    def state(self, job: str, *, until: str, within_s: float = 60) -> str:
        """Return state and reason of a job, once they are as expected, or at the end of the time."""
        deadline = time.monotonic() + within_s
        while True:
            said = self.run("squeue", "--noheader", f"--jobs={job}", "--format=%T %r").stdout.strip()
            if re.match(until, said) or time.monotonic() > deadline:
                return said
            time.sleep(0.3)


def _variant(folder: Path, ports: tuple[int, int]) -> dict[str, str]:
    """Return slurm.conf and gres.conf of two small nodes on this machine; the rest is as written."""
    cluster = SlurmCluster(
        cluster_name="pod",
        controller_host="mgmt-001",
        accounting_host="mgmt-002",
        host_prefix="node",
        node_count=NODES,
        sockets=1,
        cores_per_socket=64,
        threads_per_core=1,
        memory_mib=64_000,
        gpus_per_node=GPUS,
        gres_type="h100",
        devices=DeviceFiles(name="nvidia", first=0, step=1),
        partition="gpu",
        topology=(TopologySwitch(name="su1", nodes=(1, 2)),),
        accounts=accounts_of(TENANTS, NODES * GPUS),
    )
    texts = slurm_texts(cluster)
    text = texts["slurm.conf"]
    for key, value in {
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": "root",
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool/%n",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/%n.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "SlurmdLogFile": f"{folder}/%n.log",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageHost": "127.0.0.1",
        "PreemptExemptTime": "00:00:00",
    }.items():
        text, count = re.subn(rf"(?m)^{key}=.*$", f"{key}={value}", text)
        assert count == 1, key
    # What nodes run around a job is tested with the scripts; this machine has no folder of theirs.
    around = "Prolog|Epilog|PrologFlags|PrologEpilogTimeout|HealthCheck[A-Za-z]+|JobContainerType|NamespaceType"
    text = re.sub(rf"(?m)^({around})=.*\n", "", text)
    (described,) = re.findall(r"(?m)^NodeName=.*\n", text)
    rest = described.split(" ", 1)[1].replace(
        "State=UNKNOWN", "State=UNKNOWN NodeHostname=localhost NodeAddr=127.0.0.1"
    )
    lines = "".join(f"NodeName=node{n:03} Port={free_port()} {rest}" for n in range(1, NODES + 1))
    text = text.replace(described, lines)
    text += (
        f"SlurmctldPort={ports[0]}\nAccountingStoragePort={ports[1]}\nSlurmdParameters=config_overrides\n"
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n"
    )
    gres = f"AutoDetect=off\nNodeName=node[001-{NODES:03}] Name=gpu Type=h100 File={folder}/nvidia[0-{GPUS - 1}]\n"
    return {"slurm.conf": text, "gres.conf": gres, "topology.conf": texts["topology.conf"]}


@pytest.fixture(scope="module")
def site(require_engine: Callable[..., None]) -> Iterator[Site]:
    """Return a database, slurmdbd, slurmctld and two slurmd, with the accounts of the script."""
    require_engine(*PROGRAMS)
    require_engine(working=os.geteuid() == 0, reason="jobs of other users are started as root")
    # Other users read the configuration. pytest closes its own folders to them whenever a session starts.
    with tempfile.TemporaryDirectory(prefix="tenants-") as name:
        Path(name).chmod(0o755)
        yield from _started(Path(name))


def _started(folder: Path) -> Iterator[Site]:
    """Start the daemons in a folder, with the accounts of the script."""
    ports = (free_port(), free_port())
    for name, text in _variant(folder, ports).items():
        (folder / name).write_text(text)
    for number in range(GPUS):
        # Slurm counts character devices; these have no driver.
        os.mknod(folder / f"nvidia{number}", 0o600 | stat.S_IFCHR, os.makedev(195, number))
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    (folder / "db").mkdir()
    # A server that starts removes the temporary tables that it finds, those of another one too.
    temporary = f"--tmpdir={folder / 'temporary'}"
    (folder / "temporary").mkdir()
    socket = folder / "db.sock"
    daemon = (
        f"AuthType=auth/none\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={ports[1]}\nSlurmUser=root\n"
        f"PidFile={folder}/slurmdbd.pid\nLogFile={folder}/slurmdbd.log\nStorageType=accounting_storage/mysql\n"
        "StorageHost=localhost\nStorageUser=root\nStorageLoc=slurm_accounting\n"
    )
    (folder / "slurmdbd.conf").write_text(daemon)
    (folder / "slurmdbd.conf").chmod(0o600)
    environment = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf"), "MYSQL_UNIX_PORT": str(socket)}
    started = Site(folder=folder, environment=environment)
    made = started.run(
        *("mariadb-install-db", "--no-defaults", f"--datadir={folder}/db", temporary, "--skip-test-db"),
        "--user=root",
        "--auth-root-authentication-method=normal",
    )
    assert made.returncode == 0, made.stderr
    with ExitStack() as stack:

        def start(*command: str) -> None:
            log = stack.enter_context((folder / f"{command[0]}.out").open("a"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        def until(*command: str) -> None:
            deadline = time.monotonic() + 90
            while started.run(*command).returncode != 0:
                assert time.monotonic() < deadline, " ".join(command)
                time.sleep(0.2)

        start(
            *(
                "mariadbd",
                "--no-defaults",
                f"--datadir={folder}/db",
                temporary,
                f"--socket={socket}",
                "--skip-networking",
            ),
            *("--user=root", f"--pid-file={folder}/db.pid"),
        )
        until("mariadb", "--no-defaults", f"--socket={socket}", "-e", "CREATE DATABASE slurm_accounting")
        start("slurmdbd", "-D")
        until("sacctmgr", "--noheader", "show", "cluster")
        start("slurmctld", "-D", "-f", str(folder / "slurm.conf"))
        until("scontrol", "ping")
        script = folder / "tenants.sh"
        documents = tenant_documents("pod", TENANTS, gpus=NODES * GPUS, accounting="mgmt-002", slices="", submits=True)
        script.write_bytes(documents[SCRIPT].content)
        done = started.run("bash", str(script))
        assert (done.returncode, done.stderr) == (0, "")
        for number in range(1, NODES + 1):
            start("slurmd", "-D", "-N", f"node{number:03}")
        until("bash", "-c", f'[ "$(sinfo --noheader -N -p gpu -t idle | wc -l)" = {NODES} ]')
        yield started


def test_a_second_run_changes_nothing(site: Site) -> None:
    """The script can be run after every change of the blueprint."""
    show = ("sacctmgr", "--parsable2", "show")
    asked = [(*show, "qos"), (*show, "association", "format=Account,User,Share,GrpTRES,MaxWall,QOS,DefaultQOS")]
    before = [site.run(*command).stdout for command in asked]
    done = site.run("bash", str(site.folder / "tenants.sh"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [site.run(*command).stdout for command in asked] == before
    assert f"research|{ADA}|1||01:00:00|research|research" in before[1].splitlines()
    assert "students||167|gres/gpu=12|01:00:00|students-spare|students-spare" in before[1].splitlines()


@pytest.mark.parametrize(
    ("user", "options"),
    [
        (EVE, ("--gres=gpu:h100:1",)),
        (BOB, ("--gres=gpu:h100:1", "--account=research")),
        (BOB, ("--gres=gpu:h100:1", "--qos=research")),
        (BOB, ("--gres=gpu:h100:1", "--partition=research")),
    ],
)
def test_nobody_uses_what_is_another_s(site: Site, user: str, options: tuple[str, ...]) -> None:
    """A user without an account, and one who names another tenant's account, QOS or partition, is refused."""
    assert site.submit(user, *options).returncode != 0


def test_shares_limits_and_the_way_back(site: Site) -> None:
    """A borrower has up to its limit; a share that is asked for requeues it; what exceeds a share waits."""
    borrowed = [site.submit(BOB, "--partition=students", "--nodes=1", "--gres=gpu:h100:4") for _ in range(4)]
    jobs = [one.stdout.strip() for one in borrowed]
    assert [one.stderr for one in borrowed if one.returncode != 0] == []
    states = [site.state(job, until="RUNNING") for job in jobs[:3]]
    assert states == ["RUNNING None"] * 3
    assert site.state(jobs[3], until="PENDING .*Grp") == "PENDING AssocGrpGRES"
    own = site.submit(ADA, "--partition=research", "--nodes=1", "--gres=gpu:h100:8").stdout.strip()
    assert site.state(own, until="RUNNING") == "RUNNING None"
    over = site.submit(ADA, "--partition=research", "--nodes=1", "--gres=gpu:h100:1").stdout.strip()
    assert site.state(over, until="PENDING QOS") == "PENDING QOSGrpGRES"
    running = [job for job in jobs if site.run("squeue", "-h", "-j", job, "-o", "%T").stdout.strip() == "RUNNING"]
    assert len(running) <= 2, "nobody gave way"
    assert f"requeued to reclaim resources for JobId={own}" in (site.folder / "slurmctld.log").read_text()
