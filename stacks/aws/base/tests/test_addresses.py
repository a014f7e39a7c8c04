"""Checks the division of the network and the count of addresses."""

import ipaddress

from gpu_cluster.addresses import addresses_needed, divide


def test_halves_do_not_overlap() -> None:
    """Nodes get the lower half, the NAT gateway a /28 of the upper one, services two quarters of it."""
    plan = divide(ipaddress.IPv4Network("10.64.0.0/16"))
    assert str(plan.nodes) == "10.64.0.0/17"
    assert str(plan.public) == "10.64.128.0/28"
    assert [str(one) for one in plan.services] == ["10.64.160.0/19", "10.64.192.0/19"]
    parts = (plan.nodes, plan.public, *plan.services)
    assert not any(one.overlaps(other) for one in parts for other in parts if one is not other)
    assert plan.node_subnet_addresses == 2**15 - 5 - 16


def test_smallest_network() -> None:
    """A /25 is still divided into subnets that AWS accepts."""
    plan = divide(ipaddress.IPv4Network("10.0.0.0/25"))
    assert (plan.nodes.prefixlen, plan.public.prefixlen) == (26, 28)
    assert [one.prefixlen for one in plan.services] == [28, 28]
    assert all(one.subnet_of(plan.vpc) for one in (plan.nodes, plan.public, *plan.services))


def test_fabric_interfaces_take_no_address() -> None:
    """A p5 node with 33 interfaces takes one address: 48 nodes, 7 endpoints, 1,200 GiB of Lustre."""
    assert addresses_needed(node_count=48, lustre_capacity_gib=1200, interface_endpoints=7) == 48 + 7 + 5
