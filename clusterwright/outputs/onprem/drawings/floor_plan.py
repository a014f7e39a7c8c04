"""The floor plan: rows with hot and cold aisles, every rack by kind with its power, measures in metres."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.facility.hall.racks import Rack, row_letters
from clusterwright.facility.site import RowLayout, Site
from clusterwright.outputs.drawing import marks as drawing
from clusterwright.units import counted

#: Largest sheet: on A3 in landscape, 400 x 277 mm inside its margins, its smallest words are 1.6 mm high.
MOST_WIDTH, MOST_HEIGHT = 2375.0, 1640.0
#: Drawn length of one metre.
_METRE = 64.0
_MARGIN = 40.0
_TOP = 122.0
_FOOT = 66.0
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


def floor_plans(racks: Sequence[Rack], site: Site, *, title: str) -> dict[str, str]:
    """Return the plan of the hall by file name: one sheet, or as many as can be read when printed on A3.

    Args:
        racks: all of them, with row and slot.
        site: sizes of racks and aisles; places of the hall, of which free ones are drawn where their number is known.
        title: heading.
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
        plans[name] = _sheet_svg(racks, site, sheet, title=heading)
    return plans


def _most(rows: RowLayout) -> tuple[int, int]:
    """Return the rows, in whole pairs, and the places of a row that one sheet holds."""
    pair_m = 2 * rows.rack_depth_m + rows.cold_aisle_m + rows.hot_aisle_m
    pairs = int((MOST_HEIGHT - _TOP - _FOOT) / _METRE / pair_m)
    slots = int((MOST_WIDTH - 2 * _MARGIN - _ROW_NAME) / _METRE / rows.rack_width_m)
    return 2 * max(1, pairs), max(1, slots)


def _sheet_svg(racks: Sequence[Rack], site: Site, sheet: Sheet, *, title: str) -> str:
    """Return one sheet, to scale, one drawn metre for one of the hall."""
    rows = site.rows
    length = len(sheet.slots) * rows.rack_width_m * _METRE
    width = max(_MARGIN * 2 + _ROW_NAME + length, 820.0)
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
    marks += _scale(left, height - 34)
    description = f"Floor plan of {standing} with hot and cold aisles and power by rack."
    return drawing.page(width, height, title=title, description=description, marks=marks)


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
        x += 150
    for fill, words in ((_COLD, "cold aisle (fronts)"), (_HOT, "hot aisle (backs)")):
        marks.append(drawing.box(x, y, 16, 13, fill=fill))
        marks.append(drawing.text(x + 22, y + 11, words, size=12))
        x += 150
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
        marks += _aisle("cold", left, y - half, length, half)
    if row == sheet[-1]:
        # A last row of a pair faces outwards; one that is alone has its back there.
        marks += _aisle("hot" if row % 2 == 0 else "cold", left, y + deep, length, half)
    elif row % 2 == 0:
        marks += _aisle("hot", left, y + deep, length, rows.hot_aisle_m * _METRE)
    else:
        marks += _aisle("cold", left, y + deep, length, rows.cold_aisle_m * _METRE)
    return marks


def _aisle(kind: str, x: float, y: float, width: float, height: float) -> list[str]:
    words = f"{kind} aisle"
    return [
        drawing.box(x, y, width, height, fill=_COLD if kind == "cold" else _HOT, stroke="none", title=words),
        drawing.text(x + width / 2, y + height / 2 + 5, words, size=13, anchor="middle", fill=_AISLE_INK[kind]),
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
        drawing.box(x + 5, y + deep - 15, width - 10, 8, fill=drawing.PAPER),
        drawing.box(x + 5, y + deep - 15, max(0.5, (width - 10) * share), 8, fill=_LOAD, stroke="none"),
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
