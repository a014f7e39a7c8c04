"""The compute fabric that a design asks for: its switch, its size with room for fabric managers, what to say of it."""

from collections.abc import Callable
from math import ceil

from clusterwright.catalog.parts.scalable_units import scalable_units
from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import Finding
from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS, Fabric
from clusterwright.facility.fabric.limits import FabricLimitError
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK, ports_of, radix_of
from clusterwright.facility.fabric.size import ALL_UNITS, fewest_switches
from clusterwright.facility.fabric.switch_choice import compute_switch
from clusterwright.facility.fabric.system import SystemFabric, fabric_of_system
from clusterwright.facility.fabric.uplinks import uplinks_of
from clusterwright.facility.site import DesignRules, FabricChoice
from clusterwright.units import percent

#: Levels of a tree that has cores, and the share of further switches from which a design is questioned.
_WITH_CORES = 3
_MANY_MORE = 0.3


def compute_fabric(
    system: System, *, nodes: int, rules: DesignRules, catalogue: Catalogue
) -> tuple[SystemFabric, bool]:
    """Return the compute fabric of a design, and whether it has fabric managers: where they cost no further switch.

    Where nothing is asked of how it is bought and one switch holds all nodes, that is bought alone and its own subnet
    manager is used: two appliances would cost more than twice the switch.

    Raises:
        InputError: an impossible request.
        FabricLimitError: limits of ports, levels or LIDs.
        MissingFactError: a fact of the system is unknown.
    """
    choice = rules.fabric
    switch = compute_switch(system, catalogue, choice)

    def sized(management_ports: int, purchase: str) -> SystemFabric:
        return fabric_of_system(
            system=system,
            switch=switch,
            nodes=nodes,
            units=choice.buy_for_units,
            rail_groups=choice.rail_groups,
            management_ports=management_ports,
            oversubscription=rules.leaf_oversubscription,
            spine_oversubscription=rules.spine_oversubscription,
            planes=choice.planes,
            purchase=purchase,
            topology=choice.topology,
        )

    if (alone := _alone(sized, choice)) is not None:
        return alone, False
    purchase = choice.purchase or FULL_UNITS
    plain = sized(0, purchase)
    if switch.network != INFINIBAND_NETWORK:
        return plain, False
    try:
        managed = sized(rules.ufm_ports_per_fabric, purchase)
    except FabricLimitError:
        return plain, False
    return (managed, True) if managed.fabric.switches == plain.fabric.switches else (plain, False)


def _alone(sized: Callable[[int, str], SystemFabric], choice: FabricChoice) -> SystemFabric | None:
    """Return the fabric of one switch where that holds all nodes and nothing else is asked for."""
    if choice.purchase is not None or choice.buy_for_units or choice.rail_groups or choice.planes > 1:
        return None
    one = sized(0, AS_NEEDED)
    return one if one.fabric.switches == 1 and one.end_systems == 1 else None


def fabric_notes(sized: SystemFabric, *, managed: bool) -> tuple[str, ...]:
    """Return what a reader of the documents has to know of the fabric: planes, shared ports, growth, whole racks."""
    one = sized.fabric
    alone = (
        f"One switch joins all nodes and is bought alone{'' if managed else ', with its own subnet manager'}; if it "
        "fails, no node reaches another. With targets.onprem.fabric.purchase full-units, leaves and spines of a whole "
        "unit are bought."
    )
    unmanaged = (
        f"{sized.nodes} nodes fill every leaf port, so the compute fabric has no UFM appliance and uses the subnet "
        f"manager of its switches. With {sized.nodes - 1} nodes there are ports for UFM."
    )
    said = [alone] if one.switches == 1 else [] if managed else [unmanaged]
    wanted = ("split into", "share a cable", "planes take", "is listed with")
    said += [f"{note[0].upper()}{note[1:]}." for note in sized.notes if any(words in note for words in wanted)]
    today = ceil(one.nodes / one.nodes_per_unit)
    if today < one.units:
        said.append(
            f"Growth: leaves, spines and their cables of {one.units} scalable units are bought now, of which {today} "
            f"ha{'s' if today == 1 else 've'} nodes; {one.units * one.nodes_per_unit - one.nodes:,} more fit."
        )
    if sized.end_systems > 1 and one.units == 1 and 1 < one.levels < _WITH_CORES:
        said.append(
            "One scalable unit has two levels of switches, with fewer spines than a design of several. "
            "If it shall grow, plan it for the units it will have (targets.onprem.fabric.buy_for_units)."
        )
    if sized.end_systems > 1:
        said.append(
            f"Each {sized.end_systems} hosts are the compute trays of one rack, which is delivered whole and needs "
            "liquid cooling; its NVLink switches and power shelves are part of it."
        )
    return tuple(said)


def fabric_warnings(fabric: Fabric) -> list[Finding]:
    """Return `NET008` where a fabric has 30 % more switches than the smallest one without oversubscribed spines.

    Leaves share spines by rail over all units, or in each unit; which takes fewer depends on the number of units,
    since trunks are equal and the spines of a group divide the uplinks of a leaf.
    """
    smallest = fewest_switches(fabric) if fabric.levels == _WITH_CORES else None
    if smallest is None:
        return []
    grouping, least = smallest
    more = fabric.switches / least.switches - 1
    if more <= _MANY_MORE:
        return []
    bought = (
        "traffic inside a unit does not pass the cores"
        if grouping == ALL_UNITS
        else "traffic of a rail between units that share spines does not pass the cores"
    )
    return [
        Finding(
            id="NET008",
            path=("targets", "onprem", "fabric", "rail_groups"),
            message=(
                f"onprem: the compute fabric has {fabric.switches:,} switches, {percent(more)} more than the "
                f"{least.switches:,} of the smallest one without oversubscription: {fabric.spine:,} spines where "
                f"{least.spine:,} do; what they buy is that {bought}"
            ),
            help=f"set targets.onprem.fabric.rail_groups to {grouping}, unless these shorter ways are worth it",
        )
    ]


def rail_levels(system: System, *, rules: DesignRules, catalogue: Catalogue) -> tuple[int, int]:
    """Return the nodes below one leaf of each rail, and below the spines that a rail's leaves share in three levels.

    A leaf of `R` ports has `d = R - u` towards nodes; `d_s` leaves fill a spine's ports downwards: `d` and `d d_s`
    nodes. In two levels all leaves share all spines, and there are never more of them than that. A design may
    give a leaf more uplinks than its ratio asks, where that saves spines.

    Raises:
        InputError, MissingFactError: as `compute_switch`.
    """
    choice = rules.fabric
    switch, rack = compute_switch(system, catalogue, choice), scalable_units().get(system.id)
    ports = ports_of(system, switch=switch, topology=choice.topology, planes=choice.planes, rack=rack)
    radix = radix_of(switch, ports.bytes_per_s_one_way)
    if rack:
        return 1, rack.nodes_per_unit
    nodes = (radix - uplinks_of(radix, rules.leaf_oversubscription)) // ports.links_per_rail
    return nodes, nodes * (radix - uplinks_of(radix, rules.spine_oversubscription))
