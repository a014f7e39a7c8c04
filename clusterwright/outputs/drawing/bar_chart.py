"""Charts of bars: stacked parts on one scale, and how far a result moves with each input."""

from collections.abc import Sequence
from html import escape

from clusterwright.outputs.drawing.charts import (
    GAIN,
    INK,
    LOSS,
    WIDTH,
    Axis,
    Bar,
    Range,
    Segment,
    across,
    labelled,
    line,
    nice_ticks,
    opened,
    overhang,
    text,
    text_width,
)

_ROW, _THICK, _BELOW = 42.0, 28.0, 54.0
_DARK = 0.18  # luminance below which white text has more contrast than black


def bar_chart(*, title: str, bars: Sequence[Bar], unit: str, limit_name: str = "") -> str:
    """Return an SVG of stacked horizontal bars on one scale, with a legend above.

    Args:
        title: what is shown, for readers that cannot see it.
        bars: from top to bottom; their parts are as long as their sizes, negative ones to the left of zero.
        unit: of the sizes, printed under the scale.
        limit_name: what the bars' limit lines mean.
    """
    axis = _axis(bars, unit)
    left = max([overhang(axis), *(20.0 + text_width(bar.label, bold=True) for bar in bars)])
    right = max([overhang(axis), *(30.0 + text_width(bar.text, bold=True) for bar in bars)])
    width = WIDTH - left - right
    legend, top = _legend(bars, limit_name)
    height = top + _ROW * len(bars)
    parts = [
        opened(WIDTH, height + _BELOW, title),
        *legend,
        *across(axis, left=left, width=width, top=top - 4, height=height - top + 4),
    ]
    for index, bar in enumerate(bars):
        parts += _bar(bar, axis, left=left, width=width, top=top + index * _ROW + 4, limit_name=limit_name)
    zero = left + axis.share(0.0) * width
    return "".join([*parts, line(zero, top - 4, zero, height, stroke=INK), "</svg>"])


def _axis(bars: Sequence[Bar], unit: str) -> Axis:
    highs = [max(_sum(bar, positive=True), bar.limit or 0.0, bar.net or 0.0) for bar in bars]
    lows = [min(_sum(bar, positive=False), bar.net or 0.0) for bar in bars]
    ticks = nice_ticks(min([0.0, *lows]), max([1e-9, *highs]))
    return Axis(title=unit, ticks=labelled(ticks), low=ticks[0], high=ticks[-1])


def _sum(bar: Bar, *, positive: bool) -> float:
    return sum(part.size for part in bar.segments if (part.size > 0) == positive)


def _bar(bar: Bar, axis: Axis, *, left: float, width: float, top: float, limit_name: str) -> list[str]:
    def at(value: float) -> float:
        return left + axis.share(value) * width

    middle = top + _THICK / 2 + 4
    parts = [text(left - 10, middle, bar.label, anchor="end", bold=True)]
    ahead = behind = 0.0
    for part in bar.segments:
        start = ahead if part.size >= 0 else behind + part.size
        parts += _segment(part, at(start), at(start + abs(part.size)), top)
        if part.size >= 0:
            ahead += part.size
        else:
            behind += part.size
    if bar.net is not None:
        here = at(bar.net)
        tip = escape(f"{bar.label}: {bar.text}")
        parts.append(
            f'<path d="M{here:.1f} {top + _THICK / 2 - 8:.1f}l5 8l-5 8l-5 -8z" fill="#fff" stroke="{INK}" '
            f'stroke-width="1.6"><title>{tip}</title></path>'
        )
    if bar.limit is not None:
        parts.append(line(at(bar.limit), top - 4, at(bar.limit), top + _THICK + 4, stroke=INK, width=2, tip=limit_name))
    end = at(max(ahead, bar.limit or 0.0, bar.net or 0.0))
    parts.append(text(end + 10, middle, bar.text, bold=True))
    return parts


def _segment(part: Segment, start: float, end: float, top: float) -> list[str]:
    parts = [
        (
            f'<rect x="{start:.1f}" y="{top:.1f}" width="{end - start:.1f}" height="{_THICK:g}" fill="{part.colour}" '
            f'stroke="#fff" stroke-width="0.6"><title>{escape(f"{part.name}: {part.text}")}</title></rect>'
        )
    ]
    if part.inside and text_width(part.inside, size=11) + 8 <= end - start:
        colour = "#ffffff" if _luminance(part.colour) < _DARK else "#111111"
        middle = (start + end) / 2
        parts.append(text(middle, top + _THICK / 2 + 4, part.inside, anchor="middle", size=11, colour=colour))
    return parts


def _luminance(colour: str) -> float:
    red, green, blue = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    return float(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2)


def _legend(bars: Sequence[Bar], limit_name: str) -> tuple[list[str], float]:
    """Return the legend and where the bars begin under it."""
    seen: dict[str, str] = {}
    for bar in sorted(bars, key=lambda bar: -len(bar.segments)):
        for part in bar.segments:
            seen.setdefault(part.name, part.colour)
    entries = [
        (name, f'<rect x="{{x:.1f}}" y="{{y:.1f}}" width="12" height="12" fill="{colour}"/>')
        for name, colour in seen.items()
    ]
    if limit_name and any(bar.limit is not None for bar in bars):
        entries.append((limit_name, f'<rect x="{{x:.1f}}" y="{{y:.1f}}" width="2" height="12" fill="{INK}"/>'))
    parts, at, row = [], 10.0, 8.0
    for name, mark in entries:
        needed = 20 + text_width(name) + 14
        if at + needed > WIDTH:
            at, row = 10.0, row + 20
        parts.append(mark.format(x=at, y=row))
        parts.append(text(at + 17, row + 10.5, name))
        at += needed
    return parts, row + 30


def range_chart(*, title: str, ranges: Sequence[Range], base: float, unit: str, more_is_gain: bool = False) -> str:
    """Return an SVG of how far a result moves from its base with each input at its ends, the widest range on top.

    Args:
        title: what is shown, for readers that cannot see it.
        ranges: what the result becomes, one row each, in the order given.
        base: the result with every input at its base.
        unit: of the result, printed under the scale.
        more_is_gain: the result is good the larger it is, as a saving; else the smaller it is, as a cost.
    """
    left = 20.0 + max(text_width(entry.label, bold=True) for entry in ranges)
    inner = left + 8 + max(text_width(entry.low_text, size=11) for entry in ranges)
    values = [value for entry in ranges for value in (entry.low, entry.high)]
    ticks = nice_ticks(min(values), max(values))
    axis = Axis(title=unit, ticks=labelled(ticks), low=ticks[0], high=ticks[-1])
    inner = max(inner, overhang(axis))
    right = max([overhang(axis), *(18.0 + text_width(entry.high_text, size=11) for entry in ranges)])
    width, top, row = WIDTH - inner - right, 14.0, 30.0
    height = top + row * len(ranges)

    def at(value: float) -> float:
        return inner + axis.share(value) * width

    parts = [
        opened(WIDTH, height + _BELOW, title),
        *across(axis, left=inner, width=width, top=top, height=height - top),
    ]
    for index, entry in enumerate(ranges):
        y0 = top + index * row + 5
        parts.append(text(left - 10, y0 + 14, entry.label, anchor="end", bold=True))
        for value, words in ((entry.low, entry.low_text), (entry.high, entry.high_text)):
            start, end = sorted((at(base), at(value)))
            colour = GAIN if (value > base) == more_is_gain else LOSS
            parts.append(
                f'<rect x="{start:.1f}" y="{y0:.1f}" width="{end - start:.1f}" height="20" fill="{colour}">'
                f"<title>{escape(f'{entry.label} {words}: {value:,.4g} {unit}')}</title></rect>"
            )
        parts.append(text(min(at(entry.low), at(base)) - 6, y0 + 14, entry.low_text, anchor="end", size=11))
        parts.append(text(max(at(entry.high), at(base)) + 6, y0 + 14, entry.high_text, size=11))
    return "".join([*parts, line(at(base), top, at(base), height, stroke=INK, width=1.6), "</svg>"])
