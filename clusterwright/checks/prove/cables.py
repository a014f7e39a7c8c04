"""Proof of the cable list: every port once, every end where it is, and the same cables as in the fabric files."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clusterwright.checks.prove.fabric.reading import named_wires, read_netlist
from clusterwright.checks.prove.papers import Papers, Row, absent, summed, wrong
from clusterwright.checks.prove.records import Documents, Result, found, judged
from clusterwright.errors import ClusterwrightError, Finding
from clusterwright.facility.cabling.links import compute_network, storage_network

FILE, RACKS = "cables.csv", "racks.csv"
_PART = "cables"
_ENGINE = "comparison of the files"
_SIDES = ("from", "to")
#: Files of a network's cables; a compute fabric of several planes has one for each.
_NETLISTS = {"compute": "fabric*.ibnetdiscover", "storage": "storage.ibnetdiscover"}
_PLANNED = {"compute": compute_network, "storage": storage_network}
_HELP = "write the folder again, or carry a change into every document"


def prove_cables(papers: Papers) -> Result:
    """Return what holds of the cable list of a folder."""
    documents = papers.documents
    path, racks = documents.site / FILE, documents.site / RACKS
    found_nets = {net: sorted(documents.site.glob(pattern)) for net, pattern in _NETLISTS.items()}
    nets = {net: paths for net, paths in found_nets.items() if paths}
    files = tuple(documents.name(one) for one in (path, racks, *(one for paths in nets.values() for one in paths)))
    try:
        rows = papers.rows(FILE)
        findings = [
            *_ports(rows),
            *_ends(rows, papers.standing),
            *_counts(rows, documents.design.cables),
            *_wires(rows, nets, documents),
        ]
    except ClusterwrightError as error:
        return judged(_PART, files, _ENGINE, [], [found("CAB005", error.message, _HELP)])
    facts = [
        f"{len(rows):,} links, {len(rows) * 2:,} ports, each once",
        f"every end stands where racks.csv has it; compute and storage are those of {_compared(nets)}",
    ]
    return judged(_PART, files, _ENGINE, facts, summed(findings))


def _compared(nets: Mapping[str, Sequence[Path]]) -> str:
    return "the fabric files" if nets else "the plan"


def _ports(rows: Sequence[Row]) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        for side in _SIDES:
            device, port = row[f"{side}_device"], row[f"{side}_port"]
            other = first.setdefault((row["network"], device, port), row)
            if other is not row:
                cables = f"{row['cable']} and {other['cable']}"
                yield wrong(
                    "CAB001", row, f"the cables of {device}:{port}", cables, "one", f"{other.place} has the port"
                )


def _ends(rows: Sequence[Row], standing: Mapping[str, Row]) -> Iterator[Finding]:
    for row in rows:
        for side in _SIDES:
            device, place = row[f"{side}_device"], standing.get(row[f"{side}_device"])
            # Power strips hang beside the units and are not in the list of devices.
            if device.startswith("pdu-"):
                continue
            said = f"{row[f'{side}_rack']} U{row[f'{side}_u']}"
            stands = "no rack" if place is None else f"{place['rack']} U{place['u']}"
            if said != stands:
                where = RACKS if place is None else place.place
                yield wrong("CAB002", row, f"the place of {device}", said, stands, f"{where} has it so")


def _counts(rows: Sequence[Row], planned: Mapping[str, int]) -> Iterator[Finding]:
    counted = Counter(row["network"] for row in rows)
    for network in sorted({*counted, *planned}):
        if counted[network] != planned.get(network, 0):
            what = f"the links of the {network} network"
            yield absent("CAB004", FILE, what, counted[network], planned.get(network, 0), "plan.json counts as many")


def _wires(rows: Sequence[Row], nets: Mapping[str, Sequence[Path]], documents: Documents) -> Iterator[Finding]:
    """Compare the list with the fabric files; with the plan's cables where a network has no such file."""
    inventory = documents.design.inventory
    cages = {
        "compute": inventory.fabric.ports_per_switch_cage,
        "storage": inventory.storage_fabric.ports_per_switch_cage,
    }
    for network, planned in _PLANNED.items():
        links = list(planned(inventory))
        paths = nets.get(network, ())
        wires = {wire for path in paths for wire in named_wires(read_netlist(path, {}))} or {
            frozenset(((link.a.device, link.a.port + 1), (link.b.device, link.b.port + 1))) for link in links
        }
        switches = {end.device for link in links for end in (link.a, link.b) if end.kind == "switch"}

        def end(row: Row, side: str, switches: set[str] = switches, cage: int = cages[network]) -> tuple[str, int]:
            device = row[f"{side}_device"]
            return device, _port(row, side, cage if device in switches else inventory.node_ports_per_cage)

        listed = {frozenset((end(row, "from"), end(row, "to"))): row for row in rows if row["network"] == network}
        other = ", ".join(path.name for path in paths) or "plan.json"
        yield from _differing(listed, wires, other)


_Wire = frozenset[tuple[str, int]]


def _differing(listed: Mapping[_Wire, Row], wires: set[_Wire], other: str) -> Iterator[Finding]:
    """Name every link that one of two lists has, with what the other has on the same ports."""
    ends: defaultdict[tuple[str, int], list[_Wire]] = defaultdict(list)
    for wire in wires:
        for one in wire:
            ends[one].append(wire)
    for wire, row in listed.items():
        if wire not in wires:
            there = sorted({_words(joined) for one in wire for joined in ends[one]})
            yield wrong("CAB003", row, "the link", _words(wire), " and ".join(there), f"{other} joins these ports so")
    for wire in sorted(wires - listed.keys(), key=sorted):
        yield absent("CAB003", FILE, f"the link {_words(wire)}", None, "one", f"{other} has it")


def _words(wire: _Wire) -> str:
    return " - ".join(f"{device}:{port}" for device, port in sorted(wire))


def _port(row: Row, side: str, per_cage: int) -> int:
    """Return a port's number from 1, of `cage/port` or of a number; 0 for what is neither."""
    cage, _, place = row[f"{side}_port"].partition("/")
    if not cage.isdigit() or (place and not place.isdigit()):
        return 0  # said where ports are looked at one by one
    return (int(cage) - 1) * per_cage + int(place) if place else int(cage)
