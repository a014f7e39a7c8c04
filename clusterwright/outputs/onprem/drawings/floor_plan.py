"""The floor plan: rows and aisles, every rack by kind with power and feeds, trays, and what the room must have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterwright.facility.hall.power_chain import Heat, cdu_count
from clusterwright.facility.hall.racks import Rack, row_letters
from clusterwright.facility.site import RowLayout, Site
from clusterwright.outputs.drawing import marks as drawing
from clusterwright.outputs.drawing.title_block import TitleBlock, sheet_svg
from clusterwright.units import counted

#: Largest sheet: on A3 in landscape, 400 x 277 mm inside its margins, its smallest words are 1.6 mm high.
MOST_WIDTH, MOST_HEIGHT = 2375.0, 1640.0
#: Drawn length of one metre.
_METRE = 64.0
#: Millimetres of the hall for one of paper, drawn at 96 px to the inch.
SCALE = f"1:{1000 / (_METRE * 25.4 / 96):.0f} at 96 px/inch, bar"
_LEAST_WIDTH = 1480.0
_TRAY = "#7c5c9b"
#: Below the edge of a rack: between the lines of words in it.
_TRAY_AT = 28.0
_MARGIN = 40.0
_TOP = 122.0
#: Below the rows: the scale with the notes of the room beside it, and the title block.
_FOOT, _NOTE, _BLOCK = 76.0, 14.5, 58.0
#: Where the notes begin, right of the scale.
_NOTES_AT = 400.0
_ROW_NAME = 34.0
_FILLS = {"compute": "compute", "network": "network", "services": "storage"}
_LEGEND = (("compute", "racks of nodes"), ("network", "with switches"), ("services", "storage and servers"))
_COLD, _HOT, _EMPTY = "#dcecf9", "#f9dcd3", "#ffffff"
_AISLE_INK = {"cold": "#2f5d8a", "hot": "#9b3d1f"}
_LOAD = "#486581"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """What one sheet shows: rows and places, from 0."""

    rows: range
    slots: range


def floor_plans(
    racks: Sequence[Rack], site: Site, *, title: str, heat: Heat, block: TitleBlock | None = None
) -> dict[str, str]:
    """Return the plan of the hall by file name: one sheet, or as many as can be read when printed on A3.

    Args:
        racks: all of them, with row and slot.
        site: sizes of racks and aisles; places of the hall, of which free ones are drawn where their number is known.
        title: heading.
        heat: that air and liquid carry away.
        block: title block of the sheets; none is drawn without one.
    """
    count = _rows_drawn(site, max(rack.row for rack in racks) + 1)
    across = min(site.rows.racks_per_row, site.places or max(rack.slot for rack in racks) + 1)
    tall, wide = _most(site.rows)
    sheets = [
        Sheet(rows=range(row, min(count, row + tall)), slots=range(slot, min(across, slot + wide)))
        for row in range(0, count, tall)
        for slot in range(0, across, wide)
    ]
    plans = {}
    for number, sheet in enumerate(sheets, 1):
        name = "floor_plan.svg" if number == 1 else f"floor_plan_{number}.svg"
        heading = title if len(sheets) == 1 else f"{title}, sheet {number} of {len(sheets)}"
        own = block and block.on(number, len(sheets))
        plans[name] = _sheet_svg(racks, site, sheet, title=heading, heat=heat, block=own)
    return plans


def _most(rows: RowLayout) -> tuple[int, int]:
    """Return the rows, in whole pairs, and the places of a row that one sheet holds."""
    pair_m = 2 * rows.rack_depth_m + rows.cold_aisle_m + rows.hot_aisle_m
    pairs = int((MOST_HEIGHT - _TOP - _FOOT - _BLOCK) / _METRE / pair_m)
    slots = int((MOST_WIDTH - 2 * _MARGIN - _ROW_NAME) / _METRE / rows.rack_width_m)
    return 2 * max(1, pairs), max(1, slots)


def _sheet_svg(
    racks: Sequence[Rack], site: Site, sheet: Sheet, *, title: str, heat: Heat, block: TitleBlock | None
) -> str:
    """Return one sheet, to scale, one drawn metre for one of the hall."""
    rows = site.rows
    length = len(sheet.slots) * rows.rack_width_m * _METRE
    width = max(_MARGIN * 2 + _ROW_NAME + length, _LEAST_WIDTH)
    first, last = sheet.rows[0], sheet.rows[-1]
    tops = {
        row: _TOP + (rows.cold_aisle_m / 2 + rows.row_y_m(row) - rows.row_y_m(first)) * _METRE for row in sheet.rows
    }
    height = tops[last] + (rows.rack_depth_m + rows.cold_aisle_m / 2) * _METRE + _FOOT
    it_w, used = sum(rack.power_w for rack in racks), len({rack.row for rack in racks})
    standing = f"{counted(len(racks), 'rack')} in {counted(used, 'row')}"
    marks = [
        drawing.text(_MARGIN, 38, title, size=20, weight="bold"),
        drawing.text(
            _MARGIN,
            60,
            f"{standing}, {it_w / 1e3:,.0f} kW nameplate, seen from above. {_places(site)}",
            size=12.5,
        ),
        *_legend(_MARGIN, 76, site),
    ]
    left = _MARGIN + _ROW_NAME
    for row, y in tops.items():
        marks += _aisles(rows, row, sheet=sheet.rows, left=left, length=length, y=y)
    for row, y in tops.items():
        middle = y + rows.rack_depth_m * _METRE / 2 + 6
        marks.append(drawing.text(_MARGIN, middle, row_letters(row), size=17, weight="bold"))
        for slot in sheet.slots:
            if slot < _slots(site, row):
                marks += _place(rows, slot - sheet.slots[0], left, y)
        marks += _front(rows, row, left, length, y)
    for rack in racks:
        if rack.row in sheet.rows and rack.slot in sheet.slots:
            marks += _rack(rack, rows, left - sheet.slots[0] * rows.rack_width_m * _METRE, tops[rack.row])
    marks += _trays(rows, tops.values(), left, length)
    marks += _scale(left, height - 34)
    for number, words in enumerate(_room(site, heat)):
        marks.append(drawing.text(left + _NOTES_AT, height - _FOOT + 12 + number * _NOTE, words, size=11.5))
    description = f"Floor plan of {standing} with hot and cold aisles and power by rack."
    return sheet_svg(width, height, title=title, description=description, marks=marks, block=block)


def _rows_drawn(site: Site, used: int) -> int:
    """Return the rows to draw: all of the hall's where they are known, else those that are used."""
    if site.places is None:
        return used
    return max(used, -(-site.places // site.rows.racks_per_row))


def _slots(site: Site, row: int) -> int:
    """Return the places of a row whose outline is drawn; none where the hall's are not known."""
    if site.places is None:
        return 0
    return max(0, min(site.rows.racks_per_row, site.places - row * site.rows.racks_per_row))


def _places(site: Site) -> str:
    return (
        "Places of the hall are not known." if site.places is None else f"The hall has {counted(site.places, 'place')}."
    )


def _legend(x: float, y: float, site: Site) -> list[str]:
    marks = []
    for kind, words in _LEGEND:
        marks.append(drawing.box(x, y, 16, 13, fill=drawing.FILLS[_FILLS[kind]]))
        marks.append(drawing.text(x + 22, y + 11, words, size=12))
        x += 170
    for fill, words in ((_COLD, "cold aisle (fronts)"), (_HOT, "hot aisle (backs)")):
        marks.append(drawing.box(x, y, 16, 13, fill=fill))
        marks.append(drawing.text(x + 22, y + 11, words, size=12))
        x += 170
    rows = site.rows
    power = "the bar in a rack is its power against its limit; ≥ where some of it is unknown"
    measures = (
        f"rack {rows.rack_width_m:g} x {rows.rack_depth_m:g} m, cold aisle {rows.cold_aisle_m:g} m, "
        f"hot aisle {rows.hot_aisle_m:g} m; {power}"
    )
    return [*marks, drawing.text(_MARGIN, y + 34, measures, size=12)]


def _aisles(rows: RowLayout, row: int, *, sheet: range, left: float, length: float, y: float) -> list[str]:
    """Return the aisle behind or before a row, and half of one before the first and after the last of a sheet."""
    deep = rows.rack_depth_m * _METRE
    half = rows.cold_aisle_m / 2 * _METRE
    marks = []
    if row == sheet[0]:
        marks += _aisle("cold", left, y - half, width=length, height=half)
    if row == sheet[-1]:
        # A last row of a pair faces outwards; one that is alone has its back there.
        marks += _aisle("hot" if row % 2 == 0 else "cold", left, y + deep, width=length, height=half)
    elif row % 2 == 0:
        marks += _aisle(
            "hot", left, y + deep, width=length, height=rows.hot_aisle_m * _METRE, measure=f" {rows.hot_aisle_m:g} m"
        )
    else:
        marks += _aisle(
            "cold", left, y + deep, width=length, height=rows.cold_aisle_m * _METRE, measure=f" {rows.cold_aisle_m:g} m"
        )
    return marks


def _aisle(kind: str, x: float, y: float, *, width: float, height: float, measure: str = "") -> list[str]:
    words, middle = f"{kind} aisle", x + width / 2
    return [
        drawing.box(x, y, width, height, fill=_COLD if kind == "cold" else _HOT, stroke="none", title=words),
        drawing.text(middle, y + height / 2 + 5, words + measure, size=13, anchor="middle", fill=_AISLE_INK[kind]),
    ]


def _front(rows: RowLayout, row: int, left: float, length: float, y: float) -> list[str]:
    """Return the line of a row's fronts, on the side of its cold aisle."""
    side = y if row % 2 == 0 else y + rows.rack_depth_m * _METRE
    return [drawing.line(left, side, left + length, side, stroke=_AISLE_INK["cold"], width=3, title="fronts")]


def _place(rows: RowLayout, slot: int, left: float, y: float) -> list[str]:
    width = rows.rack_width_m * _METRE
    return [drawing.box(left + slot * width, y, width, rows.rack_depth_m * _METRE, fill=_EMPTY, stroke=drawing.FAINT)]


def _rack(rack: Rack, rows: RowLayout, left: float, y: float) -> list[str]:
    width, deep = rows.rack_width_m * _METRE, rows.rack_depth_m * _METRE
    x = left + rack.slot * width
    share = min(1.0, rack.power_w / rack.power_limit_w)
    unknown = f", power unknown of {', '.join(rack.unknown_power)}" if rack.unknown_power else ""
    tip = (
        f"{rack.name}: {rack.kind}, {len(rack.placements)} devices, {rack.power_w / 1e3:.1f} of "
        f"{rack.power_limit_w / 1e3:.1f} kW, {rack.weight_kg:,.0f} kg{unknown}"
    )
    least = "≥" if rack.unknown_power else ""
    middle = x + width / 2
    return [
        drawing.box(x, y, width, deep, fill=drawing.FILLS[_FILLS[rack.kind]], title=tip),
        drawing.text(middle, y + 22, rack.name, size=13, anchor="middle", weight="bold"),
        drawing.text(middle, y + 43, f"{least}{rack.power_w / 1e3:.1f} kW", size=9.5, anchor="middle"),
        drawing.text(middle, y + 58, counted(rack.feeds, "feed"), size=9.5, anchor="middle"),
        drawing.box(x + 5, y + deep - 15, width - 10, 8, fill=drawing.PAPER),
        drawing.box(x + 5, y + deep - 15, max(0.5, (width - 10) * share), 8, fill=_LOAD, stroke="none"),
    ]


def _trays(rows: RowLayout, tops: Iterable[float], left: float, length: float) -> list[str]:
    """Return the overhead trays along the rows; lengths of cables count the straight way between them."""
    marks = []
    for y in tops:
        at = y + _TRAY_AT
        tip = f"overhead tray, {rows.tray_height_m:g} m above the floor"
        tray = drawing.line(left, at, left + length, at, stroke=_TRAY, width=2, title=tip)
        marks.append(f'<g stroke-dasharray="9 5">{tray}</g>')
    return marks


def _room(site: Site, heat: Heat) -> list[str]:
    """Return what the room must have, as far as it is given; what the plan does not know is said to be the site's."""
    hall, feed, rows = site.hall, site.feed, site.rows
    door = (("height", hall.door_height_m), ("width", hall.door_width_m))
    doors = ", ".join(f"{name} {value:g} m" for name, value in door if value is not None)
    tall = f"racks are {site.rack_outside_height_m:.2f} m tall and {min(rows.rack_width_m, rows.rack_depth_m):g} m wide"
    sources = "one for each PDU or shelf" if feed.sources is None else str(feed.sources)
    units = cdu_count(heat.liquid_w, site)
    liquid = f", {heat.liquid_w / 1e3:,.0f} kW to liquid" if heat.liquid_w else ""
    coolants = "" if units == 0 else f"; CDUs {'by the site' if units is None else units}"
    air = f"{heat.air_w / 1e3:,.0f} kW to air{liquid}"
    return [
        f"Doors on the way in: {doors or 'by the site'}; {tall}. Where they are: by the site.",
        f"Feeds: {feed.name}, breakers of {feed.breaker_a:g} A, sources {sources}. Panels, routes: by the site.",
        f"Cooling: {site.cooling or 'method by the site'}, {air}{coolants}. Places of units: by the site.",
        (
            f"Clearance: cold aisle {rows.cold_aisle_m:g} m, hot aisle {rows.hot_aisle_m:g} m. At the ends of rows: by "
            f"the site. Height of the room: {'by the site' if hall.height_m is None else f'{hall.height_m:g} m'}."
        ),
        (
            f"Trays (dashed): overhead, {rows.tray_height_m:g} m above the floor, along every row. Where they cross "
            "aisles: by the site; lengths count the straight way."
        ),
    ]


def _scale(x: float, y: float) -> list[str]:
    """Return a bar of five metres."""
    metres = 5
    marks = [drawing.line(x, y, x + metres * _METRE, y, stroke=drawing.INK, width=2)]
    for metre in range(metres + 1):
        at = x + metre * _METRE
        marks.append(drawing.line(at, y - 5, at, y + 5, stroke=drawing.INK))
        marks.append(
            drawing.text(at, y + 20, f"{metre} m" if metre in (0, metres) else str(metre), size=10.5, anchor="middle")
        )
    return marks
