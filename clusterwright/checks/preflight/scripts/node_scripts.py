"""What the scripts of a Slurm node have to do: settings of Slurm with their values, and steps that nothing replaces."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.checks.preflight.files.shell import Line, lines, unreached
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A setting that scripts write into Slurm's files.

    Attributes:
        name: as in the file; pattern: of every value that may be there.
        wanted: of a value that has to be somewhere; empty where the setting may be left out.
        why: what happens otherwise.
    """

    name: str
    pattern: str
    wanted: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Something that a script has to do: file, pattern of a command in it, and what is lost without.

    Attributes:
        written: whether the line is of a file that the script writes, not a command of its own.
    """

    file: str
    pattern: str
    why: str
    written: bool = False


_VARIABLE = r"\$.*"
SETTINGS = (
    Setting(
        name="SelectType",
        pattern="select/cons_tres",
        wanted="select/cons_tres",
        why="Slurm counts no GPUs",
    ),
    Setting(
        name="ProctrackType",
        pattern=r"proctrack/(cgroup|linuxproc)",
        wanted="proctrack/cgroup",
        why="processes outlive their job",
    ),
    Setting(
        name="PropagateResourceLimitsExcept",
        pattern=r"(.*,)?(MEMLOCK|ALL)(,.*)?",
        wanted=r"(.*,)?(MEMLOCK|ALL)(,.*)?",
        why="jobs inherit a limit of pinned memory, and RDMA fails",
    ),
    Setting(
        name="SlurmctldParameters",
        pattern=r"(.*,)?enable_configless(,.*)?",
        wanted=r"(.*,)?enable_configless(,.*)?",
        why="nodes get no configuration from the controller",
    ),
    Setting(name="SlurmUser", pattern=rf"slurm|{_VARIABLE}", wanted="slurm", why="the controller runs as root"),
    Setting(name="AuthType", pattern="auth/munge|auth/slurm", wanted="auth/munge", why="anybody is anybody"),
    Setting(name="CredType", pattern="cred/munge|auth/slurm|cred/slurm", wanted="", why="anybody is anybody"),
    *(
        Setting(name=name, pattern="yes", wanted="yes", why=why)
        for name, why in (
            ("ConstrainDevices", "jobs see the GPUs of others"),
            ("ConstrainRAMSpace", "a job takes the memory of others"),
            ("ConstrainCores", "a job takes the cores of others"),
        )
    ),
    Setting(
        name="TaskPlugin", pattern=r".*task/cgroup.*|task/none", wanted=r".*task/cgroup.*", why="nothing confines a job"
    ),
    Setting(name="GresTypes", pattern=r"(.*,)?gpu(,.*)?", wanted=r"(.*,)?gpu(,.*)?", why="Slurm knows no GPUs"),
    Setting(name="ReturnToService", pattern="[12]", wanted="[12]", why="a rebooted node stays down"),
    Setting(name="StorageType", pattern="accounting_storage/mysql", wanted="", why="nothing is accounted for"),
)
STEPS = (
    Step(file="bootstrap.sh", pattern=r"metadata\.sh", why="leaves the metadata service to everybody"),
    Step(
        file="metadata.sh",
        pattern=r"\bskuid\s*(!=|>)\s*(0|root)\b.*\b(jump|goto|reject|drop)\b",
        written=True,
        why="leaves the metadata service to everybody, and with it the rights of the machine",
    ),
    Step(
        file="prolog.sh",
        pattern=r"\btransport\b[^\s]*\s+start\b|transport_\S+\s+start\b",
        why="starts no manager of the fabric's traffic with a job",
    ),
    Step(
        file="health_check.sh",
        pattern=r"fabric_check\.sh\S*\s+--drain\b",
        why="drains no node whose fabric is broken",
    ),
    Step(file="bootstrap.sh", pattern=r"install_packages\.sh", why="installs no Slurm"),
    Step(file="bootstrap.sh", pattern=r"shared_storage\.sh", why="mounts no shared file system"),
    Step(file="bootstrap.sh", pattern=r"auth_key\.sh", why="fetches no key of the cluster"),
    Step(file="bootstrap.sh", pattern=r"\$\{?CLUSTER_ROLE\}?\.sh", why="starts nothing of its role"),
    Step(file="bootstrap.sh", pattern=r"watches\.sh", why="starts no watch for interruptions"),
    Step(
        file="compute.sh",
        pattern=r"-(lt|ne)\s+[\"']?\$\{?CLUSTER_GPUS_PER_NODE",
        why="no longer counts its GPUs: a node joins with some missing",
    ),
    Step(
        file="compute.sh",
        pattern=r"^(bash|\.|source|exec)?\s*\S*fabric_check\.sh",
        why="no longer looks at its fabric: a node joins without it",
    ),
    Step(file="shared_storage.sh", pattern=r"\bmount\b.*\blustre\b", why="mounts no shared file system"),
    Step(file="compute.sh", pattern=r"\bslurmd\b", why="starts no slurmd"),
    Step(file="controller.sh", pattern=r"\bslurmctld\b", why="starts no slurmctld"),
)


#: Steps of nodes whose GPUs NVLink joins over several nodes, and what says so in their configuration.
DOMAIN_STEPS = (
    Step(
        file="imex.sh", pattern=r"systemctl start nvidia-imex", why="starts no IMEX: nodes share no memory over NVLink"
    ),
    Step(file="imex.sh", pattern=r"domain_of.*!=.*\$domain", why="gives IMEX nodes of other NVLink domains"),
    Step(file="compute.sh", pattern=r"\$transport\S*\s+domain\b", why="tells Slurm no NVLink domain of the node"),
    Step(
        file="slurm_conf.sh",
        pattern=r"OverSubscribe=EXCLUSIVE",
        why="lets two jobs onto a node, whose IMEX knows the nodes of one",
    ),
)
#: Google's fabrics have another transport, and its stack refuses such nodes.
_DOMAIN_CLOUDS = ("aws", "azure")
#: Characters of a command in a message.
_SHOWN = 40
#: Least wait of a booting machine in seconds: permissions and file systems take minutes to be created.
_WAITS_S = 300
_WAIT = re.compile(r"(?:\$\{CLUSTER_WAIT_S:?[=-]|^(?:export\s+)?CLUSTER_WAIT_S=[\"']?)(\d+)[\"'}]*(?:[\"'\s;]|$)")
#: What lets a script go on where a command fails, or not wait for its end.
_GOES_ON = re.compile(
    r"\|\|\s*(true|:|echo|say|printf|logger|(exit|return)\s+0)(\s|;|$)|;\s*(true|:)\s*$|(?<![&>|])&\s*$"
)


def _left_out(subject: Subject, scripts: Mapping[str, list[Line]]) -> Iterator[Outcome]:
    """Look for every step, and for those that do not stop where they fail."""
    wanted: tuple[Step, ...] = STEPS
    if _in_domains(subject):
        wanted += DOMAIN_STEPS
        # Projects of other nodes have no such script.
        scripts = {"imex.sh": [], **scripts}
    for step in wanted:
        script = scripts.get(step.file)
        if script is not None and not any(
            re.search(step.pattern, one.text) for one in script if one.written == step.written
        ):
            yield Outcome(
                status="FAIL",
                message=f"node/{step.file} {step.why}",
                fix="put the step back",
                place=Place(file=subject.project.shown(f"node/{step.file}")),
            )
        for one in script or ():
            if one.written == step.written and re.search(step.pattern, one.text) and _GOES_ON.search(one.text):
                yield Outcome(
                    status="FAIL",
                    message=f"node/{step.file} goes on where this fails: {one.text}",
                    fix="let it stop with the error",
                    place=Place(file=subject.project.shown(f"node/{step.file}"), line=one.number, column=1),
                )


def _in_domains(subject: Subject) -> bool:
    """Tell whether NVLink joins the GPUs of several of the project's nodes."""
    placement = None if subject.instance is None else subject.catalogue.placement(subject.instance)
    return subject.cloud in _DOMAIN_CLOUDS and placement is not None and placement.rack_nodes is not None


def _impatient(subject: Subject, scripts: Mapping[str, list[Line]]) -> Iterator[Outcome]:
    """Look for a time that machines wait, set for all of them, in which what they wait for cannot be there."""
    for name, script in scripts.items():
        for line in script:
            found = _WAIT.search(line.text)
            if found and int(found[1]) < _WAITS_S:
                yield Outcome(
                    status="FAIL",
                    message=f"node/{name} gives up after {found[1]} s: permissions and the file system take minutes",
                    fix="CLUSTER_WAIT_S=1800",
                    place=Place(file=subject.project.shown(f"node/{name}"), line=line.number, column=1),
                )


def _never_run(subject: Subject) -> Iterator[Outcome]:
    """Look for commands behind one that ends its script: whatever other checks see in them is not done."""
    for name, content in subject.project.files.items():
        for end, following in unreached(content) if re.fullmatch(r"node/[^/]+\.sh", name) else ():
            yield Outcome(
                status="FAIL",
                message=f"{name} ends with `{end.text}` in line {end.number}: `{following.text[:_SHOWN]}` and what "
                "follows is never run",
                fix="leave it out, or let it depend on something",
                place=Place(file=subject.project.shown(name), line=end.number, column=1),
            )


def nodes_do_their_part(subject: Subject) -> Iterator[Outcome]:
    """Compare every setting that the scripts write, and look for every step."""
    scripts = {
        name.removeprefix("node/"): list(lines(content))
        for name, content in subject.project.files.items()
        if re.fullmatch(r"node/[^/]+\.sh", name)
    }
    if subject.project.scheduler != "slurm" or "bootstrap.sh" not in scripts:
        return
    good = True
    for setting in SETTINGS:
        found = [
            (name, line.number, value)
            for name, script in scripts.items()
            for line in script
            for value in re.findall(rf"(?:^|[\"'\s]){setting.name}=([^\s\"']+)", line.text)
        ]
        wrong = [(name, number, value) for name, number, value in found if not re.fullmatch(setting.pattern, value)]
        for name, number, value in wrong:
            good = False
            yield Outcome(
                status="FAIL",
                message=f"node/{name} sets {setting.name}={value}: {setting.why}",
                fix=f"{setting.name}={setting.wanted or 'as it was'}".replace("(.*,)?", "").replace("(,.*)?", ""),
                place=Place(file=subject.project.shown(f"node/{name}"), line=number, column=1),
            )
        if setting.wanted and not wrong and not any(re.fullmatch(setting.wanted, value) for _, _, value in found):
            good = False
            yield Outcome(
                status="FAIL",
                message=f"no script sets {setting.name}: {setting.why}",
                fix="put the line back",
                place=Place(file=subject.project.shown("node")),
            )
    for outcome in (*_left_out(subject, scripts), *_impatient(subject, scripts), *_never_run(subject)):
        good = False
        yield outcome
    if good:
        yield passed(f"{len(SETTINGS)} settings of Slurm, {len(STEPS)} steps of {len(scripts)} scripts")
