"""What has to hold of machines that booted in a trial: what they left, called and said."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.checks.preflight.trials.booting import (
    ADMINISTRATORS,
    ALLOWED,
    BIND_PASSWORD,
    COMPUTE,
    CONTROLLER,
    FREE_DISKS,
    KERNEL,
    LEAVER,
    LOGIN,
    MUNGE_KEY,
    SECRETS,
    USERS,
    Node,
)
from clusterwright.checks.preflight.trials.machine import Call, Ran
from clusterwright.checks.preflight.trials.packet_filter import NotUnderstoodError, Packet, chains, refuses


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One thing that is wrong.

    Attributes:
        message: after the name of the machine's role.
        fix: what to do.
        about: word by which the script that does it is found, such as a path.
        known: whether it was seen; otherwise it could not be evaluated.
        absent: whether it is about what is not there or was not done, of which a boot that ended early says nothing.
    """

    message: str
    fix: str
    about: str = ""
    known: bool = True
    absent: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A setting of slurm.conf: pattern of its value, whether it may be missing, and what happens otherwise."""

    name: str
    pattern: str
    why: str
    optional: bool = False


SLURM = (
    Setting(name="AuthType", pattern="auth/(munge|slurm)", why="anybody is anybody"),
    Setting(name="CredType", pattern="(cred|auth)/(munge|slurm)", why="anybody is anybody", optional=True),
    Setting(name="SlurmUser", pattern="slurm", why="the controller runs as root"),
    Setting(name="SlurmdUser", pattern="root", why="slurmd starts no job of another user", optional=True),
    Setting(name="SelectType", pattern="select/cons_tres", why="Slurm counts no GPUs"),
    Setting(name="ProctrackType", pattern="proctrack/cgroup", why="processes outlive their job"),
    Setting(name="TaskPlugin", pattern=".*task/cgroup.*", why="nothing confines a job"),
    Setting(
        name="PropagateResourceLimitsExcept",
        pattern=r"(.*,)?(MEMLOCK|ALL)(,.*)?",
        why="jobs inherit a limit of pinned memory, and RDMA fails",
    ),
    Setting(name="ReturnToService", pattern="[12]", why="a rebooted node stays down"),
    Setting(
        name="SlurmctldParameters",
        pattern=r"(.*,)?enable_configless(,.*)?",
        why="nodes get no configuration from the controller",
    ),
    Setting(name="SlurmctldPort", pattern="6817", why="nodes and firewalls use 6817", optional=True),
    Setting(name="SlurmdPort", pattern="6818", why="firewalls let 6818 through", optional=True),
    Setting(name="StateSaveLocation", pattern="/(var|shared|home)/.*", why="the queue is lost with a reboot"),
    Setting(name="JobRequeue", pattern="1", why="a job whose node fails is not started again", optional=True),
    Setting(
        name="MpiDefault",
        pattern="none|pmix.*|pmi2",
        why="a step starts with a plugin that is not there",
        optional=True,
    ),
    Setting(
        name="PrologFlags", pattern=r"(.*,)?(Alloc|Contain)(,.*)?", why="a broken node is seen after the job starts"
    ),
    Setting(
        name="SlurmdTimeout", pattern=r"0|[1-9]\d{2,}", why="a node that is busy for a moment is lost", optional=True
    ),
    Setting(
        name="PreemptMode", pattern="OFF|REQUEUE.*|SUSPEND.*|GANG.*", why="a job is ended for another", optional=True
    ),
    Setting(name="MaxJobCount", pattern=r"\d{3,}", why="the queue takes next to no job", optional=True),
    Setting(name="OverTimeLimit", pattern=r"\d+|UNLIMITED", why="a job ends early", optional=True),
)
#: Of the partition.
PARTITION = (
    Setting(name="State", pattern="UP", why="takes no job", optional=True),
    Setting(name="Default", pattern="YES", why="a job without a partition has none"),
    Setting(name="RootOnly", pattern="NO", why="takes no job of a user", optional=True),
    Setting(name="Hidden", pattern="NO", why="is not shown to users", optional=True),
    Setting(
        name="OverSubscribe", pattern="NO|EXCLUSIVE", why="puts jobs beside each other on the same GPUs", optional=True
    ),
)
_UNLIMITED = ("INFINITE", "UNLIMITED", "")
#: Everybody, by the names of the trial and by those of a distribution.
#: Of files that hold a secret for root's own programs.
_OWNER_ONLY = 0o600
_ORDINARY = ("ALL", "%ALL", "%users", "%cluster-users", "%research", "alice", "%alice", "20001", "#20001", "+20001")
_GROUPS_OF_ROOT = {"sudo", "wheel", "docker", "root", "adm", "lxd", "disk", "cluster-admins", "shadow", "kmem"}
_HOUR_S = 3600
#: Nodes that slurm.conf as it is written has places for; what it costs is in node/README.md, Growth.
_PLACES = 16_384
_COMES_TOGETHER = "put it back as it was"
_METADATA = ("169.254.169.254", "168.63.129.16")
#: Where others read, whatever the mode of a file: file systems and folders of all users.
_OF_EVERYBODY = re.compile(r"/(shared|bucket|scratch|tmp|var/tmp|home)/")
_WRITES_DISKS = ("mkfs", "mkfs.xfs", "mkfs.ext4", "mkswap", "wipefs", "dd", "parted", "sgdisk", "pvcreate", "mdadm")


def starts(ran: Ran, unit: str) -> int | None:
    """Return the place of the call that starts a service of Slurm or munge, None where there is none."""
    for place, call in enumerate(ran.calls):
        words = call.arguments
        by_unit = call.program == "systemctl" and any(word.removesuffix(".service") == unit for word in words)
        if by_unit and ({"start", "restart", "try-restart", "reload-or-restart"} & set(words) or "--now" in words):
            return place
        if call.program == unit and "-V" not in words and "--version" not in words:
            return place
    return None


def problems(role: str, ran: Ran, node: Node, nodes: int | None, longest: str) -> Iterator[Found]:
    """Yield what is wrong with a machine that booted.

    Args:
        role: of the machine.
        ran: what its boot did.
        node: of the cluster.
        nodes: of the cluster, None where that is not known.
        longest: time that the project's job asks for, as in `#SBATCH --time`.
    """
    for rule in _RULES:
        yield from rule(role, ran, node)
    if role == CONTROLLER:
        if starts(ran, "slurmctld") is None:
            yield Found(message="starts no slurmctld", fix="start_service slurmctld", about="slurmctld", absent=True)
        yield from _slurm_conf(ran, node, nodes, longest)
        yield from _accounting(ran)
    if role == COMPUTE:
        yield from _daemon(ran, node)
        yield from _order(ran, node)


def _secrets(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    values = {**SECRETS, "key of munge": MUNGE_KEY, "password of the directory": BIND_PASSWORD}
    for what, value in values.items():
        for path, file in ran.files.items():
            if value not in file.content:
                continue
            if _OF_EVERYBODY.match(path):
                yield Found(
                    message=f"leaves a secret ({what}) in {path}, where others read it",
                    fix="mode 0400 or 0600 in a folder of root",
                    about=path,
                )
            elif file.mode & 0o077:
                yield Found(
                    message=f"writes a secret ({what}) into {path}, mode {file.mode:04o}, which others may read",
                    fix="mode 0400 or 0600",
                    about=path,
                )
        for call in ran.calls:
            if any(value in word for word in call.arguments):
                yield Found(
                    message=f"hands a secret ({what}) to {call.program} as an argument, which every process sees",
                    fix="through standard input, or a file descriptor",
                    about=call.program,
                )
        if value in ran.said:
            yield Found(
                message=f"prints a secret ({what}) into the log of the boot", fix="leave set -x out", about="set -x"
            )


def _modes(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for path, file in ran.files.items():
        if file.mode & 0o002 and not _OF_EVERYBODY.match(path):
            yield Found(message=f"lets everybody change {path}", fix="mode 0644 or less", about=path)


def _key(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    file = ran.files.get("/etc/munge/munge.key")
    if file is None or file.content.strip() != MUNGE_KEY:
        yield Found(
            message="does not have the cluster's key in /etc/munge/munge.key",
            fix="auth_key.sh",
            about="munge.key",
            absent=True,
        )
    elif starts(ran, "munge") is None and starts(ran, "munged") is None:
        yield Found(message="starts no munge", fix="start_service munge", about="munge", absent=True)


def _administrators(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for path, file in ran.files.items():
        if not re.match(r"/etc/sudoers(\.d/[^.]+)?$", path):
            continue
        for line in file.content.splitlines():
            found = re.match(r"\s*(\S+)\s+\S+\s*=\s*(.*)", line)
            if found and found[1] in _ORDINARY:
                yield Found(message=f"makes every user root: {line.strip()}", fix="name administrators", about=path)
    for call in ran.of("useradd", "usermod"):
        groups = {group for word in call.arguments for group in word.split(",")}
        if call.arguments and call.arguments[-1] == "alice" and groups & _GROUPS_OF_ROOT:
            yield Found(
                message=f"puts every user into the group {min(groups & _GROUPS_OF_ROOT)}",
                fix="leave it to administrators",
                about=call.program,
            )


def _logins(role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    # The first value of a setting counts.
    settings: dict[str, tuple[str, str]] = {}
    for path in sorted(ran.files):
        if re.match(r"/etc/ssh/sshd_config(\.d/.*\.conf)?$", path):
            for line in ran.files[path].content.splitlines():
                words = line.split()
                if words and not words[0].startswith("#"):
                    settings.setdefault(words[0].lower(), (" ".join(words[1:]).lower(), path))
    wanted = {
        "passwordauthentication": ("no", "lets passwords in", False),
        "permitrootlogin": ("no|prohibit-password|without-password", "lets root in by a password", True),
        "permitemptypasswords": ("no", "lets anybody in", True),
        "kbdinteractiveauthentication": ("no", "lets passwords in", True),
    }
    for name, (pattern, why, optional) in wanted.items():
        value, path = settings.get(name, ("", ""))
        if (value or not optional) and not re.fullmatch(pattern, value):
            yield Found(
                message=f"{why}: sshd has {name} {value or 'as the image has it'}",
                fix="PasswordAuthentication no",
                about=path or "sshd_config",
                absent=not value,
            )
    if role == COMPUTE and not {"denygroups", "allowgroups", "denyusers", "allowusers"} & set(settings):
        yield Found(
            message="lets every user log in to nodes, past Slurm",
            fix="DenyGroups cluster-users",
            about="DenyGroups",
            absent=True,
        )


def _metadata(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    loaded = [ran.files[word].content for call in ran.of("nft") for word in call.arguments if word in ran.files]
    text = "\n".join(loaded)
    if not loaded:
        yield Found(
            message="leaves the metadata service to every user",
            fix="metadata.sh before everything else",
            about="metadata.sh",
            absent=True,
        )
        return
    found = chains(text)
    try:
        for address in _METADATA:
            ordinary = Packet(user=20001, address=address, port=80)
            if not refuses(found, "output", ordinary):
                yield Found(
                    message=f"lets every user reach {address}, which answers with the machine's identity",
                    fix=_COMES_TOGETHER,
                    about="metadata.nft",
                )
            if not refuses(found, "forward", ordinary):
                yield Found(
                    message=f"lets containers reach {address}, which answers with the machine's identity",
                    fix=_COMES_TOGETHER,
                    about="metadata.nft",
                )
            if refuses(found, "output", Packet(user=0, address=address, port=80)):
                yield Found(
                    message=f"keeps root from {address}: no script gets the machine's identity",
                    fix=_COMES_TOGETHER,
                    about="metadata.nft",
                )
        if refuses(found, "output", Packet(user=20001, address="10.0.0.9", port=6817)):
            yield Found(message="keeps users from the controller", fix=_COMES_TOGETHER, about="metadata.nft")
    except NotUnderstoodError as error:
        yield Found(message=f"its packet filter was not evaluated: {error}", fix="", about="metadata.nft", known=False)


def _mounts(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    found = [call for call in ran.of("mount") if "lustre" in str(call)]
    if not any(call.arguments[-1].rstrip("/") == "/shared" for call in found):
        yield Found(
            message="mounts no shared file system at the path of the cluster",
            fix="shared_storage.sh",
            about="lustre",
            absent=True,
        )
    for call in found:
        options = {option for word in call.arguments for option in word.split(",")}
        if "flock" not in options:
            yield Found(
                message="mounts Lustre without flock: data loaders that lock files fail",
                fix="-o noatime,flock",
                about="lustre",
            )
        if options & {"ro", "read-only"}:
            yield Found(
                message="mounts Lustre read-only: no checkpoint can be written", fix="leave ro out", about="lustre"
            )


def _disks(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for call in ran.of(*_WRITES_DISKS):
        disks = [word for word in call.arguments if re.match(r"(of=)?/dev/(nvme|sd|vd|xvd)\w+", word)]
        taken = [word.removeprefix("of=") for word in disks if word.removeprefix("of=") not in FREE_DISKS]
        if taken:
            yield Found(
                message=f"formats {taken[0]}, which is no free local disk: it may hold what somebody needs "
                f"({call.program})",
                fix="take local disks alone, without a file system or a partition",
                about=call.program,
            )


def _packages(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for call in ran.of("apt-get", "apt", "aptitude"):
        words = set(call.arguments)
        if words & {"upgrade", "dist-upgrade", "full-upgrade", "safe-upgrade"}:
            yield Found(
                message="upgrades packages at boot: the driver changes with the day",
                fix="an image that has them",
                about="upgrade",
            )
        if "install" in words:
            for package in call.arguments:
                if "lustre" in package and "client" in package and "utils" not in package and KERNEL not in package:
                    yield Found(
                        message=f"installs {package} for whatever kernel it is made for: the module does not load",
                        fix="the package or version of $(uname -r)",
                        about="lustre",
                    )


def _upgrades(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    periodic = [
        value
        for path, file in ran.files.items()
        if path.startswith("/etc/apt/apt.conf")
        for value in re.findall(r"(?m)^[^#/]*Unattended-Upgrade\W+(\d+)", file.content)
    ]
    if not periodic or any(value != "0" for value in periodic):
        yield Found(
            message="is upgraded in the background: that restarts the driver under a job",
            fix='APT::Periodic::Unattended-Upgrade "0";',
            about="Unattended-Upgrade",
            absent=not periodic,
        )


def _sources(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for path, file in ran.files.items():
        if path.startswith("/etc/apt/") and path.endswith(".list"):
            for line in file.content.splitlines():
                if re.match(r"\s*deb(-src)?\s", line) and "signed-by=" not in line:
                    yield Found(
                        message=f"adds a source of packages without the key that signs it: {line.strip()}",
                        fix="[signed-by=/etc/apt/keyrings/NAME.asc]",
                        about=path,
                    )


def _downloads(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    for call in ran.of("curl", "wget", "git"):
        for word in call.arguments:
            host = re.match(r"http://([^/:]+)", word)
            if host and not re.fullmatch(
                r"169\.254\.\d+\.\d+|168\.63\.129\.16|metadata\.google\.internal|localhost|127\..*|unix", host[1]
            ):
                yield Found(
                    message=f"fetches {word} over a connection that anybody on the way can change",
                    fix="https",
                    about=word.partition("://")[2],
                )
        if call.program == "curl" and any(
            re.fullmatch(r"-[A-Za-z]*k[A-Za-z]*|--insecure", word) for word in call.arguments
        ):
            yield Found(message="takes any certificate", fix="leave -k out", about="curl")


def _comes_back(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    units = {path: file.content for path, file in ran.files.items() if path.startswith("/etc/systemd/system/")}
    again = [path for path, text in units.items() if re.search(r"(?m)^ExecStart=.*bootstrap\.sh", text)]
    enabled = {
        word.removesuffix(".service")
        for call in ran.of("systemctl")
        if "enable" in call.arguments
        for word in call.arguments
    }
    if not any(re.sub(r".*/|\.service$", "", path) in enabled for path in again):
        yield Found(
            message="does not mount and check again after a reboot",
            fix="systemctl enable gpu-cluster.service",
            about="gpu-cluster.service",
            absent=True,
        )


def _daemon(ran: Ran, node: Node) -> Iterator[Found]:
    if starts(ran, "slurmd") is None:
        yield Found(message="starts no slurmd", fix="start_service slurmd", about="slurmd", absent=True)
    lines = [
        line.partition("=")[2]
        for path, file in ran.files.items()
        if "slurmd.service" in path
        for line in file.content.splitlines()
        if re.match(r"ExecStart=.*slurmd", line)
    ]
    for line in lines:
        words = shlex.split(line)
        described = next((words[place + 1] for place, word in enumerate(words[:-1]) if word == "--conf"), "")
        given = dict(part.partition("=")[::2] for part in described.split())
        if "-Z" not in words:
            yield Found(message="registers no node: slurmd without -Z", fix="slurmd -Z", about="slurmd.service")
        if "10.0.0.9" not in line:
            yield Found(
                message="does not ask the controller for its configuration", fix="--conf-server", about="slurmd.service"
            )
        if node.gpus and given.get("Gres") != f"gpu:{node.gpu_type}:{node.gpus}":
            yield Found(
                message=f"tells Slurm of {given.get('Gres') or 'no GPU'} instead of gpu:{node.gpu_type}:{node.gpus}",
                fix="Gres=gpu:$CLUSTER_GPU_TYPE:$CLUSTER_GPUS_PER_NODE",
                about="Gres=gpu",
            )
        if given.get("Feature") != node.partition:
            yield Found(
                message="is in no partition: its feature is not the partition's",
                fix="Feature=$CLUSTER_PARTITION",
                about="Feature=",
            )
    if not lines:
        yield Found(message="has no unit that starts slurmd", fix=_COMES_TOGETHER, about="slurmd.service", absent=True)


def _order(ran: Ran, node: Node) -> Iterator[Found]:
    """Everything that a job needs is there before the node takes one."""
    started = starts(ran, "slurmd")
    if started is None:
        return
    before: dict[str, Callable[[Call], bool]] = {
        "the rules that close the metadata service": lambda call: call.program == "nft",
        "the shared file system": lambda call: call.program == "mount" and "lustre" in str(call),
        "the cluster's key": lambda call: "/etc/munge/munge.key" in call.arguments,
        "the users": lambda call: call.program == "useradd",
    }
    if node.directory:
        before["the users of the directory"] = lambda call: (
            call.program == "getent" and "--service=sss" in call.arguments
        )
    for what, is_it in before.items():
        if not any(map(is_it, ran.calls[:started])):
            yield Found(message=f"takes jobs before it has {what}", fix="start slurmd last", about="bootstrap.sh")


def _slurm_conf(ran: Ran, node: Node, nodes: int | None, longest: str) -> Iterator[Found]:
    path = "/etc/slurm/slurm.conf"
    file = ran.files.get(path)
    if file is None:
        yield Found(message=f"writes no {path}", fix=_COMES_TOGETHER, about="slurm.conf", absent=True)
        return
    lines = [line for line in file.content.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    settings = {name.lower(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    for one in SLURM:
        value = settings.get(one.name.lower())
        if (value is None and not one.optional) or (value is not None and not re.fullmatch(one.pattern, value)):
            yield Found(
                message=f"{one.name} is {value or 'not set'}: {one.why}", fix=f"{one.name} as it was", about=one.name
            )
    if node.gpus and "gpu" not in settings.get("grestypes", "").split(","):
        yield Found(message="Slurm knows no GPUs: no GresTypes=gpu", fix="GresTypes=gpu", about="GresTypes")
    most = settings.get("maxnodecount", "")
    if nodes is not None and most.isdigit() and int(most) <= nodes:
        yield Found(
            message=f"MaxNodeCount is {most}, and the cluster has {nodes}: a replacement cannot register",
            fix=f"MaxNodeCount={_PLACES}" if nodes < _PLACES else f"run fewer than {_PLACES:,} nodes",
            about="MaxNodeCount",
        )
    if settings.get("accountingstoragetype") != "accounting_storage/slurmdbd":
        yield Found(
            message="keeps no history: AccountingStorageType is not slurmdbd, with a database that is paid for",
            fix="accounting_storage/slurmdbd",
            about="AccountingStorageType",
        )
    if "propagateresourcelimits" in settings and settings["propagateresourcelimits"] != "NONE":
        yield Found(
            message="jobs inherit a limit of pinned memory, and RDMA fails",
            fix="PropagateResourceLimitsExcept=MEMLOCK",
            about="PropagateResourceLimits",
        )
    yield from _programs(ran, settings, node)
    yield from _partitions(lines, node, nodes, longest)


def _programs(ran: Ran, settings: Mapping[str, str], node: Node) -> Iterator[Found]:
    wanted = {"prolog": True, "epilog": False, "healthcheckprogram": node.fabric != "none"}
    known = {f"/opt/gpu-cluster/{name}.sh" for name in ("prolog", "epilog", "health_check")}
    for name, needed in wanted.items():
        path = settings.get(name, "")
        if path and path not in known and path not in ran.files:
            yield Found(
                message=f"{name} is {path}, which is not on the machine",
                fix="the script in /opt/gpu-cluster",
                about=path,
            )
        elif needed and not path:
            yield Found(message=f"Slurm runs no {name}", fix="put the line back", about="Prolog=")
    interval = settings.get("healthcheckinterval", "")
    if settings.get("healthcheckprogram") and (not interval.isdigit() or not 0 < int(interval) <= _HOUR_S):
        yield Found(
            message="Slurm never runs the health check", fix="HealthCheckInterval=300", about="HealthCheckInterval"
        )


def _partitions(lines: list[str], node: Node, nodes: int | None, longest: str) -> Iterator[Found]:
    found = [
        dict(part.partition("=")[::2] for part in line.split()) for line in lines if line.startswith("PartitionName=")
    ]
    own = next((one for one in found if one["PartitionName"] == node.partition), None)
    if own is None:
        yield Found(message=f"Slurm has no partition {node.partition}", fix=_COMES_TOGETHER, about="PartitionName")
        return
    for one in PARTITION:
        value = own.get(one.name)
        if (value is None and not one.optional) or (value is not None and not re.fullmatch(one.pattern, value)):
            yield Found(
                message=f"the partition has {one.name}={value or 'nothing'}: it {one.why}",
                fix="put it back",
                about="PartitionName",
            )
    limits = {
        name: own[name]
        for name in ("AllowGroups", "AllowAccounts", "DenyGroups", "AllowQos")
        if own.get(name, "ALL") != "ALL"
    }
    for name, value in limits.items():
        yield Found(
            message=f"the partition takes jobs of {name}={value} only", fix=f"leave {name} out", about="PartitionName"
        )
    most = own.get("MaxNodes", "")
    if most.isdigit() and nodes is not None and int(most) < nodes:
        yield Found(message=f"a job may take {most} of {nodes} nodes", fix="leave MaxNodes out", about="PartitionName")
    allowed, asked = own.get("MaxTime", ""), longest
    if allowed.upper() not in _UNLIMITED and (asked.upper() in _UNLIMITED or minutes(asked) > minutes(allowed)):
        yield Found(
            message=f"the partition ends jobs after {allowed}, and the job asks for {asked or 'no limit'}",
            fix="MaxTime=INFINITE",
            about="PartitionName",
        )
    sets = {line.split()[0].partition("=")[2] for line in lines if line.startswith("NodeSet=")}
    if own.get("Nodes") not in {*sets, "ALL"}:
        yield Found(
            message=f"the partition has no node: {own.get('Nodes')} is no set of nodes",
            fix=_COMES_TOGETHER,
            about="NodeSet",
        )
    for line in lines:
        if line.startswith("NodeSet=") and f"Feature={node.partition}" not in line.split():
            yield Found(
                message="the partition has no node: nodes come with another feature",
                fix=_COMES_TOGETHER,
                about="NodeSet",
            )


def minutes(text: str) -> float:
    """Return a time as Slurm writes it, in minutes.

    >>> minutes("90"), minutes("1-00:00:00"), minutes("0:30:00")
    (90.0, 1440.0, 30.0)
    """
    days, dash, rest = text.partition("-")
    parts = [float(part) if part.isdigit() else 0.0 for part in (rest if dash else text).split(":")]
    if dash:
        hours, minute, second = (*parts, 0.0, 0.0)[:3]
        return float(days or 0) * 1440 + hours * 60 + minute + second / 60
    if len(parts) == 3:  # noqa: PLR2004 - hours, minutes, seconds
        return parts[0] * 60 + parts[1] + parts[2] / 60
    return parts[0] + (parts[1] / 60 if len(parts) > 1 else 0)


def _accounting(ran: Ran) -> Iterator[Found]:
    path = "/etc/slurm/slurmdbd.conf"
    file = ran.files.get(path)
    if file is None or starts(ran, "slurmdbd") is None:
        yield Found(
            message="starts no slurmdbd: nothing is accounted for", fix="accounting.sh", about="slurmdbd", absent=True
        )
        return
    settings = dict(line.partition("=")[::2] for line in file.content.splitlines() if "=" in line)
    if "SSL_CA=" not in settings.get("StorageParameters", ""):
        yield Found(
            message="talks to the database without checking its certificate",
            fix="StorageParameters=SSL_CA=...",
            about="StorageHost",
        )
    if settings.get("StorageHost") != "database.example":
        yield Found(
            message="keeps its history elsewhere than in the cluster's database",
            fix=_COMES_TOGETHER,
            about="StorageHost",
        )
    if settings.get("AuthType", "auth/munge") not in ("auth/munge", "auth/slurm"):
        yield Found(
            message=f"slurmdbd has AuthType={settings['AuthType']}: anybody is anybody",
            fix="auth/munge",
            about="AuthType",
        )


def _users(_role: str, ran: Ran, _node: Node) -> Iterator[Found]:
    listed = [line.split()[1] for line in USERS.splitlines() if line.startswith("user ")]
    made = {call.arguments[-1] for call in ran.of("useradd") if call.arguments}
    for name in listed:
        if name not in made:
            yield Found(message="does not make the users of the list", fix="users.sh", about="useradd", absent=True)
            return
    for call in ran.of("useradd"):
        number = dict(zip(call.arguments, call.arguments[1:], strict=False)).get("--uid")
        if call.arguments[-1] == "alice" and number not in ("20001", None):
            yield Found(message="gives a user another number than the list", fix="--uid", about="useradd")


def _directory(role: str, ran: Ran, node: Node) -> Iterator[Found]:
    """A machine asks the directory by TLS alone, and lets in whom its settings name for its role."""
    if not node.directory:
        return
    path = "/etc/sssd/sssd.conf"
    file = ran.files.get(path)
    if file is None:
        yield Found(message="is not joined to the directory", fix=_COMES_TOGETHER, about="users.sh", absent=True)
        return
    if file.mode != _OWNER_ONLY:
        yield Found(message=f"has {path} with mode {file.mode:04o}: SSSD refuses it", fix="mode 0600", about=path)
    lines = (line for line in file.content.splitlines() if "=" in line and not line.startswith("#"))
    settings = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    yield from _asked(settings)
    groups = {one.strip() for one in settings.get("simple_allow_groups", "").split(",") if one.strip()}
    wanted = {LOGIN: {ALLOWED, ADMINISTRATORS}, CONTROLLER: {ADMINISTRATORS}, COMPUTE: set[str]()}[role]
    provider = "simple" if wanted else "deny"
    if settings.get("access_provider") != provider or groups != wanted:
        yield Found(
            message=f"lets in {', '.join(sorted(groups)) or 'others'} of the directory, and the settings say "
            f"{', '.join(sorted(wanted)) or 'nobody on nodes'}",
            fix=f"access_provider = {provider}, with the groups of the settings",
            about="access_provider",
        )
    if starts(ran, "sssd") is None:
        yield Found(message="starts no sssd", fix="start_service sssd", about="start_service sssd", absent=True)


def _asked(settings: Mapping[str, str]) -> Iterator[Found]:
    """Yield what of SSSD's settings would ask another directory, or in plain text."""
    encrypted = all(uri.strip().startswith("ldaps://") for uri in settings.get("ldap_uri", "").split(","))
    if not encrypted and settings.get("ldap_id_use_start_tls", "").lower() != "true":
        yield Found(message="asks the directory in plain text", fix="ldaps://, or StartTLS", about="ldap_uri")
    for name, (pattern, why) in _SSSD.items():
        value = settings.get(name, "")
        if not re.fullmatch(pattern, value.lower()):
            yield Found(message=f"{name} is {value or 'not set'}: {why}", fix=f"{name} as it was", about=name)


#: Settings of SSSD: pattern of the value, empty where it may be missing, and what happens otherwise.
_SSSD = {
    "ldap_tls_reqcert": ("demand|hard|", "any server may say who becomes root"),
    "services": (r"(?=.*\bnss\b)(?=.*\bpam\b).*|", "programs of the machine know nobody of the directory"),
    "id_provider": ("ldap", "nobody of the directory is known"),
    "auth_provider": ("ldap", "no password of the directory is checked"),
    "enumerate": ("false|", "every machine reads the whole directory"),
    "override_homedir": ("/shared/home/%u", "homes are not on shared storage"),
    "min_id": (r"[1-9]\d{3,}", "an entry of the directory may be a service of the machine"),
}


def sockets(ran: Ran) -> Iterator[Found]:
    """Yield every socket that answers with a token, in a folder that others than root enter."""
    for call in ran.of("python3", "python"):
        for word in call.arguments:
            folder = word.rpartition("/")[0]
            if re.match(r"/run/\S+/\S+$", word) and ran.folders.get(folder, 0) & 0o077:
                yield Found(
                    message=f"answers with tokens at {word}, in a folder that every user enters",
                    fix="install --directory --mode=0700",
                    about=folder,
                )


def leavers(ran: Ran) -> Iterator[Found]:
    """Yield what is wrong where a user who is known to the machine has left the list."""
    calls = [call for call in ran.of("usermod", "passwd", "chage", "userdel") if LEAVER in call.arguments]
    words = {word for call in calls for word in call.arguments}
    locked = words & {"--lock", "-L", "-l", "--expiredate", "-e", "-E"} or any(
        call.program == "userdel" for call in calls
    )
    if ran.status is not None and not locked:
        yield Found(
            message="lets a user in who has left the list", fix="lock the account: usermod --expiredate 1", about="lock"
        )


_RULES: tuple[Callable[[str, Ran, Node], Iterator[Found]], ...] = (
    _secrets,
    _modes,
    _key,
    _administrators,
    _logins,
    _metadata,
    _mounts,
    _disks,
    _packages,
    _upgrades,
    _sources,
    _downloads,
    _comes_back,
    _users,
    _directory,
)
