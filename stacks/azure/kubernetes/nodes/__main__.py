"""Nodes: pools of GPU nodes, and the watchdog over them. They come and go without touching cluster or data."""

from datetime import UTC, datetime

import pulumi

from gpu_cluster.identity_record import record_identity
from gpu_cluster.kubernetes.agent_pools import METRIC_ACTIONS, WATCHDOG_ACTIONS, AgentPools, AgentPoolsArgs
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import azure_provider
from gpu_cluster.settings_nodes import load_settings
from gpu_cluster.watchdog import Right, Watchdog, WatchdogArgs, expires_at

settings = load_settings()
record_identity(cluster=settings.cluster_name, place=settings.location)
foundation, cluster = OtherLayer(settings.foundation_stack), OtherLayer(settings.cluster_stack)
in_azure = pulumi.ResourceOptions(providers=[azure_provider(settings.location)])
resource_group_name = cluster.text("cluster_resource_group_name")

nodes = AgentPools(
    settings.cluster_name,
    AgentPoolsArgs(
        resource_group_name=resource_group_name,
        kubernetes_cluster=cluster.text("cluster_name"),
        zone=settings.zone,
        node_type=settings.node_type,
        pool_sizes=settings.pool_sizes,
        capacity=settings.capacity,
        disk_gib=settings.node_disk_gib,
        encryption_at_host=settings.encryption_at_host,
        subnet_id=foundation.text_for_nodes("node_subnet_id", settings.node_count),
        expires_at=expires_at(datetime.now(tz=UTC), settings.watchdog.time_to_live_hours)
        if settings.watchdog.time_to_live_hours
        else None,
        tags=settings.tags,
    ),
    in_azure,
)
if settings.watchdog.is_wanted:
    cluster_id = cluster.text("cluster_id")
    pool_ids = [pool.id for pool in nodes.pools]
    Watchdog(
        settings.cluster_name,
        WatchdogArgs(
            resource_group_name=resource_group_name,
            resource_group_id=cluster.text("cluster_resource_group_id"),
            location=settings.location,
            parameters={"clusterId": cluster_id, "poolIds": pool_ids},
            rights=[
                Right(
                    name="pools",
                    to="Looks at pools of GPU nodes and deletes their machines when they expire or idle",
                    actions=WATCHDOG_ACTIONS,
                    scopes=pool_ids,
                ),
                Right(
                    name="metrics",
                    to="Reads how many GPUs of the cluster are busy",
                    actions=METRIC_ACTIONS,
                    scopes=[cluster_id],
                ),
            ],
            idle_minutes=settings.watchdog.stop_when_idle_minutes,
            tags=settings.tags,
        ),
        in_azure,
    )

pulumi.export("node_pools", [pool.name for pool in nodes.pools])
pulumi.export("node_count", settings.node_count)
