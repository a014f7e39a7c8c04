"""Private names of Azure's services, and the private endpoints that they lead to."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import network, privatedns

VAULT_DOMAIN = "privatelink.vaultcore.azure.net"
BLOB_DOMAIN = "privatelink.blob.core.windows.net"
DATABASE_DOMAIN = "privatelink.mysql.database.azure.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNamesArgs:
    """The network that looks names up, and the zones that it has already."""

    resource_group_name: pulumi.Input[str]
    virtual_network_id: pulumi.Input[str]
    vault_zone_id: str | None
    blob_zone_id: str | None
    database_zone_id: str | None
    tags: Mapping[str, str]


class PrivateNames(pulumi.ComponentResource):
    """A private DNS zone for each service, linked to the network, except where the network has one."""

    vault_zone_id: pulumi.Output[str]
    blob_zone_id: pulumi.Output[str]
    database_zone_id: pulumi.Output[str]

    def __init__(self, name: str, args: PrivateNamesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:PrivateNames", name, {}, opts)

        def zone_id(purpose: str, domain: str, existing_id: str | None) -> pulumi.Output[str]:
            if existing_id:
                return pulumi.Output.from_input(existing_id)
            zone = privatedns.PrivateZone(
                f"{name}-{purpose}-zone",
                resource_group_name=args.resource_group_name,
                private_zone_name=domain,
                location="Global",
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            privatedns.VirtualNetworkLink(
                f"{name}-{purpose}-zone-link",
                resource_group_name=args.resource_group_name,
                private_zone_name=zone.name,
                location="Global",
                registration_enabled=False,
                virtual_network=privatedns.SubResourceArgs(id=args.virtual_network_id),
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            return zone.id

        self.vault_zone_id = zone_id("vault", VAULT_DOMAIN, args.vault_zone_id)
        self.blob_zone_id = zone_id("blob", BLOB_DOMAIN, args.blob_zone_id)
        self.database_zone_id = zone_id("database", DATABASE_DOMAIN, args.database_zone_id)
        self.register_outputs({"vault_zone_id": self.vault_zone_id, "blob_zone_id": self.blob_zone_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateEndpointArgs:
    """One service as seen from the network.

    Attributes:
        service: Azure's name of the part that is reached: vault, blob, mysqlServer.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    subnet_id: pulumi.Input[str]
    target_id: pulumi.Input[str]
    service: str
    zone_id: pulumi.Input[str]
    tags: Mapping[str, str]


def private_endpoint(
    name: str, purpose: str, args: PrivateEndpointArgs, parent: pulumi.Resource
) -> network.PrivateDnsZoneGroup:
    """Make a private endpoint and the name that leads to it; who needs the service waits for the name."""
    endpoint = network.PrivateEndpoint(
        f"{name}-{purpose}-endpoint",
        resource_group_name=args.resource_group_name,
        location=args.location,
        subnet=network.SubnetArgs(id=args.subnet_id),
        private_link_service_connections=[
            network.PrivateLinkServiceConnectionArgs(
                name=purpose, private_link_service_id=args.target_id, group_ids=[args.service]
            )
        ],
        tags=args.tags,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return network.PrivateDnsZoneGroup(
        f"{name}-{purpose}-names",
        resource_group_name=args.resource_group_name,
        private_endpoint_name=endpoint.name,
        private_dns_zone_group_name="default",
        private_dns_zone_configs=[network.PrivateDnsZoneConfigArgs(name=purpose, private_dns_zone_id=args.zone_id)],
        opts=pulumi.ResourceOptions(parent=parent),
    )
