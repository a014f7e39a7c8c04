"""Accelerators that no published run was measured on, said with what that does to the days."""

import math
from collections.abc import Iterator, Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding
from clusterwright.plan.record import TrainingOption
from clusterwright.sizing.hardware.bands import (
    LONG,
    LONG_FROM_TOKENS,
    NEW_ACCELERATOR,
    NEW_GENERATION,
    NEW_VENDOR,
    UNNAMED,
    band_of,
    shape_parts,
)
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.units import percent

_HELP = (
    "treat the days as a first estimate, or measure: `clusterwright probe` on one node, and `clusterwright calibrate` "
    "with runs of your own"
)


def unmeasured(
    job: TrainingJob, options: Sequence[TrainingOption], *, catalogue: Catalogue, calibration: Calibration
) -> Iterator[Finding]:
    """Yield a warning for every target whose accelerator has no measured run behind its days (`EVD001`)."""
    seen = calibration.measured()
    shape = shape_parts(experts=bool(job.model.experts), hidden=job.model.hidden, sequence_length=job.sequence_length)
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
        band = band_of(calibration.bands, (*missing, UNNAMED, *shape))
        faster, slower = math.exp(band.p50 - band.p90) - 1, math.exp(band.p50 - band.p10) - 1
        long = f", with sequences of {LONG_FROM_TOKENS:,} tokens and more" if LONG in shape else ""
        yield Finding(
            id="EVD001",
            path=("targets", option.target),
            message=f"{what}{long}: days {percent(faster, signed=True)} to {percent(slower, signed=True)} (80 %)",
            help=_HELP,
        )
