"""The GPU nodes: pools with the interfaces of their fabric, compact placement or a reservation, or a TPU slice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute, container

from gpu_cluster.capacity import Capacity, has_compact_placement
from gpu_cluster.gpu_parts import LABEL, GpuParts
from gpu_cluster.kubernetes.accelerators import GPU_MODELS, taint_key
from gpu_cluster.kubernetes.node_pool_config import node_config
from gpu_cluster.node_type import NodeType
from gpu_cluster.tpu_slices import TpuSlice

RESERVATION_KEY = "compute.googleapis.com/reservation-name"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePoolsArgs:
    """What the nodes need."""

    cluster_name: str
    kubernetes_cluster: pulumi.Input[str]
    region: str
    zone: str
    node_type: NodeType
    node_count: int
    max_nodes_per_pool: int
    gpu_parts: GpuParts | None
    capacity: Capacity
    tpu_slice: TpuSlice | None
    boot_disk_gb: int
    gpu_networks: pulumi.Output[Sequence[dict[str, str]]]
    account_email: pulumi.Input[str]
    key_id: pulumi.Input[str]
    labels: Mapping[str, str]


def pool_sizes(node_count: int, largest: int) -> list[int]:
    """Spread nodes over pools, filling each before the next, so that growing the cluster never shrinks a pool."""
    full, rest = divmod(node_count, largest)
    return [largest] * full + ([rest] if rest or not full else [])


class NodePools(pulumi.ComponentResource):
    """All GPU nodes, in one zone; removing this component leaves every byte of data in place."""

    pools: list[container.NodePool]
    instance_group_names: list[pulumi.Output[str]]
    """Of the instance groups behind the pools, which are what the watchdog scales."""

    def __init__(self, name: str, args: NodePoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:NodePools", name, None, opts)
        parts = args.gpu_parts
        whole = args.node_count - (parts.nodes if parts else 0)
        sizes = [whole] if args.node_type.is_tpu else pool_sizes(whole, args.max_nodes_per_pool)
        self.pools = [self._pool(f"gpu-{place}", args, size) for place, size in enumerate(sizes)]
        if parts:
            self.pools += [
                self._pool(f"{LABEL}-{place}", args, size, parts)
                for place, size in enumerate(pool_sizes(parts.nodes, args.max_nodes_per_pool))
            ]
        # All nodes are in one zone, so each pool has one group.
        self.instance_group_names = [
            pool.managed_instance_group_urls.apply(lambda found: found[0].rpartition("/")[2]) for pool in self.pools
        ]
        self.register_outputs({"pools": [pool.name for pool in self.pools]})

    def _pool(self, name: str, args: NodePoolsArgs, size: int, parts: GpuParts | None = None) -> container.NodePool:
        flexible = args.capacity.model == "flex-start"
        return container.NodePool(
            f"{args.cluster_name}-{name}",
            name=name,
            cluster=args.kubernetes_cluster,
            location=args.region,
            node_locations=[args.zone],
            # Flex-start gives all nodes of a request at once, when there are enough: the autoscaler makes them when a
            # job asks, and a fixed number is refused.
            node_count=None if flexible else size,
            autoscaling=container.NodePoolAutoscalingArgs(
                total_min_node_count=0, total_max_node_count=max(size, 1), location_policy="ANY"
            )
            if flexible
            else None,
            queued_provisioning=container.NodePoolQueuedProvisioningArgs(enabled=True) if flexible else None,
            # Upgrades are a person's decision. One node at a time goes first, since there is no spare GPU capacity.
            management=container.NodePoolManagementArgs(auto_repair=not flexible, auto_upgrade=False),
            upgrade_settings=container.NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=0, max_unavailable=1),
            placement_policy=self._placement(name, args),
            network_config=container.NodePoolNetworkConfigArgs(
                enable_private_nodes=True,
                additional_node_network_configs=args.gpu_networks.apply(
                    lambda found: [
                        container.NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(
                            network=one["network"], subnetwork=one["subnetwork"]
                        )
                        for one in found
                    ]
                )
                if args.node_type.further_nic_types
                else None,
            ),
            node_config=node_config(
                machine_type=args.node_type.instance_type,
                boot_disk_gb=args.boot_disk_gb,
                account_email=args.account_email,
                key_id=args.key_id,
                kubernetes_labels={"node-kind": LABEL if parts else "gpu"},
                resource_labels=args.labels,
                taints=[
                    container.NodePoolNodeConfigTaintArgs(key=key, value="present", effect="NO_SCHEDULE")
                    for key in (taint_key(args.node_type), *([LABEL] if parts else []))
                ],
                accelerators=_accelerators(args.node_type, parts),
                reservation=_reservation(args.capacity),
                spot=True if args.capacity.model == "spot" else None,
                flex_start=True if flexible else None,
                max_run_duration=f"{args.capacity.flex_start_run_s}s" if flexible else None,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _placement(self, name: str, args: NodePoolsArgs) -> container.NodePoolPlacementPolicyArgs | None:
        """Place nodes close together where the way they are bought leaves that open.

        A reservation brings its own placement, and queued provisioning takes none. The hosts of a TPU slice are joined
        by the topology that they are placed in.
        """
        if args.tpu_slice is not None and args.tpu_slice.hosts > 1:
            return container.NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=args.tpu_slice.topology)
        if args.node_type.is_tpu or not has_compact_placement(args.node_type, args.capacity):
            return None
        distance = args.capacity.placement_max_distance
        if distance is None:
            return container.NodePoolPlacementPolicyArgs(type="COMPACT")
        policy = compute.ResourcePolicy(
            f"{args.cluster_name}-{name}-placement",
            name=f"{args.cluster_name}-{name}",
            region=args.region,
            group_placement_policy=compute.ResourcePolicyGroupPlacementPolicyArgs(
                collocation="COLLOCATED", max_distance=distance
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return container.NodePoolPlacementPolicyArgs(type="COMPACT", policy_name=policy.name)


def _accelerators(
    node_type: NodeType, parts: GpuParts | None
) -> list[container.NodePoolNodeConfigGuestAcceleratorArgs]:
    """Name the GPUs, and let GKE put the driver and the device plugin onto the node: nothing else installs either."""
    if node_type.is_tpu:
        return []
    model = GPU_MODELS[node_type.instance_type]
    return [
        container.NodePoolNodeConfigGuestAcceleratorArgs(
            type=model.type,
            count=node_type.gpus_per_node,
            gpu_partition_size=parts.partition or None if parts else None,
            gpu_sharing_config=container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
                gpu_sharing_strategy=parts.strategy, max_shared_clients_per_gpu=parts.clients
            )
            if parts and parts.strategy
            else None,
            gpu_driver_installation_config=container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
                gpu_driver_version=model.driver
            ),
        )
    ]


def _reservation(capacity: Capacity) -> container.NodePoolNodeConfigReservationAffinityArgs:
    """Say which reservation the nodes come from: the named one, or none, never whichever happens to fit."""
    if capacity.reservation_id is None:
        return container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
    return container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type="SPECIFIC_RESERVATION", key=RESERVATION_KEY, values=[capacity.reservation_id]
    )
