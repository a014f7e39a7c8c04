"""Nodes: GPU nodes in scale sets, and the watchdog over them. They come and go without touching data."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pulumi
from pulumi_azure_native import authorization

from gpu_cluster.foundation_outputs import foundation_outputs
from gpu_cluster.identity_record import record_identity
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import azure_provider
from gpu_cluster.resource_groups import LayerGroup, LayerGroupArgs
from gpu_cluster.settings_nodes import load_settings
from gpu_cluster.slurm.nodes import WATCHDOG_ACTIONS, Nodes, NodesArgs
from gpu_cluster.slurm.user_data import NodeEnvironment, custom_data, read_scripts
from gpu_cluster.watchdog import Right, Watchdog, WatchdogArgs, expires_at

settings = load_settings()
scripts = read_scripts(Path(__file__).parent.parent / "node")
record_identity(cluster=settings.cluster_name, place=settings.location)
foundation = foundation_outputs(settings.foundation_stack, node_count=settings.node_count)
cluster = OtherLayer(settings.cluster_stack)
provider = azure_provider(settings.location)
in_azure = pulumi.ResourceOptions(providers=[provider])
client = authorization.get_client_config(opts=pulumi.InvokeOptions(provider=provider))
name = settings.cluster_name

group = LayerGroup(f"{name}-nodes", LayerGroupArgs(location=settings.location, tags=settings.tags), in_azure)
environment = partial(
    NodeEnvironment,
    role="compute",
    name=name,
    region=settings.location,
    gpus_per_node=settings.node_type.gpus_per_node,
    gpu_type=settings.node_type.gpu_type,
    fabric=settings.node_type.fabric,
    fabric_interfaces=settings.node_type.fabric_interfaces,
    job_environment=settings.job_environment,
    spot="yes" if settings.capacity.kind == "spot" else "no",
    busy_metric="yes" if settings.watchdog.stop_when_idle_minutes else "no",
)
boot_data = pulumi.Output.all(
    cluster.text("secret_id"),
    foundation.compute_identity_client_id,
    foundation.file_system_mount_source,
    foundation.file_system_mount_path,
    foundation.bucket_url,
    cluster.text("controller_address"),
    cluster.text("partition"),
    cluster.text("users_id"),
    cluster.text("data_identity_client_id"),
    cluster.optional_text("directory_places"),
).apply(
    lambda names: custom_data(
        environment(
            secret_id=names[0],
            identity_client_id=names[1],
            shared_source=names[2],
            shared_path=names[3],
            bucket=names[4],
            controller_address=names[5],
            partition=names[6],
            users_id=names[7],
            data_identity=names[8],
            directory_places=names[9],
        ),
        scripts,
    )
)
nodes = Nodes(
    name,
    NodesArgs(
        resource_group_name=group.group_name,
        location=settings.location,
        zone=settings.zone,
        node_type=settings.node_type,
        scale_set_sizes=settings.scale_set_sizes,
        capacity=settings.capacity,
        subnet_id=foundation.node_subnet_id,
        identity_ids=[foundation.compute_identity_id, cluster.text("data_identity_id")],
        identity_principal_id=foundation.compute_identity_principal_id,
        subscription_id=client.subscription_id,
        disk_encryption_set_id=foundation.disk_encryption_set_id,
        encryption_at_host=settings.encryption_at_host,
        access=settings.access,
        custom_data=boot_data,
        expires_at=expires_at(datetime.now(tz=UTC), settings.watchdog.time_to_live_hours)
        if settings.watchdog.time_to_live_hours
        else None,
        publishes_metric=settings.watchdog.stop_when_idle_minutes is not None,
        tags=settings.tags,
    ),
    in_azure,
)
if settings.watchdog.is_wanted:
    Watchdog(
        name,
        WatchdogArgs(
            resource_group_name=group.group_name,
            resource_group_id=group.group_id,
            location=settings.location,
            parameters={"scaleSetIds": nodes.scale_set_ids},
            rights=[
                Right(
                    name="",
                    to="Looks at GPU scale sets and deletes their machines when they expire or idle",
                    actions=WATCHDOG_ACTIONS,
                    scopes=nodes.scale_set_ids,
                )
            ],
            idle_minutes=settings.watchdog.stop_when_idle_minutes,
            tags=settings.tags,
        ),
        in_azure,
    )

pulumi.export("nodes_resource_group_name", group.group_name)
pulumi.export("scale_set_names", nodes.scale_set_names)
