"""The private network: one zone, no inbound path from the internet, outbound through NAT."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.addresses import AddressPlan
from gpu_cluster.existing import NetworkIds

ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkArgs:
    """What the network needs."""

    region: str
    availability_zone: str
    second_availability_zone: str | None
    addresses: AddressPlan


class Network(pulumi.ComponentResource):
    """VPC with private subnets for nodes and services, and a public /28 that holds nothing but the NAT gateway."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Network", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=str(args.addresses.vpc),
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags={"Name": name},
            opts=child,
        )
        # Adopts the group that AWS makes with every VPC and leaves it without rules, so that nothing works by accident.
        aws.ec2.DefaultSecurityGroup(f"{name}-default", vpc_id=vpc.id, ingress=[], egress=[], opts=child)
        public = aws.ec2.Subnet(
            f"{name}-public",
            vpc_id=vpc.id,
            cidr_block=str(args.addresses.public),
            availability_zone=args.availability_zone,
            map_public_ip_on_launch=False,
            tags={"Name": f"{name}-public"},
            opts=child,
        )
        nodes = aws.ec2.Subnet(
            f"{name}-nodes",
            vpc_id=vpc.id,
            cidr_block=str(args.addresses.nodes),
            availability_zone=args.availability_zone,
            map_public_ip_on_launch=False,
            tags={"Name": f"{name}-nodes"},
            opts=child,
        )
        gateway = aws.ec2.InternetGateway(f"{name}-internet", vpc_id=vpc.id, tags={"Name": name}, opts=child)
        public_routes = aws.ec2.RouteTable(
            f"{name}-public",
            vpc_id=vpc.id,
            routes=[aws.ec2.RouteTableRouteArgs(cidr_block=ANYWHERE, gateway_id=gateway.id)],
            tags={"Name": f"{name}-public"},
            opts=child,
        )
        public_way = aws.ec2.RouteTableAssociation(
            f"{name}-public", route_table_id=public_routes.id, subnet_id=public.id, opts=child
        )
        address = aws.ec2.Eip(f"{name}-nat", domain="vpc", tags={"Name": f"{name}-nat"}, opts=child)
        nat = aws.ec2.NatGateway(
            f"{name}-nat",
            subnet_id=public.id,
            allocation_id=address.id,
            tags={"Name": name},
            # A NAT gateway that comes up before its way out is marked failed.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[public_way]),
        )
        # The table of every subnet that has no other one, so that a subnet added later is private by itself.
        private_routes = aws.ec2.DefaultRouteTable(
            f"{name}-private",
            default_route_table_id=vpc.default_route_table_id,
            routes=[aws.ec2.DefaultRouteTableRouteArgs(cidr_block=ANYWHERE, nat_gateway_id=nat.id)],
            tags={"Name": f"{name}-private"},
            opts=child,
        )
        # Checkpoints and data sets go to S3 past the NAT gateway, which charges per GB.
        aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{args.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[private_routes.id],
            tags={"Name": f"{name}-s3"},
            opts=child,
        )
        self.ids = NetworkIds(
            vpc_id=vpc.id,
            node_subnet_id=nodes.id,
            service_subnet_ids=pulumi.Output.all(*self._services(name, args, vpc)),
            node_addresses=pulumi.Output.from_input(args.addresses.node_subnet_addresses),
        )
        self.register_outputs({"vpc_id": vpc.id, "node_subnet_id": nodes.id})

    def _services(self, name: str, args: NetworkArgs, vpc: aws.ec2.Vpc) -> list[pulumi.Output[str]]:
        """Make one private subnet in the nodes' zone and one in another: managed services want two zones."""
        second = args.second_availability_zone
        zones = (args.availability_zone, second or self._other_zone(args.availability_zone))
        subnets: list[pulumi.Output[str]] = []
        for index, (zone, range_) in enumerate(zip(zones, args.addresses.services, strict=True)):
            subnet = aws.ec2.Subnet(
                f"{name}-services-{index}",
                vpc_id=vpc.id,
                cidr_block=str(range_),
                availability_zone=zone,
                map_public_ip_on_launch=False,
                tags={"Name": f"{name}-services-{index}"},
                opts=pulumi.ResourceOptions(
                    parent=self,
                    # A zone that AWS adds later must not move a subnet whose zone was looked up.
                    ignore_changes=["availability_zone"] if index and second is None else None,
                ),
            )
            subnets.append(subnet.id)
        return subnets

    def _other_zone(self, availability_zone: str) -> pulumi.Output[str]:
        """Look up a zone of the region that is not the nodes' one."""
        found = aws.get_availability_zones_output(
            state="available",
            # Local and wavelength zones have no managed databases.
            filters=[
                aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"]),
            ],
            opts=pulumi.InvokeOptions(parent=self),
        )
        return found.names.apply(lambda names: min(set(names) - {availability_zone}))
