"""Private network: subnets, security groups, one way out (NAT), one way in (Bastion), private names for services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi_azure_native import network, privatedns

from addresses import AddressPlan
from firewall import endpoints_rules, lustre_rules, nodes_rules

# Azure finds Bastion's subnet by this name.
_BASTION_SUBNET = "AzureBastionSubnet"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkArgs:
    """Place and address plan of the network."""

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    addresses: AddressPlan
    bastion_enabled: bool
    tags: Mapping[str, str]


class Network(pulumi.ComponentResource):
    """Virtual network without any public address on a machine."""

    nodes_subnet_id: pulumi.Output[str]
    lustre_subnet_id: pulumi.Output[str]
    endpoints_subnet_id: pulumi.Output[str]
    vault_zone_id: pulumi.Output[str]
    blob_zone_id: pulumi.Output[str]
    bastion_name: pulumi.Output[str] | None

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:azure:Network", name, {}, opts)
        self._name = name
        self._args = args
        plan = args.addresses

        self._virtual_network = network.VirtualNetwork(
            f"{name}-vnet",
            resource_group_name=args.resource_group_name,
            location=args.location,
            address_space=network.AddressSpaceArgs(address_prefixes=[str(plan.virtual_network)]),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        nat = network.NatGateway(
            f"{name}-nat",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=network.NatGatewaySkuArgs(name=network.NatGatewaySkuName.STANDARD),
            public_ip_addresses=[network.SubResourceArgs(id=self._public_address("nat").id)],
            zones=[args.zone],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        # Azure changes one subnet of a virtual network at a time, hence the chain.
        nodes = self._subnet("nodes", plan.nodes, rules=nodes_rules(plan), nat=nat, after=[])
        lustre = self._subnet("lustre", plan.lustre, rules=lustre_rules(plan, args.location), nat=nat, after=[nodes])
        endpoints = self._subnet("endpoints", plan.endpoints, rules=endpoints_rules(plan), nat=None, after=[lustre])
        self.nodes_subnet_id = nodes.id
        self.lustre_subnet_id = lustre.id
        self.endpoints_subnet_id = endpoints.id
        self.bastion_name = self._bastion(after=[endpoints]).name if args.bastion_enabled else None

        self.vault_zone_id = self._private_zone("vault", "privatelink.vaultcore.azure.net")
        self.blob_zone_id = self._private_zone("blob", "privatelink.blob.core.windows.net")
        self.register_outputs({"nodes_subnet_id": self.nodes_subnet_id, "lustre_subnet_id": self.lustre_subnet_id})

    def _public_address(self, purpose: str) -> network.PublicIPAddress:
        return network.PublicIPAddress(
            f"{self._name}-{purpose}-address",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            zones=[self._args.zone],
            tags=self._args.tags,
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
            virtual_network_name=self._virtual_network.name,
            address_prefix=str(prefix),
            default_outbound_access=False,
            network_security_group=network.NetworkSecurityGroupArgs(id=security_group.id),
            nat_gateway=network.SubResourceArgs(id=nat.id) if nat else None,
            # Without this the rules of the security group would not apply to private endpoints.
            private_endpoint_network_policies=network.VirtualNetworkPrivateEndpointNetworkPolicies.ENABLED,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )

    def _bastion(self, after: Sequence[pulumi.Resource]) -> network.BastionHost:
        # Bastion is a managed service with its own security: it has its own address, and its subnet no NAT gateway.
        subnet = network.Subnet(
            f"{self._name}-bastion",
            resource_group_name=self._args.resource_group_name,
            virtual_network_name=self._virtual_network.name,
            subnet_name=_BASTION_SUBNET,
            address_prefix=str(self._args.addresses.bastion),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )
        return network.BastionHost(
            f"{self._name}-bastion",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            # Tunnels (`az network bastion ssh`) need the Standard SKU.
            sku=network.SkuArgs(name=network.BastionHostSkuName.STANDARD),
            enable_tunneling=True,
            enable_shareable_link=False,
            ip_configurations=[
                network.BastionHostIPConfigurationArgs(
                    name="bastion",
                    subnet=network.SubResourceArgs(id=subnet.id),
                    public_ip_address=network.SubResourceArgs(id=self._public_address("bastion").id),
                )
            ],
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _private_zone(self, purpose: str, domain: str) -> pulumi.Output[str]:
        zone = privatedns.PrivateZone(
            f"{self._name}-{purpose}-zone",
            resource_group_name=self._args.resource_group_name,
            private_zone_name=domain,
            location="Global",
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        privatedns.VirtualNetworkLink(
            f"{self._name}-{purpose}-zone-link",
            resource_group_name=self._args.resource_group_name,
            private_zone_name=zone.name,
            location="Global",
            registration_enabled=False,
            virtual_network=privatedns.SubResourceArgs(id=self._virtual_network.id),
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return zone.id
