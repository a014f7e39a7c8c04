"""The netlist of a fabric: every cable at both ends, in the syntax of ibnetdiscover, and as a graph."""

import re

from clusterwright.facility.cabling.links import compute_links
from clusterwright.facility.cabling.netlist import Netlist, netlist
from clusterwright.facility.fabric.size import size_fabric


def of(nodes: int, management_ports: int = 0) -> Netlist:
    """Return the netlist of nodes with 8 rails on switches of 64 ports."""
    fabric = size_fabric(nodes=nodes, rails=8, radix=64, management_ports=management_ports)
    hosts = [f"node{number + 1:03d}" for number in range(nodes)]
    return netlist(links=compute_links(fabric=fabric, family="ndr", hosts=hosts, managers=["ufm-1"]), radix=64)


def test_every_cable_stands_at_both_ends() -> None:
    """Each port line is mirrored by the line of the port that it names."""
    text = of(32).text()
    seen, own = set(), ""
    for line in text.splitlines():
        head = re.match(r'(?:Ca|Switch)\t\d+ "([HS]-[0-9a-f]{16})"', line)
        if head:
            own = head[1]
        port = re.match(r'\[(\d+)\]\t"([HS]-[0-9a-f]{16})"\[(\d+)\]', line)
        if port:
            seen.add((own, int(port[1]), port[2], int(port[3])))
    assert len(seen) == 2 * 512
    assert {(there, far, here, near) for here, near, there, far in seen} == seen


def test_the_subnet_manager_starts_at_its_own_port() -> None:
    """The first record is where the subnet manager runs: a manager's port where there is one."""
    assert '"ufm-1 1"' in of(31, management_ports=4).text().splitlines()[1]
    assert '"node001 1"' in of(32).text().splitlines()[1]


def test_guids_are_unique() -> None:
    """No switch, adapter or port of an adapter shares its number."""
    plan = of(127, management_ports=4)
    guids = [switch.guid for switch in plan.switches]
    guids += [guid for adapter in plan.adapters for guid in (adapter.guid, adapter.port_guid)]
    assert len(set(guids)) == len(guids) == 48 + 2 * 1020


def test_the_graph_has_one_edge_per_pair_of_devices() -> None:
    """A node has an edge to each of 8 leaves; a leaf one to each of 4 spines, which says that 8 cables are in it."""
    graph = of(32).dot()
    assert graph.count("--") == 32 * 8 + 8 * 4
    assert '"leaf-01-1" -- "spine-001" [label="8"];' in graph
