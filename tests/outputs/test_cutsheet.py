"""The cable list: every port once, in a technician's order, with labels that fit."""

import csv
import datetime as dt
import io
from collections import Counter

import openpyxl
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.design import design_onprem
from clusterwright.facility.site import Site
from clusterwright.outputs.onprem.cutsheet import LABEL_WIDTH, cables_csv, cables_xlsx, in_order, labels_csv
from clusterwright.sizing.records.run import StorageNeed


def cables_of(nodes: int, rack_power_w: float = 44e3) -> list[Cable]:
    """Return the cables of a design in the order of the list."""
    catalogue = load()
    design = design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=nodes,
        storage=StorageNeed(
            dataset_bytes=1e12,
            checkpoint_bytes_kept=1e12,
            capacity_bytes=9e13,
            read_bytes_per_s=1e9,
            write_bytes_per_s=1e9,
        ),
        site=Site(rack_power_w=rack_power_w),
        catalogue=catalogue,
    )
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    return in_order(wire(design.inventory, standing, site=design.site, rules=design.rules))


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(text)))


@settings(max_examples=12)
@given(nodes=st.integers(1, 160), rack_power_w=st.sampled_from([15e3, 26e3, 44e3]))
def test_every_port_has_one_cable(nodes: int, rack_power_w: float) -> None:
    """Whatever the size and the racks: a port is named once, a cable joins two devices and is long enough."""
    cables = cables_of(nodes, rack_power_w)
    rows = rows_of(cables_csv(cables))
    ends = Counter(
        (row["network"], row[f"{side}_device"], row[f"{side}_port"]) for row in rows for side in ("from", "to")
    )
    assert len(rows) == len(cables)
    assert max(ends.values()) == 1
    assert all(row["from_device"] != row["to_device"] for row in rows)
    assert all(cable.length_m >= cable.run_m for cable in cables)


def test_the_order_is_that_of_the_racks() -> None:
    """Network by network, rack by rack, bottom up; port 10 after port 9, rack A10 after A9."""
    cables = cables_of(127)
    keys = [(cable.network, int(cable.from_rack[1:]) + 100 * ord(cable.from_rack[0]), cable.from_u) for cable in cables]
    assert keys == sorted(keys)
    leaf = [cable.from_port for cable in cables if (cable.from_device, cable.network) == ("leaf-01-1", "compute")]
    assert leaf == sorted(leaf, key=lambda port: [int(part) for part in port.split("/")])


def test_labels_say_both_ends_and_fit() -> None:
    """Two labels per link, the near end first; no line is longer than the label is wide."""
    cables = cables_of(40)
    rows = rows_of(labels_csv(cables))
    assert len(rows) == 2 * len(cables)
    first, second = rows[0], rows[1]
    one = cables[0]
    assert first["line_1"] == second["line_1"] == f"{one.id} {one.length_m:g} m"
    assert first["line_2"] == f"{one.from_rack} U{one.from_u:02d} {one.from_device}:{one.from_port}"
    assert (first["line_2"], first["line_3"]) == (second["line_3"], second["line_2"])
    assert max(len(row[f"line_{number}"]) for row in rows for number in range(1, 6)) <= LABEL_WIDTH


def test_the_workbook_holds_the_same_rows() -> None:
    """A sheet per network with every link, the same in two runs, and columns to tick off."""
    cables = cables_of(7)
    content = cables_xlsx(cables, made_on=dt.date(2026, 11, 20))
    assert content == cables_xlsx(cables, made_on=dt.date(2026, 11, 20))
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert book.sheetnames == ["compute", "in-band", "out-of-band", "storage"]
    listed = [str(row[0]) for sheet in book for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert listed == [cable.id for cable in cables]
    titles = [cell.value for cell in book["compute"][1]]
    assert titles[-3:] == ["laid", "tested", "by"]
