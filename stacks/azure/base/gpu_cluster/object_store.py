"""Storage accounts that take no public traffic and are encrypted with the cluster's key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import managedidentity, storage

from gpu_cluster.existing import ExistingStorage
from gpu_cluster.keys import Keys
from gpu_cluster.private_names import PrivateEndpointArgs, private_endpoint
from gpu_cluster.roles import BuiltinRole, grant

CONTAINER_NAME = "data"
LOGGING_CONTAINER_NAME = "lustre-logs"
# Days in which deleted blobs can be brought back.
_RETENTION_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAccountArgs:
    """One storage account.

    Attributes:
        kept: whether `pulumi destroy` leaves it.
        account_key_allowed: whether requests may be signed with the account's key.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    sku: str
    keys: Keys
    identity_id: pulumi.Input[str]
    kept: bool
    account_key_allowed: bool
    after: Sequence[pulumi.Resource]
    tags: Mapping[str, str]


def closed_account(name: str, args: ClosedAccountArgs, parent: pulumi.Resource) -> storage.StorageAccount:
    """Make a storage account behind private endpoints."""
    return storage.StorageAccount(
        name,
        resource_group_name=args.resource_group_name,
        location=args.location,
        kind=storage.Kind.STORAGE_V2,
        sku=storage.SkuArgs(name=args.sku),
        identity=storage.IdentityArgs(
            type=storage.IdentityType.USER_ASSIGNED, user_assigned_identities=[args.identity_id]
        ),
        encryption=storage.EncryptionArgs(
            key_source=storage.KeySource.MICROSOFT_KEYVAULT,
            key_vault_properties=storage.KeyVaultPropertiesArgs(
                key_name=args.keys.key_name, key_vault_uri=args.keys.vault_uri
            ),
            encryption_identity=storage.EncryptionIdentityArgs(encryption_user_assigned_identity=args.identity_id),
        ),
        minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,
        enable_https_traffic_only=True,
        allow_blob_public_access=False,
        allow_cross_tenant_replication=False,
        allow_shared_key_access=args.account_key_allowed,
        public_network_access=storage.PublicNetworkAccess.DISABLED,
        network_rule_set=storage.NetworkRuleSetArgs(
            default_action=storage.DefaultAction.DENY, bypass=storage.Bypass.AZURE_SERVICES
        ),
        tags=args.tags,
        opts=pulumi.ResourceOptions(parent=parent, protect=args.kept, depends_on=list(args.after)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStoreArgs:
    """Where data sets and checkpoints are kept, and from where they are reached."""

    resource_group_name: pulumi.Input[str]
    network_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    keys: Keys
    service_subnet_id: pulumi.Input[str]
    blob_zone_id: pulumi.Input[str]
    sku: str
    file_system_imports: bool
    existing: ExistingStorage | None
    tags: Mapping[str, str]


class ObjectStore(pulumi.ComponentResource):
    """The storage account of data sets and checkpoints, or an existing one."""

    account_id: pulumi.Output[str]
    account_name: pulumi.Output[str]
    container_name: str
    container_id: pulumi.Output[str]
    container_url: pulumi.Output[str]
    logging_container_id: pulumi.Output[str] | None
    encryption_identity_id: pulumi.Output[str]
    encryption_grant: pulumi.Resource

    def __init__(self, name: str, args: ObjectStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ObjectStore", name, {}, opts)
        self._name = name
        self._args = args
        identity = managedidentity.UserAssignedIdentity(
            f"{name}-storage",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.encryption_identity_id = identity.id
        self.encryption_grant = grant(
            f"{name}-storage-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=identity.principal_id,
            scope=args.keys.key_id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        self.logging_container_id = None
        if args.existing:
            self.container_name = args.existing.container_name
            self.account_id = pulumi.Output.from_input(args.existing.account_id)
            self.account_name = pulumi.Output.from_input(args.existing.account_id.rpartition("/")[2])
            containers = f"{args.existing.account_id}/blobServices/default/containers"
            self.container_id = pulumi.Output.from_input(f"{containers}/{self.container_name}")
            if args.file_system_imports:
                self.logging_container_id = pulumi.Output.from_input(f"{containers}/{LOGGING_CONTAINER_NAME}")
        else:
            self.container_name = CONTAINER_NAME
            account = self._account()
            self.account_id = account.id
            self.account_name = account.name
            self.container_id = self._container(CONTAINER_NAME, account)
            if args.file_system_imports:
                self.logging_container_id = self._container(LOGGING_CONTAINER_NAME, account)
        self.container_url = self.account_name.apply(
            lambda host: f"https://{host}.blob.core.windows.net/{self.container_name}"
        )
        self.register_outputs({"container_url": self.container_url})

    def _account(self) -> storage.StorageAccount:
        args = self._args
        account = closed_account(
            # Names of storage accounts are global and at most 24 characters, 8 of them random.
            f"st{self._name.replace('-', '')[:13]}",
            ClosedAccountArgs(
                resource_group_name=args.resource_group_name,
                location=args.location,
                sku=args.sku,
                keys=args.keys,
                identity_id=self.encryption_identity_id,
                kept=True,
                # Only the file system's import from the container signs with the account key.
                account_key_allowed=args.file_system_imports,
                after=[self.encryption_grant],
                tags=args.tags,
            ),
            self,
        )
        retention = storage.DeleteRetentionPolicyArgs(enabled=True, days=_RETENTION_DAYS)
        storage.BlobServiceProperties(
            f"{self._name}-blobs",
            resource_group_name=args.resource_group_name,
            account_name=account.name,
            blob_services_name="default",
            delete_retention_policy=retention,
            container_delete_retention_policy=retention,
            opts=pulumi.ResourceOptions(parent=self),
        )
        private_endpoint(
            self._name,
            "blob",
            PrivateEndpointArgs(
                resource_group_name=args.network_group_name,
                location=args.location,
                subnet_id=args.service_subnet_id,
                target_id=account.id,
                service="blob",
                zone_id=args.blob_zone_id,
                tags=args.tags,
            ),
            self,
        )
        return account

    def _container(self, container_name: str, account: storage.StorageAccount) -> pulumi.Output[str]:
        return storage.BlobContainer(
            f"{self._name}-{container_name}",
            resource_group_name=self._args.resource_group_name,
            account_name=account.name,
            container_name=container_name,
            public_access=storage.PublicAccess.NONE,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        ).id
