"""How many power supplies a device has and how many outlets a PDU, where somebody publishes it."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


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
