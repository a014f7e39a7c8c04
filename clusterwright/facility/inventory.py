"""What an on-premises cluster consists of, in counts and as named devices; where it is comes later."""

from dataclasses import dataclass, replace
from math import ceil

from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import MissingFactError
from clusterwright.facility.fabric.compute import compute_fabric, fabric_notes
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.networks import (
    SIDES,
    InbandNetwork,
    size_inband_network,
    size_storage_network,
    slots_per_box,
)
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK, radix_of
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.fabric.switch_choice import TWIN_CAGE, family_of, switch_for
from clusterwright.facility.hall.racks import host_name
from clusterwright.facility.site import DesignRules, told_note
from clusterwright.facility.storage.demand import AskedStorage
from clusterwright.facility.storage.design import StorageDesign, design_storage
from clusterwright.facility.storage.words import storage_box_family, storage_note
from clusterwright.sizing.records.run import StorageNeed

#: Storage adapters of the systems stop at this rate where compute ports are faster.
STORAGE_PORT_BYTES_PER_S = 50e9
INBAND_SWITCH = "sn4600c"
#: The same product as the leaves, so that one spare serves both; a firewall of the site may be behind it.
BORDER_SWITCH = "sn4600c"
#: Transceiver of a link to the users' network: single-mode, since the way to it is not known.
UPLINK_TRANSCEIVER, UPLINK_FIBRE = "qsfp28-cwdm4", "lc-duplex-smf"
OOB_SWITCH = "sn2201"
FABRIC_MANAGER = "ufm-enterprise-appliance"
MANAGEMENT_SERVER = "management-server"
RACK = "legrand-nvidpd13"


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """A cluster in counts.

    Attributes:
        system, system_name: catalogue id and name; nodes of it; host_prefix: of their hosts' names.
        hosts_per_node: hosts that one system consists of: 1, or the compute trays of a rack.
        compute_network: `infiniband` or `ethernet`; compute_port_bytes_per_s: one way.
        compute_switch, compute_family, fabric: one plane of the compute fabric, its switch's id and its media.
        planes, planes_split: how many there are, and how they share a node's ports (`planes.Plane`).
        storage_switch, storage_family, storage_fabric: the same for storage, whose nodes are slots on both sides.
        node_ports_per_cage, storage_ports, inband_ports: of one system.
        inband, oob_switches: Ethernet.
        compute_managers, storage_managers: fabric manager appliances; management_servers: other servers.
        storage: boxes of shared storage; storage_box_family: of media of their ports.
        notes: choices that a reader has to know.
    """

    system: str
    system_name: str
    nodes: int
    gpus: int
    host_prefix: str
    hosts_per_node: int
    compute_network: str
    compute_port_bytes_per_s: float
    planes: int
    planes_split: str
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
    storage: StorageDesign
    storage_box_family: str
    notes: tuple[str, ...]

    def hosts(self) -> list[str]:
        """Return the names of the hosts in order, node by node."""
        count = self.nodes * self.hosts_per_node
        return [host_name(self.host_prefix, number, count) for number in range(1, count + 1)]

    def each_plane(self) -> tuple[Plane, ...]:
        """Return the planes of the compute fabric in order."""
        return tuple(Plane(number=number, count=self.planes, split=self.planes_split) for number in range(self.planes))

    @property
    def compute_switches(self) -> int:
        """All switches of the compute fabric, of all planes."""
        return self.planes * self.fabric.switches

    def servers(self) -> list[str]:
        """Return the names of the management servers."""
        return [host_name("mgmt-", number + 1, self.management_servers) for number in range(self.management_servers)]

    def boxes(self) -> list[str]:
        """Return the names of the storage boxes, data boxes first."""
        data = [f"st-data-{number + 1:02d}" for number in range(self.storage.data_boxes)]
        return data + [f"st-node-{number + 1:02d}" for number in range(self.storage.front_boxes)]

    def compute_manager_names(self) -> list[str]:
        """Return the names of the compute fabric's managers."""
        return [f"ufm-{number + 1}" for number in range(self.compute_managers)]

    def managers_of(self, plane: Plane) -> list[str]:
        """Return the names of one plane's managers: each plane is a subnet of its own."""
        each = self.compute_managers // self.planes
        return self.compute_manager_names()[plane.number * each : (plane.number + 1) * each]

    def storage_manager_names(self) -> list[str]:
        """Return the names of the storage network's managers."""
        return [f"st-ufm-{number + 1}" for number in range(self.storage_managers)]

    def oob_names(self) -> list[str]:
        """Return the names of the out-of-band switches."""
        return [f"oob-{number + 1:02d}" for number in range(self.oob_switches)]

    def adapter_bytes_per_s(self, system: System) -> float:
        """Return the rate that a fabric port of a node reports, one direction.

        Ports that share a cable keep their own rate: the four of a Gaudi 3 cage report 200 Gb/s each on a link of 800.
        A port that is split over planes reports the rate of a part.

        Args:
            system: the nodes' type.
        """
        of_gpu = system.fabric_bytes_per_s_per_gpu_one_way
        if of_gpu is None or not system.fabric_ports:
            return self.compute_port_bytes_per_s
        return min(self.compute_port_bytes_per_s, of_gpu * system.gpus / system.fabric_ports)

    def fabric_ports_seen(self, system: System) -> int:
        """Return how many ports of a host report the rate of its compute ports, or more: storage's among them.

        Args:
            system: the nodes' type.
        """
        rate, of_gpu = self.adapter_bytes_per_s(system), system.fabric_bytes_per_s_per_gpu_one_way
        compute = self.fabric.ports_per_node * self.planes
        if of_gpu is not None and system.fabric_ports:
            compute = round(of_gpu * system.gpus / self.hosts_per_node / rate)
        return compute + (self.storage_ports if rate <= STORAGE_PORT_BYTES_PER_S else 0)

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
    host_prefix: str,
    asked_storage: AskedStorage | None = None,
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
        host_prefix: of node names.
        asked_storage: what the blueprint asks of the storage to buy.

    Raises:
        InputError: a system that these rules do not fit.
        MissingFactError: a fact of the system or of the storage is unknown.
        RuleError: the storage cannot be built or joined (`STO008`, `STO010`).
    """
    sized, managed = compute_fabric(system, nodes=nodes, rules=rules, catalogue=catalogue)
    switch = catalogue.switches[sized.switch]
    hosts, each = nodes * sized.end_systems, sized.end_systems
    storage_rate = min(sized.port_bytes_per_s_one_way * sized.planes_of_a_port, STORAGE_PORT_BYTES_PER_S)
    storage_switch = switch_for(storage_rate, switch.network, catalogue)
    storage_radix = radix_of(storage_switch, storage_rate)
    on_infiniband = switch.network == INFINIBAND_NETWORK
    storage_managed = on_infiniband and (managed or sized.fabric.switches > 1)
    boxes = design_storage(
        storage,
        nodes=nodes,
        gpus=nodes * system.gpus,
        rack_scale=each > 1,
        drives_bytes=system.local_nvme_bytes,
        asked=asked_storage,
        catalogue=catalogue,
    )
    storage_family = family_of(switch.network, storage_rate, TWIN_CAGE)
    box_family = storage_box_family(boxes, family=storage_family, switch_bytes_per_s=storage_rate)
    storage_ports = ceil(_known(system.storage_ports, system, "storage ports") / each)
    inband_ports = ceil(_known(system.inband_ports, system, "in-band ports") / each)
    return Inventory(
        system=system.id,
        system_name=system.name,
        nodes=nodes,
        gpus=nodes * system.gpus,
        host_prefix=host_prefix,
        hosts_per_node=each,
        compute_network=switch.network,
        compute_port_bytes_per_s=sized.port_bytes_per_s_one_way,
        planes=sized.planes,
        planes_split=sized.planes_split,
        compute_switch=switch.id,
        compute_family=family_of(switch.network, sized.port_bytes_per_s_one_way, sized.node_cage),
        fabric=sized.fabric,
        storage_switch=storage_switch.id,
        storage_family=storage_family,
        storage_fabric=size_storage_network(
            nodes=hosts,
            node_ports=storage_ports,
            box_slots=boxes.boxes * slots_per_box(boxes.ports_per_box, box_family),
            radix=storage_radix,
            cage=max(storage_switch.ports_per_cage, storage_radix // storage_switch.ports),
            rules=rules if storage_managed else replace(rules, ufm_ports_per_fabric=0),
            infiniband=on_infiniband,
        ),
        node_ports_per_cage=sized.node_cage,
        storage_ports=storage_ports,
        inband_ports=inband_ports,
        inband=size_inband_network(nodes=hosts, node_ports=inband_ports, rules=rules),
        oob_switches=SIDES,
        compute_managers=rules.ufm_per_fabric * sized.planes if managed else 0,
        storage_managers=rules.ufm_per_fabric if storage_managed else 0,
        management_servers=rules.servers_for(hosts),
        storage=boxes,
        storage_box_family=box_family,
        notes=(*_told(system, rules), *fabric_notes(sized, managed=managed or not on_infiniband), storage_note(boxes)),
    )


def _told(system: System, rules: DesignRules) -> tuple[str, ...]:
    note = told_note(system, rules.node)
    return () if note is None else (note,)


def _known(value: int | None, system: System, what: str) -> int:
    if not value:
        raise MissingFactError(
            f"the {what} of {system.name} are unknown", help="choose a system whose ports are in the catalogue"
        )
    return value
