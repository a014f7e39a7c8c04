"""Networks: one for administration and storage, and those that the GPU fabric of the machine type needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi_gcp import compute, servicenetworking

from gpu_cluster import limits
from gpu_cluster.existing_network import ExistingNetwork
from gpu_cluster.node_type import NodeType

PEERING_PREFIX_LENGTH = 20
COMPUTE_API = "https://www.googleapis.com/compute/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNetwork:
    """Network of one further interface of a node; the order is that in which the machine numbers its interfaces."""

    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterNetworkArgs:
    """What the networks depend on."""

    cluster_name: str
    project: str
    region: str
    zone: str
    node_type: NodeType
    subnets: tuple[IPv4Network, ...]
    with_lustre: bool
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ClusterNetwork(pulumi.ComponentResource):
    """Private networks, their firewalls, the way out through NAT and the peering to Google's services."""

    network: compute.Network
    subnetwork: compute.Subnetwork
    gpu_networks: tuple[GpuNetwork, ...]
    peering: servicenetworking.Connection
    gateway: compute.RouterNat

    def __init__(self, name: str, args: ClusterNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterNetwork", name, None, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        self.network, self.subnetwork = self._primary()
        self._firewalls()
        self.gateway = self._nat()
        self.peering = self._peering()
        gpu = tuple(self._gpu_network(number) for number in range(1, args.node_type.gpu_networks + 1))
        rdma = self._rdma_network(first_subnet=len(gpu) + 1) if args.node_type.rdma else ()
        self.gpu_networks = (*gpu, *rdma)
        self.register_outputs({"network": self.network.id, "subnetwork": self.subnetwork.id})

    def _primary(self) -> tuple[compute.Network, compute.Subnetwork]:
        args = self._args
        network = compute.Network(
            f"{args.cluster_name}-primary",
            description="Administration, Slurm and storage",
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=args.node_type.mtu_bytes,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        subnetwork = compute.Subnetwork(
            f"{args.cluster_name}-primary",
            network=network.id,
            region=args.region,
            ip_cidr_range=str(args.subnets[0]),
            private_ip_google_access=True,
            log_config=compute.SubnetworkLogConfigArgs(
                aggregation_interval="INTERVAL_5_MIN", flow_sampling=0.5, metadata="INCLUDE_ALL_METADATA"
            ),
            opts=self._child,
        )
        return network, subnetwork

    def _firewalls(self) -> None:
        args = self._args
        self._internal_firewall(f"{args.cluster_name}-primary-internal", self.network, args.subnets[0])
        compute.Firewall(
            f"{args.cluster_name}-iap-ssh",
            description="SSH through Identity-Aware Proxy only",
            network=self.network.id,
            direction="INGRESS",
            source_ranges=[limits.IAP_RANGE],
            allows=[compute.FirewallAllowArgs(protocol="tcp", ports=["22"])],
            log_config=compute.FirewallLogConfigArgs(metadata="INCLUDE_ALL_METADATA"),
            opts=self._child,
        )

    def _internal_firewall(self, name: str, network: compute.Network, subnet: IPv4Network) -> None:
        compute.Firewall(
            name,
            description="Everything between machines of this subnet",
            network=network.id,
            direction="INGRESS",
            source_ranges=[str(subnet)],
            allows=[compute.FirewallAllowArgs(protocol=protocol) for protocol in ("tcp", "udp", "icmp")],
            opts=self._child,
        )

    def _nat(self) -> compute.RouterNat:
        args = self._args
        router = compute.Router(
            f"{args.cluster_name}-router", network=self.network.id, region=args.region, opts=self._child
        )
        return compute.RouterNat(
            f"{args.cluster_name}-nat",
            router=router.name,
            region=args.region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            # A node that pulls images opens more connections than the static share of 64 ports allows.
            enable_dynamic_port_allocation=True,
            enable_endpoint_independent_mapping=False,
            min_ports_per_vm=64,
            log_config=compute.RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=self._child,
        )

    def _peering(self) -> servicenetworking.Connection:
        # Managed Lustre and the accounting database are reached through it.
        args = self._args
        peering_range = compute.GlobalAddress(
            f"{args.cluster_name}-services",
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            prefix_length=PEERING_PREFIX_LENGTH,
            network=self.network.id,
            labels=args.labels,
            opts=self._child,
        )
        if args.with_lustre:
            compute.Firewall(
                f"{args.cluster_name}-lustre",
                description="Managed Lustre servers call their clients back",
                network=self.network.id,
                direction="INGRESS",
                source_ranges=[pulumi.Output.concat(peering_range.address, f"/{PEERING_PREFIX_LENGTH}")],
                allows=[compute.FirewallAllowArgs(protocol="tcp", ports=[limits.LUSTRE_PORT])],
                opts=self._child,
            )
        return servicenetworking.Connection(
            f"{args.cluster_name}-services",
            network=self.network.id,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[peering_range.name],
            opts=self._child,
        )

    def _gpu_network(self, number: int) -> GpuNetwork:
        args = self._args
        network = compute.Network(
            f"{args.cluster_name}-gpu-{number}",
            description="Traffic between GPUs; no way out",
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=args.node_type.mtu_bytes,
            delete_default_routes_on_create=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        subnetwork = self._subnetwork(f"{args.cluster_name}-gpu-{number}", network, args.subnets[number])
        self._internal_firewall(f"{args.cluster_name}-gpu-{number}-internal", network, args.subnets[number])
        return GpuNetwork(network=network.id, subnetwork=subnetwork.id)

    def _rdma_network(self, *, first_subnet: int) -> tuple[GpuNetwork, ...]:
        # The profile ties this network to one zone and filters its traffic by itself: it takes no firewall rules here.
        args = self._args
        network = compute.Network(
            f"{args.cluster_name}-rdma",
            description="RDMA between GPUs",
            auto_create_subnetworks=False,
            mtu=args.node_type.mtu_bytes,
            network_profile=f"projects/{args.project}/global/networkProfiles/{args.zone}-vpc-roce",
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        ranges = args.subnets[first_subnet : first_subnet + args.node_type.rdma_subnets]
        subnetworks = [
            self._subnetwork(f"{args.cluster_name}-rdma-{rail}", network, subnet) for rail, subnet in enumerate(ranges)
        ]
        return tuple(GpuNetwork(network=network.id, subnetwork=subnetwork.id) for subnetwork in subnetworks)

    def _subnetwork(self, name: str, network: compute.Network, subnet: IPv4Network) -> compute.Subnetwork:
        return compute.Subnetwork(
            name, network=network.id, region=self._args.region, ip_cidr_range=str(subnet), opts=self._child
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkIds:
    """What the other parts need to know of the networks, whoever made them.

    Attributes:
        node_addresses: of the primary subnetwork, that nodes can have.
    """

    network_id: pulumi.Output[str]
    subnetwork_id: pulumi.Output[str]
    gpu_networks: tuple[GpuNetwork, ...]
    peering: pulumi.Resource | None
    node_addresses: pulumi.Output[int]

    @classmethod
    def of(cls, made: ClusterNetwork) -> "NetworkIds":
        """Ids of networks that this program makes."""
        return cls(
            network_id=made.network.id,
            subnetwork_id=made.subnetwork.id,
            gpu_networks=made.gpu_networks,
            peering=made.peering,
            node_addresses=made.subnetwork.ip_cidr_range.apply(node_addresses),
        )

    @classmethod
    def look_up(cls, existing: ExistingNetwork, provider: pulumi.ProviderResource) -> "NetworkIds":
        """Ids of networks that somebody else made; one that does not exist stops the program here, in preview too."""
        in_gcp = pulumi.InvokeOptions(provider=provider)
        gpu = tuple(
            compute.get_subnetwork_output(self_link=f"{COMPUTE_API}/{subnetwork}", opts=in_gcp).network
            for subnetwork in existing.gpu_subnetworks
        )
        primary = compute.get_subnetwork_output(self_link=f"{COMPUTE_API}/{existing.subnetwork}", opts=in_gcp)
        return cls(
            network_id=pulumi.Output.from_input(existing.network),
            subnetwork_id=primary.network.apply(lambda network: _belongs(network, existing)),
            gpu_networks=tuple(
                GpuNetwork(network=network, subnetwork=pulumi.Output.from_input(subnetwork))
                for network, subnetwork in zip(gpu, existing.gpu_subnetworks, strict=True)
            ),
            peering=None,
            node_addresses=primary.ip_cidr_range.apply(node_addresses),
        )


def node_addresses(range_: str) -> int:
    """Count the addresses of a subnetwork that nodes can have, the head machines' aside."""
    return IPv4Network(range_).num_addresses - limits.RESERVED_ADDRESSES_PER_SUBNET - limits.HEAD_MACHINES


def _belongs(network: str, existing: ExistingNetwork) -> str:
    """The subnetwork, after a check that it is one of the network."""
    if not network.endswith(f"/{existing.network}"):
        raise ValueError(f"existingNetwork.subnetwork: {existing.subnetwork} belongs to {network}")
    return existing.subnetwork
