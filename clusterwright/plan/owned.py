"""The on-premises design that a blueprint asks for: its building, its host names."""

from clusterwright.blueprint.owned_storage import StorageBox
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import Site
from clusterwright.facility.storage_demand import AskedStorage, BoxFigures
from clusterwright.plan.target_network import design_rules
from clusterwright.sizing.records import SizedPoint


def owned_design(blueprint: Blueprint, catalogue: Catalogue, system: System, point: SizedPoint) -> OnPremDesign:
    """Return the design of a size in the blueprint's building; what is raised is what `design_onprem` raises."""
    section = blueprint.site
    return design_onprem(
        system=system,
        nodes=point.nodes,
        storage=point.storage,
        site=Site(
            rack_power_w=section.rack_power,
            rack_height_u=section.rack_height,
            pue=section.pue,
            power_limit_w=section.power_limit,
        ),
        catalogue=catalogue,
        rules=design_rules(point.node),
        host_prefix=blueprint.cluster.host_prefix,
        asked_storage=_asked_storage(blueprint, catalogue),
    )


def _asked_storage(blueprint: Blueprint, catalogue: Catalogue) -> AskedStorage | None:
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
