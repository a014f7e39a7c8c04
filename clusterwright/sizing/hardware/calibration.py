"""The calibrated numbers of `catalog/calibration.csv`: per accelerator generation and software stack, with their error.

A number is looked up from the most to the least specific row: (generation, stack), (generation, any), (default, stack),
(default, any). A generation that was never measured thus takes the defaults, and their wider band. The column
`generation` may hold the id of an accelerator, whose rows go first: `clusterwright probe` measured them. Bands are
looked up in the same way by kind of model and stack (`dense megatron`), then by kind (`dense`), in place of the stack.
`catalog/calibration_effects.csv` holds by what an accelerator, a precision or an architecture is faster than the
formulas say, as far as runs show it.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from statistics import NormalDist

from clusterwright import assets
from clusterwright.catalog.precisions import CALIBRATED_AS
from clusterwright.catalog.records import Model
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import Tuning
from clusterwright.sizing.records.reliability import Reliability, ReliabilityNumbers

#: Megatron-like: tensor, pipeline and data parallelism with a sharded optimizer.
MEGATRON = "megatron"
#: Fully sharded data parallelism (ZeRO-2 and 3) without a pipeline.
FSDP = "fsdp"

#: Quantiles of what predictions leave, of jobs whose software release is not known, and of runs whose release is.
BAND, BAND_OF_RELEASE = "residual", "release_residual"

#: Kinds of models, which bands are told apart by.
DENSE, EXPERTS = "dense", "moe"

COLUMNS = ("generation", "stack", "name", "value", "unit", "method", "rows", "source", "note")
EFFECT_COLUMNS = ("effect", "level", "value", "unit", "rows", "source")
#: Names a folder with calibration files of one's own (written by `clusterwright calibrate`).
FOLDER_VARIABLE = "CLUSTERWRIGHT_CALIBRATION"
_P10_Z = 1.2815515655446004


def band_name(kind: str, stack: str) -> str:
    """Return where the band of a kind of model under a stack is looked up."""
    return f"{kind} {stack}"


def architecture_of(model: Model) -> str:
    """Return what the effect of an architecture is known by: widths and experts, whatever the number of layers."""
    experts = f" {model.experts}x{model.moe_ffn_hidden}" if model.experts else ""
    return f"{model.hidden}/{model.heads}/{model.kv_heads}/{model.ffn_hidden}{experts}"


def effects_of_job(*, accelerator: str, precision: str, kind: str, architecture: str) -> tuple[tuple[str, str], ...]:
    """Return the (kind, level) of the effects that a job is known to have before it runs.

    Sources call both ways of scaling in software `fp8`, so that `fp8-block` has the effects of `fp8`.
    """
    measured = CALIBRATED_AS.get(precision, precision)
    return (
        ("accelerator", accelerator),
        ("accelerator_precision", f"{accelerator}|{measured}"),
        ("accelerator_kind", f"{accelerator}|{kind}"),
        ("precision_kind", f"{measured}|{kind}"),
        ("architecture", architecture),
        ("architecture_accelerator", f"{architecture}|{accelerator}"),
    )


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

    def shifted(self, by: float) -> "Residuals":
        """Return the same band about another median."""
        return Residuals(p10=self.p10 + by, p50=self.p50 + by, p90=self.p90 + by, rows=self.rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class StackCalibration:
    """The numbers of one generation under one stack, and the error they leave."""

    generation: str
    stack: str
    tuning: Tuning
    residuals: Residuals


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Every calibrated number by (generation, stack, name), and effects by (kind of effect, level)."""

    values: dict[tuple[str, str, str], float]
    row_counts: dict[tuple[str, str], int]
    effects: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def number(self, name: str, *, generation: str, stack: str, accelerator: str = "") -> float:
        """Return the most specific value of a number.

        Args:
            name: of the number.
            generation: of the accelerator.
            stack: `megatron`, `fsdp` or `any`.
            accelerator: its id, whose own rows go first.

        Raises:
            ClusterwrightError: no row of the file gives it.
        """
        for key in (*_own_keys(accelerator, stack), *_specific_to_general(generation, stack)):
            if (*key, name) in self.values:
                return self.values[*key, name]
        raise ClusterwrightError(
            f"catalog/calibration.csv has no {name} for {generation} under {stack}", help="add a row for `default`"
        )

    def of(
        self,
        *,
        generation: str,
        stack: str,
        accelerator: str = "",
        kind: str = DENSE,
        levels: Iterable[tuple[str, str]] = (),
    ) -> StackCalibration:
        """Return all numbers of a generation under a stack.

        Args:
            generation: of the accelerator.
            accelerator: its id, whose own rows go first.
            stack: `megatron` or `fsdp`.
            kind: `dense` or `moe`, for the band.
            levels: the effects that apply, which move the band.
        """

        def look_up(name: str) -> float:
            return self.number(name, generation=generation, stack=stack, accelerator=accelerator)

        return StackCalibration(
            generation=generation,
            stack=stack,
            tuning=Tuning(**{entry.name: look_up(entry.name) for entry in fields(Tuning)}),
            residuals=self.band(generation=generation, kind=kind, stack=stack).shifted(self.effect(levels)),
        )

    def band(self, *, generation: str, kind: str, stack: str, quantiles: str = BAND) -> Residuals:
        """Return the quantiles of ln(measured/predicted) for a kind of model on a generation under a stack.

        Args:
            generation: of the accelerator.
            kind: `dense` or `moe`.
            stack: `megatron` or `fsdp`.
            quantiles: `BAND` of a job whose software is not known, or `BAND_OF_RELEASE`.
        """
        keys = [(name, place) for name in (generation, "default") for place in (band_name(kind, stack), kind)]
        key = next((key for key in keys if (*key, f"{quantiles}_p50") in self.values), ("default", "any"))

        def look_up(name: str) -> float:
            return self.number(f"{quantiles}_{name}", generation=key[0], stack=key[1])

        return Residuals(p10=look_up("p10"), p50=look_up("p50"), p90=look_up("p90"), rows=self.row_counts.get(key, 0))

    def effect(self, levels: Iterable[tuple[str, str]]) -> float:
        """Return the sum of effects in ln of tokens per second; one that no run shows is zero."""
        return sum(self.effects.get(level, 0.0) for level in levels)

    def reliability(self) -> Reliability:
        """Return the measured rates of failures and times of checkpoints, with default choices."""
        names = (entry.name for entry in fields(ReliabilityNumbers))
        return Reliability(
            numbers=ReliabilityNumbers(**{name: self.number(name, generation="default", stack="any") for name in names})
        )


def _own_keys(accelerator: str, stack: str) -> tuple[tuple[str, str], ...]:
    return ((accelerator, stack), (accelerator, "any")) if accelerator else ()


def _specific_to_general(generation: str, stack: str) -> tuple[tuple[str, str], ...]:
    return ((generation, stack), (generation, "any"), ("default", stack), ("default", "any"))


def load_calibration(path: Path | None = None) -> Calibration:
    """Return the calibration, read once per process and file.

    Args:
        path: a file with the columns of `COLUMNS`, with the effects in `calibration_effects.csv` beside it; if None,
            those of the folder that CLUSTERWRIGHT_CALIBRATION names, else the shipped ones.

    Raises:
        ClusterwrightError: the file is missing, or a row names no number, or is given twice.
    """
    if path is None:
        own = os.environ.get(FOLDER_VARIABLE)
        path = (Path(own) if own else assets.root() / "catalog") / "calibration.csv"
    return _load(path)


@cache
def _load(path: Path) -> Calibration:
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
    return Calibration(values=values, row_counts=counts, effects=_effects(path.parent / "calibration_effects.csv"))


def _effects(path: Path) -> dict[tuple[str, str], float]:
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {(row["effect"], row["level"]): float(row["value"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error
