"""A log of the traffic that the network refused."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account, Statement, document, service_trust

FLOW_LOG_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowLogsArgs:
    """Which network, and the key that encrypts its log."""

    account: Account
    vpc_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]


class FlowLogs(pulumi.ComponentResource):
    """Flow log of one network into an encrypted log group, written with a role of its own."""

    def __init__(self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:FlowLogs", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        group = aws.cloudwatch.LogGroup(
            f"{name}-group", retention_in_days=FLOW_LOG_DAYS, kms_key_id=args.key_arn, opts=child
        )
        role = aws.iam.Role(
            f"{name}-writer",
            assume_role_policy=service_trust("vpc-flow-logs.amazonaws.com", args.account),
            opts=child,
        )
        aws.iam.RolePolicy(
            f"{name}-writer",
            role=role.id,
            policy=document(
                Statement(
                    sid="WriteFlowLogs",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                    resources=[group.arn, pulumi.Output.concat(group.arn, ":*")],
                )
            ),
            opts=child,
        )
        aws.ec2.FlowLog(
            f"{name}-log",
            vpc_id=args.vpc_id,
            # Accepted traffic between GPU nodes is bulk; what was refused is what explains a problem.
            traffic_type="REJECT",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags={"Name": name},
            opts=child,
        )
        self.register_outputs({})
