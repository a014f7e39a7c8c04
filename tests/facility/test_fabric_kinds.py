"""Fabrics beyond one port per rail: plain trees, planes, Ethernet, several links per leaf, growth, and their limits."""

import re
from collections import Counter
from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.errors import EXIT_RULE_FAILED, InputError, MissingFactError
from clusterwright.facility.cabling.links import Link, compute_links
from clusterwright.facility.fabric.compute import fabric_warnings
from clusterwright.facility.fabric.limits import FabricLimitError
from clusterwright.facility.fabric.node_ports import radix_of
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.facility.fabric.switch_choice import FabricChoice, compute_switch, family_of, switch_for
from clusterwright.facility.fabric.system import SystemFabric, fabric_of_system
from clusterwright.facility.fabric.uplinks import spines_for, uplinks_of, uplinks_with

CATALOGUE = load()


def sized(system: str, switch: str, **more: object) -> SystemFabric:
    """Size a fabric by names."""
    return fabric_of_system(
        system=lookup.system(CATALOGUE, system),
        switch=lookup.switch(CATALOGUE, switch),
        **more,  # type: ignore[arg-type]
    )


def links_of(fabric: SystemFabric) -> list[Link]:
    """Return the cables of all planes."""
    hosts = [f"n{number:05d}" for number in range(fabric.fabric.nodes)]
    return [
        link
        for plane in fabric.each_plane()
        for link in compute_links(
            fabric=fabric.fabric, family="", hosts=hosts, managers=["ufm-1", "ufm-2"], plane=plane
        )
    ]


def test_only_ethernet_ports_are_split() -> None:
    """Spectrum-4 makes two ports of 400 Gb/s or four of 200 of each; Quantum-2 keeps its 64 at any rate."""
    spectrum, quantum = CATALOGUE.switches["sn5600"], CATALOGUE.switches["qm9700"]
    assert [radix_of(spectrum, rate) for rate in (100e9, 50e9, 25e9)] == [64, 128, 256]
    assert [radix_of(quantum, rate) for rate in (50e9, 25e9)] == [64, 64]


def test_subnet_managers_that_open_a_unit_start_at_its_first_port() -> None:
    """31 nodes leave one port of each leaf; two managers per rail take ports 0 and 1 of a second set of leaves."""
    fabric = sized("dgx-h100", "qm9700", nodes=31, management_ports=16)
    places = Counter((link.b.device, link.b.port) for link in links_of(fabric) if link.tier == "manager-leaf")
    assert len(places) == 16
    assert {port for _, port in places} == {0, 1}


def test_the_planes_that_are_offered_work_and_have_as_many_switches() -> None:
    """Where a fabric is too large, its help names the fewest planes that work, and what they take."""
    with pytest.raises(FabricLimitError) as error:
        sized("dgx-h100", "qm9700", nodes=6000)
    found = re.search(r"(\d+) planes work, with ([\d,]+) switches", error.value.help or "")
    assert found is not None
    counts = sized("dgx-h100", "qm9700", nodes=6000, planes=int(found[1])).counts()
    assert int(found[2].replace(",", "")) == counts["leaf"] + counts["spine"] + counts["core"]


def test_two_to_one_buys_eleven_spines() -> None:
    """At 2:1 on 64 ports 21 uplinks would need 21 spines, the next number that divides them; 22 need 11."""
    fabric = sized("dgx-h100", "qm9700", units=4, oversubscription=2.0).fabric
    assert (fabric.uplinks_per_leaf, fabric.leaf, fabric.spine) == (22, 32, 11)
    assert fabric.spine * fabric.radix == fabric.leaf_spine_cables
    by_the_floor = spines_for(leaves=32, uplinks=uplinks_of(64, 2.0), spine_down_ports=64)
    assert by_the_floor == 21


@given(
    radix=st.sampled_from([40, 64, 128, 144]),
    ratio=st.floats(1.01, 8),
    nodes=st.integers(1, 600),
    rails=st.sampled_from([1, 4, 8]),
)
def test_no_more_switches_than_the_floor_rule(*, radix: int, ratio: float, nodes: int, rails: int) -> None:
    """Uplinks never fall below the floor of the ratio, and switches are no more than that floor would buy."""
    least = uplinks_of(radix, ratio)
    chosen = uplinks_with(
        oversubscription=ratio, radix=radix, leaf_per_unit=rails, links_per_rail=1, unit_ports=nodes * rails, units=None
    )
    assert least <= chosen <= radix // 2
    smart = size_fabric(nodes=nodes, rails=rails, radix=radix, leaf_oversubscription=ratio, infiniband=False)
    plain = size_fabric(nodes=nodes, rails=rails, radix=radix, uplinks=least, infiniband=False)
    if smart.levels == plain.levels:
        assert smart.switches <= plain.switches
    assert smart.radix - smart.uplinks_per_leaf <= (radix - least)


@given(
    nodes=st.integers(1, 300),
    rails=st.sampled_from([1, 2, 3]),
    each=st.sampled_from([1, 2, 4, 8]),
    radix=st.sampled_from([40, 64, 128]),
    management_ports=st.integers(0, 4),
)
def test_several_links_to_a_leaf(*, nodes: int, rails: int, each: int, radix: int, management_ports: int) -> None:
    """Every port has one cable, no switch more cables than ports, and a node's links to a rail end on one leaf."""
    fabric = size_fabric(
        nodes=nodes, rails=rails, radix=radix, links_per_rail=each, management_ports=management_ports, infiniband=False
    )
    assert fabric.node_leaf_cables == nodes * rails * each + management_ports
    hosts = [f"n{number}" for number in range(nodes)]
    links = list(compute_links(fabric=fabric, family="", hosts=hosts, managers=["m"]))
    assert len(links) == fabric.node_leaf_cables + fabric.leaf_spine_cables + fabric.spine_core_cables
    ends = Counter((end.device, end.port) for link in links for end in (link.a, link.b))
    assert set(ends.values()) == {1}
    assert max(end.port for link in links for end in (link.a, link.b) if end.kind == "switch") < radix
    leaves_of = Counter((link.a.device, link.b.device) for link in links if link.tier == "node-leaf")
    assert set(leaves_of.values()) == {each}


def test_a_plain_fat_tree() -> None:
    """With all eight ports on one leaf, four DGX H100 fill 32 downlinks; 16 nodes take 4 leaves and 2 spines."""
    fabric = sized("dgx-h100", "qm9700", nodes=16, topology="plain", management_ports=0)
    assert (fabric.fabric.rails, fabric.fabric.links_per_rail, fabric.fabric.nodes_per_unit) == (1, 8, 4)
    assert [fabric.counts()[name] for name in ("leaf", "spine", "node_leaf_cables")] == [4, 2, 128]


def test_gaudi_3_has_three_rails_of_two_cables() -> None:
    """24 ports of 200 Gb/s in six cages: three plies, each with two cables of 800 Gb/s from every server."""
    fabric = sized("gaudi3-8gpu", "sn5600", units=1)
    one = fabric.fabric
    assert (one.rails, one.links_per_rail, one.nodes_per_unit, one.radix) == (3, 2, 16, 64)
    assert fabric.counts() == {
        "leaf": 3,
        "spine": 2,
        "core": 0,
        "node_leaf_cables": 96,
        "leaf_spine_cables": 96,
        "spine_core_cables": 0,
        "switch_optics": 288,
        "node_optics": 96,
    }
    # 64 chips of 3 x 200 Gb/s: a leaf carries as many bits up as down.
    assert fabric.port_bytes_per_s_one_way == 100e9


@pytest.mark.parametrize("planes", [2, 4, 8])
def test_infiniband_planes_share_out_rails(planes: int) -> None:
    """Each plane has rails of its own; all together are as large as one plane, and every node port has one cable."""
    fabric = sized("dgx-h100", "qm9700", nodes=32, planes=planes, management_ports=0)
    assert (fabric.planes_split, fabric.fabric.rails) == ("rails", 8 // planes)
    counts = fabric.counts()
    assert (counts["leaf"], counts["node_leaf_cables"], counts["leaf_spine_cables"]) == (8, 256, 256)
    assert counts["node_optics"] == 32 * 4
    ports = Counter((link.a.device, link.a.port) for link in links_of(fabric) if link.tier == "node-leaf")
    assert set(ports.values()) == {1}
    assert {port for _, port in ports} == set(range(8))
    assert all(link.b.device.startswith("p") for link in links_of(fabric))


def test_ethernet_planes_split_ports() -> None:
    """Two planes of DGX B300: each port of 800 Gb/s is two of 400, in the same cage of the node."""
    fabric = sized("dgx-b300", "sn5600", units=1, planes=2)
    assert (fabric.planes_split, fabric.radix, fabric.node_ports, fabric.node_cage) == ("ports", 128, 16, 2)
    first = [link for link in links_of(fabric) if link.a.device == "n00000"]
    assert {(link.a.port % 2, link.b.device[:2]) for link in first} == {(0, "p1"), (1, "p2")}
    assert {link.a.port for link in first} == set(range(16))


def test_planes_that_do_not_divide_the_rails() -> None:
    """Three planes cannot share out eight rails."""
    with pytest.raises(InputError, match="8 rails of NVIDIA DGX H100 cannot be shared out over 3"):
        sized("dgx-h100", "qm9700", nodes=32, planes=3)


def test_98304_gpus() -> None:
    """12,288 nodes: more than three levels of 64 ports hold, and four planes or Ethernet do."""
    with pytest.raises(FabricLimitError, match="exceed three levels") as caught:
        sized("dgx-h100", "qm9700", nodes=12_288)
    assert caught.value.finding.id == "NET002"
    assert "4 planes work" in (caught.value.help or "")
    assert sized("dgx-h100", "qm9700", nodes=12_288, planes=4).counts()["node_leaf_cables"] == 98_304
    assert sized("dgx-h100", "sn5600", nodes=12_288).counts()["core"] == 768


@pytest.mark.parametrize(
    ("more", "rule", "helped"),
    [
        ({"nodes": 6000}, "NET001", "planes work"),
        ({"nodes": 8193}, "NET002", "8,192 nodes"),
        ({"units": 2, "nodes": 65}, "NET004", "up to 64 nodes, or 3 units"),
        ({"units": 4, "nodes": 128, "management_ports": 4}, "NET004", "127 nodes"),
        ({"nodes": 8, "topology": "dragonfly+"}, "NET005", "rail"),
    ],
)
def test_limits_have_ids_and_a_way_out(more: dict[str, object], rule: str, helped: str) -> None:
    """Each limit is a rule that failed, not bad usage: its id, and a design that works."""
    with pytest.raises(FabricLimitError) as caught:
        sized("dgx-h100", "qm9700", **more)
    assert (caught.value.finding.id, caught.value.exit_code) == (rule, EXIT_RULE_FAILED)
    assert helped in caught.value.finding.help


def test_the_named_way_out_works() -> None:
    """127 nodes fit beside four ports of subnet managers, and the planes that are named fit 6,000 nodes."""
    assert sized("dgx-h100", "qm9700", units=4, nodes=127, management_ports=4).fabric.units == 4
    assert sized("dgx-h100", "qm9700", nodes=6000, planes=2).fabric.levels == 3


def test_ports_that_are_no_rails_are_refused_by_name() -> None:
    """Three ports are no rails of eight accelerators; a plain fat-tree takes them."""
    odd = replace(lookup.system(CATALOGUE, "dgx-h100"), fabric_ports=3, fabric_bytes_per_s_per_gpu_one_way=150e9 / 8)
    switch = lookup.switch(CATALOGUE, "qm9700")
    with pytest.raises(FabricLimitError, match="NVIDIA DGX H100 on rails: its 3 ports") as caught:
        fabric_of_system(system=odd, switch=switch, nodes=4)
    assert caught.value.finding.id == "NET005"
    assert fabric_of_system(system=odd, switch=switch, nodes=4, topology="plain").fabric.links_per_rail == 3


def test_whole_racks_are_on_rails_only() -> None:
    """The trays of a GB200 rack hang on its own leaves; a plain tree is refused by name."""
    with pytest.raises(FabricLimitError, match="plain topology: the trays of NVIDIA GB200"):
        sized("gb200-nvl72", "qm9700", units=1, topology="plain")


def test_growth_buys_what_units_need() -> None:
    """40 nodes today in 4 units: switches and trunks of 128 nodes, node cables of 40."""
    today, full = sized("dgx-h100", "qm9700", units=4, nodes=40), sized("dgx-h100", "qm9700", units=4)
    for name in ("leaf", "spine", "leaf_spine_cables"):
        assert today.counts()[name] == full.counts()[name]
    assert today.counts()["node_leaf_cables"] == 40 * 8 + 4


def test_spines_are_oversubscribed_within_their_ports() -> None:
    """At 2:1 above the spines no spine has more cables than ports, and ratios hold up to one port."""
    fabric = sized("dgx-h100", "qm9700", units=16, spine_oversubscription=2.0).fabric
    below = fabric.leaf_spine_cables // fabric.spine
    assert fabric.levels == 3
    assert below + fabric.uplinks_per_spine <= 64
    assert fabric.uplinks_per_spine in {ceil(below / 2), ceil(below / 2) - 1}


def test_switches_follow_the_system() -> None:
    """A system's own kind of fabric chooses the switch; RoCE on a DGX takes Ethernet with split ports."""
    systems = CATALOGUE.systems
    assert compute_switch(systems["dgx-h100"], CATALOGUE).id == "qm9700"
    assert compute_switch(systems["dgx-a100-640gb"], CATALOGUE).id == "qm8790"
    assert compute_switch(systems["dgx-b300"], CATALOGUE).id == "q3400-ra"
    assert compute_switch(systems["mi300x-8gpu"], CATALOGUE).id == "sn5600"
    assert compute_switch(systems["dgx-h100"], CATALOGUE, FabricChoice(kind="roce")).id == "sn5600"
    assert compute_switch(systems["dgx-h100"], CATALOGUE, FabricChoice(switch="qm9790")).id == "qm9790"
    with pytest.raises(InputError, match="switch for ethernet, the fabric is to be infiniband"):
        compute_switch(systems["dgx-h100"], CATALOGUE, FabricChoice(kind="infiniband", switch="sn5600"))
    with pytest.raises(MissingFactError, match="457 Gb/s"):
        switch_for(457e9 / 8, "infiniband", CATALOGUE)
    with pytest.raises(MissingFactError, match="no cables"):
        family_of("ethernet", 1.0, 1)


@pytest.mark.parametrize(
    ("system", "switch"),
    [
        ("dgx-a100", "qm8790"),
        ("dgx-h100", "qm9700"),
        ("dgx-h200", "qm9790"),
        ("dgx-b200", "qm9700"),
        ("dgx-b300", "q3400"),
        ("gb200-nvl72", "qm9700"),
        ("hgx-h100-8gpu", "qm9700"),
        ("hgx-h200-8gpu", "sn5610"),
        ("hgx-b200-8gpu", "ethernet-64x800"),
        ("mi300x-8gpu", "sn5600"),
        ("gaudi3-8gpu", "sn5600"),
        ("l40s-8gpu", "sn5600"),
        ("gh200-1gpu", "qm9700"),
        ("dell-xe9680-h100", "qm9700"),
    ],
)
def test_every_system_has_a_fabric(system: str, switch: str) -> None:
    """Two units of each system: as many cables up as down, one cable per port, every switch within its ports."""
    fabric = sized(system, switch, units=2)
    counts, one = fabric.counts(), fabric.fabric
    assert counts["node_leaf_cables"] == one.nodes * one.ports_per_node * fabric.planes
    assert one.uplinks_per_leaf >= one.ports_per_leaf
    ends = Counter((end.device, end.port) for link in links_of(fabric) for end in (link.a, link.b))
    assert set(ends.values()) == {1}
    assert len(links_of(fabric)) == sum(
        counts[name] for name in ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables")
    )


@pytest.mark.parametrize(("nodes", "switches", "least"), [(288, 236, 180), (576, 472, 360)])
def test_a_design_with_many_more_switches_than_the_smallest_is_questioned(
    nodes: int, switches: int, least: int
) -> None:
    """18 units group by rail on 256 spines, and in each unit on 144; the warning names what takes fewer."""
    (warning,) = fabric_warnings(size_fabric(nodes=nodes, rails=8, radix=64))
    assert warning.id == "NET008"
    assert f"has {switches} switches, 31 % more than the {least} of the smallest" in warning.message
    assert "rail_groups to per-unit" in (warning.help or "")
    assert fabric_warnings(size_fabric(nodes=nodes, rails=8, radix=64, rail_groups="per-unit")) == []


@pytest.mark.parametrize("nodes", [32, 256, 512, 1024, 3072])
def test_a_design_near_the_smallest_is_not_questioned(nodes: int) -> None:
    """One or two levels have no groups, powers of two divide evenly, and 96 units take 13 % more."""
    assert fabric_warnings(size_fabric(nodes=nodes, rails=8, radix=64)) == []
