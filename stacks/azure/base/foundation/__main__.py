"""Foundation: network, keys, roles, object store, file system, logs, alerts. It outlives cluster and nodes."""

import pulumi
from pulumi_azure_native import authorization

from gpu_cluster.addresses import node_addresses
from gpu_cluster.alerts import Alerts, AlertsArgs
from gpu_cluster.bastion import Bastion, BastionArgs
from gpu_cluster.file_system import FileSystem, FileSystemArgs
from gpu_cluster.file_system_key import FileSystemKey, FileSystemKeyArgs
from gpu_cluster.identity_record import record_identity
from gpu_cluster.keys import Keys, KeysArgs
from gpu_cluster.logs import FlowLogs, FlowLogsArgs, Logs, LogsArgs
from gpu_cluster.network import Network, NetworkArgs, node_subnet_in
from gpu_cluster.object_store import ObjectStore, ObjectStoreArgs
from gpu_cluster.private_names import PrivateNames, PrivateNamesArgs
from gpu_cluster.provider import azure_provider
from gpu_cluster.resource_groups import ResourceGroups, ResourceGroupsArgs, lock
from gpu_cluster.roles import Roles, RolesArgs
from gpu_cluster.settings_foundation import load_settings

settings = load_settings()
record_identity(cluster=settings.cluster_name, place=settings.location)
provider = azure_provider(settings.location)
in_azure = pulumi.ResourceOptions(providers=[provider])
look_up = pulumi.InvokeOptions(provider=provider)
client = authorization.get_client_config(opts=look_up)
name, location, tags = settings.cluster_name, settings.location, settings.tags
theirs = settings.existing.network

groups = ResourceGroups(name, ResourceGroupsArgs(location=location, tags=tags), in_azure)
bastion_name: pulumi.Input[str] = ""
if theirs:
    node_subnet, controller_address = node_subnet_in(theirs, look_up)
    virtual_network_id: pulumi.Input[str] = theirs.virtual_network_id
    node_subnet_id: pulumi.Input[str] = theirs.node_subnet_id
    service_subnet_id: pulumi.Input[str] = theirs.service_subnet_id
    lustre_subnet_id: pulumi.Input[str] = theirs.lustre_subnet_id
    network = None
else:
    network = Network(
        name,
        NetworkArgs(
            resource_group_name=groups.network,
            location=location,
            zone=settings.zone,
            addresses=settings.addresses,
            tags=tags,
        ),
        in_azure,
    )
    virtual_network_id = network.virtual_network_id
    node_subnet_id = network.node_subnet_id
    service_subnet_id = network.service_subnet.id
    lustre_subnet_id = network.lustre_subnet_id
    node_subnet, controller_address = settings.addresses.nodes, str(settings.addresses.controller)
    if settings.bastion_enabled:
        bastion_name = Bastion(
            name,
            BastionArgs(
                resource_group_name=groups.network,
                location=location,
                zone=settings.zone,
                virtual_network_name=network.virtual_network_name,
                addresses=settings.addresses.bastion,
                after=[network.service_subnet],
                tags=tags,
            ),
            in_azure,
        ).bastion_name
names = PrivateNames(
    name,
    PrivateNamesArgs(
        resource_group_name=groups.network,
        virtual_network_id=virtual_network_id,
        vault_zone_id=theirs.vault_zone_id if theirs else None,
        blob_zone_id=theirs.blob_zone_id if theirs else None,
        database_zone_id=theirs.database_zone_id if theirs else None,
        tags=tags,
    ),
    in_azure,
)
keys = Keys(
    name,
    KeysArgs(
        resource_group_name=groups.data,
        network_group_name=groups.network,
        location=location,
        tenant_id=client.tenant_id,
        subscription_id=client.subscription_id,
        service_subnet_id=service_subnet_id,
        vault_zone_id=names.vault_zone_id,
        existing=settings.existing.key,
        tags=tags,
    ),
    in_azure,
)
store = ObjectStore(
    name,
    ObjectStoreArgs(
        resource_group_name=groups.data,
        network_group_name=groups.network,
        location=location,
        subscription_id=client.subscription_id,
        keys=keys,
        service_subnet_id=service_subnet_id,
        blob_zone_id=names.blob_zone_id,
        sku=settings.storage_sku,
        file_system_imports=settings.shared_storage.hydrate_from_bucket,
        existing=settings.existing.storage,
        tags=tags,
    ),
    in_azure,
)
file_system_key = None
if settings.shared_storage.customer_key:
    file_system_key = FileSystemKey(
        name,
        FileSystemKeyArgs(
            resource_group_name=groups.data,
            location=location,
            tenant_id=client.tenant_id,
            subscription_id=client.subscription_id,
            tags=tags,
        ),
        in_azure,
    )
file_system = FileSystem(
    name,
    FileSystemArgs(
        resource_group_name=groups.data,
        location=location,
        zone=settings.zone,
        subscription_id=client.subscription_id,
        subnet_id=lustre_subnet_id,
        shared_storage=settings.shared_storage,
        store=store,
        key=file_system_key,
        tags=tags,
    ),
    in_azure,
)
roles = Roles(
    name,
    RolesArgs(
        resource_group_name=groups.network,
        location=location,
        subscription_id=client.subscription_id,
        secret_vault_id=keys.secret_vault_id,
        tags=tags,
    ),
    in_azure,
)
logs = Logs(
    name,
    LogsArgs(
        resource_group_name=groups.network,
        location=location,
        audited={**keys.vault_ids, **({"lustre": file_system_key.vault_id} if file_system_key else {})},
        retention_days=settings.log_retention_days,
        tags=tags,
    ),
    in_azure,
)
if network:
    FlowLogs(
        name,
        FlowLogsArgs(
            resource_group_name=groups.network,
            location=location,
            subscription_id=client.subscription_id,
            virtual_network_id=virtual_network_id,
            watcher=settings.network_watcher,
            keys=keys,
            store=store,
            workspace_id=logs.workspace_id,
            retention_days=settings.log_retention_days,
            after=[network],
            tags=tags,
        ),
        in_azure,
    )
alerts = Alerts(
    name,
    AlertsArgs(
        cluster_name=name,
        resource_group_name=groups.network,
        location=location,
        subscription_id=client.subscription_id,
        email=settings.alert_email,
        budget=settings.budget,
        tags=tags,
    ),
    in_azure,
)
lock(
    f"{name}-data-lock",
    scope=groups.data_id,
    notes="Data sets, checkpoints and keys of the cluster. Remove this lock only to delete them for good.",
    after=[keys, store, *([file_system_key] if file_system_key else []), file_system, roles, logs],
    parent=groups,
)

pulumi.export("location", location)
pulumi.export("zone", settings.zone)
pulumi.export("network_resource_group_name", groups.network)
pulumi.export("data_resource_group_name", groups.data)
pulumi.export("virtual_network_id", virtual_network_id)
pulumi.export("node_subnet_id", node_subnet_id)
pulumi.export("node_addresses", node_addresses(node_subnet))
pulumi.export("service_subnet_id", service_subnet_id)
pulumi.export("controller_address", controller_address)
pulumi.export("database_zone_id", names.database_zone_id)
pulumi.export("bastion_name", bastion_name)
pulumi.export("key_vault_id", keys.vault_id)
pulumi.export("key_id", keys.key_id)
pulumi.export("key_url", keys.key_url)
pulumi.export("disk_encryption_set_id", keys.disk_encryption_set_id)
pulumi.export("secret_vault_id", keys.secret_vault_id)
pulumi.export("secret_id", keys.secret_url)
pulumi.export("storage_account_name", store.account_name)
pulumi.export("container_id", store.container_id)
pulumi.export("container_name", store.container_name)
pulumi.export("bucket_url", store.container_url)
pulumi.export("file_system_id", file_system.file_system_id)
pulumi.export("file_system_mount_source", file_system.mount_source)
pulumi.export("file_system_mount_path", settings.shared_storage.mount_path)
pulumi.export("log_workspace_id", logs.workspace_id)
pulumi.export("action_group_id", alerts.action_group_id)
for role, identity in (("controller", roles.controller), ("login", roles.login), ("compute", roles.compute)):
    pulumi.export(f"{role}_identity_id", identity.id)
    pulumi.export(f"{role}_identity_client_id", identity.client_id)
    pulumi.export(f"{role}_identity_principal_id", identity.principal_id)
