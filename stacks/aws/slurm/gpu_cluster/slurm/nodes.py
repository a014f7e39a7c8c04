"""The GPU nodes: launch template with the fabric's interfaces, placement or reservation, and Auto Scaling groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.capacity import Capacity, market_options, placement_group, reservation
from gpu_cluster.launch_interfaces import launch_interfaces
from gpu_cluster.node_type import NodeType
from gpu_cluster.watchdog import WatchedGroup

# The Ubuntu images name their system disk so.
ROOT_DEVICE = "/dev/sda1"
# Large nodes come up slowly, and a group may have to wait for the last of them.
CAPACITY_WAIT = "30m"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesArgs:
    """What the nodes need."""

    node_type: NodeType
    node_count: int
    max_nodes_per_group: int
    root_volume_gib: int
    capacity: Capacity
    image_id: pulumi.Input[str]
    image_changes_to_ignore: Sequence[str]
    subnet_id: pulumi.Input[str]
    security_group_id: pulumi.Input[str]
    profile_arn: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    user_data_base64: pulumi.Input[str]
    tags: Mapping[str, str]


def group_sizes(node_count: int, largest: int) -> list[int]:
    """Spread nodes over groups, filling each before the next, so that growing the cluster never shrinks a group."""
    full, rest = divmod(node_count, largest)
    return [largest] * full + ([rest] if rest or not full else [])


class Nodes(pulumi.ComponentResource):
    """All GPU nodes, in one zone and one placement; removing this component leaves every byte of data in place."""

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Nodes", name, None, opts)
        tags = {**args.tags, "Name": name}
        placement = placement_group(f"{name}-placement", args.capacity, self)
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            image_id=args.image_id,
            instance_type=args.node_type.instance_type,
            update_default_version=True,
            ebs_optimized="true",
            instance_initiated_shutdown_behavior="terminate",
            monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=True),
            iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=args.profile_arn),
            network_interfaces=launch_interfaces(args.node_type.interfaces, args.security_group_id),
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled",
                http_tokens="required",
                # One hop: answers do not get into a container with a network of its own.
                http_put_response_hop_limit=1,
            ),
            block_device_mappings=[
                aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                    device_name=ROOT_DEVICE,
                    ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                        volume_type="gp3",
                        volume_size=args.root_volume_gib,
                        encrypted="true",
                        kms_key_id=args.key_arn,
                        delete_on_termination="true",
                    ),
                )
            ],
            placement=aws.ec2.LaunchTemplatePlacementArgs(group_name=placement.name) if placement else None,
            instance_market_options=market_options(args.capacity),
            capacity_reservation_specification=reservation(args.capacity),
            user_data=args.user_data_base64,
            # default_tags of the provider reach the template itself, not what is launched from it.
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=tags)
                for kind in ("instance", "volume", "network-interface")
            ],
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=list(args.image_changes_to_ignore)),
        )
        groups = [
            self._group(f"{name}-group-{index}", args, template, size, tags)
            for index, size in enumerate(group_sizes(args.node_count, args.max_nodes_per_group))
        ]
        self.template_id: pulumi.Output[str] = template.id
        self.group_names: list[pulumi.Output[str]] = [group.name for group in groups]
        self.watched = [WatchedGroup(kind="autoscaling", name=group.name, arn=group.arn) for group in groups]
        self.register_outputs({"group_names": self.group_names})

    def _group(
        self,
        name: str,
        args: NodesArgs,
        template: aws.ec2.LaunchTemplate,
        size: int,
        tags: Mapping[str, str],
    ) -> aws.autoscaling.Group:
        return aws.autoscaling.Group(
            name,
            min_size=size,
            max_size=size,
            desired_capacity=size,
            vpc_zone_identifiers=[args.subnet_id],
            launch_template=aws.autoscaling.GroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            # One subnet: there is nothing to balance, and a node that is moved takes its job with it.
            suspended_processes=["AZRebalance"],
            health_check_type="EC2",
            health_check_grace_period=900,
            wait_for_capacity_timeout=CAPACITY_WAIT,
            enabled_metrics=[aws.autoscaling.Metric.GROUP_IN_SERVICE_INSTANCES],
            tags=[
                aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=True)
                for key, value in sorted(tags.items())
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
