"""Failures of PDUs and feeds, breakers, heat, floor: published rules, limiting cases, and sums that must hold."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.facility.checklist.items import within
from clusterwright.facility.hall.floor_load import floor_load
from clusterwright.facility.hall.power_chain import (
    breaker_needed_a,
    cdu_count,
    heat_of,
    loss,
    rack_va,
    source_loads,
    supply_rule,
)
from clusterwright.facility.hall.racks import Device, Placement, Rack
from clusterwright.facility.site import DesignRules, Feed, Hall, Plant, RowLayout, Site
from clusterwright.facility.spares import Spares, kind_of_part


def rack(*, power_w: float = 40.8e3, weight_kg: float | None = 521.8, pdus: int = 3) -> Rack:
    """One rack with one device that weighs and draws all of it."""
    device = Device(name="d", sku="thing", role="compute", height_u=32, power_w=power_w, weight_kg=weight_kg)
    return Rack(
        name="A01",
        row=0,
        slot=0,
        kind="compute",
        placements=(Placement(device=device, u=1),),
        height_u=48,
        power_limit_w=42e3,
        pdus=pdus,
    )


@pytest.mark.parametrize(
    ("system", "rule", "pdus", "lost", "left", "outcome"),
    [
        ("dgx-h100", "4+2", 3, 1, 4, "goes on"),
        ("dgx-h100", "4+2", 3, 2, 2, "too few"),
        ("dgx-h100", "4+2", 2, 1, 3, "too few"),
        ("dgx-b200", "5+1", 3, 1, 4, "slows"),
        ("dgx-b200", "5+1", 3, 2, 2, "too few"),
        ("dgx-b300", "6+6 (N+N)", 2, 1, 6, "goes on"),
        ("dgx-b300", "6+6 (N+N)", 3, 1, 8, "goes on"),
        ("dgx-a100-640gb", "3+3 (N+N)", 2, 1, 3, "goes on"),
    ],
)
def test_rules_of_supplies(  # noqa: PLR0917 - one column each
    system: str, rule: str, pdus: int, lost: int, left: int, outcome: str
) -> None:
    """What vendors publish of their supplies is what happens when PDUs fail."""
    node = load().systems[system]
    found = loss(node, pdus=pdus, lost=lost)
    assert supply_rule(node.psu_count, node.psu_needed) == rule
    assert (found.supplies_left, found.outcome) == (left, outcome)


def test_a_rule_that_nobody_publishes() -> None:
    """Without it nothing is said of the supplies; without any PDU no node goes on."""
    node = replace(load().systems["dgx-h100"], psu_needed=None)
    assert supply_rule(node.psu_count, node.psu_needed) == "unknown"
    assert loss(node, pdus=2, lost=1).outcome == "unknown"
    assert loss(node, pdus=2, lost=2).outcome == "too few"


racks = st.lists(st.builds(rack, power_w=st.floats(1e3, 150e3), pdus=st.integers(2, 6)), min_size=1, max_size=12)


@given(standing=racks, sources=st.integers(2, 4))
def test_feeds_carry_all_of_it(standing: Sequence[Rack], sources: int) -> None:
    """The loads of all feeds are the load of all racks; when one fails, none of the others carries less."""
    feed, rules = Feed(sources=sources), DesignRules()
    loads = source_loads(standing, feed, rules)
    total = sum(rack_va(entry.power_w, feed, rules) for entry in standing)
    assert sum(load.va for load in loads) == pytest.approx(total)
    assert all(load.worst_va >= load.va * (1 - 1e-9) for load in loads)
    assert all(load.worst_va <= total * (1 + 1e-9) for load in loads)


def test_two_feeds_and_two_pdus() -> None:
    """With A and B, each carries half, and all of it when the other fails."""
    loads = source_loads([rack(pdus=2)], Feed(sources=2), DesignRules(power_factor=1.0))
    assert [(load.name, load.va, load.worst_va) for load in loads] == [("A", 20.4e3, 40.8e3), ("B", 20.4e3, 40.8e3)]


@pytest.mark.parametrize(
    ("line_a", "needed", "sold"), [(48.0, 60.0, 60.0), (80.0, 100.0, 100.0), (25.5, 31.9, 32.0), (1391.0, 1739.0, None)]
)
def test_breakers(line_a: float, needed: float, sold: float | None) -> None:
    """48 A all the time need the 60 A of the reference racks; what no breaker carries is said to be so."""
    rating, found = breaker_needed_a(line_a)
    assert rating == pytest.approx(needed, rel=2e-3)
    assert found == sold


@pytest.mark.parametrize(
    ("system", "cooling", "liquid_w"),
    [
        ("dgx-h100", None, 0.0),
        ("dgx-h100", "direct-to-chip", 0.0),
        ("dgx-h100", "rear-door", 120e3),
        ("gb200-nvl72", "direct-to-chip", 85e3),
        ("gb200-nvl72", "immersion", 100e3),
    ],
)
def test_heat_goes_somewhere(system: str, cooling: str | None, liquid_w: float) -> None:
    """Liquid and air together are all heat."""
    heat = heat_of(compute_w=100e3, it_w=120e3, system=load().systems[system], site=Site(cooling=cooling))
    assert heat.liquid_w == pytest.approx(liquid_w)
    assert heat.liquid_w + heat.air_w == pytest.approx(120e3)


def test_cooling_units() -> None:
    """8 racks of 150 kW with 85 % in liquid take one unit of 1.3 MW and a spare one; their size unknown, no number."""
    liquid_w = 8 * 150e3 * 0.85
    assert cdu_count(liquid_w, Site(plant=Plant(cdu_heat_w=1.3e6))) == 2
    assert cdu_count(liquid_w, Site(plant=Plant(cdu_heat_w=0.5e6, cdu_spare=0))) == 3
    assert cdu_count(liquid_w, Site()) is None
    assert cdu_count(0.0, Site()) == 0


@pytest.mark.parametrize(
    ("weight_kg", "frame_kg", "limit", "verdict"),
    [
        (521.8, 180.0, 1500.0, "pass"),
        (521.8, None, 1500.0, "unknown"),
        (None, 180.0, 1500.0, "unknown"),
        (521.8, None, 600.0, "fail"),
        (521.8, 180.0, None, "unknown"),
    ],
)
def test_floor(weight_kg: float | None, frame_kg: float | None, limit: float | None, verdict: str) -> None:
    """A load passes only where all of it is known; what is known may already be too much."""
    site = Site(rack_frame_kg=frame_kg, rows=RowLayout(), hall=Hall(floor_load_kg_per_m2=limit))
    assert floor_load(rack(weight_kg=weight_kg), site, load().systems["dgx-h100"]).verdict == verdict


@pytest.mark.parametrize("frame_kg", [None, 0.0])
def test_floor_at_its_limit(frame_kg: float | None) -> None:
    """A load of just the limit passes; an unknown frame adds nothing to what is known."""
    site = Site(rack_frame_kg=frame_kg, rows=RowLayout(rack_width_m=1.0, rack_depth_m=1.0))
    site = replace(site, hall=Hall(floor_load_kg_per_m2=521.8))
    found = floor_load(rack(weight_kg=521.8), site, load().systems["dgx-h100"])
    assert (found.known_kg, found.kg_per_m2) == (521.8, 521.8)
    assert found.verdict == ("unknown" if frame_kg is None else "pass")


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(150_000.0, "pass"), (150_000.03, "pass"), (150_001.0, "fail"), (150_100.0, "fail"), (149_999.0, "pass")],
)
def test_a_limit_is_kept_to_the_rounding_of_published_figures(value: float, verdict: str) -> None:
    """150.0 of 150.0 kW passes although the trays' published watts sum to 30 mW more; a watt more fails."""
    assert within(value, 150_000.0) == verdict
    assert within(0.1 + 0.2, 0.3) == "pass"
    assert within(value, None) == "unknown"


def test_floor_of_four_systems() -> None:
    """Four DGX H100 in a rack of 180 kg on 0.84 m2 are 835 kg/m2."""
    load_kg = floor_load(rack(weight_kg=4 * 130.45), Site(rack_frame_kg=180), load().systems["dgx-h100"])
    assert load_kg.kg_per_m2 == pytest.approx(835.5, abs=0.1)


def test_a_whole_rack_is_weighed_with_its_frame() -> None:
    """GB200 NVL72 weighs 1,360 kg as it is delivered: 1,889 kg/m2 on 0.6 x 1.2 m, all of it known."""
    site = Site(rows=RowLayout(rack_width_m=0.6), hall=Hall(floor_load_kg_per_m2=2000))
    found = floor_load(rack(weight_kg=1360), site, load().systems["gb200-nvl72"])
    assert found.known_kg == 1360
    assert found.kg_per_m2 == pytest.approx(1888.9, abs=0.1)
    assert (found.unknown, found.verdict) == ((), "pass")


@given(quantity=st.integers(0, 10_000), share=st.floats(0, 1))
def test_spares_are_whole_and_enough(quantity: int, share: float) -> None:
    """Never fewer than the share asks, never a whole one too many."""
    count = Spares(cables=share).count("cables", quantity)
    assert quantity * share - 1e-6 <= count < quantity * share + 1


def test_kinds_of_parts() -> None:
    """Every price key of a bill is of a kind."""
    catalogue = load()
    keys = ("dgx-h100", "qm9700", "mma4z00-ns", "aoc-200g", "raritan-px3-5878", "legrand-nvidpd13", "vast-cbox-gen6")
    assert [kind_of_part(key, catalogue) for key in (*keys, "ufm-enterprise-appliance")] == [
        "nodes",
        "switches",
        "transceivers",
        "cables",
        "pdus",
        "racks",
        "storage",
        "management",
    ]
