"""The on-premises design that a blueprint asks for: its building, its host names."""

from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import Site
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
        rules=design_rules(blueprint, point.node),
        host_prefix=blueprint.cluster.host_prefix,
    )
