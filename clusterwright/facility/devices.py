"""The named devices of an inventory, with their sizes and nameplate power from the catalogue."""

from collections import Counter
from collections.abc import Iterator

from clusterwright.catalog.rack_contents import rack_contents
from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import MissingFactError
from clusterwright.facility import ethernet_links, links, power
from clusterwright.facility import inventory as stock
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.node_facts import as_told
from clusterwright.facility.racks import Device, Placement, whole_u
from clusterwright.facility.site import DesignRules


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
        )


def whole_racks(inventory: Inventory, catalogue: Catalogue, rules: DesignRules) -> list[list[Placement]]:
    """Return the contents of racks that are delivered whole, one for each node of the inventory.

    Their hosts are the compute trays, at nameplate less what a power cap takes off and with their share of the rack's
    weight; the rest of the rack is named after it.

    Raises:
        MissingFactError: what stands in such a rack is not known.
    """
    system, hosts = as_told(catalogue.systems[inventory.system], rules.node), iter(inventory.hosts())
    contents = rack_contents().get(system.id)
    if contents is None:
        raise MissingFactError(f"what stands in {system.name} is not known", help="add it to catalog/rack_contents.csv")
    full_w = system.power_max_w or 0.0
    saved_w = full_w - (node_power_w(system, catalogue, rules) or full_w)
    share_kg = None if system.weight_kg is None else system.weight_kg / inventory.hosts_per_node
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
                    power_w=row.power_w - (saved_w / inventory.hosts_per_node if row.is_host else 0.0),
                    # The hosts' shares are all of the rack's weight.
                    weight_kg=share_kg if row.is_host or share_kg is None else 0.0,
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


def network_devices(inventory: Inventory, catalogue: Catalogue) -> Iterator[Device]:
    """Yield all switches, network by network, and the fabric managers."""
    fabric, storage, inband = inventory.fabric, inventory.storage_fabric, inventory.inband
    two_sided = links.storage_names()
    planes = [links.compute_names(fabric, plane) for plane in inventory.each_plane()]
    named = [
        (inventory.compute_switch, [names.leaf(leaf) for names in planes for leaf in range(fabric.leaf)]),
        (inventory.compute_switch, [names.spine(spine) for names in planes for spine in range(fabric.spine)]),
        (inventory.compute_switch, [names.core(core) for names in planes for core in range(fabric.core)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_leaf(leaf) for leaf in range(inband.leaf)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_aggregation(switch) for switch in range(inband.aggregation)]),
        (stock.INBAND_SWITCH, [ethernet_links.inband_core(switch) for switch in range(inband.core)]),
        (stock.OOB_SWITCH, inventory.oob_names()),
        # Storage switches stand last, beside the racks of the storage boxes, whose cables are short.
        (inventory.storage_switch, [two_sided.core(core) for core in range(storage.core)]),
        (inventory.storage_switch, [two_sided.spine(spine) for spine in range(storage.spine)]),
        (inventory.storage_switch, [two_sided.leaf(leaf) for leaf in reversed(range(storage.leaf))]),
    ]
    for name in inventory.compute_manager_names() + inventory.storage_manager_names():
        yield _device(name, stock.FABRIC_MANAGER, "management", catalogue)
    for sku, names in named:
        for name in names:
            yield _device(name, sku, "network", catalogue)


def service_devices(inventory: Inventory, catalogue: Catalogue) -> Iterator[Device]:
    """Yield storage and management servers; of storage boxes the blueprint may say what the catalogue does not."""
    storage = inventory.storage
    for number, name in enumerate(inventory.boxes()):
        box = storage.data if number < storage.data_boxes or storage.front is None else storage.front
        yield Device(
            name=name,
            sku=box.part,
            role="storage",
            height_u=whole_u(box.height_u) if box.height_u is not None else 1,
            power_w=box.power_w,
            weight_kg=box.weight_kg,
        )
    for name in inventory.servers():
        yield _device(name, stock.MANAGEMENT_SERVER, "management", catalogue)


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
    )
