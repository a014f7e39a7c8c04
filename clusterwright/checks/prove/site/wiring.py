"""The cable list, link by link: ids, labels, ports that exist, media that fit both ends, lengths that reach."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import floor

import openpyxl

from clusterwright.catalog.parts.media import Medium, media
from clusterwright.catalog.records import Switch
from clusterwright.checks.prove.papers import CellError, Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility import inventory as stock
from clusterwright.facility.cabling.cables import Spot, run_m
from clusterwright.facility.fabric.networks import SPLITTER_FAMILY
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import RACK_UNIT_M, RowLayout

FILE, LABELS, BOOK = "cables.csv", "labels.csv", "cables.xlsx"
_SIDES = ("from", "to")
_ID = re.compile(r"C\d{6,}")
_PDU = re.compile(r"pdu-([a-z]+\d+)-\d+")
_RACK = re.compile(r"([A-Z]+)(\d+)")
#: What spreadsheets make of a port such as 1/1.
_DATE = re.compile(r"\d+[/.-]\d+[/.-]\d{2}|\d-[A-Za-z]{3}|[A-Za-z]{3}-\d")
#: Families of media of the networks that have one for all their links.
_ETHERNET = {"in-band": "eth100", "out-of-band": "copper"}
#: Uplink ports of an out-of-band switch, behind its management ports.
_OOB_UPLINKS = 4
#: Columns of the workbook that a technician fills.
_TO_FILL = {"laid", "tested", "by"}


def prove_wiring(papers: Papers) -> Result:
    """Return what holds of every link of the cable list."""
    rows = papers.tables.get(FILE, ())
    facts = [
        f"{len(rows):,} links: ids and labels, ports within their devices, the shortest length sold that reaches",
        "media and transceivers fit both ends; links that share a cage share its medium",
    ]
    rules = (_ids, _labels, _ports, _tiers, _media, _cages, _lengths, _printed, _workbook)
    return examined("links", papers, (FILE, LABELS), rules, facts)


def _ids(papers: Papers) -> Iterator[Finding]:
    shared: defaultdict[str, list[Row]] = defaultdict(list)
    for row in papers.rows(FILE):
        if _ID.fullmatch(row["cable"]) is None:
            yield wrong("CAB006", row, "the id of a cable", row["cable"], "C and six digits", "labels are found by it")
        shared[row["cable"]].append(row)
    per_cable = {medium.cable: medium.links_per_cable for family in media().values() for medium in family}
    for name, rows in shared.items():
        most = per_cable.get(rows[0]["part"], 1)
        ends = {frozenset((row[f"{side}_device"], _cage(row, side)) for side in _SIDES) for row in rows}
        if len(rows) > most or len(ends) > 1:
            yield wrong(
                "CAB006",
                rows[-1],
                f"the links of cable {name}",
                f"{len(rows)} between {len(ends)} pairs of cages",
                f"at most {most} between one",
                "a cable joins two cages",
            )


def _cage(row: Row, side: str) -> str:
    """Return the cage of an end; ports of a storage box that share a splitter count as one."""
    port = row[f"{side}_port"]
    if "/" in port:
        return port.split("/")[0]
    return f"pair {(int(port) - 1) // 2}" if row["kind"] == "splitter" and port.isdigit() else port


def _label(row: Row) -> str:
    ends = " - ".join(f"{row[f'{side}_device']}:{row[f'{side}_port']}" for side in _SIDES)
    return f"{row['cable']} {ends}"


def _labels(papers: Papers) -> Iterator[Finding]:
    for row in papers.rows(FILE):
        if row["label"] != _label(row):
            yield wrong(
                "CAB007", row, "the label", row["label"], _label(row), "a label names the cable and both its ends"
            )


def _port_counts(papers: Papers, row: Row, side: str) -> tuple[int, int] | None:
    """Return (cages or ports, ports per cage) that a device has for a network; None where it is not known."""
    place = papers.place(row[f"{side}_device"])
    if place is None or (row["network"] == "out-of-band" and side == "from"):
        return None
    switch = papers.catalogue.switches.get(place["part"])
    return (
        _host_ports(papers, row["network"], place) if switch is None else _switch_ports(papers, row["network"], switch)
    )


def _switch_ports(papers: Papers, network: str, switch: Switch) -> tuple[int, int]:
    inventory = papers.documents.design.inventory
    if network in {"compute", "storage"}:
        fabric = inventory.fabric if network == "compute" else inventory.storage_fabric
        return fabric.radix // fabric.ports_per_switch_cage, fabric.ports_per_switch_cage
    uplinks = _OOB_UPLINKS if switch.id == stock.OOB_SWITCH and network == "in-band" else 0
    return switch.ports + uplinks, 1


def _host_ports(papers: Papers, network: str, place: Row) -> tuple[int, int] | None:
    inventory, role = papers.documents.design.inventory, place["role"]
    cage = inventory.node_ports_per_cage
    ports: dict[tuple[str, str], tuple[int, int]] = {
        ("compute", "compute"): (-(-inventory.fabric.ports_per_node * inventory.planes // cage), cage),
        ("storage", "compute"): (inventory.storage_ports, 1),
        ("storage", "storage"): (inventory.storage.ports_per_box, 1),
        ("storage", "management"): (2, 1),
        ("in-band", "compute"): (inventory.inband_ports, 1),
        ("in-band", "management"): (2, 1),
    }
    return ports.get((network, role))


def _ports(papers: Papers) -> Iterator[Finding]:
    for row in papers.rows(FILE):
        for side in _SIDES:
            limits, port = _port_counts(papers, row, side), row[f"{side}_port"]
            if limits is None:
                continue
            count, cage = limits
            first, _, second = port.partition("/")
            fits = first.isdigit() and 1 <= int(first) <= count
            fits &= second.isdigit() and 1 <= int(second) <= cage if cage > 1 else not second
            if not fits:
                form = f"1/1 to {count}/{cage}" if cage > 1 else f"1 to {count}"
                dated = "a spreadsheet made a date of it: import the columns of ports as text"
                rule = dated if _DATE.search(port) else "the device has these ports"
                yield wrong("CAB008", row, f"the port of {row[f'{side}_device']}", port, form, rule)


def _end_kind(papers: Papers, row: Row, side: str) -> str:
    """Return what is at an end: `switch`, `node`, `nic`, `appliance`, `storage`, `pdu`, or nothing."""
    device = row[f"{side}_device"]
    place = papers.place(device)
    if place is None:
        return "pdu" if _PDU.fullmatch(device) else ""
    if place["role"] == "network":
        return "switch"
    if place["role"] == "compute":
        return "node" if row["network"] == "compute" else "nic"
    if place["role"] == "storage":
        return "storage" if papers.documents.design.inventory.storage_box_family == SPLITTER_FAMILY else "appliance"
    return "appliance" if place["part"] == stock.FABRIC_MANAGER else "nic"


#: Which parts of the tree a tier joins, by the words of switch names; other ends by their role.
_LOWER = {"node-leaf": "node", "manager-leaf": "appliance", "server-leaf": "nic", "storage-leaf": "storage"}


def level_of(device: str) -> str:
    """Return the level that a switch's name says: leaf, spine, core, agg, oob, border; empty for another device."""
    found = re.search(r"(?:^|-)(leaf|spine|core|agg|oob|border)(?:-|$)", device)
    return found[1] if found else ""


_JOINS = {
    "node-leaf": ("host", "leaf"),
    "manager-leaf": ("manager", "leaf"),
    "server-leaf": ("server", "leaf"),
    "storage-leaf": ("box", "leaf"),
    "leaf-spine": ("leaf", "spine"),
    "spine-core": ("spine", "core"),
    "host-leaf": ("host or server", "leaf"),
    "leaf-leaf": ("leaf", "leaf"),
    "leaf-aggregation": ("leaf", "agg"),
    "aggregation-core": ("agg", "core"),
    "top-border": ("leaf or agg or core", "border"),
    "oob-uplink": ("oob", "leaf"),
    "management": ("any", "oob"),
}


def _what(papers: Papers, device: str) -> str:
    place = papers.place(device)
    if place is None:
        return "pdu"
    if place["role"] == "network":
        return level_of(device)
    if place["part"] == stock.FABRIC_MANAGER:
        return "manager"
    return {"compute": "host", "storage": "box", "management": "server"}.get(place["role"], place["role"])


def network_of(papers: Papers, device: str) -> str:
    """Return the network that a switch belongs to by its product and name; empty for what is no switch."""
    place = papers.place(device)
    if place is None or place["role"] != "network":
        return ""
    if place["part"] == stock.OOB_SWITCH:
        return "out-of-band"
    if device.startswith(("eth-", "border-")):
        return "in-band"
    return "storage" if device.startswith("st-") else "compute"


def _tiers(papers: Papers) -> Iterator[Finding]:
    for row in papers.rows(FILE):
        joins = _JOINS.get(row["tier"])
        if joins is None:
            yield wrong("CAB009", row, "the tier", row["tier"], ", ".join(_JOINS), "a tier says what a link joins")
            continue
        for side, expected in zip(_SIDES, joins, strict=True):
            device = row[f"{side}_device"]
            what = _what(papers, device)
            if expected != "any" and what not in expected.split(" or "):
                yield wrong(
                    "CAB009",
                    row,
                    f"the {side} end of a {row['tier']} link",
                    f"{device} ({what or 'no device'})",
                    f"a {expected}",
                    "a tier says what a link joins",
                )
            own = network_of(papers, device)
            shared = {"oob-uplink", "management"}
            if own and row["tier"] not in shared and own != row["network"]:
                yield wrong(
                    "CAB009", row, f"the network of {device}", row["network"], own, "networks share no switches"
                )
        if row["tier"] == "management" and row["network"] != "out-of-band":
            yield wrong(
                "CAB009",
                row,
                "the network of a management link",
                row["network"],
                "out-of-band",
                "management ports have a network of their own",
            )
        if row["tier"] == "oob-uplink" and row["network"] != "in-band":
            yield wrong(
                "CAB009",
                row,
                "the network of an uplink",
                row["network"],
                "in-band",
                "out-of-band switches are reached through the in-band network",
            )


def family_of(inventory: Inventory, row: Row) -> str:
    """Return the family of media that fits both ports of a link."""
    if row["network"] == "compute":
        return inventory.compute_family
    if row["network"] == "storage":
        return inventory.storage_box_family if row["tier"] == "storage-leaf" else inventory.storage_family
    return _ETHERNET.get(row["network"], "")


def _medium(papers: Papers, row: Row) -> Medium | None:
    family = media().get(family_of(papers.documents.design.inventory, row), ())
    fitting = [medium for medium in family if (medium.kind, medium.cable) == (row["kind"], row["part"])]
    return fitting[0] if fitting else None


def _media(papers: Papers) -> Iterator[Finding]:
    for row in papers.rows(FILE):
        family = family_of(papers.documents.design.inventory, row)
        medium = _medium(papers, row)
        if medium is None:
            sold = ", ".join(f"{one.kind} {one.cable}" for one in media().get(family, ()))
            yield wrong("CAB010", row, "the cable", f"{row['kind']} {row['part']}", sold, f"these join {family} ports")
            continue
        for side in _SIDES:
            expected = medium.optics.get(_end_kind(papers, row, side), "")
            if row[f"{side}_transceiver"] != expected:
                yield wrong(
                    "CAB010",
                    row,
                    f"the transceiver at {row[f'{side}_device']}",
                    row[f"{side}_transceiver"],
                    expected,
                    f"a {medium.kind} {medium.cable} takes it there",
                )


def _cages(papers: Papers) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], Row] = {}
    for row in papers.rows(FILE):
        for side in _SIDES:
            port = row[f"{side}_port"]
            if "/" not in port:
                continue
            other = first.setdefault((row["network"], row[f"{side}_device"], port.split("/")[0]), row)
            if (row["kind"], row["part"]) != (other["kind"], other["part"]):
                yield wrong(
                    "CAB010",
                    row,
                    f"the cable in cage {port.split('/')[0]} of {row[f'{side}_device']}",
                    f"{row['kind']} {row['part']}",
                    f"{other['kind']} {other['part']}, as {other.place}",
                    "links that share a cage share its medium",
                )


def _spot(rack: str, unit: int, middle_u: float, rows: RowLayout) -> Spot | None:
    """Return where a unit of a rack is, by the rack's name: row letters and place in the row."""
    name = _RACK.fullmatch(rack)
    if name is None:
        return None
    row = 0
    for letter in name[1]:
        row = row * 26 + ord(letter) - ord("A") + 1
    x_m, y_m = (int(name[2]) - 1) * rows.rack_width_m, rows.row_y_m(row - 1)
    return Spot(rack=rack, u=unit, x_m=x_m, y_m=y_m, z_m=rows.base_height_m + middle_u * RACK_UNIT_M)


def spots(papers: Papers) -> Mapping[str, Spot | None]:
    """Return where every device is in the hall, from the list of racks; PDUs hang at half height."""
    site = papers.documents.design.site
    half = floor(site.rack_height_u) // 2
    found: dict[str, Spot | None] = {}
    for row in papers.rows("racks.csv"):
        unit = row.count("u")
        found[row["device"]] = _spot(row["rack"], unit, unit - 1 + row.count("height_u") / 2, site.rows)
    for row in papers.rows(FILE):
        for side in _SIDES:
            pdu = _PDU.fullmatch(row[f"{side}_device"])
            if pdu is not None:
                found[row[f"{side}_device"]] = _spot(pdu[1].upper(), half, half, site.rows)
    return found


def _lengths(papers: Papers) -> Iterator[Finding]:
    where, rows = spots(papers), papers.documents.design.site.rows
    for row in papers.rows(FILE):
        medium, length = _medium(papers, row), row.number("length_m")
        ends = [where.get(row[f"{side}_device"]) for side in _SIDES]
        for side, end in zip(_SIDES, ends, strict=True):
            place = (row[f"{side}_rack"], row[f"{side}_u"])
            if end is not None and place != (end.rack, str(end.u)):
                yield wrong(
                    "CAB011",
                    row,
                    f"the place of {row[f'{side}_device']}",
                    f"{place[0]} U{place[1]}",
                    f"{end.rack} U{end.u}",
                    "an end is where its device stands",
                )
        if medium is None or ends[0] is None or ends[1] is None:
            continue
        run = run_m(ends[0], ends[1], rows)
        # The list gives the way to the centimetre.
        expected = medium.length_for(round(run, 6))
        sold = ", ".join(f"{one:g}" for one in medium.lengths_m)
        if expected is None or length != expected:
            yield wrong(
                "CAB011",
                row,
                f"the length of {row['cable']}, m",
                length,
                expected or "another medium",
                f"the way is {run:.2f} m, and {row['part']} is sold in {sold} m",
            )


def _printed(papers: Papers) -> Iterator[Finding]:
    """Compare the labels to print with the links: number and length, the near end first, then the far one."""
    printed: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in papers.rows(LABELS):
        printed[row["cable"], row["end"]].append(row)
    wanted: Counter[tuple[str, str]] = Counter()
    for row in papers.rows(FILE):
        words = {
            side: f"{row[f'{side}_rack']} U{_two(row[f'{side}_u'])} {row[f'{side}_device']}:{row[f'{side}_port']}"
            for side in _SIDES
        }
        for side, other in (("from", "to"), ("to", "from")):
            key = row["cable"], side
            own = printed.get(key, [])
            label = own[wanted[key]] if wanted[key] < len(own) else None
            wanted[key] += 1
            expected = f"{row['cable']} {row.number('length_m'):g} m {words[side]} {words[other]}"
            if label is None:
                yield absent(
                    "CAB012",
                    LABELS,
                    f"the label of {row['cable']} at its {side} end",
                    None,
                    expected,
                    "every link has a label at both ends",
                )
                continue
            text = " ".join(label[f"line_{number}"] for number in range(1, 6) if label[f"line_{number}"])
            if text != expected:
                yield wrong("CAB012", label, "the label", text, expected, f"{row.place} has it so")
    for key, own in printed.items():
        if len(own) > wanted[key]:
            yield wrong("CAB012", own[-1], "a label", f"{key[0]} {key[1]}", "none", "no link has it")


def _two(unit: str) -> str:
    return unit.zfill(2)


def _workbook(papers: Papers) -> Iterator[Finding]:
    """Compare the workbook with the list, row by row; the columns to tick off are the technician's."""
    path = papers.documents.site / BOOK
    if not path.is_file():
        return
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise CellError(f"{BOOK} cannot be read: {error}") from error
    by_network: defaultdict[str, list[Row]] = defaultdict(list)
    for row in papers.rows(FILE):
        by_network[row["network"]].append(row)
    for network, rows in by_network.items():
        if network not in book.sheetnames:
            yield absent("CAB013", BOOK, f"the sheet {network}", None, f"{len(rows):,} links", f"{FILE} has them")
            continue
        sheet = book[network].iter_rows(values_only=True)
        titles = [str(title).replace(" ", "_") for title in next(sheet, ()) if title is not None]
        kept = [at for at, title in enumerate(titles) if title in rows[0].cells and title not in _TO_FILL]
        listed = {
            number: {titles[at]: _cell(cells[at]) for at in kept if at < len(cells)}
            for number, cells in enumerate(sheet, start=2)
            if any(cell is not None for cell in cells)
        }
        yield from _sheet(f"{BOOK} {network}", listed, rows)


def _sheet(place: str, listed: Mapping[int, Mapping[str, str]], rows: Iterable[Row]) -> Iterator[Finding]:
    """Compare the rows of a sheet with the links of the same cable, in whatever order either is sorted."""
    waiting: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        waiting[row["cable"]].append(row)
    other = []
    for number, cells in listed.items():
        own = waiting[cells.get("cable", "")]
        same = next((at for at, row in enumerate(own) if all(_cell(row[key]) == cells[key] for key in cells)), None)
        if same is None:
            other.append((number, cells))
        else:
            del own[same]
    for number, cells in other:
        cable = cells.get("cable", "")
        if not waiting[cable]:
            yield absent("CAB013", f"{place}!{number}", "a link", cable, "none", f"{FILE} has no other of this cable")
            continue
        row = waiting[cable].pop(0)
        for key, value in cells.items():
            if value != _cell(row[key]):
                yield absent(
                    "CAB013", f"{place}!{number}", key.replace("_", " "), value, row[key], f"{row.place} has it so"
                )
    for left in (row for own in waiting.values() for row in own):
        yield absent("CAB013", place, f"the link {left['label']}", None, "one", f"{left.place} has it")


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    try:
        return f"{float(text):g}"
    except ValueError:
        return text
