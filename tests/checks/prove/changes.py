"""Changes of the files of a folder, of which a planted fault is made."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Change = Callable[[Path], None]


@dataclass(frozen=True)
class Fault:
    """One mistake of a kind in the folder of a site: all changes that one person makes at once."""

    kind: str
    site: str
    changes: tuple[Change, ...]

    def plant(self, folder: Path) -> None:
        """Make the mistake.

        Raises:
            ValueError: the folder does not hold the text that it changes.
        """
        for change in self.changes:
            change(folder)


def text(path: str, old: str, new: str, after: str = "") -> Change:
    """Return the replacement of the first such words behind others."""

    def change(folder: Path) -> None:
        whole = (folder / path).read_text(encoding="utf-8")
        begin = whole.find(after)
        at = whole.find(old, begin + len(after)) if begin >= 0 else -1
        if at < 0 or old == new:
            raise ValueError(f"{path} does not hold {old!r} after {after!r}")
        (folder / path).write_text(whole[:at] + new + whole[at + len(old) :], encoding="utf-8")

    return change


def cell(path: str, begins: str, column: str, value: str) -> Change:
    """Return another value in a column of a table, in the first row that begins so."""

    def change(folder: Path) -> None:
        lines = (folder / path).read_text(encoding="utf-8").splitlines()
        names = next(csv.reader(lines[:1]))
        number = _first(path, lines, begins)
        cells = next(csv.reader([lines[number]]))
        if cells[names.index(column)] == value:
            raise ValueError(f"{path}: {column} of {begins!r} is {value!r} already")
        cells[names.index(column)] = value
        row = io.StringIO()
        csv.writer(row, lineterminator="").writerow(cells)
        lines[number] = row.getvalue()
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return change


def without(path: str, begins: str) -> Change:
    """Return the removal of the first line that begins so."""

    def change(folder: Path) -> None:
        lines = (folder / path).read_text(encoding="utf-8").splitlines()
        del lines[_first(path, lines, begins)]
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return change


def _first(path: str, lines: list[str], begins: str) -> int:
    for number, line in enumerate(lines):
        if line.startswith(begins):
            return number
    raise ValueError(f"{path} has no line that begins with {begins!r}")
