"""How the compute nodes are bought, and which placement goes with it: never a policy of ours beside a reservation."""

from dataclasses import dataclass

from gpu_cluster import limits
from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType

RESERVATION = r"[a-z][a-z0-9-]*|projects/[a-z0-9-]+/reservations/[a-z0-9-]+(/reservationBlocks/[a-z0-9-]+)?"
RESERVATION_MODELS = ("auto", "bound", "standard")
CAPACITY_KEYS = ("capacity", "reservationId", "reservationModel", "flexStartRunHours", "placementMaxDistance")


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """How the compute nodes are bought; exactly one model, and placement only where the model leaves it open."""

    model: str
    reservation_id: str | None
    reservation_bound: bool
    flex_start_run_s: int | None
    placement_max_distance: int | None


def read_capacity(values: Values, node_type: NodeType, node_count: int) -> Capacity:
    """Read and check the keys of capacity and placement; problems are noted in `values`."""
    model = values.choice("capacity", limits.CAPACITIES, default="on-demand")
    run_hours = values.whole("flexStartRunHours", 1, limits.FLEX_START_MAX_HOURS, default=limits.FLEX_START_MAX_HOURS)
    reservation_model = values.choice("reservationModel", RESERVATION_MODELS, default="auto")
    bound_by_family = limits.family_of(node_type.instance_type) in limits.BOUND_RESERVATION_FAMILIES
    capacity = Capacity(
        model=model,
        reservation_id=values.optional_text(
            "reservationId", RESERVATION, "a reservation name or projects/PROJECT/reservations/NAME"
        ),
        reservation_bound=bound_by_family if reservation_model == "auto" else reservation_model == "bound",
        flex_start_run_s=run_hours * 3600 if model == "flex-start" else None,
        placement_max_distance=values.whole("placementMaxDistance", 0, limits.MAX_DISTANCE_MAX, default=0) or None,
    )
    refused = [problem.partition(":")[0] for problem in values.problems]
    if not {"capacity", "reservationId", "nodeType.instanceType"} & set(refused):
        _check_reservation(values, capacity, node_type, node_count)
        _check_placement(values, capacity, node_type, node_count)
    return capacity


def has_compact_placement(node_type: NodeType, capacity: Capacity) -> bool:
    """Whether the nodes get a compact placement policy: never together with a reservation or flex-start."""
    family = limits.family_of(node_type.instance_type)
    return capacity.model in {"on-demand", "spot"} and family in limits.COMPACT_FAMILIES


def has_workload_policy(node_type: NodeType, capacity: Capacity) -> bool:
    """Whether the instance group gets a high-throughput workload policy instead."""
    return capacity.model == "flex-start" and node_type.instance_type in limits.FLEX_START_WORKLOAD_POLICY_TYPES


def capacity_warnings(node_type: NodeType, capacity: Capacity) -> list[str]:
    """What Google may refuse although no page says so, or does otherwise than it sounds."""
    if node_type.is_tpu and capacity.model == "reservation":
        return [
            f"reservationId: a TPU slice takes whichever reservation the project has in the zone, not only "
            f"{capacity.reservation_id}: the service has no field for its name"
        ]
    if capacity.model != "on-demand" or node_type.instance_type not in limits.ON_DEMAND_NOT_LISTED_TYPES:
        return []
    return [
        f"capacity: Google's guide for {node_type.instance_type} lists reservation, flex-start and spot, "
        "not on-demand; Google may refuse the nodes"
    ]


def _check_reservation(values: Values, capacity: Capacity, node_type: NodeType, node_count: int) -> None:
    if capacity.model == "reservation" and capacity.reservation_id is None:
        values.fail("reservationId", "capacity reservation needs the name of a reservation")
    if capacity.model != "reservation" and capacity.reservation_id is not None:
        values.fail("reservationId", f"set, but capacity is {capacity.model}; choose one of the two")
    if capacity.model != "flex-start":
        return
    if node_type.is_tpu:
        values.fail(
            "capacity",
            "a flex-start slice is a queued resource, which takes no service account, labels or start-up script; "
            "use on-demand, spot or reservation, or the GKE variant",
        )
    is_a3 = limits.family_of(node_type.instance_type) == "a3"
    if is_a3 and node_count > limits.FLEX_START_MAX_A3_NODES:
        values.fail(
            "nodeCount",
            f"one flex-start request on A3 is capped at {limits.FLEX_START_MAX_A3_NODES} nodes, got {node_count}",
        )
    elif node_count > limits.GROUP_MAX_NODES:
        values.fail(
            "nodeCount",
            f"flex-start gives all nodes of one instance group or none, and a group holds {limits.GROUP_MAX_NODES}, "
            f"got {node_count}",
        )


def _check_placement(values: Values, capacity: Capacity, node_type: NodeType, node_count: int) -> None:
    distance = capacity.placement_max_distance
    if not has_compact_placement(node_type, capacity):
        if distance is not None:
            values.fail(
                "placementMaxDistance",
                f"set, but capacity {capacity.model} on {node_type.instance_type} makes no compact placement policy "
                "(a reservation brings its own placement); remove one of the two",
            )
        return
    family = limits.family_of(node_type.instance_type)
    if distance is not None and family == "a3" and distance < limits.MAX_DISTANCE_MIN_A3:
        values.fail("placementMaxDistance", f"A3 supports 2 and 3, got {distance}")
    if node_type.placement_max_nodes is not None and node_count > node_type.placement_max_nodes:
        values.fail(
            "nodeCount",
            f"one compact placement policy holds {node_type.placement_max_nodes} nodes of "
            f"{node_type.instance_type}, got {node_count}; use a reservation or fewer nodes",
        )
