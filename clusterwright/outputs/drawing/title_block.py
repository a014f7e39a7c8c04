"""The title block of a technical drawing: whose it is, its revision, date, scale and sheet."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from clusterwright.outputs.drawing import marks as drawing

_HEIGHT = 46.0
_MARGIN = 12.0
#: Widths of the fields after the first, which takes the rest.
_FIELDS = (("revision", 96.0), ("date", 96.0), ("scale", 176.0), ("sheet", 76.0))
_CAPTION, _VALUE = 10.0, 13.0
_REVISION_DIGITS = 8
#: Width of a character over the size of its font, at most.
_WIDE = 0.66


@dataclass(frozen=True, kw_only=True, slots=True)
class TitleBlock:
    """What the title block says.

    Attributes:
        project: name of the cluster; drawing: what is drawn.
        made_on: the day of the prices and facts that the plan was made with, so that the same plan gives the same file.
        scale: in words; sheet, sheets: number of this one, and how many there are.
    """

    project: str
    drawing: str
    made_on: dt.date
    scale: str = "not to scale"
    sheet: int = 1
    sheets: int = 1

    def on(self, sheet: int, sheets: int) -> "TitleBlock":
        """Return the block of one of several sheets."""
        return replace(self, sheet=sheet, sheets=sheets)


def sheet_svg(
    width: float, height: float, *, title: str, description: str, marks: Sequence[str], block: TitleBlock | None
) -> str:
    """Return an SVG document with its title block below the marks.

    The revision is a digest of what is drawn: it changes when the drawing does, and only then.

    Args:
        width: of the drawing.
        height: without the block.
        title: for readers that cannot see it.
        description: for them, too.
        marks: of the drawing.
        block: None for a drawing without one.
    """
    if block is None:
        return drawing.page(width, height, title=title, description=description, marks=list(marks))
    revision = sha256("\n".join(marks).encode()).hexdigest()[:_REVISION_DIGITS]
    framed = [*marks, *_block(width, height, block, revision)]
    return drawing.page(width, height + _HEIGHT + _MARGIN, title=title, description=description, marks=framed)


def _block(width: float, top: float, block: TitleBlock, revision: str) -> list[str]:
    values = {
        "revision": revision,
        "date": block.made_on.isoformat(),
        "scale": block.scale,
        "sheet": f"{block.sheet} of {block.sheets}",
    }
    first = width - 2 * _MARGIN - sum(each for _, each in _FIELDS)
    fields = (("project and drawing", first, f"{block.project}: {block.drawing}"),)
    marks, x = [], _MARGIN
    for caption, wide, value in (*fields, *((name, each, values[name]) for name, each in _FIELDS)):
        size = min(_VALUE, (wide - 16) / max(1, len(value)) / _WIDE)
        marks += [
            drawing.box(x, top, wide, _HEIGHT, fill=drawing.PAPER),
            drawing.text(x + 8, top + 15, caption, size=_CAPTION, fill="#52606d"),
            drawing.text(x + 8, top + 35, value, size=size, weight="bold"),
        ]
        x += wide
    return marks
