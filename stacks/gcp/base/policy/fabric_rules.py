"""What nodes and Lustre need of firewalls, decided as Google Cloud decides, and nodes of their placement policy."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, ip_network
from typing import Any

from reading import mapping, mappings, texts
from rule import FABRIC, PLACEMENT, UNKNOWN, Registered, StackRule

FIREWALL = "gcp:compute/firewall:Firewall"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
FILE_SYSTEM = "gcp:lustre/instance:Instance"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
LUSTRE_PORT = 988
# Any port will do to tell whether all are open.
_SOME_PORTS = (22, 6817, 29500, 65000)
_PROTOCOLS = (("tcp", "6"), ("udp", "17"), ("icmp", "1"))
_USUAL_PRIORITY = 1000


def _has_port(ports: Sequence[str], port: int) -> bool:
    """Whether ports name one; none named are all."""
    for one in ports:
        low, _, high = one.partition("-")
        if low.isdigit() and int(low) <= port <= int(high or low):
            return True
    return not ports


def _holds(ranges: Sequence[str], wanted: str) -> bool:
    for one in ranges:
        if UNKNOWN in (one, wanted):
            return True
        try:
            outer, inner = ip_network(one), ip_network(wanted)
        except ValueError:
            continue
        if isinstance(outer, IPv4Network) and isinstance(inner, IPv4Network) and inner.subnet_of(outer):
            return True
    return False


def _named(entries: Sequence[Mapping[str, Any]], protocol: Sequence[str], port: int) -> bool:
    return any(
        str(one.get("protocol")).lower() in ("all", *protocol) and _has_port(texts(one.get("ports")), port)
        for one in entries
    )


def decides(
    firewalls: Sequence[Registered], *, source: str, protocol: Sequence[str], port: int
) -> tuple[bool, Registered | None]:
    """Whether firewalls of a network let traffic in, and which of them says so; without any nothing comes in."""
    inbound = [one for one in firewalls if one.inputs.get("direction") != "EGRESS" and not one.inputs.get("disabled")]
    # Of rules of one priority, those that deny go first.
    ordered = sorted(inbound, key=lambda one: (_priority(one), not one.inputs.get("denies")))
    for one in ordered:
        # A rule for some machines alone is no rule for all of them.
        if any(one.inputs.get(key) for key in ("targetTags", "targetServiceAccounts", "sourceTags")):
            continue
        if _holds(texts(one.inputs.get("sourceRanges")), source) or one.inputs.get("sourceRanges") == UNKNOWN:
            if _named(mappings(one.inputs.get("denies")), protocol, port):
                return False, one
            if _named(mappings(one.inputs.get("allows")), protocol, port):
                return True, one
    return False, None


def _priority(one: Registered) -> float:
    value = one.inputs.get("priority")
    return float(value) if isinstance(value, int | float) else _USUAL_PRIORITY


def _of_network(resources: Sequence[Registered], network: str) -> list[Registered]:
    return [one for one in resources if one.type == FIREWALL and network in one.behind.get("network", ())]


def _ways(resources: Sequence[Registered]) -> Iterator[tuple[Registered, str]]:
    """Yield network and range of every subnetwork whose machines talk to each other."""
    networks = {one.urn: one for one in resources if one.type == NETWORK}
    for one in resources:
        prefix = one.inputs.get("ipCidrRange")
        if one.type != SUBNETWORK or not isinstance(prefix, str) or one.inputs.get("purpose") not in (None, "PRIVATE"):
            continue
        for urn in one.behind.get("network", ()):
            # A network of an RDMA profile takes no firewall: it is open within.
            if urn in networks and not networks[urn].inputs.get("networkProfile"):
                yield networks[urn], prefix


def within(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Machines of a subnetwork reach each other by every protocol and port: NCCL, Slurm and MPI choose theirs."""
    messages: list[tuple[str, str]] = []
    for network, prefix in _ways(resources):
        firewalls = _of_network(resources, network.urn)
        for protocol in _PROTOCOLS:
            answers = [decides(firewalls, source=prefix, protocol=protocol, port=port) for port in _SOME_PORTS]
            blocked = [by for through, by in answers if not through]
            if blocked:
                by = blocked[0].urn.rpartition("::")[2] if blocked[0] else "no firewall rule lets it in, so Google"
                messages.append((network.urn, f"{by} blocks {protocol[0]} among machines of {prefix}"))
    return messages


def within_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The rules that let machines through among themselves."""
    return [
        by.urn
        for network, prefix in _ways(resources)
        for through, by in [
            decides(_of_network(resources, network.urn), source=prefix, protocol=_PROTOCOLS[0], port=_SOME_PORTS[2])
        ]
        if through and by is not None
    ]


def _lustre(resources: Sequence[Registered]) -> Iterator[tuple[Registered, Registered | None]]:
    """Yield each file system in a network of this stack, with the rule that lets its servers in."""
    networks = {one.urn for one in resources if one.type == NETWORK}
    for one in resources:
        if one.type != FILE_SYSTEM:
            continue
        for network in one.behind.get("network", ()):
            if network in networks:
                let_in = [
                    each
                    for each in _of_network(resources, network)
                    if each.inputs.get("direction") != "EGRESS"
                    and _named(mappings(each.inputs.get("allows")), _PROTOCOLS[0], LUSTRE_PORT)
                    and not each.inputs.get("disabled")
                    and not _among_machines(each, resources, network)
                ]
                yield one, let_in[0] if let_in else None


def _among_machines(firewall: Registered, resources: Sequence[Registered], network: str) -> bool:
    """Whether a rule is about a subnetwork's own range; Lustre's servers are in a range of Google's services."""
    own = [prefix for found, prefix in _ways(resources) if found.urn == network]
    ranges = texts(firewall.inputs.get("sourceRanges"))
    # In a preview the range of Google's services is unknown, so that an unknown one may be theirs.
    return bool(ranges) and all(one != UNKNOWN and any(_holds([prefix], one) for prefix in own) for one in ranges)


def lustre_port(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Servers of Managed Lustre call their clients back."""
    return [
        (one.urn, f"no firewall rule of its network lets its servers in by TCP {LUSTRE_PORT}: Lustre hangs")
        for one, by in _lustre(resources)
        if by is None
    ]


def lustre_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The rules that let Lustre through."""
    return [by.urn for _, by in _lustre(resources) if by is not None]


def _free(template: Registered) -> bool:
    """Whether nothing else decides where nodes are: no reservation, no flex-start, no spot."""
    scheduling = mapping(template.inputs.get("scheduling"))
    reserved = mapping(template.inputs.get("reservationAffinity")).get("type") == "SPECIFIC_RESERVATION"
    return not reserved and scheduling.get("provisioningModel") in (None, "STANDARD")


def placement_is_used(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A placement policy is the one that nodes are made with."""
    users = [one for one in resources if one.type != POLICY]
    placing = [one for one in resources if one.type == POLICY and mapping(one.inputs.get("groupPlacementPolicy"))]
    messages = [
        (one.urn, "no node is made with this placement policy")
        for one in placing
        if not any(one.urn in urns for user in users for urns in user.behind.values())
    ]
    for one in resources:
        named = one.inputs.get("resourcePolicies")
        if one.type == TEMPLATE and placing and _free(one) and not named:
            messages.append((one.urn, "names no placement policy: nodes are spread over the zone"))
    return messages


def placement_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The placement policies that nodes are made with, and pools that are compact."""
    policies = {one.urn for one in resources if one.type == POLICY}
    used = {urn for one in resources if one.type == TEMPLATE for urn in one.behind.get("resourcePolicies", ())}
    compact = [one.urn for one in resources if mapping(one.inputs.get("placementPolicy")).get("type") == "COMPACT"]
    return [*sorted(policies & used), *compact]


STACK_RULES = (
    StackRule(
        name="nodes-reach-each-other",
        description="Nothing is blocked among machines of a subnetwork.",
        check=within,
        about=FABRIC,
        shows=within_shown,
    ),
    StackRule(
        name="lustre-is-let-through",
        description="Port 988 is open to the servers of Managed Lustre.",
        check=lustre_port,
        about=FABRIC,
        shows=lustre_shown,
    ),
    StackRule(
        name="placement-is-used",
        description="Nodes are made with their placement policy.",
        check=placement_is_used,
        about=PLACEMENT,
        shows=placement_shown,
    ),
)
