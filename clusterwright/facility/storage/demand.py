"""What shared storage has to hold and to give, and where each demand comes from."""

from dataclasses import dataclass
from math import ceil

from clusterwright.catalog.storage import StorageLevel
from clusterwright.sizing.records.run import StorageNeed

JOB = "the job"
BLUEPRINT = "blueprint"
#: Accelerators of the node that the reference architectures speak of.
GPUS_PER_NODE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxFigures:
    """What a blueprint says of one box, in the place of the catalogue; None where it says nothing.

    Attributes:
        capacity_bytes: raw; read_bytes_per_s, write_bytes_per_s: sustained.
        ports, port_bytes_per_s_one_way: on the storage network.
        height_u, power_w, weight_kg: of the box.
    """

    capacity_bytes: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    ports: int | None = None
    port_bytes_per_s_one_way: float | None = None
    height_u: float | None = None
    power_w: float | None = None
    weight_kg: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedStorage:
    """What a blueprint asks of the storage to buy.

    Attributes:
        system: id of the catalogue; level: id of a level of bandwidth, None for the one that suits the hardware.
        capacity_bytes, read_bytes_per_s, write_bytes_per_s: to have at least, None where the job decides.
        files: that will be kept, None where it is not known.
        usable_fraction: of raw capacity; box, front_box: figures of a box. None or empty: the catalogue's.
        targets_per_box: object storage targets of one box.
    """

    system: str
    level: str | None = None
    capacity_bytes: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    files: float | None = None
    usable_fraction: float | None = None
    targets_per_box: int | None = None
    box: BoxFigures = BoxFigures()
    front_box: BoxFigures = BoxFigures()


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageDemand:
    """One reason to want storage; None where it asks for nothing.

    Attributes:
        origin: in words, such as `checkpoint write`; source: where the figures come from.
        capacity_bytes: usable; read_bytes_per_s, write_bytes_per_s: of all nodes together.
    """

    origin: str
    source: str
    capacity_bytes: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None


def level_bytes_per_s(level: StorageLevel, *, gpus: int) -> tuple[float, float]:
    """Return what a level of bandwidth asks for a cluster: bytes/s read and written by all nodes together.

    A level is stated per scalable unit; units that are begun count whole. No cluster needs more than its nodes need
    each, where the level states that, for nodes of eight. Worked example: for 127 DGX H100 (four units) NVIDIA asks
    60 GB/s and 30 GB/s at the level Good.

    >>> from clusterwright.catalog.storage import storage_levels
    >>> level_bytes_per_s(storage_levels()["good"], gpus=1016)
    (60000000000.0, 30000000000.0)

    Args:
        level: of the catalogue.
        gpus: of all nodes.
    """
    units = ceil(gpus / level.gpus_per_unit)

    def asked(per_node: float | None, per_unit: float | None, per_gpu: float | None) -> float:
        limits = [
            amount
            for amount in (
                None if per_node is None else gpus / GPUS_PER_NODE * per_node,
                None if per_unit is None else units * per_unit,
                None if per_gpu is None else gpus * per_gpu,
            )
            if amount is not None
        ]
        return min(limits, default=0.0)

    return (
        asked(level.read_bytes_per_s_per_node, level.read_bytes_per_s_per_unit, level.read_bytes_per_s_per_gpu),
        asked(level.write_bytes_per_s_per_node, level.write_bytes_per_s_per_unit, level.write_bytes_per_s_per_gpu),
    )


#: What the job keeps on shared storage, reads from it at once, and writes.
_OF_CHECKPOINTS = (
    "data set and checkpoints, with headroom",
    "reading a checkpoint after a failure",
    "writing a checkpoint in time",
)
_OF_WEIGHTS = (
    "weights, with another version",
    "reading the weights on all nodes at once",
    "writing new weights in time",
)


def demands(
    need: StorageNeed, *, gpus: int, level: StorageLevel | None, asked: AskedStorage | None
) -> tuple[StorageDemand, ...]:
    """Return every demand on shared storage by origin; what asks for nothing is left out.

    Args:
        need: of the job.
        gpus: of all nodes.
        level: of bandwidth, None for none.
        asked: in the blueprint.
    """
    held, restored, written = _OF_WEIGHTS if need.weights_only else _OF_CHECKPOINTS
    found = [
        StorageDemand(origin=held, source=JOB, capacity_bytes=need.capacity_bytes),
        StorageDemand(origin=restored, source=JOB, read_bytes_per_s=need.restart_read_bytes_per_s),
        StorageDemand(origin="reading training data", source=JOB, read_bytes_per_s=need.data_read_bytes_per_s),
        StorageDemand(origin=written, source=JOB, write_bytes_per_s=need.write_bytes_per_s),
    ]
    if need.read_bytes_per_s not in (need.restart_read_bytes_per_s, need.data_read_bytes_per_s):
        found.append(
            StorageDemand(origin="storage.read_bandwidth", source=BLUEPRINT, read_bytes_per_s=need.read_bytes_per_s)
        )
    if level is not None:
        read, write = level_bytes_per_s(level, gpus=gpus)
        found.append(
            StorageDemand(
                origin=f"level {level.name}", source=level.source, read_bytes_per_s=read, write_bytes_per_s=write
            )
        )
    if asked is not None:
        found.append(
            StorageDemand(
                origin="targets.onprem.storage",
                source=BLUEPRINT,
                capacity_bytes=asked.capacity_bytes,
                read_bytes_per_s=asked.read_bytes_per_s,
                write_bytes_per_s=asked.write_bytes_per_s,
            )
        )
    return tuple(
        demand for demand in found if demand.capacity_bytes or demand.read_bytes_per_s or demand.write_bytes_per_s
    )


def required(found: tuple[StorageDemand, ...]) -> StorageDemand:
    """Return the largest of each figure of several demands."""
    return StorageDemand(
        origin="all",
        source="",
        capacity_bytes=max((demand.capacity_bytes or 0.0 for demand in found), default=0.0),
        read_bytes_per_s=max((demand.read_bytes_per_s or 0.0 for demand in found), default=0.0),
        write_bytes_per_s=max((demand.write_bytes_per_s or 0.0 for demand in found), default=0.0),
    )
