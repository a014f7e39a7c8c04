"""Accelerators and software without a measured run, and what that does to the days."""

import math
from collections.abc import Iterator, Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding
from clusterwright.plan.record import TrainingOption
from clusterwright.sizing.hardware.bands import (
    LONG,
    LONG_FROM_TOKENS,
    NEW_ACCELERATOR,
    NEW_FAMILY,
    NEW_GENERATION,
    NEW_VENDOR,
    Bands,
    band_of,
)
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.hardware.software import parts_of_job
from clusterwright.sizing.hardware.training_software import software_parts
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.units import percent

_HELP = (
    "treat the days as a first estimate, or measure: `clusterwright probe` on one node, and `clusterwright calibrate` "
    "with runs of your own"
)


def unmeasured(
    job: TrainingJob, options: Sequence[TrainingOption], *, catalogue: Catalogue, calibration: Calibration
) -> Iterator[Finding]:
    """Yield a warning for every target whose accelerator has no measured run behind its days, and for such software.

    `EVD001` is of an accelerator, `EVD002` of a framework.
    """
    seen = calibration.measured()
    if NEW_FAMILY in software_parts(job.framework, seen):
        narrow = seen.families and f"; measured are {', '.join(sorted(seen.families))}"
        yield Finding(
            id="EVD002",
            path=("workload", "framework"),
            message=f"no run under {job.framework} was measured: the band is that of software left out",
            help=f"measure a run and calibrate (clusterwright calibrate){narrow}",
        )
    for option in options:
        module = catalogue.accelerators.get(option.accelerator)
        if module is None:
            continue
        missing = seen.hardware_parts(accelerator=module.id, generation=module.generation, vendor=module.vendor)
        if not missing:
            continue
        what = {
            NEW_ACCELERATOR: f"No run on {module.name} was measured, only on others of its generation",
            NEW_GENERATION: f"No {module.vendor} run of this generation ({module.generation}) was measured",
            NEW_VENDOR: f"No {module.vendor} run was measured",
        }[missing[0]]
        parts = parts_of_job(job, module, calibration)
        faster, slower = _beside_the_median(calibration.bands, parts)
        long = f", with sequences of {LONG_FROM_TOKENS:,} tokens and more" if LONG in parts else ""
        yield Finding(
            id="EVD001",
            path=("targets", option.target),
            message=f"{what}{long}: days {percent(faster, signed=True)} to {percent(slower, signed=True)} (80 %)",
            help=_HELP,
        )


def _beside_the_median(bands: Bands, parts: Sequence[str]) -> tuple[float, float]:
    """Return how much shorter and longer than the median the days are at P10 and P90."""
    band = band_of(bands, parts)
    return math.exp(band.p50 - band.p90) - 1, math.exp(band.p50 - band.p10) - 1
