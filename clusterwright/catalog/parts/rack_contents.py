"""What is where in a system that is a whole rack, by rack unit."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class RackContent:
    """Equal devices of 1 U each, one above the other.

    Attributes:
        part: catalogue id of each; name: that their names in the rack begin with.
        first_u: lowest rack unit; count: how many.
        power_w: nameplate of each.
        is_host: each is a host that jobs run on.
    """

    system: str
    part: str
    name: str
    first_u: int
    count: int
    power_w: float
    is_host: bool


@cache
def rack_contents() -> dict[str, tuple[RackContent, ...]]:
    """Return the rows of `catalog/rack_contents.csv` by system, from the lowest rack unit up.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "rack_contents.csv"
    found: dict[str, list[RackContent]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                found.setdefault(row["system"], []).append(
                    RackContent(
                        system=row["system"],
                        part=row["part"],
                        name=row["name"],
                        first_u=int(row["first_u"]),
                        count=int(row["count"]),
                        power_w=float(row["power_w"]),
                        is_host=row["is_host"] == "yes",
                    )
                )
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
    return {system: tuple(sorted(rows, key=lambda row: row.first_u)) for system, rows in found.items()}
