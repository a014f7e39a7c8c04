"""The networks beside the compute fabric as pictures: a row of boxes for each, with the links between them."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.facility.inventory import INBAND_SWITCH, OOB_SWITCH, Inventory
from clusterwright.outputs.drawing import marks as drawing
from clusterwright.outputs.onprem.drawings.links import Links
from clusterwright.units import counted

_BOX_WIDTH, _BOX_HEIGHT, _GAP = 204.0, 44.0, 104.0
_HEADING, _STEP = 22.0, 96.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Level:
    """A level of a network: count and name, product, colour, and the tiers of links to the level before."""

    words: str
    what: str
    role: str
    tiers: tuple[str, ...] = ()


def networks_marks(inventory: Inventory, links: Links | None, headings: Sequence[str], x: float, y: float) -> list[str]:
    """Return the pictures of storage, in-band and out-of-band network, one below the other.

    Args:
        inventory: whose networks they are.
        links: counts and rates of links; none are written without them.
        headings: one for each network.
        x: left edge.
        y: of the first heading.
    """
    marks = []
    pictures = (("storage", _storage(inventory)), ("in-band", _inband(inventory)), ("out-of-band", _oob(inventory)))
    for place, ((network, levels), heading) in enumerate(zip(pictures, headings, strict=True)):
        top = y + place * _STEP
        marks.append(drawing.text(x, top, heading, size=12, weight="bold"))
        marks += _picture(network, levels, links, x, top + _HEADING - 10)
    return marks


def networks_height() -> float:
    """Return how much room the pictures take from top to bottom."""
    return 3 * _STEP


def _storage(inventory: Inventory) -> tuple[_Level, ...]:
    fabric, name = inventory.storage_fabric, inventory.storage_switch
    boxes = len(inventory.boxes())
    ends = f"{counted(len(inventory.hosts()), 'host')}, {boxes} boxes, {inventory.management_servers} servers"
    return (
        _Level(words=ends, what="sides A and B each", role="storage"),
        *_switches(
            (
                ("leaf", fabric.leaf, ("node-leaf", "storage-leaf", "server-leaf", "manager-leaf")),
                ("spine", fabric.spine, ("leaf-spine",)),
                ("core", fabric.core, ("spine-core",)),
            ),
            name,
        ),
    )


def _inband(inventory: Inventory) -> tuple[_Level, ...]:
    network = inventory.inband
    ends = f"{counted(len(inventory.hosts()), 'host')}, {inventory.management_servers} servers"
    return (
        _Level(words=ends, what="login, NFS, provisioning", role="management"),
        *_switches(
            (
                ("leaf", network.leaf, ("host-leaf",)),
                ("aggregation", network.aggregation, ("leaf-aggregation",)),
                ("core", network.core, ("aggregation-core",)),
                ("border", network.border, ("top-border",)),
            ),
            INBAND_SWITCH,
        ),
        *(
            (_Level(words=f"{network.uplinks} links", what="to the users' network, by the site", role="ethernet"),)
            if network.uplinks
            else ()
        ),
    )


def _oob(inventory: Inventory) -> tuple[_Level, ...]:
    return (
        _Level(words="BMCs, switches, PDUs", what="management ports", role="management"),
        *_switches((("access", inventory.oob_switches, ("management",)),), OOB_SWITCH),
        _Level(words=f"{inventory.inband.leaf} in-band leaves", what="above", role="ethernet", tiers=("oob-uplink",)),
    )


def _switches(levels: Sequence[tuple[str, int, tuple[str, ...]]], name: str) -> tuple[_Level, ...]:
    return tuple(
        _Level(words=f"{count} {level}", what=name, role="network", tiers=tiers)
        for level, count, tiers in levels
        if count
    )


def _picture(network: str, levels: Sequence[_Level], links: Links | None, x: float, y: float) -> list[str]:
    marks = []
    for place, level in enumerate(levels):
        left = x + place * (_BOX_WIDTH + _GAP)
        marks.append(drawing.box(left, y, _BOX_WIDTH, _BOX_HEIGHT, fill=drawing.FILLS[level.role], round_by=4))
        middle = left + _BOX_WIDTH / 2
        marks.append(drawing.text(middle, y + 19, level.words, size=11, anchor="middle", weight="bold"))
        marks.append(drawing.text(middle, y + 35, level.what, size=10, anchor="middle"))
        if place:
            marks.append(drawing.line(left - _GAP, y + _BOX_HEIGHT / 2, left, y + _BOX_HEIGHT / 2, width=3))
            marks += _label(network, level.tiers, links, left - _GAP / 2, y + _BOX_HEIGHT / 2)
    return marks


def _label(network: str, tiers: Sequence[str], links: Links | None, x: float, y: float) -> list[str]:
    if links is None or not tiers:
        return []
    # Links of the out-of-band switches to the leaves above them are of the in-band network.
    of = "in-band" if tiers == ("oob-uplink",) else network
    count, rate = sum(links.count(of, tier) for tier in tiers), links.gbit_per_s[of]
    return [
        drawing.text(x, y - 7, f"{count:,} links", size=11, anchor="middle", weight="bold"),
        drawing.text(x, y + 16, f"{rate} Gb/s", size=10.5, anchor="middle"),
    ]
