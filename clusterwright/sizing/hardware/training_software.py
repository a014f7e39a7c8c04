"""What is known of training software: `catalog/calibration_software.csv`, `catalog/software_families.csv`.

A name is looked up as it is, and then without its release (`NeMo 25.04` is `NeMo`, `Megatron-LM (PAI)` stays what it
is): never by how it begins.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.hardware.bands import EAGER as EAGER_PART
from clusterwright.sizing.hardware.bands import Measured

ANY = "any"
#: Execution without fused or compiled kernels, where every operation keeps its own result; with some of them fused; by
#: a compiler that recomputes most of them or moves them to the host (XLA); by one that keeps what it fuses.
EAGER, PARTLY_FUSED, REMATERIALISED, COMPILED = "eager", "partly fused", "rematerialised", "compiled"
#: Attention that writes its scores to memory.
UNFUSED = "unfused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Software:
    """A family of training software, or one release of it.

    Attributes:
        overlaps_tensor_traffic, overlaps_data_traffic: traffic inside layers, and of gradients and sharded weights,
            runs beside computation.
        execution: `EAGER`, `PARTLY_FUSED`, `REMATERIALISED`, or any other.
        shards_optimizer: over data-parallel ranks, where a run does not say.
        persistent_gradients: gradient buffers stay from step to step; otherwise each backward pass allocates them.
        attention: its kernel in `catalog/attention_kernels.csv`; empty for the fastest of the accelerator.
        blocking_transfers: its pipeline stages wait for what they send to each other, through buffers of the host.
        gathers_per_layer: collectives with which ZeRO-3 gathers a layer.
        weight_bytes, gradient_bytes, optimizer_bytes: per parameter, None where nothing is known.
        logit_bytes: kept per logit, None where nothing is known.
    """

    name: str
    overlaps_tensor_traffic: bool
    overlaps_data_traffic: bool
    execution: str
    shards_optimizer: bool
    persistent_gradients: bool
    attention: str
    blocking_transfers: bool
    gathers_per_layer: float
    weight_bytes: float | None
    gradient_bytes: float | None
    optimizer_bytes: float | None
    logit_bytes: float | None

    @property
    def keeps_attention_scores(self) -> bool:
        """Tell whether its attention writes the scores to memory."""
        return self.attention == UNFUSED


@dataclass(frozen=True, kw_only=True, slots=True)
class Kin:
    """What software is alike: the family of a name, and the lineage of that (`megatron`, `xla`, `eager`, ...)."""

    family: str
    lineage: str


#: Kinds of effects that software has, known where a run or a plan names it.
SOFTWARE, RELEASE, RELEASE_KIND = "software", "release", "release_kind"
RELEASE_ACCELERATOR, LATER, LINEAGE = "release_accelerator", "later_quarters", "lineage_generation"
OF_SOFTWARE = (SOFTWARE, RELEASE, RELEASE_KIND, RELEASE_ACCELERATOR, LATER, LINEAGE)
#: Lineages of software that run operation by operation, without a compiler or fused kernels of their own.
EAGER_LINEAGES = ("eager", "deepspeed")
#: Releases named by year and month (24.07, 25.x) belong to a quarter; later quarters have added speed up to this one,
#: and a release after it counts as of this one.
_NEWEST_QUARTER = 4 * 26 + 2
_CALENDAR = re.compile(r"\S+ (2\d)\.(0[1-9]|1[0-2]|x)\b")
_DEVELOPMENT = re.compile(r"\S+ dev 20(2\d)\b")
#: What names the release: words with a digit, of development versions, and brackets with a digit; what comes after a
#: comma or a slash is another library.
_RELEASE = re.compile(r"\([^)]*\d[^)]*\)|\S*\d\S*|\bdev\b")
_OTHER_LIBRARY = re.compile(r",| / ")


def named(release: str) -> str:
    """Return a software's name without the words that say its release."""
    own = _OTHER_LIBRARY.split(release)[0]
    return " ".join(_RELEASE.sub(" ", own).split()) or release


def as_measured(release: str) -> str:
    """Return a release with its software's name as measurements spell it, whose capitals and dashes people vary.

    >>> as_measured("TorchTitan 0.2"), as_measured("megatron lm"), as_measured("my-engine 3"), as_measured("")
    ('torchtitan 0.2', 'Megatron-LM', 'my-engine 3', '')
    """
    name = named(release)
    known = release in _kin() or name in _kin()
    return release if known else release.replace(name, _spelled().get(_letters(name), name), 1)


def kin_of(release: str) -> Kin:
    """Return the family and lineage of a release; of one that no table names, its own name and no lineage."""
    kin, name = _kin(), named(release)
    return kin.get(release) or kin.get(name) or Kin(family=name, lineage="")


def family_of(release: str) -> str:
    """Return the family of a release."""
    return kin_of(release).family


def software_of(release: str, precision: str) -> Software | None:
    """Return what is known of a release in a precision: of itself, of its name, else of its family; else None."""
    known = _known()
    names = (release, named(release), family_of(release))
    keys = ((name, in_precision) for name in names for in_precision in (precision, ANY))
    return next((known[key] for key in keys if key in known), None)


def effects_of_software(release: str, *, kind: str, accelerator: str, generation: str) -> tuple[tuple[str, str], ...]:
    """Return the (kind, level) of the effects of a named software; none of an empty name.

    A release named by year and month lacks what later quarters have added to its family and kind of model: one level
    for each of these quarters, so that neighbouring releases are alike and one that was never measured is as the
    nearest.
    """
    if not release:
        return ()
    kin = kin_of(release)
    quarter = quarter_of(release)
    return (
        (SOFTWARE, kin.family),
        *(((LINEAGE, f"{kin.lineage}|{generation}"),) if kin.lineage else ()),
        (RELEASE, release),
        (RELEASE_KIND, f"{release}|{kind}"),
        (RELEASE_ACCELERATOR, f"{release}|{accelerator}"),
        *(
            (LATER, f"{kin.family}|{kind}|20{count // 4}Q{count % 4 + 1}")
            for count in range((_NEWEST_QUARTER if quarter is None else quarter) + 1, _NEWEST_QUARTER + 1)
        ),
    )


def software_parts(release: str, measured: Measured) -> tuple[str, ...]:
    """Return the parts of a band that a software brings, by what was measured; an empty name is not named."""
    kin = kin_of(release)
    eager = release and kin.lineage in EAGER_LINEAGES
    return (*measured.software_parts(release=release, family=kin.family), *((EAGER_PART,) if eager else ()))


def quarter_of(release: str) -> int | None:
    """Return the quarter of a release that is named by year and month, counted from 2000; None of any other.

    `25.x` and `dev 2024` are taken for the middle of their year.
    """
    if found := _CALENDAR.match(release):
        month = 7 if found[2] == "x" else int(found[2])
        return 4 * int(found[1]) + (month - 1) // 3
    if found := _DEVELOPMENT.match(release):
        return 4 * int(found[1]) + 2
    return None


@cache
def _kin() -> Mapping[str, Kin]:
    path = assets.root() / "catalog" / "software_families.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["name"]: Kin(family=row["family"], lineage=row["lineage"]) for row in csv.DictReader(file)}
    except (OSError, KeyError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


@cache
def _spelled() -> Mapping[str, str]:
    """Return the names of the table by their letters and digits; of names alike in these, the first."""
    return {_letters(name): name for name in reversed(list(_kin()))}


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


@cache
def _known() -> Mapping[tuple[str, str], Software]:
    path = assets.root() / "catalog" / "calibration_software.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {(row["software"], row["precision"]): _software(row) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


def _software(row: Mapping[str, str]) -> Software:
    def number(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    return Software(
        name=row["software"],
        overlaps_tensor_traffic=row["overlaps_tensor_traffic"] != "no",
        overlaps_data_traffic=row["overlaps_data_traffic"] != "no",
        execution=row["execution"],
        shards_optimizer=row["shards_optimizer"] != "no",
        persistent_gradients=row["persistent_gradients"] != "no",
        attention=row["attention"],
        blocking_transfers=row["blocking_transfers"] == "yes",
        gathers_per_layer=number("gathers_per_layer") or 1.0,
        weight_bytes=number("weight_bytes"),
        gradient_bytes=number("gradient_bytes"),
        optimizer_bytes=number("optimizer_bytes"),
        logit_bytes=number("logit_bytes"),
    )
