"""Addresses of a site: a network for every purpose, with room to grow, and an address for every port that has one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from clusterwright.errors import Finding, RuleError
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.ethernet_links import border_switch
from clusterwright.facility.cabling.links import compute_names, storage_names
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import SiteNetwork

#: Addresses at the start of a shared network that no machine takes: the gateway, its two switches, and a reserve.
RESERVED = 16
#: Room for servers, switches and boxes over what there is: 25 %, an assumption.
ROOM = 1.25
#: Other devices with a management port that there is room for beside each host, and servers beside all: assumptions,
#: by the hosts that are bought for, so that networks do not move when some are added.
DEVICES_PER_HOST, SERVERS = 3, 48
#: Addresses of a pod on a compute port and of its leaf: pairs of a leaf's network, at its upper end.
PAIR = 2
OUT_OF_BAND, IN_BAND, BORDER = "out-of-band", "in-band", "border"
#: Addresses of the network between the border and the users' network: both sides' routers and their shared addresses.
_BORDER_ADDRESSES = 16
#: Offset of the address that is proposed for the users' firewall.
FIREWALL = 1
_SIDES = "ab"
#: Ids of the VLANs, over the first: of a leaf's own network, which is routed there, the id is the same everywhere.
_VLANS = {OUT_OF_BAND: 0, IN_BAND: 1, BORDER: 2, "storage-a": 3, "storage-b": 4, "storage": 5, "compute": 10}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subnet:
    """One network.

    Attributes:
        name, purpose: what it is called and for.
        vlan: its id, None where there are no VLANs (InfiniBand).
        prefix: its addresses; gateway: the first of them, None where nothing is routed.
        first: offset of the first machine.
    """

    name: str
    purpose: str
    vlan: int | None
    prefix: IPv4Network
    gateway: IPv4Address | None
    first: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """The address of one interface; `port` is the cable list's name of its port, empty for a switch's own."""

    device: str
    interface: str
    network: str
    port: str
    subnet: Subnet
    address: IPv4Address


def subnets(inventory: Inventory, network: SiteNetwork, *, managed: int) -> tuple[Subnet, ...]:
    """Return the networks of a site, one behind the other from the start of its range.

    Networks of hosts are sized for the places that are bought, so that addresses stay when nodes are added.

    Args:
        inventory: of the site.
        network: range and first VLAN.
        managed: devices and PDUs with a management port.

    Raises:
        RuleError: the range is too small (`NET007`).
    """
    sized = list(_sized(inventory, managed))
    available = IPv4Network(network.range)
    found, at, needed = [], int(available.network_address), 0
    for name, purpose, routed, count, first in sized:
        size = 1 << max(3, (count - 1).bit_length())
        at = -(-at // size) * size
        prefix = IPv4Network((at, 32 - size.bit_length() + 1))
        vlan = _vlan(name, inventory, network)
        found.append(
            Subnet(
                name=name,
                purpose=purpose,
                vlan=vlan,
                prefix=prefix,
                gateway=prefix[1] if routed else None,
                first=first,
            )
        )
        at += size
        needed = at - int(available.network_address)
    if needed > available.num_addresses:
        length = 32 - (needed - 1).bit_length()
        raise RuleError(
            (
                Finding(
                    id="NET007",
                    path=("site", "network", "range"),
                    message=f"{len(found):,} networks take {needed:,} addresses, {network.range} has "
                    f"{available.num_addresses:,}",
                    help=f"give a private range of /{length} or larger, such as 10.64.0.0/{min(length, 12)}",
                ),
            )
        )
    return tuple(found)


def _vlan(name: str, inventory: Inventory, network: SiteNetwork) -> int | None:
    kind = name.split(" ", maxsplit=1)[0]
    if kind not in {OUT_OF_BAND, IN_BAND, BORDER} and inventory.compute_network != ETHERNET:
        return None
    return network.first_vlan + _VLANS[kind]


def _sized(inventory: Inventory, managed: int) -> Iterator[tuple[str, str, bool, int, int]]:
    """Yield name, purpose, whether it is routed, the addresses it needs, and the offset of the first machine."""
    fabric, storage = inventory.fabric, inventory.storage_fabric
    hosts = capacity(inventory)
    others = max(hosts * DEVICES_PER_HOST, int((managed + inventory.oob_switches) * ROOM))
    yield OUT_OF_BAND, "management ports of all devices and PDUs", True, RESERVED + hosts + others, RESERVED
    servers = max(SERVERS, int(inventory.management_servers * ROOM))
    yield IN_BAND, "hosts and servers: login, jobs, provisioning", True, RESERVED + hosts + servers, RESERVED
    if inventory.inband.border:
        # The first address is proposed for the firewall.
        yield BORDER, "between the border switches and the users' network", False, _BORDER_ADDRESSES, FIREWALL + 1
    if inventory.compute_network == ETHERNET:
        for leaf in _leaves(inventory, "storage"):
            yield f"storage {leaf}", f"ports on {leaf}", True, storage.radix + 3, 1
        for leaf in _leaves(inventory, "compute"):
            # The leaf itself and a host on each port, then a pair each for pods.
            below = 1 + (fabric.radix if fabric.levels == 1 else fabric.ports_per_leaf)
            yield f"compute {leaf}", f"ports on {leaf}", True, max(fabric.radix + 3, (1 + PAIR) * below + 1), 1
        return
    boxes = inventory.storage.boxes * inventory.storage.ports_per_box + inventory.management_servers
    for side in _SIDES:
        ports = -(-inventory.storage_ports // len(_SIDES)) * hosts
        name = f"storage-{side}"
        room = RESERVED + ports + max(hosts, int(boxes * ROOM))
        yield name, f"IP over InfiniBand, side {side.upper()}", False, room, RESERVED
    for port in range(fabric.ports_per_node * inventory.planes):
        yield f"compute {port + 1}", f"IP over InfiniBand, port {port + 1}", False, RESERVED + hosts + 2, RESERVED


def capacity(inventory: Inventory) -> int:
    """Return the hosts that switches are bought for."""
    return max(len(inventory.hosts()), inventory.fabric.places)


def _leaves(inventory: Inventory, network: str) -> list[str]:
    if network == "storage":
        return [storage_names().leaf(leaf) for leaf in range(inventory.storage_fabric.leaf)]
    planes = [compute_names(inventory.fabric, plane) for plane in inventory.each_plane()]
    return [names.leaf(leaf) for names in planes for leaf in range(inventory.fabric.leaf)]


def addresses(inventory: Inventory, found: Sequence[Subnet], cables: Iterable[Cable]) -> tuple[Address, ...]:
    """Return the address of every port of a host, server and box, and of every management port, in the cables' order.

    A host's number decides its address, and on a leaf of its own network the leaf's port, so that addresses stay when
    others come or go. In-band ports of a machine are bonded and share one address.

    Args:
        inventory: of the site.
        found: its networks.
        cables: of all networks.
    """
    placed = _Placed(
        by_name={subnet.name: subnet for subnet in found},
        numbers={host: number for number, host in enumerate(inventory.hosts())},
        room=capacity(inventory),
        others=defaultdict(dict),
    )
    made: dict[tuple[str, str], Address] = {}
    for cable in cables:
        address = _of_cable(cable, placed, inventory)
        if address is not None:
            made.setdefault((address.device, address.interface), address)
    for name in inventory.oob_names():
        made[name, "vlan"] = placed.shared(name, "vlan", OUT_OF_BAND, "", OUT_OF_BAND)
    for number in range(inventory.inband.border):
        name, subnet = border_switch(number), placed.by_name[BORDER]
        made[name, "vlan"] = Address(
            device=name,
            interface="vlan",
            network=BORDER,
            port="",
            subnet=subnet,
            address=subnet.prefix[subnet.first + number],
        )
    return tuple(made.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Placed:
    """Which offsets of a network are taken: hosts by number, others one after the other behind the room for hosts."""

    by_name: dict[str, Subnet]
    numbers: dict[str, int]
    room: int
    others: defaultdict[str, dict[tuple[str, str], int]]

    def shared(  # noqa: PLR0917 - in the order of the cells
        self, device: str, interface: str, network: str, port: str, name: str, each: int = 1, nth: int = 0
    ) -> Address:
        """Return the address of a port in a network of many; a host has `each` ports there, this is its nth."""
        subnet, number = self.by_name[name], self.numbers.get(device)
        if number is None:
            taken = self.others[name]
            offset = self.room * each + taken.setdefault((device, interface), len(taken))
        else:
            offset = number * each + nth
        return Address(
            device=device,
            interface=interface,
            network=network,
            port=port,
            subnet=subnet,
            address=subnet.prefix[subnet.first + offset],
        )


def _of_cable(cable: Cable, placed: _Placed, inventory: Inventory) -> Address | None:
    """Return the address of the lower end of a link; None where that is a switch, or a manager without one."""
    device, port, network = cable.from_device, cable.from_port, cable.network
    if cable.tier == "management":
        return placed.shared(device, "mgmt", OUT_OF_BAND, port, OUT_OF_BAND)
    if cable.tier == "host-leaf":
        return placed.shared(device, "bond0", IN_BAND, port, IN_BAND)
    if cable.tier not in {"node-leaf", "server-leaf", "storage-leaf"}:
        return None
    interface = f"{network}-{port}"
    if inventory.compute_network == ETHERNET:
        fabric = inventory.fabric if network == "compute" else inventory.storage_fabric
        subnet = placed.by_name[f"{network} {cable.to_device}"]
        offset = subnet.first + _number(cable.to_port, fabric.ports_per_switch_cage)
        return Address(
            device=device,
            interface=interface,
            network=network,
            port=port,
            subnet=subnet,
            address=subnet.prefix[offset],
        )
    if network == "compute":
        name = f"compute {_number(port, inventory.node_ports_per_cage)}"
        return placed.shared(device, interface, network, port, name)
    each = -(-inventory.storage_ports // len(_SIDES))
    nth = (int(port) - 1) // len(_SIDES)
    return placed.shared(device, interface, network, port, f"storage-{cable.to_device[-1]}", each, nth)


def _number(port: str, cage: int) -> int:
    """Return a port's number from 1, of `cage/port` or of a number."""
    first, _, place = port.partition("/")
    return (int(first) - 1) * cage + int(place) if place else int(first)
