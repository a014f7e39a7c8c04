"""What has to hold of the pods that a project's files ask for, whatever cluster they run in."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Status
from clusterwright.checks.preflight.scripts.manifests import Pods, items, mapping
from clusterwright.checks.preflight.scripts.pods import SLICE
from clusterwright.checks.preflight.subject import Subject

_SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_FABRIC_DEVICES = re.compile(r"^(vpc\.amazonaws\.com/efa|rdma/.*|nvidia\.com/(mlnx|rdma).*|mellanox\.com/.*)$")
_MOVES = re.compile(r"^(latest|main|master|stable|nightly|edge|dev)$")
#: Of a placeholder, which names no image on purpose.
_PLACEHOLDER = re.compile(r"[A-Z][A-Z-]+")
_INTERFACES = "networking.gke.io/interfaces"
_DEFAULT_INTERFACE = "networking.gke.io/default-interface"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of a pod
#: Variables that name interfaces of a pod: of the fabric's networks, and of the pod's own.
_OF_THE_FABRIC = re.compile(r"^NCCL_(GPUDIRECTTCPX_SOCKET|FASTRAK)_IFNAME$")
_OF_THE_POD = re.compile(r"^NCCL_(SOCKET_IFNAME|GPUDIRECTTCPX_CTRL_DEV|FASTRAK_CTRL_DEV)$")
_VENDORS = {"gcp": re.compile(r"^/usr/local/(nvidia|gib|tcpx|tcpxo)$")}
#: Fabrics of Google Cloud: the folder in which a pod finds its plugin.
_PLUGIN_FOLDERS = {"roce": "gib", "tcpx": "tcpx"}
_SOCKET = "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One thing that is wrong: what, what to do, a word of the line that says so, and how sure that is."""

    message: str
    fix: str
    about: str = ""
    status: Status = "FAIL"


def bytes_of(quantity: str) -> float | None:
    """Return a quantity of memory in bytes, None for what is none.

    >>> bytes_of("2Gi"), bytes_of("1500M"), bytes_of("much")
    (2147483648.0, 1500000000.0, None)
    """
    found = re.fullmatch(r"([0-9.]+)([kMGT]i?|Ki)?", quantity)
    return float(found[1]) * _SIZES[found[2] or ""] if found else None


def cores_of(quantity: str) -> float | None:
    """Return a quantity of processors in cores, None for what is none.

    >>> cores_of("1500m"), cores_of("90"), cores_of("many")
    (1.5, 90.0, None)
    """
    found = re.fullmatch(r"([0-9.]+)(m?)", quantity)
    return float(found[1]) / (1000 if found[2] else 1) if found else None


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a container that have a value."""
    return {
        text(one.get("name")): text(one.get("value"))
        for one in map(mapping, items(container.get("env")))
        if "value" in one
    }


def pod_problems(subject: Subject, pods: Pods) -> Iterator[Found]:
    """Yield what is wrong with pods of one kind."""
    for rule in _RULES:
        yield from rule(subject, pods)


def _on(value: object) -> bool:
    """Tell whether a flag is on as Kubernetes reads it: `yes` is one, too."""
    return value is True or (isinstance(value, str) and value.lower() in ("true", "yes", "on"))


def _limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(container.get("resources")).get("limits"))


def _workers(pods: Pods) -> list[Mapping[str, Any]]:
    """Return the containers with accelerators."""
    named = pods.accelerators
    return [one for one in pods.containers if named is not None and named[0] in _limits(one)]


def _whole_node(subject: Subject, pods: Pods) -> bool:
    instance, asked = subject.instance, pods.accelerators
    if instance is None or asked is None or asked[0].startswith(SLICE):
        return False
    return asked[1] >= instance.gpus and pods.count > 1


def _shared_memory(_subject: Subject, pods: Pods) -> Iterator[Found]:
    volumes = {text(mapping(one).get("name")): mapping(one) for one in items(pods.spec.get("volumes"))}
    if pods.accelerators is None or pods.accelerators[1] < 2:  # noqa: PLR2004 - several processes
        return
    for container in _workers(pods):
        at = {
            text(mapping(one).get("mountPath")).rstrip("/"): text(mapping(one).get("name"))
            for one in items(container.get("volumeMounts"))
        }
        kept = mapping(volumes.get(at.get(_SHARED_MEMORY, ""), {}).get("emptyDir"))
        if pods.spec.get("hostIPC"):
            continue
        if _SHARED_MEMORY not in at:
            yield Found(
                message="has 64 MiB of shared memory: processes that exchange data through it end",
                fix="mount an emptyDir with medium Memory at /dev/shm",
                about="volumeMounts",
            )
        elif "emptyDir" in volumes.get(at[_SHARED_MEMORY], {}):
            size = bytes_of(text(kept.get("sizeLimit"))) if kept.get("sizeLimit") is not None else None
            if kept.get("medium") != "Memory":
                yield Found(message="has its shared memory on a disk", fix="medium: Memory", about="emptyDir")
            elif size is not None and size < _SIZES["Gi"]:
                yield Found(
                    message=f"has {kept.get('sizeLimit')} of shared memory for {pods.accelerators[1]} accelerators",
                    fix="64Gi",
                    about="sizeLimit",
                )


def _pinned_memory(_subject: Subject, pods: Pods) -> Iterator[Found]:
    # Added capabilities are root's alone: what another user may pin is a limit of the runtime, which no pod sets.
    if _on(mapping(pods.spec.get("securityContext")).get("runAsNonRoot")):
        return
    for container in _workers(pods):
        rights = mapping(container.get("securityContext"))
        added = [text(one) for one in items(mapping(rights.get("capabilities")).get("add"))]
        if (
            any(_FABRIC_DEVICES.match(name) for name in _limits(container))
            and not {"IPC_LOCK", "ALL"} & set(added)
            and not rights.get("privileged")
        ):
            yield Found(
                message="may not pin memory, which RDMA needs: it has no IPC_LOCK",
                fix="capabilities: add: [IPC_LOCK]",
                about="securityContext",
            )


def _within_the_node(subject: Subject, pods: Pods) -> Iterator[Found]:
    def setting(name: str) -> float | None:
        found = subject.project.setting(f"nodeType.{name}")
        value = text(found.value) if found else ""
        return float(value) if re.fullmatch(r"[0-9.]+", value) else None

    memory, cores = setting("memoryMib"), setting("cpus")
    for container in pods.containers:
        resources = mapping(container.get("resources"))
        for kind in ("requests", "limits"):
            asked = mapping(resources.get(kind))
            size, processors = bytes_of(text(asked.get("memory"))), cores_of(text(asked.get("cpu")))
            if memory is not None and size is not None and size >= memory * _SIZES["Mi"]:
                yield Found(
                    message=f"asks for {asked.get('memory')} of memory; a node has {memory / 1024:,.0f} GiB",
                    fix="leave some for the node",
                    about="memory:",
                )
            if kind == "requests" and cores is not None and processors is not None and processors >= cores:
                yield Found(
                    message=f"asks for {asked.get('cpu')} processors; a node has {cores:,.0f}",
                    fix="leave some for the node",
                    about="cpu:",
                )


def _named_images(_subject: Subject, pods: Pods) -> Iterator[Found]:
    for container in pods.containers:
        image = text(container.get("image"))
        name, _, tag = image.rpartition("/")[2].partition(":")
        if not image or "@sha256:" in image or _PLACEHOLDER.match(image) or "$" in image:
            continue
        if not tag or _MOVES.match(tag):
            yield Found(
                message=f"runs {image}, which changes by itself: {name} has no version",
                fix="a tag of one release, or a digest",
                about=image,
            )


def _reaches_into_the_node(_subject: Subject, pods: Pods) -> Iterator[Found]:
    for way in ("hostNetwork", "hostPID", "hostIPC"):
        if _on(pods.spec.get(way)):
            yield Found(message=f"has {way}: it reaches what is the node's", fix="leave it out", about=way)
    for container in pods.containers:
        rights = mapping(container.get("securityContext"))
        if _on(rights.get("privileged")):
            yield Found(
                message="is privileged: it owns its node",
                fix="the capability IPC_LOCK and the fabric's device",
                about="privileged",
            )
    if pods.owner.kind == "Deployment" and pods.accelerators is not None:
        for holder in (pods.spec, *pods.containers):
            rights = mapping(holder.get("securityContext"))
            if ("runAsNonRoot" in rights and not _on(rights["runAsNonRoot"])) or whole(rights.get("runAsUser")) == 0:
                yield Found(
                    message="answers requests as root", fix="runAsNonRoot: true, runAsUser: 10001", about="runAs"
                )
                return


def _known_volumes(_subject: Subject, pods: Pods) -> Iterator[Found]:
    known = {text(mapping(one).get("name")) for one in items(pods.spec.get("volumes"))}
    known |= {
        text(mapping(mapping(one).get("metadata")).get("name"))
        for one in items(pods.owner.spec.get("volumeClaimTemplates"))
    }
    for container in pods.containers:
        for one in items(container.get("volumeMounts")):
            name = text(mapping(one).get("name"))
            if name not in known:
                yield Found(
                    message=f"mounts the volume {name}, which it does not have", fix="name one of volumes", about=name
                )


def _job(_subject: Subject, pods: Pods) -> Iterator[Found]:
    if pods.owner.kind != "Job":
        return
    spec, template = pods.owner.spec, pods.spec
    if template.get("restartPolicy") not in ("Never", "OnFailure"):
        yield Found(
            message=f"has restartPolicy {template.get('restartPolicy') or 'Always'}, which a job does not take",
            fix="restartPolicy: Never",
            about="restartPolicy",
        )
    saves = any(
        "--save" in text(word)
        for container in pods.containers
        for word in (*items(container.get("args")), *items(container.get("command")))
    )
    limit = whole(spec.get("backoffLimit"))
    if saves and limit is not None and limit < pods.count:
        yield Found(
            message=f"ends after {limit} failed pods; one lost node fails up to {pods.count}",
            fix="backoffLimit: as it was",
            about="backoffLimit",
        )
    if saves and spec.get("activeDeadlineSeconds") is not None:
        yield Found(
            message=f"ends after {spec['activeDeadlineSeconds']} s, however far it is",
            fix="leave activeDeadlineSeconds out",
            about="activeDeadlineSeconds",
        )


def _interfaces(_subject: Subject, pods: Pods) -> Iterator[Found]:
    """Pods of GKE name the networks of the fabric, and NCCL names the interfaces that they become."""
    given = mapping(pods.metadata.get("annotations"))
    if _INTERFACES not in given:
        return
    try:
        listed = [mapping(one) for one in json.loads(text(given[_INTERFACES]))]
    except (ValueError, TypeError):
        yield Found(message=f"has {_INTERFACES} that is no JSON", fix="put it back", about=_INTERFACES)
        return
    of = {text(one.get("interfaceName")): text(one.get("network")) for one in listed}
    own = text(given.get(_DEFAULT_INTERFACE))
    if own and own not in of:
        yield Found(
            message=f"has the default interface {own}, which it does not have",
            fix="name one of them",
            about=_DEFAULT_INTERFACE,
        )
    if len(of) < len(listed) or len(set(of.values())) < len(listed):
        yield Found(
            message="names an interface or a network twice", fix="each network one interface", about=_INTERFACES
        )
    fabric = {name for name, network in of.items() if network != "default"}
    for container in pods.containers:
        for name, value in environment(container).items():
            interfaces = set(value.split(","))
            if _OF_THE_FABRIC.match(name) and interfaces != fabric:
                yield Found(
                    message=f"{name} is {value}, and the networks of the fabric are {','.join(sorted(fabric))}",
                    fix="name them all",
                    about=name,
                )
            elif _OF_THE_POD.match(name) and not any(each.startswith(tuple(interfaces)) for each in of):
                yield Found(message=f"{name} is {value}, which the pod does not have", fix=f"{name}={own}", about=name)
            elif _OF_THE_POD.match(name) and interfaces <= fabric:
                yield Found(message=f"{name} is {value}, a network of the fabric", fix=f"{name}={own}", about=name)


def _vendor_folders(subject: Subject, pods: Pods) -> Iterator[Found]:
    """What Google's installers put onto a node is found by the loader, and by every pod of the fabric."""
    vendors = _VENDORS.get(subject.cloud)
    if vendors is None:
        return
    instance = subject.instance
    for container in _workers(pods):
        searched = environment(container).get("LD_LIBRARY_PATH", "").split(":")
        mounted = [text(mapping(one).get("mountPath")).rstrip("/") for one in items(container.get("volumeMounts"))]
        for path in mounted:
            if vendors.match(path) and f"{path}/lib64" not in searched:
                yield Found(
                    message=f"does not look for libraries in {path}/lib64, which it mounts",
                    fix=f"LD_LIBRARY_PATH={path}/lib64",
                    about="LD_LIBRARY_PATH",
                )
        wanted = (
            _PLUGIN_FOLDERS.get(instance.fabric_kind) if instance is not None and _whole_node(subject, pods) else None
        )
        if wanted and f"/usr/local/{wanted}" not in mounted:
            yield Found(
                message=f"does not mount /usr/local/{wanted}, the fabric's plugin: NCCL falls back to TCP",
                fix="put the volume back",
                about="volumeMounts",
            )


def _daemon(subject: Subject, pods: Pods) -> Iterator[Found]:
    """GPUDirect-TCPX needs its manager beside the job for as long as it runs, at the socket that NCCL asks."""
    instance = subject.instance
    if instance is None or instance.fabric_kind != "tcpx" or not _whole_node(subject, pods):
        return
    volumes = {text(mapping(one).get("name")) for one in items(pods.spec.get("volumes"))}
    beside = [
        one for one in map(mapping, items(pods.spec.get("initContainers"))) if one.get("restartPolicy") == "Always"
    ]
    beside += [one for one in map(mapping, items(pods.spec.get("containers"))) if one not in _workers(pods)]
    for worker in _workers(pods):
        prefix = environment(worker).get(_SOCKET, "")
        at = {
            text(mapping(one).get("mountPath")).rstrip("/"): text(mapping(one).get("name"))
            for one in items(worker.get("volumeMounts"))
        }
        shared = at.get(prefix.rstrip("/"), "")
        daemons = [
            one
            for one in beside
            if any(text(mapping(mount).get("name")) == shared for mount in items(one.get("volumeMounts")))
        ]
        if not shared or shared not in volumes or not daemons:
            yield Found(
                message="has no data path manager beside it at the socket that NCCL asks: NCCL falls back to TCP",
                fix="the sidecar tcpx-daemon, with restartPolicy Always",
                about="tcpx",
            )


def _asks_for_accelerators(_subject: Subject, pods: Pods) -> Iterator[Found]:
    """Pods that are sent to GPU nodes ask for GPUs; otherwise they see all of them, or none."""
    chosen = mapping(pods.spec.get("nodeSelector"))
    serves = any(
        re.search(
            r"--tensor-parallel-size|--nproc[-_]per[-_]node",
            " ".join(text(word) for key in ("command", "args") for word in items(container.get(key))),
        )
        for container in pods.containers
    )
    if pods.accelerators is None and pods.owner.kind != "DaemonSet" and (serves or chosen.get("node-kind") == "gpu"):
        yield Found(
            message="runs on GPU nodes and asks for no accelerator",
            fix="limits: the accelerators that it uses",
            about="limits",
        )


def _own_devices(_subject: Subject, pods: Pods) -> Iterator[Found]:
    """What a device plugin gives a container is in a variable; one of the container's own shows it the whole node."""
    for container in _workers(pods):
        shown = environment(container).get("NVIDIA_VISIBLE_DEVICES")
        if shown is not None:
            yield Found(
                message=f"shows its container the GPUs {shown} of the node, whichever are its own",
                fix="leave NVIDIA_VISIBLE_DEVICES to the device plugin",
                about="NVIDIA_VISIBLE_DEVICES",
            )


_RULES: tuple[Callable[[Subject, Pods], Iterator[Found]], ...] = (
    _shared_memory,
    _pinned_memory,
    _within_the_node,
    _named_images,
    _reaches_into_the_node,
    _known_volumes,
    _job,
    _interfaces,
    _vendor_folders,
    _daemon,
    _asks_for_accelerators,
    _own_devices,
)
