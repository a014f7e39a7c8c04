"""The first job of an ordinary user on each cloud, from the boot data that the Pulumi program recorded.

Enroot and Pyxis are in no package registry. A plugin of Slurm with the same options stands in for Pyxis and runs the
image by crun; the sources that the boot scripts ask for, and how they build and install them, are checked.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.outputs.training.slurm import launch_files
from tests.stacks.projects import Case, plan_for, recorded, stacks_python

from .cluster import (
    CONTROLLER,
    LOGIN,
    NODES,
    PASSWORD,
    SERVICES,
    USERS,
    Cluster,
    make_image,
    make_site,
    secret_file,
    start_services,
    until,
)
from .machines import METADATA, namespaces_work
from .places import PLACES, Place, boot_files

pytestmark = pytest.mark.engine

ADDRESSES = {"controller": CONTROLLER, "services": SERVICES, "metadata": METADATA}
ENGINES = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "srun",
    "munged",
    "mariadbd",
    "openssl",
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
    "nft",
    "setpriv",
    "runuser",
)
#: Machines that boot where the others of forty have their place in slurmctld's table alone.
_BOOTED = 4
#: As a cloud's name service has it: slurmctld looks every node up while nothing else can be ordered from it.
_NAMED = {
    f"ip-10-40-{net}-{index}": f"10.40.{net}.{index}" for net, most in ((1, 9), (2, 36)) for index in range(1, most + 1)
}
SLURM_HEADER = Path("/usr/include/slurm/spank.h")


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: place.cloud)
def place(request: pytest.FixtureRequest) -> Place:
    """Return one cloud after the other."""
    found: Place = request.param
    return found


@pytest.fixture(scope="module")
def cluster(
    place: Place, tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]
) -> Iterator[Cluster]:
    """Return a cluster of four nodes, booted from what the program recorded, with the launch files of its plan."""
    require_engine(*ENGINES)
    require_engine(working=SLURM_HEADER.exists(), reason="needs Slurm's headers (libslurm-dev)")
    require_engine(
        working=namespaces_work(), reason="needs root, Linux namespaces with a bridge, and users' containers"
    )
    require_engine(working=stacks_python() is not None, reason="the stacks' environment is not installed")
    run = recorded(Case(cloud=place.cloud, instance=place.instance, nodes=4))
    assert run.error is None
    files = boot_files(run.whole.resources, place.given)
    assert files.keys() == {"controller", "login", "compute"}
    for one in files.values():
        one.update(place.image)
        if "CLUSTER_USERS_ID" not in one["/etc/gpu-cluster/node.env"]:
            one["/etc/gpu-cluster/node.env"] += f"CLUSTER_USERS_ID='{place.users}'\n"
    folder = tmp_path_factory.mktemp(place.cloud)
    # Users and daemons of the machines come through these.
    shared = Path(tempfile.gettempdir()).resolve()
    for parent in [folder, *(one for one in folder.parents if one.is_relative_to(shared) and one != shared)]:
        parent.chmod(0o755)
    environment = files["controller"]["/etc/gpu-cluster/node.env"]
    password = _value(environment, "DATABASE_SECRET_ID")
    users = _value(environment, "USERS_ID")
    site = make_site(
        folder,
        {name: ADDRESSES[kind] for name, kind in place.names.items() if not name[0].isdigit()} | _NAMED,
        place.fabric,
        {secret_file(password): PASSWORD, secret_file(users): USERS},
    )
    up = Cluster(site=site, files=files, boot=place.boot)
    try:
        start_services(site, _value(environment, "DATABASE_HOST"))
        up.boot_up(up.start("controller", "controller", CONTROLLER))
        for index, name in enumerate(NODES, start=1):
            up.boot_up(up.start(name, "compute", f"10.40.1.{index}"))
        up.boot_up(up.start("login", "login", LOGIN))
        _bring_launch_files(up, place)
        yield up
    finally:
        site.end()


def _value(environment: str, name: str) -> str:
    found = re.findall(rf"^CLUSTER_{name}='(.*)'$", environment, re.MULTILINE)
    return str(found[-1])


def _bring_launch_files(cluster: Cluster, place: Place) -> None:
    """Put launch files into a user's home, the image and a stub of Megatron-LM onto the shared file system."""
    plan = plan_for(place.cloud, place.instance)
    option = replace(plan.options[0], cluster=replace(plan.options[0].cluster, nodes=4))
    make_image(cluster.shared("image.sqsh"), cluster.site.folder)
    home = cluster.shared("home/ada/launch")
    home.mkdir()
    for name, file in launch_files(plan, option, load()).items():
        (home / name).write_bytes(file.content)
        (home / name).chmod(0o755 if file.executable else 0o644)
    megatron = cluster.shared("Megatron-LM")
    megatron.mkdir()
    (megatron / "pretrain_gpt.py").write_text("")


def submit(cluster: Cluster, user: str = "ada", *options: str) -> str:
    """Submit the generated job by its own script, as a user on the login machine; return its number."""
    words = " ".join(["cd /shared/home/ada/launch && ./submit.sh --yes --image /shared/image.sqsh", *options])
    said = cluster.login.text(words, user=user)
    found = re.search(r"^job (\d+)$", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def finish(cluster: Cluster, job: str) -> None:
    """Let the stub framework end, and the next one start afresh."""
    cluster.shared("checkpoints/small/finish").touch()
    assert until(lambda: cluster.state(job) == ""), cluster.state(job)
    cluster.shared("checkpoints/small/finish").unlink()


def log_of(cluster: Cluster, job: str) -> str:
    """Return what a job printed."""
    path = cluster.shared(f"launch/small/small-{job}.log")
    return path.read_text() if path.exists() else ""


def step(cluster: Cluster) -> int:
    """Return the newest checkpoint's number."""
    path = cluster.shared("checkpoints/small/latest_checkpointed_iteration.txt")
    return int(path.read_text()) if path.exists() else 0


def test_four_nodes_join_as_recorded(cluster: Cluster) -> None:
    """Every node of the recorded boot data is idle in the partition with eight GPUs, under its own name."""
    shown = cluster.login.text("sinfo", "--noheader", "--Node", "--format=%N %P %T %G")
    assert shown.splitlines() == [f"{name} gpu* idle gpu:h100:8" for name in NODES]


def test_the_release_s_commits_are_built_once_and_installed_everywhere(cluster: Cluster) -> None:
    """One machine fetches the two commits of the table and builds; all others install what it made."""
    table = {
        line.split(",")[0]: line.split(",")
        for line in cluster.files["login"]["/opt/gpu-cluster/software.csv"].splitlines()
    }
    fetched = [call.split()[-2:] for name in cluster.site.machines for call in cluster.calls(name) if " fetch " in call]
    assert fetched == [[table[name][2], table[name][3]] for name in ("enroot", "pyxis")]
    packages = [path.name for path in cluster.shared(".gpu-cluster").glob("*.tar")]
    assert len(packages) == 1
    for name in ("enroot", "pyxis"):
        assert f"{name}-{table[name][1]}-{table[name][3][:12]}" in packages[0]
    for name in ("controller", "login", *NODES):
        machine = cluster.site.machines[name]
        assert f"{machine.text('cat', '/usr/local/share/enroot/package').strip()}.tar" == packages[0]
        assert "cap_sys_admin" in machine.text("getcap", "/usr/local/bin/enroot-mksquashovlfs")
        plugins = "/run/slurm/conf/plugstack.conf" if name in NODES else "/etc/slurm/plugstack.conf"
        assert machine.text("cat", plugins) == "required /usr/local/lib/slurm/spank_pyxis.so\n"


def test_an_ordinary_user_s_job_trains_and_saves(cluster: Cluster, place: Place) -> None:
    """The generated job, submitted by its own script, runs on four nodes in the image with all GPUs and saves."""
    job = submit(cluster)
    assert until(lambda: step(cluster) > 1), log_of(cluster, job)
    seen = sorted(cluster.shared("checkpoints/small/seen").glob(f"{job}.*"))
    assert [path.name.partition("-")[2] for path in seen] == NODES
    for path in seen:
        lines = path.read_text().splitlines()
        assert {"user=4001", "image=stub framework", "nvidia=8"} <= {*lines}
        assert {f"{name}={value}" for name, value in place.nccl.items()} <= {*lines}
        assert {"word=--nnodes=4", "word=--nproc-per-node=8"} <= {*lines}
    used = cluster.controller.text("scontrol", "show", "job", job, "--details", "--oneliner")
    assert len(re.findall(r"GRES=gpu:h100:8\(IDX:0-7\)", used)) in (1, 4)
    assert "UserId=ada(4001)" in used
    finish(cluster, job)
    accounted = ("sacct", "-X", "-n", "-P", "-j", job, "-o", "State,AllocTRES")
    assert until(lambda: cluster.login.run(*accounted).stdout.startswith("COMPLETED"))
    assert "gres/gpu=32" in cluster.login.text(*accounted)
    saved = cluster.shared("checkpoints/small/latest_checkpointed_iteration.txt").stat()
    assert saved.st_uid == 4001


def test_users_reach_neither_slurm_s_key_nor_the_other_s_job(cluster: Cluster) -> None:
    """An ordinary user has no sudo, no key of munge, and cannot end another user's job."""
    assert cluster.login.run("cat /etc/munge/munge.key", user="ada").returncode != 0
    assert cluster.login.run("sudo -n true", user="ada").returncode != 0
    job = cluster.login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="ada").strip()
    assert cluster.login.run(f"scancel {job}", user="bob").returncode != 0
    assert cluster.state(job) == "PENDING"
    cluster.login.text(f"scancel {job}", user="ada")


def test_the_machine_s_identity_is_root_s_alone(cluster: Cluster) -> None:
    """On machines booted as recorded the metadata service answers root, and no login shell, job or container."""
    ask = f"curl --silent --max-time 5 http://{METADATA}/metadata/identity/oauth2/token"
    for name in ("controller", "login", *NODES):
        assert "token-of-the-machine" in cluster.site.machines[name].text("sh", "-c", ask)
    shell = cluster.login.run(ask, user="ada")
    assert (shell.returncode, shell.stdout) == (7, "")
    # bash's own connections, which the image has too; slurmctld shows that they are made.
    reach = " ".join(
        f"(exec 3<>/dev/tcp/{address}) 2>/dev/null && echo {name};"
        for name, address in {"slurmctld": f"{CONTROLLER}/6817", "identity": f"{METADATA}/80"}.items()
    )
    for options in ("", "--container-image=/shared/image.sqsh "):
        done = cluster.login.run(f"srun --nodes=4 {options}bash -c '{reach} true'", user="ada")
        assert done.stdout.split() == ["slurmctld"] * 4, done.stderr


def test_a_user_s_job_reads_and_writes_the_bucket_and_reaches_no_credentials(cluster: Cluster, place: Place) -> None:
    """Where nothing mirrors the bucket it is a folder on every node, by an identity that only root can ask for."""
    path = cluster.login.text("echo $CLUSTER_BUCKET_PATH", user="ada").strip()
    if place.cloud == "aws":
        assert path == ""
        return
    bucket = cluster.site.folder / "site" / "bucket"
    (bucket / "dataset").write_text("tokens\n")
    job = f"srun --nodes=4 bash -c 'cat {path}/dataset; echo saved >{path}/$(hostname)'"
    assert cluster.login.text(job, user="ada") == "tokens\n" * 4
    assert {path.name for path in bucket.iterdir()} == {"dataset", *NODES}
    mounted = cluster.login.text("cat", "/etc/enroot/mounts.d/40-bucket.fstab")
    assert mounted.startswith(f"{path} {path} none ")
    assert not any("fuse" in call for call in cluster.calls("controller"))
    for name in ("login", *NODES):
        (call,) = [call for call in cluster.calls(name) if call.startswith(("gcsfuse", "blobfuse2"))]
        if place.cloud == "gcp":
            identity = place.given["small-data-email"]
            assert {f'token {{"access_token": "token-of-{identity}"'} == {
                said.partition(",")[0] for said in cluster.calls(name) if said.startswith("token ")
            }
            ask = "curl --silent --show-error --fail --unix-socket /run/gpu-cluster-data/token http://unix"
        else:
            ask = "cat /etc/gpu-cluster/blobfuse2.yaml"
        assert path in call
        log = "/var/log/gpu-cluster/gpu-cluster-data-token.log"
        answered = cluster.site.machines[name].run("sh", "-c", f"{ask} || cat {log}")
        assert "token-of-" in answered.stdout or "appid: " in answered.stdout, answered
        assert cluster.site.machines[name].run(ask, user="ada").returncode != 0


def test_the_manager_of_gpu_traffic_lives_as_long_as_the_job(cluster: Cluster, place: Place) -> None:
    """On GCP every node starts the release's manager before the job and ends it after; other clouds need none."""
    if place.cloud == "gcp":
        # The tests before this one, whose jobs did the same, may have run on another worker.
        cluster.login.text("srun --nodes=4 true", user="ada")
    started = {name: [call for call in cluster.calls(name) if " run --detach" in call] for name in NODES}
    if place.cloud != "gcp":
        assert not any(started.values())
        return
    for name, calls in started.items():
        # One for each job of several nodes; how many there were depends on the tests before this one.
        assert calls
        for call in calls:
            container = re.search(r"--name (receive-datapath-manager-\d+)", call)
            assert container is not None
            assert "gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.23 --num_hops=2 --num_nics=8" in call
            stopped = f"docker container stop {container[1]}"
            assert until(partial(_has_call, cluster, name, stopped))
        apertures = cluster.site.machines[name].text("ls", "/dev/aperture_devices").split()
        assert len(apertures) == 8


def _has_call(cluster: Cluster, name: str, call: str) -> bool:
    return call in cluster.calls(name)


def _is_without(cluster: Cluster, gone: str) -> bool:
    """Take lost nodes off, as the page of the nodes says, and tell whether four are left.

    For as long as slurmctld asks machines that do not answer any more, it may take no other order in time.
    """
    cluster.controller.run("scontrol", "update", gone, "state=down", "reason=taken away")
    cluster.controller.run("scontrol", "delete", gone)
    return cluster.login.run("sinfo", "--noheader", "--format=%D").stdout.split() == ["4"]


def _is_placed(cluster: Cluster, name: str, asked: str) -> bool:
    """Make a place in slurmctld's table, and say whether it is there; a busy slurmctld answers after scontrol left."""
    cluster.controller.run("scontrol", "create", f"nodename={name}", *asked.split())
    return cluster.controller.run("scontrol", "show", "node", name, "--future").returncode == 0


def _fact(shown: str, key: str) -> str:
    found = re.search(rf"(?:^| ){key}=(\S+)", shown)
    assert found is not None, shown
    return found[1]


def test_growth_to_forty_and_back_keeps_queue_controller_and_jobs(cluster: Cluster, place: Place) -> None:
    """4, 40 and 4 nodes: one launch template, one slurmctld, the held job waits and the user's job goes on training."""
    grown = recorded(Case(cloud=place.cloud, instance=place.instance, nodes=40))
    assert grown.error is None
    files = boot_files(grown.whole.resources, place.given)
    settings = "/etc/gpu-cluster/node.env"
    for role, one in files.items():
        # What the fixture adds for the tests is appended.
        assert cluster.files[role][settings].startswith(one[settings])
        assert one.items() <= {**cluster.files[role], settings: one[settings]}.items()
    control = cluster.controller.text("pgrep", "--oldest", "slurmctld")
    held = cluster.login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="bob").strip()
    before = step(cluster)
    job = submit(cluster)
    assert until(lambda: step(cluster) > before + 1), log_of(cluster, job)

    more = [f"ip-10-40-2-{index}" for index in range(1, 37)]
    # Machines of one cloud all boot. Of the others some do, and the rest have a place in slurmctld's table of nodes.
    booted = more if place.cloud == "aws" else more[:_BOOTED]
    for index, name in enumerate(booted, start=1):
        cluster.boot_up(cluster.start(name, "compute", f"10.40.2.{index}"))
    waiting = more[len(booted) :]
    if waiting:
        shown = cluster.controller.text("scontrol", "show", "node", booted[0], "--oneliner")
        same = {key: _fact(shown, key) for key in ("CPUTot", "RealMemory", "Gres")}
        asked = f"cpus={same['CPUTot']} realmemory={same['RealMemory']} gres={same['Gres']} features=gpu state=future"
        for name in waiting:
            placed = partial(_is_placed, cluster, name, asked)
            assert until(placed, tries=30), cluster.controller.run("tail", "-n30", "/var/log/slurm/slurmctld.log")
        # Future nodes are not shown; resumed ones are in the partition, and take no job while they are down.
        for state in (["state=resume"], ["state=down", "reason=no machine"]):
            cluster.controller.text("scontrol", "update", f"nodename={','.join(waiting)}", *state)
    counted = ["sinfo", "--noheader", "--format=%D %t"]
    # By the processors of this host, the job takes a part of its nodes or all of them.
    states = {f"{len(booted)} idle", *([f"{len(waiting)} down*"] if waiting else [])}
    assert set(cluster.login.text(*counted).splitlines()) in (states | {"4 mix"}, states | {"4 alloc"})
    assert cluster.state(held) == "PENDING"
    ran = cluster.login.text(f"srun --nodes={len(booted)} --nodelist={','.join(booted)} hostname", user="bob").split()
    assert sorted(ran) == sorted(booted)

    for name in booted:
        cluster.site.machines.pop(name).end()
    gone = f"nodename={','.join(more)}"
    assert until(partial(_is_without, cluster, gone), tries=60), cluster.login.run(*counted)
    assert cluster.controller.text("pgrep", "--oldest", "slurmctld") == control
    assert cluster.state(held) == "PENDING"
    shrunk = step(cluster)
    assert until(lambda: step(cluster) > shrunk), log_of(cluster, job)
    shown = cluster.controller.text("scontrol", "show", "job", job, "--oneliner")
    assert "JobState=RUNNING" in shown
    assert "Restarts=0" in shown
    cluster.login.text(f"scancel {held}", user="bob")
    finish(cluster, job)
    accounted = ("sacct", "-X", "-n", "-P", "-j", job, "-o", "State")
    assert until(lambda: cluster.login.run(*accounted).stdout.startswith("COMPLETED"))


def test_a_restarted_controller_keeps_the_queue(cluster: Cluster) -> None:
    """The controller's daemon ended and booted again: the held job is still there, and the nodes come back."""
    job = cluster.login.text("sbatch --parsable --hold --output=/dev/null --wrap=true", user="ada").strip()
    cluster.controller.text("pkill", "slurmctld")
    assert until(lambda: cluster.controller.run("pgrep", "slurmctld").returncode == 1)
    cluster.boot_up(cluster.controller)
    assert cluster.state(job) == "PENDING"
    cluster.login.text(f"scancel {job}", user="ada")
    idle = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
    assert until(lambda: cluster.login.run(*idle).stdout.strip() == "4")


def test_a_lost_node_s_job_starts_again_from_its_checkpoint(cluster: Cluster) -> None:
    """A node's machine vanishes; another one joins under its own name, and the same job goes on where it saved."""
    job = submit(cluster, "ada", "--no-node-check")
    before = step(cluster)
    assert until(lambda: step(cluster) > before + 1), log_of(cluster, job)
    lost = cluster.site.machines.pop(NODES[3])
    lost.end()
    cluster.controller.text("scontrol", "update", f"nodename={NODES[3]}", "state=down", "reason=taken away")
    saved = step(cluster)
    assert until(lambda: cluster.state(job) == "PENDING")
    cluster.boot_up(cluster.start("ip-10-40-1-9", "compute", "10.40.1.9"))
    # Slurm waits two minutes, the life of a credential, before it starts a job again; it takes no change of one whose
    # number in the accounting database is just being set.
    at_once = ["scontrol", "update", f"jobid={job}", "starttime=now"]
    assert until(lambda: cluster.controller.run(*at_once).returncode == 0)
    history = cluster.shared("checkpoints/small/history")
    again = f"{job}.1 starts at step "
    assert until(lambda: again in history.read_text()), log_of(cluster, job)
    started = next(line for line in history.read_text().splitlines() if line.startswith(again))
    assert int(started.rpartition(" ")[2]) >= saved
    finish(cluster, job)
    # On a busy machine the accounting daemon was once seen without its database for a moment.
    ran = ["sacct", "-X", "-n", "-P", "-j", job, "-o", "State,NodeList"]
    assert until(lambda: "ip-10-40-1-[1-3,9]" in cluster.login.run(*ran).stdout)


def test_nothing_of_this_host_is_changed(cluster: Cluster) -> None:
    """Machines write into memory: this host has no shared folder, users or programs of the cluster."""
    assert cluster.site.machines
    for path in ("/shared", "/scratch", "/opt/gpu-cluster", "/usr/local/lib/slurm/spank_pyxis.so"):
        assert not os.path.lexists(path)
