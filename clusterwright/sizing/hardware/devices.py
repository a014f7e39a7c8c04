"""An accelerator and its links as the time and memory formulas need them, for a precision."""

from math import inf

from clusterwright.catalog.matmul_rates import share_of
from clusterwright.catalog.precisions import EIGHT_BIT, FOUR_BIT, known_precisions, peaks_flop_per_s
from clusterwright.catalog.records import Accelerator, NodeType
from clusterwright.errors import ClusterwrightError, InputError, MissingFactError
from clusterwright.sizing.columns import Device
from clusterwright.sizing.hardware.collective_facts import factor
from clusterwright.sizing.hardware.power_cap import speed_share

#: What the scale-up links of an accelerator may lead to (`scale_up_topology` in the catalogue).
SWITCH, MESH, TORUS, HOST = "switch", "mesh", "torus", "host"
#: Stands for a link that carries nothing, so that formulas can divide by it.
_UNUSED_BYTES_PER_S = 1.0


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
    """Return what an accelerator's links lead to; one whose topology is not given is taken as behind a switch."""
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


def device_of(node: NodeType, *, precision: str) -> Device:
    """Return what the formulas need of a node's accelerator and links, for a precision.

    Raises:
        InputError: the accelerator has no documented peak in that precision, or its memory bandwidth is unknown.
        MissingFactError: nothing says at what rate accelerators of a node exchange data.
    """
    accelerator = node.accelerator
    peak = peaks_flop_per_s(accelerator).get(precision)
    if peak is None:
        known = ", ".join(known_precisions(accelerator)) or "none"
        raise InputError(
            f"{accelerator.name} has no {precision} matrix multiplication that is documented",
            help=f"known for it: {known}",
        )
    if accelerator.hbm_bytes_per_s is None:
        raise InputError(f"the memory bandwidth of {accelerator.name} is unknown", help="choose another accelerator")
    domain = max(accelerator.scale_up_domain_gpus or 1, 1)
    scale_up = accelerator.scale_up_bytes_per_s_per_gpu_one_way
    network = node.network_bytes_per_s_per_gpu_one_way if node.reaches_others else within_node(node)
    if scale_up is None:
        domain, scale_up = 1, network
    speed = speed_share(node)
    return Device(
        peak_flop_per_s=peak * speed,
        peak_bf16_flop_per_s=(accelerator.dense_bf16_flop_per_s or peak) * speed,
        speed=speed,
        matmul_share=share_of(accelerator.id, precision),
        matmul_share_bf16=share_of(accelerator.id, "bf16"),
        eight_bit=1.0 if precision in EIGHT_BIT else 0.0,
        four_bit=1.0 if precision in FOUR_BIT else 0.0,
        block_scaled=1.0 if precision == "fp8-block" else 0.0,
        hbm_bytes=node.hbm_bytes_per_gpu,
        hbm_bytes_per_s=accelerator.hbm_bytes_per_s,
        scale_up_bytes_per_s=scale_up,
        scale_up_gpus=float(domain),
        network_bytes_per_s=network,
        **link_columns(node),
    )


def within_node(node: NodeType) -> float:
    """Return the bandwidth between accelerators of one node outside their scale-up domain: their link to the host.

    Raises:
        MissingFactError: there are several domains in a node, and the link is unknown.
    """
    accelerator = node.accelerator
    link, domain = accelerator.host_link_bytes_per_s_one_way, accelerator.scale_up_domain_gpus or 1
    # Links of an unknown rate join nothing.
    joined = domain if accelerator.scale_up_bytes_per_s_per_gpu_one_way is not None else 1
    if link is None and node.gpus > joined:
        raise MissingFactError(
            f"the bandwidth between the accelerators of {node.id} is not known", help="choose another node type"
        )
    # Where all are in one domain, nothing is sent this way.
    return link or _UNUSED_BYTES_PER_S
