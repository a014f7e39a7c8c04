"""The first job of an ordinary user on premises: the written folder, put on machines as its pages say.

Four nodes, two controllers and a login machine, each of namespaces. The folder's files are taken as they are; what a
machine of two processors cannot give is appended to them (`_FOR_TESTS`) and nothing else is changed.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files

from .cluster import SERVICES, make_image, make_site, until
from .machines import Machine, Site, cgroups_work, namespaces_work

pytestmark = pytest.mark.engine

ENGINES = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "srun",
    "munged",
    "mariadbd",
    "mariadb",
    "unshare",
    "nsenter",
    "ip",
    "crun",
    "busybox",
    "mksquashfs",
    "unsquashfs",
    "gcc",
    "make",
    "setcap",
    "setpriv",
    "runuser",
    "systemd-tmpfiles",
    "openssl",
)
SLURM_HEADER = Path("/usr/include/slurm/spank.h")
NODES = [f"node{number:03d}" for number in range(1, 5)]
GPUS = tuple(f"nvidia{index}" for index in range(8))
HOSTS = {
    **{f"mgmt-{number:03d}": f"10.40.0.{number + 10}" for number in range(1, 4)},
    **{name: f"10.40.1.{number}" for number, name in enumerate(NODES, start=1)},
}
#: Appended to the folder's files. Slurm takes the last of two values. Nodes of 224 processors and 2 TB are two
#: processors here, so no job can be bound to the planned ones; nobody waits five minutes for a daemon that is dead, nor
#: two, the life of a credential, for a job that is queued again.
_FOR_TESTS = {
    "slurm.conf": "SlurmdParameters=config_overrides\nTaskPlugin=task/cgroup\n"
    "SlurmctldTimeout=10\nSlurmdTimeout=20\nUnkillableStepTimeout=20\nAuthInfo=cred_expire=30\n",
    "cgroup.conf": "ConstrainCores=no\n",
    "node/node.env": "CLUSTER_SYSFS=/srv/sysfs\n",
}
#: Ports of the fabric, as the kernel shows them: what looks at nodes finds those that are planned.
_PORTS = {
    f"class/infiniband/mlx5_{index}/ports/1/{name}": value
    for index in range(len(GPUS))
    for name, value in (("state", "4: ACTIVE"), ("rate", "400 Gb/sec (4X NDR)"), ("link_layer", "InfiniBand"))
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder on premises of a blueprint that is held to four nodes, as the command writes it."""
    blueprint = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
    values = [
        *("name=first-job", "workload.model=gpt3-5b", "workload.tokens=1e12"),
        *(
            "goals.finish_within=60 days",
            f"targets.onprem.min_nodes={len(NODES)}",
            f"targets.onprem.max_nodes={len(NODES)}",
        ),
        "cluster.users=[{name: ada, uid: 20001, ssh_keys: []}]",
    ]
    plan = plan_of(blueprint, values, "onprem")
    assert plan.options[0].cluster.nodes == len(NODES)
    written = tmp_path_factory.mktemp("written")
    for name, file in onprem_files(plan, plan.options[0], load()).items():
        path = written / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
    return written


@pytest.fixture(scope="module")
def site(folder: Path, tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]) -> Iterator[Site]:
    """Return the machines, set up from the folder."""
    require_engine(*ENGINES)
    require_engine(working=SLURM_HEADER.exists(), reason="needs Slurm's headers (libslurm-dev)")
    require_engine(
        working=namespaces_work(), reason="needs root, Linux namespaces with a bridge, and users' containers"
    )
    require_engine(working=cgroups_work(), reason="needs control groups of version 1 that may be written to")
    home = tmp_path_factory.mktemp("onprem")
    shared = Path(tempfile.gettempdir()).resolve()
    for parent in [home, *(one for one in home.parents if one.is_relative_to(shared) and one != shared)]:
        parent.chmod(0o755)
    machines = make_site(home, {"services": SERVICES, **HOSTS}, _PORTS, {})
    shutil.copytree(folder, home / "site" / "folder")
    (home / "site" / "folder").chmod(0o755)
    for name, lines in _FOR_TESTS.items():
        with (home / "site" / "folder" / name).open("a") as file:
            file.write(lines)
    try:
        _set_up(machines)
        yield machines
    finally:
        machines.end()


def _set_up(site: Site) -> None:
    """Bring up controllers, nodes and login machine, and give the first user what a job needs."""
    # The network lives as long as the first machine: one that is never taken away.
    site.start("services", SERVICES, {})
    start_server(site, "mgmt-001")
    # "Once", of jobs.md, for the whole cluster; the queue belongs to Slurm.
    site.machines["mgmt-001"].text("bash", "-ec", _block(site, "jobs.md", "Once:"))
    site.machines["mgmt-001"].text("install", "-d", "-o", "slurm", "-m", "0700", "/shared/slurm/slurmctld")
    backup = start_server(site, "mgmt-002")
    _accounting(site, backup)
    for name in ("mgmt-001", "mgmt-002"):
        start_controller(site.machines[name])
    for name in NODES:
        start_node(site, name)
    start_server(site, "mgmt-003")
    make_image(site.folder / "shared" / "images" / "stub.sqsh", site.folder)
    megatron = site.folder / "shared" / "Megatron-LM"
    megatron.mkdir()
    (megatron / "pretrain_gpt.py").write_text("")
    idle = ("sinfo", "--noheader", "--states=idle", "--format=%D")
    assert until(lambda: site.machines["mgmt-003"].run(*idle).stdout.strip() == "4")


def _block(site: Site, name: str, start: str) -> str:
    """Return the one block of commands of a page whose first comment starts so."""
    page = (site.folder / "site" / "folder" / name).read_text()
    return str(re.findall(rf"```sh\n(# {re.escape(start)}.*?)```", page, re.DOTALL)[0])


def _start(site: Site, name: str, role: str) -> Machine:
    """Start a machine with what every one has: shared file system, users, munge's key, Enroot and Pyxis."""
    machine = site.start(name, HOSTS[name], {}, GPUS if role == "compute" else (), confined=role == "compute")
    machine.text(
        "bash",
        "-ec",
        """
        mkdir -p /shared /scratch
        mount --bind /srv/shared /shared
        install -d -o munge -g munge -m 0755 /run/munge && install -d -o slurm /var/log/slurm
        printf '%s' 'a key of this test that is long enough for munge' >/etc/munge/munge.key
        chown munge:munge /etc/munge/munge.key && chmod 0400 /etc/munge/munge.key
        setpriv --reuid=munge --regid=munge --clear-groups munged
        mkdir -p /etc/enroot/enroot.conf.d && cp -r /srv/site/folder /root/folder
        """,
    )
    if role != "compute":
        machine.text(
            "bash", "-ec", "cd /root/folder && cp {slurm,gres,topology,cgroup,plugstack,job_container}.conf /etc/slurm/"
        )
    commands = _block(site, "jobs.md", "As root on every node").replace("CLUSTER_ROLE=compute", f"CLUSTER_ROLE={role}")
    once, everywhere = _block(site, "users.md", "Once, as root").split("# As root on every machine")
    # The list is on the shared file system, where the first machine puts it.
    users = ("" if _shared(site, ".gpu-cluster/users").exists() else once) + f"#{everywhere}"
    for words in (commands, users.replace("ROLE=compute", f"ROLE={role}")):
        done = machine.run("bash", "-ec", words, folder="/root/folder")
        assert done.returncode == 0, done.stderr
    return machine


def start_server(site: Site, name: str) -> Machine:
    """Start a management server; the third one is for login."""
    return _start(site, name, "login" if name == "mgmt-003" else "controller")


def start_controller(machine: Machine) -> None:
    """Start slurmctld, and wait until it answers."""
    machine.text("slurmctld")
    answers = rf"at {machine.name} is UP"
    assert until(lambda: re.search(answers, machine.run("scontrol", "ping").stdout) is not None)


def start_node(site: Site, name: str) -> Machine:
    """Start a compute node, whose slurmd fetches its files as slurm.conf says."""
    machine = _start(site, name, "compute")
    command = re.search(r"slurmd --conf-server \S+", (site.folder / "site/folder/slurm.conf").read_text())
    assert command is not None
    machine.text(*command[0].split())
    return machine


def _accounting(site: Site, machine: Machine) -> None:
    """Start a database as the distribution's package does, and slurmdbd as jobs.md says."""
    machine.text(
        "bash",
        "-ec",
        """
        mkdir -p /run/mysqld && chown mysql /run/mysqld
        # The package's settings, on files of this machine alone.
        mariadb-install-db --user=mysql --datadir=/var/trial-db --skip-test-db >/dev/null
        setsid mariadbd --user=mysql --datadir=/var/trial-db --skip-networking >/var/trial-db.log 2>&1 </dev/null &
        for _ in $(seq 300); do if mariadb --execute 'SELECT 1' >/dev/null 2>&1; then exit 0; fi; sleep 0.1; done
        cat /var/trial-db.log >&2 && exit 1
        """,
    )
    done = machine.run("bash", "-ec", _block(site, "jobs.md", "As root on mgmt-002"), folder="/root/folder")
    assert done.returncode == 0, done.stderr
    machine.text("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", "slurmdbd")
    assert until(lambda: machine.run("sacctmgr", "--noheader", "list", "cluster").returncode == 0)


def submit(site: Site) -> str:
    """Submit the generated job by its own script, as an ordinary user on the login machine; return its number."""
    login = site.machines["mgmt-003"]
    login.text("cp -rT /srv/site/folder/launch ~/launch", user="ada")
    said = login.text("cd ~/launch && ./submit.sh --yes --image /shared/images/stub.sqsh", user="ada")
    found = re.search(r"^job (\d+)$", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def finish(site: Site, job: str) -> None:
    """Let the stub framework end, and the next one start afresh."""
    _shared(site, "checkpoints/first-job/finish").touch()
    assert until(lambda: state(site, job) == ""), state(site, job)
    _shared(site, "checkpoints/first-job/finish").unlink()


def _shared(site: Site, path: str) -> Path:
    return site.folder / "shared" / path


def state(site: Site, job: str) -> str:
    """Return a job's state in the queue, empty once it has left."""
    return site.machines["mgmt-003"].run("squeue", "-h", "-j", job, "-o", "%T").stdout.strip()


def step(site: Site) -> int:
    """Return the newest checkpoint's number."""
    path = _shared(site, "checkpoints/first-job/latest_checkpointed_iteration.txt")
    return int(path.read_text()) if path.exists() else 0


def log_of(site: Site, job: str) -> str:
    """Return what a job printed."""
    path = _shared(site, f"launch/first-job/first-job-{job}.log")
    return path.read_text() if path.exists() else ""


def test_four_nodes_join_as_planned(site: Site, folder: Path) -> None:
    """Every node of the folder is idle with the processors, the memory and the GPUs that slurm.conf says."""
    shown = site.machines["mgmt-003"].text("sinfo", "--noheader", "--Node", "--format=%N %P %T %G %c %m")
    planned = re.search(r"CPUs=(\d+).*RealMemory=(\d+)", (folder / "slurm.conf").read_text())
    assert planned is not None
    size = f"{planned[1]} {planned[2]}"
    assert [line.replace("(S:0-1)", "") for line in shown.splitlines()] == [
        f"{name} gpu* idle gpu:h100:8 {size}" for name in NODES
    ]


def test_an_ordinary_user_s_job_trains_and_saves(site: Site, folder: Path) -> None:
    """The generated job runs on four nodes in the image, with all GPUs and the planned adapters, saves and is kept."""
    job = submit(site)
    assert until(lambda: step(site) > 1), log_of(site, job)
    seen = sorted(_shared(site, "checkpoints/first-job/seen").glob(f"{job}.*"))
    assert [path.name.partition("-")[2] for path in seen] == NODES
    planned = re.findall(r"^    export (NCCL_\w+)=(.*)$", (folder / "launch/train.sbatch").read_text(), re.MULTILINE)
    assert {name for name, _ in planned} >= {"NCCL_NET", "NCCL_IB_HCA"}
    for path in seen:
        lines = {*path.read_text().splitlines()}
        assert {"user=20001", "image=stub framework", "nvidia=8"} <= lines
        assert {f"{name}={value.strip(chr(39))}" for name, value in planned} <= lines
        assert {"word=--nnodes=4", "word=--nproc-per-node=8"} <= lines
    used = site.machines["mgmt-001"].text("scontrol", "show", "job", job, "--details", "--oneliner")
    assert len(re.findall(r"GRES=gpu:h100:8\(IDX:0-7\)", used)) in (1, 4)
    finish(site, job)
    accounted = ("sacct", "-X", "-n", "-P", "-j", job, "-o", "User,State,AllocTRES")
    login = site.machines["mgmt-003"]
    assert until(lambda: "COMPLETED" in login.run(*accounted).stdout), login.run(*accounted)
    assert "gres/gpu=32" in login.text(*accounted)
    saved = _shared(site, "checkpoints/first-job/latest_checkpointed_iteration.txt").stat()
    assert saved.st_uid == 20001


def test_a_job_sees_only_the_gpus_that_it_was_given(site: Site) -> None:
    """With two of eight GPUs, cgroup.conf lets a job open the files of two: the kernel refuses the other six."""
    # No driver is behind the files: one that may be opened says so (ENXIO), another is not permitted (EPERM).
    look = "for one in /dev/nvidia[0-7]; do (exec 3<\\$one) 2>&1 | sed 's/.*: //'; done"
    said = site.machines["mgmt-003"].text(f'srun -N1 --gres=gpu:2 bash -c "{look}"', user="ada").splitlines()
    assert sorted(said) == ["No such device or address"] * 2 + ["Operation not permitted"] * 6


def _given(site: Site, name: str, start: str) -> str:
    """Return the one command of a page's text that starts so."""
    page = (site.folder / "site" / "folder" / name).read_text()
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    (found,) = {one.replace("\\|", "|") for one in re.findall(r"`([^`]+)`", prose) if one.startswith(start)}
    return found


def test_the_checks_of_the_pages_show_what_the_pages_say(site: Site) -> None:
    """Every check of users.md and jobs.md, typed as it stands there, comes out as expected.

    Not tried: `ssh NODE` and the timer, which need sshd and systemd; `test_onprem_users.py` looks at their files.
    """
    login = site.machines["mgmt-003"]
    who = login.text("sh", "-c", _given(site, "users.md", "id NAME").replace("NAME", "ada"))
    assert login.text(_given(site, "users.md", "srun -N 1 id"), user="ada") == who
    assert "uid=20001(ada)" in who
    for name, machine in site.machines.items():
        if name != "services":
            assert machine.run(_given(site, "users.md", "sudo -n true"), user="ada").returncode != 0, name
    assert "--container-image" in login.text(_given(site, "jobs.md", "srun --help"), user="ada")
    assert int(login.text(_given(site, "jobs.md", "srun -N 1 cat /proc"), user="ada")) > 1
    seen = _given(site, "jobs.md", "srun -N 1 --gres=gpu:1").replace("ubuntu:24.04", "/shared/images/stub.sqsh")
    assert re.fullmatch(r"GPU \d: stub\n", login.text(seen, user="ada"))
    job = login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="ada").strip()
    login.text("sh", "-c", _given(site, "users.md", "scancel --user=").replace("NAME", "ada"))
    assert until(lambda: state(site, job) == "")
    # Of the jobs of srun above.
    past = f"{_given(site, 'jobs.md', 'sacct')} -n -X -o State"
    assert until(lambda: "COMPLETED" in login.run(past, user="ada").stdout, tries=300)
    backup = site.machines["mgmt-002"]
    assert backup.text("sh", "-c", _given(site, "jobs.md", "dpkg-query --show")).startswith("slurmdbd\t")


def test_a_copy_of_the_accounting_is_put_back(site: Site) -> None:
    """What was lost in the database is there again, from the oldest of the copies that only root reads.

    What the database held before is a copy of its own, and no other copy is lost for it.
    """
    backup, login = site.machines["mgmt-002"], site.machines["mgmt-003"]
    block = _block(site, "jobs.md", "As root on mgmt-002: a copy")
    make, restore = re.findall(r"(?m)^bash /opt/gpu-cluster/accounting_\w+\.sh .*$", block)
    login.text("srun -N 1 true", user="ada")
    past = f"{_given(site, 'jobs.md', 'sacct')} -n -X -o State"
    assert until(lambda: "COMPLETED" in login.run(past, user="ada").stdout)
    # The timer is systemd's, which these machines do not have.
    backup.text("sh", "-c", make.removesuffix(" timer"))
    folder = restore.split()[-1].rpartition("/")[0]
    (copy,) = backup.text("ls", folder).split()
    assert login.run(f"ls {folder}", user="ada").returncode != 0
    backup.text("pkill", "slurmdbd")
    assert until(lambda: backup.run("pgrep", "slurmdbd").returncode == 1)
    backup.text("mariadb", "slurm_accounting", "--execute=DELETE FROM `first-job_job_table`")
    oldest = "slurm_accounting-20200101T000000Z.sql.gz"
    backup.text("mv", f"{folder}/{copy}", f"{folder}/{oldest}")
    # As many as stay, some of them of the seconds in which the next one is made.
    seconds = [int(time.time()) + offset for offset in range(-25, 5)]
    names = {time.strftime("slurm_accounting-%Y%m%dT%H%M%SZ.sql.gz", time.gmtime(second)) for second in seconds}
    backup.text("touch", *(f"{folder}/{name}" for name in names))
    backup.text("sh", "-c", restore.replace(restore.split()[-1], f"{folder}/{oldest}"))
    kept = {*backup.text("ls", folder).split()}
    assert names | {oldest} < kept
    filled = backup.text("find", folder, "-name", "*.gz", "-size", "+0", "-printf", "%f\\n").split()
    assert {*filled} == kept - names
    assert len(filled) == 2
    backup.text("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", "slurmdbd")
    assert until(lambda: "COMPLETED" in login.run(past, user="ada").stdout)


def test_a_node_with_a_fault_is_drained_and_the_job_starts_elsewhere(site: Site) -> None:
    """One GPU fewer than planned is seen before the job starts, named as the reason, and costs the user nothing."""
    login, broken = site.machines["mgmt-003"], site.machines["node001"]
    broken.text("mv", "/dev/nvidia7", "/dev/lost")
    job = login.text("sbatch --parsable --nodes=1 --output=/dev/null --wrap=true", user="ada").strip()
    # Slurm starts it again once the credential of the first start has expired (AuthInfo=cred_expire).
    assert until(lambda: state(site, job) == "")
    drained = "sinfo --noheader --Node --states=drain --format='%n %E'"
    assert login.text("sh", "-c", drained) == "node001 check: 7 GPUs, 8 planned\n"
    past = f"sacct --noheader --allocations --parsable2 --jobs={job} --format=State,NodeList"
    assert until(lambda: login.run(past, user="ada").stdout == "COMPLETED|node002\n"), login.run(past, user="ada")
    broken.text("mv", "/dev/lost", "/dev/nvidia7")
    broken.text("scontrol", "update", "nodename=node001", "state=resume")
    idle = ("sinfo", "--noheader", "--states=idle", "--format=%D")
    assert until(lambda: login.run(*idle).stdout.strip() == "4")


def test_the_password_of_the_database_is_slurm_s_alone(site: Site, folder: Path) -> None:
    """No file of the folder and no log holds it, and an ordinary user on its server cannot read it."""
    backup = site.machines["mgmt-002"]
    secret = backup.text("cat", "/etc/slurm/slurmdbd.password").split('"')[1]
    assert len(secret) == 48
    assert backup.text("stat", "--format=%U %a", "/etc/slurm/slurmdbd.password", "/etc/slurm/slurmdbd.conf") == (
        "slurm 600\nslurm 600\n"
    )
    assert backup.run("cat /etc/slurm/slurmdbd.password", user="ada").returncode != 0
    assert backup.run("grep", "-r", secret, "/var/log/slurm", "/root/folder").returncode == 1
    assert not re.search(r"(?m)^StoragePass", (folder / "slurmdbd.conf").read_text())


def test_a_restarted_controller_keeps_the_queue(site: Site) -> None:
    """The daemon ended and started again: the held job is still there, and no node is lost."""
    login, first = site.machines["mgmt-003"], site.machines["mgmt-001"]
    job = login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="ada").strip()
    first.text("pkill", "slurmctld")
    assert until(lambda: first.run("pgrep", "slurmctld").returncode == 1)
    start_controller(first)
    assert state(site, job) == "PENDING"
    login.text(f"scancel {job}", user="ada")
    idle = ("sinfo", "--noheader", "--states=idle", "--format=%D")
    assert until(lambda: login.run(*idle).stdout.strip() == "4")


def test_the_second_controller_takes_over(site: Site) -> None:
    """The first server vanishes: the second has the queue and runs jobs, and gives way when the first is back."""
    login = site.machines["mgmt-003"]
    job = login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="ada").strip()
    # Slurm writes the queue at most 5 s later (SAVE_MAX_WAIT); what is submitted in them is lost with the server.
    time.sleep(7)
    site.machines.pop("mgmt-001").end()
    assert until(lambda: state(site, job) == "PENDING")
    ran = login.run("srun -N4 hostname", user="ada")
    assert sorted(ran.stdout.split()) == NODES, ran.stderr
    start_controller(start_server(site, "mgmt-001"))
    assert state(site, job) == "PENDING"
    login.text(f"scancel {job}", user="ada")
    assert sorted(login.text("srun -N4 hostname", user="ada").split()) == NODES


def test_a_lost_node_s_job_starts_again_from_its_checkpoint(site: Site) -> None:
    """A node vanishes: Slurm notices, queues the job again, and starts it from its checkpoint once the node is back."""
    job = submit(site)
    before = step(site)
    assert until(lambda: step(site) > before + 1), log_of(site, job)
    site.machines.pop(NODES[3]).end()
    assert until(lambda: state(site, job) == "PENDING"), state(site, job)
    saved = step(site)
    start_node(site, NODES[3])
    # Slurm starts it again once the old credential has run out. Told to start it sooner, Slurm 22.05 gave it the node
    # that had just come back and freed that node at once, so that no step of it could start.
    history = _shared(site, "checkpoints/first-job/history")
    again = f"{job}.1 starts at step "
    assert until(lambda: again in history.read_text()), log_of(site, job)
    started = next(line for line in history.read_text().splitlines() if line.startswith(again))
    assert int(started.rpartition(" ")[2]) >= saved
    finish(site, job)


def test_nothing_of_this_host_is_changed(site: Site) -> None:
    """Machines write into memory: this host has no shared folder, users, or settings of the cluster."""
    assert site.machines
    for path in ("/shared", "/scratch", "/etc/slurm/slurmdbd.conf", "/usr/local/lib/slurm/spank_pyxis.so"):
        assert not os.path.lexists(path)
