"""Planned Ethernet fabrics: sound ones hold, and what is wrong with one cable, switch or trunk is found."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.checks.prove.site.ethernet import (
    EthernetFabric,
    EthernetProof,
    distances,
    loads,
    planned,
    walk_ethernet,
)
from clusterwright.facility.cabling.links import End, Link, compute_links
from clusterwright.facility.fabric.counts import AS_NEEDED, Fabric
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.fabric.size import size_fabric

TWO_LEVELS = size_fabric(nodes=128, rails=8, radix=64)
THREE_LEVELS = size_fabric(nodes=140, rails=8, radix=40, nodes_per_unit=20, uplinks=20)


def cables(fabric: Fabric, plane: Plane | None = None) -> list[Link]:
    """Return the cables of a fabric's plan."""
    hosts = [f"node{number + 1:04d}" for number in range(fabric.nodes)]
    return list(compute_links(fabric=fabric, family="", hosts=hosts, managers=["ufm-1"], plane=plane))


def walked(fabric: Fabric, links: list[Link]) -> EthernetProof:
    """Walk a fabric with these cables."""
    return walk_ethernet(planned(links, fabric))


def at(links: list[Link], tier: str, nth: int = 0) -> int:
    """Return the place of the n-th cable of a tier."""
    return [index for index, link in enumerate(links) if link.tier == tier][nth]


def crossed(links: list[Link], one: int, other: int) -> list[Link]:
    """Return the cables with the far ends of two exchanged."""
    changed = list(links)
    changed[one], changed[other] = replace(links[one], b=links[other].b), replace(links[other], b=links[one].b)
    return changed


@pytest.mark.parametrize(
    ("fabric", "ways"),
    [
        (size_fabric(nodes=7, rails=8, radix=64, purchase=AS_NEEDED), None),
        (TWO_LEVELS, (32, 32)),
        (THREE_LEVELS, (20, 20)),
        (size_fabric(nodes=168, rails=8, radix=64, leaf_oversubscription=2.0, units=4), (22, 22)),
    ],
    ids=["one switch", "two levels", "three levels", "two to one"],
)
def test_a_sound_fabric_is_proven(fabric: Fabric, ways: tuple[int, int] | None) -> None:
    """Counts are those of the plan, and every leaf has all its uplinks as equal ways to every other one."""
    proof = walked(fabric, cables(fabric))
    assert proof.findings == ()
    assert (proof.ends, proof.switches, proof.equal_ways) == (fabric.nodes * 8, fabric.switches, ways)
    assert proof.busiest_cable <= 2.0


def test_each_plane_is_a_fabric_of_its_own() -> None:
    """Four rails of 32 nodes hold by themselves."""
    fabric = size_fabric(nodes=32, rails=4, radix=64)
    for number in range(2):
        plane = Plane(number=number, count=2, split="rails")
        assert walked(fabric, cables(fabric, plane)).findings == ()


@pytest.mark.parametrize("fabric", [TWO_LEVELS, THREE_LEVELS], ids=["two levels", "three levels"])
@pytest.mark.parametrize("tier", ["node-leaf", "leaf-spine"])
@pytest.mark.parametrize("nth", [0, -1, 77])
def test_a_missing_cable_is_found(fabric: Fabric, tier: str, nth: int) -> None:
    """The counts say so, whichever cable it is."""
    links = cables(fabric)
    del links[at(links, tier, nth)]
    assert "FAB002" in {finding.id for finding in walked(fabric, links).findings}


@pytest.mark.parametrize("fabric", [TWO_LEVELS, THREE_LEVELS], ids=["two levels", "three levels"])
@pytest.mark.parametrize(("one", "other"), [(0, 1), (3, 12), (9, 14)])
def test_two_nodes_cables_on_the_wrong_rail_are_found(fabric: Fabric, one: int, other: int) -> None:
    """Two cables of nodes that changed their leaves leave a rail."""
    links = cables(fabric)
    changed = crossed(links, at(links, "node-leaf", one), at(links, "node-leaf", other))
    assert {finding.id for finding in walked(fabric, changed).findings} == {"FAB005"}


@pytest.mark.parametrize(("one", "other"), [(0, 34), (5, 70), (31, 64)])
def test_two_trunks_on_the_wrong_spine_are_found(one: int, other: int) -> None:
    """A spine that two uplinks of a leaf do not reach is no equal way any more, or carries too much."""
    links = cables(TWO_LEVELS)
    changed = crossed(links, at(links, "leaf-spine", one), at(links, "leaf-spine", other))
    assert {finding.id for finding in walked(TWO_LEVELS, changed).findings} & {"FAB006", "FAB007"}


def test_a_cable_between_two_leaves_is_found() -> None:
    """It is one too many, and joins switches of one level."""
    links = cables(TWO_LEVELS)
    leaves = [links[at(links, "leaf-spine", number)].a.device for number in (0, 40)]
    ends = [End(device=leaf, port=63, kind="switch") for leaf in leaves]
    links.append(replace(links[at(links, "leaf-spine")], a=ends[0], b=ends[1]))
    assert {"FAB002", "FAB004"} <= {finding.id for finding in walked(TWO_LEVELS, links).findings}


def test_a_leaf_without_uplinks_is_found() -> None:
    """No other leaf reaches it, and the finding names both and where the cables are."""
    links = cables(TWO_LEVELS)
    lost = links[at(links, "leaf-spine")].a.device
    alone = [link for link in links if not (link.tier == "leaf-spine" and link.a.device == lost)]
    said = {finding.id: finding.message for finding in walked(TWO_LEVELS, alone).findings}
    assert lost in said["FAB003"]
    assert said["FAB003"].startswith("the planned cables: ")


def test_a_switch_without_a_cable_is_found() -> None:
    """All cables of a spine are missing: one switch and its cables are."""
    links = cables(TWO_LEVELS)
    lost = links[at(links, "leaf-spine")].b.device
    left = [link for link in links if link.b.device != lost]
    assert {"FAB001", "FAB002", "FAB006"} <= {finding.id for finding in walked(TWO_LEVELS, left).findings}


def shares_by_hand(fabric: EthernetFabric, leaves: list[int], flows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and loads, found one leaf and one cable after the other."""
    count, cables_ = len(fabric.switches), len(fabric.links)
    ends = [(int(a), int(b)) for a, b in fabric.links] + [(int(b), int(a)) for a, b in fabric.links]
    distance = np.full((len(leaves), count), np.inf)
    load = np.zeros((2 * cables_, flows.shape[0]))
    for number, leaf in enumerate(leaves):
        away = {leaf: 0}
        while grown := {b: away[a] + 1 for a, b in ends if a in away and b not in away}:
            away |= grown
        for switch, step in away.items():
            distance[number, switch] = step
        here = np.zeros((count, flows.shape[0]))
        for other, source in enumerate(leaves):
            here[source] = flows[:, other, number] if source != leaf else 0
        for switch in sorted(away, key=lambda one: -away[one])[:-1]:
            onward = [cable for cable, (a, b) in enumerate(ends) if a == switch and away[b] == away[a] - 1]
            for cable in onward:
                load[cable] += here[switch] / len(onward)
                here[ends[cable][1]] += here[switch] / len(onward)
    return distance, load


@pytest.mark.parametrize("fault", [None, "leaf-spine", "spine-core"])
def test_loads_are_those_that_cables_one_by_one_give(fault: str | None) -> None:
    """Distances and loads of every cable in three levels, sound and with two crossed cables."""
    sized = size_fabric(nodes=24, rails=2, radix=8, nodes_per_unit=4, uplinks=4)
    links = cables(sized)
    if fault is not None:
        links = crossed(links, at(links, fault), at(links, fault, 17))
    fabric = planned(links, sized)
    leaves = np.unique(fabric.home)
    flows = np.random.default_rng(1).integers(0, 3, (3, leaves.size, leaves.size)).astype(float)
    distance = distances(fabric, leaves)
    load, _ = loads(fabric, leaves, distance, flows)
    by_hand = shares_by_hand(fabric, leaves.tolist(), flows)
    assert np.array_equal(distance, by_hand[0])
    assert np.allclose(load, by_hand[1], rtol=1e-12, atol=1e-12)


def test_cores_that_do_not_divide_a_groups_uplinks_are_sound() -> None:
    """Nine links of a group over four cores: three in one, two in others, which carry as many flows."""
    sized = size_fabric(nodes=25, rails=1, radix=8, uplinks=3, nodes_per_unit=3, purchase=AS_NEEDED)
    assert (sized.spine_per_group * sized.uplinks_per_spine, sized.core) == (9, 4)
    hosts = [f"node{number + 1:04d}" for number in range(25)]
    links = list(compute_links(fabric=sized, family="", hosts=hosts, managers=[], plane=None))
    proof = walked(sized, links)
    assert proof.findings == ()
    assert proof.busiest_cable == pytest.approx(25 / 18)
