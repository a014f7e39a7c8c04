"""Nodes: pools of GPU nodes. They come and go without touching cluster or data."""

import pulumi

from gpu_cluster.kubernetes.agent_pools import AgentPools, AgentPoolsArgs
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import azure_provider
from gpu_cluster.settings_nodes import load_settings

settings = load_settings()
foundation, cluster = OtherLayer(settings.foundation_stack), OtherLayer(settings.cluster_stack)

nodes = AgentPools(
    settings.cluster_name,
    AgentPoolsArgs(
        resource_group_name=cluster.text("cluster_resource_group_name"),
        kubernetes_cluster=cluster.text("cluster_name"),
        zone=settings.zone,
        node_type=settings.node_type,
        pool_sizes=settings.pool_sizes,
        capacity=settings.capacity,
        disk_gib=settings.node_disk_gib,
        encryption_at_host=settings.encryption_at_host,
        subnet_id=foundation.text("node_subnet_id"),
        tags=settings.tags,
    ),
    pulumi.ResourceOptions(providers=[azure_provider(settings.location)]),
)

pulumi.export("node_pools", [pool.name for pool in nodes.pools])
pulumi.export("node_count", settings.node_count)
