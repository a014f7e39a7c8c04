"""The plan counts addresses as the stacks do: what the plan lets through, the stacks take, and the other way round."""

import importlib.util
from ipaddress import IPv4Network
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.plan.cloud_addresses import RULES


def _module(cloud: str, name: str) -> ModuleType:
    path = assets.root() / "stacks" / cloud / "base" / "gpu_cluster" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{cloud}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AWS: Any = _module("aws", "addresses")
AZURE: Any = _module("azure", "addresses")
GCP: Any = _module("gcp", "limits")


@given(prefix=st.integers(16, 25), nodes=st.integers(1, 4096), gib=st.integers(1200, 400_000))
def test_aws(prefix: int, nodes: int, gib: int) -> None:
    """Half of the VPC, without what AWS keeps, endpoints and machines beside the nodes."""
    rule = RULES["aws"]
    given_by_stack = AWS.divide(IPv4Network((10 << 24, prefix))).node_subnet_addresses
    needed = AWS.addresses_needed(node_count=nodes, lustre_capacity_gib=gib, interface_endpoints=4)
    fits = rule.given(prefix) >= rule.needed(nodes=nodes, file_system_gib=gib)
    assert fits == (given_by_stack >= needed)


@pytest.mark.parametrize("prefix", range(8, 21))
def test_azure(prefix: int) -> None:
    """Half of the virtual network, without what Azure keeps; an address for a login machine may be spare."""
    plan = AZURE.address_plan(IPv4Network((10 << 24, prefix)), 4)
    assert 0 <= plan.node_addresses - RULES["azure"].given(prefix) <= 1
    assert RULES["azure"].longest_prefix == AZURE.LARGEST_PREFIX


def test_gcp() -> None:
    """A sixteenth of the range, without what Google keeps, controller and login machine."""
    assert RULES["gcp"].kept == GCP.RESERVED_ADDRESSES_PER_SUBNET + GCP.HEAD_MACHINES
