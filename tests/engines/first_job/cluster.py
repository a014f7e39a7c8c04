"""A cluster as a cloud brings it up: boot data as the Pulumi program recorded it, on machines made of namespaces.

Real: munge, slurmctld, slurmd, slurmdbd, MariaDB, the generated scripts, the container runtime (crun). Stand-ins: the
cloud's command and services, the package manager, Docker, Lustre's mount, and Enroot and Pyxis, which are in no package
registry.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from .machines import HERE, METADATA, Machine, Site

GPUS = tuple(f"nvidia{index}" for index in range(8))
SERVICES, CONTROLLER, LOGIN = "10.40.0.2", "10.40.0.4", "10.40.0.5"
NODES = [f"ip-10-40-1-{index}" for index in range(1, 5)]
#: An administrator and two users; numbers are those of the whole cluster.
USERS = "group research 4000\nuser ada 4001 no research\nuser bob 4002 no\nuser root-of-all 4003 yes\n"
#: Signs that slurmdbd.conf would read as something else.
PASSWORD = "p#ss\\w=rd 'x'"  # noqa: S105 - of a server that lives as long as the test
#: What is set for the tests alone: no cgroups in namespaces, a device tree of files, and less patience.
_FOR_TESTS = "CLUSTER_CONFINEMENT='none'\nCLUSTER_SYSFS='/srv/sysfs'\nCLUSTER_WAIT_S='90'\n"


def sign(folder: Path, names: list[str]) -> None:
    """Make a certificate authority, `ca.pem`, and a certificate for names, `server.pem` and `server.key`."""
    folder.mkdir(parents=True)
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    alternative = ",".join(f"DNS:{name}" for name in names)
    for command in (
        [*make, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=trial authority"],
        [
            *(*make, "-keyout", "server.key", "-out", "server.pem", "-subj", "/CN=services", "-CA", "ca.pem"),
            *("-CAkey", "ca.key", "-addext", f"subjectAltName={alternative}"),
        ],
    ):
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
    for file in folder.iterdir():
        file.chmod(0o644)


def make_image(path: Path, folder: Path) -> None:
    """Make the image of the stub framework from this host's bash and busybox: a squash file, as Enroot's images are."""
    root = folder / "image"
    for part in ("usr/bin", "usr/local/bin", "etc", "proc", "sys", "dev", "tmp", "shared"):
        (root / part).mkdir(parents=True)
    for link in ("bin", "lib", "lib64"):
        (root / "usr" / link).mkdir(exist_ok=True)
        (root / link).symlink_to(f"usr/{link}")
    bash = shutil.which("bash")
    busybox = shutil.which("busybox")
    assert bash is not None
    assert busybox is not None
    for program in (bash, busybox):
        shutil.copy(program, root / "usr" / "bin")
    libraries = subprocess.run(["ldd", bash], capture_output=True, text=True, check=True).stdout
    for word in libraries.split():
        if word.startswith("/"):
            target = root / word.removeprefix("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, target)
    for applet in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if not (root / "usr" / "bin" / applet).exists():
            (root / "usr" / "bin" / applet).symlink_to("busybox")
    for program in ("torchrun", "nvidia-smi"):
        shutil.copy(HERE / "image" / program, root / "usr" / "local" / "bin")
    # Asked which packages it has, the image's Python says that it has all.
    python = root / "usr" / "local" / "bin" / "python3"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (root / "etc" / "image").write_text("stub framework\n")
    (root / "etc" / "passwd").write_text("ada:x:4001:4001::/:/bin/bash\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mksquashfs", root, path, "-quiet", "-no-progress", "-noappend"], check=True, capture_output=True)
    path.chmod(0o644)


def make_site(folder: Path, hosts: Mapping[str, str], fabric: Mapping[str, str], secrets: Mapping[str, str]) -> Site:
    """Make what all machines have: stand-ins, the services' certificate, secrets, and the shared file system."""
    shared, site, files = folder / "shared", folder / "site", folder / "files"
    for one in (shared, site / "calls", site / "secrets", site / "bucket"):
        one.mkdir(parents=True)
    # What stands for the bucket, too, takes every user's files; it is no part of the shared file system, which is new.
    for one in (site / "calls", site / "bucket"):
        one.chmod(0o1777)
    sign(site / "tls", [name for name, address in hosts.items() if address == SERVICES])
    shutil.copytree(HERE / "sources", site / "sources")
    shutil.copy(HERE / "cloud.py", site)
    for name, value in secrets.items():
        (site / "secrets" / name).write_text(value)
    programs = files / "usr" / "local" / "sbin"
    shutil.copytree(HERE / "programs", programs)
    certificates = files / "etc" / "ssl" / "certs" / "ca-certificates.crt"
    certificates.parent.mkdir(parents=True)
    known = Path("/etc/ssl/certs/ca-certificates.crt")
    certificates.write_text((known.read_text() if known.exists() else "") + (site / "tls" / "ca.pem").read_text())
    for path, value in fabric.items():
        target = files / "srv" / "sysfs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if value.startswith("-> "):
            target.symlink_to(value.removeprefix("-> "))
        else:
            target.write_text(f"{value}\n")
    return Site(folder=folder, hosts=hosts, machines={})


def start_services(site: Site, database: str) -> Machine:
    """Start the machine of what the cloud runs: metadata and secrets, and a database that takes TLS alone."""
    machine = site.start("services", SERVICES, {})
    network = ["nsenter", f"--target={machine.pid}", "--net", "ip", "address", "add", f"{METADATA}/32", "dev", "br0"]
    subprocess.run(network, check=True)
    quoted = PASSWORD.replace("\\", "\\\\").replace("'", "''")
    machine.text(
        "bash",
        "-c",
        f"""
set -e
python3 /srv/site/cloud.py /srv/site >/var/log/cloud.log 2>&1 </dev/null &
mariadb-install-db --user=mysql --datadir=/var/trial-db --skip-test-db >/dev/null
mkdir -p /run/mysqld && chown mysql /run/mysqld
cat >/var/trial.sql <<'SQL'
CREATE USER 'slurm'@'%' IDENTIFIED BY '{quoted}';
GRANT ALL ON slurm_accounting.* TO 'slurm'@'%';
SQL
setsid mariadbd --no-defaults --user=mysql --datadir=/var/trial-db --socket=/run/mysqld/trial.sock \\
    --bind-address={SERVICES} --init-file=/var/trial.sql --require-secure-transport=ON \\
    --ssl-cert=/srv/site/tls/server.pem --ssl-key=/srv/site/tls/server.key >/var/trial-db.log 2>&1 </dev/null &
for _ in $(seq 300); do
    if (exec 3<>/dev/tcp/{SERVICES}/3306 4<>/dev/tcp/{SERVICES}/443) 2>/dev/null; then exit 0; fi
    sleep 0.1
done
cat /var/trial-db.log /var/log/cloud.log >&2
exit 1
""",
    )
    assert database in site.hosts
    return machine


def secret_file(name: str) -> str:
    """Return the file that the stand-ins keep a secret in; Azure's are named by the path of their URL."""
    path = name.split("/", 3)[3] if name.startswith("https://") else name
    # AWS's stand-in is a shell script, which replaces the slash alone.
    return path.replace("/", "%2F") if path.startswith("arn:") else quote(path, safe="")


def until(done: Callable[[], bool], *, tries: int = 3000) -> bool:
    """Ask again and again, five minutes long where the answer takes no time, and tell whether it became yes.

    A machine on which other tests run takes several times as long; nobody waits longer than the answer takes.
    """
    for _ in range(tries):
        if done():
            return True
        time.sleep(0.1)
    return False


@dataclass(kw_only=True)
class Cluster:
    """A cluster that is up, seen by its users.

    Attributes:
        site: its machines.
        files: boot data by role: path to text.
        boot: the program that the boot data names.
    """

    site: Site
    files: Mapping[str, Mapping[str, str]]
    boot: str

    def start(self, name: str, role: str, address: str) -> Machine:
        """Start a machine in a role, without booting it."""
        files = dict(self.files[role])
        environment = files["/etc/gpu-cluster/node.env"] + _FOR_TESTS
        files["/etc/gpu-cluster/node.env"] = environment
        return self.site.start(name, address, files, GPUS if role == "compute" else ())

    def boot_up(self, machine: Machine) -> None:
        """Run what the boot data names, as cloud-init does."""
        done = machine.run("sh", "-c", f"exec {self.boot}")
        assert done.returncode == 0, f"{machine.name}: {done.stderr[-3000:]}"

    @cached_property
    def controller(self) -> Machine:
        """Return the controller."""
        return self.site.machines["controller"]

    @cached_property
    def login(self) -> Machine:
        """Return the login machine."""
        return self.site.machines["login"]

    def calls(self, name: str) -> list[str]:
        """Return what the stand-ins on a machine were asked for."""
        path = self.site.folder / "site" / "calls" / name
        return path.read_text().splitlines() if path.exists() else []

    def state(self, job: str) -> str:
        """Return a job's state in the queue, empty once it has left."""
        return self.controller.run("squeue", "-h", "-j", job, "-o", "%T").stdout.strip()

    def shared(self, path: str) -> Path:
        """Return a path of the shared file system, as this host sees it."""
        return self.site.folder / "shared" / path
