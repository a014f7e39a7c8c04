"""In-band, out-of-band and storage networks against the published bill and against their ports."""

from collections import Counter

import pytest

from clusterwright.errors import InputError
from clusterwright.facility.ethernet_links import inband_links
from clusterwright.facility.networks import oob_switches, size_inband_network, size_storage_network
from clusterwright.facility.site import DesignRules

RULES = DesignRules()


def test_inband_of_127_nodes() -> None:
    """127 nodes need 6 leaves and 2 aggregation switches with 24 cables between them, as published."""
    network = size_inband_network(nodes=127, node_ports=2, rules=RULES)
    assert (network.leaf, network.aggregation, network.core, network.trunk_cables) == (6, 2, 0, 24)


@pytest.mark.parametrize("nodes", [1, 44, 45, 700, 800, 2048, 4000])
def test_inband_ports(nodes: int) -> None:
    """From one pair of leaves to three tiers no port is used twice, none beyond the switch, and counts agree."""
    network = size_inband_network(nodes=nodes, node_ports=2, rules=RULES)
    hosts = [f"n{number}" for number in range(nodes)]
    servers = [f"m{number}" for number in range(RULES.management_servers)]
    links = list(
        inband_links(
            network=network,
            hosts=hosts,
            node_ports=2,
            servers=servers,
            oob=["oob-1", "oob-2"],
            rules=RULES,
            family="eth100",
        )
    )
    ends = Counter((end.device, end.port) for link in links for end in (link.a, link.b))
    assert max(ends.values()) == 1
    assert max(port for device, port in ends if device.startswith("eth-")) < RULES.inband_leaf_ports
    tiers = Counter(link.tier for link in links)
    assert tiers["host-leaf"] == network.host_cables == 2 * nodes + 2 * RULES.management_servers
    assert sum(tiers[tier] for tier in ("leaf-leaf", "leaf-aggregation", "aggregation-core")) == network.trunk_cables
    switches = {end.device for link in links for end in (link.a, link.b) if end.device.startswith("eth-")}
    assert len(switches) == network.switches


def test_inband_limit() -> None:
    """More leaves than three tiers can join are refused."""
    with pytest.raises(InputError, match="three tiers"):
        size_inband_network(nodes=30_000, node_ports=2, rules=RULES)


def test_oob_switches() -> None:
    """317 management ports take 8 switches, as published, though 7 would hold them."""
    assert oob_switches(ports=317, rules=RULES) == 8
    assert oob_switches(ports=1, rules=RULES) == 2


def test_storage_oversubscription() -> None:
    """The node side of a storage leaf stays below the published 4:3."""
    fabric = size_storage_network(nodes=127, node_ports=2, box_slots=8, radix=64, cage=2, rules=RULES)
    assert (fabric.leaf, fabric.spine) == (8, 4)
    assert (fabric.radix - fabric.uplinks_per_leaf) / fabric.uplinks_per_leaf < 4 / 3
