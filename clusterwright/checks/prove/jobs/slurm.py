"""Proof of the Slurm files: a real slurmctld starts with them, takes every node and GPU, and warns of nothing."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterwright.catalog.software.node import Software, slice_partition
from clusterwright.checks.prove.jobs.lines import logical_lines
from clusterwright.checks.prove.records import Documents, Result, found, judged, skipped
from clusterwright.errors import ClusterwrightError, Finding, InputError
from clusterwright.facility.fabric.hop_groups import hop_groups
from clusterwright.units import counted

PART = "Slurm"
PROGRAMS = ("slurmctld", "sbatch", "scontrol")
FILES = ("slurm.conf", "gres.conf", "topology.conf")
_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"
_START_S = 60.0
_ANSWER_S = 60
#: Errors that slurmctld always logs on a machine without mail, PMIx and an earlier state.
HARMLESS = re.compile(
    r"MailProg|pmix|PMIx|state file|NOTE: Trying backup|cannot create context for mpi"
    r"|High latency for \d+ calls to gettimeofday",  # a slow clock of the machine says nothing about our files
    re.IGNORECASE,
)
_SUSPICIOUS = re.compile(r"warning|error|fatal|resetting", re.IGNORECASE)
#: Settings that make the controller run programs or read other files: none of ours, so a proof does not start them.
_RUNS = re.compile(
    r"^\s*((?!\w*(?:Flags|Timeout)\b)\w*(?:Prolog|Epilog|Program)\w*|Include|PluginDir|JobSubmitPlugins)\s*[= ]",
    re.IGNORECASE,
)
#: Ours, which the nodes run and no controller: the proof leaves them out.
_ON_NODES = re.compile(
    r"^(?:(?:Prolog|Epilog|HealthCheckProgram)=/opt/gpu-cluster/[a-z_]+\.sh|PrologFlags=Alloc,Contain"
    r"|PrologEpilogTimeout=\d+|HealthCheck(?:Interval|NodeState)=[\w,]+"
    r"|(?:NamespaceType=namespace|JobContainerType=job_container)/tmpfs|SwitchType=switch/nvidia_imex)\n",
    re.MULTILINE,
)
#: First release whose topology.conf has the sizes of blocks.
_BLOCKS = (24, 5)
_HELP = "write the folder again, or carry the change into the blueprint"
#: Keys of Slurm's files are written in any case.
_LINES = re.MULTILINE | re.IGNORECASE


class ForeignProgramError(InputError):
    """A file names a program that is not Slurm's own, which a proof does not start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """A running slurmctld and the folder of its files."""

    folder: Path
    path: str = _PATH

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command against it."""
        environment = {"PATH": self.path, "SLURM_CONF": str(self.folder / "slurm.conf")}
        return subprocess.run(  # noqa: S603 - Slurm's own programs
            command, capture_output=True, text=True, timeout=_ANSWER_S, check=False, env=environment
        )

    def submit(self, *request: str) -> subprocess.CompletedProcess[str]:
        """Ask whether a job could ever run."""
        return self.run("sbatch", "--test-only", *request, "--wrap=true")

    @property
    def log(self) -> list[str]:
        """Lines of its log."""
        path = self.folder / "slurmctld.log"
        return path.read_text(errors="replace").splitlines() if path.exists() else []

    def suspicious(self) -> list[str]:
        """Return lines of its log that warn of something, but for the known harmless ones."""
        return [line for line in self.log if _SUSPICIOUS.search(line) and not HARMLESS.search(line)]


def missing_programs() -> str:
    """Return why slurmctld cannot run here, empty if it can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"not installed: {', '.join(absent)} (Debian packages slurmctld, slurm-client)" if absent else ""


def proof_variant(text: str, folder: Path, port: int) -> str:
    """Return slurm.conf for a proof without munge, cgroups and machines: only these lines differ from production.

    Args:
        text: of slurm.conf.
        folder: for state and log.
        port: on loopback.

    Raises:
        ForeignProgramError: a line would run a program or read another file.
        InputError: a line that has to be replaced is not there once.
    """
    import pwd  # noqa: PLC0415 - only where slurmctld can run

    lines = logical_lines(text)
    for number, line in lines:
        if _RUNS.match(line) and not _ON_NODES.match(f"{line}\n"):
            key = line.split("=")[0].strip()
            raise ForeignProgramError(
                f"slurm.conf:{number}:1: {key} makes the controller run or read something else",
                help="the proof starts nothing but slurmctld; try this line on a test cluster",
            )
    text = _ON_NODES.sub("", "".join(f"{line}\n" for _, line in lines))
    # A proof has one controller: of several the first stands for all.
    controllers = [line for line in text.splitlines() if line.lower().startswith("slurmctldhost=")]
    for backup in controllers[1:]:
        text = text.replace(f"{backup}\n", "", 1)
    # A database is none of the proof's: slurm.conf names its daemon, which is on another server.
    # Fair shares and QOS are kept in that database, too.
    text = re.sub(r"^(AccountingStorage|JobAcctGather|Priority|Preempt)\w+=.*\n", "", text, flags=_LINES)
    # Weights of a bill name what the database keeps, and without it they are fatal.
    text = re.sub(r' TRESBillingWeights="[^"\n]*"', "", text)
    changes = {
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": pwd.getpwuid(os.getuid()).pw_name,
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
        text, count = re.subn(rf"^{key}=.*$", f"{key}={value}", text, flags=_LINES)
        if count != 1:
            raise InputError(f"slurm.conf has {key} {count} times; the proof replaces it once", help=_HELP)
    # Nodes in the cloud state are taken for usable without a slurmd.
    text = re.sub(r"State=UNKNOWN$", "State=CLOUD", text, flags=_LINES)
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
def running(texts: Mapping[str, str], folder: Path, *, path: str = _PATH, plugins: str = "") -> Iterator[Controller]:
    """Run slurmctld on files, by name, until the block ends.

    Args:
        texts: of the files.
        folder: for what the proof needs.
        path: folders with Slurm's programs.
        plugins: folder of the plugins of another Slurm than the machine's own; empty for that one.

    Raises:
        ForeignProgramError, InputError: see `proof_variant`.
        ClusterwrightError: it did not start, with the end of its log.
    """
    program = shutil.which("slurmctld", path=path)
    if program is None:
        raise ClusterwrightError("slurmctld is not installed", help=missing_programs())
    (folder / "state").mkdir(exist_ok=True)
    for name in FILES[1:]:
        (folder / name).write_text(texts[name])
    variant = proof_variant(texts["slurm.conf"], folder, free_port())
    (folder / "slurm.conf").write_text(variant + (f"PluginDir={plugins}\n" if plugins else ""))
    controller = Controller(folder=folder, path=path)
    with (folder / "slurmctld.err").open("w") as errors:
        process = subprocess.Popen(  # noqa: S603 - by its full path
            [program, "-D", "-f", str(folder / "slurm.conf")], stdout=subprocess.DEVNULL, stderr=errors, text=True
        )
    try:
        deadline = time.monotonic() + _START_S
        while controller.run("scontrol", "ping").returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                # What it refuses is on the error stream before there is a log, and then in both.
                lines = [*(folder / "slurmctld.err").read_text(errors="replace").splitlines(), *controller.log]
                said = [line for line in lines if _SUSPICIOUS.search(line) and not HARMLESS.search(line)]
                last = "; ".join(dict.fromkeys(re.sub(r"^\[[^]]*\] |^slurmctld: ", "", line) for line in said[-3:]))
                raise ClusterwrightError(f"slurmctld does not start: {last or lines[-1:]}", help=_HELP)
            time.sleep(0.1)
        yield controller
    finally:
        process.terminate()
        process.communicate(timeout=20)


def prove_slurm(documents: Documents, *, path: str = _PATH, plugins: str = "") -> Result | None:
    """Return what holds of a folder's Slurm files; None where it has none.

    Args:
        documents: the folder.
        path: where the programs of Slurm are, the machine's own by default.
        plugins: folder of the plugins of another release; empty for the machine's own.
    """
    paths = [documents.site / name for name in FILES]
    files = tuple(documents.name(path) for path in paths)
    if not any(path.is_file() for path in paths):
        return None
    try:
        texts = {} if missing_programs() else {path.name: path.read_text(encoding="utf-8") for path in paths}
        if reason := missing_programs() or _too_old(texts["slurm.conf"], path):
            return skipped(PART, files, "slurmctld", reason)
        with (
            tempfile.TemporaryDirectory(prefix="slurm-") as name,
            running(texts, Path(name), path=path, plugins=plugins) as controller,
        ):
            version = " ".join(controller.run("scontrol", "--version").stdout.split()) or "slurmctld"
            findings = list(_asked(documents, controller))
    except ForeignProgramError as error:
        return skipped(PART, files, "slurmctld", f"{error.message}: {error.help}")
    except OSError as error:
        return judged(PART, files, "slurmctld", [], [found("SLM001", f"{error.filename}: {error.strerror}", _HELP)])
    except ClusterwrightError as error:
        return judged(PART, files, "slurmctld", [], [found("SLM001", error.message, error.help or _HELP)])
    nodes, gpus = _size(documents)
    software, divided = _divided(documents)
    facts = [
        f"takes {_job(nodes, gpus)}, refuses {nodes + 1:,} nodes and {gpus + 1} GPUs",
        *(
            f"takes {count} slices {profile} of a node ({counted(divided, 'node')}), refuses {count + 1}"
            for profile, count in (software.instances.items() if software is not None and divided else ())
        ),
        f"groups of one switch in the topology: {len(_leaf_groups(documents))}; the log warns of nothing",
    ]
    return judged(PART, files, f"slurmctld ({version})", [] if findings else facts, findings)


def _too_old(text: str, path: str) -> str:
    """Return why the slurmctld of a path cannot read files with blocks; empty if it can, or if there are none."""
    if not re.search(r"^TopologyPlugin=topology/block$", text, re.MULTILINE):
        return ""
    done = subprocess.run(  # noqa: S603 - Slurm's own program
        [shutil.which("slurmctld", path=path) or "slurmctld", "-V"],
        capture_output=True,
        text=True,
        timeout=_ANSWER_S,
        check=False,
    )
    version = re.search(r"(\d+)\.(\d+)[.\d]*", done.stdout)
    if version is not None and (int(version[1]), int(version[2])) >= _BLOCKS:
        return ""
    shown = version[0] if version else "of an unknown version"
    return f"topology/block needs Slurm {_BLOCKS[0]}.{_BLOCKS[1]:02d} or newer, and slurmctld here is {shown}"


def _size(documents: Documents) -> tuple[int, int]:
    """Return hosts and what each has for a job: whole GPUs, or slices where all GPUs are divided.

    A whole rack is several hosts; those with slices are left out where others have whole GPUs.
    """
    inventory = documents.design.inventory
    hosts = len(inventory.hosts())
    software, divided = _divided(documents)
    if software is not None and divided == hosts:
        return hosts, sum(software.instances.values())
    shared = 0 if software is None else software.shared_of(hosts)
    return hosts - divided - (shared if shared < hosts else 0), inventory.gpus // hosts


def _job(nodes: int, gpus: int) -> str:
    return f"a job on {counted(nodes, 'node')} with {counted(gpus, 'GPU')} each"


def _asked(documents: Documents, controller: Controller) -> Iterator[Finding]:
    nodes, gpus = _size(documents)
    yield from _slices(documents, controller)
    yield from _parts(documents, controller)
    whole = controller.submit(f"--nodes={nodes}", f"--gres=gpu:{gpus}", "--exclusive")
    if whole.returncode != 0:
        said = whole.stderr.strip().splitlines()[-1:]
        yield found("SLM002", f"{_job(nodes, gpus)} is refused: {''.join(said)}", _HELP)
    for request, words in (
        ((f"--nodes={nodes + 1}",), f"{nodes + 1:,} nodes"),
        (("--nodes=1", f"--gres=gpu:{gpus + 1}"), f"{gpus + 1} GPUs of a node"),
    ):
        if controller.submit(*request).returncode == 0:
            yield found("SLM003", f"a job on {words} is taken, the plan has fewer", _HELP)
    yield from _topology(documents, controller)
    log = controller.suspicious()
    if log:
        yield found("SLM004", f"slurmctld warns: {'; '.join(_without_time(log))}", _HELP)


def _divided(documents: Documents) -> tuple[Software | None, int]:
    """Return the software of the nodes, and how many of them have slices of GPUs."""
    software = documents.plan.software_of(documents.option.target)
    hosts = len(documents.design.inventory.hosts())
    return software, 0 if software is None else software.divided_of(hosts)


def _slices(documents: Documents, controller: Controller) -> Iterator[Finding]:
    """Ask for all slices of every divided node, and for one more of each profile."""
    software, nodes = _divided(documents)
    if software is None or not nodes:
        return
    partition = documents.plan.cluster.partition
    if nodes < len(documents.design.inventory.hosts()):
        partition = slice_partition(partition)
    where = f"--partition={partition}"
    for profile, count in software.instances.items():
        if controller.submit(where, f"--nodes={nodes}", f"--gres=gpu:{profile}:{count}").returncode != 0:
            yield found("SLM002", f"a job on {nodes:,} nodes with {count} slices {profile} each is refused", _HELP)
        if controller.submit(where, "--nodes=1", f"--gres=gpu:{profile}:{count + 1}").returncode == 0:
            yield found("SLM003", f"a job with {count + 1} slices {profile} of a node is taken, not {count}", _HELP)


#: What a job asks for by each way to share a GPU, and what a whole one counts for; parts where None.
_SHARED: dict[str, tuple[str, int | None]] = {"mps": ("mps", 100), "time-slicing": ("shard", None)}


def _parts(documents: Documents, controller: Controller) -> Iterator[Finding]:
    """Ask for a whole GPU in parts on every node that shares them, and for more than one has."""
    software, _ = _divided(documents)
    hosts = len(documents.design.inventory.hosts())
    nodes = 0 if software is None else software.shared_of(hosts)
    if software is None or not nodes:
        return
    partition = documents.plan.cluster.partition
    where = f"--partition={slice_partition(partition) if nodes < hosts else partition}"
    kind, each = _SHARED[software.sharing]
    whole = each or software.shared_parts
    if controller.submit(where, f"--nodes={nodes}", f"--gres={kind}:{whole}").returncode != 0:
        yield found("SLM002", f"a job on {nodes:,} nodes with {kind}:{whole} each is refused", _HELP)
    gpus = documents.design.inventory.gpus // hosts
    if controller.submit(where, "--nodes=1", f"--gres={kind}:{whole * gpus + 1}").returncode == 0:
        yield found("SLM003", f"a job with {kind}:{whole * gpus + 1} of a node is taken, not {whole * gpus}", _HELP)


def _topology(documents: Documents, controller: Controller) -> Iterator[Finding]:
    """Compare the leaves that Slurm knows with the nodes that are one switch apart."""
    shown = controller.run("scontrol", "show", "topology").stdout
    lists = re.findall(r"Level=0 .*?Nodes=(\S+)", shown)
    planned = sorted(_leaf_groups(documents))
    if "BlockName=" in shown:
        lists = re.findall(r"BlockName=nvl\S* .*?Nodes=(\S+)", shown)
        planned = [documents.design.inventory.hosts_per_node] * documents.design.inventory.nodes
    found_sizes = sorted(len(controller.run("scontrol", "show", "hostnames", hosts).stdout.split()) for hosts in lists)
    if found_sizes != planned:
        yield found("SLM005", f"the topology has leaf switches of {found_sizes} nodes, the plan of {planned}", _HELP)


def _leaf_groups(documents: Documents) -> list[int]:
    """Return the number of nodes in each group that is one switch apart."""
    inventory = documents.design.inventory
    groups = hop_groups(inventory.fabric, hosts_per_node=inventory.hosts_per_node)
    return [len(group.nodes) for group in groups if not group.members]


def _without_time(log: Sequence[str]) -> list[str]:
    return [re.sub(r"^\[[^]]*\] ", "", line) for line in log[:3]]
