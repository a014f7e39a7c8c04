"""What is in the racks: every device of the inventory once, as high and heavy as its product, within the limits."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import floor, isclose

from clusterwright.catalog.parts.rack_contents import rack_contents
from clusterwright.checks.prove.papers import Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.cabling import devices
from clusterwright.facility.hall.racks import Device

FILE = "racks.csv"
#: The numbers and the side at the end of a device's name.
_NUMBERS = re.compile(r"[-\d]+[ab]?$")
#: The plane at the beginning of a switch's name: planes are parts of one fabric, and stand on the two sides in turn.
_PLANE = re.compile(r"^p\d+-")
#: Names of which two make a pair: sides a and b, and fabric managers and border switches by number.
_PAIR = re.compile(r"(.*-\d+)[ab]|((?:st-)?ufm-|border-)(\d+)")
_TWO = 2
#: Relative difference that rounding in a table may make.
_ROUNDING = 1e-6


def prove_places(papers: Papers) -> Result:
    """Return what holds of the list of racks."""
    rows = papers.tables.get(FILE, ())
    racks = {row.cells.get("rack") for row in rows}
    facts = [
        f"{len(rows):,} devices in {len(racks):,} racks: each of the inventory once, no unit twice",
        "height, power and weight are those of the products; no rack above its limits, none with all of a function",
    ]
    return examined("racks", papers, (FILE,), (_named, _units, _products, _stock, _loads, _sides, _apart), facts)


def _named(papers: Papers) -> Iterator[Finding]:
    seen: dict[str, Row] = {}
    for row in papers.rows(FILE):
        name = row["device"]
        if name in seen:
            yield wrong(
                "RAC001",
                row,
                "the place of " + name,
                f"{row['rack']} U{row['u']}",
                seen[name].place,
                "a device stands in one place",
            )
        seen[name] = row


def _units(papers: Papers) -> Iterator[Finding]:
    top = floor(papers.documents.design.site.rack_height_u)
    taken: dict[tuple[str, int], str] = {}
    for row in papers.rows(FILE):
        first, height = row.count("u"), row.count("height_u")
        if first < 1 or first + height - 1 > top:
            yield wrong(
                "RAC003",
                row,
                f"the highest unit of {row['device']}",
                first + height - 1,
                f"1 to {top}",
                "a device stands within its rack",
            )
        for unit in range(first, min(first + height, top + 1)):
            other = taken.setdefault((row["rack"], unit), row["device"])
            if other != row["device"]:
                yield wrong(
                    "RAC002",
                    row,
                    f"unit {unit} of rack {row['rack']} below {row['device']}",
                    other,
                    "free",
                    "two devices do not share a unit",
                )
                break


def _planned(papers: Papers) -> dict[str, Device]:
    """Return the devices that the inventory names."""
    design, catalogue = papers.documents.design, papers.catalogue
    inventory = design.inventory
    if inventory.hosts_per_node > 1:
        hosts = [placed.device for rack in devices.whole_racks(inventory, catalogue, design.rules) for placed in rack]
    else:
        hosts = list(devices.compute_devices(inventory, catalogue, design.rules))
    others = [device for side in devices.shared_devices(inventory, catalogue) for device in side]
    return {device.name: device for device in [*hosts, *others]}


def _stock(papers: Papers) -> Iterator[Finding]:
    planned, standing = _planned(papers), papers.standing
    for name in planned.keys() - standing.keys():
        yield absent(
            "RAC004",
            FILE,
            f"the row of {name}",
            None,
            planned[name].sku,
            "every device of the inventory stands in a rack",
        )
    for name, row in standing.items():
        device = planned.get(name)
        if device is None:
            yield wrong(
                "RAC004",
                row,
                "a device",
                name,
                "a name of the inventory",
                "nothing stands there that the inventory does not have",
            )
            continue
        if row["part"] != device.sku:
            yield wrong("RAC005", row, f"the part of {name}", row["part"], device.sku, "names say what a device is")
        if row["role"] != device.role:
            yield wrong("RAC005", row, f"the role of {name}", row["role"], device.role, "a role follows from the part")
    counts = Counter(row["part"] for row in standing.values())
    for part, count in Counter(device.sku for device in planned.values()).items():
        if counts[part] != count:
            yield absent(
                "RAC004",
                FILE,
                f"the number of {part}",
                counts[part],
                count,
                "as many stand there as the inventory counts",
            )


def _products(papers: Papers) -> Iterator[Finding]:
    planned = _planned(papers)
    for row in papers.rows(FILE):
        device = planned.get(row["device"])
        if device is None:
            continue
        for column, expected in (
            ("height_u", float(device.height_u)),
            ("power_w", device.power_w),
            ("weight_kg", device.weight_kg),
        ):
            value = row.known(column)
            if (value is None) != (expected is None) or (
                value is not None and expected is not None and not isclose(value, expected, rel_tol=_ROUNDING)
            ):
                yield wrong(
                    "RAC006",
                    row,
                    f"{column} of {row['device']}",
                    value,
                    expected,
                    f"a {device.sku} has it by the catalogue",
                )


def _loads(papers: Papers) -> Iterator[Finding]:
    site = papers.documents.design.site
    whole = papers.documents.design.system in rack_contents()
    power_w: defaultdict[str, float] = defaultdict(float)
    weight_kg: defaultdict[str, float] = defaultdict(float)
    first: dict[str, Row] = {}
    for row in papers.rows(FILE):
        first.setdefault(row["rack"], row)
        power_w[row["rack"]] += row.known("power_w") or 0.0
        weight_kg[row["rack"]] += row.known("weight_kg") or 0.0
    for rack, row in first.items():
        if power_w[rack] > site.rack_power_w * (1 + _ROUNDING):
            yield wrong(
                "RAC007",
                row,
                f"the power of rack {rack}, W",
                power_w[rack],
                f"at most {site.rack_power_w:,g}",
                "the site limits a rack",
            )
        limit = site.rack_weight_kg
        if limit is not None and not whole and weight_kg[rack] > limit * (1 + _ROUNDING):
            yield wrong(
                "RAC008",
                row,
                f"the weight of rack {rack}, kg",
                weight_kg[rack],
                f"at most {limit:,g}",
                "the site limits a rack",
            )


def _sides(papers: Papers) -> Iterator[Finding]:
    """No rack holds all switches of a tier, both sides of a network, all servers or all managers of a fabric."""
    functions: defaultdict[str, list[Row]] = defaultdict(list)
    for name, row in papers.standing.items():
        if row["role"] in {"network", "management"}:
            # Names are a function and numbers, and `a` or `b` for the side of a pair.
            functions[_PLANE.sub("", _NUMBERS.sub("", name))].append(row)
    for function, rows in functions.items():
        racks = {row["rack"] for row in rows}
        if len(rows) > 1 and len(racks) == 1:
            said, rule = f"the racks of all {len(rows)} {function}", "a rack that is lost takes no function with it"
            yield wrong("RAC009", rows[-1], said, rows[0]["rack"], "two or more", rule)


def _apart(papers: Papers) -> Iterator[Finding]:
    """The two of a pair stand in different racks, so that a rack that is lost takes half of a function."""
    pairs: defaultdict[str, list[Row]] = defaultdict(list)
    for name, row in papers.standing.items():
        match = _PAIR.fullmatch(name)
        if match is not None:
            pairs[match[1] or f"{match[2]}{(int(match[3]) - 1) // _TWO}"].append(row)
    for rows in pairs.values():
        if len(rows) == _TWO and len({row["rack"] for row in rows}) == 1:
            one, other = rows
            what, expected = f"the rack of {other['device']}", f"another than {one['device']} has"
            yield wrong("RAC010", other, what, other["rack"], expected, "a rack that is lost takes one of a pair")
