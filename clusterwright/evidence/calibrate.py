"""Calibrate on measured runs: numbers, effects, bands and the baseline as files, and a page that judges them.

`python -m clusterwright.evidence.calibrate RUNS.csv` writes the shipped files and `docs/accuracy.md`. Deterministic:
the same runs give the same bytes.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence import accuracy, baseline, learning, store, validate
from clusterwright.evidence.learning import DEFAULT, FEWEST_GROUPS, Learnt
from clusterwright.evidence.nodes import measured_nodes
from clusterwright.evidence.rows import NotExpressed
from clusterwright.evidence.runs import Run, read_runs
from clusterwright.sizing.calibration import Residuals, load_calibration
from clusterwright.sizing.columns import Array, Tuning


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibrated:
    """What runs teach, and how far off it is on groups of runs that were left out.

    Attributes:
        errors, baseline_errors: ln(measured/predicted) of each run by what the runs of other groups teach: by the
            engine, and by a constant MFU.
        unseen_errors: the same by what other accelerator generations teach.
        bands: residuals by (generation or `default`, kind of model).
    """

    runs: tuple[Run, ...]
    learnt: Learnt
    errors: Array
    baseline_errors: Array
    unseen_errors: Array
    bands: dict[tuple[str, str], Residuals]


def calibrate(runs: Sequence[Run], start: Tuning) -> Calibrated:
    """Fit and judge.

    Args:
        runs: measured runs.
        start: the priors.
    """
    learnt = learning.learn(runs, start)
    errors = learning.cross_validated(runs, start, learnt)
    unseen = learning.cross_validated(runs, start, learnt, fold_of=lambda run: run.generation)
    return Calibrated(
        runs=tuple(runs),
        learnt=learnt,
        errors=errors,
        baseline_errors=baseline.cross_validated(runs),
        unseen_errors=unseen,
        bands=bands_of(runs, errors, unseen),
    )


def bands_of(runs: Sequence[Run], errors: Array, unseen: Array) -> dict[tuple[str, str], Residuals]:
    """Return the band of every kind of model, on every generation with enough groups and on one never measured.

    Args:
        runs: measured runs.
        errors: ln(measured/predicted) with the run's group left out.
        unseen: with its whole generation left out.
    """
    found = {}
    for kind in sorted({run.kind for run in runs}):
        rows = [index for index, run in enumerate(runs) if run.kind == kind]
        found[DEFAULT, kind] = validate.band([runs[index] for index in rows], unseen[rows])
        for generation in sorted({runs[index].generation for index in rows}):
            own = [index for index in rows if runs[index].generation == generation]
            if len({runs[index].group for index in own}) >= FEWEST_GROUPS:
                found[generation, kind] = validate.band([runs[index] for index in own], errors[own])
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
        sys.stderr.write("usage: python -m clusterwright.evidence.calibrate RUNS.csv\n")
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
