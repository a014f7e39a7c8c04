"""What nodes prepare for jobs, script by script: sources, refusals, users' folders, the manager of GPU traffic."""

import csv
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
GOOD = {
    "CLOUD": "gcp",
    "ROLE": "compute",
    "NAME": "trial",
    "PARTITION": "gpu",
    "CONTROLLER_ADDRESS": "10.0.0.1",
    "SECRET_ID": "key",
    "NODE_COUNT": "4",
    "GPUS_PER_NODE": "8",
    "GPU_TYPE": "h100",
    "FABRIC": "none",
    "WAIT_S": "0",
    "TRANSPORT_WAIT_S": "0",
}
#: What the scripts call, and write down what they are called with.
LOGGED = ("apt-get", "docker", "scontrol", "setcap", "apparmor_parser", "git")
DONE = subprocess.CompletedProcess[str]


@pytest.fixture
def node(tmp_path: Path, require_engine: Callable[..., None]) -> Callable[..., tuple[DONE, list[str]]]:
    """Return a function that runs a script on a machine of its own /etc, /var, /run and /scratch: result and calls."""
    require_engine("unshare")
    require_engine(working=os.geteuid() == 0, reason="needs root for private folders")
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    for name in LOGGED:
        (programs / name).write_text(f'#!/bin/bash\necho "{name} $*" >>{log}\n')
    with (programs / "docker").open("a") as docker:
        docker.write('[ "$1" != login ] || cat >/dev/null\n')
    (programs / "uname").write_text("#!/bin/sh\necho 6.8.0-1026-gcp\n")
    (programs / "curl").write_text('#!/bin/bash\nprintf \'{"access_token": "t"}\\n200\'\n')
    (programs / "modprobe").write_text("#!/bin/sh\nexit 1\n")

    def run(script: str, *words: str, before: str = "", after: str = "", **changes: str) -> tuple[DONE, list[str]]:
        for program in programs.iterdir():
            program.chmod(0o755)
        env = tmp_path / "node.env"
        variables = GOOD | {"SCRATCH_PATH": str(tmp_path / "scratch")} | changes
        env.write_text("".join(f"CLUSTER_{name}='{value}'\n" for name, value in variables.items()))
        private = (
            "mount -t tmpfs tmpfs /mnt; for folder in etc usr/local; do mkdir -p /mnt/$folder/{upper,work}; "
            "mount -t overlay overlay "
            '-o "lowerdir=/$folder,upperdir=/mnt/$folder/upper,workdir=/mnt/$folder/work" "/$folder"; done; '
            'for folder in /run /var/lib; do mount -t tmpfs tmpfs "$folder"; done'
        )
        line = (
            f"{private}; mount --bind {programs} /usr/local/sbin\n{before}\n"
            f"bash {NODE_SCRIPTS}/{script} {' '.join(words)}; status=$?\n{after}\nexit $status"
        )
        # Slurm's scripts set their own search path, in which /usr/local/sbin is the first.
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-c", line],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                "PATH": f"/usr/local/sbin:{os.environ['PATH']}",
                "CLUSTER_NODE_ENV": str(env),
                "SLURM_JOB_ID": "7",
                "SLURM_JOB_UID": "65534",
                "SLURM_JOB_NUM_NODES": changes.get("JOB_NODES", "4"),
            },
        )
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return done, calls

    return run


def test_every_software_has_a_release_and_what_pins_it() -> None:
    """Sources name a commit, images a tag with the version, the archive a fingerprint; each with its date."""
    rows = list(csv.DictReader((NODE_SCRIPTS / "software.csv").read_text().splitlines()))
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", row["date"])
        if row["source"].endswith(".git"):
            assert re.fullmatch(r"[0-9a-f]{40}", row["reference"])
        elif row["name"] == "ubuntu-archive":
            # Machines have the distribution's own key.
            assert row["reference"] == ""
        elif row["source"].startswith("https://"):
            assert re.fullmatch(r"[0-9A-F]{40}", row["reference"])
        else:
            assert row["reference"].startswith(f"v{row['version']}")
        assert "," not in "".join(value or "" for value in row.values())


def test_sources_that_cannot_be_fetched_are_named(node: Callable[..., tuple[DONE, list[str]]]) -> None:
    """Without a way to the source the machine says which one it needs and where a mirror is named."""
    before = "printf '#!/bin/sh\\n[ \"$1\" = init ]\\n' >/usr/local/sbin/git"
    done, _ = node("job_environment.sh", before=before)
    assert done.returncode == 1
    assert "enroot 4.1.2 cannot be fetched from https://github.com/NVIDIA/enroot.git" in done.stderr
    assert "node/software.csv" in done.stderr


def test_a_package_store_that_others_could_write_to_is_refused(node: Callable[..., tuple[DONE, list[str]]]) -> None:
    """What every machine unpacks as root may not come from a folder of somebody else."""
    before = "mkdir -p /var/lib/gpu-cluster && chmod 0777 /var/lib/gpu-cluster"
    done, _ = node("job_environment.sh", before=before)
    assert done.returncode == 3
    assert "/var/lib/gpu-cluster has to belong to root" in done.stderr


@pytest.mark.parametrize(("kind", "package"), [("venv", "python3-venv"), ("modules", "lmod")])
def test_other_environments_need_a_package_alone(
    node: Callable[..., tuple[DONE, list[str]]], kind: str, package: str
) -> None:
    """Virtual environments and modules bring neither a compiler nor Enroot."""
    done, calls = node("job_environment.sh", JOB_ENVIRONMENT=kind)
    assert done.returncode == 0, done.stderr
    assert [call for call in calls if not call.startswith("apt-get")] == []
    assert {call.rpartition(" ")[2] for call in calls if " install " in call} <= {package}


def test_the_prolog_makes_the_user_s_own_folders(node: Callable[..., tuple[DONE, list[str]]], tmp_path: Path) -> None:
    """Before a job its user has a folder for running containers and one for images, closed to all others."""
    (tmp_path / "scratch").mkdir()
    after = f"stat --format='%u %a' /run/enroot/user-65534 {tmp_path}/scratch/enroot/user-65534"
    done, calls = node("prolog.sh", after=after)
    assert done.stdout.split("\n")[:-1] == ["65534 700", "65534 700"], done.stderr
    assert calls == []


@pytest.mark.parametrize(
    ("fabric", "image", "word"),
    [
        ("tcpx", "gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12", "--uds_path /run/tcpx-7"),
        ("tcpxo", "gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.23", "--num_hops=2 --num_nics=8"),
    ],
)
def test_a_manager_that_is_never_ready_drains_the_node(
    node: Callable[..., tuple[DONE, list[str]]], fabric: str, image: str, word: str
) -> None:
    """The prolog starts the release's manager with its options; if that is not ready, the node says so and drains."""
    done, calls = node("prolog.sh", FABRIC=fabric, FABRIC_INTERFACES="4")
    assert done.returncode == 1
    started = next(call for call in calls if " run --detach" in call)
    assert image in started
    assert started.endswith(word)
    reason = f"reason=prolog: the data path manager of {fabric} is not ready"
    assert [call.partition(" state=drain ")[2] for call in calls if "state=drain" in call] == [reason]


def test_a_ready_manager_lets_the_job_start_and_ends_with_it(node: Callable[..., tuple[DONE, list[str]]]) -> None:
    """A socket of the job's own shows that the manager is ready; the epilog stops it and removes the sockets."""
    listen = (
        "mkdir -p /run/tcpx-7 && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/run/tcpx-7/gpu0\")'"
    )
    done, calls = node("prolog.sh", FABRIC="tcpx", FABRIC_INTERFACES="4", before=listen)
    assert done.returncode == 0, done.stderr
    assert not any("drain" in call for call in calls)
    done, calls = node("epilog.sh", FABRIC="tcpx", FABRIC_INTERFACES="4", before=listen, after="ls /run")
    assert calls == ["docker container stop receive-datapath-manager-7"]
    assert "tcpx-7" not in done.stdout
    alone, calls = node("prolog.sh", FABRIC="tcpx", FABRIC_INTERFACES="4", JOB_NODES="1")
    assert alone.returncode == 0, alone.stderr
    assert calls == []


@pytest.mark.parametrize(
    ("fabric", "missing"),
    [("tcpx", "the kernel 6.8.0-1026-gcp is not linux-gcp-tcpx"), ("tcpxo", "lacks the kernel module import-helper")],
)
def test_an_image_without_its_kernel_s_part_is_refused_at_boot(
    node: Callable[..., tuple[DONE, list[str]]], fabric: str, missing: str
) -> None:
    """A node whose image cannot drive the GPU network says what the image has to hold, and does not join."""
    done, calls = node("transport_gcp.sh", "setup", FABRIC=fabric, FABRIC_INTERFACES="4")
    assert done.returncode == 3
    assert missing in done.stderr
    assert "nodeType.image" in done.stderr
    assert calls == []


def test_gib_is_installed_once_and_mounted_into_containers(node: Callable[..., tuple[DONE, list[str]]]) -> None:
    """The RoCE plugin comes from its release's image; at the next boot nothing is fetched again."""
    twice = f"bash {NODE_SCRIPTS}/transport_gcp.sh setup; cat /etc/enroot/mounts.d/*"
    done, calls = node("transport_gcp.sh", "setup", FABRIC="roce", FABRIC_INTERFACES="8", after=twice)
    assert done.returncode == 0, done.stderr
    image = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.0"
    ran = f"docker run --rm --network=host --volume /usr/local/gib:/var/lib/gib {image} install --install-nccl"
    assert [call for call in calls if " run " in call] == [ran]
    assert done.stdout.splitlines()[-1] == "/usr/local/gib /usr/local/gib none x-create=auto,rbind,nofail,silent"
