"""Cables and transceivers by family: what connects two ports over which distance."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class Medium:
    """One way to connect two ports.

    Attributes:
        family: ports that it fits, for example `ndr`.
        kind: `dac`, `multimode`, `singlemode`, `aoc`, `splitter`, `copper`.
        cable: price key; optics: price key of the transceiver by kind of end (`switch`, `node`, `nic`, `appliance`),
            empty where the cable has its own ends.
        links_per_cable: links that one cable carries (2 for twin-port cages joined by one cable).
        reach_m: longest run; lengths_m: lengths that are sold.
    """

    family: str
    port_bytes_per_s_one_way: float
    kind: str
    cable: str
    optics: dict[str, str]
    links_per_cable: int
    reach_m: float
    lengths_m: tuple[float, ...]
    source: str
    note: str

    def length_for(self, run_m: float) -> float | None:
        """Return the shortest sold length of at least this run, or None if it is too far."""
        return next((length for length in self.lengths_m if length >= run_m), None)


@cache
def media() -> dict[str, tuple[Medium, ...]]:
    """Return the rows of `catalog/media.csv` by family, shortest reach first.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "media.csv"
    families: dict[str, list[Medium]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                families.setdefault(row["family"], []).append(_medium(row))
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
    return {family: tuple(sorted(rows, key=lambda medium: medium.reach_m)) for family, rows in families.items()}


def _medium(row: dict[str, str]) -> Medium:
    ends = ("switch", "node", "nic", "appliance")
    return Medium(
        family=row["family"],
        port_bytes_per_s_one_way=float(row["port_gbit_per_s"]) * 1e9 / 8,
        kind=row["kind"],
        cable=row["cable"],
        optics={end: row[f"{end}_optic"] for end in ends if row[f"{end}_optic"]},
        links_per_cable=int(row["links_per_cable"]),
        reach_m=float(row["reach_m"]),
        lengths_m=tuple(float(length) for length in row["lengths_m"].split()),
        source=row["source"],
        note=row["note"],
    )
