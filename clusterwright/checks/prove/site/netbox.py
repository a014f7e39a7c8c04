"""The tables for NetBox: racks, devices, ports and cables of the other documents, each once, and what they refer to."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from math import floor, isclose

from clusterwright.checks.prove.papers import Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_document
from clusterwright.errors import Finding

_MAKERS, _ROLES, _SITES, _RACKS, _DEVICES, _INTERFACES, _CABLES = (
    f"netbox/{name}.csv"
    for name in (
        "0-manufacturers",
        "2-device-roles",
        "3-sites",
        "4-racks",
        "5-devices",
        "6-interfaces",
        "7-cables",
    )
)
_TYPES = "netbox/1-device-types"
#: What NetBox calls a kind of cable.
_CABLE_TYPES = {
    "dac": "dac-passive",
    "splitter": "",
    "aoc": "aoc",
    "multimode": "mmf-om4",
    "singlemode": "smf",
    "copper": "cat6",
}
_POWER = "power"


def prove_netbox(papers: Papers) -> Result:
    """Return what holds of the tables for NetBox."""
    facts = [
        (
            f"{len(papers.tables.get(_DEVICES, ())):,} devices, {len(papers.tables.get(_INTERFACES, ())):,} "
            f"interfaces, {len(papers.tables.get(_CABLES, ())):,} cables: those of racks.csv and cables.csv"
        ),
        "every maker, type, role, site and rack that a row names is in its table",
    ]
    rules = (
        _racks,
        _devices,
        _types,
        _type_sizes,
        _references,
        _interfaces,
        _rates,
        _cables,
        _no_other_cables,
    )
    return examined("NetBox", papers, (_DEVICES, _INTERFACES, _CABLES), rules, facts)


def _once(id_: str, papers: Papers, file: str, columns: tuple[str, ...]) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], Row] = {}
    for row in papers.rows(file):
        key = tuple(row[column] for column in columns)
        if key in seen:
            yield wrong(
                id_, row, f"the row of {' '.join(key)}", "a second one", f"only {seen[key].place}", "names are unique"
            )
        seen[key] = row


def _racks(papers: Papers) -> Iterator[Finding]:
    yield from _once("NBX001", papers, _RACKS, ("name",))
    listed = {row["name"]: row for row in papers.rows(_RACKS)}
    used = {row["rack"] for row in papers.rows("racks.csv")}
    for rack in sorted(used - listed.keys()):
        yield absent("NBX001", _RACKS, f"the row of rack {rack}", None, "one", "racks.csv has devices in it")
    height = floor(papers.documents.design.site.rack_height_u)
    for name, row in listed.items():
        if name not in used:
            yield wrong("NBX001", row, "a rack", name, "a rack of racks.csv", "something stands in every rack")
        if row.count("u_height") != height:
            yield wrong(
                "NBX001", row, f"the units of rack {name}", row["u_height"], height, "the site's racks are as high"
            )


def _devices(papers: Papers) -> Iterator[Finding]:
    yield from _once("NBX002", papers, _DEVICES, ("name",))
    listed = {row["name"]: row for row in papers.rows(_DEVICES)}
    models: dict[tuple[str, str], str] = {}
    for name, place in papers.standing.items():
        row = listed.get(name)
        if row is None:
            yield absent(
                "NBX002", _DEVICES, f"the row of {name}", None, f"{place['rack']} U{place['u']}", "racks.csv has it"
            )
            continue
        for column, own in (("role", "role"), ("rack", "rack"), ("position", "u")):
            if row[column] != place[own]:
                yield wrong("NBX002", row, f"{column} of {name}", row[column], place[own], f"{place.place} has it so")
        type_ = (row["manufacturer"], row["device_type"])
        expected = _model(papers, place["part"])
        if " ".join(type_) not in {expected, f"Generic {expected}"}:
            yield wrong(
                "NBX002", row, f"the type of {name}", " ".join(type_), expected, f"{place.place} has a {place['part']}"
            )
        if models.setdefault(type_, place["part"]) != place["part"]:
            yield wrong("NBX002", row, f"the type of {name}", " ".join(type_), place["part"], "a type is one part")
    for name, row in listed.items():
        if row["role"] != _POWER and name not in papers.standing:
            yield wrong("NBX002", row, "a device", name, "a device of racks.csv", "nothing else stands there")
        if row["role"] == _POWER and not name.startswith(f"pdu-{row['rack'].lower()}-"):
            yield wrong(
                "NBX002",
                row,
                f"the rack of {name}",
                row["rack"],
                name.split("-")[1].upper(),
                "strips are named by their rack",
            )


def _model(papers: Papers, part: str) -> str:
    catalogue = papers.catalogue
    known = catalogue.systems.get(part) or catalogue.switches.get(part) or catalogue.parts.get(part)
    storage = catalogue.storage_systems.get(part)
    return known.name if known else storage.name if storage else part


def _type_files(papers: Papers) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield the file, its name without ending, and the content of every device type that can be read."""
    for path in sorted((papers.documents.site / _TYPES).glob("*.yaml")):
        try:
            document = yaml_document(path.read_text(encoding="utf-8"))
        except (YamlTextError, OSError, UnicodeDecodeError):
            continue  # said by the proof of all files
        yield f"{_TYPES}/{path.name}", path.stem, document if isinstance(document, dict) else {}


def _types(papers: Papers) -> Iterator[Finding]:
    makers = {row["name"] for row in papers.rows(_MAKERS)}
    found = set()
    for name, stem, document in _type_files(papers):
        found.add((str(document.get("manufacturer")), str(document.get("model"))))
        if document.get("manufacturer") not in makers:
            maker = document.get("manufacturer")
            yield absent("NBX003", name, "manufacturer", maker, f"one of {_MAKERS}", "types name a maker")
        if document.get("slug") != stem:
            yield absent("NBX003", name, "slug", document.get("slug"), stem, "a file is called by its slug")
    for type_ in {(row["manufacturer"], row["device_type"]) for row in papers.rows(_DEVICES)} - found:
        yield absent("NBX003", _TYPES, f"the file of {' '.join(type_)}", None, "one", f"{_DEVICES} names it")


def _type_sizes(papers: Papers) -> Iterator[Finding]:
    """Height and weight of a type are those of its devices; trays that share a rack's weight have none of their own."""
    devices: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in papers.rows(_DEVICES):
        if row["name"] in papers.standing:
            devices[row["manufacturer"], row["device_type"]].append(papers.standing[row["name"]])
    for name, _, document in _type_files(papers):
        own = devices[str(document.get("manufacturer")), str(document.get("model"))]
        for key, column in (("u_height", "height_u"), ("weight", "weight_kg")):
            values = {place.known(column) for place in own}
            if len(values) != 1:
                continue
            expected = values.pop()
            if not _equal(document.get(key), expected):
                yield absent("NBX003", name, key, document.get(key), expected, f"{own[0].place} has it so")


def _equal(value: object, expected: float | None) -> bool:
    if not isinstance(value, int | float) or expected is None:
        return value is None and expected is None
    return isclose(value, expected, rel_tol=1e-6)


def _references(papers: Papers) -> Iterator[Finding]:
    tables = {
        column: {row["name"] for row in papers.rows(file)}
        for column, file in (("manufacturer", _MAKERS), ("role", _ROLES), ("site", _SITES), ("rack", _RACKS))
    }
    for row in papers.rows(_DEVICES):
        for column, names in tables.items():
            if row[column] not in names:
                yield wrong(
                    "NBX004",
                    row,
                    f"{column} of {row['name']}",
                    row[column],
                    ", ".join(sorted(names)[:8]),
                    "its table has them",
                )
    sites = tables["site"]
    for row in papers.rows(_RACKS):
        if row["site"] not in sites:
            yield wrong(
                "NBX004", row, f"site of rack {row['name']}", row["site"], ", ".join(sorted(sites)), f"{_SITES} has it"
            )


def _interface(row: Row, side: str) -> str:
    """Return what NetBox calls the port at an end of a link."""
    port = row[f"{side}_port"]
    return port if port == "mgmt" else f"{row['network']}-{port}"


#: Gb/s that a type of interface says, by the words in it.
_RATES = {
    "1000base-t": 1,
    "100gbase-x-qsfp28": 100,
    "infiniband-hdr": 200,
    "400gbase-x-osfp": 400,
    "800gbase-x-osfp": 800,
}


def _joined_ports(papers: Papers) -> dict[tuple[str, str], Row]:
    """Return the link of `cables.csv` on every port, by device and NetBox's name of the port."""
    return {
        (row[f"{side}_device"], _interface(row, side)): row
        for row in papers.rows("cables.csv")
        for side in ("from", "to")
    }


def _interfaces(papers: Papers) -> Iterator[Finding]:
    yield from _once("NBX005", papers, _INTERFACES, ("device", "name"))
    listed = {(row["device"], row["name"]): row for row in papers.rows(_INTERFACES)}
    wanted = _joined_ports(papers)
    for key, link in wanted.items():
        if key not in listed:
            yield absent("NBX005", _INTERFACES, f"the row of {' '.join(key)}", None, "one", f"{link.place} joins it")
    for key, row in listed.items():
        name, only = " ".join(key), str(key[1] == "mgmt").lower()
        if key not in wanted:
            yield wrong("NBX005", row, "an interface", name, "a port of cables.csv", "every port listed has a cable")
        if row["mgmt_only"].lower() != only:
            yield wrong("NBX005", row, f"mgmt_only of {name}", row["mgmt_only"], only, "only the management port is")


def _rates(papers: Papers) -> Iterator[Finding]:
    """Ports of one network have one type, of the rate of the inventory where NetBox's name says one."""
    rates = {"compute": round(papers.documents.design.inventory.compute_port_bytes_per_s * 8e-9)}
    rates |= {"out-of-band": 1, "in-band": 100}
    wanted, types = _joined_ports(papers), defaultdict[str, Counter[str]](Counter)
    own = [
        (row, wanted[row["device"], row["name"]]["network"])
        for row in papers.rows(_INTERFACES)
        if (row["device"], row["name"]) in wanted
    ]
    for row, network in own:
        types[network][row["type"]] += 1
    usual = {network: found.most_common(1)[0][0] for network, found in types.items()}
    for row, network in own:
        if row["type"] != usual[network]:
            name = f"the type of {row['device']} {row['name']}"
            yield wrong(
                "NBX005", row, name, row["type"], usual[network], f"ports of the {network} network have one rate"
            )
    for network, type_ in usual.items():
        if _RATES.get(type_, rates.get(network)) != rates.get(network, _RATES.get(type_)):
            name = f"the type of ports of the {network} network"
            yield absent(
                "NBX005", _INTERFACES, name, type_, f"one of {rates[network]} Gb/s", "the inventory has that rate"
            )


def _links(papers: Papers, file: str) -> Iterator[tuple[frozenset[tuple[str, str]], Row]]:
    for row in papers.rows(file):
        yield frozenset((row[f"side_{side}_device"], row[f"side_{side}_name"]) for side in ("a", "b")), row


def _said(ends: frozenset[tuple[str, str]]) -> str:
    return " - ".join(" ".join(end) for end in sorted(ends))


def _cables(papers: Papers) -> Iterator[Finding]:
    listed = dict(_links(papers, _CABLES))
    for row in papers.rows("cables.csv"):
        ends = frozenset((row[f"{side}_device"], _interface(row, side)) for side in ("from", "to"))
        own = listed.get(ends)
        if own is None:
            yield absent("NBX006", _CABLES, f"the row of {_said(ends)}", None, row["cable"], f"{row.place} joins them")
            continue
        kind = _CABLE_TYPES.get(row["kind"], row["kind"])
        for column, expected in (("label", row["cable"]), ("type", kind), ("length_unit", "m")):
            if own[column] != expected:
                yield wrong(
                    "NBX006", own, f"{column} of {_said(ends)}", own[column], expected, f"{row.place} has it so"
                )
        if not isclose(own.number("length"), row.number("length_m")):
            name = f"length of {_said(ends)}, m"
            yield wrong("NBX006", own, name, own["length"], row["length_m"], f"{row.place} has it so")


def _no_other_cables(papers: Papers) -> Iterator[Finding]:
    wanted = {
        frozenset((row[f"{side}_device"], _interface(row, side)) for side in ("from", "to"))
        for row in papers.rows("cables.csv")
    }
    seen: dict[frozenset[tuple[str, str]], Row] = {}
    for ends, row in _links(papers, _CABLES):
        if ends not in wanted:
            yield wrong("NBX006", row, "a cable", _said(ends), "a link of cables.csv", "nothing else is laid")
        if ends in seen:
            yield wrong(
                "NBX006", row, "the row of a cable", "a second one", f"only {seen[ends].place}", "a link is one row"
            )
        seen[ends] = row
        for side in ("a", "b"):
            type_ = row[f"side_{side}_type"]
            if type_ != "dcim.interface":
                yield wrong("NBX006", row, f"side_{side}_type", type_, "dcim.interface", "links join interfaces")
