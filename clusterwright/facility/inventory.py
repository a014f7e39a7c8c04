"""What an on-premises cluster consists of, in counts and as named devices; where it stands comes later."""

from dataclasses import dataclass
from math import ceil

from clusterwright.catalog.parts import Part, Switch
from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import InputError, MissingFactError
from clusterwright.facility.fabric import size_fabric
from clusterwright.facility.fabric_counts import Fabric
from clusterwright.facility.fabric_uplinks import uplinks_of
from clusterwright.facility.networks import SIDES, InbandNetwork, size_inband_network, size_storage_network
from clusterwright.facility.racks import host_name
from clusterwright.facility.site import DesignRules
from clusterwright.sizing.records import StorageNeed

#: Family of media by port rate in bytes/s, one direction: HDR, NDR and XDR InfiniBand.
FAMILIES = {25e9: "hdr", 50e9: "ndr", 100e9: "xdr"}
#: Storage adapters of the systems stop at this rate where compute ports are faster.
STORAGE_PORT_BYTES_PER_S = 50e9
INBAND_SWITCH = "sn4600c"
OOB_SWITCH = "sn2201"
STORAGE_DATA_BOX = "vast-df-3015v2"
STORAGE_COMPUTE_BOX = "vast-cbox-gen6"
FABRIC_MANAGER = "ufm-enterprise-appliance"
MANAGEMENT_SERVER = "management-server"
COMPUTE_PDU = "raritan-px3-5878"
OTHER_PDU = "raritan-px3-5747"
RACK = "legrand-nvidpd13"
#: A system as high as this is a rack of its own, whose fabric and cooling follow other rules.
RACK_SCALE_U = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """A cluster in counts.

    Attributes:
        system, system_name: catalogue id and name; nodes of it; host_prefix: of their names.
        compute_switch, compute_family, fabric: the compute fabric, its switch's id and its media.
        storage_switch, storage_family, storage_fabric: the same for storage, whose nodes are slots on both sides.
        node_ports_per_cage, storage_ports, inband_ports: of one system.
        inband, oob_switches: Ethernet.
        compute_managers, storage_managers: fabric manager appliances; management_servers: other servers.
        storage_data_boxes, storage_compute_boxes: of the storage system.
        notes: choices that a reader has to know.
    """

    system: str
    system_name: str
    nodes: int
    gpus: int
    host_prefix: str
    compute_switch: str
    compute_family: str
    fabric: Fabric
    storage_switch: str
    storage_family: str
    storage_fabric: Fabric
    node_ports_per_cage: int
    storage_ports: int
    inband_ports: int
    inband: InbandNetwork
    oob_switches: int
    compute_managers: int
    storage_managers: int
    management_servers: int
    storage_data_boxes: int
    storage_compute_boxes: int
    notes: tuple[str, ...]

    def hosts(self) -> list[str]:
        """Return the names of the nodes in order."""
        return [host_name(self.host_prefix, number, self.nodes) for number in range(1, self.nodes + 1)]

    def servers(self) -> list[str]:
        """Return the names of the management servers."""
        return [host_name("mgmt-", number + 1, self.management_servers) for number in range(self.management_servers)]

    def boxes(self) -> list[str]:
        """Return the names of the storage boxes, data boxes first."""
        data = [f"st-data-{number + 1:02d}" for number in range(self.storage_data_boxes)]
        return data + [f"st-node-{number + 1:02d}" for number in range(self.storage_compute_boxes)]

    def compute_manager_names(self) -> list[str]:
        """Return the names of the compute fabric's managers."""
        return [f"ufm-{number + 1}" for number in range(self.compute_managers)]

    def storage_manager_names(self) -> list[str]:
        """Return the names of the storage network's managers."""
        return [f"st-ufm-{number + 1}" for number in range(self.storage_managers)]

    def oob_names(self) -> list[str]:
        """Return the names of the out-of-band switches."""
        return [f"oob-{number + 1:02d}" for number in range(self.oob_switches)]

    def node_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each scalable unit's name (`su1`, …) and its hosts; `topology.conf` is made of these."""
        hosts = self.hosts()
        return tuple(
            (f"su{number + 1}", tuple(hosts[nodes.start : nodes.stop]))
            for number, nodes in enumerate(self.fabric.unit_nodes())
        )


def take_stock(
    *,
    system: System,
    nodes: int,
    storage: StorageNeed,
    rules: DesignRules,
    catalogue: Catalogue,
    purchase: str,
    host_prefix: str,
) -> Inventory:
    """Size all networks and count all devices, with 2 out-of-band switches for a start.

    The compute fabric gets its fabric managers where they need no further switch; else the subnet manager of the
    switches is used and a note says so.

    Args:
        system: to buy.
        nodes: of it.
        storage: capacity in bytes and throughput in bytes/s.
        rules: design rules.
        catalogue: switches and parts.
        purchase: of the compute fabric, `full-units` or `as-needed`.
        host_prefix: of node names.

    Raises:
        InputError: a system that these rules do not fit.
        MissingFactError: a fact of the system is unknown.
    """
    switch = compute_switch(system, catalogue)
    storage_switch = _switch_of_rate(min(switch.port_bytes_per_s_one_way, STORAGE_PORT_BYTES_PER_S), catalogue)
    fabrics = [
        size_fabric(
            nodes=nodes,
            rails=_known(system.fabric_ports, system, "compute ports"),
            radix=switch.ports,
            ports_per_switch_cage=switch.ports_per_cage,
            ports_per_node_cage=system.fabric_ports_per_cage or 1,
            uplinks=uplinks_of(switch.ports, rules.leaf_oversubscription),
            management_ports=management_ports,
            purchase=purchase,
            spine_oversubscription=rules.spine_oversubscription,
        )
        for management_ports in (rules.ufm_ports_per_fabric, 0)
    ]
    managed = fabrics[0].switches == fabrics[1].switches
    data_boxes, compute_boxes = _storage_boxes(storage, catalogue.parts.get(STORAGE_DATA_BOX), rules)
    storage_ports = _known(system.storage_ports, system, "storage ports")
    inband_ports = _known(system.inband_ports, system, "in-band ports")
    return Inventory(
        system=system.id,
        system_name=system.name,
        nodes=nodes,
        gpus=nodes * system.gpus,
        host_prefix=host_prefix,
        compute_switch=switch.id,
        compute_family=FAMILIES[switch.port_bytes_per_s_one_way],
        fabric=fabrics[0] if managed else fabrics[1],
        storage_switch=storage_switch.id,
        storage_family=FAMILIES[storage_switch.port_bytes_per_s_one_way],
        storage_fabric=size_storage_network(
            nodes=nodes,
            node_ports=storage_ports,
            boxes=data_boxes + compute_boxes,
            radix=storage_switch.ports,
            cage=storage_switch.ports_per_cage,
            rules=rules,
        ),
        node_ports_per_cage=system.fabric_ports_per_cage or 1,
        storage_ports=storage_ports,
        inband_ports=inband_ports,
        inband=size_inband_network(nodes=nodes, node_ports=inband_ports, rules=rules),
        oob_switches=SIDES,
        compute_managers=rules.ufm_per_fabric if managed else 0,
        storage_managers=rules.ufm_per_fabric,
        management_servers=rules.management_servers,
        storage_data_boxes=data_boxes,
        storage_compute_boxes=compute_boxes,
        notes=_notes(nodes=nodes, managed=managed, storage=storage, data_boxes=data_boxes, rules=rules),
    )


def _notes(*, nodes: int, managed: bool, storage: StorageNeed, data_boxes: int, rules: DesignRules) -> tuple[str, ...]:
    boxes = f"{data_boxes} data box{'es' if data_boxes > 1 else ''}"
    kept = (
        f"Storage of {storage.capacity_bytes / 1e12:,.0f} TB stands on {boxes}, of whose raw capacity "
        f"{rules.storage_usable_share:.0%} is taken as usable (assumed). It must sustain "
        f"{storage.read_bytes_per_s / 1e9:,.1f} GB/s read and {storage.write_bytes_per_s / 1e9:,.1f} GB/s write. The "
        "boxes' throughput is not published: have the vendor confirm it."
    )
    if managed:
        return (kept,)
    unmanaged = (
        f"{nodes} nodes fill every leaf port, so the compute fabric has no UFM appliance and uses the subnet manager "
        f"of its switches. With {nodes - 1} nodes there are ports for UFM."
    )
    return (unmanaged, kept)


def rail_levels(system: System, *, rules: DesignRules, catalogue: Catalogue) -> tuple[int, int]:
    """Return the nodes below one leaf of each rail, and below the spines that a rail's leaves share in three levels.

    A leaf of `R` ports has `d = R - u` towards nodes; `d_s` leaves fill a spine's ports downwards: `d` and `d d_s`
    nodes. In two levels all leaves share all spines, and there are never more of them than that.

    Raises:
        InputError, MissingFactError: as `compute_switch`.
    """
    ports = compute_switch(system, catalogue).ports
    nodes = ports - uplinks_of(ports, rules.leaf_oversubscription)
    return nodes, nodes * (ports - uplinks_of(ports, rules.spine_oversubscription))


def _known(value: int | None, system: System, what: str) -> int:
    if not value:
        raise MissingFactError(
            f"the {what} of {system.name} are unknown", help="choose a system whose ports are in the catalogue"
        )
    return value


def compute_switch(system: System, catalogue: Catalogue) -> Switch:
    """Return the switch that a system's compute fabric is built of.

    Raises:
        InputError: a system that these rules do not fit.
        MissingFactError: its ports or their rate are unknown, or no switch has them.
    """
    if (system.height_u or 0) >= RACK_SCALE_U:
        raise InputError(
            f"{system.name} is a whole rack; its fabric and cooling do not follow the rules of single servers",
            help="choose a server such as dgx-h100",
        )
    if system.fabric_kind not in (None, "infiniband"):
        raise InputError(
            f"{system.name} has a {system.fabric_kind} fabric; on-premises designs are made for InfiniBand systems",
            help="choose a system with InfiniBand ports, such as dgx-h100",
        )
    ports = _known(system.fabric_ports, system, "compute ports")
    per_gpu = system.fabric_bytes_per_s_per_gpu_one_way
    if per_gpu is None:
        raise MissingFactError(f"the port rate of {system.name} is unknown", help="choose another system")
    return _switch_of_rate(per_gpu * system.gpus / ports, catalogue)


def _switch_of_rate(rate: float, catalogue: Catalogue) -> Switch:
    for switch in catalogue.switches.values():
        # Of two alike the catalogue lists the managed one, which has a subnet manager, first.
        if switch.network == "infiniband" and switch.port_bytes_per_s_one_way == rate and rate in FAMILIES:
            return switch
    raise MissingFactError(
        f"no InfiniBand switch with ports of {rate * 8 / 1e9:.0f} Gb/s is in the catalogue",
        help="choose a system with ports of 200, 400 or 800 Gb/s",
    )


def _storage_boxes(need: StorageNeed, box: Part | None, rules: DesignRules) -> tuple[int, int]:
    """Return data boxes by capacity, and compute boxes: as many (assumed), at least 2, with ports for the need."""
    if box is None or not box.capacity_bytes:
        raise MissingFactError(f"the capacity of {STORAGE_DATA_BOX} is unknown", help="add it to catalog/parts.csv")
    data = max(1, ceil(need.capacity_bytes / (box.capacity_bytes * rules.storage_usable_share)))
    per_box = rules.storage_ports_per_box * 25e9
    by_ports = ceil(max(need.read_bytes_per_s, need.write_bytes_per_s) / per_box)
    return data, max(2, data, by_ports)
