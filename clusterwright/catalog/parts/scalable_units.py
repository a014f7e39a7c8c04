"""Scalable units of systems that are whole racks; servers follow the rule of `facility.fabric` without a row here."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalableUnit:
    """How a rack-scale system hangs on the compute fabric.

    Attributes:
        end_systems: that one system consists of (compute trays of a rack); rails: fabric ports of each.
        nodes_per_unit: systems of a unit; leaf_per_unit: its leaf switches; uplinks_per_leaf: towards the spines.
        rail_groups: which leaves share spines, `all-units` or `per-unit`.
    """

    system: str
    end_systems: int
    rails: int
    nodes_per_unit: int
    leaf_per_unit: int
    uplinks_per_leaf: int
    rail_groups: str
    source: str
    note: str


@cache
def scalable_units() -> dict[str, ScalableUnit]:
    """Return the rows of `catalog/scalable_units.csv` by system.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "scalable_units.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [_unit(row) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
    return {row.system: row for row in rows}


def _unit(row: dict[str, str]) -> ScalableUnit:
    return ScalableUnit(
        system=row["system"],
        end_systems=int(row["end_systems"]),
        rails=int(row["rails"]),
        nodes_per_unit=int(row["nodes_per_unit"]),
        leaf_per_unit=int(row["leaf_per_unit"]),
        uplinks_per_leaf=int(row["uplinks_per_leaf"]),
        rail_groups=row["rail_groups"],
        source=row["source"],
        note=row["note"],
    )
