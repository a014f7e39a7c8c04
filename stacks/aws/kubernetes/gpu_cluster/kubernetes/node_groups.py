"""The GPU nodes: launch template with the fabric's interfaces, placement or reservation, and managed node groups."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.capacity import Capacity, market_options, placement_group, reservation
from gpu_cluster.interfaces import InterfaceSlot
from gpu_cluster.kubernetes.machine_template import launched_tags, metadata_options, root_volume
from gpu_cluster.kubernetes.vendor import is_pinned, vendor_of
from gpu_cluster.node_type import NodeType
from gpu_cluster.watchdog import WatchedGroup

# As EKS names the ways to buy; an existing on-demand reservation is launched into by the template.
CAPACITY_TYPES: Mapping[str, str] = {
    "on-demand": "ON_DEMAND",
    "spot": "SPOT",
    "reservation": "ON_DEMAND",
    "capacity-block": "CAPACITY_BLOCK",
}
BOUNDARY = "node-config"
# The local disks become one fast file system for images, logs and the pods' scratch space.
NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeGroupsArgs:
    """What the nodes need."""

    node_type: NodeType
    node_count: int
    max_nodes_per_group: int
    root_volume_gib: int
    capacity: Capacity
    release_version: pulumi.Input[str]
    cluster_name: pulumi.Input[str]
    role_arn: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    security_group_ids: Sequence[pulumi.Input[str]]
    key_arn: pulumi.Input[str]
    tags: Mapping[str, str]


def group_sizes(node_count: int, largest: int) -> list[int]:
    """Spread nodes over groups, filling each before the next, so that growing the cluster never shrinks a group."""
    full, rest = divmod(node_count, largest)
    return [largest] * full + ([rest] if rest or not full else [])


class NodeGroups(pulumi.ComponentResource):
    """All GPU nodes, in one zone and one placement; removing this component leaves every byte of data in place."""

    def __init__(self, name: str, args: NodeGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:NodeGroups", name, None, opts)
        tags = {**args.tags, "Name": name}
        placement = placement_group(f"{name}-placement", args.capacity, self)
        # EKS refuses a template with a subnet, an instance profile or a request for spot (LaunchTemplateSpecification):
        # it sets these itself, from the group.
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            instance_type=args.node_type.instance_type,
            update_default_version=True,
            ebs_optimized="true",
            network_interfaces=_interfaces(args.node_type.interfaces, args.security_group_ids),
            metadata_options=metadata_options(),
            block_device_mappings=root_volume(args.root_volume_gib, args.key_arn),
            placement=aws.ec2.LaunchTemplatePlacementArgs(group_name=placement.name) if placement else None,
            instance_market_options=None if args.capacity.kind == "spot" else market_options(args.capacity),
            capacity_reservation_specification=reservation(args.capacity),
            user_data=_user_data(),
            tag_specifications=launched_tags(tags),
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        groups = [
            self._group(f"{name}-group-{place}", args, template, size)
            for place, size in enumerate(group_sizes(args.node_count, args.max_nodes_per_group))
        ]
        self.group_names: list[pulumi.Output[str]] = [group.node_group_name for group in groups]
        self.watched = [
            WatchedGroup(kind="eks", name=group.node_group_name, arn=group.arn, cluster=args.cluster_name)
            for group in groups
        ]
        self.register_outputs({"group_names": self.group_names})

    def _group(self, name: str, args: NodeGroupsArgs, template: aws.ec2.LaunchTemplate, size: int) -> aws.eks.NodeGroup:
        vendor = vendor_of(args.node_type.instance_type)
        return aws.eks.NodeGroup(
            name,
            cluster_name=args.cluster_name,
            node_role_arn=args.role_arn,
            subnet_ids=[args.subnet_id],
            ami_type=vendor.ami_type,
            release_version=args.release_version,
            capacity_type=CAPACITY_TYPES[args.capacity.kind],
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            # EKS wants a maximum of at least 1, also for a group that is switched off.
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(min_size=size, max_size=max(size, 1), desired_size=size),
            # One node at a time, and the old one goes first: there is no spare GPU capacity to grow into.
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1, update_strategy="MINIMAL"),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True, max_parallel_nodes_repaired_count=1),
            labels={"node-kind": "gpu", **vendor.labels},
            taints=[aws.eks.NodeGroupTaintArgs(key=vendor.resource, value="present", effect="NO_SCHEDULE")],
            tags={**args.tags, "Name": name},
            opts=pulumi.ResourceOptions(
                parent=self,
                # Without a pinned release, a newer one must not replace a running cluster.
                ignore_changes=[] if is_pinned(args.node_type.image) else ["release_version"],
            ),
        )


def _interfaces(
    slots: Sequence[InterfaceSlot], security_group_ids: Sequence[pulumi.Input[str]]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=slot.network_card,
            device_index=slot.device,
            interface_type=slot.interface_type,
            security_groups=list(security_group_ids),
            delete_on_termination="true",
            # EC2 refuses the parameter on nodes with several interfaces; those never get a public address anyway.
            associate_public_ip_address="false" if len(slots) == 1 else None,
        )
        for slot in slots
    ]


def _user_data() -> str:
    """EKS adds its own part, with the cluster's address, to a message of several parts."""
    message = (
        f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{BOUNDARY}"\n\n'
        f"--{BOUNDARY}\nContent-Type: application/node.eks.aws\n\n{NODE_CONFIG}\n--{BOUNDARY}--\n"
    )
    return base64.b64encode(message.encode()).decode()
