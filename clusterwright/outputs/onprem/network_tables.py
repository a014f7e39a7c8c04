"""Tables of what is in the racks, of switches and ports of every network, and of links to the users' network."""

from collections.abc import Iterable, Sequence

from clusterwright.facility import inventory as stock
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.ethernet_links import border_switch
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.inventory import INBAND_SWITCH, OOB_SWITCH, Inventory
from clusterwright.outputs.tables import csv_text


def racks_csv(standing: Iterable[Rack]) -> str:
    """Return what is where: one row per device."""
    return csv_text(
        ("rack", "u", "height_u", "device", "part", "role", "power_w", "weight_kg"),
        (
            (
                rack.name,
                placed.u,
                placed.device.height_u,
                placed.device.name,
                placed.device.sku,
                placed.device.role,
                placed.device.power_w,
                placed.device.weight_kg,
            )
            for rack in standing
            for placed in rack.placements
        ),
    )


def fabric_csv(design: OnPremDesign) -> str:
    """Return switches, ports and cables of every tier of every network."""
    inventory = design.inventory
    rows: list[Sequence[str | float | None]] = []
    for network, switch, fabric, planes in (
        ("compute", inventory.compute_switch, inventory.fabric, inventory.planes),
        ("storage", inventory.storage_switch, inventory.storage_fabric, 1),
    ):
        storage = network == "storage"
        # Slots of the storage network may stay empty, so only the cables between its switches are exact in the counts.
        leaf_spine, spine_core = planes * fabric.leaf_spine_cables, planes * fabric.spine_core_cables
        tiers = (
            ("leaf", planes * fabric.leaf, design.cables[network] - leaf_spine - spine_core, leaf_spine),
            ("spine", planes * fabric.spine, leaf_spine, spine_core),
            ("core", planes * fabric.core, spine_core, 0),
        )
        for tier, count, below, above in tiers:
            free = count * fabric.radix - below - above
            rows.append((network, tier, switch, count, fabric.radix, below, above, free, "A and B" if storage else ""))
    inband, ports = inventory.inband, design.rules.inband_leaf_ports
    uplinks = inband.leaf * 2 * inband.leaf_uplinks
    core = inband.aggregation * inband.core * inband.aggregation_uplinks
    border = inband.border_links
    oob_uplinks = 2 * inventory.oob_switches
    leaf_down = inband.host_cables + oob_uplinks
    for tier, count, below, above in (
        ("leaf", inband.leaf, leaf_down, uplinks + 2 * inband.peer_cables + (0 if inband.aggregation else border)),
        ("aggregation", inband.aggregation, uplinks, core + (border if inband.aggregation and not inband.core else 0)),
        ("core", inband.core, core, border if inband.core else 0),
        ("border", inband.border, border, inband.uplinks),
    ):
        rows.append(
            ("in-band", tier, INBAND_SWITCH, count, ports, below, above, count * ports - below - above, "A and B")
        )
    managed = design.cables["out-of-band"]
    free = inventory.oob_switches * design.rules.oob_ports - managed
    rows.append(
        (
            "out-of-band",
            "access",
            OOB_SWITCH,
            inventory.oob_switches,
            design.rules.oob_ports,
            managed,
            oob_uplinks,
            free,
            "",
        )
    )
    header = (
        "network",
        "tier",
        "switch",
        "switches",
        "ports_per_switch",
        "ports_down",
        "ports_up",
        "ports_free",
        "sides",
    )
    return csv_text(header, [row for row in rows if row[3]])


FILE = "uplinks.csv"
_COLUMNS = (
    "uplink",
    "from_rack",
    "from_u",
    "from_device",
    "from_port",
    "from_transceiver",
    "part",
    "to_device",
    "to_port",
    "to_transceiver",
    "length_m",
    "note",
)
FAR_END = "users' network"


def uplinks_csv(inventory: Inventory, cables: Sequence[Cable], *, ports: int) -> str:
    """Return a row for every uplink, dealt out over the border switches from their last ports down.

    What the users' network decides is empty: device behind its firewall, port, transceiver and length.

    Args:
        inventory: whose border it is.
        cables: that tell where a border switch is.
        ports: of a border switch.
    """
    places = {cable.to_device: (cable.to_rack, cable.to_u) for cable in cables if cable.tier == "top-border"}
    rows: list[tuple[str | float, ...]] = []
    for number in range(inventory.inband.uplinks):
        place, switch = divmod(number, inventory.inband.border)
        name = border_switch(switch)
        rack, unit = places[name]
        rows.append(
            (
                f"U{number + 1:03d}",
                rack,
                unit,
                name,
                ports - place,
                stock.UPLINK_TRANSCEIVER,
                stock.UPLINK_FIBRE,
                FAR_END,
                "",
                "",
                "",
                "firewall, far end and length are the users' network's; measure the way",
            )
        )
    return csv_text(_COLUMNS, rows)
