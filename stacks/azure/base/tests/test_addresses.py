"""The address plan keeps subnets apart and large enough."""

from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

import pytest

from gpu_cluster.addresses import address_plan, lustre_prefix


@pytest.mark.parametrize("capacity_tib", [4, 196, 400, 768])
@pytest.mark.parametrize("network", ["10.0.0.0/8", "10.40.0.0/16", "192.168.0.0/20"])
def test_subnets_lie_apart_inside(network: str, capacity_tib: int) -> None:
    """No two subnets overlap and all lie in the virtual network, from the largest to the smallest one allowed."""
    plan = address_plan(IPv4Network(network), capacity_tib)
    subnets = [plan.nodes, plan.lustre, plan.endpoints, plan.bastion]
    assert all(subnet.subnet_of(plan.virtual_network) for subnet in subnets)
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


@pytest.mark.parametrize(("capacity_tib", "prefix"), [(4, 24), (196, 24), (200, 23), (400, 23), (768, 22)])
def test_lustre_subnet_size(capacity_tib: int, prefix: int) -> None:
    """The Lustre subnet follows Microsoft's table and is never smaller than the /24 that the service asks for."""
    assert lustre_prefix(capacity_tib) == prefix


def test_unknown_lustre_size() -> None:
    """A file system beyond the table has no subnet size."""
    with pytest.raises(ValueError, match="801 TiB"):
        lustre_prefix(801)


def test_controller_address_is_usable() -> None:
    """The controller takes the first address that Azure does not keep, and Bastion's subnet is a /26."""
    plan = address_plan(IPv4Network("10.40.0.0/16"), 96)
    assert plan.controller == IPv4Address("10.40.0.4")
    assert plan.bastion.prefixlen == 26
    assert plan.node_addresses == 2**15 - 7
