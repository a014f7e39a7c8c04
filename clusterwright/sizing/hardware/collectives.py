"""Time of collectives by the alpha-beta model: bytes over bandwidth plus steps times latency.

`n` ranks, `S` bytes of the whole buffer, `B` bandwidth of one rank in one direction, `alpha` latency of one step.
Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective Communication Operations in MPICH". Which links a group
has, and so `B` and the steps, is the business of `topology`; which algorithm it takes, of `groups`.
"""

import numpy as np

from clusterwright.sizing.columns import Values


def ring_half(
    *, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values, steps: Values | None = None
) -> Values:
    """Return seconds of a ring reduce-scatter or all-gather: `(n-1)/n S/B + (n-1) alpha`.

    Args:
        size_bytes: of the whole buffer.
        ranks: in the group.
        bytes_per_s: of one rank, one direction.
        latency_s: of one step.
        steps: where links allow fewer than `n - 1`, as one in a full mesh.
    """
    count = ranks - 1 if steps is None else steps
    return (ranks - 1) / ranks * size_bytes / bytes_per_s + count * latency_s


def ring_all_reduce(
    *, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values, steps: Values | None = None
) -> Values:
    """Return seconds of a ring all-reduce, a reduce-scatter and an all-gather: `2 (n-1)/n S/B + 2 (n-1) alpha`."""
    return 2 * ring_half(size_bytes=size_bytes, ranks=ranks, bytes_per_s=bytes_per_s, latency_s=latency_s, steps=steps)


def tree_all_reduce(*, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values) -> Values:
    """Return seconds of an all-reduce over two binary trees: `2 S/B + 2 log2(n) alpha`; 0 for one rank.

    Every rank is inner node of one tree and leaf of the other, so that each direction of its link carries the buffer
    twice (Sanders, Speck and Träff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan").
    """
    time = 2 * size_bytes / bytes_per_s + 2 * np.log2(np.maximum(ranks, 1.0)) * latency_s
    return np.where(np.asarray(ranks) > 1, time, 0.0)


def in_network_half(
    *, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values, tiers: Values
) -> Values:
    """Return seconds of a reduce-scatter or all-gather that switches do: `(n-1)/n S/B + tiers alpha`.

    A rank still sends or receives all but its own part; only the steps from rank to rank are gone (Graham et al. 2016,
    "Scalable Hierarchical Aggregation Protocol (SHArP)", section III).
    """
    return (ranks - 1) / ranks * size_bytes / bytes_per_s + np.where(np.asarray(ranks) > 1, tiers * latency_s, 0.0)


def in_network_all_reduce(
    *, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values, tiers: Values
) -> Values:
    """Return seconds of an all-reduce that switches do: `S/B + tiers alpha`, once up and at the same time once down.

    Half of a ring's traffic for many ranks (Graham et al. 2016, section III). 0 for one rank.
    """
    return np.where(np.asarray(ranks) > 1, size_bytes / bytes_per_s + tiers * latency_s, 0.0)


def switch_domain_all_reduce(*, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values) -> Values:
    """Return seconds of an all-reduce in NVLink switches: `(n+1)/n S/B + (n-1) alpha`; 0 for one rank.

    Every rank reads the sum of its part, for which all send theirs, and writes it to all: `S + S/n` out and in
    (NCCL's algorithm NVLS; the factor as in NVIDIA/nccl issue 2140). Half of a ring's steps is an assumption.
    """
    time = (ranks + 1) / ranks * size_bytes / bytes_per_s + (ranks - 1) * latency_s
    return np.where(np.asarray(ranks) > 1, time, 0.0)
