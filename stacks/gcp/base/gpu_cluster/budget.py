"""A monthly budget with alerts to the billing administrators and to the alert address; it stops no machine."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import billing

from gpu_cluster.place import CLUSTER_LABEL
from gpu_cluster.settings_foundation import Spending

ACTUAL_SHARES = (0.5, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterBudgetArgs:
    """How much may be spent, and on what."""

    cluster_name: str
    channels: Sequence[pulumi.Input[str]]
    project_number: pulumi.Output[str]
    spending: Spending
    services: Sequence[pulumi.Resource]


class ClusterBudget(pulumi.ComponentResource):
    """Budget over everything in the project that carries this cluster's label."""

    def __init__(self, name: str, args: ClusterBudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterBudget", name, None, opts)
        rules = [
            billing.BudgetThresholdRuleArgs(threshold_percent=share, spend_basis="CURRENT_SPEND")
            for share in ACTUAL_SHARES
        ]
        rules.append(billing.BudgetThresholdRuleArgs(threshold_percent=1.0, spend_basis="FORECASTED_SPEND"))
        billing.Budget(
            f"{args.cluster_name}-budget",
            billing_account=args.spending.billing_account,
            display_name=f"GPU cluster {args.cluster_name}",
            amount=billing.BudgetAmountArgs(
                specified_amount=billing.BudgetAmountSpecifiedAmountArgs(
                    currency_code="USD", units=str(args.spending.usd_per_month)
                )
            ),
            budget_filter=billing.BudgetBudgetFilterArgs(
                projects=[pulumi.Output.concat("projects/", args.project_number)],
                labels={CLUSTER_LABEL: args.cluster_name},
                calendar_period="MONTH",
            ),
            threshold_rules=rules,
            all_updates_rule=billing.BudgetAllUpdatesRuleArgs(monitoring_notification_channels=args.channels)
            if args.channels
            else None,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        self.register_outputs({})
