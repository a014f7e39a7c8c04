"""What the fabric and Lustre need of security groups, and nodes of their placement, over all resources of a stack."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reading import objects, texts
from rule import FABRIC, PLACEMENT, UNKNOWN, Registered, StackRule

GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
EITHER = "aws:ec2/securityGroupRule:SecurityGroupRule"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
FILE_SYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
PLACED = "aws:ec2/placementGroup:PlacementGroup"
NODES = ("aws:autoscaling/group:Group", "aws:eks/nodeGroup:NodeGroup")
EVERY_PORT = (0, 65535)
_HTTPS = (443, 443)
# Amazon, "File System Access Control with Amazon VPC" of FSx for Lustre, 2026-11: both ranges, from and to clients and
# among the servers.
LUSTRE_PORTS = ((988, 988), (1018, 1023))
_EVERYTHING = ("-1", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """What one rule of a group lets through.

    Attributes:
        urn: of the rule; group: URN of the group that it belongs to.
        inbound: the direction.
        protocol: its name, `-1` for all.
        ports: the lowest and the highest.
        peer: URN of the group at the other end, empty where that is a range of addresses.
        everywhere: whether the other end is any address.
    """

    urn: str
    group: str
    inbound: bool
    protocol: str
    ports: tuple[int, int]
    peer: str
    everywhere: bool = False

    def covers(self, ports: tuple[int, int], *, everything: bool) -> bool:
        """Whether a range of TCP ports goes through, or everything."""
        if self.protocol in _EVERYTHING:
            return True
        within = self.ports[0] <= ports[0] <= ports[1] <= self.ports[1]
        return within and not everything and self.protocol in ("tcp", "6")


def _number(value: object, otherwise: int) -> int:
    return int(value) if isinstance(value, int | float) else otherwise


def openings(resources: Sequence[Registered]) -> Iterator[Opening]:
    """Yield what the rules of a stack's groups let through, as resources of their own and inside the groups."""
    groups = {one.urn for one in resources if one.type == GROUP}
    for one in resources:
        if one.type in (INGRESS, EGRESS, EITHER):
            inbound = one.type == INGRESS or one.inputs.get("type") == "ingress"
            other = "sourceSecurityGroupId" if one.type == EITHER else "referencedSecurityGroupId"
            owners = [urn for urn in one.behind.get("securityGroupId", ()) if urn in groups]
            peers = [urn for urn in one.behind.get(other, ()) if urn in groups]
            peers = owners if one.inputs.get("self") is True else peers
            for owner in owners:
                yield Opening(
                    urn=one.urn,
                    group=owner,
                    inbound=inbound,
                    protocol=str(one.inputs.get("protocol" if one.type == EITHER else "ipProtocol")).lower(),
                    ports=(_number(one.inputs.get("fromPort"), 0), _number(one.inputs.get("toPort"), 65535)),
                    peer=peers[0] if peers else "",
                    everywhere="0.0.0.0/0" in (one.inputs.get("cidrIpv4"), *texts(one.inputs, "cidrBlocks")),
                )
        elif one.type == GROUP:
            for key in ("ingress", "egress"):
                for inside in objects(one.inputs, key):
                    yield Opening(
                        urn=one.urn,
                        group=one.urn,
                        inbound=key == "ingress",
                        protocol=str(inside.get("protocol")).lower(),
                        ports=(_number(inside.get("fromPort"), 0), _number(inside.get("toPort"), 65535)),
                        peer=one.urn if inside.get("self") is True else "",
                        everywhere="0.0.0.0/0" in texts(inside, "cidrBlocks"),
                    )


def _let_through(
    found: Iterable[Opening],
    *,
    group: str,
    peer: str,
    inbound: bool,
    ports: tuple[int, int] = EVERY_PORT,
    everything: bool = False,
) -> list[str]:
    """Return the rules by which a group lets ports through from or to a peer; EFA takes no range of addresses."""
    return [
        one.urn
        for one in found
        if one.group == group
        and one.inbound == inbound
        and (one.peer == peer or (one.everywhere and not everything))
        and one.covers(ports, everything=everything)
    ]


def _with_fabric(template: Registered) -> bool:
    interfaces = objects(template.inputs, "networkInterfaces")
    return any(str(one.get("interfaceType")).startswith("efa") for one in interfaces)


def _fabric_groups(resources: Sequence[Registered], found: Sequence[Opening]) -> list[str]:
    """Return the groups that EFA interfaces are in; of a stack without nodes, those that look like one."""
    groups = [one.urn for one in resources if one.type == GROUP]
    templates = [one for one in resources if one.type == TEMPLATE and _with_fabric(one)]
    if templates:
        behind = {urn for one in templates for urn in one.behind.get("networkInterfaces", ())}
        return [urn for urn in groups if urn in behind]
    return [urn for urn in groups if _self_rules(urn, found, inbound=True) and _self_rules(urn, found, inbound=False)]


def _self_rules(group: str, found: Iterable[Opening], *, inbound: bool) -> list[str]:
    return _let_through(found, group=group, peer=group, inbound=inbound, everything=True)


def _foundation(resources: Sequence[Registered]) -> Registered | None:
    """Return the network of a stack that makes one and groups in it: the layer below the nodes."""
    networks = [one for one in resources if one.type == "aws:ec2/vpc:Vpc"]
    return networks[0] if networks and any(one.type == GROUP for one in resources) else None


def fabric_within(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """EFA is refused where its group does not let everything through from and to itself."""
    found = list(openings(resources))
    groups = _fabric_groups(resources, found)
    network = _foundation(resources)
    if not groups and network is not None:
        return [(network.urn, "no security group lets everything through from itself and to itself: EFA is blocked")]
    return [
        (group, f"has no {way} rule of all protocols {word} itself: EFA is blocked")
        for group in groups
        for inbound, way, word in ((True, "inbound", "from"), (False, "outbound", "to"))
        if not _self_rules(group, found, inbound=inbound)
    ]


def fabric_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The rules that let the fabric through."""
    found = list(openings(resources))
    groups = _fabric_groups(resources, found)
    return [urn for group in groups for inbound in (True, False) for urn in _self_rules(group, found, inbound=inbound)]


def _lustre_ways(resources: Sequence[Registered], found: Sequence[Opening]) -> Iterator[tuple[str, str, bool]]:
    """Yield group, peer and direction of every way that Lustre needs."""
    groups = {one.urn for one in resources if one.type == GROUP}
    clients = _fabric_groups(resources, found)
    for one in resources:
        if one.type != FILE_SYSTEM:
            continue
        for servers in one.behind.get("securityGroupIds", ()):
            if servers not in groups:
                continue
            for inbound in (True, False):
                yield servers, servers, inbound
                for client in clients:
                    if client != servers:
                        yield servers, client, inbound
                        yield client, servers, inbound


def lustre_ports(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Clients and servers of Lustre reach each other, and servers themselves."""
    found = list(openings(resources))
    return [
        (group, f"blocks TCP {ports[0]}-{ports[1]} {'from' if inbound else 'to'} {_short(peer)}: Lustre hangs")
        for group, peer, inbound in _lustre_ways(resources, found)
        for ports in LUSTRE_PORTS
        if not _let_through(found, group=group, peer=peer, inbound=inbound, ports=ports)
    ]


def lustre_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The rules that let Lustre through."""
    found = list(openings(resources))
    ways = _lustre_ways(resources, found)
    urns = [
        urn
        for group, peer, inbound in ways
        for urn in _let_through(found, group=group, peer=peer, inbound=inbound, ports=LUSTRE_PORTS[0])
    ]
    return list(dict.fromkeys(urns))


def _short(urn: str) -> str:
    return urn.rpartition("::")[2]


def _reserved(template: Registered) -> bool:
    targets = [
        target
        for one in objects(template.inputs, "capacityReservationSpecification")
        for target in objects(one, "capacityReservationTarget")
    ]
    return any(one.get("capacityReservationId") or one.get("capacityReservationResourceGroupArn") for one in targets)


def placement_is_used(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes with EFA are in the placement group of their stack, unless a reservation decides where they are."""
    groups = {one.urn for one in resources if one.type == PLACED}
    messages: list[tuple[str, str]] = []
    used: set[str] = set()
    for one in resources:
        if one.type != TEMPLATE:
            continue
        own = groups & set(one.behind.get("placement", ()))
        used |= own
        named = [place.get("groupName") or place.get("groupId") for place in objects(one.inputs, "placement")]
        if _with_fabric(one) and not _reserved(one) and not any(named):
            messages.append((one.urn, "names no placement group: nodes are spread over the zone"))
        elif any(named) and groups and not own and UNKNOWN not in named:
            messages.append((one.urn, f"is placed by {named[0]}, which is not the placement group of this stack"))
    return messages + [(urn, "no launch template uses this placement group") for urn in sorted(groups - used)]


def placement_shown(resources: Sequence[Registered]) -> Sequence[str]:
    """The placement groups that templates use."""
    groups = {one.urn for one in resources if one.type == PLACED}
    used = {urn for one in resources if one.type == TEMPLATE for urn in one.behind.get("placement", ())}
    return sorted(used & groups)


def way_out(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Machines reach the services of AWS and packages by HTTPS, through the NAT gateway."""
    network = _foundation(resources)
    found = list(openings(resources))
    out = [one for one in found if not one.inbound and one.everywhere and one.covers(_HTTPS, everything=False)]
    nat = any(one.type == "aws:ec2/natGateway:NatGateway" for one in resources)
    if network is None or out or not nat:
        return []
    return [(network.urn, "no security group lets TCP 443 out: no package and no AWS service is reached")]


def machines_stay(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A single machine is not replaced, or stopped, because its user data changed: the queue would be lost."""
    # The engine shows outputs here, so that it cannot be told in which form the program gave them: both are ignored.
    forms = ("userData", "userDataBase64")
    return [
        (one.urn, "is replaced or stopped when its user data changes: ignore changes of userData and userDataBase64")
        for one in resources
        if one.type == "aws:ec2/instance:Instance"
        if any(one.inputs.get(form) for form in forms) and not all(form in one.ignores for form in forms)
    ]


STACK_RULES = (
    StackRule(name="way-out", description="Machines reach AWS's services by HTTPS.", check=way_out),
    StackRule(name="machines-stay", description="User data replaces no machine.", check=machines_stay),
    StackRule(
        name="fabric-within-its-group",
        description="EFA's group lets everything through from and to itself.",
        check=fabric_within,
        about=FABRIC,
        shows=fabric_shown,
    ),
    StackRule(
        name="lustre-is-let-through",
        description="Ports 988 and 1018 to 1023 are open between clients and servers of Lustre.",
        check=lustre_ports,
        about=FABRIC,
        shows=lustre_shown,
    ),
    StackRule(
        name="placement-is-used",
        description="Nodes are in their placement group.",
        check=placement_is_used,
        about=PLACEMENT,
        shows=placement_shown,
    ),
)
