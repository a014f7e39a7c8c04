"""Layers with experts: grouped multiplications, permutation, all-to-all, activations, and what they hold.

Expert parallelism takes its ranks from tensor, context and data parallelism: `ep` ranks of `etp` each hold different
experts. Every rank holds `rows/t` tokens of a micro-batch when it comes to the experts (Megatron Core: expert
parallelism with sequence parallelism), makes `k` copies of each, and receives as many as it sends when the experts are
used evenly. Sources: Megatron Core MoE (arXiv 2504.14960), DeepSeek-V3 (arXiv 2412.19437, section 3.2).
"""

import numpy as np

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import FULL, Device, Layouts, Shape, Tuning, Values
from clusterwright.sizing.hardware import groups
from clusterwright.sizing.model.arithmetic import (
    mlp_multiplications_s,
    multiplication_rate,
    multiplication_s,
    streaming_s,
)

#: All-to-alls of a layer and micro-batch: to the experts and back, forward and backward.
ALL_TO_ALLS = 4.0
#: Copies travel as bf16.
COPY_BYTES = 2.0
#: How sharply the launch time takes over from the computation; the sum of powers is smooth and grows in both.
_SHARPNESS = 2.0


def copies(shape: Shape, *, rows: Values, tp: Values) -> Values:
    """Return the token copies that one rank sends to experts: `k rows/t`."""
    return rows / tp * shape.experts_per_token


def layer_s(shape: Shape, device: Device, tuning: Tuning, *, layouts: Layouts, rows: Values) -> Values:
    """Return seconds of one layer's experts, forward only: shared and routed experts, router, permutation."""
    tp, etp = layouts.tp, layouts.etp
    sent = copies(shape, rows=rows, tp=tp)
    computed = sent * etp
    each = np.maximum(computed * layouts.ep / shape.experts, 1e-9)
    width = np.maximum(shape.expert_ffn, 1.0) / etp
    rate = multiplication_rate(device, tuning) * tuning.grouped_efficiency
    saturation = 1 + tuning.expert_rows_half / each
    sides = ((shape.hidden, (shape.mlp_matrices - 1) * width), (width, shape.hidden))
    grouped: Values = 0.0
    for inner, outer in sides:
        grouped = grouped + saturation * multiplication_s(
            rows=np.maximum(computed, 1e-9),
            inner=inner,
            outer=outer,
            rate=rate,
            rows_half=0.0,
            width_half=tuning.width_half,
        )
    shared = mlp_multiplications_s(shape, device, tuning, rows=rows, tp=tp, width=np.maximum(shape.shared_ffn, 1e-6))
    return (
        grouped
        + np.where(np.asarray(shape.shared_ffn) > 0, shared, 0.0)
        + layer_streaming_s(shape, device, tuning, rows=rows, tp=tp)
    )


def layer_streaming_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one layer's memory-bound work on experts, forward only.

    Permutation and its reverse move every copy `expert_passes` times; activations move as in a dense MLP (an expert
    split over `etp` ranks computes `etp` times the copies at a share of the width); the router's fp32 scores as well.
    """
    sent = copies(shape, rows=rows, tp=tp)
    permuted = tuning.expert_passes * COPY_BYTES * sent * shape.hidden
    activated = tuning.memory_passes * 2 * sent * shape.mlp_matrices * shape.expert_ffn
    routed = tuning.memory_passes * 4 * rows / tp * shape.experts
    return streaming_s(device, byte_count=permuted + activated + routed)


def launch_s(shape: Shape, tuning: Tuning, *, layouts: Layouts) -> Values:
    """Return seconds in which the kernels of one layer's experts can be launched, forward and backward.

    Proportional to the experts on a rank, each of which has multiplications of its own.
    """
    return tuning.expert_launch_s * shape.experts / layouts.ep


@formula(
    "√({time_s}^2 + {launch_s}^2)",
    source="clusterwright docs accuracy: kernels of experts",
    time_s=Term("without launches", ".6f", "ms", 1e3),
    launch_s=Term("launch of experts", ".6f", "ms", 1e3),
)
def at_least_launched(*, time_s: Values, launch_s: Values) -> Values:
    """Return a layer's seconds when its kernels must be launched one by one: `sqrt(time^2 + launch^2)`."""
    return (time_s**_SHARPNESS + launch_s**_SHARPNESS) ** (1 / _SHARPNESS)


def exchange_s(shape: Shape, device: Device, tuning: Tuning, *, layouts: Layouts, rows: Values) -> Values:
    """Return exposed seconds of an average layer's expert traffic for one micro-batch.

    Four all-to-alls (six with full recomputation) of `2 h k rows/t` bytes, see `groups.all_to_all_s`; with experts
    split over `etp`, a gather and a scatter around each.
    """
    ep, etp = layouts.ep, layouts.etp
    size = COPY_BYTES * shape.hidden * copies(shape, rows=rows, tp=layouts.tp)
    one = groups.all_to_all_s(device, tuning, size_bytes=size, ranks=ep, stride=etp)
    split = groups.half_s(device, tuning, size_bytes=size * etp, ranks=etp, stride=1.0)
    count = ALL_TO_ALLS + np.where(np.asarray(layouts.recompute) == FULL, 2.0, 0.0)
    return shape.expert_share * count * (one + split) * (1 - tuning.expert_overlap)


def activation_bytes(shape: Shape, *, rows: Values, tp: Values) -> Values:
    """Return the bytes one expert layer keeps for its backward pass, for one micro-batch, without attention.

    Per copy its input and output (`2 h` bytes each) and what a dense MLP keeps of its width; the router's fp32 scores
    of all experts; the shared experts as a dense MLP. The fullest rank receives `expert_imbalance` times the copies
    that it sends: nothing is dropped.
    """
    sent = shape.expert_imbalance * copies(shape, rows=rows, tp=tp)
    routed = sent * (4 * shape.hidden + 2 * shape.mlp_matrices * shape.expert_ffn)
    shared = rows * 2 * shape.mlp_matrices * shape.shared_ffn / tp
    return routed + shared + 4 * rows / tp * shape.experts


def buffer_bytes(shape: Shape, *, rows: Values, tp: Values) -> Values:
    """Return the bytes of one layer's permuted copies on their way: what a rank sends, and what it receives.

    Both are there at once in Megatron Core's all-to-all dispatcher (arXiv 2504.14960): `2 h k rows/t (1 + imbalance)`.
    """
    return COPY_BYTES * shape.hidden * copies(shape, rows=rows, tp=tp) * (1 + shape.expert_imbalance)
