"""The key of the parallel file system, in a vault of its own, since the service asks for another key and door."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import keyvault, managedidentity

from gpu_cluster.keys import Door, KeyVaultArgs, key_vault
from gpu_cluster.roles import BuiltinRole, grant

# Azure Managed Lustre takes RSA keys of this size alone. Microsoft, "Use customer-managed encryption keys with Azure
# Managed Lustre", 2024-11-11.
_KEY_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemKeyArgs:
    """Where the key is kept: in the location and subscription of the file system, as the service asks."""

    resource_group_name: pulumi.Input[str]
    location: str
    tenant_id: str
    subscription_id: str
    tags: Mapping[str, str]


class FileSystemKey(pulumi.ComponentResource):
    """A key that encrypts the file system, and the identity by which the service uses it and nothing else."""

    vault_id: pulumi.Output[str]
    key_url: pulumi.Output[str]
    identity_id: pulumi.Output[str]
    key_grant: pulumi.Resource

    def __init__(self, name: str, args: FileSystemKeyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:FileSystemKey", name, {}, opts)
        kept = pulumi.ResourceOptions(parent=self, protect=True)
        vault = key_vault(
            "lv",
            name,
            KeyVaultArgs(
                resource_group_name=args.resource_group_name,
                location=args.location,
                tenant_id=args.tenant_id,
                door=Door.AZURE_SERVICES,
                tags=args.tags,
            ),
            kept,
        )
        key = keyvault.Key(
            f"{name}-lustre-key",
            resource_group_name=args.resource_group_name,
            vault_name=vault.name,
            properties=keyvault.KeyPropertiesArgs(kty=keyvault.JsonWebKeyType.RSA, key_size=_KEY_BITS),
            tags=args.tags,
            opts=kept,
        )
        identity = managedidentity.UserAssignedIdentity(
            f"{name}-lustre",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.key_grant = grant(
            f"{name}-lustre-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=identity.principal_id,
            scope=key.id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        self.vault_id = vault.id
        self.key_url = key.key_uri_with_version
        self.identity_id = identity.id
        self.register_outputs({"key_url": self.key_url})
