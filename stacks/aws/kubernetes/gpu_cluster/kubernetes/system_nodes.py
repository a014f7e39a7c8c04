"""A few nodes without accelerators, for what the cluster itself runs: DNS, the job queue, storage controllers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.kubernetes.control_plane import managed_policy
from gpu_cluster.kubernetes.machine_template import launched_tags, metadata_options, root_volume
from gpu_cluster.permissions import Account

ROOT_VOLUME_GIB = 100
# What a machine needs to join a cluster and to pull images (Amazon EKS User Guide, "Amazon EKS node IAM role").
# The network plugin has a role of its own.
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemNodesArgs:
    """What the system nodes need."""

    account: Account
    cluster: aws.eks.Cluster
    instance_type: str
    node_count: int
    role_name: pulumi.Input[str]
    role_arn: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    security_group_ids: Sequence[pulumi.Input[str]]
    key_arn: pulumi.Input[str]
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource]


class SystemNodes(pulumi.ComponentResource):
    """One managed group, and the rights that every node of the cluster needs, GPU nodes among them."""

    def __init__(self, name: str, args: SystemNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:SystemNodes", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        tags = {**args.tags, "Name": name}
        rights = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{policy}", role=args.role_name, policy_arn=managed_policy(args.account, policy), opts=child
            )
            for policy in NODE_POLICIES
        ]
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            instance_type=args.instance_type,
            update_default_version=True,
            # A template with groups of its own leaves the cluster's out; the endpoints admit only the foundation's.
            vpc_security_group_ids=list(args.security_group_ids),
            metadata_options=metadata_options(),
            block_device_mappings=root_volume(ROOT_VOLUME_GIB, args.key_arn),
            tag_specifications=launched_tags(tags),
            tags=tags,
            opts=child,
        )
        self.group = aws.eks.NodeGroup(
            f"{name}-group",
            cluster_name=args.cluster.name,
            node_role_arn=args.role_arn,
            subnet_ids=[args.subnet_id],
            ami_type="AL2023_x86_64_STANDARD",
            capacity_type="ON_DEMAND",
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=args.node_count, max_size=args.node_count, desired_size=args.node_count
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            labels={"node-kind": "system"},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*rights, *args.after]),
        )
        self.register_outputs({})
