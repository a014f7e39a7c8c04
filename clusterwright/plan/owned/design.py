"""The on-premises design that a blueprint asks for: its building, its host names."""

from dataclasses import dataclass, replace
from math import floor

from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.owned_storage import StorageBox
from clusterwright.blueprint.sections.site import Site as SiteSection
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue, NodeType, System
from clusterwright.errors import RuleError
from clusterwright.facility.cabling.devices import node_power_w
from clusterwright.facility.design import OnPremDesign, design_onprem, most_nodes
from clusterwright.facility.hall.rack_limits import AIR_METHODS
from clusterwright.facility.hall.room import room_findings
from clusterwright.facility.inventory import RACK
from clusterwright.facility.site import (
    TRAY_GAP_M,
    DesignRules,
    Feed,
    Hall,
    Plant,
    RowLayout,
    Site,
    SiteNetwork,
    as_told,
)
from clusterwright.facility.spares import LeadTimes, Spares
from clusterwright.facility.storage.demand import AskedStorage, BoxFigures
from clusterwright.plan.target_network import design_rules
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.run import StorageNeed


def asked_storage(blueprint: Blueprint, catalogue: Catalogue) -> AskedStorage | None:
    """Return what the blueprint asks of the storage to buy; None where it does not speak of it."""
    asked = blueprint.targets.onprem.storage if blueprint.targets.onprem is not None else None
    if asked is None:
        return None
    return AskedStorage(
        system=lookup.storage_system(catalogue, asked.system).id,
        level=asked.level,
        capacity_bytes=asked.capacity,
        read_bytes_per_s=asked.read_bandwidth,
        write_bytes_per_s=asked.write_bandwidth,
        files=asked.files,
        usable_fraction=asked.usable,
        targets_per_box=asked.targets_per_box,
        box=_figures(asked.box),
        front_box=_figures(asked.front_box),
    )


def _figures(box: StorageBox) -> BoxFigures:
    return BoxFigures(
        capacity_bytes=box.capacity,
        read_bytes_per_s=box.read,
        write_bytes_per_s=box.write,
        ports=box.ports,
        port_bytes_per_s_one_way=box.port_rate,
        height_u=box.height,
        power_w=box.power,
        weight_kg=box.weight,
    )


#: PDU of a feed for which no product is in the catalogue.
ANY_PDU = "rack-pdu"


@dataclass(frozen=True, kw_only=True, slots=True)
class HallLimit:
    """The largest cluster that a hall holds, and the keys of the blueprint that say so."""

    nodes: int
    words: str


def owned_design(blueprint: Blueprint, catalogue: Catalogue, system: System, point: SizedPoint) -> OnPremDesign:
    """Return the design of a size in the blueprint's building.

    Raises:
        RuleError: the room cannot hold a rack of this system (`HAL…`, `CLG…`), or as `design_onprem` raises.
    """
    site = site_of(blueprint.site, catalogue, system)
    _check_room(site, system)
    rules = rules_of(blueprint, point.node, catalogue)
    return design_onprem(
        system=system,
        nodes=point.nodes,
        storage=point.storage,
        site=site,
        catalogue=catalogue,
        rules=rules,
        host_prefix=blueprint.cluster.host_prefix,
        asked_storage=asked_storage(blueprint, catalogue),
    )


def hall_limit(blueprint: Blueprint, catalogue: Catalogue, system: System, node: NodeType) -> HallLimit | None:
    """Return how many nodes the hall holds with the least storage, before anything is sized; None without a limit.

    Raises:
        InputError, MissingFactError, RuleError: as `owned_design`; where not even one node fits, what is in its way.
    """
    site = site_of(blueprint.site, catalogue, system)
    _check_room(site, system)
    places, rules = site.places, rules_of(blueprint, node, catalogue)
    system = as_told(system, rules.node)
    node_w = node_power_w(system, catalogue, rules)
    if (places is None and site.power_limit_w is None and site.plant.ups_va is None) or not node_w:
        return None
    least = StorageNeed(
        dataset_bytes=0.0, checkpoint_bytes_kept=0.0, capacity_bytes=1.0, read_bytes_per_s=0.0, write_bytes_per_s=0.0
    )
    bounds = [floor(watts / node_w) for watts in (site.power_limit_w, site.plant.ups_va) if watts is not None]
    if places is not None:
        bounds.append(places * max(1, floor(site.rack_height_u / (system.height_u or 1.0))))
    most = most_nodes(
        system=system, storage=least, site=site, catalogue=catalogue, rules=rules, most=max(1, min(bounds))
    )
    if most == 0:
        design = design_onprem(system=system, nodes=1, storage=least, site=site, catalogue=catalogue, rules=rules)
        raise RuleError(design.findings)
    keys = {"site.hall.racks": places, "site.power_limit": site.power_limit_w, "site.ups.power": site.plant.ups_va}
    return HallLimit(nodes=most, words=" and ".join(key for key, limit in keys.items() if limit is not None))


def _check_room(site: Site, system: System) -> None:
    findings = room_findings(site, system)
    if findings:
        raise RuleError(findings)


def rules_of(blueprint: Blueprint, node: NodeType, catalogue: Catalogue) -> DesignRules:
    """Return the rules of a design: the node's network and power cap, the buyer's spares and lead times."""
    rules = design_rules(blueprint, node, catalogue)
    target = blueprint.targets.onprem
    if target is None:
        return rules
    return replace(
        rules,
        spares=Spares(**target.spares.model_dump()),
        lead_times=LeadTimes(**target.lead_times.model_dump()),
        network=SiteNetwork(**blueprint.site.network.model_dump()),
    )


def site_of(section: SiteSection, catalogue: Catalogue, system: System) -> Site:
    """Return the building as the design takes it.

    Args:
        section: of the blueprint.
        catalogue: limits of cooling methods, voltages, weight of the rack.
        system: that shall be there; air-cooled ones gain nothing from cold plates.
    """
    hall, frame, feed = section.hall, section.rack, section.feed
    supply = catalogue.feed_of(feed.voltage)
    breaker_a = supply.breaker_a if feed.breaker is None else feed.breaker
    usual = breaker_a == supply.breaker_a and supply.pdu
    site = Site(
        rack_power_w=section.rack_power,
        rack_height_u=section.rack_height,
        rack_weight_kg=frame.load,
        rack_frame_kg=catalogue.parts[RACK].weight_kg if frame.weight is None else frame.weight,
        rack_frame_height_m=frame.height,
        pue=section.pue,
        power_limit_w=section.power_limit,
        cooling=section.cooling,
        cooling_limit_w=section.cooling_limit or _cooling_limit(section.cooling, catalogue, system),
        hall=Hall(
            racks=hall.racks,
            rows=hall.rows,
            height_m=hall.height,
            door_height_m=hall.door_height,
            door_width_m=hall.door_width,
            floor_load_kg_per_m2=hall.floor_load,
        ),
        feed=Feed(
            name=supply.name,
            current=supply.current,
            line_v=supply.line_v,
            breaker_a=breaker_a,
            sources=feed.sources,
            pdu=supply.pdu if usual else ANY_PDU,
        ),
        plant=Plant(
            ups_va=None if section.ups is None else section.ups.power,
            ups_efficiency=None if section.ups is None else section.ups.efficiency,
            cdu_heat_w=None if section.cdu is None else section.cdu.heat,
            cdu_spare=Plant().cdu_spare if section.cdu is None else section.cdu.spare,
            mean_load=section.mean_load,
        ),
    )
    rows = RowLayout(
        racks_per_row=hall.racks_per_row or RowLayout().racks_per_row,
        widen=hall.racks_per_row is None and hall.rows is None,
        rack_width_m=frame.width,
        rack_depth_m=frame.depth,
        cold_aisle_m=hall.cold_aisle,
        hot_aisle_m=hall.hot_aisle,
        switch_racks=hall.switch_racks,
        tray_height_m=max(RowLayout().tray_height_m, site.rack_outside_height_m + TRAY_GAP_M),
    )
    return replace(site, rows=rows)


def _cooling_limit(method: str | None, catalogue: Catalogue, system: System) -> float | None:
    """Return what one rack may draw with a method; what is not on cold plates is cooled by the air around it."""
    if method is None:
        return None
    if system.liquid_heat_fraction == 0 and method not in AIR_METHODS:
        method = AIR_METHODS[0]
    return catalogue.cooling_of(method).rack_power_w
