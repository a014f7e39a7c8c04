"""Pipeline parallelism: the bubble and the transfers between stages."""

import numpy as np

from clusterwright.sizing.columns import DUALPIPE, ZERO_BUBBLE, Layouts, Values, anywhere


def bubble_s(layouts: Layouts, *, micro_batch_s: Values, forward_s: Values, weight_s: Values) -> Values:
    """Return seconds of the bubble per step, however many micro-batches there are (Narayanan et al. 2021, 2.2.2).

    With `F` forward, `B` all of backward and `W` its gradients of weights, of one stage and one micro-batch: 1F1B
    `(pp-1) (F + B)/v`; ZB-H1 `(pp-1) (F + B - 2 W)` (Qi et al. 2024, arXiv 2401.10241, table 2, whose `B` is without
    `W`); DualPipe `(pp/2-1) (F&B + B - 3 W)` (DeepSeek-V3, arXiv 2412.19437, table 2), where forward and backward
    chunks that run together take `F&B = F + B` here: what they hide of each other's traffic is not counted.

    Args:
        layouts: the layouts.
        micro_batch_s: `F + B`.
        forward_s: `F`.
        weight_s: `W`.
    """
    plain = (layouts.pp - 1) / layouts.vpp * micro_batch_s
    if not anywhere(layouts.schedule):
        return plain
    schedule = np.asarray(layouts.schedule)
    zero = (layouts.pp - 1) * (micro_batch_s - 2 * weight_s)
    dual = np.maximum(0.0, layouts.pp / 2 - 1) * (2 * micro_batch_s - forward_s - 3 * weight_s)
    return np.where(schedule == ZERO_BUBBLE, zero, np.where(schedule == DUALPIPE, dual, plain))


def transfer_s(
    *,
    rows: Values,
    hidden: Values,
    tp: Values,
    pp: Values,
    vpp: Values,
    micro_batches: Values,
    bytes_per_s: Values,
    latency_s: Values,
) -> Values:
    """Return seconds of sending activations and their gradients between stages, per step and without overlap.

    `2 v m (2 rows h/t / B + alpha)`: each of the `v` chunks of each micro-batch is sent once forward and once backward,
    and each tensor-parallel rank sends its share (scatter-gather, Narayanan et al. 2021, section 4.1). 0 for one stage.
    """
    one = 2 * rows * hidden / tp / bytes_per_s + latency_s
    return np.where(np.asarray(pp) > 1, 2 * vpp * micro_batches * one, 0.0)
