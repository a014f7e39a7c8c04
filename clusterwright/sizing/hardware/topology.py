"""Which links a group of accelerators has: levels from the scale-up domain over leaf and spine to the core.

A group is `ranks` accelerators that lie `stride` apart in the order of the layout (tensor parallelism innermost), so it
spans `ranks x stride` of them. A level holds a number of accelerators: the scale-up domain, those below one leaf of
each rail, those below one set of spines, all. A group that a level holds does not use the links above it, and pays the
oversubscription of each tier that it does cross.

Inside the domain the bandwidth of an accelerator is that of all its links. How much of it a group can use depends on
what they lead to:

- a switch (NVLink): all of it, whatever the group;
- a full mesh (xGMI of MI300X, the Ethernet of Gaudi): each of `p` peers has a link of its own, so `n` ranks use
  `(n-1)/p` of it, and a pair `1/p`;
- a torus (TPU, NeuronLink): two of `2 d` links per axis; see `torus_ring_share`.
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.sizing.columns import Device, Tuning, Values, anywhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """How many ranks of a group lie at each level; local, leaf, spine and core multiply to the group.

    Attributes:
        local: in one scale-up domain; remote: domains that the group reaches, of which leaf are below one leaf, on
            spine leaves below one set of spines, of core sets.
    """

    local: Values
    remote: Values
    leaf: Values
    spine: Values
    core: Values


def local_ranks(device: Device, *, ranks: Values, stride: Values) -> Values:
    """Return the ranks of a group that share a scale-up domain."""
    return np.maximum(1.0, np.minimum(ranks, np.floor(device.scale_up_gpus / stride)))


def extent(device: Device, *, ranks: Values, stride: Values) -> Extent:
    """Return how many ranks of a group lie at each level; a group is placed in as few leaves as it fits into."""
    local = local_ranks(device, ranks=ranks, stride=stride)
    remote = np.maximum(1.0, ranks / local)
    if flat_network(device):
        return Extent(local=local, remote=remote, leaf=remote, spine=1.0, core=1.0)
    apart = stride * local
    leaf = np.clip(np.floor(device.leaf_gpus / apart), 1.0, remote)
    below = np.clip(np.floor(device.spine_gpus / apart), leaf, remote)
    return Extent(local=local, remote=remote, leaf=leaf, spine=below / leaf, core=remote / below)


def flat_network(device: Device) -> bool:
    """Tell whether no network has levels, so that all domains reach each other alike."""
    return not (anywhere(np.isfinite(device.leaf_gpus)) or anywhere(np.isfinite(device.spine_gpus)))


def oversubscription(device: Device, *, span: Values) -> Values:
    """Return by how much the links at the top of a group are oversubscribed.

    1 below one leaf; the leaf's downlinks over uplinks below one set of spines; times the spine's beyond.

    Args:
        device: levels.
        span: accelerators from the first to the last of the group.
    """
    if flat_network(device):
        return 1.0
    above_leaf = np.where(np.asarray(span) > device.leaf_gpus, device.leaf_oversubscription, 1.0)
    return above_leaf * np.where(np.asarray(span) > device.spine_gpus, device.spine_oversubscription, 1.0)


def network_bytes_per_s(device: Device, tuning: Tuning, *, span: Values) -> Values:
    """Return what one accelerator of a group gets out of the network, one direction: `B fraction / oversubscription`.

    Args:
        device: nominal bandwidth and levels.
        tuning: share that collectives reach.
        span: accelerators from the first to the last of the group.
    """
    reached = device.network_bytes_per_s * tuning.network_fraction * device.network_share
    return reached if flat_network(device) else reached / oversubscription(device, span=span)


def network_latency_s(device: Device, tuning: Tuning) -> Values:
    """Return seconds of one step between two scale-up domains."""
    return tuning.network_latency_s * device.network_latency_factor


def scale_up_bytes_per_s(device: Device, tuning: Tuning, *, ranks: Values, stride: Values = 1.0) -> Values:
    """Return what one accelerator gets for reduce-scatter, all-gather and all-reduce inside its domain."""
    return device.scale_up_bytes_per_s * tuning.scale_up_fraction * ring_share(device, ranks=ranks, stride=stride)


def switched(device: Device) -> bool:
    """Tell whether all domains are behind switches (or host bridges), so that any group has all the bandwidth."""
    return not (anywhere(device.mesh_peers) or anywhere(device.torus_axes))


def ring_share(device: Device, *, ranks: Values, stride: Values = 1.0) -> Values:
    """Return the share of its links that an accelerator uses in reduce-scatters and all-gathers among `ranks`.

    All behind a switch; `(n-1)/p` in a full mesh, where each rank sends to every other directly; for a torus see
    `torus_ring_share`. 1 for a group of one, which sends nothing.
    """
    if switched(device):
        return 1.0
    peers = np.asarray(device.mesh_peers)
    mesh = np.minimum(1.0, (ranks - 1) / np.maximum(peers, 1.0))
    share = np.where(peers > 0, mesh, 1.0)
    share = np.where(np.asarray(device.torus_axes) > 0, torus_ring_share(device, ranks=ranks, stride=stride), share)
    return np.where(np.asarray(ranks) > 1, share, 1.0)


def exchange_share(device: Device, *, ranks: Values, stride: Values = 1.0) -> Values:
    """Return the share `x` with which an all-to-all takes `(n-1)/n S/(x B)`, for `S` bytes sent by each of `n` ranks.

    1 behind a switch, `(n-1)/p` in a full mesh. In a torus every byte crosses many links: with a closed axis of `e`
    chips and links of `b = B/(2 d)`, half of the traffic of `e/2` chips crosses two links each way, which takes
    `S e/(8 b)`; `S e/(4 b)` on an open axis (the bisection of the axis bounds it; Austin et al. 2025, "How to Scale
    Your Model", chapter 3).
    """
    if switched(device):
        return 1.0
    axes = np.maximum(np.asarray(device.torus_axes), 1.0)
    closed, opened = _axes(device, ranks=ranks, stride=stride)
    used = np.maximum(np.maximum(closed, opened), 1.0)
    along = np.asarray(ranks, dtype=float) ** (1 / used)
    crossings = np.where(closed >= used, along / 8, along / 4) * 2 * axes
    torus = np.minimum(1.0, (ranks - 1) / ranks / crossings)
    share = np.where(np.asarray(device.torus_axes) > 0, torus, ring_share(device, ranks=ranks, stride=stride))
    return np.where(np.asarray(ranks) > 1, share, 1.0)


def pair_share(device: Device) -> Values:
    """Return the share of its links that an accelerator uses to send to one other: one of them without a switch."""
    if switched(device):
        return 1.0
    peers, axes = np.asarray(device.mesh_peers), np.asarray(device.torus_axes)
    return np.asarray(np.where(axes > 0, 1 / (2 * np.maximum(axes, 1.0)), 1 / np.maximum(peers, 1.0)))


def ring_steps(device: Device, *, ranks: Values, stride: Values = 1.0) -> Values:
    """Return the steps of a reduce-scatter or all-gather inside a domain.

    `n - 1` round a ring, one in a full mesh; in a torus `e - 1` along each of the axes it uses, both ways at a time on
    closed ones.
    """
    around: Values = ranks - 1
    if switched(device):
        return around
    closed, opened = _axes(device, ranks=ranks, stride=stride)
    used = np.maximum(np.maximum(closed, opened), 1.0)
    along = used * (np.asarray(ranks, dtype=float) ** (1 / used) - 1)
    torus = np.where(closed >= used, along / 2, along)
    mesh = np.where(np.asarray(device.mesh_peers) > 0, np.minimum(around, 1.0), around)
    return np.asarray(np.where(np.asarray(device.torus_axes) > 0, torus, mesh))


def torus_ring_share(device: Device, *, ranks: Values, stride: Values = 1.0) -> Values:
    """Return the share of a torus' links that reduce-scatters and all-gathers among `ranks` use.

    A torus of `d` axes has two links per axis. On an axis that closes (wraparound) both carry data; on an open one the
    chip at its end has only one neighbour, so one counts. A group takes the better of closed axes, `c/d`, and open
    ones, `o/(2 d)`. An axis closes from `torus_wrap` chips on, which a slice is shaped for; axes that inner groups have
    taken (`stride`) are gone. Google Cloud's TPU documentation (v4 and v5p: cubes of 4 x 4 x 4 close in multiples of 4;
    v5e and v6e: axes close at 16).
    """
    axes = np.maximum(np.asarray(device.torus_axes), 1.0)
    closed, opened = _axes(device, ranks=ranks, stride=stride)
    return np.asarray(np.maximum(np.maximum(closed, opened / 2), 0.5) / axes)


def _axes(device: Device, *, ranks: Values, stride: Values) -> tuple[Values, Values]:
    """Return how many axes a group can close, and over how many it can lie with at least two chips on each."""
    axes, wrap = np.asarray(device.torus_axes), np.maximum(device.torus_wrap, 2.0)
    free = np.maximum(axes - _whole_log(stride, wrap), 1.0)
    closed = np.minimum(_whole_log(ranks, wrap), free)
    opened = np.minimum(_whole_log(ranks, 2.0), free)
    return closed, opened


def _whole_log(value: Values, base: Values) -> Values:
    """Return the whole part of a logarithm, exact for powers of the base."""
    return np.asarray(np.floor(np.log(np.maximum(value, 1.0)) / np.log(base) + 1e-9))
