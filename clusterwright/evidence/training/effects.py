"""What remains after the physics, by software release, accelerator, precision and model: random effects, shrunk.

ln(measured/predicted) of a run is taken as a sum of effects, each drawn from a normal distribution of its kind's
deviation, plus noise. Best linear unbiased predictions pull an effect towards zero the more, the fewer runs show it, so
that a release or an accelerator that was never measured simply has none. Henderson 1975, "Best linear unbiased
estimation and prediction under a selection model"; Robinson 1991, "That BLUP is a good thing".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.calibration import effects_of_job
from clusterwright.sizing.hardware.training_software import (
    LATER,
    LINEAGE,
    RELEASE,
    RELEASE_ACCELERATOR,
    RELEASE_KIND,
    SOFTWARE,
    effects_of_software,
)

#: What the runs of one publisher of one software have in common. It is estimated, so that a large file does not speak
#: for everyone, and never predicted with: the next run is another publisher's.
SOURCE = "source"
#: Deviation of every kind of effect, in ln of tokens per second, and of a single run: those that predict groups of runs
#: best that were left out (docs/evidence/accuracy.md tells how they were found).
DEVIATIONS = {
    "vendor": 0.055,
    "accelerator_precision": 0.05,
    "precision_kind": 0.1,
    "architecture": 0.025,
    "architecture_accelerator": 0.035,
    SOFTWARE: 0.2,
    LINEAGE: 0.15,
    RELEASE: 0.1,
    RELEASE_KIND: 0.03,
    RELEASE_ACCELERATOR: 0.04,
    LATER: 0.03,
    SOURCE: 0.2,
}
NOISE = 0.12
#: The same for a handful of runs of one's own, which are added to what published runs show.
OWN_DEVIATIONS = {
    "accelerator": 0.1,
    "accelerator_precision": 0.1,
    "accelerator_kind": 0.05,
    "architecture": 0.1,
    "architecture_accelerator": 0.07,
    RELEASE: 0.07,
}
OWN_NOISE = 0.06
#: Noise of single runs is taken as Student's t with these degrees of freedom, so that odd runs count less.
_FREEDOM = 3.0
_REWEIGHTINGS = 6

Levels = tuple[tuple[str, str], ...]


def levels_of(run: Run) -> Levels:
    """Return the (kind, level) of every effect that a run takes part in."""
    known = effects_of_job(
        vendor=run.vendor,
        accelerator=run.accelerator,
        precision=run.precision,
        kind=run.kind,
        architecture=run.architecture,
    )
    own = effects_of_software(run.software, kind=run.kind, accelerator=run.accelerator, generation=run.generation)
    return (*known, *own)


@dataclass(frozen=True, kw_only=True, slots=True)
class Effects:
    """Effects by (kind, level), in ln of tokens per second, and the deviation of every kind and of the noise."""

    values: Mapping[tuple[str, str], float]
    deviations: Mapping[str, float]
    noise: float

    def of(self, levels: Levels) -> float:
        """Return the sum of effects; one that was never seen is zero."""
        return sum(self.values.get(level, 0.0) for level in levels)


NO_EFFECTS = Effects(values={}, deviations={}, noise=NOISE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Which run takes part in which effect of a kind: levels, and a matrix of runs by levels."""

    levels: tuple[str, ...]
    shared: Array
    deviation: float


def estimate(runs: Sequence[Run], errors: Array, *, deviations: Mapping[str, float], noise: float) -> Effects:
    """Return the effects that explain ln(measured/predicted).

    Args:
        runs: the measured runs.
        errors: ln(measured/predicted) of each by the physics alone.
        deviations: of every kind of effect.
        noise: deviation of single runs.
    """
    designs = designs_of(runs, deviations)
    pulls = robust_pulls(covariance_of(designs), errors, noise=noise)
    return Effects(values=values_of(designs, pulls), deviations=dict(deviations), noise=noise)


def designs_of(runs: Sequence[Run], deviations: Mapping[str, float]) -> dict[str, Design]:
    """Return the design of every kind of effect that has a deviation."""
    taken = [(*levels_of(run), (SOURCE, run.left_out_as)) for run in runs]
    designs = {}
    for kind, deviation in deviations.items():
        levels = sorted({level for row in taken for name, level in row if name == kind})
        place = {level: index for index, level in enumerate(levels)}
        shared = np.zeros((len(runs), len(levels)))
        for index, row in enumerate(taken):
            for name, level in row:
                if name == kind:
                    shared[index, place[level]] = 1.0
        designs[kind] = Design(levels=tuple(levels), shared=shared, deviation=deviation)
    return designs


def covariance_of(designs: Mapping[str, Design]) -> Array:
    """Return the covariance of ln(measured/predicted) of all runs that effects alone give."""
    parts = [design.deviation**2 * (design.shared @ design.shared.T) for design in designs.values()]
    return np.asarray(sum(parts[1:], parts[0]))


def robust_pulls(covariance: Array, errors: Array, *, noise: float) -> Array:
    """Return `C^-1 errors`, how strongly each run pulls at what it shares with others, odd runs with less weight.

    `C` is the covariance plus the noise, which grows for a run as Student's t does with what is left of it.
    """
    spread = np.ones(errors.size)
    pulls = errors
    for _ in range(_REWEIGHTINGS):
        pulls = np.asarray(np.linalg.solve(covariance + noise**2 * np.diag(spread), errors), dtype=np.float64)
        left = noise * spread * pulls
        spread = (_FREEDOM + left**2) / (_FREEDOM + 1)
    return pulls


def values_of(designs: Mapping[str, Design], pulls: Array) -> dict[tuple[str, str], float]:
    """Return every effect by (kind, level): its variance times the pulls of the runs that take part in it."""
    return {
        (kind, level): float(value)
        for kind, design in designs.items()
        if kind != SOURCE
        for level, value in zip(design.levels, design.deviation**2 * (design.shared.T @ pulls), strict=True)
        if value
    }
