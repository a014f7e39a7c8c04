"""Composes the nodes layer: the pools of GPU nodes, which can go without touching cluster or data."""

import pulumi

from gpu_cluster import roles, watchdog
from gpu_cluster.identity_record import record_identity
from gpu_cluster.kubernetes.node_pools import NodePools, NodePoolsArgs
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import gcp_provider
from gpu_cluster.settings_nodes import config_values, read_settings

settings = read_settings(config_values())
for warning in settings.warnings:
    pulumi.log.warn(warning)
record_identity(cluster=settings.place.cluster_name, place=settings.place.region)
place = settings.place
labels = {**place.labels, "role": "compute"}
in_gcp = pulumi.ResourceOptions(providers=[gcp_provider(place)])
foundation, cluster = OtherLayer(settings.foundation_stack), OtherLayer(settings.cluster_stack)

nodes = NodePools(
    "nodes",
    NodePoolsArgs(
        cluster_name=place.cluster_name,
        kubernetes_cluster=cluster.text("cluster_name"),
        region=place.region,
        zone=place.zone,
        node_type=settings.node_type,
        node_count=settings.node_count,
        max_nodes_per_pool=settings.max_nodes_per_pool,
        gpu_parts=settings.gpu_parts,
        capacity=settings.capacity,
        tpu_slice=settings.tpu_slice,
        boot_disk_gb=settings.boot_disk_gb,
        gpu_networks=foundation.objects("gpu_networks"),
        account_email=foundation.text("compute_service_account_email"),
        key_id=foundation.text_for_nodes("key_id", settings.node_count),
        labels=labels,
    ),
    in_gcp,
)
if settings.time_to_live_hours or settings.stop_when_idle_minutes:
    services = roles.ProjectServices(
        "services", roles.ProjectServicesArgs(project=place.project, services=watchdog.SERVICES), in_gcp
    ).services
    watchdog.Watchdog(
        "watchdog",
        watchdog.WatchdogArgs(
            place=place,
            group_names=nodes.instance_group_names,
            time_to_live_hours=settings.time_to_live_hours,
            stop_when_idle_minutes=settings.stop_when_idle_minutes,
            labels=labels,
            services=services,
        ),
        in_gcp,
    )

pulumi.export("node_pools", [pool.name for pool in nodes.pools])
pulumi.export("node_count", settings.node_count)
