"""Small rules of facility, each at and beside its limit, without a whole design."""

from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from clusterwright.catalog.load import load
from clusterwright.errors import RuleError
from clusterwright.facility.cabling import reach
from clusterwright.facility.cabling.cables import RACK_LATERAL_M, RACK_SLACK_M, Cages, Spot, lay, run_m, spots
from clusterwright.facility.cabling.devices import _device, whole_racks
from clusterwright.facility.cabling.links import End, Link
from clusterwright.facility.checklist.page import _density, _network, _or_unknown, _physical
from clusterwright.facility.checklist.power import _shelves, _survives, _unless_unknown
from clusterwright.facility.fabric.system import _check_size
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN
from clusterwright.facility.hall.power_chain import GOES_ON
from clusterwright.facility.site import DesignRules, RowLayout, Site, SiteNetwork
from clusterwright.facility.spares import WEEK_S
from clusterwright.facility.storage.file_system import _expense


def _record(**values: object) -> Any:  # noqa: ANN401 - stands for a record of which a rule reads these fields alone
    return SimpleNamespace(**values)


def test_defaults_are_those_of_the_blueprints_schema() -> None:
    """Rows of 20 racks, VLANs from 100 on; a week of lead time has seven days."""
    from clusterwright.blueprint.sections.site import SiteNetwork as Asked  # noqa: PLC0415 - of the same name

    assert RowLayout().racks_per_row == 20
    assert SiteNetwork().first_vlan == Asked().first_vlan == 100
    assert WEEK_S == 604_800


def test_capacity_of_lustre_weighs_as_much_as_150_mb_per_s() -> None:
    """A TiB at 250 MB/s costs as much as 400 / 275 TiB at 125 MB/s, within 0.03 %."""

    def expense(gib: int, rate: int) -> float:
        return _expense(_record(capacity_gib=gib, tier=_record(mb_per_s_per_tib=rate)))

    assert expense(3999, 125) < expense(2750, 250) < expense(4001, 125)


def test_amounts_of_the_check_list_are_unknown_or_in_their_unit() -> None:
    """A pass with something left out of the sum is unknown; a failure stays one."""
    assert _or_unknown(2.5e9, 1e9, "GB/s given") == "2.5 GB/s given"
    assert _or_unknown(None, 1e9, "GB/s given") == UNKNOWN
    assert _unless_unknown(PASS, ["a part"]) == UNKNOWN
    assert _unless_unknown(PASS, []) == PASS
    assert _unless_unknown(FAIL, ["a part"]) == FAIL


def test_supplies_that_a_node_needs_are_named() -> None:
    """Their number, or that it is unknown."""
    left = _record(outcome=GOES_ON, supplies_left=4)
    known = _survives("one PDU fails", left, _record(psu_count=6, psu_needed=4, psu_needed_slowed=None))
    unknown = _survives("one PDU fails", left, _record(psu_count=6, psu_needed=None, psu_needed_slowed=None))
    assert (known.limit, known.found, known.verdict) == ("4 needed", "4 supplies of a node left", PASS)
    assert unknown.limit == "unknown"


def test_shelves_carry_a_rack_when_one_has_failed() -> None:
    """Five shelves of a rack of 120 kW bear 30 kW each without one of them."""
    part = _record(device=_record(sku="shelf", supplies=1))
    rack = _record(shelves=5, power_w=120e3, placements=[part], name="R1")
    catalogue: Any = _record(parts={"shelf": _record(power_capacity_w=33e3)})
    (check,) = _shelves([rack], catalogue)
    assert check.found == "30.0 kW (R1)"
    assert check.verdict == PASS
    catalogue.parts["shelf"].power_capacity_w = 29e3
    assert next(_shelves([rack], catalogue)).verdict == FAIL


@pytest.mark.parametrize(
    ("width_m", "depth_m", "verdict"), [(0.6, 1.1, PASS), (0.6, 1.0, FAIL), (0.5, 1.2, FAIL), (0.7, 1.2, PASS)]
)
def test_racks_are_at_least_0_6_by_1_1_m(
    width_m: float, depth_m: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rack of exactly that size passes, a smaller one in either direction does not."""
    load = _record(kg_per_m2=1000.0, unknown=(), rack="R1", verdict=PASS)
    monkeypatch.setattr("clusterwright.facility.checklist.page.floor_load", lambda *_: load)
    site = _record(
        rows=_record(rack_width_m=width_m, rack_depth_m=depth_m),
        rack_height_u=48,
        places=None,
        hall=_record(floor_load_kg_per_m2=None),
    )
    found = islice(_physical(_record(site=site), [_record()], _record()), 3)
    checks = {check.item: check for check in found}
    assert checks["width and depth of racks"].verdict == verdict


def test_power_of_a_device_is_its_most_or_else_what_is_typical() -> None:
    """A height that nobody publishes is drawn as one unit."""
    part = _record(height_u=None, power_max_w=None, power_typical_w=90.0, weight_kg=1.0)
    catalogue: Any = _record(switches={}, parts={"x": part})
    assert (_device("a", "x", "leaf", catalogue).power_w, _device("a", "x", "leaf", catalogue).height_u) == (90.0, 1)
    part.power_max_w, part.height_u = 120.0, 2
    assert (_device("a", "x", "leaf", catalogue).power_w, _device("a", "x", "leaf", catalogue).height_u) == (120.0, 2)
    assert _device("a", "y", "leaf", catalogue).power_w is None


def test_pdus_hang_at_half_height() -> None:
    """In the middle of 48 units."""
    rack: Any = _record(name="A01", slot=0, row=0, placements=[], height_u=48, pdus=1)
    assert spots([rack], RowLayout())["pdu-a01-1"].u == 24


def test_a_cable_within_a_rack_never_goes_to_the_tray() -> None:
    """Between racks it goes up, along and down."""
    rows = RowLayout()
    low, high = (Spot(rack="A", u=1, x_m=0.0, y_m=0.0, z_m=z) for z in (0.5, 1.5))
    other = Spot(rack="B", u=1, x_m=3.0, y_m=4.0, z_m=0.5)
    assert run_m(low, high, rows) == pytest.approx(1.0 + RACK_LATERAL_M + RACK_SLACK_M)
    assert run_m(low, other, rows) == pytest.approx(2 * (rows.tray_height_m - 0.5) + 7.0 + rows.slack_m)


@pytest.mark.parametrize(("square", "tried"), [(1, [1, 2]), (2, [2, 1, 4]), (6, [6, 3, 12])])
def test_rows_half_and_twice_as_long_as_a_square_are_tried(
    square: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each length once, never none."""
    monkeypatch.setattr(reach.placement, "square_rows", lambda *_: square)
    nothing: Any = None
    changes = islice(reach._changes(nothing, 9, Site(), nothing, nothing), len(tried))
    assert [site.rows.racks_per_row for site, _ in changes] == tried


def test_a_system_has_at_least_one_node_and_no_more_than_its_units() -> None:
    """Both ends of the range are in it."""
    for count in (1, 72):
        _check_size(count, units=4, per_unit=18)
    for count in (0, 73):
        with pytest.raises(RuleError):
            _check_size(count, units=4, per_unit=18)
    _check_size(10_000, units=None, per_unit=18)


def test_one_is_distinguished_from_several_on_the_check_list() -> None:
    """One level, one switch and one node of a rack; two of each are levels, switches and nodes."""

    def words(number: int) -> tuple[str, str]:
        inventory = _record(
            compute_family="ndr-single",
            gpus=8 * number,
            nodes=number,
            compute=_record(levels=number, switches=number),
            fabric=_record(levels=number, switches=number),
        )
        site = _record(rack_power_w=42e3, rack_height_u=48)
        (density,) = _density(_record(nodes_per_rack=number, inventory=inventory, site=site))
        network = next(_network(_record(inventory=inventory, compute=inventory.fabric, fabric=inventory.fabric), ()))
        return density.found, network.found

    assert words(1) == ("8 in 1 node", "ndr-single, 1 level, 1 switch")
    assert words(2) == ("16 in 2 nodes", "ndr-single, 2 levels, 2 switches")


def _links(count: int, *, port: int = 0) -> list[Link]:
    """Return links from the ports of a leaf to those of a spine, in order."""
    ends = [
        (End(device="leaf", port=number, kind="switch"), End(device="spine", port=port + number, kind="switch"))
        for number in range(count)
    ]
    return [Link(network="compute", tier="leaf-spine", family="ndr", a=a, b=b) for a, b in ends]


_SPOTS = {name: Spot(rack="A", u=unit, x_m=0.0, y_m=0.0, z_m=0.04 * unit) for name, unit in (("leaf", 9), ("spine", 3))}


def test_one_cable_joins_two_twin_cages() -> None:
    """Four links between two pairs of cages of two ports are two cables of two links each, numbered from 1."""
    laid = lay(links=_links(4), where=_SPOTS, rows=RowLayout(), cages=Cages(switch=2))
    assert [cable.id for cable in laid] == ["C000001", "C000001", "C000002", "C000002"]
    assert {cable.kind for cable in laid} == {"dac"}


def test_cages_that_are_not_joined_in_pairs_get_a_cable_for_each_link() -> None:
    """Ports 0 and 1 of one cage that lead to two cages cannot share a cable; nor can one link alone."""
    for links in (_links(2, port=1), _links(1)):
        laid = lay(links=links, where=_SPOTS, rows=RowLayout(), cages=Cages(switch=2))
        assert [cable.id for cable in laid] == [f"C{number:06d}" for number in range(1, len(links) + 1)]
        assert "dac" not in {cable.kind for cable in laid}


def test_trays_of_a_delivered_rack_stand_one_above_the_other() -> None:
    """Each takes one of the 48 units, and none stands where another does."""
    inventory: Any = _record(system="gb200-nvl72", nodes=2, hosts=lambda: iter(f"n{n}" for n in range(36)))
    inventory.hosts_per_node = 18
    for rack in whole_racks(inventory, load(), DesignRules()):
        taken = [unit for place in rack for unit in range(place.u, place.u + place.device.height_u)]
        assert len(taken) == len(set(taken)) == len(rack) > 18


@pytest.mark.parametrize(("node_w", "rack_w"), [(10_000.0, 60_000.0), (10_001.0, 61_000.0), (10_005.0, 61_000.0)])
def test_a_rack_of_six_nodes_is_fed_for_all_six(node_w: float, rack_w: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whole kilowatts, rounded up; where six stand they are proposed, where something else binds they are not."""
    system: Any = _record(height_u=8)
    catalogue: Any = _record(systems={"s": system})
    inventory: Any = _record(hosts_per_node=1, system="s")
    rules: Any = _record(node=None)
    monkeypatch.setattr(reach, "as_told", lambda system, _: system)
    monkeypatch.setattr(reach, "node_power_w", lambda *_: node_w)
    monkeypatch.setattr(reach, "node_height_u", lambda _: 8)
    for standing, is_proposed in ((6, True), (5, False)):
        rack = _record(kind="compute", placements=[None] * standing)
        monkeypatch.setattr(reach, "lay_out", lambda *_, rack=rack, **__: [rack])
        found = reach._fuller(inventory, Site(rack_power_w=40_000.0), rules, catalogue)
        assert (found is not None) is is_proposed
        if found is not None:
            assert found[0].rack_power_w == rack_w >= 6 * node_w
