"""A file of measured runs as cells: what is missing, mistyped or impossible is reported with row and column."""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import InputError, shortened
from clusterwright.input_files import read_text

REQUIRED = (
    "id",
    "group",
    "software",
    "gpu",
    "n_gpus",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn_hidden",
    "gated_mlp",
    "vocab",
    "seq_len",
    "global_batch",
    "precision",
    "recompute",
    "tp",
    "pp",
    "tokens_per_s_per_gpu",
)
#: A thousand runs have 0.2 MB.
_MOST_BYTES = 20_000_000
#: No count or rate of a run is larger, and products of several stay finite.
_MOST = 1e9
#: Nor is one smaller, unless it is 0: quotients of several stay finite.
_LEAST = 1e-9
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, kw_only=True, slots=True)
class NotExpressed:
    """A row that is not predicted, and why.

    Attributes:
        line: of the file; gpu, experts: as the row says, for counting.
        wrong: the row is bad input (mistyped, impossible), rather than beyond what the engine expresses.
    """

    id: str
    reason: str
    line: int = 0
    gpu: str = ""
    experts: bool = False
    wrong: bool = False


class NotPublishedError(Exception):
    """The row lacks a value that its prediction needs."""


class WrongCellError(Exception):
    """A cell that holds no such value; the message names its column."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells:
    """One row: its line in the file, its cells by column, and what is wrong with how many there are."""

    line: int
    cells: Mapping[str, str]
    uneven: str = ""

    def text(self, name: str) -> str:
        """Return a cell, empty if the column is absent."""
        return (self.cells.get(name) or "").strip()

    def number(self, name: str, default: float | None = None, *, least: float = 0.0) -> float:
        """Return a cell as a number.

        Args:
            name: the column.
            default: if the cell is empty.
            least: smaller numbers are wrong.

        Raises:
            NotPublishedError: the cell is empty and there is no default.
            WrongCellError: the cell is no finite number, or too small.
        """
        found = self.text(name)
        if not found:
            if default is None:
                raise NotPublishedError(f"{name} is not published")
            return default
        try:
            value = float(found)
        except ValueError:
            raise WrongCellError(f"column {name}: {found!r} is not a number") from None
        if not math.isfinite(value) or value < least:
            raise WrongCellError(f"column {name}: {found} is not a number of at least {least:g}")
        if value > _MOST:
            raise WrongCellError(f"column {name}: {found} is larger than {_MOST:,.0f}")
        if 0 < value < _LEAST:
            raise WrongCellError(f"column {name}: {found} is smaller than {_LEAST:g}")
        return value

    def count(self, name: str) -> float:
        """Return a cell as a number of tokens, sequences or accelerators, 0 where it is empty; errors as `number`."""
        value = self.number(name, 0.0)
        if 0 < value < 1:
            raise WrongCellError(f"column {name}: {value:g} is neither 0, for not published, nor at least 1")
        return value

    def whole(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """Return a cell as a whole number; errors as `number`."""
        value = self.number(name, None if default is None else float(default), least=float(least))
        if value % 1:
            raise WrongCellError(f"column {name}: {value:g} is not a whole number")
        return int(value)

    def skipped(self, reason: str, *, wrong: bool = False) -> NotExpressed:
        """Return the record of this row as not predicted."""
        experts = self.text("n_experts") not in ("", "0")
        return NotExpressed(
            id=shortened(self.text("id")),
            reason=shortened(reason),
            line=self.line,
            gpu=self.text("gpu"),
            experts=experts,
            wrong=wrong,
        )


def _cells(row: Mapping[str | None, str | list[str] | None], *, line: int) -> Cells:
    """Return a row as the reader gives it: cells beyond the header under None, and None for those that it lacks."""
    named = {name: cell for name, cell in row.items() if name is not None and isinstance(cell, str)}
    beyond = row.get(None) or ()
    lacking = next((name for name, cell in row.items() if cell is None), None)
    uneven = f"the row ends before column {lacking}" if lacking else ""
    if any(cell.strip() for cell in beyond):
        uneven = f"the row has {len(beyond)} more cells than the file has columns"
    return Cells(line=line, cells=named, uneven=uneven)


def read_cells(path: Path) -> list[Cells]:
    """Return the rows of a CSV file of runs.

    Args:
        path: a file with at least the columns of `REQUIRED`.

    Raises:
        InputError: the file cannot be read, holds no rows, lacks columns or has one twice, or a row has no name of
            its own.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a table of runs", advice="give a CSV file of runs")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [_cells(row, line=reader.line_num) for row in reader]
        columns = reader.fieldnames or ()
    except csv.Error as error:
        at = f"{path.name}:{reader.reader.line_num}"
        raise InputError(f"{at}: {error}", help="save it as CSV UTF-8 in the spreadsheet program") from None
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        others = [spoken for mark, spoken in _OTHER_SEPARATORS.items() if any(mark in name for name in columns)]
        raise InputError(
            f"{path.name} lacks the columns {', '.join(missing)}",
            help=f"separate cells by commas, not by {others[0]}"
            if others
            else "clusterwright docs accuracy lists the columns",
        )
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise InputError(f"{path.name}:1: column {twice[0]} is there twice", help="keep one of them")
    if not rows:
        raise InputError(f"{path.name} holds no runs", help="give one row per run")
    seen: dict[str, int] = {}
    for row in rows:
        name = row.text("id")
        if not name:
            raise InputError(f"{path.name}:{row.line}: column id is empty", help="give every run its own id")
        if name in seen:
            raise InputError(
                f"{path.name}:{row.line}: column id: {name!r} is already the id of line {seen[name]}",
                help="give every run its own id",
            )
        seen[name] = row.line
    return rows
