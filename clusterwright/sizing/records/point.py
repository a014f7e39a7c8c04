"""One cluster size of a workload of any kind; each kind adds a record of its own with what it knows of its work."""

from dataclasses import dataclass

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.records.run import StorageNeed


class WithDividedNodes:
    """Counts of a cluster of which some nodes, those with divided or shared GPUs, do none of the planned work."""

    __slots__ = ()
    nodes: int
    gpus: int
    divided_nodes: int

    @property
    def work_nodes(self) -> int:
        """Nodes of the work, with its spares."""
        return self.nodes - self.divided_nodes

    @property
    def work_gpus(self) -> int:
        """Accelerators of the nodes of the work; all nodes have as many."""
        return self.gpus // self.nodes * self.work_nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedPoint(WithDividedNodes):
    """A cluster size as billing, design and decision take it.

    Attributes:
        calendar_days, calendar_days_low, calendar_days_high: of one unit of work: P50, P10 and the quantile of the
            goal's confidence.
        nodes, gpus: of the cluster, with those beside the work.
        divided_nodes: of them, nodes with divided or shared GPUs; the work is on the others.
        limited_by: the largest parts of that time beyond computation, in words.
        fastest: the same size done the fastest way, where another one is taken; sizes are compared by it.
    """

    node: NodeType
    nodes: int
    gpus: int
    storage: StorageNeed
    calendar_days: float
    calendar_days_low: float
    calendar_days_high: float
    limited_by: tuple[str, ...]
    fastest: "SizedPoint | None" = None
    divided_nodes: int = 0

    @property
    def compared(self) -> "SizedPoint":
        """The size as it is compared with others: done the fastest way."""
        return self.fastest or self
