"""The node type: known, offered here, wired as the catalogue says, booted from an image that fits and stays."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from clusterwright.catalog.records import Instance
from clusterwright.checks.preflight.configuration.frame import open_keys
from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import flag, text, whole
from clusterwright.checks.preflight.results import Outcome, Status, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.clouds import CLOUDS

_MIB = 2.0**20
_ARM = re.compile(r"arm64|aarch64|2404-gb\b")
_X86 = re.compile(r"amd64|x86[_-]64")
#: Public parameters of distributions, whose images boot without a driver of accelerators.
_PLAIN_SYSTEM = re.compile(r"/aws/service/(canonical|debian|suse|freebsd|ami-amazon-linux-latest|ami-windows-latest)/")
#: Software that an image's name tells it has.
_SOFTWARE = {"nvidia": re.compile(r"nvidia|cuda"), "rocm": re.compile(r"rocm"), "neuron": re.compile(r"neuron")}

#: Node facts that a project repeats from the catalogue, by cloud: key, and the fact. A fact of None is not compared.
_FACTS: dict[str, tuple[tuple[str, Callable[[Instance], Any]], ...]] = {
    "aws": (
        ("networkCards", lambda instance: instance.network_cards),
        ("fabricInterfaces", lambda instance: instance.fabric_interfaces),
        ("cardZeroHasFabric", lambda instance: instance.card_zero_has_fabric),
        ("maxInterfacesPerCard", lambda instance: instance.interfaces_per_card),
    ),
    "azure": (("fabricInterfaces", lambda instance: instance.fabric_interfaces),),
    "gcp": (
        ("gpuNetworks", lambda instance: instance.gpu_networks),
        ("rdmaSubnets", lambda instance: instance.rdma_subnets),
        ("mtu", lambda instance: None if instance.mtu_bytes is None else int(instance.mtu_bytes)),
        ("nicType", lambda instance: instance.nic_type),
        ("rdma", lambda instance: instance.fabric_kind == "roce"),
    ),
}
_EVERYWHERE: tuple[tuple[str, Callable[[Instance], Any]], ...] = (
    ("gpusPerNode", lambda instance: instance.gpus),
    ("cpus", lambda instance: instance.vcpus),
    ("fabric", lambda instance: instance.fabric_kind),
)
#: Fabrics that programs call by another name: an ordinary interface is none.
_SAME_FABRIC = ({"gvnic", "none"},)
#: Share of the catalogue's memory that a node may be said to have: Slurm drains nodes that have less than they say.
_MOST_MEMORY = 1.0
_LEAST_MEMORY = 0.5


def known(subject: Subject) -> Iterator[Outcome]:
    """Check that the catalogue knows the type, and say what of it could not be verified."""
    setting = subject.project.setting("nodeType.instanceType")
    if setting is None:
        yield Outcome(status="FAIL", message="the node type names no instance type")
        return
    instance = subject.instance
    if instance is None:
        names = [name for name, entry in subject.catalogue.instances.items() if entry.cloud == subject.cloud]
        close = get_close_matches(subject.instance_type, names, n=1)
        yield Outcome(
            status="FAIL",
            message=f"{subject.cloud} has no type {subject.instance_type!r} in the catalogue",
            fix=f"did you mean {close[0]}?" if close else "clusterwright facts lists the types",
            place=setting.place,
        )
    elif not instance.verified:
        yield Outcome(
            status="WARN",
            message=f"not every fact of {instance.id} could be verified{f': {instance.note}' if instance.note else ''}",
            fix=f"clusterwright facts {instance.id} shows them; hold them against the provider's page",
            place=setting.place,
        )
    else:
        yield passed(f"{instance.id}: {instance.gpus} × {instance.accelerator}", setting.place)


def wiring(subject: Subject) -> Iterator[Outcome]:
    """Hold the node facts that the project repeats against the catalogue: interfaces, networks, MTU, processors."""
    instance = subject.instance
    if instance is None:
        return
    compared = 0
    for key, fact in (*_EVERYWHERE, *_FACTS[subject.cloud]):
        wanted = fact(instance)
        for setting in subject.project.settings(f"nodeType.{key}"):
            if wanted is None or _same(setting.value, wanted):
                compared += wanted is not None
                continue
            yield Outcome(
                status="FAIL",
                message=f"{instance.id} has {key} {_word(wanted)}, the project says {_word(setting.value)}",
                fix=f"./cluster.sh set nodeType.{key} {_word(wanted)}",
                place=setting.place,
            )
    yield from _memory(subject, instance)
    if compared:
        yield passed(f"{compared} node facts as in the catalogue: {_wired(instance)}")


def _memory(subject: Subject, instance: Instance) -> Iterator[Outcome]:
    setting = subject.project.setting("nodeType.memoryMib")
    given = whole(setting.value) if setting else None
    if setting is None or given is None or instance.memory_bytes is None:
        return
    has = int(instance.memory_bytes // _MIB)
    if not _LEAST_MEMORY * has <= given <= _MOST_MEMORY * has:
        yield Outcome(
            status="FAIL",
            message=f"{instance.id} has {has:,} MiB of memory, the project says {given:,}",
            fix=f"./cluster.sh set nodeType.memoryMib {has}; Slurm drains nodes that "
            "have less than they are said to have",
            place=setting.place,
        )


def _same(given: Any, wanted: Any) -> bool:  # noqa: ANN401 - configuration values
    if isinstance(wanted, bool):
        return flag(given) == wanted
    if isinstance(wanted, int):
        return whole(given) == wanted
    return text(given) == wanted or any({text(given), wanted} <= names for names in _SAME_FABRIC)


def _word(value: Any) -> str:  # noqa: ANN401 - configuration values
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wired(instance: Instance) -> str:
    if instance.fabric_kind == "none" or not instance.fabric_interfaces:
        return "one ordinary interface"
    return f"{instance.fabric_interfaces} × {instance.fabric_kind}"


def image_fits(subject: Subject) -> Iterator[Outcome]:
    """Check an image's name against processor and accelerator: architecture, vendor's software."""
    instance, setting = subject.instance, subject.project.setting("nodeType.image")
    if instance is None or "nodeType.image" in open_keys(subject):
        return
    if setting is None and subject.project.scheduler == "kubernetes" and CLOUDS[subject.cloud].kubernetes_has_images:
        return
    if instance.vendor_software == "tpu" and setting is None:
        yield from _tpu_runtime(subject, instance)
        return
    if setting is None or not text(setting.value):
        yield Outcome(
            status="FAIL",
            message=f"no image is set for {instance.id}",
            fix="./cluster.sh set nodeType.image …; README.md says which",
            place=setting.place if setting else None,
        )
        return
    name = text(setting.value).lower()
    arm = instance.architecture == "arm64"
    if _X86.search(name) if arm else _ARM.search(name):
        yield _unfit(setting, f"{instance.id} is {instance.architecture}, the image is not: {setting.value}")
    if instance.gpus and _PLAIN_SYSTEM.search(name):
        yield _unfit(
            setting, f"the image is a distribution's own, without the driver of {instance.id}: {setting.value}"
        )
    for software, pattern in _SOFTWARE.items():
        if software != instance.vendor_software and pattern.search(name):
            yield _unfit(
                setting, f"the image is for {software}, {instance.id} needs {instance.vendor_software}: {setting.value}"
            )
    yield passed(f"{setting.value}", setting.place)


def _tpu_runtime(subject: Subject, instance: Instance) -> Iterator[Outcome]:
    """Check what hosts of TPUs boot from: Cloud TPU knows it by the name of a runtime version, not by an image."""
    setting = subject.project.setting("tpuRuntimeVersion")
    if setting is not None and text(setting.value):
        yield passed(f"runtime version {setting.value}", setting.place)
        return
    known = instance.image or "…"
    yield Outcome(
        status="FAIL",
        message=f"no runtime version is set for {instance.id}",
        fix=f"./cluster.sh set tpuRuntimeVersion {known}",
        place=setting.place if setting else None,
    )


def _unfit(setting: Setting, message: str) -> Outcome:
    return Outcome(status="FAIL", message=message, fix="take the image of this type: README.md", place=setting.place)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moving:
    """How a cloud's images are asked for that move.

    Attributes:
        reference: pattern of such a reference.
        command: finds the image that it means now; of `{image}`, `{region}`, and the parts of the reference.
        parts: pattern of a reference with its parts by name.
        status: what becomes of it: a program that refuses it, or one that resolves it again at every `up`, which
            replaces nodes.
    """

    reference: re.Pattern[str]
    command: str
    parts: re.Pattern[str] = re.compile("")
    status: Status = "WARN"


_MOVING = {
    "aws": _Moving(
        reference=re.compile(r"/latest/|/recommended/|^resolve:"),
        command="aws ssm get-parameter --region {region} --name {image} --query Parameter.Value --output text",
    ),
    "azure": _Moving(
        reference=re.compile(r"(?i):latest$"),
        command="az vm image list --publisher {publisher} --offer {offer} --sku {sku} --all --query '[-1].version'",
        parts=re.compile(r"(?P<publisher>[^:]*):?(?P<offer>[^:]*):?(?P<sku>[^:]*)"),
        status="FAIL",
    ),
    "gcp": _Moving(
        reference=re.compile(r"/family/|^family/"),
        command="gcloud compute images describe-from-family {family} --project {project} --format='value(name)'",
        parts=re.compile(r"(?:projects/)?(?P<project>[a-z0-9-]+)/(?:global/images/)?family/(?P<family>[a-z0-9-]+)"),
    ),
}


def image_pinned(subject: Subject) -> Iterator[Outcome]:
    """Check that every image is one that stays: nodes made later are then like those made first."""
    moving = _MOVING[subject.cloud]
    found = [
        setting
        for key in ("nodeType.image", "controllerImage", "loginImage", "systemImage")
        for setting in subject.project.settings(key)
    ]
    good, still_open = True, open_keys(subject)
    seen: set[tuple[str, str]] = set()
    for setting in found:
        image = text(setting.value)
        if not moving.reference.search(image) or setting.name in still_open or (setting.name, image) in seen:
            continue
        seen.add((setting.name, image))
        good = False
        yield Outcome(
            status=moving.status,
            message=f"{setting.name} moves: {image}",
            fix=f"./cluster.sh set {setting.name} $({_look_up(moving, image, subject)}); --online looks it up",
            place=setting.place,
        )
    if good and any(text(setting.value) for setting in found):
        yield passed(", ".join(dict.fromkeys(text(setting.value) for setting in found if text(setting.value))))


def _look_up(moving: _Moving, image: str, subject: Subject) -> str:
    parts = {"image": image, "region": subject.region or "REGION", "project": "PROJECT", "family": image}
    found = moving.parts.search(image)
    return moving.command.format(**parts | (found.groupdict() if found else {}))
