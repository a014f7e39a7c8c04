"""What remains after the physics, by software release, accelerator, precision and model: random effects, shrunk.

ln(measured/predicted) of a run is taken as a sum of effects, each drawn from a normal distribution of its kind's
variance, plus noise. Best linear unbiased predictions pull an effect towards zero the more, the fewer runs show it, so
that a release or an accelerator that was never measured simply has none. Variances maximise the likelihood.
Henderson 1975, "Best linear unbiased estimation and prediction under a selection model"; Robinson 1991, "That BLUP is
a good thing".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.runs import Run
from clusterwright.sizing.calibration import effects_of_job
from clusterwright.sizing.columns import Array

#: Kinds of effects that only a measured run has, since a plan does not know them.
RELEASE, RELEASE_KIND, FAMILY, GROUP = "release", "release_kind", "software", "like_runs"
#: A single residual counts at most this much, so that one odd run does not move its release.
CLIP = 0.5
#: Noise of single runs is taken as Student's t with these degrees of freedom, so that odd runs count less.
_FREEDOM = 10.0
_REWEIGHTINGS = 6
#: Deviations for a handful of runs of one's own, which cannot show their variances: what published runs show, rounded.
OWN_DEVIATIONS = {
    "accelerator": 0.1,
    "accelerator_precision": 0.1,
    "accelerator_kind": 0.05,
    "precision_kind": 0.0,
    "architecture": 0.1,
    "architecture_accelerator": 0.07,
    FAMILY: 0.0,
    RELEASE: 0.07,
    RELEASE_KIND: 0.0,
    GROUP: 0.05,
}
OWN_NOISE = 0.06
_START = 0.05
_GRID = (0.0, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28)
_NOISES = (0.02, 0.03, 0.045, 0.06, 0.08)
_ROUNDS = 3

Levels = tuple[tuple[str, str], ...]


def levels_of(run: Run) -> Levels:
    """Return the (kind, level) of every effect that a run takes part in."""
    known = effects_of_job(
        accelerator=run.accelerator, precision=run.precision, kind=run.kind, architecture=run.architecture
    )
    family = run.software.split(" ")[0].split("/")[0]
    own = (
        (FAMILY, family),
        (RELEASE, run.software),
        (RELEASE_KIND, f"{run.software}|{run.kind}"),
        (GROUP, f"{run.architecture}|{run.accelerator}|{run.precision}"),
    )
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


NO_EFFECTS = Effects(values={}, deviations={}, noise=_START)


def estimate(
    runs: Sequence[Run], errors: Array, *, deviations: Mapping[str, float] | None = None, noise: float | None = None
) -> Effects:
    """Return the effects that explain ln(measured/predicted).

    Args:
        runs: the measured runs.
        errors: ln(measured/predicted) of each by the physics alone.
        deviations: of every kind of effect, estimated if None.
        noise: of single runs, estimated if None.
    """
    designs = _designs(runs)
    clipped = np.clip(errors, -CLIP, CLIP)
    spread = np.ones(len(runs))
    if deviations is None or noise is None:
        deviations, noise = _variances(designs, clipped, spread)
    values: dict[tuple[str, str], float] = {}
    for _ in range(_REWEIGHTINGS):
        weights = np.linalg.solve(_covariance(designs, deviations, noise, spread), clipped)
        values = {}
        left = clipped.copy()
        for kind, (names, shared) in designs.items():
            estimated = deviations[kind] ** 2 * (shared.T @ weights)
            values |= {(kind, name): float(value) for name, value in zip(names, estimated, strict=True) if value}
            left -= shared @ estimated
        spread = (_FREEDOM + (left / noise) ** 2) / (_FREEDOM + 1)
    return Effects(values=values, deviations=dict(deviations), noise=noise)


def _designs(runs: Sequence[Run]) -> dict[str, tuple[list[str], Array]]:
    by_kind: dict[str, list[str]] = {}
    for run in runs:
        for kind, level in levels_of(run):
            by_kind.setdefault(kind, []).append(level)
    designs = {}
    for kind, levels in by_kind.items():
        names = sorted(set(levels))
        place = {name: index for index, name in enumerate(names)}
        shared = np.zeros((len(runs), len(names)))
        shared[np.arange(len(runs)), [place[level] for level in levels]] = 1.0
        designs[kind] = (names, shared)
    return designs


def _covariance(
    designs: Mapping[str, tuple[list[str], Array]], deviations: Mapping[str, float], noise: float, spread: Array
) -> Array:
    total: Array = noise**2 * np.diag(spread)
    for kind, (_, shared) in designs.items():
        total = total + deviations[kind] ** 2 * (shared @ shared.T)
    return total


def _likelihood(covariance: Array, errors: Array) -> float:
    lower = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(lower, errors)
    return float(-np.log(np.diag(lower)).sum() - scaled @ scaled / 2)


def _variances(
    designs: Mapping[str, tuple[list[str], Array]], errors: Array, spread: Array
) -> tuple[dict[str, float], float]:
    """Return the deviations that maximise the likelihood, one after the other over a grid."""
    deviations, noise = dict.fromkeys(designs, _START), _START
    products = {kind: shared @ shared.T for kind, (_, shared) in designs.items()}
    identity = np.diag(spread)
    for _ in range(_ROUNDS):
        before = (dict(deviations), noise)
        for kind in designs:
            rest = noise**2 * identity + sum(
                deviations[other] ** 2 * products[other] for other in designs if other != kind
            )
            deviations[kind] = max(
                _GRID,
                key=lambda tried: _likelihood(rest + tried**2 * products[kind], errors),
            )
        shared = sum(deviations[kind] ** 2 * products[kind] for kind in designs)
        noise = max(_NOISES, key=lambda tried: _likelihood(shared + tried**2 * identity, errors))
        if before == (deviations, noise):
            break
    return deviations, noise
