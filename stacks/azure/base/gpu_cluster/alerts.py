"""Who hears of it: an action group, trouble of Azure itself, and a monthly budget over the whole cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pulumi
from pulumi_azure_native import consumption, monitor

from gpu_cluster.cluster_identity import CLUSTER_TAG
from gpu_cluster.settings_foundation import BudgetSettings

# Definition id of the built-in role Owner (Microsoft, "Azure built-in roles").
_OWNER_ROLE = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
# Percent of the budget, and whether spent or foreseen by Azure. A budget may have five of them.
_ALERTS = (
    (50, consumption.ThresholdType.ACTUAL),
    (80, consumption.ThresholdType.ACTUAL),
    (100, consumption.ThresholdType.ACTUAL),
    (100, consumption.ThresholdType.FORECASTED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertsArgs:
    """What is watched and who hears of it.

    Attributes:
        email: None for the owners of the subscription.
        budget: None for none.
    """

    cluster_name: str
    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    email: str | None
    budget: BudgetSettings | None
    tags: Mapping[str, str]


class Alerts(pulumi.ComponentResource):
    """Alerts only: Azure stops nothing when a budget is spent."""

    action_group_id: pulumi.Output[str]

    def __init__(self, name: str, args: AlertsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Alerts", name, {}, opts)
        emails = [args.email] if args.email else []
        people = monitor.ActionGroup(
            f"{name}-alerts",
            resource_group_name=args.resource_group_name,
            location="Global",
            group_short_name=name[:12],
            enabled=True,
            email_receivers=[
                monitor.MicrosoftCommonEmailReceiverArgs(
                    name="alerts", email_address=email, use_common_alert_schema=True
                )
                for email in emails
            ],
            # An alert that tells nobody is useless, so without an address it tells the owners.
            arm_role_receivers=None
            if emails
            else [monitor.ArmRoleReceiverArgs(name="owners", role_id=_OWNER_ROLE, use_common_alert_schema=True)],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.action_group_id = people.id
        monitor.ActivityLogAlert(
            f"{name}-service-health",
            resource_group_name=args.resource_group_name,
            location="Global",
            description="Incidents and planned maintenance of Azure in the cluster's location",
            enabled=True,
            scopes=[f"/subscriptions/{args.subscription_id}"],
            condition=monitor.AlertRuleAllOfConditionArgs(
                all_of=[
                    monitor.AlertRuleAnyOfOrLeafConditionArgs(field="category", equals="ServiceHealth"),
                    monitor.AlertRuleAnyOfOrLeafConditionArgs(
                        field="properties.impactedServices[*].ImpactedRegions[*].RegionName",
                        contains_any=[args.location, "Global"],
                    ),
                ]
            ),
            actions=monitor.ActionListArgs(action_groups=[monitor.ActionGroupArgs(action_group_id=people.id)]),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        if args.budget:
            self._budget(name, args, args.budget, emails)
        self.register_outputs({"action_group_id": self.action_group_id})

    def _budget(self, name: str, args: AlertsArgs, budget: BudgetSettings, emails: list[str]) -> None:
        consumption.Budget(
            f"{name}-budget",
            scope=f"/subscriptions/{args.subscription_id}",
            category=consumption.CategoryType.COST,
            amount=budget.amount_per_month,
            time_grain=consumption.TimeGrainType.MONTHLY,
            time_period=consumption.BudgetTimePeriodArgs(start_date=_first_day(budget.start_month)),
            # Every resource of every layer carries this tag; the nodes' own layer does not exist yet.
            filter=consumption.BudgetFilterArgs(
                tags=consumption.BudgetComparisonExpressionArgs(
                    name=CLUSTER_TAG, operator=consumption.BudgetOperatorType.IN_, values=[args.cluster_name]
                )
            ),
            notifications={
                f"{kind.value.lower()}-{percent}-percent": consumption.NotificationArgs(
                    enabled=True,
                    operator=consumption.OperatorType.GREATER_THAN_OR_EQUAL_TO,
                    threshold=percent,
                    threshold_type=kind,
                    contact_emails=emails,
                    contact_groups=[self.action_group_id],
                )
                for percent, kind in _ALERTS
            },
            # The month of the first deployment stays; a later `up` must not plan a change because the month is another.
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["timePeriod"]),
        )


def _first_day(month: str | None) -> str:
    """Return the first day of the month: Azure takes no other, and none before the current month for a new budget."""
    return f"{month or datetime.now(tz=UTC).strftime('%Y-%m')}-01T00:00:00Z"
