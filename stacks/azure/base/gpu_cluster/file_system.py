"""The parallel file system: Azure Managed Lustre, with import from the object store."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import storagecache

from gpu_cluster.file_system_key import FileSystemKey
from gpu_cluster.object_store import ObjectStore
from gpu_cluster.roles import BuiltinRole, grant
from gpu_cluster.shared_storage import SharedStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemArgs:
    """Where the file system is, what encrypts it and what it is filled from.

    Attributes:
        key: None for Azure's own keys.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    subscription_id: str
    subnet_id: pulumi.Input[str]
    shared_storage: SharedStorage
    store: ObjectStore
    key: FileSystemKey | None
    tags: Mapping[str, str]


class FileSystem(pulumi.ComponentResource):
    """Azure Managed Lustre. Size, throughput, import and whose key encrypts it are fixed at creation."""

    file_system_id: pulumi.Output[str]
    mount_source: pulumi.Output[str]

    def __init__(self, name: str, args: FileSystemArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:FileSystem", name, {}, opts)
        self._name = name
        self._args = args
        shared = args.shared_storage
        hsm, grants = self._hydration() if shared.hydrate_from_bucket else (None, [])
        made = storagecache.AmlFilesystem(
            f"{name}-lustre",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=storagecache.SkuNameArgs(name=f"AMLFS-Durable-Premium-{shared.throughput_mb_per_s_per_tib}"),
            storage_capacity_ti_b=shared.capacity_tib,
            zones=[args.zone],
            filesystem_subnet=args.subnet_id,
            maintenance_window=storagecache.AmlFilesystemMaintenanceWindowArgs(
                day_of_week=storagecache.MaintenanceDayOfWeekType(shared.maintenance_day),
                time_of_day_utc=shared.maintenance_time_utc,
            ),
            hsm=hsm,
            identity=_identity(args.key),
            encryption_settings=_encryption(args.key),
            tags=args.tags,
            # Azure refuses a file system whose identity cannot use the key.
            opts=pulumi.ResourceOptions(
                parent=self, protect=True, depends_on=[*grants, *([args.key.key_grant] if args.key else [])]
            ),
        )
        self.file_system_id = made.id
        # The mount name is the same on every file system: Microsoft, "Connect clients to an Azure Managed Lustre file
        # system".
        self.mount_source = made.client_info.apply(lambda info: f"{info.mgs_address}@tcp:/lustrefs")
        self.register_outputs({"mount_source": self.mount_source})

    def _hydration(self) -> tuple[storagecache.AmlFilesystemHsmArgs, list[pulumi.Resource]]:
        """Import from and archive to the container; possible only when the file system is created."""
        args, shared, store = self._args, self._args.shared_storage, self._args.store
        # Roles: Microsoft, "Azure Managed Lustre file system prerequisites", access for blob integration.
        grants: list[pulumi.Resource] = [
            grant(
                f"{self._name}-lustre-{what}",
                role=role,
                principal_id=shared.hpc_cache_principal_id,
                scope=store.account_id,
                subscription_id=args.subscription_id,
                parent=self,
            )
            for what, role in (
                ("account", BuiltinRole.STORAGE_ACCOUNT_CONTRIBUTOR),
                ("blobs", BuiltinRole.STORAGE_BLOB_DATA_CONTRIBUTOR),
            )
        ]
        settings = storagecache.AmlFilesystemHsmSettingsArgs(
            container=store.container_id,
            logging_container=store.logging_container_id or "",
            import_prefixes_initial=[shared.import_prefix],
        )
        return storagecache.AmlFilesystemHsmArgs(settings=settings), grants


def _identity(key: FileSystemKey | None) -> storagecache.AmlFilesystemIdentityArgs | None:
    if key is None:
        return None
    return storagecache.AmlFilesystemIdentityArgs(
        type=storagecache.AmlFilesystemIdentityType.USER_ASSIGNED, user_assigned_identities=[key.identity_id]
    )


def _encryption(key: FileSystemKey | None) -> storagecache.AmlFilesystemEncryptionSettingsArgs | None:
    if key is None:
        return None
    return storagecache.AmlFilesystemEncryptionSettingsArgs(
        key_encryption_key=storagecache.KeyVaultKeyReferenceArgs(
            key_url=key.key_url, source_vault=storagecache.KeyVaultKeyReferenceSourceVaultArgs(id=key.vault_id)
        )
    )
