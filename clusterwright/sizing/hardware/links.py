"""A node's links as columns of `Device`: what its scale-up links lead to, and the levels of the network above it."""

from math import inf

from clusterwright.catalog.accelerator import Accelerator
from clusterwright.catalog.records import NodeType
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.hardware.collective_facts import factor

#: What the scale-up links of an accelerator may lead to (`scale_up_topology` in the catalogue).
SWITCH, MESH, TORUS, HOST = "switch", "mesh", "torus", "host"


def link_columns(node: NodeType) -> dict[str, float]:
    """Return the columns of `Device` that say how a node's accelerators are joined, beside bandwidths and domain.

    Raises:
        ClusterwrightError: the catalogue names an unknown topology, or a torus without its axes.
    """
    network, kind = node.network, factor(node.network_kind)
    return scale_up_columns(node.accelerator) | {
        "leaf_gpus": inf if network.leaf_gpus is None else network.leaf_gpus,
        "spine_gpus": inf if network.spine_gpus is None else network.spine_gpus,
        "leaf_oversubscription": network.leaf_oversubscription,
        "spine_oversubscription": network.spine_oversubscription,
        "network_share": kind.bandwidth,
        "network_latency_factor": kind.latency,
        "in_network": float(network.in_network),
        "in_domain": float(network.in_domain),
        "flat": float(network.flat),
        "leafwise": float(network.leafwise),
        "tree": float(network.tree),
    }


def scale_up_columns(accelerator: Accelerator) -> dict[str, float]:
    """Return what an accelerator's links lead to; one whose topology is not told is taken as behind a switch."""
    topology = accelerator.scale_up_topology
    if topology in (None, SWITCH, HOST):
        return {}
    if topology == MESH:
        return {"mesh_peers": float(max((accelerator.scale_up_domain_gpus or 1) - 1, 1))}
    axes, wrap = accelerator.scale_up_axes, accelerator.scale_up_wrap_gpus
    if topology != TORUS or axes is None or wrap is None:
        raise ClusterwrightError(
            f"{accelerator.name}: the scale-up topology {topology!r} is unknown or without its axes",
            help="correct scale_up_topology, scale_up_axes and scale_up_wrap_gpus in catalog/accelerators.csv",
        )
    return {"torus_axes": float(axes), "torus_wrap": float(wrap)}
