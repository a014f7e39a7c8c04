"""How the address range of the network is divided, and whether the cluster fits into it."""

import ipaddress
from dataclasses import dataclass

# Amazon VPC keeps the first four addresses and the last one of every subnet (Amazon VPC User Guide, "Subnet sizing").
RESERVED_PER_SUBNET = 5
# The smallest subnet that Amazon VPC accepts is a /28.
SMALLEST_SUBNET_PREFIX = 28
# The second /28 of the node subnet is kept free for addresses that the stack gives out itself. The controller has one
# of them, so that nodes need not wait for it to exist and still find it after it was replaced.
KEPT_PREFIX = 28
KEPT_FIRST_HOST = 16
KEPT_ADDRESSES = 16
CONTROLLER_HOST = 20
# FSx for Lustre places one interface per file server into the subnet; assumed at most one per 1,200 GiB and four more.
LUSTRE_GIB_PER_ADDRESS = 1200
LUSTRE_EXTRA_ADDRESSES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressPlan:
    """Subnets of the network and the fixed address of the controller, inside the kept range."""

    vpc: ipaddress.IPv4Network
    nodes: ipaddress.IPv4Network
    public: ipaddress.IPv4Network
    kept: ipaddress.IPv4Network
    controller: ipaddress.IPv4Address

    @property
    def node_subnet_addresses(self) -> int:
        """Addresses of the node subnet that AWS gives out."""
        return self.nodes.num_addresses - RESERVED_PER_SUBNET - KEPT_ADDRESSES


def divide(vpc: ipaddress.IPv4Network) -> AddressPlan:
    """Give the lower half of the range to nodes and the first /28 of the upper half to the NAT gateway."""
    lower, upper = vpc.subnets(prefixlen_diff=1)
    public = next(upper.subnets(new_prefix=max(SMALLEST_SUBNET_PREFIX, upper.prefixlen)))
    return AddressPlan(
        vpc=vpc,
        nodes=lower,
        public=public,
        kept=ipaddress.IPv4Network((lower.network_address + KEPT_FIRST_HOST, KEPT_PREFIX)),
        controller=lower.network_address + CONTROLLER_HOST,
    )


def addresses_needed(*, node_count: int, lustre_capacity_gib: int, interface_endpoints: int) -> int:
    """Count the addresses that AWS gives out: one per node, since `efa-only` interfaces have none."""
    lustre = -(-lustre_capacity_gib // LUSTRE_GIB_PER_ADDRESS) + LUSTRE_EXTRA_ADDRESSES
    return node_count + interface_endpoints + lustre
