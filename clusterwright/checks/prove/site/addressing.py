"""The address plan: prefixes apart and in the range of the site, every port its own, DHCP and NetBox the same."""

import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from clusterwright.checks.prove.papers import CellError, Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.cabling.ethernet_links import border_switch

NETWORKS, PLAN, DHCP = "ip-networks.csv", "ip-plan.csv", "dhcp-hosts.csv"
_BOND = "bond0"
_ADDRESSES, _PREFIXES, _VLANS = (f"netbox/{name}.csv" for name in ("9-ip-addresses", "8-prefixes", "8-vlans"))
#: A MAC as Linux, Windows and switches write it: with colons, hyphens, or dots between three groups, or bare.
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2}|[0-9a-f]{12}")
#: The bit of a MAC's first byte that says that it is of a group and of no machine.
_GROUP_BIT = 0x01
#: Tiers whose lower end has an address, and the network that it is of where the link's own is not it.
_TIERS = {"management", "host-leaf", "node-leaf", "server-leaf", "storage-leaf"}
_MOST_VLAN = 4094
#: The network whose gateway is agreed with the users' network.
_AGREED = "border"


def has_addresses(papers: Papers) -> bool:
    """Tell whether the folder has an address plan."""
    return any(file in papers.tables for file in (NETWORKS, PLAN, DHCP))


def prove_addresses(papers: Papers) -> Result:
    """Return what holds of the address plan."""
    facts = [
        f"{len(papers.tables.get(PLAN, ())):,} addresses in {len(papers.tables.get(NETWORKS, ())):,} networks",
        "every port of cables.csv has one in the prefix of its network; DHCP and NetBox have the same",
    ]
    rules = (_prefixes, _vlans, _inside, _ports, _dhcp, _netbox, _netbox_networks)
    return examined("addresses", papers, (NETWORKS, PLAN, DHCP), rules, facts)


def _prefix(row: Row, column: str = "prefix") -> IPv4Network:
    try:
        return IPv4Network(row[column])
    except ValueError as error:
        raise CellError(f"{row.place}: {column} is {row[column]!r}, expected an IPv4 network: {error}") from None


def _address(row: Row, column: str = "address") -> IPv4Address:
    try:
        return IPv4Address(row[column].split("/")[0])
    except ValueError as error:
        raise CellError(f"{row.place}: {column} is {row[column]!r}, expected an IPv4 address: {error}") from None


def _prefixes(papers: Papers) -> Iterator[Finding]:
    site = IPv4Network(papers.documents.design.rules.network.range)
    rows = sorted(papers.rows(NETWORKS), key=lambda row: int(_prefix(row).network_address))
    before: Row | None = None
    for row in rows:
        prefix, name = _prefix(row), row["network"]
        if not prefix.subnet_of(site):
            yield wrong("IPA001", row, f"the prefix of {name}", prefix, f"within {site}", "the site gives this range")
        if before is not None and prefix.overlaps(_prefix(before)):
            other = f"clear of {_prefix(before)} ({before['network']})"
            yield wrong("IPA001", row, f"the prefix of {name}", prefix, other, "an address is of one network")
        before = row
        if row["netmask"] != str(prefix.netmask):
            yield wrong("IPA001", row, f"the netmask of {name}", row["netmask"], prefix.netmask, "the prefix says it")
        usable = prefix.num_addresses - 2
        if row.count("usable") != usable or row.count("free") != usable - row.count("used"):
            said = f"{row['usable']} less {row['used']} leaves {row['free']}"
            yield wrong(
                "IPA001", row, f"the room of {name}", said, f"{usable} usable", "two addresses are no machine's"
            )
    for name, count in Counter(row["network"] for row in rows).items():
        if count > 1:
            yield absent("IPA001", NETWORKS, f"the rows of {name}", count, 1, "a network has one prefix")


def _vlans(papers: Papers) -> Iterator[Finding]:
    kinds: dict[str, tuple[str, Row]] = {}
    for row in papers.rows(NETWORKS):
        kind, vlan = row["network"].split(" ", maxsplit=1)[0], row["vlan"]
        if not vlan:
            continue
        if not 1 < row.count("vlan") <= _MOST_VLAN:
            yield wrong("IPA002", row, f"the VLAN of {row['network']}", vlan, f"2 to {_MOST_VLAN}", "802.1Q has these")
        other, first = kinds.setdefault(vlan, (kind, row))
        if other != kind:
            yield wrong(
                "IPA002",
                row,
                f"the VLAN of {row['network']}",
                vlan,
                f"another than {first['network']}'s",
                "networks share no VLAN",
            )
    listed = {row["vid"]: row for row in papers.rows(_VLANS)}
    for vlan in sorted(kinds.keys() ^ listed.keys()):
        yield absent("IPA002", _VLANS, f"VLAN {vlan}", vlan in listed, vlan in kinds, f"{NETWORKS} has it or not")


def _inside(papers: Papers) -> Iterator[Finding]:
    """Addresses are unique, in their network's prefix, no gateway and no edge of it; the rest is the network's."""
    networks = {row["network"]: row for row in papers.rows(NETWORKS)}
    seen: dict[IPv4Address, Row] = {}
    for row in papers.rows(PLAN):
        address, network = _address(row), networks.get(row["network"])
        name = f"{row['device']} {row['interface']}"
        if network is None:
            yield wrong(
                "IPA003", row, f"the network of {name}", row["network"], "one of ip-networks.csv", "it has them"
            )
            continue
        prefix = _prefix(network)
        edges = {prefix.network_address, prefix.broadcast_address}
        taken = {*edges, *([_address(network, "gateway")] if _is_address(network["gateway"]) else [])}
        if address not in prefix or address in taken:
            yield wrong(
                "IPA003", row, f"the address of {name}", address, f"a free one of {prefix}", f"{network.place} has it"
            )
        if address in seen:
            yield wrong(
                "IPA003",
                row,
                f"the address of {name}",
                address,
                f"another than {seen[address].place} has",
                "an address is one port's",
            )
        seen[address] = row
        gateway = network["gateway"] if _is_address(network["gateway"]) else ""
        for column, expected in (
            ("prefix_length", str(prefix.prefixlen)),
            ("gateway", gateway),
            ("vlan", network["vlan"]),
        ):
            if row[column] != expected:
                yield wrong("IPA003", row, f"{column} of {name}", row[column], expected, f"{network.place} has it so")
    used = Counter(row["network"] for row in papers.rows(PLAN))
    for name, row in networks.items():
        count = used[name] + _is_address(row["gateway"])
        # A gateway that is agreed with others is filled in after the count.
        agreed = {count, used[name]} if name == _AGREED else {count}
        if row.count("used") not in agreed:
            yield wrong("IPA003", row, f"the addresses in use of {name}", row["used"], count, f"{PLAN} and the gateway")
        if _is_address(row["gateway"]) and _address(row, "gateway") not in _prefix(row):
            yield wrong(
                "IPA003",
                row,
                f"the gateway of {name}",
                row["gateway"],
                f"one of {row['prefix']}",
                "machines reach it directly",
            )


def _is_address(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+){3}", text) is not None


def _wanted(papers: Papers) -> dict[tuple[str, str], Row]:
    """Return device and interface of every port that needs an address, with the link that it hangs on."""
    found = {}
    for row in papers.rows("cables.csv"):
        if row["tier"] not in _TIERS:
            continue
        names = {"management": "mgmt", "host-leaf": _BOND}
        found[row["from_device"], names.get(row["tier"], f"{row['network']}-{row['from_port']}")] = row
    return found


def _ports(papers: Papers) -> Iterator[Finding]:
    wanted = _wanted(papers)
    listed = {(row["device"], row["interface"]): row for row in papers.rows(PLAN)}
    if len(listed) != len(papers.rows(PLAN)):
        yield absent("IPA004", PLAN, "the interfaces", len(papers.rows(PLAN)), len(listed), "an interface has one row")
    inventory = papers.documents.design.inventory
    switches = {*inventory.oob_names(), *(border_switch(number) for number in range(inventory.inband.border))}
    for key, link in wanted.items():
        if key not in listed:
            yield absent("IPA004", PLAN, f"the address of {' '.join(key)}", None, "one", f"{link.place} joins it")
    for key, row in listed.items():
        if key in wanted:
            expected = _networks_of(wanted[key])
            if row["network"] not in expected and not row["network"].startswith(expected[-1]):
                name, words = f"the network of {' '.join(key)}", " or ".join(expected)
                yield wrong("IPA004", row, name, row["network"], words, f"{wanted[key].place} is of it")
        elif key[0] not in switches:
            name = " ".join(key)
            yield wrong("IPA004", row, "an interface", name, "a port of cables.csv", "nothing else has an address")


def _networks_of(link: Row) -> tuple[str, ...]:
    """Return the networks that the lower end of a link may be of; the last is how names of several begin."""
    tier, leaf = link["tier"], link["to_device"]
    if tier == "management":
        return ("out-of-band",)
    if tier == "host-leaf":
        return ("in-band",)
    if link["network"] == "storage":
        return (f"storage-{leaf[-1]}", f"storage {leaf}")
    ports = link["from_port"]
    # On InfiniBand a network is a port of every node, on Ethernet a leaf.
    return (f"compute {leaf}",) if not ports else (f"compute {leaf}", "compute ")


def _dhcp(papers: Papers) -> Iterator[Finding]:
    plan = {(row["device"], row["interface"]): row for row in papers.rows(PLAN)}
    macs: dict[str, Row] = {}
    asked = set()
    for row in papers.rows(DHCP):
        key = row["device"], row["interface"]
        asked.add(key)
        own = plan.get(key)
        if own is None:
            yield wrong("IPA005", row, "a host", " ".join(key), f"one of {PLAN}", "others have no address")
            continue
        for column in ("address", "gateway", "vlan", "network"):
            if row[column] != own[column]:
                yield wrong(
                    "IPA005", row, f"{column} of {' '.join(key)}", row[column], own[column], f"{own.place} has it so"
                )
        mac = re.sub("[^0-9a-f]", "", row["mac_address"].lower())
        yield from _mac(row, " ".join(key))
        if mac and mac in macs:
            other = f"another than {macs[mac].place} has"
            yield wrong("IPA005", row, f"the MAC of {' '.join(key)}", row["mac_address"], other, "a MAC is one port's")
        macs[mac] = row
    for key in sorted({key for key, row in plan.items() if row["network"] in {"in-band", "out-of-band"}} - asked):
        yield absent(
            "IPA005", DHCP, f"the row of {' '.join(key)}", None, plan[key]["address"], "it asks for its address"
        )


def _mac(row: Row, name: str) -> Iterator[Finding]:
    said = row["mac_address"].lower()
    if said and _MAC.fullmatch(said) is None:
        expected = "six pairs of digits, such as 5c:25:73:00:00:01"
        yield wrong("IPA005", row, f"the MAC of {name}", said, expected, "a MAC has 48 bits")
    elif said and (int(said[:2], 16) & _GROUP_BIT or not said.strip("0:-.")):
        yield wrong("IPA005", row, f"the MAC of {name}", said, "one of a machine", "it is of a group, or of nothing")


def _netbox(papers: Papers) -> Iterator[Finding]:
    plan = {f"{row['address']}/{row['prefix_length']}": row for row in papers.rows(PLAN)}
    listed = {row["address"]: row for row in papers.rows(_ADDRESSES)}
    interfaces = {(row["device"], row["name"]) for row in papers.tables.get("netbox/6-interfaces.csv", ())}
    for address in sorted(plan.keys() ^ listed.keys()):
        there = plan.get(address) or listed[address]
        yield absent(
            "IPA006", _ADDRESSES, f"the row of {address}", address in listed, address in plan, f"{there.place} has it"
        )
    for address, row in listed.items():
        own = plan.get(address)
        if own is None:
            continue
        if row["device"] and row["device"] != own["device"]:
            yield wrong(
                "IPA006", row, f"the device of {address}", row["device"], own["device"], f"{own.place} has it so"
            )
        elif row["device"] and row["interface"] not in _names_in_netbox(own):
            name = f"the interface of {address}"
            yield wrong("IPA006", row, name, row["interface"], own["interface"], f"{own.place} has it so")
        if row["device"] and (row["device"], row["interface"]) not in interfaces:
            yield wrong(
                "IPA006",
                row,
                f"the interface of {address}",
                row["interface"],
                "one of 6-interfaces.csv",
                "NetBox joins them by name",
            )


def _names_in_netbox(row: Row) -> tuple[str, str]:
    """Return what NetBox calls an interface; the first port of a bond has the bond's address."""
    return row["interface"], f"{row['network']}-1" if row["interface"] == _BOND else row["interface"]


def _netbox_networks(papers: Papers) -> Iterator[Finding]:
    networks = {row["prefix"]: row for row in papers.rows(NETWORKS)}
    listed = {row["prefix"]: row for row in papers.rows(_PREFIXES)}
    for prefix in sorted(networks.keys() ^ listed.keys()):
        yield absent(
            "IPA006",
            _PREFIXES,
            f"the row of {prefix}",
            prefix in listed,
            prefix in networks,
            f"{NETWORKS} has it or not",
        )
    for prefix, row in listed.items():
        own = networks.get(prefix)
        if own is not None and row["vlan"] != own["vlan"]:
            yield wrong("IPA006", row, f"the VLAN of {prefix}", row["vlan"], own["vlan"], f"{own.place} has it so")
