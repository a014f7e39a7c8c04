"""Racks in their places and cables between them, derived from an inventory in counts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from clusterwright.catalog.parts.supplies import power_connections
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cabling import devices, ethernet_links, links, placement
from clusterwright.facility.cabling.cables import Cable, Cages, lay, pdu_names, spots
from clusterwright.facility.cabling.links import Link
from clusterwright.facility.fabric.networks import oob_switches
from clusterwright.facility.hall import power_cords, rack_limits, racks
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import DesignRules, Site, as_told


def settle(
    inventory: Inventory, *, site: Site, rules: DesignRules, catalogue: Catalogue
) -> tuple[Inventory, tuple[Rack, ...]]:
    """Return the inventory with as many out-of-band switches as serve all devices and PDUs, and its racks.

    Args:
        inventory: with too few of them, or enough.
        site: limits of a rack, and rows.
        rules: ports of such a switch.
        catalogue: sizes and power.

    Raises:
        MissingFactError, RuleError: as `lay_out`.
    """
    while True:
        standing = lay_out(inventory, site=site, rules=rules, catalogue=catalogue)
        needed = oob_switches(ports=len(list(managed_devices(inventory, standing))), rules=rules)
        if needed <= inventory.oob_switches:
            return inventory, standing
        inventory = replace(inventory, oob_switches=needed)


def arranged(
    inventory: Inventory, standing: tuple[Rack, ...], *, site: Site, rules: DesignRules, catalogue: Catalogue
) -> tuple[Site, tuple[Rack, ...]]:
    """Return the site and the racks with what is not compute where all cables together are shortest.

    Management cables are left out of the sum: they are one for each device, and cheap.

    Args:
        inventory: what is there.
        standing: its racks, in any arrangement.
        site: rows; the site that is returned says where the racks are, so that `lay_out` gives them again.
        rules: of the networks.
        catalogue: sizes and power.

    Raises:
        MissingFactError, RuleError: as `lay_out`.
    """
    site = replace(site, rows=placement.widened(len(standing), site.rows))
    if site.rows.switch_racks != "auto":
        return site, lay_out(inventory, site=site, rules=rules, catalogue=catalogue)
    chosen = "middle"
    if len(standing) > site.rows.racks_per_row:
        rack_of = {placed.device.name: number for number, rack in enumerate(standing) for placed in rack.placements}
        chosen = placement.shortest(
            [number for number, rack in enumerate(standing) if rack.kind == "compute"],
            [number for number, rack in enumerate(standing) if rack.kind != "compute"],
            placement.joined_racks(_data_links(inventory, rules), rack_of),
            site.rows,
        )
    site = replace(site, rows=replace(site.rows, switch_racks=chosen))
    return site, lay_out(inventory, site=site, rules=rules, catalogue=catalogue)


def lay_out(inventory: Inventory, *, site: Site, rules: DesignRules, catalogue: Catalogue) -> tuple[Rack, ...]:
    """Return the racks in the order they are: compute, with network and services in the middle.

    Args:
        inventory: what to place.
        site: limits of a rack, and rows.
        rules: the feed of a PDU.
        catalogue: sizes and power.

    Raises:
        MissingFactError: the system's power or height is unknown.
        RuleError: a rack cannot hold a device.
    """
    system = as_told(catalogue.systems[inventory.system], rules.node)
    node_w = devices.node_power_w(system, catalogue, rules)
    limits = rack_limits.compute_limits(system=system, node_w=node_w or 0.0, site=site, rules=rules)
    rack_limits.nodes_per_rack(
        height_u=devices.node_height_u(system),
        power_w=node_w,
        weight_kg=system.weight_kg,
        site=site,
        limits=limits,
        name=system.name,
    )
    shared = rack_limits.other_limits(site, rules)
    if inventory.hosts_per_node > 1:
        filled = devices.whole_racks(inventory, catalogue, rules)
    else:
        fits = _powered(limits, site, rules)
        filled = racks.fill(devices.compute_devices(inventory, catalogue, rules), limits, site, fits)
    fits = _powered(shared, site, rules)
    sides = [racks.fill(side, shared, site, fits) for side in devices.shared_devices(inventory, catalogue)]
    # Racks of the two sides stand in turn: what belongs together stays near, and no rack has both sides of anything.
    others = [contents for pair in zip_longest(*sides) for contents in pair if contents is not None]
    order = placement.in_order(
        [("compute", limits, contents) for contents in filled],
        [(_kind(contents), shared, contents) for contents in others],
        arrangement=site.rows.switch_racks,
        per_row=site.rows.racks_per_row,
    )
    return tuple(racks.stand(order, site))


def _kind(contents: Iterable[racks.Placement]) -> str:
    return "network" if any(placed.device.role == "network" for placed in contents) else "services"


def _powered(
    limits: rack_limits.RackLimits, site: Site, rules: DesignRules
) -> Callable[[Sequence[racks.Device]], bool]:
    known = power_connections().get(site.feed.pdu)
    outlets = None if known is None else known.outlets
    return power_cords.powered(limits, feed=site.feed, outlets=outlets, rules=rules)


def managed_devices(inventory: Inventory, standing: Iterable[Rack]) -> Iterator[str]:
    """Yield the names of everything with a management port, rack by rack: devices and PDUs.

    Out-of-band switches are not among them; they are reached through their uplinks.
    """
    oob = set(inventory.oob_names())
    for rack in standing:
        yield from (placed.device.name for placed in rack.placements if placed.device.name not in oob)
        yield from pdu_names(rack)


def wire(inventory: Inventory, standing: Sequence[Rack], *, site: Site, rules: DesignRules) -> tuple[Cable, ...]:
    """Return the cables of all four networks.

    Args:
        inventory: networks.
        standing: racks of the same inventory.
        site: rows.
        rules: ports of Ethernet switches.

    Raises:
        RuleError: a run is longer than any cable (`CBL001`).
    """
    managed = ethernet_links.oob_links(
        managed=list(managed_devices(inventory, standing)), oob=inventory.oob_names(), rules=rules
    )
    cages = Cages(
        switch=inventory.fabric.ports_per_switch_cage,
        node=inventory.node_ports_per_cage,
        storage_switch=inventory.storage_fabric.ports_per_switch_cage,
    )
    return lay(
        links=chain(_data_links(inventory, rules), managed),
        where=spots(standing, site.rows),
        rows=site.rows,
        cages=cages,
    )


def _data_links(inventory: Inventory, rules: DesignRules) -> Iterator[Link]:
    """Yield the links of the compute, storage and in-band networks."""
    return chain(
        links.compute_network(inventory),
        links.storage_network(inventory),
        ethernet_links.inband_links(
            network=inventory.inband,
            hosts=inventory.hosts(),
            node_ports=inventory.inband_ports,
            servers=inventory.servers(),
            oob=inventory.oob_names(),
            rules=rules,
            family="eth100",
        ),
    )
