"""Cluster: Slurm controller, login machine, accounting database. It outlives the GPU nodes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pulumi
from pulumi_azure_native import authorization

from gpu_cluster.directory import missing_script
from gpu_cluster.foundation_outputs import foundation_outputs
from gpu_cluster.identity_record import record_identity
from gpu_cluster.provider import azure_provider
from gpu_cluster.resource_groups import LayerGroup, LayerGroupArgs
from gpu_cluster.settings_cluster import load_settings
from gpu_cluster.slurm.accounting import DATABASE_USER, Accounting, AccountingArgs
from gpu_cluster.slurm.data_identity import DataIdentity, DataIdentityArgs
from gpu_cluster.slurm.directory_store import DirectoryStore, DirectoryStoreArgs
from gpu_cluster.slurm.login_readers import LoginReaders, LoginReadersArgs
from gpu_cluster.slurm.machine import Machine, MachineArgs
from gpu_cluster.slurm.user_data import NodeEnvironment, custom_data, read_scripts
from gpu_cluster.slurm.user_store import UserStore, UserStoreArgs

settings = load_settings()
scripts = read_scripts(Path(__file__).parent.parent / "node")
if missing := missing_script(settings.directory, scripts):
    raise pulumi.RunError(missing)
record_identity(cluster=settings.cluster_name, place=settings.location)
foundation = foundation_outputs(settings.foundation_stack)
provider = azure_provider(settings.location)
in_azure = pulumi.ResourceOptions(providers=[provider])
client = authorization.get_client_config(opts=pulumi.InvokeOptions(provider=provider))
name = settings.cluster_name

group = LayerGroup(f"{name}-cluster", LayerGroupArgs(location=settings.location, tags=settings.tags), in_azure)
settings.users.mention_if_empty()
user_store = UserStore(
    name,
    UserStoreArgs(vault_id=foundation.secret_vault_id, text=settings.users.text, tags=settings.tags),
    in_azure,
)
directory_store = (
    DirectoryStore(
        name,
        DirectoryStoreArgs(
            vault_id=foundation.secret_vault_id,
            key_url=foundation.secret_id,
            directory=settings.directory,
            tags=settings.tags,
        ),
        in_azure,
    )
    if settings.directory
    else None
)
data = DataIdentity(
    name,
    DataIdentityArgs(
        resource_group_name=group.group_name,
        location=settings.location,
        subscription_id=client.subscription_id,
        container_id=foundation.container_id,
        tags=settings.tags,
    ),
    in_azure,
)
accounting = None
if settings.accounting_instance_type:
    accounting = Accounting(
        name,
        AccountingArgs(
            resource_group_name=group.group_name,
            location=settings.location,
            zone=settings.zone,
            instance_type=settings.accounting_instance_type,
            password=pulumi.Config().require_secret("accountingPassword"),
            subscription_id=client.subscription_id,
            service_subnet_id=foundation.service_subnet_id,
            zone_id=foundation.database_zone_id,
            key_vault_id=foundation.key_vault_id,
            key_id=foundation.key_id,
            key_url=foundation.key_url,
            controller_principal_id=foundation.controller_identity_principal_id,
            log_workspace_id=foundation.log_workspace_id,
            tags=settings.tags,
        ),
        in_azure,
    )


def boot_data(role: str, client_id: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the custom data of a machine in one role, once the names it holds are known."""
    environment = partial(
        NodeEnvironment,
        role=role,
        name=name,
        partition=settings.partition,
        region=settings.location,
        gpus_per_node=settings.node_type.gpus_per_node,
        gpu_type=settings.node_type.gpu_type,
        fabric=settings.node_type.fabric,
        fabric_interfaces=settings.node_type.fabric_interfaces,
        job_environment=settings.job_environment,
        database_user=DATABASE_USER if accounting else "",
    )
    return pulumi.Output.all(
        foundation.secret_id,
        client_id,
        foundation.file_system_mount_source,
        foundation.file_system_mount_path,
        foundation.bucket_url,
        foundation.controller_address,
        accounting.host if accounting else "",
        # Only the controller may read the password, so only it is told where that is.
        accounting.secret_id if accounting and role == "controller" else "",
        user_store.secret_id,
        # Nobody works on the controller.
        "" if role == "controller" else data.identity.client_id,
        directory_store.places if directory_store else "",
    ).apply(
        lambda names: custom_data(
            environment(
                secret_id=names[0],
                identity_client_id=names[1],
                shared_source=names[2],
                shared_path=names[3],
                bucket=names[4],
                controller_address=names[5],
                database_host=names[6],
                database_secret_id=names[7],
                users_id=names[8],
                data_identity=names[9],
                directory_places=names[10],
            ),
            scripts,
        )
    )


machine = partial(
    MachineArgs,
    resource_group_name=group.group_name,
    location=settings.location,
    zone=settings.zone,
    image=settings.controller_image,
    subnet_id=foundation.node_subnet_id,
    disk_encryption_set_id=foundation.disk_encryption_set_id,
    encryption_at_host=settings.encryption_at_host,
    access=settings.access,
    tags=settings.tags,
)
controller = Machine(
    f"{name}-controller",
    machine(
        instance_type=settings.controller_instance_type,
        private_address=foundation.controller_address,
        identity_ids=[foundation.controller_identity_id],
        custom_data=boot_data("controller", foundation.controller_identity_client_id),
        after=[
            user_store.secret,
            *([directory_store] if directory_store else []),
            *(accounting.ready if accounting else []),
        ],
    ),
    in_azure,
)
login = Machine(
    f"{name}-login",
    machine(
        instance_type=settings.login_instance_type,
        private_address=None,
        identity_ids=[foundation.login_identity_id, data.identity.id],
        custom_data=boot_data("login", foundation.login_identity_client_id),
        # After the controller, whose fixed address it could take otherwise.
        after=[controller, data.granted],
    ),
    in_azure,
)
LoginReaders(
    name,
    LoginReadersArgs(
        object_ids=settings.users.entra_object_ids,
        subscription_id=client.subscription_id,
        machine_id=login.machine_id,
        interface_id=login.interface_id,
        bastion_name=foundation.bastion_name,
        bastion_group_name=foundation.network_resource_group_name,
    ),
    in_azure,
)

pulumi.export("controller_address", foundation.controller_address)
pulumi.export("controller_id", controller.machine_id)
pulumi.export("login_id", login.machine_id)
pulumi.export("secret_id", foundation.secret_id)
pulumi.export("users_id", user_store.secret_id)
pulumi.export("directory_places", directory_store.places if directory_store else "")
pulumi.export("data_identity_id", data.identity.id)
pulumi.export("data_identity_client_id", data.identity.client_id)
pulumi.export("partition", settings.partition)
pulumi.export("cluster_resource_group_name", group.group_name)
pulumi.export("database_host", accounting.host if accounting else "")


def connect(user: str) -> pulumi.Output[str]:
    """Return the command by which a user opens a shell on the login machine, with the own key.

    Without Bastion it works where the machine's network is reached: through a VPN, ExpressRoute or a peering.
    """

    def command(known: Sequence[str | None]) -> str:
        bastion, group, machine, address = known
        if bastion:
            return (
                f"az network bastion ssh --name {bastion} --resource-group {group} --target-resource-id {machine} "
                f"--auth-type ssh-key --username {user} --ssh-key ~/.ssh/id_ed25519"
            )
        if address:
            return f"ssh {user}@{address}"
        asked = "[0].virtualMachine.network.privateIpAddresses[0]"
        return f'ssh {user}@"$(az vm list-ip-addresses --ids {machine} --query "{asked}" --output tsv)"'

    return pulumi.Output.all(
        foundation.bastion_name, foundation.network_resource_group_name, login.machine_id, login.private_address
    ).apply(command)


pulumi.export("connect", connect(settings.access.admin_username))
# NAME is the user's own.
pulumi.export("connect_as_user", connect("NAME"))
