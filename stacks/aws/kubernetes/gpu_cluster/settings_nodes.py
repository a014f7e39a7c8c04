"""The nodes layer's configuration as a frozen record, checked as a whole before any resource is registered."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import layer
from gpu_cluster.capacity import Capacity, read_capacity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.kubernetes.vendor import check_reports, read_kubernetes_node_type
from gpu_cluster.layer import Layer, read_layer
from gpu_cluster.node_type import NodeType
from gpu_cluster.watchdog import WATCHDOG_KEYS, WatchdogSettings, read_watchdog

STACK_NAME = r"[^/\s]+/[^/\s]+/[^/\s]+"
# Amazon EKS service quota "Nodes per managed node group" (from-memory; it can be raised).
MAX_NODES_PER_GROUP = 450
MAX_NODES = 4096
SCALAR_KEYS = (
    *WATCHDOG_KEYS,
    "foundationStack",
    "clusterStack",
    "nodeCount",
    "maxNodesPerGroup",
    "nodeRootVolumeGib",
    "capacity",
    "reservationId",
)
OBJECT_KEYS = ("nodeType",)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesSettings:
    """Everything that the nodes layer needs to know."""

    layer: Layer
    foundation_stack: str
    cluster_stack: str
    node_count: int
    max_nodes_per_group: int
    root_volume_gib: int
    capacity: Capacity
    node_type: NodeType
    watchdog: WatchdogSettings


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi."""
    return collect(
        (*layer.SCALAR_KEYS, *SCALAR_KEYS), (*layer.OBJECT_KEYS, *OBJECT_KEYS), of_provider=layer.OF_PROVIDER
    )


def read_settings(raw: Mapping[str, object]) -> NodesSettings:
    """Check the raw configuration and turn it into a record.

    Raises:
        ConfigError: with every problem at once.
    """
    values = Values(values=raw)
    node_type = read_kubernetes_node_type(values)
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    settings = NodesSettings(
        layer=read_layer(values, "nodes"),
        foundation_stack=values.text("foundationStack", STACK_NAME, "a stack's full name (organization/project/stack)"),
        cluster_stack=values.text("clusterStack", STACK_NAME, "a stack's full name (organization/project/stack)"),
        node_count=node_count,
        max_nodes_per_group=values.whole("maxNodesPerGroup", 1, MAX_NODES_PER_GROUP, default=64),
        root_volume_gib=values.whole("nodeRootVolumeGib", 100, 16384, default=200),
        capacity=read_capacity(values, node_count, node_type),
        node_type=node_type,
        watchdog=read_watchdog(values),
    )
    check_reports(values, settings.watchdog.stop_when_idle_minutes, node_type)
    values.refuse_unknown()
    if values.problems:
        raise ConfigError(values.problems)
    return settings
