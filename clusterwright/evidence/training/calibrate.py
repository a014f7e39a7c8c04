"""Calibrate on measured runs: numbers, effects, bands and the baseline as files, and a page that judges them.

`python -m clusterwright.evidence.training.calibrate RUNS.csv...` writes the shipped files and the page
`docs/evidence/accuracy.md`.
Deterministic: the same runs give the same bytes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence.rows import NotExpressed
from clusterwright.evidence.training import accuracy, band_parts, baseline, learning, store
from clusterwright.evidence.training.learning import Calibrated
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.runs import Run, read_runs
from clusterwright.sizing.columns import Tuning
from clusterwright.sizing.hardware.bands import load_bands
from clusterwright.sizing.hardware.calibration import load_calibration

#: Folds of groups; each leaves out an eighth of the groups, of all sources.
_FOLDS = 8
#: Of fewer sources no bands are learnt: the shipped ones stay.
FEWEST_SOURCES = 5


def calibrate(runs: Sequence[Run], start: Tuning) -> Calibrated:
    """Fit and judge.

    Args:
        runs: measured runs.
        start: the priors.
    """
    folds: dict[str, list[str]] = {
        "source": [run.left_out_as for run in runs],
        "generation": [run.generation for run in runs],
        "vendor": [run.vendor for run in runs],
        "group": [str(crc32(run.group.encode()) % _FOLDS) for run in runs],
    }
    held = {name: learning.cross_validated(runs, start, folds=each) for name, each in folds.items()}
    rows = [
        row
        for name, each in folds.items()
        for named, errors in ((True, held[name].release_known), (False, held[name].release_unknown))
        for row in band_parts.left_out(runs, errors, each, named=named)
    ]
    shipped = load_bands(assets.root() / "catalog" / "calibration_bands.csv")
    return Calibrated(
        runs=tuple(runs),
        learnt=learning.learn(runs, start),
        held_out=held["source"],
        unseen_generation=held["generation"],
        unseen_vendor=held["vendor"],
        same_sources=held["group"],
        baseline_errors=baseline.cross_validated(runs),
        left_out=tuple(rows),
        bands=band_parts.fitted(rows) if len(set(folds["source"])) >= FEWEST_SOURCES else shipped,
    )


def read_all(paths: Sequence[Path], catalogue: Catalogue) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of several files that can be learnt from, and the others.

    A run whose layout is not published is predicted with its fastest, and teaches nothing.
    """
    found = [read(path, catalogue) for path in paths]
    runs = [run for each, _ in found for run in each]
    skipped = [row for _, rows in found for row in rows]
    open_ones = [
        NotExpressed(id=run.id, reason="layout not published: predicted, not learnt from", gpu=run.gpu)
        for run in runs
        if not run.laid_out
    ]
    return [run for run in runs if run.laid_out], [*skipped, *open_ones]


def read(path: Path, catalogue: Catalogue) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of a file that can be predicted, and the others."""
    return read_runs(path, measured_nodes(catalogue), catalogue.models.values())


def main(arguments: Sequence[str]) -> int:
    """Calibrate on the files that the arguments name and write the shipped calibration and its accuracy.

    Returns:
        An exit code.
    """
    from clusterwright.catalog.load import load  # noqa: PLC0415 - only the command needs the whole catalogue

    if not arguments:
        sys.stderr.write("usage: python -m clusterwright.evidence.training.calibrate RUNS.csv...\n")
        return 2
    paths = [Path(argument) for argument in arguments]
    try:
        runs, skipped = read_all(paths, load())
        start = load_calibration(assets.root() / "catalog" / "calibration.csv").of(generation="none", stack="none")
        calibrated = calibrate(runs, start.tuning)
        store.write(assets.root() / "catalog", calibrated, source=" ".join(path.name for path in paths))
        page = assets.root() / "docs" / "evidence" / "accuracy.md"
        page.write_text(accuracy.document(calibrated, skipped), encoding="utf-8")
    except ClusterwrightError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    for line in accuracy.summary(calibrated):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
