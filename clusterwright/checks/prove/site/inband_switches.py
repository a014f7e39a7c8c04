"""Settings of in-band, border and out-of-band switches against cables, addresses and roles of machines."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from clusterwright.checks.prove.papers import Papers, Row, absent
from clusterwright.checks.prove.site import services
from clusterwright.checks.prove.site.switches import FRR, NVUE, first_match, written_text
from clusterwright.errors import Finding
from clusterwright.facility.cabling.addresses import RESERVED

_RULE = "PRV010"
_NODES, _BOND_SCRIPT = "provisioning/warewulf/nodes.conf", "provisioning/maas/bond.sh"
_IN_BAND, _MANAGEMENT, _BORDER = "in-band", "out-of-band", "border"
_CONTROL = "control"
#: Tiers of cables by the VLAN of the lower end's ports; their upper ends are leaves.
_VLAN_OF_TIER = {"host-leaf": _IN_BAND, "oob-uplink": _MANAGEMENT}
_ANYONE = "ANY"
#: Bytes that a tunnel puts around a frame (RFC 7348, section 5: 50), beside the largest packets of hosts.
_TUNNEL_BYTES = 50
_HOST_MTU_BYTES = 9000
_SPAN = re.compile(r"^([a-z]+)(\d+)(?:-(\d+))?$")
_MOST_IN_SPAN = 512
_COMMAND = re.compile(r"^nv set (.+) (\S+)$", re.MULTILINE)
_SEGMENT = re.compile(r"^interface (\S+)\n evpn mh es-id (\S+)\n evpn mh es-sys-mac (\S+)$", re.MULTILINE)
_ROUTER, _NUMBER = re.compile(r"^ bgp router-id (\S+)$", re.MULTILINE), re.compile(r"^router bgp (\d+)$", re.MULTILINE)
_DEFAULT_ROUTE = re.compile(r"^ip route 0\.0\.0\.0/0 (\S+)$", re.MULTILINE)
_SCRIPT_BOND, _SCRIPT_SUBNET = re.compile(r"bond_mode=(\S+)"), re.compile(r"pick id cidr (\S+)\)")
_SCRIPT_RATE = re.compile(r"bond_lacp_rate=(\S+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hung:
    """What hangs on a leaf: a machine or an out-of-band switch, with the leaf's ports and the network of its VLAN."""

    device: str
    network: str
    ports: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class _Site:
    """What the tables say of these switches.

    Attributes:
        leaves: with what hangs on each; others: switches above, and their border, by name.
        trunks: ports to other switches; management: cabled ports, and uplinks, of out-of-band switches.
        uplinks: of border switches to the users' network.
        networks: rows of `ip-networks.csv`, own: addresses of switches in VLANs, by name and network.
    """

    leaves: dict[str, dict[str, _Hung]] = field(default_factory=dict)
    trunks: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    management: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    uplinks: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    networks: dict[str, Row] = field(default_factory=dict)
    own: dict[tuple[str, str], str] = field(default_factory=dict)

    @cached_property
    def leaves_of(self) -> dict[str, list[str]]:
        """The leaves that each device hangs on."""
        found: dict[str, list[str]] = defaultdict(list)
        for leaf, hung in self.leaves.items():
            for device in hung:
                found[device].append(leaf)
        return found

    def length(self, network: str) -> str:
        """Return the length of a network's prefix."""
        return self.networks[network]["prefix"].partition("/")[2]


def _read_site(papers: Papers) -> _Site:
    site = _Site(management={name: (set(), set()) for name in papers.documents.design.inventory.oob_names()})
    _read_cables(site, papers.rows("cables.csv"))
    for row in papers.tables.get("uplinks.csv", ()):
        site.uplinks[row["from_device"]].add(f"swp{row['from_port']}")
    site.networks.update({row["network"]: row for row in papers.rows("ip-networks.csv")})
    for row in papers.rows("ip-plan.csv"):
        if row["interface"] == "vlan":
            site.own[row["device"], row["network"]] = row["address"]
    return site


def _read_cables(site: _Site, rows: Iterable[Row]) -> None:
    ports = defaultdict[tuple[str, str, str], set[str]](set)
    for row in rows:
        lower, upper, tier = row["from_device"], row["to_device"], row["tier"]
        low, high = f"swp{row['from_port']}", f"swp{row['to_port']}"
        if tier == "management" and upper in site.management:
            site.management[upper][0].add(high)
        elif tier in _VLAN_OF_TIER:
            ports[upper, lower, _VLAN_OF_TIER[tier]].add(high)
            if lower in site.management:
                site.management[lower][1].add(low)
        elif row["network"] == _IN_BAND:
            site.trunks[lower].add(low)
            site.trunks[upper].add(high)
    for (leaf, device, network), own in ports.items():
        site.leaves.setdefault(leaf, {})[device] = _Hung(device=device, network=network, ports=frozenset(own))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Commands:
    """The commands of a switch: values by key, and for each interface by name and key; several of one key are kept."""

    file: str
    values: Mapping[str, list[str]]
    interfaces: Mapping[str, Mapping[str, list[str]]]

    def value(self, key: str) -> str:
        """Return the last value of a key, empty without one."""
        return self.values.get(key, [""])[-1]

    def of(self, interface: str, key: str) -> str:
        """Return the last value of a key of an interface, empty without one."""
        return self.interfaces.get(interface, {}).get(key, [""])[-1]

    def members(self, bond: str) -> frozenset[str]:
        """Return the ports of a bond."""
        return frozenset(port for said in self.interfaces.get(bond, {}).get("bond member", ()) for port in _each(said))

    def having(self, key: str) -> dict[str, str]:
        """Return the interfaces that have a key, with its value."""
        return {name: own[key][-1] for name, own in self.interfaces.items() if key in own}


def _each(names: str) -> Iterator[str]:
    """Yield the interfaces of a list with spans.

    >>> list(_each("swp1-3,bond9"))
    ['swp1', 'swp2', 'swp3', 'bond9']
    """
    for name in names.split(","):
        span = _SPAN.match(name)
        if span is None or span[3] is None or not int(span[2]) <= int(span[3]) < int(span[2]) + _MOST_IN_SPAN:
            yield name
            continue
        for number in range(int(span[2]), int(span[3]) + 1):
            yield f"{span[1]}{number}"


def _commands(papers: Papers, name: str) -> _Commands | None:
    file = f"{NVUE}/{name}.txt"
    written = written_text(papers, file)
    if not written:
        return None
    values: dict[str, list[str]] = defaultdict(list)
    interfaces: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, value in _COMMAND.findall(written):
        head, _, rest = path.partition(" ")
        names, _, key = rest.partition(" ")
        if head != "interface":
            values[path].append(value)
            continue
        for one in _each(names):
            interfaces[one][key].append(value)
    return _Commands(file=file, values=values, interfaces=interfaces)


def inband(papers: Papers) -> Iterator[Finding]:
    """Compare the commands of in-band, border and out-of-band switches with cables, addresses and roles (`PRV010`)."""
    site = _read_site(papers)
    every = [*site.leaves, *(name for name in site.trunks if name not in site.leaves), *site.management]
    read = {name: _commands(papers, name) for name in every}
    for name, commands in read.items():
        if commands is None:
            yield absent(_RULE, f"{NVUE}/{name}.txt", "the file", None, "one", "every switch is set up")
            continue
        if commands.value("system hostname") != name:
            said = commands.value("system hostname")
            yield absent(_RULE, commands.file, "system hostname", said, name, "racks.csv names the switch")
        if name in site.management:
            yield from _management(site, name, commands)
            continue
        yield from _routing(papers, site, name, commands)
        if name in site.leaves:
            yield from _hung(papers, site, name, commands)
            yield from _gateways(papers, site, name, commands)
        if name in site.uplinks:
            yield from _way_out(papers, site, name, commands)
    yield from _segments(site, {name: one for name, one in read.items() if one is not None and name in site.leaves})
    yield from _machines(papers, site)


def _differing(commands: _Commands, wanted: Sequence[tuple[str, str, str, str]]) -> Iterator[Finding]:
    """Yield the keys of interfaces (`""`: of the switch) that have another value than they should."""
    for interface, key, expected, rule in wanted:
        said = commands.of(interface, key) if interface else commands.value(key)
        if said != expected:
            what = f"{interface} {key}" if interface else key
            yield absent(_RULE, commands.file, what, said, expected, rule)


def _routing(papers: Papers, site: _Site, name: str, commands: _Commands) -> Iterator[Finding]:
    """A switch routes as FRR's file of it says, with a neighbour on every trunk, and hands on routes of the VLANs."""
    routing = written_text(papers, f"{FRR}/{name}.conf")
    router, rule = first_match(_ROUTER, routing), f"{FRR}/{name}.conf has it"
    wanted = [
        ("", "router bgp autonomous-system", first_match(_NUMBER, routing), rule),
        ("", "router bgp router-id", router, rule),
        ("lo", "ip address", f"{router}/32", "it is the router's number"),
        ("", "evpn enable", "on", "VLANs cross the switches by its routes"),
        ("", "vrf default router bgp address-family l2vpn-evpn enable", "on", "it carries the routes of the VLANs"),
        ("", "vrf default router bgp peer-group fabric address-family l2vpn-evpn enable", "on", "as above"),
        ("", "vrf default router bgp peer-group fabric remote-as", "external", "each switch is a system of its own"),
        (
            "",
            "vrf default router bgp address-family ipv4-unicast redistribute connected enable",
            "on",
            "others find its networks by it",
        ),
    ]
    yield from _differing(commands, wanted)
    key = re.compile(r"^vrf default router bgp neighbor (\S+) peer-group$")
    neighbours = {
        match[1] for path, said in commands.values.items() if (match := key.match(path)) and said[-1] == "fabric"
    }
    if neighbours != site.trunks[name]:
        differing = ", ".join(sorted(neighbours ^ site.trunks[name])[:3])
        said, expected = f"{len(neighbours)}, with {differing} more or less", f"{len(site.trunks[name])}"
        yield absent(_RULE, commands.file, "the neighbours", said, expected, "cables.csv has these trunks")
    least = _HOST_MTU_BYTES + _TUNNEL_BYTES
    ports = {port for hung in site.leaves.get(name, {}).values() for port in hung.ports} | site.trunks[name]
    for port in sorted(ports):
        said = commands.of(port, "link mtu")
        if not (said.isdigit() and int(said) >= least):
            rule = f"hosts send packets of {_HOST_MTU_BYTES:,} bytes, and tunnels put {_TUNNEL_BYTES} around them"
            yield absent(_RULE, commands.file, f"{port} link mtu", said, f"{least:,} or more", rule)
            break
    yield from _announced(site, name, commands, router)


def _announced(site: _Site, name: str, commands: _Commands, router: str) -> Iterator[Finding]:
    """A leaf announces the hosts' network, the border its own: management ports are found by nobody outside."""
    lists = re.compile(r"^router policy prefix-list own rule \S+ match$")
    listed = {value for path, values in commands.values.items() if lists.match(path) for value in values}
    kind = _IN_BAND if name in site.leaves else _BORDER if name in site.uplinks else ""
    wanted = {f"{router}/32"} | ({site.networks[kind]["prefix"]} if kind else set())
    if listed != wanted:
        rule = "what it announces is what others reach by it"
        yield absent(
            _RULE, commands.file, "prefix-list own", ", ".join(sorted(listed)), ", ".join(sorted(wanted)), rule
        )
    connected = "vrf default router bgp address-family ipv4-unicast redistribute connected route-map"
    yield from _differing(commands, [("", connected, "own", "management ports are announced to nobody")])


def _hung(papers: Papers, site: _Site, name: str, commands: _Commands) -> Iterator[Finding]:
    """Each machine's ports are one bond in the VLAN of its network, with the number that FRR's file has too."""
    routing = {found[0]: found[1:] for found in _SEGMENT.findall(written_text(papers, f"{FRR}/{name}.conf"))}
    bonds = {commands.members(bond): bond for bond in commands.having("bond member")}
    for hung in site.leaves[name].values():
        vlan = site.networks[hung.network]["vlan"]
        if len(site.leaves_of[hung.device]) == 1 and len(hung.ports) == 1:
            (port,) = hung.ports
            key, rule = "bridge domain br_default access", f"{hung.device} is of network {hung.network}"
            yield from _differing(commands, [(port, key, vlan, rule)])
            continue
        bond = bonds.get(hung.ports)
        if bond is None:
            said = commands.having("bond member")
            shown = next((one for one in said if commands.members(one) & hung.ports), None)
            ports, rule = ", ".join(sorted(hung.ports)), "cables.csv has its ports"
            yield absent(_RULE, commands.file, f"the bond of {hung.device}", shown, f"one of {ports}", rule)
            continue
        one, machine = "all ports of a machine are one link", hung.network == _IN_BAND
        segment = "evpn multihoming segment"
        wanted = [
            (bond, "bridge domain br_default access", vlan, f"{hung.device} is of network {hung.network}"),
            (bond, "bond mode", "lacp", one),
            (bond, "description", hung.device, "cables.csv has it there"),
            (bond, f"{segment} enable", "on", "its other leaf has it too"),
            (
                bond,
                "bridge domain br_default stp bpdu-guard",
                "on",
                "no switch of others is let in by a machine's port",
            ),
        ]
        if machine:
            wanted.append((bond, "bond lacp-bypass", "on", "the machine starts before it has a bond"))
        if bond in routing:
            number, address = routing[bond]
            rule = f"{FRR}/{name}.conf has it"
            wanted += [
                (bond, f"{segment} local-id", number, rule),
                (bond, f"{segment} mac-address", address, rule),
            ]
        yield from _differing(commands, wanted)


def _segments(site: _Site, leaves: Mapping[str, _Commands]) -> Iterator[Finding]:
    """A machine has one number on all its leaves, no other has it, and one address is everyone's."""
    numbers: dict[str, tuple[str, str]] = {}
    owner: dict[str, str] = {}
    segment = "evpn multihoming segment"
    addresses = Counter(mac for one in leaves.values() for mac in one.having(f"{segment} mac-address").values())
    usual = addresses.most_common(1)[0][0] if addresses else ""
    gateways = Counter(mac for one in leaves.values() for mac in one.having("ip vrr mac-address").values())
    gateway = gateways.most_common(1)[0][0] if gateways else ""
    for leaf, commands in leaves.items():
        bonds = {commands.members(bond): bond for bond in commands.having("bond member")}
        for interface, mac in commands.having("ip vrr mac-address").items():
            if mac != gateway:
                rule = "a machine that changes its leaf keeps its gateway"
                yield absent(_RULE, commands.file, f"{interface} ip vrr mac-address", mac, gateway, rule)
        for device, hung in site.leaves[leaf].items():
            bond = bonds.get(hung.ports)
            if bond is None or len(site.leaves_of[device]) == 1:
                continue
            number, mac = commands.of(bond, f"{segment} local-id"), commands.of(bond, f"{segment} mac-address")
            first = numbers.setdefault(device, (number, leaf))
            what = f"{bond} {segment} local-id"
            if number != first[0]:
                rule = f"{first[1]} has it for {device}"
                yield absent(_RULE, commands.file, what, number, first[0], rule)
            elif not number or owner.setdefault(number, device) != device:
                rule = f"{owner.get(number, 'no machine')} has it"
                yield absent(_RULE, commands.file, what, number, f"one of {device}'s own", rule)
            if mac != usual:
                rule = "the machine sees one partner on both leaves"
                yield absent(_RULE, commands.file, f"{bond} {segment} mac-address", mac, usual, rule)


def _gateways(papers: Papers, site: _Site, name: str, commands: _Commands) -> Iterator[Finding]:
    """A leaf has the gateway of both VLANs, in a tunnel of its own number, behind the filter of its network."""
    router = first_match(_ROUTER, written_text(papers, f"{FRR}/{name}.conf"))
    aggregated = papers.documents.design.inventory.inband.aggregation
    wanted = [
        ("", "evpn multihoming enable", "on", "machines hang on two leaves"),
        ("", "nve vxlan enable", "on", "VLANs cross the leaves in tunnels"),
        ("", "nve vxlan source address", router, "tunnels end at the router's address"),
        ("", "service dhcp-relay default gateway-interface", "lo", "answers come back to this leaf"),
    ]
    tracked = {port for port, said in commands.having("evpn multihoming uplink").items() if said == "on"}
    if tracked != (site.trunks[name] if aggregated else set()):
        said, expected = ", ".join(sorted(tracked)), "its trunks" if aggregated else "none"
        rule = (
            "machines leave a leaf that has lost its uplinks"
            if aggregated
            else "two leaves serve their machines even alone"
        )
        yield absent(_RULE, commands.file, "evpn multihoming uplink", said, expected, rule)
    for network in (_IN_BAND, _MANAGEMENT):
        row = site.networks[network]
        vlan, gateway = row["vlan"], row["gateway"]
        interface, rule = f"vlan{vlan}", f"{row.place} has it"
        wanted += [
            ("", f"bridge domain br_default vlan {vlan} vni", vlan, "a tunnel's number is its VLAN's on every leaf"),
            (interface, "vlan", vlan, rule),
            (interface, "ip vrr address", f"{gateway}/{site.length(network)}", rule),
            (interface, "ip vrr state", "up", "machines send to it"),
        ]
        yield from _own_address(commands, interface, row)
        relayed = commands.values.get("service dhcp-relay default interface", [])
        if interface not in relayed:
            rule = "requests come and go by it"
            yield absent(_RULE, commands.file, "dhcp-relay interface", ", ".join(relayed), interface, rule)
    yield from _differing(commands, wanted)
    control = _control(papers)
    server = commands.value("service dhcp-relay default server")
    if server not in control:
        rule = "a server that looks after machines answers"
        yield absent(_RULE, commands.file, "dhcp-relay server", server, " or ".join(sorted(control)), rule)
    yield from _passing(papers, site, commands)


def _own_address(commands: _Commands, interface: str, row: Row) -> Iterator[Finding]:
    """A leaf's own address is of the network, and neither the gateway's nor a machine's."""
    said = commands.of(interface, "ip address")
    prefix = IPv4Network(row["prefix"])
    try:
        address, length = IPv4Address(said.partition("/")[0]), said.partition("/")[2]
        free = address in prefix and length == str(prefix.prefixlen) and str(address) != row["gateway"]
    except AddressValueError:
        free = False
    # `ip-plan.csv` gives machines the addresses behind those of gateway and switches.
    if not free or int(address) - int(prefix.network_address) >= RESERVED:
        expected = f"one of the first {RESERVED} of {row['prefix']} that is not the gateway's"
        yield absent(_RULE, commands.file, f"{interface} ip address", said, expected, f"{row.place} has the network")


def _control(papers: Papers) -> set[str]:
    """Return the in-band addresses of the servers that look after machines."""
    planned = services.addresses(papers)
    return {
        planned[name][_IN_BAND]
        for name, role in services.roles_of(papers).items()
        if role == _CONTROL and _IN_BAND in planned[name]
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Packet:
    """A packet that passes a filter or does not, and why."""

    source: str
    destination: str
    passes: bool
    rule: str


def _filtered(commands: _Commands, acl: str, packet: _Packet) -> bool | None:
    """Return whether a filter lets a packet pass: by its first line that names it; None where none does."""
    lines: dict[int, dict[str, str]] = defaultdict(dict)
    line_of = re.compile(rf"acl {re.escape(acl)} rule (\d+) (.+)")
    for path, values in commands.values.items():
        match = line_of.fullmatch(path)
        if match is not None:
            lines[int(match[1])][match[2]] = values[-1]
    for _, line in sorted(lines.items()):
        named = (
            _names(line.get("match ip source-ip", _ANYONE), packet.source),
            _names(line.get("match ip dest-ip", _ANYONE), packet.destination),
        )
        if all(named):
            return line.get("action") == "permit"
    return None


def _names(said: str, address: str) -> bool:
    if said == _ANYONE:
        return True
    try:
        return IPv4Address(address) in IPv4Network(said)
    except (AddressValueError, NetmaskValueError, ValueError):
        return False


def _passing(papers: Papers, site: _Site, commands: _Commands) -> Iterator[Finding]:
    """Management ports are reached by servers that look after machines, and answer no one else."""
    hosts, ports = site.networks[_IN_BAND], site.networks[_MANAGEMENT]
    planned, roles, control = services.addresses(papers), services.roles_of(papers), _control(papers)
    others = [
        planned[name][_IN_BAND]
        for name, role in roles.items()
        if role != _CONTROL and planned[name].get(_IN_BAND) and planned[name][_IN_BAND] not in control
    ]
    controller = next((own[_MANAGEMENT] for own in planned.values() if own.get(_MANAGEMENT)), "")
    owns = "who reaches a BMC owns the machine"
    looked_after = "it sets machines up by their BMCs"
    by_filter = {
        hosts["vlan"]: [
            *(_Packet(source=one, destination=controller, passes=False, rule=owns) for one in others[:1] + others[-1:]),
            *(_Packet(source=one, destination=controller, passes=True, rule=looked_after) for one in sorted(control)),
            *(
                _Packet(source=one, destination=_OUTSIDE, passes=True, rule="machines reach what is outside")
                for one in others[:1]
            ),
        ],
        ports["vlan"]: [
            *(_Packet(source=controller, destination=one, passes=True, rule=looked_after) for one in sorted(control)),
            *(
                _Packet(source=controller, destination=one, passes=False, rule=owns)
                for one in (*others[:1], *others[-1:], _OUTSIDE)
            ),
        ],
    }
    for vlan, packets in by_filter.items():
        yield from _tried(commands, f"vlan{vlan}", packets)


#: An address that is nobody's of the site (RFC 5737).
_OUTSIDE = "192.0.2.1"


def _tried(commands: _Commands, interface: str, packets: Sequence[_Packet]) -> Iterator[Finding]:
    applied = commands.interfaces.get(interface, {})
    acl = next((key.split(" ")[1] for key, said in applied.items() if key.startswith("acl ") and "inbound" in said), "")
    if not acl:
        rule = "it keeps management ports apart"
        yield absent(_RULE, commands.file, f"the filter of {interface}", None, "one, inbound", rule)
        return
    if commands.value(f"acl {acl} type") != "ipv4":
        yield absent(
            _RULE, commands.file, f"acl {acl} type", commands.value(f"acl {acl} type"), "ipv4", "it reads addresses"
        )
    for packet in packets:
        if _filtered(commands, acl, packet) is not packet.passes:
            what = f"a packet from {packet.source} to {packet.destination} at {interface}"
            said, expected = ("dropped", "let through") if packet.passes else ("let through", "dropped")
            yield absent(_RULE, commands.file, what, said, expected, packet.rule)


def _way_out(papers: Papers, site: _Site, name: str, commands: _Commands) -> Iterator[Finding]:
    """A border switch has all its uplinks in one bond, its address, and the way to the firewall for everyone."""
    row = site.networks[_BORDER]
    vlan, own = row["vlan"], site.own.get((name, _BORDER), "")
    bonds = {commands.members(bond): bond for bond in commands.having("bond member")}
    bond = bonds.get(frozenset(site.uplinks[name]), "")
    if not bond:
        said = ", ".join(sorted(port for ports in bonds for port in ports))
        rule = "uplinks.csv has its ports"
        yield absent(_RULE, commands.file, "the bond of the uplinks", said, ", ".join(sorted(site.uplinks[name])), rule)
    else:
        wanted = [
            (bond, "bond mode", "lacp", "the far side has one link too"),
            (bond, "bridge domain br_default access", vlan, f"{row.place} has it"),
        ]
        yield from _differing(commands, wanted)
    interface = f"vlan{vlan}"
    redistribute = "vrf default router bgp address-family ipv4-unicast redistribute static enable"
    wanted = [
        (interface, "vlan", vlan, f"{row.place} has it"),
        (interface, "ip address", f"{own}/{site.length(_BORDER)}", "ip-plan.csv gives it that one"),
        ("", redistribute, "on", "leaves find the way out by it"),
    ]
    yield from _differing(commands, wanted)
    firewall = commands.value("vrf default router static 0.0.0.0/0 via")
    routed = first_match(_DEFAULT_ROUTE, written_text(papers, f"{FRR}/{name}.conf"))
    taken = {address for (_, network), address in site.own.items() if network == _BORDER}
    if not firewall or not _names(row["prefix"], firewall) or firewall in taken or firewall != routed:
        expected = f"the firewall's address in {row['prefix']}, as in {FRR}/{name}.conf"
        yield absent(_RULE, commands.file, "the way out", firewall, expected, "all else goes there")
    inside = services.addresses(papers)
    host = next((one[_IN_BAND] for one in inside.values() if one.get(_IN_BAND)), "")
    controller = next((one[_MANAGEMENT] for one in inside.values() if one.get(_MANAGEMENT)), "")
    yield from _tried(
        commands,
        interface,
        [
            _Packet(source=_OUTSIDE, destination=host, passes=True, rule="users reach the login machines"),
            _Packet(source=_OUTSIDE, destination=controller, passes=False, rule="who reaches a BMC owns the machine"),
        ],
    )


def _management(site: _Site, name: str, commands: _Commands) -> Iterator[Finding]:
    """An out-of-band switch has every cabled port in its VLAN, both uplinks in one bond, and its own address."""
    row = site.networks[_MANAGEMENT]
    vlan, (ports, uplinks) = row["vlan"], site.management[name]
    access = commands.having("bridge domain br_default access")
    listed = {port for port in access if port.startswith("swp")}
    if listed != ports:
        said = f"{len(listed)}, with {', '.join(sorted(listed ^ ports)[:3])} more or less"
        yield absent(_RULE, commands.file, "the access ports", said, f"{len(ports)}", "cables.csv has these ports")
    for port, said in sorted(access.items()):
        if said != vlan:
            yield absent(_RULE, commands.file, f"the VLAN of {port}", said, vlan, f"{row.place} has it")
    bond = next((one for one in commands.having("bond member") if commands.members(one) == uplinks), "")
    if not bond or bond not in access:
        said = ", ".join(commands.having("bond member").values())
        rule = "a leaf that is lost takes no management port with it"
        yield absent(_RULE, commands.file, "the bond of the uplinks", said, ", ".join(sorted(uplinks)), rule)
    guarded = commands.having("bridge domain br_default stp bpdu-guard")
    open_ = sorted(port for port in ports if guarded.get(port) != "on")
    if open_:
        rule = "no switch of others is let in by a management port"
        yield absent(_RULE, commands.file, f"{open_[0]} stp bpdu-guard", guarded.get(open_[0]), "on", rule)
    yield from _differing(
        commands,
        [
            *([(bond, "bond mode", "lacp", "the leaves take them for one link")] if bond else []),
            ("", "bridge domain br_default vlan", vlan, f"{row.place} has it"),
            (f"vlan{vlan}", "vlan", vlan, f"{row.place} has it"),
            (
                f"vlan{vlan}",
                "ip address",
                f"{site.own.get((name, _MANAGEMENT), '')}/{site.length(_MANAGEMENT)}",
                "ip-plan.csv gives it that one",
            ),
            ("", "vrf default router static 0.0.0.0/0 via", row["gateway"], f"{row.place} has the gateway"),
        ],
    )


def _machines(papers: Papers, site: _Site) -> Iterator[Finding]:
    """Machines bond their ports as the leaves do, by Warewulf's table and MAAS's script."""
    document = services.yaml_of(papers, _NODES) or {}
    profiles = document.get("nodeprofiles") or {}
    for role in sorted(set(services.roles_of(papers).values())):
        of_role = (profiles.get(role) or {}).get("network devices") or {}
        ports = sorted(name for name in of_role if name.startswith("port"))
        tags = (of_role.get("default") or {}).get("tags") or {}
        of_bond = {"mode": "active-backup"} if len(ports) == 1 else {"mode": "802.3ad", "lacp_rate": "fast"}
        for tag, expected in of_bond.items():
            said = str(tags.get(tag, ""))
            if said != expected:
                what, rule = f"the bond's {tag} of {role}", "its leaves speak LACP, at the fast rate"
                yield absent(_RULE, _NODES, what, said, expected, rule)
        for port in ports:
            master = ((of_role[port] or {}).get("tags") or {}).get("master")
            if master != "bond0":
                yield absent(_RULE, _NODES, f"the master of {role} {port}", master, "bond0", "it is a port of the bond")
    script = written_text(papers, _BOND_SCRIPT)
    for pattern, expected, rule in (
        (_SCRIPT_BOND, "802.3ad", "its leaves speak LACP"),
        (_SCRIPT_RATE, "fast", "its leaves speak LACP at the fast rate"),
        (_SCRIPT_SUBNET, site.networks[_IN_BAND]["prefix"], "ip-networks.csv has it"),
    ):
        if script and first_match(pattern, script) != expected:
            yield absent(
                _RULE, _BOND_SCRIPT, pattern.pattern.split("=")[0], first_match(pattern, script), expected, rule
            )
