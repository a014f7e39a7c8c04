"""Settings of the fabric's switches: routing and lossless RoCE on Ethernet, the subnet manager on InfiniBand."""

import csv
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.inventory import Inventory
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.provisioning.machines import Network
from clusterwright.outputs.templates import render

#: First number of a leaf, behind that of the top of a fabric: the first private ones of four bytes (RFC 6996).
FIRST_ASN = 4_200_000_001
#: Marks of RoCE and of its congestion notifications, and the lossless priority: NVIDIA's defaults (Cumulus Linux guide,
#: RDMA over Converged Ethernet).
ROCE_DSCP, CNP_DSCP, PRIORITY = 26, 48, 3
#: Addresses of routers, one a switch, apart from all networks of a site: unique local ones are not needed inside.
_ROUTERS = IPv4Network("100.64.0.0/16")
#: Tiers of cables from machines to leaves.
_TO_MACHINES = frozenset({"node-leaf", "server-leaf", "storage-leaf", "manager-leaf"})
#: Operating systems by what catalogue ids of switches begin with.
_CUMULUS = "sn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wired:
    """A switch and what is cabled to it.

    Attributes:
        top: whether nothing is above it.
        machines: what hangs on each port down to machines, by port; trunks: ports to other switches.
    """

    network: str
    name: str
    top: bool
    machines: Mapping[str, str]
    trunks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Router:
    """How a switch routes: its number as a system, and its address as a router and as the end of tunnels."""

    asn: int
    router_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """An Ethernet switch of a fabric.

    Attributes:
        network: `compute` or `storage`.
        hosts, trunks: ports down to machines, and to other switches.
        prefix, gateway, vlan: of the network of a leaf's machines; empty above.
    """

    name: str
    network: str
    router: Router
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


def wired(cables: str, *, ports_per_cage: Mapping[str, int], to_machines: Collection[str]) -> tuple[Wired, ...]:
    """Return the switches of networks with what is cabled to them: those with machines first, each kind by name.

    Args:
        cables: text of `cables.csv`.
        ports_per_cage: of each network that is wanted.
        to_machines: tiers of cables whose lower end is no switch of these networks.
    """
    machines: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    trunks: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    below: set[tuple[str, str]] = set()
    for row in csv.DictReader(cables.splitlines()):
        network = row["network"]
        if network not in ports_per_cage:
            continue
        upper, lower = (network, row["to_device"]), (network, row["from_device"])
        to_port = port_name(row["to_port"], ports_per_cage[network])
        if row["tier"] in to_machines:
            machines[upper][to_port] = row["from_device"]
            continue
        trunks[lower][port_name(row["from_port"], ports_per_cage[network])] = None
        trunks[upper][to_port] = None
        below.add(lower)
    names = sorted({*machines, *trunks}, key=lambda key: (key not in machines, key))
    return tuple(
        Wired(
            network=key[0],
            name=key[1],
            top=key not in below and key not in machines,
            machines=machines.get(key, {}),
            trunks=tuple(trunks.get(key, ())),
        )
        for key in names
    )


def routers(switches: Sequence[Wired], *, first_asn: int, addresses: IPv4Network) -> tuple[Router, ...]:
    """Return how each of the switches routes.

    Args:
        switches: of fabrics that share no other switch.
        first_asn: number of the first, the next ones follow.
        addresses: of the routers, one each.
    """
    return tuple(
        Router(
            # Switches at the top share one number, so that no route goes up, down and up again.
            asn=first_asn - 1 if switch.top else first_asn + number,
            router_id=str(addresses[number + 1]),
        )
        for number, switch in enumerate(switches)
    )


def switches_of(inventory: Inventory, cables: str, networks: tuple[Network, ...]) -> tuple[Switch, ...]:
    """Return the switches of the Ethernet fabrics, from what is cabled.

    Args:
        inventory: ports of a cage.
        cables: text of `cables.csv`.
        networks: of the site.
    """
    cages = {
        "compute": inventory.fabric.ports_per_switch_cage,
        "storage": inventory.storage_fabric.ports_per_switch_cage,
    }
    found = wired(cables, ports_per_cage=cages, to_machines=_TO_MACHINES)
    prefixes = {network.name: network for network in networks}
    routing = routers(found, first_asn=FIRST_ASN, addresses=_ROUTERS)
    made = []
    for switch, router in zip(found, routing, strict=True):
        own = prefixes.get(f"{switch.network} {switch.name}")
        made.append(
            Switch(
                name=switch.name,
                network=switch.network,
                router=router,
                hosts=tuple(switch.machines),
                trunks=switch.trunks,
                prefix="" if own is None else own.prefix,
                gateway="" if own is None else own.gateway,
                vlan="" if own is None else own.vlan,
            )
        )
    return tuple(made)


def switch_documents(
    inventory: Inventory,
    cables: str,
    networks: tuple[Network, ...],
    *,
    library: str,
    pod_gateways: Mapping[str, Sequence[str]],
) -> dict[str, File]:
    """Return settings by file name: for each Ethernet switch, or for the subnet manager of each InfiniBand fabric.

    Args:
        inventory: of the site.
        cables: text of `cables.csv`.
        networks: of the site.
        library: of the accelerators' collectives.
        pod_gateways: addresses of leaves for pods on their ports, by leaf; none where no pods take them.
    """
    values = {"dscp": ROCE_DSCP, "cnp_dscp": CNP_DSCP, "priority": PRIORITY}
    if inventory.compute_network != ETHERNET:
        fabrics = {"compute": inventory.fabric.levels, "storage": inventory.storage_fabric.levels}
        return {
            f"opensm/{name}.conf": text(render("provisioning", "opensm.conf.j2", network=name, levels=levels, **values))
            for name, levels in fabrics.items()
        } | {"opensm/partitions.conf": text(render("provisioning", "partitions.conf.j2"))}
    page = render(
        "provisioning",
        "roce.md.j2",
        switch=inventory.compute_switch,
        library=library,
        pods=bool(pod_gateways),
        **values,
    )
    files = {"switches/roce.md": text(page)}
    for switch in switches_of(inventory, cables, networks):
        model = inventory.compute_switch if switch.network == "compute" else inventory.storage_switch
        length = switch.prefix.partition("/")[2]
        files[f"switches/frr/{switch.name}.conf"] = text(
            render(
                "provisioning",
                "frr.conf.j2",
                hostname=switch.name,
                serves=f"the {switch.network} fabric",
                router=switch.router,
                trunks=switch.trunks,
                prefixes=[switch.prefix] if switch.prefix else [],
                overlay=None,
                way_out="",
            )
        )
        if model.startswith(_CUMULUS):
            files[f"switches/nvue/{switch.name}.txt"] = text(
                render(
                    "provisioning",
                    "nvue_fabric.txt.j2",
                    switch=switch,
                    length=length,
                    pod_gateways=pod_gateways.get(switch.name, ()),
                    **values,
                )
            )
    return files
