"""Which switch a network is built of, and which family of cables and transceivers fits its ports."""

from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue, Switch, System
from clusterwright.errors import InputError, MissingFactError
from clusterwright.facility.fabric.node_ports import ETHERNET, INFINIBAND_NETWORK
from clusterwright.facility.site import INFINIBAND, ROCE, FabricChoice

#: Families of media by network and port rate in bytes/s one way: HDR, NDR and XDR InfiniBand; Ethernet.
_FAMILIES = {
    (INFINIBAND_NETWORK, 25e9): "hdr",
    (INFINIBAND_NETWORK, 50e9): "ndr",
    (INFINIBAND_NETWORK, 100e9): "xdr",
    (ETHERNET, 12.5e9): "eth100",
    (ETHERNET, 25e9): "eth200",
    (ETHERNET, 50e9): "eth400",
    (ETHERNET, 100e9): "eth800",
}
#: Families whose transceivers of nodes carry two links; nodes with a cage per port need others.
_TWIN = ("ndr", "eth400")
TWIN_CAGE = 2


def compute_switch(system: System, catalogue: Catalogue, choice: FabricChoice | None = None) -> Switch:
    """Return the switch that a system's compute fabric is built of: the one asked for, or the first that fits.

    Raises:
        InputError: a switch that is not known or not of the kind asked for, or is for management.
        MissingFactError: the system's ports or their rate are unknown, or no switch has them.
    """
    asked = choice or FabricChoice()
    if asked.switch is not None:
        switch = lookup.switch(catalogue, asked.switch)
        if asked.kind is not None and network_of(asked.kind) != switch.network:
            raise InputError(
                f"{switch.name} is a switch for {switch.network}, the fabric is to be {asked.kind}",
                help="leave out the kind, or choose a switch of that kind",
            )
        return switch
    ports, per_gpu = system.fabric_ports, system.fabric_bytes_per_s_per_gpu_one_way
    if not ports or per_gpu is None:
        raise MissingFactError(
            f"the compute ports of {system.name} are unknown", help="choose a system whose ports are in the catalogue"
        )
    network = network_of(asked.kind or system.fabric_kind or INFINIBAND)
    rate = per_gpu * system.gpus / ports
    return switch_for(rate / (asked.planes if network == ETHERNET else 1), network, catalogue)


def network_of(kind: str) -> str:
    """Return the network of switches for a kind of fabric; RoCE runs over Ethernet."""
    return {INFINIBAND: INFINIBAND_NETWORK, ROCE: ETHERNET}.get(kind, ETHERNET)


def switch_for(rate: float, network: str, catalogue: Catalogue) -> Switch:
    """Return the first switch of the catalogue with ports of a rate in bytes/s one way.

    Ethernet ports may be faster and are split. Of two alike the catalogue lists the managed one, which has a subnet
    manager, first.

    Raises:
        MissingFactError: the catalogue has none.
    """
    for switch in catalogue.switches.values():
        ratio = switch.port_bytes_per_s_one_way / rate
        if switch.network == network and (ratio == 1 or (network == ETHERNET and ratio in {2, 4, 8})):
            return switch
    name = "InfiniBand" if network == INFINIBAND_NETWORK else "Ethernet"
    raise MissingFactError(
        f"no {name} switch with ports of {rate * 8 / 1e9:.0f} Gb/s is in the catalogue",
        help="choose a system with ports of 200, 400 or 800 Gb/s, or another kind of fabric",
    )


def family_of(network: str, rate: float, node_cage: int) -> str:
    """Return the family of media between ports of a rate in bytes/s one way, for nodes with this many links per cage.

    Raises:
        MissingFactError: none is known.
    """
    family = _FAMILIES.get((network, rate))
    if family is None:
        raise MissingFactError(
            f"no cables are known for {network} ports of {rate * 8 / 1e9:.0f} Gb/s",
            help="add rows to catalog/media.csv",
        )
    return f"{family}-single" if family in _TWIN and node_cage < TWIN_CAGE else family
