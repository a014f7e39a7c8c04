"""What networks and algorithms reach beside what runs were calibrated with, by `catalog/collectives.csv`."""

import csv
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from clusterwright import assets
from clusterwright.errors import ClusterwrightError

COLUMNS = ("name", "bandwidth_factor", "latency_factor", "method", "source", "note")


@dataclass(frozen=True, kw_only=True, slots=True)
class Factor:
    """Bandwidth and latency of a step over those that calibration means: a ring over InfiniBand, or inside a domain.

    Attributes:
        method: `published`, `derived` or `assumed`; source: id in `catalog/sources.csv`; note: how it was found.
    """

    bandwidth: float
    latency: float
    method: str
    source: str
    note: str


@cache
def factors() -> MappingProxyType[str, Factor]:
    """Return every row by its name: networks by their kind, algorithms by theirs.

    Raises:
        ClusterwrightError: the file cannot be read, or a factor is not positive.
    """
    path = assets.root() / "catalog" / "collectives.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = {
                row["name"]: Factor(
                    bandwidth=float(row["bandwidth_factor"]),
                    latency=float(row["latency_factor"]),
                    method=row["method"],
                    source=row["source"],
                    note=row["note"],
                )
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
    wrong = [name for name, entry in found.items() if min(entry.bandwidth, entry.latency) <= 0]
    if wrong:
        raise ClusterwrightError(f"{path.name}: {', '.join(wrong)} is not above 0", help="install Clusterwright again")
    return MappingProxyType(found)


def factor(name: str) -> Factor:
    """Return the factors of a network or algorithm; those of the calibrated ring for one that has no row."""
    return factors().get(name, _CALIBRATED)


_CALIBRATED = Factor(bandwidth=1.0, latency=1.0, method="assumed", source="", note="")
