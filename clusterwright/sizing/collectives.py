"""Time of collectives by the alpha-beta model: bytes over bandwidth plus steps times latency.

`n` ranks, `S` bytes of the whole buffer, `B` bandwidth of one rank in one direction, `alpha` latency of one step.
Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective Communication Operations in MPICH".
"""

from clusterwright.sizing.columns import Values


def ring_half(*, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values) -> Values:
    """Return seconds of a ring reduce-scatter or all-gather: `(n-1)/n S/B + (n-1) alpha`."""
    return (ranks - 1) / ranks * size_bytes / bytes_per_s + (ranks - 1) * latency_s


def ring_all_reduce(*, size_bytes: Values, ranks: Values, bytes_per_s: Values, latency_s: Values) -> Values:
    """Return seconds of a ring all-reduce, a reduce-scatter and an all-gather: `2 (n-1)/n S/B + 2 (n-1) alpha`."""
    return 2 * ring_half(size_bytes=size_bytes, ranks=ranks, bytes_per_s=bytes_per_s, latency_s=latency_s)


def hierarchical_half(
    *,
    size_bytes: Values,
    local_ranks: Values,
    remote_ranks: Values,
    scale_up_bytes_per_s: Values,
    network_bytes_per_s: Values,
    scale_up_latency_s: Values,
    network_latency_s: Values,
) -> Values:
    """Return seconds of a reduce-scatter or all-gather in two levels.

    Inside the scale-up domain over `g` ranks, then each of the `g` rails carries `S/g` among `N` domains:
    `(g-1)/g S/B_up + (N-1)/N (S/g)/B_net`, plus latencies; the levels do not overlap.
    """
    inside = ring_half(
        size_bytes=size_bytes, ranks=local_ranks, bytes_per_s=scale_up_bytes_per_s, latency_s=scale_up_latency_s
    )
    outside = ring_half(
        size_bytes=size_bytes / local_ranks,
        ranks=remote_ranks,
        bytes_per_s=network_bytes_per_s,
        latency_s=network_latency_s,
    )
    return inside + outside
