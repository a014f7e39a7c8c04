"""Reading the catalogue's CSV files: rows that remember their file and line, and cells read by their field's name.

A cell or claim says its unit (`400 Gb/s`, `80 GiB`); the field's name says which kind of quantity it must be
(`..._bytes_per_s...` is a bandwidth). The two are checked against each other here, so no number enters without a unit.
"""

import csv
import re
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from clusterwright import units
from clusterwright.errors import UnitError

#: Values that say on purpose that there is no number.
ABSENT = ("not supported", "unknown")

#: Name of the quantity in a field, most specific first: where in the name it is, and its kind.
_KINDS_BY_NAME = (
    (re.compile(r"_bytes_per_s(_|$)"), units.BANDWIDTH),
    (re.compile(r"_flop_per_s$"), units.FLOP_RATE),
    (re.compile(r"_op_per_s$"), units.OP_RATE),
    (re.compile(r"_bytes(_per_(gpu|token|parameter|superchip))?$"), units.BYTES),
    (re.compile(r"_w$"), units.POWER),
    (re.compile(r"_kg$"), units.MASS),
    (re.compile(r"_u$"), units.RACK_UNITS),
    (re.compile(r"_m$"), units.LENGTH),
    (re.compile(r"_cfm$"), units.AIRFLOW),
    (re.compile(r"_s$"), units.DURATION),
    (re.compile(r"_fraction$"), units.FRACTION),
)
_TRUTH = {"yes": True, "no": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a table: where it is, and its cells by column (empty cells left out)."""

    file: str
    line: int
    cells: dict[str, str]

    @property
    def place(self) -> str:
        """`file:line`, as editors and people read it."""
        return f"{self.file}:{self.line}"


class TableError(ValueError):
    """A cell or a table that cannot be read; the message is without the place."""


def read(path: Path) -> list[Row]:
    """Read a CSV file with a header line; lines that are empty or start with `#` are skipped.

    Raises:
        TableError: a line has more or fewer cells than the header.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        header = next(reader, [])
        rows: list[Row] = []
        for cells in reader:
            if not cells or cells[0].startswith("#"):
                continue
            if len(cells) != len(header):
                raise TableError(f"line {reader.line_num} has {len(cells)} cells, the header has {len(header)}")
            named = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
            rows.append(Row(file=path.name, line=reader.line_num, cells=named))
        return rows


@cache
def kind_of(field: str) -> units.Kind | None:
    """Return the kind of quantity that a field's name promises, or None for counts and words."""
    return next((kind for pattern, kind in _KINDS_BY_NAME if pattern.search(field)), None)


@cache
def types_of(record: type) -> dict[str, Any]:
    """Return the type of each field of a record, without `None`."""
    return {name: _without_none(hint) for name, hint in get_type_hints(record).items()}


def _without_none(hint: Any) -> Any:  # noqa: ANN401 - type hints have no common type
    if get_origin(hint) is UnionType:
        return next(part for part in get_args(hint) if part is not NoneType)
    return hint


@cache
def _needed(record: type) -> tuple[frozenset[str], dict[str, None]]:
    """Return the fields that must have a value, and those without a default that may be None."""
    hints = get_type_hints(record)
    bare = [field.name for field in fields(record) if field.default is MISSING and field.default_factory is MISSING]
    nullable = {name: None for name in bare if NoneType in get_args(hints[name])}
    return frozenset(bare) - nullable.keys(), nullable


def build(record: type, values: dict[str, Any]) -> Any:  # noqa: ANN401 - an instance of the record
    """Return the record with these values; a field whose type allows None may be absent.

    Raises:
        TableError: fields that the record cannot do without are missing.
    """
    needed, nullable = _needed(record)
    missing = needed - values.keys()
    if missing:
        raise TableError(f"{record.__name__} without {', '.join(sorted(missing))}")
    return record(**(nullable | values))


def value_of(record: type, field: str, text: str) -> Any:  # noqa: ANN401 - one of the types a record's fields have
    """Read the text of a field: a quantity with its unit, a count, yes or no, words, or `not supported` / `unknown`.

    Args:
        record: the dataclass the field belongs to.
        field: its name, which says the kind of quantity.
        text: as written in the table, for example `989.4 TFLOP/s`.

    Returns:
        The value in SI units, or None.

    Raises:
        TableError: the field does not exist, or the text is not of its type or kind.
    """
    hints = types_of(record)
    if field not in hints:
        raise TableError(f"{record.__name__} has no attribute {field!r}")
    return _typed(hints[field], field, text)


def _typed(hint: Any, field: str, text: str) -> Any:  # noqa: ANN401 - as value_of
    if text in ABSENT:
        return None
    kind = kind_of(field)
    if kind is not None and hint in (float, int):
        try:
            return hint(units.parse(text, kind))
        except UnitError as error:
            raise TableError(f"{field}: {error.message}") from None
    if hint is bool:
        if text not in _TRUTH:
            raise TableError(f"{field}: {text!r} is neither yes nor no")
        return _TRUTH[text]
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            raise TableError(f"{field}: {text!r} is not a plain number without a unit") from None
    if get_origin(hint) is tuple:
        return tuple(_typed(get_args(hint)[0], field, part) for part in text.split())
    return text


def free_value(attribute: str, text: str) -> float | str | None:
    """Read the text of a claim that no record holds: a quantity if the attribute's name promises one, else as it is.

    Raises:
        TableError: the attribute promises a quantity and the text is not one.
    """
    if kind_of(attribute) is None or text in ABSENT:
        return None if text in ABSENT else text
    value: float | None = _typed(float, attribute, text)
    return value
