"""Who is told when money or the controller needs attention."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.layer import CLUSTER_TAG
from gpu_cluster.permissions import Account, Statement, document
from gpu_cluster.settings_foundation import AlertSettings

# Share of the monthly limit in percent, and whether spent or forecast.
THRESHOLDS = ((50.0, "ACTUAL"), (80.0, "ACTUAL"), (100.0, "ACTUAL"), (100.0, "FORECASTED"))


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertsArgs:
    """What budget and alerts need."""

    cluster_name: str
    account: Account
    key_arn: pulumi.Input[str]
    settings: AlertSettings


class Alerts(pulumi.ComponentResource):
    """An encrypted topic for every alert of the cluster; an email subscriber and a monthly budget, if configured."""

    def __init__(self, name: str, args: AlertsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Alerts", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        topic = aws.sns.Topic(f"{name}-topic", kms_master_key_id=args.key_arn, opts=child)
        policy = aws.sns.TopicPolicy(
            f"{name}-topic", arn=topic.arn, policy=_topic_policy(topic, args.account), opts=child
        )
        if args.settings.email is not None:
            aws.sns.TopicSubscription(
                f"{name}-email", topic=topic.arn, protocol="email", endpoint=args.settings.email, opts=child
            )
        if args.settings.budget_usd_per_month is not None:
            _budget(name, args, topic, pulumi.ResourceOptions(parent=self, depends_on=[policy]))
        self.topic_arns: list[pulumi.Output[str]] = [topic.arn]
        self.register_outputs({"topic_arns": self.topic_arns})


def _topic_policy(topic: aws.sns.Topic, account: Account) -> pulumi.Output[str]:
    return document(
        *(
            Statement(
                sid=f"PublishFrom{service.capitalize()}",
                principal={"Service": f"{service}.amazonaws.com"},
                actions=["sns:Publish"],
                resources=[topic.arn],
                conditions={"StringEquals": {"aws:SourceAccount": account.account_id}},
            )
            for service in ("budgets", "cloudwatch")
        ),
        # Rules of this account's event bus; EventBridge does not say which account it publishes for.
        Statement(
            sid="PublishFromEvents",
            principal={"Service": "events.amazonaws.com"},
            actions=["sns:Publish"],
            resources=[topic.arn],
        ),
    )


def _budget(name: str, args: AlertsArgs, topic: aws.sns.Topic, opts: pulumi.ResourceOptions) -> None:
    tag_filter = aws.budgets.BudgetCostFilterArgs(
        name="TagKeyValue", values=[f"user:{CLUSTER_TAG}${args.cluster_name}"]
    )
    aws.budgets.Budget(
        f"{name}-budget",
        budget_type="COST",
        time_unit="MONTHLY",
        limit_amount=str(args.settings.budget_usd_per_month),
        limit_unit="USD",
        cost_filters=[tag_filter] if args.settings.budget_by_tag else None,
        notifications=[
            aws.budgets.BudgetNotificationArgs(
                comparison_operator="GREATER_THAN",
                notification_type=kind,
                threshold=percent,
                threshold_type="PERCENTAGE",
                subscriber_sns_topic_arns=[topic.arn],
            )
            for percent, kind in THRESHOLDS
        ],
        opts=opts,
    )
