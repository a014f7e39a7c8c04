"""Charts of lines and steps over two axes, with bands, marks where lines cross, and labels that never overlap."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from clusterwright.outputs.drawing.charts import (
    FONT,
    INK,
    WIDTH,
    Axis,
    Box,
    Limit,
    Mark,
    Series,
    across,
    line,
    opened,
    overhang,
    spread,
    text,
    text_width,
)

#: One per series, so that lines that lie on each other can both be seen.
_DASHES = ("", "10 5", "3 4", "12 4 3 4")
_LABEL_GAP = 17.0
_TOP, _BELOW = 18.0, 54.0
_RADIUS = 5.0
_LABEL_HEIGHT = 17.0
_DISTANCES = tuple(10.0 + 16.0 * step for step in range(11))  # tried for a mark's label, from the mark
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plot:
    """Where the lines are drawn, and how values become places."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float

    def at(self, point: Point) -> Point:
        return (
            self.left + self.x.share(point[0]) * self.width,
            self.top + self.height - self.y.share(point[1]) * self.height,
        )

    @property
    def box(self) -> Box:
        return Box(left=self.left, top=self.top, right=self.left + self.width, bottom=self.top + self.height)


def line_chart(
    *,
    title: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    marks: Sequence[Mark] = (),
    limits: Sequence[Limit] = (),
    height: float = 360.0,
) -> str:
    """Return an SVG of lines over common axes, each labelled at its end.

    Args:
        title: what is shown, for readers that cannot see it.
        x: axis along the bottom; all points lie between its ends.
        y: upright axis, likewise.
        series: the lines, at most as many as there is room for labels.
        marks: points with labels.
        limits: values drawn across.
        height: of the drawing, which is 960 wide.
    """
    left = max([overhang(x), *(44.0 + text_width(label) for _, label in y.ticks)])
    right = max([overhang(x), *(50.0 + text_width(entry.name, bold=True) for entry in series)])
    plot = _Plot(x=x, y=y, left=left, top=_TOP, width=WIDTH - left - right, height=height - _TOP - _BELOW)
    drawn = [[plot.at(point) for point in drawn_points(entry)] for entry in series]
    return "".join(
        [
            opened(WIDTH, height, title),
            *_axes(plot),
            *(_band(entry, plot.at) for entry in series if entry.band),
            *_limits(limits, plot),
            *(_line(entry, points, index) for index, (entry, points) in enumerate(zip(series, drawn, strict=True))),
            *_end_labels(series, drawn, plot),
            *_marks(marks, drawn, limits, plot),
            "</svg>",
        ]
    )


def drawn_points(series: Series) -> tuple[Point, ...]:
    """Return the corners of a line: its points, and for steps also where each value ends."""
    if not series.step:
        return series.points
    corners = [series.points[0]] if series.points else []
    for (_, held), after in pairwise(series.points):
        corners += [(after[0], held), after]
    return tuple(corners)


def _axes(plot: _Plot) -> list[str]:
    parts = across(plot.x, left=plot.left, width=plot.width, top=plot.top, height=plot.height)
    free_to = math.inf
    for value, label in plot.y.ticks:
        at = plot.at((plot.x.low, value))[1]
        parts.append(line(plot.left, at, plot.left + plot.width, at))
        if at <= free_to:
            parts.append(text(plot.left - 8, at + 4, label, anchor="end"))
            free_to = at - _LABEL_GAP
    bottom, middle = plot.top + plot.height, plot.top + plot.height / 2
    parts.append(line(plot.left, bottom, plot.left + plot.width, bottom, stroke=INK))
    parts.append(
        f'<text transform="translate(18 {middle:.1f}) rotate(-90)" text-anchor="middle" {FONT} font-size="13" '
        f'fill="{INK}">{escape(plot.y.title)}</text>'
    )
    return parts


def _band(series: Series, at: Callable[[Point], Point]) -> str:
    upper = [at((px, high)) for px, _, high in series.band]
    lower = [at((px, low)) for px, low, _ in reversed(series.band)]
    return f'<polygon points="{_path([*upper, *lower])}" fill="{series.colour}" opacity="0.15"/>'


def _limits(limits: Sequence[Limit], plot: _Plot) -> list[str]:
    parts = []
    for limit in limits:
        end, at = plot.at((plot.x.high, limit.y))
        parts.append(line(plot.left, at, end, at, stroke=INK, dash="2 3", tip=limit.label))
        parts.append(text(end - 6, _limit_box(limit, plot).bottom - 4, limit.label, anchor="end", bold=True, halo=True))
    return parts


def _limit_box(limit: Limit, plot: _Plot) -> Box:
    """Return where the label of a limit is: at the right above its line, below it at the top of the plot."""
    end, at = plot.at((plot.x.high, limit.y))
    top = at + 2 if at - plot.top < _LABEL_GAP else at - _LABEL_HEIGHT - 2
    left = end - 6 - text_width(limit.label, bold=True)
    return Box(left=left, top=top, right=end, bottom=top + _LABEL_HEIGHT)


def _line(series: Series, points: list[Point], index: int) -> str:
    dash = _DASHES[(index if series.dash is None else series.dash) % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{_path(points)}" fill="none" stroke="{series.colour}" stroke-width="2.4"{dashes}>'
        f"<title>{escape(series.name)}</title></polyline>"
    )


def _end_labels(series: Sequence[Series], drawn: Sequence[list[Point]], plot: _Plot) -> list[str]:
    """Name each line at the right, joined to its end by a thin line of its colour."""
    ends = [(entry, points[-1]) for entry, points in zip(series, drawn, strict=True) if points]
    places = spread([end[1] for _, end in ends], gap=_LABEL_GAP, low=plot.top, high=plot.top + plot.height)
    parts, at = [], plot.left + plot.width + 26
    for (entry, (end_x, end_y)), place in zip(ends, places, strict=True):
        parts.append(line(end_x, end_y, at - 14, end_y, stroke=entry.colour, width=1.2))
        parts.append(line(at - 14, end_y, at - 4, place, stroke=entry.colour, width=1.2))
        parts.append(text(at, place + 4, entry.name, bold=True))
    return parts


def _marks(marks: Sequence[Mark], drawn: Sequence[list[Point]], limits: Sequence[Limit], plot: _Plot) -> list[str]:
    """Draw circles, and each label where it covers no other one, no circle, and as little of the lines as it can."""
    places = [plot.at((mark.x, mark.y)) for mark in marks]
    rings = [Box(left=px - 7, top=py - 7, right=px + 7, bottom=py + 7) for px, py in places]
    room = replace(plot.box, top=1.0)
    taken = [_limit_box(limit, plot) for limit in limits]
    samples = [sample for points in drawn for start, end in pairwise(points) for sample in _between(start, end)]
    for limit in limits:
        samples += _between(plot.at((plot.x.low, limit.y)), plot.at((plot.x.high, limit.y)))
    circles, labels = [], []
    for mark, place in zip(marks, places, strict=True):
        circles.append(
            f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{_RADIUS:g}" fill="#fff" stroke="{mark.colour}" '
            f'stroke-width="2.4"><title>{escape(mark.label)}</title></circle>'
        )
        box = _free_place(mark.label, place, [*rings, *taken], samples, room) if mark.label else None
        if box is None:
            continue
        end = _leader_end(place, box)
        taken.append(box)
        samples += _between(place, end)
        labels.append(line(*place, *end, stroke=INK, width=0.8))
        labels.append(text(box.left + 3, box.bottom - 4, mark.label, bold=True, halo=True))
    return [*labels, *circles]


def _free_place(label: str, at: Point, taken: Sequence[Box], samples: Sequence[Point], within: Box) -> Box | None:
    """Return the best place of a label, None if there is no free one; the circle's tooltip still says it.

    The fewer lines it covers and the closer it is to its mark, the better; the line to the mark crosses no other label.
    """
    width = text_width(label, bold=True) + 6
    best: tuple[float, Box] | None = None
    for away in _DISTANCES:
        for start in (at[0] + 4, at[0] - width - 4, at[0] - width / 2):
            for top in (at[1] - away - _LABEL_HEIGHT, at[1] + away):
                box = Box(left=start, top=top, right=start + width, bottom=top + _LABEL_HEIGHT)
                if not box.inside(within) or any(box.overlaps(other) for other in taken):
                    continue
                leader = _between(at, _leader_end(at, box))
                if any(other.holds(point) for other in taken if not other.holds(at) for point in leader):
                    continue
                covered = sum(box.holds(point) for point in samples)
                if best is None or covered * 12.0 + away < best[0]:
                    best = (covered * 12.0 + away, box)
    return None if best is None else best[1]


def _leader_end(at: Point, box: Box) -> Point:
    """Return the point of a label that is closest to its mark."""
    return min(max(at[0], box.left + 2), box.right - 2), box.top if box.top > at[1] else box.bottom


def _between(start: Point, end: Point) -> list[Point]:
    """Return points along a line, close enough together that no label can hide between them."""
    count = max(int(abs(end[0] - start[0]) // 6), int(abs(end[1] - start[1]) // 6), 1)
    return [
        (start[0] + (end[0] - start[0]) * index / count, start[1] + (end[1] - start[1]) * index / count)
        for index in range(count + 1)
    ]


def _path(points: Sequence[Point]) -> str:
    return " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
