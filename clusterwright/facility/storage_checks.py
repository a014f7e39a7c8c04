"""Rules of thumb compared with a storage design: the size of the data set, and what one node can draw."""

from dataclasses import dataclass
from math import ceil

from clusterwright.catalog.parts.media import media
from clusterwright.catalog.storage import StorageTier, tier_of
from clusterwright.errors import Finding
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.networks import slots_per_box
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.storage.design import StorageDesign

#: What the storage network has to give every node (RA-11333-001, Storage; the same on NVIDIA's page for B200), bytes/s.
NODE_BYTES_PER_S = 40e9


@dataclass(frozen=True, kw_only=True, slots=True)
class TierJudgement:
    """The rule of thumb for a data set, compared with what is planned.

    Attributes:
        tier: the rule; gives_bytes_per_s: of one node's drives, or of shared storage, by its scope; None is unknown.
        enough: whether that is what the rule asks for; None where it is unknown.
    """

    tier: StorageTier
    gives_bytes_per_s: float | None
    enough: bool | None


def judge_tier(design: StorageDesign, *, drives_read_bytes_per_s: float | None) -> TierJudgement:
    """Return the rule of thumb for the data set, and whether what is planned gives what it asks for.

    Args:
        design: shared storage.
        drives_read_bytes_per_s: of the local drives of one node, None if unknown.
    """
    tier = tier_of(design.cache.dataset_bytes)
    gives = drives_read_bytes_per_s if tier.scope == "node" else design.gives_read_bytes_per_s
    return TierJudgement(
        tier=tier, gives_bytes_per_s=gives, enough=None if gives is None else gives >= tier.read_bytes_per_s
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageShare:
    """What is between hosts and shared storage while all hosts draw at once.

    Attributes:
        network_bytes_per_s: that the network lets each host have.
        boxes: that answer hosts; boxes_bytes_per_s: that their ports carry together, None where their rate is unknown.
        leaves: of the network that all boxes hang on.
    """

    network_bytes_per_s: float
    boxes: int
    boxes_bytes_per_s: float | None
    leaves: int


def storage_share(inventory: Inventory) -> StorageShare:
    """Return what network and boxes give while all hosts draw.

    Boxes hang on the first leaves of both sides, beside hosts, and stand near them. Worked example: 2 boxes of 4 ports
    of 200 Gb/s carry 200 GB/s, which is 4.2 GB/s for each of 48 nodes and 16 MB/s for each of 12,288, whatever the
    network lets them have.

    Args:
        inventory: with shared storage and its network.
    """
    storage, fabric = inventory.storage, inventory.storage_fabric
    serves_front = storage.front is not None and storage.throughput_box == "front"
    box, boxes = (storage.front, storage.front_boxes) if serves_front else (storage.data, storage.data_boxes)
    carried = None
    if box is not None and box.ports and box.port_bytes_per_s_one_way:
        carried = boxes * box.ports * box.port_bytes_per_s_one_way
    slots = storage.boxes * slots_per_box(storage.ports_per_box, inventory.storage_box_family)
    leaves = 1 if fabric.levels == 1 else min(fabric.leaf, fabric.rails * ceil(slots / fabric.nodes_per_leaf))
    return StorageShare(
        network_bytes_per_s=node_draws_bytes_per_s(inventory) / inventory.hosts_per_node,
        boxes=boxes,
        boxes_bytes_per_s=carried,
        leaves=leaves,
    )


def node_draws_bytes_per_s(inventory: Inventory) -> float:
    """Return what one node can draw of its cluster's storage network while all others draw too, in bytes/s."""
    return node_bytes_per_s(
        ports=inventory.storage_ports * inventory.hosts_per_node,
        port_bytes_per_s=media()[inventory.storage_family][0].port_bytes_per_s_one_way,
        fabric=inventory.storage_fabric,
    )


def node_bytes_per_s(*, ports: int, port_bytes_per_s: float, fabric: Fabric) -> float:
    """Return what one node can draw of the storage network while all others draw too, in bytes/s.

    Its ports, narrowed by the leaf's downlinks over uplinks where there are switches above. Worked example: two ports
    of 400 Gb/s behind 36 downlinks and 28 uplinks give 78 GB/s, within the 40 to 80 GB/s of NVIDIA's reference.

    Args:
        ports: of the node.
        port_bytes_per_s: of each, one direction.
        fabric: the storage network.
    """
    whole = ports * port_bytes_per_s
    if not fabric.spine:
        return whole
    return whole * min(1.0, fabric.uplinks_per_leaf / (fabric.radix - fabric.uplinks_per_leaf))


def storage_warnings(inventory: Inventory) -> list[Finding]:
    """Return what may go wrong with shared storage and is no error.

    `STO006`: the rule of thumb for such a data set asks for more bandwidth than is bought. `STO007`: a node draws less
    of the storage network than NVIDIA asks for. Only storage that a blueprint speaks of is compared with them.

    Args:
        inventory: with shared storage and its network.
    """
    design = inventory.storage
    if not design.asked:
        return []
    found = []
    dataset_bytes, draws = design.cache.dataset_bytes, node_draws_bytes_per_s(inventory)
    tier, gives = tier_of(dataset_bytes), design.gives_read_bytes_per_s
    if tier.scope == "cluster" and gives is not None and gives < tier.read_bytes_per_s:
        found.append(
            Finding(
                id="STO006",
                path=("targets", "onprem", "storage"),
                message=(
                    f"onprem: shared storage reads {gives / 1e9:,.0f} GB/s; a rule of thumb for data sets of "
                    f"{dataset_bytes / 1e12:,.0f} TB asks for {tier.read_bytes_per_s / 1e9:,.0f} GB/s"
                ),
                help=(
                    f"the job itself needs {design.read_bytes_per_s / 1e9:,.1f} GB/s at the level {design.level}; set "
                    f"targets.onprem.storage.read_bandwidth to {tier.read_bytes_per_s / 1e9:,.0f} GB/s to follow it"
                ),
            )
        )
    if draws < NODE_BYTES_PER_S:
        found.append(
            Finding(
                id="STO007",
                path=("targets", "onprem", "storage"),
                message=(
                    f"onprem: a node draws {draws / 1e9:,.0f} GB/s of the storage network; NVIDIA's "
                    f"reference architectures ask for {NODE_BYTES_PER_S / 1e9:,.0f} GB/s"
                ),
                help="choose a system with more or faster storage ports, or keep the data on local drives",
            )
        )
    return found
