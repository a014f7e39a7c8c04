"""Lists of quotes as people keep them: a CSV file with a price per line, checked line by line before it is stored."""

import csv
import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clusterwright.blueprint import names
from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.input_files import read_text
from clusterwright.pricing.ingest import Document, Ingested, ingest
from clusterwright.pricing.records import TERMS
from clusterwright.pricing.store import PriceStore

RULE = "pricing/feeds/quotes.sql"
FEED = "quotes"
REQUIRED = ("sku", "term", "charge", "unit", "amount", "effective_from")
OPTIONAL = (
    "provider",
    "region",
    "zone",
    "gpu",
    "gpu_count",
    "payment",
    "tier_start",
    "currency",
    "effective_to",
    "locator",
    "confidence",
    "note",
)
WORDS = {
    "term": TERMS,
    "charge": ("hourly", "monthly", "once", "metered"),
    "unit": ("node", "each", "GB", "GiB", "GPU", "IP", "kWh"),
    "confidence": ("high", "medium", "low", ""),
    "payment": ("", "no_upfront", "partial_upfront", "all_upfront"),
}
NUMBERS = ("amount", "gpu_count", "tier_start")
DAYS = ("effective_from", "effective_to")
#: No list that people keep is larger: it is held in memory.
MOST_BYTES = 64_000_000
#: Errors reported at once; a file of another kind has one in every line.
MOST_ERRORS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotes:
    """The lines of a list of quotes, each with its line number as `line`; left_open: lines that nobody filled in."""

    path: Path
    rows: tuple[dict[str, str], ...]
    left_open: int = 0


def read_quotes(path: Path) -> Quotes:
    """Return the lines of a list of quotes, without those that nobody filled in: no amount and no day.

    Raises:
        InputError: the file cannot be read, lacks columns, or has wrong cells; every one is named by line and column.
    """
    text = read_text(
        path, most_bytes=MOST_BYTES, what="a list of quotes", advice="give a CSV file (CSV UTF-8) of quotes"
    )
    reader = csv.DictReader(text.splitlines())
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise _no_table(path, 1, error) from None
    _check_header(path, header)
    reader.fieldnames = header
    rows, wrong, left_open = [], [], 0
    for cells in _lines(reader, path):
        line = reader.line_num
        if None in cells or None in cells.values():
            wrong.append(f"{path.name}:{line}: {len(header)} columns are needed, the line has more or fewer")
            continue
        row = {name: (value or "").strip() for name, value in cells.items()}
        if not any(row.values()):
            continue
        if not row["amount"] and not row["effective_from"]:
            left_open += 1
            continue
        wrong += [f"{path.name}:{line}: column {name}: {said}" for name, said in _wrong_cells(row)]
        rows.append({**dict.fromkeys(OPTIONAL, ""), **row, "line": str(line)})
    if wrong:
        more = [f"and {len(wrong) - MOST_ERRORS} more"] if len(wrong) > MOST_ERRORS else []
        raise InputError("\n".join([*wrong[:MOST_ERRORS], *more]), help="correct these lines; nothing was stored")
    if not rows:
        raise InputError(f"{path.name} has no quote", help="write one price per line below the header")
    return Quotes(path=path, rows=tuple(rows), left_open=left_open)


def _lines(reader: "csv.DictReader[str]", path: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from reader
    except csv.Error as error:
        raise _no_table(path, reader.reader.line_num, error) from None


def _no_table(path: Path, line: int, error: csv.Error) -> InputError:
    return InputError(f"{path.name}:{line}: {error}", help="save it as CSV UTF-8 in the spreadsheet program")


def store_quotes(store: PriceStore, quotes: Quotes, *, source: str, at: dt.datetime, is_hand_kept: bool) -> Ingested:
    """Read a list of quotes into the store.

    Args:
        store: open for writing.
        quotes: the list.
        source: who gave the quotes.
        at: when they were seen.
        is_hand_kept: a list that people keep, refused if it only repeats an older one.

    Raises:
        StoreError: the store cannot be written.
    """
    document = Document(
        paths=(quotes.path,),
        feed=f"{FEED}:{source}",
        source=source,
        url=f"file:{quotes.path.name}",
        fetched_at=at,
        is_hand_kept=is_hand_kept,
    )
    # Without the number of accelerators a price of one could pass for that of its node.
    known = {f"{entry.cloud}/{entry.id}": str(entry.gpus) for entry in load().instances.values() if entry.gpus}
    rows = [row | {"gpu_count": row["gpu_count"] or known.get(row["sku"], "")} for row in quotes.rows]
    return ingest(store, document, rule=RULE, parameters={"quotes": rows})


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise InputError(f"{path.name} is empty", help=f"its header needs {', '.join(REQUIRED)}")
    known = (*REQUIRED, *OPTIONAL)
    wrong = [f"{path.name}:1: there is no column {name!r}{_close(name, known)}" for name in header if name not in known]
    wrong += [f"{path.name}:1: the column {name} is missing" for name in REQUIRED if name not in header]
    wrong += [
        f"{path.name}:1: the column {name} stands twice" for name in sorted(set(header)) if header.count(name) > 1
    ]
    if wrong:
        raise InputError(
            "\n".join(wrong), help=f"needed: {', '.join(REQUIRED)}; possible besides: {', '.join(OPTIONAL)}"
        )


def _wrong_cells(row: dict[str, str]) -> list[tuple[str, str]]:
    found = [(name, "is empty") for name in REQUIRED if not row[name]]
    found += [(name, said) for name, value in row.items() if (said := not_plain(value))]
    for name, words in WORDS.items():
        value = row.get(name, "")
        if value and value not in words:
            listed = ", ".join(word for word in words if word)
            found.append((name, f"{value!r} is none of {listed}{_close(value, words)}"))
    found += [(name, said) for name in NUMBERS if (said := _no_number(row.get(name, "")))]
    found += [(name, said) for name in DAYS if (said := _no_day(row.get(name, "")))]
    return found


def not_plain(text: str) -> str:
    """Return what is wrong with words that would control the terminal on which they are shown; empty if nothing is."""
    try:
        names.plain(text)
    except ValueError as error:
        return str(error)
    return ""


def _no_number(text: str) -> str:
    if not text:
        return ""
    try:
        value = float(text)
    except ValueError:
        return f"{text!r} is not a number; write it as 329580 or 0.066, without unit or thousands separator"
    return "" if math.isfinite(value) and value >= 0 else f"{text} is impossible"


def _no_day(text: str) -> str:
    if not text:
        return ""
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return f"{text!r} is not a day; write it as 2026-10-01"
    return ""


def _close(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, [word for word in known if word], n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
