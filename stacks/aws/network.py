"""The private network: one zone, no inbound path from the internet, outbound through NAT."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from addresses import AddressPlan
from policy import Account, Statement, document, service_trust

FLOW_LOG_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkArgs:
    """What the network needs."""

    account: Account
    availability_zone: str
    addresses: AddressPlan
    key_arn: pulumi.Input[str]


class Network(pulumi.ComponentResource):
    """VPC with a private subnet for nodes and file system, and a public /28 that holds nothing but the NAT gateway."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:aws:Network", name, None, opts)
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
        kept = aws.ec2.SubnetCidrReservation(
            f"{name}-kept",
            subnet_id=nodes.id,
            cidr_block=str(args.addresses.kept),
            reservation_type="explicit",
            description="Fixed addresses, the controller's among them",
            opts=child,
        )
        gateway = aws.ec2.InternetGateway(f"{name}-internet", vpc_id=vpc.id, tags={"Name": name}, opts=child)
        public_routes = _route_table(f"{name}-public", vpc, public, child)
        internet_route = aws.ec2.Route(
            f"{name}-public-default",
            route_table_id=public_routes.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=child,
        )
        address = aws.ec2.Eip(f"{name}-nat", domain="vpc", tags={"Name": f"{name}-nat"}, opts=child)
        nat = aws.ec2.NatGateway(
            f"{name}-nat",
            subnet_id=public.id,
            allocation_id=address.id,
            tags={"Name": name},
            # A NAT gateway that comes up before its way out is marked failed.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[internet_route]),
        )
        node_routes = _route_table(f"{name}-nodes", vpc, nodes, child)
        aws.ec2.Route(
            f"{name}-nodes-default",
            route_table_id=node_routes.id,
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=nat.id,
            opts=child,
        )
        # Checkpoints and data sets go to S3 past the NAT gateway, which charges per GB.
        aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{args.account.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[node_routes.id],
            tags={"Name": f"{name}-s3"},
            opts=child,
        )
        _flow_log(name, args, vpc, child)
        self.vpc_id: pulumi.Output[str] = vpc.id
        # Whatever takes addresses of the subnet waits for the reservation too, so that none takes the controller's.
        self.node_subnet_id: pulumi.Output[str] = pulumi.Output.all(nodes.id, kept.id).apply(lambda ids: ids[0])
        self.register_outputs({"vpc_id": self.vpc_id, "node_subnet_id": self.node_subnet_id})


def _route_table(
    name: str, vpc: aws.ec2.Vpc, subnet: aws.ec2.Subnet, opts: pulumi.ResourceOptions
) -> aws.ec2.RouteTable:
    table = aws.ec2.RouteTable(f"{name}-routes", vpc_id=vpc.id, tags={"Name": name}, opts=opts)
    aws.ec2.RouteTableAssociation(f"{name}-routes", route_table_id=table.id, subnet_id=subnet.id, opts=opts)
    return table


def _flow_log(name: str, args: NetworkArgs, vpc: aws.ec2.Vpc, opts: pulumi.ResourceOptions) -> None:
    group = aws.cloudwatch.LogGroup(
        f"{name}-flows", retention_in_days=FLOW_LOG_DAYS, kms_key_id=args.key_arn, opts=opts
    )
    role = aws.iam.Role(
        f"{name}-flows",
        assume_role_policy=service_trust("vpc-flow-logs.amazonaws.com", args.account),
        opts=opts,
    )
    aws.iam.RolePolicy(
        f"{name}-flows",
        role=role.id,
        policy=document(
            Statement(
                sid="WriteFlowLogs",
                actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                resources=[group.arn, pulumi.Output.concat(group.arn, ":*")],
            )
        ),
        opts=opts,
    )
    aws.ec2.FlowLog(
        f"{name}-flows",
        vpc_id=vpc.id,
        # Accepted traffic of a training fabric is bulk; what was refused is what explains a problem.
        traffic_type="REJECT",
        log_destination=group.arn,
        iam_role_arn=role.arn,
        tags={"Name": name},
        opts=opts,
    )
