"""The calibrated numbers of `catalog/calibration.csv`: per accelerator generation and software stack, with their error.

A number is looked up from the most to the least specific row: (generation, stack), (generation, any), (default, stack),
(default, any). A generation that was never measured thus takes the defaults. The column
`generation` may hold the id of an accelerator, whose rows go first: `clusterwright probe` measured them. How far off
predictions are is in `sizing.hardware.bands`.
`catalog/calibration_effects.csv` holds by what an accelerator, a precision or an architecture is faster than the
formulas say, as far as runs show it.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.precisions import CALIBRATED_AS
from clusterwright.catalog.records import Model
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import OF_SOFTWARE, Tuning
from clusterwright.sizing.hardware.bands import Bands, Measured, band_of, load_bands
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.records.reliability import Reliability, ReliabilityNumbers

#: Megatron-like: tensor, pipeline and data parallelism with a sharded optimizer.
MEGATRON = "megatron"
#: Fully sharded data parallelism (ZeRO-2 and 3) without a pipeline.
FSDP = "fsdp"

#: Kinds of models.
DENSE, EXPERTS = "dense", "moe"

COLUMNS = ("generation", "stack", "name", "value", "unit", "method", "rows", "source", "note")
EFFECT_COLUMNS = ("effect", "level", "value", "unit", "rows", "source")
SOURCE_COLUMNS = ("generation", "kind", "sources", "rows", "source")
#: Names a folder with calibration files of one's own (written by `clusterwright calibrate`).
FOLDER_VARIABLE = "CLUSTERWRIGHT_CALIBRATION"


def architecture_of(model: Model) -> str:
    """Return what the effect of an architecture is known by: widths and experts, whatever the number of layers."""
    experts = f" {model.experts}x{model.moe_ffn_hidden}" if model.experts else ""
    return f"{model.hidden}/{model.heads}/{model.kv_heads}/{model.ffn_hidden}{experts}"


def effects_of_job(
    *, vendor: str, accelerator: str, precision: str, kind: str, architecture: str
) -> tuple[tuple[str, str], ...]:
    """Return the (kind, level) of the effects that a job is known to have before it runs.

    Sources call both ways of scaling in software `fp8`, so that `fp8-block` has the effects of `fp8`.
    """
    measured = CALIBRATED_AS.get(precision, precision)
    return (
        ("vendor", vendor),
        ("accelerator", accelerator),
        ("accelerator_precision", f"{accelerator}|{measured}"),
        ("accelerator_kind", f"{accelerator}|{kind}"),
        ("precision_kind", f"{measured}|{kind}"),
        ("architecture", architecture),
        ("architecture_accelerator", f"{architecture}|{accelerator}"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StackCalibration:
    """The numbers of one generation under one stack, and the error they leave."""

    generation: str
    stack: str
    tuning: Tuning
    residuals: Residuals


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Every calibrated number by (generation, stack, name), and effects by (kind of effect, level).

    `sources` counts those that measured a (generation, kind of model).
    """

    values: dict[tuple[str, str, str], float]
    bands: Bands
    effects: Mapping[tuple[str, str], float] = field(default_factory=dict)
    sources: Mapping[tuple[str, str], int] = field(default_factory=dict)

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
        parts: Iterable[str] = (),
        levels: Iterable[tuple[str, str]] = (),
    ) -> StackCalibration:
        """Return all numbers of a generation under a stack.

        Args:
            generation: of the accelerator.
            accelerator: its id, whose own rows go first.
            stack: `megatron` or `fsdp`.
            parts: of the band, besides the one of every prediction.
            levels: the effects that apply, which move the band.
        """

        def look_up(name: str) -> float:
            return self.number(name, generation=generation, stack=stack, accelerator=accelerator)

        return StackCalibration(
            generation=generation,
            stack=stack,
            tuning=Tuning(
                **{entry.name: look_up(entry.name) for entry in fields(Tuning) if entry.name not in OF_SOFTWARE}
            ),
            residuals=band_of(self.bands, parts).shifted(self.effect(levels)),
        )

    def effect(self, levels: Iterable[tuple[str, str]]) -> float:
        """Return the sum of effects in ln of tokens per second; one that no run shows is zero."""
        return sum(self.effects.get(level, 0.0) for level in levels)

    def measured(self) -> Measured:
        """Return what the runs behind the effects and numbers have shown."""
        shown: dict[str, set[str]] = {}
        for kind, level in self.effects:
            shown.setdefault(kind, set()).add(level)
        accelerators = {level.split("|")[0] for level in shown.get("accelerator_precision", ())}
        return Measured(
            accelerators=frozenset(accelerators | shown.get("accelerator", set())),
            generations=frozenset(generation for generation, _, _ in self.values if generation != "default"),
            vendors=frozenset(shown.get("vendor", ())),
            releases=frozenset(shown.get("release", ())),
            families=frozenset(shown.get("software", ())),
            sources=self.sources,
        )

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
        path: a file with the columns of `COLUMNS`. Effects, bands and counts of sources are read from its folder
            (`calibration_effects.csv`, `calibration_bands.csv`, `calibration_sources.csv`), and the shipped bands and
            counts where it has none. None for the folder that CLUSTERWRIGHT_CALIBRATION names, else the shipped one.

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
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                key = (row["generation"], row["stack"], row["name"])
                if key in values:
                    raise ClusterwrightError(f"{path.name}:{line}: {' '.join(key)} is given twice")
                values[key] = float(row["value"])
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error
    return Calibration(
        values=values,
        bands=load_bands(_own_or_shipped(path.parent / "calibration_bands.csv")),
        effects=_effects(path.parent / "calibration_effects.csv"),
        sources=_sources(_own_or_shipped(path.parent / "calibration_sources.csv")),
    )


def _own_or_shipped(path: Path) -> Path:
    return path if path.is_file() else assets.root() / "catalog" / path.name


def _sources(path: Path) -> dict[tuple[str, str], int]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {(row["generation"], row["kind"]): int(row["sources"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error


def _effects(path: Path) -> dict[tuple[str, str], float]:
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {(row["effect"], row["level"]): float(row["value"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error
