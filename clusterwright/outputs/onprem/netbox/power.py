"""Power supplies, outlets and feeds of the design in NetBox's import columns, joined supply by supply.

Which socket a power strip has is in its data sheet; ports and outlets are counted here, their types are left open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.facility.cabling.cables import pdu_names
from clusterwright.facility.hall.power_chain import sources_of
from clusterwright.facility.hall.power_cords import Cord, cords_of, shelf_cords
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import Feed

PORT_COLUMNS = ("device", "name", "maximum_draw")
OUTLET_COLUMNS = ("device", "name", "power_port", "feed_leg")
PANEL_COLUMNS = ("site", "name")
FEED_COLUMNS = (
    "site",
    "power_panel",
    "rack",
    "name",
    "status",
    "type",
    "supply",
    "phase",
    "voltage",
    "amperage",
    "max_utilization",
)
#: Columns of cables that end at a feed; the import form takes them from the version on that has `side_a_power_panel`.
FEED_CABLE_COLUMNS = (
    "side_a_power_panel",
    "side_a_type",
    "side_a_name",
    "side_b_device",
    "side_b_type",
    "side_b_name",
    "type",
    "status",
)
#: The power port of a strip towards its feed.
INLET = "inlet"

Row = tuple[str | float | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RackPower:
    """The power connections of one rack: cords from supplies to strips, and feeds of strips or power shelves.

    Attributes:
        rack: name.
        cords: to strips, or of power shelves that hang on feeds.
        strips: names of its PDUs, one feed each; empty where power shelves have the feeds.
    """

    rack: str
    cords: tuple[Cord, ...]
    strips: tuple[str, ...]


def rack_power(standing: Sequence[Rack], feed: Feed) -> tuple[RackPower, ...]:
    """Return the power connections of all racks."""
    return tuple(
        RackPower(
            rack=rack.name,
            cords=tuple(
                shelf_cords(rack, feed)
                if rack.shelves
                else cords_of((placed.device for placed in rack.placements), pdus=rack.pdus, feed=feed)
            ),
            strips=tuple(pdu_names(rack)),
        )
        for rack in standing
    )


def panel_names(standing: Sequence[Rack], feed: Feed) -> list[str]:
    """Return a panel for each independent feed of the hall, such as `feed-A`."""
    return [f"feed-{chr(ord('A') + source)}" for source in range(sources_of(feed, standing))]


def port_rows(racks: Sequence[RackPower]) -> Iterator[Row]:
    """Yield the power ports; draws are whole watts, as NetBox counts."""
    for rack in racks:
        for cord in rack.cords:
            yield cord.device, _supply(cord), None if cord.draw_w is None else max(1, round(cord.draw_w))
        for strip in rack.strips:
            yield strip, INLET, None


def outlet_rows(racks: Sequence[RackPower]) -> Iterator[Row]:
    """Yield the outlets of the power strips with the leg of each."""
    for rack in racks:
        for cord in rack.cords if rack.strips else ():
            yield rack.strips[cord.pdu], _outlet(cord), INLET, cord.leg


def cord_rows(racks: Sequence[RackPower]) -> Iterator[Row]:
    """Yield the cords in the columns of cables."""
    for rack in racks:
        for cord in rack.cords if rack.strips else ():
            a = (cord.device, "dcim.powerport", _supply(cord))
            b = (rack.strips[cord.pdu], "dcim.poweroutlet", _outlet(cord))
            yield (*a, *b, "power", "planned", None, None, None, None)


def feed_rows(racks: Sequence[RackPower], panels: Sequence[str], feed: Feed, site: str) -> Iterator[Row]:
    """Yield a feed for each strip or power shelf; those of a rack take the panels in turn."""
    electric = ("dc", "single-phase") if feed.direct else ("ac", "three-phase")
    for rack in racks:
        for number, _, _ in _fed(rack):
            panel = panels[number % len(panels)]
            kind = "primary" if number % len(panels) == 0 else "redundant"
            name = _feed(rack, number)
            yield site, panel, rack.rack, name, "planned", kind, *electric, round(feed.line_v), int(feed.breaker_a), 80


def feed_cable_rows(racks: Sequence[RackPower], panels: Sequence[str]) -> Iterator[Row]:
    """Yield the cables from feeds to strips and power shelves."""
    for rack in racks:
        for number, device, port in _fed(rack):
            panel = panels[number % len(panels)]
            yield panel, "dcim.powerfeed", _feed(rack, number), device, "dcim.powerport", port, "power", "planned"


def _fed(rack: RackPower) -> Iterator[tuple[int, str, str]]:
    """Yield number, device and power port of everything that hangs on a feed of its own."""
    if rack.strips:
        yield from ((number, strip, INLET) for number, strip in enumerate(rack.strips))
    else:
        yield from ((number, cord.device, _supply(cord)) for number, cord in enumerate(rack.cords))


def _feed(rack: RackPower, number: int) -> str:
    return f"{rack.rack}-{number + 1}"


def _supply(cord: Cord) -> str:
    return f"PSU{cord.supply + 1}"


def _outlet(cord: Cord) -> str:
    return f"outlet-{cord.outlet + 1}"
