"""The plan counts addresses as the stacks do: what the plan lets through, the stacks take, and the other way round."""

import importlib.util
import re
from ipaddress import IPv4Network
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.plan.candidates.cloud_addresses import (
    AKS_PODS,
    AKS_SERVICES,
    AZURE_NETWORK,
    PER_NODE,
    RDMA_NETWORK,
    RULES,
    SYSTEM_NODES,
)


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


def test_addresses_that_pods_take() -> None:
    """As many as the stacks of managed Kubernetes set aside for each node, and as many system nodes."""
    sources = {
        "aws": ("managed_add_ons", "MINIMUM_IP_TARGET"),
        "azure": ("control_plane", "MAX_PODS"),
    }
    for cloud, (module, name) in sources.items():
        folder = assets.root() / "stacks" / cloud / "kubernetes"
        source = (folder / "gpu_cluster" / "kubernetes" / f"{module}.py").read_text()
        (number,) = re.findall(rf"\b{name}\"?(?: =|:) \"?(\d+)\b", source)
        assert PER_NODE[cloud, "kubernetes"] == 1 + int(number)
    declared = YAML(typ="safe").load(assets.root() / "stacks" / "azure" / "kubernetes" / "cluster" / "Pulumi.yaml")
    assert declared["config"]["systemNodeCount"]["default"] == SYSTEM_NODES["azure", "kubernetes"]


def test_ranges_of_azure() -> None:
    """Those that the stack has where the blueprint gives none."""
    stacks = assets.root() / "stacks" / "azure"
    declared = {
        key: value.get("default")
        for path in (stacks / "base" / "foundation" / "Pulumi.yaml", stacks / "kubernetes" / "cluster" / "Pulumi.yaml")
        for key, value in YAML(typ="safe").load(path)["config"].items()
    }
    assert declared["vnetAddressSpace"] == str(AZURE_NETWORK)
    assert declared["serviceCidr"] == str(AKS_SERVICES)
    assert AZURE.RDMA_NETWORK == RDMA_NETWORK
    page = (assets.root() / "tests" / "stacks" / "golden" / "azure-kubernetes-cluster.txt").read_text()
    assert f'"podCidr": "{AKS_PODS}"' in page
