"""Private endpoints of the AWS services that machines need at boot and for shell access."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

# AWS services that machines reach without leaving the network; each takes one address of the node subnet and costs by
# the hour. What is called rarely goes out through NAT.
INTERFACE_ENDPOINTS = ("ec2messages", "secretsmanager", "ssm", "ssmmessages")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointsArgs:
    """Where the endpoints go."""

    region: str
    vpc_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    security_group_id: pulumi.Input[str]


class Endpoints(pulumi.ComponentResource):
    """One interface endpoint per service: shell access and the authentication key work even without the NAT gateway."""

    def __init__(self, name: str, args: EndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Endpoints", name, None, opts)
        for service in INTERFACE_ENDPOINTS:
            aws.ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=args.vpc_id,
                service_name=f"com.amazonaws.{args.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[args.subnet_id],
                security_group_ids=[args.security_group_id],
                private_dns_enabled=True,
                tags={"Name": f"{name}-{service}"},
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
