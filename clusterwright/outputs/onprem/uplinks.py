"""The links to the users' network as a list: the near end with its port, the far end for that network's people."""

from collections.abc import Sequence

from clusterwright.facility import inventory as stock
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.ethernet_links import border_switch
from clusterwright.facility.inventory import Inventory
from clusterwright.outputs.tables import csv_text

FILE = "uplinks.csv"
_COLUMNS = (
    "uplink", "from_rack", "from_u", "from_device", "from_port", "from_transceiver", "part", "to_device", "to_port",
    "to_transceiver", "length_m", "note",
)  # fmt: skip
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
                f"U{number + 1:03d}", rack, unit, name, ports - place, stock.UPLINK_TRANSCEIVER, stock.UPLINK_FIBRE,
                FAR_END, "", "", "", "firewall, far end and length are the users' network's; measure the way",
            )
        )  # fmt: skip
    return csv_text(_COLUMNS, rows)
