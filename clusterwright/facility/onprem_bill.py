"""The bill of an on-premises design: everything is bought once."""

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.catalog.parts.skus import skus
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility import inventory as stock
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.hall.power_chain import GOES_ON, loss
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import Feed
from clusterwright.facility.spares import Spares, kind_of_part, spares_by_length
from clusterwright.facility.storage.words import storage_lines
from clusterwright.units import counted, percent


def bill_of(
    inventory: Inventory,
    *,
    racks: Sequence[Rack],
    parts: dict[str, int],
    lengths: dict[str, dict[float, int]],
    spares: Spares,
    feed: Feed,
    it_power_w: float,
    unknown_power: tuple[str, ...],
    catalogue: Catalogue,
) -> Bill:
    """Return the bill.

    Args:
        inventory: devices.
        racks: that hold them.
        parts: cables and transceivers by price key.
        lengths: how many cables of each price key are how long, in m.
        spares: shares by kind of part, bought on top.
        feed: whose PDUs the racks have.
        it_power_w: nameplate power of all devices, in W.
        unknown_power: price keys whose power is not in that sum.
        catalogue: names.
    """

    def line(sku: str, quantity: int, note: str, *, category: str = "network", nodes: bool = False) -> BillLine:
        known = skus().get(sku)
        return BillLine(
            sku=sku,
            item=known.item if known else _name(sku, catalogue),
            category=known.category if known else category,
            quantity=quantity,
            unit="each",
            charge="once",
            scales_with="nodes" if nodes else "cluster",
            note=note,
        )

    compute = sum(rack.pdus for rack in racks if rack.kind == "compute")
    others = sum(rack.pdus for rack in racks if rack.kind != "compute")
    # Racks that are delivered whole bring their frame and their power shelves.
    empty = sum(not rack.shelves for rack in racks)
    lines = [line(inventory.system, inventory.nodes, counted(inventory.gpus, "GPU"), category="compute", nodes=True)]
    lines += [line(sku, count, note) for sku, count, note in _switches(inventory)]
    for sku, count in parts.items():
        of_part = lengths.get(sku, {})
        lines.append(replace(line(sku, count, _scheduled(of_part)), lengths=tuple(sorted(of_part.items()))))
    lines += [
        line(stock.UPLINK_TRANSCEIVER, inventory.inband.uplinks, "links to the users' network, the near end"),
        line(
            stock.UPLINK_FIBRE, inventory.inband.uplinks, "links to the users' network; measure the way for the length"
        ),
    ]
    lines += [
        line(stock.FABRIC_MANAGER, inventory.compute_managers + inventory.storage_managers, _managers(inventory)),
        line(
            stock.MANAGEMENT_SERVER, inventory.management_servers, "controllers of the scheduler, the others for login"
        ),
        *(line(box.part, count, note, category="storage") for box, count, note in storage_lines(inventory.storage)),
        line(feed.pdu, compute, _compute_pdus(racks, catalogue.systems[inventory.system])),
        line(feed.pdu, others, "feeds A and B of each rack without nodes"),
        line(stock.RACK, empty, _racks(empty, len(racks))),
    ]
    lines = [with_spares for bought in lines for with_spares in _with_spares(bought, spares, catalogue)]
    return Bill(
        target="onprem",
        lines=tuple(entry for entry in lines if entry.quantity),
        it_power_w=it_power_w,
        unknown_power_items=tuple(
            skus()[sku].item if sku in skus() else _name(sku, catalogue) for sku in unknown_power
        ),
    )


def _with_spares(bought: BillLine, spares: Spares, catalogue: Catalogue) -> list[BillLine]:
    """Return a line and, where some of its kind lie in stock, a second one for them."""
    kind = kind_of_part(bought.sku, catalogue)
    count = spares.count(kind, int(bought.quantity))
    if not count:
        return [bought]
    note = f"spares, {percent(spares.share(kind), digits=None)} of {kind} (the buyer's choice)"
    if spares.share(kind) == Spares().share(kind):
        note = f"spares, {percent(spares.share(kind))} (assumed)"
    kept = spares_by_length(count, bought.lengths)
    return [bought, replace(bought, quantity=count, scales_with="cluster", note=note, lengths=kept)]


def _racks(empty: int, racks: int) -> str:
    return "" if empty == racks else f"{racks - empty} other racks are delivered whole"


def _scheduled(lengths: dict[float, int]) -> str:
    """Return how a cable was counted, with the lengths to order."""
    words = "counted from the cable schedule"
    if not lengths:
        return words
    return f"{words}: {', '.join(f'{count:,} of {length:g} m' for length, count in sorted(lengths.items()))}"


def _compute_pdus(racks: Sequence[Rack], system: System) -> str:
    each = max((rack.pdus for rack in racks if rack.kind == "compute"), default=0)
    words = f"{each} per rack, by the nodes' power supplies"
    lives = each > 0 and loss(system, pdus=each, lost=1).outcome == GOES_ON
    return f"{words}, so that the rack lives when one fails" if lives else words


def _name(sku: str, catalogue: Catalogue) -> str:
    known = catalogue.systems.get(sku) or catalogue.switches.get(sku) or catalogue.parts.get(sku)
    return known.name if known else sku


def _managers(inventory: Inventory) -> str:
    return f"{inventory.compute_managers} for the compute fabric, {inventory.storage_managers} for storage"


def _switches(inventory: Inventory) -> list[tuple[str, int, str]]:
    fabric, storage, inband = inventory.fabric, inventory.storage_fabric, inventory.inband
    planes = f"{inventory.planes} planes of " if inventory.planes > 1 else ""
    return [
        (
            inventory.compute_switch,
            inventory.compute_switches,
            f"compute fabric: {planes}{fabric.leaf} leaf, {fabric.spine} spine, {fabric.core} core",
        ),
        (
            inventory.storage_switch,
            storage.switches,
            f"storage network: {storage.leaf} leaf, {storage.spine} spine, {storage.core} core",
        ),
        (
            stock.INBAND_SWITCH,
            inband.switches,
            f"in-band network: {inband.leaf} leaf, {inband.aggregation} aggregation, {inband.core} core",
        ),
        (
            stock.BORDER_SWITCH,
            inband.border,
            f"border: {inband.uplinks} links of 100 Gb/s to the users' network, which brings its own firewall",
        ),
        (stock.OOB_SWITCH, inventory.oob_switches, "out-of-band network"),
    ]
