"""How likely a layout is to fit, and what is left of an accelerator's memory where it has to with a given probability.

ln(measured/predicted) of published peaks (`catalog/calibration_memory.csv`) is taken as two half-normals that meet at
the median; `docs/evidence/accuracy.md` says how they hold on publishers that are left out. A GPU has to hold all that
its driver shows, so that plans take the residuals of peaks of which it is known what they count.
"""

import csv
from collections.abc import Mapping
from functools import cache
from statistics import NormalDist

import numpy as np

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.hardware.training_software import Software, software_of
from clusterwright.sizing.records.job import TrainingJob

#: Whether what a run's software keeps is known, and whether what its peak counts is, as the file calls both.
KNOWN, UNKNOWN = "known", "unknown"
#: Residuals by whether the software and the count are known.
Bands = Mapping[tuple[str, str], Residuals]
_P10_Z = 1.2815515655446004


def software_class(software: Software | None) -> str:
    """Return which residuals a run's memory has: those of software whose states are known, or of any."""
    return KNOWN if software is not None and software.weight_bytes is not None else UNKNOWN


def residuals_of(job: TrainingJob) -> Residuals:
    """Return the residuals of a job's memory; one that names no software is launched as Megatron-LM, which is known.

    Raises:
        ClusterwrightError: the shipped residuals cannot be read.
    """
    return residuals_for(job.framework, job.precision)


def residuals_for(framework: str, precision: str) -> Residuals:
    """Return the residuals of memory under a software's name; an empty one is launched as Megatron-LM."""
    known = KNOWN if not framework else software_class(software_of(framework, precision))
    return load_residuals()[known, KNOWN]


def fit_probability(needed_bytes: float, device_bytes: float, band: Residuals) -> float:
    """Return the probability that what a layout needs, times a residual of published runs, is below a GPU's memory.

    The residual is two half-normals in ln that meet at the median (`Residuals.at`).
    """
    room = float(np.log(device_bytes / needed_bytes)) - band.p50
    width = band.p90 - band.p50 if room > 0 else band.p50 - band.p10
    return NormalDist().cdf(_P10_Z * room / max(width, 1e-9))


def margin(job: TrainingJob) -> float:
    """Return what the predicted memory is multiplied by, so that it fits with the job's probability; 1 without one.

    It is exp of the residual at that probability, and never below 1: a prediction is not trusted to be too large.
    """
    if job.memory_confidence is None:
        return 1.0
    return max(1.0, float(np.exp(residuals_of(job).at(job.memory_confidence))))


@cache
def load_residuals() -> Bands:
    """Return the shipped residuals of memory by `KNOWN` and `UNKNOWN` software and count.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    path = assets.root() / "catalog" / "calibration_memory.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                (row["software"], row["count"]): Residuals(
                    p10=float(row["p10"]), p50=float(row["p50"]), p90=float(row["p90"]), rows=int(row["rows"])
                )
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
