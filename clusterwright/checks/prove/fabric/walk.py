"""Follows the subnet manager's tables from every leaf to every port, as packets would go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.checks.prove.fabric.subnet_manager import Routes
from clusterwright.facility.cabling.netlist import Netlist

#: Switches on the longest way of a three-level tree: up two levels and down two.
LONGEST_WAY = 5
_LOST = -1

Integers = npt.NDArray[np.int64]
#: A fabric of 64,000 LIDs has fewer than 2**31 links.
Links = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wiring:
    """The netlist as arrays; switches and adapters count from 0 in the netlist's order.

    Attributes:
        next_switch: (switches, ports + 1) the switch behind a port, -1 if none; next_adapter: likewise.
        table: (switches, adapters) port towards an adapter, 0 or -1 where there is none.
        home: switch that each adapter hangs on; level: of each switch, 0 for those with adapters, else one above the
            lowest switch below it.
    """

    next_switch: Integers
    next_adapter: Integers
    table: Integers
    home: Integers
    level: Integers


def wiring(netlist: Netlist, routes: Routes) -> Wiring:
    """Return a routed netlist as arrays.

    Args:
        netlist: the plan.
        routes: the subnet manager's tables.
    """
    switch_at = {switch.guid: index for index, switch in enumerate(netlist.switches)}
    adapter_at = {adapter.guid: index for index, adapter in enumerate(netlist.adapters)}
    shape = (len(netlist.switches), netlist.radix + 1)
    next_switch, next_adapter = np.full(shape, _LOST), np.full(shape, _LOST)
    home = np.full(len(netlist.adapters), _LOST)
    for wire in netlist.wires:
        for guid, port, other in (
            (wire.a_guid, wire.a_port, wire.b_guid),
            (wire.b_guid, wire.b_port, wire.a_guid),
        ):
            if guid not in switch_at:
                continue
            here = switch_at[guid]
            if other in switch_at:
                next_switch[here, port] = switch_at[other]
            else:
                next_adapter[here, port] = adapter_at[other]
                home[adapter_at[other]] = here
    lids = np.array([routes.lid_of.get(adapter.port_guid, 0) for adapter in netlist.adapters], dtype=np.int64)
    table = np.full((len(netlist.switches), len(netlist.adapters)), _LOST)
    for switch in netlist.switches:
        ports = routes.out_port.get(switch.guid)
        if ports is not None:
            table[switch_at[switch.guid]] = np.where(lids > 0, ports[np.minimum(lids, len(ports) - 1)], _LOST)
    return Wiring(
        next_switch=next_switch, next_adapter=next_adapter, table=table, home=home, level=_levels(next_switch, home)
    )


def _levels(next_switch: Integers, home: Integers) -> Integers:
    """Return the level of every switch by breadth-first search from the leaves; -1 for one that nothing reaches."""
    level = np.full(next_switch.shape[0], _LOST)
    front = np.unique(home[home >= 0])
    level[front] = 0
    depth = 0
    while front.size:
        depth += 1
        behind = np.unique(next_switch[front])
        front = behind[(behind >= 0) & (level[behind] == _LOST)]
        level[front] = depth
    return level


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """The ways from one leaf to every adapter.

    Attributes:
        switches: (adapters) switches on the way, the leaf among them; 0 where the way is lost.
        turns: (adapters) whether the way goes up again after it went down: such ways can deadlock.
        links: (LONGEST_WAY, adapters) number of the link (switch * (ports + 1) + port) taken at each switch, -1 after
            the end.
    """

    switches: Integers
    turns: npt.NDArray[np.bool_]
    links: Links


def walk(net: Wiring, leaf: int) -> Walk:
    """Follow the tables from one leaf to every adapter.

    Args:
        net: the fabric.
        leaf: index of the switch to start from.
    """
    ports = net.next_switch.shape[1]
    adapters = np.arange(net.table.shape[1])
    at = np.full(adapters.size, leaf)
    arrived = np.zeros(adapters.size, dtype=bool)
    went_down = np.zeros(adapters.size, dtype=bool)
    turns = np.zeros(adapters.size, dtype=bool)
    switches = np.zeros(adapters.size, dtype=np.int64)
    links = np.full((LONGEST_WAY, adapters.size), _LOST, dtype=np.int32)
    moving = np.ones(adapters.size, dtype=bool)
    for hop in range(LONGEST_WAY):
        port = np.where(moving, net.table[at, adapters], 0)
        moving &= port > 0
        links[hop] = np.where(moving, at * ports + port, _LOST)
        switches += moving
        there = net.next_adapter[at, port]
        arrived |= moving & (there == adapters)
        behind = net.next_switch[at, port]
        moving &= behind >= 0
        rises = moving & (net.level[behind] > net.level[at])
        turns |= rises & went_down
        went_down |= moving & ~rises
        at = np.where(moving, behind, at)
    return Walk(switches=np.where(arrived, switches, 0), turns=turns, links=links)


def stacked(walks: Sequence[Walk]) -> Links:
    """Return the links of all walks, (leaves, LONGEST_WAY, adapters), for `load_of`: 380 MB with 24,576 adapters."""
    return np.stack([one.links for one in walks])


def load_of(ways: Links, home_index: Integers, sources: Integers, destinations: Integers, links: int) -> int:
    """Return how many of the flows source -> destination share the busiest link between switches or to an adapter.

    Args:
        ways: of every leaf.
        home_index: for each adapter the index of its leaf's walk.
        sources: adapters that send.
        destinations: adapters that they send to, pair by pair.
        links: number of links there can be.
    """
    taken = ways[home_index[sources], :, destinations]
    counted = np.bincount(taken[taken >= 0], minlength=links)
    return int(counted.max(initial=0))
