"""How the ports of a system hang on the leaves of a compute fabric: rails, links of each, their rate, planes."""

from dataclasses import dataclass, replace

from clusterwright.catalog.parts.scalable_units import ScalableUnit
from clusterwright.catalog.records import Switch, System
from clusterwright.errors import InputError, MissingFactError
from clusterwright.facility.fabric import limits as fabric_limits
from clusterwright.facility.fabric.planes import SPLIT_PORTS, WHOLE_RAILS
from clusterwright.facility.site import PLAIN, RAIL

ETHERNET, INFINIBAND_NETWORK = "ethernet", "infiniband"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePorts:
    """The ports of one end system in one plane.

    Attributes:
        rails: leaves that it hangs on; links_per_rail: links to each.
        bytes_per_s_one_way: of a link; cage: links that share a transceiver of the node, over all planes.
        ports: of the node over all planes; planes: how many share them out; split: how, `ports` or `rails`.
        notes: what a reader has to know.
    """

    rails: int
    links_per_rail: int
    bytes_per_s_one_way: float
    cage: int
    ports: int
    planes: int = 1
    split: str = SPLIT_PORTS
    notes: tuple[str, ...] = ()


def ports_of(
    system: System, *, switch: Switch, topology: str = RAIL, planes: int = 1, rack: ScalableUnit | None = None
) -> NodePorts:
    """Return how the ports of a system, or of one tray of a rack, hang on switches of a kind.

    Where all links of a cage go to the same leaf and the switch has ports of the cage's rate, one cable carries them:
    the six cages of a Gaudi 3 server, four ports of 200 Gb/s each, are six links of 800 Gb/s. On Ethernet, planes split
    every port; an InfiniBand port is in one subnet, so there whole rails are shared out over the planes.

    Args:
        system: whose ports.
        switch: of the fabric.
        topology: `rail` or `plain`.
        planes: to share the ports out over.
        rack: how the trays of a rack-scale system hang on the fabric.

    Raises:
        MissingFactError: ports or port rate are unknown.
        FabricLimitError: a topology that the ports do not fit (`NET005`), or slower switch ports (`NET006`).
        InputError: planes that do not divide the rails, or a management switch.
    """
    if topology not in {RAIL, PLAIN}:
        raise fabric_limits.no_such_topology(
            what=f"a {topology} topology",
            reason="it has no leaf per rail and no levels, and no rule here says how many switches it takes",
        )
    if switch.network not in {ETHERNET, INFINIBAND_NETWORK}:
        raise InputError(f"{switch.name} is an out-of-band switch", help="choose one such as qm9700 or sn5600")
    ports, per_gpu = system.fabric_ports, system.fabric_bytes_per_s_per_gpu_one_way
    if not ports or per_gpu is None:
        raise MissingFactError(
            f"the fabric ports of {system.name} are unknown", help="choose a system whose ports are in the catalogue"
        )
    rails = rack.rails if rack else system.fabric_rails or ports
    own = rails if rack else ports
    if topology == PLAIN and rack is None:
        rails = 1
    elif own % rails or (rack is None and system.fabric_rails is None and ports % system.gpus and system.gpus % ports):
        raise fabric_limits.no_such_topology(
            what=f"{system.name} on rails", reason=f"its {own} ports are no rails of its {system.gpus} accelerators"
        )
    found = NodePorts(
        rails=rails,
        links_per_rail=own // rails,
        bytes_per_s_one_way=per_gpu * system.gpus / ports,
        cage=system.fabric_ports_per_cage or 1,
        ports=own,
    )
    return _in_planes(_bundled(found, system, switch), system, switch, planes)


def _bundled(found: NodePorts, system: System, switch: Switch) -> NodePorts:
    cage = found.cage
    fits = switch.port_bytes_per_s_one_way == cage * found.bytes_per_s_one_way and switch.network == ETHERNET
    if cage == 1 or found.links_per_rail % cage or not fits:
        return found
    gbit = found.bytes_per_s_one_way * 8e-9
    return replace(
        found,
        links_per_rail=found.links_per_rail // cage,
        bytes_per_s_one_way=found.bytes_per_s_one_way * cage,
        cage=1,
        ports=found.ports // cage,
        notes=(f"the {cage} ports of {gbit:.0f} Gb/s in a cage of {system.name} share a cable and a switch port",),
    )


def _in_planes(found: NodePorts, system: System, switch: Switch, planes: int) -> NodePorts:
    if planes == 1:
        shared = found
    elif switch.network == INFINIBAND_NETWORK:
        if found.rails % planes:
            raise InputError(
                f"{found.rails} rails of {system.name} cannot be shared out over {planes} planes",
                help=f"choose a number of planes that divides {found.rails}",
            )
        shared = replace(found, rails=found.rails // planes, planes=planes, split=WHOLE_RAILS)
    else:
        shared = replace(
            found,
            bytes_per_s_one_way=found.bytes_per_s_one_way / planes,
            cage=found.cage * planes,
            ports=found.ports * planes,
            planes=planes,
        )
    if switch.port_bytes_per_s_one_way < shared.bytes_per_s_one_way:
        raise fabric_limits.slower_ports(
            system=system.name,
            rate=shared.bytes_per_s_one_way,
            switch=switch.name,
            splits=switch.network == ETHERNET,
        )
    return shared


def radix_of(switch: Switch, bytes_per_s_one_way: float) -> int:
    """Return the ports of a switch at a rate: Ethernet ports are split where they are faster, InfiniBand ones are not.

    A Spectrum-4 switch splits each port of 800 Gb/s into two of 400 or four of 200. Quantum-2 could be split too, but
    its reference designs use whole ports.
    """
    if switch.network != ETHERNET:
        return switch.ports
    return switch.ports * int(switch.port_bytes_per_s_one_way / bytes_per_s_one_way)
