"""The calibrated numbers of `catalog/calibration.csv`: per accelerator generation and software stack, with their error.

A number is looked up from the most to the least specific row: (generation, stack), (generation, any), (default, stack),
(default, any). A generation that was never measured thus takes the defaults, and their wider band.
"""

import csv
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from statistics import NormalDist

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import Tuning
from clusterwright.sizing.reliability import Reliability, ReliabilityNumbers

#: Megatron-like: tensor, pipeline and data parallelism with a sharded optimizer.
MEGATRON = "megatron"
#: Fully sharded data parallelism (ZeRO-2 and 3) without a pipeline.
FSDP = "fsdp"

COLUMNS = ("generation", "stack", "name", "value", "unit", "method", "rows", "source", "note")
_P10_Z = 1.2815515655446004


@dataclass(frozen=True, kw_only=True, slots=True)
class Residuals:
    """Quantiles of ln(measured / predicted tokens per second) over published runs, and how many runs they come from."""

    p10: float
    p50: float
    p90: float
    rows: int

    def at(self, quantile: float) -> float:
        """Return the residual at a quantile.

        Two half-normals in ln meet at the median and pass through P10 and P90:
        `p50 + z(quantile)/1.2816 (p90 - p50)` above the median, with `p50 - p10` below it.

        Args:
            quantile: between 0 and 1, exclusive.
        """
        z = NormalDist().inv_cdf(quantile)
        width = self.p90 - self.p50 if z > 0 else self.p50 - self.p10
        return self.p50 + z / _P10_Z * width


@dataclass(frozen=True, kw_only=True, slots=True)
class StackCalibration:
    """The numbers of one generation under one stack, and the error they leave."""

    generation: str
    stack: str
    tuning: Tuning
    residuals: Residuals


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Every calibrated number by (generation, stack, name).

    Attributes:
        job: failures and checkpoints of the job that is sized, where its blueprint says more than the file.
    """

    values: dict[tuple[str, str, str], float]
    row_counts: dict[tuple[str, str], int]
    job: Reliability | None = None

    def number(self, name: str, *, generation: str, stack: str) -> float:
        """Return the most specific value of a number.

        Raises:
            ClusterwrightError: no row of the file gives it.
        """
        for key in _specific_to_general(generation, stack):
            if (*key, name) in self.values:
                return self.values[*key, name]
        raise ClusterwrightError(
            f"catalog/calibration.csv has no {name} for {generation} under {stack}", help="add a row for `default`"
        )

    def of(self, *, generation: str, stack: str) -> StackCalibration:
        """Return all numbers of a generation under a stack."""

        def look_up(name: str) -> float:
            return self.number(name, generation=generation, stack=stack)

        counted = [key for key in _specific_to_general(generation, stack) if (*key, "residual_p50") in self.values]
        return StackCalibration(
            generation=generation,
            stack=stack,
            tuning=Tuning(**{field.name: look_up(field.name) for field in fields(Tuning)}),
            residuals=Residuals(
                p10=look_up("residual_p10"),
                p50=look_up("residual_p50"),
                p90=look_up("residual_p90"),
                rows=self.row_counts.get(counted[0], 0) if counted else 0,
            ),
        )

    def reliability(self) -> Reliability:
        """Return what is known of failures, checkpoints and spares: the job's, else the file's with default choices."""
        if self.job is not None:
            return self.job
        names = (field.name for field in fields(ReliabilityNumbers))
        return Reliability(
            numbers=ReliabilityNumbers(**{name: self.number(name, generation="default", stack="any") for name in names})
        )


def _specific_to_general(generation: str, stack: str) -> tuple[tuple[str, str], ...]:
    return ((generation, stack), (generation, "any"), ("default", stack), ("default", "any"))


@cache
def load_calibration(path: Path | None = None) -> Calibration:
    """Return the calibration, read once per process and file.

    Args:
        path: a file with the columns of `COLUMNS`; the shipped `catalog/calibration.csv` if None.

    Raises:
        ClusterwrightError: the file is missing, or a row names no number, or is given twice.
    """
    path = path or assets.root() / "catalog" / "calibration.csv"
    values: dict[tuple[str, str, str], float] = {}
    counts: dict[tuple[str, str], int] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                key = (row["generation"], row["stack"], row["name"])
                if key in values:
                    raise ClusterwrightError(f"{path.name}:{line}: {' '.join(key)} is given twice")
                values[key] = float(row["value"])
                if row["rows"] and row["name"] == "residual_p50":
                    counts[key[:2]] = int(row["rows"])
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error
    return Calibration(values=values, row_counts=counts)
