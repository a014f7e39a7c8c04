"""The address plan: which part of the virtual network each subnet takes."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

# Azure keeps the first four addresses and the last one of every subnet.
_RESERVED_ADDRESSES_PER_SUBNET = 5
_FIRST_USABLE_OFFSET = 4
# Controller and login machine.
_HEAD_MACHINES = 2

LARGEST_PREFIX = 20
"""Longest prefix of a virtual network that still holds all subnets with the largest Lustre subnet."""

RDMA_NETWORK = IPv4Network("172.16.0.0/16")
"""Reserved for RDMA on InfiniBand sizes; a virtual network must not overlap it (Microsoft, "Set up InfiniBand on HPC
virtual machines", page dated 2026-09-25)."""

# Subnet sizes by file system capacity: Microsoft, "Azure Managed Lustre file system prerequisites". The page stops at
# 400 TiB and the resource provider asks for a /24 at least; the last row continues the doubling.
_LUSTRE_PREFIX_UP_TO_TIB = ((196, 24), (400, 23), (800, 22))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPlan:
    """Disjoint subnets of one virtual network."""

    virtual_network: IPv4Network
    nodes: IPv4Network
    lustre: IPv4Network
    endpoints: IPv4Network
    bastion: IPv4Network

    @property
    def controller(self) -> IPv4Address:
        """Fixed private address of the controller: known before it exists, so user-data needs no dependency on it."""
        return self.nodes[_FIRST_USABLE_OFFSET]

    @property
    def node_addresses(self) -> int:
        """Addresses left for GPU nodes, controller and login machine not counted."""
        return node_addresses(self.nodes)


def node_addresses(subnet: IPv4Network) -> int:
    """Count the addresses of a subnet that GPU nodes can have, controller and login machine aside."""
    return subnet.num_addresses - _RESERVED_ADDRESSES_PER_SUBNET - _HEAD_MACHINES


def lustre_prefix(capacity_tib: int) -> int:
    """Return the prefix length of the Lustre subnet for a file system of `capacity_tib` TiB."""
    for most_tib, prefix in _LUSTRE_PREFIX_UP_TO_TIB:
        if capacity_tib <= most_tib:
            return prefix
    raise ValueError(f"no subnet size is known for {capacity_tib} TiB")


def address_plan(virtual_network: IPv4Network, capacity_tib: int) -> AddressPlan:
    """Cut the virtual network: lower half for nodes, upper half for file system, private endpoints and Bastion."""
    nodes, services = virtual_network.subnets(prefixlen_diff=1)
    lustre = next(services.subnets(new_prefix=lustre_prefix(capacity_tib)))
    rest = IPv4Network((int(lustre.broadcast_address) + 1, 24))
    after = IPv4Network((int(rest.broadcast_address) + 1, 26))
    return AddressPlan(virtual_network=virtual_network, nodes=nodes, lustre=lustre, endpoints=rest, bastion=after)
