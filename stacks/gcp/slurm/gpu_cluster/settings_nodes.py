"""Reads the nodes layer's configuration into frozen records and checks all of it before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import limits
from gpu_cluster.capacity import CAPACITY_KEYS, Capacity, capacity_warnings, read_capacity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.job_environment import JOB_ENVIRONMENT, read_job_environment
from gpu_cluster.lustre_sizes import MOUNT_PATH
from gpu_cluster.node_type import MAX_NODES, NodeType, image_warnings, read_node_type
from gpu_cluster.place import NAME, PLACE_KEYS, PLACE_OBJECTS, PROVIDER_VALUES, Place, read_place, read_stack
from gpu_cluster.tpu_slices import TpuSlice, read_tpu_slice

MAX_DISK_GB = 65_536
MAX_HOURS = 24 * 366
#: The watchdog looks every ten minutes, and nodes say every five how busy they are.
LEAST_IDLE_MINUTES = 15
MAX_IDLE_MINUTES = 24 * 60
SCALAR_KEYS = (
    *PLACE_KEYS,
    "foundationStack",
    "clusterStack",
    "nodeCount",
    "nodeBootDiskGb",
    "partition",
    "sharedPath",
    *CAPACITY_KEYS,
    "tpuTopology",
    "tpuRuntimeVersion",
    "timeToLiveHours",
    "stopWhenIdleMinutes",
)
OBJECT_KEYS = (*PLACE_OBJECTS, "nodeType", JOB_ENVIRONMENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesSettings:
    """Everything that the nodes layer's components need to know."""

    place: Place
    foundation_stack: str
    cluster_stack: str
    node_count: int
    node_type: NodeType
    capacity: Capacity
    tpu_slice: TpuSlice | None
    boot_disk_gb: int
    partition: str
    job_environment: str
    shared_path: str
    time_to_live_hours: int
    stop_when_idle_minutes: int
    warnings: tuple[str, ...]

    @property
    def has_watchdog(self) -> bool:
        """Whether anything may end the nodes before a person does."""
        return bool(self.time_to_live_hours or self.stop_when_idle_minutes)


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected stack, `project` and `region` of Google Cloud among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=PROVIDER_VALUES)


def read_settings(raw: Mapping[str, object]) -> NodesSettings:
    """Check the raw configuration and turn it into records. Raises ConfigError with every problem at once."""
    values = Values(values=raw)
    place = read_place(values, "nodes")
    node_type = read_node_type(values, with_image=True)
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    capacity = read_capacity(values, node_type, node_count)
    tpu_slice = read_tpu_slice(values, node_type, node_count)
    time_to_live_hours = values.whole("timeToLiveHours", 0, MAX_HOURS, default=0)
    settings = NodesSettings(
        place=place,
        foundation_stack=read_stack(values, "foundation"),
        cluster_stack=read_stack(values, "cluster"),
        node_count=node_count,
        node_type=node_type,
        capacity=capacity,
        tpu_slice=tpu_slice,
        boot_disk_gb=values.whole("nodeBootDiskGb", 50, MAX_DISK_GB, default=200),
        partition=values.text("partition", NAME, "a name like 'gpu'", default="gpu"),
        job_environment=read_job_environment(values),
        shared_path=values.text("sharedPath", MOUNT_PATH, "a path", default="/shared"),
        time_to_live_hours=time_to_live_hours,
        stop_when_idle_minutes=_read_idle_minutes(values),
        warnings=(*capacity_warnings(node_type, capacity), *image_warnings(node_type)),
    )
    if node_type.is_tpu and settings.has_watchdog:
        values.fail(
            "timeToLiveHours" if time_to_live_hours else "stopWhenIdleMinutes",
            "a TPU slice cannot be scaled to 0, only deleted, and the watchdog deletes nothing; "
            "set 0 and end the slice with `nodeCount 0`",
        )
    _check_flex_start(values, capacity, time_to_live_hours)
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS, *PROVIDER_VALUES))
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _read_idle_minutes(values: Values) -> int:
    minutes = values.whole("stopWhenIdleMinutes", 0, MAX_IDLE_MINUTES, default=0)
    if 0 < minutes < LEAST_IDLE_MINUTES:
        values.fail(
            "stopWhenIdleMinutes",
            f"needs 0 for never, or at least {LEAST_IDLE_MINUTES}, since nodes say every 5 minutes how busy they are; "
            f"got {minutes}",
        )
    return minutes


def _check_flex_start(values: Values, capacity: Capacity, time_to_live_hours: int) -> None:
    if capacity.model == "flex-start" and time_to_live_hours > limits.FLEX_START_MAX_HOURS:
        values.fail(
            "timeToLiveHours",
            f"flex-start nodes end after {limits.FLEX_START_MAX_HOURS} hours at the latest, got {time_to_live_hours}",
        )
