"""Power cords, phases and what is left when a PDU fails: worked examples and sums that must hold."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.facility.hall.power_cords import cords_of, pdu_load, supply_cords
from clusterwright.facility.hall.racks import Device
from clusterwright.facility.site import DesignRules, Feed

RULES = DesignRules(power_factor=0.95)


def devices(count: int, *, power_w: float | None = 10.2e3, supplies: int = 6) -> list[Device]:
    """Return equal devices, such as DGX H100."""
    return [
        Device(
            name=f"n{number}",
            sku="thing",
            role="compute",
            height_u=8,
            power_w=power_w,
            weight_kg=None,
            supplies=supplies,
        )
        for number in range(count)
    ]


def test_eight_supplies_on_three_phases() -> None:
    """4 DGX H100 on 3 PDUs: 3, 3 and 2 supplies on the legs, 33.6 A on the fullest when a PDU fails and not 29.9 A."""
    cords = cords_of(devices(4), pdus=3, feed=Feed())
    for pdu in range(3):
        legs = [cord.leg for cord in cords if cord.pdu == pdu]
        assert sorted(legs.count(leg) for leg in "ABC") == [2, 3, 3]
    load = pdu_load(devices(4), pdus=3, feed=Feed(), rules=RULES)
    assert load.failed_va == pytest.approx(4 * 10.2e3 / 0.95 / 2)
    assert load.line_a == pytest.approx(3 / 8 * load.failed_va / (415 / sqrt(3)))
    assert (round(load.line_a, 1), round(load.even_a, 1)) == (33.6, 29.9)


def test_legs_between_two_lines() -> None:
    """At 208 V a supply hangs between two lines: 3, 3 and 2 give the lines sqrt(27), sqrt(19) and sqrt(19) supplies."""
    load = pdu_load(devices(4), pdus=3, feed=Feed(line_v=208), rules=RULES)
    each_a = load.failed_va / 8 / 208
    assert load.line_a == pytest.approx(sqrt(27) * each_a)
    assert load.even_a == pytest.approx(8 / 3 * sqrt(3) * each_a)


def test_three_supplies_are_even() -> None:
    """Supplies that three divides load the phases evenly; direct current has none."""
    three = devices(3, supplies=2)
    even = pdu_load(three, pdus=2, feed=Feed(), rules=RULES)
    assert even.line_a == pytest.approx(even.even_a)
    direct = Feed(line_v=400, current="direct")
    assert {cord.leg for cord in cords_of(three, pdus=2, feed=direct)} == {""}
    assert pdu_load(three, pdus=2, feed=direct, rules=RULES).line_a == pytest.approx(3 * 10.2e3 / 400)


@given(
    watts=st.lists(st.floats(10, 5e3), min_size=1, max_size=30),
    supplies=st.integers(1, 6),
    pdus=st.integers(2, 3),
    volts=st.sampled_from([208.0, 415.0]),
)
def test_nothing_of_the_load_is_lost(*, watts: list[float], supplies: int, pdus: int, volts: float) -> None:
    """Every supply has one outlet, no line carries less than an even share, no PDU more than the rack."""
    rack = [
        Device(
            name=f"d{number}",
            sku="thing",
            role="network",
            height_u=1,
            power_w=power_w,
            weight_kg=None,
            supplies=supplies,
        )
        for number, power_w in enumerate(watts)
    ]
    feed = Feed(line_v=volts)
    cords = cords_of(rack, pdus=pdus, feed=feed)
    assert len({(cord.pdu, cord.outlet) for cord in cords}) == len(cords) == len(rack) * supplies
    assert max(cord.outlet for cord in cords) + 1 <= supply_cords(rack, pdus=pdus)
    assert sum(cord.draw_w or 0.0 for cord in cords) == pytest.approx(sum(watts))
    load = pdu_load(rack, pdus=pdus, feed=feed, rules=RULES)
    assert load.line_a >= load.even_a * (1 - 1e-9)
    assert load.failed_va <= sum(watts) / 0.95 * (1 + 1e-9)
    assert load.failed_va >= load.alive_va * (1 - 1e-9) or supplies < pdus


def test_trays_on_a_busbar_have_no_cords() -> None:
    """A device without supplies of its own has no cord and loads no PDU."""
    assert cords_of(devices(18, supplies=0), pdus=0, feed=Feed()) == []
