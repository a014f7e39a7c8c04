"""The targets of a Lustre file system: how many hold data and metadata, how large, and how to stripe files."""

from dataclasses import dataclass
from math import ceil

#: Usable metadata space of a file, and what it is multiplied by for growth (Lustre Hardware Sizing Guide, MDT Sizing).
METADATA_BYTES_PER_FILE = 2 * 2**10
METADATA_GROWTH = 2.0
#: The least that the guide advises for a metadata target (its third example).
SMALLEST_MDT_BYTES = 20 * 2.0**30
#: Mean size of a file where nobody says how many there are: that of the guide's first example.
MEAN_FILE_BYTES = 5 * 2.0**20
#: Files that one metadata target can hold: inode numbers of ldiskfs have 32 bits.
FILES_PER_MDT = 2**32
#: Stripes of one file at most, without the feature `ea_inode` (Lustre manual, Managing file layout).
WIDEST_STRIPE = 160


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreTargets:
    """Targets of a Lustre file system.

    Attributes:
        osts: object storage targets, None where the maker decides how many a box has; mdts: metadata targets.
        mdt_bytes: of all metadata targets together; files: that they are made for; files_assumed: not said by anybody.
        stripes_alone: of a file that is written while no other is, by all targets; stripes_sharded: of the files of a
            checkpoint that every writer writes one of. None where `osts` is.
        writers: accelerators that write a checkpoint.
    """

    osts: int | None
    mdts: int
    mdt_bytes: float
    files: float
    files_assumed: bool
    stripes_alone: int | None
    stripes_sharded: int | None
    writers: int


def lustre_targets(
    *,
    servers: int,
    targets_per_server: int | None,
    metadata_servers: int,
    capacity_bytes: float,
    files: float | None,
    writers: int,
) -> LustreTargets:
    """Return the targets of a file system.

    osts = servers x targets of each. mdt_bytes = files x 2 KiB x 2, at least 20 GiB. Worked example of the guide: 20
    million files take 80 GB (it prints 80 GiB). Each metadata server has one target at least, so that all of them work.

    >>> round(
    ...     lustre_targets(
    ...         servers=4, targets_per_server=2, metadata_servers=2, capacity_bytes=1e14, files=20e6, writers=64
    ...     ).mdt_bytes
    ...     / 2**30
    ... )
    76

    Args:
        servers: that hold data.
        targets_per_server: of each, None where the maker decides.
        metadata_servers: 0 where metadata is inside the boxes.
        capacity_bytes: usable, for the number of files where it is not known.
        files: to be kept.
        writers: files that are written at once when a checkpoint is.
    """
    counted = capacity_bytes / MEAN_FILE_BYTES if files is None else files
    osts = None if targets_per_server is None else servers * targets_per_server
    return LustreTargets(
        osts=osts,
        mdts=max(1, metadata_servers, ceil(counted / FILES_PER_MDT)),
        mdt_bytes=max(SMALLEST_MDT_BYTES, counted * METADATA_BYTES_PER_FILE * METADATA_GROWTH),
        files=counted,
        files_assumed=files is None,
        stripes_alone=None if osts is None else stripe_count(osts=osts, files_at_once=1),
        stripes_sharded=None if osts is None else stripe_count(osts=osts, files_at_once=writers),
        writers=writers,
    )


def stripe_count(*, osts: int, files_at_once: int) -> int:
    """Return over how many targets to stripe each of some files that are written at once: all targets get work.

    A file of its own goes over all targets, up to 160; as many files as there are targets, or more, need one each.

    >>> stripe_count(osts=16, files_at_once=1), stripe_count(osts=16, files_at_once=5)
    (16, 4)
    >>> stripe_count(osts=16, files_at_once=1024)
    1

    Args:
        osts: targets of the file system.
        files_at_once: files.
    """
    return min(WIDEST_STRIPE, max(1, ceil(osts / files_at_once)))
