"""The on-premises design: inventory, racks, cables, power and bill of a number of systems. Knows no money."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import Finding, InputError, RuleError
from clusterwright.facility import inventory as stock
from clusterwright.facility.bill import Bill
from clusterwright.facility.cabling.addresses import subnets
from clusterwright.facility.cabling.cables import Cable, lengths_of, tally
from clusterwright.facility.cabling.layout import arranged, settle, wire
from clusterwright.facility.cabling.reach import what_reaches
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.hall.power_summary import PowerSummary, summarise_power
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.hall.room import hall_findings, largest
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.onprem_bill import bill_of
from clusterwright.facility.site import DesignRules, Site, as_told
from clusterwright.facility.storage.demand import AskedStorage
from clusterwright.sizing.records.run import StorageNeed


@dataclass(frozen=True, kw_only=True, slots=True)
class OnPremDesign:
    """A design in counts; racks (`lay_out`) and cables (`wire`) are derived from it when they are written.

    Attributes:
        inventory: devices and networks.
        nodes_per_rack, compute_racks, network_racks, service_racks: racks.
        pdus_per_compute_rack, pdus: power distribution units, in all; racks that are delivered whole have none.
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

    def node(self, catalogue: Catalogue) -> System:
        """Return the system with what the buyer stated."""
        return as_told(catalogue.systems[self.system], self.rules.node)

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
        host_prefix=host_prefix,
        asked_storage=asked_storage,
    )
    inventory, standing = settle(inventory, site=site, rules=rules, catalogue=catalogue)
    site, standing = arranged(inventory, standing, site=site, rules=rules, catalogue=catalogue)
    summary = summarise_power(standing, site, rules)
    findings = hall_findings(standing, it_w=summary.it_w, nodes=nodes, site=site, rules=rules)
    if findings:
        held = most_nodes(
            system=system,
            storage=storage,
            site=site,
            catalogue=catalogue,
            rules=rules,
            most=nodes,
            asked_storage=asked_storage,
        )
        findings = tuple(replace(finding, help=f"{_nodes_fit(held)}; {finding.help}") for finding in findings)
    try:
        cables = wire(inventory, standing, site=site, rules=rules)
    except RuleError as error:
        advice = what_reaches(inventory, len(standing), site=site, rules=rules, catalogue=catalogue)
        raise RuleError(tuple(replace(finding, help=advice) for finding in error.findings)) from None
    subnets(inventory, rules.network, managed=sum(cable.tier == "management" for cable in cables))
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
            lengths=lengths_of(cables),
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
    asked_storage: AskedStorage | None = None,
) -> int:
    """Return how many systems the hall holds with their networks and storage, up to `most`; 0 if not one.

    Args:
        system: to buy.
        storage: that is beside them.
        site: limits of racks and hall.
        catalogue: facts.
        rules: as for the design.
        most: number of systems to look at.
        asked_storage: as for the design.

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
            host_prefix="node",
            asked_storage=asked_storage,
        )
        _, standing = settle(inventory, site=site, rules=rules, catalogue=catalogue)
        it_w = sum(rack.power_w for rack in standing)
        return not hall_findings(standing, it_w=it_w, nodes=nodes, site=site, rules=rules)

    return largest(fits, most)


def _nodes_fit(nodes: int) -> str:
    return f"{nodes} nodes fit" if nodes else "not even one node with its networks fits"


def _by_network(cables: Iterable[Cable]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cable in cables:
        counts[cable.network] = counts.get(cable.network, 0) + 1
    return counts
