"""The compute ports that pods get: as many as are wired, of the fabric's kind, with addresses that nothing else has."""

import json
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, value_at, wrong
from clusterwright.checks.prove.papers import CellError
from clusterwright.checks.prove.site.switches import NVUE, written_text
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK

_NETWORKS = "k8s.v1.cni.cncf.io/networks"
#: Selectors that tell single ports of a node apart.
_BY_NAME = frozenset({"pfNames", "pciAddresses", "rootDevices"})
_RAIL = re.compile(r"nvidia\.com/rail(-\d+)?")
_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
_VERSION = re.compile(r"--version (\S+)")
#: Charts whose release is a component of the plan's software.
_CHARTS = ("gpu-operator", "network-operator", "kueue")


def _json(one: Object, path: str) -> dict[str, Any]:
    try:
        found = json.loads(str(one.at(path)))
    except ValueError:
        raise CellError(f"{one.place}: {path} is no JSON") from None
    return found if isinstance(found, dict) else {}


def ports(cluster: Cluster) -> Iterator[Finding]:
    """Yield what hands out other ports than those of the compute fabric, and pods that get another number of them."""
    infiniband = cluster.papers.documents.design.inventory.compute_network == INFINIBAND_NETWORK
    resources = set()
    for policy in cluster.of("NicClusterPolicy"):
        for entry in _json(policy, "spec.sriovDevicePlugin.config").get("resourceList", []):
            resources.add(entry.get("resourceName"))
            selectors = entry.get("selectors", {})
            link, expected = selectors.get("linkTypes"), ["infiniband"] if infiniband else None
            # A user may name the ports themselves, which the README asks for where storage ports are among them.
            if link != expected and not _BY_NAME & set(selectors):
                rule = f"the compute fabric is {cluster.papers.documents.design.inventory.compute_network}"
                yield wrong("K8S007", policy.place, "linkTypes", link, expected, rule)
            if selectors.get("isRdma") is not True:
                yield wrong("K8S007", policy.place, "isRdma", selectors.get("isRdma"), True, "NCCL uses verbs")
    yield from _nodes(cluster)
    yield from _routed(cluster)
    networks = {one.name: one for one in cluster.of("HostDeviceNetwork", "NetworkAttachmentDefinition")}
    for network in cluster.of("HostDeviceNetwork"):
        name = network.at("spec.resourceName")
        if name not in resources:
            yield wrong(
                "K8S007", network.place, "resourceName", name, ", ".join(map(str, resources)), "the plugin offers it"
            )
        pool = _json(network, "spec.ipam").get("poolName")
        pools = {one.name for one in cluster.of("IPPool")}
        if pool not in pools:
            yield wrong("K8S007", network.place, "poolName", pool, ", ".join(sorted(pools)), "its addresses are there")
    yield from _pods(cluster, set(networks))


def _routed(cluster: Cluster) -> Iterator[Finding]:
    """Rails of an Ethernet fabric: each port by itself, and addresses that its own leaf routes and nobody else has."""
    inventory = cluster.papers.documents.design.inventory
    if inventory.compute_network == INFINIBAND_NETWORK or inventory.planes > 1 or not cluster.of("NicClusterPolicy"):
        return
    for policy in cluster.of("NicClusterPolicy"):
        for entry in _json(policy, "spec.sriovDevicePlugin.config").get("resourceList", []):
            if not _BY_NAME & set(entry.get("selectors", {})):
                rule = "storage and in-band ports are Ethernet too, and each rail has a network of its own"
                name = entry.get("resourceName")
                yield wrong("K8S007", policy.place, f"what tells {name} apart", None, "pfNames of one port", rule)
    pools = {one.name: one for one in cluster.of("CIDRPool")}
    for network in cluster.of("NetworkAttachmentDefinition"):
        plugins = list(_json(network, "spec.config").get("plugins") or [])
        pool = ((plugins[0] if plugins else {}).get("ipam") or {}).get("poolName")
        if pool not in pools:
            yield wrong("K8S007", network.place, "poolName", pool, ", ".join(sorted(pools)), "its addresses are there")
        elif (network.at("metadata.annotations") or {}).get(_RESOURCE) != f"nvidia.com/{pool}":
            said = (network.at("metadata.annotations") or {}).get(_RESOURCE)
            yield wrong("K8S007", network.place, "resourceName", said, f"nvidia.com/{pool}", "the pool is of that rail")
        if not any(plugin.get("type") == "sbr" for plugin in plugins):
            rule = "else packets of every rail leave by the first one"
            yield wrong("K8S007", network.place, "plugins", "no sbr", "sbr behind host-device", rule)
    yield from _pairs(cluster, list(pools.values()))


def _pairs(cluster: Cluster, pools: list[Object]) -> Iterator[Finding]:
    """Each host has a pair of addresses on every rail."""
    rails: dict[str, list[Mapping[str, str]]] = {}
    taken: dict[IPv4Address, str] = {}
    for row in cluster.papers.rows("ip-plan.csv"):
        taken[IPv4Address(row["address"])] = row["device"]
        if row["network"].startswith("compute "):
            rails.setdefault(row["device"], []).append(row.cells)
    for number, pool in enumerate(pools):
        listed = {str(one.get("nodeName")): one for one in pool.at("spec.staticAllocations") or []}
        yield from _pool(pool, [IPv4Network(str(one.get("prefix"))) for one in listed.values()])
        for host in sorted(rails.keys() - listed.keys()):
            yield wrong("K8S007", pool.place, f"the prefix of {host}", None, "one", "it would get another leaf's")
        for host, one in listed.items():
            if number < len(rails.get(host, [])):
                yield from _pair(cluster, pool, one, rails[host][number], taken)


def _pool(pool: Object, pairs: list[IPv4Network]) -> Iterator[Finding]:
    """A pool gives out what its hosts are given."""
    whole, length = IPv4Network(str(pool.at("spec.cidr"))), pool.at("spec.perNodeNetworkPrefix")
    for pair in pairs:
        if not pair.subnet_of(whole):
            rule = "nv-ipam gives no addresses beside its network"
            yield wrong("K8S007", pool.place, "cidr", whole, f"one that holds {pair}", rule)
            return
        if pair.prefixlen != length:
            rule = "a host has a network of this length"
            yield wrong("K8S007", pool.place, "perNodeNetworkPrefix", length, pair.prefixlen, rule)
            return


def _pair(
    cluster: Cluster, pool: Object, one: Mapping[str, object], port: Mapping[str, str], taken: dict[IPv4Address, str]
) -> Iterator[Finding]:
    """A pair is in the network of the port's leaf, nobody else has it, and the leaf has its gateway."""
    what, pair = f"the prefix of {port['device']}", IPv4Network(str(one.get("prefix")))
    leaf = IPv4Network(f"{port['address']}/{port['prefix_length']}", strict=False)
    if not pair.subnet_of(leaf):
        rule = f"{port['interface']} of {port['device']} is in the network {port['network']}"
        yield wrong("K8S007", pool.place, what, pair, f"a part of {leaf}", rule)
    for address in pair:
        if address in taken:
            yield wrong("K8S007", pool.place, what, pair, "one that is free", f"{taken[address]} has {address}")
        taken[address] = f"the pod of {port['device']}"
    file = f"{NVUE}/{port['network'].removeprefix('compute ')}.txt"
    commands = written_text(cluster.papers, file)
    line = f"nv set interface vlan{port['vlan']} ip address {one.get('gateway')}/{pair.prefixlen}"
    if commands and line not in commands.splitlines():
        said, rule = str(one.get("gateway")), f"{file} does not set it"
        yield wrong("K8S007", pool.place, f"the gateway of {port['device']}", said, "an address of its leaf", rule)


def _nodes(cluster: Cluster) -> Iterator[Finding]:
    """A policy for some nodes names labels that nodes have."""
    labels = {(str(key), str(value)) for node in cluster.of("Node") for key, value in _labels(node).items()}
    terms = "spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for policy in cluster.of("NicClusterPolicy") if labels else ():
        for term in policy.at(terms) or []:
            for one in term.get("matchExpressions") or []:
                key, values = str(one.get("key")), [str(value) for value in one.get("values") or []]
                there = sorted(value for name, value in labels if name == key)
                if one.get("operator") == "In" and there and not set(values) & set(there):
                    yield wrong("K8S007", policy.place, key, ", ".join(values), there[0], "node-labels.yaml has it")


def _labels(node: Object) -> dict[str, object]:
    return dict(node.at("metadata.labels") or {})


def _pods(cluster: Cluster, networks: set[str]) -> Iterator[Finding]:
    for job in cluster.of("Job", "Deployment"):
        said = (job.at("spec.template.metadata.annotations") or {}).get(_NETWORKS)
        limits = job.at("spec.template.spec.containers.0.resources.limits") or {}
        asked = sum(int(count) for name, count in limits.items() if _RAIL.fullmatch(str(name)))
        named = [] if said is None else [name.strip() for name in str(said).split(",")]
        if len(named) != asked:
            rule = "a pod names the network once for every port that it takes"
            yield wrong("K8S007", job.place, _NETWORKS, f"{len(named)} networks", f"{asked} networks", rule)
        for name in sorted(set(named) - networks):
            yield wrong("K8S007", job.place, _NETWORKS, name, ", ".join(sorted(networks)), "the network is there")


def addresses(cluster: Cluster) -> Iterator[Finding]:
    """Yield pools that are too small for all ports of all hosts, or that overlap a network of the cluster."""
    rows = cluster.papers.tables.get("ip-networks.csv", ())
    for pool in cluster.of("IPPool"):
        block, subnet = int(pool.at("spec.perNodeBlockSize") or 0), _network(pool)
        if block < cluster.rails:
            yield wrong(
                "K8S007", pool.place, "perNodeBlockSize", block, f"{cluster.rails} or more", "a port has an address"
            )
        needed = block * len(cluster.hosts)
        if subnet.num_addresses < needed:
            said, rule = f"{subnet} ({subnet.num_addresses:,} addresses)", f"a block of {block} for each host"
            yield wrong("K8S007", pool.place, "subnet", said, f"{needed:,} addresses or more", rule)
        for row in rows:
            if subnet.overlaps(IPv4Network(row["prefix"], strict=False)):
                other = f"clear of {row['prefix']} ({row['network']})"
                yield wrong("K8S007", pool.place, "subnet", subnet, other, f"{row.place} has these addresses")


def _network(pool: Object) -> IPv4Network:
    try:
        return IPv4Network(str(pool.at("spec.subnet")))
    except ValueError as error:
        raise CellError(f"{pool.place}: subnet is no network: {error}") from None


def releases(cluster: Cluster) -> Iterator[Finding]:
    """Yield charts of another release than the plan's, and images of another release than their chart."""
    documents = cluster.papers.documents
    software = documents.plan.software_of(documents.option.target)
    path = documents.site / "kubernetes" / "README.md"
    if software is None or not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _VERSION.search(line)
        chart = next((name for name in _CHARTS if f"--install {name} " in line), None)
        expected = None if chart is None else software.version(chart)
        if match is not None and expected is not None and match[1].lstrip("v") != expected:
            place = f"kubernetes/README.md:{number}"
            yield wrong("K8S008", place, f"the release of {chart}", match[1], expected, "plan.json has it")
    operator = software.version("network-operator")
    for policy in cluster.of("NicClusterPolicy"):
        for part in ("sriovDevicePlugin", "nvIpam", "secondaryNetwork.cniPlugins", "secondaryNetwork.multus"):
            version = policy.at(f"spec.{part}.version")
            if operator is not None and version is not None and not str(version).endswith(f"v{operator}"):
                rule = "images of the operator's release"
                yield wrong("K8S008", policy.place, f"{part}.version", version, f"network-operator-v{operator}", rule)


def drivers(cluster: Cluster) -> Iterator[Finding]:
    """Yield values of the GPU operator with another driver than the plan's (`K8S008`)."""
    documents = cluster.papers.documents
    software = documents.plan.software_of(documents.option.target)
    expected = None if software is None else software.version("driver")
    for file, values in cluster.values.items():
        version = value_at(values, "driver.version")
        if expected is not None and version is not None and version != expected:
            yield wrong("K8S008", file, "driver.version", version, expected, "software.md and plan.json have it")
