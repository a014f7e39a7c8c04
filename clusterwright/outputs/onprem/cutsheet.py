"""What a technician lays cables by: the list from port to port, as CSV and workbook, and the labels to print."""

import datetime as dt
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from clusterwright.facility.cabling.cables import Cable
from clusterwright.outputs.tables import csv_text

#: Links that a workbook is written for; a list of more is worked through in another program.
MOST_IN_WORKBOOK = 50_000
#: Letters on a line of a wrap-around label: 25 mm at 6 points.
LABEL_WIDTH = 24
_LABEL_LINES = 5
_COLUMNS = (
    ("cable", 10),
    ("network", 12),
    ("tier", 16),
    ("from_rack", 10),
    ("from_u", 8),
    ("from_device", 16),
    ("from_port", 9),
    ("to_rack", 9),
    ("to_u", 6),
    ("to_device", 16),
    ("to_port", 9),
    ("kind", 11),
    ("part", 16),
    ("from_transceiver", 19),
    ("to_transceiver", 19),
    ("length_m", 10),
    ("label", 44),
)
#: Empty columns of the workbook, for pen or keyboard.
_TO_FILL = (("laid", 8), ("tested", 8), ("by", 12))
#: The sheet says the network, and the label is in labels.csv.
_NOT_IN_WORKBOOK = ("network", "label")
_NUMBER = re.compile(r"(\d+)")

Row = tuple[str | float, ...]


def in_order(cables: Iterable[Cable]) -> list[Cable]:
    """Return cables in the order they are laid in: network by network, rack by rack, from the lowest unit up.

    Names count as people count: port 10 comes after port 9.
    """
    return sorted(
        cables,
        key=lambda one: (
            one.network,
            _natural(one.from_rack),
            one.from_u,
            one.from_device,
            _natural(one.from_port),
            one.id,
        ),
    )


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in _NUMBER.split(name) if part)


def cables_csv(ordered: Sequence[Cable]) -> str:
    """Return the cable list: one row per link, with both ends, kind, length and label."""
    return csv_text([name for name, _ in _COLUMNS], map(_row, ordered))


def _row(cable: Cable) -> Row:
    return (
        cable.id,
        cable.network,
        cable.tier,
        cable.from_rack,
        cable.from_u,
        cable.from_device,
        cable.from_port,
        cable.to_rack,
        cable.to_u,
        cable.to_device,
        cable.to_port,
        cable.kind,
        cable.sku,
        cable.from_optic,
        cable.to_optic,
        cable.length_m,
        cable.label,
    )


def labels_csv(ordered: Sequence[Cable]) -> str:
    """Return the labels to print, two per link: its number and length, the end it hangs on, and the far end."""
    header = ("cable", "end", *(f"line_{number + 1}" for number in range(_LABEL_LINES)))
    return csv_text(header, (row for cable in ordered for row in _labels(cable)))


def _labels(cable: Cable) -> Iterator[tuple[str, ...]]:
    here = (f"{cable.from_rack} U{cable.from_u:02d}", f"{cable.from_device}:{cable.from_port}")
    there = (f"{cable.to_rack} U{cable.to_u:02d}", f"{cable.to_device}:{cable.to_port}")
    for end, near, far in (("from", here, there), ("to", there, here)):
        lines = [f"{cable.id} {cable.length_m:g} m", *_wrapped(near), *_wrapped(far)]
        yield (cable.id, end, *lines, *[""] * (_LABEL_LINES - len(lines)))


def _wrapped(end: tuple[str, str]) -> list[str]:
    """Return an end on one line of a label, or its place and its port on two where one is too short for both."""
    whole = " ".join(end)
    return [whole] if len(whole) <= LABEL_WIDTH else list(end)


def cables_xlsx(ordered: Sequence[Cable], *, made_on: dt.date) -> bytes:
    """Return the cable list as a workbook: a sheet per network, with columns to tick off.

    Args:
        ordered: at most `MOST_IN_WORKBOOK` cables.
        made_on: written into the file's properties, so that the same plan gives the same bytes.
    """
    import xlsxwriter  # noqa: PLC0415 - kept out of the start-up time

    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(
        buffer,
        {"in_memory": True, "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False},
    )
    made = dt.datetime(made_on.year, made_on.month, made_on.day, tzinfo=dt.UTC).replace(tzinfo=None)
    book.set_properties({"title": "Cables", "author": "Clusterwright", "created": made})
    head = book.add_format({"bold": True, "bg_color": "#1f2933", "font_color": "#ffffff"})
    fill = book.add_format({"bg_color": "#fff7d6", "border": 1, "border_color": "#e4e7eb"})
    middle = book.add_format({"align": "center"})
    kept = [index for index, (name, _) in enumerate(_COLUMNS) if name not in _NOT_IN_WORKBOOK]
    columns = [*(_COLUMNS[index] for index in kept), *_TO_FILL]
    for network in dict.fromkeys(cable.network for cable in ordered):
        own = [cable for cable in ordered if cable.network == network]
        sheet = book.add_worksheet(network)
        for column, (title, width) in enumerate(columns):
            sheet.set_column(column, column, width)
            sheet.write_string(0, column, title.replace("_", " "), head)
        for number, cable in enumerate(own, start=1):
            values = _row(cable)
            for column, index in enumerate(kept):
                value = values[index]
                if isinstance(value, str):
                    sheet.write_string(number, column, value)
                else:
                    sheet.write_number(number, column, value, middle)
            for column in range(len(kept), len(columns)):
                sheet.write_blank(number, column, None, fill)
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, len(own), len(columns) - 1)
        sheet.set_landscape()
        sheet.set_paper(8)  # A3
        sheet.fit_to_pages(1, 0)
        sheet.repeat_rows(0)
        sheet.set_footer("&L&A&R&P of &N")
    book.close()
    return buffer.getvalue()
