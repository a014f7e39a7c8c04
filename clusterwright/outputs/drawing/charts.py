"""What charts are made of: records of what to draw, ticks, the width of text, and SVG marks.

Colours are those of Okabe and Ito, distinguished by colour-blind readers; no chart relies on colour alone: series have
their own dashes and are labelled where they end, and every mark has a tooltip (`<title>`). No scripts, no fonts.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
#: Gain is blue, loss orange, in every chart: distinguished by colour-blind readers.
GAIN, LOSS = PALETTE[:2]
GREY = "#8A94A0"
INK = "#1f2933"
GRID = "#e4e7eb"
WIDTH = 960.0
FONT = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"'
_NARROW, _BROAD = frozenset("fijlrt.,:;'|!()[] "), frozenset("mwMW@%—…")


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One line: name, points (x, y) from left to right, colour, and where known a band (x, low, high).

    Attributes:
        step: hold each value until the next point (prices) instead of joining points.
        dash: which of the patterns the line has; by its place among the lines if None.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    colour: str
    band: tuple[tuple[float, float, float], ...] = ()
    step: bool = False
    dash: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A point to look at, with a label: for example where two lines cross."""

    x: float
    y: float
    label: str
    colour: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A value of the upright axis that is drawn across, for example a goal."""

    y: float
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """An axis: title with unit, ticks as (value, label), ends, and whether it is logarithmic."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies between the ends, 0 to 1."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / max(self.high - self.low, 1e-12)


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A part of a stacked bar.

    Attributes:
        size: in the chart's unit; negative is to the left of zero.
        text: for the tooltip; inside: printed in the part if there is room.
    """

    name: str
    size: float
    text: str
    colour: str
    inside: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A stacked bar: label at the left, parts, text behind it.

    Attributes:
        limit: where a line is that the bar should stay below.
        net: where a mark shows the sum of a bar with negative parts.
    """

    label: str
    segments: tuple[Segment, ...]
    text: str
    limit: float | None = None
    net: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """What a result becomes with one input at its low and at its high end, and these ends as text."""

    label: str
    low: float
    high: float
    low_text: str
    high_text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A rectangle on the drawing, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Return whether two rectangles share any area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, point: tuple[float, float]) -> bool:
        """Return whether a point lies in the rectangle or on its edge."""
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def inside(self, other: "Box") -> bool:
        """Return whether this rectangle lies wholly in another."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


def nice_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return round tick values (1, 2 or 5 times a power of ten apart) that cover a range.

    >>> nice_ticks(0, 36)
    (0.0, 10.0, 20.0, 30.0, 40.0)
    """
    largest = max(abs(low), abs(high))
    span = high - low if high - low > max(1e-4 * largest, 1e-9) else max(largest, 1.0)
    raw = span / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if raw <= factor * magnitude * (1 + 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return tuple(round(index * step, 12) for index in range(first, max(last, first + 1) + 1))


def logarithmic_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return 1, 2 and 5 times powers of ten that cover a range above 0.

    >>> logarithmic_ticks(3, 30)
    (2.0, 5.0, 10.0, 20.0, 50.0)
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    values = [round(factor * 10.0**power, 12) for power in powers for factor in (1, 2, 5)]
    first = max(index for index, value in enumerate(values) if value <= low)
    last = min(index for index, value in enumerate(values) if value >= high and index > first)
    return tuple(values[first : last + 1])


def logarithmic_axis(title: str, values: Collection[float]) -> Axis:
    """Return a logarithmic axis whose ticks cover values above 0.

    >>> axis = logarithmic_axis("nodes", [3.0, 30.0])
    >>> axis.low, axis.high, axis.ticks[0]
    (2.0, 50.0, (2.0, '2'))
    """
    ticks = logarithmic_ticks(min(values), max(values))
    return Axis(title=title, ticks=labelled(ticks), low=ticks[0], high=ticks[-1], logarithmic=True)


def labelled(ticks: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Return ticks with their values as labels."""
    return tuple((tick, f"{tick:,g}") for tick in ticks)


def text_width(content: str, *, size: float = 12, bold: bool = False) -> float:
    """Return a width that a text does not exceed in the usual sans-serif fonts, in the drawing's units."""
    ems = sum(
        0.42 if letter in _NARROW else 1.0 if letter in _BROAD else 0.72 if letter.isupper() else 0.64
        for letter in content
    )
    return ems * size * (1.12 if bold else 1.0)


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Return positions close to the wanted ones, in their order, at least a gap apart and within the ends.

    >>> spread([10, 12, 99], gap=5, low=0, high=100)
    [10, 15, 99]
    >>> spread([98, 99], gap=5, low=0, high=100)
    [95, 100]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = [0.0] * len(wanted)
    floor = low
    for index in order:
        placed[index] = max(wanted[index], floor)
        floor = placed[index] + gap
    ceiling = high
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    return placed


def opened(width: float, height: float, title: str) -> str:
    """Return the start of a drawing; `</svg>` ends it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}"><title>{escape(title)}</title>'
    )


def text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    size: float = 12,
    bold: bool = False,
    colour: str = INK,
    halo: bool = False,
) -> str:
    """Return a text; `anchor` is `start`, `middle` or `end`, `y` its base line; a halo keeps it readable over lines."""
    around = ' stroke="#fff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {FONT} font-size="{size:g}" fill="{colour}" '
        f'font-weight="{600 if bold else 400}"{around}>{escape(content)}</text>'
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, stroke: str = GRID, width: float = 1.0, dash: str = "", tip: str = ""
) -> str:
    """Return a straight line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width:g}"'
        f"{dashes}>{f'<title>{escape(tip)}</title>' if tip else ''}</line>"
    )


def overhang(axis: Axis) -> float:
    """Return the room that the outermost labels of an axis need beyond the ends of the plot."""
    return 4.0 + max((text_width(label) / 2 for _, label in axis.ticks), default=0.0)


def across(axis: Axis, *, left: float, width: float, top: float, height: float) -> list[str]:
    """Return an axis along the bottom of a plot: upright grid lines, the labels that have room, and the title."""
    parts, free_from = [], -math.inf
    for value, label in axis.ticks:
        at, half = left + axis.share(value) * width, text_width(label) / 2
        parts.append(line(at, top, at, top + height))
        if at - half >= free_from:
            parts.append(text(at, top + height + 20, label, anchor="middle"))
            free_from = at + half + 6
    parts.append(text(left + width / 2, top + height + 42, axis.title, anchor="middle", size=13))
    return parts
