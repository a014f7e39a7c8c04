"""Whether the room holds the racks: doors, height, places, power, and cooling that suits the system."""

from collections.abc import Callable, Sequence

from clusterwright.catalog.records import System
from clusterwright.errors import Finding
from clusterwright.facility.hall.power_chain import rack_va
from clusterwright.facility.hall.rack_limits import AIR_METHODS
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import RACK_FRAME_HEIGHT_M, RACK_UNIT_M, TRAY_GAP_M, DesignRules, Site
from clusterwright.units import percent


def room_findings(site: Site, system: System) -> tuple[Finding, ...]:
    """Return what of the room cannot hold one rack, before anything is sized (`HAL002` to `HAL004`, `CLG001` and 2).

    Args:
        site: room, racks and cooling.
        system: that shall be there.
    """
    return (*_doors(site), *_height(site), *_cooling(site, system))


def _doors(site: Site) -> list[Finding]:
    hall, tall = site.hall, site.rack_outside_height_m
    narrow = min(site.rows.rack_width_m, site.rows.rack_depth_m)
    found = []
    if hall.door_height_m is not None and tall > hall.door_height_m:
        units = int((hall.door_height_m - RACK_FRAME_HEIGHT_M) / RACK_UNIT_M)
        found.append(
            Finding(
                id="HAL002",
                path=("site", "hall", "door_height"),
                message=f"a rack of {site.rack_height_u:g} U is {tall:.2f} m tall, a door is {hall.door_height_m:g} m",
                help=f"racks of {max(units, 0)} U pass (site.rack_height); or state the rack's real site.rack.height",
            )
        )
    if hall.door_width_m is not None and narrow > hall.door_width_m:
        found.append(
            Finding(
                id="HAL003",
                path=("site", "hall", "door_width"),
                message=f"a rack is {narrow:g} m wide at its narrower side, a door is {hall.door_width_m:g} m",
                help=f"a rack of {hall.door_width_m:g} m or less passes (site.rack.width), or widen the door",
            )
        )
    return found


def _height(site: Site) -> list[Finding]:
    height, tall = site.hall.height_m, site.rack_outside_height_m
    if height is None or tall + TRAY_GAP_M <= height:
        return []
    units = int((height - TRAY_GAP_M - RACK_FRAME_HEIGHT_M) / RACK_UNIT_M)
    return [
        Finding(
            id="HAL004",
            path=("site", "hall", "height"),
            message=(
                f"a rack of {site.rack_height_u:g} U is {tall:.2f} m tall and needs {TRAY_GAP_M:g} m above it for "
                f"cable trays, the hall is {height:g} m high"
            ),
            help=f"racks of {max(units, 0)} U stand in it (site.rack_height)",
        )
    ]


def _cooling(site: Site, system: System) -> list[Finding]:
    liquid, method = system.liquid_heat_fraction, site.cooling
    if liquid is None or method is None:
        return []
    if liquid > 0 and method != "direct-to-chip":
        return [
            Finding(
                id="CLG001",
                path=("site", "cooling"),
                message=f"{system.name} has cold plates for {percent(liquid)} of its heat, the hall is cooled by"
                f" {method}",
                help="set site.cooling to direct-to-chip, or choose a system that is cooled by air, such as dgx-b200",
            )
        ]
    if liquid == 0 and method == "immersion":
        return [
            Finding(
                id="CLG002",
                path=("site", "cooling"),
                message=f"{system.name} is cooled by air, its vendor does not have it immersed",
                help=f"set site.cooling to one of {', '.join(AIR_METHODS)}, or choose a system made for a bath",
            )
        ]
    return []


def hall_findings(
    standing: Sequence[Rack], *, it_w: float, nodes: int, site: Site, rules: DesignRules
) -> tuple[Finding, ...]:
    """Return what of racks and power exceeds the hall (`HAL001`, `PWR001`); the help is the caller's to complete.

    Args:
        standing: all racks.
        it_w: nameplate power of all devices in W.
        nodes: of the cluster.
        site: limits.
        rules: power factor.
    """
    found = []
    places = site.places
    if places is not None and len(standing) > places:
        kinds = [rack.kind for rack in standing]
        found.append(
            Finding(
                id="HAL001",
                path=("site", "hall", "racks"),
                message=(
                    f"{nodes} node{'s take' if nodes > 1 else ' takes'} {len(kinds)} racks "
                    f"({kinds.count('compute')} of nodes, "
                    f"{kinds.count('network')} of switches, {kinds.count('services')} of storage and servers), the "
                    f"hall has places for {places}"
                ),
                help=f"raise site.hall.racks to {len(kinds)}, or site.rack_power so that a rack holds more nodes",
            )
        )
    if site.power_limit_w is not None and it_w > site.power_limit_w:
        found.append(
            Finding(
                id="PWR001",
                path=("site", "power_limit"),
                message=(
                    f"{nodes} nodes and what belongs to them draw {it_w / 1e3:,.0f} kW, the hall has "
                    f"{site.power_limit_w / 1e3:,.0f} kW"
                ),
                help="raise site.power_limit or plan fewer nodes",
            )
        )
    ups_va = site.plant.ups_va
    asked_va = rack_va(it_w, site.feed, rules)
    if ups_va is not None and asked_va > ups_va:
        found.append(
            Finding(
                id="PWR002",
                path=("site", "ups", "power"),
                message=(
                    f"{nodes} nodes and what belongs to them ask {asked_va / 1e3:,.0f} kVA of the UPS, which is rated "
                    f"{ups_va / 1e3:,.0f} kVA"
                ),
                help="raise site.ups.power, or plan fewer nodes",
            )
        )
    return tuple(found)


def largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number of 1 to `most` that fits, 0 if none does, where all below one that fits fit as well.

    >>> largest(lambda nodes: nodes <= 37, 100), largest(lambda nodes: False, 8), largest(lambda nodes: True, 5)
    (37, 0, 5)

    Args:
        fits: tells whether a number fits.
        most: to look at.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
