"""A bill of materials as a vendor sends it back: its quote columns, read and checked cell by cell.

A quote is used or refused, never passed over: what is wrong with a line is reported with its place, all lines at once.
"""

import csv
import datetime as dt
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clusterwright import input_files
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.reading.table import Row, Table, is_formula, read_table, table_of
from clusterwright.errors import InputError
from clusterwright.facility.bill import BillLine
from clusterwright.feeds.exchange_rates import Rate, day, number
from clusterwright.pricing.quoted import QuotedPrice

#: Columns of the bill that are read, by their titles in the workbook.
BILL_COLUMNS = {"Line": "line", "Part": "part", "Quantity": "quantity", "Unit": "unit"}
QUOTE_COLUMNS = {
    "Quote each": "quote_unit_price",
    "Quote currency": "quote_currency",
    "Vendor": "quote_vendor",
    "Lead time, weeks": "quote_lead_time_weeks",
    "Quoted on": "quoted_on",
}
#: Columns of the bill that a vendor need not keep.
OTHER_COLUMNS = {
    "Item": "item",
    "Category": "category",
    "USD each": "usd_each",
    "USD total": "usd_total",
    "Price is": "price_basis",
    "Price date": "price_date",
    "Source of the price": "price_source",
    "Note": "note",
    "Maker's number": "maker_part_number",
    "Quote length, m": "quote_length_m",
}
#: Length of the cable that a line quotes, in a column that a vendor adds; empty for a part that costs the same always.
LENGTH = "quote_length_m"
PRICE, CURRENCY, VENDOR, LEAD_TIME, QUOTED_ON = QUOTE_COLUMNS.values()
_NEEDED = ("part", "quantity", "unit", PRICE, CURRENCY, VENDOR, QUOTED_ON)
_TITLES = {title.casefold(): name for title, name in (BILL_COLUMNS | QUOTE_COLUMNS | OTHER_COLUMNS).items()}
_NAMES = frozenset(_TITLES.values())
_WHAT = "quotes"
#: The price basis of lines that money is not counted with.
TO_BE_QUOTED = "to be quoted"
_SHEET = "Bill of materials"


@dataclass(frozen=True, kw_only=True, slots=True)
class VendorQuotes:
    """The quotes of a file.

    Attributes:
        table: where they are.
        prices: one per quoted part; problems: what is wrong with lines by themselves.
        rows: the quoted lines.
    """

    table: Table
    prices: tuple[QuotedPrice, ...]
    problems: tuple[Problem, ...]
    rows: tuple[Row, ...]

    def check(self, lines: Sequence[BillLine], usd_of: Mapping[str, float | None]) -> None:
        """Hold the lines against the bill that they price.

        Args:
            lines: of the bill.
            usd_of: the bill's prices by part; one typed over in a line that is not quoted would be passed over.

        Raises:
            BlueprintError: everything that is wrong with the file, line by line.
        """
        problems = [*self.problems, *(one for row in self.rows for one in _against(row, lines))]
        problems += _lengths_left_out(self.rows, lines)
        quoted = {row.text("part") for row in self.rows}
        problems += [
            one for row in self.table.rows if row.text("part") not in quoted for one in _typed_over(row, usd_of)
        ]
        if problems:
            raise self.table.error(problems)


def read_vendor_quotes(path: Path, rates: Mapping[str, Rate]) -> VendorQuotes:
    """Return the quotes of a bill of materials that came back, as CSV or as a workbook.

    Lines whose quote columns are all empty are not quoted. What is wrong with a quoted line is in `problems`.

    Args:
        path: of the file.
        rates: by currency; USD needs none.

    Raises:
        InputError: the file cannot be read; BlueprintError: its columns are wrong, or nothing is quoted.
    """
    raw = _bill_table(path, what=_WHAT) if path.suffix.lower() == ".xlsx" else read_table(path, what=_WHAT)
    table = _named(raw)
    rows = tuple(row for row in table.rows if any(row.text(name) for name in QUOTE_COLUMNS.values()))
    if not rows and not table.problems:
        raise InputError(
            f"{table.name} has no quote: the columns {', '.join(QUOTE_COLUMNS.values())} are empty in every line",
            help=f"write the price of a unit into {PRICE}",
        )
    problems = [*table.problems, *(one for row in rows for one in _wrong(row, rates)), *_twice(rows), *_mixed(rows)]
    broken = {problem.position.line for problem in problems if problem.position}
    prices: dict[tuple[str, float | None], QuotedPrice] = {}
    for row in rows:
        if row.line not in broken:
            price = _price(row, table.name, rates)
            first = prices.setdefault((price.sku, price.length_m), price)
            if (first.price, first.currency) != (price.price, price.currency):
                here, there = f"{_words(price)} here", f"{_words(first)} in line {first.line}"
                said = f"{_part_words(price)} is quoted at {here} and at {there}"
                problems.append(_problem(row, PRICE, said, "a part has one price; the same in all of its lines"))
    return VendorQuotes(table=table, prices=tuple(prices.values()), problems=tuple(problems), rows=rows)


def _part_words(price: QuotedPrice) -> str:
    return price.sku if price.length_m is None else f"{price.sku} of {price.length_m:g} m"


def _length(row: Row) -> float | None:
    """Return the length in m that a line quotes; None where it names none, or nothing that is one."""
    return number(row.text(LENGTH)) if LENGTH in row.cells and row.text(LENGTH) else None


def _mixed(rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield lines of a part that is quoted by length elsewhere, and has none here."""
    by_length = {row.text("part") for row in rows if _length(row) is not None}
    for row in rows:
        if row.text("part") in by_length and LENGTH in row.cells and not row.text(LENGTH):
            said = f"{row.text('part')} is quoted by length in other lines, and this one names none"
            yield _problem(row, LENGTH, said, "write the metres, or quote the part once for all lengths")


def _lengths_left_out(rows: Sequence[Row], lines: Sequence[BillLine]) -> Iterator[Problem]:
    """Yield at its first line what a part that is quoted by length lacks."""
    quoted: dict[str, dict[float, Row]] = {}
    for row in rows:
        if (length := _length(row)) is not None:
            quoted.setdefault(row.text("part"), {}).setdefault(length, row)
    for part, own in quoted.items():
        needed = {length for line in lines if line.sku == part for length, _ in line.lengths}
        missing = sorted(needed - own.keys())
        if missing:
            listed = ", ".join(f"{length:g} m" for length in missing)
            said = f"{part} is quoted by length, and {listed} of the bill is not"
            yield _problem(next(iter(own.values())), LENGTH, said, "ask for a price of every length of the bill's note")


def _words(price: QuotedPrice) -> str:
    return f"{price.price:,.2f} {price.currency}"


def _named(raw: Table) -> Table:
    """Return the table with the columns' names; titles of the workbook are understood too."""
    names = [_TITLES.get(cell.text.casefold(), cell.text) for cell in raw.header]
    problems = []
    for cell, name in zip(raw.header, names, strict=True):
        if name not in _NAMES:
            said = f"there is no column {cell.text!r}{_close(cell.text, [*_NAMES])}"
            problems.append(
                Problem(path=(), message=said, help="remove it, so that nothing is passed over", position=cell.position)
            )
        elif names.count(name) > 1:
            problems.append(
                Problem(path=(), message=f"the column {name} stands twice", help="keep one", position=cell.position)
            )
    for name in _NEEDED:
        if name not in names:
            message = f"the column {name} is missing"
            place = raw.header[0].position
            problems.append(Problem(path=(), message=message, help="keep the bill's columns", position=place))
    if problems:
        raise raw.error(problems)
    rows = tuple(Row(line=row.line, cells=dict(zip(names, row.cells.values(), strict=True))) for row in raw.rows)
    return Table(name=raw.name, text=raw.text, header=raw.header, rows=rows, problems=raw.problems)


def _problem(row: Row, column: str, message: str, help_: str) -> Problem:
    return Problem(path=(), message=message, help=help_, position=row.cells[column].position)


def _wrong(row: Row, rates: Mapping[str, Rate]) -> Iterator[Problem]:
    """Yield what is wrong with a quoted line by itself."""
    for name in (*BILL_COLUMNS.values(), *QUOTE_COLUMNS.values()):
        if is_formula(row.text(name)):
            yield _problem(
                row, name, f"{row.text(name)[:40]!r} is a formula", "type the value itself; formulas are not run"
            )
    if not row.text("part"):
        yield _problem(row, "part", "a quote without a part", "keep the part's name as the bill has it")
    yield from _wrong_price(row)
    currency = row.text(CURRENCY)
    if not currency:
        yield _problem(row, CURRENCY, "the currency is missing", "write USD, EUR, …")
    elif re.fullmatch("[A-Z]{3}", currency) is None:
        yield _problem(row, CURRENCY, f"{currency!r} is no currency code", "three capital letters: USD, EUR, …")
    elif currency != "USD" and currency not in rates:
        yield _problem(
            row, CURRENCY, f"{currency} has no dated rate", f"add --rate {currency}=1.08@2026-11-20 with the day's rate"
        )
    if not row.text(VENDOR):
        yield _problem(row, VENDOR, "the vendor is missing", "a price is traced to who gave it")
    if day(row.text(QUOTED_ON)) is None:
        said = f"{row.text(QUOTED_ON)!r} is no day" if row.text(QUOTED_ON) else "the day of the quote is missing"
        yield _problem(row, QUOTED_ON, said, "write it as 2026-11-20")
    yield from _wrong_length(row)
    weeks = row.text(LEAD_TIME)
    if weeks and ((value := number(weeks)) is None or value < 0):
        yield _problem(row, LEAD_TIME, f"{weeks!r} is no number of weeks", "write it as 12, or leave it empty")


def _wrong_length(row: Row) -> Iterator[Problem]:
    text = row.text(LENGTH) if LENGTH in row.cells else ""
    if text and ((metres := number(text)) is None or metres <= 0):
        yield _problem(row, LENGTH, f"{text!r} is no length", "write metres, such as 1.5, or leave it empty")


def _wrong_price(row: Row) -> Iterator[Problem]:
    text = row.text(PRICE)
    price = number(text)
    if not text:
        yield _problem(
            row, PRICE, "the price is missing, other columns of the quote are filled", "write it, or clear them"
        )
    elif price is None and not is_formula(text):
        yield _problem(
            row,
            PRICE,
            f"{text!r} is not a number",
            "write it as 329580 or 0.66, without currency or thousands separator",
        )
    elif price is not None and price <= 0:
        yield _problem(row, PRICE, f"{text} is no price", "leave it empty if it is not known; nothing is free")


def _twice(rows: Sequence[Row]) -> Iterator[Problem]:
    seen: dict[tuple[str, float | None], int] = {}
    for row in rows:
        of_bill = row.text("line")
        if of_bill and (first := seen.setdefault((of_bill, _length(row)), row.line)) != row.line:
            yield _problem(
                row,
                "line",
                f"line {of_bill} of the bill is quoted in line {first} already",
                "keep one of the two",
            )


def _against(row: Row, lines: Sequence[BillLine]) -> Iterator[Problem]:
    """Yield where a quoted line differs from the bill's."""
    part = row.text("part")
    same = [(number, line) for number, line in enumerate(lines, start=1) if line.sku == part]
    if part and not same and row.text("price_basis") == TO_BE_QUOTED:
        yield _problem(
            row,
            "part",
            f"money is not counted with {part!r}: it is a line to be quoted",
            "put its price into tco.owner (freight, installation, software, support), and leave its quote empty here",
        )
        return
    if part and not same:
        known = list(dict.fromkeys(line.sku for line in lines))
        yield _problem(
            row,
            "part",
            f"the bill has no part {part!r}{_close(part, known)}",
            "keep the part's name as the bill has it",
        )
        return
    # A bill that has a line for each length numbers its lines otherwise than the plan.
    numbered = "" if LENGTH in row.cells else row.text("line")
    own = [line for number, line in same if numbered in {"", str(number)}] or [line for _, line in same]
    if not own:
        return
    unit = row.text("unit")
    if unit not in {line.unit for line in own}:
        yield _problem(
            row, "unit", f"the price is per {unit!r}, the bill counts {own[0].unit}", "quote the bill's unit"
        )
    quantity, length = number(row.text("quantity")), _length(row)
    if length is not None:
        yield from _against_lengths(row, length, quantity, [line for _, line in same])
    elif quantity not in {line.quantity for line in own}:
        counted = " or ".join(f"{line.quantity:,g}" for line in own)
        yield _problem(
            row,
            "quantity",
            f"the quote is for {row.text('quantity') or 'no number'} of {part}, the bill has {counted}",
            "ask for a quote of the bill as it is now; if prices changed the size, hold it by min_nodes, max_nodes",
        )


def _against_lengths(row: Row, length: float, quantity: float | None, same: Sequence[BillLine]) -> Iterator[Problem]:
    """Yield where a line of one length differs from the bill's lengths."""
    part = row.text("part")
    known = sorted({metres for line in same for metres, _ in line.lengths})
    if length not in known:
        listed = ", ".join(f"{metres:g}" for metres in known)
        said = f"the bill has {part} of {listed} m" if known else f"{part} has no length in the bill"
        advice = "quote these lengths" if known else "leave the length empty"
        yield _problem(row, LENGTH, f"{said}, not of {length:g} m" if known else said, advice)
        return
    counts = {count for line in same for metres, count in line.lengths if metres == length}
    if quantity not in counts:
        counted = " or ".join(f"{count:,}" for count in sorted(counts)) or "none"
        said = f"the quote is for {row.text('quantity') or 'no number'} of {length:g} m, the bill has {counted}"
        yield _problem(row, "quantity", said, "the note of the bill's line counts the cables of each length")


def _typed_over(row: Row, usd_of: Mapping[str, float | None]) -> Iterator[Problem]:
    """Yield that somebody wrote a price into the column of the prices we had."""
    text, part = row.text("usd_each"), row.text("part")
    if not text or part not in usd_of:
        return
    usd, known = number(text), usd_of[part]
    if usd is None or known is None or not math.isclose(usd, known, rel_tol=1e-6):
        was = "unknown" if known is None else f"{known:,.10g}"
        yield _problem(
            row,
            "usd_each",
            f"{text} is not the price that the bill has ({was}); this column is not read",
            f"write quotes into {PRICE}, and leave usd_each as it was or empty",
        )


def _price(row: Row, name: str, rates: Mapping[str, Rate]) -> QuotedPrice:
    price, currency = float(row.text(PRICE)), row.text(CURRENCY)
    rate = Rate(usd=1.0, day="") if currency == "USD" else rates[currency]
    return QuotedPrice(
        sku=row.text("part"),
        unit=row.text("unit"),
        usd=price * rate.usd,
        price=price,
        currency=currency,
        usd_per_currency=rate.usd,
        rate_on=rate.day,
        vendor=row.text(VENDOR),
        quoted_on=row.text(QUOTED_ON),
        lead_time_weeks=number(row.text(LEAD_TIME)),
        file=name,
        line=row.line,
        length_m=_length(row),
    )


def _close(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _bill_table(path: Path, *, what: str) -> Table:
    """Return the table of a workbook's sheet `Bill of materials`, or of its only sheet; line numbers are its rows.

    Formulas are texts that start with `=`: what they would give is not read.

    Raises:
        InputError: the file cannot be read, is no workbook, is too large, or has no such sheet.
    """
    advice = "save the bill's sheet alone as XLSX, or as CSV UTF-8"
    book = input_files.read_workbook(path, what=f"a workbook of {what}", advice=advice)
    if _SHEET not in book.sheetnames and len(book.worksheets) != 1:
        raise InputError(f"{path.name} has no sheet {_SHEET!r}", help="keep the name of the bill's sheet")
    sheet = book[_SHEET] if _SHEET in book.sheetnames else book.worksheets[0]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    rows = [[_text(value) for value in row] for row in sheet.iter_rows(values_only=True)]
    # Cells below the title row's last one are no columns; sums and remarks below the table have no line number.
    width = max((index for index, text in enumerate(rows[0], start=1) if text), default=0) if rows else 0
    first = (
        next((index for index, title in enumerate(rows[0]) if title.casefold() in {"line", "part"}), 0) if rows else 0
    )
    for index, row in enumerate(rows):
        # A row without a line number is not part of the bill unless somebody wrote a quote beside it.
        kept = index == 0 or row[first] or _is_quoted(rows[0], row)
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
