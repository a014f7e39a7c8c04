"""Reads the nodes layer's configuration into a frozen record and checks all of it before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster.capacity import CAPACITY_KEYS, Capacity, capacity_warnings, read_capacity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.gpu_parts import GpuParts, read_gpu_parts
from gpu_cluster.kubernetes.accelerators import GPU_MODELS
from gpu_cluster.kubernetes.idle_time import read_stop_when_idle
from gpu_cluster.node_type import MAX_NODES, NodeType, read_node_type
from gpu_cluster.place import PLACE_KEYS, PLACE_OBJECTS, PROVIDER_VALUES, Place, read_place, read_stack
from gpu_cluster.tpu_slices import TpuSlice, read_tpu_slice

MAX_DISK_GB = 65_536
MAX_HOURS = 24 * 366
SCALAR_KEYS = (
    *PLACE_KEYS,
    "foundationStack",
    "clusterStack",
    "nodeCount",
    "maxNodesPerPool",
    "nodeBootDiskGb",
    *CAPACITY_KEYS,
    "tpuTopology",
    "timeToLiveHours",
    "stopWhenIdleMinutes",
)
OBJECT_KEYS = (*PLACE_OBJECTS, "nodeType", "gpuParts")
# Google Kubernetes Engine, "Quotas and limits": nodes of one pool in one zone.
MAX_NODES_PER_POOL = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesSettings:
    """Everything that the nodes layer needs to know."""

    place: Place
    foundation_stack: str
    cluster_stack: str
    node_count: int
    max_nodes_per_pool: int
    node_type: NodeType
    gpu_parts: GpuParts | None
    capacity: Capacity
    tpu_slice: TpuSlice | None
    boot_disk_gb: int
    time_to_live_hours: int
    stop_when_idle_minutes: int
    warnings: tuple[str, ...]


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected stack, `project` and `region` of Google Cloud among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=PROVIDER_VALUES)


def read_settings(raw: Mapping[str, object]) -> NodesSettings:
    """Check the raw configuration and turn it into a record. Raises ConfigError with every problem at once."""
    values = Values(values=raw)
    node_type = read_node_type(values, with_image=False)
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    capacity = read_capacity(values, node_type, node_count)
    if not node_type.is_tpu and node_type.instance_type not in GPU_MODELS and not values.problems:
        values.fail("nodeType.instanceType", f"is none of {', '.join(GPU_MODELS)}")
    stop_when_idle_minutes = _stop_when_idle_minutes(values, node_type, capacity)
    settings = NodesSettings(
        place=read_place(values, "nodes"),
        foundation_stack=read_stack(values, "foundation"),
        cluster_stack=read_stack(values, "cluster"),
        node_count=node_count,
        max_nodes_per_pool=values.whole("maxNodesPerPool", 1, MAX_NODES_PER_POOL, default=MAX_NODES_PER_POOL),
        node_type=node_type,
        gpu_parts=read_gpu_parts(
            values, node_type, node_count, fixed=capacity.model != "flex-start" and not stop_when_idle_minutes
        ),
        capacity=capacity,
        tpu_slice=read_tpu_slice(values, node_type, node_count),
        boot_disk_gb=values.whole("nodeBootDiskGb", 50, MAX_DISK_GB, default=200),
        time_to_live_hours=_time_to_live_hours(values, node_type, capacity),
        stop_when_idle_minutes=stop_when_idle_minutes,
        warnings=tuple(capacity_warnings(node_type, capacity)),
    )
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS, *PROVIDER_VALUES))
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _time_to_live_hours(values: Values, node_type: NodeType, capacity: Capacity) -> int:
    hours = values.whole("timeToLiveHours", 0, MAX_HOURS, default=0)
    if hours and node_type.is_tpu:
        values.fail("timeToLiveHours", "a TPU slice cannot be scaled to 0; end it with `nodeCount 0`")
    elif hours and capacity.model == "flex-start":
        values.fail("timeToLiveHours", "flex-start nodes end by themselves, after flexStartRunHours; set 0")
    return hours


def _stop_when_idle_minutes(values: Values, node_type: NodeType, capacity: Capacity) -> int:
    minutes = read_stop_when_idle(values, node_type)
    if minutes and capacity.model == "flex-start":
        values.fail("stopWhenIdleMinutes", "GKE takes flex-start nodes away when no job needs them; set 0")
    return minutes
