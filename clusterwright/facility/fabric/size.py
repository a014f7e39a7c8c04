"""Sizes a fat-tree of one, two or three levels, by rails or plain: one rule over radix, uplinks and grouping.

Ports of a leaf split evenly into downlinks and uplinks (u = R / 2, no oversubscription). A *scalable unit* (SU) is as
many nodes as a leaf has room for; each unit has one leaf per rail, and node n's port r goes to the leaf of rail r of
its unit. A plain fat-tree is one rail that takes all links of a node. Source: NVIDIA DGX SuperPOD reference
architectures (RA-11333-001 for H100 and its successors); the divisor rule for spines and the grouping rule are derived
from their tables and reproduce every row of them.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil

from clusterwright.errors import InputError
from clusterwright.facility.fabric import limits as fabric_limits
from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS, Fabric
from clusterwright.facility.fabric.limits import INFINIBAND_LIDS
from clusterwright.facility.fabric.uplinks import spines_for, trimmed_uplinks, uplinks_of, uplinks_with


def with_optics(bare: Fabric) -> Fabric:
    """Fill in the transceivers of switches: downlinks take cages from the first port, uplinks up to the last."""
    spine_leaves = [0] * bare.groups
    for leaf in range(bare.leaf):
        spine_leaves[bare.group_of(leaf)] += 1
    trunk = bare.uplinks_per_leaf // bare.spine_per_group if bare.spine_per_group else 0
    cages = sum(_cages(bare, bare.down_ports(leaf), bare.uplinks_per_leaf) for leaf in range(bare.leaf))
    cages += sum(bare.spine_per_group * _cages(bare, leaves * trunk, bare.uplinks_per_spine) for leaves in spine_leaves)
    if bare.core:
        least, more = divmod(bare.spine_core_cables, bare.core)
        cages += more * _cages(bare, least + 1, 0) + (bare.core - more) * _cages(bare, least, 0)
    return replace(bare, switch_optics=cages)


def _cages(fabric: Fabric, down: int, up: int) -> int:
    cage = fabric.ports_per_switch_cage
    first_up = (fabric.radix - up) // cage
    shared = 1 if up and ceil(down / cage) > first_up else 0
    return ceil(down / cage) + (ceil(fabric.radix / cage) - first_up if up else 0) - shared


#: Sets of leaves that share spines in three levels: those of a rail over all units, or in each unit.
ALL_UNITS = "all-units"
PER_UNIT = "per-unit"


def size_fabric(
    *,
    nodes: int,
    rails: int,
    radix: int,
    units: int | None = None,
    nodes_per_unit: int | None = None,
    leaf_per_unit: int | None = None,
    uplinks: int | None = None,
    rail_groups: str | None = None,
    management_ports: int = 0,
    ports_per_switch_cage: int = 1,
    ports_per_node_cage: int = 1,
    purchase: str = FULL_UNITS,
    infiniband: bool = True,
    leaf_oversubscription: float = 1.0,
    spine_oversubscription: float = 1.0,
    links_per_rail: int = 1,
) -> Fabric:
    """Size the compute fabric.

    Two levels if all leaves fit below one set of spines (L <= R) and no `rail_groups` are asked for; else three, with
    n = smallest number >= ceil(G*u / (R/2)) dividing u of spines for each group of G leaves (a group too large for
    that is halved until it fits), spine up = down = G*u / n, and core = ceil(sum of spine uplinks / R).

    Purchase rule `full-units` (NVIDIA's): with fewer nodes than the last unit holds, all its leaves and all leaf–spine
    cables are bought. `as-needed` trims a fabric of one unit to its nodes, and uses a single switch where one is
    enough.

    Args:
        nodes: end systems, for example 128 DGX H100; one rack-scale system counts its trays' ports through
            `leaf_per_unit`.
        rails: leaves of a unit that each node hangs on.
        radix: ports per switch, at the port rate of the nodes.
        units: scalable units to buy, at least those that the nodes need; no more than those by default.
        nodes_per_unit: nodes of a scalable unit; as many as its leaves have downlinks for by default.
        leaf_per_unit: leaves of a unit; one per rail by default. Rack-scale systems have one per rack and rail.
        uplinks: per leaf; R // 2, or what `leaf_oversubscription` allows (`uplinks_with`), by default.
        rail_groups: `all-units` or `per-unit` forces three levels with a group of leaves per rail, over all units or in
            each unit; None chooses two levels where they suffice, else `all-units`.
        management_ports: subnet manager ports, on free leaf ports of the last unit: places of nodes, or downlinks
            that no node uses.
        ports_per_switch_cage: links per transceiver of a switch (2 for twin-port OSFP).
        ports_per_node_cage: the same of a node.
        purchase: `full-units` or `as-needed`.
        infiniband: check the LID ceiling.
        leaf_oversubscription: the most downlinks over uplinks of a leaf, up to one port.
        spine_oversubscription: the most ports of a spine towards leaves over those towards cores, in three levels,
            up to one port.
        links_per_rail: of a node to each of its leaves.

    Raises:
        InputError: the request makes no sense.
        FabricLimitError: a limit is exceeded; the finding names it and the help the nearest size that fits.
    """
    if min(nodes, rails, radix, links_per_rail) < 1:
        raise InputError(f"a fabric needs nodes, rails and ports; got {nodes}, {rails} and {radix}")
    single = nodes * rails * links_per_rail + management_ports
    if purchase == AS_NEEDED and rail_groups is None and not units and single <= radix:
        shape = _Shape(units=1, uplinks=0, groups=1, leaf_per_group=1, spine_per_group=0, spine_up=0, levels=1)
        unit_size, per_unit = nodes, 1
    else:
        per_unit = leaf_per_unit or rails
        if uplinks is None and leaf_oversubscription > 1:
            uplinks = uplinks_with(
                oversubscription=leaf_oversubscription,
                radix=radix,
                leaf_per_unit=per_unit,
                links_per_rail=links_per_rail,
                unit_ports=single,
                units=units,
            )
        up = radix // 2 if uplinks is None else uplinks
        if not 0 < up < radix:
            raise InputError(f"{up} uplinks do not fit a switch with {radix} ports", help=f"choose 1 to {radix - 1}")
        unit_size = nodes_per_unit or (radix - up) // links_per_rail
        ports = unit_size * rails * links_per_rail
        if per_unit % rails or (unit_size * rails) % per_unit:
            raise InputError(
                f"{per_unit} leaves per unit of {unit_size} nodes do not serve {rails} rails evenly",
                help=f"use a multiple of {rails} leaves that divides {ports} ports",
            )
        if not unit_size or ports // per_unit > radix - up:
            raise fabric_limits.too_few_downlinks(
                unit_nodes=max(1, unit_size),
                needed=max(links_per_rail, ports // per_unit),
                downlinks=radix - up,
                most=(radix - up) * per_unit // (rails * links_per_rail),
            )
        # Subnet managers also take leaf ports that no node uses: a leaf of a GB200 rack has 18 nodes on 46 downlinks.
        most_down = per_unit * (radix - up)
        units = max(units or 0, ceil(nodes * rails * links_per_rail / ports), ceil(single / most_down))
        if purchase == AS_NEEDED and units == 1 and per_unit == rails:
            busiest = nodes * links_per_rail + ceil(management_ports / rails)
            up = trimmed_uplinks(needed=min(busiest, up), leaves=per_unit, most=up, radix=radix)
        shape = _levels(
            units=units,
            per_unit=per_unit,
            rails=rails,
            uplinks=up,
            radix=radix,
            rail_groups=rail_groups,
            narrower=spine_oversubscription,
            unit_size=unit_size,
        )
    fabric = _counts(
        shape,
        nodes=nodes,
        rails=rails,
        links_per_rail=links_per_rail,
        radix=radix,
        unit_size=unit_size,
        per_unit=per_unit,
        management_ports=management_ports,
        switch_cage=ports_per_switch_cage,
        node_cage=ports_per_node_cage,
        purchase=purchase,
    )
    lids = single + fabric.switches
    if infiniband and lids > INFINIBAND_LIDS:
        raise fabric_limits.too_many_lids(
            lids=lids, per_node=rails * links_per_rail, switches_per_node=fabric.switches / nodes
        )
    return fabric


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shape:
    units: int
    uplinks: int
    groups: int
    leaf_per_group: int
    spine_per_group: int
    spine_up: int
    levels: int


def _levels(
    *,
    units: int,
    per_unit: int,
    rails: int,
    uplinks: int,
    radix: int,
    rail_groups: str | None,
    narrower: float,
    unit_size: int,
) -> _Shape:
    leaves = units * per_unit
    if rail_groups is None and leaves <= radix:
        spines = spines_for(leaves=leaves, uplinks=uplinks, spine_down_ports=radix)
        if spines is not None:
            return _Shape(
                units=units,
                uplinks=uplinks,
                groups=1,
                leaf_per_group=leaves,
                spine_per_group=spines,
                spine_up=0,
                levels=2,
            )
    per_rail = per_unit // rails
    size = per_rail if rail_groups == PER_UNIT else per_rail * units
    down = radix - uplinks_of(radix, narrower)
    while (spines := spines_for(leaves=size, uplinks=uplinks, spine_down_ports=down)) is None:
        size = ceil(size / 2)
    groups = ceil(per_rail * units / size) * rails
    below = size * uplinks // spines
    up = min(ceil(below / narrower), radix - below)
    if leaves * uplinks > radix**3 // 4:
        most = radix**3 // 4 // (uplinks * per_unit)
        raise fabric_limits.too_many_units(units=units, most=most, unit_nodes=unit_size, radix=radix)
    return _Shape(
        units=units,
        uplinks=uplinks,
        groups=groups,
        leaf_per_group=size,
        spine_per_group=spines,
        spine_up=up,
        levels=3,
    )


def _counts(
    shape: _Shape,
    *,
    nodes: int,
    rails: int,
    links_per_rail: int,
    radix: int,
    unit_size: int,
    per_unit: int,
    management_ports: int,
    switch_cage: int,
    node_cage: int,
    purchase: str,
) -> Fabric:
    leaf = shape.units * per_unit
    spine = shape.groups * shape.spine_per_group
    spine_core = spine * shape.spine_up
    core = ceil(spine_core / radix)
    leaf_spine = leaf * shape.uplinks
    node_leaf = nodes * rails * links_per_rail + management_ports
    bare = Fabric(
        nodes=nodes,
        rails=rails,
        links_per_rail=links_per_rail,
        management_ports=management_ports,
        radix=radix,
        levels=shape.levels,
        units=shape.units,
        nodes_per_unit=unit_size,
        leaf_per_unit=per_unit,
        uplinks_per_leaf=shape.uplinks,
        groups=shape.groups,
        leaf_per_group=shape.leaf_per_group,
        spine_per_group=shape.spine_per_group,
        uplinks_per_spine=shape.spine_up,
        leaf=leaf,
        spine=spine,
        core=core,
        node_leaf_cables=node_leaf,
        leaf_spine_cables=leaf_spine,
        spine_core_cables=spine_core,
        ports_per_switch_cage=switch_cage,
        ports_per_node_cage=node_cage,
        switch_optics=0,
        node_optics=nodes * ceil(rails * links_per_rail / node_cage),
        leaf_ports_used=node_leaf + leaf_spine,
        spine_ports_used=leaf_spine + spine_core,
        core_ports_used=spine_core,
        purchase=purchase,
    )
    return with_optics(bare)


def fewest_switches(fabric: Fabric) -> tuple[str, Fabric] | None:
    """Return the grouping of three levels that takes the fewest switches for a fabric's leaves, and that fabric.

    Its spines have as many uplinks as downlinks; None where no grouping fits.
    """
    found = []
    for grouping in (ALL_UNITS, PER_UNIT):
        with suppress(InputError):
            sized = size_fabric(
                nodes=fabric.nodes,
                rails=fabric.rails,
                links_per_rail=fabric.links_per_rail,
                radix=fabric.radix,
                units=fabric.units,
                nodes_per_unit=fabric.nodes_per_unit,
                leaf_per_unit=fabric.leaf_per_unit,
                uplinks=fabric.uplinks_per_leaf,
                rail_groups=grouping,
                management_ports=fabric.management_ports,
                purchase=fabric.purchase,
                infiniband=False,
            )
            found.append((grouping, sized))
    return min(found, key=lambda each: each[1].switches, default=None)
