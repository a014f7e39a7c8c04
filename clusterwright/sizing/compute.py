"""Time of the arithmetic of one layer and of the output head, for one micro-batch on one GPU.

Multiplications approach a share of the peak as they grow: `e = e_max x/(x + x_half)` in rows and in the narrow side of
the sharded matrix, so that `time = 2 rows N K / (peak e_max) (1 + rows_half/rows)(1 + width_half/min(N, K))`. The
numbers are calibrated, see `catalog/calibration.csv`.
"""

import numpy as np

from clusterwright.sizing.columns import FULL, NONE, Device, Shape, Tuning, Values

#: Times that weights and inputs are multiplied: forward, gradient of inputs, gradient of weights.
PASSES = 3.0
#: Bytes per parameter that Adam with fp32 state moves: reads gradient, weight, two moments; writes three and bf16.
OPTIMIZER_TRAFFIC_BYTES = 30.0
#: Share of the memory bandwidth that streaming kernels reach.
STREAM_FRACTION = 0.85
#: Times that the fp32 logits cross the memory bus (loss forward and backward).
LOGIT_PASSES = 4.0


def multiplication_rate(device: Device, tuning: Tuning) -> Values:
    """Return the FLOP/s of a very large multiplication in the job's precision."""
    efficiency = np.where(np.asarray(device.eight_bit) > 0, tuning.gemm_efficiency_eight_bit, tuning.gemm_efficiency)
    return device.peak_flop_per_s * efficiency


def multiplication_s(
    *, rows: Values, inner: Values, outer: Values, rate: Values, rows_half: Values, width_half: Values
) -> Values:
    """Return seconds of one `rows x inner` by `inner x outer` multiplication (equation above)."""
    work = 2 * rows * inner * outer / rate
    return work * (1 + rows_half / rows) * (1 + width_half / np.minimum(inner, outer))


def layer_multiplications_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one layer's weight multiplications, forward only: query-key-value, output, MLP in, MLP out."""
    rate = multiplication_rate(device, tuning)
    hidden, mlp_in = shape.hidden, (shape.mlp_matrices - 1) * shape.ffn / tp
    sides = (
        (hidden, (shape.query + 2 * shape.key_value) / tp),
        (shape.query / tp, hidden),
        (hidden, mlp_in),
        (shape.ffn / tp, hidden),
    )
    total: Values = 0.0
    for inner, outer in sides:
        total = total + multiplication_s(
            rows=rows, inner=inner, outer=outer, rate=rate, rows_half=tuning.rows_half, width_half=tuning.width_half
        )
    return total


def layer_attention_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one layer's scores and weighted values, forward only: `2 s q/t` causal FLOPs per token."""
    return 2 * rows * shape.sequence * shape.query / tp / (device.peak_bf16_flop_per_s * tuning.attention_efficiency)


def layer_streaming_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, sp: Values) -> Values:
    """Return seconds of one layer's memory-bound operations (norms, residuals, activation, rotary), forward only.

    Two bytes per element, `6 h` elements outside the tensor-parallel region and `q + 2 k + matrices f` inside, each
    crossing the bus `memory_passes` times.
    """
    outside = 6 * shape.hidden / np.where(np.asarray(sp) > 0, tp, 1.0)
    inside = (shape.query + 2 * shape.key_value + shape.mlp_matrices * shape.ffn) / tp
    return 2 * tuning.memory_passes * rows * (outside + inside) / (device.hbm_bytes_per_s * STREAM_FRACTION)


def layer_compute_s(
    shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, sp: Values, recompute: Values
) -> Values:
    """Return seconds of one layer, forward and backward with what is recomputed, without communication.

    Forward counts once, backward twice; full recomputation adds a whole forward, selective (or flash) attention the
    scores only.
    """
    recompute = np.asarray(recompute)
    whole = PASSES + np.where(recompute == FULL, 1.0, 0.0)
    scores = PASSES + np.where(recompute == NONE, 0.0, 1.0)
    multiplied = layer_multiplications_s(shape, device, tuning, rows=rows, tp=tp)
    streamed = layer_streaming_s(shape, device, tuning, rows=rows, tp=tp, sp=sp)
    attended = layer_attention_s(shape, device, tuning, rows=rows, tp=tp)
    return whole * (multiplied + streamed) + scores * attended + whole / PASSES * tuning.layer_overhead_s


def head_compute_s(shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values) -> Values:
    """Return seconds of the output matrix and the loss, forward and backward."""
    multiplied = PASSES * multiplication_s(
        rows=rows,
        inner=shape.hidden,
        outer=shape.vocab / tp,
        rate=device.peak_bf16_flop_per_s * tuning.gemm_efficiency,
        rows_half=tuning.rows_half,
        width_half=tuning.width_half,
    )
    streamed = LOGIT_PASSES * 4 * rows * shape.vocab / tp / (device.hbm_bytes_per_s * STREAM_FRACTION)
    return multiplied + streamed


def optimizer_s(device: Device, *, parameters: Values) -> Values:
    """Return seconds of the optimizer's update of the parameters one GPU owns: 30 bytes each over the memory bus."""
    return OPTIMIZER_TRAFFIC_BYTES * parameters / (device.hbm_bytes_per_s * STREAM_FRACTION)
