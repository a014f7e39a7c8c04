"""Rack elevations, front and rear: units, devices, PDUs, blanking panels, power against the limit and weight."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from clusterwright.facility.hall.racks import Placement, Rack
from clusterwright.outputs.drawing import marks as drawing
from clusterwright.outputs.drawing.title_block import TitleBlock, sheet_svg
from clusterwright.units import counted, percent

#: The file of a small hall, and the index of the pages of a large one, which lie in a folder.
INDEX, FOLDER = "racks.svg", "racks"
_INDEX_LINE = 20.0
_UNIT = 16.0
_WIDTH = 190.0
#: The rear view beside the front: its distance, its width, and that of a PDU or power shelf at its sides.
_REAR_GAP, _REAR_WIDTH, _STRIP = 12.0, 104.0, 11.0
_SCALE = 22.0
_GAP = 30.0
_HEAD = 40.0
_FOOT = 46.0
_MARGIN = 24.0
_PER_LINE = 6
SCALE = f"1 U is {_UNIT:g} px high"
#: Width of a character over the size of its font, at most.
_WIDE = 0.62
_BLANK = "#eef1f4"
#: Sizes of the name and the part of a device that is a unit or two high.
_NAME, _PART = 12.0, 10.0
_STRIP_FILL = "#52606d"
#: What the parts of a rack that feed its busbar are called.
_SHELF = "power-shelf"
_LEGEND = (
    ("compute", "compute node"),
    ("network", "switch"),
    ("management", "management"),
    ("storage", "storage"),
)


#: Elevations in one file; a hall with more gets pages and an index, so that no file is too large to open.
MOST_IN_FILE = 60


def rack_pages(
    racks: Sequence[Rack], *, title: str, unknown_items: Sequence[str] = (), block: TitleBlock | None = None
) -> dict[str, str]:
    """Return the elevations of all racks by file name: `racks.svg`, or an index of that name and pages of 60 racks.

    Args:
        racks: to draw, in the order they are.
        title: heading.
        unknown_items: names of what has no known power, for the legend.
        block: title block of the sheets; none is drawn without one.
    """
    if len(racks) <= MOST_IN_FILE:
        return {INDEX: racks_svg(racks, title=title, unknown_items=unknown_items, block=block)}
    parts = [racks[start : start + MOST_IN_FILE] for start in range(0, len(racks), MOST_IN_FILE)]
    pages = {
        f"{FOLDER}/{part[0].name}-{part[-1].name}.svg": racks_svg(
            part,
            title=f"{title} {part[0].name} to {part[-1].name}",
            unknown_items=unknown_items,
            block=block and block.on(number, len(parts) + 1),
        )
        for number, part in enumerate(parts, start=2)
    }
    first = block and block.on(1, len(parts) + 1)
    return {INDEX: _index(dict(zip(pages, parts, strict=True)), title=title, block=first)} | pages


def _index(pages: Mapping[str, Sequence[Rack]], *, title: str, block: TitleBlock | None) -> str:
    """Return the list of pages, each a link with its racks by kind and their power."""
    total = sum(len(racks) for racks in pages.values())
    count = f"{counted(total, 'rack')} on {counted(len(pages), 'page')}"
    marks = [
        drawing.text(_MARGIN, 34, title, size=20, weight="bold"),
        drawing.text(_MARGIN, 56, f"{count}, in the order they stand. The floor plan shows where.", size=12),
    ]
    for row, (file, racks) in enumerate(pages.items()):
        kinds = Counter(rack.kind for rack in racks)
        said = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        watts = sum(rack.power_w for rack in racks)
        words = f"{racks[0].name} to {racks[-1].name}: {said}, {watts / 1e3:,.0f} kW"
        shown = drawing.text(_MARGIN, 84 + row * _INDEX_LINE, words, size=12, fill="#1f5f9b")
        marks.append(f'<a href="{escape(file)}">{shown}</a>')
    height = 84 + len(pages) * _INDEX_LINE + _MARGIN
    described = f"Index of elevations: {count}."
    return sheet_svg(760, height, title=title, description=described, marks=marks, block=block)


def racks_svg(
    racks: Sequence[Rack], *, title: str, unknown_items: Sequence[str] = (), block: TitleBlock | None = None
) -> str:
    """Return the elevations of all racks, six beside each other, in the order they are.

    Args:
        racks: to draw.
        title: heading.
        unknown_items: names of what has no known power, for the legend.
        block: title block of the sheet; none is drawn without one.
    """
    columns, count = min(_PER_LINE, len(racks)), counted(len(racks), "rack")
    rack_height = max(rack.height_u for rack in racks) * _UNIT
    step_x, step_y = _SCALE + _WIDTH + _REAR_GAP + _REAR_WIDTH + _GAP, _HEAD + rack_height + _FOOT + _GAP
    width = max(_MARGIN * 2 + columns * step_x - _GAP, 760)
    lines = -(-len(racks) // columns)
    top = 104.0
    height = top + lines * step_y + _MARGIN
    marks = [
        drawing.text(_MARGIN, 34, title, size=20, weight="bold"),
        drawing.text(
            _MARGIN,
            54,
            f"{count}, front and rear view, U1 at the bottom. The bar below is nameplate power against the limit.",
            size=12,
        ),
    ]
    marks += _legend(66, unknown_items)
    marks.append(_empty_racks({rack.height_u for rack in racks}))
    for index, rack in enumerate(racks):
        row, column = divmod(index, columns)
        marks += _rack(rack, _MARGIN + column * step_x, top + row * step_y)
    description = f"Elevations of {count} with device names, rack units and power."
    return sheet_svg(width, height, title=title, description=description, marks=marks, block=block)


def _legend(y: float, unknown_items: Sequence[str]) -> list[str]:
    marks, x = [], _MARGIN
    for role, words in _LEGEND:
        marks.append(drawing.box(x, y, 14, 12, fill=drawing.FILLS[role]))
        marks.append(drawing.text(x + 20, y + 10, words, size=11))
        x += 130
    for fill, words in ((_BLANK, "blanking panel"), (_STRIP_FILL, "PDU or power shelf, rear")):
        marks.append(drawing.box(x, y, 14, 12, fill=fill))
        marks.append(drawing.text(x + 20, y + 10, words, size=11))
        x += 130
    if unknown_items:
        words = f"? power unknown, not in the sums: {', '.join(unknown_items)}"
        marks.append(drawing.text(_MARGIN, y + 27, words, size=11))
    return marks


def _rack(rack: Rack, x: float, y: float) -> list[str]:
    left, top = x + _SCALE, y + _HEAD
    height = rack.height_u * _UNIT
    marks = [
        "<g>",
        drawing.text(left, y + 16, f"Rack {rack.name}", size=14, weight="bold"),
        drawing.text(left, y + 32, f"{rack.kind}, {_feeds(rack)}", size=11),
        drawing.box(left, top, _WIDTH, height, fill="#f5f7fa", title=f"rack {rack.name}, {rack.height_u} U"),
        f'<use href="#u{rack.height_u}" x="{drawing.number(left)}" y="{drawing.number(top)}"/>',
    ]
    marks += [mark for placed in rack.placements for mark in _device(placed, left, top + height)]
    marks += _blanks(rack, left, top + height)
    marks += _rear(rack, left + _WIDTH + _REAR_GAP, top)
    marks += _load(rack, left, top + height + 8)
    marks.append("</g>")
    return marks


def _empty_racks(heights: Iterable[int]) -> str:
    """Return the numbers and lines of the units of an empty rack, defined once for each height."""
    shapes = []
    for height_u in sorted(heights):
        marks = []
        for unit in range(1, height_u + 1):
            bottom = (height_u - unit + 1) * _UNIT
            marks.append(drawing.text(-4, bottom - 3, str(unit), size=10, anchor="end", fill="#52606d"))
            if unit > 1:
                marks.append(drawing.line(0, bottom, _WIDTH, bottom, stroke="#e4e7eb", width=0.5))
        shapes.append(f'<g id="u{height_u}">{"".join(marks)}</g>')
    return f"<defs>{''.join(shapes)}</defs>"


def _feeds(rack: Rack) -> str:
    return f"{rack.shelves} power shelves" if rack.shelves else counted(rack.pdus, "PDU")


def _device(placed: Placement, left: float, floor: float) -> list[str]:
    device = placed.device
    tall = device.height_u * _UNIT
    y = floor - (placed.u - 1) * _UNIT - tall
    watts = "power unknown" if device.power_w is None else f"{device.power_w:,.0f} W"
    top_u = placed.u + device.height_u - 1
    units = f"U{placed.u}" if device.height_u == 1 else f"U{placed.u}–U{top_u}"
    fill = drawing.FILLS[device.role]
    marks = [drawing.box(left, y, _WIDTH, tall, fill=fill, title=f"{device.name}: {device.sku}, {units}, {watts}")]
    name = f"{device.name} ?" if device.power_w is None else device.name
    if device.height_u > 2:  # noqa: PLR2004 - room for a second line
        middle = y + tall / 2
        marks.append(drawing.text(left + _WIDTH / 2, middle, name, size=12, anchor="middle", weight="bold"))
        marks.append(drawing.text(left + _WIDTH / 2, middle + 14, f"{device.sku}, {watts}", size=10.5, anchor="middle"))
    else:
        base = y + tall / 2 + 4.2
        marks.append(drawing.text(left + 5, base, name, size=_NAME))
        # The part is in the tooltip too: a long name keeps the line for itself.
        if (len(name) * _NAME + len(device.sku) * _PART) * _WIDE + 14 <= _WIDTH:
            marks.append(drawing.text(left + _WIDTH - 5, base, device.sku, size=_PART, anchor="end", fill="#3e4c59"))
    return marks


def _blanks(rack: Rack, left: float, floor: float) -> list[str]:
    """Return the panels that close free units at the front, so that warm air does not return through them."""
    taken = {unit for placed in rack.placements for unit in range(placed.u, placed.u + placed.device.height_u)}
    marks, start = [], 0
    for unit in range(1, rack.height_u + 2):
        if unit <= rack.height_u and unit not in taken:
            start = start or unit
        elif start:
            tall = (unit - start) * _UNIT
            units = f"U{start}" if unit - 1 == start else f"U{start}–U{unit - 1}"
            y = floor - (unit - 1) * _UNIT
            marks.append(drawing.box(left, y, _WIDTH, tall, fill=_BLANK, title=f"blanking panels {units}"))
            marks.append(drawing.text(left + 5, y + tall / 2 + 4, f"blank {units}", size=10, fill="#52606d"))
            start = 0
    return marks


def _rear(rack: Rack, left: float, top: float) -> list[str]:
    """Return the rack from behind: outlines of its devices, and its PDUs or power shelves along the sides."""
    height = rack.height_u * _UNIT
    marks = [drawing.text(left + _REAR_WIDTH / 2, top - 8, "rear", size=11, anchor="middle")]
    marks.append(drawing.box(left, top, _REAR_WIDTH, height, fill="#f5f7fa", title=f"rear of rack {rack.name}"))
    sides = [0, 0] if rack.shelves else [(rack.pdus + 1) // 2, rack.pdus // 2]
    widest = max(sides) * (_STRIP + 2) + 2
    inner, wide = left + widest, _REAR_WIDTH - 2 * widest
    for role in dict.fromkeys(placed.device.role for placed in rack.placements):
        outline = "".join(
            f"M{drawing.number(inner)} {drawing.number(top + height - (placed.u - 1) * _UNIT)}"
            f"h{drawing.number(wide)}v-{drawing.number(placed.device.height_u * _UNIT)}h-{drawing.number(wide)}z"
            for placed in rack.placements
            if placed.device.role == role
        )
        marks.append(f'<path d="{outline}" fill="{drawing.FILLS[role]}" stroke="{drawing.INK}" stroke-width="0.7"/>')
    number = 0
    for placed in rack.placements:
        if rack.shelves and _SHELF in placed.device.sku:
            number += 1
            y = top + height - (placed.u - 1 + placed.device.height_u) * _UNIT
            tall = placed.device.height_u * _UNIT
            tip = f"power shelf {number} of rack {rack.name}"
            marks.append(drawing.box(inner, y, wide, tall, fill=_STRIP_FILL, title=tip))
            middle = inner + wide / 2
            marks.append(drawing.text(middle, y + tall / 2 + 4, str(number), size=10, anchor="middle", fill="#ffffff"))
    for side, count in enumerate(sides):
        for place in range(count):
            number += 1
            offset = 2 + place * (_STRIP + 2)
            x = left + offset if side == 0 else left + _REAR_WIDTH - offset - _STRIP
            tip = f"PDU {number} of rack {rack.name}"
            marks.append(drawing.box(x, top + 2, _STRIP, height - 4, fill=_STRIP_FILL, title=tip))
            marks.append(
                drawing.text(x + _STRIP / 2, top + 16, str(number), size=10, anchor="middle", fill=drawing.PAPER)
            )
    return marks


def _load(rack: Rack, left: float, y: float) -> list[str]:
    share = rack.power_w / rack.power_limit_w
    weight = f"{rack.weight_kg:,.0f} kg" if rack.weight_kg else "weight unknown"
    words = f"{rack.power_w / 1e3:.1f} of {rack.power_limit_w / 1e3:.1f} kW ({percent(share)})"
    return [
        drawing.box(left, y, _WIDTH, 8, fill="#e4e7eb", title=words),
        drawing.box(left, y, max(0.5, _WIDTH * min(1.0, share)), 8, fill="#486581", title=words),
        drawing.text(left, y + 21, words, size=10),
        drawing.text(left, y + 34, f"{rack.used_u} of {rack.height_u} U, {weight}", size=10),
    ]
