"""What is known of the software of measured runs: `catalog/calibration_software.csv`."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError

ANY = "any"
#: Execution without fused or compiled kernels, where every operation keeps its own result; by a compiler that
#: recomputes most of them or moves them to the host (XLA); the other is `compiled`.
EAGER, REMATERIALISED = "eager", "rematerialised"


@dataclass(frozen=True, kw_only=True, slots=True)
class Software:
    """A family of training software, or one release of it.

    Attributes:
        overlaps_tensor_traffic: traffic inside layers runs beside computation.
        execution: `EAGER`, `REMATERIALISED`, or any other.
        shards_optimizer: over data-parallel ranks, where a run does not say.
        keeps_attention_scores: its attention writes the scores to memory.
        weight_bytes, gradient_bytes, optimizer_bytes: per parameter, None where nothing is known.
        logit_bytes: kept per logit, None where nothing is known.
    """

    name: str
    overlaps_tensor_traffic: bool
    execution: str
    shards_optimizer: bool
    keeps_attention_scores: bool
    weight_bytes: float | None
    gradient_bytes: float | None
    optimizer_bytes: float | None
    logit_bytes: float | None


def family_of(release: str) -> str:
    """Return a software without its release."""
    return release.split(" ", maxsplit=1)[0].split("/", maxsplit=1)[0]


def software_of(release: str, precision: str) -> Software | None:
    """Return what is known of a release in a precision: of itself, else of its family; None where nothing is."""
    known = _known()
    keys = ((name, in_precision) for name in (release, family_of(release)) for in_precision in (precision, ANY))
    return next((known[key] for key in keys if key in known), None)


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
        execution=row["execution"],
        shards_optimizer=row["shards_optimizer"] != "no",
        keeps_attention_scores=row["keeps_attention_scores"] == "yes",
        weight_bytes=number("weight_bytes"),
        gradient_bytes=number("gradient_bytes"),
        optimizer_bytes=number("optimizer_bytes"),
        logit_bytes=number("logit_bytes"),
    )
