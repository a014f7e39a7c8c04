"""Floor plan, check-list, procurement and power chain: what they show is what the design says."""

import datetime as dt
import re
import xml.etree.ElementTree as ET
from functools import cache

import pytest

from clusterwright.catalog.load import load
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.checklist.items import Check
from clusterwright.facility.checklist.page import checks
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import ROCE, DesignRules, FabricChoice, Feed, Hall, Plant, RowLayout, Site
from clusterwright.facility.spares import LeadTimes, Spares
from clusterwright.outputs.folder import File
from clusterwright.outputs.onprem.documents import documents
from clusterwright.sizing.records.run import StorageNeed

SVG = "{http://www.w3.org/2000/svg}"
NEED = StorageNeed(
    dataset_bytes=1.2e12,
    checkpoint_bytes_kept=24e12,
    capacity_bytes=90e12,
    read_bytes_per_s=10e9,
    write_bytes_per_s=20e9,
)


def _design(nodes: int, *, site: Site, rules: DesignRules | None = None, system: str = "dgx-h100") -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems[system], nodes=nodes, storage=NEED, site=site, catalogue=catalogue, rules=rules
    )


def _documents(design: OnPremDesign) -> dict[str, File]:
    return documents(design, load(), title="trial", made_on=dt.date(2026, 11, 20))


def _checks(design: OnPremDesign) -> dict[str, Check]:
    catalogue = load()
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    cables = wire(design.inventory, standing, site=design.site, rules=design.rules)
    found = checks(design, standing, cables, catalogue)
    assert len({check.item for check in found}) == len(found)
    return {check.item: check for check in found}


@cache
def _plans(nodes: int, per_row: int, places: int | None) -> dict[str, ET.Element]:
    site = Site(rows=RowLayout(racks_per_row=per_row), hall=Hall(racks=places))
    return {
        name: ET.fromstring(file.content)  # noqa: S314 - our own file
        for name, file in _documents(_design(nodes, site=site)).items()
        if name.startswith("floor_plan")
    }


@pytest.mark.parametrize(
    ("nodes", "per_row", "places", "sheets"),
    [(40, 20, None, 1), (40, 6, 30, 1), (127, 3, None, 2), (127, 5, None, 1), (160, 60, 120, 2)],
)
def test_every_rack_is_on_one_sheet(nodes: int, per_row: int, places: int | None, sheets: int) -> None:
    """No rack is missing or drawn twice, nothing leaves the page, and a sheet can be read on A3."""
    plans = _plans(nodes, per_row, places)
    assert len(plans) == sheets
    words = [element.text or "" for plan in plans.values() for element in plan.iter(f"{SVG}text")]
    names = [text for text in words if re.fullmatch(r"[A-Z]+\d\d", text)]
    site = Site(rows=RowLayout(racks_per_row=per_row), hall=Hall(racks=places))
    assert len(names) == len(set(names)) == _design(nodes, site=site).racks
    for plan in plans.values():
        width, height = float(plan.attrib["width"]), float(plan.attrib["height"])
        for box in plan.iter(f"{SVG}rect"):
            if "x" in box.attrib:
                assert float(box.attrib["x"]) + float(box.attrib["width"]) <= width
                assert float(box.attrib["y"]) + float(box.attrib["height"]) <= height
        smallest = min(float(text.attrib["font-size"]) for text in plan.iter(f"{SVG}text"))
        mm = min(400 / width, 277 / height)
        assert smallest * mm >= 1.5


def test_aisles_are_as_wide_as_given() -> None:
    """Between two rows that stand back to back is the hot aisle, then a cold one, at one scale."""
    plan = _plans(40, 6, 30)["floor_plan.svg"]
    tall: dict[str, set[float]] = {}
    for box in plan.iter(f"{SVG}rect"):
        tip = box.find(f"{SVG}title")
        if tip is not None and (tip.text or "").endswith("aisle"):
            tall.setdefault(tip.text or "", set()).add(float(box.attrib["height"]))
    assert max(tall["cold aisle"]) / max(tall["hot aisle"]) == pytest.approx(1.8 / 1.2, rel=1e-3)


def test_check_list_without_a_hall() -> None:
    """What nobody gave is unknown, never passed."""
    found = _checks(_design(40, site=Site()))
    for item in ("power of the hall", "places for racks", "height of doors", "rating of the UPS"):
        assert (found[item].verdict, found[item].limit) == ("unknown", "not given")
    assert found["one PDU of a rack fails"].verdict == "pass"
    assert found["one of 3 feeds fails"].verdict == "unknown"
    assert found["checkpoint bandwidth"].found == "20.0 GB/s asked"
    assert (found["checkpoint bandwidth"].limit, found["checkpoint bandwidth"].verdict) == ("unknown", "unknown")
    assert found["capacity"].verdict == "pass"


def test_check_list_of_a_hall_that_suits() -> None:
    """Every item of the room passes where all is given and holds."""
    site = Site(
        rack_height_u=52,
        rack_frame_kg=180,
        power_limit_w=2e6,
        cooling="air",
        cooling_limit_w=57.2e3,
        hall=Hall(racks=40, height_m=4, door_height_m=2.7, door_width_m=1.2, floor_load_kg_per_m2=1500),
        feed=Feed(sources=3),
        plant=Plant(ups_va=2e6),
    )
    found = _checks(_design(40, site=site))
    assert {item for item, check in found.items() if check.verdict == "fail"} == set()
    for item in ("places for racks", "height of doors", "width of doors", "height of racks", "rating of the UPS"):
        assert found[item].verdict == "pass"
    assert found["heat of the fullest rack"].verdict == "pass"
    assert found["floor load of the heaviest rack"].found.startswith("835 kg/m2")


@pytest.mark.parametrize(
    ("site", "item"),
    [
        (Site(feed=Feed(sources=2)), "one of 2 feeds fails"),
        (
            Site(feed=Feed(name="400 V DC", current="direct", line_v=400, breaker_a=100)),
            "voltage suits the power supplies",
        ),
        (Site(power_limit_w=100e3), "power of the hall"),
        (Site(hall=Hall(racks=5)), "places for racks"),
        (Site(plant=Plant(ups_va=100e3)), "rating of the UPS"),
        (Site(cooling_limit_w=57e3, rack_height_u=40), "height of racks"),
        (Site(rows=RowLayout(rack_depth_m=0.9)), "width and depth of racks"),
    ],
)
def test_each_fault_is_on_the_list(site: Site, item: str) -> None:
    """A hall with one thing wrong fails at that item, and the page says so above the table."""
    design = _design(40, site=site)
    assert _checks(design)[item].verdict == "fail"
    page = _documents(design)["checklist.md"].content.decode()
    assert f"- **Fails:** {item}" in page


def test_check_list_of_ethernet() -> None:
    """RoCE is what the list asks for too."""
    found = _checks(_design(40, site=Site(), rules=DesignRules(fabric=FabricChoice(kind=ROCE))))
    assert found["compute fabric"].verdict == "pass"
    assert found["compute fabric"].found.startswith("eth")


def test_check_list_looks_at_every_rack() -> None:
    """Breakers, ratings and outlets are those of the racks that ask most; a PDU of unknown rating is not passed."""
    found = _checks(_design(127, site=Site()))
    breakers, rating = (
        found["breakers of feeds after one of a rack has failed, at 80 %"],
        found["rating of PDUs after one of a rack has failed"],
    )
    assert (breakers.found, breakers.limit, breakers.verdict) == ("45.3 A on the fullest phase (A08)", "48.0 A", "pass")
    assert (rating.found, rating.limit, rating.verdict) == ("30.4 kVA (A08)", "34.5 kVA", "pass")
    assert (found["outlets of a PDU"].found, found["outlets of a PDU"].limit) == ("24 cords (A11)", "24")
    unknown = Feed(name="380 V AC", line_v=380, breaker_a=32, pdu="rack-pdu")
    assert (
        _checks(_design(40, site=Site(feed=unknown)))["rating of PDUs after one of a rack has failed"].verdict
        == "unknown"
    )


def test_one_row_is_singular() -> None:
    """A number of one has its noun in the singular."""
    plan = ET.tostring(_plans(40, 20, None)["floor_plan.svg"], encoding="unicode")
    assert " in 1 row, " in plan


def test_spares_and_lead_times() -> None:
    """The page counts what the bill holds, and names whose lead time is missing."""
    rules = DesignRules(spares=Spares(nodes=0.03, switches=0.1), lead_times=LeadTimes(switches=20 * 7 * 86400.0))
    design = _design(40, site=Site(), rules=rules)
    page = _documents(design)["procurement.md"].content.decode()
    assert "| nodes | 40 | 2 | 3 % | given | unknown |" in page
    assert re.search(r"\| switches \| \d+ \| \d+ \| 10 % \| given \| 20 weeks \|", page)
    assert "Ask the vendors for: nodes, transceivers" in page
    bought = [line for line in design.bill.lines if line.sku == "dgx-h100"]
    assert [line.quantity for line in bought] == [40, 2]


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (Site(feed=Feed(sources=2)), "| one of 2 feeds | 1 of 3 | 2 | **too few: the nodes stop or slow down** |"),
        (Site(pue=1.25, plant=Plant(mean_load=0.7)), "| **70 %** (as given) |"),
        (Site(plant=Plant(ups_va=900e3, ups_efficiency=0.96)), "At 96.0 % it loses"),
        (Site(cooling="rear-door", plant=Plant(cdu_heat_w=1e6)), "Coolant distribution units: 2, 1 of them spare"),
        (Site(cooling="air", cooling_limit_w=35e3), "Of compute racks another limit binds: air carries 35.0 kW away"),
        (Site(), "| 490 W | 8.5 kW |"),
    ],
)
def test_power_chain_page(site: Site, said: str) -> None:
    """The page says what was given, and what follows from it."""
    assert said in _documents(_design(40, site=site))["power_and_cooling.md"].content.decode()


def test_no_row_of_whole_racks_fails_against_itself() -> None:
    """A rack of 150.0 kW stands in a limit of 150.0 kW, and NDR is NDR whatever cages the trays have."""
    site = Site(rack_power_w=150e3, cooling="direct-to-chip", cooling_limit_w=150e3)
    found = _checks(_design(8, site=site, system="gb200-nvl72"))
    rows = ("power of the rack nearest to its limit", "heat of the fullest rack", "compute fabric")
    assert [found[item].verdict for item in rows] == ["pass"] * 3
    assert found["compute fabric"].found == "ndr-single, 2 levels, 41 switches"
    assert found["GPUs of a rack"].found == "72 in 1 node"
    shelves = found["rating of power shelves after one has failed"]
    assert (shelves.found, shelves.limit, shelves.verdict) == ("21.4 kW (A01)", "33.0 kW", "pass")
    feeds = found["one of 2 feeds fails"]
    assert (feeds.found, feeds.limit, feeds.verdict) == ("4 supplies of a node left", "5 needed", "unknown")
    assert "3 or more keep enough" in feeds.note


def test_fewer_supplies_than_needed_do_not_pass() -> None:
    """DGX B200 keeps 4 of 6 supplies when a PDU fails and needs 5: that fails, and the row says what 4 are good for."""
    found = _checks(_design(8, site=Site(rack_power_w=28.6e3), system="dgx-b200"))["one PDU of a rack fails"]
    assert (found.found, found.limit, found.verdict) == ("4 supplies of a node left", "5 needed", "fail")
    assert "3 keep the nodes running at lower power" in found.note


def test_the_check_list_names_what_is_not_known() -> None:
    """A rating that is not given, a rate that is not published, and a system without cold plates."""
    found = _checks(_design(1, site=Site()))
    assert found["rating of the UPS"].limit == "not given"
    assert found["checkpoint bandwidth"].note.endswith("have the vendor confirm it")
    assert found["liquid where the system needs it"].found == "no heat into liquid"
    rated = _checks(_design(1, site=Site(plant=Plant(ups_va=100e3))))
    assert rated["rating of the UPS"].limit == "100.0 kVA"


def _words(content: bytes) -> list[str]:
    return [element.text or "" for element in ET.fromstring(content).iter(f"{SVG}text")]  # noqa: S314 - our own file


@pytest.mark.parametrize("nodes", [7, 512])
def test_every_drawing_has_a_title_block(nodes: int) -> None:
    """Project, revision, date, scale and sheet are on each drawing; the sheets of the racks count on."""
    drawings = {name: file.content for name, file in _documents(_design(nodes, site=Site())).items() if ".svg" in name}
    assert {"racks.svg", "fabric.svg", "floor_plan.svg"} <= drawings.keys()
    for name, content in drawings.items():
        words = _words(content)
        block = dict(zip(words[-10::2], words[-9::2], strict=True))
        assert list(block) == ["project and drawing", "revision", "date", "scale", "sheet"], name
        assert block["project and drawing"].startswith("trial: ")
        assert re.fullmatch(r"[0-9a-f]{8}", block["revision"])
        assert block["date"] == "2026-11-20"
    racks = [_words(content)[-1] for name, content in drawings.items() if name.startswith("racks")]
    assert racks == [f"{number} of {len(racks)}" for number in range(1, len(racks) + 1)]


def test_the_revision_follows_what_is_drawn() -> None:
    """Another hall gives another revision of the floor plan and the same one of the networks."""
    one, other = (_documents(_design(7, site=Site(hall=Hall(height_m=height)))) for height in (3.0, 4.0))
    revisions = {
        name: [_words(files[name].content)[-7] for files in (one, other)] for name in ("floor_plan.svg", "fabric.svg")
    }
    assert len(set(revisions["floor_plan.svg"])) == 2
    assert len(set(revisions["fabric.svg"])) == 1


def test_racks_are_drawn_from_behind_with_their_feeds() -> None:
    """Each rack has a rear view with its PDUs, and panels close exactly the units that no device takes."""
    design = _design(7, site=Site())
    root = ET.fromstring(_documents(design)["racks.svg"].content)  # noqa: S314 - our own file
    tips = [element.text or "" for element in root.iter(f"{SVG}title")]
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    for rack in standing:
        strips = [tip for tip in tips if re.fullmatch(rf"PDU \d+ of rack {rack.name}", tip)]
        assert len(strips) == rack.pdus
    blanks = [re.fullmatch(r"blanking panels U(\d+)(?:–U(\d+))?", tip) for tip in tips]
    closed = sum(int(found[2] or found[1]) - int(found[1]) + 1 for found in blanks if found)
    assert closed == sum(rack.height_u - rack.used_u for rack in standing)


def test_power_shelves_of_a_rack_stand_in_their_units() -> None:
    """A rack that is delivered whole has no PDUs at its sides: its eight shelves feed a busbar."""
    site = Site(rack_power_w=160e3)
    files = _documents(_design(2, site=site, system="gb200-nvl72"))
    root = ET.fromstring(files["racks.svg"].content)  # noqa: S314 - our own file
    tips = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert sum(bool(re.fullmatch(r"power shelf \d of rack A\d+", tip)) for tip in tips) == 16
    whole = {tip.split()[-1] for tip in tips if tip.startswith("power shelf")}
    assert not [tip for tip in tips if tip.startswith("PDU") and tip.split()[-1] in whole]


@pytest.mark.parametrize("rules", [None, DesignRules(fabric=FabricChoice(kind=ROCE))])
def test_the_networks_are_drawn_with_rates_and_parts(rules: DesignRules | None) -> None:
    """Every link of the cable list is in a line of the picture, and each network has its switches and rate."""
    design = _design(40, site=Site(), rules=rules)
    files = _documents(design)
    words = _words(files["fabric.svg"].content)
    lines = [re.fullmatch(r"(\S+) ([^:]+): ([\d,]+) × .*", text) for text in words]
    counted = sum(int(found[3].replace(",", "")) for found in lines if found)
    assert counted == sum(design.cables.values())
    assert {found[1] for found in lines if found} == {"compute", "storage", "in-band", "out-of-band"}
    inventory = design.inventory
    for text in (f"{inventory.storage_fabric.leaf} leaf", f"{inventory.oob_switches} access", "1 Gb/s", "400 Gb/s"):
        assert text in words


def test_the_floor_plan_says_what_the_site_decides() -> None:
    """Doors, feeds, cooling, clearance and trays are said as far as they are given, and else to be the site's."""
    bare, given = (
        " ".join(_words(_documents(_design(7, site=site))["floor_plan.svg"].content))
        for site in (Site(), Site(cooling="rear-door", hall=Hall(door_height_m=2.5, door_width_m=1.1, height_m=4.0)))
    )
    assert "Doors on the way in: by the site" in bare
    assert "Cooling: method by the site" in bare
    assert "Doors on the way in: height 2.5 m, width 1.1 m" in given
    assert "Cooling: rear-door" in given
    assert "Height of the room: 4 m" in given
    for words in ("Feeds: 415 V AC, breakers of 60 A", "cold aisle 1.8 m", "2.7 m above the floor", "3 feeds"):
        assert words in bare


def test_the_order_of_work_names_documents_of_the_folder() -> None:
    """Each document of a step is one that the folder's table has too."""
    table, _, order = _documents(_design(7, site=Site()))["README.md"].content.decode().partition("## Order of work")
    named = re.findall(r"`([^`]+)`", order.partition("## What was decided")[0])
    assert len(named) > 10
    assert [name for name in named if name not in table and not name.startswith("--")] == []
