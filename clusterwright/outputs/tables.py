"""CSV tables that spreadsheet programs open safely."""

import csv
import io
from collections.abc import Iterable, Sequence

#: A cell that starts with one of these may be taken for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe(text: str) -> str:
    """Return a text that no spreadsheet program takes for a formula: a leading apostrophe where it could.

    >>> safe("=1+1"), safe("node001")
    ("'=1+1", 'node001')
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a CSV table; None is an empty cell, numbers are plain, texts cannot become formulas."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return safe(value)
    return f"{value:.10g}"
