"""The one way in for people: Azure Bastion, with their own Entra login."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi_azure_native import network

# Azure finds Bastion's subnet by this name.
_SUBNET = "AzureBastionSubnet"


@dataclass(frozen=True, slots=True, kw_only=True)
class BastionArgs:
    """Where Bastion stands."""

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    virtual_network_name: pulumi.Input[str]
    addresses: IPv4Network
    after: Sequence[pulumi.Resource]
    tags: Mapping[str, str]


class Bastion(pulumi.ComponentResource):
    """A managed service with its own security: it has its own address, and its subnet no NAT gateway."""

    bastion_name: pulumi.Output[str]

    def __init__(self, name: str, args: BastionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Bastion", name, {}, opts)
        subnet = network.Subnet(
            f"{name}-bastion",
            resource_group_name=args.resource_group_name,
            virtual_network_name=args.virtual_network_name,
            subnet_name=_SUBNET,
            address_prefix=str(args.addresses),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        address = network.PublicIPAddress(
            f"{name}-bastion-address",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            zones=[args.zone],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        host = network.BastionHost(
            f"{name}-bastion",
            resource_group_name=args.resource_group_name,
            location=args.location,
            # Tunnels (`az network bastion ssh`) need the Standard SKU.
            sku=network.SkuArgs(name=network.BastionHostSkuName.STANDARD),
            enable_tunneling=True,
            enable_shareable_link=False,
            ip_configurations=[
                network.BastionHostIPConfigurationArgs(
                    name="bastion",
                    subnet=network.SubResourceArgs(id=subnet.id),
                    public_ip_address=network.SubResourceArgs(id=address.id),
                )
            ],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.bastion_name = host.name
        self.register_outputs({"bastion_name": self.bastion_name})
