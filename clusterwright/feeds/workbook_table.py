"""The bill's sheet of a workbook as a table, so that it is checked and shown as a CSV file is."""

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any

from clusterwright import input_files
from clusterwright.blueprint.reading.table import Table, table_of
from clusterwright.errors import InputError

SHEET = "Bill of materials"


def read_workbook(path: Path, *, what: str) -> Table:
    """Return the table of a workbook's sheet `Bill of materials`, or of its only sheet; line numbers are its rows.

    Formulas are texts that start with `=`: what they would give is not read.

    Raises:
        InputError: the file cannot be read, is no workbook, is too large, or has no such sheet.
    """
    advice = "save the bill's sheet alone as XLSX, or as CSV UTF-8"
    book = input_files.read_workbook(path, what=f"a workbook of {what}", advice=advice)
    if SHEET not in book.sheetnames and len(book.worksheets) != 1:
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
