"""What NetBox imports: tables that refer to each other completely, in words that NetBox knows."""

import csv
import datetime as dt
import io
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.facility.design import design_onprem
from clusterwright.facility.site import Site
from clusterwright.facility.storage.demand import AskedStorage, BoxFigures
from clusterwright.outputs.folder import File
from clusterwright.outputs.onprem.documents import documents
from clusterwright.sizing.records.run import StorageNeed

#: Types that NetBox 4 lists (dcim/choices.py: InterfaceTypeChoices, CableTypeChoices), as far as the design uses them.
INTERFACE_TYPES = {"1000base-t", "100gbase-x-qsfp28", "infiniband-hdr", "400gbase-x-osfp", "800gbase-x-osfp", "other"}
CABLE_TYPES = {"dac-passive", "aoc", "mmf-om4", "smf", "cat6", ""}
#: Columns that the import forms of NetBox 4 take (netbox/dcim/forms/bulk_import.py), those that must be filled first.
IMPORT_COLUMNS = {
    "0-manufacturers.csv": (("name", "slug"), ("description", "tags")),
    "2-device-roles.csv": (("name", "slug"), ("color", "vm_role", "config_template", "description", "tags")),
    "3-sites.csv": (("name", "slug", "status"), ("region", "group", "tenant", "facility", "description", "tags")),
    "4-racks.csv": (
        ("site", "name", "status"),
        (
            "location",
            "facility_id",
            "tenant",
            "role",
            "rack_type",
            "serial",
            "asset_tag",
            "width",
            "u_height",
            "weight",
        ),
    ),
    "5-devices.csv": (
        ("name", "role", "manufacturer", "device_type", "site", "status"),
        ("rack", "position", "face", "serial", "asset_tag", "airflow", "description", "comments", "tags"),
    ),
    "6-interfaces.csv": (("device", "name", "type"), ("label", "enabled", "mgmt_only", "speed", "mtu", "tags")),
    "6-power-ports.csv": (("device", "name"), ("label", "type", "mark_connected", "maximum_draw", "allocated_draw")),
    "6-power-outlets.csv": (("device", "name"), ("label", "type", "power_port", "feed_leg", "description")),
    "4-power-panels.csv": (("site", "name"), ("location", "description", "tags")),
    "5-power-feeds.csv": (
        ("site", "power_panel", "name", "status", "type", "supply", "phase"),
        ("rack", "location", "voltage", "amperage", "max_utilization", "mark_connected", "tenant", "description"),
    ),
    "7-power-feed-cables.csv": (
        ("side_a_power_panel", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"),
        ("type", "status", "label", "color", "length", "length_unit", "description", "tags"),
    ),
    # netbox/ipam/forms/bulk_import.py
    "8-vlans.csv": (("vid", "name", "status"), ("site", "group", "tenant", "role", "description", "tags")),
    "8-prefixes.csv": (
        ("prefix", "status"),
        ("vrf", "tenant", "vlan_group", "vlan_site", "vlan", "role", "is_pool", "description", "tags"),
    ),
    "9-ip-addresses.csv": (
        ("address", "status"),
        ("vrf", "tenant", "role", "device", "interface", "dns_name", "is_oob", "description", "tags"),
    ),
    **dict.fromkeys(
        ("7-cables.csv", "7-power-cables.csv"),
        (
            ("side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"),
            ("type", "status", "tenant", "label", "color", "length", "length_unit", "description", "tags"),
        ),
    ),
}
#: Keys of a device type that NetBox takes (its importer's form), as far as they are used.
TYPE_KEYS = {"manufacturer", "model", "slug", "u_height", "is_full_depth", "weight", "weight_unit"}
SHIPPED = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"


@cache
def files() -> dict[str, File]:
    """Return the NetBox files of the shipped blueprint's own cluster."""
    design = plan_of(SHIPPED, None, "onprem").options[0].design.facility
    assert design is not None
    written = documents(design, load(), title="trial", made_on=dt.date(2026, 11, 20))
    return {name.removeprefix("netbox/"): file for name, file in written.items() if name.startswith("netbox/")}


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of one table."""
    return list(csv.DictReader(io.StringIO(files()[name].content.decode())))


def test_devices_refer_to_what_is_imported_before_them() -> None:
    """Every maker, device type, role and rack of a device is in a table or file with a lower number."""
    types = [YAML(typ="safe").load(file.content.decode()) for name, file in files().items() if name.endswith(".yaml")]
    known = {(one["manufacturer"], one["model"]) for one in types}
    makers = {row["name"] for row in rows("0-manufacturers.csv")}
    roles = {row["name"] for row in rows("2-device-roles.csv")}
    racks = {row["name"] for row in rows("4-racks.csv")}
    assert len({one["slug"] for one in types}) == len(types)
    for row in rows("5-devices.csv"):
        assert (row["manufacturer"], row["device_type"]) in known
        assert row["manufacturer"] in makers
        assert row["role"] in roles
        assert row["rack"] in racks


def test_no_two_devices_share_a_unit() -> None:
    """NetBox refuses a device in a unit that is taken, or above the rack."""
    types = {
        (one["manufacturer"], one["model"]): one["u_height"]
        for one in (YAML(typ="safe").load(f.content.decode()) for n, f in files().items() if n.endswith(".yaml"))
    }
    heights = {row["name"]: int(row["u_height"]) for row in rows("4-racks.csv")}
    taken: set[tuple[str, int]] = set()
    for row in rows("5-devices.csv"):
        if not row["position"]:
            continue
        height = types[row["manufacturer"], row["device_type"]]
        units = range(int(row["position"]), int(row["position"]) + height)
        assert units[-1] <= heights[row["rack"]]
        assert not {(row["rack"], unit) for unit in units} & taken
        taken |= {(row["rack"], unit) for unit in units}


def test_every_cable_joins_two_interfaces_once() -> None:
    """Both ends of every cable are interfaces of imported devices, and no interface has two cables."""
    devices = {row["name"] for row in rows("5-devices.csv")}
    interfaces = rows("6-interfaces.csv")
    named = {(row["device"], row["name"]) for row in interfaces}
    assert len(named) == len(interfaces)
    assert {row["device"] for row in interfaces} <= devices
    assert {row["type"] for row in interfaces} <= INTERFACE_TYPES
    ends: set[tuple[str, str]] = set()
    cables = rows("7-cables.csv")
    for row in cables:
        for side in "ab":
            end = (row[f"side_{side}_device"], row[f"side_{side}_name"])
            assert row[f"side_{side}_type"] == "dcim.interface"
            assert end in named
            assert end not in ends
            ends.add(end)
        assert row["type"] in CABLE_TYPES
        assert (float(row["length"]) > 0, row["length_unit"]) == (True, "m")
    assert ends == named


def test_columns_are_those_of_the_import_forms() -> None:
    """Every table has the columns that must be there, only columns that the form takes, and no required cell empty."""
    tables = {name for name in files() if name.endswith(".csv")}
    assert tables == set(IMPORT_COLUMNS)
    for name, (required, possible) in IMPORT_COLUMNS.items():
        listed = rows(name)
        assert set(required) <= set(listed[0]) <= {*required, *possible}, name
        assert all(row[column] for row in listed for column in required), name
        assert not any(value.startswith(("=", "+", "-", "@")) for row in listed for value in row.values())


def test_addresses_are_of_ports_that_are_imported_before_them() -> None:
    """Every address is there once, with a device and one of its interfaces where it has one; VLANs are those listed."""
    interfaces = {(row["device"], row["name"]) for row in rows("6-interfaces.csv")}
    addresses = rows("9-ip-addresses.csv")
    assert len({row["address"] for row in addresses}) == len(addresses) > 400
    assert {(row["device"], row["interface"]) for row in addresses if row["device"]} <= interfaces
    vlans = {row["vid"] for row in rows("8-vlans.csv")}
    assert {row["vlan"] for row in rows("8-prefixes.csv")} - {""} <= vlans


def test_device_types_have_keys_that_netbox_takes() -> None:
    """A key that the importer does not know would be refused; heights are multiples of half a unit."""
    for name, file in files().items():
        if name.endswith(".yaml"):
            one = YAML(typ="safe").load(file.content.decode())
            assert {"manufacturer", "model", "slug"} <= set(one) <= TYPE_KEYS
            assert one["u_height"] * 2 == int(one["u_height"] * 2)
            assert set(one["slug"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


def test_power_cords_join_supplies_and_outlets_once() -> None:
    """Six supplies of a node on its rack's three strips, two on each; the draws add up to the nameplate."""
    ports = {(row["device"], row["name"]): row for row in rows("6-power-ports.csv")}
    outlets = {(row["device"], row["name"]) for row in rows("6-power-outlets.csv")}
    assert len(ports) == len(rows("6-power-ports.csv"))
    joined = rows("7-power-cables.csv")
    inlets = {(device, name) for device, name in ports if name == "inlet"}
    assert {(row["side_a_device"], row["side_a_name"]) for row in joined} == set(ports) - inlets
    assert {(row["side_b_device"], row["side_b_name"]) for row in joined} == outlets
    assert len(joined) == len(ports) - len(inlets) == len(outlets)
    own = [row["side_b_device"] for row in joined if row["side_a_device"] == "node001"]
    assert sorted(own) == ["pdu-a01-1", "pdu-a01-1", "pdu-a01-2", "pdu-a01-2", "pdu-a01-3", "pdu-a01-3"]
    assert sum(int(row["maximum_draw"]) for (device, _), row in ports.items() if device == "node001") == 10_200


@pytest.mark.parametrize("name", ["compute-1/1", "mgmt"])
def test_a_node_has_its_ports(name: str) -> None:
    """A node's compute ports are named by network, cage and port, its management port as everybody names it."""
    ports = {row["name"] for row in rows("6-interfaces.csv") if row["device"] == "node001"}
    assert name in ports


@pytest.mark.parametrize("system", ["pure", "ddn", "netapp", "lustre"])
def test_storage_boxes_of_every_maker(system: str) -> None:
    """Slugs are what NetBox takes for slugs, of makers with two words too, and the height is that of the offer."""
    box = BoxFigures(
        capacity_bytes=500e12,
        read_bytes_per_s=40e9,
        write_bytes_per_s=20e9,
        ports=4,
        port_bytes_per_s_one_way=50e9,
        height_u=5,
    )
    catalogue = load()
    design = design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=2,
        storage=StorageNeed(
            dataset_bytes=1e12,
            checkpoint_bytes_kept=1e12,
            capacity_bytes=3e12,
            read_bytes_per_s=1e9,
            write_bytes_per_s=1e9,
        ),
        site=Site(),
        catalogue=catalogue,
        asked_storage=AskedStorage(system=system, box=box, front_box=replace(box, height_u=1)),
    )
    written = documents(design, catalogue, title="trial", made_on=dt.date(2026, 11, 20))
    types = [YAML(typ="safe").load(file.content.decode()) for name, file in written.items() if "1-device-types" in name]
    makers = csv.DictReader(io.StringIO(written["netbox/0-manufacturers.csv"].content.decode()))
    for slug in [*(entry["slug"] for entry in types), *(row["slug"] for row in makers)]:
        assert re.fullmatch(r"[-a-z0-9_]+", slug), slug
    (stored,) = [entry for entry in types if entry["u_height"] == 5]
    assert stored["slug"].endswith(design.inventory.storage.data.part.removeprefix(f"{system}-"))


def test_legs_of_a_strip_are_even() -> None:
    """Every outlet has its leg; eight supplies on a strip are 3, 3 and 2, and a rack's 24 are 8 on each leg."""
    strips: dict[str, Counter[str]] = {}
    for row in rows("6-power-outlets.csv"):
        strips.setdefault(row["device"], Counter())[row["feed_leg"]] += 1
        assert row["power_port"] == "inlet"
    assert sorted(strips["pdu-a01-1"].values()) == [2, 3, 3]
    assert sum((strips[f"pdu-a01-{number}"] for number in (1, 2, 3)), Counter()) == {"A": 8, "B": 8, "C": 8}


def test_every_strip_hangs_on_a_feed_of_its_own() -> None:
    """Feeds are those of imported panels and racks, each is cabled once, and strips of a rack have different panels."""
    panels = {row["name"] for row in rows("4-power-panels.csv")}
    feeds = {(row["power_panel"], row["name"]): row["rack"] for row in rows("5-power-feeds.csv")}
    assert {panel for panel, _ in feeds} == panels == {"feed-A", "feed-B", "feed-C"}
    assert set(feeds.values()) == {row["name"] for row in rows("4-racks.csv")}
    cables = rows("7-power-feed-cables.csv")
    assert [(row["side_a_power_panel"], row["side_a_name"]) for row in cables] == list(feeds)
    inlets = {row["device"] for row in rows("6-power-ports.csv") if row["name"] == "inlet"}
    assert [row["side_b_device"] for row in cables] == sorted(inlets)
    assert {row["side_a_power_panel"] for row in cables if row["side_b_device"].startswith("pdu-a01-")} == panels


def test_whole_racks_have_no_strips() -> None:
    """The 8 power shelves of a GB200 NVL72 have 8 feeds and draw its 150 kW; no tray has a cord."""
    catalogue = load()
    design = design_onprem(
        system=catalogue.systems["gb200-nvl72"],
        nodes=2,
        storage=StorageNeed(
            dataset_bytes=1e12,
            checkpoint_bytes_kept=1e12,
            capacity_bytes=3e12,
            read_bytes_per_s=1e9,
            write_bytes_per_s=1e9,
        ),
        site=Site(rack_power_w=150e3),
        catalogue=catalogue,
    )
    written = documents(design, catalogue, title="trial", made_on=dt.date(2026, 11, 20))
    ports = list(csv.DictReader(io.StringIO(written["netbox/6-power-ports.csv"].content.decode())))
    shelves = [row for row in ports if row["device"].startswith("r001-")]
    assert [row["device"] for row in shelves] == [f"r001-ps-{number}" for number in range(1, 9)]
    assert sum(int(row["maximum_draw"]) for row in shelves) == 150_000
    assert not any(row["device"].startswith("node") for row in ports)
    fed = csv.DictReader(io.StringIO(written["netbox/7-power-feed-cables.csv"].content.decode()))
    assert sum(row["side_b_device"].startswith("r001-ps-") for row in fed) == 8
