"""The networks as a picture: units, leaves, spines and core of the compute fabric with their cables, and the others."""

from collections.abc import Callable

from clusterwright.facility.cabling.links import compute_names
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.inventory import Inventory
from clusterwright.outputs.drawing import marks as drawing
from clusterwright.outputs.drawing.title_block import TitleBlock, sheet_svg
from clusterwright.outputs.onprem.drawings.links import Links
from clusterwright.outputs.onprem.drawings.networks import networks_height, networks_marks
from clusterwright.units import counted

_MARGIN = 30.0
#: Room for the five boxes of the in-band network, and for the parts of a link in a line.
_LEAST_WIDTH = 1500.0
#: Links of a legend that are written; the cable list has all.
_LEGEND_LINE = 16.0
_UNIT_WIDTH = 250.0
_UNIT_GAP = 24.0
_MOST_UNITS = 6
_MOST_SWITCHES = 16
_SWITCH = 46.0
_SWITCH_HEIGHT = 22.0


def fabric_svg(inventory: Inventory, *, title: str, links: Links | None = None, block: TitleBlock | None = None) -> str:
    """Return the picture. Of many units the first ones and the last are drawn; cable counts are of what is drawn.

    Args:
        inventory: whose networks are drawn.
        title: heading.
        links: rates and media of links, for what is written beside them; left out without them.
        block: title block; none is drawn without one.
    """
    fabric, names = inventory.fabric, compute_names(inventory.fabric)
    blocks = _shown(fabric)
    width = max(_LEAST_WIDTH, _MARGIN * 2 + len(blocks) * (_UNIT_WIDTH + _UNIT_GAP) - _UNIT_GAP)
    marks = [
        drawing.text(_MARGIN, 36, title, size=20, weight="bold"),
        drawing.text(_MARGIN, 56, _summary(inventory), size=12),
    ]
    y = 84.0
    core_y, spine_y = y, y + (90.0 if fabric.core else 0.0)
    leaf_y = spine_y + (150.0 if fabric.spine else 0.0)
    if fabric.core:
        marks += _switches(fabric.core, names.core, "core", core_y, width)
        words = f"{fabric.spine_core_cables:,} cables spine–core"
        marks.append(drawing.line(width / 2, core_y + 42, width / 2, spine_y - 4, width=3, title=words))
        words += f", {fabric.uplinks_per_spine} per spine{_rate(links)}"
        marks.append(drawing.text(width / 2 + 10, core_y + 66, words, size=12))
    if fabric.spine:
        marks += _switches(fabric.spine, names.spine, "spine", spine_y, width)
    total = len(blocks) * (_UNIT_WIDTH + _UNIT_GAP) - _UNIT_GAP
    left = (width - total) / 2
    for column, unit in enumerate(blocks):
        x = left + column * (_UNIT_WIDTH + _UNIT_GAP)
        if unit is None:
            marks.append(drawing.text(x + _UNIT_WIDTH / 2, leaf_y + 70, "…", size=40, anchor="middle"))
            skipped = len(fabric.unit_nodes()) - (len(blocks) - 1)
            marks.append(drawing.text(x + _UNIT_WIDTH / 2, leaf_y + 100, f"{skipped} more", size=13, anchor="middle"))
            continue
        marks += _unit(inventory, unit, x, leaf_y, _rate(links))
        if fabric.spine:
            marks += _uplinks(fabric, x, (leaf_y, spine_y), width, _rate(links))
    foot = leaf_y + 216
    marks += networks_marks(inventory, links, _other_networks(inventory), _MARGIN, foot)
    foot += networks_height()
    if links is not None:
        marks += _legend(links, foot)
        foot += (len(links.media) + 1) * _LEGEND_LINE
    return sheet_svg(width, foot + 14, title=title, description=_summary(inventory), marks=marks, block=block)


def _legend(links: Links, y: float) -> list[str]:
    """Return the links of every tier with cable and transceivers; counts are of all planes."""
    marks = [drawing.text(_MARGIN, y, "Links, cables and transceivers", size=12, weight="bold")]
    for row, medium in enumerate(links.media, start=1):
        words = f"{medium.network} {medium.text}"
        marks.append(drawing.text(_MARGIN, y + row * _LEGEND_LINE, words, size=11))
    return marks


def _rate(links: Links | None) -> str:
    return "" if links is None else f", {links.gbit_per_s['compute']} Gb/s"


def tiers_text(fabric: Fabric) -> str:
    """Return the switches of each level in words, levels that do not exist left out."""
    return _levels_text(leaf=fabric.leaf, spine=fabric.spine, core=fabric.core)


def _levels_text(**switches: int) -> str:
    return ", ".join(f"{count} {level}" for level, count in switches.items() if count)


def _shown(fabric: Fabric) -> list[int | None]:
    count = fabric.units if fabric.levels > 1 else 1
    if count <= _MOST_UNITS:
        return list(range(count))
    return [*range(_MOST_UNITS - 2), None, count - 1]


def _summary(inventory: Inventory) -> str:
    fabric = inventory.fabric
    planes = f"One of {inventory.planes} equal planes. " if inventory.planes > 1 else ""
    levels = {1: "one switch", 2: "two levels", 3: "three levels"}[fabric.levels]
    return (
        f"{inventory.nodes:,} {inventory.system_name}, {counted(inventory.gpus, 'GPU')}. {planes}"
        f"{levels.capitalize()} of {inventory.compute_switch} with {fabric.radix} ports: {tiers_text(fabric)}. "
        f"{fabric.ports_free:,} ports free."
    )


def _switches(count: int, named: Callable[[int], str], level: str, y: float, width: float) -> list[str]:
    drawn = min(count, _MOST_SWITCHES)
    total = drawn * (_SWITCH + 6) - 6
    left = (width - total) / 2
    marks = [drawing.text(left, y + 12, f"{count} {level} switch{'es' if count > 1 else ''}", size=13, weight="bold")]
    for index in range(drawn):
        hidden = count > drawn and index == drawn - 2
        name = named(count - 1 if count > drawn and index == drawn - 1 else index)
        words = "…" if hidden else name.removeprefix(f"{level}-")
        x = left + index * (_SWITCH + 6)
        fill, tip = drawing.FILLS[level], "" if hidden else name
        marks.append(drawing.box(x, y + 18, _SWITCH, _SWITCH_HEIGHT, fill=fill, title=tip, round_by=3))
        marks.append(drawing.text(x + _SWITCH / 2, y + 33, words, size=11, anchor="middle"))
    return marks


def _uplinks(fabric: Fabric, x: float, rows_y: tuple[float, float], width: float, rate: str) -> list[str]:
    """Return the trunks of a unit; `rows_y` are the tops of leaves and spines."""
    leaf_y, spine_y = rows_y
    cables = fabric.leaf_per_unit * fabric.uplinks_per_leaf
    trunk = fabric.uplinks_per_leaf // fabric.spine_per_group
    spines = min(fabric.spine, _MOST_SWITCHES) * (_SWITCH + 6)
    start, end = x + _UNIT_WIDTH / 2, width / 2
    # Lines end spread over the row of spines, so that they do not fall together.
    end += (start - width / 2) / width * spines * 0.8
    words = f"{cables:,} cables"
    each = f"{trunk} from each leaf to each of {fabric.spine_per_group} spines"
    marks = [drawing.line(start, leaf_y, end, spine_y + 44, width=3, title=f"{words}: {each}")]
    # The words stand on the side that the line leans away from.
    side, anchor = (start - 12, "end") if end > start else (start + 12, "start")
    marks.append(drawing.text(side, leaf_y - 38, rate.removeprefix(", "), size=10, anchor=anchor))
    marks.append(drawing.text(side, leaf_y - 24, words, size=12, weight="bold", anchor=anchor))
    marks.append(drawing.text(side, leaf_y - 10, f"{trunk} per leaf and spine", size=10, anchor=anchor))
    return marks


def _unit(inventory: Inventory, unit: int, x: float, y: float, rate: str) -> list[str]:
    fabric = inventory.fabric
    single = fabric.levels == 1
    members = fabric.unit_nodes()
    nodes = members[unit] if unit < len(members) else range(0)
    hosts = inventory.hosts()
    leaves = 1 if single else fabric.leaf_per_unit
    marks = [drawing.box(x, y, _UNIT_WIDTH, 178, fill="#f5f7fa", stroke=drawing.FAINT, round_by=6)]
    named = compute_names(fabric).leaf
    first = unit * fabric.leaf_per_unit
    heading = f"One switch: {named(0)}"
    if not single:
        heading = f"SU{unit + 1}: {named(first)}" + (f" to {named(first + leaves - 1)}" if leaves > 1 else "")
    marks.append(drawing.text(x + 12, y + 20, heading, size=13, weight="bold"))
    drawn = min(leaves, 8)
    slot = (_UNIT_WIDTH - 24) / drawn
    for leaf in range(drawn):
        left = x + 12 + leaf * slot
        name = named(first + leaf)
        tip = name if single else f"{name}, rail {leaf % fabric.rails + 1}"
        marks.append(drawing.box(left, y + 28, slot - 4, 22, fill=drawing.FILLS["leaf"], title=tip, round_by=3))
        marks.append(drawing.text(left + (slot - 4) / 2, y + 43, name.removeprefix("leaf-"), size=10, anchor="middle"))
        marks.append(drawing.line(left + (slot - 4) / 2, y + 50, x + _UNIT_WIDTH / 2, y + 100, width=1.2))
    middle = x + _UNIT_WIDTH / 2
    cables = f"{len(nodes) * fabric.ports_per_node:,} node cables{rate}"
    marks.append(drawing.box(x + 24, y + 66, _UNIT_WIDTH - 48, 18, fill="#f5f7fa", stroke="none"))
    marks.append(drawing.text(middle, y + 79, cables, size=12, anchor="middle", weight="bold"))
    marks.append(drawing.box(x + 12, y + 100, _UNIT_WIDTH - 24, 44, fill=drawing.FILLS["compute"], round_by=3))
    names = f"{hosts[nodes[0]]} – {hosts[nodes[-1]]}" if len(nodes) > 1 else (hosts[nodes[0]] if nodes else "no node")
    marks.append(drawing.text(middle, y + 119, counted(len(nodes), "node"), size=13, anchor="middle", weight="bold"))
    marks.append(drawing.text(middle, y + 136, names, size=10, anchor="middle"))
    managed = inventory.compute_managers and (single or unit == fabric.management_block // _blocks_per_unit(fabric))
    note = f"and {fabric.management_ports} UFM cables" if managed else _hanging(fabric)
    marks.append(drawing.text(middle, y + 164, note, size=11, anchor="middle"))
    return marks


def _hanging(fabric: Fabric) -> str:
    if fabric.levels == 1:
        return "every port of a node to the switch"
    if fabric.links_per_rail == 1:
        return "port r of every node to leaf r"
    if fabric.rails == 1:
        return f"all {fabric.links_per_rail} ports of a node to one leaf"
    return f"{fabric.links_per_rail} cables of every node to each leaf"


def _blocks_per_unit(fabric: Fabric) -> int:
    return fabric.leaf_per_unit // fabric.rails


def _other_networks(inventory: Inventory) -> list[str]:
    storage, inband = inventory.storage_fabric, inventory.inband
    ethernet = _levels_text(leaf=inband.leaf, aggregation=inband.aggregation, core=inband.core)
    return [
        (
            f"Storage network: {tiers_text(storage)} {inventory.storage_switch}, "
            f"sides A and B, {storage.uplinks_per_leaf} uplinks per leaf."
        ),
        f"In-band Ethernet: {ethernet} switches.",
        f"Out-of-band Ethernet: {inventory.oob_switches} switches.",
    ]
