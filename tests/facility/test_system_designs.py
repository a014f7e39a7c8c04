"""On-premises designs of systems other than DGX on InfiniBand: Ethernet, planes, growth, whole racks, told facts."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from clusterwright.catalog.load import load
from clusterwright.catalog.parts.rack_contents import rack_contents
from clusterwright.errors import MissingFactError, RuleError
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS
from clusterwright.facility.hall.power_cords import worst_load
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import DesignRules, FabricChoice, Feed, NodeFacts, Site

from .examples import storage_need

CATALOGUE = load()


def design(system: str, nodes: int, *, rules: DesignRules | None = None, site: Site | None = None) -> OnPremDesign:
    """Design a cluster of a system."""
    return design_onprem(
        system=CATALOGUE.systems[system],
        nodes=nodes,
        storage=storage_need(),
        site=site or Site(pue=1.3),
        catalogue=CATALOGUE,
        rules=rules,
    )


def drawn(made: OnPremDesign) -> tuple[tuple[Rack, ...], tuple[Cable, ...]]:
    """Return racks and cables."""
    standing = lay_out(made.inventory, site=made.site, rules=made.rules, catalogue=CATALOGUE)
    return standing, wire(made.inventory, standing, site=made.site, rules=made.rules)


def asked(**choice: object) -> DesignRules:
    """Return rules with wishes for the fabric."""
    return DesignRules(fabric=FabricChoice(**choice))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("system", "rules"),
    [
        ("dgx-a100-640gb", None),
        ("dgx-b300", None),
        ("dgx-b300", asked(kind="roce", planes=2)),
        ("hgx-h100-8gpu", None),
        ("mi300x-8gpu", None),
        ("gh200-1gpu", None),
        ("gaudi3-8gpu", DesignRules(node=NodeFacts(power_w=10e3))),
        ("l40s-8gpu", DesignRules(node=NodeFacts(power_w=4.4e3))),
        ("dgx-h100", asked(kind="roce")),
        ("dgx-h100", asked(switch="ethernet-64x800", topology="plain")),
        ("dgx-h100", asked(planes=4)),
        ("dgx-h100", asked(buy_for_units=3)),
        ("gb200-nvl72", None),
    ],
)
def test_every_port_has_one_cable_and_every_end_stands(system: str, rules: DesignRules | None) -> None:
    """Whatever the system and the fabric, each port has one cable, and both ends stand in a rack of the design."""
    nodes = 2 if system == "gb200-nvl72" else 20
    made = design(system, nodes, rules=rules, site=Site(pue=1.3, rack_power_w=160e3))
    standing, cables = drawn(made)
    places = Counter(placed.device.name for rack in standing for placed in rack.placements)
    assert set(places.values()) == {1}
    ends = Counter(
        (network, device, port)
        for cable in cables
        for network, device, port in (
            (cable.network, cable.from_device, cable.from_port),
            (cable.network, cable.to_device, cable.to_port),
        )
        # The management port of a device is one of many networks' names for it.
        if port != "mgmt"
    )
    assert set(ends.values()) == {1}
    pdus = {cable.from_device for cable in cables if cable.from_device.startswith("pdu-")}
    assert {cable.from_device for cable in cables} - pdus <= set(places)
    fabric, planes = made.fabric, made.inventory.planes
    compute = [cable for cable in cables if cable.network == "compute"]
    assert len(compute) == planes * (fabric.node_leaf_cables + fabric.leaf_spine_cables + fabric.spine_core_cables)
    bought = sum(line.quantity for line in made.bill.lines if "compute fabric:" in line.note)
    assert bought == made.inventory.compute_switches == planes * fabric.switches


def test_roce_has_no_subnet_manager() -> None:
    """On Ethernet no UFM appliance is bought, ports are split, and the storage network is Ethernet too."""
    inventory = design("dgx-h100", 20, rules=asked(kind="roce")).inventory
    assert (inventory.compute_switch, inventory.storage_switch) == ("sn5600", "sn5600")
    assert (inventory.compute_managers, inventory.storage_managers) == (0, 0)
    assert (inventory.fabric.radix, inventory.compute_network) == (128, "ethernet")
    assert any("split into 2 of 400 Gb/s" in note for note in inventory.notes)


def test_each_plane_has_its_own_subnet_managers() -> None:
    """Two planes of InfiniBand are two subnets: each gets its pair of UFM appliances."""
    made = design("dgx-h100", 20, rules=asked(planes=2))
    _, cables = drawn(made)
    assert made.inventory.compute_managers == 4
    joined = {
        (cable.from_device, cable.to_device.split("-")[0])
        for cable in cables
        if cable.tier == "manager-leaf" and cable.network == "compute"
    }
    assert joined == {("ufm-1", "p1"), ("ufm-2", "p1"), ("ufm-3", "p2"), ("ufm-4", "p2")}


def test_growth_is_in_the_documents_counts() -> None:
    """20 nodes with leaves for three units: 24 leaves, their trunks, and a note of what still fits."""
    made = design("dgx-h100", 20, rules=asked(buy_for_units=3))
    assert (made.fabric.leaf, made.fabric.spine, made.fabric.leaf_spine_cables) == (24, 16, 768)
    assert any(
        "3 scalable units are bought now, of which 1 has nodes; 76 more fit" in note for note in made.inventory.notes
    )
    with pytest.raises(RuleError, match="NET004"):
        design("dgx-h100", 40, rules=asked(buy_for_units=1))


def test_racks_are_delivered_whole() -> None:
    """Two GB200 NVL72 are two racks of 150 kW with 18 hosts each, whose 72 ports go to four leaves of their own."""
    made = design("gb200-nvl72", 2, site=Site(pue=1.3, rack_power_w=160e3))
    standing, cables = drawn(made)
    compute = [rack for rack in standing if rack.kind == "compute"]
    assert [rack.power_w for rack in compute] == [pytest.approx(150e3, rel=1e-5)] * 2
    assert [round(rack.weight_kg) for rack in compute] == [1360, 1360]
    assert made.nodes_per_rack == 1
    assert len(made.inventory.hosts()) == 36
    assert next(nodes for _, nodes in made.inventory.node_groups()) == tuple(made.inventory.hosts())
    up = Counter(
        (cable.from_rack, cable.to_device)
        for cable in cables
        if cable.network == "compute" and cable.tier == "node-leaf"
    )
    assert set(up.values()) == {18}
    assert len(up) == 8
    assert any("liquid cooling" in note for note in made.inventory.notes)


def test_a_rack_without_the_power_for_it_is_refused() -> None:
    """The usual 42 kW of a rack do not feed a GB200 NVL72."""
    with pytest.raises(RuleError, match=r"RCK001: .* draws 150.0 kW"):
        design("gb200-nvl72", 1)


def test_rack_units_of_whole_racks() -> None:
    """No two trays of a rack share a rack unit, hosts are those of its scalable unit, watts sum to the rack's."""
    for system, rows in rack_contents().items():
        taken = Counter(row.first_u + index for row in rows for index in range(row.count))
        assert set(taken.values()) == {1}
        assert max(taken) <= (CATALOGUE.systems[system].height_u or 0)
        assert sum(row.count for row in rows if row.is_host) == 18
        watts = sum(row.power_w * row.count for row in rows)
        assert watts == pytest.approx(CATALOGUE.systems[system].power_max_w, rel=1e-5)
        assert {row.part for row in rows} <= set(CATALOGUE.parts) | set(CATALOGUE.systems)


def test_unknown_power_says_what_gives_it() -> None:
    """A system without a sourced figure fills no rack until the buyer tells it; what was told is said."""
    with pytest.raises(MissingFactError, match=r"Gaudi 3 .* racks cannot be filled") as caught:
        design("gaudi3-8gpu", 4)
    assert "targets.onprem.node.power" in (caught.value.help or "")
    told = DesignRules(node=NodeFacts(power_w=10e3, weight_kg=120))
    made = design("gaudi3-8gpu", 4, rules=told)
    assert made.power.compute_w == 40e3
    assert any("power 10,000 W (catalogue: unknown), weight 120 kg" in note for note in made.inventory.notes)
    with pytest.raises(MissingFactError, match="height"):
        design_onprem(
            system=replace(CATALOGUE.systems["dgx-h100"], height_u=None),
            nodes=1,
            storage=storage_need(),
            site=Site(),
            catalogue=replace(
                CATALOGUE,
                systems=CATALOGUE.systems | {"dgx-h100": replace(CATALOGUE.systems["dgx-h100"], height_u=None)},
            ),
        )


def test_a_power_cap_reaches_the_trays() -> None:
    """A cap of 1,000 of 1,200 W takes 72 x 200 W off a rack."""
    capped = design("gb200-nvl72", 1, rules=DesignRules(power_cap_w=1000), site=Site(rack_power_w=160e3))
    full = design("gb200-nvl72", 1, site=Site(rack_power_w=160e3))
    chip = CATALOGUE.accelerators["gb200-186gb"].power_w or 0
    assert full.power.compute_w - capped.power.compute_w == pytest.approx(72 * (chip - 1000))


def test_one_unit_that_does_not_grow_has_two_levels() -> None:
    """8 GB200 NVL72 take 32 leaves, 9 spines and UFM on free leaf ports; with units to come, three levels."""
    roomy = Site(pue=1.3, rack_power_w=160e3)
    made = design("gb200-nvl72", 8, site=roomy)
    assert (made.fabric.leaf, made.fabric.spine, made.fabric.core, made.fabric.levels) == (32, 9, 0, 2)
    assert made.inventory.compute_managers == 2
    assert not any("no UFM" in note for note in made.inventory.notes)
    assert any("buy_for_units" in note for note in made.inventory.notes)
    ports = Counter(
        cable.to_device for cable in drawn(made)[1] if cable.network == "compute" and cable.tier == "manager-leaf"
    )
    assert ports == {"leaf-08-1": 1, "leaf-08-2": 1, "leaf-08-3": 1, "leaf-08-4": 1}
    grown = design("gb200-nvl72", 8, site=roomy, rules=asked(buy_for_units=2))
    assert (grown.fabric.leaf, grown.fabric.spine, grown.fabric.core, grown.fabric.levels) == (64, 48, 18, 3)
    assert grown.inventory.compute_managers == 2


def test_whole_racks_bring_their_frame_and_power_shelves() -> None:
    """8 GB200 NVL72 take no PDU and no empty rack: both are bought for the other racks alone, two PDUs each."""
    made = design("gb200-nvl72", 8, site=Site(pue=1.3, rack_power_w=150e3))
    standing, _ = drawn(made)
    whole = [rack for rack in standing if rack.shelves]
    others = [rack for rack in standing if not rack.shelves]
    assert [(rack.pdus, rack.shelves, rack.feeds) for rack in whole] == [(0, 8, 8)] * 8
    bought = Counter[str]()
    for line in made.bill.lines:
        bought[line.sku] += int(line.quantity)
    assert bought["legrand-nvidpd13"] == len(others) > 0
    assert bought["raritan-px3-5878"] == made.pdus == 2 * len(others)
    load = worst_load(whole[0], made.site.feed, made.rules)
    # A shelf of 33 kW on a feed of 34.5 kVA: 150 kW over the 7 that are left.
    assert load.failed_va == pytest.approx(150e3 / 0.95 / 7)
    assert load.failed_va < made.site.feed.va
    with pytest.raises(RuleError, match="7 of 8 power shelves"):
        design("gb200-nvl72", 1, site=Site(rack_power_w=150e3, feed=Feed(line_v=380, breaker_a=32)))


@pytest.mark.parametrize(
    ("system", "nodes", "purchase"),
    [
        ("dgx-h100", 7, AS_NEEDED),
        ("dgx-h100", 31, FULL_UNITS),
        ("dgx-h100", 200, FULL_UNITS),
        ("gb200-nvl72", 8, FULL_UNITS),
        ("gb200-nvl72", 16, FULL_UNITS),
        ("dgx-b300", 64, FULL_UNITS),
    ],
)
def test_no_rack_holds_all_of_a_function(system: str, nodes: int, purchase: str) -> None:
    """Leaves, spines, sides of storage and Ethernet, UFM and servers stand in two racks or more, each side apart."""
    made = design_onprem(
        system=CATALOGUE.systems[system],
        nodes=nodes,
        storage=storage_need(),
        catalogue=CATALOGUE,
        rules=DesignRules(fabric=FabricChoice(purchase=purchase)),
        site=Site(pue=1.3, rack_power_w=150e3),
    )
    standing, _ = drawn(made)
    racks: dict[str, set[str]] = {}
    sides: dict[str, set[str]] = {}
    for rack in standing:
        for placed in rack.placements:
            name = placed.device.name
            if placed.device.role == "compute":
                continue
            function = re.sub(r"[-\d]+[ab]?$", "", name)
            racks.setdefault(function, set()).add(rack.name)
            if name[-1] in "ab":
                sides.setdefault(f"{function} {name[-1]}", set()).add(rack.name)
    single = {"leaf", "spine"} if made.fabric.levels == 1 else set()
    names = {"ufm", "st-ufm", "mgmt", "leaf", "spine", "st-leaf", "eth-leaf", "oob"} & set(racks)
    assert {"mgmt", "leaf", "st-leaf", "eth-leaf", "oob"} <= names
    assert {name for name in names - single if len(racks[name]) < 2} == set()
    for function in ("st-leaf", "eth-leaf"):
        assert not sides[f"{function} a"] & sides[f"{function} b"]


def test_a_lost_rack_leaves_half_of_the_rails_or_units() -> None:
    """Of one unit a rack holds four of eight rails; of four units it holds whole units, as in the reference racks."""

    def leaves(nodes: int) -> list[set[tuple[str, str]]]:
        standing, _ = drawn(design("dgx-h100", nodes))
        named = [[placed.device.name for placed in rack.placements] for rack in standing]
        found = [{tuple(name.split("-")[1:]) for name in names if name.startswith("leaf-")} for names in named]
        return [one for one in found if one]  # type: ignore[misc]

    assert [sorted(rail for _, rail in one) for one in leaves(31)] == [list("1234"), list("5678")]
    assert [sorted({unit for unit, _ in one}) for one in leaves(127)] == [["01", "03"], ["02", "04"]]
    assert [len(one) for one in leaves(127)] == [16, 16]
