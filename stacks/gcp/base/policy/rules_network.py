"""Rules for networks: nothing has a public address, and nobody outside gets in but through Identity-Aware Proxy."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from reading import mapping, mappings, texts
from rule import UNKNOWN, Rule

MACHINES = ("gcp:compute/instance:Instance", "gcp:compute/instanceTemplate:InstanceTemplate")
# cloud.google.com/iap/docs/using-tcp-forwarding
IAP_RANGE = "35.235.240.0/20"


def _no_public_address(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    found: list[str] = []
    if kind in MACHINES:
        for place, interface in enumerate(mappings(inputs.get("networkInterfaces"))):
            if "accessConfigs" in interface or "ipv6AccessConfigs" in interface:
                found.append(f"interface {place} has a public address: leave out accessConfigs")
    if kind == "gcp:compute/address:Address" and inputs.get("addressType") != "INTERNAL":
        found.append("is a public address: addressType must be INTERNAL")
    if kind == "gcp:tpu/v2Vm:V2Vm" and mapping(inputs.get("networkConfig")).get("enableExternalIps") is not False:
        found.append("TPU hosts get public addresses: set enableExternalIps to false")
    if kind == "gcp:sql/databaseInstance:DatabaseInstance":
        address = mapping(mapping(inputs.get("settings")).get("ipConfiguration"))
        if address.get("ipv4Enabled") is not False:
            found.append("the database gets a public address: set ipv4Enabled to false")
    if kind == "gcp:container/cluster:Cluster":
        private = mapping(inputs.get("privateClusterConfig"))
        if private.get("enablePrivateNodes") is not True:
            found.append("nodes get public addresses: set enablePrivateNodes to true")
    return found


def _closed_firewall(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:compute/firewall:Firewall" or inputs.get("direction") == "EGRESS":
        return []
    sources = [source for source in texts(inputs.get("sourceRanges")) if source != UNKNOWN]
    return [
        f"lets {source} in: only private ranges and Identity-Aware Proxy ({IAP_RANGE}) may come in"
        for source in sources
        if source != IAP_RANGE and "/" in source and not ip_network(source).is_private
    ]


def _closed_api_server(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:container/cluster:Cluster":
        return []
    private = mapping(inputs.get("privateClusterConfig")).get("enablePrivateEndpoint") is True
    blocks = mappings(mapping(inputs.get("masterAuthorizedNetworksConfig")).get("cidrBlocks"))
    ranges = [str(block.get("cidrBlock")) for block in blocks]
    if any(one.endswith("/0") for one in ranges):
        return ["lets the whole Internet reach the API server: name the ranges of your people"]
    return [] if private or ranges else ["the API server is open to the Internet: set enablePrivateEndpoint"]


def _own_subnetworks(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:compute/network:Network" or inputs.get("autoCreateSubnetworks") is False:
        return []
    return ["makes a subnetwork in every region: set autoCreateSubnetworks to false"]


RULES: Sequence[Rule] = (
    Rule(
        name="no-public-address",
        description="No machine, slice or database has a public address.",
        check=_no_public_address,
    ),
    Rule(
        name="closed-firewall",
        description="Traffic comes in from private ranges and from Identity-Aware Proxy alone.",
        check=_closed_firewall,
    ),
    Rule(name="closed-api-server", description="Few reach the Kubernetes API server.", check=_closed_api_server),
    Rule(
        name="own-subnetworks", description="Networks have only the subnetworks of the cluster.", check=_own_subnetworks
    ),
)
