"""Composes the nodes layer: the groups of GPU nodes, which can go without touching cluster or data."""

import pulumi

from gpu_cluster.kubernetes.node_groups import NodeGroups, NodeGroupsArgs
from gpu_cluster.kubernetes.vendor import release_version
from gpu_cluster.layer import aws_provider
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.settings_nodes import config_values, read_settings

settings = read_settings(config_values())
name = settings.layer.cluster_name
foundation, cluster = OtherLayer(settings.foundation_stack), OtherLayer(settings.cluster_stack)
provider = aws_provider(settings.layer)

nodes = NodeGroups(
    f"{name}-gpu",
    NodeGroupsArgs(
        node_type=settings.node_type,
        node_count=settings.node_count,
        max_nodes_per_group=settings.max_nodes_per_group,
        root_volume_gib=settings.root_volume_gib,
        capacity=settings.capacity,
        release_version=release_version(settings.node_type.image, provider),
        cluster_name=cluster.text("cluster_name"),
        role_arn=foundation.text("compute_role_arn"),
        subnet_id=foundation.text("node_subnet_id"),
        security_group_ids=[
            cluster.text("cluster_security_group_id"),
            foundation.text("cluster_security_group_id"),
        ],
        key_arn=foundation.text("key_arn"),
        tags=settings.layer.tags,
    ),
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("node_groups", nodes.group_names)
pulumi.export("node_count", settings.node_count)
