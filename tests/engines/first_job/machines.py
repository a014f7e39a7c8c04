"""Machines made of namespaces: each with its own files, devices, processes and network, on one bridge."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: Where the clouds' metadata services answer.
METADATA = "169.254.169.254"
#: Ethernet address of the bridge, locally administered.
_BRIDGE = "02:00:00:00:00:01"
SPACES = ("--mount", "--uts", "--net", "--pid")
#: Control groups, of version 1, of a machine whose daemons confine jobs.
CONFINED = ("devices", "freezer", "memory", "cpuacct", "cpuset")
_GROUPS = Path("/sys/fs/cgroup")
#: As systemd has it for services.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A set of namespaces with their first process."""

    name: str
    address: str
    holder: subprocess.Popen[str]
    pid: int

    def run(
        self, *command: str, user: str = "", timeout_s: float = 300, folder: str = "/"
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside the machine, as root or in a login shell of a user."""
        words = ["runuser", "--login", user, "--command", command[0]] if user else list(command)
        return subprocess.run(
            [
                "nsenter",
                f"--target={self.pid}",
                *SPACES,
                "--",
                "env",
                "-i",
                f"--chdir={folder}",
                f"PATH={PATH}",
                *words,
            ],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def text(self, *command: str, user: str = "") -> str:
        """Return what a command prints.

        Raises:
            AssertionError: it failed.
        """
        done = self.run(*command, user=user)
        assert done.returncode == 0, f"{self.name}: {command}: {done.stderr}"
        return done.stdout

    def end(self) -> None:
        """Take the machine away, with everything that runs in it, as a cloud takes an instance."""
        self.holder.kill()
        self.holder.communicate(timeout=120)


def namespaces_work() -> bool:
    """Tell whether this user may make machines, and containers of an ordinary user in them."""
    command = ["unshare", *SPACES, "--fork", "ip", "link", "add", "br0", "type", "bridge"]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return False
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "--user", "--mount", "true"]
    return subprocess.run(nobody, capture_output=True, check=False).returncode == 0


#: Makes namespaces and forgets them; util-linux has no command for it.
_GIVE_NUMBERS_AWAY = """
import ctypes
system = ctypes.CDLL(None, use_errno=True)
for _ in range(1024):
    # CLONE_NEWUTS, the cheapest: all kinds are numbered together.
    if system.unshare(0x04000000):
        raise OSError(ctypes.get_errno(), "unshare")
"""
#: As many rounds of those as pass several batches of 4,096 numbers.
_ROUNDS = 32


def _let_hold_namespaces(pid: int) -> None:
    """Have the files of a machine hold namespaces that are made later on any processor, until the machine ends.

    Linux 6.18 numbers namespaces by batches of each processor, and mounts a namespace only in one with a lower number
    (EINVAL). slurmd keeps the folders of its jobs so. On a real node it runs in the first namespace of all; here a
    processor may still give numbers of a batch before that of the machine. Each processor's numbers only grow, so it is
    made to give them away until it has passed the machine's.

    Raises:
        AssertionError: a processor does not pass it.
    """
    for processor in sorted(os.sched_getaffinity(0)):
        on_it = ("taskset", "--cpu-list", str(processor))
        held = "touch /run/held && {} unshare --mount=/run/held true && umount /run/held"
        look = ["nsenter", f"--target={pid}", *SPACES, "sh", "-c", held.format(" ".join(on_it))]
        for _ in range(_ROUNDS):
            looked = subprocess.run(look, capture_output=True, text=True, check=False)
            if looked.returncode == 0:
                break
            subprocess.run([*on_it, sys.executable, "-c", _GIVE_NUMBERS_AWAY], check=True)
        else:
            raise AssertionError(f"no namespace of processor {processor} can be mounted: {looked.stderr}")


def _own_groups() -> str:
    """Return how the names of this process's control groups start: another run on this host has its own."""
    return f"first-job-{os.getpid()}-"


def cgroups_work() -> bool:
    """Tell whether this host has the control groups that Slurm confines jobs with, and lets this user make some."""
    return all(os.access(_GROUPS / name / "tasks", os.W_OK) for name in CONFINED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A folder with what all machines have, and the machines by name.

    Attributes:
        folder: with `shared/`, `site/` (stand-ins, secrets, calls) and a folder of files for each machine.
        hosts: names to addresses.
        machines: by name; the first one has the bridge.
    """

    folder: Path
    hosts: Mapping[str, str]
    machines: dict[str, Machine]

    def start(
        self,
        name: str,
        address: str,
        files: Mapping[str, str],
        devices: Sequence[str] = (),
        *,
        confined: bool = False,
    ) -> Machine:
        """Start a machine with files laid over this host's, and join it to the others; scripts are executable.

        Args:
            name: of the machine.
            address: of it.
            files: text by path.
            devices: its GPUs' files.
            confined: with control groups of its own, as Slurm makes them.
        """
        own = self.folder / name
        # Of a machine that was taken away.
        shutil.rmtree(own, ignore_errors=True)
        laid = own / "files"
        shutil.copytree(self.folder / "files", laid, symlinks=True)
        for path, text in files.items():
            target = laid / path.removeprefix("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(0o755 if path.endswith(".sh") else 0o644)
        hosts = {"localhost": "127.0.0.1", name: address, **self.hosts}
        (laid / "etc" / "hosts").write_text("".join(f"{where} {host}\n" for host, where in hosts.items()))
        for shared in ("shared", "site"):
            (own / shared).symlink_to(self.folder / shared)
        holder = subprocess.Popen(
            [
                *("unshare", *SPACES, "--fork", "--kill-child"),
                *("bash", str(HERE / "machine.sh"), name, str(own), *devices),
            ],
            env={
                **os.environ,
                "CONTROL_GROUPS": " ".join(CONFINED) if confined else "",
                "CONTROL_GROUP": f"{_own_groups()}{name}",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != "ready\n":
            raise AssertionError(holder.stderr.read())
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        machine = Machine(name=name, address=address, holder=holder, pid=int(children[0]))
        shutil.rmtree(laid)
        _let_hold_namespaces(machine.pid)
        self._connect(machine)
        self.machines[name] = machine
        return machine

    def _connect(self, machine: Machine) -> None:
        """Join a machine to the bridge in the first one's network; this host's network is not touched."""
        first = next(iter(self.machines.values()), machine)
        in_first = ["nsenter", f"--target={first.pid}", "--net", "ip"]
        device = "eth0"
        if first is machine:
            device = "br0"
            # Without an address of its own a bridge takes the least of its ports', and those who asked before lose it.
            subprocess.run([*in_first, "link", "add", "br0", "address", _BRIDGE, "type", "bridge"], check=True)
        else:
            port = f"v{machine.pid}"
            peer = ["type", "veth", "peer", "name", "eth0", "netns", str(machine.pid)]
            subprocess.run([*in_first, "link", "add", port, *peer], check=True)
            subprocess.run([*in_first, "link", "set", port, "master", "br0", "up"], check=True)
        own = ["nsenter", f"--target={machine.pid}", "--net", "ip"]
        subprocess.run([*own, "address", "add", f"{machine.address}/16", "dev", device], check=True)
        subprocess.run([*own, "link", "set", device, "up"], check=True)
        subprocess.run([*own, "route", "add", METADATA, "dev", device], check=True)

    def end(self) -> None:
        """Take all machines away."""
        for machine in self.machines.values():
            machine.holder.kill()
        for machine in self.machines.values():
            machine.holder.communicate(timeout=120)
        for name in CONFINED:
            for group in (*_GROUPS.glob(f"{name}/{_own_groups()}*"), _GROUPS / name / "slurm"):
                for inner, _, _ in os.walk(group, topdown=False):
                    Path(inner).rmdir()
