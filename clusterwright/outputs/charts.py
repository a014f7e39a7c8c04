"""Charts as SVG text: lines and steps with bands, and stacked bars. No scripts, no fonts to load.

Colours are those of Okabe and Ito, told apart by colour-blind readers; every series is labelled where it ends, and
every mark has a tooltip (`<title>`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A00")
_INK = "#1f2933"
_GRID = "#e4e7eb"
_FONT = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"'
_LABEL_GAP = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One line: name, points (x, y), colour, and where known a band (x, low, high).

    Attributes:
        step: hold each value until the next point (prices) instead of joining points.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    colour: str
    band: tuple[tuple[float, float, float], ...] = ()
    step: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A point to look at, with a label: for example where two lines cross."""

    x: float
    y: float
    label: str
    colour: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """An axis: title with unit, and ticks as (value, label)."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A part of a stacked bar: its name, size in the chart's unit, and text for the tooltip."""

    name: str
    size: float
    text: str
    colour: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A stacked bar: label at the left, parts, text behind it, and a limit line where there is one."""

    label: str
    segments: tuple[Segment, ...]
    text: str
    limit: float | None = None


def nice_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return round tick values (1, 2 or 5 times a power of ten apart) that cover a range.

    >>> nice_ticks(0, 36)
    (0.0, 10.0, 20.0, 30.0, 40.0)
    """
    span = max(high - low, 1e-12)
    raw = span / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if raw <= factor * magnitude * (1 + 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return tuple(round(index * step, 12) for index in range(first, last + 1))


def line_chart(
    *, title: str, x: Axis, y: Axis, series: Sequence[Series], marks: Sequence[Mark] = (), height: float = 360.0
) -> str:
    """Return an SVG of lines over common axes; labels stand at the lines' ends and never overlap."""
    width, left, right, top, bottom = 960.0, 84.0, 200.0, 18.0, 52.0
    plot_width, plot_height = width - left - right, height - top - bottom

    def at_x(value: float) -> float:
        return left + (value - x.low) / max(x.high - x.low, 1e-12) * plot_width

    def at_y(value: float) -> float:
        return top + plot_height - (value - y.low) / max(y.high - y.low, 1e-12) * plot_height

    parts = [_open(width, height, title)]
    for value, label in y.ticks:
        parts.append(f'<line x1="{left}" x2="{left + plot_width}" {_span_y(at_y(value))} stroke="{_GRID}"/>')
        parts.append(_text(left - 8, at_y(value) + 4, label, anchor="end"))
    for value, label in x.ticks:
        parts.append(_text(at_x(value), top + plot_height + 20, label, anchor="middle"))
    parts.append(f'<line x1="{left}" x2="{left + plot_width}" {_span_y(at_y(y.low))} stroke="{_INK}"/>')
    parts.append(_text(left + plot_width / 2, height - 10, x.title, anchor="middle", size=13))
    parts.append(
        f'<text transform="translate(16 {top + plot_height / 2:.1f}) rotate(-90)" text-anchor="middle" {_FONT} '
        f'font-size="13" fill="{_INK}">{escape(y.title)}</text>'
    )
    for entry in series:
        if entry.band:
            upper = " ".join(f"{at_x(px):.1f},{at_y(high):.1f}" for px, _, high in entry.band)
            lower = " ".join(f"{at_x(px):.1f},{at_y(low):.1f}" for px, low, _ in reversed(entry.band))
            parts.append(f'<polygon points="{upper} {lower}" fill="{entry.colour}" opacity="0.13"/>')
    for entry in series:
        points = [(at_x(px), at_y(py)) for px, py in _stepped(entry)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{entry.colour}" stroke-width="2.2">'
            f"<title>{escape(entry.name)}</title></polyline>"
        )
    ends = [(at_y(entry.points[-1][1]), entry.name, entry.colour) for entry in series if entry.points]
    for where, name, colour in _spread(ends):
        parts.append(_text(left + plot_width + 8, where + 4, name, colour=colour, weight="600"))
    for mark in marks:
        parts.append(
            f'<circle cx="{at_x(mark.x):.1f}" cy="{at_y(mark.y):.1f}" r="5" fill="#fff" stroke="{mark.colour}" '
            f'stroke-width="2.2"><title>{escape(mark.label)}</title></circle>'
        )
        parts.append(_text(at_x(mark.x), at_y(mark.y) - 11, mark.label, anchor="middle", weight="600"))
    return "".join([*parts, "</svg>"])


def bar_chart(*, title: str, bars: Sequence[Bar], unit: str, limit_name: str = "") -> str:
    """Return an SVG of stacked horizontal bars on one scale, with a legend above."""
    width, left, right, row, top = 960.0, 200.0, 150.0, 44.0, 58.0
    plot_width = width - left - right
    height = top + row * len(bars) + 34
    largest = max((max(sum(part.size for part in bar.segments), bar.limit or 0.0) for bar in bars), default=1.0) or 1.0
    ticks = nice_ticks(0.0, largest)
    scale = plot_width / ticks[-1]
    parts = [_open(width, height, title), *_legend(bars, left)]
    for tick in ticks:
        here = left + tick * scale
        parts.append(f'<line x1="{here:.1f}" x2="{here:.1f}" y1="{top - 6}" y2="{height - 30}" stroke="{_GRID}"/>')
        parts.append(_text(here, height - 14, f"{tick:,g}", anchor="middle"))
    parts.append(_text(width - right + 14, height - 14, unit))
    for index, bar in enumerate(bars):
        y0 = top + index * row
        parts.append(_text(left - 10, y0 + 20, bar.label, anchor="end", weight="600"))
        at = left
        for part in bar.segments:
            parts.append(
                f'<rect x="{at:.1f}" y="{y0:.1f}" width="{max(part.size * scale, 0.0):.1f}" height="28" '
                f'fill="{part.colour}"><title>{escape(f"{part.name}: {part.text}")}</title></rect>'
            )
            at += part.size * scale
        parts.append(_text(max(at, left + (bar.limit or 0.0) * scale) + 8, y0 + 19, bar.text, weight="600"))
        if bar.limit is not None:
            here = left + bar.limit * scale
            parts.append(
                f'<line x1="{here:.1f}" x2="{here:.1f}" y1="{y0 - 4:.1f}" y2="{y0 + 32:.1f}" stroke="{_INK}" '
                f'stroke-width="2"><title>{escape(limit_name)}</title></line>'
            )
    return "".join([*parts, "</svg>"])


def _legend(bars: Sequence[Bar], left: float) -> list[str]:
    seen: dict[str, str] = {}
    for bar in bars:
        for part in bar.segments:
            seen.setdefault(part.name, part.colour)
    parts, at, line = [], left, 12.0
    for name, colour in seen.items():
        needed = 26 + 7.2 * len(name)
        if at + needed > 950:  # noqa: PLR2004 - the drawing's width
            at, line = left, line + 20
        parts.append(f'<rect x="{at:.1f}" y="{line - 6:.1f}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(at + 17, line + 4.5, name))
        at += needed
    return parts


def _stepped(series: Series) -> tuple[tuple[float, float], ...]:
    if not series.step:
        return series.points
    held: list[tuple[float, float]] = []
    for px, py in series.points:
        if held:
            held.append((px, held[-1][1]))
        held.append((px, py))
    return tuple(held)


def _spread(ends: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Move labels apart, keeping their order, so that none overlaps another."""
    placed: list[tuple[float, str, str]] = []
    for where, name, colour in sorted(ends):
        at = max(where, placed[-1][0] + _LABEL_GAP) if placed else where
        placed.append((at, name, colour))
    return placed


def _open(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}"><title>{escape(title)}</title>'
    )


def _span_y(value: float) -> str:
    return f'y1="{value:.1f}" y2="{value:.1f}"'


def _text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    size: float = 12,
    colour: str = _INK,
    weight: str = "400",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FONT} font-size="{size:g}" fill="{colour}" '
        f'font-weight="{weight}">{escape(content)}</text>'
    )
