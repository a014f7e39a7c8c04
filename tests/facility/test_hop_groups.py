"""Groups of nodes for the scheduler, against ways through the planned cables."""

from collections import deque
from itertools import combinations

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.facility.cabling.links import compute_links, compute_names
from clusterwright.facility.fabric.counts import AS_NEEDED, Fabric
from clusterwright.facility.fabric.hop_groups import HopGroup, hop_groups
from clusterwright.facility.fabric.size import PER_UNIT, size_fabric
from clusterwright.facility.fabric.system import fabric_of_system


def _switches_between(fabric: Fabric) -> dict[tuple[str, str], int]:
    """Return the switches on the shortest way between every two leaves, both counted, over the planned trunks."""
    hosts = [f"n{node}" for node in range(fabric.nodes)]
    below: dict[str, set[str]] = {}
    for link in compute_links(fabric=fabric, family="ndr", hosts=hosts, managers=["m1", "m2"]):
        if link.tier in {"leaf-spine", "spine-core"}:
            below.setdefault(link.a.device, set()).add(link.b.device)
            below.setdefault(link.b.device, set()).add(link.a.device)
    leaves = [compute_names(fabric).leaf(leaf) for leaf in range(fabric.leaf)]
    ways = {}
    for start in leaves:
        reached, queue = {start: 1}, deque([start])
        while queue:
            here = queue.popleft()
            for other in below.get(here, ()):
                if other not in reached:
                    reached[other] = reached[here] + 1
                    queue.append(other)
        ways |= {(start, leaf): reached[leaf] for leaf in leaves}
    return ways


def _nodes(group: HopGroup, groups: dict[str, HopGroup]) -> list[int]:
    return [*group.nodes, *(node for member in group.members for node in _nodes(groups[member], groups))]


def _gb200(units: int) -> Fabric:
    catalogue = load()
    return fabric_of_system(
        system=lookup.system(catalogue, "gb200-nvl72"), switch=lookup.switch(catalogue, "qm9700"), units=units
    ).fabric


@pytest.mark.parametrize(
    ("fabric", "hosts", "names"),
    [
        (size_fabric(nodes=3, rails=2, radix=8, purchase=AS_NEEDED), 1, {"su1": 1}),
        (size_fabric(nodes=4, rails=2, radix=8), 1, {"su1": 1}),
        (size_fabric(nodes=15, rails=2, radix=8), 1, {"su1": 1, "su4": 1, "spine": 3}),
        (size_fabric(nodes=18, rails=2, radix=8, rail_groups="all-units"), 1, {"su5": 1, "spine2": 3, "core": 5}),
        (size_fabric(nodes=12, rails=2, radix=8, rail_groups=PER_UNIT), 1, {"su1": 1, "su3": 1, "core": 5}),
        (size_fabric(nodes=40, rails=2, radix=8), 1, {"su1": 1, "su10": 1, "spine1": 3, "core": 5}),
        (_gb200(1), 18, {"nvl001": 1, "nvl008": 1, "spine": 3}),
        (_gb200(2), 18, {"nvl001": 1, "nvl016": 1, "su1": 3, "su2": 3, "core": 5}),
    ],
)
def test_nodes_of_a_group_are_as_far_apart_as_it_says(fabric: Fabric, hosts: int, names: dict[str, int]) -> None:
    """The farthest two nodes of every group, on one rail, have as many switches between them as the group says."""
    listed = hop_groups(fabric, hosts_per_node=hosts)
    groups = {group.name: group for group in listed}
    assert {name: groups[name].switches for name in names} == names
    assert sorted(_nodes(listed[-1], groups)) == list(range(fabric.nodes))
    ways, leaf = _switches_between(fabric), compute_names(fabric).leaf
    for group in listed:
        nodes = _nodes(group, groups)
        # The first node of every leaf stands for the others below it.
        heads = [nodes[0], nodes[-1], *(node for node in nodes if node % max(1, fabric.nodes_per_leaf) == 0)]
        farthest = max(
            (
                ways[leaf(fabric.leaf_of(a, rail)), leaf(fabric.leaf_of(b, rail))]
                for rail in range(fabric.rails)
                for a, b in combinations(sorted(set(heads)), 2)
            ),
            default=1,
        )
        # The last group of a level may have one leaf only.
        assert farthest == (group.switches if len(group.members) > 1 else 1), group.name


def test_a_whole_rack_is_a_group_of_its_own() -> None:
    """16 GB200 NVL72 are 16 NVLink domains of 18 trays, 8 in each of two units; no group of 144 is one switch apart."""
    listed = hop_groups(_gb200(2), hosts_per_node=18)
    assert [(group.name, len(group.nodes)) for group in listed[:16]] == [(f"nvl{n:03d}", 18) for n in range(1, 17)]
    assert [(group.name, len(group.members), group.switches) for group in listed[16:]] == [
        ("su1", 8, 3),
        ("su2", 8, 3),
        ("core", 2, 5),
    ]
