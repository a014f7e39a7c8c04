"""A table of cells whose colours tell gain from loss, for two inputs at once; every cell prints its number too."""

from collections.abc import Sequence
from html import escape

from clusterwright.outputs.drawing.charts import FONT, GAIN, INK, LOSS, WIDTH, opened, text, text_width

_CELL_HEIGHT, _TOP, _BELOW = 38.0, 30.0, 48.0
_STRONGEST = 0.75  # share of the full colour that the largest amount gets, so that black stays readable


def heat_map(
    *,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[tuple[float, str]]],
    row_title: str,
    column_title: str,
) -> str:
    """Return an SVG of a table: blue where the value is above 0, orange below, the stronger the further from it.

    Args:
        title: what is shown, for readers that cannot see it.
        rows: labels at the left, from top to bottom.
        columns: labels below, from left to right.
        cells: value and text of each cell by row.
        row_title: what the rows are, printed upright at the left.
        column_title: what the columns are, printed below.
    """
    left = 64.0 + max(text_width(label) for label in rows)
    width = (WIDTH - left - 10.0) / len(columns)
    height = _TOP + _CELL_HEIGHT * len(rows)
    largest = max((abs(value) for row in cells for value, _ in row), default=0.0) or 1.0
    middle = _TOP + _CELL_HEIGHT * len(rows) / 2
    parts = [
        opened(WIDTH, height + _BELOW, title),
        (
            f'<text transform="translate(16 {middle:.1f}) rotate(-90)" text-anchor="middle" {FONT} font-size="13" '
            f'fill="{INK}">{escape(row_title)}</text>'
        ),
    ]
    for index, (label, row) in enumerate(zip(rows, cells, strict=True)):
        top = _TOP + index * _CELL_HEIGHT
        parts.append(text(left - 10, top + _CELL_HEIGHT / 2 + 4, label, anchor="end", bold=True))
        for place, (value, words) in enumerate(row):
            at = left + place * width
            tip = f"{row_title} {label}, {column_title} {columns[place]}: {words}"
            parts.append(
                f'<rect x="{at:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_CELL_HEIGHT:g}" '
                f'fill="{_colour(value / largest)}" stroke="#fff"><title>{escape(tip)}</title></rect>'
            )
            parts.append(text(at + width / 2, top + _CELL_HEIGHT / 2 + 4, words, anchor="middle"))
    for place, label in enumerate(columns):
        parts.append(text(left + (place + 0.5) * width, height + 18, label, anchor="middle", bold=True))
    parts.append(text(left + width * len(columns) / 2, height + 40, column_title, anchor="middle", size=13))
    return "".join([*parts, "</svg>"])


def _colour(share: float) -> str:
    """Return white at 0, towards blue at 1 and towards orange at -1.

    >>> _colour(0.0), _colour(1.0)
    ('#ffffff', '#4095c5')
    """
    full = bytes.fromhex((GAIN if share > 0 else LOSS).removeprefix("#"))
    strength = min(abs(share), 1.0) * _STRONGEST
    return "#" + "".join(f"{round(255 + (part - 255) * strength):02x}" for part in full)
