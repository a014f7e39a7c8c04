"""Time of the arithmetic of one layer and of the output head, for one micro-batch on one GPU."""

from dataclasses import dataclass

import numpy as np

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import NONE, Device, Layouts, Shape, Tuning, Values, anywhere
from clusterwright.sizing.model import experts
from clusterwright.sizing.model.arithmetic import (
    STREAM_FRACTION,
    mlp_multiplications_s,
    multiplication_s,
    multiplications_s,
    sixteen_bit_rate,
    streaming_s,
)

#: Read in 16 bits, written in 8, with an fp32 scale per 128 elements.
BYTES_PER_ELEMENT = 2.0 + 1.0 + 4.0 / 128
#: As `compute.PASSES`: forward, gradient of inputs, gradient of weights.
_PASSES = 3.0


def block_scaling_s(shape: Shape, device: Device, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one average layer's second quantisation, for one of the three passes; 0 without block scales.

    Over forward and backward every input and every output gradient of a multiplication is quantised once more: the
    inputs are `2 h + out + f`, the gradients `q + 2 k + 2 h + (matrices - 1) f` wide, over `t` ranks. A layer with
    experts does so for every copy of a token.

    Args:
        shape: the model.
        device: the accelerator; `block_scaled` says whether there is anything to do.
        rows: tokens of one micro-batch on one GPU.
        tp: tensor-parallel size.
    """
    gated = shape.mlp_matrices - 1
    attention = 2 * shape.hidden + shape.value_out + shape.query + 2 * shape.key_value
    dense = (1 - shape.expert_share) * (2 * shape.hidden + (1 + gated) * shape.ffn)
    each = 2 * shape.hidden + (1 + gated) * shape.expert_ffn
    shared = (1 + gated) * shape.shared_ffn
    routed = shape.expert_share * (shape.experts_per_token * each + shared)
    elements = rows / tp * (attention + dense + routed) / _PASSES
    return device.block_scaled * streaming_s(device, byte_count=BYTES_PER_ELEMENT * elements)


#: Times that weights and inputs are multiplied: forward, gradient of inputs, gradient of weights.
PASSES = 3.0
#: Times that the fp32 logits cross the memory bus (loss forward and backward).
LOGIT_PASSES = 4.0


def attention_multiplications_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one layer's attention weights, forward only.

    Plain: `h x (q + 2 k)/t` and `out/t x h`. Latent: `h` to the latents (on every rank), from there `latent x q/t` and
    `latent x (keys, values)/t`, and `out/t x h`.
    """
    plain = (
        (shape.hidden, (shape.query + 2 * shape.key_value) / tp),
        (shape.value_out / tp, shape.hidden),
    )
    total = multiplications_s(device, tuning, sides=plain, rows=rows)
    if not anywhere(shape.latent_in):
        return total
    latent = (
        (shape.hidden, np.maximum(shape.latent_in, 1.0)),
        (np.maximum(shape.latent_query, 1.0), shape.query / tp),
        (np.maximum(shape.latent_key, 1.0), np.maximum(shape.up_key_value, 1.0) / tp),
        (shape.value_out / tp, shape.hidden),
    )
    through = multiplications_s(device, tuning, sides=latent, rows=rows)
    return np.where(np.asarray(shape.latent_in) > 0, through, total)


#: Bytes that cross the memory bus per score and pass where attention writes its scores: they are written and read for
#: the softmax, written, read and written for the dropout, and read to weight the values, in 16 bits, but for the mask.
SCORE_BYTES = 10.0


def layer_attention_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one layer's scores and weighted values, forward only.

    `2 keys (q + out)/t` FLOPs per token for the keys that it attends to (`2 s q/t` with causal attention), at the rate
    of the software's kernel.

    Attention that writes its scores multiplies with all keys, masked or not, at the rate of other multiplications
    (Korthikanti et al. 2022, section 4), and moves `10 s a/t` bytes per token.
    """
    flops = 2 * rows * shape.attended * (shape.query + shape.value_out) / tp
    fused = flops / (device.peak_bf16_flop_per_s * tuning.attention_share * tuning.attention_efficiency)
    if not anywhere(tuning.scores_written):
        return fused
    whole = 2 * rows * shape.sequence * (shape.query + shape.value_out) / tp
    multiplied = whole / sixteen_bit_rate(device, tuning)
    moved = streaming_s(device, byte_count=SCORE_BYTES * rows * shape.sequence * shape.heads / tp)
    return np.where(np.asarray(tuning.scores_written) > 0, multiplied + moved, fused)


def layer_streaming_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, sp: Values) -> Values:
    """Return seconds of one layer's memory-bound operations (norms, residuals, activation, rotary), forward only.

    Two bytes per element, `6 h` elements outside the tensor-parallel region and `q + 2 k + matrices f` inside, each
    crossing the bus `memory_passes` times; latents are on every rank. Experts count in `experts.streaming_s`.
    """
    outside = 6 * shape.hidden / np.where(np.asarray(sp) > 0, tp, 1.0)
    width = (1 - shape.expert_share) * shape.ffn + shape.expert_share * shape.shared_ffn
    inside = (shape.query + 2 * shape.key_value + shape.mlp_matrices * width) / tp + shape.latent_in
    return streaming_s(device, byte_count=2 * tuning.memory_passes * rows * (outside + inside))


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerCompute:
    """Seconds of one average layer and one micro-batch, without communication.

    Attributes:
        total_s: forward and backward, with the attention's scores computed again unless they are kept.
        again_s: besides, where the whole layer is recomputed: one more forward.
        forward_s, weight_s: of the total, the forward pass and the gradients of weights.
        multiplied_s, streamed_s, attended_s, experts_s: of the forward pass, the matrices, the memory-bound operations,
            the scores, and the experts; scores_passes: times that the scores are computed.
        launch_s: time in which the kernels of the experts can be launched, 0 without experts.
    """

    total_s: Values
    again_s: Values
    forward_s: Values
    weight_s: Values
    multiplied_s: Values
    streamed_s: Values
    attended_s: Values
    scores_passes: Values
    experts_s: Values = 0.0
    launch_s: Values = 0.0


@formula(
    "3 × ({multiplied_s} + {streamed_s} + {experts_s}) + {scores_passes} × {attended_s} + {overhead_s}",
    source="clusterwright docs accuracy: forward once, backward twice",
    multiplied_s=Term("forward matrices", ".6f", "ms", 1e3),
    streamed_s=Term("memory-bound operations", ".6f", "ms", 1e3),
    experts_s=Term("forward experts", ".6f", "ms", 1e3),
    scores_passes=Term("passes of the scores", "g"),
    attended_s=Term("forward scores", ".6f", "ms", 1e3),
    overhead_s=Term("overhead", ".6f", "ms", 1e3),
)
def layer_s(
    *,
    multiplied_s: Values,
    streamed_s: Values,
    experts_s: Values,
    scores_passes: Values,
    attended_s: Values,
    overhead_s: Values,
) -> Values:
    """Return seconds of one layer and one micro-batch, forward and backward, however long its kernels are launched."""
    return PASSES * (multiplied_s + streamed_s + experts_s) + scores_passes * attended_s + overhead_s


def layer_compute(shape: Shape, device: Device, tuning: Tuning, *, layouts: Layouts, rows: Values) -> LayerCompute:
    """Return seconds of one average layer, forward and backward, and of what recomputation adds.

    Forward counts once, backward twice; full recomputation adds a whole forward, selective (or flash) attention the
    scores only. The gradients of weights take the multiplications once (Qi et al. 2024, arXiv 2401.10241, table 1).
    """
    tp, kept = layouts.tp, np.asarray(layouts.recompute) == NONE
    scores = PASSES + np.where(kept, 0.0, 1.0)
    dense = mlp_multiplications_s(shape, device, tuning, rows=rows, tp=tp, width=shape.ffn)
    multiplied = attention_multiplications_s(shape, device, tuning, rows=rows, tp=tp)
    multiplied = multiplied + (1 - shape.expert_share) * dense
    streamed = layer_streaming_s(shape, device, tuning, rows=rows, tp=tp, sp=layouts.sp)
    if np.any(device.block_scaled):
        streamed = streamed + block_scaling_s(shape, device, rows=rows, tp=tp)
    attended = layer_attention_s(shape, device, tuning, rows=rows, tp=tp)
    once = multiplied + streamed + tuning.layer_overhead_s / PASSES
    forward = once + attended
    if not anywhere(shape.expert_share):
        # The scores are computed again either way, so that the second forward is without them.
        again = once + np.where(kept, attended, 0.0)
        total = layer_s(
            multiplied_s=multiplied,
            streamed_s=streamed,
            experts_s=0.0,
            scores_passes=scores,
            attended_s=attended,
            overhead_s=tuning.layer_overhead_s,
        )
        return LayerCompute(
            total_s=total,
            again_s=again,
            forward_s=forward,
            weight_s=multiplied,
            multiplied_s=multiplied,
            streamed_s=streamed,
            attended_s=attended,
            scores_passes=scores,
        )
    copied = experts.layer_streaming_s(shape, device, tuning, rows=rows, tp=tp)
    added = experts.layer_s(shape, device, tuning, layouts=layouts, rows=rows)
    routed = shape.expert_share * added
    total = layer_s(
        multiplied_s=multiplied,
        streamed_s=streamed,
        experts_s=routed,
        scores_passes=scores,
        attended_s=attended,
        overhead_s=tuning.layer_overhead_s,
    )
    forward, once = forward + routed, once + routed
    launch = shape.expert_share * experts.launch_s(shape, tuning, layouts=layouts)
    launched = experts.at_least_launched(time_s=total, launch_s=launch)
    both = experts.at_least_launched(time_s=total + once, launch_s=(PASSES + 1) / PASSES * launch)
    slower = launched / total
    weight = multiplied + shape.expert_share * (added - copied)
    return LayerCompute(
        total_s=launched,
        again_s=both - launched,
        forward_s=slower * forward,
        weight_s=slower * weight,
        multiplied_s=multiplied,
        streamed_s=streamed,
        attended_s=attended,
        scores_passes=scores,
        experts_s=routed,
        launch_s=launch,
    )


def head_compute_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of the output matrix and the loss, forward and backward, for every token predicted."""
    multiplied = PASSES * multiplication_s(
        rows=rows,
        inner=shape.hidden,
        outer=shape.vocab / tp,
        rate=sixteen_bit_rate(device, tuning),
        rows_half=tuning.rows_half,
        width_half=tuning.width_half,
    )
    streamed = LOGIT_PASSES * 4 * rows * shape.vocab / tp / (device.hbm_bytes_per_s * STREAM_FRACTION)
    return shape.predictions * (multiplied + streamed)


def optimizer_s(device: Device, *, parameters: Values, traffic_bytes: Values) -> Values:
    """Return seconds of the optimizer's update of the parameters one GPU owns, as its bytes cross the memory bus.

    Args:
        device: the accelerator.
        parameters: that one GPU updates.
        traffic_bytes: per parameter, `optimizers.traffic_bytes`; 30 for Adam.
    """
    return streaming_s(device, byte_count=traffic_bytes * parameters)
