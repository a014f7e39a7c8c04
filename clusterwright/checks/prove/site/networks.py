"""The networks as the cable list makes them: every port of a host, both sides, equal trunks, one management port."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from clusterwright.checks.prove.papers import Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.checks.prove.site.wiring import FILE, level_of, network_of
from clusterwright.errors import Finding
from clusterwright.facility import inventory as stock
from clusterwright.facility.fabric.networks import SIDES

_TABLE = "fabric.csv"
_UPLINKS = "uplinks.csv"


def prove_networks(papers: Papers) -> Result:
    """Return what holds of the networks."""
    counts = Counter(row.cells.get("network") for row in papers.tables.get(FILE, ()))
    facts = [
        (
            f"{counts['in-band']:,} in-band and {counts['out-of-band']:,} out-of-band links: both sides, equal trunks, "
            "one management port for every device and PDU"
        ),
        f"{len(papers.tables.get(_TABLE, ())):,} rows of {_TABLE} equal what the cables count",
    ]
    return examined("networks", papers, (FILE, _TABLE, _UPLINKS), _RULES, facts)


def _ends(papers: Papers, network: str) -> Mapping[str, list[tuple[Row, str, str]]]:
    """Return the links of every device of a network: the row, the device's own port, the device at the far end."""
    found: defaultdict[str, list[tuple[Row, str, str]]] = defaultdict(list)
    for row in papers.rows(FILE):
        if row["network"] == network:
            found[row["from_device"]].append((row, row["from_port"], row["to_device"]))
            found[row["to_device"]].append((row, row["to_port"], row["from_device"]))
    return found


def _all_ports(papers: Papers) -> Iterator[Finding]:
    """Every host, server and box has all its ports cabled, numbered from 1 without a gap."""
    inventory = papers.documents.design.inventory
    hosts, servers = inventory.hosts(), inventory.servers()
    asked = {
        "compute": dict.fromkeys(hosts, inventory.fabric.ports_per_node * inventory.planes),
        "storage": dict.fromkeys(hosts, inventory.storage_ports)
        | dict.fromkeys(servers, 1)
        | dict.fromkeys(inventory.boxes(), inventory.storage.ports_per_box),
        "in-band": dict.fromkeys(hosts, inventory.inband_ports) | dict.fromkeys(servers, SIDES),
    }
    for network, devices in asked.items():
        ends = _ends(papers, network)
        for device, ports in devices.items():
            cabled = len({port for _, port, _ in ends.get(device, ())})
            if cabled != ports:
                yield absent(
                    "NET101",
                    FILE,
                    f"the number of {network} ports of {device} with a cable",
                    cabled,
                    ports,
                    "every port of a device has its cable",
                )


def _sides(papers: Papers) -> Iterator[Finding]:
    """A device with several ports in a two-sided network reaches switches of both sides, equally often."""
    for network in ("storage", "in-band"):
        for device, links in _ends(papers, network).items():
            place = papers.place(device)
            if place is None or place["role"] == "network" or len(links) < SIDES:
                continue
            sides = Counter(far[-1] for _, _, far in links)
            if set(sides) != {"a", "b"} or max(sides.values()) - min(sides.values()) > len(links) % SIDES:
                yield wrong(
                    "NET102",
                    links[-1][0],
                    f"the {network} sides of {device}",
                    ", ".join(f"{count} on {side}" for side, count in sorted(sides.items())),
                    f"{len(links) // SIDES} on a, {len(links) // SIDES} on b",
                    "one side may fail and the device stays reachable",
                )
            stems = {far[:-1] for _, _, far in links}
            if len(links) == SIDES and len(stems) > 1:
                yield wrong(
                    "NET102",
                    links[-1][0],
                    f"the {network} switches of {device}",
                    ", ".join(sorted(stems)),
                    "both of one pair",
                    "the two sides of a device are a pair of leaves",
                )
            for row, port, far in links:
                if port.isdigit() and len(links) == SIDES and far[-1] != "ab"[(int(port) - 1) % SIDES]:
                    yield wrong(
                        "NET102",
                        row,
                        f"the side of port {port} of {device}",
                        far[-1],
                        "ab"[(int(port) - 1) % SIDES],
                        "odd ports are on side a, even ones on side b",
                    )
                    break


def _trunks(papers: Papers) -> Iterator[Finding]:
    """Switches of one level have equally many links to each switch that they reach one level up."""
    inband = papers.documents.design.inventory.inband
    trunks: Counter[tuple[str, str, str, str]] = Counter()
    last: dict[tuple[str, str, str, str], Row] = {}
    for row in papers.rows(FILE):
        if row["tier"] in {
            "leaf-spine",
            "spine-core",
            "leaf-leaf",
            "leaf-aggregation",
            "aggregation-core",
            "oob-uplink",
        }:
            key = (row["network"], row["tier"], row["from_device"], row["to_device"])
            trunks[key] += 1
            last[key] = row
    widths: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for (network, tier, _, _), count in trunks.items():
        widths[network, tier][count] += 1
    for key, count in trunks.items():
        usual = widths[key[0], key[1]].most_common(1)[0][0]
        if count != usual and key[1] != "spine-core":
            yield wrong(
                "NET103",
                last[key],
                f"the links from {key[2]} to {key[3]}",
                count,
                usual,
                f"trunks of {key[1]} links are equally wide",
            )
    expected = {"leaf-leaf": inband.peer_cables, "leaf-aggregation": inband.leaf_uplinks}
    for (network, tier), found in widths.items():
        wide = expected.get(tier)
        usual = found.most_common(1)[0][0]
        if wide is not None and usual != wide:
            yield absent(
                "NET103",
                FILE,
                f"the width of {tier} trunks of the {network} network",
                usual,
                wide,
                "the inventory counts them so",
            )


def _uplinks(papers: Papers) -> Iterator[Finding]:
    uplinks: defaultdict[str, set[str]] = defaultdict(set)
    for row in papers.rows(FILE):
        if row["tier"] == "oob-uplink":
            uplinks[row["from_device"]].add(row["to_device"])
    for name in papers.documents.design.inventory.oob_names():
        if len(uplinks[name]) != SIDES:
            yield absent(
                "NET104",
                FILE,
                f"the in-band switches that {name} hangs on",
                ", ".join(sorted(uplinks[name])),
                "two",
                "an out-of-band switch has an uplink on each side",
            )


def _management(papers: Papers) -> Iterator[Finding]:
    ends: Counter[str] = Counter()
    last: dict[str, Row] = {}
    for row in papers.rows(FILE):
        if row["tier"] != "management":
            continue
        ends[row["from_device"]] += 1
        last[row["from_device"]] = row
        if row["from_port"] != "mgmt":
            yield wrong(
                "NET105",
                row,
                f"the management port of {row['from_device']}",
                row["from_port"],
                "mgmt",
                "a management link hangs on the management port",
            )
    strips = {row["name"] for row in papers.tables.get("netbox/5-devices.csv", ()) if row.cells.get("role") == "power"}
    for name, place in papers.standing.items():
        wanted = 0 if place["part"] == stock.OOB_SWITCH else 1
        if ends[name] != wanted:
            yield wrong(
                "NET105",
                last.get(name, place),
                f"the management links of {name}",
                ends[name],
                wanted,
                "every device but the out-of-band switches is managed through one",
            )
    for name in sorted(strips | {one for one in ends if one.startswith("pdu-")}):
        wanted = 1 if name in strips else 0
        if ends[name] != wanted:
            yield absent(
                "NET105",
                FILE,
                f"the management links of {name}",
                ends[name],
                wanted,
                "every PDU of netbox/5-devices.csv is managed through one",
            )


_TIER_LEVELS = {
    "leaf": "leaf",
    "spine": "spine",
    "core": "core",
    "aggregation": "agg",
    "access": "oob",
    "border": "border",
}
#: Levels from the bottom up: a link from a lower to a higher one is an uplink of the lower.
_HEIGHT = {"": 0, "leaf": 2, "spine": 3, "agg": 3, "core": 4, "border": 5, "oob": 1}


def _switches(papers: Papers) -> Mapping[tuple[str, str], set[str]]:
    """Return the names of the switches of every network and level."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for name, place in papers.standing.items():
        if place["role"] == "network":
            found[network_of(papers, name), level_of(name)].add(name)
    return found


def _ends_counted(papers: Papers) -> Counter[tuple[str, str, str]]:
    """Return how many ends of cables lie below (`ports_down`) and above (`ports_up`) the switches of a level."""
    found: Counter[tuple[str, str, str]] = Counter()
    for row in papers.rows(FILE):
        for near, far in (("from", "to"), ("to", "from")):
            device, level = row[f"{near}_device"], level_of(row[f"{near}_device"])
            network = network_of(papers, device)
            if not network or (row["tier"] == "management" and near == "from"):
                continue
            rises = row["tier"] != "management" and _HEIGHT[level_of(row[f"{far}_device"])] >= _HEIGHT[level]
            found[network, level, "ports_up" if rises else "ports_down"] += 1
    # The far end of these is not in this hall.
    found["in-band", "border", "ports_up"] += papers.documents.design.inventory.inband.uplinks
    return found


def _level(row: Row) -> tuple[str, str]:
    return row["network"], _TIER_LEVELS.get(row["tier"], row["tier"])


def _counted(papers: Papers) -> Iterator[Finding]:
    """Compare the table of tiers with the devices and the ends of cables that are counted."""
    switches, ends = _switches(papers), _ends_counted(papers)
    for row in papers.rows(_TABLE):
        key, name = _level(row), f"{row['network']} {row['tier']}"
        counts = {"switches": len(switches.get(key, ()))}
        counts |= {column: ends[(*key, column)] for column in ("ports_down", "ports_up")}
        for column, expected in counts.items():
            if row.count(column) != expected:
                rule = "racks.csv and cables.csv count it"
                yield wrong("NET106", row, f"{column} of {name}", row[column], expected, rule)
    for key in sorted(switches.keys() - {_level(row) for row in papers.rows(_TABLE)}):
        yield absent(
            "NET106",
            _TABLE,
            f"the row of {key[0]} {key[1]}",
            None,
            f"{len(switches[key])} switches",
            "racks.csv has them",
        )


def _free(papers: Papers) -> Iterator[Finding]:
    switches = _switches(papers)
    for row in papers.rows(_TABLE):
        name, ports = f"{row['network']} {row['tier']}", row.count("ports_per_switch")
        # Uplinks of an out-of-band switch are faster ports beside those that are counted.
        uplinks = 0 if row["network"] == "out-of-band" else row.count("ports_up")
        free = row.count("switches") * ports - row.count("ports_down") - uplinks
        if row.count("ports_free") != free:
            rule = "switches times ports less those in use"
            yield wrong("NET106", row, f"ports_free of {name}", row["ports_free"], free, rule)
        own = next(iter(switches.get(_level(row), ())), None)
        part = "" if own is None else papers.standing[own]["part"]
        if row["switch"] != part:
            yield wrong("NET106", row, f"the switch of {name}", row["switch"], part, "racks.csv has it")
        switch = papers.catalogue.switches.get(part)
        if switch is not None and ports % switch.ports:
            rule = "the product has them, or a multiple where they are split"
            yield wrong("NET106", row, f"ports_per_switch of {part}", ports, switch.ports, rule)


def _to_users(papers: Papers) -> Iterator[Finding]:
    """Every uplink that was planned has a port of a border switch that no other cable has."""
    rows = papers.rows(_UPLINKS) if papers.documents.design.inventory.inband.uplinks else ()
    planned = papers.documents.design.inventory.inband.uplinks
    if len(rows) != planned:
        yield absent("NET107", _UPLINKS, "the number of uplinks", len(rows), planned, "the inventory has them")
    taken = {(row[f"{side}_device"], row[f"{side}_port"]) for row in papers.rows(FILE) for side in ("from", "to")}
    for row in rows:
        yield from _near_end(papers, row)
        port = (row["from_device"], row["from_port"])
        place = papers.place(row["from_device"])
        if place is None or not row["from_device"].startswith("border-"):
            yield wrong("NET107", row, "from_device", row["from_device"], "a border switch", "uplinks leave by it")
        elif (row["from_rack"], row["from_u"]) != (place["rack"], place["u"]):
            where, stands = f"{row['from_rack']} U{row['from_u']}", f"{place['rack']} U{place['u']}"
            yield wrong("NET107", row, f"the place of {row['from_device']}", where, stands, "racks.csv has it there")
        if port in taken:
            yield wrong("NET107", row, "from_port", ":".join(port), "a port of its own", "a port has one cable")
        taken.add(port)
    borders = sorted(name for name in papers.standing if name.startswith("border-"))
    leaving = Counter(row["from_device"] for row in rows)
    most = max((leaving[name] for name in borders), default=0)
    for name in borders:
        if leaving[name] < most - 1:
            yield absent(
                "NET107",
                _UPLINKS,
                f"the uplinks of {name}",
                leaving[name],
                f"{most - 1} or more",
                "border switches share them, so that users lose no more than a share when one fails",
            )


def _near_end(papers: Papers, row: Row) -> Iterator[Finding]:
    """What lies at the near end of an uplink is what the bill buys, on a port that the switch has."""
    for column, expected in (("from_transceiver", stock.UPLINK_TRANSCEIVER), ("part", stock.UPLINK_FIBRE)):
        if row[column] != expected:
            rule = "the bill buys it, single-mode since the way is not known"
            yield wrong("NET107", row, column, row[column], expected, rule)
    place = papers.place(row["from_device"])
    switch = None if place is None else papers.catalogue.switches.get(place["part"])
    port = row["from_port"]
    if switch is not None and not (port.isdigit() and 1 <= int(port) <= switch.ports):
        rule = "the switch has these ports"
        yield wrong("NET107", row, f"the port of {row['from_device']}", port, f"1 to {switch.ports}", rule)


_RULES = (_all_ports, _sides, _trunks, _uplinks, _management, _counted, _free, _to_users)
