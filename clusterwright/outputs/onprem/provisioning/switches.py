"""Settings of the fabric's switches: routing and lossless RoCE on Ethernet, the subnet manager on InfiniBand."""

import csv
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.inventory import Inventory
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.provisioning.machines import Network
from clusterwright.outputs.templates import render

#: First private number of an autonomous system of four bytes (RFC 6996), and that of the top of a fabric.
FIRST_ASN, TOP_ASN = 4_200_000_001, 4_200_000_000
#: Marks of RoCE and of its congestion notifications, and the lossless priority: NVIDIA's defaults (Cumulus Linux guide,
#: RDMA over Converged Ethernet).
ROCE_DSCP, CNP_DSCP, PRIORITY = 26, 48, 3
#: Addresses of routers, one a switch, apart from all networks of a site: unique local ones are not needed inside.
_ROUTERS = IPv4Network("100.64.0.0/16")
#: Operating systems by what catalogue ids of switches begin with.
_CUMULUS = "sn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """An Ethernet switch of a fabric.

    Attributes:
        network: `compute` or `storage`; top: whether nothing is above it.
        hosts, trunks: ports down to machines, and to other switches.
        prefix, gateway, vlan: of the network of a leaf's machines; empty above.
    """

    name: str
    network: str
    asn: int
    router_id: str
    top: bool
    hosts: tuple[str, ...]
    trunks: tuple[str, ...]
    prefix: str
    gateway: str
    vlan: str


def port_name(port: str, per_cage: int) -> str:
    """Return a front panel port as Cumulus Linux calls it.

    >>> port_name("33/2", 2), port_name("7", 1), port_name("7/1", 1)
    ('swp33s1', 'swp7', 'swp7')
    """
    cage, _, lane = port.partition("/")
    return f"swp{cage}s{int(lane) - 1}" if lane and per_cage > 1 else f"swp{cage}"


def switches_of(inventory: Inventory, cables: str, networks: tuple[Network, ...]) -> tuple[Switch, ...]:
    """Return the switches of the Ethernet fabrics, from what is cabled.

    Args:
        inventory: ports of a cage.
        cables: text of `cables.csv`.
        networks: of the site.
    """
    hosts: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    trunks: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    above: set[tuple[str, str]] = set()
    cages = {
        "compute": inventory.fabric.ports_per_switch_cage,
        "storage": inventory.storage_fabric.ports_per_switch_cage,
    }
    for row in csv.DictReader(cables.splitlines()):
        network = row["network"]
        if network not in cages:
            continue
        upper = (network, row["to_device"])
        to_port = port_name(row["to_port"], cages[network])
        if row["tier"] in {"node-leaf", "server-leaf", "storage-leaf", "manager-leaf"}:
            hosts[upper][to_port] = None
            continue
        lower = (network, row["from_device"])
        trunks[lower][port_name(row["from_port"], cages[network])] = None
        trunks[upper][to_port] = None
        above.add(lower)
    prefixes = {network.name: network for network in networks}
    names = sorted({*hosts, *trunks})
    leaves = [key for key in names if key in hosts]
    return tuple(
        _switch(key, number, hosts, trunks, top=key not in above and key not in hosts, own=prefixes.get(" ".join(key)))
        for number, key in enumerate([*leaves, *(key for key in names if key not in hosts)])
    )


def _switch(
    key: tuple[str, str],
    number: int,
    hosts: Mapping[tuple[str, str], dict[str, None]],
    trunks: Mapping[tuple[str, str], dict[str, None]],
    *,
    top: bool,
    own: Network | None,
) -> Switch:
    return Switch(
        name=key[1],
        network=key[0],
        # Switches at the top share one number, so that no route goes up, down and up again.
        asn=TOP_ASN if top else FIRST_ASN + number,
        router_id=str(_ROUTERS[number + 1]),
        top=top,
        hosts=tuple(hosts.get(key, ())),
        trunks=tuple(trunks.get(key, ())),
        prefix="" if own is None else own.prefix,
        gateway="" if own is None else own.gateway,
        vlan="" if own is None else own.vlan,
    )


def switch_documents(
    inventory: Inventory, cables: str, networks: tuple[Network, ...], *, library: str
) -> dict[str, File]:
    """Return settings by file name: for each Ethernet switch, or for the subnet manager of each InfiniBand fabric.

    Args:
        inventory: of the site.
        cables: text of `cables.csv`.
        networks: of the site.
        library: of the accelerators' collectives.
    """
    values = {"dscp": ROCE_DSCP, "cnp_dscp": CNP_DSCP, "priority": PRIORITY}
    if inventory.compute_network != ETHERNET:
        fabrics = {"compute": inventory.fabric.levels, "storage": inventory.storage_fabric.levels}
        return {
            f"opensm/{name}.conf": text(render("provisioning", "opensm.conf.j2", network=name, levels=levels, **values))
            for name, levels in fabrics.items()
        } | {"opensm/partitions.conf": text(render("provisioning", "partitions.conf.j2"))}
    page = render("provisioning", "roce.md.j2", switch=inventory.compute_switch, library=library, **values)
    files = {"switches/roce.md": text(page)}
    for switch in switches_of(inventory, cables, networks):
        model = inventory.compute_switch if switch.network == "compute" else inventory.storage_switch
        length = switch.prefix.partition("/")[2]
        files[f"switches/frr/{switch.name}.conf"] = text(
            render("provisioning", "frr.conf.j2", switch=switch, length=length)
        )
        if model.startswith(_CUMULUS):
            files[f"switches/nvue/{switch.name}.txt"] = text(
                render("provisioning", "nvue.txt.j2", switch=switch, length=length, **values)
            )
    return files
