"""Whether training data can stay on the local drives of nodes after shared storage was read once."""

from dataclasses import dataclass

WHOLE, SHARE, NEITHER, UNKNOWN = "whole", "share", "neither", "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalCache:
    """Whether training data can stay on the drives of nodes after it was read once.

    Attributes:
        holds: `whole`: the data set fits into the drives of every node; `share`: each node's part of it does;
            `neither`; `unknown`: the drives of a node are not known.
        dataset_bytes: training data; share_bytes: of one node; drives_bytes: of one node, None if unknown.
        read_once_s: time in which storage gives every node its share once; None where its throughput is unknown.
        read_whole_s: the same with the whole data set for every node.
    """

    holds: str
    dataset_bytes: float
    share_bytes: float
    drives_bytes: float | None
    read_once_s: float | None
    read_whole_s: float | None


def local_cache(
    *, dataset_bytes: float, nodes: int, drives_bytes: float | None, read_bytes_per_s: float | None
) -> LocalCache:
    """Return whether training data can stay on local drives.

    A node's share is the data set over the nodes: what it reads in an epoch where every sample goes to one replica.

    Args:
        dataset_bytes: training data.
        nodes: that train.
        drives_bytes: local drives of one node, None if unknown.
        read_bytes_per_s: of shared storage, all nodes together; None if unknown.
    """
    share = dataset_bytes / nodes
    if drives_bytes is None:
        holds = UNKNOWN
    elif dataset_bytes <= drives_bytes:
        holds = WHOLE
    else:
        holds = SHARE if share <= drives_bytes else NEITHER
    once = None if not read_bytes_per_s else dataset_bytes / read_bytes_per_s
    return LocalCache(
        holds=holds,
        dataset_bytes=dataset_bytes,
        share_bytes=share,
        drives_bytes=drives_bytes,
        read_once_s=once,
        read_whole_s=None if once is None else once * nodes,
    )
