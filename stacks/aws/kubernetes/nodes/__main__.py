"""Composes the nodes layer: the groups of GPU nodes, which can go without touching cluster or data."""

import pulumi

from gpu_cluster.identity_record import record_identity
from gpu_cluster.interruptions import Interruptions, InterruptionsArgs
from gpu_cluster.kubernetes.node_groups import NodeGroups, NodeGroupsArgs
from gpu_cluster.kubernetes.vendor import release_version
from gpu_cluster.layer import aws_provider
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.permissions import look_up_account
from gpu_cluster.settings_nodes import config_values, read_settings
from gpu_cluster.watchdog import Watchdog, WatchdogArgs

settings = read_settings(config_values())
record_identity(cluster=settings.layer.cluster_name, place=settings.layer.region)
name = settings.layer.cluster_name
foundation, cluster = OtherLayer(settings.foundation_stack), OtherLayer(settings.cluster_stack)
provider = aws_provider(settings.layer)
in_region = pulumi.ResourceOptions(providers=[provider])
key_arn = foundation.text("key_arn")
topic_arn = foundation.texts("alert_topic_arns").apply(lambda arns: arns[0])

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
        subnet_id=foundation.text_for_nodes("node_subnet_id", settings.node_count),
        security_group_ids=[
            cluster.text("cluster_security_group_id"),
            foundation.text("cluster_security_group_id"),
        ],
        key_arn=key_arn,
        tags=settings.layer.tags,
    ),
    in_region,
)
# EKS itself drains the nodes of which EC2 says that they will go; this tells people.
if settings.capacity.kind in ("spot", "capacity-block"):
    Interruptions(
        f"{name}-interruptions", InterruptionsArgs(capacity=settings.capacity, topic_arn=topic_arn), in_region
    )
if settings.watchdog.is_wanted:
    Watchdog(
        f"{name}-watchdog",
        WatchdogArgs(
            cluster_name=name,
            account=look_up_account(provider, settings.layer.region),
            settings=settings.watchdog,
            groups=nodes.watched,
            key_arn=key_arn,
            topic_arn=topic_arn,
        ),
        in_region,
    )

pulumi.export("node_groups", nodes.group_names)
pulumi.export("node_count", settings.node_count)
