"""Storage to own: systems and what one box of them is, levels of bandwidth, and rules of thumb by size of data set."""

from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from clusterwright import assets
from clusterwright.catalog import tables
from clusterwright.catalog.tables import TableError
from clusterwright.errors import ClusterwrightError

_Row = TypeVar("_Row")


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageSystem:
    """A storage system that can be bought; what one box holds and gives is in the parts that it names.

    Attributes:
        kind: `Lustre`, `GPFS`, `parallel file`, `file and object`, `object`, `NFS`.
        data_box: part that holds the data; front_box: part beside it (serves clients, or keeps metadata), None for
            none; throughput_box: which of the two the throughput of a box is of, `data` or `front`.
        box_ports, box_port_bytes_per_s_one_way: of each box on the storage network; None where not published.
        front_boxes_per_data_box: bought with each data box, None for a fixed number.
        smallest_data_boxes, smallest_front_boxes, largest_data_boxes: of one system.
        usable_fraction: of raw capacity.
        targets_per_box: object storage targets (OST) of one box, of Lustre; None where the maker decides.
    """

    id: str
    name: str
    kind: str
    data_box: str
    throughput_box: str
    smallest_data_boxes: int
    usable_fraction: float
    box_ports: int | None = None
    box_port_bytes_per_s_one_way: float | None = None
    largest_data_boxes: int | None = None
    front_box: str | None = None
    front_boxes_per_data_box: int | None = None
    smallest_front_boxes: int = 0
    targets_per_box: int | None = None
    source: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageLevel:
    """What a reference architecture asks of shared storage, in bytes/s; what it does not state is None.

    Attributes:
        read_bytes_per_s_per_node, …: most that one node needs; …_per_unit: of a scalable unit of `gpus_per_unit`;
            …_per_gpu: of each accelerator.
        suits: the work that it is meant for.
    """

    id: str
    name: str
    gpus_per_unit: int
    suits: str
    source: str
    read_bytes_per_s_per_node: float | None = None
    write_bytes_per_s_per_node: float | None = None
    read_bytes_per_s_per_unit: float | None = None
    write_bytes_per_s_per_unit: float | None = None
    read_bytes_per_s_per_gpu: float | None = None
    write_bytes_per_s_per_gpu: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageTier:
    """A rule of thumb for data sets of a size: above one size, up to another (None: any).

    Attributes:
        pattern: how the data is used; storage: what is advised.
        scope, read_bytes_per_s: bandwidth to have, of each `node` or of the `cluster`.
        printed: the rule as its source has it, in English; note: what of it was corrected.
    """

    above_bytes: float
    pattern: str
    storage: str
    scope: str
    read_bytes_per_s: float
    printed: str
    source: str
    up_to_bytes: float | None = None
    note: str = ""


@cache
def storage_levels() -> dict[str, StorageLevel]:
    """Return the rows of `catalog/storage_levels.csv` by id.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    return {level.id: level for level in _rows("storage_levels.csv", StorageLevel)}


@cache
def storage_tiers() -> tuple[StorageTier, ...]:
    """Return the rows of `catalog/storage_tiers.csv`, smallest data sets first; errors as `storage_levels`."""
    return tuple(sorted(_rows("storage_tiers.csv", StorageTier), key=lambda tier: tier.above_bytes))


def tier_of(dataset_bytes: float) -> StorageTier:
    """Return the rule of thumb for a data set.

    >>> tier_of(2e12).storage, tier_of(60e12).storage
    ('local NVMe', 'parallel file system')

    Args:
        dataset_bytes: of training data.
    """
    tiers = storage_tiers()
    return next(tier for tier in tiers if tier.up_to_bytes is None or dataset_bytes <= tier.up_to_bytes)


def _rows(file: str, record: type[_Row]) -> list[_Row]:
    path = assets.root() / "catalog" / file
    try:
        return [
            tables.build(record, {name: tables.value_of(record, name, cell) for name, cell in row.cells.items()})
            for row in tables.read(path)
        ]
    except (OSError, TableError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
