"""What a page says: sentences and tables with the figures that they have to have, and where a page has others."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.papers import CellError, absent, plain
from clusterwright.errors import Finding

#: A value of a sentence, which stays on its line and in its cell.
_VALUE = r"([^\n|]*?)"
_CELLS = re.compile(r"(?<!\\)\|")
#: Letters of a sentence that are shown around a value, and those by which a changed sentence is found again.
_AROUND, _BEGINNING = 28, 16

Values = Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence of a page, or a part of one.

    Attributes:
        file: the page.
        text: its words, `{}` in the place of every value.
        values: what they have to be, by the tables; None where the page needs no such sentence.
        rule: why.
    """

    file: str
    text: str
    values: Callable[[Hall], Values | None]
    rule: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table of a page, or several with the same head.

    Attributes:
        file: the page.
        head: its titles.
        rows: the cells that it has to have, by the tables; None for a cell that is anybody's. None for no such table.
        rule: why.
        key: columns by which a row is found again.
        notes: columns to which people add words of their own.
    """

    file: str
    head: tuple[str, ...]
    rows: Callable[[Hall], Iterable[Sequence[str | None]] | None]
    rule: str
    key: tuple[int, ...] = (0,)
    notes: frozenset[int] = field(default_factory=frozenset)


def compared(hall: Hall, said: Iterable[Sentence | Table]) -> Iterator[Finding]:
    """Yield where the pages say something else; pages that are not there say nothing."""
    texts: dict[str, str] = {}
    for one in said:
        if one.file not in texts:
            present = (hall.papers.documents.site / one.file).is_file()
            texts[one.file] = hall.papers.text(one.file) if present else ""
        if texts[one.file]:
            compare = _sentence(hall, one, texts[one.file]) if isinstance(one, Sentence) else _table(hall, one, texts)
            try:
                yield from compare
            except CellError as error:
                yield absent("PAG001", one.file, "a figure", error.message, "one that can be counted", one.rule)


def _sentence(hall: Hall, one: Sentence, text: str) -> Iterator[Finding]:
    values = one.values(hall)
    if values is None:
        return
    words, whole = one.text.split("{}"), one.text.format(*values)
    # A value may have words of the sentence in it: a server "with 8 L40S".
    if re.search(_pattern(whole), text, re.MULTILINE):
        return
    match = re.search(_pattern(one.text), text, re.MULTILINE)
    if match is None:
        yield absent("PAG001", one.file, "a sentence", _nearest(text, words[0]), f"“{whole}”", one.rule)
        return
    for index, expected in enumerate(values):
        if plain(match[index + 1]) != plain(expected):
            line = text.count("\n", 0, match.start(index + 1)) + 1
            around = f"“{words[index][-_AROUND:]}…{words[index + 1][:_AROUND]}”".replace("\n", " ")
            yield absent("PAG001", f"{one.file}:{line}", around, match[index + 1], expected, one.rule)


def _pattern(text: str) -> str:
    """Return what matches a sentence: lines may be broken elsewhere, a break at either end is one."""
    parts = (re.sub(r"(\\ |\\\n)+", r"\\s+", re.escape(part)) for part in text.strip("\n").split("{}"))
    begins, ends = ("^" if text.startswith("\n") else ""), (r"[ \t]*$" if text.endswith("\n") else "")
    return begins + _VALUE.join(parts) + ends


def _nearest(text: str, beginning: str) -> str | None:
    """Return the line that begins as a sentence does, if its values are not where they are expected."""
    start = beginning.strip()[:_BEGINNING]
    return next((f"“{line}”" for line in text.splitlines() if start and start in line), None)


def tables_of(text: str, head: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return line number and cells of every row of the tables that have a head."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("|"):
            inside = False
            continue
        cells = [plain(cell) for cell in _CELLS.split(line.strip())[1:-1]]
        if cells == list(head):
            inside = True
        elif inside and not all(set(cell) <= set(":- ") and cell for cell in cells):
            found.append((number, cells))
    return found


def _table(hall: Hall, one: Table, texts: dict[str, str]) -> Iterator[Finding]:
    wanted = one.rows(hall)
    if wanted is None:
        return
    listed: dict[tuple[str, ...], tuple[int, list[str]]] = {}
    for number, cells in tables_of(texts[one.file], one.head):
        key = tuple(cells[at] for at in one.key if at < len(cells))
        if key in listed:
            what, other = f"the row “{' '.join(key)}”", f"only {one.file}:{listed[key][0]}"
            yield absent("PAG001", f"{one.file}:{number}", what, "a second one", other, "a row is there once")
        listed.setdefault(key, (number, cells))
    for row in wanted:
        key = tuple(plain(row[at] or "") for at in one.key)
        if key not in listed:
            shown = " | ".join(cell or "…" for cell in row)
            yield absent("PAG001", one.file, f"the row “{' '.join(key)}”", None, f"“{shown}”", one.rule)
            continue
        number, cells = listed[key]
        for at, expected in enumerate(row):
            found = cells[at] if at < len(cells) else ""
            if expected is None or found == plain(expected) or (at in one.notes and plain(expected) in found):
                continue
            what = f"“{one.head[at]}” of “{' '.join(key)}”"
            yield absent("PAG001", f"{one.file}:{number}", what, found, plain(expected), one.rule)
