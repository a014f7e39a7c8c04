"""What a reader of a sized fabric has to know beside its counts."""

from clusterwright.catalog.parts import Switch
from clusterwright.catalog.records import System
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.node_ports import ETHERNET, INFINIBAND_NETWORK, NodePorts


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
