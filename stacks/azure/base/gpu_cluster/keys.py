"""Key vaults: one for the encryption key, one for the cluster's secret; and what encrypts disks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import pulumi
from pulumi_azure_native import compute, keyvault

from gpu_cluster.existing import ExistingKey
from gpu_cluster.private_names import PrivateEndpointArgs, private_endpoint
from gpu_cluster.roles import BuiltinRole, grant

SECRET_NAME = "munge-key"  # noqa: S105 -- the name of the secret; its value is made by the controller
# Days in which a deleted key can be brought back: the most, since losing it loses the data.
_RETENTION_DAYS = 90


class Door(Enum):
    """What reaches a vault besides private endpoints; either way Azure's own services pass, and no address does."""

    PRIVATE = "Disabled"
    # Azure Managed Lustre asks for a vault whose public access is on. Addresses are denied, and none is listed.
    AZURE_SERVICES = "Enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVaultArgs:
    """Where a vault is and what reaches it."""

    resource_group_name: pulumi.Input[str]
    location: str
    tenant_id: str
    door: Door
    tags: Mapping[str, str]


def key_vault(purpose: str, name: str, args: KeyVaultArgs, opts: pulumi.ResourceOptions) -> keyvault.Vault:
    """Make a vault that decides by roles and cannot be purged.

    Args:
        purpose: two letters, the first of the vault's name.
        name: of the cluster.
        args: where it is and what reaches it.
        opts: whose part it is.
    """
    return keyvault.Vault(
        # Names of vaults are global and at most 24 characters, 8 of them random.
        f"{purpose}{name.replace('-', '')[:13]}",
        resource_group_name=args.resource_group_name,
        location=args.location,
        properties=keyvault.VaultPropertiesArgs(
            tenant_id=args.tenant_id,
            sku=keyvault.SkuArgs(family=keyvault.SkuFamily.A, name=keyvault.SkuName.STANDARD),
            enable_rbac_authorization=True,
            enable_soft_delete=True,
            soft_delete_retention_in_days=_RETENTION_DAYS,
            enable_purge_protection=True,
            public_network_access=args.door.value,
            # Disks and storage read the key through Azure's own services, past the closed door.
            network_acls=keyvault.NetworkRuleSetArgs(
                default_action=keyvault.NetworkRuleAction.DENY,
                bypass=keyvault.NetworkRuleBypassOptions.AZURE_SERVICES,
            ),
        ),
        tags=args.tags if args.door is Door.PRIVATE else {**args.tags, "opened-for": "lustre"},
        opts=opts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysArgs:
    """Where the keys are kept and from where they are reached."""

    resource_group_name: pulumi.Input[str]
    network_group_name: pulumi.Input[str]
    location: str
    tenant_id: str
    subscription_id: str
    service_subnet_id: pulumi.Input[str]
    vault_zone_id: pulumi.Input[str]
    existing: ExistingKey | None
    tags: Mapping[str, str]


class Keys(pulumi.ComponentResource):
    """The key that encrypts everything, the vault of the cluster's secret, the encryption of disks.

    Two vaults, because a grant on a secret needs the secret to exist and the cluster's is made at first boot: the
    machines get their grants on a vault that holds nothing but it.
    """

    vault_id: pulumi.Output[str]
    vault_uri: pulumi.Output[str]
    key_id: pulumi.Output[str]
    key_name: pulumi.Output[str]
    key_url: pulumi.Output[str]
    secret_vault_id: pulumi.Output[str]
    secret_url: pulumi.Output[str]
    disk_encryption_set_id: pulumi.Output[str]
    vault_ids: Mapping[str, pulumi.Output[str]]
    """Of the vaults that are made here, by what they are for."""

    def __init__(self, name: str, args: KeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Keys", name, {}, opts)
        self._name = name
        self._args = args
        vault_ids: dict[str, pulumi.Output[str]] = {}
        if args.existing:
            self.vault_id = pulumi.Output.from_input(args.existing.vault_id)
            self.vault_uri = pulumi.Output.from_input(args.existing.key_url.partition("keys/")[0])
            self.key_id = pulumi.Output.from_input(args.existing.key_id)
            self.key_name = pulumi.Output.from_input(args.existing.key_name)
            self.key_url = pulumi.Output.from_input(args.existing.key_url)
        else:
            vault = self._vault("kv")
            vault_ids["keys"] = vault.id
            self._endpoint("keys", vault.id)
            key = keyvault.Key(
                f"{name}-key",
                resource_group_name=args.resource_group_name,
                vault_name=vault.name,
                properties=keyvault.KeyPropertiesArgs(kty=keyvault.JsonWebKeyType.RSA, key_size=3072),
                tags=args.tags,
                opts=self._kept(),
            )
            self.vault_id = vault.id
            self.vault_uri = vault.properties.apply(lambda properties: properties.vault_uri or "")
            self.key_id = key.id
            self.key_name = key.name
            self.key_url = key.key_uri_with_version
        secret_vault = self._vault("sv")
        vault_ids["secret"] = secret_vault.id
        self._endpoint("secret", secret_vault.id)
        self.secret_vault_id = secret_vault.id
        self.secret_url = secret_vault.properties.apply(
            lambda properties: f"{properties.vault_uri}secrets/{SECRET_NAME}"
        )
        self.vault_ids = vault_ids
        self.disk_encryption_set_id = self._disk_encryption_set()
        self.register_outputs({"key_id": self.key_id, "disk_encryption_set_id": self.disk_encryption_set_id})

    def _kept(self) -> pulumi.ResourceOptions:
        """Refuse deletion by `pulumi destroy`; to delete for good, unprotect in the state first."""
        return pulumi.ResourceOptions(parent=self, protect=True)

    def _vault(self, purpose: str) -> keyvault.Vault:
        args = self._args
        return key_vault(
            purpose,
            self._name,
            KeyVaultArgs(
                resource_group_name=args.resource_group_name,
                location=args.location,
                tenant_id=args.tenant_id,
                door=Door.PRIVATE,
                tags=args.tags,
            ),
            self._kept(),
        )

    def _endpoint(self, purpose: str, vault_id: pulumi.Input[str]) -> None:
        private_endpoint(
            self._name,
            purpose,
            PrivateEndpointArgs(
                resource_group_name=self._args.network_group_name,
                location=self._args.location,
                subnet_id=self._args.service_subnet_id,
                target_id=vault_id,
                service="vault",
                zone_id=self._args.vault_zone_id,
                tags=self._args.tags,
            ),
            self,
        )

    def _disk_encryption_set(self) -> pulumi.Output[str]:
        made = compute.DiskEncryptionSet(
            f"{self._name}-disks",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            encryption_type=compute.DiskEncryptionSetType.ENCRYPTION_AT_REST_WITH_CUSTOMER_KEY,
            active_key=compute.KeyForDiskEncryptionSetArgs(
                key_url=self.key_url, source_vault=compute.SourceVaultArgs(id=self.vault_id)
            ),
            rotation_to_latest_key_version_enabled=True,
            identity=compute.EncryptionSetIdentityArgs(type=compute.DiskEncryptionSetIdentityType.SYSTEM_ASSIGNED),
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        grant(
            f"{self._name}-disks-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=made.identity.apply(lambda identity: identity.principal_id if identity else ""),
            scope=self.key_id,
            subscription_id=self._args.subscription_id,
            parent=self,
        )
        return made.id
