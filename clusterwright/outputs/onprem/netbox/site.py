"""The design as files that NetBox imports: device types (YAML), then CSV tables in the order of their numbers.

Columns are those of NetBox's import forms, which differ from its exports. Cables with several ends cannot be imported
in bulk, so each link of a twin cable is a row of its own; both carry the label of the cable.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ruamel.yaml import YAML

from clusterwright.catalog.own_facts import record_of
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cabling.cables import Cable, pdu_names
from clusterwright.facility.hall.racks import Device, Rack
from clusterwright.facility.site import Feed
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.netbox.power import (
    FEED_CABLE_COLUMNS,
    FEED_COLUMNS,
    OUTLET_COLUMNS,
    PANEL_COLUMNS,
    PORT_COLUMNS,
    cord_rows,
    feed_cable_rows,
    feed_rows,
    outlet_rows,
    panel_names,
    port_rows,
    rack_power,
)
from clusterwright.outputs.tables import csv_text

SITE = "planned"
#: Makers whose name starts the names of their products; everything else is entered as Generic.
_MAKERS = (
    "NVIDIA",
    "AMD",
    "Intel",
    "Supermicro",
    "VAST",
    "DDN",
    "IBM",
    "NetApp",
    "Pure Storage",
    "Raritan",
    "Legrand",
)
_ROLE_COLOURS = {
    "compute": "4caf50",
    "network": "2196f3",
    "storage": "ff9800",
    "management": "9c27b0",
    "power": "f44336",
}
_NETWORK_COLOURS = {"compute": "4caf50", "storage": "ff9800", "in-band": "2196f3", "out-of-band": "9e9e9e"}
#: NetBox's type of an interface by port rate in Gb/s. InfiniBand NDR and XDR ports are entered by their cage: their own
#: types came to NetBox late (4.6.9).
_INTERFACE_TYPES = {1: "1000base-t", 100: "100gbase-x-qsfp28", 200: "infiniband-hdr", 400: "400gbase-x-osfp"} | {
    800: "800gbase-x-osfp"
}
_CABLE_TYPES = {
    "dac": "dac-passive",
    "aoc": "aoc",
    "multimode": "mmf-om4",
    "singlemode": "smf",
    "copper": "cat6",
}

_CABLE_COLUMNS = (
    "side_a_device",
    "side_a_type",
    "side_a_name",
    "side_b_device",
    "side_b_type",
    "side_b_name",
    "type",
    "status",
    "label",
    "color",
    "length",
    "length_unit",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """What NetBox calls a device type."""

    maker: str
    model: str
    slug: str
    height_u: int
    weight_kg: float | None


def netbox_files(
    standing: Sequence[Rack], cables: Sequence[Cable], catalogue: Catalogue, rates: Mapping[str, int], feed: Feed
) -> dict[str, File]:
    """Return the files by name, to be imported in order.

    Args:
        standing: racks with their devices.
        cables: between them.
        catalogue: for the names of the products.
        rates: port rate in Gb/s by network.
        feed: of PDUs and power shelves.
    """
    kinds = {device.sku: _kind(device, catalogue) for device in _devices(standing)}
    devices = list(_device_rows(standing, kinds))
    power, panels = rack_power(standing, feed), panel_names(standing, feed)
    roles = sorted({str(row[1]) for row in devices})
    makers = sorted({kind.maker for kind in kinds.values()} | {"Generic"})
    files = {f"1-device-types/{kind.slug}.yaml": text(_type_yaml(kind)) for kind in kinds.values()}
    pdu = _Kind(maker="Generic", model="PDU", slug="generic-pdu", height_u=0, weight_kg=None)
    files[f"1-device-types/{pdu.slug}.yaml"] = text(_type_yaml(pdu))
    tables: dict[str, tuple[Sequence[str], Iterable[Sequence[str | float | None]]]] = {
        "0-manufacturers.csv": (("name", "slug"), ((maker, _slug(maker)) for maker in makers)),
        "2-device-roles.csv": (
            ("name", "slug", "color"),
            ((role, role, _ROLE_COLOURS.get(role, "9e9e9e")) for role in roles),
        ),
        "3-sites.csv": (("name", "slug", "status"), ((SITE, SITE, "planned"),)),
        "4-racks.csv": (
            ("site", "name", "status", "width", "u_height"),
            ((SITE, rack.name, "planned", 19, rack.height_u) for rack in standing),
        ),
        "4-power-panels.csv": (PANEL_COLUMNS, ((SITE, panel) for panel in panels)),
        "5-power-feeds.csv": (FEED_COLUMNS, feed_rows(power, panels, feed, SITE)),
        "5-devices.csv": (
            ("name", "role", "manufacturer", "device_type", "site", "rack", "position", "face", "status"),
            devices,
        ),
        "6-interfaces.csv": (("device", "name", "type", "mgmt_only"), _interface_rows(cables, rates)),
        "6-power-outlets.csv": (OUTLET_COLUMNS, outlet_rows(power)),
        "6-power-ports.csv": (PORT_COLUMNS, port_rows(power)),
        "7-cables.csv": (_CABLE_COLUMNS, _cable_rows(cables)),
        "7-power-cables.csv": (_CABLE_COLUMNS, cord_rows(power)),
        "7-power-feed-cables.csv": (FEED_CABLE_COLUMNS, feed_cable_rows(power, panels)),
    }
    return files | {name: text(csv_text(header, rows)) for name, (header, rows) in tables.items()}


def _devices(standing: Iterable[Rack]) -> Iterable[Device]:
    return (placed.device for rack in standing for placed in rack.placements)


def _slug(maker: str) -> str:
    return maker.lower().replace(" ", "-")


def _kind(device: Device, catalogue: Catalogue) -> _Kind:
    known = record_of(catalogue, device.sku)
    name = known[1].name if known else device.sku
    maker = next((maker for maker in _MAKERS if name.startswith(f"{maker} ")), "Generic")
    prefix = _slug(maker)
    return _Kind(
        maker=maker,
        model=name.removeprefix(f"{maker} "),
        slug=f"{prefix}-{device.sku.removeprefix(f'{prefix}-')}",
        height_u=device.height_u,
        weight_kg=device.weight_kg,
    )


def _type_yaml(kind: _Kind) -> str:
    document: dict[str, object] = {
        "manufacturer": kind.maker,
        "model": kind.model,
        "slug": kind.slug,
        "u_height": kind.height_u,
        "is_full_depth": True,
    }
    if kind.weight_kg is not None:
        document |= {"weight": kind.weight_kg, "weight_unit": "kg"}
    stream = io.StringIO()
    YAML().dump(document, stream)
    return stream.getvalue()


def _device_rows(standing: Iterable[Rack], kinds: Mapping[str, _Kind]) -> Iterable[Sequence[str | float | None]]:
    for rack in standing:
        for placed in rack.placements:
            device, kind = placed.device, kinds[placed.device.sku]
            place = (SITE, rack.name, placed.u, "front", "planned")
            yield (device.name, device.role, kind.maker, kind.model, *place)
        for name in pdu_names(rack):
            yield (name, "power", "Generic", "PDU", SITE, rack.name, None, None, "planned")


def _port(cable: Cable, port: str) -> str:
    """Return an interface's name: ports of several networks of one device must not share it."""
    return port if port == "mgmt" else f"{cable.network}-{port}"


def _interface_rows(cables: Iterable[Cable], rates: Mapping[str, int]) -> list[tuple[str, str, str, str]]:
    found: dict[tuple[str, str], str] = {}
    for cable in cables:
        kind = _INTERFACE_TYPES.get(rates.get(cable.network, 0), "other")
        for device, port in ((cable.from_device, cable.from_port), (cable.to_device, cable.to_port)):
            found.setdefault((device, _port(cable, port)), kind)
    return [(device, name, kind, str(name == "mgmt").lower()) for (device, name), kind in found.items()]


def _cable_rows(cables: Iterable[Cable]) -> Iterable[Sequence[str | float | None]]:
    for cable in cables:
        yield (
            cable.from_device,
            "dcim.interface",
            _port(cable, cable.from_port),
            cable.to_device,
            "dcim.interface",
            _port(cable, cable.to_port),
            _CABLE_TYPES.get(cable.kind),
            "planned",
            cable.id,
            _NETWORK_COLOURS.get(cable.network),
            cable.length_m,
            "m",
        )
