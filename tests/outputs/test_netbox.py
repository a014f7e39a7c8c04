"""What NetBox imports: tables that refer to each other completely, in words that NetBox knows."""

import csv
import datetime as dt
import io
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.catalog.load import load
from clusterwright.cli.answer import plan_of
from clusterwright.outputs.folder import File
from clusterwright.outputs.onprem import documents

#: Types that NetBox 4 lists (dcim/choices.py: InterfaceTypeChoices, CableTypeChoices), as far as the design uses them.
INTERFACE_TYPES = {"1000base-t", "100gbase-x-qsfp28", "infiniband-hdr", "400gbase-x-osfp", "800gbase-x-osfp", "other"}
CABLE_TYPES = {"dac-passive", "aoc", "mmf-om4", "smf", "cat6", ""}
SHIPPED = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"


@cache
def files() -> dict[str, File]:
    """Return the NetBox files of the shipped blueprint's own cluster."""
    design = plan_of(SHIPPED, None, "onprem").options[0].facility
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


@pytest.mark.parametrize("name", ["compute-1/1", "mgmt"])
def test_a_node_has_its_ports(name: str) -> None:
    """A node's compute ports are named by network, cage and port, its management port as everybody names it."""
    ports = {row["name"] for row in rows("6-interfaces.csv") if row["device"] == "node001"}
    assert name in ports
