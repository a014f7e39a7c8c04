"""The networks beside the compute fabric: storage (a fat-tree with two sides), in-band and out-of-band Ethernet."""

from dataclasses import dataclass
from math import ceil

from clusterwright.errors import InputError
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.facility.site import DesignRules

#: Every end system of the storage and in-band networks reaches a switch of side A and one of side B.
SIDES = 2
#: Links of 100 Gb/s to the users' network: the reference design buys 4 for 127 nodes (RA-11333-001, Table 8, "core
#: uplink"), one for 32 nodes; that larger clusters keep this ratio, up to 32 links, is assumed.
LEAST_UPLINKS, MOST_UPLINKS, HOSTS_PER_UPLINK = 4, 32, 32
#: Ports of two leaves without switches above them that the border may take; the others are for out-of-band switches.
_BORDER_PORTS_OF_LEAF = 6
#: Media that join one switch cage to two slower ports of a storage box, and how many ports a cage is split into.
SPLITTER_FAMILY = "ndr-storage"
SPLIT_PORTS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class InbandNetwork:
    """In-band Ethernet in counts.

    Attributes:
        leaf: switches of both sides; groups: sets of leaves below one pair of aggregation switches.
        aggregation: switches above the leaves; core: above those, if there is more than one group.
        host_cables: of nodes and management servers; leaf_uplinks: cables of one leaf to each aggregation switch.
        peer_cables: between the two leaves where there are no other switches.
        aggregation_uplinks: cables of one aggregation switch to each core switch.
        border: switches between the top of the network and the users' one; border_cables: of each top switch to each of
            them; uplinks: of all of them to the users' network.
    """

    leaf: int
    groups: int
    aggregation: int
    core: int
    host_cables: int
    leaf_uplinks: int
    peer_cables: int
    aggregation_uplinks: int
    border: int = 0
    border_cables: int = 0
    uplinks: int = 0

    @property
    def switches(self) -> int:
        """All in-band switches; those of the border are apart."""
        return self.leaf + self.aggregation + self.core

    @property
    def top(self) -> int:
        """Switches of the highest level, which the border hangs on."""
        return self.core or self.aggregation or self.leaf

    def oversubscription(self, hosts_per_leaf: int) -> float:
        """Return what hosts could send over what passes the top of the network: the product of its levels' ratios.

        Two leaves alone join every host directly, so nothing is shared. Worked example: 12,288 nodes hang on 514
        leaves, 12:1 each, below 44 aggregation switches, 24:1 each, so 288:1 between distant nodes.

        Args:
            hosts_per_leaf: ports of a leaf for hosts.
        """
        if not self.aggregation:
            return 1.0
        leaf = hosts_per_leaf / (SIDES * self.leaf_uplinks)
        above = self.core * self.aggregation_uplinks
        return leaf * (self.leaf_per_group * self.leaf_uplinks / above if above else 1.0)

    @property
    def leaf_per_group(self) -> int:
        """Leaves below one pair of aggregation switches."""
        return ceil(self.leaf / self.groups / SIDES) * SIDES

    @property
    def trunk_cables(self) -> int:
        """Cables between in-band switches; those to the border are apart."""
        leaf_links = self.leaf * SIDES * self.leaf_uplinks if self.aggregation else 0
        core_links = self.aggregation * self.core * self.aggregation_uplinks
        return leaf_links + self.peer_cables + core_links

    @property
    def border_links(self) -> int:
        """Cables between the top switches and the border."""
        return self.top * self.border * self.border_cables


def slots_per_node(ports: int) -> int:
    """Return the ports that a node takes on each side of a two-sided network."""
    return ceil(ports / SIDES)


def slots_per_box(ports: int, family: str) -> int:
    """Return the ports that a storage box takes on each side of the network.

    A splitter joins one switch cage of two ports to two ports of one box, so a box takes whole cages of both sides.

    >>> slots_per_box(4, "ndr-storage"), slots_per_box(2, "ndr-storage"), slots_per_box(2, "ndr")
    (2, 2, 1)

    Args:
        ports: of the box.
        family: of media that join it.
    """
    each = ceil(ports / SIDES)
    return ceil(each / SPLIT_PORTS) * SPLIT_PORTS if family == SPLITTER_FAMILY else each


def size_storage_network(
    *, nodes: int, node_ports: int, box_slots: int, radix: int, cage: int, rules: DesignRules, infiniband: bool = True
) -> Fabric:
    """Size the storage network: a fat-tree whose two rails are the sides A and B.

    With 28 of 64 ports as uplinks the node side is oversubscribed 9:7, below the 4:3 of NVIDIA's reference. Worked
    example: 127 nodes with 2 ports need 8 leaves and 4 spines, as the DGX B200 SuperPOD's figure for 4 units shows.

    Args:
        nodes: with `node_ports` storage ports each.
        node_ports: per node.
        box_slots: ports that all storage boxes take on each side.
        radix: ports per switch.
        cage: ports per transceiver of a switch.
        rules: uplink share, management servers and fabric managers, which have ports here too.
        infiniband: or Ethernet, which has no LIDs.
    """
    slots = box_slots + nodes * slots_per_node(node_ports) + ceil(rules.servers_for(nodes) / SIDES)
    slots += rules.ufm_ports_per_fabric // SIDES
    uplinks = round(radix * rules.storage_uplinks_share)
    return size_fabric(
        nodes=slots, rails=SIDES, radix=radix, uplinks=uplinks, ports_per_switch_cage=cage, infiniband=infiniband
    )


def size_inband_network(*, nodes: int, node_ports: int, rules: DesignRules) -> InbandNetwork:
    """Size the in-band network.

    Leaves come in pairs with at most 48 hosts each; two leaves are joined directly, more hang with two cables on each
    of two aggregation switches. Worked example: 127 nodes and 4 servers need 6 leaves, 2 aggregation switches and 24
    cables between them, which is the 8 switches and 24 leaf–core cables of RA-11333-001, Tables 7 and 8.

    Args:
        nodes: with `node_ports` ports each.
        node_ports: per node.
        rules: hosts per leaf, ports per switch, management servers (two ports each), uplinks to the users' network.

    Raises:
        InputError: more leaves than three tiers of these switches can join, or more uplinks than ports are free for.
    """
    uplinks = uplinks_of(nodes, rules.network.uplinks)
    border, border_cables = (SIDES, ceil(uplinks / SIDES / SIDES)) if uplinks else (0, 0)
    border_ports = border * border_cables
    servers = rules.servers_for(nodes)
    slots = nodes * slots_per_node(node_ports) + servers
    leaf = SIDES * ceil(slots / rules.inband_hosts_per_leaf)
    host_cables = nodes * node_ports + servers * SIDES
    ports = rules.inband_leaf_ports
    leaf_uplinks = rules.network.leaf_uplinks
    if leaf == SIDES:
        if border_ports > _BORDER_PORTS_OF_LEAF:
            raise InputError(
                f"{uplinks} links to the users' network take {border_ports} ports of each in-band leaf, "
                f"{_BORDER_PORTS_OF_LEAF} are free",
                help=f"set site.network.uplinks to {_BORDER_PORTS_OF_LEAF * SIDES} or less",
            )
        return InbandNetwork(
            leaf=leaf,
            groups=1,
            aggregation=0,
            core=0,
            host_cables=host_cables,
            leaf_uplinks=0,
            peer_cables=2,
            aggregation_uplinks=0,
            border=border,
            border_cables=border_cables,
            uplinks=uplinks,
        )
    if leaf * leaf_uplinks + border_ports <= ports:
        groups, aggregation_uplinks = 1, 0
    else:
        # Three quarters of an aggregation switch face leaves, the rest the two core switches.
        groups = ceil(leaf / (ports * 3 // 4 // leaf_uplinks // SIDES * SIDES))
        aggregation_uplinks = min(ports // 8, (ports - border_ports) // (SIDES * groups))
    if groups > 1 and not aggregation_uplinks:
        raise InputError(
            f"{leaf} in-band leaf switches exceed three tiers of {ports}-port switches", help="split the cluster in two"
        )
    return InbandNetwork(
        leaf=leaf,
        groups=groups,
        aggregation=SIDES * groups,
        core=SIDES if groups > 1 else 0,
        host_cables=host_cables,
        leaf_uplinks=leaf_uplinks,
        peer_cables=0,
        aggregation_uplinks=aggregation_uplinks,
        border=border,
        border_cables=border_cables,
        uplinks=uplinks,
    )


def uplinks_of(hosts: int, asked: int | None) -> int:
    """Return the links to the users' network: as asked, else one for 32 hosts, from 4 to 32, in pairs.

    >>> uplinks_of(127, None), uplinks_of(512, None), uplinks_of(12_288, None), uplinks_of(127, 0)
    (4, 16, 32, 0)

    Args:
        hosts: of the cluster.
        asked: what the blueprint says.
    """
    if asked is not None:
        return asked
    return min(MOST_UPLINKS, max(LEAST_UPLINKS, SIDES * ceil(hosts / HOSTS_PER_UPLINK / SIDES)))


def oob_switches(*, ports: int, rules: DesignRules) -> int:
    """Return the out-of-band switches: ceil(ports / 48), rounded up to pairs.

    Worked example: the 317 management ports of 127 DGX H100 need 7 switches; NVIDIA buys 8.

    >>> oob_switches(ports=317, rules=DesignRules())
    8

    Args:
        ports: management ports of everything that has one.
        rules: ports per switch.
    """
    return SIDES * ceil(ports / rules.oob_ports / SIDES)
