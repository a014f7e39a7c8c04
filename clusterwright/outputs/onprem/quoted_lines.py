"""Lines of the bill on premises that only a vendor can price: cords, the border's far side, licences, freight, work.

They are in the bill's documents with their quantities and no price. Money is not counted with them: `tco.owner` has
freight, installation, software and support, as shares or amounts that somebody states.
"""

from collections.abc import Sequence

from clusterwright.facility.bill import BillLine
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.racks import Rack
from clusterwright.outputs.onprem.netbox_power import rack_power

CORD = "power-cord"


def quoted_lines(design: OnPremDesign, standing: Sequence[Rack]) -> tuple[BillLine, ...]:
    """Return the lines, in the order of the bill's categories.

    Args:
        design: in counts.
        standing: its racks.
    """
    inventory = design.inventory
    cords = sum(len(rack.cords) for rack in rack_power(standing, design.site.feed) if rack.strips)
    managers = inventory.compute_managers + inventory.storage_managers
    rows = (
        (CORD, "Power cord, supply to PDU", "power", cords, "each", "netbox/7-power-cables.csv; plugs of both ends"),
        (
            "border-firewall",
            "Firewall towards the users' network",
            "network",
            inventory.inband.border,
            "each",
            "one for each border switch, unless the users' network brings them; uplinks.csv has the links",
        ),
        (
            "uplink-far-end",
            "Transceiver of an uplink, far end",
            "network",
            inventory.inband.uplinks,
            "each",
            "fits the users' network's port; uplinks.csv",
        ),
        (
            "nvidia-ai-enterprise",
            "NVIDIA AI Enterprise, if it is wanted",
            "software",
            inventory.gpus,
            "GPU",
            "a licence for each GPU; counted where tco.owner states it",
        ),
        (
            "fabric-manager-licence",
            "Licences and support of the fabric managers",
            "software",
            managers,
            "each",
            "as the vendor sells them; counted where tco.owner states it",
        ),
        ("freight", "Freight, its insurance and duty", "service", 1, "lot", "counted where tco.owner states it"),
        ("installation", "Installation and burn-in", "service", 1, "lot", "counted where tco.owner states it"),
        ("support", "Support of what is in no other line", "service", 1, "lot", "counted where tco.owner states it"),
    )
    return tuple(
        BillLine(
            sku=sku,
            item=item,
            category=category,
            quantity=quantity,
            unit=unit,
            charge="once",
            scales_with="cluster",
            note=note,
        )
        for sku, item, category, quantity, unit, note in rows
        if quantity
    )
