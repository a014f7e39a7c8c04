"""Seconds of multiplications and of streaming kernels, which layers, experts and the output head are made of.

Multiplications approach a share of the fastest measured one as they grow: `e = e_max x/(x + x_half)` in rows and in the
narrow side of the sharded matrix, so that `time = 2 rows N K / (peak share e_max) (1 + rows_half/rows)(1 +
width_half/min(N, K))`. What was measured is in `catalog/matmul_rates.csv`, the calibrated numbers are in
`catalog/calibration.csv`.
"""

import numpy as np

from clusterwright.sizing.columns import Device, Shape, Tuning, Values

#: Share of the memory bandwidth that streaming kernels reach.
STREAM_FRACTION = 0.85


def multiplication_rate(device: Device, tuning: Tuning) -> Values:
    """Return the FLOP/s of a very large multiplication in the job's precision."""
    efficiency = np.where(np.asarray(device.eight_bit) > 0, tuning.gemm_efficiency_eight_bit, tuning.gemm_efficiency)
    efficiency = np.where(np.asarray(device.four_bit) > 0, tuning.gemm_efficiency_four_bit, efficiency)
    return device.peak_flop_per_s * device.matmul_share * efficiency


def sixteen_bit_rate(device: Device, tuning: Tuning) -> Values:
    """Return the FLOP/s of a very large multiplication in bf16, whatever the job's precision."""
    return device.peak_bf16_flop_per_s * device.matmul_share_bf16 * tuning.gemm_efficiency


def multiplication_s(
    *, rows: Values, inner: Values, outer: Values, rate: Values, rows_half: Values, width_half: Values
) -> Values:
    """Return seconds of one `rows x inner` by `inner x outer` multiplication (equation above)."""
    work = 2 * rows * inner * outer / rate
    return work * (1 + rows_half / rows) * (1 + width_half / np.minimum(inner, outer))


def multiplications_s(
    device: Device, tuning: Tuning, *, sides: tuple[tuple[Values, Values], ...], rows: Values
) -> Values:
    """Return seconds of several multiplications of the same rows, forward only; `sides` are (inner, outer) widths."""
    rate = multiplication_rate(device, tuning)
    total: Values = 0.0
    for inner, outer in sides:
        total = total + multiplication_s(
            rows=rows, inner=inner, outer=outer, rate=rate, rows_half=tuning.rows_half, width_half=tuning.width_half
        )
    return total


def mlp_multiplications_s(
    shape: Shape, device: Device, tuning: Tuning, *, rows: Values, tp: Values, width: Values
) -> Values:
    """Return seconds of one MLP of a width, forward only: `h x (matrices - 1) f/t` and `f/t x h`."""
    sides = ((shape.hidden, (shape.mlp_matrices - 1) * width / tp), (width / tp, shape.hidden))
    return multiplications_s(device, tuning, sides=sides, rows=rows)


def streaming_s(device: Device, *, byte_count: Values) -> Values:
    """Return seconds in which streaming kernels move bytes."""
    return byte_count / (device.hbm_bytes_per_s * STREAM_FRACTION)
