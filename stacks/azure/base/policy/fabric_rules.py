"""What nodes and Lustre need of network security groups, decided as Azure decides: by priority, the first rule wins."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, ip_network
from typing import Any

from reading import mapping, mappings, texts
from rule import FABRIC, PLACEMENT, PROTECTION, UNKNOWN, Registered, StackRule

GROUP = "azure-native:network:NetworkSecurityGroup"
SUBNET = "azure-native:network:Subnet"
FILE_SYSTEM = "azure-native:storagecache:AmlFilesystem"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
POOL = "azure-native:containerservice:AgentPool"
# Microsoft, "Azure Managed Lustre prerequisites", 2026-09: 988 and 1019 to 1023.
LUSTRE_PORTS = (988, 1019, 1023)
# Any port will do to tell whether all are open.
_SOME_PORTS = (22, 6817, 29500, 65000)
_PROTOCOLS = ("tcp", "udp")
_ANY = ("*", "any")


def _holds(prefixes: Sequence[str], wanted: str) -> bool:
    """Whether a range lies in one of some prefixes."""
    for prefix in prefixes:
        if prefix.lower() in (*_ANY, "0.0.0.0/0", "virtualnetwork") or UNKNOWN in (prefix, wanted):
            return True
        try:
            outer, inner = ip_network(prefix), ip_network(wanted)
        except ValueError:
            continue
        if isinstance(outer, IPv4Network) and isinstance(inner, IPv4Network) and inner.subnet_of(outer):
            return True
    return False


def _has_port(ranges: Sequence[str], port: int) -> bool:
    for one in ranges:
        low, _, high = one.partition("-")
        if one in _ANY or (low.isdigit() and int(low) <= port <= int(high or low)):
            return True
    return False


def _both(rule: Mapping[str, Any], one: str) -> list[str]:
    """Return the values of a property that has a singular and a plural."""
    found = texts(rule.get(f"{one}s") or rule.get(f"{one}es"))
    return [*texts([rule.get(one)]), *found]


def decides(
    group: Registered, *, inbound: bool, source: str, target: str, protocol: str, port: int
) -> tuple[bool, str]:
    """Whether a group lets traffic through, and the name of the rule that says so."""
    rules = mappings(group.inputs.get("securityRules"))
    for rule in sorted(rules, key=lambda one: float(one.get("priority") or 0)):
        if rule.get("direction") != ("Inbound" if inbound else "Outbound"):
            continue
        if (
            str(rule.get("protocol")).lower() in (*_ANY, protocol)
            and _has_port(_both(rule, "destinationPortRange"), port)
            and _holds(_both(rule, "sourceAddressPrefix"), source)
            and _holds(_both(rule, "destinationAddressPrefix"), target)
        ):
            return rule.get("access") == "Allow", str(rule.get("name"))
    # Azure's own last rules let everything through within a network.
    return True, "AllowVnetInBound" if inbound else "AllowVnetOutBound"


def _subnets(resources: Sequence[Registered]) -> Iterator[tuple[Registered, Registered, str]]:
    """Yield each subnet of a stack with its group and its range."""
    groups = {one.urn: one for one in resources if one.type == GROUP}
    for one in resources:
        if one.type == SUBNET:
            ranges = [*texts([one.inputs.get("addressPrefix")]), *texts(one.inputs.get("addressPrefixes"))]
            for urn in one.behind.get("networkSecurityGroup", ()):
                if urn in groups and ranges:
                    yield one, groups[urn], ranges[0]


def _lustre(resources: Sequence[Registered]) -> list[tuple[Registered, str]]:
    """Return group and range of every subnet that a file system is in."""
    behind = {urn for one in resources if one.type == FILE_SYSTEM for urn in one.behind.get("filesystemSubnet", ())}
    return [(group, prefix) for subnet, group, prefix in _subnets(resources) if subnet.urn in behind]


def _nodes(resources: Sequence[Registered]) -> list[tuple[Registered, str]]:
    """Return group and range of every subnet of nodes: those that have some, else the widest of the stack."""
    behind = {urn for one in resources if one.type == SCALE_SET for urn in one.behind.get("virtualMachineProfile", ())}
    behind |= {urn for one in resources if one.type == POOL for urn in one.behind.get("vnetSubnetID", ())}
    found = list(_subnets(resources))
    named = [(group, prefix) for subnet, group, prefix in found if subnet.urn in behind]
    if named:
        return named
    # Of a layer that makes no network, nothing is known of the nodes' subnet.
    if not any(one.type == "azure-native:network:VirtualNetwork" for one in resources):
        return []
    known = [(group, prefix) for _, group, prefix in found if prefix != UNKNOWN and ":" not in prefix]
    return sorted(known, key=lambda one: ip_network(one[1], strict=False).num_addresses)[-1:]


def within(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes reach each other by every protocol and port: NCCL, Slurm and MPI choose theirs."""
    messages: list[tuple[str, str]] = []
    for group, prefix in _nodes(resources):
        for inbound in (True, False):
            blocked = [
                (protocol, port, rule)
                for protocol in _PROTOCOLS
                for port in _SOME_PORTS
                for through, rule in [
                    decides(group, inbound=inbound, source=prefix, target=prefix, protocol=protocol, port=port)
                ]
                if not through
            ]
            if blocked:
                protocol, port, rule = blocked[0]
                way = "to" if inbound else "from"
                messages.append((group.urn, f"{rule} blocks {protocol} {port} {way} nodes among themselves ({prefix})"))
    return messages


def within_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The groups that let nodes through among themselves."""
    wrong = {urn for urn, _ in within(resources)}
    return [group.urn for group, _ in _nodes(resources) if group.urn not in wrong]


def _lustre_ways(resources: Sequence[Registered]) -> Iterator[tuple[Registered, bool, str, str]]:
    """Yield group, direction, source and target of every way that Lustre needs."""
    for servers, inside in _lustre(resources):
        yield servers, True, inside, inside
        yield servers, False, inside, inside
        for nodes, clients in _nodes(resources):
            if clients == inside:
                continue
            yield servers, True, clients, inside
            yield servers, False, inside, clients
            yield nodes, True, inside, clients
            yield nodes, False, clients, inside


def lustre_ports(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Clients and servers of Lustre reach each other, and servers themselves."""
    messages: list[tuple[str, str]] = []
    for group, inbound, source, target in _lustre_ways(resources):
        for port in LUSTRE_PORTS:
            through, rule = decides(group, inbound=inbound, source=source, target=target, protocol="tcp", port=port)
            if not through:
                way = "inbound" if inbound else "outbound"
                message = f"{rule} blocks {way} TCP {port} from {source} to {target}: Lustre hangs"
                messages.append((group.urn, message))
    return messages


def lustre_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The groups that let Lustre through."""
    wrong = {urn for urn, _ in lustre_ports(resources)}
    return list(dict.fromkeys(group.urn for group, *_ in _lustre_ways(resources) if group.urn not in wrong))


def one_domain(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes with InfiniBand stand in one scale set or one pool's placement, or they share no fabric."""
    return [
        (one.urn, "is in a proximity group beside a scale set of one placement group")
        for one in resources
        if one.type == SCALE_SET
        and one.inputs.get("proximityPlacementGroup")
        and one.inputs.get("singlePlacementGroup")
    ]


def domain_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The scale sets of one placement group, and pools, whose nodes AKS keeps in one."""
    return [
        one.urn
        for one in resources
        if (one.type == SCALE_SET and one.inputs.get("singlePlacementGroup") is True)
        or (one.type == POOL and str(one.inputs.get("vmSize")).startswith("Standard_N"))
    ]


def zones_are_linked(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A private zone that no network is linked to answers nobody."""
    links = [one for one in resources if one.type == "azure-native:privatedns:VirtualNetworkLink"]
    linked = {urn for one in links for urn in one.behind.get("privateZoneName", ())}
    return [
        (one.urn, "is linked to no network: endpoints have no names")
        for one in resources
        if one.type == "azure-native:privatedns:PrivateZone" and one.urn not in linked
    ]


def _data_group(resources: Sequence[Registered]) -> Mapping[str, Registered]:
    holders = (FILE_SYSTEM, "azure-native:storage:StorageAccount", "azure-native:keyvault:Vault")
    groups = {one.urn: one for one in resources if one.type == "azure-native:resources:ResourceGroup"}
    return {
        urn: groups[urn]
        for one in resources
        if one.type in holders and one.protect
        for urn in one.behind.get("resourceGroupName", ())
        if urn in groups
    }


def data_is_locked(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Azure itself refuses to delete the group that holds data."""
    locks = [one for one in resources if one.type == "azure-native:authorization:ManagementLockByScope"]
    locked = {urn for one in locks for urn in one.behind.get("scope", ())}
    return [
        (urn, "holds data and has no lock: whoever may delete groups deletes it")
        for urn, group in _data_group(resources).items()
        if urn not in locked and mapping(group.inputs.get("tags")).get("layer") != "nodes"
    ]


STACK_RULES = (
    StackRule(
        name="nodes-reach-each-other",
        description="Nothing is blocked among nodes.",
        check=within,
        about=FABRIC,
        shows=within_shown,
    ),
    StackRule(
        name="lustre-is-let-through",
        description="Ports 988 and 1019 to 1023 are open between clients and servers of Lustre.",
        check=lustre_ports,
        about=FABRIC,
        shows=lustre_shown,
    ),
    StackRule(
        name="one-infiniband-domain",
        description="Nodes share a fabric.",
        check=one_domain,
        about=PLACEMENT,
        shows=domain_shown,
    ),
    StackRule(name="names-resolve", description="Private zones are linked to the network.", check=zones_are_linked),
    StackRule(name="data-is-locked", description="Data has a lock.", check=data_is_locked, about=PROTECTION),
)
