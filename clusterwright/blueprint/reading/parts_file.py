"""The file of own parts beside a blueprint: watts, height, weight and price that replace or add to the catalogue's."""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.reading.table import Cell, Row, Table, is_formula, read_table
from clusterwright.catalog.own_facts import LIKE, NAME, TABLES, OwnFact, has_attribute, record_of, with_facts
from clusterwright.catalog.parts.skus import skus
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError
from clusterwright.pricing.quoted import QuotedPrice

PART, PRICE, DAY = "part", "price_usd", "priced_on"
#: Columns of facts: the quantity, the unit in the column's name, and the largest value that is not a mistake.
FACTS: Mapping[str, tuple[str, str, float]] = {
    "power_max_w": ("power", "W", 400_000.0),
    "power_typical_w": ("power", "W", 400_000.0),
    "height_u": ("height", "U", 60.0),
    "weight_kg": ("weight", "kg", 5_000.0),
    PRICE: ("price", "USD", 1e8),
}
COLUMNS = (PART, LIKE, NAME, *FACTS, DAY, "note")
#: First words of columns that measure something; with another unit they are reported by name.
_MEASURED = {
    "power": "power_max_w",
    "watts": "power_max_w",
    "height": "height_u",
    "weight": "weight_kg",
    "price": PRICE,
}
#: A value this many times the catalogue's, or one part of it, is taken for one in another unit.
_ANOTHER_UNIT = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnParts:
    """What a file of parts says.

    Attributes:
        facts: in the order of the file; prices: of parts, by the user.
    """

    facts: tuple[OwnFact, ...]
    prices: tuple[QuotedPrice, ...]


def read_parts(path: Path, catalogue: Catalogue) -> OwnParts:
    """Return the facts and prices of a file of parts.

    Args:
        path: a CSV file with the columns of `COLUMNS`, of which `part` is needed.
        catalogue: that the facts replace.

    Raises:
        InputError: the file cannot be read or is no table of parts.
        BlueprintError: everything that is wrong with it, cell by cell.
    """
    table = read_table(path, what="parts")
    if not {cell.text for cell in table.header} & {*COLUMNS}:
        # Whatever it is, its lines are not shown.
        raise InputError(f"{path} is no table of parts", help=f"its first line names columns: {', '.join(COLUMNS)}")
    problems = [*_wrong_columns(table)]
    if problems:
        raise table.error(problems)
    problems += table.problems
    facts: list[OwnFact] = []
    prices: list[QuotedPrice] = []
    seen: dict[str, int] = {}
    for row in table.rows:
        wrong = [*_wrong_row(row, with_facts(catalogue, facts), seen)]
        problems += wrong
        if wrong:
            continue
        source = f"{table.name}:{row.line}"
        facts += _facts(row, with_facts(catalogue, facts), source)
        if row.text(PRICE):
            prices.append(_price(row, table.name))
    if problems:
        raise table.error(problems)
    return OwnParts(facts=tuple(facts), prices=tuple(prices))


def _problem(cell: Cell, message: str, help_: str) -> Problem:
    return Problem(path=(), message=message, help=help_, position=cell.position)


def _wrong_columns(table: Table) -> Iterator[Problem]:
    names = [cell.text for cell in table.header]
    for cell in table.header:
        if cell.text in COLUMNS:
            if names.count(cell.text) > 1:
                yield _problem(cell, f"the column {cell.text} stands twice", "keep one")
            continue
        measured = _MEASURED.get(cell.text.split("_")[0])
        if measured:
            quantity, unit, _ = FACTS[measured]
            yield _problem(
                cell, f"the column {cell.text!r} is in a unit that is not read", f"{quantity} is in {unit}: {measured}"
            )
        else:
            close = get_close_matches(cell.text, COLUMNS, n=1, cutoff=0.6)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            said = f"there is no column {cell.text!r}{guess}"
            yield _problem(cell, said, f"one of {', '.join(COLUMNS)}")
    if PART not in names:
        yield _problem(table.header[0], "the column part is missing", "it names a system, a switch or a part")


def _wrong_row(row: Row, catalogue: Catalogue, seen: dict[str, int]) -> Iterator[Problem]:
    part = row.cells[PART]
    for cell in row.cells.values():
        if is_formula(cell.text) and not cell.text.startswith("-"):
            yield _problem(cell, f"{cell.text[:40]!r} is a formula", "type the value itself; formulas are not run")
    if not part.text:
        yield _problem(part, "the part is missing", "name a system, a switch or a part of the catalogue")
        return
    if seen.setdefault(part.text, row.line) != row.line:
        yield _problem(part, f"{part.text} stands in line {seen[part.text]} already", "keep one of the two")
    yield from _wrong_names(row, catalogue)
    known, like = record_of(catalogue, part.text), row.text(LIKE)
    record = known or (record_of(catalogue, like) if like else None)
    if record or not like:
        for name in FACTS:
            yield from _wrong_value(row, name, None if record is None else record[1])
    if row.text(PRICE) and not row.text(DAY):
        yield _problem(
            row.cells.get(DAY, row.cells[PRICE]), "the price has no day", f"write it into {DAY} as 2026-11-20"
        )
    if row.text(DAY) and not _is_day(row.text(DAY)):
        yield _problem(row.cells[DAY], f"{row.text(DAY)!r} is no day", "write it as 2026-11-20")


def _wrong_names(row: Row, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield what is wrong with the part's name, and with the name of what it equals."""
    part = row.cells[PART]
    known, like = record_of(catalogue, part.text), row.text(LIKE)
    if like and known:
        yield _problem(
            row.cells[LIKE], f"the catalogue has {part.text} already", "leave like empty to change its facts"
        )
    elif like and record_of(catalogue, like) is None:
        yield _problem(
            row.cells[LIKE], f"there is no part {like!r}{_close(like, catalogue)}", "name one of the catalogue"
        )
    elif not like and known is None and part.text not in skus():
        yield _problem(
            part,
            f"there is no part {part.text!r}{_close(part.text, catalogue)}",
            "to add one, name in like what it equals",
        )


def _wrong_value(row: Row, name: str, record: object | None) -> Iterator[Problem]:
    text = row.text(name)
    if not text:
        return
    cell, (quantity, unit, most) = row.cells[name], FACTS[name]
    value = _number(text)
    if value is None:
        yield _problem(
            cell, f"{text!r} is not a number of {unit}", f"write the number alone; the {quantity} is in {unit}"
        )
    elif not 0 < value <= most:
        yield _problem(cell, f"{text} {unit} is impossible", f"a {quantity} is above 0 and at most {most:,.0f} {unit}")
    elif name != PRICE:
        if record is None or not has_attribute(record, name):
            yield _problem(cell, f"{row.text(PART)} has no {name}", "leave it empty")
            return
        known = getattr(record, name)
        if known and not 1 / _ANOTHER_UNIT <= value / known <= _ANOTHER_UNIT:
            yield _problem(
                cell,
                f"{text} {unit} is far from the catalogue's {known:,g} {unit}",
                f"is it in another unit? {name} is in {unit}",
            )


def _facts(row: Row, catalogue: Catalogue, source: str) -> Iterator[OwnFact]:
    entity = row.text(PART)
    found = record_of(catalogue, entity)
    record = None if found is None else found[1]
    if row.text(LIKE):
        yield OwnFact(entity=entity, attribute=LIKE, value=row.text(LIKE), catalogue=None, source=source)
    if row.text(NAME):
        was = None if record is None else record.name
        yield OwnFact(entity=entity, attribute=NAME, value=row.text(NAME), catalogue=was, source=source)
    for name in FACTS:
        if name != PRICE and row.text(name):
            was, value = None if record is None else getattr(record, name), float(row.text(name))
            if was != value:
                yield OwnFact(entity=entity, attribute=name, value=value, catalogue=was, source=source)


def _price(row: Row, file: str) -> QuotedPrice:
    usd = float(row.text(PRICE))
    return QuotedPrice(
        sku=row.text(PART),
        unit="each",
        usd=usd,
        price=usd,
        currency="USD",
        usd_per_currency=1.0,
        rate_on="",
        vendor="",
        quoted_on=row.text(DAY),
        lead_time_weeks=None,
        file=file,
        line=row.line,
        basis="given",
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _is_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _close(name: str, catalogue: Catalogue) -> str:
    known = [*(entity for table in TABLES for entity in getattr(catalogue, table)), *skus()]
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
