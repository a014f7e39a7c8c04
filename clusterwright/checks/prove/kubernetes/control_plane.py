"""The control plane on premises: servers, the address that they share, ranges of pods; and how GPUs are divided."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import FOLDER, Cluster, amount, read_yaml, value_at, values_at, wrong
from clusterwright.checks.prove.papers import CellError
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_document
from clusterwright.errors import Finding
from clusterwright.facility.server_roles import server_roles

_ID = "K8S011"
_PLANE = f"{FOLDER}/control-plane"
_INIT, _VIP = f"{_PLANE}/kubeadm-init.yaml", f"{_PLANE}/kube-vip.yaml"
_JOINS = (f"{_PLANE}/kubeadm-join-control.yaml", f"{_PLANE}/kubeadm-join-node.yaml")
#: Seconds that a leader keeps the address, has for renewing it, and waits between tries.
_LEASE = ("vip_leaseduration", "vip_renewdeadline", "vip_retryperiod")
#: Without each of these no server, or every one, answers at the shared address.
_SWITCHES = ("vip_arp", "cp_enable", "vip_leaderelection")
#: Share of a host's memory and cores that the kubelet may reserve for its system, at most.
_MOST_RESERVED = 0.1
_PAGE = f"{_PLANE}/README.md"
_ADDRESS_OF = re.compile(r"^\| (\S+) \| (\d+(?:\.\d+){3}) \|")
_SLICES, _DIVISION = "mig-slices", "nvidia.com/mig.config"
#: What the page says of the order of work: who is meant, and which servers or how many machines it has to name.
_FIRST, _OTHERS = re.compile(r"^# On ([\w-]+), from this folder"), re.compile(r"^# On ([\w, -]+), one after the other")
_COUNTED = (
    (re.compile(r"by kubeadm on (\d+) servers?"), "servers"),
    (re.compile(r"^# On each of the ([\d,]+) nodes"), "nodes"),
    (re.compile(r"\| ([\d,]+) servers? and [\d,]+ nodes, Ready"), "servers"),
    (re.compile(r"\| [\d,]+ servers? and ([\d,]+) nodes, Ready"), "nodes"),
    (re.compile(r"\| (\d+) members?, started"), "servers"),
)


def _read(cluster: Cluster, file: str) -> list[dict[str, Any]]:
    path = cluster.papers.documents.site / file
    try:
        return read_yaml(path) if path.is_file() else []
    except ValueError as error:
        raise CellError(f"{file}: {error}") from None


def _of_kind(documents: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    return next((one for one in documents if one.get("kind") == kind), {})


def _servers(cluster: Cluster) -> dict[str, str]:
    """Return the servers of the control plane with their addresses of the in-band network."""
    inventory = cluster.papers.documents.design.inventory
    named = server_roles(inventory.servers(), scheduler="kubernetes")[0].servers
    rows = cluster.papers.rows("ip-plan.csv")
    addresses = {row["device"]: row["address"] for row in rows if row["network"] == "in-band"}
    return {name: addresses.get(name, "") for name in named}


def endpoints(cluster: Cluster) -> Iterator[Finding]:
    """Yield servers and machines that do not meet at one address, which is no machine's own (`K8S011`)."""
    written = _read(cluster, _INIT)
    if not written:
        return
    init, plane = _of_kind(written, "InitConfiguration"), _of_kind(written, "ClusterConfiguration")
    endpoint, servers = str(plane.get("controlPlaneEndpoint", "")), _servers(cluster)
    host = endpoint.partition(":")[0]
    first = str(value_at(init, "nodeRegistration.name"))
    rule = "ip-plan.csv has it"
    if first not in servers:
        expected = ", ".join(servers)
        yield wrong(_ID, _INIT, "nodeRegistration.name", first, expected, "these are servers of the control plane")
    said = value_at(init, "localAPIEndpoint.advertiseAddress")
    if first in servers and said != servers[first]:
        yield wrong(_ID, _INIT, "advertiseAddress", said, servers[first], rule)
    names = set(map(str, value_at(plane, "apiServer.certSANs") or ()))
    for name in (host, *(value for server in servers.items() for value in server)):
        if name not in names:
            why = "clients refuse a certificate without the name that they ask for"
            yield wrong(_ID, _INIT, f"certSANs with {name}", None, name, why)
    yield from _shared(cluster, host)
    yield from _met(cluster, endpoint)


def _met(cluster: Cluster, endpoint: str) -> Iterator[Finding]:
    """Machines that join, and what holds the shared address, have the endpoint of the first server."""
    host, _, port = endpoint.partition(":")
    for file in _JOINS:
        for document in _read(cluster, file):
            said = value_at(document, "discovery.bootstrapToken.apiServerEndpoint")
            if said != endpoint:
                why = f"{_INIT} has it, and it goes on when a server fails"
                yield wrong(_ID, file, "apiServerEndpoint", said, endpoint, why)
    for document in _read(cluster, _VIP):
        values = {one.get("name"): one.get("value") for one in value_at(document, "spec.containers.0.env") or ()}
        for key, expected in (("address", host), ("port", port)):
            if str(values.get(key, "")) != expected:
                yield wrong(_ID, _VIP, key, values.get(key), expected, f"{_INIT} names it controlPlaneEndpoint")


def kubelets(cluster: Cluster) -> Iterator[Finding]:
    """Yield kubelets of another cgroup driver than containerd's, and leases that end before they are renewed."""
    kubelet = _of_kind(_read(cluster, _INIT), "KubeletConfiguration")
    driver = value_at(kubelet, "cgroupDriver")
    if driver not in {None, "systemd"}:
        yield wrong(_ID, _INIT, "cgroupDriver", driver, "systemd", "prepare.sh sets containerd to it")
    first = next(iter(_servers(cluster)), "")
    rows = cluster.papers.rows("ip-plan.csv")
    port = next((row["interface"] for row in rows if row["device"] == first and row["network"] == "in-band"), "")
    for document in _read(cluster, _VIP):
        values = {one.get("name"): one.get("value") for one in value_at(document, "spec.containers.0.env") or ()}
        named = values.get("vip_interface")
        if port and named not in {None, port}:
            yield wrong(_ID, _VIP, "vip_interface", named, port, "ip-plan.csv has the servers' addresses there")
        for key in _SWITCHES:
            if str(values.get(key, "true")) != "true":
                yield wrong(_ID, _VIP, key, values.get(key), "true", "one of the servers answers at the shared address")
        version = _release(cluster)
        for image in values_at(document, "spec.containers.*.image"):
            if version is not None and not str(image).endswith(f":v{version}"):
                yield wrong(_ID, _VIP, "image", image, f"v{version}", "plan.json has this release")
        times = [str(values.get(key, "")) for key in _LEASE]
        if all(time.isdigit() for time in times) and not int(times[0]) > int(times[1]) > int(times[2]):
            rule = "a lease is renewed before it ends"
            yield wrong(_ID, _VIP, " > ".join(_LEASE), " > ".join(times), "each less than the one before", rule)


def _release(cluster: Cluster) -> str | None:
    documents = cluster.papers.documents
    software = documents.plan.software_of(documents.option.target)
    return None if software is None else software.version("kube-vip")


def reserved(cluster: Cluster) -> Iterator[Finding]:
    """Yield reservations of the kubelet that leave pods nothing, and settings that are no truth values (`K8S011`)."""
    kubelet = _of_kind(_read(cluster, _INIT), "KubeletConfiguration")
    inventory = cluster.papers.documents.design.inventory
    system = cluster.papers.catalogue.systems[inventory.system]
    for key in ("failSwapOn", "serializeImagePulls"):
        said = kubelet.get(key, True)
        if not isinstance(said, bool):
            yield wrong(_ID, _INIT, key, said, "true or false", "the kubelet refuses its settings")
    hosts = inventory.hosts_per_node
    there = {"memory": None if system.memory_bytes is None else system.memory_bytes / hosts}
    if system.cpu_sockets and system.cpu_cores_per_socket:
        threads = system.cpu_sockets * system.cpu_cores_per_socket * (system.cpu_threads_per_core or 1)
        there["cpu"] = threads / hosts
    for name, whole in there.items():
        kept = sum(amount(value_at(kubelet, f"{key}.{name}") or 0) for key in ("systemReserved", "kubeReserved"))
        if whole is not None and kept > whole * _MOST_RESERVED:
            said = f"{kept / 2**30:,.0f}Gi" if name == "memory" else f"{kept:g}"
            most = whole * _MOST_RESERVED
            expected = f"at most {most / 2**30:,.0f}Gi" if name == "memory" else f"at most {most:.0f}"
            rule = "pods have at least nine tenths of a host"
            yield wrong(_ID, _INIT, f"{name} of systemReserved and kubeReserved", said, expected, rule)


def page(cluster: Cluster) -> Iterator[Finding]:
    """Yield servers that the page of the control plane has at another address (`K8S011`)."""
    path = cluster.papers.documents.site / _PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    servers = _servers(cluster)
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ADDRESS_OF.match(line)
        if match is not None and match[1] in servers and match[2] != servers[match[1]]:
            rule = "ip-plan.csv has it"
            yield wrong(_ID, f"{_PAGE}:{number}", f"the address of {match[1]}", match[2], servers[match[1]], rule)
        yield from _order(cluster, f"{_PAGE}:{number}", line, list(servers))


def _order(cluster: Cluster, place: str, line: str, servers: Sequence[str]) -> Iterator[Finding]:
    """The first server begins, every other one joins, and as many machines are there as the inventory has."""
    rule = "these are servers of the control plane"
    for pattern, expected in ((_FIRST, list(servers[:1])), (_OTHERS, list(servers[1:]))):
        match = pattern.match(line)
        said = [] if match is None else re.split(r", and |, | and ", match[1])
        if match is not None and sorted(said) != sorted(expected):
            yield wrong(_ID, place, "the servers", ", ".join(said), ", ".join(expected), rule)
    counts = {"servers": len(servers), "nodes": len(cluster.hosts)}
    for pattern, what in _COUNTED:
        match = pattern.search(line)
        if match is not None and int(match[1].replace(",", "")) != counts[what]:
            yield wrong(_ID, place, f"the {what}", match[1], f"{counts[what]:,}", "the inventory has them")


def _shared(cluster: Cluster, host: str) -> Iterator[Finding]:
    """The shared address is of the servers' network and of no machine; a name instead is the site's to resolve."""
    try:
        address = IPv4Address(host)
    except ValueError:
        return
    own = next((row for row in cluster.papers.rows("ip-networks.csv") if row["network"] == "in-band"), None)
    holder = next((row for row in cluster.papers.rows("ip-plan.csv") if row["address"] == host), None)
    if holder is not None:
        said = f"{host}, which {holder['device']} has"
        yield wrong(_ID, _INIT, "controlPlaneEndpoint", said, "an address of no machine", "it moves between servers")
    if own is not None and address not in IPv4Network(own["prefix"]):
        yield wrong(_ID, _INIT, "controlPlaneEndpoint", host, f"within {own['prefix']}", "servers answer there")


def ranges(cluster: Cluster) -> Iterator[Finding]:
    """Yield ranges of pods and services that overlap each other or a network of the site (`K8S011`)."""
    plane = _of_kind(_read(cluster, _INIT), "ClusterConfiguration")
    taken = {row["network"]: IPv4Network(row["prefix"]) for row in cluster.papers.rows("ip-networks.csv")}
    for key in ("podSubnet", "serviceSubnet"):
        said = value_at(plane, f"networking.{key}")
        if said is None:
            continue
        try:
            own = IPv4Network(str(said))
        except ValueError as error:
            raise CellError(f"{_INIT}: {key} is no network: {error}") from None
        for name, other in taken.items():
            if own.overlaps(other):
                rule = "an address is a pod's, a service's or a machine's"
                yield wrong(_ID, _INIT, key, own, f"clear of {other} ({name})", rule)
        taken[key] = own
        for pool in cluster.of("IPPool"):
            ports = IPv4Network(str(pool.at("spec.subnet")), strict=False)
            if own.overlaps(ports):
                rule = "an address is a pod's, a service's or a port's of the fabric"
                yield wrong("K8S007", pool.place, "subnet", ports, f"clear of {own} ({key})", rule)


def slices(cluster: Cluster) -> Iterator[Finding]:
    """Yield divided GPUs that are not the plan's, or have other slices than it (`K8S012`)."""
    documents = cluster.papers.documents
    software = documents.plan.software_of(documents.option.target)
    if software is None or not software.divided_of(len(cluster.hosts)):
        return
    yield from _labelled(cluster, set(cluster.hosts[-software.divided_of(len(cluster.hosts)) :]))
    wanted = dict(Counter(software.geometry))
    for config in cluster.of("ConfigMap"):
        text = config.at("data")
        if config.name != _SLICES or not isinstance(text, dict):
            continue
        for division in _divisions(config.place, str(text.get("config.yaml", ""))):
            said = division.get("mig-devices") or {}
            if said != wanted:
                yield wrong("K8S012", config.place, "the slices of a GPU", _words(said), _words(wanted), "the plan's")
            devices = division.get("devices")
            count = len(devices) if isinstance(devices, list) else cluster.gpus
            if count != software.divided_gpus:
                rule = "the plan divides as many of a node"
                yield wrong("K8S012", config.place, "the GPUs that are divided", count, software.divided_gpus, rule)


def _labelled(cluster: Cluster, divided: Collection[str]) -> Iterator[Finding]:
    """The label by which a host is divided is on those of the plan alone, and names a division that is there."""
    known = {
        name
        for config in cluster.of("ConfigMap")
        if config.name == _SLICES
        for name, entries in _configurations(
            config.place, str((config.at("data") or {}).get("config.yaml", ""))
        ).items()
        if any(one.get("mig-enabled") for one in entries)
    }
    for node in cluster.of("Node"):
        label = (node.at("metadata.labels") or {}).get(_DIVISION)
        if node.name in divided and label not in known:
            expected, rule = ", ".join(sorted(known)), "the plan divides the GPUs of this host"
            yield wrong("K8S012", node.place, _DIVISION, label, expected, rule)
        elif node.name not in divided and label in known:
            yield wrong("K8S012", node.place, _DIVISION, label, None, "the plan leaves the GPUs of this host whole")


def _divisions(place: str, text: str) -> Iterator[Mapping[str, Any]]:
    for entries in _configurations(place, text).values():
        yield from (one for one in entries if one.get("mig-enabled"))


def _configurations(place: str, text: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    try:
        body = yaml_document(text)
    except YamlTextError as error:
        raise CellError(f"{place}: {str(error)[:120]}") from None
    return value_at(body, "mig-configs") or {}


def _words(slices: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(slices.items()))
