"""Tables, prose and bold lines that fit the width of the terminal.

A table that is too wide first breaks its titles and its prose over lines, then leaves out columns of detail, the least
important first, and names them below; only then are names shortened, and what decides goes last. A column that was
left out comes back where the others leave room for it. Numbers are never cut.
"""

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clusterwright.cli.render.terminal import BOLD, PLAIN, columns_of_text, line_width

_INDENT = 2
_GAP = 2
#: Least columns of prose beside other cells, and of a name that is shortened.
_LEAST_PROSE = 24
_SHORT_NAME, _LEAST_NAME = 20, 10
#: `Column.drop` by title, where a table does not say; numbers in a title are written as #.
_DROP = {
    "": 0,
    "this run": 0,
    "days": 0,
    "days (low–high)": 0,
    "NPV saved": 0,
    "difference": 0,
    "What": 0.9,
    "Found": 0,
    "# months": 0.2,
    "# months, NPV": 0.2,
    "# months (low–high)": 0.2,
    "NPV": 0.3,
    "share of a run": 0.4,
    "where": 0.1,
    "nodes": 0.5,
    "best in": 0.6,
    "cheapest in": 0.6,
    "P#": 0.7,
    "buy now": 1,
    "GPUs": 30,
    "#/GPU-h": 35,
    "busy": 36,
    "priced": 38,
    "MFU": 39,
    "horizon consists of": 40,
    "dearest tenth": 20,
    "from": 30,
}
_CUT = "…"
_COMMAND = re.compile(r" *(?:Next +)?clusterwright \w")
#: The blank between a number and its unit, where no line ends.
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMBT]|%|GB|PB|kW|MW|days?|h|min|s)(?:\W|$))")
_NO_BREAK = "\xa0"
#: What sets a column of a line apart from the one before it.
_BETWEEN_COLUMNS = re.compile(r"(?<=\S) {2,}(?=\S)")


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: words above it.
        align: `left`, else to the right.
        drop: how soon it is left out where the table is too wide: the highest first, below 1 only after names have
            been shortened, 0 never. Where neither the table nor `_DROP` says, the later columns go first. The first
            column stays.
        prose: sentences, which are broken over lines.
    """

    title: str
    align: str = ""
    drop: float | None = None
    prose: bool = False


def table(
    columns: Iterable[tuple[str, str] | Column], rows: Iterable[Sequence[str]], *, width: int | None = None
) -> str:
    """Return aligned columns no wider than the terminal.

    Args:
        columns: as `Column`, or title and alignment alone.
        rows: the cells.
        width: of the terminal unless it is given.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.
    """
    asked = [Column(*column) for column in columns]
    cells = [tuple(row) for row in rows]
    if uneven := next((row for row in cells if len(row) != len(asked)), None):
        raise ValueError(f"{len(uneven)} cells in a row of {len(asked)} columns: {uneven}")
    room = (line_width() if width is None else width) - _INDENT
    widths, left_out = _fitted(asked, cells, room)
    shown = [bold(line) for line in _lines([column.title for column in asked], asked, widths, titles=True) if line]
    for row in cells:
        shown += _lines(row, asked, widths)
    text = [" " * _INDENT + line for line in shown]
    if names := ", ".join(dict.fromkeys(asked[place].title for place in left_out if asked[place].title)):
        text += prose(f"left out at this width: {names}", indent=_INDENT, width=room + _INDENT)
    return "\n".join(text)


def left_out(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the titles of the columns that `table` leaves out of a table in this terminal."""
    return tuple(columns[place].title for place in _fitted(columns, rows, line_width() - _INDENT)[1])


def prose(text: str, *, indent: int = 0, hanging: int | None = None, width: int | None = None) -> list[str]:
    """Return a paragraph as lines within the width of the terminal.

    Args:
        text: the paragraph.
        indent: blanks before its first line.
        hanging: blanks before the others, as many unless given.
        width: of the terminal unless it is given.
    """
    first = " " * indent
    rest = first if hanging is None else " " * hanging
    room = max(_LEAST_PROSE, line_width() if width is None else width)
    return _wrapped(text, room, first, rest)


def fitted(text: str) -> str:
    """Return a text whose lines keep to the width of the terminal: longer ones go on below the text that they continue.

    That is the last of the columns that two blanks set apart, or two blanks further in than a line of one column.
    Commands, alone or after `Next`, go on after a backslash, so that they can be copied with their end.
    """
    width = line_width()
    lines = []
    for line in text.split("\n"):
        if columns_of_text(line) <= width:
            lines.append(line)
            continue
        start = len(line) - len(line.lstrip())
        more = " \\" if _COMMAND.match(line) else ""
        room = width - len(more)
        hanging = _last_column(line, room) or start + _INDENT
        *before, last = _wrapped(line[start:], room, " " * start, " " * hanging)
        lines += [*(part + more for part in before), last]
    return "\n".join(lines)


def _last_column(line: str, room: int) -> int:
    """Return where the last column of a line begins whose words have room there; 0 where none has."""
    found = 0
    for gap in _BETWEEN_COLUMNS.finditer(line):
        start = columns_of_text(line[: gap.end()])
        longest = max(map(columns_of_text, line[gap.end() :].split()))
        if start + max(longest, _LEAST_PROSE) <= room:
            found = start
    return found


def described(entries: Sequence[tuple[str, Sequence[str]]], *, indent: int = 0) -> list[str]:
    """Return labels with their texts beside them from one column on, or below where that leaves prose too little room.

    Where several texts stand below each other, a line that continues one is two blanks further in.
    """
    width = max(columns_of_text(label) for label, _ in entries)
    start = indent + width + _GAP
    beside = start + _LEAST_PROSE <= line_width()
    lines = []
    for label, texts in entries:
        at = start if beside else indent + _INDENT
        hanging = at + (_INDENT if len(texts) > 1 else 0)
        below = [line for text in texts for line in prose(text, indent=at, hanging=hanging)]
        first = f"{' ' * indent}{label}".rstrip()
        if beside and below:
            blank = " " * (start - columns_of_text(first))
            first, below = f"{first}{blank}{below[0][start:]}", below[1:]
        lines += [first, *below]
    return lines


def commands(entries: Sequence[tuple[str, str]], *, indent: int = _INDENT) -> list[str]:
    """Return commands, each with what it does beside it, or below it where the terminal is too narrow."""
    width = max(columns_of_text(command) for command, _ in entries)
    beside = [f"{' ' * indent}{command:<{width}}  {what}".rstrip() for command, what in entries]
    if max(map(columns_of_text, beside)) <= line_width():
        return beside
    return [
        line
        for command, what in entries
        for line in (" " * indent + command, *(prose(what, indent=indent + 2) if what else ()))
    ]


def bold(text: str) -> str:
    """Return text in bold where the terminal shows it and the user has not asked for plain text."""
    return f"{BOLD}{text}{PLAIN}" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    # An arrow stays with its path, which a terminal then opens.
    lines = textwrap.wrap(
        _UNIT.sub(_NO_BREAK, text).replace("--> ", f"-->{_NO_BREAK}"),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> tuple[dict[int, int], list[int]]:
    """Return the widths of the columns that are shown, and which are left out."""
    natural = {
        place: max(columns_of_text(cell) for cell in (column.title, *(row[place] for row in rows)))
        for place, column in enumerate(columns)
    }
    least = {
        place: _least(column, [row[place] for row in rows], natural[place]) for place, column in enumerate(columns)
    }
    shown = [place for place in natural if natural[place]]
    drop = {place: _drop(column, place) for place, column in enumerate(columns)}
    left_out = _leave_out(least, shown, drop, room, above=1)
    _shorten({place: least[place] for place in shown}, least, columns, room, _SHORT_NAME)
    left_out += _leave_out(least, shown, drop, room, above=0)
    _take_back(least, shown, left_out, drop, room)
    _shorten({place: least[place] for place in shown}, least, columns, room, _LEAST_NAME)
    widths = {place: least[place] for place in shown}
    for place in sorted(shown, key=lambda place: not columns[place].prose):
        widths[place] += max(0, min(natural[place] - widths[place], room - _total(widths, shown)))
    return widths, sorted(left_out)


def _drop(column: Column, place: int) -> float:
    if column.drop is not None:
        return column.drop
    title = re.sub(r"\d+", "#", column.title)
    return _DROP.get(title, 2.0 + place)


def _leave_out(
    least: dict[int, int], shown: list[int], drop: dict[int, float], room: int, *, above: float
) -> list[int]:
    """Remove columns from those shown until they fit, of those that may go; return them."""
    gone: list[int] = []
    while _total(least, shown) > room:
        droppable = [place for place in shown if place and drop[place] >= above and drop[place]]
        if not droppable:
            break
        gone.append(max(droppable, key=lambda place: (drop[place], place)))
        shown.remove(gone[-1])
    return gone


def _take_back(least: dict[int, int], shown: list[int], left_out: list[int], drop: dict[int, float], room: int) -> None:
    """Show again what still fits of the columns left out, the most important first."""
    for place in sorted(left_out, key=lambda place: (drop[place], place)):
        if _total(least, [*shown, place]) <= room:
            left_out.remove(place)
            shown.append(place)
    shown.sort()


def _least(column: Column, cells: Sequence[str], natural: int) -> int:
    """Return the fewest columns that hold the cells whole, with the title and prose broken between words."""
    words = [columns_of_text(word) for word in column.title.split()]
    if column.prose:
        words += [columns_of_text(word) for cell in cells for word in cell.split()]
        return min(natural, max([_LEAST_PROSE, *words]))
    return max([*words, *map(columns_of_text, cells)], default=0)


def _total(widths: dict[int, int], shown: Sequence[int]) -> int:
    return sum(widths[place] for place in shown) + _GAP * max(0, len(shown) - 1)


def _shorten(shown: dict[int, int], least: dict[int, int], columns: Sequence[Column], room: int, shortest: int) -> None:
    """Take what is still too wide from the widest names."""
    while (over := _total(shown, list(shown)) - room) > 0:
        names = [place for place in shown if columns[place].align == "left" and shown[place] > shortest]
        if not names:
            return
        widest = max(names, key=lambda place: shown[place])
        second = max((shown[place] for place in names if place != widest), default=shortest)
        shown[widest] -= min(over, max(1, shown[widest] - max(second, shortest)))
        least[widest] = shown[widest]


def _lines(
    cells: Sequence[str], columns: Sequence[Column], widths: dict[int, int], *, titles: bool = False
) -> list[str]:
    """Return a row as lines: titles and prose over as many as they need, everything else on the first."""
    parts = {
        place: _wrapped(cells[place], width) or [""] if titles or columns[place].prose else [cells[place]]
        for place, width in widths.items()
    }
    height = max((len(part) for part in parts.values()), default=0)
    lines = []
    for line in range(height):
        shown = []
        for place, width in widths.items():
            # Titles stand on their columns, prose hangs below its first line.
            at = line - (height - len(parts[place]) if titles else 0)
            cell = shortened(parts[place][at] if 0 <= at < len(parts[place]) else "", width)
            blank = " " * (width - columns_of_text(cell))
            shown.append(cell + blank if columns[place].align == "left" else blank + cell)
        lines.append((" " * _GAP).join(shown).rstrip())
    return lines


def shortened(text: str, width: int) -> str:
    """Return a text within a width; of a longer one the middle is left out, for its end tells it from others.

    >>> shortened("Standard_ND96isr_H100_v5", 16)
    'Standard…H100_v5'
    """
    if columns_of_text(text) <= width:
        return text
    end = (width - len(_CUT)) // 2
    start = width - len(_CUT) - end
    while columns_of_text(text[:start]) + columns_of_text(text[-end:]) + len(_CUT) > width:
        start -= 1
    return f"{text[:start]}{_CUT}{text[-end:]}"
