"""How nodes are bought, and what of it a launch template has to say."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.config_values import Values

CAPACITIES = ("on-demand", "spot", "reservation", "capacity-block")
# A Capacity Block holds at most 64 instances (Amazon EC2 User Guide, "Capacity Blocks for ML").
CAPACITY_BLOCK_MAX_NODES = 64
# Families whose usage classes list capacity-block (EC2 DescribeInstanceTypes, captured 2026-11).
CAPACITY_BLOCK_FAMILIES = (
    "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200", "trn1", "trn2",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """How the nodes are bought, and the reservation they are launched into, if any."""

    kind: str
    reservation_id: str | None


def read_capacity(values: Values, node_count: int, instance_type: str) -> Capacity:
    """Read `capacity` and `reservationId`, which have to fit to each other, to the type and to the number of nodes."""
    kind = values.choice("capacity", CAPACITIES, "on-demand")
    reservation_id = values.optional_text("reservationId", r"cr-[0-9a-f]{8,17}", "a reservation id (cr-...)")
    reserved = kind in ("reservation", "capacity-block")
    if reserved and not values.has("reservationId"):
        values.fail("reservationId", f"is needed because capacity is {kind}")
    if not reserved and reservation_id is not None:
        values.fail("reservationId", f"must be empty because capacity is {kind}")
    if kind == "capacity-block" and node_count > CAPACITY_BLOCK_MAX_NODES:
        values.fail("nodeCount", f"is {node_count}, but a capacity block holds at most {CAPACITY_BLOCK_MAX_NODES}")
    if kind == "capacity-block" and instance_type.partition(".")[0] not in CAPACITY_BLOCK_FAMILIES:
        families = ", ".join(CAPACITY_BLOCK_FAMILIES)
        values.fail("capacity", f"is capacity-block, which is not sold for {instance_type}; it is for {families}")
    return Capacity(kind=kind, reservation_id=reservation_id)


def placement_group(name: str, capacity: Capacity, parent: pulumi.Resource) -> aws.ec2.PlacementGroup | None:
    """Place nodes close together, unless a reservation decides where they are.

    A placement group on top of a reservation that was not made with it ends in InsufficientInstanceCapacity.
    """
    if capacity.reservation_id is not None:
        return None
    return aws.ec2.PlacementGroup(name, strategy="cluster", opts=pulumi.ResourceOptions(parent=parent))


def market_options(capacity: Capacity) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Say on which market a node is launched; None is on demand, also into a reservation."""
    if capacity.kind == "spot":
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
            market_type="spot",
            spot_options=aws.ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(
                spot_instance_type="one-time", instance_interruption_behavior="terminate"
            ),
        )
    if capacity.kind == "capacity-block":
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    return None


def reservation(capacity: Capacity) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Name the reservation that nodes are launched into; it exists already, none is ever bought here."""
    if capacity.reservation_id is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=capacity.reservation_id
        )
    )
