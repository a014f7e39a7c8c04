"""Addresses of pods on the rails of an Ethernet fabric: a pair of each compute port, inside the network of its leaf.

RoCE's packets are IP, so that a pod that takes a port needs an address that its leaf routes. The leaf has the first one
of the pair, the pod the second one; both are clear of the hosts' own addresses, which stand at the network's lower end.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, summarize_address_range

from clusterwright.catalog.records import System
from clusterwright.errors import InputError
from clusterwright.facility.cabling.addresses import PAIR
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.inventory import Inventory


@dataclass(frozen=True, kw_only=True, slots=True)
class PodPort:
    """A compute port that a pod takes.

    Attributes:
        host, rail: whose it is, and which of its ports, from 1; leaf: where it ends.
        gateway: the leaf's address of the pair; pair: both addresses.
    """

    host: str
    rail: int
    leaf: str
    gateway: IPv4Address
    pair: IPv4Network


def routes_pods(inventory: Inventory, system: System, *, vendor: str, scheduler: str) -> bool:
    """Tell whether pods take the compute ports of a fabric that routes each leaf's network.

    Args:
        inventory: of the site.
        system: of its nodes.
        vendor: of their accelerators.
        scheduler: `slurm` or `kubernetes`.
    """
    of_nvidia = vendor == system.vendor == "NVIDIA" and bool(system.fabric_ports)
    # Ports of several planes are more than the rails that a pod asks for.
    return scheduler == "kubernetes" and of_nvidia and inventory.compute_network == ETHERNET and inventory.planes == 1


def pod_ports(plan: str) -> tuple[PodPort, ...]:
    """Return the compute ports of all hosts, in the order of their hosts.

    Args:
        plan: text of `ip-plan.csv`.

    Raises:
        InputError: a network has no room for pairs above its hosts.
    """
    rails: defaultdict[str, int] = defaultdict(int)
    rows = [row for row in csv.DictReader(plan.splitlines()) if row["network"].startswith("compute ")]
    hosts: defaultdict[str, int] = defaultdict(int)
    found = []
    for row in rows:
        network = IPv4Network(f"{row['address']}/{row['prefix_length']}", strict=False)
        offset = int(IPv4Address(row["address"])) - int(network.network_address)
        hosts[row["network"]] = max(hosts[row["network"]], offset)
        pair = IPv4Network((int(network.broadcast_address) + 1 - PAIR * offset, 32 - PAIR.bit_length() + 1))
        rails[row["device"]] += 1
        leaf = row["network"].removeprefix("compute ")
        found.append(PodPort(host=row["device"], rail=rails[row["device"]], leaf=leaf, gateway=pair[0], pair=pair))
        if pair[0] not in network or int(pair[0]) - int(network.network_address) <= offset:
            raise InputError(f"the network of {leaf}, {network}, has no room for addresses of pods")
    return tuple(found)


def gateways(ports: tuple[PodPort, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the addresses that each leaf has for pods, by its name."""
    found: defaultdict[str, list[IPv4Address]] = defaultdict(list)
    for port in ports:
        found[port.leaf].append(port.gateway)
    return {leaf: tuple(map(str, sorted(own))) for leaf, own in found.items()}


def around(pairs: list[IPv4Network]) -> IPv4Network:
    """Return the smallest network that all pairs are in.

    >>> around([IPv4Network("10.0.1.252/31"), IPv4Network("10.0.0.252/31")])
    IPv4Network('10.0.0.0/23')
    """
    first, last = min(pairs).network_address, max(pairs).broadcast_address
    length = 32 - (int(first) ^ int(last)).bit_length()
    return next(summarize_address_range(first, first)).supernet(new_prefix=length)
