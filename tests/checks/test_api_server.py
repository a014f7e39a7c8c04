"""Preflight says before `up` whether charts can be installed from where it runs."""

from ipaddress import IPv4Address, IPv4Network

import pytest

from clusterwright.checks.preflight.configuration import api_server
from clusterwright.checks.preflight.results import Outcome

from .projects import configuration, found

CLOUDS = ("aws", "azure", "gcp")
EARLIER = {"gpu_cluster/kubernetes/__init__.py": ""}
KUBERNETES = EARLIER | {"gpu_cluster/kubernetes/api_access.py": ""}
NETWORK = {"aws": "vpcCidr", "azure": "vnetAddressSpace", "gcp": "networkCidr"}
NETWORK_IN_USE = {"aws": {"vpcId": "vpc-0123456789abcdef0"}, "azure": {"virtualNetworkId": "/subscriptions/1/vnet"}}


def outcome(
    cloud: str, files: dict[str, str] | None = None, foundation: dict[str, object] | None = None, **cluster: object
) -> Outcome:
    """Return what the check says of a Kubernetes project with these values of the cluster layer."""
    config = configuration(cloud)
    config["cluster"].update(cluster)
    config["foundation"] |= {NETWORK[cloud]: "10.40.0.0/16"} | (foundation or {})
    (result,) = found(cloud, config, more=files or KUBERNETES, only="PRE041")["PRE041"]
    return result.outcome


def stand_at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let this machine have an address."""
    monkeypatch.setattr(api_server, "own_address", lambda _: IPv4Address(address))


@pytest.fixture
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_at(monkeypatch, "192.168.1.7")


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_cloud_s_own_gate_is_the_default(cloud: str) -> None:
    """As it is written, a Kubernetes project comes up from outside; what this machine needs for it is said."""
    for given in ({}, {"installCharts": True}, {"operatorCidrs": []}, {"apiFromOutside": "true"}):
        assert outcome(cloud, **given).status == "PASS"
    said = {"aws": "session-manager-plugin", "azure": "Bastion", "gcp": "IAM"}[cloud]
    assert said in outcome(cloud).message


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_private_api_server_without_the_gate_fails_from_outside(cloud: str) -> None:
    """With the gate refused, or in a project of an earlier release, it fails with every way out."""
    for said in (outcome(cloud, apiFromOutside=False), outcome(cloud, files=EARLIER)):
        assert said.status == "FAIL"
        assert said.place is not None
        assert "cluster/" in str(said.place)
        assert said.fix is not None
        assert "operatorCidrs[0]" in said.fix
        assert "apiFromOutside true" in said.fix


@pytest.mark.usefixtures("_outside")
def test_a_gate_that_is_not_made_fails() -> None:
    """On Azure the gate is the foundation's Bastion, which can be left out and is in no network of somebody else."""
    said = outcome("azure", foundation={"bastionEnabled": False})
    assert (said.status, said.fix) == ("FAIL", "./cluster.sh set bastionEnabled true")
    assert "foundation/" in str(said.place)
    said = outcome("azure", foundation={"existingNetwork": NETWORK_IN_USE["azure"]})
    assert said.status == "FAIL"
    assert "apiFromOutside false" in str(said.fix)


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize(
    ("own", "named", "status"),
    [
        ("192.168.1.7", ["203.0.113.7/32"], "UNKNOWN"),
        ("192.168.1.7", ["192.168.1.0/24"], "UNKNOWN"),
        ("100.64.0.9", ["203.0.113.7/32"], "UNKNOWN"),
        ("8.8.4.4", ["203.0.113.7/32", "8.8.4.0/24"], "PASS"),
        ("8.8.4.4", ["203.0.113.7/32", "not a range"], "FAIL"),
    ],
)
def test_named_addresses_pass_only_where_this_machine_is_known_to_have_one(
    cloud: str, own: str, named: list[str], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a gateway a machine does not know the address that it is seen under: that is never a PASS."""
    stand_at(monkeypatch, own)
    said = outcome(cloud, operatorCidrs=named)
    assert said.status == status
    assert "203.0.113.7/32" in said.message or "192.168.1.0/24" in said.message
    if status == "FAIL":
        assert said.fix == "./cluster.sh set 'operatorCidrs[2]' 8.8.4.4/32"


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("cloud", CLOUDS)
def test_charts_left_out_pass(cloud: str) -> None:
    """With charts left to a later run, `up` does not wait for what it cannot reach."""
    assert outcome(cloud, installCharts=False, apiFromOutside=False).status == "PASS"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_machine_in_the_network_passes(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From inside the network the private API server answers, and charts can be installed."""
    stand_at(monkeypatch, "10.40.3.2")
    said = outcome(cloud, apiFromOutside=False)
    assert (said.status, said.message) == ("PASS", "this machine, 10.40.3.2, is in the network")


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("from_outside", [True, False])
def test_what_reaches_an_existing_network_is_not_known(from_outside: bool) -> None:
    """A network of the owner may have a way in, or out, that no file says: the check answers UNKNOWN, never PASS."""
    said = outcome("aws", foundation={"existingNetwork": NETWORK_IN_USE["aws"]}, apiFromOutside=from_outside)
    assert said.status == "UNKNOWN"


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize(("part", "status"), [("virtualNetworkId", "FAIL"), ("keyVaultId", "PASS")])
def test_bastion_comes_with_the_network_alone(part: str, status: str) -> None:
    """An existing network gets no Bastion; with an existing key in a network of the foundation there is one."""
    assert outcome("azure", foundation={"existingNetwork": {part: "/subscriptions/1/x"}}).status == status


def test_slurm_projects_have_no_api_server() -> None:
    """The check says nothing of a project without Kubernetes."""
    assert found("aws", only="PRE041") == {}


def test_the_own_address_is_one_of_this_machine() -> None:
    """Towards the loopback network the machine's own address is on it, and a network without a route gives none."""
    assert api_server.own_address(IPv4Network("127.0.0.0/8")) == IPv4Address("127.0.0.1")
