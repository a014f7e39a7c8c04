"""Where racks of switches stand: every rack once, and no arrangement tried is shorter than the chosen one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.facility.cabling.cables import Spot, run_m
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.cabling.placement import CANDIDATES, in_order, run_between_racks_m, shortest, widened
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import RowLayout, Site

from .examples import storage_need

ARRANGEMENTS = (*CANDIDATES, "start", "end")


@given(
    compute=st.integers(1, 90),
    others=st.integers(0, 60),
    per_row=st.integers(1, 25),
    arrangement=st.sampled_from(ARRANGEMENTS),
)
def test_every_rack_stands_once_and_in_order(*, compute: int, others: int, per_row: int, arrangement: str) -> None:
    """Nothing is lost, and racks of a kind keep their order."""
    nodes = list(range(compute))
    rest = list(range(1000, 1000 + others))
    order = in_order(nodes, rest, arrangement=arrangement, per_row=per_row)
    assert [rack for rack in order if rack < 1000] == nodes
    assert [rack for rack in order if rack >= 1000] == rest


def test_middle_rows() -> None:
    """Ten racks in rows of four, two of switches: they stand in the middle of the middle row."""
    order = in_order("abcdefgh", "XY", arrangement="middle-rows", per_row=4)
    assert ["".join(order[start : start + 4]) for start in (0, 4, 8)] == ["abcd", "eXYf", "gh"]
    every = in_order("abcdefgh", "XYZ", arrangement="every-row", per_row=4)
    assert ["".join(every[start : start + 4]) for start in (0, 4, 8)] == ["abXc", "deYf", "gZh"]


def test_large_halls_get_longer_rows() -> None:
    """A hall of more than 20 rows becomes about as wide as deep, unless its rows are given."""
    rows = RowLayout(widen=True)
    assert widened(400, rows) == rows
    assert widened(3200, RowLayout()) == RowLayout()
    wide = widened(3200, rows)
    depth_m = wide.row_y_m(-(-3200 // wide.racks_per_row))
    assert depth_m == pytest.approx(wide.racks_per_row * wide.rack_width_m, rel=0.1)


def test_length_of_one_link() -> None:
    """Two racks apart in a row are 1.4 m; the next row over the hot aisle is 2.4 m, over the cold one 3 m more."""
    rows = RowLayout(racks_per_row=3)
    assert run_between_racks_m({(0, 2): 1}, range(3), rows) == pytest.approx(1.4)
    assert run_between_racks_m({(0, 3): 2}, range(4), rows) == pytest.approx(2 * 2.4)
    assert run_between_racks_m({(0, 6): 1}, range(7), rows) == pytest.approx(5.4)
    assert shortest([0, 1], [2], {(0, 2): 1}, rows) == CANDIDATES[0]


def test_a_cable_in_one_rack_goes_to_the_side_and_back() -> None:
    """Neighbours of 1 U need 0.04 m of height, 0.45 m to the side and back and 0.4 m of slack: not half a metre."""
    rows = RowLayout()
    low, high = (Spot(rack="A01", u=u, x_m=0, y_m=0, z_m=0.1 + u * 0.04445) for u in (1, 2))
    assert run_m(low, high, rows) == pytest.approx(0.04445 + 0.45 + 0.4)
    catalogue = load()
    design = _design(31, "auto")
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    cables = wire(design.inventory, standing, site=design.site, rules=design.rules)
    copper = [cable for cable in cables if cable.from_rack == cable.to_rack and cable.kind == "dac"]
    assert copper
    assert all(cable.length_m >= 1 for cable in copper)


def _design(nodes: int, switch_racks: str) -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=nodes,
        storage=storage_need(),
        catalogue=catalogue,
        site=Site(rows=RowLayout(racks_per_row=10, switch_racks=switch_racks)),
    )


def _run_m(design: OnPremDesign) -> float:
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    cables = wire(design.inventory, standing, site=design.site, rules=design.rules)
    return sum(cable.run_m for cable in cables if cable.network != "out-of-band")


def test_the_chosen_place_has_the_shortest_cables() -> None:
    """Of 127 nodes in rows of ten, every arrangement is measured: none is shorter than the chosen one."""
    chosen = _design(127, "auto")
    assert chosen.site.rows.switch_racks in CANDIDATES
    lengths = {name: _run_m(_design(127, name)) for name in ARRANGEMENTS}
    assert _run_m(chosen) == pytest.approx(min(lengths.values()))
    assert lengths["end"] > 1.05 * min(lengths.values())
    assert replace(chosen.site.rows, switch_racks="auto") == RowLayout(racks_per_row=10)
