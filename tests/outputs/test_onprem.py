"""The on-premises folder: tables that add up, pictures that hold what they say, a workbook that recalculates."""

import csv
import datetime as dt
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import openpyxl
import pytest

from clusterwright.catalog.load import load
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.cabling.layout import lay_out
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS
from clusterwright.facility.site import DesignRules, FabricChoice, Site
from clusterwright.outputs.folder import File
from clusterwright.outputs.onprem.bill.tables import PartPrice, bill_csv
from clusterwright.outputs.onprem.documents import documents
from clusterwright.outputs.onprem.power.sheet import power_and_cooling
from clusterwright.outputs.tables import csv_text, safe
from clusterwright.sizing.records.run import StorageNeed

GOLDEN = Path(__file__).parent / "golden" / "onprem"
SVG = "{http://www.w3.org/2000/svg}"
PRICES = {
    "dgx-h100": PartPrice(unit_usd=300_000.0, basis="documented", source="=HYPERLINK(1)", date="2024-08-01"),
    "qm9700": PartPrice(unit_usd=40_000.0, basis="assumed", source="maintainers", date="2026-11-20"),
}


NEED = StorageNeed(
    dataset_bytes=1.2e12,
    checkpoint_bytes_kept=24e12,
    capacity_bytes=90e12,
    read_bytes_per_s=10e9,
    write_bytes_per_s=20e9,
)


@cache
def _design(nodes: int, *, purchase: str = FULL_UNITS) -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=nodes,
        storage=NEED,
        site=Site(pue=1.3),
        catalogue=catalogue,
        rules=DesignRules(fabric=FabricChoice(purchase=purchase)),
    )


@cache
def _documents(nodes: int, *, purchase: str = FULL_UNITS) -> dict[str, File]:
    return documents(
        _design(nodes, purchase=purchase), load(), title="trial", made_on=dt.date(2026, 11, 20), prices=PRICES
    )


def _rows(name: str, nodes: int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_documents(nodes)[name].content.decode())))


def test_two_runs_give_the_same_bytes() -> None:
    """The same design gives the same bytes, the workbook included."""
    again = documents(_design(40), load(), title="trial", made_on=dt.date(2026, 11, 20), prices=PRICES)
    assert {name: file.content for name, file in _documents(40).items()} == {
        name: file.content for name, file in again.items()
    }


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "power_and_cooling.md",
        "checklist.md",
        "procurement.md",
        "fabric.csv",
        "racks.csv",
        "bill_of_materials.csv",
        "storage.md",
    ],
)
def test_golden(name: str) -> None:
    """Seven nodes on one switch read as they were read and found right."""
    assert _documents(7, purchase=AS_NEEDED)[name].content.decode() == (GOLDEN / name).read_text()


def test_cable_schedule() -> None:
    """Every row names two placed devices, a length, and a label with both ends; no port appears twice."""
    rows = _rows("cables.csv", 40)
    places = {row["device"]: (row["rack"], row["u"]) for row in _rows("racks.csv", 40)}
    ends: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        for side in ("from", "to"):
            device = row[f"{side}_device"]
            if not device.startswith("pdu-"):
                assert places[device] == (row[f"{side}_rack"], row[f"{side}_u"])
            ends[row["network"], device, row[f"{side}_port"]] += 1
        assert float(row["length_m"]) > 0
        assert f"{row['from_device']}:{row['from_port']} - {row['to_device']}:{row['to_port']}" in row["label"]
    assert max(ends.values()) == 1
    assert len(rows) == sum(_design(40).cables.values())


def test_fabric_table_agrees_with_the_schedule() -> None:
    """Ports per tier in fabric.csv are those of cables.csv, and no tier has fewer ports than cables."""
    fabric = {(row["network"], row["tier"]): row for row in _rows("fabric.csv", 127)}
    tiers = Counter((row["network"], row["tier"]) for row in _rows("cables.csv", 127))
    assert (
        int(fabric["compute", "leaf"]["ports_down"]) == tiers["compute", "node-leaf"] + tiers["compute", "manager-leaf"]
    )
    assert int(fabric["compute", "leaf"]["ports_up"]) == tiers["compute", "leaf-spine"] == 1024
    assert int(fabric["storage", "leaf"]["ports_up"]) == tiers["storage", "leaf-spine"]
    assert int(fabric["in-band", "leaf"]["ports_up"]) == tiers["in-band", "leaf-aggregation"] == 24
    assert int(fabric["out-of-band", "access"]["ports_down"]) == tiers["out-of-band", "management"]
    assert all(int(row["ports_free"]) >= 0 for row in fabric.values())


def test_rack_elevations() -> None:
    """Every device and every rack stands in the picture, with power against the limit and a tooltip."""
    design = _design(40)
    root = ET.fromstring(_documents(40)["racks.svg"].content)  # noqa: S314 - our own file
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    for host in design.inventory.hosts():
        assert host in words
    assert sum(text.startswith("Rack ") for text in words) == design.racks
    assert sum("of 42.0 kW" in text for text in words) == design.racks - design.network_racks - design.service_racks
    tips = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(re.fullmatch(r"node001: dgx-h100, U1–U8, 10,200 W", tip) for tip in tips)
    right = float(root.attrib["width"])
    assert all(float(box.attrib["x"]) + float(box.attrib["width"]) <= right for box in _boxes(root))


def test_elevations_of_a_large_hall_are_pages() -> None:
    """512 nodes have an index that links pages of 60 racks; every rack is on one, and no page is too large to open."""
    files = {name: file.content for name, file in _documents(512).items() if name.startswith("racks")}
    index = ET.fromstring(files.pop("racks.svg"))  # noqa: S314 - our own file
    files.pop("racks.csv")
    assert [link.attrib["href"] for link in index.iter(f"{SVG}a")] == list(files)
    assert len(files) == -(-_design(512).racks // 60) > 1
    drawn = [
        text.text
        for content in files.values()
        for text in ET.fromstring(content).iter(f"{SVG}text")  # noqa: S314 - our own files
        if (text.text or "").startswith("Rack ")
    ]
    assert len(drawn) == len(set(drawn)) == _design(512).racks
    assert max(len(content) for content in files.values()) < 400_000


def _boxes(root: ET.Element) -> list[ET.Element]:
    return [box for box in root.iter(f"{SVG}rect") if "x" in box.attrib]


@pytest.mark.parametrize(
    ("nodes", "units", "more"), [(40, ["SU1", "SU2"], ""), (512, ["SU1", "SU2", "SU3", "SU4", "SU16"], "11 more")]
)
def test_fabric_picture(nodes: int, units: list[str], more: str) -> None:
    """The picture shows each unit, or the first and the last of many, with its cables."""
    root = ET.fromstring(_documents(nodes)["fabric.svg"].content)  # noqa: S314 - our own file
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert [text.split(":")[0] for text in words if text.startswith("SU")] == units
    assert words.count("256 cables") == len(units)
    assert not more or more in words


def test_power_page() -> None:
    """The page has the sums, the PUE and that a full rack holds after losing a PDU."""
    page = _documents(40)["power_and_cooling.md"].content.decode()
    power = _design(40).power
    assert f"**{power.it_w / 1e3:,.1f} kW**" in page
    assert f"{power.annual_it_kwh:,.0f} kWh" in page
    assert "losing one leaves 2 with 21.5 kVA each: they carry it" in page
    assert "Not in the sums, because unknown" in page
    assert "capped" not in page


def test_air_is_of_all_heat_where_a_liquid_carries_most() -> None:
    """A rack of GB200 gives 85 % to cold plates: its figure of air is what it would need without them."""
    site = Site(cooling="direct-to-chip", rack_power_w=160e3)
    system = load().systems["gb200-nvl72"]
    design = design_onprem(system=system, nodes=2, storage=NEED, site=site, catalogue=load())
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    page = power_and_cooling(design, standing, load(), title="trial")
    assert "| Air, if all heat went into it |" in page
    assert "Air is what a rack would need without its liquid" in page
    assert "\n| Air |" in _documents(40)["power_and_cooling.md"].content.decode()


def test_power_page_with_a_cap() -> None:
    """The page says what it was made for, and what must be set for it to hold."""
    design = replace(_design(7), rules=replace(_design(7).rules, power_cap_w=500.0))
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    page = power_and_cooling(design, standing, load(), title="trial")
    assert "each GPU capped at 500 W" in page
    assert "nvidia-smi -pl 500" in page


def _workbook(content: bytes) -> dict[str, list[list[object]]]:
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    return {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}


def test_workbook_sums() -> None:
    """Cached values of the workbook are those of the bill: known prices are summed, unknown ones counted."""
    design = _design(40)
    content = _documents(40)["bill_of_materials.xlsx"].content
    bill = _workbook(content)["Bill of materials"]
    known = 40 * 300_000 + sum(line.quantity for line in design.bill.lines if line.sku == "qm9700") * 40_000
    count = len(design.bill.lines)
    quoted = sum(row["price_basis"] == "to be quoted" for row in _rows("bill_of_materials.csv", 40))
    count += quoted
    assert bill[count + 1][7] == pytest.approx(known)
    assert bill[count + 2][7] == sum(line.sku not in PRICES for line in design.bill.lines) + quoted
    assert bill[count + 3][7] == pytest.approx(40 * 300_000 / known)
    formulas = openpyxl.load_workbook(io.BytesIO(content))["Bill of materials"]
    formula = '=IF(AND(ISNUMBER(M2),N2="USD"),E2*M2,IF(ISNUMBER(G2),E2*G2,"unknown"))'
    assert formulas["H2"].value == formula


def test_nothing_of_a_source_becomes_a_formula() -> None:
    """A source that looks like a formula stays a text in the workbook and is quoted in the CSV."""
    with zipfile.ZipFile(io.BytesIO(_documents(40)["bill_of_materials.xlsx"].content)) as book:
        assert "HYPERLINK" not in book.read("xl/worksheets/sheet1.xml").decode()
        assert "=HYPERLINK(1)" in book.read("xl/sharedStrings.xml").decode()
    assert "'=HYPERLINK(1)" in _documents(40)["bill_of_materials.csv"].content.decode()
    assert [safe(text) for text in ("=1", "+1", "-1", "@x", "\tx", "a=1")] == [
        "'=1",
        "'+1",
        "'-1",
        "'@x",
        "'\tx",
        "a=1",
    ]
    assert csv_text(("a",), [(-1.5,), (None,)]) == 'a\n-1.5\n""\n'


def test_unknown_price_is_never_zero() -> None:
    """A line without a price has empty cells and says unknown."""
    line = BillLine(
        sku="x", item="thing", category="network", quantity=3, unit="each", charge="once", scales_with="cluster"
    )
    row = next(csv.DictReader(io.StringIO(bill_csv(Bill(target="onprem", lines=(line,)), {}))))
    assert (row["usd_each"], row["usd_total"], row["price_basis"]) == ("", "", "unknown")


@pytest.mark.engine
def test_spreadsheet_program_recalculates_to_the_same(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """LibreOffice, told to recalculate, gets every number that was cached, and no formula error."""
    require_engine("soffice")
    office = str(shutil.which("soffice"))
    content = _documents(40)["bill_of_materials.xlsx"].content
    (tmp_path / "bill.xlsx").write_bytes(content)
    profile = tmp_path / "profile"
    (profile / "user").mkdir(parents=True)
    # Without this setting LibreOffice shows the cached values of files that it did not write.
    (profile / "user" / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        '<item oor:path="/org.openoffice.Office.Calc/Formula/Load">'
        '<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item></oor:items>'
    )
    subprocess.run(
        [
            office,
            f"-env:UserInstallation={profile.as_uri()}",
            "--headless",
            "--convert-to",
            "xlsx:Calc MS Excel 2007 XML",
            "--outdir",
            str(tmp_path / "out"),
            str(tmp_path / "bill.xlsx"),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    ours, theirs = _workbook(content), _workbook((tmp_path / "out" / "bill.xlsx").read_bytes())
    assert ours.keys() == theirs.keys()
    for name, rows in ours.items():
        for row, recalculated in zip(rows, theirs[name], strict=False):
            for cell, other in zip(row, recalculated, strict=False):
                if isinstance(cell, int | float):
                    assert other == pytest.approx(cell, rel=1e-9), (name, row)
                else:
                    assert (other or "") == (cell or ""), (name, row)


def test_what_only_a_vendor_can_price_is_a_line_without_an_amount() -> None:
    """Cords as NetBox has them, licences, freight and the border's far side: quantities, and no price, not 0."""
    rows = {row["part"]: row for row in _rows("bill_of_materials.csv", 40) if row["price_basis"] == "to be quoted"}
    cords = len(_rows("netbox/7-power-cables.csv", 40))
    quantities = {part: int(row["quantity"]) for part, row in rows.items()}
    assert quantities == {
        "power-cord": cords,
        "border-firewall": 2,
        "uplink-far-end": 4,
        "nvidia-ai-enterprise": 320,
        "fabric-manager-licence": 4,
        "freight": 1,
        "installation": 1,
        "support": 1,
    }
    assert {row[column] for row in rows.values() for column in ("usd_each", "usd_total")} == {""}
    page = _documents(40)["bill_of_materials.md"].content.decode()
    assert f"| {cords:,} | each | unknown | unknown | to be quoted |" in page
    assert "8 lines are to be quoted: no price of them is known, and the sum is without them." in page


def test_makers_numbers_are_named_where_a_source_has_them() -> None:
    """A transceiver has the maker's number; a part named by its kind has none, to be named in the quote."""
    numbers = {row["part"]: row["maker_part_number"] for row in _rows("bill_of_materials.csv", 40)}
    assert (numbers["mma4z00-ns-flt"], numbers["aoc-100g"]) == ("MMA4Z00-NS-FLT", "")


def test_every_uplink_has_a_port_of_its_own() -> None:
    """Uplinks are dealt out over the border switches, at ports without another cable, where the switches stand."""
    rows, cables = _rows("uplinks.csv", 40), _rows("cables.csv", 40)
    ports = [(row["from_device"], row["from_port"]) for row in rows]
    assert ports == [("border-01", "64"), ("border-02", "64"), ("border-01", "63"), ("border-02", "63")]
    assert not {*ports} & {(row["to_device"], row["to_port"]) for row in cables}
    places = {row["device"]: row["rack"] for row in _rows("racks.csv", 40)}
    assert all(row["from_rack"] == places[row["from_device"]] and not row["length_m"] for row in rows)
