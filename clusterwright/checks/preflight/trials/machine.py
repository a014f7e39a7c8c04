"""A folder that stands for a machine: scripts run in it, with stand-ins for what would change a machine or ask a cloud.

Paths of a machine in the scripts are those of the folder, programs are found nowhere else, and a program that nobody
knows does nothing. What a script did is read afterwards: the calls that it made, and the files that it left. A script
may be anything: the kernel keeps it to the folder (`confinement`), it is ended after its time with all that it started,
and of what it says and leaves no more is read than a limit. Where the kernel cannot, nothing is run.
"""

import contextlib
import io
import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.checks.preflight.trials import confinement

STAND_IN = Path(__file__).with_name("stand_in.sh")
_CONFINEMENT = Path(confinement.__file__)
#: Why nothing was run.
NOT_HERE = "it takes bash, Python and a Linux of 6.2 or newer with Landlock, which keeps scripts to a folder"
#: Where programs of the system are: those of a home folder are not shown to a trial.
_SYSTEM = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin"
#: Run as they are: they read, compute and print.
_REAL = (
    "bash", "sh", "env", "cat", "sed", "tr", "grep", "egrep", "fgrep", "head", "tail", "cut", "sort", "uniq", "wc",
    "cksum", "awk", "gawk", "mawk", "dirname", "basename", "printf", "true", "false", "test", "mktemp", "ls", "date",
    "xargs", "seq", "expr", "cmp", "diff", "base64", "readlink", "realpath", "paste", "comm", "od", "yes", "rev", "tac",
    "nl", "fold", "column", "split", "getconf", "echo",
)  # fmt: skip
#: Real ones that stay within the folder, and stand-ins of the same name for what they would do elsewhere.
_CONFINED = (
    "cp", "mv", "rm", "mkdir", "rmdir", "chmod", "ln", "touch", "tee", "truncate", "dd", "install", "stat", "sleep",
    "find",
)  # fmt: skip
#: Answer, or write down that they were called.
_PRETENDED = (
    "id", "flock", "hostname", "uname", "nproc", "getent", "setpriv", "timeout", "nice", "ionice", "stdbuf", "sudo",
    "runuser", "nohup", "setsid", "dpkg", "dpkg-query", "apt-get", "apt", "aptitude", "apt-cache", "snap", "aws", "az",
    "gcloud", "curl", "wget", "gpg", "gpgv", "git", "gcc", "cc", "tar", "lsblk", "blkid", "file", "mount", "umount",
    "mountpoint", "findmnt", "nft", "iptables", "docker", "podman", "ctr", "modinfo", "modprobe", "rmmod", "insmod",
    "nvidia-smi", "slurmctld", "slurmd", "slurmdbd", "sinfo", "squeue", "sacctmgr", "scontrol", "scancel", "sbatch",
    "srun", "munge", "unmunge", "munged", "systemctl", "chown", "chgrp", "sha256sum", "sha512sum", "useradd",
    "usermod", "userdel", "groupadd", "groupmod", "passwd", "chpasswd", "pkill", "sysctl", "mdadm", "mkfs",
    "mkfs.xfs", "mkfs.ext4", "mkswap",
    "wipefs", "parted", "sgdisk", "pvcreate", "vgcreate", "lvcreate", "cryptsetup", "make", "setcap", "apparmor_parser",
    "ldconfig", "udevadm", "update-ca-certificates", "python3", "python", "pip", "pip3", "torchrun", "vllm",
    "trtllm-serve", "accelerate", "tune", "deepspeed", "mpirun", "ssh", "ssh-keygen", "openssl", "logger", "swapoff",
    "ethtool", "ip", "ifconfig", "depmod", "reboot", "shutdown", "jq", "nvidia-persistenced", "nvidia-container-cli",
)  # fmt: skip
#: Absolute paths of a machine; device files that every process has are the real ones.
_PATH = re.compile(
    r"(?:(?<![\w./:$}*%\])^])(?<![\w})][\"'])|(?<=:)(?=/(?:usr|s?bin|snap|opt|etc|var|run|lib|tmp|home|root)\b))"
    r"/(?=[A-Za-z])(?!dev/(?:null|stdin|stdout|stderr|fd|tty|zero|u?random)\b)"
)
#: What the shell does in the place of a program that it does not find.
_UNKNOWN = """() { printf '%s\\0' "$@" >"$CALLS/${EPOCHREALTIME:-$SECONDS}-$BASHPID"; }"""
#: Of one file, of what is said, and of all files together; calls beyond a number are not read.
_FILE_BYTES, _SAID_BYTES, _ALL_BYTES = 5_000_000, 1_000_000, 50_000_000
_CALLS = 20_000
#: After a script has ended, what it started may still say something.
_GRACE_S = 0.5
#: Of ending what was started: between two of them a process may have started another.
_ROUNDS = 20
_FIRST_START_S = 30
_NOBODY = 65534


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of a stand-in: name of the program, and its arguments with the paths of the machine."""

    program: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        """Return the call as a line."""
        return " ".join((self.program, *self.arguments))


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A file of the machine: permission bits, and its content with the paths of the machine."""

    mode: int
    content: str


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a script did.

    Attributes:
        status: its exit status, None where it did not end in time.
        calls: of stand-ins, in order.
        files: path to what it left there.
        folders: path to the permission bits of every folder.
        said: on standard output and standard error.
        environments: of programs of a job, in the order of their start.
    """

    status: int | None
    calls: tuple[Call, ...]
    files: Mapping[str, Written]
    said: str
    folders: Mapping[str, int] = field(default_factory=dict)
    environments: tuple[Mapping[str, str], ...] = ()

    def of(self, *programs: str) -> tuple[Call, ...]:
        """Return the calls of some programs."""
        return tuple(call for call in self.calls if call.program in programs)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine before a script runs.

    Attributes:
        files: absolute path to content, of scripts and of what the machine has already.
        folders: that are there; links: path to what it leads to.
        answers: name to content, of what stand-ins answer with.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, command: Sequence[str], *, environment: Mapping[str, str], timeout_s: float, faults: str = ""
    ) -> Ran | None:
        """Run a command in a copy of the machine; None where nothing confines it (`NOT_HERE`).

        Args:
            command: first a script, by its path on the machine.
            environment: of the script; a value that is a path is one of the machine.
            timeout_s: after which it is ended.
            faults: words for the stand-ins.
        """
        bash, python = shutil.which("bash", path=_SYSTEM), _python()
        if bash is None or python is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            root, answers, programs = Path(folder) / "root", Path(folder) / "answers", Path(folder) / "real"
            for each in (root, answers, programs):
                each.mkdir()
            self._fill(root, answers)
            _give_programs(root, programs, bash)
            before = {path for path, _ in _files(root)}
            given = {name: _there(value, root) for name, value in environment.items()}
            given |= {
                "PATH": str(root / "usr" / "bin"), "HOME": str(root / "root"), "TMPDIR": str(root / "tmp"), "LANG": "C",
                "ROOT": str(root), "CALLS": str(answers / "calls"), "ANSWERS": str(answers), "FAULTS": faults,
                "REAL": str(programs), "PYTHON": python,
                # A program that nobody knows does nothing, and is written down.
                "BASH_FUNC_command_not_found_handle%%": _UNKNOWN,
            }  # fmt: skip
            _own(Path(folder))
            line = _confined(
                python, Path(folder), [bash, "--norc", "--noprofile", *(_there(word, root) for word in command)]
            )
            status, said = _watched(line, given, root, timeout_s)
            calls = tuple(_calls(answers / "calls", root))
            return Ran(
                status=status,
                calls=calls,
                files={
                    path: Written(mode=mode, content=_here(content, root))
                    for path, mode, content in _left(root, before, self.files)
                },
                said=_here(said, root),
                folders={
                    f"/{Path(path).relative_to(root)}": stat.S_IMODE(Path(path).stat().st_mode)
                    for path, _, _ in os.walk(root)
                },
                environments=tuple(_environments(answers, root)),
            )

    def _fill(self, root: Path, answers: Path) -> None:
        for path in ("etc/skel", "tmp", "root", "usr/bin", "run/systemd/system", "var/lib", *self.folders):
            (root / path.strip("/")).mkdir(parents=True, exist_ok=True)
        for path, content in self.files.items():
            place = root / path.strip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_there(content, root))
            place.chmod(0o755)
        for path, target in self.links.items():
            place = root / path.strip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        for name, content in self.answers.items():
            (answers / name).write_text(content)
        for name in ("installed", "mounted"):
            (answers / name).touch()
        (answers / "calls").mkdir()


@cache
def _python() -> str | None:
    """Return an interpreter with which a program can be confined by whoever runs the script.

    Root's own may lie where nobody else looks.
    """
    for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError, subprocess.TimeoutExpired):
            (Path(folder) / "real").mkdir()
            _copy_confinement(Path(folder) / "real")
            _own(Path(folder))
            tried = subprocess.run(  # noqa: S603 - Python itself, with an empty program
                _confined(path, Path(folder), [path, "-I", "-c", ""]),
                check=False,
                cwd="/",
                capture_output=True,
                timeout=_FIRST_START_S,
                **_as_nobody(),
            )
            if tried.returncode == 0:
                return path
    return None


def _copy_confinement(programs: Path) -> None:
    """Put the program that confines where whoever runs the script can read it."""
    shutil.copyfile(_CONFINEMENT, programs / _CONFINEMENT.name)


def _confined(python: str, folder: Path, command: Sequence[str]) -> list[str]:
    return [python, "-I", str(folder / "real" / _CONFINEMENT.name), str(folder), *command]


def _as_nobody() -> dict[str, Any]:
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _there(text: str, root: Path) -> str:
    """Return a script with the paths of the machine in the folder.

    >>> _there("cat /etc/os-release </dev/null; curl https://a.b/c", Path("/r"))
    'cat /r/etc/os-release </dev/null; curl https://a.b/c'
    """
    first, newline, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
    return first + newline + _PATH.sub(lambda _: f"{root}/", rest)


def _here(text: str, root: Path) -> str:
    return text.replace(str(root), "")


def _give_programs(root: Path, programs: Path, bash: str) -> None:
    found = root / "usr" / "bin"
    for name in _REAL:
        real = shutil.which(name, path=_SYSTEM)
        if real:
            (found / name).symlink_to(real)
    for name in _CONFINED:
        real = shutil.which(name, path=_SYSTEM)
        if real:
            (programs / name).symlink_to(real)
    _copy_confinement(programs)
    script = programs / "stand-in"
    script.write_text(f"#!{bash}\n{STAND_IN.read_text()}")
    script.chmod(0o755)
    for name in (*_CONFINED, *_PRETENDED):
        (found / name).symlink_to(script)
    for path in ("bin", "sbin", "usr/sbin"):
        (root / path).symlink_to(found)


def _own(folder: Path) -> None:
    """Give all of it to nobody where this process is root: what a script writes elsewhere is refused then."""
    if os.geteuid() != 0:
        return
    for place in (folder, *folder.rglob("*")):
        if not place.is_symlink():
            os.chown(place, _NOBODY, _NOBODY)
    folder.chmod(0o755)


def _watched(
    command: Sequence[str], environment: Mapping[str, str], root: Path, timeout_s: float
) -> tuple[int | None, str]:
    """Run a command; return its exit status, None where it was ended, and what it and its programs said."""
    process = subprocess.Popen(  # noqa: S603 - confined to its folder
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        umask=0o022,
        **_as_nobody(),
    )
    with process:
        said = _read(process, time.monotonic() + timeout_s)
        status = process.poll()
        _end(process)
    return status, said.decode(errors="replace")


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """Read what a process says until it has ended, or until a time; what is above the limit is dropped."""
    said = bytearray()
    if process.stdout is None:
        return b""
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            # A program in the background may keep the pipe open.
            if process.poll() is not None:
                deadline = min(deadline, time.monotonic() + _GRACE_S)
            if not ready.select(min(0.1, max(0.0, deadline - time.monotonic()))):
                continue
            part = process.stdout.read1(65536) if isinstance(process.stdout, io.BufferedReader) else b""
            if not part:
                break
            said += part[: _SAID_BYTES - len(said)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    return bytes(said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End whatever a process started, in other groups of its session too."""
    for _ in range(_ROUNDS):
        others = list(_of_session(process.pid))
        for pid in (*others, process.pid) if process.poll() is None else others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not others:
            break


def _of_session(session: int) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, which may hold anything: state, parent, group and session.
            state, _, _, own = place.read_text(errors="replace").rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                yield int(place.parent.name)


def _calls(folder: Path, root: Path) -> Iterator[Call]:
    for place in sorted(folder.iterdir())[:_CALLS]:
        words = [_here(word, root) for word in _text(place).split("\0")]
        if words[0]:
            yield Call(program=words[0], arguments=tuple(words[1:-1]))


def _text(place: Path) -> str:
    """Return the beginning of a file, nothing for what is none: a pipe would have to be waited for."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(place.lstat().st_mode):
            with place.open("rb") as file:
                return file.read(_FILE_BYTES).decode(errors="replace")
    return ""


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    for folder, _, names in os.walk(root):
        for name in names:
            place = Path(folder) / name
            found = place.lstat()
            if stat.S_ISREG(found.st_mode):
                yield f"/{place.relative_to(root)}", found


def _left(root: Path, before: set[str], given: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    left_bytes = _ALL_BYTES
    for path, found in _files(root):
        if (path in before and path in given) or found.st_size > min(_FILE_BYTES, left_bytes):
            continue
        left_bytes -= found.st_size
        yield path, stat.S_IMODE(found.st_mode), _text(root / path[1:])


def _environments(answers: Path, root: Path) -> Iterator[Mapping[str, str]]:
    for place in sorted(answers.glob("environment-*"), key=lambda one: one.lstat().st_mtime_ns)[:_CALLS]:
        pairs = (entry.partition("=") for entry in _text(place).split("\0"))
        yield {name: _here(value, root) for name, _, value in pairs if name and not name.startswith("BASH_FUNC_")}
