"""In-band, out-of-band and storage networks against the published bill and against their ports."""

from collections import Counter
from dataclasses import replace

import pytest

from clusterwright.errors import InputError
from clusterwright.facility.cabling.ethernet_links import inband_links
from clusterwright.facility.fabric.networks import oob_switches, size_inband_network, size_storage_network
from clusterwright.facility.server_roles import server_roles
from clusterwright.facility.site import DesignRules, SiteNetwork

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
    servers = [f"m{number}" for number in range(RULES.servers_for(nodes))]
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
    assert tiers["host-leaf"] == network.host_cables == 2 * nodes + 2 * RULES.servers_for(nodes)
    assert sum(tiers[tier] for tier in ("leaf-leaf", "leaf-aggregation", "aggregation-core")) == network.trunk_cables
    assert tiers["top-border"] == network.border_links
    assert max(port for device, port in ends if device.startswith("border-")) < RULES.inband_leaf_ports
    switches = {end.device for link in links for end in (link.a, link.b) if end.device.startswith("eth-")}
    assert len(switches) == network.switches


@pytest.mark.parametrize(("nodes", "uplinks", "links"), [(36, 4, 4), (127, 4, 4), (512, 16, 16), (12_288, 32, 32)])
def test_border_joins_every_top_switch(nodes: int, uplinks: int, links: int) -> None:
    """Users reach the cluster: four links for 127 nodes as published, and as many below the border as above it."""
    network = size_inband_network(nodes=nodes, node_ports=2, rules=RULES)
    assert (network.border, network.uplinks, network.border_links) == (2, uplinks, links)


def test_border_as_asked() -> None:
    """Sixteen links where the blueprint says so, none where it says none, and no more than ports are free for."""
    asked = replace(RULES, network=SiteNetwork(uplinks=16))
    assert size_inband_network(nodes=127, node_ports=2, rules=asked).uplinks == 16
    none = size_inband_network(nodes=127, node_ports=2, rules=replace(RULES, network=SiteNetwork(uplinks=0)))
    assert (none.border, none.border_links) == (0, 0)
    with pytest.raises(InputError, match="6 are free") as error:
        size_inband_network(nodes=36, node_ports=2, rules=replace(RULES, network=SiteNetwork(uplinks=32)))
    assert error.value.help == "set site.network.uplinks to 12 or less"


def test_inband_oversubscription_is_counted() -> None:
    """12,288 nodes share 288:1 between distant leaves, 127 share 12:1, one pair nothing; wider trunks help."""
    for nodes, ratio in ((36, 1), (127, 12), (12_288, 288)):
        network = size_inband_network(nodes=nodes, node_ports=2, rules=RULES)
        assert network.oversubscription(RULES.inband_hosts_per_leaf) == ratio
    wide = size_inband_network(nodes=127, node_ports=2, rules=replace(RULES, network=SiteNetwork(leaf_uplinks=4)))
    assert wide.oversubscription(RULES.inband_hosts_per_leaf) == 6
    assert wide.trunk_cables == 6 * 2 * 4


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


def test_management_servers_grow_with_the_nodes() -> None:
    """127 nodes have the reference's four servers, 12,288 nodes 96 login machines beside two controllers."""
    assert [RULES.servers_for(hosts) for hosts in (1, 127, 256, 257, 1_152, 12_288)] == [4, 4, 4, 5, 11, 98]
    network = size_inband_network(nodes=12_288, node_ports=2, rules=RULES)
    assert network.host_cables == 2 * 12_288 + 2 * 98


def test_every_server_has_one_role() -> None:
    """Slurm has two controllers and Kubernetes three; every other server is for login."""
    servers = [f"mgmt-{number:03d}" for number in range(1, 6)]
    for scheduler, controllers in (("slurm", ["mgmt-001", "mgmt-002"]), ("kubernetes", servers[:3])):
        roles = server_roles(servers, scheduler=scheduler)
        assert [name for role in roles for name in role.servers] == servers
        assert [name for role in roles[:-1] for name in role.servers] == controllers
        assert roles[-1].role == "login"
