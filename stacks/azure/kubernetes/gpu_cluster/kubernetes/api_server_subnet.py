"""The API server's own subnet: nodes reach it without leaving the network, and it reaches the closed key vault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi_azure_native import network

_LAST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSubnetArgs:
    """The foundation's network, the part of it that the API server gets, and who comes in from outside."""

    resource_group_name: pulumi.Input[str]
    location: str
    virtual_network_id: pulumi.Input[str]
    cidr: IPv4Network
    operator_cidrs: Sequence[str]
    tags: Mapping[str, str]


class ApiServerSubnet(pulumi.ComponentResource):
    """Subnet and security group, which admits the network, Azure's probes, and operators by their addresses."""

    subnet_id: pulumi.Output[str]

    def __init__(self, name: str, args: ApiServerSubnetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ApiServerSubnet", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        # Microsoft, "API Server VNet Integration": 443 and 4443 from the nodes, 9988 from the load balancer.
        rules = [
            _allow("nodes", 100, ("443", "4443"), source="VirtualNetwork"),
            _allow("probes", 110, ("9988",), source="AzureLoadBalancer"),
        ]
        if args.operator_cidrs:
            rules.append(_allow("operators", 120, ("443",), sources=args.operator_cidrs))
        rules.append(
            network.SecurityRuleArgs(
                name="nothing-else",
                priority=_LAST,
                direction=network.SecurityRuleDirection.INBOUND,
                access=network.SecurityRuleAccess.DENY,
                protocol=network.SecurityRuleProtocol.ASTERISK,
                source_address_prefix="*",
                source_port_range="*",
                destination_address_prefix="*",
                destination_port_range="*",
            )
        )
        group = network.NetworkSecurityGroup(
            f"{name}-rules",
            resource_group_name=args.resource_group_name,
            location=args.location,
            security_rules=rules,
            tags=args.tags,
            opts=child,
        )
        parts = pulumi.Output.from_input(args.virtual_network_id).apply(lambda found: found.split("/"))
        self.subnet_id = network.Subnet(
            name,
            resource_group_name=parts.apply(lambda found: found[4]),
            virtual_network_name=parts.apply(lambda found: found[8]),
            address_prefix=str(args.cidr),
            default_outbound_access=False,
            network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
            delegations=[network.DelegationArgs(name="aks", service_name="Microsoft.ContainerService/managedClusters")],
            opts=child,
        ).id
        self.register_outputs({"subnet_id": self.subnet_id})


def _allow(
    name: str, priority: int, ports: Sequence[str], *, source: str | None = None, sources: Sequence[str] = ()
) -> network.SecurityRuleArgs:
    return network.SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=network.SecurityRuleDirection.INBOUND,
        access=network.SecurityRuleAccess.ALLOW,
        protocol=network.SecurityRuleProtocol.TCP,
        source_address_prefix=source,
        source_address_prefixes=list(sources) or None,
        source_port_range="*",
        destination_address_prefix="*",
        destination_port_ranges=list(ports),
    )
