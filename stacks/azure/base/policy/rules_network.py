"""Rules for networks: nothing comes in from the Internet, nothing overlaps InfiniBand's own addresses."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reading import mapping, mappings, texts
from rule import UNKNOWN, Rule

# Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25.
RDMA_NETWORK = ipaddress.IPv4Network("172.16.0.0/16")
# Nobody who is let in on purpose has more addresses than this.
_SHORTEST_PREFIX = 8
_ANYWHERE = ("*", "0.0.0.0/0", "internet", "any", "::/0")


def _no_public_address_on_machines(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    addresses: list[Mapping[str, Any]] = []
    if kind == "azure-native:network:NetworkInterface":
        addresses = mappings(inputs.get("ipConfigurations"))
    elif kind == "azure-native:compute:VirtualMachineScaleSet":
        network = mapping(mapping(inputs.get("virtualMachineProfile")).get("networkProfile"))
        for interface in mappings(network.get("networkInterfaceConfigurations")):
            addresses += mappings(interface.get("ipConfigurations"))
    if kind == "azure-native:containerservice:AgentPool" and inputs.get("enableNodePublicIP") is True:
        return ["nodes have public addresses: set enableNodePublicIP to false"]
    named = ("publicIPAddress", "publicIPAddressConfiguration")
    return ["a machine has a public address"] if any(one.get(name) for one in addresses for name in named) else []


def _from_anywhere(source: str) -> bool:
    """Whether a source is everybody, also as one of a few halves or quarters of all addresses."""
    if source.lower() in _ANYWHERE:
        return True
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return False
    return network.prefixlen < _SHORTEST_PREFIX and not network.is_private


def _inbound(inputs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for rule in mappings(inputs.get("securityRules")):
        if rule.get("access") == "Allow" and rule.get("direction") == "Inbound":
            yield rule


def _nothing_from_the_internet(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind == "azure-native:network:SecurityRule":
        # The same as a rule inside a group, in a resource of its own.
        inputs = {"securityRules": [{"name": "the rule", **inputs}]}
    elif kind != "azure-native:network:NetworkSecurityGroup":
        return []
    return [
        f"{rule.get('name')} lets the Internet in"
        for rule in _inbound(inputs)
        if any(
            _from_anywhere(source)
            for source in (*texts([rule.get("sourceAddressPrefix")]), *texts(rule.get("sourceAddressPrefixes")))
        )
    ]


def _subnets_have_rules(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    # Azure guards Bastion's subnet, and those that it delegates to a service of its own.
    if kind != "azure-native:network:Subnet" or inputs.get("subnetName") == "AzureBastionSubnet":
        return []
    found: list[str] = []
    if not inputs.get("networkSecurityGroup") and not inputs.get("delegations"):
        found.append("has no security group")
    if inputs.get("defaultOutboundAccess") is not False:
        found.append("has Azure's own way out; set defaultOutboundAccess to false and use the NAT gateway")
    return found


def _infiniband_keeps_its_addresses(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:network:VirtualNetwork":
        return []
    prefixes = texts(mapping(inputs.get("addressSpace")).get("addressPrefixes"))
    return [
        f"{prefix} overlaps {RDMA_NETWORK}, which InfiniBand reserves"
        for prefix in prefixes
        if prefix != UNKNOWN and ":" not in prefix and ipaddress.IPv4Network(prefix).overlaps(RDMA_NETWORK)
    ]


def _closed_api_server(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:containerservice:ManagedCluster":
        return []
    access = mapping(inputs.get("apiServerAccessProfile"))
    ranges = texts(access.get("authorizedIPRanges"))
    found: list[str] = []
    if access.get("enablePrivateCluster") not in (True, UNKNOWN) and not ranges:
        found.append("the API server is open to the Internet: set enablePrivateCluster, or name ranges")
    found += [f"lets {one} reach the API server" for one in ranges if _from_anywhere(one)]
    return found


def _flow_logs_are_on(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:network:FlowLog":
        return []
    return [] if inputs.get("enabled") in (True, UNKNOWN) else ["is switched off"]


RULES: Sequence[Rule] = (
    Rule(
        name="no-public-address-on-machines",
        description="Machines have private addresses only; people come in by Bastion.",
        check=_no_public_address_on_machines,
    ),
    Rule(
        name="nothing-from-the-internet",
        description="No security group lets the Internet in.",
        check=_nothing_from_the_internet,
    ),
    Rule(
        name="subnets-have-rules",
        description="Every subnet has a security group and no way out that nobody wrote.",
        check=_subnets_have_rules,
    ),
    Rule(
        name="infiniband-keeps-its-addresses",
        description="No network overlaps 172.16.0.0/16.",
        check=_infiniband_keeps_its_addresses,
    ),
    Rule(name="closed-api-server", description="Few reach the Kubernetes API server.", check=_closed_api_server),
    Rule(name="flow-logs-are-on", description="Flow logs are enabled.", check=_flow_logs_are_on),
)
