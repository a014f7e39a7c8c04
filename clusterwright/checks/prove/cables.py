"""Proof of the cable list: every port once, every end where it is, and the same cables as in the fabric files."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clusterwright.checks.prove.fabric.reading import named_wires, read_netlist
from clusterwright.checks.prove.records import Documents, Result, found, judged
from clusterwright.errors import ClusterwrightError, Finding
from clusterwright.facility.cabling.links import compute_network, storage_network

FILE = "cables.csv"
_PART = "cables"
_ENGINE = "comparison of the files"
_SIDES = ("from", "to")
#: Files of a network's cables; a compute fabric of several planes has one for each.
_NETLISTS = {"compute": "fabric*.ibnetdiscover", "storage": "storage.ibnetdiscover"}
_PLANNED = {"compute": compute_network, "storage": storage_network}
_HELP = "write the folder again, or carry a change into every document"

Row = Mapping[str, str]


def prove_cables(documents: Documents) -> Result:
    """Return what holds of the cable list of a folder."""
    path, racks = documents.site / FILE, documents.site / "racks.csv"
    found_nets = {net: sorted(documents.site.glob(pattern)) for net, pattern in _NETLISTS.items()}
    nets = {net: paths for net, paths in found_nets.items() if paths}
    files = tuple(documents.name(one) for one in (path, racks, *(one for paths in nets.values() for one in paths)))
    try:
        rows, placed = _rows(path), {row["device"]: (row["rack"], row["u"]) for row in _rows(racks)}
        findings = [
            *_ports(rows),
            *_ends(rows, placed),
            *_counts(rows, documents.design.cables),
            *_wires(rows, nets, documents),
        ]
    except (OSError, UnicodeDecodeError, KeyError, ValueError, csv.Error) as error:
        return judged(_PART, files, _ENGINE, [], [found("CAB005", f"{path.name} cannot be read: {error!r}", _HELP)])
    except ClusterwrightError as error:
        return judged(_PART, files, _ENGINE, [], [found("CAB005", error.message, _HELP)])
    facts = [
        f"{len(rows):,} links, {len(rows) * 2:,} ports, each once",
        f"every end stands where racks.csv has it; compute and storage are those of {_compared(nets)}",
    ]
    return judged(_PART, files, _ENGINE, facts, findings)


def _compared(nets: Mapping[str, Sequence[Path]]) -> str:
    return "the fabric files" if nets else "the plan"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _ports(rows: Sequence[Row]) -> Iterator[Finding]:
    ends = Counter((row["network"], row[f"{side}_device"], row[f"{side}_port"]) for row in rows for side in _SIDES)
    twice = [end for end, count in ends.items() if count > 1]
    if twice:
        _, device, port = twice[0]
        yield found(
            "CAB001", f"{FILE}: {len(twice):,} ports have more than one cable, the first {device}:{port}", _HELP
        )


def _ends(rows: Sequence[Row], placed: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    wrong = []
    for row in rows:
        for side in _SIDES:
            device, place = row[f"{side}_device"], (row[f"{side}_rack"], row[f"{side}_u"])
            # Power strips hang beside the units and are not in the list of devices.
            if not device.startswith("pdu-") and placed.get(device) != place:
                wrong.append((row["cable"], device, place, placed.get(device)))
    if wrong:
        cable, device, place, planned = wrong[0]
        stands = "in no rack" if planned is None else f"in {planned[0]} U{planned[1]}"
        yield found(
            "CAB002",
            f"{FILE}: {len(wrong):,} ends are elsewhere than in racks.csv; {cable} has {device} in {place[0]} "
            f"U{place[1]}, it stands {stands}",
            _HELP,
        )


def _counts(rows: Sequence[Row], planned: Mapping[str, int]) -> Iterator[Finding]:
    counted = Counter(row["network"] for row in rows)
    for network in sorted({*counted, *planned}):
        if counted[network] != planned.get(network, 0):
            yield found(
                "CAB004",
                f"{FILE}: {counted[network]:,} cables of the {network} network, the plan counts "
                f"{planned.get(network, 0):,}",
                _HELP,
            )


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
            return device, _port(row[f"{side}_port"], cage if device in switches else inventory.node_ports_per_cage)

        listed = {frozenset((end(row, "from"), end(row, "to"))) for row in rows if row["network"] == network}
        differing = listed ^ wires
        if differing:
            first = " - ".join(f"{device}:{port}" for device, port in sorted(min(differing, key=sorted)))
            other = ", ".join(path.name for path in paths) or "the plan"
            yield found("CAB003", f"{FILE} and {other} differ in {len(differing):,} cables, such as {first}", _HELP)


def _port(name: str, per_cage: int) -> int:
    """Return a port's number from 1, of `cage/port` or of a number."""
    cage, _, place = name.partition("/")
    return (int(cage) - 1) * per_cage + int(place) if place else int(cage)
