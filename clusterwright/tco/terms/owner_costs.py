"""Costs of an owner besides the bill, as data: `tco/owner_costs.csv`, which `owner_flow.sql` turns into payments."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clusterwright.assets import root
from clusterwright.errors import MissingFactError

#: Quantities that an amount is proportional to.
DRIVERS = ("equipment_usd", "gpus", "servers", "it_power_kw", "cluster")
#: Times of payment: with a purchase, with a sale, when equipment is removed, once after the horizon; or each month at a
#: rate per hour, month or year.
PAID = ("start", "sale", "end", "close", "hour", "month", "year", "year_after_warranty")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerCost:
    """One term of one cost of owning: driver x multiplier x the product of its parameters, each time it is paid.

    Attributes:
        number: row number in the table.
        category, item, capex_or_opex, fixed_or_variable: labels of its rows in the cash flow; terms of one item are
            summed, and variable ones are proportional to the hours worked.
        paid: time of payment, one of `PAID`.
        driver: quantity that the amount is proportional to, one of `DRIVERS`.
        multiplier: -1 for amounts received or deducted, otherwise a constant of the formula.
        parameters: keys of the multiplied parameters; the amount carries the source of the last one.
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
        path: CSV file in the format of `tco/owner_costs.csv`, which is the default.

    Raises:
        MissingFactError: a row cannot be parsed.
    """
    file = root() / "tco" / "owner_costs.csv" if path is None else path
    with file.open(encoding="utf-8", newline="") as lines:
        return tuple(_read(number, row, file) for number, row in enumerate(csv.DictReader(lines)))


def _read(number: int, row: dict[str, str], file: Path) -> OwnerCost:
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
            f"{file.name}: row {number + 1} cannot be read: {error}", help="correct the row"
        ) from error
    for value, allowed in (
        (term.driver, DRIVERS),
        (term.paid, PAID),
        (term.capex_or_opex, ("capex", "opex")),
        (term.fixed_or_variable, ("fixed", "variable")),
    ):
        if value not in allowed:
            raise MissingFactError(
                f"{file.name}: row {number + 1} has {value!r}", help=f"write one of {', '.join(allowed)}"
            )
    if not term.parameters or not term.category or not term.item:
        raise MissingFactError(
            f"{file.name}: row {number + 1} names no category, item or parameter", help="correct the row"
        )
    return term


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalParameter:
    """A parameter without an assumption: it costs nothing unless the user gives a value.

    Attributes:
        unit: unit of the value.
        neutral: default of a parameter that only modifies a given cost, else None.
        not_with: alternative parameter that replaces it, or empty.
    """

    unit: str
    neutral: float | None
    not_with: str


@cache
def optional_parameters() -> Mapping[str, OptionalParameter]:
    """Return the parameters without an assumption (`tco/owner_parameters.csv`), by key.

    A cost in `tco/owner_costs.csv` applies if all its parameters have a value.
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
