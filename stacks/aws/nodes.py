"""The GPU nodes: launch template with the fabric's interfaces, placement or reservation, and Auto Scaling groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from interfaces import InterfaceSlot
from settings import Capacity, NodeType

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
    after: Sequence[pulumi.Resource]


def group_sizes(node_count: int, largest: int) -> list[int]:
    """Spread nodes over groups, filling each before the next, so that growing the cluster never shrinks a group."""
    full, rest = divmod(node_count, largest)
    return [largest] * full + ([rest] if rest or not full else [])


class Nodes(pulumi.ComponentResource):
    """All GPU nodes, in one zone and one placement; removing this component leaves every byte of data in place."""

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:aws:Nodes", name, None, opts)
        tags = {**args.tags, "Name": name}
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            image_id=args.image_id,
            instance_type=args.node_type.instance_type,
            update_default_version=True,
            ebs_optimized="true",
            instance_initiated_shutdown_behavior="terminate",
            monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=True),
            iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=args.profile_arn),
            network_interfaces=_interfaces(args.node_type.interfaces, args.security_group_id),
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled",
                http_tokens="required",
                # Two hops, so that containers on the node reach the metadata service too.
                http_put_response_hop_limit=2,
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
            placement=self._placement(name, args.capacity),
            instance_market_options=_market_options(args.capacity),
            capacity_reservation_specification=_reservation(args.capacity),
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
        self.group_names: list[pulumi.Output[str]] = [group.name for group in groups]
        self.register_outputs({"group_names": self.group_names})

    def _placement(self, name: str, capacity: Capacity) -> aws.ec2.LaunchTemplatePlacementArgs | None:
        """Place nodes close together, unless a reservation decides where they are.

        A placement group on top of a reservation that was not made with it ends in InsufficientInstanceCapacity.
        """
        if capacity.reservation_id is not None:
            return None
        group = aws.ec2.PlacementGroup(
            f"{name}-placement", strategy="cluster", opts=pulumi.ResourceOptions(parent=self)
        )
        return aws.ec2.LaunchTemplatePlacementArgs(group_name=group.name)

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
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
        )


def _interfaces(
    slots: Sequence[InterfaceSlot], security_group_id: pulumi.Input[str]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=slot.network_card,
            device_index=slot.device,
            interface_type=slot.interface_type,
            security_groups=[security_group_id],
            delete_on_termination="true",
            # EC2 refuses the parameter on nodes with several interfaces; those never get a public address anyway.
            associate_public_ip_address="false" if len(slots) == 1 else None,
        )
        for slot in slots
    ]


def _market_options(capacity: Capacity) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    if capacity.kind == "spot":
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
            market_type="spot",
            spot_options=aws.ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(
                spot_instance_type="one-time", instance_interruption_behavior="terminate"
            ),
        )
    if capacity.kind == "capacity-block":
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    return None


def _reservation(capacity: Capacity) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if capacity.reservation_id is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=capacity.reservation_id
        )
    )
