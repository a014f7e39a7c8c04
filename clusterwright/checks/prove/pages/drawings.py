"""The drawings: every device and rack is where the tables have it, and what is written beside them is so."""

import re
from collections import Counter
from collections.abc import Iterator

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.papers import absent
from clusterwright.errors import Finding
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.units import percent

_ID = "PAG002"
_DEVICE = re.compile(r"<title>(\S+): (\S+), U(\d+)(?:–U(\d+))?, (?:([\d,]+) W|[^<]*)</title>")
_RACK = re.compile(
    r"<title>([A-Z]+\d+): (\w+), (\d+) devices?, ([\d.]+) of ([\d.]+) kW(?:, ([\d,]+) kg)?[^<]*</title></rect>"
    r"(?:\s*<text [^>]*>([^<]*)</text>\s*<text [^>]*>(?:≥|&gt;=)?([\d.]+) kW</text>)?"
)
_TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")
_NAME = re.compile(r"<text [^>]*>Rack ([A-Z]+\d+)</text>")
_DOT_NODE, _DOT_EDGE = re.compile(r'^\s*"([^"]+)" \['), re.compile(r'^\s*"([^"]+)" -- "([^"]+)"(?: \[label="(\d+)"\])?')
_FLOOR_TITLE = re.compile(r"Floor plan of (\d[\d,]*) racks? in (\d[\d,]*) rows? ")
_FLOOR = re.compile(r">(\d[\d,]*) racks? in (\d[\d,]*) rows?, ([\d,]+) kW nameplate")
_TIERS = re.compile(r"with (\d+) ports: ([^.<]*)\. ([\d,]+) ports free\.")
_SUMMARY = re.compile(r"(?<=>)([\d,]+) (\S[^<]*?), ([\d,]+) GPUs?\.")
_LOAD = re.compile(r">([\d.]+) of ([\d.]+) kW \((\d+) %\)<")
_UNITS = re.compile(r">(\d+) of (\d+) U, ([\d,]+) kg")


def drawn_devices(hall: Hall) -> Iterator[Finding]:
    """Yield devices of the elevations that are not where racks.csv has them, and those that are not drawn."""
    papers = hall.papers
    paths = sorted([*papers.documents.site.glob("racks*.svg"), *papers.documents.site.glob("racks/*.svg")])
    drawn = set()
    for path in paths:
        text, name_of = path.read_text(encoding="utf-8"), papers.documents.name(path)
        written = Counter(word.split()[0] for word in _TEXT.findall(text) if word.strip())
        for name, part, low, high, watts in _DEVICE.findall(text):
            drawn.add(name)
            place = papers.place(name)
            if place is None:
                yield absent(_ID, name_of, "a device", name, "one of racks.csv", "nothing else is drawn")
                continue
            top = place.count("u") + place.count("height_u") - 1
            power_w = place.known("power_w")
            expected = (place["part"], place.count("u"), top, None if power_w is None else round(power_w))
            said = (part, int(low), int(high or low), int(watts.replace(",", "")) if watts else None)
            if said != expected:
                yield absent(_ID, name_of, f"{name} (part, units, W)", said, expected, f"{place.place} has it so")
            if not written[name]:
                yield absent(_ID, name_of, f"the name beside {name}", None, name, f"{place.place} has it")
    if drawn:
        for name in sorted(papers.standing.keys() - drawn):
            yield absent(_ID, paths[0].name, f"the drawing of {name}", None, "one", "racks.csv has it")


def elevations(hall: Hall) -> Iterator[Finding]:
    """Yield what is written below the elevation of a rack, of its load, its units or its weight, and is not so."""
    site = hall.papers.documents.site
    racks = {rack.name: rack for rack in hall.racks}
    for path in sorted([*site.glob("racks*.svg"), *site.glob("racks/*.svg")]):
        parts = _NAME.split(path.read_text(encoding="utf-8"))[1:]
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            rack = racks.get(name)
            if rack is None:
                yield absent(_ID, path.name, "a rack", name, "one of racks.csv", "nothing else is drawn")
                continue
            limit_w = rack.power_limit_w
            load = f"{rack.power_w / 1e3:.1f} of {limit_w / 1e3:.1f} kW ({percent(rack.power_w / limit_w)})"
            for match in _LOAD.finditer(text):
                said = f"{match[1]} of {match[2]} kW ({match[3]} %)"
                if said != load:
                    yield absent(_ID, path.name, f"the load of rack {name}", said, load, "its devices in racks.csv")
            units = f"{rack.used_u} of {rack.height_u} U, {rack.weight_kg:,.0f} kg"
            for match in _UNITS.finditer(text):
                said = f"{match[1]} of {match[2]} U, {match[3]} kg"
                if said != units:
                    yield absent(_ID, path.name, f"the units of rack {name}", said, units, "its devices in racks.csv")


def drawn_racks(hall: Hall) -> Iterator[Finding]:
    """Yield racks of the floor plan that hold or draw something else, and its sum."""
    racks = {rack.name: rack for rack in hall.racks}
    paths = sorted(hall.papers.documents.site.glob("floor_plan*.svg"))
    named: Counter[str] = Counter()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for name, kind, devices, power, limit, weight, written, shown in _RACK.findall(text):
            named[name] += 1
            said = f"{kind}, {devices} devices, {power} of {limit} kW" + (f", {weight} kg" if weight else "")
            own, expected = racks.get(name), "no rack"
            if own is not None:
                load = f"{own.power_w / 1e3:.1f} of {own.power_limit_w / 1e3:.1f} kW"
                expected = f"{own.kind}, {len(own.placements)} devices, {load}" + (
                    f", {own.weight_kg:,.0f} kg" if weight else ""
                )
            if said != expected:
                yield absent(_ID, path.name, f"rack {name}", said, expected, "racks.csv has it so")
            if written and own is not None and (written, shown) != (name, f"{own.power_w / 1e3:.1f}"):
                wanted = f"{name}, {own.power_w / 1e3:.1f} kW"
                yield absent(
                    _ID,
                    path.name,
                    f"the content of rack {name}",
                    f"{written}, {shown} kW",
                    wanted,
                    "racks.csv has it so",
                )
    for name, count in sorted((Counter(dict.fromkeys(racks, 1)) if named else Counter()).items()):
        if named[name] != count:
            yield absent(_ID, paths[0].name, f"the places of rack {name}", named[name], count, "racks.csv has it")
    yield from _floor_sum(hall)


def _floor_sum(hall: Hall) -> Iterator[Finding]:
    per_row = hall.design.site.rows.racks_per_row
    expected = (len(hall.racks), -(-len(hall.racks) // per_row), round(hall.power.it_w / 1e3))
    for path in sorted(hall.papers.documents.site.glob("floor_plan*.svg")):
        text = path.read_text(encoding="utf-8")
        for match in (*_FLOOR_TITLE.finditer(text), *_FLOOR.finditer(text)):
            said = tuple(int(word.replace(",", "")) for word in match.groups())
            if said != expected[: len(said)]:
                yield absent(_ID, path.name, "racks, rows, kW", said, expected, "racks.csv adds up to it")


def drawn_fabric(hall: Hall) -> Iterator[Finding]:
    """Yield counts of the picture of the compute fabric that inventory and switches do not have."""
    path = hall.papers.documents.site / "fabric.svg"
    if not path.is_file():
        return
    fabric, inventory, text = hall.inventory.fabric, hall.inventory, path.read_text(encoding="utf-8")
    wanted = (f"{inventory.nodes:,}", inventory.system_name, f"{inventory.gpus:,}")
    for match in _SUMMARY.finditer(text):
        if match.groups() != wanted:
            yield absent(_ID, path.name, "nodes, system, GPUs", match.groups(), wanted, "the inventory has them")
    tiers = ", ".join(f"{count} {level}" for level, count in _counts(fabric).items() if count)
    sums = (str(fabric.radix), tiers, f"{_free(hall, fabric):,}")
    for match in _TIERS.finditer(text):
        if match.groups() != sums:
            yield absent(_ID, path.name, "ports, switches, free ports", match.groups(), sums, "fabric.csv has them")
    for level, count in _counts(fabric).items():
        for said in re.findall(rf">(\d+) {level} switch(?:es)?<", text):
            if int(said) != count:
                yield absent(_ID, path.name, f"{level} switches", said, count, "fabric.csv has them")
    yield from _other_networks(hall, text)


def _counts(fabric: Fabric) -> dict[str, int]:
    return {"leaf": fabric.leaf, "spine": fabric.spine, "core": fabric.core}


def _free(hall: Hall, fabric: Fabric) -> int:
    """Return the free ports of one plane, by fabric.csv where it has them."""
    rows = [row for row in hall.papers.tables.get("fabric.csv", ()) if row["network"] == "compute"]
    free = sum(row.count("ports_free") for row in rows)
    return free // hall.inventory.planes if rows else fabric.ports_free


def _other_networks(hall: Hall, text: str) -> Iterator[Finding]:
    levels = {
        "Storage network": ("storage", ("leaf", "spine", "core")),
        "In-band Ethernet": ("in-band", ("leaf", "aggregation", "core")),
        "Out-of-band Ethernet": ("out-of-band", ("access",)),
    }
    for words, (network, names) in levels.items():
        match = re.search(rf"{words}: ([^<]*)<", text)
        if match is None:
            continue
        said = [int(count) for count in re.findall(r"(\d+) (?:leaf|spine|core|aggregation|switches)", match[1])]
        expected = [count for name in names if (count := hall.switches(network, name))]
        if said != expected:
            yield absent(_ID, "fabric.svg", words, said, expected, "fabric.csv has them")


def graph(hall: Hall) -> Iterator[Finding]:
    """Yield switches, and pairs of devices with their cables, of the Graphviz file that the cable list does not have.

    And those of the cable list that the file does not have.
    """
    path = hall.papers.documents.site / "fabric.dot"
    if not path.is_file():
        return
    nodes, edges = set(), dict[frozenset[str], tuple[int, int]]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := _DOT_EDGE.match(line):
            edges[frozenset(match.groups()[:2])] = number, int(match[3] or 1)
        elif match := _DOT_NODE.match(line):
            nodes.add(match[1])
    rows = [row for row, _ in hall.links if row["network"] == "compute"]
    wanted = Counter(frozenset((row["from_device"], row["to_device"])) for row in rows)
    switches = {
        name for name in {end for pair in wanted for end in pair} if hall.papers.standing[name]["role"] == "network"
    }
    rule = "cables.csv joins them"
    for pair in sorted(map(sorted, edges.keys() ^ wanted.keys())):
        there = frozenset(pair) in edges
        yield absent(_ID, path.name, f"the edge {' -- '.join(pair)}", there, not there, rule)
    for ends, (number, said) in edges.items():
        if ends in wanted and said != wanted[ends]:
            what = f"the cables of {' -- '.join(sorted(ends))}"
            yield absent(_ID, f"{path.name}:{number}", what, said, wanted[ends], rule)
    for name in sorted((nodes ^ switches) & (switches | nodes)):
        if name in switches or name not in hall.papers.standing:
            yield absent(_ID, path.name, f"the node {name}", name in nodes, name in switches, "racks.csv has it or not")
