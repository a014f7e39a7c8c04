"""How GPU nodes are obtained. Nothing here is ever bought: reservations exist already or are not used."""

import re
from dataclasses import dataclass

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType

KINDS = ("on-demand", "spot", "reservation", "block-reservation")
OF_OTHER_CLOUDS = {"capacity-block": "AWS", "flex-start": "Google Cloud"}

# Microsoft, "On-demand capacity reservation", 2026-02-17: the GPU families that can be reserved. No ND size is one of
# them, nor NCads H100 v5, and single placement groups cannot be combined with a reservation.
RESERVABLE_GPU_SIZES = r"Standard_(NC\d+s_v3|NC\d+as_T4_v3|NC\d+ads_A10_v4|NC\d+ads_A100_v4|NV\w+|NG\w+)"
# sku.capacity of a block reservation is one of 1, 2, 4, 8, 16, 32, 64 (PyPI package azure-mgmt-compute 39.0.0).
MOST_NODES_OF_A_BLOCK = 64
RESERVATION_GROUP = (
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How nodes are obtained.

    Attributes:
        kind: one of `KINDS`.
        reservation_id: the capacity reservation group; empty for on-demand and spot.
        spot_eviction_policy: what happens to an evicted spot node.
    """

    kind: str
    reservation_id: str
    spot_eviction_policy: str

    @property
    def single_placement_group(self) -> bool:
        """InfiniBand needs a single placement group; an on-demand capacity reservation does not go with one."""
        return self.kind != "reservation"


def capacity(values: Values, kind: NodeType, nodes: int) -> Capacity:
    """Read how nodes are obtained, and refuse what Azure would refuse minutes into `up`."""
    policy = values.choice("spotEvictionPolicy", ("Delete", "Deallocate"), "Delete")
    wanted = values.values.get("capacity")
    if isinstance(wanted, str) and wanted in OF_OTHER_CLOUDS:
        cloud = OF_OTHER_CLOUDS[wanted]
        values.fail("capacity", f"{wanted} is an offer of {cloud}; here choose one of {', '.join(KINDS)}")
        values.asked.add("capacity")
        return Capacity(kind="on-demand", reservation_id="", spot_eviction_policy=policy)
    chosen = values.choice("capacity", KINDS, "on-demand")
    reservation_id = ""
    if chosen in ("on-demand", "spot"):
        if values.has("reservationId"):
            values.fail("reservationId", f"has no meaning with capacity {chosen}; remove it")
    else:
        reservation_id = values.text("reservationId", RESERVATION_GROUP, "the id of a capacity reservation group")
    if chosen == "reservation" and (
        kind.fabric == "infiniband" or re.fullmatch(RESERVABLE_GPU_SIZES, kind.instance_type) is None
    ):
        values.fail(
            "capacity",
            f"reservation is not possible for {kind.instance_type}: on-demand capacity reservation takes no ND "
            "size and no single placement group, which InfiniBand needs (Microsoft, 2026-02-17); use block-reservation "
            "where the size has it, on-demand or spot",
        )
    if chosen == "block-reservation" and nodes > MOST_NODES_OF_A_BLOCK:
        values.fail(
            "nodeCount",
            f"{nodes} nodes do not fit into a block reservation, which holds at most {MOST_NODES_OF_A_BLOCK}",
        )
    return Capacity(kind=chosen, reservation_id=reservation_id, spot_eviction_policy=policy)
