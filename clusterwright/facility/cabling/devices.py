"""The named devices of an inventory, with their sizes and nameplate power from the catalogue."""

from collections import Counter
from collections.abc import Iterator

from clusterwright.catalog.parts.rack_contents import rack_contents
from clusterwright.catalog.parts.supplies import power_connections
from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import MissingFactError
from clusterwright.facility import inventory as stock
from clusterwright.facility import power
from clusterwright.facility.cabling import ethernet_links, links
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.networks import SIDES
from clusterwright.facility.hall.racks import Device, Placement, whole_u
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import DesignRules, as_told
from clusterwright.facility.storage.design import StorageDesign

#: Supplies of a device whose number is not known: one on each of two feeds, as the racks are planned.
ASSUMED_SUPPLIES = 2


def compute_devices(inventory: Inventory, catalogue: Catalogue, rules: DesignRules) -> Iterator[Device]:
    """Yield the nodes in order, at nameplate less what a power cap takes off."""
    system = as_told(catalogue.systems[inventory.system], rules.node)
    for host in inventory.hosts():
        yield Device(
            name=host,
            sku=system.id,
            role="compute",
            height_u=node_height_u(system),
            power_w=node_power_w(system, catalogue, rules),
            weight_kg=system.weight_kg,
            supplies=ASSUMED_SUPPLIES if system.psu_count is None else system.psu_count,
        )


def whole_racks(inventory: Inventory, catalogue: Catalogue, rules: DesignRules) -> list[list[Placement]]:
    """Return the contents of racks that are delivered whole, one for each node of the inventory.

    Their hosts are the compute trays, at nameplate less what a power cap takes off and with their share of the rack's
    weight; the rest of the rack is named after it.

    Raises:
        MissingFactError: what is in such a rack is not known.
    """
    system, hosts = as_told(catalogue.systems[inventory.system], rules.node), iter(inventory.hosts())
    contents = rack_contents().get(system.id)
    if contents is None:
        raise MissingFactError(f"what stands in {system.name} is not known", help="add it to catalog/rack_contents.csv")
    full_w = system.power_max_w or 0.0
    saved_w = full_w - (node_power_w(system, catalogue, rules) or full_w)
    share_kg = None if system.weight_kg is None else system.weight_kg / inventory.hosts_per_node
    # A busbar feeds the trays; what hangs on the feeds is the shelves.
    shelves = {row.part for row in contents if row.part in catalogue.parts and catalogue.parts[row.part].kind == "pdu"}
    # Published watts of trays are rounded: they are scaled to the rack's own figure.
    scale = full_w / (sum(row.power_w * row.count for row in contents) or 1.0)
    racks = []
    for number in range(1, inventory.nodes + 1):
        placed, counts = [], Counter[str]()
        for row in contents:
            for position in range(row.count):
                counts[row.name] += 1
                device = Device(
                    name=next(hosts) if row.is_host else f"r{number:03d}-{row.name}-{counts[row.name]}",
                    sku=row.part,
                    role="compute",
                    height_u=1,
                    power_w=row.power_w * scale - (saved_w / inventory.hosts_per_node if row.is_host else 0.0),
                    # The hosts' shares are all of the rack's weight.
                    weight_kg=share_kg if row.is_host or share_kg is None else 0.0,
                    supplies=1 if row.part in shelves else 0,
                )
                placed.append(Placement(device=device, u=row.first_u + position))
        racks.append(placed)
    return racks


def node_power_w(system: System, catalogue: Catalogue, rules: DesignRules) -> float | None:
    """Return the most that a node draws under the rules' power cap, in W; None where it is not known."""
    system = as_told(system, rules.node)
    full, cap = catalogue.accelerators[system.accelerator].power_w, rules.power_cap_w
    if cap is None or full is None or system.power_max_w is None:
        return system.power_max_w
    return power.capped_node_w(node_w=system.power_max_w, accelerators=system.gpus, full_w=full, cap_w=cap)


def node_height_u(system: System) -> int:
    """Return the height of a node in whole rack units.

    Raises:
        MissingFactError: it is not known.
    """
    if system.height_u is None:
        raise MissingFactError(
            f"the height of {system.name} is unknown",
            help="say targets.onprem.node.height, for example 8 U, or give it in a CSV of targets.onprem.parts",
            path=("targets", "onprem", "system"),
        )
    return whole_u(system.height_u)


def shared_devices(inventory: Inventory, catalogue: Catalogue) -> tuple[list[Device], list[Device]]:
    """Return all switches, fabric managers, storage and servers on two sides, in the order they shall be.

    Racks hold devices of one side only, so that a rack that is lost takes half of a function and never all of it:
    leaves of every other scalable unit (of one unit: half of its rails; of several planes: every other plane), every
    other spine and core, one side of the storage and in-band networks, one of each pair of fabric managers and
    servers, and every other storage box. NVIDIA's reference racks hold the leaves of whole units and a part of the
    spines each (DGX B200 SuperPOD, management racks).
    """
    sides: tuple[list[Device], list[Device]] = ([], [])
    for sided in (_managers(inventory), _switches(inventory)):
        for side, sku, name in sided:
            role = "management" if sku == stock.FABRIC_MANAGER else "network"
            sides[side].append(_device(name, sku, role, catalogue))
    for number, name in enumerate(inventory.boxes()):
        sides[number % len(sides)].append(_storage_box(inventory.storage, number, name))
    for number, name in enumerate(inventory.servers()):
        sides[number % len(sides)].append(_device(name, stock.MANAGEMENT_SERVER, "management", catalogue))
    return sides


def _managers(inventory: Inventory) -> Iterator[tuple[int, str, str]]:
    """Yield side, price key and name of the fabric managers: of each pair one on either side."""
    pairs = [inventory.managers_of(plane) for plane in inventory.each_plane()]
    for names in (*pairs, inventory.storage_manager_names()):
        yield from ((number % SIDES, stock.FABRIC_MANAGER, name) for number, name in enumerate(names))


def _switches(inventory: Inventory) -> Iterator[tuple[int, str, str]]:
    """Yield side, price key and name of all switches, network by network."""
    fabric, storage, inband = inventory.fabric, inventory.storage_fabric, inventory.inband
    planes = [links.compute_names(fabric, plane) for plane in inventory.each_plane()]
    for number, names in enumerate(planes):
        for leaf in range(fabric.leaf):
            yield (
                _side_of_leaf(fabric, leaf, plane=number, planes=len(planes)),
                inventory.compute_switch,
                names.leaf(leaf),
            )
    two_sided = links.storage_names()
    alternating = [
        (inventory.compute_switch, [names.spine(spine) for names in planes for spine in range(fabric.spine)]),
        (inventory.compute_switch, [names.core(core) for names in planes for core in range(fabric.core)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_leaf(leaf) for leaf in range(inband.leaf)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_aggregation(switch) for switch in range(inband.aggregation)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_core(switch) for switch in range(inband.core)]),
        (stock.BORDER_SWITCH, [ethernet_links.border_switch(switch) for switch in range(inband.border)]),
        (stock.OOB_SWITCH, inventory.oob_names()),
        (inventory.storage_switch, [two_sided.core(core) for core in range(storage.core)]),
        (inventory.storage_switch, [two_sided.spine(spine) for spine in range(storage.spine)]),
    ]
    for sku, named in alternating:
        yield from ((number % SIDES, sku, name) for number, name in enumerate(named))
    # Storage leaves come last and the first of them at the end: boxes hang on those, by cables that are short.
    for leaf in reversed(range(storage.leaf)):
        yield leaf % SIDES, inventory.storage_switch, two_sided.leaf(leaf)


def _side_of_leaf(fabric: Fabric, leaf: int, *, plane: int, planes: int) -> int:
    if planes > 1:
        return plane % SIDES
    block, rail = divmod(leaf, fabric.rails)
    if fabric.leaf > fabric.rails:
        return block % SIDES
    return rail * SIDES // fabric.rails


def _storage_box(storage: StorageDesign, number: int, name: str) -> Device:
    box = storage.data if number < storage.data_boxes or storage.front is None else storage.front
    return Device(
        name=name,
        sku=box.part,
        role="storage",
        height_u=whole_u(box.height_u) if box.height_u is not None else 1,
        power_w=box.power_w,
        weight_kg=box.weight_kg,
    )


def _device(name: str, sku: str, role: str, catalogue: Catalogue) -> Device:
    known = catalogue.switches.get(sku) or catalogue.parts.get(sku)
    height = known.height_u if known else None
    watts = None
    if known is not None:
        watts = known.power_max_w if known.power_max_w is not None else known.power_typical_w
    return Device(
        name=name,
        sku=sku,
        role=role,
        # Servers and appliances whose height is not published are drawn as 1 U.
        height_u=whole_u(height) if height is not None else 1,
        power_w=watts,
        weight_kg=known.weight_kg if known else None,
        supplies=_supplies(sku),
    )


def _supplies(sku: str) -> int:
    known = power_connections().get(sku)
    return ASSUMED_SUPPLIES if known is None or known.supplies is None else known.supplies
