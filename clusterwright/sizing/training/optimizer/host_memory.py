"""Whether a node's host holds what its accelerators leave to it; a size that is not known refuses nothing."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding
from clusterwright.sizing.columns import Layouts, Shape, Values
from clusterwright.sizing.model.layer_memory import LayerBytes
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.offload import USABLE_SHARE
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.reliability import checkpoints
from clusterwright.sizing.training.optimizer.upkeep import Upkeep, outside_bytes
from clusterwright.units import BYTES, percent, text

_PATH = ("workload", "memory")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outside:
    """What the host of one node has to hold, as columns.

    Attributes:
        memory_bytes: states, activations and copies of checkpoints in host memory; nvme_bytes: on local drives.
        nodes: of the layout.
    """

    memory_bytes: Values
    nvme_bytes: Values
    nodes: Values

    def shares(self, node: NodeType) -> Values:
        """Return the larger share of what the node has, in host memory or on drives; above 1 does not fit."""
        host = node.host
        memory = 0.0 if host.memory_bytes is None else self.memory_bytes / (USABLE_SHARE * host.memory_bytes)
        drives = 0.0 if host.nvme_bytes is None else self.nvme_bytes / host.nvme_bytes
        larger: Values = np.maximum(memory, drives) + 0 * np.asarray(self.nodes)
        return larger

    def fits(self, node: NodeType) -> npt.NDArray[np.bool_]:
        """Tell for each layout whether the node's host holds it."""
        return np.asarray(self.shares(node)) <= 1

    def nearest(self, node: NodeType, other: "Outside | None") -> "Outside":
        """Return what comes closest to fitting, of these layouts and another one."""
        shares = np.atleast_1d(np.asarray(self.shares(node)))
        row = int(np.argmin(shares))
        one = Outside(
            memory_bytes=float(np.atleast_1d(np.asarray(self.memory_bytes))[row]),
            nvme_bytes=float(np.broadcast_to(np.asarray(self.nvme_bytes), shares.shape)[row]),
            nodes=float(np.atleast_1d(np.asarray(self.nodes))[row]),
        )
        return one if other is None or shares[row] < float(np.asarray(other.shares(node))) else other


def outside_of(
    shape: Shape, layouts: Layouts, upkeep: Upkeep, *, layer: LayerBytes, node: NodeType, reliability: Reliability
) -> Outside:
    """Return what the host of each layout's nodes has to hold.

    Args:
        shape: the model.
        layouts: the layouts.
        upkeep: optimizer, and what is offloaded.
        layer: what one layer keeps of one micro-batch.
        node: the node type.
        reliability: for the copies of checkpoints.
    """
    each = outside_bytes(shape, layouts, upkeep, layer=layer)
    nodes = np.asarray(layouts.tp * layouts.cp * layouts.pp * layouts.dp) / node.gpus
    copies = checkpoints.host_bytes_per_node(reliability, nodes=nodes)
    return Outside(memory_bytes=node.gpus * each.memory() + copies, nvme_bytes=node.gpus * each.nvme, nodes=nodes)


def too_small(job: TrainingJob, node: NodeType, nearest: Outside) -> Finding:
    """Return `MEM002` (host memory) or `MEM003` (local drives): what the nearest layout needs, and what would help."""
    host = node.host
    usable = None if host.memory_bytes is None else USABLE_SHARE * host.memory_bytes
    memory, drives = float(np.asarray(nearest.memory_bytes)), float(np.asarray(nearest.nvme_bytes))
    if usable is None or memory <= usable:
        return Finding(
            id="MEM003",
            path=_PATH,
            message=(
                f"{job.model.name} does not fit on the drives of {node.id}: offloading leaves at least "
                f"{text(drives, BYTES)} to each of {float(np.asarray(nearest.nodes)):.0f} nodes, whose drives hold "
                f"{text(host.nvme_bytes or 0.0, BYTES)}"
            ),
            help="allow more nodes, offload less, or choose nodes with larger drives",
        )
    other = ", offload to nvme" if job.offload is not None and not job.offload.nvme and host.nvme_bytes else ""
    return Finding(
        id="MEM002",
        path=_PATH,
        message=(
            f"{job.model.name} does not fit into the host memory of {node.id}: offloading leaves at least "
            f"{text(memory, BYTES)} to each of {float(np.asarray(nearest.nodes)):.0f} nodes, copies of checkpoints "
            f"included; {percent(USABLE_SHARE)} of {text(host.memory_bytes or 0.0, BYTES)} can be used"
        ),
        help=f"allow more nodes, offload less{other}, or choose nodes with more host memory",
    )
