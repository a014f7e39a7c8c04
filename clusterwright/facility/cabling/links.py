"""Which port is joined to which in the compute and storage fabrics, before anybody knows where things stand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.networks import SIDES, SPLITTER_FAMILY, slots_per_box, slots_per_node
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.inventory import Inventory

SIDE_LETTERS = "ab"


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """One end of a link.

    Attributes:
        device: name; port: from 0 within the network's ports of that device.
        kind: `switch`, `node` (compute port), `nic` (other ports of servers), `appliance` or `storage`.
    """

    device: str
    port: int
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """Two ports joined.

    Attributes:
        network: `compute`, `storage`, `in-band` or `out-of-band`; tier: `node-leaf`, `leaf-spine`, `spine-core`, ….
        family: of media that fit both ports.
    """

    network: str
    tier: str
    family: str
    a: End
    b: End


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeNames:
    """How the switches of a tree are called, each from its index from 0."""

    leaf: Callable[[int], str]
    spine: Callable[[int], str]
    core: Callable[[int], str]


def compute_names(fabric: Fabric, plane: Plane | None = None) -> TreeNames:
    """Return names such as `leaf-02-7` (second set of rail leaves, seventh rail), `spine-016`, `core-001`.

    Of several planes the names say which: `p1-leaf-02-7`.
    """
    of = plane or Plane()
    return TreeNames(
        leaf=lambda leaf: of.named(f"leaf-{leaf // fabric.rails + 1:02d}-{leaf % fabric.rails + 1}"),
        spine=lambda spine: of.named(f"spine-{spine + 1:03d}"),
        core=lambda core: of.named(f"core-{core + 1:03d}"),
    )


def storage_names() -> TreeNames:
    """Return names such as `st-leaf-01a` (side A of the first pair)."""
    return TreeNames(
        leaf=lambda leaf: f"st-leaf-{leaf // SIDES + 1:02d}{SIDE_LETTERS[leaf % SIDES]}",
        spine=lambda spine: f"st-spine-{spine + 1:02d}",
        core=lambda core: f"st-core-{core + 1:02d}",
    )


def compute_links(
    *, fabric: Fabric, family: str, hosts: list[str], managers: list[str], plane: Plane | None = None
) -> Iterator[Link]:
    """Yield the compute fabric: node n's port r to the leaf of rail r in its unit, then trunks level by level.

    A node with several links to a leaf takes ports that follow each other, on both sides.

    Args:
        fabric: counts.
        family: of media.
        hosts: names of the nodes in order.
        managers: names of the subnet managers; their ports are dealt out one after the other.
        plane: of several; the fabric is one of them.
    """
    of = plane or Plane()
    names, each = compute_names(fabric, plane), fabric.links_per_rail
    for node, host in enumerate(hosts):
        for port in range(fabric.ports_per_node):
            rail, link = divmod(port, each)
            below = node % fabric.nodes_per_leaf * each + link
            yield Link(
                network="compute",
                tier="node-leaf",
                family=family,
                a=End(device=host, port=of.node_port(port, fabric.ports_per_node), kind="node"),
                b=End(
                    device=names.leaf(fabric.leaf_of(node, rail)),
                    port=node * fabric.ports_per_node + port if fabric.levels == 1 else below,
                    kind="switch",
                ),
            )
    for port in range(fabric.management_ports):
        leaf, place = _management_place(fabric, port)
        yield Link(
            network="compute",
            tier="manager-leaf",
            family=family,
            a=End(device=managers[port % len(managers)], port=port // len(managers), kind="appliance"),
            b=End(device=names.leaf(leaf), port=place, kind="switch"),
        )
    yield from trunk_links(fabric=fabric, family=family, network="compute", names=names)


def _management_place(fabric: Fabric, port: int) -> tuple[int, int]:
    if fabric.levels == 1:
        return 0, fabric.nodes * fabric.ports_per_node + port
    block, rail = fabric.management_block, port % fabric.rails
    nodes = max(0, min(fabric.nodes_per_leaf, fabric.nodes - block * fabric.nodes_per_leaf))
    return block * fabric.rails + rail, nodes * fabric.links_per_rail + port // fabric.rails


def trunk_links(*, fabric: Fabric, family: str, network: str, names: TreeNames) -> Iterator[Link]:
    """Yield leaf–spine links in equal trunks, and spine–core links spread evenly over the core."""
    for leaf in range(fabric.leaf if fabric.spine else 0):
        group = fabric.group_of(leaf)
        member = leaf if fabric.levels == 2 else leaf // fabric.rails % fabric.leaf_per_group  # noqa: PLR2004 - levels
        trunk = fabric.uplinks_per_leaf // fabric.spine_per_group
        for uplink in range(fabric.uplinks_per_leaf):
            yield Link(
                network=network,
                tier="leaf-spine",
                family=family,
                a=End(device=names.leaf(leaf), port=fabric.radix - fabric.uplinks_per_leaf + uplink, kind="switch"),
                b=End(
                    device=names.spine(group * fabric.spine_per_group + uplink // trunk),
                    port=member * trunk + uplink % trunk,
                    kind="switch",
                ),
            )
    for spine in range(fabric.spine if fabric.core else 0):
        for uplink in range(fabric.uplinks_per_spine):
            core, port = _core_port(fabric, spine, uplink)
            yield Link(
                network=network,
                tier="spine-core",
                family=family,
                a=End(device=names.spine(spine), port=fabric.radix - fabric.uplinks_per_spine + uplink, kind="switch"),
                b=End(device=names.core(core), port=port, kind="switch"),
            )


def _core_port(fabric: Fabric, spine: int, uplink: int) -> tuple[int, int]:
    """Return core switch and port. Spines at the same position of all groups share core switches if that comes out."""
    group, position = divmod(spine, fabric.spine_per_group)
    shared, rest = divmod(fabric.core, fabric.spine_per_group)
    if rest == 0 and fabric.uplinks_per_spine % shared == 0:
        trunk = fabric.uplinks_per_spine // shared
        return position * shared + uplink // trunk, group * trunk + uplink % trunk
    number = spine * fabric.uplinks_per_spine + uplink
    return number % fabric.core, number // fabric.core


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageEnds:
    """What hangs on the storage network, by name.

    Attributes:
        family: of media of nodes, servers and trunks; box_family: of a storage box's ports.
        boxes, hosts, servers, managers: names. A box has `box_ports` ports, a host `host_ports`, a server one, a
            manager one per side.
    """

    family: str
    box_family: str
    boxes: list[str]
    box_ports: int
    hosts: list[str]
    host_ports: int
    servers: list[str]
    managers: list[str]


def storage_links(*, fabric: Fabric, ends: StorageEnds) -> Iterator[Link]:
    """Yield the storage network: boxes first (whole cages), then nodes, servers and subnet managers, on both sides.

    Args:
        fabric: counts, with the sides as rails and slots as nodes.
        ends: what hangs on it.
    """
    names = storage_names()
    for slot, side, tier, device in _storage_slots(ends):
        pair, place = divmod(slot, fabric.nodes_per_unit)
        yield Link(
            network="storage",
            tier=tier,
            family=ends.box_family if tier == "storage-leaf" else ends.family,
            a=device,
            b=End(device=names.leaf(pair * SIDES + side), port=place, kind="switch"),
        )
    yield from trunk_links(fabric=fabric, family=ends.family, network="storage", names=names)


def _storage_slots(ends: StorageEnds) -> Iterator[tuple[int, int, str, End]]:
    """Yield slot, side, tier and end of every cable to a leaf. A slot is a port on both leaves of a pair."""
    slot = 0
    per_side, kind = slots_per_node(ends.box_ports), "storage" if ends.box_family == SPLITTER_FAMILY else "appliance"
    for box in ends.boxes:
        for half, side in product(range(per_side), range(SIDES)):
            port = side * per_side + half
            if port < ends.box_ports:
                yield slot + half, side, "storage-leaf", End(device=box, port=port, kind=kind)
        slot += slots_per_box(ends.box_ports, ends.box_family)
    for host in ends.hosts:
        for port in range(ends.host_ports):
            yield slot + port // SIDES, port % SIDES, "node-leaf", End(device=host, port=port, kind="nic")
        slot += slots_per_node(ends.host_ports)
    for index, server in enumerate(ends.servers):
        yield slot + index // SIDES, index % SIDES, "server-leaf", End(device=server, port=0, kind="nic")
    slot += slots_per_node(len(ends.servers))
    for manager in ends.managers:
        for side in range(SIDES):
            yield slot, side, "manager-leaf", End(device=manager, port=side, kind="appliance")
        slot += 1


def compute_network(inventory: Inventory) -> Iterator[Link]:
    """Yield the cables of the compute fabric, as they are planned, plane by plane."""
    for plane in inventory.each_plane():
        yield from compute_plane(inventory, plane)


def compute_plane(inventory: Inventory, plane: Plane) -> Iterator[Link]:
    """Yield the cables of one plane of the compute fabric."""
    return compute_links(
        fabric=inventory.fabric,
        family=inventory.compute_family,
        hosts=inventory.hosts(),
        managers=inventory.managers_of(plane),
        plane=plane,
    )


def storage_network(inventory: Inventory) -> Iterator[Link]:
    """Yield the cables of the storage network, as they are planned."""
    family = inventory.storage_family
    return storage_links(
        fabric=inventory.storage_fabric,
        ends=StorageEnds(
            family=family,
            box_family=inventory.storage_box_family,
            boxes=inventory.boxes(),
            box_ports=inventory.storage.ports_per_box,
            hosts=inventory.hosts(),
            host_ports=inventory.storage_ports,
            servers=inventory.servers(),
            managers=inventory.storage_manager_names(),
        ),
    )
