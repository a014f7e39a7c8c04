"""A few nodes without accelerators, for what the cluster itself runs: DNS, the job queue, storage controllers."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_gcp import container

from gpu_cluster.kubernetes.node_pool_config import node_config

BOOT_DISK_GB = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemPoolArgs:
    """What the system nodes need."""

    cluster: container.Cluster
    cluster_name: str
    region: str
    zone: str
    machine_type: str
    node_count: int
    account_email: pulumi.Input[str]
    key_id: pulumi.Input[str]
    labels: Mapping[str, str]


class SystemPool(pulumi.ComponentResource):
    """One node pool, upgraded by hand like the rest of the cluster."""

    pool: container.NodePool

    def __init__(self, name: str, args: SystemPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:SystemPool", name, None, opts)
        self.pool = container.NodePool(
            f"{args.cluster_name}-system",
            name="system",
            cluster=args.cluster.name,
            location=args.region,
            node_locations=[args.zone],
            node_count=args.node_count,
            management=container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=False),
            upgrade_settings=container.NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=1, max_unavailable=0),
            network_config=container.NodePoolNetworkConfigArgs(enable_private_nodes=True),
            node_config=node_config(
                machine_type=args.machine_type,
                boot_disk_gb=BOOT_DISK_GB,
                account_email=args.account_email,
                key_id=args.key_id,
                kubernetes_labels={"node-kind": "system"},
                resource_labels=args.labels,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
