"""The GPU nodes: one pool per InfiniBand domain, since a pool is a scale set and InfiniBand ends where that does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import containerservice

from gpu_cluster.capacity import Capacity
from gpu_cluster.kubernetes.control_plane import MAX_PODS
from gpu_cluster.kubernetes.vendor import vendor_of
from gpu_cluster.node_type import NodeType
from gpu_cluster.watchdog import EXPIRY_TAG

# AKS puts it onto spot nodes by itself; said here too, so that no difference shows up later.
SPOT = "kubernetes.azure.com/scalesetpriority"

# What the watchdog may do: look at a pool and its machines and delete those, not change what they are; and read the
# cluster's metrics, where the pods of the nodes publish how many GPUs are busy.
WATCHDOG_ACTIONS = (
    "Microsoft.ContainerService/managedClusters/agentPools/read",
    "Microsoft.ContainerService/managedClusters/agentPools/machines/read",
    "Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action",
)
METRIC_ACTIONS = ("Microsoft.Insights/metrics/read",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPoolsArgs:
    """What the nodes need.

    Attributes:
        pool_sizes: nodes of each pool.
        expires_at: when the watchdog takes them down (RFC 3339); None for never.
    """

    resource_group_name: pulumi.Input[str]
    kubernetes_cluster: pulumi.Input[str]
    zone: str
    node_type: NodeType
    pool_sizes: Sequence[int]
    capacity: Capacity
    disk_gib: int
    encryption_at_host: bool
    subnet_id: pulumi.Input[str]
    expires_at: str | None
    tags: Mapping[str, str]


class AgentPools(pulumi.ComponentResource):
    """All GPU nodes, in one zone; removing this component leaves every byte of data in place."""

    pools: list[containerservice.AgentPool]

    def __init__(self, name: str, args: AgentPoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:AgentPools", name, {}, opts)
        self.pools = [self._pool(f"gpu{place}", name, args, nodes) for place, nodes in enumerate(args.pool_sizes)]
        self.register_outputs({"pools": [pool.name for pool in self.pools]})

    def _pool(self, pool: str, name: str, args: AgentPoolsArgs, nodes: int) -> containerservice.AgentPool:
        vendor = vendor_of(args.node_type.instance_type)
        spot = args.capacity.kind == "spot"
        expiry = {EXPIRY_TAG: args.expires_at} if args.expires_at else {}
        taints = [f"{vendor.resource}=present:NoSchedule", *([f"{SPOT}=spot:NoSchedule"] if spot else [])]
        return containerservice.AgentPool(
            f"{name}-{pool}",
            resource_group_name=args.resource_group_name,
            resource_name_=args.kubernetes_cluster,
            agent_pool_name=pool,
            mode=containerservice.AgentPoolMode.USER,
            type=containerservice.AgentPoolType.VIRTUAL_MACHINE_SCALE_SETS,
            vm_size=args.node_type.instance_type,
            count=nodes,
            # A pool that shrinks takes a node of a running job; jobs wait in the queue instead.
            enable_auto_scaling=False,
            max_pods=MAX_PODS,
            scale_down_mode=containerservice.ScaleDownMode.DELETE,
            availability_zones=[args.zone],
            vnet_subnet_id=args.subnet_id,
            enable_node_public_ip=False,
            os_type=containerservice.OSType.LINUX,
            os_sku=containerservice.OSSKU.UBUNTU,
            os_disk_type=containerservice.OSDiskType.MANAGED,
            os_disk_size_gb=args.disk_gib,
            enable_encryption_at_host=args.encryption_at_host,
            gpu_profile=containerservice.GPUProfileArgs(driver=vendor.driver),
            capacity_reservation_group_id=args.capacity.reservation_id or None,
            scale_set_priority=containerservice.ScaleSetPriority.SPOT
            if spot
            else containerservice.ScaleSetPriority.REGULAR,
            scale_set_eviction_policy=args.capacity.spot_eviction_policy if spot else None,
            # Up to the price on demand.
            spot_max_price=-1.0 if spot else None,
            # One node at a time goes first, since there is no spare GPU capacity to grow into.
            upgrade_settings=containerservice.AgentPoolUpgradeSettingsArgs(max_surge="0", max_unavailable="1"),
            # What pins memory for RDMA, and what NCCL opens files for.
            linux_os_config=containerservice.LinuxOSConfigArgs(
                transparent_huge_page_enabled="madvise",
                sysctls=containerservice.SysctlConfigArgs(vm_max_map_count=262144),
            ),
            node_labels={"node-kind": "gpu", **vendor.labels, **({SPOT: "spot"} if spot else {})},
            node_taints=taints,
            tags={**args.tags, **expiry},
            # The first `up` sets the expiry; a later one must not put it off.
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=[f'tags["{EXPIRY_TAG}"]'] if expiry else []),
        )
