"""All that is learnt from measured runs: numbers per stack and generation, and effects on top of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence.training.band_parts import LeftOut
from clusterwright.evidence.training.effects import DEVIATIONS, NO_EFFECTS, NOISE, Effects, levels_of
from clusterwright.evidence.training.fitting import DEFAULT, Key, fit
from clusterwright.evidence.training.predictions import columns_of, predicted_tokens_per_s_per_gpu
from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array, Tuning, stack
from clusterwright.sizing.hardware.bands import Part
from clusterwright.sizing.hardware.training_software import OF_SOFTWARE


@dataclass(frozen=True, kw_only=True, slots=True)
class Learnt:
    """Numbers by (generation, stack), and effects."""

    tunings: Mapping[Key, Tuning]
    effects: Effects

    def tuning(self, run: Run) -> Tuning:
        """Return the numbers of a run's generation and stack, else of its stack, else of any."""
        for key in ((run.generation, run.stack), (DEFAULT, run.stack), (DEFAULT, "any")):
            if key in self.tunings:
                return self.tunings[key]
        raise KeyError(run.stack)


def residuals(runs: Sequence[Run], learnt: Learnt, *, release_known: bool = True) -> Array:
    """Return ln(measured/predicted) of tokens per second for each run, with effects.

    Args:
        runs: measured runs.
        learnt: what others teach.
        release_known: whether the prediction may use the run's software, which a plan does not know.
    """
    left_out = () if release_known else OF_SOFTWARE
    known = [learnt.effects.of(tuple(level for level in levels_of(run) if level[0] not in left_out)) for run in runs]
    return np.asarray(physical_residuals(runs, learnt) - np.array(known))


def physical_residuals(runs: Sequence[Run], learnt: Learnt) -> Array:
    """Return ln(measured/predicted) of tokens per second for each run, without effects."""
    repeated = [learnt.tuning(run) for run in runs for _ in run.candidates]
    predicted = predicted_tokens_per_s_per_gpu(columns_of(runs), stack(repeated))
    return np.asarray(np.log(np.array([run.tokens_per_s_per_gpu for run in runs]) / predicted))


def learn(runs: Sequence[Run], start: Tuning) -> Learnt:
    """Return what the runs teach.

    Args:
        runs: measured runs.
        start: the priors.
    """
    tunings, effects = fit(runs, start, deviations=DEVIATIONS, noise=NOISE)
    return Learnt(tunings={(DEFAULT, "any"): start, **tunings}, effects=effects)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOut:
    """ln(measured/predicted) of runs that were left out, with their release known and unknown."""

    release_known: Array
    release_unknown: Array


def cross_validated(runs: Sequence[Run], start: Tuning, *, folds: Sequence[str]) -> HeldOut:
    """Return ln(measured/predicted) of each run, predicted from what the runs of other folds teach, and nothing else.

    Args:
        runs: measured runs.
        start: the priors.
        folds: of each run.
    """
    known, unknown = np.zeros(len(runs)), np.zeros(len(runs))
    names = np.array(folds)
    for fold in sorted(set(folds)):
        held = names == fold
        others = [run for run, out in zip(runs, held, strict=True) if not out]
        left = [run for run, out in zip(runs, held, strict=True) if out]
        taught = learn(others, start) if others else Learnt(tunings={(DEFAULT, "any"): start}, effects=NO_EFFECTS)
        known[held] = residuals(left, taught)
        unknown[held] = residuals(left, taught, release_known=False)
    return HeldOut(release_known=known, release_unknown=unknown)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibrated:
    """What runs teach, and how far off it is on runs that were left out.

    Attributes:
        held_out: ln(measured/predicted) of each run by what the other sources teach; unseen_generation, unseen_vendor:
            by what other generations and other vendors teach; same_sources: by other groups, of which most are of the
            same sources.
        baseline_errors: by a constant MFU, of other sources.
        left_out: the same as `held_out` and the others, with what was known of each run; bands: the parts they give.
    """

    runs: tuple[Run, ...]
    learnt: Learnt
    held_out: HeldOut
    unseen_generation: HeldOut
    unseen_vendor: HeldOut
    same_sources: HeldOut
    baseline_errors: Array
    left_out: tuple[LeftOut, ...]
    bands: Mapping[str, Part]
