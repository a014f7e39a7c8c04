"""Private network: subnets, security groups, one way out (NAT)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

import pulumi
from pulumi_azure_native import network

from gpu_cluster.addresses import RDMA_NETWORK, AddressPlan
from gpu_cluster.existing import ExistingNetwork
from gpu_cluster.firewall import endpoints_rules, lustre_rules, nodes_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkArgs:
    """Place and address plan of the network."""

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    addresses: AddressPlan
    tags: Mapping[str, str]


class Network(pulumi.ComponentResource):
    """Virtual network without any public address on a machine."""

    virtual_network_id: pulumi.Output[str]
    virtual_network_name: pulumi.Output[str]
    node_subnet_id: pulumi.Output[str]
    lustre_subnet_id: pulumi.Output[str]
    service_subnet: network.Subnet

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Network", name, {}, opts)
        self._name = name
        self._args = args
        plan = args.addresses

        virtual_network = network.VirtualNetwork(
            f"{name}-vnet",
            resource_group_name=args.resource_group_name,
            location=args.location,
            address_space=network.AddressSpaceArgs(address_prefixes=[str(plan.virtual_network)]),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.virtual_network_id = virtual_network.id
        self.virtual_network_name = virtual_network.name
        nat = self._nat()
        # Azure changes one subnet of a virtual network at a time, hence the chain.
        nodes = self._subnet("nodes", plan.nodes, rules=nodes_rules(plan), nat=nat, after=[])
        lustre = self._subnet("lustre", plan.lustre, rules=lustre_rules(plan, args.location), nat=nat, after=[nodes])
        self.service_subnet = self._subnet(
            "endpoints", plan.endpoints, rules=endpoints_rules(plan), nat=None, after=[lustre]
        )
        self.node_subnet_id = nodes.id
        self.lustre_subnet_id = lustre.id
        self.register_outputs({"node_subnet_id": self.node_subnet_id, "lustre_subnet_id": self.lustre_subnet_id})

    def _nat(self) -> network.NatGateway:
        args = self._args
        address = network.PublicIPAddress(
            f"{self._name}-nat-address",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            zones=[args.zone],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return network.NatGateway(
            f"{self._name}-nat",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=network.NatGatewaySkuArgs(name=network.NatGatewaySkuName.STANDARD),
            public_ip_addresses=[network.SubResourceArgs(id=address.id)],
            zones=[args.zone],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _subnet(
        self,
        purpose: str,
        prefix: IPv4Network,
        *,
        rules: Sequence[network.SecurityRuleArgs],
        nat: network.NatGateway | None,
        after: Sequence[pulumi.Resource],
    ) -> network.Subnet:
        security_group = network.NetworkSecurityGroup(
            f"{self._name}-{purpose}-rules",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            security_rules=rules,
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return network.Subnet(
            f"{self._name}-{purpose}",
            resource_group_name=self._args.resource_group_name,
            virtual_network_name=self.virtual_network_name,
            address_prefix=str(prefix),
            default_outbound_access=False,
            network_security_group=network.NetworkSecurityGroupArgs(id=security_group.id),
            nat_gateway=network.SubResourceArgs(id=nat.id) if nat else None,
            # Without this the rules of the security group would not apply to private endpoints.
            private_endpoint_network_policies=network.VirtualNetworkPrivateEndpointNetworkPolicies.ENABLED,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )


def node_subnet_in(existing: ExistingNetwork, opts: pulumi.InvokeOptions) -> tuple[IPv4Network, str]:
    """Look at a network that exists already, and return its nodes' subnet and the address that the controller gets.

    The address is the configured one, or the subnet's last: Azure itself gives out addresses from the first one on, and
    refuses one that is taken.

    Raises:
        RunError: the network overlaps the addresses of InfiniBand, or lacks the subnet.
    """
    parts = existing.virtual_network_id.split("/")
    found = network.get_virtual_network(resource_group_name=parts[4], virtual_network_name=parts[8], opts=opts)
    for prefix in (found.address_space.address_prefixes or []) if found.address_space else []:
        # IPv6 ranges are no concern of the InfiniBand network.
        if ":" not in prefix and IPv4Network(prefix).overlaps(RDMA_NETWORK):
            raise pulumi.RunError(
                f"existingNetwork.virtualNetworkId: its range {prefix} overlaps {RDMA_NETWORK}, which the InfiniBand "
                "network reserves"
            )
    subnet_name = existing.node_subnet_id.rpartition("/")[2]
    prefixes = [subnet.address_prefix for subnet in found.subnets or [] if subnet.name == subnet_name]
    if not prefixes or not prefixes[0]:
        raise pulumi.RunError(f"existingNetwork.nodeSubnetId: {parts[8]} has no subnet {subnet_name}")
    addresses = IPv4Network(prefixes[0])
    if existing.controller_address is None:
        # The last address of a subnet is its broadcast address, which Azure keeps.
        return addresses, str(addresses[-2])
    if IPv4Address(existing.controller_address) not in addresses:
        raise pulumi.RunError(
            f"existingNetwork.controllerAddress: {existing.controller_address} is not in {addresses}, the addresses of "
            f"{subnet_name}"
        )
    return addresses, existing.controller_address
