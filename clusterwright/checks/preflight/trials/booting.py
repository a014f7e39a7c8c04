"""Machines of a Slurm cluster at boot, tried with stand-ins: in order, and with one fault after another."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from clusterwright.checks.preflight.trials.machine import Machine, Ran

SCRIPTS = "/opt/gpu-cluster"
CONTROLLER, LOGIN, COMPUTE = "controller", "login", "compute"
#: What each fault takes away, and what a node that starts Slurm in spite of it would do.
FAULTS = {
    "nft": "leaves the metadata service to every user: the rules that close it cannot be loaded",
    "packages": "goes on when packages cannot be installed",
    "keyring": "takes packages of an archive whose key is not the one of node/software.csv",
    "mount": "takes jobs without the shared file system",
    "key": "takes jobs without the cluster's key",
    "gpus": "takes jobs with a GPU missing",
    "fabric": "takes jobs with a fabric device missing",
    "transport": "takes jobs without the fabric's transport",
}
#: Programs by which a fault is met; a boot that calls none of them is not tried with it.
_MET_BY = {
    "nft": ("nft",),
    "packages": ("apt-get", "apt"),
    "keyring": ("gpg", "gpgv"),
    "mount": ("mount",),
    "key": ("aws", "curl"),
    "transport": ("docker", "podman"),
}
#: Faults of the node alone, which the script of its role has to see.
_OF_THE_ROLE = ("gpus", "fabric", "transport")
#: Of disks that nothing is on, and of those that somebody needs, such as an empty one of the network: one line each as
#: `lsblk` would know it.
_DISKS = (
    "NAME|PATH|TYPE|FSTYPE|MOUNTPOINT|SIZE|MODEL",
    "nvme0n1|/dev/nvme0n1|disk|||200G|{system}",
    "nvme0n1p1|/dev/nvme0n1p1|part|ext4|/|200G|",
    "nvme1n1|/dev/nvme1n1|disk|||3.5T|{local}",
    "nvme2n1|/dev/nvme2n1|disk|||3.5T|{local}",
    "nvme3n1|/dev/nvme3n1|disk|xfs||3.5T|{local}",
    "nvme4n1|/dev/nvme4n1|disk|||3.5T|{local}",
    "nvme4n1p1|/dev/nvme4n1p1|part|ext4||3.5T|",
    "nvme5n1|/dev/nvme5n1|disk|||1T|{system}",
)
FREE_DISKS = ("/dev/nvme1n1", "/dev/nvme2n1")
_LOCAL = {"aws": "Amazon EC2 NVMe Instance Storage", "azure": "Microsoft NVMe Direct Disk", "gcp": "nvme_card0"}
_SYSTEM = {"aws": "Amazon Elastic Block Store", "azure": "MSFT NVMe Accelerator", "gcp": "nvme_card-pd"}
KERNEL = "6.8.0-1021-trial-tcpx"
_KEY = ("one key of munge for every machine of the trial " * 3)[:128]
#: Password by which the trial's machines ask a directory; the store has it in base64.
BIND_PASSWORD = "tr1al b1nd #Pa55w0rd"  # noqa: S105 - of no directory
#: What must not be seen: name of the secret to its value as it comes, further forms of it apart.
SECRETS = {
    "key": base64.b64encode(_KEY.encode()).decode(),
    "database": "Tr1al-Pa55w0rd-of-no-database",
    "token": "trial.token.of.the.metadata.service.0123456789",
    "bindword": base64.b64encode(BIND_PASSWORD.encode()).decode(),
}
MUNGE_KEY = _KEY
#: One ordinary user, and one administrator.
USERS = (
    "group research 20100\n"
    "user alice 20001 no research\n"
    "key alice ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKx0 alice@example.com\n"
    "user eve 20003 yes\n"
    "key eve ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAb1"
)
#: A user of the cluster whom the list does not name any more, and the word of the stand-ins for it.
LEAVER, GONE = "mallory", "gone"
#: Whose members get in where, of the directory's settings.
ALLOWED, ADMINISTRATORS = "trial-users", "trial-admins"
_DIRECTORY = f"""\
uri ldaps://ldap1.example.com
uri ldaps://ldap2.example.com
base dc=example,dc=com
layout rfc2307bis
start_tls no
bind_dn cn=trial,dc=example,dc=com
allow {ALLOWED}
administrators {ADMINISTRATORS}
passwords no
ids 10000 59999
ca dHJpYWwK
"""
_DATA_IDENTITY = {
    "aws": "",
    "azure": "0a1b2c3d-0000-0000-0000-0123456789ab",
    "gcp": "data@trial.iam.gserviceaccount.com",
}
_BUCKET = {"aws": "trial-bucket", "azure": "https://trial.blob.core.windows.net/data", "gcp": "gs://trial-bucket"}
_TIMEOUT_S = 90
#: Digits of the fingerprint of a key.
_FINGERPRINT = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """What a trial has to know of a node.

    Attributes:
        cloud: `aws`, `azure` or `gcp`; architecture: as `uname -m` says.
        gpus: of a node; gpu_type: Slurm's name; device: of the accelerators, without the number.
        fabric: kind, `none` for none; interfaces: devices of it.
        directory: whether the project joins its machines to one.
    """

    cloud: str
    gpus: int
    gpu_type: str
    fabric: str
    interfaces: int
    device: str = "nvidia"
    architecture: str = "x86_64"
    partition: str = "gpu"
    directory: bool = False

    @property
    def first_device(self) -> int:
        """Number of the first device file."""
        return 128 if self.device == "dri/renderD" else 0

    @property
    def device_step(self) -> int:
        """How far the numbers of device files are apart: a GPU of MI300 and newer has eight render nodes."""
        return 8 if self.device == "dri/renderD" and self.gpu_type.startswith("mi3") else 1


@dataclass(frozen=True, kw_only=True)
class Boots:
    """What machines did.

    Attributes:
        roles: name of the role to what its boot did, with everything in order.
        faulty: name of a fault to what a node did with it.
        health: what the health check did on a node with a device missing; None where there is no such script.
        served: what a node's own services did that answer on a socket.
        untried: faults that a node's boot met nowhere, since it calls no program of theirs.
        left: what a machine did that knows a user who is not in the list; None where there is no such script.
    """

    roles: Mapping[str, Ran]
    faulty: Mapping[str, Ran]
    health: Ran | None
    served: tuple[Ran, ...] = ()
    left: Ran | None = None
    untried: tuple[str, ...] = ()


#: Begin of a secret's name, where it is an address.
_SECRETS = {"azure": "https://vault.example/trial-"}


def environment_of(node: Node, role: str) -> str:
    """Return node.env of a machine of the trial."""
    secret = _SECRETS.get(node.cloud, "trial-")
    values: dict[str, object] = {
        "CLOUD": node.cloud,
        "ROLE": role,
        "NAME": "trial",
        "PARTITION": node.partition,
        "CONTROLLER_ADDRESS": "10.0.0.9",
        "REGION": "region-1",
        "SECRET_ID": f"{secret}key",
        "USERS_ID": f"{secret}users",
        "GPUS_PER_NODE": node.gpus,
        "GPU_TYPE": node.gpu_type,
        "FABRIC": node.fabric,
        "FABRIC_INTERFACES": node.interfaces,
        "ACCELERATOR_DEVICE": node.device,
        "SHARED_SOURCE": "10.0.0.4@tcp:/trial",
        "SHARED_PATH": "/shared",
        "SCRATCH_PATH": "/scratch",
        "BUCKET": _BUCKET[node.cloud],
        "DATA_IDENTITY": _DATA_IDENTITY[node.cloud],
        "DATABASE_HOST": "database.example",
        "DATABASE_USER": "slurm",
        "DATABASE_SECRET_ID": f"{secret}database",
        "DATABASE_CA": "",
        "IDENTITY_CLIENT_ID": "0a1b2c3d-0000-0000-0000-0123456789ac",
        "JOB_ENVIRONMENT": "container",
        "WAIT_S": 1,
    }
    if node.directory:
        values |= {"DIRECTORY_ID": f"{secret}settings", "DIRECTORY_PASSWORD_ID": f"{secret}bindword"}
    return "".join(f"CLUSTER_{name}='{value}'\n" for name, value in values.items())


@lru_cache(maxsize=32)
def boots(scripts: frozenset[tuple[str, str]], node: Node) -> Boots | None:
    """Boot a machine of each role, and a node with each fault; None where scripts cannot be run here.

    Args:
        scripts: name and content of what the stack puts onto every machine.
        node: of the cluster.
    """
    given = dict(scripts)
    roles: dict[str, Ran] = {}
    for role in (COMPUTE, CONTROLLER, LOGIN):
        if role == LOGIN and "login.sh" not in given:
            continue
        ran = _machine(given, node, role).run([f"{SCRIPTS}/bootstrap.sh"], environment={}, timeout_s=_TIMEOUT_S)
        if ran is None:
            return None
        roles[role] = ran
        if ran.status is None:
            break
    if roles[COMPUTE].status != 0 or None in {ran.status for ran in roles.values()}:
        return Boots(roles=roles, faulty={}, health=None)
    return Boots(
        roles=roles,
        faulty=dict(_with_faults(given, node, roles[COMPUTE])),
        health=_health(given, node),
        served=tuple(_served(given, node, roles[COMPUTE])),
        left=_left(given, node),
        untried=tuple(
            fault for fault in FAULTS if _can_fail(fault, given, node) and not _is_met(fault, roles[COMPUTE])
        ),
    )


def _with_faults(given: Mapping[str, str], node: Node, booted: Ran) -> Iterator[tuple[str, Ran]]:
    for fault in FAULTS:
        if not _can_fail(fault, given, node) or not _is_met(fault, booted):
            continue
        script = "compute.sh" if fault in _OF_THE_ROLE and "compute.sh" in given else "bootstrap.sh"
        ran = _machine(given, node, COMPUTE, fault=fault).run(
            [f"{SCRIPTS}/{script}"], environment={}, timeout_s=_TIMEOUT_S, faults=fault
        )
        if ran is not None:
            yield fault, ran
        # One that does not end is enough to wait for.
        if ran is None or ran.status is None:
            return


def _is_met(fault: str, booted: Ran) -> bool:
    return fault not in _MET_BY or bool(booted.of(*_MET_BY[fault]))


def _can_fail(fault: str, given: Mapping[str, str], node: Node) -> bool:
    if fault == "gpus":
        return node.gpus > 0
    if fault == "fabric":
        return node.fabric != "none"
    if fault == "transport":
        return node.fabric in ("tcpx", "tcpxo", "roce") and f"transport_{node.cloud}.sh" in given
    return True


def _served(given: Mapping[str, str], node: Node, booted: Ran) -> Iterator[Ran]:
    """Start the services of a node that answer on a socket; the programs themselves are not run."""
    for path, file in booted.files.items():
        start = re.search(rf"(?m)^ExecStart=\S*bash ({SCRIPTS}/\S+ serve)$", file.content)
        if path.startswith("/etc/systemd/system/") and start:
            machine = _machine(given, node, COMPUTE)
            ran = machine.run(start[1].split(), environment={"RECORD_PROGRAMS": "all"}, timeout_s=_TIMEOUT_S)
            if ran is not None:
                yield ran


def _health(given: Mapping[str, str], node: Node) -> Ran | None:
    if "health_check.sh" not in given or node.fabric == "none":
        return None
    machine = _machine(given, node, COMPUTE, fault="fabric")
    return machine.run([f"{SCRIPTS}/health_check.sh"], environment={}, timeout_s=_TIMEOUT_S)


def _left(given: Mapping[str, str], node: Node) -> Ran | None:
    if "users.sh" not in given:
        return None
    machine = _machine(given, node, COMPUTE, fault=GONE)
    return machine.run([f"{SCRIPTS}/users.sh"], environment={}, timeout_s=_TIMEOUT_S, faults=GONE)


def _machine(given: Mapping[str, str], node: Node, role: str, fault: str = "") -> Machine:
    gpus = node.gpus - (fault == "gpus")
    first = node.first_device
    files = {f"{SCRIPTS}/{name}": content for name, content in given.items()}
    files |= {
        "/etc/gpu-cluster/node.env": environment_of(node, role),
        "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
        "/etc/nsswitch.conf": "passwd:         files systemd\ngroup:          files systemd\n",
        "/proc/sys/user/max_user_namespaces": "1000\n",
        "/opt/tcpdirect_benchmark/gpu_rxq_configuration.textproto": "trial\n",
        "/dev/dmabuf_import_helper": "",
    }
    links = {f"/dev/{node.device}{first + node.device_step * number}": "/dev/null" for number in range(gpus)}
    for path, content, link in _fabric(node, node.interfaces - (fault == "fabric")):
        (links if link else files)[path] = content
    software = given.get("software.csv", "")
    marks = [word for text in given.values() for word in _forty(text)]
    disks = "\n".join(_DISKS).format(local=_LOCAL[node.cloud], system=_SYSTEM[node.cloud])
    return Machine(
        files=files,
        folders=("/dev/tcp/10.0.0.9", "/dev/tcp/node-1", "/usr/local/share/enroot", "/usr/local/bin", "/shared/home"),
        links=links,
        answers={
            "software": software,
            "fingerprints": "\n".join(dict.fromkeys(marks)),
            "disks": disks + "\n",
            "kernel": f"{KERNEL}\n",
            "machine": f"{node.architecture}\n",
            "architecture": "arm64\n" if node.architecture == "aarch64" else "amd64\n",
            # What is not tried is there already, which takes less time.
            "complete": "yes" if fault not in ("", "packages") else "",
            "secret-trial-users": USERS,
            "secret-trial-settings": _DIRECTORY,
            **{f"secret-trial-{name}": value for name, value in SECRETS.items()},
        },
    )


def _forty(text: str) -> Iterator[str]:
    for word in text.replace(",", " ").replace('"', " ").replace("'", " ").split():
        if len(word) == _FINGERPRINT and all(sign in "0123456789ABCDEF" for sign in word):
            yield word


def _fabric(node: Node, devices: int) -> Iterator[tuple[str, str, bool]]:
    """Yield path, content and whether it is a link, of what the kernel shows of a node's fabric."""
    if node.fabric == "efa":
        for number in range(devices):
            yield f"/sys/class/infiniband/rdmap{number}/device/driver", "../drivers/efa", True
    elif node.fabric in ("infiniband", "roce"):
        for number in range(devices):
            port = f"/sys/class/infiniband/mlx5_{number}/ports/1"
            yield f"{port}/link_layer", "InfiniBand\n" if node.fabric == "infiniband" else "Ethernet\n", False
            yield f"{port}/state", "4: ACTIVE\n", False
    elif node.fabric in ("tcpx", "tcpxo"):
        for number in range(devices + 1):
            yield f"/sys/class/net/eth{number}/device/driver", "../drivers/gve", True
