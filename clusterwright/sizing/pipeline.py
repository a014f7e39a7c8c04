"""Pipeline parallelism: the bubble and the transfers between stages."""

import numpy as np

from clusterwright.sizing.columns import Values


def bubble_fraction(*, pp: Values, vpp: Values, micro_batches: Values) -> Values:
    """Return the bubble over the ideal time: `(pp-1)/(v m)` (Narayanan et al. 2021, arXiv 2104.04473, 2.2.2)."""
    return (pp - 1) / (vpp * micro_batches)


def bubble_s(*, pp: Values, vpp: Values, micro_batch_s: Values) -> Values:
    """Return seconds of the bubble per step: `(pp-1)/v` micro-batches of one stage, however many there are."""
    return (pp - 1) / vpp * micro_batch_s


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
