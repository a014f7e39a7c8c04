"""Whether the addresses of a network that is to be created are enough for the cluster, and which would be."""

from dataclasses import dataclass
from ipaddress import IPv4Network

from clusterwright.blueprint.clouds import CloudTarget
from clusterwright.catalog.records import Instance
from clusterwright.errors import Finding
from clusterwright.plan.record import Option

#: The InfiniBand network of Azure (Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25).
RDMA_NETWORK = IPv4Network("172.16.0.0/16")
#: What AKS gives to pods and services (`podCidr`, `serviceCidr` of the cluster layer), outside the network.
AKS_NETWORKS = {"pods": IPv4Network("10.128.0.0/14"), "services": IPv4Network("10.132.0.0/20")}


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressRule:
    """How a cloud's stacks divide a network.

    Attributes:
        shortest_prefix, longest_prefix: of the whole network.
        parts: equal parts, one of which the nodes have; every node has one address in it.
        kept: addresses of that part that nodes cannot have: the cloud's own, controller, login machine, endpoints.
        gib_per_file_server: one address for each so many GiB of Lustre in the nodes' part; None where it has its own.
        file_servers_beside: file servers beside those.
    """

    shortest_prefix: int
    longest_prefix: int
    parts: int
    kept: int
    gib_per_file_server: int | None = None
    file_servers_beside: int = 0

    def needed(self, *, nodes: int, file_system_gib: int) -> int:
        """Return the addresses that nodes and file servers take in the nodes' part."""
        if self.gib_per_file_server is None:
            return nodes
        return nodes - (-file_system_gib // self.gib_per_file_server) + self.file_servers_beside

    def given(self, prefix: int) -> int:
        """Return the addresses of the nodes' part of a network."""
        return max((1 << (32 - prefix)) // self.parts - self.kept, 0)

    def smallest(self, needed: int) -> int | None:
        """Return the longest prefix that is enough; None where the largest network is not."""
        prefixes = range(self.longest_prefix, self.shortest_prefix - 1, -1)
        return next((prefix for prefix in prefixes if self.given(prefix) >= needed), None)


#: As the stacks divide it (`stacks/<cloud>/base/gpu_cluster/addresses.py`, Google Cloud `settings_foundation.py`). AWS
#: keeps 5 addresses of a subnet; 16 are left to machines beside the nodes, 4 to endpoints. Azure keeps 5, Google 4; two
#: are for controller and login machine.
RULES = {
    "aws": AddressRule(
        shortest_prefix=16, longest_prefix=25, parts=2, kept=25, gib_per_file_server=1200, file_servers_beside=4
    ),
    "azure": AddressRule(shortest_prefix=8, longest_prefix=20, parts=2, kept=7),
    "gcp": AddressRule(shortest_prefix=8, longest_prefix=24, parts=16, kept=6),
}


#: Addresses of a node whose pods have addresses of the network too: its own and those that vpc-cni keeps for pods
#: (`MINIMUM_IP_TARGET` in `stacks/aws/kubernetes/gpu_cluster/kubernetes/managed_add_ons.py`).
PER_NODE = {("aws", "kubernetes"): 1 + 12}


def overlap_findings(cloud: str, asked: CloudTarget, instance: Instance) -> list[Finding]:
    """Return `ADR002` where the network would overlap the one that InfiniBand reserves on Azure, or those of AKS."""
    if asked.network.cidr is None or cloud != "azure":
        return []
    network, path = IPv4Network(asked.network.cidr), ("targets", cloud, "network", "cidr")
    if asked.scheduler == "kubernetes":
        for use, other in AKS_NETWORKS.items():
            if network.overlaps(other):
                return [
                    Finding(
                        id="ADR002",
                        path=path,
                        message=f"azure: {network} overlaps {other}, which the {use} of Kubernetes have",
                        help="choose another network, for example 10.40.0.0/16",
                    )
                ]
    if instance.fabric_kind != "infiniband" or not network.overlaps(RDMA_NETWORK):
        return []
    return [
        Finding(
            id="ADR002",
            path=path,
            message=f"{network} overlaps {RDMA_NETWORK}, which the InfiniBand network of {instance.id} reserves",
            help="choose another network, for example 10.40.0.0/16",
        )
    ]


def address_findings(option: Option) -> list[Finding]:
    """Return `ADR001` where a network that is to be created is too small, or of a size that the stacks do not take."""
    if not option.network_cidr or option.file_system is None:
        return []
    rule, network = RULES[option.target], IPv4Network(option.network_cidr)
    path = ("targets", option.target, "network", "cidr")
    of_nodes = option.nodes * PER_NODE.get((option.target, option.scheduler), 1)
    needed = rule.needed(nodes=of_nodes, file_system_gib=option.file_system.capacity_gib)
    smallest = rule.smallest(needed)
    if smallest is None:
        widest = rule.given(rule.shortest_prefix)
        return [
            Finding(
                id="ADR001",
                path=path,
                message=f"{needed:,} addresses are needed, but the largest network has {widest:,} for nodes",
                help="plan fewer nodes, or divide the cluster",
            )
        ]
    if rule.shortest_prefix <= network.prefixlen <= smallest:
        return []
    return [
        Finding(
            id="ADR001",
            path=path,
            message=f"{network} {_wrong(option, rule, network, needed)}",
            help=(
                f"take a /{rule.shortest_prefix} to /{smallest} network; the smallest that fits is "
                f"{_around(network, smallest)}"
            ),
        )
    ]


def _wrong(option: Option, rule: AddressRule, network: IPv4Network, needed: int) -> str:
    if network.prefixlen < rule.shortest_prefix:
        return f"is larger than a network of {option.target} may be (/{rule.shortest_prefix})"
    given = rule.given(network.prefixlen)
    if given >= needed:
        return f"is too small for the subnets beside the nodes', which need a /{rule.longest_prefix}"
    each = PER_NODE.get((option.target, option.scheduler), 1)
    servers = needed - option.nodes * each
    if not servers:
        return f"gives {given:,} addresses to nodes, but {option.nodes:,} nodes need one each"
    return (
        f"gives {given:,} addresses to nodes and file servers, but {needed:,} are needed: {needed - servers:,} for "
        f"nodes, {'one' if each == 1 else f'{each} with pods'} each, and {servers:,} for file servers"
    )


def _around(network: IPv4Network, prefix: int) -> IPv4Network:
    """Return the network of this prefix that begins where another one does, or that it lies in."""
    return IPv4Network((int(network.network_address) >> (32 - prefix) << (32 - prefix), prefix))
