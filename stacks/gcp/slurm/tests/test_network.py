"""Networks, firewalls and the path to storage."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from recording import MACHINE_TYPES, NODE_TYPES, scenario

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
FIREWALL = "gcp:compute/firewall:Firewall"

# VPC networks and subnets per machine type: primary + GPU networks (+ one RDMA network with eight subnets).
COUNTS = {
    "a2-ultragpu-8g": (1, 1),
    "a3-highgpu-8g": (5, 5),
    "a3-megagpu-8g": (9, 9),
    "a3-ultragpu-8g": (3, 10),
    "a4-highgpu-8g": (3, 10),
}


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_networks_and_subnets_of_a_machine_type(project: Path, machine: str) -> None:
    """Every machine type gets exactly its number of networks and subnets."""
    recording = scenario(project, machine=machine)
    assert (len(recording.of(NETWORK)), len(recording.of(SUBNETWORK))) == COUNTS[machine]


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_every_network_has_the_mtu_of_the_fabric_and_no_automatic_subnets(project: Path, machine: str) -> None:
    """All networks of a node share the packet size of its fabric."""
    for network in scenario(project, machine=machine).of(NETWORK):
        assert network.inputs["mtu"] == NODE_TYPES[machine]["mtu"]
        assert network.inputs["autoCreateSubnetworks"] is False


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_rdma_network_is_tied_to_the_zone_of_the_nodes(project: Path, machine: str) -> None:
    """The RDMA network profile names the configured zone."""
    recording = scenario(project, machine=machine, zone="us-central1-b")
    profile = recording.one(NETWORK, "rdma").inputs["networkProfile"]
    assert profile == "projects/my-gpu-project/global/networkProfiles/us-central1-b-vpc-roce"


@pytest.mark.parametrize("machine", ["a2-ultragpu-8g", "a3-highgpu-8g", "a3-megagpu-8g"])
def test_only_rdma_networks_have_a_profile(project: Path, machine: str) -> None:
    """A network without RDMA is a plain one."""
    assert all("networkProfile" not in network.inputs for network in scenario(project, machine=machine).of(NETWORK))


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_subnets_are_disjoint_parts_of_the_configured_range(project: Path, machine: str) -> None:
    """No two subnets overlap, and all lie in the configured range."""
    subnets = [ip_network(one.inputs["ipCidrRange"]) for one in scenario(project, machine=machine).of(SUBNETWORK)]
    assert all(subnet.subnet_of(ip_network("10.0.0.0/12")) for subnet in subnets)  # pyright: ignore[reportArgumentType]
    assert not any(a.overlaps(b) for i, a in enumerate(subnets) for b in subnets[:i])


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_no_firewall_lets_the_internet_in(project: Path, machine: str) -> None:
    """Ingress comes from private ranges, or for SSH from Identity-Aware Proxy."""
    for firewall in scenario(project, machine=machine).of(FIREWALL):
        assert firewall.inputs["direction"] == "INGRESS"
        for source in map(ip_network, firewall.inputs["sourceRanges"]):
            assert source.prefixlen >= 16
            assert source.is_private or str(source) == "35.235.240.0/20"


def test_ssh_is_open_to_the_proxy_alone(project: Path) -> None:
    """The one rule with a public source is TCP 22 from Identity-Aware Proxy, and it is logged."""
    firewall = scenario(project).one(FIREWALL, "iap")
    assert firewall.inputs["allows"] == [{"protocol": "tcp", "ports": ["22"]}]
    assert firewall.inputs["sourceRanges"] == ["35.235.240.0/20"]
    assert firewall.inputs["logConfig"]["metadata"] == "INCLUDE_ALL_METADATA"


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_rdma_network_has_no_firewall_rules(project: Path, machine: str) -> None:
    """The RDMA network filters by its profile and gets no rule of ours."""
    recording = scenario(project, machine=machine)
    rdma = f"id-of-{recording.one(NETWORK, 'rdma').name}"
    assert all(firewall.inputs["network"] != rdma for firewall in recording.of(FIREWALL))


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_every_other_network_lets_its_own_machines_talk(project: Path, machine: str) -> None:
    """Each gVNIC network has one rule for all traffic from its own subnet."""
    recording = scenario(project, machine=machine)
    subnets = {one.inputs["network"]: one.inputs["ipCidrRange"] for one in recording.of(SUBNETWORK)}
    internal = [one.inputs for one in recording.of(FIREWALL) if one.name.endswith("-internal")]
    networks = [one for one in recording.of(NETWORK) if "networkProfile" not in one.inputs]
    assert {rule["network"] for rule in internal} == {f"id-of-{one.name}" for one in networks}
    assert len(internal) == len(networks)
    for rule in internal:
        assert rule["sourceRanges"] == [subnets[rule["network"]]]
        assert [allow["protocol"] for allow in rule["allows"]] == ["tcp", "udp", "icmp"]


def test_primary_subnet_reaches_google_and_is_logged(project: Path) -> None:
    """Machines without public address reach Google's services; traffic of the primary subnet is logged."""
    subnet = scenario(project).one(SUBNETWORK, "primary").inputs
    assert subnet["privateIpGoogleAccess"] is True
    assert subnet["logConfig"]["flowSampling"] == 0.5


def test_gpu_networks_have_no_way_out(project: Path) -> None:
    """GPU networks lose their default route at creation; only the primary network has NAT."""
    recording = scenario(project)
    for network in recording.of(NETWORK):
        assert network.inputs.get("deleteDefaultRoutesOnCreate", False) is ("gpu" in network.name)
    assert recording.one("gcp:compute/router:Router").inputs["network"] == "id-of-gpt3-primary"
    nat = recording.one("gcp:compute/routerNat:RouterNat").inputs
    assert (nat["natIpAllocateOption"], nat["logConfig"]["enable"]) == ("AUTO_ONLY", True)


def test_storage_is_reached_by_peering(project: Path) -> None:
    """Managed Lustre is peered over a reserved range, whose servers may call back on the Lustre port alone."""
    recording = scenario(project)
    peering_range = recording.one("gcp:compute/globalAddress:GlobalAddress").inputs
    assert (peering_range["purpose"], peering_range["addressType"], peering_range["prefixLength"]) == (
        "VPC_PEERING",
        "INTERNAL",
        20,
    )
    connection = recording.one("gcp:servicenetworking/connection:Connection").inputs
    assert connection["service"] == "servicenetworking.googleapis.com"
    assert connection["network"] == peering_range["network"] == "id-of-gpt3-primary"
    callback = recording.one(FIREWALL, "lustre").inputs
    assert callback["sourceRanges"] == ["10.20.0.0/20"]
    assert callback["allows"] == [{"protocol": "tcp", "ports": ["988"]}]


def test_no_way_for_lustre_without_a_file_system(project: Path) -> None:
    """Without shared storage nobody calls back; the peering stays, since the accounting database is behind it."""
    recording = scenario(project, sharedStorage={"capacityGib": 0})
    assert not [one for one in recording.of(FIREWALL) if "lustre" in one.name]
    assert not recording.of("gcp:lustre/instance:Instance")
    assert recording.of("gcp:servicenetworking/connection:Connection")


EXISTING = {
    "network": "projects/host/global/networks/shared",
    "subnetwork": "projects/host/regions/us-central1/subnetworks/nodes",
    "gpuSubnetworks": [f"projects/host/regions/us-central1/subnetworks/gpu-{number}" for number in range(8)],
}


def test_somebody_elses_networks_are_taken_by_id(project: Path) -> None:
    """No network, subnetwork, firewall, gateway or peering is made; nodes, head and file system are in the given ones."""
    recording = scenario(project, existingNetwork=EXISTING)
    kinds = {one.type for one in recording.resources}
    assert not {kind for kind in kinds if kind.startswith(("gcp:compute/network", "gcp:compute/subnetwork"))}
    assert not kinds & {FIREWALL, "gcp:compute/router:Router", "gcp:servicenetworking/connection:Connection"}
    interfaces = recording.one("gcp:compute/instanceTemplate:InstanceTemplate").inputs["networkInterfaces"]
    assert [one["subnetwork"] for one in interfaces] == [EXISTING["subnetwork"], *EXISTING["gpuSubnetworks"]]
    assert recording.one("gcp:lustre/instance:Instance").inputs["network"] == EXISTING["network"]
    for head in recording.of("gcp:compute/instance:Instance"):
        assert head.inputs["networkInterfaces"][0]["subnetwork"] == EXISTING["subnetwork"]


def test_subnetwork_of_another_network_is_refused(project: Path) -> None:
    """A look-up shows that the subnetwork belongs to another network, before anything is made in it."""
    other = {**EXISTING, "subnetwork": "projects/host/regions/us-central1/subnetworks/other"}
    with pytest.raises(Exception, match="belongs to"):
        scenario(project, existingNetwork=other)
