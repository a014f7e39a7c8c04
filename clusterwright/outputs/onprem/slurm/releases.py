"""What slurm.conf says in some releases of Slurm alone: blocks, private folders of jobs, channels of NVLink domains."""

from dataclasses import dataclass

from clusterwright.catalog.software.ranges import numbers

#: First release with each: blocks by their sizes, channels of IMEX (both in the packages of 24.11 that were tried,
#: man pages of 24.05), and the name `NamespaceType` for what was `JobContainerType` (namespace guide of 25.11).
_BLOCKS, _IMEX, _NAMESPACES = "24.05", "24.05", "25.11"
#: Trays of a rack that is one NVLink domain talk by NVLink; a job that fits stays within one.
TREE, BLOCK = "topology/tree", "topology/block"


@dataclass(frozen=True, kw_only=True, slots=True)
class Features:
    """What a release takes.

    Attributes:
        topology: the plugin of `topology.conf`.
        imex: whether slurmd gives each job a channel of IMEX.
        job_folders: the line by which each job has a /tmp and a /dev/shm of its own.
    """

    topology: str
    imex: bool
    job_folders: str

    @property
    def whole_nodes(self) -> str:
        """Setting of a partition, behind a blank, that gives jobs whole nodes; empty where jobs share nodes."""
        # The daemon of IMEX on a node knows the nodes of one job: another job on it would restart the daemon.
        return " OverSubscribe=EXCLUSIVE" if self.imex else ""


def at_least(version: str | None, least: str) -> bool:
    """Tell whether a release is known to be a given one or newer.

    >>> at_least("23.11.4", "24.05"), at_least("24.11.5", "24.05"), at_least(None, "24.05")
    (False, True, False)
    """
    known, wanted = numbers(version or ""), numbers(least)
    return known is not None and wanted is not None and known >= wanted


def features(version: str | None, *, rack_scale: bool) -> Features:
    """Return what slurm.conf may say.

    Args:
        version: of Slurm; None where it is not known, which is taken for an old one.
        rack_scale: a system is a whole rack, whose trays are one NVLink domain.
    """
    folders = "NamespaceType=namespace/tmpfs"
    if not at_least(version, _NAMESPACES):
        folders = "JobContainerType=job_container/tmpfs"
    return Features(
        topology=BLOCK if rack_scale and at_least(version, _BLOCKS) else TREE,
        imex=rack_scale and at_least(version, _IMEX),
        job_folders=folders,
    )


def block_sizes(trays: int, domains: int) -> tuple[int, ...]:
    """Return sizes of blocks of nodes: an NVLink domain, and twice as many up to what there is.

    >>> block_sizes(18, 8), block_sizes(18, 1), block_sizes(18, 7)
    ((18, 36, 72, 144), (18,), (18, 36, 72))

    Args:
        trays: nodes of one domain.
        domains: of the cluster.
    """
    return tuple(trays << level for level in range(domains.bit_length()))
