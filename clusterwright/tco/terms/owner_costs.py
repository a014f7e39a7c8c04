"""What an owner pays besides the bill, as data: `tco/owner_costs.csv`, which `owner_flow.sql` counts with."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clusterwright.assets import root
from clusterwright.errors import MissingFactError

#: What an amount is counted by.
DRIVERS = ("equipment_usd", "gpus", "servers", "it_power_kw", "cluster")
#: When it is paid: with a purchase, with a sale, when equipment leaves, once after the horizon; or each month at a rate
#: per hour, month or year.
PAID = ("start", "sale", "end", "close", "hour", "month", "year", "year_after_warranty")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerCost:
    """One term of one cost of owning: driver x multiplier x the product of its parameters, each time it is paid.

    Attributes:
        number: place in the table.
        category, item, capex_or_opex, fixed_or_variable: of the rows it becomes; terms of one item are added up, and
            variable ones count for the hours worked.
        paid: one of `PAID`; driver: one of `DRIVERS`.
        multiplier: -1 for what is received or taken off, else a constant of the formula.
        parameters: keys whose values are multiplied; the source of the last one is beside the amount.
    """

    number: int
    category: str
    item: str
    capex_or_opex: str
    fixed_or_variable: str
    paid: str
    driver: str
    multiplier: float
    parameters: tuple[str, ...]


@cache
def owner_costs(path: Path | None = None) -> tuple[OwnerCost, ...]:
    """Return every term of the costs of owning, in the order of the table.

    Args:
        path: a CSV file like `tco/owner_costs.csv`, which is the default.

    Raises:
        MissingFactError: a row is not readable.
    """
    place = root() / "tco" / "owner_costs.csv" if path is None else path
    with place.open(encoding="utf-8", newline="") as lines:
        return tuple(_read(number, row, place) for number, row in enumerate(csv.DictReader(lines)))


def _read(number: int, row: dict[str, str], place: Path) -> OwnerCost:
    try:
        term = OwnerCost(
            number=number,
            category=row["category"],
            item=row["item"],
            capex_or_opex=row["capex_or_opex"],
            fixed_or_variable=row["fixed_or_variable"],
            paid=row["paid"],
            driver=row["driver"],
            multiplier=float(row["multiplier"]),
            parameters=tuple(row["parameters"].split()),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MissingFactError(
            f"{place.name}: row {number + 1} cannot be read: {error}", help="correct the row"
        ) from error
    for value, allowed in (
        (term.driver, DRIVERS),
        (term.paid, PAID),
        (term.capex_or_opex, ("capex", "opex")),
        (term.fixed_or_variable, ("fixed", "variable")),
    ):
        if value not in allowed:
            raise MissingFactError(
                f"{place.name}: row {number + 1} has {value!r}", help=f"write one of {', '.join(allowed)}"
            )
    if not term.parameters or not term.category or not term.item:
        raise MissingFactError(
            f"{place.name}: row {number + 1} names no category, item or parameter", help="correct the row"
        )
    return term


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalParameter:
    """A parameter without an assumption: no amount unless it is given.

    Attributes:
        unit: of its value.
        neutral: value where it only modifies a cost that is given, else None.
        not_with: parameter that takes its place, or empty.
    """

    unit: str
    neutral: float | None
    not_with: str


@cache
def optional_parameters() -> Mapping[str, OptionalParameter]:
    """Return the parameters without an assumption, `tco/owner_parameters.csv`, by key.

    A cost of `tco/owner_costs.csv` is counted when all its parameters have a value.
    """
    with (root() / "tco" / "owner_parameters.csv").open(encoding="utf-8", newline="") as lines:
        return {
            row["key"]: OptionalParameter(
                unit=row["unit"],
                neutral=float(row["neutral"]) if row["neutral"] else None,
                not_with=row["not_with"],
            )
            for row in csv.DictReader(lines)
        }
