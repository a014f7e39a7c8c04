"""The whole on-premises design: NVIDIA's bill for 127 nodes, limits of racks, and links port by port."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.catalog.parts.skus import skus
from clusterwright.errors import InputError, MissingFactError, RuleError
from clusterwright.facility.cabling.cables import Cable, tally
from clusterwright.facility.cabling.devices import shared_devices
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.fabric.compute import rail_levels
from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import DesignRules, FabricChoice, RowLayout, Site

from .examples import storage_need


def _design(
    nodes: int, *, system: str = "dgx-h100", site: Site | None = None, purchase: str = FULL_UNITS
) -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems[system],
        nodes=nodes,
        storage=storage_need(),
        site=site or Site(pue=1.3),
        catalogue=catalogue,
        rules=DesignRules(fabric=FabricChoice(purchase=purchase)),
    )


def _derived(design: OnPremDesign) -> tuple[tuple[Rack, ...], tuple[Cable, ...]]:
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    return standing, wire(design.inventory, standing, site=design.site, rules=design.rules)


def test_127_nodes() -> None:
    """127 DGX H100 take the switches, racks, PDUs, servers and node cables of the published bill."""
    design = _design(127)
    inventory = design.inventory
    assert inventory.fabric.switches == 48
    assert (inventory.storage_fabric.leaf, inventory.storage_fabric.spine) == (8, 4)
    assert inventory.inband.switches == 8
    assert inventory.oob_switches == 8
    assert (inventory.compute_managers + inventory.storage_managers, inventory.management_servers) == (4, 4)
    assert design.compute_racks == 32
    assert design.compute_racks * design.pdus_per_compute_rack == 96
    assert (design.racks, design.pdus) == (38, 96 + 12)
    standing, cables = _derived(design)
    tiers = Counter((cable.network, cable.tier) for cable in cables)
    assert tiers["compute", "node-leaf"] == 1016
    assert tiers["compute", "leaf-spine"] == 1024
    assert tiers["storage", "node-leaf"] == 254
    assert tiers["in-band", "leaf-aggregation"] == 24
    assert tiers["in-band", "oob-uplink"] == 16
    assert sum(rack.kind == "compute" for rack in standing) == 32
    assert tally(cables)["mma4z00-ns-flt"] == 508


def test_transceivers_without_copper() -> None:
    """Where racks are too far apart for copper, cages are those of the fabric's counts and of the published bill."""
    design = _design(127)
    standing, _ = _derived(design)
    # A trunk inside one rack may be copper, so every device gets a rack of its own here.
    scattered = tuple(
        replace(
            rack,
            name=f"{rack.name}-{index}",
            placements=(placed,),
            slot=rack.slot + index * 20,
            pdus=rack.pdus if index == 0 else 0,
        )
        for rack in standing
        for index, placed in enumerate(rack.placements)
    )
    site = replace(design.site, rows=RowLayout(rack_width_m=0.05))
    compute = [
        cable
        for cable in wire(design.inventory, scattered, site=site, rules=design.rules)
        if cable.network == "compute" and cable.tier != "manager-leaf"
    ]
    parts = tally(compute)
    assert parts["mfp7e10"] == 2040
    assert parts["mma4z00-ns"] == design.fabric.switch_optics == 1536
    assert parts["mma4z00-ns-flt"] == design.fabric.node_optics == 508


def test_bill_is_complete() -> None:
    """Every line has a price key of the table or the catalogue, and switches, racks and nodes are all on the bill."""
    design = _design(127)
    catalogue = load()
    for line in design.bill.lines:
        known = line.sku in skus() or line.sku in catalogue.systems or line.sku in catalogue.switches
        assert known, line.sku
        assert (line.charge, line.unit, line.region) == ("once", "each", "")
        assert line.quantity > 0
    counts: Counter[str] = Counter()
    for line in design.bill.lines:
        counts[line.sku] += int(line.quantity)
    assert counts["dgx-h100"] == 127
    assert counts["qm9700"] == 60
    assert counts["rack"] + counts["legrand-nvidpd13"] == design.racks
    assert design.bill.it_power_w == pytest.approx(design.power.it_w)
    assert design.power.compute_w == pytest.approx(127 * 10_200)
    assert design.power.annual_facility_kwh == pytest.approx(design.power.it_w / 1000 * 8760 * 1.3)


def test_full_units_leave_no_port_for_ufm() -> None:
    """128 nodes fill every port: no compute UFM is bought, and a note says why; 127 get it."""
    full = _design(128)
    assert full.inventory.compute_managers == 0
    assert any("127 nodes" in note for note in full.inventory.notes)
    assert _design(127).inventory.compute_managers == 2


@given(
    nodes=st.integers(1, 150),
    system=st.sampled_from(["dgx-h100", "dgx-b200", "dgx-a100-640gb", "dgx-b300"]),
    purchase=st.sampled_from([FULL_UNITS, AS_NEEDED]),
    rack_power_kw=st.sampled_from([16.0, 25.0, 42.0, 60.0]),
    rack_height_u=st.sampled_from([24.0, 42.0, 48.0, 52.0]),
)
@settings(max_examples=25, deadline=None)
def test_every_port_once_and_every_rack_within_limits(
    *, nodes: int, system: str, purchase: str, rack_power_kw: float, rack_height_u: float
) -> None:
    """No port has two cables, counts equal the fabric's, rails are kept, and no rack exceeds power or height."""
    site = Site(rack_power_w=rack_power_kw * 1e3, rack_height_u=rack_height_u)
    design = _design(nodes, system=system, site=site, purchase=purchase)
    standing, cables = _derived(design)
    ends = Counter((cable.network, cable.from_device, cable.from_port) for cable in cables)
    ends.update((cable.network, cable.to_device, cable.to_port) for cable in cables)
    assert max(ends.values()) == 1
    compute = [cable for cable in cables if cable.network == "compute"]
    tiers = Counter(cable.tier for cable in compute)
    assert tiers["node-leaf"] + tiers["manager-leaf"] == design.fabric.node_leaf_cables
    assert tiers["leaf-spine"] == design.fabric.leaf_spine_cables
    assert tiers["spine-core"] == design.fabric.spine_core_cables
    per_switch = Counter(cable.to_device for cable in compute)
    per_switch.update(cable.from_device for cable in compute if cable.tier in {"leaf-spine", "spine-core"})
    assert max(per_switch.values()) <= design.fabric.radix
    trunks = Counter((cable.from_device, cable.to_device) for cable in compute if cable.tier == "leaf-spine")
    assert len(set(trunks.values())) <= 1
    for rack in standing:
        taken = [unit for placed in rack.placements for unit in range(placed.u, placed.u + placed.device.height_u)]
        assert len(taken) == len(set(taken))
        assert max(taken) <= rack_height_u
        assert rack.power_w <= rack.power_limit_w * (1 + 1e-9) <= site.rack_power_w * (1 + 1e-6)
    names = [placed.device.name for rack in standing for placed in rack.placements]
    assert len(names) == len(set(names))
    assert {cable.from_device for cable in cables} | {cable.to_device for cable in cables} >= set(names)
    for cable in cables:
        assert cable.run_m <= cable.length_m
        assert cable.kind != "dac" or cable.length_m <= 2
        assert cable.kind != "multimode" or cable.length_m <= 50


def test_rails() -> None:
    """Port r of every node goes to the leaf of rail r in the node's unit."""
    design = _design(70)
    _, cables = _derived(design)
    for cable in cables:
        if cable.network == "compute" and cable.tier == "node-leaf":
            node = int(cable.from_device.removeprefix("node")) - 1
            cage, port = (int(part) for part in cable.from_port.split("/"))
            rail = (cage - 1) * 2 + port
            assert cable.to_device == f"leaf-{node // 32 + 1:02d}-{rail}"
    groups = design.inventory.node_groups()
    assert [(name, len(hosts)) for name, hosts in groups] == [("su1", 32), ("su2", 32), ("su3", 6)]


def test_network_racks_live_on_one_feed() -> None:
    """A rack of switches draws no more than one of its two feeds carries."""
    design = _design(127)
    standing, _ = _derived(design)
    feed_w = 415 * 60 * 3**0.5 * 0.8 * 0.95
    assert all(rack.power_w <= feed_w for rack in standing if rack.kind != "compute")


def test_power_of_the_hall_is_a_finding() -> None:
    """A hall with too little power is a finding with the number of nodes that fit, not an abort."""
    design = _design(64, site=Site(power_limit_w=500e3))
    assert [finding.id for finding in design.findings] == ["PWR001"]
    assert "nodes fit" in design.findings[0].help


@pytest.mark.parametrize(
    ("site", "rule"),
    [
        (Site(rack_power_w=8e3), "RCK001"),
        (Site(rack_height_u=6), "RCK002"),
        (Site(rack_weight_kg=100), "RCK003"),
    ],
)
def test_rack_too_small_for_one_node(site: Site, rule: str) -> None:
    """A rack that cannot hold one node is refused with the limit that binds."""
    with pytest.raises(RuleError, match=rule):
        _design(4, site=site)


def test_too_far() -> None:
    """A run that no cable reaches is refused."""
    with pytest.raises(RuleError, match="CBL001") as caught:
        _design(40, site=Site(rows=RowLayout(rack_width_m=40, rack_depth_m=60, cold_aisle_m=60, hot_aisle_m=60)))
    assert caught.value.findings[0].help.startswith("no rows bring all cables within reach")
    wide = RowLayout(racks_per_row=200, rack_width_m=1.1)
    with pytest.raises(RuleError, match="CBL001") as caught:
        _design(700, site=Site(rows=wide))
    found = re.search(r"rows of (\d+) racks", caught.value.findings[0].help)
    assert found is not None
    assert _design(700, site=Site(rows=replace(wide, racks_per_row=int(found[1])))).findings == ()


def test_what_reaches_is_tried_before_it_is_reported() -> None:
    """Where rows alone do not help, narrower aisles or fuller racks are offered, as keys that work when set."""
    wide = RowLayout(racks_per_row=20, cold_aisle_m=30, hot_aisle_m=30, rack_width_m=1.5)
    with pytest.raises(RuleError, match="CBL001") as caught:
        _design(700, site=Site(rows=wide))
    said = caught.value.findings[0].help
    assert "(site.hall: {cold_aisle: 1.2 m, hot_aisle: 0.9 m, racks_per_row: " in said
    per_row = int(said.split("racks_per_row: ")[1].split(",")[0])
    assert "switch_racks: middle-rows" in said
    narrow = replace(wide, racks_per_row=per_row, switch_racks="middle-rows", cold_aisle_m=1.2, hot_aisle_m=0.9)
    assert _design(700, site=Site(rows=narrow)).findings == ()


def test_systems_that_do_not_fit_are_refused_by_name() -> None:
    """Racks without a known unit and systems with unknown ports are refused, and so is nothing at all."""
    with pytest.raises(InputError, match="GB300"):
        _design(4, system="gb300-nvl72")
    catalogue = load()
    unknown = replace(catalogue.systems["dgx-h100"], fabric_ports=None)
    with pytest.raises(MissingFactError, match="compute ports"):
        design_onprem(system=unknown, nodes=4, storage=storage_need(), site=Site(), catalogue=catalogue)
    with pytest.raises(MissingFactError, match="hangs on a bus bar"):
        _design(4, system="dgx-b300-busbar")
    third = replace(catalogue.systems["dgx-h100"], fabric_ports=3, fabric_bytes_per_s_per_gpu_one_way=50e9 * 3 / 8)
    with pytest.raises(RuleError, match="are no rails"):
        design_onprem(system=third, nodes=4, storage=storage_need(), site=Site(), catalogue=catalogue)
    with pytest.raises(InputError, match="at least one"):
        _design(0)


def test_small_cluster_as_needed_uses_one_switch() -> None:
    """Seven nodes bought as needed take one compute switch, with UFM on its free ports."""
    design = _design(7, purchase=AS_NEEDED)
    assert (design.fabric.switches, design.fabric.levels, design.inventory.compute_managers) == (1, 1, 2)


@pytest.mark.parametrize(
    ("nodes", "switches", "managers"),
    [(1, 1, 0), (8, 1, 0), (9, 12, 2)],
)
def test_one_switch_is_bought_alone_where_it_holds_all_nodes(nodes: int, switches: int, managers: int) -> None:
    """Eight nodes of eight ports fill one switch of 64; with nine, the leaves and spines of a unit are bought."""
    design = design_onprem(
        system=load().systems["dgx-h100"], nodes=nodes, storage=storage_need(), site=Site(pue=1.3), catalogue=load()
    )
    inventory = design.inventory
    assert (design.fabric.switches, inventory.compute_managers, inventory.storage_managers) == (
        switches,
        managers,
        managers,
    )
    said = [note for note in inventory.notes if "with its own subnet manager" in note]
    assert len(said) == (switches == 1)


@pytest.mark.parametrize("choice", [{"buy_for_units": 1}, {"purchase": FULL_UNITS}, {"rail_groups": "per-unit"}])
def test_growth_and_levels_that_are_asked_for_buy_more_than_one_switch(choice: dict[str, Any]) -> None:
    """Four nodes get a whole unit where the blueprint speaks of growth, levels or full units."""
    design = design_onprem(
        system=load().systems["dgx-h100"],
        nodes=4,
        storage=storage_need(),
        site=Site(pue=1.3),
        catalogue=load(),
        rules=DesignRules(fabric=FabricChoice(**choice)),
    )
    assert design.fabric.leaf >= 8


def test_large_cluster() -> None:
    """512 nodes in three levels still have one cable per port and every spine on equal core trunks."""
    design = _design(512)
    _, cables = _derived(design)
    trunks = Counter(
        (cable.from_device, cable.to_device)
        for cable in cables
        if cable.tier == "spine-core" and cable.network == "compute"
    )
    assert set(trunks.values()) == {8}
    assert Counter(core for _, core in trunks) == dict.fromkeys({core for _, core in trunks}, 8)
    ends = Counter((cable.network, cable.to_device, cable.to_port) for cable in cables)
    assert max(ends.values()) == 1
    assert isinstance(design.rules, DesignRules)


@pytest.mark.parametrize(
    ("nodes", "leaf", "spine", "uplinks", "levels"),
    [(100, 3.0, 1.0, 16, 2), (300, 2.0, 2.0, 21, 2), (400, 3.0, 1.5, 16, 3)],
)
def test_oversubscribed_tiers(*, nodes: int, leaf: float, spine: float, uplinks: int, levels: int) -> None:
    """No leaf and no spine has more than its ratio of downlinks, up to rounding, and every cable is laid."""
    catalogue = load()
    rules = DesignRules(leaf_oversubscription=leaf, spine_oversubscription=spine)
    design = design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=nodes,
        storage=storage_need(),
        site=Site(pue=1.3),
        catalogue=catalogue,
        rules=rules,
    )
    fabric = design.fabric
    assert (fabric.uplinks_per_leaf, fabric.levels) == (uplinks, levels)
    assert fabric.nodes_per_unit == 64 - uplinks
    if levels == 3:
        down = fabric.leaf_per_group * uplinks / fabric.spine_per_group
        assert down / spine <= fabric.uplinks_per_spine < down / spine + 1
    laid = Counter(cable.network for cable in _derived(design)[1])
    assert laid["compute"] == fabric.node_leaf_cables + fabric.leaf_spine_cables + fabric.spine_core_cables


def test_levels_of_a_rail_are_those_of_the_fabric() -> None:
    """Without oversubscription a QM9700 has 32 nodes below it, and 32 such leaves below their spines."""
    catalogue = load()
    system = catalogue.systems["dgx-h100"]
    assert rail_levels(system, rules=DesignRules(), catalogue=catalogue) == (32, 1024)
    narrow = DesignRules(leaf_oversubscription=3.0, spine_oversubscription=1.0)
    assert rail_levels(system, rules=narrow, catalogue=catalogue) == (48, 48 * 32)


def test_a_power_cap_comes_off_the_nodes() -> None:
    """Seven DGX H100 with GPUs at 500 instead of 700 W draw 7 x 8 x 200 W less; nothing else changes."""
    catalogue = load()
    plain, capped = (
        design_onprem(
            system=catalogue.systems["dgx-h100"],
            nodes=7,
            storage=storage_need(),
            site=Site(pue=1.3),
            catalogue=catalogue,
            rules=DesignRules(power_cap_w=cap),
        )
        for cap in (None, 500.0)
    )
    assert plain.power.it_w - capped.power.it_w == pytest.approx(7 * 8 * 200)
    assert plain.power.network_w == capped.power.network_w
    saved = plain.power.annual_it_kwh - capped.power.annual_it_kwh
    assert saved == pytest.approx(7 * 8 * 0.2 * 8760)


@pytest.mark.parametrize("nodes", [48, 1_024])
def test_storage_boxes_stand_beside_the_leaves_that_they_hang_on(nodes: int) -> None:
    """Their splitters reach 30 m: between a box and its leaf on the same side stand no other storage leaves."""
    design = _design(nodes)
    sides = shared_devices(design.inventory, load())
    for number, side in enumerate(sides):
        names = [device.name for device in side]
        after = names[names.index(f"st-leaf-01{'ab'[number]}") + 1]
        assert after.startswith(("st-data-", "st-node-"))
