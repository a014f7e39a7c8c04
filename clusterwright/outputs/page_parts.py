"""What a page of the report is made of, before it is drawn: tables of cells, and drawings with their captions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_CENTS_BELOW, _DIGITS_BELOW = 1e4, 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """What is in a cell: a text, a word in a frame, a second line in small type, and the numbers of its sources."""

    text: str
    badge: str = ""
    detail: str = ""
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: column titles, rows, which columns are numbers (aligned right), and which rows are sums.

    Attributes:
        narrow: columns whose text stays on one line.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    narrow: frozenset[int] = frozenset()
    sums: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A drawing (empty if there is nothing to draw) with its caption: what is shown, in what unit, of what day."""

    svg: str
    caption: str


def by_column(columns: Mapping[str, Sequence[str]], details: Sequence[str] = ()) -> Table:
    """Return a table of texts by column: the first are names, the others numbers.

    Args:
        columns: texts by title, from top to bottom.
        details: in small type under the names, none if empty.
    """
    rows = [tuple(Cell(text=text) for text in row) for row in zip(*columns.values(), strict=True)]
    if details:
        rows = [(replace(row[0], detail=detail), *row[1:]) for row, detail in zip(rows, details, strict=True)]
    return Table(columns=tuple(columns), rows=tuple(rows), numeric=frozenset(range(1, len(columns))))


def plain(value: float) -> str:
    """Return a number as people write it: cents where it is a price, no powers of ten.

    >>> plain(0.0448), plain(55.04), plain(350.0), plain(329562.6), plain(0.0)
    ('0.0448', '55.04', '350', '329,563', '0')
    """
    if value == round(value) or abs(value) >= _CENTS_BELOW:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < _DIGITS_BELOW else f"{value:,.2f}"
