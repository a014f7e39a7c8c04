"""The storage to buy that a blueprint asks for, as the design takes it."""

from clusterwright.blueprint.owned_storage import StorageBox
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.storage.demand import AskedStorage, BoxFigures


def asked_storage(blueprint: Blueprint, catalogue: Catalogue) -> AskedStorage | None:
    """Return what the blueprint asks of the storage to buy; None where it does not speak of it."""
    asked = blueprint.targets.onprem.storage if blueprint.targets.onprem is not None else None
    if asked is None:
        return None
    return AskedStorage(
        system=lookup.storage_system(catalogue, asked.system).id,
        level=asked.level,
        capacity_bytes=asked.capacity,
        read_bytes_per_s=asked.read_bandwidth,
        write_bytes_per_s=asked.write_bandwidth,
        files=asked.files,
        usable_fraction=asked.usable,
        targets_per_box=asked.targets_per_box,
        box=_figures(asked.box),
        front_box=_figures(asked.front_box),
    )


def _figures(box: StorageBox) -> BoxFigures:
    return BoxFigures(
        capacity_bytes=box.capacity,
        read_bytes_per_s=box.read,
        write_bytes_per_s=box.write,
        ports=box.ports,
        port_bytes_per_s_one_way=box.port_rate,
        height_u=box.height,
        power_w=box.power,
        weight_kg=box.weight,
    )
