"""The nodes layer's configuration as frozen records, checked as a whole before any resource is registered."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import layer
from gpu_cluster.capacity import Capacity, read_capacity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.job_environment import JOB_ENVIRONMENT, read_job_environment
from gpu_cluster.node_type import NodeType, read_node_type
from gpu_cluster.watchdog import WATCHDOG_KEYS, WatchdogSettings, read_watchdog

MAX_NODES = 4096
STACK = r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"
SCALAR_KEYS = (
    *layer.SCALAR_KEYS,
    *WATCHDOG_KEYS,
    "foundationStack",
    "clusterStack",
    "nodeCount",
    "maxNodesPerGroup",
    "nodeRootVolumeGib",
    "capacity",
    "reservationId",
)
OBJECT_KEYS = (*layer.OBJECT_KEYS, "nodeType", JOB_ENVIRONMENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that the nodes layer's program needs to know."""

    layer: layer.Layer
    foundation_stack: str
    cluster_stack: str
    node_count: int
    max_nodes_per_group: int
    node_root_volume_gib: int
    node_type: NodeType
    job_environment: str
    capacity: Capacity
    watchdog: WatchdogSettings


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi, `region` among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=layer.OF_PROVIDER)


def read_settings(raw: Mapping[str, object]) -> Settings:
    """Check the raw configuration and turn it into records.

    Raises:
        ConfigError: with every problem at once.
    """
    values = Values(values=raw)
    node_type = read_node_type(values.section("nodeType"))
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    settings = Settings(
        layer=layer.read_layer(values, "nodes"),
        foundation_stack=values.text("foundationStack", STACK, "a stack as ORGANIZATION/PROJECT/STACK"),
        cluster_stack=values.text("clusterStack", STACK, "a stack as ORGANIZATION/PROJECT/STACK"),
        node_count=node_count,
        max_nodes_per_group=values.whole("maxNodesPerGroup", 1, 500, default=64),
        node_root_volume_gib=values.whole("nodeRootVolumeGib", 100, 16384, default=200),
        node_type=node_type,
        job_environment=read_job_environment(values),
        capacity=read_capacity(values, node_count, node_type),
        watchdog=read_watchdog(values),
    )
    if settings.watchdog.stop_when_idle_minutes is not None and node_type.software != "nvidia":
        values.fail("stopWhenIdleMinutes", f"nodes with {node_type.software} do not report; use timeToLiveHours")
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS))
    if values.problems:
        raise ConfigError(values.problems)
    return settings
