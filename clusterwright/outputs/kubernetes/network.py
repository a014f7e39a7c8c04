"""NVIDIA's two operators: Helm values, and the compute ports of a node as a resource that a pod takes whole."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from clusterwright.catalog.records import System
from clusterwright.catalog.software.node import Software
from clusterwright.errors import InputError
from clusterwright.outputs.kubernetes.cluster import NAMESPACE, RAIL_RESOURCE, KubernetesCluster, release_of
from clusterwright.outputs.kubernetes.queues import tolerated
from clusterwright.outputs.kubernetes.sharing import sharing_values
from clusterwright.outputs.kubernetes.slices import mig_values

_REPOSITORY = "nvcr.io/nvidia/mellanox"
_OPERATOR_NAMESPACE = "nvidia-network-operator"
_NETWORK, _POOL = "rails", "rails"
#: Where addresses of InfiniBand's compute ports are taken from: the first that is clear of the site's own. Its verbs
#: do not use them, so that any free range does.
_RANGES = (IPv4Network("10.128.0.0/9"), IPv4Network("172.16.0.0/12"))


def gpu_operator_values(cluster: KubernetesCluster) -> dict[str, Any]:
    """Return the values of the GPU operator: DGX OS brings driver and container toolkit, other systems get them."""
    installed = _has_driver(cluster.system)
    return {
        "driver": {
            "enabled": not installed,
            "rdma": {"enabled": not installed and cluster.mellanox},
            **({} if installed else _driver_release(cluster.software)),
        },
        "toolkit": {"enabled": not installed},
        "nfd": {"enabled": True},
        **(mig_values() if cluster.divided_nodes else {}),
        **(sharing_values(cluster.software.sharing) if cluster.software and cluster.shared_nodes else {}),
        "daemonsets": {"tolerations": [tolerated(cluster)]},
        # The chart wants Prometheus' own resource types unless it is reported that there are none.
        "dcgmExporter": {"serviceMonitor": {"enabled": False}},
    }


def _driver_release(software: Software | None) -> dict[str, str]:
    """Return version and flavour of the driver that the operator installs; its own default where none is decided."""
    if software is None or (version := software.version("driver")) is None:
        return {}
    return {"version": version, "kernelModuleType": software.version("kernel_modules") or "auto"}


def _has_driver(system: System) -> bool:
    return system.name.startswith("NVIDIA DGX")


def network_operator_values(cluster: KubernetesCluster) -> dict[str, Any]:
    """Return the values of the network operator: node feature discovery comes with the GPU operator."""
    return {
        "nfd": {"enabled": False},
        "sriovNetworkOperator": {"enabled": False},
        "operator": {"tolerations": [tolerated(cluster)]},
    }


def addresses(nodes: int, block: int, *, site: IPv4Network) -> IPv4Network:
    """Return the smallest range with a block of addresses for every node, clear of the site's own addresses.

    >>> addresses(127, 16, site=IPv4Network("10.64.0.0/12")), addresses(1, 16, site=IPv4Network("10.128.0.0/12"))
    (IPv4Network('10.128.0.0/21'), IPv4Network('172.16.0.0/28'))

    Args:
        nodes: of the cluster.
        block: addresses of one node, a power of two.
        site: range of the site's networks.

    Raises:
        InputError: more nodes than the range holds.
    """
    # No site has both: a range is within one of the private ones, and these are two.
    free = next(one for one in _RANGES if not one.overlaps(site))
    bits = (nodes * block - 1).bit_length()
    if bits > free.max_prefixlen - free.prefixlen:
        raise InputError(f"{nodes:,} nodes take more addresses than {free} has", help="split the cluster in two")
    return IPv4Network((int(free.network_address), free.max_prefixlen - bits))


def port_name(resource: str) -> str:
    """Return the name that a node gives to the compute port of a resource.

    >>> port_name("nvidia.com/rail-3")
    'rail3'
    """
    return resource.partition("/")[2].replace("-", "")


def _offered(cluster: KubernetesCluster, resource: str) -> dict[str, Any]:
    """Return which ports the plugin offers as a resource.

    InfiniBand's have a kind of their own. On Ethernet storage and in-band ports are of the same kind, and each rail
    has a network of its own, so that a port is known by its name on the node alone.
    """
    prefix, name = resource.split("/")
    selectors: dict[str, Any] = {"vendors": ["15b3"], "isRdma": True}
    if cluster.infiniband:
        selectors["linkTypes"] = ["infiniband"]
    elif cluster.routed:
        selectors["pfNames"] = [port_name(resource)]
    return {"resourcePrefix": prefix, "resourceName": name, "selectors": selectors}


def nic_cluster_policy(cluster: KubernetesCluster) -> dict[str, Any]:
    """Return what the network operator installs: the plugin that offers ports, the one that moves them into pods."""
    offered = {"resourceList": [_offered(cluster, name) for name in cluster.rail_resources]}

    # Images of the operator's release (Mellanox/network-operator v26.4.1, hack/release.yaml).
    release = f"network-operator-v{release_of('network-operator', cluster.software)}"

    def image(name: str) -> dict[str, str]:
        return {"image": name, "repository": _REPOSITORY, "version": release}

    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        # The operator obeys this name and no other.
        "metadata": {"name": "nic-cluster-policy"},
        "spec": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "node-kind", "operator": "In", "values": ["gpu"]}]}
                    ]
                }
            },
            "tolerations": [tolerated(cluster)],
            "sriovDevicePlugin": {**image("sriov-network-device-plugin"), "config": json.dumps(offered)},
            "nvIpam": {**image("nvidia-k8s-ipam"), "enableWebhook": False},
            "secondaryNetwork": {"cniPlugins": image("plugins"), "multus": image("multus-cni")},
        },
    }


def rail_network(cluster: KubernetesCluster, *, site: IPv4Network) -> list[dict[str, Any]]:
    """Return the addresses of compute ports, and the network that a pod names once for every port it takes.

    Args:
        cluster: its nodes and their ports.
        site: range of the site's networks, which the addresses are clear of.
    """
    block = 1 << max(4, cluster.rails.bit_length())
    ipam = {"type": "nv-ipam", "poolName": _POOL}
    return [
        {
            "apiVersion": "nv-ipam.nvidia.com/v1alpha1",
            "kind": "IPPool",
            "metadata": {"name": _POOL, "namespace": _OPERATOR_NAMESPACE},
            "spec": {"subnet": str(addresses(len(cluster.nodes), block, site=site)), "perNodeBlockSize": block},
        },
        {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "HostDeviceNetwork",
            "metadata": {"name": _NETWORK},
            "spec": {
                "networkNamespace": NAMESPACE,
                "resourceName": RAIL_RESOURCE.split("/")[1],
                "ipam": json.dumps(ipam),
            },
        },
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class RailAddress:
    """The addresses of a node's port on a rail: both of a pair, the leaf's first."""

    node: str
    gateway: str
    pair: str


def routed_rails(pools: Mapping[str, tuple[str, Sequence[RailAddress]]]) -> list[dict[str, Any]]:
    """Return a pool and a network for every rail of an Ethernet fabric, whose leaves route.

    RoCE's packets are IP: each port has an address that its own leaf routes. NVIDIA's IPAM gives every node its prefix
    and gateway (CIDRPool; nvidia-k8s-ipam, README of commit 3ce4a34c, 2026-07-22), a pool and a network for each rail
    as in the Network Operator's guide to Spectrum-X (26.4, single plane). The plugin `sbr` sends what leaves with the
    address of a port to the gateway of that port, to every other rail too (containernetworking/plugins, commit
    3d27709f, 2026-04-13).

    Args:
        pools: by resource, the network that all pairs of the rail are in, and the pairs.
    """
    made: list[dict[str, Any]] = []
    for resource, (around, ports) in pools.items():
        name = resource.partition("/")[2]
        made += [
            {
                "apiVersion": "nv-ipam.nvidia.com/v1alpha1",
                "kind": "CIDRPool",
                "metadata": {"name": name, "namespace": _OPERATOR_NAMESPACE},
                "spec": {
                    "cidr": around,
                    "perNodeNetworkPrefix": 31,
                    "gatewayIndex": 0,
                    "nodeSelector": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "node-kind", "operator": "In", "values": ["gpu"]}]}
                        ]
                    },
                    "staticAllocations": [
                        {"nodeName": port.node, "prefix": port.pair, "gateway": port.gateway} for port in ports
                    ],
                },
            },
            {
                "apiVersion": "k8s.cni.cncf.io/v1",
                "kind": "NetworkAttachmentDefinition",
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "annotations": {"k8s.v1.cni.cncf.io/resourceName": resource},
                },
                "spec": {"config": json.dumps(_moved(name))},
            },
        ]
    return made


def _moved(name: str) -> dict[str, Any]:
    ipam = {"type": "nv-ipam", "poolName": name, "poolType": "cidrpool"}
    plugins = [{"type": "host-device", "ipam": ipam}, {"type": "sbr"}]
    return {"cniVersion": "0.3.1", "name": name, "plugins": plugins}


def rail_annotation(cluster: KubernetesCluster) -> dict[str, str]:
    """Return the annotation by which a pod gets every compute port of its node; nothing where there are none."""
    if not cluster.hands_out_rails:
        return {}
    networks = [_NETWORK] * cluster.rails
    if cluster.routed:
        networks = [resource.partition("/")[2] for resource in cluster.rail_resources]
    return {"k8s.v1.cni.cncf.io/networks": ",".join(networks)}
