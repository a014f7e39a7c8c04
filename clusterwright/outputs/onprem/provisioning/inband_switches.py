"""Settings of in-band, border and out-of-band switches: bonds over two leaves, gateways, and the way out.

A machine's two ports end on two leaves that share no link of their own in a large site, so that the leaves agree by
routing (EVPN multihoming, RFC 7432 section 8, RFC 8365 section 8) which of them hands on what: no pair of switches has
to run as one. VLANs cross the leaves in tunnels (VXLAN), every leaf has the gateways, and the border routes to the
users' network.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from clusterwright.facility.cabling.addresses import BORDER, FIREWALL, IN_BAND, OUT_OF_BAND
from clusterwright.facility.inventory import INBAND_SWITCH, OOB_SWITCH, Inventory
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.provisioning.machines import CONTROL, Machine, Network, network_named
from clusterwright.outputs.onprem.provisioning.switches import Wired, port_name, routers, wired
from clusterwright.outputs.templates import render

#: First number of an in-band leaf, apart from the fabrics', and addresses of these routers.
_FIRST_ASN, _ROUTERS = 4_200_100_001, IPv4Network("100.65.0.0/16")
#: Tiers of cables from machines to in-band leaves; an out-of-band switch hangs there as a machine does.
_TO_MACHINES = frozenset({"host-leaf", "oob-uplink"})
#: Of all segments: a bond's partner has one address whichever leaf answers. Locally administered.
SEGMENTS_MAC = "02:00:5e:00:00:01"
#: Addresses of the gateways' network cards, the same on every leaf.
_GATEWAY_MAC = "00:00:5e:00:01:01"
#: Offset of a leaf's own address, of the first side; those of all pairs are the same, as nothing is sent to them.
_OWN = 2
_SIDES = "ab"
#: Where a management port asks for its first address (RFC 2131, section 4.1), and every address, as filters call it.
_BROADCAST, _ANYONE = "255.255.255.255/32", "ANY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bond:
    """Ports of a switch that one machine, or the far side, holds as one link.

    Attributes:
        name: of the interface; device: at its other end; ports: of this switch.
        vlan: that it carries; segment: its number among all machines' bonds, 0 where it ends on one switch.
        boots: a machine that starts over one of its ports before it has the bond.
    """

    name: str
    device: str
    ports: tuple[str, ...]
    vlan: str
    segment: int
    boots: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlay:
    """What a switch does for VLANs that cross switches.

    Attributes:
        bonds: of machines; segments_mac: their common address.
        tunnels: whether tunnels end here; tracked: ports without which the machines' bonds go down too.
    """

    bonds: tuple[Bond, ...]
    segments_mac: str
    tunnels: bool
    tracked: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Gateway:
    """The gateway of a VLAN on one leaf: the address that all leaves share, and its own."""

    vlan: str
    own: str
    shared: str
    prefix: str
    acl: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """A line of a filter: which packets pass, or do not."""

    action: str
    source: str
    destination: str


def host_bond(ports: int) -> dict[str, str]:
    """Return mode, distribution and LACP's rate of a machine's bond, as Linux calls them.

    One port alone is a bond without a partner, so that the interface has one name everywhere.
    """
    if ports == 1:
        return {"mode": "active-backup"}
    return {"mode": "802.3ad", "xmit_hash_policy": "layer3+4", "lacp_rate": "fast"}


def _segments(switches: Sequence[Wired]) -> dict[str, int]:
    """Return the numbers of machines with ports on several switches, in the order of the cables."""
    seen: dict[str, set[str]] = {}
    for switch in switches:
        for device in switch.machines.values():
            seen.setdefault(device, set()).add(switch.name)
    return {device: number for number, device in enumerate(seen, start=1) if len(seen[device]) > 1}


def _bonds(switch: Wired, segments: Mapping[str, int], vlans: Mapping[str, str], inband_vlan: str) -> tuple[Bond, ...]:
    """Return the bonds of a leaf, one of each machine, named by its first port."""
    ports: dict[str, list[str]] = {}
    for port, device in switch.machines.items():
        ports.setdefault(device, []).append(port)
    return tuple(
        Bond(
            name=f"bond{own[0].removeprefix('swp')}",
            device=device,
            ports=tuple(own),
            vlan=vlans.get(device, inband_vlan),
            segment=segments[device],
            boots=device not in vlans,
        )
        for device, own in ports.items()
        if device in segments
    )


def _spans(names: Iterable[str], stem: str) -> Iterator[str]:
    """Yield names with numbers as commands take them: `swp1-4` for four in a row.

    >>> list(_spans(["swp3", "swp1", "swp2", "swp9"], "swp"))
    ['swp1-3', 'swp9']
    """
    numbers = sorted(int(name.removeprefix(stem)) for name in names)
    start = None
    for index, number in enumerate(numbers):
        start = number if start is None else start
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            yield f"{stem}{start}" if start == number else f"{stem}{start}-{number}"
            start = None


def _address(network: Network, offset: int) -> IPv4Address:
    return IPv4Network(network.prefix)[offset]


def _length(network: Network) -> str:
    return network.prefix.partition("/")[2]


def _filters(
    machines: Sequence[Machine], inband: Network, management: Network, border: Network | None
) -> dict[str, tuple[Passed, ...]]:
    """Return what may pass, by filter: of packets from hosts, from management ports, and from the users' network.

    Only servers that look after machines reach management controllers, and those answer no one else.
    """
    servers = [f"{machine.address}/32" for machine in machines if machine.role == CONTROL and machine.address]
    nothing_else = Passed(action="deny", source=_ANYONE, destination=_ANYONE)
    found = {
        "hosts": (
            *(Passed(action="permit", source=server, destination=management.prefix) for server in servers),
            Passed(action="deny", source=_ANYONE, destination=management.prefix),
            Passed(action="permit", source=_ANYONE, destination=_ANYONE),
        ),
        "management": (
            *(
                Passed(action="permit", source=_ANYONE, destination=destination)
                for destination in (*servers, management.prefix, _BROADCAST)
            ),
            nothing_else,
        ),
    }
    if border is not None:
        found["users"] = (
            Passed(action="permit", source=_ANYONE, destination=inband.prefix),
            Passed(action="permit", source=_ANYONE, destination=border.prefix),
            nothing_else,
        )
    return found


def _gateways(switch: Wired, networks: Mapping[str, Network]) -> tuple[Gateway, ...]:
    """Return the gateways that a leaf has: of hosts and of management ports."""
    side = _SIDES.index(switch.name[-1])
    return tuple(
        Gateway(
            vlan=network.vlan,
            own=f"{_address(network, _OWN + side)}/{_length(network)}",
            shared=f"{network.gateway}/{_length(network)}",
            prefix=network.prefix,
            acl=acl,
        )
        for network, acl in ((networks[IN_BAND], "hosts"), (networks[OUT_OF_BAND], "management"))
    )


def _uplinks(text_: str) -> dict[str, list[str]]:
    """Return the ports of each border switch to the users' network."""
    found: dict[str, list[str]] = {}
    for row in csv.DictReader(text_.splitlines()):
        found.setdefault(row["from_device"], []).append(port_name(row["from_port"], 1))
    return {switch: list(_spans(ports, "swp")) for switch, ports in found.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class WayOut:
    """A border switch's link to the users' network: its ports and addresses; the firewall's is a proposal."""

    ports: tuple[str, ...]
    vlan: str
    own: str
    firewall: str


def _way_out(
    switch: Wired, border: Network | None, uplinks: Mapping[str, Sequence[str]], own: Mapping[tuple[str, str], str]
) -> WayOut | None:
    if border is None or switch.name not in uplinks:
        return None
    return WayOut(
        ports=tuple(uplinks[switch.name]),
        vlan=border.vlan,
        own=f"{own[switch.name, BORDER]}/{_length(border)}",
        firewall=str(_address(border, FIREWALL)),
    )


def _own_addresses(ip_plan: str) -> dict[tuple[str, str], str]:
    """Return the addresses that switches have in VLANs, by switch and network."""
    rows = csv.DictReader(ip_plan.splitlines())
    return {(row["device"], row["network"]): row["address"] for row in rows if row["interface"] == "vlan"}


def inband_documents(
    inventory: Inventory, tables: Mapping[str, str], networks: tuple[Network, ...], machines: Sequence[Machine]
) -> dict[str, File]:
    """Return the settings of each switch by file name, and the page on them.

    Args:
        inventory: names of the out-of-band switches.
        tables: texts of `cables.csv`, `uplinks.csv` (if there are any) and `ip-plan.csv`.
        networks: of the site.
        machines: hosts and servers with their roles.
    """
    switches = wired(tables["cables.csv"], ports_per_cage={IN_BAND: 1}, to_machines=_TO_MACHINES)
    named = {name: network_named(networks, name) for name in (IN_BAND, OUT_OF_BAND)}
    border = next((network for network in networks if network.name == BORDER), None)
    vlans = dict.fromkeys(inventory.oob_names(), named[OUT_OF_BAND].vlan)
    segments, out = _segments(switches), _uplinks(tables.get("uplinks.csv", ""))
    filters, own = _filters(machines, named[IN_BAND], named[OUT_OF_BAND], border), _own_addresses(tables["ip-plan.csv"])
    relay = next(machine.address for machine in machines if machine.role == CONTROL)
    files: dict[str, File] = {}
    for switch, router in zip(switches, routers(switches, first_asn=_FIRST_ASN, addresses=_ROUTERS), strict=True):
        leaf, way_out = bool(switch.machines), _way_out(switch, border, out, own)
        gateways = _gateways(switch, named) if leaf else ()
        overlay = Overlay(
            bonds=_bonds(switch, segments, vlans, named[IN_BAND].vlan),
            segments_mac=SEGMENTS_MAC,
            tunnels=leaf,
            # Two leaves that are joined directly serve their machines even when the other one and the border are gone.
            tracked=switch.trunks if leaf and inventory.inband.aggregation else (),
        )
        announced = [named[IN_BAND].prefix] if leaf else [border.prefix] if border is not None and way_out else []
        files[f"frr/{switch.name}.conf"] = text(
            render(
                "provisioning",
                "frr.conf.j2",
                hostname=switch.name,
                serves="the in-band network",
                router=router,
                trunks=switch.trunks,
                prefixes=announced,
                overlay=overlay,
                way_out=way_out.firewall if way_out else "",
            )
        )
        bonded = {port for bond in overlay.bonds for port in bond.ports}
        files[f"nvue/{switch.name}.txt"] = text(
            render(
                "provisioning",
                "nvue_inband.txt.j2",
                hostname=switch.name,
                router=router,
                trunks=switch.trunks,
                ports=tuple(_spans([*switch.machines, *switch.trunks], "swp")),
                overlay=overlay,
                bonds=tuple(_spans([bond.name for bond in overlay.bonds], "bond")),
                booting=tuple(_spans([bond.name for bond in overlay.bonds if bond.boots], "bond")),
                single=[port for port in switch.machines if port not in bonded],
                tracked=tuple(_spans(overlay.tracked, "swp")),
                gateways=gateways,
                gateway_mac=_GATEWAY_MAC,
                way_out=way_out,
                filters={
                    name: filters[name] for name in (*(one.acl for one in gateways), *(["users"] if way_out else []))
                },
                relay=relay,
                announced=announced,
            )
        )
    borders = [address for (_, network), address in own.items() if network == BORDER]
    page = _page(inventory, named, border, borders, machines, leaves=sum(bool(switch.machines) for switch in switches))
    management = _management(inventory, tables["cables.csv"], named[OUT_OF_BAND], own)
    return files | management | {"in-band.md": text(page)}


def _management(
    inventory: Inventory, cables: str, network: Network, own: Mapping[tuple[str, str], str]
) -> dict[str, File]:
    """Return the commands of the out-of-band switches: every port in one VLAN, both uplinks as one."""
    used: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in inventory.oob_names()}
    for row in csv.DictReader(cables.splitlines()):
        if row["tier"] == "management":
            used[row["to_device"]][0].append(port_name(row["to_port"], 1))
        elif row["tier"] == "oob-uplink":
            used[row["from_device"]][1].append(port_name(row["from_port"], 1))
    return {
        f"nvue/{name}.txt": text(
            render(
                "provisioning",
                "nvue_out_of_band.txt.j2",
                hostname=name,
                ports=tuple(_spans(ports, "swp")),
                uplinks=tuple(_spans(uplinks, "swp")),
                vlan=network.vlan,
                address=f"{own[name, OUT_OF_BAND]}/{_length(network)}",
                gateway=network.gateway,
            )
        )
        for name, (ports, uplinks) in used.items()
    }


def _page(
    inventory: Inventory,
    networks: Mapping[str, Network],
    border: Network | None,
    borders: Sequence[str],
    machines: Sequence[Machine],
    *,
    leaves: int,
) -> str:
    return render(
        "provisioning",
        "inband.md.j2",
        leaf_model=INBAND_SWITCH,
        out_of_band_model=OOB_SWITCH,
        inband=networks[IN_BAND],
        management=networks[OUT_OF_BAND],
        border=border,
        firewall="" if border is None else str(_address(border, FIREWALL)),
        border_addresses=" and ".join(borders),
        leaves=leaves,
        servers=[machine.name for machine in machines if machine.role == CONTROL],
        bond=host_bond(inventory.inband_ports),
        tracked=bool(inventory.inband.aggregation),
        first=inventory.hosts()[0],
    )
