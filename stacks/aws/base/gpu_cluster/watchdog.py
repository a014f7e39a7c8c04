"""Stops the GPU groups of this cluster after their time to live, or once no GPU was busy for a while."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pulumi_aws as aws

from gpu_cluster.config_values import Values
from gpu_cluster.permissions import Account, Statement, document, service_trust
from gpu_cluster.roles import metric_namespace

WATCHDOG_KEYS = ("timeToLiveHours", "stopWhenIdleMinutes")
METRIC_NAME = "BusyGpus"
EVERY = "rate(10 minutes)"
LOG_DAYS = 30
CODE = Path(__file__).with_name("watchdog_function.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchdogSettings:
    """When nodes are stopped; None for never."""

    time_to_live_hours: int | None
    stop_when_idle_minutes: int | None

    @property
    def is_wanted(self) -> bool:
        """Whether there is anything to watch for."""
        return self.time_to_live_hours is not None or self.stop_when_idle_minutes is not None


def read_watchdog(values: Values) -> WatchdogSettings:
    """Read `timeToLiveHours` and `stopWhenIdleMinutes`; 0 or nothing is never."""
    hours = values.whole("timeToLiveHours", 0, 24 * 365, default=0)
    return WatchdogSettings(time_to_live_hours=hours or None, stop_when_idle_minutes=read_stop_when_idle(values))


def read_stop_when_idle(values: Values) -> int | None:
    """Read `stopWhenIdleMinutes`; None for never, which 0 or nothing says."""
    minutes = values.whole("stopWhenIdleMinutes", 0, 24 * 60, default=0)
    if 0 < minutes < 15:  # noqa: PLR2004 - three samples of the metric
        values.fail("stopWhenIdleMinutes", f"is {minutes}; nodes report every 5 minutes, so it needs 15 or more")
    return minutes or None


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedGroup:
    """One group: `autoscaling` by name, or `eks` by cluster and name; the ARN is what the watchdog may change."""

    kind: str
    name: pulumi.Input[str]
    arn: pulumi.Input[str]
    cluster: pulumi.Input[str] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchdogArgs:
    """What is watched, and who is told."""

    cluster_name: str
    account: Account
    settings: WatchdogSettings
    groups: Sequence[WatchedGroup]
    key_arn: pulumi.Input[str]
    topic_arn: pulumi.Input[str]


# What the watchdog may do to the groups it watches, and what it may look at.
CHANGES: Mapping[str, Sequence[str]] = {
    "autoscaling": (
        "autoscaling:CreateOrUpdateTags",
        "autoscaling:DeleteTags",
        "autoscaling:UpdateAutoScalingGroup",
    ),
    "eks": ("eks:DescribeNodegroup", "eks:TagResource", "eks:UntagResource", "eks:UpdateNodegroupConfig"),
}
LOOKS: Mapping[str, Sequence[str]] = {"autoscaling": ("autoscaling:DescribeAutoScalingGroups",), "eks": ()}


class Watchdog(pulumi.ComponentResource):
    """A function that a schedule calls every ten minutes, with a role that reaches these groups only."""

    def __init__(self, name: str, args: WatchdogArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Watchdog", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        log = aws.cloudwatch.LogGroup(f"{name}-log", retention_in_days=LOG_DAYS, kms_key_id=args.key_arn, opts=child)
        role = aws.iam.Role(
            f"{name}-function",
            assume_role_policy=document(
                Statement(sid="Assume", actions=["sts:AssumeRole"], principal={"Service": "lambda.amazonaws.com"})
            ),
            opts=child,
        )
        policy = aws.iam.RolePolicy(f"{name}-function", role=role.id, policy=_policy(args, log), opts=child)
        function = aws.lambda_.Function(
            f"{name}-function",
            description=f"Stops the GPU nodes of {args.cluster_name} when they have expired or are idle",
            runtime=aws.lambda_.Runtime.PYTHON3D12,
            handler="watchdog_function.handler",
            code=pulumi.AssetArchive({CODE.name: pulumi.StringAsset(CODE.read_text(encoding="utf-8"))}),
            role=role.arn,
            timeout=60,
            memory_size=256,
            kms_key_arn=args.key_arn,
            environment=aws.lambda_.FunctionEnvironmentArgs(
                variables={
                    "CLUSTER": args.cluster_name,
                    "GROUPS": pulumi.Output.json_dumps(
                        [
                            {"kind": one.kind, "name": one.name, "arn": one.arn, "cluster": one.cluster}
                            for one in args.groups
                        ]
                    ),
                    "TIME_TO_LIVE_HOURS": str(args.settings.time_to_live_hours or 0),
                    "STOP_WHEN_IDLE_MINUTES": str(args.settings.stop_when_idle_minutes or 0),
                    "NAMESPACE": metric_namespace(args.cluster_name),
                    "METRIC": METRIC_NAME,
                    "TOPIC_ARN": args.topic_arn,
                }
            ),
            logging_config=aws.lambda_.FunctionLoggingConfigArgs(log_format="JSON", log_group=log.name),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        caller = aws.iam.Role(
            f"{name}-schedule", assume_role_policy=service_trust("scheduler.amazonaws.com", args.account), opts=child
        )
        call = aws.iam.RolePolicy(
            f"{name}-schedule",
            role=caller.id,
            policy=document(Statement(sid="CallWatchdog", actions=["lambda:InvokeFunction"], resources=[function.arn])),
            opts=child,
        )
        aws.scheduler.Schedule(
            f"{name}-schedule",
            description=f"Looks after the GPU nodes of {args.cluster_name}",
            schedule_expression=EVERY,
            flexible_time_window=aws.scheduler.ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            kms_key_arn=args.key_arn,
            target=aws.scheduler.ScheduleTargetArgs(
                arn=function.arn,
                role_arn=caller.arn,
                retry_policy=aws.scheduler.ScheduleTargetRetryPolicyArgs(
                    maximum_event_age_in_seconds=600, maximum_retry_attempts=2
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[call]),
        )
        self.function_name: pulumi.Output[str] = function.name
        self.register_outputs({"function_name": self.function_name})


def _policy(args: WatchdogArgs, log: aws.cloudwatch.LogGroup) -> pulumi.Output[str]:
    region = args.account.region
    kinds = sorted({group.kind for group in args.groups})
    looks = [action for kind in kinds for action in LOOKS[kind]] + ["cloudwatch:GetMetricStatistics"]
    changes = [
        Statement(
            sid=f"Change{kind.capitalize()}",
            actions=CHANGES[kind],
            resources=[group.arn for group in args.groups if group.kind == kind],
        )
        for kind in kinds
    ]
    return document(
        *changes,
        # These calls know no resource to restrict them to, so they are held to the region.
        Statement(
            sid="Look",
            actions=looks,
            resources=["*"],
            conditions={"StringEquals": {"aws:RequestedRegion": region}},
        ),
        Statement(
            sid="WriteLog",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[pulumi.Output.concat(log.arn, ":*")],
        ),
        Statement(
            sid="UseKey",
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            resources=[args.key_arn],
        ),
        Statement(sid="Tell", actions=["sns:Publish"], resources=[args.topic_arn]),
    )
