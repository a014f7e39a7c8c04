"""A fat-tree in counts, and which node hangs on which leaf."""

from dataclasses import dataclass
from math import ceil

#: How many leaves and cables of the last scalable unit are bought: all of them, or those that the nodes need.
FULL_UNITS = "full-units"
AS_NEEDED = "as-needed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fabric:
    """A compute fabric in counts.

    Attributes:
        nodes, rails: end systems, and leaves that each hangs on; links_per_rail: its links to each of them, more than
            one in a plain fat-tree; management_ports: subnet manager ports on leaves.
        radix: ports per switch; levels: 1, 2 or 3.
        units, nodes_per_unit, leaf_per_unit: scalable units bought.
        uplinks_per_leaf: towards the spines, in equal trunks.
        groups, leaf_per_group, spine_per_group: sets of leaves that share spines (one set unless there are 3 levels).
        uplinks_per_spine: towards the core.
        leaf, spine, core: switches per level.
        node_leaf_cables: links of nodes and of management ports; leaf_spine_cables, spine_core_cables: trunk links.
        ports_per_switch_cage, ports_per_node_cage: links that share one transceiver.
        switch_optics, node_optics: transceivers if every link is optical; management transceivers are apart.
        leaf_ports_used, spine_ports_used, core_ports_used: of all switches of the level.
        purchase: `full-units` or `as-needed`, the rule that the counts follow.
    """

    nodes: int
    rails: int
    links_per_rail: int
    management_ports: int
    radix: int
    levels: int
    units: int
    nodes_per_unit: int
    leaf_per_unit: int
    uplinks_per_leaf: int
    groups: int
    leaf_per_group: int
    spine_per_group: int
    uplinks_per_spine: int
    leaf: int
    spine: int
    core: int
    node_leaf_cables: int
    leaf_spine_cables: int
    spine_core_cables: int
    ports_per_switch_cage: int
    ports_per_node_cage: int
    switch_optics: int
    node_optics: int
    leaf_ports_used: int
    spine_ports_used: int
    core_ports_used: int
    purchase: str

    @property
    def switches(self) -> int:
        """All switches."""
        return self.leaf + self.spine + self.core

    @property
    def ports_free(self) -> int:
        """Switch ports without a cable, over all levels."""
        used = self.leaf_ports_used + self.spine_ports_used + self.core_ports_used
        return self.switches * self.radix - used

    @property
    def leaf_ports_free(self) -> int:
        """Leaf ports without a cable, over all leaves."""
        return self.leaf * self.radix - self.leaf_ports_used

    @property
    def ports_per_node(self) -> int:
        """Links of one end system."""
        return self.rails * self.links_per_rail

    @property
    def places(self) -> int:
        """End systems that switches were bought for: those of the units, or of the ports of a switch that is alone."""
        return self.radix // self.ports_per_node if self.levels == 1 else self.units * self.nodes_per_unit

    @property
    def nodes_that_fit(self) -> int:
        """End systems that leaf ports are left for beside the subnet managers, whose own may be places of nodes."""
        if self.levels == 1:
            return (self.radix - self.management_ports) // self.ports_per_node
        spare = self.radix - self.uplinks_per_leaf - self.ports_per_leaf
        taken = max(0, ceil(self.management_ports / self.rails) - spare)
        return self.places - ceil(taken / self.links_per_rail)

    def unit_nodes(self) -> tuple[range, ...]:
        """Return the nodes (from 0) of each unit; Slurm's topology has one block of leaves for each."""
        starts = range(0, self.nodes, self.nodes_per_unit)
        return tuple(range(start, min(start + self.nodes_per_unit, self.nodes)) for start in starts)

    def down_ports(self, leaf: int) -> int:
        """Return how many downlinks of a leaf (from 0) are cabled to nodes and subnet managers.

        Leaves count unit by unit, rail by rail. Subnet managers take the ports behind the last unit's nodes, one rail
        after the other.
        """
        if self.levels == 1:
            return self.nodes * self.ports_per_node + self.management_ports
        block, rail = divmod(leaf, self.rails)
        nodes = max(0, min(self.nodes_per_leaf, self.nodes - block * self.nodes_per_leaf))
        if block != self.management_block:
            return nodes * self.links_per_rail
        return nodes * self.links_per_rail + len(range(rail, self.management_ports, self.rails))

    @property
    def nodes_per_leaf(self) -> int:
        """Nodes that hang on one leaf: those of a unit, unless the unit has several leaves per rail."""
        return self.nodes_per_unit * self.rails // self.leaf_per_unit

    @property
    def ports_per_leaf(self) -> int:
        """Downlinks of a leaf whose places for nodes are all taken."""
        return self.nodes_per_leaf * self.links_per_rail

    @property
    def management_block(self) -> int:
        """The set of rail leaves (from 0) whose free ports the subnet managers take: the last with nodes and room."""
        ports_per_rail = ceil(self.management_ports / self.rails)
        used = self.nodes * self.links_per_rail + ports_per_rail - 1
        last = used // self.ports_per_leaf
        return min(last, self.leaf // self.rails - 1)

    def leaf_of(self, node: int, rail: int) -> int:
        """Return the leaf (from 0) of a node's port (both from 0): the leaf of its rail in its unit."""
        return 0 if self.levels == 1 else node // self.nodes_per_leaf * self.rails + rail

    def group_of(self, leaf: int) -> int:
        """Return the group (from 0) whose spines a leaf connects to. Groups count rail by rail."""
        if self.levels != 3:  # noqa: PLR2004 - levels of the tree
            return 0
        block, rail = divmod(leaf, self.rails)
        return rail * (self.groups // self.rails) + block // self.leaf_per_group
