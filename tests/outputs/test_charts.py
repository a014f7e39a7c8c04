"""Charts: nothing leaves the drawing, no label covers another, lengths and steps say what the numbers say."""

import re
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.outputs.drawing.bar_chart import bar_chart, range_chart
from clusterwright.outputs.drawing.charts import (
    PALETTE,
    WIDTH,
    Axis,
    Bar,
    Box,
    Limit,
    Mark,
    Range,
    Segment,
    Series,
    labelled,
    logarithmic_ticks,
    nice_ticks,
    spread,
    text_width,
)
from clusterwright.outputs.drawing.line_chart import drawn_points, line_chart

SVG = "{http://www.w3.org/2000/svg}"
WORDS = st.text(alphabet="abcdefgmwMW <>&\"'0123456789.$", min_size=1, max_size=16)
AMOUNTS = st.floats(min_value=0.0, max_value=1e6, allow_subnormal=False)
CHARTS = settings(max_examples=150, deadline=None)


@dataclass(frozen=True)
class Drawing:
    """What an SVG holds, in its own coordinates."""

    box: Box
    points: list[tuple[float, float]]
    labels: list[Box]
    root: ET.Element


def read(svg: str) -> Drawing:
    """Read a drawing's coordinates, and the boxes of its upright labels by the width that the charts reckon with."""
    root = ET.fromstring(svg)  # noqa: S314 - made here
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    points, labels = [], []
    for element in root.iter():
        value = {name: float(text) for name, text in element.attrib.items() if re.fullmatch(r"-?\d+(\.\d+)?", text)}
        match element.tag.removeprefix(SVG):
            case "line":
                points += [(value["x1"], value["y1"]), (value["x2"], value["y2"])]
            case "rect":
                points += [(value["x"], value["y"]), (value["x"] + value["width"], value["y"] + value["height"])]
            case "circle":
                points += [(value["cx"] - value["r"], value["cy"]), (value["cx"] + value["r"], value["cy"])]
            case "polyline" | "polygon":
                points += [pair_of(pair) for pair in element.attrib["points"].split()]
            case "text" if "transform" not in element.attrib:
                labels.append(label_box(element, value))
    points += [corner for label in labels for corner in ((label.left, label.top), (label.right, label.bottom))]
    return Drawing(box=Box(left=0, top=0, right=width, bottom=height), points=points, labels=labels, root=root)


def pair_of(text: str) -> tuple[float, float]:
    """Read `x,y`."""
    x, y = text.split(",")
    return float(x), float(y)


def label_box(element: ET.Element, value: dict[str, float]) -> Box:
    """Return the box of a label."""
    size = value["font-size"]
    width = text_width(element.text or "", size=size, bold=element.attrib["font-weight"] == "600")
    left = value["x"] - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[element.attrib["text-anchor"]]
    return Box(left=left, top=value["y"] - 0.78 * size, right=left + width, bottom=value["y"] + 0.22 * size)


def check(svg: str) -> Drawing:
    """Check that everything lies on the drawing and that no label covers another."""
    drawing = read(svg)
    for x, y in drawing.points:
        assert -0.11 <= x <= drawing.box.right + 0.11
        assert -0.11 <= y <= drawing.box.bottom + 0.11
    for one, other in combinations(drawing.labels, 2):
        # Coordinates are written with one decimal.
        inner = replace(one, left=one.left + 0.2, right=one.right - 0.2, top=one.top + 0.2, bottom=one.bottom - 0.2)
        assert not inner.overlaps(other)
    return drawing


@st.composite
def line_charts(draw: st.DrawFn) -> str:
    """Draw a chart of up to four lines with bands, marks and a limit, on straight or logarithmic axes."""
    logarithmic = draw(st.booleans())
    values = st.floats(min_value=0.5 if logarithmic else 0.0, max_value=5e4, allow_subnormal=False)
    series = []
    for index in range(draw(st.integers(1, 4))):
        at = sorted(draw(st.lists(values, min_size=1, max_size=8, unique=True)))
        points = tuple((x, draw(values)) for x in at)
        band = tuple((x, y * 0.9, y) for x, y in points) if draw(st.booleans()) and not logarithmic else ()
        series.append(
            Series(name=draw(WORDS), points=points, colour=PALETTE[index], band=band, step=draw(st.booleans()))
        )
    marks = [
        Mark(x=draw(values), y=draw(values), label=draw(WORDS), colour=PALETTE[0])
        for _ in range(draw(st.integers(0, 4)))
    ]
    limits = [Limit(y=draw(values), label=draw(WORDS))] if draw(st.booleans()) else []
    xs = [x for entry in series for x, _ in entry.points] + [mark.x for mark in marks]
    ys = [y for entry in series for _, y in entry.points] + [mark.y for mark in marks]
    ys += [limit.y for limit in limits] + [low for entry in series for _, low, _ in entry.band]
    ticks = logarithmic_ticks if logarithmic else nice_ticks
    x, y = (
        Axis(title=title, ticks=labelled(found), low=found[0], high=found[-1], logarithmic=logarithmic)
        for title, found in (("months", ticks(min(xs), max(xs))), ("USD", ticks(min(ys), max(ys))))
    )
    return line_chart(title=draw(WORDS), x=x, y=y, series=series, marks=marks, limits=limits)


@CHARTS
@given(line_charts())
def test_lines_and_labels_stay_on_the_drawing_and_apart(svg: str) -> None:
    """Whatever is drawn, no coordinate leaves the drawing and no label covers another."""
    check(svg)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=12, unique_by=lambda point: point[0]))
def test_steps_never_interpolate(points: list[tuple[float, float]]) -> None:
    """A line of steps moves along or upright, never aslant, and takes no value that is not a given one."""
    series = Series(name="a", points=tuple(sorted(points)), colour=PALETTE[0], step=True)
    drawn = drawn_points(series)
    assert all(before[0] == after[0] or before[1] == after[1] for before, after in pairwise(drawn))
    assert {value for _, value in drawn} == {value for _, value in points}


def test_a_price_holds_until_the_day_it_changes() -> None:
    """On the eve of a change the old price still holds."""
    series = Series(name="a", points=((0.0, 12.0), (10.0, 7.0), (20.0, 7.0)), colour=PALETTE[0], step=True)
    assert drawn_points(series) == ((0.0, 12.0), (10.0, 12.0), (10.0, 7.0), (20.0, 7.0), (20.0, 7.0))


@st.composite
def bars(draw: st.DrawFn) -> list[Bar]:
    """Draw bars with parts above and below zero, limits and marks of the sum."""
    names = draw(st.lists(WORDS, min_size=1, max_size=8, unique=True))
    drawn = []
    for _ in range(draw(st.integers(1, 5))):
        parts = tuple(
            Segment(name=name, size=draw(st.floats(-50.0, 400.0)), text="x", colour=PALETTE[0], inside="12.3")
            for name in names
        )
        limit = draw(st.one_of(st.none(), st.floats(0.0, 600.0)))
        net = sum(part.size for part in parts) if draw(st.booleans()) else None
        drawn.append(Bar(label=draw(WORDS), segments=parts, text=draw(WORDS), limit=limit, net=net))
    return drawn


@CHARTS
@given(bars())
def test_bars_stay_on_the_drawing_and_are_as_long_as_their_parts(drawn: list[Bar]) -> None:
    """No part is longer or shorter than its share of the scale, and each starts where the one before it ends."""
    drawing = check(bar_chart(title="t", bars=drawn, unit="GB", limit_name="capacity"))
    rects = [element for element in drawing.root.iter(f"{SVG}rect") if element.attrib["height"] == "28"]
    parts = [part for bar in drawn for part in bar.segments]
    widths = [float(rect.attrib["width"]) for rect in rects]
    assert len(widths) == len(parts)
    total = sum(abs(part.size) for part in parts)
    if total > 0:
        scale = sum(widths) / total
        assert all(
            width == pytest.approx(abs(part.size) * scale, abs=0.3) for width, part in zip(widths, parts, strict=True)
        )


def test_income_stands_left_of_zero() -> None:
    """A negative part ends where the positive ones begin."""
    parts = tuple(Segment(name=str(size), size=size, text="", colour=PALETTE[0]) for size in (60.0, -20.0, 40.0))
    drawing = read(bar_chart(title="t", bars=[Bar(label="b", segments=parts, text="80", net=80.0)], unit="USD"))
    first, income, second = (
        (float(rect.attrib["x"]), float(rect.attrib["x"]) + float(rect.attrib["width"]))
        for rect in drawing.root.iter(f"{SVG}rect")
        if rect.attrib["height"] == "28"
    )
    assert income[1] == pytest.approx(first[0], abs=0.2)
    assert second[0] == pytest.approx(first[1], abs=0.2)


@CHARTS
@given(st.lists(st.tuples(WORDS, st.floats(0, 300), st.floats(0, 300), WORDS, WORDS), min_size=1, max_size=10))
def test_ranges_stay_on_the_drawing(rows: list[tuple[str, float, float, str, str]]) -> None:
    """Bars of what moves a result, and their labels, lie on the drawing and apart."""
    ranges = [
        Range(label=name, low=500.0 - less, high=500.0 + more, low_text=low, high_text=high)
        for name, less, more, low, high in rows
    ]
    drawing = check(range_chart(title="t", ranges=ranges, base=500.0, unit="thousand USD"))
    assert drawing.box.right == WIDTH


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_cover_their_range(low: float, span: float) -> None:
    """The first tick is not above the lowest value, the last not below the highest, and they rise."""
    ticks = nice_ticks(low, low + span)
    tolerance = 1e-9 * max(abs(low), span, 1.0)
    assert ticks[0] <= low + tolerance
    assert ticks[-1] >= low + span - tolerance
    assert all(before < after for before, after in pairwise(ticks))


@given(st.floats(0.01, 1e6), st.floats(1.0, 1e4))
def test_logarithmic_ticks_cover_their_range(low: float, factor: float) -> None:
    """The first tick is not above the lowest value, the last not below the highest, and there are two at least."""
    ticks = logarithmic_ticks(low, low * factor)
    assert ticks[0] <= low * (1 + 1e-9)
    assert ticks[-1] >= low * factor * (1 - 1e-9)
    assert len(ticks) >= 2


@given(st.lists(st.floats(0, 300), max_size=12))
def test_spread_labels_keep_their_order_and_distance(wanted: list[float]) -> None:
    """Labels stay within the plot, a gap apart, in the order of their lines."""
    placed = spread(wanted, gap=17.0, low=0.0, high=300.0)
    inside = sorted(placed)
    assert all(after - before >= 17.0 - 1e-9 for before, after in pairwise(inside))
    assert all(-1e-9 <= place <= 300.0 + 1e-9 for place in placed)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    assert [placed[index] for index in order] == inside
