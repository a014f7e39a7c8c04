"""Who hears of trouble, and of what in the foundation: a way out of the network that loses traffic."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_gcp import monitoring


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAlertsArgs:
    """Where alerts go, and which network is watched; without a gateway of our own nothing is."""

    cluster_name: str
    email: str
    gateway_name: pulumi.Input[str] | None
    labels: Mapping[str, str]
    services: list[pulumi.Resource]


class ClusterAlerts(pulumi.ComponentResource):
    """A channel by e-mail and the foundation's alerts; the other layers send theirs to the same channel."""

    channel: monitoring.NotificationChannel

    def __init__(self, name: str, args: ClusterAlertsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterAlerts", name, None, opts)
        self.channel = monitoring.NotificationChannel(
            f"{args.cluster_name}-alerts",
            display_name=f"GPU cluster {args.cluster_name}",
            type="email",
            labels={"email_address": args.email},
            user_labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        if args.gateway_name is not None:
            self._lost_traffic(args, args.gateway_name)
        self.register_outputs({"channel": self.channel.name})

    def _lost_traffic(self, args: ClusterAlertsArgs, gateway_name: pulumi.Input[str]) -> None:
        monitoring.AlertPolicy(
            f"{args.cluster_name}-lost-traffic",
            display_name=f"{args.cluster_name}: Cloud NAT drops packets",
            combiner="OR",
            conditions=[
                monitoring.AlertPolicyConditionArgs(
                    display_name="packets dropped for want of ports",
                    condition_threshold=monitoring.AlertPolicyConditionConditionThresholdArgs(
                        filter=pulumi.Output.concat(
                            'resource.type = "nat_gateway" AND metric.type = '
                            '"router.googleapis.com/nat/dropped_sent_packets_count" AND '
                            'resource.labels.gateway_name = "',
                            gateway_name,
                            '"',
                        ),
                        comparison="COMPARISON_GT",
                        threshold_value=0,
                        duration="300s",
                        aggregations=[
                            monitoring.AlertPolicyConditionConditionThresholdAggregationArgs(
                                alignment_period="300s", per_series_aligner="ALIGN_RATE"
                            )
                        ],
                    ),
                )
            ],
            documentation=monitoring.AlertPolicyDocumentationArgs(
                content="Nodes open more connections than Cloud NAT has ports for: downloads fail at random. "
                "Add addresses to the gateway or mirror what the nodes fetch."
            ),
            notification_channels=[self.channel.name],
            user_labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self),
        )
