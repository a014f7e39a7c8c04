"""A monthly budget over the cluster's resource groups, with alerts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pulumi
from pulumi_azure_native import consumption, monitor

from settings import BudgetSettings

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
class BudgetArgs:
    """What is watched and who hears of it."""

    resource_group_name: pulumi.Input[str]
    watched_group_names: Sequence[pulumi.Input[str]]
    subscription_id: str
    budget: BudgetSettings
    tags: Mapping[str, str]


class Budget(pulumi.ComponentResource):
    """Alerts only: Azure stops nothing when a budget is spent."""

    def __init__(self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:azure:Budget", name, {}, opts)
        emails = [args.budget.email] if args.budget.email else []
        people = monitor.ActionGroup(
            f"{name}-budget",
            resource_group_name=args.resource_group_name,
            location="Global",
            group_short_name=name[:12],
            enabled=True,
            email_receivers=[
                monitor.MicrosoftCommonEmailReceiverArgs(
                    name="budget", email_address=email, use_common_alert_schema=True
                )
                for email in emails
            ],
            # A budget that tells nobody is useless, so without an address it tells the owners.
            arm_role_receivers=None
            if emails
            else [monitor.ArmRoleReceiverArgs(name="owners", role_id=_OWNER_ROLE, use_common_alert_schema=True)],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        consumption.Budget(
            f"{name}-budget",
            scope=f"/subscriptions/{args.subscription_id}",
            category=consumption.CategoryType.COST,
            amount=args.budget.amount_per_month,
            time_grain=consumption.TimeGrainType.MONTHLY,
            time_period=consumption.BudgetTimePeriodArgs(start_date=_first_day(args.budget.start_month)),
            filter=consumption.BudgetFilterArgs(
                dimensions=consumption.BudgetComparisonExpressionArgs(
                    name="ResourceGroupName",
                    operator=consumption.BudgetOperatorType.IN_,
                    values=args.watched_group_names,
                )
            ),
            notifications={
                f"{kind.value.lower()}-{percent}-percent": consumption.NotificationArgs(
                    enabled=True,
                    operator=consumption.OperatorType.GREATER_THAN_OR_EQUAL_TO,
                    threshold=percent,
                    threshold_type=kind,
                    contact_emails=emails,
                    contact_groups=[people.id],
                )
                for percent, kind in _ALERTS
            },
            # The month of the first deployment stays; a later `up` must not plan a change because the month is another.
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["timePeriod"]),
        )
        self.register_outputs({})


def _first_day(month: str | None) -> str:
    """Return the first day of the month: Azure takes no other, and none before the current month for a new budget."""
    return f"{month or datetime.now(tz=UTC).strftime('%Y-%m')}-01T00:00:00Z"
