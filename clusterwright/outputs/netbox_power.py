"""Power supplies and outlets of the design in NetBox's import columns, joined supply by supply.

Which socket a power strip has is in its data sheet; ports and outlets are counted here, their types are left open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cabling import pdu_names
from clusterwright.facility.racks import Device, Rack

PORT_COLUMNS = ("device", "name", "maximum_draw")
OUTLET_COLUMNS = ("device", "name")
#: Supplies of a device whose number is not known: one on each of two feeds, as the racks are planned.
_SUPPLIES = 2

Row = tuple[str | float | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cord:
    """One power cord: from a device's supply to an outlet; watts that the supply draws at most, None if unknown."""

    device: str
    supply: str
    strip: str
    outlet: str
    draw_w: float | None


def cords(standing: Sequence[Rack], catalogue: Catalogue) -> Iterator[Cord]:
    """Yield the power cords of all racks: the supplies of a device are dealt out over the rack's strips in turn."""
    for rack in standing:
        strips = pdu_names(rack)
        outlets = {strip: count(1) for strip in strips}
        for placed in rack.placements if strips else ():
            supplies = _supplies(placed.device, catalogue)
            for number in range(supplies):
                strip = strips[number % len(strips)]
                yield Cord(
                    device=placed.device.name,
                    supply=f"PSU{number + 1}",
                    strip=strip,
                    outlet=f"outlet-{next(outlets[strip])}",
                    draw_w=None if placed.device.power_w is None else placed.device.power_w / supplies,
                )


def _supplies(device: Device, catalogue: Catalogue) -> int:
    system = catalogue.systems.get(device.sku)
    return _SUPPLIES if system is None or system.psu_count is None else system.psu_count


def port_rows(all_cords: Sequence[Cord]) -> Iterator[Row]:
    """Yield the power ports; draws are whole watts, as NetBox counts."""
    for cord in all_cords:
        yield cord.device, cord.supply, None if cord.draw_w is None else max(1, round(cord.draw_w))


def outlet_rows(all_cords: Sequence[Cord]) -> Iterator[Row]:
    """Yield the outlets of the power strips."""
    for cord in all_cords:
        yield cord.strip, cord.outlet


def cord_rows(all_cords: Sequence[Cord]) -> Iterator[Row]:
    """Yield the cords in the columns of cables."""
    for cord in all_cords:
        ends = (cord.device, "dcim.powerport", cord.supply, cord.strip, "dcim.poweroutlet", cord.outlet)
        yield (*ends, "power", "planned", None, None, None, None)
