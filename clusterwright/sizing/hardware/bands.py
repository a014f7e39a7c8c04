"""How far off a prediction of training time is, by how much is known of the job: `catalog/calibration_bands.csv`.

A band is the sum of parts, each with what it adds below and above the median in ln of tokens per second: one that every
prediction has, and one for each thing that is not known or lies far from what was measured. The parts are fitted so
that four fifths of the runs of sources, generations and vendors that were left out lie inside
(docs/evidence/accuracy.md).
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.hardware.residuals import Residuals

COLUMNS = ("part", "low", "middle", "high", "rows", "source")
EVERY = "every"
#: Software: a release of a measured family, a family that was never measured, and none named.
NEW_RELEASE, NEW_FAMILY, UNNAMED = "release not measured", "software not measured", "software not named"
#: Accelerators: its generation was measured, its vendor was, or neither.
NEW_ACCELERATOR, NEW_GENERATION, NEW_VENDOR = (
    "accelerator not measured",
    "generation not measured",
    "vendor not measured",
)
#: Few sources have measured the accelerator's generation with the kind of model, dense or with experts.
FEW_SOURCES = "few sources"
#: Models with experts, narrow ones, and long sequences; software that runs operation by operation.
EXPERTS, NARROW, LONG, EAGER = "experts", "narrow", "long sequences", "eager software"
PARTS = (
    EVERY,
    NEW_RELEASE,
    NEW_FAMILY,
    UNNAMED,
    NEW_ACCELERATOR,
    NEW_GENERATION,
    NEW_VENDOR,
    FEW_SOURCES,
    EXPERTS,
    NARROW,
    LONG,
    EAGER,
)
#: A software that was not measured is a release that was not, and no better known than one without a name, so that its
#: band is never narrower than theirs.
NEW_SOFTWARE = (NEW_RELEASE, UNNAMED, NEW_FAMILY)
#: Sequences from here on are long, and hidden widths up to here narrow: beyond both, few sources were measured.
LONG_FROM_TOKENS, NARROW_UP_TO = 32_768, 2048
#: Sources from which on a generation and kind of model is well measured.
WELL_MEASURED_SOURCES = 10


def shape_parts(*, experts: bool, hidden: int, sequence_length: int) -> tuple[str, ...]:
    """Return the parts of a band that a model and its sequences bring."""
    held = ((EXPERTS, experts), (NARROW, hidden <= NARROW_UP_TO), (LONG, sequence_length >= LONG_FROM_TOKENS))
    return tuple(name for name, holds in held if holds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What a calibration has seen of hardware and software.

    Attributes:
        accelerators, generations, vendors, releases, families: with measured runs.
        sources: how many have measured a generation and kind of model.
    """

    accelerators: frozenset[str]
    generations: frozenset[str]
    vendors: frozenset[str]
    releases: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    sources: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def hardware_parts(self, *, accelerator: str, generation: str, vendor: str) -> tuple[str, ...]:
        """Return the part of a band that an accelerator brings which was not measured itself."""
        if accelerator in self.accelerators:
            return ()
        if generation in self.generations:
            return (NEW_ACCELERATOR,)
        return (NEW_GENERATION,) if vendor in self.vendors else (NEW_VENDOR,)

    def source_parts(self, *, generation: str, kind: str) -> tuple[str, ...]:
        """Return the part of a band that few sources bring."""
        return () if self.sources.get((generation, kind), 0) >= WELL_MEASURED_SOURCES else (FEW_SOURCES,)

    def software_parts(self, *, release: str, family: str) -> tuple[str, ...]:
        """Return the parts of a band that a software brings, by its name; an empty one is not named."""
        if not release:
            return (UNNAMED,)
        if release in self.releases:
            return ()
        return (NEW_RELEASE,) if family in self.families else NEW_SOFTWARE


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What one part adds to a band, in ln of measured over predicted tokens per second, and the rows that show it."""

    low: float
    middle: float
    high: float
    rows: int


Bands = Mapping[str, Part]


def band_of(bands: Bands, parts: Iterable[str]) -> Residuals:
    """Return the residuals of a prediction with these parts besides the one that every prediction has."""
    held = [bands[name] for name in (EVERY, *parts) if name in bands]
    middle = sum(part.middle for part in held)
    return Residuals(
        p10=middle - sum(part.low for part in held),
        p50=middle,
        p90=middle + sum(part.high for part in held),
        rows=min(part.rows for part in held) if held else 0,
    )


def load_bands(path: Path) -> dict[str, Part]:
    """Return the parts of a file.

    Raises:
        ClusterwrightError: it cannot be read, or has no part for every prediction.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = {
                row["part"]: Part(
                    low=float(row["low"]), middle=float(row["middle"]), high=float(row["high"]), rows=int(row["rows"])
                )
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the calibration {path.name}: {error}") from error
    if EVERY not in found:
        raise ClusterwrightError(f"{path.name} has no part {EVERY!r}", help="add a row for it")
    return found
