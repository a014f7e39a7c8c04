"""The parts of bands, from what is left of runs that were left out with their source, generation or vendor.

The width below and above the median is a sum of parts that are never negative, found by quantile regression (Koenker
and Bassett 1978, Regression quantiles): `min sum of w rho(e - x b)`, with `rho(r) = r (q - [r < 0])`. A source weighs
as the square root of its rows, so that a large file does not speak for everyone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.training.runs import Run
from clusterwright.evidence.training.validate import weighted_quantile
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.bands import (
    EVERY,
    NEW_FAMILY,
    PARTS,
    UNNAMED,
    Measured,
    Part,
    shape_parts,
)
from clusterwright.sizing.hardware.training_software import family_of, software_parts

#: Quantile of each side. A tenth is to lie beyond it; a new source lies farther out than those that the parts were
#: fitted on, so that fewer do here.
QUANTILE = 0.925
#: Of a part, in ln: what each step of the search tries, and how often it goes through all parts.
_STEPS = (0.16, 0.08, 0.04, 0.02, 0.01, 0.005)
_ROUNDS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """One run that was left out: what was missed, what was known of it, and what it weighs."""

    error: float
    parts: tuple[str, ...]
    weight: float
    source: str


def measured_of(runs: Sequence[Run]) -> Measured:
    """Return what runs show of hardware and software."""
    return Measured(
        accelerators=frozenset(run.accelerator for run in runs),
        generations=frozenset(run.generation for run in runs),
        vendors=frozenset(run.vendor for run in runs),
        releases=frozenset(run.software for run in runs),
        families=frozenset(family_of(run.software) for run in runs),
        sources=sources_of(runs),
    )


def sources_of(runs: Sequence[Run]) -> dict[tuple[str, str], int]:
    """Return how many sources measured each generation and kind of model."""
    found = {(run.generation, run.kind, run.left_out_as) for run in runs}
    return dict(Counter((generation, kind) for generation, kind, _ in sorted(found)))


def parts_of(run: Run, measured: Measured, *, named: bool = True) -> tuple[str, ...]:
    """Return the parts of a run's band, by what was measured; `named` tells whether its software may be used."""
    return (
        *measured.hardware_parts(accelerator=run.accelerator, generation=run.generation, vendor=run.vendor),
        *measured.source_parts(generation=run.generation, kind=run.kind),
        *software_parts(run.software if named else "", measured),
        *shape_parts(
            experts=bool(run.model.experts), hidden=run.model.hidden, sequence_length=int(float(run.shape.sequence))
        ),
    )


def left_out(
    runs: Sequence[Run], errors: Array, folds: Sequence[str], *, named: bool, share: float = 1.0
) -> list[LeftOut]:
    """Return runs that were left out fold by fold.

    Args:
        runs: all runs.
        errors: ln(measured/predicted) of each by what other folds teach.
        folds: of each run.
        named: whether the prediction may use the software's name.
        share: what this way of leaving out weighs among others.
    """
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.left_out_as] = sizes.get(run.left_out_as, 0) + 1
    total = sum(count**0.5 for count in sizes.values())
    seen = {
        fold: measured_of([run for run, other in zip(runs, folds, strict=True) if other != fold])
        for fold in sorted(set(folds))
    }
    return [
        LeftOut(
            error=float(error),
            parts=parts_of(run, seen[fold], named=named),
            weight=share * sizes[run.left_out_as] ** -0.5 / total,
            source=run.left_out_as,
        )
        for run, error, fold in zip(runs, errors, folds, strict=True)
    ]


def fitted(rows: Sequence[LeftOut]) -> dict[str, Part]:
    """Return the parts that rows show; a part that none has is left out."""
    errors, weights = np.array([row.error for row in rows]), np.array([row.weight for row in rows])
    has = {name: np.array([name == EVERY or name in row.parts for row in rows], dtype=float) for name in PARTS}
    known = [name for name in PARTS if has[name].any()]
    new_family = has[NEW_FAMILY] > 0
    unnamed = (has[UNNAMED] > 0) & ~new_family
    middle = dict.fromkeys(known, 0.0)
    # Between the medians of rows and of sources: a large file speaks for many users of its software, not for all.
    between = np.sqrt(weights)
    if (~unnamed).any():
        middle[EVERY] = weighted_quantile(errors[~unnamed], between[~unnamed], 0.5)
    if unnamed.any():
        middle[UNNAMED] = weighted_quantile(errors[unnamed], between[unnamed], 0.5) - middle[EVERY]
        if new_family.any():
            # Software that has a name is wider with what is not known of unnamed software, and not moved with it.
            middle[NEW_FAMILY] = -middle[UNNAMED]
    matrix = np.stack([has[name] for name in known], axis=1)
    rest = errors - matrix @ np.array([middle[name] for name in known])
    low, high = _widths(matrix, -rest, weights), _widths(matrix, rest, weights)
    return {
        name: Part(low=float(low[index]), middle=middle[name], high=float(high[index]), rows=int(has[name].sum()))
        for index, name in enumerate(known)
    }


def _widths(matrix: Array, errors: Array, weights: Array) -> Array:
    """Return the parts of the upper quantile of errors, by descent along one part at a time."""
    found = np.zeros(matrix.shape[1])
    found[0] = weighted_quantile(errors, weights, QUANTILE)

    def loss(rest: Array) -> float:
        return float(np.sum(weights * rest * (QUANTILE - (rest < 0))))

    rest = errors - matrix @ found
    best = loss(rest)
    for step in _STEPS:
        for _ in range(_ROUNDS):
            moved = False
            for index in range(found.size):
                for change in (step, -step):
                    if found[index] + change < 0:
                        continue
                    tried = rest - change * matrix[:, index]
                    value = loss(tried)
                    if value < best - 1e-9:
                        best, rest, moved = value, tried, True
                        found[index] += change
            if not moved:
                break
    return found


def inside(rows: Sequence[LeftOut], bands: Mapping[str, Part]) -> Array:
    """Tell for each row whether it lies in its band: 1 or 0."""
    found = []
    for row in rows:
        held = [bands[name] for name in (EVERY, *row.parts) if name in bands]
        rest = row.error - sum(part.middle for part in held)
        found.append(float(-sum(part.low for part in held) <= rest <= sum(part.high for part in held)))
    return np.array(found)
