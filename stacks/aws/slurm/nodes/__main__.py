"""The nodes layer: the GPU nodes, and what looks after them. Destroying it leaves every byte of data in place."""

from pathlib import Path

import pulumi

from gpu_cluster.foundation_stack import foundation
from gpu_cluster.identity_record import record_identity
from gpu_cluster.image import image_changes_to_ignore, resolve_image
from gpu_cluster.interruptions import Interruptions, InterruptionsArgs
from gpu_cluster.layer import aws_provider
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.permissions import look_up_account
from gpu_cluster.settings_nodes import config_values, read_settings
from gpu_cluster.slurm.machine_boot import MachineBoot
from gpu_cluster.slurm.nodes import Nodes, NodesArgs
from gpu_cluster.slurm.user_data import read_scripts
from gpu_cluster.watchdog import Watchdog, WatchdogArgs

settings = read_settings(config_values())
scripts = read_scripts(Path(__file__).parent.parent / "node")
record_identity(cluster=settings.layer.cluster_name, place=settings.layer.region)
name, region = settings.layer.cluster_name, settings.layer.region
provider = aws_provider(settings.layer)
in_region = pulumi.ResourceOptions(providers=[provider])
below = foundation(settings.foundation_stack, node_count=settings.node_count)
cluster = OtherLayer(settings.cluster_stack)

boot = MachineBoot(
    cluster_name=name,
    region=region,
    node_type=settings.node_type,
    scripts=scripts,
    foundation=below,
    partition=cluster.text("partition"),
    secret_id=cluster.text("secret_id"),
    users_id=cluster.text("users_id"),
    directory_places=cluster.optional_text("directory_places"),
    job_environment=settings.job_environment,
)
image_id = resolve_image(settings.node_type.image, provider)
nodes = Nodes(
    f"{name}-compute",
    NodesArgs(
        node_type=settings.node_type,
        node_count=settings.node_count,
        max_nodes_per_group=settings.max_nodes_per_group,
        root_volume_gib=settings.node_root_volume_gib,
        capacity=settings.capacity,
        image_id=image_id,
        image_changes_to_ignore=image_changes_to_ignore(settings.node_type.image, "image_id"),
        subnet_id=below.node_subnet_id,
        security_group_id=below.cluster_security_group_id,
        profile_arn=below.compute_instance_profile_arn,
        key_arn=below.key_arn,
        user_data_base64=boot.user_data_base64(
            "compute",
            cluster.text("controller_address"),
            spot=settings.capacity.kind == "spot",
            busy_metric=settings.watchdog.stop_when_idle_minutes is not None,
        ),
        tags=settings.layer.tags,
    ),
    in_region,
)
if settings.capacity.kind in ("spot", "capacity-block"):
    Interruptions(
        f"{name}-interruptions",
        InterruptionsArgs(capacity=settings.capacity, topic_arn=below.alert_topic_arn),
        in_region,
    )
if settings.watchdog.is_wanted:
    Watchdog(
        f"{name}-watchdog",
        WatchdogArgs(
            cluster_name=name,
            account=look_up_account(provider, region),
            settings=settings.watchdog,
            groups=nodes.watched,
            key_arn=below.key_arn,
            topic_arn=below.alert_topic_arn,
        ),
        in_region,
    )

pulumi.export("node_groups", nodes.group_names)
pulumi.export("node_image_id", image_id)
