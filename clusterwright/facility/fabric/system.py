"""The compute fabric of a number of systems on a switch of the catalogue."""

from dataclasses import dataclass, replace
from math import ceil

from clusterwright.catalog.parts.scalable_units import ScalableUnit, scalable_units
from clusterwright.catalog.records import Switch, System
from clusterwright.errors import InputError
from clusterwright.facility.fabric import limits as fabric_limits
from clusterwright.facility.fabric.counts import FULL_UNITS, Fabric
from clusterwright.facility.fabric.limits import FabricLimitError
from clusterwright.facility.fabric.node_ports import ETHERNET, INFINIBAND_NETWORK, NodePorts, ports_of, radix_of
from clusterwright.facility.fabric.planes import SPLIT_PORTS, Plane
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.facility.fabric.uplinks import uplinks_with
from clusterwright.facility.site import RAIL, DesignRules


def notes_of(
    system: System, switch: Switch, *, ports: NodePorts, radix: int, managed: int, fabric: Fabric
) -> tuple[str, ...]:
    """Return the notes: cages and ports that are shared, planes, room for subnet managers, adapters to be set."""
    said = list(ports.notes)
    rate = f"{ports.bytes_per_s_one_way * 8e-9:.0f} Gb/s"
    if radix != switch.ports:
        said.append(f"each port of {switch.name} is split into {radix // switch.ports} of {rate}")
    elif switch.port_bytes_per_s_one_way > ports.bytes_per_s_one_way:
        said.append(f"the ports of {switch.name} run at the {rate} of {system.name}")
    if ports.planes > 1:
        shared = f"{ports.rails} rails each" if ports.split == "rails" else f"a part of {rate} of every port each"
        said.append(f"{ports.planes} planes take {shared}; traffic does not cross from one plane to another")
    if switch.network == INFINIBAND_NETWORK and managed:
        said.append(f"{managed} ports of subnet managers (UFM) are among the cables from nodes to leaves")
    elif switch.network == INFINIBAND_NETWORK and fabric.levels > 1 and fabric.leaf_ports_free:
        said.append("no port of a subnet manager (UFM) is counted; leaves have free ports for it")
    elif switch.network == INFINIBAND_NETWORK and fabric.levels > 1:
        said.append("no leaf port is left for UFM: leave one node out, or use the subnet manager of a switch")
    kind = ETHERNET if system.fabric_kind == "roce" else system.fabric_kind
    if kind not in {None, switch.network}:
        said.append(f"{system.name} is listed with {kind}; its adapters must be set to {switch.network}")
    return tuple(said)


#: A system as high as this is a rack of its own.
RACK_SCALE_U = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemFabric:
    """A fabric and what was assumed for it.

    Attributes:
        nodes: systems; gpus: of all; end_systems: hosts that one system consists of.
        radix: ports of a switch at the rate of the systems' ports; port_bytes_per_s_one_way: that rate.
        planes: fabrics of the same shape that the ports are shared out over; `fabric` counts one of them.
        planes_split: how, `ports` or `rails`.
        node_ports, node_cage: ports of a host in all planes, and how many share a transceiver.
        topology: `rail` or `plain`; oversubscription: the most downlinks over uplinks of a leaf.
        notes: what a reader has to know.
    """

    system: str
    switch: str
    nodes: int
    gpus: int
    end_systems: int
    radix: int
    port_bytes_per_s_one_way: float
    planes: int
    planes_split: str
    node_ports: int
    node_cage: int
    topology: str
    oversubscription: float
    fabric: Fabric
    notes: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Return switches, cables and transceivers of all planes together."""
        one = self.fabric
        each = {
            "leaf": one.leaf,
            "spine": one.spine,
            "core": one.core,
            "node_leaf_cables": one.node_leaf_cables,
            "leaf_spine_cables": one.leaf_spine_cables,
            "spine_core_cables": one.spine_core_cables,
            "switch_optics": one.switch_optics,
        }
        all_planes = {name: count * self.planes for name, count in each.items()}
        # A system's transceiver may carry links of several planes.
        return all_planes | {"node_optics": one.nodes * ceil(self.node_ports / self.node_cage)}

    @property
    def planes_of_a_port(self) -> int:
        """Planes that each port of a system is split over."""
        return self.planes if self.planes_split == SPLIT_PORTS else 1

    def each_plane(self) -> tuple[Plane, ...]:
        """Return the planes in order."""
        return tuple(Plane(number=number, count=self.planes, split=self.planes_split) for number in range(self.planes))


def fabric_of_system(
    *,
    system: System,
    switch: Switch,
    units: int | None = None,
    nodes: int | None = None,
    rail_groups: str | None = None,
    management_ports: int | None = None,
    oversubscription: float = 1.0,
    spine_oversubscription: float = 1.0,
    planes: int = 1,
    purchase: str = FULL_UNITS,
    topology: str = RAIL,
) -> SystemFabric:
    """Size the compute fabric of `nodes` systems, or of as many as `units` scalable units hold.

    With both, the leaves, spines and their cables of all units are bought now and the nodes are what is there today.
    Subnet manager ports take free leaf ports: by default 4 (RA-11333-001, Table 4) in each plane on InfiniBand if the
    units bought have that many to spare, else none.

    Args:
        system: of the catalogue.
        switch: of all tiers.
        units: scalable units to buy; as many as the nodes need if None.
        nodes: systems; all that the units hold if None.
        rail_groups: `all-units` or `per-unit`; the system's rule if None.
        management_ports: taken as given, in each plane.
        oversubscription: the most downlinks over uplinks of a leaf, up to one port; at least 1.
        spine_oversubscription: the same of a spine, in three levels.
        planes: equal fabrics that the ports of each system are shared out over.
        purchase: `full-units` or `as-needed`.
        topology: `rail` or `plain`.

    Raises:
        InputError: an impossible request.
        FabricLimitError: limits of ports, levels or LIDs, or a topology that does not fit; the help names what would.
        MissingFactError: ports or port rate of the system are unknown.
    """
    request = _Request(
        units=units,
        nodes=nodes,
        rail_groups=rail_groups,
        management_ports=management_ports,
        oversubscription=oversubscription,
        spine_oversubscription=spine_oversubscription,
        planes=planes,
        purchase=purchase,
        topology=topology,
    )
    try:
        return _sized(system, switch, request)
    except FabricLimitError as error:
        raise _with_nearest(error, system, switch, request) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    units: int | None
    nodes: int | None
    rail_groups: str | None
    management_ports: int | None
    oversubscription: float
    spine_oversubscription: float
    planes: int
    purchase: str
    topology: str


def _with_nearest(error: FabricLimitError, system: System, switch: Switch, request: _Request) -> FabricLimitError:
    """Return the error with the fewest planes that work added to its help, where more planes help."""
    if error.finding.id not in {"NET001", "NET002", "NET006"}:
        return error
    for planes in (2, 3, 4, 6, 8):
        if planes <= request.planes:
            continue
        try:
            counts = _sized(system, switch, replace(request, planes=planes)).counts()
        except InputError:
            continue
        switches = counts["leaf"] + counts["spine"] + counts["core"]
        return FabricLimitError(
            rule=error.finding.id,
            message=error.finding.message,
            help=f"{error.help}; {planes} planes work, with {switches:,} switches",
            most_nodes=error.most_nodes,
        )
    return error


def _sized(system: System, switch: Switch, request: _Request) -> SystemFabric:
    units, nodes, oversubscription = request.units, request.nodes, request.oversubscription
    if units is None and nodes is None:
        raise InputError("a fabric needs its size", help="give --units or --nodes")
    if min(oversubscription, request.spine_oversubscription) < 1:
        least = min(oversubscription, request.spine_oversubscription)
        raise InputError(f"an oversubscription of {least:g} has more uplinks than downlinks", help="give 1 or more")
    rack = _rack_of(system, oversubscription, request.topology)
    ports = ports_of(system, switch=switch, topology=request.topology, planes=request.planes, rack=rack)
    radix = radix_of(switch, ports.bytes_per_s_one_way)
    uplinks, per_unit = (rack.uplinks_per_leaf, rack.nodes_per_unit) if rack else _unit_of(ports, radix, request)
    count = nodes if nodes is not None else (units or 0) * per_unit
    end_systems = rack.end_systems if rack else 1
    bought = (units or ceil(count / per_unit)) * per_unit
    _check_size(count, units=units, per_unit=per_unit)
    each = end_systems * ports.rails * ports.links_per_rail
    # Downlinks that a full unit's nodes do not use are free for subnet managers as well.
    unused = rack.leaf_per_unit * (radix - rack.uplinks_per_leaf) - per_unit * each if rack else 0
    free = (bought - count) * each + bought // per_unit * unused
    managed = _management_ports(request.management_ports, switch=switch, free=free, rack=rack)
    if units is not None and managed > free:
        raise fabric_limits.ports_exhausted(
            asked=f"{count} nodes and {managed} ports of subnet managers",
            units=units,
            per_unit=per_unit,
            fitting=f"plan {count - ceil((managed - free) / each)} nodes, or more units",
        )
    fabric = size_fabric(
        nodes=count * end_systems,
        units=units,
        rails=ports.rails,
        links_per_rail=ports.links_per_rail,
        radix=radix,
        nodes_per_unit=per_unit * end_systems,
        leaf_per_unit=rack.leaf_per_unit if rack else None,
        uplinks=uplinks,
        rail_groups=request.rail_groups or (rack.rail_groups if rack and bought > per_unit else None),
        management_ports=managed,
        ports_per_switch_cage=switch.ports_per_cage if radix == switch.ports else radix // switch.ports,
        ports_per_node_cage=ports.cage,
        purchase=request.purchase,
        infiniband=switch.network == INFINIBAND_NETWORK,
        leaf_oversubscription=oversubscription,
        spine_oversubscription=request.spine_oversubscription,
    )
    return SystemFabric(
        system=system.id,
        switch=switch.id,
        nodes=count,
        gpus=count * system.gpus,
        end_systems=end_systems,
        radix=radix,
        port_bytes_per_s_one_way=ports.bytes_per_s_one_way,
        planes=request.planes,
        planes_split=ports.split,
        node_ports=ports.ports,
        node_cage=ports.cage,
        topology=request.topology,
        oversubscription=oversubscription,
        fabric=fabric,
        notes=notes_of(system, switch, ports=ports, radix=radix, managed=managed, fabric=fabric),
    )


def _unit_of(ports: NodePorts, radix: int, request: _Request) -> tuple[int, int]:
    """Return the uplinks of a leaf and the nodes of a scalable unit."""
    uplinks = radix // 2
    if request.oversubscription > 1:
        uplinks = uplinks_with(
            oversubscription=request.oversubscription,
            radix=radix,
            leaf_per_unit=ports.rails,
            links_per_rail=ports.links_per_rail,
            unit_ports=(request.nodes or 0) * ports.rails * ports.links_per_rail,
            units=request.units,
        )
    down = radix - uplinks
    per_unit = down // ports.links_per_rail
    if not per_unit:
        raise fabric_limits.too_few_downlinks(unit_nodes=1, needed=ports.links_per_rail, downlinks=down, most=0)
    return uplinks, per_unit


def _rack_of(system: System, oversubscription: float, topology: str) -> ScalableUnit | None:
    rack = scalable_units().get(system.id)
    if rack is None:
        if (system.height_u or 0) >= RACK_SCALE_U:
            raise InputError(
                f"{system.name} is a whole rack, whose scalable unit is not in catalog/scalable_units.csv",
                help=f"choose a server such as dgx-h100, or one of: {', '.join(scalable_units())}",
            )
        return None
    if oversubscription != 1:
        raise InputError(f"the units of {system.name} have as many uplinks as downlinks", help="leave it at 1")
    if topology != RAIL:
        raise fabric_limits.no_such_topology(
            what=f"a {topology} topology", reason=f"the trays of {system.name} hang on one leaf per rail and rack"
        )
    return rack


def _check_size(count: int, *, units: int | None, per_unit: int) -> None:
    if units is not None and not 0 < count <= units * per_unit:
        raise fabric_limits.ports_exhausted(
            asked=f"{count} nodes",
            units=units,
            per_unit=per_unit,
            fitting=f"give up to {units * per_unit} nodes, or {ceil(count / per_unit)} units",
        )


def _management_ports(asked: int | None, *, switch: Switch, free: int, rack: ScalableUnit | None) -> int:
    if asked is not None:
        return asked
    if switch.network != INFINIBAND_NETWORK or rack:
        return 0
    wanted = DesignRules().ufm_ports_per_fabric
    return wanted if free >= wanted else 0
