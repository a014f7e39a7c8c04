"""Tells people that the cluster runs fewer nodes than it should."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import monitoring

#: Google fills a group again by itself; an hour without means that there is no capacity.
PATIENCE = "3600s"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeAlertsArgs:
    """Which groups are watched, how large they should be, and who is told."""

    cluster_name: str
    sizes: Sequence[tuple[pulumi.Output[str], int]]
    channels: pulumi.Input[Sequence[str]]
    labels: Mapping[str, str]


class NodeAlerts(pulumi.ComponentResource):
    """One alert over all groups."""

    def __init__(self, name: str, args: NodeAlertsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:NodeAlerts", name, None, opts)
        monitoring.AlertPolicy(
            f"{args.cluster_name}-missing-nodes",
            display_name=f"{args.cluster_name}: fewer GPU nodes than asked for",
            combiner="OR",
            conditions=[self._condition(group, size) for group, size in args.sizes],
            documentation=monitoring.AlertPolicyDocumentationArgs(
                content="Why: gcloud compute instance-groups managed list-errors GROUP --zone ZONE"
            ),
            notification_channels=args.channels,
            user_labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})

    @staticmethod
    def _condition(group: pulumi.Output[str], size: int) -> monitoring.AlertPolicyConditionArgs:
        return monitoring.AlertPolicyConditionArgs(
            display_name="machines in the group",
            condition_threshold=monitoring.AlertPolicyConditionConditionThresholdArgs(
                filter=pulumi.Output.concat(
                    'resource.type = "instance_group" AND metric.type = '
                    '"compute.googleapis.com/instance_group/size" AND resource.labels.instance_group_name = "',
                    group,
                    '"',
                ),
                comparison="COMPARISON_LT",
                threshold_value=size,
                duration=PATIENCE,
                aggregations=[
                    monitoring.AlertPolicyConditionConditionThresholdAggregationArgs(
                        alignment_period="300s", per_series_aligner="ALIGN_MAX"
                    )
                ],
            ),
        )
