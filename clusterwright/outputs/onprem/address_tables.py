"""Networks, addresses and the table of hosts for DHCP: as tables for people, and in NetBox's import columns."""

from collections import Counter
from collections.abc import Iterable, Sequence

from clusterwright.facility.cabling.addresses import BORDER, IN_BAND, OUT_OF_BAND, Address, Subnet
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.tables import csv_text

#: Networks whose machines ask for their address when they start.
_ASKING = (OUT_OF_BAND, IN_BAND)
_PLANNED = "active"


def address_files(networks: Sequence[Subnet], addresses: Sequence[Address], *, site: str) -> dict[str, File]:
    """Return the tables by file name; those for NetBox lie in its folder.

    Args:
        networks: of the site.
        addresses: of all interfaces.
        site: NetBox's name of it.
    """
    tables = {
        "ip-networks.csv": _networks_csv(networks, addresses),
        "ip-plan.csv": _plan_csv(addresses),
        "dhcp-hosts.csv": _dhcp_csv(addresses),
        "netbox/8-vlans.csv": _vlans_csv(networks, site),
        "netbox/8-prefixes.csv": _prefixes_csv(networks, site),
        "netbox/9-ip-addresses.csv": _netbox_addresses_csv(addresses),
    }
    return {name: text(content) for name, content in tables.items()}


def _networks_csv(networks: Sequence[Subnet], addresses: Iterable[Address]) -> str:
    used = Counter(address.subnet.name for address in addresses)
    header = ("network", "purpose", "vlan", "prefix", "netmask", "gateway", "usable", "used", "free")
    rows = []
    for one in networks:
        usable = one.prefix.num_addresses - 2
        taken = used[one.name] + (one.gateway is not None)
        gateway = "" if one.gateway is None else str(one.gateway)
        if one.name == BORDER:
            gateway = "agreed with the users' network"
        rows.append(
            (
                one.name,
                one.purpose,
                one.vlan,
                str(one.prefix),
                str(one.prefix.netmask),
                gateway,
                usable,
                taken,
                usable - taken,
            )
        )
    return csv_text(header, rows)


def _plan_csv(addresses: Iterable[Address]) -> str:
    header = ("device", "interface", "network", "vlan", "address", "prefix_length", "gateway")
    return csv_text(
        header,
        (
            (
                one.device,
                one.interface,
                one.subnet.name,
                one.subnet.vlan,
                str(one.address),
                one.subnet.prefix.prefixlen,
                "" if one.subnet.gateway is None else str(one.subnet.gateway),
            )
            for one in addresses
        ),
    )


def _dhcp_csv(addresses: Iterable[Address]) -> str:
    """Return the hosts that ask for an address; what they ask with, their MAC, is filled in when they are delivered."""
    header = ("device", "interface", "mac_address", "address", "gateway", "network", "vlan")
    return csv_text(
        header,
        (
            (one.device, one.interface, "", str(one.address), str(one.subnet.gateway), one.subnet.name, one.subnet.vlan)
            for one in addresses
            if one.network in _ASKING
        ),
    )


def _vlans_csv(networks: Iterable[Subnet], site: str) -> str:
    named: dict[int, str] = {}
    for one in networks:
        if one.vlan is not None:
            # Networks of leaves share the id of their kind: each is routed at its leaf.
            named.setdefault(one.vlan, one.name.split(" ")[0])
    return csv_text(("site", "vid", "name", "status"), ((site, vid, name, _PLANNED) for vid, name in named.items()))


def _prefixes_csv(networks: Iterable[Subnet], site: str) -> str:
    rows = (
        (str(one.prefix), site if one.vlan is not None else "", one.vlan, _PLANNED, f"{one.name}: {one.purpose}")
        for one in networks
    )
    return csv_text(("prefix", "vlan_site", "vlan", "status", "description"), rows)


def _netbox_addresses_csv(addresses: Iterable[Address]) -> str:
    rows = []
    for one in addresses:
        # A bond is no port of its own in the table of interfaces: its address goes to the first port.
        port = "mgmt" if one.port == "mgmt" else f"{one.network}-{one.port}" if one.port else ""
        rows.append(
            (
                f"{one.address}/{one.subnet.prefix.prefixlen}",
                _PLANNED,
                one.device if port else "",
                port,
                _dns(one),
                f"{one.device} {one.interface}",
            )
        )
    return csv_text(("address", "status", "device", "interface", "dns_name", "description"), rows)


def _dns(address: Address) -> str:
    """Return the name of an address: the machine's own in-band, with the interface behind it elsewhere."""
    if address.network == IN_BAND:
        return address.device
    return f"{address.device}-{address.interface}".replace("/", "-")
