"""Networks: one for administration and storage, and those that the GPU fabric of the machine type needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi_gcp import compute, servicenetworking

import limits
from settings import NodeType

PEERING_PREFIX_LENGTH = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeInterface:
    """One network interface of a compute node, in the order in which the machine numbers them."""

    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]
    nic_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterNetworkArgs:
    """What the networks depend on."""

    cluster_name: str
    project: str
    region: str
    zone: str
    node_type: NodeType
    subnets: tuple[IPv4Network, ...]
    with_storage: bool
    labels: dict[str, str]
    services: Sequence[pulumi.Resource]


class ClusterNetwork(pulumi.ComponentResource):
    """Private networks, their firewalls, the way out through NAT and the peering that Managed Lustre is reached by."""

    network: compute.Network
    subnetwork: compute.Subnetwork
    interfaces: tuple[NodeInterface, ...]
    storage_peering: servicenetworking.Connection | None

    def __init__(self, name: str, args: ClusterNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:ClusterNetwork", name, None, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        self.network, self.subnetwork = self._primary()
        self._firewalls()
        self._nat()
        self.storage_peering = self._storage_peering() if args.with_storage else None
        primary = NodeInterface(network=self.network.id, subnetwork=self.subnetwork.id, nic_type="GVNIC")
        gpu = tuple(self._gpu_network(number) for number in range(1, args.node_type.gpu_networks + 1))
        rdma = self._rdma_network(first_subnet=len(gpu) + 1) if args.node_type.rdma else ()
        self.interfaces = (primary, *gpu, *rdma)
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

    def _nat(self) -> None:
        args = self._args
        router = compute.Router(
            f"{args.cluster_name}-router", network=self.network.id, region=args.region, opts=self._child
        )
        compute.RouterNat(
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

    def _storage_peering(self) -> servicenetworking.Connection:
        args = self._args
        peering_range = compute.GlobalAddress(
            f"{args.cluster_name}-storage",
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            prefix_length=PEERING_PREFIX_LENGTH,
            network=self.network.id,
            labels=args.labels,
            opts=self._child,
        )
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
            f"{args.cluster_name}-storage",
            network=self.network.id,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[peering_range.name],
            opts=self._child,
        )

    def _gpu_network(self, number: int) -> NodeInterface:
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
        return NodeInterface(network=network.id, subnetwork=subnetwork.id, nic_type="GVNIC")

    def _rdma_network(self, *, first_subnet: int) -> tuple[NodeInterface, ...]:
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
        return tuple(
            NodeInterface(network=network.id, subnetwork=subnetwork.id, nic_type="MRDMA") for subnetwork in subnetworks
        )

    def _subnetwork(self, name: str, network: compute.Network, subnet: IPv4Network) -> compute.Subnetwork:
        return compute.Subnetwork(
            name, network=network.id, region=self._args.region, ip_cidr_range=str(subnet), opts=self._child
        )
