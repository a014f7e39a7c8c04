"""How nodes are bought, and what of it a launch template has to say."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import CAPACITIES, NodeType


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """How the nodes are bought, and the reservation they are launched into, if any."""

    kind: str
    reservation_id: str | None


def read_capacity(values: Values, node_count: int, node_type: NodeType) -> Capacity:
    """Read `capacity` and `reservationId`, which have to fit to each other, to the type and to the number of nodes."""
    kind = values.choice("capacity", CAPACITIES, "on-demand")
    reservation_id = values.optional_text("reservationId", r"cr-[0-9a-f]{8,17}", "a reservation id (cr-...)")
    reserved = kind in ("reservation", "capacity-block")
    if reserved and not values.has("reservationId"):
        values.fail("reservationId", f"is needed because capacity is {kind}")
    if not reserved and reservation_id is not None:
        values.fail("reservationId", f"must be empty because capacity is {kind}")
    most = node_type.capacity_block_max_nodes
    if kind == "capacity-block" and node_count > most:
        values.fail("nodeCount", f"is {node_count}, but a capacity block holds at most {most}")
    if kind in CAPACITIES and kind not in node_type.capacities:
        ways = ", ".join(node_type.capacities)
        values.fail("capacity", f"is {kind}, which is not sold for {node_type.instance_type}; it is sold as {ways}")
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
