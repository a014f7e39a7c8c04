"""Whether the addresses of a network that is to be created are enough for the cluster, and which would be."""

from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations

from clusterwright.blueprint.sections.clouds import AzureNetwork, CloudTarget
from clusterwright.catalog.records import Instance
from clusterwright.errors import Finding
from clusterwright.plan.record import Option

#: The InfiniBand network of Azure (Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25).
RDMA_NETWORK = IPv4Network("172.16.0.0/16")
#: What the stack of Azure makes where the blueprint gives no range (`vnetAddressSpace`), and what AKS then has for
#: services (`serviceCidr` of the cluster layer), outside the network. Pods take addresses of the nodes' subnet, and yet
#: the SDK sends a range of pods (`pod_cidr` of `ContainerServiceNetworkProfileArgs`), which is kept clear too.
AZURE_NETWORK = IPv4Network("10.40.0.0/16")
AKS_SERVICES = IPv4Network("10.132.0.0/20")
AKS_PODS = IPv4Network("10.244.0.0/16")
#: What neither network nor services of AKS may overlap (Microsoft, "Configure Azure CNI networking").
AKS_RESERVED = (IPv4Network("172.30.0.0/16"), IPv4Network("172.31.0.0/16"))


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressRule:
    """How a cloud's stacks divide a network.

    Attributes:
        shortest_prefix, longest_prefix: of the whole network.
        parts: equal parts, one of which the nodes have; every node has one address in it.
        kept: addresses of that part that nodes cannot have: the cloud's own, controller, login machine, endpoints.
        gib_per_file_server: one address for each this many GiB of Lustre in the nodes' part; None where it has its own.
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


#: Addresses of a node whose pods have addresses of the network too: its own and those kept for pods, by vpc-cni
#: (`MINIMUM_IP_TARGET` in `stacks/aws/kubernetes/gpu_cluster/kubernetes/managed_add_ons.py`) or in advance by AKS
#: (`MAX_PODS` in `stacks/azure/kubernetes/gpu_cluster/kubernetes/control_plane.py`).
PER_NODE = {("aws", "kubernetes"): 1 + 12, ("azure", "kubernetes"): 1 + 30}
#: Nodes beside the GPU nodes in their subnet, which have as many pods (`systemNodeCount`); on AWS they are among the
#: machines for which addresses are kept.
SYSTEM_NODES = {("azure", "kubernetes"): 2}


def addresses_of_nodes(target: str, scheduler: str, nodes: int) -> int:
    """Return the addresses that nodes take in their subnet, with those of their pods and of the system nodes."""
    kind = (target, scheduler)
    return (nodes + SYSTEM_NODES.get(kind, 0)) * PER_NODE.get(kind, 1)


def overlap_findings(cloud: str, asked: CloudTarget, instance: Instance) -> list[Finding]:
    """Return `ADR002` for every two ranges on Azure that overlap and may not.

    These are the network, given or the stack's own; the services of AKS, given or not, and its pods; and what AKS and
    InfiniBand reserve. The finding is at the range that the blueprint gives.
    """
    if not isinstance(asked.network, AzureNetwork):
        return []
    ranges: list[tuple[str, IPv4Network, str | None]] = []
    if asked.network.existing is None or asked.network.existing.virtual_network_id is None:
        ranges.append(("the network", IPv4Network(asked.network.cidr or AZURE_NETWORK), asked.network.cidr and "cidr"))
    if asked.scheduler == "kubernetes":
        given = asked.network.service_cidr
        ranges.append(("the services of Kubernetes", IPv4Network(given or AKS_SERVICES), given and "service_cidr"))
        ranges.append(("the pods of Kubernetes", AKS_PODS, None))
        ranges += [("what AKS keeps for itself", each, None) for each in AKS_RESERVED]
    if instance.fabric_kind == "infiniband":
        ranges.append((f"the InfiniBand network of {instance.id}", RDMA_NETWORK, None))
    found = []
    for (name, one, key), (other_name, other, other_key) in combinations(ranges, 2):
        if not one.overlaps(other):
            continue
        named = (name, one, other_name, other) if key else (other_name, other, name, one)
        found.append(
            Finding(
                id="ADR002",
                path=("targets", cloud, "network", key or other_key or "cidr"),
                message=f"{named[0]}, {named[1]}, overlaps {named[2]}, {named[3]}",
                help=f"choose another range, for example {_free_of([each for _, each, _ in ranges], one.prefixlen)}",
            )
        )
    return found


def _free_of(taken: list[IPv4Network], prefix: int) -> IPv4Network:
    """Return a private range of this length, or of a /16 if it is longer than a network may be, clear of others."""
    wanted = min(max(prefix, 16), 24)
    candidates = IPv4Network("10.0.0.0/8").subnets(new_prefix=wanted)
    return next(each for each in candidates if not any(each.overlaps(one) for one in taken))


def address_findings(option: Option) -> list[Finding]:
    """Return `ADR001` where a network that is to be created is too small, or of a size that the stacks do not take."""
    deployment = option.deployment
    if not deployment.network_cidr or option.design.file_system is None:
        return []
    rule, network = RULES[option.target], IPv4Network(deployment.network_cidr)
    path = ("targets", option.target, "network", "cidr")
    of_nodes = addresses_of_nodes(option.target, deployment.scheduler, option.cluster.nodes)
    needed = rule.needed(nodes=of_nodes, file_system_gib=option.design.file_system.capacity_gib)
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
    deployment = option.deployment
    if network.prefixlen < rule.shortest_prefix:
        return f"is larger than a network of {option.target} may be (/{rule.shortest_prefix})"
    given = rule.given(network.prefixlen)
    if given >= needed:
        return f"is too small for the subnets beside the nodes', which need a /{rule.longest_prefix}"
    each = PER_NODE.get((option.target, deployment.scheduler), 1)
    servers = needed - addresses_of_nodes(option.target, deployment.scheduler, option.cluster.nodes)
    if not servers and each == 1:
        return f"gives {given:,} addresses to nodes, but {option.cluster.nodes:,} nodes need one each"
    system = SYSTEM_NODES.get((option.target, deployment.scheduler))
    beside = f", {system} of them for system work" if system else ""
    who = "nodes and file servers" if servers else "nodes"
    return (
        f"gives {given:,} addresses to {who}, but {needed:,} are needed: {needed - servers:,} for "
        f"nodes{beside}, {'one' if each == 1 else f'{each} with pods'} each"
        f"{f', and {servers:,} for file servers' if servers else ''}"
    )


def _around(network: IPv4Network, prefix: int) -> IPv4Network:
    """Return the network of this prefix that begins where another one does, or that it lies in."""
    return IPv4Network((int(network.network_address) >> (32 - prefix) << (32 - prefix), prefix))
