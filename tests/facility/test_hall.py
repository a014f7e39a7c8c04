"""The hall: what one rack may hold, what the room lets in, and how many nodes fit before anything is sized."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.blueprint.sections import site as section
from clusterwright.catalog.load import load
from clusterwright.errors import RuleError
from clusterwright.facility.design import OnPremDesign, design_onprem, most_nodes
from clusterwright.facility.hall.rack_limits import Bound, compute_limits, other_limits
from clusterwright.facility.hall.racks import Device, fill
from clusterwright.facility.hall.room import room_findings
from clusterwright.facility.site import DesignRules, Feed, Hall, Plant, Site

from .examples import storage_need


def _design(nodes: int, *, system: str = "dgx-h100", site: Site) -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems[system], nodes=nodes, storage=storage_need(), site=site, catalogue=catalogue
    )


def _most(site: Site, *, system: str = "dgx-h100", most: int = 400) -> int:
    catalogue = load()
    return most_nodes(
        system=catalogue.systems[system],
        storage=storage_need(),
        site=site,
        catalogue=catalogue,
        rules=DesignRules(),
        most=most,
    )


def test_names_are_those_of_the_catalogue() -> None:
    """What a blueprint may write is what the tables hold."""
    catalogue = load()
    assert {entry.method for entry in catalogue.cooling.values()} == set(get_args(section.Cooling))
    assert {entry.name for entry in catalogue.feeds.values()} == set(get_args(section.Voltage))
    supply = catalogue.feed_of("415 V AC")
    assert (supply.line_v, supply.breaker_a, supply.pdu) == (Feed().line_v, Feed().breaker_a, Feed().pdu)


def test_rack_profiles_of_the_vendor() -> None:
    """Racks hold what NVIDIA profiles: four DGX H100 at 40.8 kW, two or four DGX B200, four DGX B300 on three PDUs."""
    assert _design(8, site=Site(rack_power_w=42e3)).nodes_per_rack == 4
    assert _design(8, system="dgx-b200", site=Site(rack_power_w=28.6e3)).nodes_per_rack == 2
    wide = Site(rack_power_w=57.2e3, rack_height_u=52)
    assert _design(8, system="dgx-b200", site=wide).nodes_per_rack == 4
    b300 = _design(8, system="dgx-b300", site=replace(wide, rack_power_w=60e3))
    assert (b300.nodes_per_rack, b300.pdus_per_compute_rack) == (4, 3)


@pytest.mark.parametrize(
    ("site", "rule", "key"),
    [
        (Site(rack_power_w=8e3), "RCK001", "rack_power"),
        (Site(cooling="air", cooling_limit_w=9e3), "RCK001", "cooling"),
        (Site(feed=Feed(name="208 V AC", line_v=208, breaker_a=16)), "RCK001", "feed"),
        (Site(rack_weight_kg=100), "RCK003", "rack"),
        (Site(hall=Hall(floor_load_kg_per_m2=150)), "RCK003", "hall"),
    ],
)
def test_a_rack_that_cannot_hold_one_node_names_what_binds(site: Site, rule: str, key: str) -> None:
    """The finding stands at the key that binds."""
    with pytest.raises(RuleError) as caught:
        _design(4, site=site)
    finding = caught.value.findings[0]
    assert finding.id == rule
    assert finding.path[:2] == ("site", key)
    assert finding.help


def test_the_breaker_that_is_offered_is_enough() -> None:
    """With the breaker that the finding names a node fits; with one ampere less it does not."""
    with pytest.raises(RuleError) as caught:
        _design(2, site=Site(feed=Feed(name="208 V AC", line_v=208, breaker_a=16)))
    offered = int(caught.value.findings[0].help.split("breakers of ")[1].split(" A")[0])
    assert _design(2, site=Site(feed=Feed(line_v=208, breaker_a=offered))).nodes_per_rack == 1
    with pytest.raises(RuleError, match="RCK001"):
        _design(2, site=Site(feed=Feed(line_v=208, breaker_a=offered - 1)))


def test_floor_and_rack_frame_bound_the_nodes() -> None:
    """500 kg/m2 under 0.84 m2 carry 420 kg: three DGX H100 of 130.45 kg, and two where the rack weighs 150 kg."""
    site = Site(hall=Hall(floor_load_kg_per_m2=500))
    assert _design(8, site=site).nodes_per_rack == 3
    assert _design(8, site=replace(site, rack_frame_kg=150)).nodes_per_rack == 2


@given(
    system=st.sampled_from(["dgx-h100", "dgx-b200", "dgx-a100-640gb", "dgx-b300"]),
    rack_kw=st.floats(15, 120),
    breaker_a=st.sampled_from([32.0, 60.0, 100.0]),
    direct=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_rack_lives_when_a_pdu_fails(*, system: str, rack_kw: float, breaker_a: float, direct: bool) -> None:
    """What is left after one PDU carries what the rack may draw; no PDU is bought in vain."""
    node = load().systems[system]
    feed = Feed(line_v=400, breaker_a=breaker_a, current="direct" if direct else "three-phase")
    site, rules = Site(rack_power_w=rack_kw * 1e3, feed=feed), DesignRules()
    limits = compute_limits(system=node, node_w=node.power_max_w or 0.0, site=site, rules=rules)
    each = feed.watts(rules.power_factor)
    assert limits.power_w.value <= (limits.pdus - 1) * each * (1 + 1e-9)
    assert limits.power_w.value <= site.rack_power_w
    assert 2 <= limits.pdus <= 3
    assert other_limits(site, rules).power_w.value <= each * (1 + 1e-9)


def test_direct_current_has_no_power_factor_and_no_root() -> None:
    """400 V DC at 100 A carry 32 kW all the time; 400 V AC carry 55.4 kVA."""
    assert Feed(current="direct", line_v=400, breaker_a=100).watts(0.95) == pytest.approx(32e3)
    assert Feed(line_v=400, breaker_a=100).va == pytest.approx(55.4e3, rel=1e-3)


def test_no_rack_has_more_than_three_pdus() -> None:
    """A DGX B200 needs five of six supplies: six PDUs would let it live when one fails, and do not fit a rack."""
    system, site = load().systems["dgx-b200"], Site(rack_power_w=57.2e3, rack_height_u=52)
    assert compute_limits(system=system, node_w=14_300.0, site=site, rules=DesignRules()).pdus == 3


def test_height_of_a_rack_outside() -> None:
    """48 units of 44.45 mm with top and base; the frame's own height where it is known."""
    assert Site(rack_height_u=48).rack_outside_height_m == pytest.approx(48 * 0.04445 + 0.2)
    assert Site(rack_height_u=48, rack_frame_height_m=2.27).rack_outside_height_m == 2.27


def test_devices_of_unknown_weight_take_no_weight_off_a_rack() -> None:
    """Of two devices of 100 kg one fits a rack that may hold 199, however many of unknown weight stand below."""
    limits = replace(other_limits(Site(), DesignRules()), weight_kg=Bound(value=199.0, key=("site",), words="{} kg"))
    unknown = Device(name="a", sku="a", role="network", height_u=1, power_w=100.0, weight_kg=None)
    heavy = replace(unknown, weight_kg=100.0)
    racks = fill([unknown, unknown, unknown, heavy, heavy], limits, Site())
    assert [len(rack) for rack in racks] == [4, 1]


@pytest.mark.parametrize(
    ("site", "rule", "said"),
    [
        (Site(rack_height_u=52, hall=Hall(door_height_m=2.1)), "HAL002", "42 U pass"),
        (Site(hall=Hall(door_width_m=0.65)), "HAL003", "0.65 m or less"),
        (Site(rack_height_u=60, hall=Hall(height_m=2.8)), "HAL004", "53 U stand"),
    ],
)
def test_a_rack_that_does_not_get_in(site: Site, rule: str, said: str) -> None:
    """Doors and heights are checked for one rack, and the help says which rack would pass."""
    found = room_findings(site, load().systems["dgx-h100"])
    assert [finding.id for finding in found] == [rule]
    assert said in found[0].help


@pytest.mark.parametrize(
    ("system", "method", "rule"),
    [
        ("gb200-nvl72", "air", "CLG001"),
        ("gb200-nvl72", "direct-to-chip", None),
        ("dgx-h100", "immersion", "CLG002"),
        ("dgx-h100", "rear-door", None),
        ("dgx-a100-640gb", "immersion", "CLG002"),
    ],
)
def test_cooling_suits_the_system(system: str, method: str, rule: str | None) -> None:
    """Cold plates need their loop, and servers with fans no bath."""
    found = room_findings(Site(cooling=method), load().systems[system])
    assert [finding.id for finding in found] == ([] if rule is None else [rule])


@given(places=st.integers(3, 60))
@settings(max_examples=12, deadline=None)
def test_the_largest_cluster_of_a_hall(places: int) -> None:
    """What is said to fit fits, and one node more does not."""
    site = Site(hall=Hall(racks=places))
    most = _most(site, most=300)
    if most:
        held = _design(most, site=site)
        assert held.findings == ()
        assert held.racks <= places
    if most < 300:
        over = _design(most + 1, site=site)
        assert [finding.id for finding in over.findings] == ["HAL001"]
        assert ("not even one" if most == 0 else f"{most} nodes fit") in over.findings[0].help


def test_every_limit_of_the_hall_is_reported_at_once() -> None:
    """Racks, power and UPS are three findings, each with the nodes that fit."""
    site = Site(power_limit_w=300e3, hall=Hall(rows=1, racks=99), plant=Plant(ups_va=200e3))
    findings = _design(128, site=site).findings
    assert [finding.id for finding in findings] == ["HAL001", "PWR001", "PWR002"]
    assert len({finding.help.split(" nodes fit")[0] for finding in findings}) == 1
