"""The columns of FOCUS 1.2, and whether rows conform to them: types, nulls, allowed words, agreement of the costs.

The table `tco/focus_columns.csv` follows the FinOps Open Cost and Usage Specification 1.2 (FinOps Foundation, 2025-05).
"""

import csv
import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

from clusterwright.assets import root

VERSION = "1.2"
#: Prices times quantity are costs up to this, relative: rows are written with ten decimals.
_PRODUCT = 1e-6
_CENT = 0.01
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UNIT = re.compile(r"(\d+ )?[A-Za-z]+(-[A-Za-z]+)?(/(\d+ )?[A-Za-z]+)?")
_PRODUCTS = (("ListUnitPrice", "ListCost"), ("ContractedUnitPrice", "ContractedCost"))

Row = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of the specification.

    Attributes:
        name: its id; type: `string`, `decimal`, `datetime`, `currency`, `unit`, `object` (JSON of plain values).
        level: `mandatory`, `conditional` or `recommended`; nulls: whether it may be empty.
        required_when, empty_when: condition of a row, see `CONDITIONS`, under which it must be filled, or empty.
        values: allowed words; none where any is.
    """

    name: str
    type: str
    level: str
    nulls: bool
    required_when: str
    empty_when: str
    values: tuple[str, ...]


#: Conditions of `tco/focus_columns.csv` by name.
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "": lambda _: False,
    "priced": lambda row: row["ChargeCategory"] in ("Usage", "Purchase") and row["ChargeClass"] != "Correction",
    "tax": lambda row: row["ChargeCategory"] == "Tax",
    "committed": lambda row: bool(row["CommitmentDiscountId"]),
    "not_committed": lambda row: not row["CommitmentDiscountId"],
    "committed_usage": lambda row: bool(row["CommitmentDiscountId"]) and row["ChargeCategory"] == "Usage",
    "not_committed_usage": lambda row: not row["CommitmentDiscountId"] or row["ChargeCategory"] != "Usage",
    "consumed": lambda row: row["ChargeCategory"] == "Usage" and row["CommitmentDiscountStatus"] != "Unused",
    "not_consumed": lambda row: row["ChargeCategory"] != "Usage" or row["CommitmentDiscountStatus"] == "Unused",
}


@cache
def columns() -> tuple[Column, ...]:
    """Return the columns of the specification, in its (alphabetical) order."""
    with (root() / "tco" / "focus_columns.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(
            Column(
                name=row["column"],
                type=row["type"],
                level=row["level"],
                nulls=row["nulls"] == "yes",
                required_when=row["required_when"],
                empty_when=row["empty_when"],
                values=tuple(filter(None, row["values"].split("|"))),
            )
            for row in csv.DictReader(lines)
        )


def problems(header: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what does not conform, a sentence each with the row's number (1 is the first); empty when all does.

    Args:
        header: the columns.
        rows: texts by column; an empty text is null.
    """
    known = {column.name for column in columns()}
    found = [
        f"the column {column.name} is missing"
        for column in columns()
        if column.level == "mandatory" and column.name not in header
    ]
    found += [
        f"the column {name} is neither of FOCUS {VERSION} nor begins with x_"
        for name in header
        if name not in known and not name.startswith("x_")
    ]
    if found:
        return tuple(found)
    full = dict.fromkeys(known, "")
    whole = [{**full, **row} for row in rows]
    # Column by column, and each condition once: most rows are alike, and a year of them has thousands.
    holds = {name: [condition(row) for row in whole] for name, condition in CONDITIONS.items()}
    faults = [
        fault
        for column in columns()
        if column.name in header
        for fault in _of_column(column, [row[column.name] for row in whole], holds)
    ]
    faults += [(number, said) for number, row in enumerate(whole, start=1) for said in _of_row(row)]
    return tuple(f"row {number}: {said}" for number, said in sorted(faults, key=itemgetter(0)))


def _of_column(column: Column, values: Sequence[str], holds: Mapping[str, Sequence[bool]]) -> Iterator[tuple[int, str]]:
    """Give the faults of the cells of one column, each with the number of its row."""
    wrong = {value: reasons for value in set(values) if value and (reasons := tuple(_of_value(column, value)))}
    required, empty = holds[column.required_when], holds[column.empty_when]
    for number, value in enumerate(values, start=1):
        if not value:
            if not column.nulls or required[number - 1]:
                yield number, f"{column.name} is empty"
            continue
        if empty[number - 1]:
            yield number, f"{column.name} is {value!r} where it must be empty"
        for said in wrong.get(value, ()):
            yield number, said


def _of_value(column: Column, value: str) -> Iterator[str]:
    if column.values and value not in column.values:
        yield f"{column.name} {value!r} is none of {', '.join(column.values)}"
    if not _FORMS[column.type](value):
        yield f"{column.name} {value!r} is no {column.type}"


def _of_row(row: Row) -> Iterator[str]:
    for price, cost in _PRODUCTS:
        if row[price] and row["PricingQuantity"] and row["ChargeClass"] != "Correction" and _numbers(row, price, cost):
            product = float(row[price]) * float(row["PricingQuantity"])
            if abs(product - float(row[cost])) > max(_CENT, _PRODUCT * abs(product)):
                yield f"{cost} {row[cost]} is not {price} times PricingQuantity, {product:.10g}"
    if row["ChargePeriodStart"] >= row["ChargePeriodEnd"]:
        yield "ChargePeriodEnd is not after ChargePeriodStart"
    if row["BillingPeriodStart"] >= row["BillingPeriodEnd"]:
        yield "BillingPeriodEnd is not after BillingPeriodStart"


def _numbers(row: Row, *names: str) -> bool:
    return all(_DECIMAL.fullmatch(row[name]) for name in (*names, "PricingQuantity"))


def _is_datetime(value: str) -> bool:
    if _MOMENT.fullmatch(value) is None:
        return False
    try:
        dt.datetime.fromisoformat(value[:-1])
    except ValueError:
        return False
    return True


def _is_object(value: str) -> bool:
    try:
        parsed = json.loads(value)
    except ValueError:
        return False
    return isinstance(parsed, dict) and not any(isinstance(child, dict | list) for child in parsed.values())


_FORMS: dict[str, Callable[[str], bool]] = {
    "string": lambda value: value == value.strip(),
    "decimal": lambda value: _DECIMAL.fullmatch(value) is not None,
    "datetime": _is_datetime,
    "currency": lambda value: re.fullmatch(r"[A-Z]{3}", value) is not None,
    "unit": lambda value: _UNIT.fullmatch(value) is not None,
    "object": _is_object,
}
