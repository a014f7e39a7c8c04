"""Seconds of a group's traffic: which algorithm it takes over which links.

A group is `ranks` accelerators that lie `stride` apart in the order of the layout; see `topology`. Calibration means
two levels: inside the scale-up domain first, then one ring per rail in the network; every job uses this. Others are
inputs, and the fastest one that is allowed counts: one ring through all ranks, leaf by leaf, trees for all-reduces,
reduction in switches. What they reach beside a ring is in `catalog/collectives.csv`.
"""

from functools import reduce

import numpy as np

from clusterwright.sizing.columns import Device, Tuning, Values, anywhere
from clusterwright.sizing.hardware import collectives, topology
from clusterwright.sizing.hardware.collective_facts import factor

#: Ways of a group's traffic, as explanations call them.
TWO_LEVELS, LEAFWISE, TREE = "two levels, a ring in each", "two levels, leaf by leaf", "two levels, trees outside"
IN_NETWORK, IN_DOMAIN, FLAT = "two levels, switches reduce outside", "switches of the domain reduce", "one ring"


def half_s(device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values) -> Values:
    """Return seconds of a reduce-scatter or all-gather of a buffer over a group, the fastest way it may go.

    Args:
        device: links, and which ways are allowed.
        tuning: calibrated shares and latencies.
        size_bytes: of the whole buffer.
        ranks: in the group.
        stride: accelerators from one rank to the next.
    """
    return _least(half_ways(device, tuning, size_bytes=size_bytes, ranks=ranks, stride=stride))


def all_reduce_s(device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values) -> Values:
    """Return seconds of an all-reduce of a buffer over a group, the fastest way it may go; arguments as `half_s`."""
    return _least(all_reduce_ways(device, tuning, size_bytes=size_bytes, ranks=ranks, stride=stride))


def half_ways(
    device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values
) -> dict[str, Values]:
    """Return seconds of a reduce-scatter or all-gather by way; infinite where a device may not go it.

    Two levels: inside the scale-up domain over `g` ranks, then each of the `g` rails carries `S/g` among `N` domains:
    `(g-1)/g S/B_up + (N-1)/N (S/g)/B_net`, plus latencies; the levels do not overlap. Outside, one ring runs at the
    rate of the narrowest tier it crosses; leaf by leaf, only what leaves have left to exchange crosses their uplinks.
    """
    where = topology.extent(device, ranks=ranks, stride=stride)
    share, span = size_bytes / where.local, ranks * stride
    inside = _inside_half_s(device, tuning, size_bytes=size_bytes, ranks=where.local, stride=stride)
    latency = topology.network_latency_s(device, tuning)
    network = topology.network_bytes_per_s(device, tuning, span=span)
    ring = collectives.ring_half(size_bytes=share, ranks=where.remote, bytes_per_s=network, latency_s=latency)
    ways: dict[str, Values] = {TWO_LEVELS: inside + ring}
    if anywhere(device.leafwise):
        outside = _leafwise_half_s(device, tuning, size_bytes=share, where=where, latency_s=latency)
        ways[LEAFWISE] = _allowed(device.leafwise, inside + outside)
    if anywhere(device.in_network):
        outside = collectives.in_network_half(
            size_bytes=share,
            ranks=where.remote,
            tiers=_tiers(where),
            bytes_per_s=_reducing_bytes_per_s(device, tuning, where=where, span=span),
            latency_s=latency * factor("in-network").latency,
        )
        ways[IN_NETWORK] = _allowed(device.in_network, inside + outside)
    if anywhere(device.flat):
        flat = _flat_half_s(device, tuning, size_bytes=size_bytes, ranks=ranks, stride=stride, where=where)
        ways[FLAT] = _allowed(device.flat, flat)
    return ways


def all_reduce_ways(
    device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values
) -> dict[str, Values]:
    """Return seconds of an all-reduce by way; infinite where a device may not go it.

    A reduce-scatter and an all-gather inside the domain with an all-reduce of a share on each rail between them; or,
    where a domain holds the group, what its switches reduce.
    """
    halves = half_ways(device, tuning, size_bytes=size_bytes, ranks=ranks, stride=stride)
    ways = {name: 2 * seconds for name, seconds in halves.items() if name != IN_NETWORK}
    if not reduces_otherwise(device):
        return ways
    where = topology.extent(device, ranks=ranks, stride=stride)
    share, span = size_bytes / where.local, ranks * stride
    inside = 2 * _inside_half_s(device, tuning, size_bytes=size_bytes, ranks=where.local, stride=stride)
    latency = topology.network_latency_s(device, tuning)
    if anywhere(device.tree):
        beside = factor("tree")
        network = topology.network_bytes_per_s(device, tuning, span=span) * beside.bandwidth
        outside = collectives.tree_all_reduce(
            size_bytes=share, ranks=where.remote, bytes_per_s=network, latency_s=latency * beside.latency
        )
        ways[TREE] = _allowed(device.tree, inside + outside)
    if anywhere(device.in_network):
        outside = collectives.in_network_all_reduce(
            size_bytes=share,
            ranks=where.remote,
            tiers=_tiers(where),
            bytes_per_s=_reducing_bytes_per_s(device, tuning, where=where, span=span),
            latency_s=latency * factor("in-network").latency,
        )
        ways[IN_NETWORK] = _allowed(device.in_network, inside + outside)
    if anywhere(device.in_domain):
        up = topology.scale_up_bytes_per_s(device, tuning, ranks=where.local, stride=stride)
        reduced = collectives.switch_domain_all_reduce(
            size_bytes=size_bytes,
            ranks=where.local,
            bytes_per_s=up * factor("in-domain").bandwidth,
            latency_s=tuning.scale_up_latency_s,
        )
        alone = np.asarray(where.remote) <= 1
        ways[IN_DOMAIN] = _allowed(np.where(alone, device.in_domain, 0.0), reduced)
    return ways


def _least(ways: dict[str, Values]) -> Values:
    return reduce(np.minimum, ways.values())


def _allowed(flag: Values, seconds: Values) -> Values:
    return np.where(np.asarray(flag) > 0, seconds, np.inf)


def all_to_all_s(device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values) -> Values:
    """Return seconds in which every rank sends `size_bytes` in equal parts to all of its group, itself included.

    Of `n` ranks `g` share a domain: the share `(g-1)/n` stays inside, `1 - g/n` leaves; of that the part that leaves
    the leaf (and the spines) waits for its uplinks where they are narrower: the slowest tier counts.
    """
    where = topology.extent(device, ranks=ranks, stride=stride)
    local = where.local
    share = topology.exchange_share(device, ranks=local, stride=stride)
    up = device.scale_up_bytes_per_s * tuning.scale_up_fraction * share
    inside = (local - 1) / ranks * size_bytes / up + np.where(local > 1, tuning.scale_up_latency_s, 0.0)
    remote = 1 - local / ranks
    network = topology.network_bytes_per_s(device, tuning, span=1.0)
    leaf, spine = device.leaf_oversubscription, device.spine_oversubscription
    beyond_leaf = np.where(where.leaf < where.remote, 1 - local * where.leaf / ranks, 0.0)
    beyond_spine = np.where(where.core > 1, 1 - local * where.leaf * where.spine / ranks, 0.0)
    slowest = np.maximum(remote, np.maximum(beyond_leaf * leaf, beyond_spine * leaf * spine))
    outside = slowest * size_bytes / network
    outside = outside + np.where(remote > 0, topology.network_latency_s(device, tuning), 0.0)
    return inside + outside


def pair_links(device: Device, tuning: Tuning, *, span: Values) -> tuple[Values, Values]:
    """Return bandwidth and latency between two accelerators `span` apart, as bytes/s one direction and seconds."""
    inside = np.asarray(span) <= device.scale_up_gpus
    up = device.scale_up_bytes_per_s * tuning.scale_up_fraction * topology.pair_share(device)
    return (
        np.where(inside, up, topology.network_bytes_per_s(device, tuning, span=span)),
        np.where(inside, tuning.scale_up_latency_s, topology.network_latency_s(device, tuning)),
    )


def ring_latency_s(device: Device, tuning: Tuning, *, ranks: Values, stride: Values) -> Values:
    """Return seconds that the steps of one ring through all ranks of a group take, domain after domain."""
    where = topology.extent(device, ranks=ranks, stride=stride)
    inside = topology.ring_steps(device, ranks=where.local, stride=stride) * tuning.scale_up_latency_s
    return where.remote * inside + (where.remote - 1) * topology.network_latency_s(device, tuning)


def reduces_otherwise(device: Device) -> bool:
    """Tell whether any all-reduce may be anything but a reduce-scatter and an all-gather."""
    return anywhere(device.tree) or anywhere(device.in_network) or anywhere(device.in_domain)


def _inside_half_s(device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values) -> Values:
    return collectives.ring_half(
        size_bytes=size_bytes,
        ranks=ranks,
        bytes_per_s=topology.scale_up_bytes_per_s(device, tuning, ranks=ranks, stride=stride),
        latency_s=tuning.scale_up_latency_s,
        steps=topology.ring_steps(device, ranks=ranks, stride=stride),
    )


def _flat_half_s(
    device: Device, tuning: Tuning, *, size_bytes: Values, ranks: Values, stride: Values, where: topology.Extent
) -> Values:
    """Return seconds of one ring through all ranks, domain after domain, as one stream.

    Each of the `g` ranks of a domain has a network adapter, and as many rings as adapters pass through it, so that the
    slower of the domain's links and `g` adapters sets the pace: `(n-1)/n S/min(B_up, g B_net)`; a step out of a domain
    takes the network's latency.
    """
    up = topology.scale_up_bytes_per_s(device, tuning, ranks=where.local, stride=stride)
    network = where.local * topology.network_bytes_per_s(device, tuning, span=ranks * stride)
    pace = np.where(where.local > 1, np.where(where.remote > 1, np.minimum(up, network), up), network)
    hops = (where.remote - 1) * topology.network_latency_s(device, tuning)
    latency = (ranks - where.remote) * tuning.scale_up_latency_s + hops
    return collectives.ring_half(size_bytes=size_bytes, ranks=ranks, bytes_per_s=pace, latency_s=latency, steps=1.0)


def _leafwise_half_s(
    device: Device, tuning: Tuning, *, size_bytes: Values, where: topology.Extent, latency_s: Values
) -> Values:
    """Return seconds tier by tier: each works on what the ranks below it have left, at its own oversubscription."""
    network = topology.network_bytes_per_s(device, tuning, span=1.0)
    leaf, spine = device.leaf_oversubscription, device.spine_oversubscription
    time: Values = 0.0
    for ranks, narrower in ((where.leaf, 1.0), (where.spine, leaf), (where.core, leaf * spine)):
        time = time + collectives.ring_half(
            size_bytes=size_bytes, ranks=ranks, bytes_per_s=network / narrower, latency_s=latency_s
        )
        size_bytes = size_bytes / ranks
    return time


def _reducing_bytes_per_s(device: Device, tuning: Tuning, *, where: topology.Extent, span: Values) -> Values:
    """Return what one accelerator gets where switches reduce: one stream per leaf goes up, whatever is below it."""
    network = topology.network_bytes_per_s(device, tuning, span=1.0) * factor("in-network").bandwidth
    crossed = topology.oversubscription(device, span=span)
    return network / np.maximum(1.0, crossed / where.leaf)


def _tiers(where: topology.Extent) -> Values:
    return 1.0 + np.where(where.spine > 1, 1.0, 0.0) + np.where(where.core > 1, 1.0, 0.0)
