"""How the address range of the network is divided, and whether the cluster fits into it."""

import ipaddress
from dataclasses import dataclass

# Amazon VPC keeps the first four addresses and the last one of every subnet (Amazon VPC User Guide, "Subnet sizing").
RESERVED_PER_SUBNET = 5
# The smallest subnet that Amazon VPC accepts is a /28.
SMALLEST_SUBNET_PREFIX = 28
# Addresses of the node subnet that are left to the controller, the login machine and interfaces of services.
OTHER_ADDRESSES = 16
# FSx for Lustre places one interface per file server into the subnet; assumed at most one per 1,200 GiB and four more.
LUSTRE_GIB_PER_ADDRESS = 1200
LUSTRE_EXTRA_ADDRESSES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressPlan:
    """Subnets of the network: nodes, the NAT gateway, and services that want two zones."""

    vpc: ipaddress.IPv4Network
    nodes: ipaddress.IPv4Network
    public: ipaddress.IPv4Network
    services: tuple[ipaddress.IPv4Network, ipaddress.IPv4Network]

    @property
    def node_subnet_addresses(self) -> int:
        """Addresses of the node subnet that nodes, endpoints and Lustre can have."""
        return addresses_of(self.nodes)


def divide(vpc: ipaddress.IPv4Network) -> AddressPlan:
    """Give the lower half to nodes; of the upper half's quarters, one /28 to the NAT gateway and two to services."""
    lower, upper = vpc.subnets(prefixlen_diff=1)
    first, second, third, _ = upper.subnets(prefixlen_diff=2)
    public = next(first.subnets(new_prefix=max(SMALLEST_SUBNET_PREFIX, first.prefixlen)))
    return AddressPlan(vpc=vpc, nodes=lower, public=public, services=(second, third))


def addresses_of(subnet: ipaddress.IPv4Network) -> int:
    """Count the addresses of a subnet that nodes, endpoints and Lustre can have."""
    return subnet.num_addresses - RESERVED_PER_SUBNET - OTHER_ADDRESSES


def addresses_needed(*, node_count: int, lustre_capacity_gib: int, interface_endpoints: int) -> int:
    """Count the addresses that AWS gives out: one per node, since `efa-only` interfaces have none."""
    lustre = -(-lustre_capacity_gib // LUSTRE_GIB_PER_ADDRESS) + LUSTRE_EXTRA_ADDRESSES
    return node_count + interface_endpoints + lustre
