"""The cables of the compute fabric and of the storage network, from the counts of an inventory."""

from collections.abc import Iterator

from clusterwright.facility.cabling import links
from clusterwright.facility.cabling.links import Link, StorageEnds
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.inventory import Inventory


def compute_network(inventory: Inventory) -> Iterator[Link]:
    """Yield the cables of the compute fabric, as they are planned, plane by plane."""
    for plane in inventory.each_plane():
        yield from compute_plane(inventory, plane)


def compute_plane(inventory: Inventory, plane: Plane) -> Iterator[Link]:
    """Yield the cables of one plane of the compute fabric."""
    return links.compute_links(
        fabric=inventory.fabric,
        family=inventory.compute_family,
        hosts=inventory.hosts(),
        managers=inventory.managers_of(plane),
        plane=plane,
    )


def storage_network(inventory: Inventory) -> Iterator[Link]:
    """Yield the cables of the storage network, as they are planned."""
    family = inventory.storage_family
    return links.storage_links(
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
