"""All that is learnt from measured runs: numbers per stack and generation, and effects on top of them.

The numbers of a stack are fitted on all its runs first; those of a generation are drawn towards them, so that what few
runs of a generation do not determine stays what other generations show. Numbers and effects are fitted in turns, each
on what the other leaves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.evidence import effects
from clusterwright.evidence.effects import NO_EFFECTS, Effects, levels_of
from clusterwright.evidence.fitting import fit
from clusterwright.evidence.predictions import columns_of, predicted_tokens_per_s_per_gpu
from clusterwright.evidence.runs import Run
from clusterwright.sizing.columns import Array, Tuning, stack

DEFAULT = "default"
#: Fewer groups than this leave the stack's numbers in charge of a generation.
FEWEST_GROUPS = 3
#: How much closer a generation's numbers are held to the stack's than the stack's to the priors.
GENERATION_TIGHTNESS = 2.0
_TURNS = 3

Key = tuple[str, str]


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


def residuals(runs: Sequence[Run], learnt: Learnt) -> Array:
    """Return ln(measured/predicted) of tokens per second for each run, with effects."""
    known = np.array([learnt.effects.of(levels_of(run)) for run in runs])
    return np.asarray(physical_residuals(runs, learnt) - known)


def physical_residuals(runs: Sequence[Run], learnt: Learnt) -> Array:
    """Return ln(measured/predicted) of tokens per second for each run, without effects."""
    repeated = [learnt.tuning(run) for run in runs for _ in run.candidates]
    predicted = predicted_tokens_per_s_per_gpu(columns_of(runs), stack(repeated))
    return np.asarray(np.log(np.array([run.tokens_per_s_per_gpu for run in runs]) / predicted))


def learn(runs: Sequence[Run], start: Tuning, *, near: Learnt | None = None) -> Learnt:
    """Return what the runs teach.

    Args:
        runs: measured runs.
        start: the priors.
        near: what was learnt from nearly the same runs: the search starts at its numbers, in one turn, and takes the
            variances of effects from it, but no effect.
    """
    learnt = Learnt(tunings={}, effects=NO_EFFECTS)
    if near:
        left = physical_residuals(runs, near)
        own = effects.estimate(runs, left, deviations=near.effects.deviations, noise=near.effects.noise)
        learnt = Learnt(tunings=near.tunings, effects=own)
    for _ in range(1 if near else _TURNS):
        explained = np.array([learnt.effects.of(levels_of(run)) for run in runs])
        tunings = _tunings(runs, start, explained, near=learnt.tunings)
        current = Learnt(tunings={(DEFAULT, "any"): start, **tunings}, effects=NO_EFFECTS)
        left = physical_residuals(runs, current)
        found = (
            effects.estimate(runs, left, deviations=near.effects.deviations, noise=near.effects.noise)
            if near
            else effects.estimate(runs, left)
        )
        learnt = Learnt(tunings=current.tunings, effects=found)
    return learnt


def _tunings(runs: Sequence[Run], start: Tuning, explained: Array, *, near: Mapping[Key, Tuning]) -> dict[Key, Tuning]:
    found: dict[Key, Tuning] = {}
    for name in sorted({run.stack for run in runs}):
        rows = [index for index, run in enumerate(runs) if run.stack == name]
        of_stack = [runs[index] for index in rows]
        common = fit(of_stack, start, explained=explained[rows], near=near.get((DEFAULT, name)))
        found[DEFAULT, name] = common
        for generation in sorted({run.generation for run in of_stack}):
            own = [index for index in rows if runs[index].generation == generation]
            if len({runs[index].group for index in own}) < FEWEST_GROUPS:
                continue
            found[generation, name] = fit(
                [runs[index] for index in own],
                common,
                explained=explained[own],
                near=near.get((generation, name)),
                tightness=GENERATION_TIGHTNESS,
            )
    return found


def cross_validated(
    runs: Sequence[Run], start: Tuning, whole: Learnt, *, fold_of: Callable[[Run], str] = lambda run: run.group
) -> Array:
    """Return ln(measured/predicted) of each run, predicted from what the runs of other folds teach.

    Args:
        runs: measured runs.
        start: the priors.
        whole: what all runs teach; where the search for each fold begins.
        fold_of: names the fold of a run. By default its group: a model on an accelerator in a precision, of which all
            releases and cluster sizes are left out together.
    """
    errors = np.zeros(len(runs))
    groups = np.array([fold_of(run) for run in runs])
    for group in sorted(set(groups)):
        held = groups == group
        others = [run for run, out in zip(runs, held, strict=True) if not out]
        left = [run for run, out in zip(runs, held, strict=True) if out]
        if others:
            errors[held] = residuals(left, learn(others, start, near=whole))
        else:
            errors[held] = residuals(left, Learnt(tunings={(DEFAULT, "any"): start}, effects=NO_EFFECTS))
    return errors
