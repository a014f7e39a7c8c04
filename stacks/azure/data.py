"""What must survive the GPU nodes: encryption keys, the object store and the Lustre file system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import compute, keyvault, managedidentity, network, storage, storagecache

from roles import BuiltinRole, grant
from settings import SharedStorage

SECRET_NAME = "munge-key"  # noqa: S105 -- the name of the secret; its value is made by the controller
CONTAINER_NAME = "data"
LOGGING_CONTAINER_NAME = "lustre-logs"

# Days in which deleted keys and blobs can be brought back: the most for keys, since losing one loses the data.
_KEY_RETENTION_DAYS = 90
_BLOB_RETENTION_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class DataArgs:
    """Where the data lives and who may reach it."""

    resource_group_name: pulumi.Input[str]
    network_group_name: pulumi.Input[str]
    location: str
    zone: str
    tenant_id: str
    subscription_id: str
    lustre_subnet_id: pulumi.Input[str]
    endpoints_subnet_id: pulumi.Input[str]
    vault_zone_id: pulumi.Input[str]
    blob_zone_id: pulumi.Input[str]
    shared_storage: SharedStorage
    storage_sku: str
    tags: Mapping[str, str]


class Data(pulumi.ComponentResource):
    """Two key vaults (one for encryption keys, one for the cluster's secret), a storage account, a file system."""

    secret_vault_id: pulumi.Output[str]
    secret_url: pulumi.Output[str]
    disk_encryption_set_id: pulumi.Output[str]
    disk_encryption_grant: pulumi.Resource
    secret_endpoint: pulumi.Resource
    storage_account_name: pulumi.Output[str]
    container_id: pulumi.Output[str]
    container_url: pulumi.Output[str]
    lustre_source: pulumi.Output[str]

    def __init__(self, name: str, args: DataArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:azure:Data", name, {}, opts)
        self._name = name
        self._args = args
        # Names of vaults and storage accounts are global and at most 24 characters, 8 of them random.
        self._short_name = name.replace("-", "")[:13]

        # Two vaults, because a grant on a secret needs the secret to exist and this one is made at first boot: the
        # machines get their grants on a vault that holds nothing but it.
        key_vault = self._vault("kv")
        secret_vault = self._vault("sv")
        key_endpoint = self._endpoint("keys", key_vault.id, "vault", args.vault_zone_id)
        self.secret_endpoint = self._endpoint("secret", secret_vault.id, "vault", args.vault_zone_id)
        self.secret_vault_id = secret_vault.id
        self.secret_url = secret_vault.properties.apply(
            lambda properties: f"{properties.vault_uri}secrets/{SECRET_NAME}"
        )

        key = keyvault.Key(
            f"{name}-key",
            resource_group_name=args.resource_group_name,
            vault_name=key_vault.name,
            properties=keyvault.KeyPropertiesArgs(kty=keyvault.JsonWebKeyType.RSA, key_size=3072),
            tags=args.tags,
            opts=self._kept(),
        )
        encryption_set = self._disk_encryption_set(key_vault, key)
        self.disk_encryption_set_id = encryption_set.id

        account = self._storage_account(key_vault, key, after=[key_endpoint])
        self.storage_account_name = account.name
        self._endpoint("blob", account.id, "blob", args.blob_zone_id)
        container = self._container(CONTAINER_NAME, account)
        self.container_id = container.id
        self.container_url = account.name.apply(lambda host: f"https://{host}.blob.core.windows.net/{CONTAINER_NAME}")

        file_system = self._file_system(account, container)
        # The mount name is the same on every file system: Microsoft, "Connect clients to an Azure Managed Lustre file
        # system".
        self.lustre_source = file_system.client_info.apply(lambda info: f"{info.mgs_address}@tcp:/lustrefs")
        self.register_outputs({"container_url": self.container_url, "lustre_source": self.lustre_source})

    def _kept(self, after: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        """Refuse deletion by `pulumi destroy`; to delete for good, unprotect in the state first."""
        return pulumi.ResourceOptions(parent=self, protect=True, depends_on=list(after))

    def _vault(self, purpose: str) -> keyvault.Vault:
        return keyvault.Vault(
            f"{purpose}{self._short_name}",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            properties=keyvault.VaultPropertiesArgs(
                tenant_id=self._args.tenant_id,
                sku=keyvault.SkuArgs(family=keyvault.SkuFamily.A, name=keyvault.SkuName.STANDARD),
                enable_rbac_authorization=True,
                enable_soft_delete=True,
                soft_delete_retention_in_days=_KEY_RETENTION_DAYS,
                enable_purge_protection=True,
                public_network_access="Disabled",
                # Disks and storage read the key through Azure's own services, past the closed door.
                network_acls=keyvault.NetworkRuleSetArgs(
                    default_action=keyvault.NetworkRuleAction.DENY,
                    bypass=keyvault.NetworkRuleBypassOptions.AZURE_SERVICES,
                ),
            ),
            tags=self._args.tags,
            opts=self._kept(),
        )

    def _endpoint(
        self, purpose: str, target_id: pulumi.Input[str], service: str, zone_id: pulumi.Input[str]
    ) -> network.PrivateDnsZoneGroup:
        endpoint = network.PrivateEndpoint(
            f"{self._name}-{purpose}-endpoint",
            resource_group_name=self._args.network_group_name,
            location=self._args.location,
            subnet=network.SubnetArgs(id=self._args.endpoints_subnet_id),
            private_link_service_connections=[
                network.PrivateLinkServiceConnectionArgs(
                    name=purpose, private_link_service_id=target_id, group_ids=[service]
                )
            ],
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return network.PrivateDnsZoneGroup(
            f"{self._name}-{purpose}-names",
            resource_group_name=self._args.network_group_name,
            private_endpoint_name=endpoint.name,
            private_dns_zone_group_name="default",
            private_dns_zone_configs=[network.PrivateDnsZoneConfigArgs(name=purpose, private_dns_zone_id=zone_id)],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _disk_encryption_set(self, vault: keyvault.Vault, key: keyvault.Key) -> compute.DiskEncryptionSet:
        made = compute.DiskEncryptionSet(
            f"{self._name}-disks",
            resource_group_name=self._args.resource_group_name,
            location=self._args.location,
            encryption_type=compute.DiskEncryptionSetType.ENCRYPTION_AT_REST_WITH_CUSTOMER_KEY,
            active_key=compute.KeyForDiskEncryptionSetArgs(
                key_url=key.key_uri_with_version, source_vault=compute.SourceVaultArgs(id=vault.id)
            ),
            rotation_to_latest_key_version_enabled=True,
            identity=compute.EncryptionSetIdentityArgs(type=compute.DiskEncryptionSetIdentityType.SYSTEM_ASSIGNED),
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.disk_encryption_grant = grant(
            f"{self._name}-disks-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=made.identity.apply(lambda identity: identity.principal_id if identity else ""),
            scope=key.id,
            subscription_id=self._args.subscription_id,
            parent=self,
        )
        return made

    def _storage_account(
        self, vault: keyvault.Vault, key: keyvault.Key, after: Sequence[pulumi.Resource]
    ) -> storage.StorageAccount:
        args = self._args
        identity = managedidentity.UserAssignedIdentity(
            f"{self._name}-storage",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        key_grant = grant(
            f"{self._name}-storage-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=identity.principal_id,
            scope=key.id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        account = storage.StorageAccount(
            f"st{self._short_name}",
            resource_group_name=args.resource_group_name,
            location=args.location,
            kind=storage.Kind.STORAGE_V2,
            sku=storage.SkuArgs(name=args.storage_sku),
            identity=storage.IdentityArgs(
                type=storage.IdentityType.USER_ASSIGNED, user_assigned_identities=[identity.id]
            ),
            encryption=storage.EncryptionArgs(
                key_source=storage.KeySource.MICROSOFT_KEYVAULT,
                key_vault_properties=storage.KeyVaultPropertiesArgs(
                    key_name=key.name,
                    key_vault_uri=vault.properties.apply(lambda properties: properties.vault_uri or ""),
                ),
                encryption_identity=storage.EncryptionIdentityArgs(encryption_user_assigned_identity=identity.id),
            ),
            minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,
            enable_https_traffic_only=True,
            allow_blob_public_access=False,
            allow_cross_tenant_replication=False,
            # Only the file system's import from the container signs with the account key.
            allow_shared_key_access=args.shared_storage.hydrate_from_bucket,
            public_network_access=storage.PublicNetworkAccess.DISABLED,
            network_rule_set=storage.NetworkRuleSetArgs(
                default_action=storage.DefaultAction.DENY, bypass=storage.Bypass.AZURE_SERVICES
            ),
            tags=args.tags,
            opts=self._kept(after=[key_grant, *after]),
        )
        retention = storage.DeleteRetentionPolicyArgs(enabled=True, days=_BLOB_RETENTION_DAYS)
        storage.BlobServiceProperties(
            f"{self._name}-blobs",
            resource_group_name=args.resource_group_name,
            account_name=account.name,
            blob_services_name="default",
            delete_retention_policy=retention,
            container_delete_retention_policy=retention,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return account

    def _container(self, container_name: str, account: storage.StorageAccount) -> storage.BlobContainer:
        return storage.BlobContainer(
            f"{self._name}-{container_name}",
            resource_group_name=self._args.resource_group_name,
            account_name=account.name,
            container_name=container_name,
            public_access=storage.PublicAccess.NONE,
            opts=self._kept(),
        )

    def _file_system(
        self, account: storage.StorageAccount, container: storage.BlobContainer
    ) -> storagecache.AmlFilesystem:
        args, shared = self._args, self._args.shared_storage
        hsm, grants = self._hydration(account, container) if shared.hydrate_from_bucket else (None, [])
        return storagecache.AmlFilesystem(
            f"{self._name}-lustre",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=storagecache.SkuNameArgs(name=f"AMLFS-Durable-Premium-{shared.throughput_mb_per_s_per_tib}"),
            storage_capacity_ti_b=shared.capacity_tib,
            zones=[args.zone],
            filesystem_subnet=args.lustre_subnet_id,
            maintenance_window=storagecache.AmlFilesystemMaintenanceWindowArgs(
                day_of_week=storagecache.MaintenanceDayOfWeekType(shared.maintenance_day),
                time_of_day_utc=shared.maintenance_time_utc,
            ),
            hsm=hsm,
            tags=args.tags,
            opts=self._kept(after=grants),
        )

    def _hydration(
        self, account: storage.StorageAccount, container: storage.BlobContainer
    ) -> tuple[storagecache.AmlFilesystemHsmArgs, list[pulumi.Resource]]:
        """Import from and archive to the container; possible only when the file system is created."""
        shared = self._args.shared_storage
        # Roles: Microsoft, "Azure Managed Lustre file system prerequisites", access for blob integration.
        grants: list[pulumi.Resource] = [
            grant(
                f"{self._name}-lustre-{what}",
                role=role,
                principal_id=shared.hpc_cache_principal_id,
                scope=account.id,
                subscription_id=self._args.subscription_id,
                parent=self,
            )
            for what, role in (
                ("account", BuiltinRole.STORAGE_ACCOUNT_CONTRIBUTOR),
                ("blobs", BuiltinRole.STORAGE_BLOB_DATA_CONTRIBUTOR),
            )
        ]
        settings = storagecache.AmlFilesystemHsmSettingsArgs(
            container=container.id,
            logging_container=self._container(LOGGING_CONTAINER_NAME, account).id,
            import_prefixes_initial=[shared.import_prefix],
        )
        return storagecache.AmlFilesystemHsmArgs(settings=settings), grants
