"""The address plan: prefixes apart, room to grow, an address for every port, and ranges that are too small."""

from dataclasses import replace
from functools import cache
from ipaddress import IPv4Network
from itertools import pairwise

import pytest

from clusterwright.catalog.load import load
from clusterwright.errors import RuleError
from clusterwright.facility.cabling.addresses import addresses, subnets
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.site import DesignRules, FabricChoice, Site, SiteNetwork
from tests.facility.examples import storage_need


@cache
def design_of(nodes: int, kind: str = "infiniband", system: str = "dgx-h100") -> OnPremDesign:
    """Return a design of so many systems."""
    catalogue = load()
    rules = DesignRules(fabric=FabricChoice(kind=kind))
    site = Site(rack_power_w=160e3, cooling="direct-to-chip" if system == "gb200-nvl72" else None)
    return design_onprem(
        system=catalogue.systems[system],
        nodes=nodes,
        storage=storage_need(),
        site=site,
        catalogue=catalogue,
        rules=rules,
    )


@cache
def planned(nodes: int, kind: str = "infiniband", system: str = "dgx-h100") -> dict[tuple[str, str], str]:
    """Return every address by device and interface."""
    design, catalogue = design_of(nodes, kind, system), load()
    racks = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    cables = wire(design.inventory, racks, site=design.site, rules=design.rules)
    managed = sum(cable.tier == "management" for cable in cables)
    found = subnets(design.inventory, SiteNetwork(), managed=managed)
    made = addresses(design.inventory, found, cables)
    assert all(one.address in one.subnet.prefix for one in made)
    edges = {end for net in found for end in (net.prefix.network_address, net.prefix.broadcast_address, net.gateway)}
    assert not edges & {one.address for one in made}
    return {(one.device, one.interface): str(one.address) for one in made}


SITES = [(32, "infiniband", "dgx-h100"), (100, "roce", "dgx-h100"), (2, "infiniband", "gb200-nvl72")]


@pytest.mark.parametrize(("nodes", "kind", "system"), SITES)
def test_prefixes_are_apart_and_of_the_range(nodes: int, kind: str, system: str) -> None:
    """No address is of two networks, and all are of the site's range."""
    design = design_of(nodes, kind, system)
    found = [net.prefix for net in subnets(design.inventory, SiteNetwork(), managed=200)]
    assert all(one.subnet_of(IPv4Network("10.64.0.0/12")) for one in found)
    assert not any(one.overlaps(other) for one, other in pairwise(sorted(found)))


@pytest.mark.parametrize(("nodes", "kind", "system"), SITES)
def test_every_port_has_an_address_of_its_own(nodes: int, kind: str, system: str) -> None:
    """A host has one in-band, one for management, and one for each port of the fabric and of storage."""
    found, inventory = planned(nodes, kind, system), design_of(nodes, kind, system).inventory
    assert len(set(found.values())) == len(found)
    ports = inventory.fabric.ports_per_node * inventory.planes + inventory.storage_ports + 2
    for host in inventory.hosts():
        assert sum(device == host for device, _ in found) == ports
    assert {device for device, _ in found} >= {*inventory.servers(), *inventory.boxes(), *inventory.oob_names()}


def test_fabrics_of_ethernet_are_routed_and_those_of_infiniband_are_not() -> None:
    """Leaves of RoCE have gateways; IP over InfiniBand stays among the hosts, without VLAN and gateway."""

    def of(kind: str) -> dict[str, tuple[bool, bool]]:
        found = subnets(design_of(32, kind).inventory, SiteNetwork(), managed=200)
        return {net.name: (net.gateway is not None, net.vlan is not None) for net in found}

    plain = {"out-of-band": (True, True), "in-band": (True, True)}
    infiniband, ethernet = of("infiniband"), of("roce")
    assert plain.items() <= infiniband.items()
    assert plain.items() <= ethernet.items()
    assert {ways for name, ways in infiniband.items() if name.startswith(("compute", "storage"))} == {(False, False)}
    assert {ways for name, ways in ethernet.items() if name.startswith(("compute", "storage"))} == {(True, True)}


def test_the_out_of_band_network_has_room_for_every_host_and_device() -> None:
    """Hosts have addresses of their own there, beside a quarter more devices than are managed."""
    inventory = design_of(32).inventory
    for managed in range(100, 2000, 7):
        network = subnets(inventory, SiteNetwork(), managed=managed)[0]
        devices = int((managed + inventory.oob_switches) * 1.25)
        assert network.prefix.num_addresses >= len(inventory.hosts()) + devices


def test_addresses_stay_when_nodes_are_added() -> None:
    """Within the units that are bought more nodes change no address of a node that is there."""
    few, more = planned(33), planned(48)
    hosts = {key for key in few if key[0].startswith("node")}
    assert {key: few[key] for key in hosts} == {key: more[key] for key in hosts}


def test_a_range_that_is_too_small() -> None:
    """The message says how many addresses are needed and which range would do."""
    design = design_of(32)
    with pytest.raises(RuleError) as error:
        subnets(design.inventory, SiteNetwork(range="10.0.0.0/24"), managed=100)
    (finding,) = error.value.findings
    assert finding.id == "NET007"
    assert "10.0.0.0/24 has 256" in finding.message
    assert "/21" in finding.help
    assert subnets(design.inventory, SiteNetwork(range="10.0.0.0/21"), managed=100)


def test_the_design_itself_refuses_it() -> None:
    """A blueprint with such a range gets no plan, so that no documents are written."""
    catalogue = load()
    rules = replace(DesignRules(), network=SiteNetwork(range="192.168.0.0/26"))
    with pytest.raises(RuleError, match=r"192\.168\.0\.0/26"):
        design_onprem(
            system=catalogue.systems["dgx-h100"],
            nodes=16,
            storage=storage_need(),
            site=Site(),
            catalogue=catalogue,
            rules=rules,
        )
