"""What carries power to a rack and heat away from it: cooling methods, feeds, breakers, supplies and outlets."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class Cooling:
    """A way to cool racks.

    Attributes:
        method: what a blueprint calls it.
        rack_power_w: most that one rack may draw with it; None where no source states it.
    """

    id: str
    name: str
    method: str
    rack_power_w: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Supply:
    """A kind of feed.

    Attributes:
        name: what a blueprint calls it.
        current: `three-phase` or `direct`.
        line_v: between lines; breaker_a: the usual rating.
        pdu: part that fits this voltage and rating, empty where none is known.
    """

    id: str
    name: str
    current: str
    line_v: float
    breaker_a: float
    pdu: str = ""
    source: str = ""
    note: str = ""


@cache
def breaker_ratings_a() -> tuple[float, ...]:
    """Return the ratings of breakers that are sold, in A, ascending, from `catalog/breakers.csv`.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "breakers.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return tuple(sorted(float(row["rating_a"]) for row in csv.DictReader(stream)))
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerConnections:
    """Connections of one catalogue entry; None is unknown.

    Attributes:
        id: of a switch or part.
        supplies: power cords of a device; outlets: of a PDU.
    """

    id: str
    supplies: int | None
    outlets: int | None


@cache
def power_connections() -> dict[str, PowerConnections]:
    """Return the rows of `catalog/power_connections.csv` by id.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "power_connections.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [
                PowerConnections(
                    id=row["id"],
                    supplies=int(row["supplies"]) if row["supplies"] else None,
                    outlets=int(row["outlets"]) if row["outlets"] else None,
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
    return {row.id: row for row in rows}
