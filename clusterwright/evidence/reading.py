"""A CSV file of measurements of one of several kinds, separated by header: its rows, and what is wrong with others."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from clusterwright.errors import InputError, shortened
from clusterwright.evidence.rows import Cells, NotExpressed, NotPublishedError, WrongCellError
from clusterwright.input_files import read_text

_MOST_BYTES = 50_000_000
_Row_co = TypeVar("_Row_co", covariant=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Read(Generic[_Row_co]):
    """A file's measurements, what is left out, and how many are excluded as unsound."""

    rows: tuple[_Row_co, ...]
    skipped: tuple[NotExpressed, ...]
    excluded: int

    @property
    def wrong(self) -> tuple[NotExpressed, ...]:
        """The rows that are bad input rather than beyond what the formulas express."""
        return tuple(row for row in self.skipped if row.wrong)


def read_rows(
    path: Path,
    *,
    kinds: Mapping[str, tuple[str, ...]],
    readers: Mapping[str, Callable[[Cells, str], _Row_co]],
    described_in: str,
) -> Read[_Row_co]:
    """Return the measurements of a CSV file.

    Args:
        path: the file.
        kinds: the columns that each kind of file has, the first whose columns are all there counts.
        readers: of a row with its id, by kind.
        described_in: the document that names the columns.

    Raises:
        InputError: the file cannot be read, or its header is of no kind.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a table of measurements", advice="give a CSV file")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows: list[_Row_co] = []
    skipped: list[NotExpressed] = []
    excluded = 0
    try:
        columns = reader.fieldnames or ()
        kind = next((name for name, needed in kinds.items() if all(column in columns for column in needed)), None)
        if kind is None:
            raise InputError(
                f"{path.name}: the header is of no known kind of measurements",
                help=f"{described_in} names the columns of each kind",
            )
        for entry in reader:
            cells = {name: cell for name, cell in entry.items() if name is not None and isinstance(cell, str)}
            row = Cells(line=reader.line_num, cells=cells)
            identity = shortened(row.text("id") or row.text("mlperf_id") or f"L{row.line}")
            if None in entry or None in entry.values():
                skipped.append(_left_out(row, identity, "the row has not as many cells as the header", wrong=True))
                continue
            if row.text("suspect") == "1" or row.text("errors") not in ("", "0", "0.0"):
                excluded += 1
                continue
            try:
                rows.append(readers[kind](row, identity))
            except NotPublishedError as error:
                skipped.append(_left_out(row, identity, str(error), wrong=False))
            except WrongCellError as error:
                skipped.append(_left_out(row, identity, f"line {row.line}, {error}", wrong=True))
    except csv.Error as error:
        raise InputError(f"{path.name}:{reader.line_num}: {error}", help="save it as CSV UTF-8") from None
    if not rows and not skipped and not excluded:
        raise InputError(f"{path.name} holds no measurements", help="give one row per measurement")
    return Read(rows=tuple(rows), skipped=tuple(skipped), excluded=excluded)


def _left_out(row: Cells, identity: str, reason: str, *, wrong: bool) -> NotExpressed:
    return NotExpressed(id=identity, reason=shortened(reason), line=row.line, wrong=wrong)
