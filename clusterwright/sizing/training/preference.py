"""Which of the layouts that are about as fast as the fastest is taken.

Predicted times of two layouts differ by less than they are known where they are a few per cent apart. Of those that a
job's tolerance allows, the one is taken whose sizes are usual, that recomputes the fewest layers, and is the fastest.
"""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import FULL, Array, Index, Layouts, Shape, Values
from clusterwright.sizing.hardware.calibration import StackCalibration
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE
from clusterwright.sizing.records.job import FasterLayout, TrainingJob
from clusterwright.sizing.training import layouts, points
from clusterwright.sizing.training.layouts import Space
from clusterwright.sizing.training.timing import Timed
from clusterwright.units import SECONDS_PER_DAY

#: Largest prime factor of usual pipelines; tensor-parallel sizes are usually powers of two.
LARGEST_USUAL_FACTOR = 5
_FEWER, _USUAL = "it recomputes fewer layers", "its tensor and pipeline sizes are usual"
#: Steps in which shares of recomputed layers count as different: small differences are no reason to be slower.
_STEPS_OF_SHARES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Preferred:
    """The rows that are taken, and where they are not the fastest, what is."""

    rows: Index
    faster: tuple[FasterLayout | None, ...]


def recomputed_share(shape: Shape, found: Layouts) -> Array:
    """Return the share of layers that are recomputed as a whole."""
    layers = np.minimum(found.recompute_layers * found.pp * found.vpp, shape.layers) / shape.layers
    return np.asarray(np.where(np.asarray(found.recompute) == FULL, layers, 0.0))


def is_usual(*, tp: int, pp: int) -> bool:
    """Tell whether tensor parallelism is over a power of two, and a pipeline has no prime factor above 5.

    >>> is_usual(tp=8, pp=12), is_usual(tp=12, pp=1), is_usual(tp=2, pp=41)
    (True, False, False)
    """
    if tp & (tp - 1):
        return False
    rest = pp
    for factor in range(2, LARGEST_USUAL_FACTOR + 1):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def preferred(
    timed: Timed,
    space: Space,
    fastest: Index,
    *,
    job: TrainingJob,
    shape: Shape,
    stacks: tuple[StackCalibration, StackCalibration],
) -> Preferred:
    """Return the row that is taken of each size on the front.

    A size keeps a place on the front: its days are fewer than those of every smaller one. A size whose fastest layout
    meets the goal at the job's confidence is not moved beyond it.

    Args:
        timed: all layouts with their time.
        space: that they are of.
        fastest: rows of the fastest layouts of the front, fewest nodes first.
        job: with its tolerance.
        shape: of the model.
        stacks: for the band of layouts without and with FSDP.
    """
    if not job.layout_tolerance or not fastest.size:
        return Preferred(rows=fastest, faster=(None,) * fastest.size)
    counts = timed.nodes.astype(np.intp)
    slowest = np.zeros(counts.max() + 1)
    slowest[counts[fastest]] = timed.days[fastest] * (1 + job.layout_tolerance)
    near = np.flatnonzero(timed.days <= slowest[counts])
    found = _layouts_at(timed, space, near)
    shares = recomputed_share(shape, found)
    odd = np.array(
        [not is_usual(tp=int(tp), pp=int(pp)) for tp, pp in zip(*_sizes(found, near.size), strict=True)], dtype=float
    )
    high = timed.days[near] * _high_factors(found, near.size, job=job, stacks=stacks)
    order = np.lexsort((near, timed.days[near], np.ceil(_STEPS_OF_SHARES * shares), odd))
    rows, faster = [], []
    before = np.inf
    for place in fastest.tolist():
        (best,) = np.flatnonzero(near == place)
        allowed = (counts[near] == counts[place]) & (timed.days[near] < before)
        if job.finish_within_s is not None and high[best] * SECONDS_PER_DAY <= job.finish_within_s:
            allowed &= high * SECONDS_PER_DAY <= job.finish_within_s
        taken = int(order[np.flatnonzero(allowed[order])[0]])
        rows.append(int(near[taken]))
        before = float(timed.days[rows[-1]])
        faster.append(
            None
            if taken == best
            else FasterLayout(
                layout=layouts.layout_at(_layouts_at(timed, space, np.array([place])), 0),
                slower_share=float(before / timed.days[place] - 1),
                reason=_USUAL if odd[taken] < odd[best] else _FEWER,
            )
        )
    return Preferred(rows=np.array(rows, dtype=np.intp), faster=tuple(faster))


def _layouts_at(timed: Timed, space: Space, rows: Index) -> Layouts:
    found = space.at(timed.mode[rows], timed.row[rows])
    return replace(found, recompute_layers=timed.recompute_layers[rows])


def _sizes(found: Layouts, count: int) -> tuple[Array, Array]:
    return np.broadcast_to(found.tp, count), np.broadcast_to(found.pp, count)


def _high_factors(
    found: Layouts, count: int, *, job: TrainingJob, stacks: tuple[StackCalibration, StackCalibration]
) -> Values:
    """Return days at the job's confidence over median days, by the stack of each layout."""
    plain, fsdp = (points.band_factor(entry.residuals, quantile=job.confidence) for entry in stacks)
    return np.where(np.broadcast_to(np.asarray(found.zero_stage) >= FSDP_FROM_STAGE, count), fsdp, plain)
