"""The lines of a large offer file (CSV) that matter, taken out before the file is parsed.

An offer file of AWS has millions of rows of some ninety quoted columns, of which a few thousand are of use. Splitting a
row into its columns is what costs: lines are looked at whole first, and only those that hold one of the words that are
wanted are split. Where that cannot be done, because a cell holds a line break, all of the file is parsed.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.errors import InputError
from clusterwright.pricing.statements import exactly, literal, without_progress_bar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: No header of a price list is longer; a file without line breaks is none.
_HEADER_BYTES = 2**18
_LAST_BYTES = 2**17
_QUOTED = '"'
#: How AWS names a region at the start of a usage type; US East (N. Virginia) has no prefix.
REGION_PREFIX = "[A-Z]{2,4}[0-9]?-"


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """Return a column's name as CSV and JSON both give it: small letters and digits only.

    >>> plain_name("Pre Installed S/W"), plain_name("preInstalledSw")
    ('preinstalledsw', 'preinstalledsw')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def write_lines(
    document: Path,
    table: Path,
    *,
    first_line: int,
    cells: Sequence[str],
    endings: Sequence[str],
    columns: Mapping[str, bool],
    together: Sequence[str] = (),
) -> Path:
    """Write the rows of a CSV document that have one of some cells to a small table, and return the table.

    Args:
        document: the CSV file, with its header after some lines of metadata.
        table: where to; it gets the columns that are named, under their plain names, empty where the document has none.
        first_line: number of lines before the header.
        cells: a row is kept if one of its cells is one of these,
        endings: or one of these behind a region's short name (`USW2-`) or nothing.
        columns: plain names, and whether the document has to have them.
        together: columns of which it has to have all, or none.

    Raises:
        InputError: the document is empty, in another encoding, truncated, or lacks columns that it has to have.
    """
    header, is_quoted = _header(document, first_line)
    _check_end(document, header, is_quoted=is_quoted)
    found = {plain_name(name): name for name in reversed(header)}
    needed = {name for name, is_needed in columns.items() if is_needed}
    needed |= set(together) if any(name in found for name in together) else set()
    missing = sorted(needed - found.keys())
    if missing:
        raise _not_it(document, f"its header has no column {', '.join(missing)}")
    chosen = ", ".join(
        f"{_identifier(found[name])} as {name}" if name in found else f"'' as {name}" for name in columns
    )
    kept = table.with_name(table.name + ".lines")
    # No cell that is looked for is in the first column, so that the comma before it may be part of what is.
    opening = (f",{_QUOTED}" if plain_name(header[0]) == "sku" else _QUOTED) if is_quoted else ""
    pattern = _pattern(opening, cells, endings)
    with _connection() as connection:
        try:
            _run(connection, document, _lines_kept(document, kept, first_line, pattern))
            try:
                connection.execute(_rows_written(kept, table, header, chosen))
            except _wrong():
                # A cell with a line break makes two lines of one row.
                pattern = _pattern("", cells, endings)
                everything = _rows_written(document, table, header, chosen, pattern=pattern, first_line=first_line)
                _run(connection, document, everything)
        finally:
            kept.unlink(missing_ok=True)
    return table


def _pattern(opening: str, cells: Sequence[str], endings: Sequence[str]) -> str:
    """Return what lines are searched for; `opening` is what is before each cell, empty where that differs.

    Where all of it begins in one way the search leaps from one cell to the next, twice as fast.
    """
    before, after = (opening, _QUOTED) if opening else ('(?:^|[",])', '(?:[",]|$)')
    whole, ended = "|".join(map(re.escape, cells)), "|".join(map(re.escape, endings))
    return f"{before}(?:{whole}|(?:{REGION_PREFIX})?(?:{ended})){after}"


def _connection() -> "DuckDBPyConnection":
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with a store pay

    connection = duckdb.connect(config={"preserve_insertion_order": False})
    without_progress_bar(connection)
    return connection


def _wrong() -> tuple[type[Exception], ...]:
    import duckdb  # noqa: PLC0415

    return (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.BinderException)


def _run(connection: "DuckDBPyConnection", document: Path, text: str) -> None:
    import duckdb  # noqa: PLC0415

    try:
        connection.execute(text)
    except _wrong() as error:
        said = str(error)
        if "unicode" in said.lower() or "utf-8" in said.lower():
            raise _not_utf8(document) from None
        raise _not_it(document, said.splitlines()[0]) from None
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise InputError(f"{document.name} cannot be read: {str(error).splitlines()[0]}", help="make room") from None


def _lines_kept(document: Path, kept: Path, first_line: int, pattern: str) -> str:
    """Return the statement that copies lines with a match; a line is one column, cut at a byte that no text has."""
    lines = (
        f"read_csv({literal(exactly(document))}, columns = {{'line': 'varchar'}}, auto_detect = false, header = false, "
        f"delim = '\x01', quote = '', escape = '', strict_mode = false, skip = {first_line + 1})"
    )
    form = "(format csv, header false, delimiter '\x01', quote '', escape '')"
    matched = f"select line from {lines} where regexp_matches(line, {literal(pattern)})"  # noqa: S608 - quoted
    return f"copy ({matched}) to {literal(kept)} {form}"


def _rows_written(
    source: Path, table: Path, header: Sequence[str], chosen: str, *, pattern: str = "", first_line: int = -1
) -> str:
    """Return the statement that parses lines and writes the chosen columns of each."""
    names = ", ".join(f"{literal(name)}: 'varchar'" for name in _distinct(header))
    read = (
        f"read_csv({literal(exactly(source))}, columns = {{{names}}}, auto_detect = false, header = false, "
        f"delim = ',', quote = '\"', escape = '\"', skip = {first_line + 1})"
    )
    everywhere = " || ',' || ".join(f"coalesce({_identifier(name)}, '')" for name in _distinct(header))
    matched = f" where regexp_matches(',' || {everywhere} || ',', {literal(pattern)})" if pattern else ""
    return f"copy (select {chosen} from {read}{matched}) to {literal(table)} (format csv, header true)"  # noqa: S608


def _header(document: Path, first_line: int) -> tuple[list[str], bool]:
    """Return the names of the columns, each once, and whether they are in quotes."""
    try:
        with document.open("rb") as file:
            start = file.read(_HEADER_BYTES)
    except OSError as error:
        raise InputError(f"{document} cannot be read: {error.strerror}", help="give the file of a price list") from None
    if start.startswith(_UTF16) or b"\0" in start:
        raise _not_utf8(document)
    if not start.strip():
        raise InputError(f"{document.name} is empty", help="fetch it again; nothing was stored")
    lines = start.splitlines()
    if len(lines) <= first_line or (len(lines) == first_line + 1 and len(start) == _HEADER_BYTES):
        raise _not_it(document, f"it has no header after {first_line} lines")
    try:
        header = lines[first_line].decode("utf-8")
        return _distinct(next(csv.reader([header]))), header.lstrip().startswith(_QUOTED)
    except (UnicodeDecodeError, csv.Error, StopIteration):
        raise _not_it(document, "its header cannot be read") from None


def _check_end(document: Path, header: Sequence[str], *, is_quoted: bool) -> None:
    """Refuse a file whose last line breaks off: what is missing behind it nobody knows."""
    with document.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - _LAST_BYTES, 0))
        last = file.read().rstrip(b"\r\n").rpartition(b"\n")[2]
    try:
        cells = next(csv.reader([last.decode("utf-8")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        cells = []
    if len(cells) != len(header) or (is_quoted and not last.endswith(_QUOTED.encode())):
        said = f"has {len(cells)} of {len(header)} columns" if 0 < len(cells) < len(header) else "is not whole"
        raise InputError(
            f"{document.name} breaks off: its last line {said}",
            help="it may be truncated: fetch it again; nothing was stored",
        )


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none is twice, as DuckDB tells columns apart: without regard to case."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        number = seen[name.lower()] = seen.get(name.lower(), 0) + 1
        found.append(name if number == 1 else f"{name}_{number}")
    return found


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _not_utf8(document: Path) -> InputError:
    return InputError(
        f"{document.name} is not UTF-8",
        help="save it as CSV UTF-8, for example: iconv -f UTF-16 -t UTF-8 (or -f WINDOWS-1252); nothing was stored",
    )


def _not_it(document: Path, said: str) -> InputError:
    return InputError(
        f"{document.name} is not what aws-offer gives: {said}",
        help="nothing was stored; if the provider changed the format, the rule has to follow",
    )
