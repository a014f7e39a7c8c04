"""Settings of the layer `nodes`: pools of GPU nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpu_cluster import cluster_identity
from gpu_cluster.capacity import Capacity, capacity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.kubernetes.vendor import check_reports
from gpu_cluster.node_type import NodeType, check_count, node_type, scale_set_sizes
from gpu_cluster.watchdog import WatchdogSettings, read_watchdog

SCALARS = (
    "clusterName",
    "location",
    "zone",
    "foundationStack",
    "clusterStack",
    "nodeCount",
    "nodeDiskGib",
    "capacity",
    "reservationId",
    "spotEvictionPolicy",
    "allowSplitFabric",
    "encryptionAtHost",
    "timeToLiveHours",
    "stopWhenIdleMinutes",
)
OBJECTS = ("nodeType", "tags")
_MOST_NODES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSettings:
    """The GPU nodes."""

    cluster_name: str
    location: str
    zone: str
    foundation_stack: str
    cluster_stack: str
    node_count: int
    node_type: NodeType
    node_disk_gib: int
    capacity: Capacity
    encryption_at_host: bool
    watchdog: WatchdogSettings
    tags: Mapping[str, str]

    @property
    def pool_sizes(self) -> tuple[int, ...]:
        """Nodes per pool; one pool is one scale set, and one scale set one InfiniBand domain."""
        return scale_set_sizes(self.node_count, self.node_type)


def load_settings() -> NodesSettings:
    """Read the stack's configuration.

    Raises:
        RunError: naming every value that cannot be used; Pulumi prints it without a traceback.
    """
    try:
        return read_settings(config_values())
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi."""
    return collect(SCALARS, OBJECTS)


def read_settings(given: Mapping[str, object]) -> NodesSettings:
    """Turn configuration values into checked settings.

    Raises:
        ConfigError: naming every value that cannot be used.
    """
    # Pulumi.yaml declares optional texts with the default "", because a key without a default is required there.
    values = Values(values={key: value for key, value in given.items() if value not in (None, "")})
    values.refuse_unknown((*SCALARS, *OBJECTS))
    kind = node_type(values, with_image=False)
    # Microsoft, "Quotas, SKUs and regions in AKS": nodes of one cluster.
    nodes = values.whole("nodeCount", 0, _MOST_NODES)
    settings = NodesSettings(
        cluster_name=cluster_identity.cluster_name(values),
        location=cluster_identity.location(values),
        zone=cluster_identity.zone(values),
        foundation_stack=cluster_identity.stack_name(values, "foundationStack"),
        cluster_stack=cluster_identity.stack_name(values, "clusterStack"),
        node_count=nodes,
        node_type=kind,
        node_disk_gib=values.whole("nodeDiskGib", 64, 2048, 512),
        capacity=capacity(values, kind, nodes),
        encryption_at_host=values.flag("encryptionAtHost", default=False),
        watchdog=read_watchdog(values),
        tags=cluster_identity.tags(values, "nodes"),
    )
    check_count(values, nodes, kind, allow_split_fabric=values.flag("allowSplitFabric", default=False))
    check_reports(values, settings.watchdog.stop_when_idle_minutes, kind)
    if values.problems:
        raise ConfigError(values.problems)
    return settings
