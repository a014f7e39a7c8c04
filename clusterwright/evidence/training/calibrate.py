"""Calibrate on measured runs: numbers, effects, bands and the baseline as files, and a page that judges them.

`python -m clusterwright.evidence.training.calibrate RUNS.csv` writes the shipped files and `docs/accuracy.md`.
Deterministic: the same runs give the same bytes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence.rows import NotExpressed
from clusterwright.evidence.training import accuracy, baseline, learning, store, validate
from clusterwright.evidence.training.fitting import DEFAULT
from clusterwright.evidence.training.learning import Bands, Calibrated
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.runs import Run, read_runs
from clusterwright.sizing.columns import Array, Tuning
from clusterwright.sizing.hardware.calibration import band_name, load_calibration

#: A kind of model on a generation with fewer groups takes the default band.
FEWEST_GROUPS = 5


def calibrate(runs: Sequence[Run], start: Tuning) -> Calibrated:
    """Fit and judge.

    Args:
        runs: measured runs.
        start: the priors.
    """
    held_out = learning.cross_validated(runs, start)
    unseen = learning.cross_validated(runs, start, fold_of=lambda run: run.generation)
    return Calibrated(
        runs=tuple(runs),
        learnt=learning.learn(runs, start),
        held_out=held_out,
        unseen_generation=unseen,
        unseen_release=learning.cross_validated(runs, start, fold_of=lambda run: run.software),
        baseline_errors=baseline.cross_validated(runs),
        plan_bands=bands_of(runs, held_out.release_unknown, unseen.release_unknown, by_stack=True),
        run_bands=bands_of(runs, held_out.release_known, unseen.release_known, by_stack=False),
    )


def bands_of(runs: Sequence[Run], errors: Array, unseen: Array, *, by_stack: bool) -> Bands:
    """Return the band of every kind of model, on every generation with enough groups and on one never measured.

    On a generation also by stack, where it has enough groups and the software is not known.

    Args:
        runs: measured runs.
        errors: ln(measured/predicted) with the run's group left out.
        unseen: with its whole generation left out.
        by_stack: whether a stack's band is told apart: software differs more between stacks than within one.
    """
    found = {}
    named = [(run.kind, band_name(run.kind, run.stack)) if by_stack else (run.kind,) for run in runs]
    for name in sorted({name for names in named for name in names}):
        rows = [index for index, names in enumerate(named) if name in names]
        if name == runs[rows[0]].kind:
            found[DEFAULT, name] = validate.band([runs[index] for index in rows], unseen[rows])
        for generation in sorted({runs[index].generation for index in rows}):
            own = [index for index in rows if runs[index].generation == generation]
            if len({runs[index].group for index in own}) >= FEWEST_GROUPS:
                found[generation, name] = validate.band([runs[index] for index in own], errors[own])
    return found


def read(path: Path, catalogue: Catalogue) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of a file that can be predicted, and the others."""
    return read_runs(path, measured_nodes(catalogue), catalogue.models.values())


def main(arguments: Sequence[str]) -> int:
    """Calibrate on the file named by the only argument and write the shipped calibration and its accuracy.

    Returns:
        An exit code.
    """
    from clusterwright.catalog.load import load  # noqa: PLC0415 - only the command needs the whole catalogue

    if len(arguments) != 1:
        sys.stderr.write("usage: python -m clusterwright.evidence.training.calibrate RUNS.csv\n")
        return 2
    path = Path(arguments[0])
    try:
        runs, skipped = read(path, load())
        start = load_calibration(assets.root() / "catalog" / "calibration.csv").of(generation="none", stack="none")
        calibrated = calibrate(runs, start.tuning)
        store.write(assets.root() / "catalog", calibrated, source=path.name)
        page = assets.root() / "docs" / "accuracy.md"
        page.write_text(accuracy.document(calibrated, skipped), encoding="utf-8")
    except ClusterwrightError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    for line in accuracy.summary(calibrated):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
