"""CSV tables that people keep beside a blueprint or send back, read with the place of every cell."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from clusterwright.blueprint import names
from clusterwright.blueprint.reading.problems import BlueprintError, Position, Problem
from clusterwright.errors import InputError
from clusterwright.input_files import read_text

#: A text that starts with one of these may be run as a formula by spreadsheet programs.
FORMULA_STARTS = ("=", "+", "-", "@")
_OTHER_ENDS = re.compile("[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
#: A bill of 10,000 lines has 2 MB.
MOST_BYTES = 20_000_000
#: Problems reported at once; a file of another kind has one in every line.
_MOST = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One cell's text, blanks around it gone and those within it single, and where it is."""

    text: str
    position: Position


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a table: its number in the file, and its cells by column."""

    line: int
    cells: dict[str, Cell]

    def text(self, column: str) -> str:
        """Return a cell's text, empty where the table lacks the column."""
        cell = self.cells.get(column)
        return "" if cell is None else cell.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table of a file.

    Attributes:
        name: of the file; text: of the whole file, for messages.
        header: cells of the first line, as they are written; rows: all others that are not empty.
        problems: lines with more or fewer cells than the header.
    """

    name: str
    text: str
    header: tuple[Cell, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()

    def error(self, problems: Sequence[Problem]) -> BlueprintError:
        """Return the error that shows problems in the table's text; of very many, the first ones."""
        shown = sorted(problems, key=lambda one: (one.position.line, one.position.column) if one.position else (0, 0))
        if len(shown) > _MOST:
            last = Problem(
                path=(),
                message=f"and {len(shown) - _MOST} more",
                position=shown[_MOST].position,
                help="put these right first",
            )
            shown = [*shown[:_MOST], last]
        return BlueprintError(name=self.name, text=self.text, problems=tuple(shown))


def read_table(path: Path, *, what: str) -> Table:
    """Return the table of a CSV file, with commas or semicolons.

    Args:
        path: of the file.
        what: it holds, for messages.

    Raises:
        InputError: the file cannot be read, is no regular file, too large or empty.
    """
    text = read_text(
        path, most_bytes=MOST_BYTES, what=f"a table of {what}", advice=f"give a CSV file (CSV UTF-8) of {what}"
    )
    return table_of(text, name=path.name, what=what)


def table_of(text: str, *, name: str, what: str) -> Table:
    """Return the table in a text; parameters and errors as in `read_table`."""
    # One kind of line end, so that lines count as editors count them.
    text = _OTHER_ENDS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = text.split("\n")
    if not lines or not lines[0].strip():
        raise InputError(f"{name} is empty", help=f"its first line names the columns of {what}")
    delimiter = ";" if ";" in lines[0] and "," not in lines[0] else ","
    problems: list[Problem] = []
    rows: list[Row] = []
    header: tuple[Cell, ...] = ()
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    for values in _values(reader, name):
        line = reader.line_num
        cells = tuple(
            Cell(text=" ".join(value.split()), position=at)
            for value, at in zip_longest(values, _places(lines[line - 1], line, delimiter, len(values)), fillvalue=None)
            if value is not None and at is not None
        )
        if not header:
            header = cells
        elif any(cell.text for cell in cells):
            if len(cells) != len(header):
                whole = Position(line=line, column=1, length=len(lines[line - 1]))
                message = f"the line has {len(cells)} cells, the header {len(header)}"
                advice = "write as many cells as the header, or put one that has the separator into quotes"
                problems.append(Problem(path=(), message=message, help=advice, position=whole))
                continue
            problems += _controlling(cells)
            named = zip((cell.text for cell in header), cells, strict=True)
            rows.append(Row(line=line, cells=dict(named)))
    return Table(name=name, text=text, header=header, rows=tuple(rows), problems=tuple(problems))


def _values(reader: Any, name: str) -> Iterator[list[str]]:  # noqa: ANN401 - the type of csv has no name
    try:
        yield from reader
    except csv.Error as error:
        at = f"{name}:{reader.line_num}"
        raise InputError(
            f"{at}: this is no CSV table: {error}", help="save it as CSV in the spreadsheet program"
        ) from None


def _controlling(cells: Sequence[Cell]) -> Iterator[Problem]:
    """Yield a problem for each cell with characters that are not shown but obeyed."""
    for cell in cells:
        try:
            names.plain(cell.text)
        except ValueError as error:
            yield Problem(path=(), message=str(error), help="write it without these characters", position=cell.position)


def _places(line: str, number: int, delimiter: str, cells: int) -> list[Position]:
    """Return where each cell of a line is; at the line's start if a quoted cell went over several lines."""
    starts, quoted = [0], False
    for index, letter in enumerate(line):
        if letter == '"':
            quoted = not quoted
        elif letter == delimiter and not quoted:
            starts.append(index + 1)
    if len(starts) != cells or quoted:
        return [Position(line=number, column=1, length=1)] * cells
    ends = [*(start - 1 for start in starts[1:]), len(line)]
    return [
        Position(line=number, column=start + 1, length=max(1, end - start))
        for start, end in zip(starts, ends, strict=True)
    ]


def is_formula(text: str) -> bool:
    """Tell whether spreadsheet programs would run a text; a number with its sign is none."""
    if not text.startswith(FORMULA_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
