"""Identities of the machines: what controller, login machine and compute node may do, and nothing more."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account, Statement, document, service_trust


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineRoleArgs:
    """What one kind of machine (`controller`, `login` or `compute`) works with."""

    account: Account
    key_arn: pulumi.Input[str]
    role: str
    cluster_name: str


class MachineRole(pulumi.ComponentResource):
    """IAM role and instance profile of one kind of machine; what a scheduler needs beside is attached in its layer.

    No machine may use the bucket: FSx for Lustre mirrors it with a role of its own (`file_system.py`), boot scripts are
    in user data, and pods of Kubernetes have a role too. Whoever is root on one node would otherwise have all data.
    """

    def __init__(self, name: str, args: MachineRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:MachineRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role", assume_role_policy=service_trust("ec2.amazonaws.com", args.account), opts=child
        )
        aws.iam.RolePolicy(f"{name}-policy", role=role.id, policy=_policy(args), opts=child)
        profile = aws.iam.InstanceProfile(f"{name}-profile", role=role.name, opts=child)
        self.role_name: pulumi.Output[str] = role.name
        self.role_arn: pulumi.Output[str] = role.arn
        self.profile_name: pulumi.Output[str] = profile.name
        self.profile_arn: pulumi.Output[str] = profile.arn
        self.register_outputs({"profile_arn": self.profile_arn})


def session_manager(region: str) -> Statement:
    """Return what the Systems Manager agent asks for shells and commands.

    The managed policy AmazonSSMManagedInstanceCore has these calls too, and lets its holder read every parameter of the
    account (AWS, "Systems Manager Session Manager: verify or create an IAM role"; none of the calls takes a resource).
    """
    channels = ("CreateControlChannel", "CreateDataChannel", "OpenControlChannel", "OpenDataChannel")
    messages = ("AcknowledgeMessage", "DeleteMessage", "FailMessage", "GetEndpoint", "GetMessages", "SendReply")
    return Statement(
        sid="SessionManager",
        actions=[
            *(f"ec2messages:{action}" for action in messages),
            "ssm:UpdateInstanceInformation",
            *(f"ssmmessages:{action}" for action in channels),
        ],
        resources=["*"],
        conditions={"StringEquals": {"aws:RequestedRegion": region}},
    )


def metric_namespace(cluster_name: str) -> str:
    """Return the name space of one cluster's metrics: IAM limits by name space, so no cluster can speak for another."""
    return f"gpu-cluster/{cluster_name}"


def publish_busy_gpus(cluster_name: str) -> Statement:
    """Return the right to publish the number of busy accelerators, which the watchdog of idle clusters reads."""
    return Statement(
        sid="PublishBusyGpus",
        actions=["cloudwatch:PutMetricData"],
        resources=["*"],
        conditions={"StringEquals": {"cloudwatch:namespace": metric_namespace(cluster_name)}},
    )


def _policy(args: MachineRoleArgs) -> pulumi.Output[str]:
    region = args.account.region
    # Whether Lustre can use EFA is looked up on the machine; without this right it falls back to TCP silently.
    look_actions = ["fsx:DescribeFileSystems"]
    if args.role == "controller":
        # Whoever operates the cluster finds the instance behind a Slurm node.
        look_actions += ["ec2:DescribeInstances", "ec2:DescribeTags"]
    return document(
        session_manager(region),
        *([publish_busy_gpus(args.cluster_name)] if args.role == "compute" else []),
        Statement(
            sid="UseKeyThroughSecrets",
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            resources=[args.key_arn],
            conditions={"StringEquals": {"kms:ViaService": f"secretsmanager.{region}.amazonaws.com"}},
        ),
        # These calls know no resource to restrict them to, so they are held to the region.
        Statement(
            sid="Look",
            actions=look_actions,
            resources=["*"],
            conditions={"StringEquals": {"aws:RequestedRegion": region}},
        ),
    )
