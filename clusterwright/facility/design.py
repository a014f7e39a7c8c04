"""The on-premises design: inventory, racks, cables, power and bill of a number of systems. Knows no money."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import Finding, InputError, RuleError
from clusterwright.facility import devices, ethernet_links, fabric_links, placement, rack_limits, racks
from clusterwright.facility import inventory as stock
from clusterwright.facility.bill import Bill
from clusterwright.facility.cabling import Cable, Cages, lay, pdu_names, spots, tally
from clusterwright.facility.fabric_counts import FULL_UNITS, Fabric
from clusterwright.facility.hall import hall_findings, largest
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.links import Link
from clusterwright.facility.networks import oob_switches
from clusterwright.facility.onprem_bill import bill_of
from clusterwright.facility.power_summary import PowerSummary, summarise_power
from clusterwright.facility.racks import Rack
from clusterwright.facility.site import DesignRules, Site
from clusterwright.facility.storage_demand import AskedStorage
from clusterwright.sizing.records import StorageNeed


@dataclass(frozen=True, kw_only=True, slots=True)
class OnPremDesign:
    """A design in counts; racks (`lay_out`) and cables (`wire`) are derived from it when they are written.

    Attributes:
        inventory: devices and networks.
        nodes_per_rack, compute_racks, network_racks, service_racks: racks.
        pdus_per_compute_rack, pdus: power distribution units, in all.
        cables: links by network.
        power, bill: of everything.
        site, rules: what the design was made for; findings: what of it the hall does not hold (`HAL001`
            racks, `PWR001` power, `PWR002` UPS).
    """

    inventory: Inventory
    nodes_per_rack: int
    compute_racks: int
    network_racks: int
    service_racks: int
    pdus_per_compute_rack: int
    pdus: int
    cables: dict[str, int]
    power: PowerSummary
    bill: Bill
    site: Site
    rules: DesignRules
    findings: tuple[Finding, ...] = ()

    @property
    def system(self) -> str:
        """Catalogue id of the system."""
        return self.inventory.system

    @property
    def fabric(self) -> Fabric:
        """The compute fabric."""
        return self.inventory.fabric

    @property
    def racks(self) -> int:
        """All racks."""
        return self.compute_racks + self.network_racks + self.service_racks


def design_onprem(
    *,
    system: System,
    nodes: int,
    storage: StorageNeed,
    site: Site,
    catalogue: Catalogue,
    rules: DesignRules | None = None,
    host_prefix: str = "node",
    purchase: str = FULL_UNITS,
    asked_storage: AskedStorage | None = None,
) -> OnPremDesign:
    """Design a cluster of `nodes` systems with its networks, storage, racks, power and bill.

    Args:
        system: to buy.
        nodes: of it.
        storage: capacity in bytes and throughput in bytes/s.
        site: limits of racks and hall.
        catalogue: facts of switches and parts.
        rules: choices that reference architectures leave open; defaults if None.
        host_prefix: of node names.
        purchase: of the compute fabric, `full-units` (NVIDIA's rule) or `as-needed`.
        asked_storage: what the blueprint asks of the storage to buy.

    Raises:
        InputError: a system that these rules do not fit.
        MissingFactError: a fact that the design needs is unknown.
        RuleError: a rack cannot hold a device, or a cable is too short
        (`CBL001`).
    """
    if nodes < 1:
        raise InputError(f"a cluster needs at least one node, got {nodes}")
    rules = rules or DesignRules()
    inventory = stock.take_stock(
        system=system,
        nodes=nodes,
        storage=storage,
        rules=rules,
        catalogue=catalogue,
        purchase=purchase,
        host_prefix=host_prefix,
        asked_storage=asked_storage,
    )
    inventory, standing = _settle(inventory, site=site, rules=rules, catalogue=catalogue)
    site, standing = _arranged(inventory, standing, site=site, rules=rules, catalogue=catalogue)
    summary = summarise_power(standing, site, rules)
    findings = hall_findings(standing, it_w=summary.it_w, nodes=nodes, site=site, rules=rules)
    if findings:
        held = most_nodes(
            system=system, storage=storage, site=site, catalogue=catalogue, rules=rules, purchase=purchase, most=nodes
        )
        findings = tuple(replace(finding, help=f"{_nodes_fit(held)}; {finding.help}") for finding in findings)
    try:
        cables = wire(inventory, standing, site=site, rules=rules)
    except RuleError as error:
        advice = _rows_that_reach(inventory, len(standing), site=site, rules=rules, catalogue=catalogue)
        raise RuleError(tuple(replace(finding, help=advice) for finding in error.findings)) from None
    kinds = [rack.kind for rack in standing]
    return OnPremDesign(
        inventory=inventory,
        nodes_per_rack=_nodes_per_rack(inventory, standing),
        compute_racks=kinds.count("compute"),
        network_racks=kinds.count("network"),
        service_racks=kinds.count("services"),
        pdus_per_compute_rack=next(rack.pdus for rack in standing if rack.kind == "compute"),
        pdus=sum(rack.pdus for rack in standing),
        cables=_by_network(cables),
        power=summary,
        bill=bill_of(
            inventory,
            racks=standing,
            parts=tally(cables),
            spares=rules.spares,
            feed=site.feed,
            it_power_w=summary.it_w,
            unknown_power=summary.unknown_items,
            catalogue=catalogue,
        ),
        site=site,
        rules=rules,
        findings=findings,
    )


def _nodes_per_rack(inventory: Inventory, standing: Iterable[Rack]) -> int:
    if inventory.hosts_per_node > 1:
        return 1
    return max(len(rack.placements) for rack in standing if rack.kind == "compute")


def most_nodes(
    *,
    system: System,
    storage: StorageNeed,
    site: Site,
    catalogue: Catalogue,
    rules: DesignRules,
    most: int,
    purchase: str = FULL_UNITS,
) -> int:
    """Return how many systems the hall holds with their networks and storage, up to `most`; 0 if not one.

    Args:
        system: to buy.
        storage: that stands beside them.
        site: limits of racks and hall.
        catalogue: facts.
        rules: as for the design.
        most: number of systems to look at.
        purchase: of the compute fabric.

    Raises:
        InputError, MissingFactError, RuleError: as `design_onprem`.
    """

    def fits(nodes: int) -> bool:
        inventory = stock.take_stock(
            system=system,
            nodes=nodes,
            storage=storage,
            rules=rules,
            catalogue=catalogue,
            purchase=purchase,
            host_prefix="node",
        )
        _, standing = _settle(inventory, site=site, rules=rules, catalogue=catalogue)
        it_w = sum(rack.power_w for rack in standing)
        return not hall_findings(standing, it_w=it_w, nodes=nodes, site=site, rules=rules)

    return largest(fits, most)


def _rows_that_reach(inventory: Inventory, count: int, *, site: Site, rules: DesignRules, catalogue: Catalogue) -> str:
    """Return which rows would let every cable reach, or that none do."""
    square = placement.square_rows(count, site.rows)
    for per_row in dict.fromkeys((square, max(1, square // 2), square * 2)):
        rows = replace(site.rows, racks_per_row=per_row, switch_racks="middle-rows")
        changed = replace(site, rows=rows)
        standing = lay_out(inventory, site=changed, rules=rules, catalogue=catalogue)
        try:
            wire(inventory, standing, site=changed, rules=rules)
        except RuleError:
            continue
        return f"rows of {per_row} racks (site.hall.racks_per_row) bring all cables within reach"
    return (
        "no rows bring all cables within reach: raise site.rack_power so that fewer racks do, lower the aisles, or "
        "plan fewer nodes"
    )


def _nodes_fit(nodes: int) -> str:
    return f"{nodes} nodes fit" if nodes else "not even one node with its networks fits"


def _settle(
    inventory: Inventory, *, site: Site, rules: DesignRules, catalogue: Catalogue
) -> tuple[Inventory, tuple[Rack, ...]]:
    """Raise the number of out-of-band switches until it serves all PDUs of the racks that hold them."""
    while True:
        standing = lay_out(inventory, site=site, rules=rules, catalogue=catalogue)
        needed = oob_switches(ports=len(list(managed_devices(inventory, standing))), rules=rules)
        if needed <= inventory.oob_switches:
            return inventory, standing
        inventory = replace(inventory, oob_switches=needed)


def _arranged(
    inventory: Inventory, standing: tuple[Rack, ...], *, site: Site, rules: DesignRules, catalogue: Catalogue
) -> tuple[Site, tuple[Rack, ...]]:
    """Return the site and the racks with what is not compute where all cables together are shortest.

    Management cables are left out of the sum: they are one for each device, and cheap.
    """
    if site.rows.switch_racks != "auto":
        return site, standing
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
    """Return the racks in the order they stand: compute, with network and services in the middle.

    Args:
        inventory: what to place.
        site: limits of a rack, and rows.
        rules: the feed of a PDU.
        catalogue: sizes and power.

    Raises:
        MissingFactError: the system's power or height is unknown.
        RuleError: a rack cannot hold a device.
    """
    system = catalogue.systems[inventory.system]
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
        filled = racks.fill(devices.compute_devices(inventory, catalogue, rules), limits, site)
    racked = [
        [(kind, bound.pdus, bound.power_w.value, contents) for contents in each]
        for kind, bound, each in (
            ("compute", limits, filled),
            ("network", shared, racks.fill(devices.network_devices(inventory, catalogue), shared, site)),
            ("services", shared, racks.fill(devices.service_devices(inventory, catalogue), shared, site)),
        )
    ]
    order = placement.in_order(
        racked[0],
        [*racked[1], *racked[2]],
        arrangement=site.rows.switch_racks,
        per_row=site.rows.racks_per_row,
    )
    return tuple(racks.stand(order, site))


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
        fabric_links.compute_network(inventory),
        fabric_links.storage_network(inventory),
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


def _by_network(cables: Iterable[Cable]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cable in cables:
        counts[cable.network] = counts.get(cable.network, 0) + 1
    return counts
