"""What machines and services need of a network: a way out, names that fit, a last rule, one zone, and logs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric_rules import FILE_SYSTEM, GROUP, POOL, SCALE_SET, SUBNET
from reading import mappings, texts
from rule import PLACEMENT, UNKNOWN, Registered, StackRule

NETWORK = "azure-native:network:VirtualNetwork"
NAT = "azure-native:network:NatGateway"
ENDPOINT = "azure-native:network:PrivateEndpoint"
NAMES_OF_ENDPOINT = "azure-native:network:PrivateDnsZoneGroup"
ZONE = "azure-native:privatedns:PrivateZone"
INTERFACE = "azure-native:network:NetworkInterface"
FLOW_LOG = "azure-native:network:FlowLog"
# Microsoft, "Azure Private Endpoint private DNS zone values", 2026-09; sovereign clouds have other endings.
DOMAINS = {
    "vault": "privatelink.vaultcore.",
    "blob": "privatelink.blob.",
    "file": "privatelink.file.",
    "dfs": "privatelink.dfs.",
    "mysqlserver": "privatelink.mysql.",
    "registry": "privatelink.azurecr.",
    "management": "privatelink.azmk8s.",
}


def _machines(resources: Sequence[Registered]) -> set[str]:
    """URNs of what the subnets of machines are behind."""
    inputs = {SCALE_SET: "virtualMachineProfile", POOL: "vnetSubnetID", INTERFACE: "ipConfigurations"}
    return {urn for one in resources if one.type in inputs for urn in one.behind.get(inputs[one.type], ())}


def ways_out(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Machines reach packages and services: by the NAT gateway, or by routes that somebody wrote."""
    behind = _machines(resources)
    if not any(one.type == NAT for one in resources):
        return []
    return [
        (one.urn, "machines are in a subnet without a way out: set natGateway, or a routeTable")
        for one in resources
        if one.type == SUBNET
        and one.urn in behind
        and not one.inputs.get("natGateway")
        and not one.inputs.get("routeTable")
    ]


def fitting_names(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """The zone of an endpoint has the name under which Azure looks for that service within a network."""
    endpoints = {one.urn: one for one in resources if one.type == ENDPOINT}
    zones = {one.urn: str(one.inputs.get("privateZoneName")) for one in resources if one.type == ZONE}
    named = [one for one in resources if one.type == NAMES_OF_ENDPOINT]
    messages = [(urn, message) for one in named for urn, message in _misnamed(one, endpoints, zones)]
    with_names = {urn for one in named for urn in one.behind.get("privateEndpointName", ())}
    return messages + [
        (urn, "has no name within the network: clients go past it; add a PrivateDnsZoneGroup")
        for urn in endpoints
        if urn not in with_names and named
    ]


def _misnamed(
    group: Registered, endpoints: Mapping[str, Registered], zones: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    kinds = {
        kind.lower()
        for urn in group.behind.get("privateEndpointName", ())
        if urn in endpoints
        for connection in mappings(endpoints[urn].inputs.get("privateLinkServiceConnections"))
        for kind in texts(connection.get("groupIds"))
    }
    for urn in group.behind.get("privateDnsZoneConfigs", ()):
        for kind in kinds & set(DOMAINS):
            name = zones.get(urn, UNKNOWN)
            if name != UNKNOWN and not name.startswith(DOMAINS[kind]):
                yield (
                    urn,
                    f"is {name}, and Azure looks for a {kind} in {DOMAINS[kind]}…: its name leads to the Internet",
                )


def last_rules(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A group ends with a rule that denies the rest: Azure's own last rules let the whole network in."""
    return [
        (one.urn, "denies nothing that comes in: everything of the network and of peered ones is let in")
        for one in resources
        if one.type == GROUP
        and one.inputs.get("securityRules") != UNKNOWN
        and not any(map(_denies, mappings(one.inputs.get("securityRules"))))
    ]


def _denies(rule: Mapping[str, Any]) -> bool:
    everything = ("*", "0.0.0.0/0", "any", UNKNOWN)
    return (
        rule.get("access") == "Deny"
        and rule.get("direction") == "Inbound"
        and str(rule.get("sourceAddressPrefix", "*")).lower() in everything
        and str(rule.get("destinationPortRange", "*")).lower() in everything
        and str(rule.get("protocol", "*")) in ("*", UNKNOWN)
    )


def one_zone(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes are in the zone of their file system."""
    home = {zone for one in resources if one.type == FILE_SYSTEM for zone in texts(one.inputs.get("zones"))}
    messages: list[tuple[str, str]] = []
    for one in resources:
        if one.type not in (SCALE_SET, POOL):
            continue
        own = set(texts(one.inputs.get("zones" if one.type == SCALE_SET else "availabilityZones")))
        if own and home and UNKNOWN not in own | home and not own & home:
            messages.append(
                (one.urn, f"is in zone {', '.join(sorted(own))}, and its file system in {', '.join(sorted(home))}")
            )
    return messages


def watched_networks(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """What is refused in a network is written down."""
    logged = {urn for one in resources if one.type == FLOW_LOG for urn in one.behind.get("targetResourceId", ())}
    return [
        (one.urn, "has no flow log: nobody sees what is refused")
        for one in resources
        if one.type == NETWORK and one.urn not in logged
    ]


STACK_RULES: Sequence[StackRule] = (
    StackRule(
        name="ways-out-of-machines", description="Machines reach out by a NAT gateway or by routes.", check=ways_out
    ),
    StackRule(name="names-fit-endpoints", description="Endpoints are found by name.", check=fitting_names),
    StackRule(name="the-rest-is-denied", description="Security groups deny the rest.", check=last_rules),
    StackRule(
        name="zone-of-the-data",
        description="Nodes are in the zone of their file system.",
        check=one_zone,
        about=PLACEMENT,
    ),
    StackRule(name="networks-are-watched", description="Networks have flow logs.", check=watched_networks),
)
