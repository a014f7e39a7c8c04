"""The bill's sheet of a workbook as a table, so that it is checked and shown as a CSV file is."""

import csv
import datetime as dt
import io
import zipfile
from pathlib import Path
from typing import Any

from clusterwright.blueprint.table import Table, table_of
from clusterwright.errors import InputError

SHEET = "Bill of materials"
#: Most bytes that a workbook may hold unpacked: a small file can unpack to more than fits into memory.
_MOST_BYTES = 200_000_000


def read_workbook(path: Path, *, what: str) -> Table:
    """Return the table of a workbook's sheet `Bill of materials`, or of its only sheet; line numbers are its rows.

    Formulas are texts that start with `=`: what they would give is not read.

    Raises:
        InputError: the file cannot be read, is no workbook, or has no such sheet.
    """
    import openpyxl  # noqa: PLC0415 - only where a workbook is read

    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        book = openpyxl.load_workbook(path) if unpacked <= _MOST_BYTES else None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", help=f"give a workbook of {what}") from None
    except Exception as error:  # noqa: BLE001 - whatever a damaged archive raises
        raise InputError(f"{path.name} is no workbook: {error}", help="save it as XLSX, or as CSV UTF-8") from None
    if book is None:
        raise InputError(f"{path.name} unpacks to {unpacked / 1e6:,.0f} MB", help="send the bill's sheet alone")
    if SHEET not in book.sheetnames and len(book.sheetnames) > 1:
        raise InputError(f"{path.name} has no sheet {SHEET!r}", help="keep the name of the bill's sheet")
    sheet = book[SHEET] if SHEET in book.sheetnames else book.worksheets[0]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    rows = [[_text(value) for value in row] for row in sheet.iter_rows(values_only=True)]
    # Cells below the title row's last one are no columns; sums and remarks below the table have no line number.
    width = max((index for index, text in enumerate(rows[0], start=1) if text), default=0) if rows else 0
    first = (
        next((index for index, title in enumerate(rows[0]) if title.casefold() in {"line", "part"}), 0) if rows else 0
    )
    for number, row in enumerate(rows):
        # A row without a line number is not part of the bill unless somebody wrote a quote beside it.
        kept = number == 0 or row[first] or _is_quoted(rows[0], row)
        writer.writerow(row[:width] if kept else [])
    return table_of(buffer.getvalue(), name=path.name, what=what)


def _is_quoted(titles: list[str], row: list[str]) -> bool:
    named = ("quote", "vendor", "lead time")
    return any(text and title.casefold().startswith(named) for title, text in zip(titles, row, strict=True))


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a cell holds
    if value is None:
        return ""
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:.15g}"
    return " ".join(str(value).split())
