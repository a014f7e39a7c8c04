"""Preflight says before `up` whether charts can be installed from where it runs."""

from ipaddress import IPv4Address, IPv4Network

import pytest

from clusterwright.checks.preflight import api_server
from clusterwright.checks.results import Outcome

from .projects import configuration, found

CLOUDS = ("aws", "azure", "gcp")
KUBERNETES = {"gpu_cluster/kubernetes/__init__.py": ""}
NETWORK = {"aws": "vpcCidr", "azure": "vnetAddressSpace", "gcp": "networkCidr"}


def outcome(cloud: str, **cluster: object) -> Outcome:
    """Return what the check says of a Kubernetes project with these values of the cluster layer."""
    config = configuration(cloud)
    config["cluster"].update(cluster)
    config["foundation"][NETWORK[cloud]] = "10.40.0.0/16"
    (result,) = found(cloud, config, more=KUBERNETES, only="PRE041")["PRE041"]
    return result.outcome


@pytest.fixture
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_server, "own_address", lambda _: IPv4Address("192.0.2.7"))


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_private_api_server_with_charts_fails_from_outside(cloud: str) -> None:
    """The default of a Kubernetes project cannot be brought up from outside: it fails with both ways out."""
    for given in ({}, {"installCharts": True}, {"operatorCidrs": []}):
        said = outcome(cloud, **given)
        assert said.status == "FAIL"
        assert said.place is not None
        assert "cluster/" in str(said.place)
        assert said.fix is not None
        assert "operatorCidrs[0]" in said.fix
        assert "installCharts false" in said.fix


@pytest.mark.usefixtures("_outside")
@pytest.mark.parametrize("cloud", CLOUDS)
def test_named_addresses_or_charts_left_out_pass(cloud: str) -> None:
    """With the owner's addresses, or with charts left to a later run, `up` does not wait for what it cannot reach."""
    assert outcome(cloud, operatorCidrs=["203.0.113.7/32"]).status == "PASS"
    assert outcome(cloud, installCharts=False).status == "PASS"
    assert "203.0.113.7/32" in outcome(cloud, operatorCidrs=["203.0.113.7/32"]).message


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_machine_in_the_network_passes(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From inside the network the private API server answers, and charts can be installed."""
    monkeypatch.setattr(api_server, "own_address", lambda _: IPv4Address("10.40.3.2"))
    said = outcome(cloud)
    assert (said.status, said.message) == ("PASS", "this machine, 10.40.3.2, is in the network")


@pytest.mark.usefixtures("_outside")
def test_what_reaches_an_existing_network_is_not_known() -> None:
    """A network of the owner may have a way in that no file says: the check answers UNKNOWN, never PASS."""
    config = configuration("aws")
    config["foundation"]["existingNetwork"] = {"vpcId": "vpc-0123456789abcdef0"}
    (result,) = found("aws", config, more=KUBERNETES, only="PRE041")["PRE041"]
    assert result.outcome.status == "UNKNOWN"


def test_slurm_projects_have_no_api_server() -> None:
    """The check says nothing of a project without Kubernetes."""
    assert found("aws", only="PRE041") == {}


def test_the_own_address_is_one_of_this_machine() -> None:
    """Towards the loopback network the machine's own address is on it, and a network without a route gives none."""
    assert api_server.own_address(IPv4Network("127.0.0.0/8")) == IPv4Address("127.0.0.1")
