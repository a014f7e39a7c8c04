"""Planned fabrics routed by the real OpenSM in a simulator: sound ones are proven, and every planted fault is found."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.checks.prove.fabric.proof import Proof, prove
from clusterwright.checks.prove.fabric.subnet_manager import missing_engine
from clusterwright.errors import InputError
from clusterwright.facility.cabling.links import End, Link, compute_links, compute_names
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.facility.fabric.system import fabric_of_system

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _engines(require_engine: Callable[..., None]) -> None:
    require_engine(working=not missing_engine(), reason=missing_engine())


def fabric_of(nodes: int, *, management_ports: int = 0, **more: int | str) -> Fabric:
    """Size a fabric of nodes with 8 ports on switches with 64, unless said otherwise."""
    return size_fabric(nodes=nodes, management_ports=management_ports, **{"rails": 8, "radix": 64, **more})  # type: ignore[arg-type]


def links_of(fabric: Fabric) -> list[Link]:
    """Return the cables of a fabric's plan."""
    hosts = [f"node{number + 1:04d}" for number in range(fabric.nodes)]
    return list(compute_links(fabric=fabric, family="ndr", hosts=hosts, managers=["ufm-1", "ufm-2"]))


def proven(fabric: Fabric, links: list[Link] | None = None) -> Proof:
    """Prove a fabric, with other cables than planned if they are given."""
    return prove(fabric=fabric, links=links_of(fabric) if links is None else links, names=compute_names(fabric))


@pytest.mark.parametrize(
    ("nodes", "switches", "ways", "up", "down"),
    [
        # Ordered pairs of ports by switches on the way: 8 leaves of 32 ports, 8 x 32 x 31 in one leaf.
        (32, 12, ((1, 7_936), (3, 57_344)), (7, 7), (4, 4)),
        (128, 48, ((1, 31_744), (3, 1_015_808)), (31, 31), (16, 16)),
    ],
)
def test_a_full_superpod_is_proven(
    nodes: int, switches: int, ways: tuple[tuple[int, int], ...], up: tuple[int, int], down: tuple[int, int]
) -> None:
    """One and four scalable units: one switch within a rail's leaf, three beyond, every link used alike, no sharing."""
    proof = proven(fabric_of(nodes))
    assert proof.findings == ()
    assert proof.switches == switches
    assert proof.pairs_by_switches == ways
    assert (proof.destinations_per_uplink, proof.destinations_per_downlink) == (up, down)
    assert proof.busiest_link == 1
    assert (proof.busiest_of_all, proof.endpoint_shifts > 9) == (1, True)


def test_a_superpod_with_fabric_managers_is_proven() -> None:
    """127 nodes and 4 ports of subnet managers: one leaf position is missing, so a shift may share a link once."""
    proof = proven(fabric_of(127, management_ports=4, units=4))
    assert proof.findings == ()
    assert proof.adapters == 127 * 8 + 4
    assert proof.busiest_link == 2


def test_three_levels_are_proven() -> None:
    """DGX A100 on 40-port switches, 7 units of 20 nodes, in rail groups of three levels: at most five switches."""
    proof = proven(fabric_of(140, radix=40, nodes_per_unit=20, uplinks=20))
    assert proof.findings == ()
    assert [length for length, _ in proof.pairs_by_switches] == [1, 3, 5]
    assert proof.busiest_link == 1


@pytest.mark.parametrize("plane", [Plane(number=0, count=2, split="rails"), Plane(number=1, count=2, split="rails")])
def test_each_plane_is_proven(plane: Plane) -> None:
    """Four rails of 32 nodes are a subnet of their own, whichever ports of the nodes they are."""
    fabric = fabric_of(32, rails=4)
    hosts = [f"node{number + 1:04d}" for number in range(32)]
    links = list(compute_links(fabric=fabric, family="ndr", hosts=hosts, managers=["ufm-1"], plane=plane))
    proof = prove(fabric=fabric, links=links, names=compute_names(fabric, plane))
    assert (proof.findings, proof.switches, proof.busiest_link) == ((), 6, 1)
    one, other = index_of(links, "node-leaf", "node0001", 0), index_of(links, "node-leaf", "node0001", 1)
    crossed = prove(fabric=fabric, links=swapped(links, one, other), names=compute_names(fabric, plane))
    assert {finding.id for finding in crossed.findings} == {"FAB005"}


@pytest.mark.parametrize(
    "fabric",
    [
        # A plain fat-tree: all eight ports of a node on one leaf.
        size_fabric(nodes=16, rails=1, links_per_rail=8, radix=64),
        # 2:1 with 22 uplinks over 11 spines, and 1.5:1 with leaves that wait for growth.
        size_fabric(nodes=168, rails=8, radix=64, leaf_oversubscription=2.0, units=4),
        size_fabric(nodes=100, rails=8, radix=64, leaf_oversubscription=1.5, units=4, management_ports=4),
        # 8 racks of 18 trays with a leaf per rack and rail, in rail groups of their unit.
        size_fabric(
            nodes=144, rails=4, radix=64, nodes_per_unit=144, leaf_per_unit=32, uplinks=18, rail_groups="per-unit"
        ),
    ],
    ids=["plain", "two-to-one", "growth", "racks"],
)
def test_other_trees_are_proven(fabric: Fabric) -> None:
    """What is no full rail-optimised SuperPOD is routed and holds too."""
    assert proven(fabric).findings == ()


def test_a_trunk_on_the_wrong_spine_is_found_at_two_to_one() -> None:
    """The allowance for uneven shares does not hide two trunk cables that changed places."""
    fabric = size_fabric(nodes=168, rails=8, radix=64, leaf_oversubscription=2.0, units=4)
    links = links_of(fabric)
    changed = list(links)
    # Leaf 1's first trunk goes to the second spine, the second's to the first, at another leaf's ports.
    for number in (0, 1):
        one, other = (
            index_of(links, "leaf-spine", "leaf-01-1", number),
            index_of(links, "leaf-spine", "leaf-01-2", number + 2),
        )
        changed = swapped(changed, one, other)
    assert "FAB006" in {finding.id for finding in proven(fabric, changed).findings}


def test_a_single_switch_is_proven() -> None:
    """Eight nodes on one switch are one switch apart."""
    proof = proven(fabric_of(8, purchase="as-needed"))
    assert (proof.findings, proof.pairs_by_switches) == ((), ((1, 64 * 63),))


def swapped(links: list[Link], first: int, second: int) -> list[Link]:
    """Return the links with the far ends of two exchanged."""
    changed = list(links)
    changed[first] = replace(links[first], b=links[second].b)
    changed[second] = replace(links[second], b=links[first].b)
    return changed


def index_of(links: list[Link], tier: str, device: str, number: int = 0) -> int:
    """Return the place of a device's n-th link of a tier, counted at its lower end."""
    return [index for index, link in enumerate(links) if link.tier == tier and link.a.device == device][number]


def test_two_swapped_rail_cables_are_found() -> None:
    """A node with two rails crossed works, one hop further than planned: nothing but the rails tells."""
    fabric = fabric_of(32)
    links = links_of(fabric)
    one, other = index_of(links, "node-leaf", "node0001", 0), index_of(links, "node-leaf", "node0001", 1)
    assert {finding.id for finding in proven(fabric, swapped(links, one, other)).findings} == {"FAB005"}


@pytest.mark.parametrize("missing", [1, 8])
def test_missing_trunk_cables_are_found(missing: int) -> None:
    """OpenSM routes around them and says nothing; counts and shares do not come out."""
    fabric = fabric_of(32)
    links = links_of(fabric)
    gone = {index_of(links, "leaf-spine", "leaf-01-3", number) for number in range(missing)}
    found = {finding.id for finding in proven(fabric, [one for i, one in enumerate(links) if i not in gone]).findings}
    assert {"FAB002", "FAB006"} <= found


def test_trunks_to_the_wrong_spine_are_found() -> None:
    """Four cables of two leaves go to each other's spine: as many cables as planned, unevenly spread."""
    fabric = fabric_of(32)
    links = links_of(fabric)
    for number in range(4):
        one = index_of(links, "leaf-spine", "leaf-01-1", number)
        other = index_of(links, "leaf-spine", "leaf-01-2", 31 - number)
        links = swapped(links, one, other)
    assert "FAB006" in {finding.id for finding in proven(fabric, links).findings}


def test_a_cable_between_two_leaves_is_found() -> None:
    """Two uplinks joined to each other leave the spines one cable short each."""
    fabric = fabric_of(32)
    links = links_of(fabric)
    one, other = index_of(links, "leaf-spine", "leaf-01-1"), index_of(links, "leaf-spine", "leaf-01-2")
    joined = replace(links[one], b=links[other].a)
    changed = [joined if i == one else link for i, link in enumerate(links) if i != other]
    assert {finding.id for finding in proven(fabric, changed).findings} & {"FAB002", "FAB003", "FAB006"}


def test_a_leaf_without_uplinks_is_found() -> None:
    """Its nodes reach nobody else; OpenSM brings the rest up and reports success."""
    fabric = fabric_of(32)
    links = [one for one in links_of(fabric) if not (one.tier == "leaf-spine" and one.a.device == "leaf-01-5")]
    assert {"FAB001", "FAB002"} <= {finding.id for finding in proven(fabric, links).findings}


def test_a_missing_node_is_found() -> None:
    """255 of 256 ports are a subnet like any other to OpenSM."""
    fabric = fabric_of(32)
    links = links_of(fabric)
    del links[index_of(links, "node-leaf", "node0007", 3)]
    assert {"FAB001", "FAB002"} <= {finding.id for finding in proven(fabric, links).findings}


def test_more_ports_than_lids_are_refused() -> None:
    """An InfiniBand subnet has 49,151 unicast LIDs for ports and switches together."""
    fabric = fabric_of(32)
    leaf = End(device="leaf-01-1", port=0, kind="switch")
    many = [
        Link(network="compute", tier="node-leaf", family="", a=End(device=f"n{number}", port=0, kind="node"), b=leaf)
        for number in range(49_151)
    ]
    with pytest.raises(InputError, match="49,152 ports and switches"):
        proven(fabric, many)


@pytest.mark.parametrize(("nodes", "levels", "switches"), [(8, 2, 41), (16, 3, 130)])
def test_whole_racks_with_fabric_managers_are_proven(nodes: int, levels: int, switches: int) -> None:
    """One unit of GB200 NVL72 in two levels and two in three, UFM on leaf ports that no tray uses."""
    catalogue = load()
    fabric = fabric_of_system(
        system=lookup.system(catalogue, "gb200-nvl72"),
        switch=lookup.switch(catalogue, "qm9700"),
        nodes=nodes,
        management_ports=4,
    ).fabric
    proof = proven(fabric)
    assert proof.findings == ()
    assert (fabric.levels, proof.switches, proof.adapters) == (levels, switches, nodes * 72 + 4)
    assert [ways for ways, _ in proof.pairs_by_switches] == [1, 3, 5][:levels]
