"""An accelerator and its links as the time and memory formulas need them, for a precision."""

from clusterwright.catalog.precisions import EIGHT_BIT, FOUR_BIT, known_precisions, peaks_flop_per_s
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError
from clusterwright.sizing.columns import Device
from clusterwright.sizing.hardware.links import link_columns
from clusterwright.sizing.hardware.power_cap import speed_share


def device_of(node: NodeType, *, precision: str) -> Device:
    """Return what the formulas need of a node's accelerator and links, for a precision.

    Raises:
        InputError: the accelerator has no documented peak in that precision, or its memory bandwidth is unknown.
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
    if scale_up is None:
        domain, scale_up = 1, node.network_bytes_per_s_per_gpu_one_way
    speed = speed_share(node)
    return Device(
        peak_flop_per_s=peak * speed,
        peak_bf16_flop_per_s=(accelerator.dense_bf16_flop_per_s or peak) * speed,
        speed=speed,
        eight_bit=1.0 if precision in EIGHT_BIT else 0.0,
        four_bit=1.0 if precision in FOUR_BIT else 0.0,
        block_scaled=1.0 if precision == "fp8-block" else 0.0,
        hbm_bytes=node.hbm_bytes_per_gpu,
        hbm_bytes_per_s=accelerator.hbm_bytes_per_s,
        scale_up_bytes_per_s=scale_up,
        scale_up_gpus=float(domain),
        network_bytes_per_s=node.network_bytes_per_s_per_gpu_one_way,
        **link_columns(node),
    )
