"""Where machines are and what they reach: subnets with a way out, and all nodes in the zone of their file system."""

from collections.abc import Iterator, Sequence

from reading import objects, texts
from rule import PLACEMENT, UNKNOWN, Registered, StackRule
from whole_stack import ASSOCIATION, GATEWAY, NAT, ROUTE, ROUTES

DEFAULT_ROUTES = "aws:ec2/defaultRouteTable:DefaultRouteTable"
SUBNET = "aws:ec2/subnet:Subnet"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
GROUP = "aws:autoscaling/group:Group"
NETWORK, FLOW_LOG = "aws:ec2/vpc:Vpc", "aws:ec2/flowLog:FlowLog"
FILE_SYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
#: Types whose machines are in subnets, and the input that says in which.
MACHINES = {
    GROUP: "vpcZoneIdentifiers",
    NODE_GROUP: "subnetIds",
    "aws:ec2/instance:Instance": "subnetId",
    "aws:ec2/networkInterface:NetworkInterface": "subnetId",
}
_EVERYWHERE = ("0.0.0.0/0", "::/0")


def ways_out(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """The subnets of machines lead to a NAT gateway, and never to the internet."""
    if not any(one.type == NAT for one in resources):
        # Without one nothing is meant to get out, or something else than this stack lets it.
        return []
    gateways = {one.urn for one in resources if one.type == GATEWAY}
    messages: list[tuple[str, str]] = []
    for subnet in _subnets_of_machines(resources):
        tables = list(_tables(resources, subnet))
        # A table that is not in this stack is not known.
        if not tables:
            continue
        leads = [lead for table in tables for lead in _leads(resources, table, gateways)]
        if "internet" in leads:
            messages.append(
                (subnet.urn, "machines are in a subnet whose routes lead to the internet: use the NAT gateway")
            )
        elif "out" not in leads:
            messages.append(
                (subnet.urn, "machines are in a subnet without a route to the NAT gateway: they reach nothing")
            )
    return messages


def _subnets_of_machines(resources: Sequence[Registered]) -> list[Registered]:
    behind = {urn for one in resources if one.type in MACHINES for urn in one.behind.get(MACHINES[one.type], ())}
    return [one for one in resources if one.type == SUBNET and one.urn in behind]


def _tables(resources: Sequence[Registered], subnet: Registered) -> Iterator[Registered]:
    joined = {
        urn
        for one in resources
        if one.type == ASSOCIATION and one.leads_to("subnetId", subnet.urn)
        for urn in one.behind.get("routeTableId", ())
    }
    networks = set(subnet.behind.get("vpcId", ()))
    for one in resources:
        if one.type in (ROUTES, DEFAULT_ROUTES) and (
            one.urn in joined
            or (not joined and one.type == DEFAULT_ROUTES and networks & set(one.behind.get("defaultRouteTableId", ())))
        ):
            yield one


def _leads(resources: Sequence[Registered], table: Registered, gateways: set[str]) -> Iterator[str]:
    """Yield `internet` or `out` for each route of a table to everywhere."""
    within = [(route, table) for route in objects(table.inputs, "routes")]
    beside = [(one.inputs, one) for one in resources if one.type == ROUTE and one.leads_to("routeTableId", table.urn)]
    for route, holder in (*within, *beside):
        to = [*texts(route, "cidrBlock"), *texts(route, "destinationCidrBlock"), *texts(route, "ipv6CidrBlock")]
        if not any(one in _EVERYWHERE or one == UNKNOWN for one in to):
            continue
        gateway = route.get("gatewayId")
        if gateway:
            name = "routes" if holder is table else "gatewayId"
            yield (
                "internet" if gateways & set(holder.behind.get(name, ())) or str(gateway).startswith("igw-") else "out"
            )
        elif any(
            route.get(key)
            for key in (
                "natGatewayId",
                "transitGatewayId",
                "vpcEndpointId",
                "networkInterfaceId",
                "vpcPeeringConnectionId",
            )
        ):
            yield "out"


def one_zone(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes of one fabric are in one zone, which is that of their file system."""
    zones = {one.urn: str(one.inputs.get("availabilityZone")) for one in resources if one.type == SUBNET}
    home = {
        zones[urn]
        for one in resources
        if one.type == FILE_SYSTEM
        for urn in one.behind.get("subnetIds", ())
        if urn in zones
    }
    messages: list[tuple[str, str]] = []
    for one in resources:
        if one.type not in (GROUP, NODE_GROUP):
            continue
        own = {zones[urn] for urn in one.behind.get(MACHINES[one.type], ()) if urn in zones}
        named = texts(one.inputs, "availabilityZones")
        if named or len(own) > 1:
            messages.append(
                (one.urn, f"is spread over zones ({', '.join(sorted(own | set(named)))}): its fabric is within one")
            )
        elif own and home and not own & home:
            messages.append((one.urn, f"is in {', '.join(own)}, and its file system in {', '.join(home)}"))
    return messages


def watched_networks(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """What is refused in a network is written down."""
    logged = {urn for one in resources if one.type == FLOW_LOG for urn in one.behind.get("vpcId", ())}
    return [
        (one.urn, "has no flow log: nobody sees what is refused")
        for one in resources
        if one.type == NETWORK and one.urn not in logged
    ]


STACK_RULES = (
    StackRule(name="networks-are-watched", description="Networks have flow logs.", check=watched_networks),
    StackRule(name="ways-out-of-machines", description="Machines reach out by a NAT gateway alone.", check=ways_out),
    StackRule(
        name="one-zone", description="Nodes are in the zone of their file system.", check=one_zone, about=PLACEMENT
    ),
)
