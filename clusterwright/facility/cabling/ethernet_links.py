"""Which port is joined to which in the in-band and out-of-band Ethernet; the fabrics are in `links`."""

from collections.abc import Iterator

from clusterwright.facility.cabling.links import SIDE_LETTERS, End, Link
from clusterwright.facility.fabric.networks import SIDES, InbandNetwork, slots_per_node
from clusterwright.facility.site import DesignRules


def inband_leaf(leaf: int) -> str:
    """Return a name such as `eth-leaf-01a`."""
    return f"eth-leaf-{leaf // SIDES + 1:02d}{SIDE_LETTERS[leaf % SIDES]}"


def inband_aggregation(switch: int) -> str:
    """Return a name such as `eth-agg-01a`."""
    return f"eth-agg-{switch // SIDES + 1:02d}{SIDE_LETTERS[switch % SIDES]}"


def inband_core(switch: int) -> str:
    """Return a name such as `eth-core-01`."""
    return f"eth-core-{switch + 1:02d}"


def border_switch(switch: int) -> str:
    """Return a name such as `border-01`."""
    return f"border-{switch + 1:02d}"


def inband_links(
    *,
    network: InbandNetwork,
    hosts: list[str],
    node_ports: int,
    servers: list[str],
    oob: list[str],
    rules: DesignRules,
    family: str,
) -> Iterator[Link]:
    """Yield in-band Ethernet: hosts on both sides, uplinks, the border, and two uplinks of every out-of-band switch.

    Args:
        network: counts.
        hosts: names of the nodes.
        node_ports: in-band ports of each node.
        servers: names of management servers, two ports each.
        oob: names of out-of-band switches.
        rules: hosts per leaf.
        family: of media.
    """
    systems = [(host, node_ports) for host in hosts] + [(server, SIDES) for server in servers]
    slot = 0
    for device, ports in systems:
        for port in range(ports):
            pair, place = divmod(slot + port // SIDES, rules.inband_hosts_per_leaf)
            yield _ethernet("host-leaf", family, device, port, inband_leaf(pair * SIDES + port % SIDES), place, "nic")
        slot += slots_per_node(ports)
    uplink = rules.inband_hosts_per_leaf
    for cable in range(network.peer_cables):
        yield _ethernet("leaf-leaf", family, inband_leaf(0), uplink + cable, inband_leaf(1), uplink + cable)
    for leaf in range(network.leaf if network.aggregation else 0):
        group, member = divmod(leaf, network.leaf_per_group)
        for number in range(SIDES * network.leaf_uplinks):
            side, cable = divmod(number, network.leaf_uplinks)
            above = inband_aggregation(group * SIDES + side)
            place = member * network.leaf_uplinks + cable
            yield _ethernet("leaf-aggregation", family, inband_leaf(leaf), uplink + number, above, place)
    first = rules.inband_leaf_ports - network.core * network.aggregation_uplinks
    for switch in range(network.aggregation if network.core else 0):
        for number in range(network.core * network.aggregation_uplinks):
            core, cable = divmod(number, network.aggregation_uplinks)
            place = switch * network.aggregation_uplinks + cable
            yield _ethernet(
                "aggregation-core", family, inband_aggregation(switch), first + number, inband_core(core), place
            )
    yield from _border_links(network, rules, family)
    first = uplink + max(network.peer_cables, SIDES * network.leaf_uplinks)
    pairs = network.leaf // SIDES
    for index, switch_name in enumerate(oob):
        place, pair = divmod(index, pairs)
        for side in range(SIDES):
            leaf_name = inband_leaf(pair * SIDES + side)
            yield _ethernet("oob-uplink", family, switch_name, rules.oob_ports + side, leaf_name, first + place)


def _border_links(network: InbandNetwork, rules: DesignRules, family: str) -> Iterator[Link]:
    """Yield the links from the top switches, at their last ports, to the border switches."""
    first = rules.inband_leaf_ports - network.border * network.border_cables
    named = inband_core if network.core else inband_aggregation if network.aggregation else inband_leaf
    for top in range(network.top):
        for number in range(network.border * network.border_cables):
            switch, cable = divmod(number, network.border_cables)
            place = top * network.border_cables + cable
            yield _ethernet("top-border", family, named(top), first + number, border_switch(switch), place)


def _ethernet(  # noqa: PLR0917 - two ends in order
    tier: str, family: str, a: str, a_port: int, b: str, b_port: int, kind: str = "switch"
) -> Link:
    return Link(
        network="in-band",
        tier=tier,
        family=family,
        a=End(device=a, port=a_port, kind=kind),
        b=End(device=b, port=b_port, kind="switch"),
    )


def oob_links(*, managed: list[str], oob: list[str], rules: DesignRules) -> Iterator[Link]:
    """Yield the management port of every device, filling one out-of-band switch after the other.

    Args:
        managed: names of devices in the order they are.
        oob: names of out-of-band switches.
        rules: ports per switch.
    """
    for index, device in enumerate(managed):
        switch, port = divmod(index, rules.oob_ports)
        yield Link(
            network="out-of-band",
            tier="management",
            family="copper",
            a=End(device=device, port=0, kind="management"),
            b=End(device=oob[switch], port=port, kind="switch"),
        )
