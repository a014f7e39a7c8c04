"""Tells people when AWS is about to take nodes back: spot interruptions, and the end of a capacity block."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.capacity import Capacity

SPOT_NOTICES = ("EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation")
# Comes 40 minutes before a block ends, 10 before its instances go (EC2 User Guide, "Monitor Capacity Blocks").
BLOCK_NOTICES = ("Capacity Block Reservation Expiration Warning",)


@dataclass(frozen=True, kw_only=True, slots=True)
class InterruptionsArgs:
    """How the nodes are bought, and the topic that is told."""

    capacity: Capacity
    topic_arn: pulumi.Input[str]


class Interruptions(pulumi.ComponentResource):
    """A rule for the notices of spot or capacity blocks; nodes drain themselves, this is for people."""

    def __init__(self, name: str, args: InterruptionsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Interruptions", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        rule = aws.cloudwatch.EventRule(
            f"{name}-notice",
            description="AWS takes GPU nodes back",
            event_pattern=json.dumps(event_pattern(args.capacity)),
            opts=child,
        )
        aws.cloudwatch.EventTarget(
            f"{name}-alert",
            rule=rule.name,
            arn=args.topic_arn,
            opts=child,
        )
        self.register_outputs({})


def event_pattern(capacity: Capacity) -> dict[str, object]:
    """Return the pattern of a notice; those of spot instances carry nothing that tells clusters apart."""
    if capacity.kind == "spot":
        return {"source": ["aws.ec2"], "detail-type": list(SPOT_NOTICES)}
    return {
        "source": ["aws.ec2"],
        "detail-type": list(BLOCK_NOTICES),
        "detail": {"capacity-reservation-id": [capacity.reservation_id]},
    }
