"""Groups of nodes by the switches between them: what a scheduler has to know to keep a job together.

Counted on one rail, which is the way that collectives take: nodes of one leaf are one switch apart, nodes of leaves
that share spines three, all others five.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.facility.fabric.counts import Fabric

#: Switches on the way between two nodes of a rail that first meet at a leaf, a spine or a core.
BY_LEAF, BY_SPINE, BY_CORE = 1, 3, 5


@dataclass(frozen=True, kw_only=True, slots=True)
class HopGroup:
    """Nodes that are no further apart than a number of switches.

    Attributes:
        name: such as `su1`, `nvl001`, `spine`.
        switches: between two of its nodes on one rail, at most.
        nodes: end systems, from 0, of a group of one leaf per rail; empty above.
        members: names of the groups that it consists of; empty for a group of one leaf per rail.
    """

    name: str
    switches: int
    nodes: range = range(0)
    members: tuple[str, ...] = ()


def hop_groups(fabric: Fabric, *, hosts_per_node: int = 1) -> tuple[HopGroup, ...]:
    """Return the groups of a fabric that have nodes, leaves first and the one that holds all nodes last.

    A leaf group is a scalable unit, or, of whole racks, the NVLink domain of a rack, whose trays have leaves of their
    own. Leaves that share spines form groups of their own where there are several such sets.

    Args:
        fabric: counts.
        hosts_per_node: 1, or the compute trays of a rack.
    """
    leaves = tuple(_leaf_groups(fabric, hosts_per_node=hosts_per_node))
    names = tuple(leaf.name for leaf in leaves)
    if len(leaves) == 1:
        return leaves
    if fabric.levels == 1:
        return (*leaves, HopGroup(name="leaf", switches=BY_LEAF, members=names))
    if fabric.levels == 2 or fabric.groups == fabric.rails:  # noqa: PLR2004 - levels of the tree
        return (*leaves, HopGroup(name="spine", switches=BY_SPINE, members=names))
    if fabric.leaf_per_group == 1:
        # Leaves that share their spines with no other leaf of the rail meet at the core.
        return (*leaves, HopGroup(name="core", switches=BY_CORE, members=names))
    prefix, each = ("su" if hosts_per_node > 1 else "spine"), fabric.leaf_per_group
    spines = tuple(
        HopGroup(name=f"{prefix}{number}", switches=BY_SPINE, members=names[start : start + each])
        for number, start in enumerate(range(0, len(names), each), start=1)
    )
    if len(spines) == 1:
        return (*leaves, *spines)
    return (*leaves, *spines, HopGroup(name="core", switches=BY_CORE, members=tuple(group.name for group in spines)))


def _leaf_groups(fabric: Fabric, *, hosts_per_node: int) -> Iterator[HopGroup]:
    each = fabric.nodes if fabric.levels == 1 else fabric.nodes_per_leaf
    name = "su{}"
    if hosts_per_node > 1:
        each, name = hosts_per_node, "nvl{:03d}"
    for number, start in enumerate(range(0, fabric.nodes, each), start=1):
        nodes = range(start, min(start + each, fabric.nodes))
        yield HopGroup(name=name.format(number), switches=BY_LEAF, nodes=nodes)
