"""The plainest alternative to the engine: a constant MFU per accelerator, precision, and dense or expert model.

Stored in `catalog/baseline_mfu.csv` as fitted on the calibration runs, so that any other runs can be compared with it.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clusterwright import assets
from clusterwright.catalog.precisions import CALIBRATED_AS
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.columns import Array

COLUMNS = ("gpu", "precision", "kind", "mfu", "rows", "source")
ANY = "any"

Shares = Mapping[tuple[str, str, str], float]


def keys_of(run: Run) -> tuple[tuple[str, str, str], ...]:
    """Return where a run's share of the peak is looked up, most specific first."""
    precision = CALIBRATED_AS.get(run.precision, run.precision)
    return (
        (run.gpu, precision, run.kind),
        (ANY, precision, run.kind),
        (ANY, ANY, run.kind),
        (ANY, precision, ANY),
        (ANY, ANY, ANY),
    )


def shares_of(runs: Sequence[Run]) -> dict[tuple[str, str, str], tuple[float, int]]:
    """Return the median MFU and the number of runs behind every key of `keys_of`."""
    collected: dict[tuple[str, str, str], list[float]] = {}
    for run in runs:
        for key in keys_of(run):
            collected.setdefault(key, []).append(run.mfu)
    return {key: (float(np.median(values)), len(values)) for key, values in sorted(collected.items())}


def residuals(runs: Sequence[Run], shares: Shares) -> Array:
    """Return ln(measured/predicted) of each run by its constant share of the peak."""
    predicted = [next(shares[key] for key in keys_of(run) if key in shares) for run in runs]
    return np.asarray(np.log(np.array([run.mfu for run in runs]) / np.array(predicted)))


def cross_validated(runs: Sequence[Run]) -> Array:
    """Return ln(measured/predicted) of each run by the median MFU of the runs of other sources."""
    errors = np.zeros(len(runs))
    for source in {run.left_out_as for run in runs}:
        held = [index for index, run in enumerate(runs) if run.left_out_as == source]
        others = [run for run in runs if run.left_out_as != source]
        if others:
            shares = {key: share for key, (share, _) in shares_of(others).items()}
            errors[held] = residuals([runs[index] for index in held], shares)
    return errors


def load_shares(path: Path | None = None) -> dict[tuple[str, str, str], float]:
    """Return the stored shares; of the shipped `catalog/baseline_mfu.csv` if no path is given.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    path = path or assets.root() / "catalog" / "baseline_mfu.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {(row["gpu"], row["precision"], row["kind"]): float(row["mfu"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
