"""Reads the cluster layer's configuration into a frozen record and checks all of it before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.kubernetes.api_access import read_from_outside
from gpu_cluster.kubernetes.idle_time import read_stop_when_idle
from gpu_cluster.node_type import MACHINE_TYPE, NodeType, read_node_type
from gpu_cluster.place import PLACE_KEYS, PLACE_OBJECTS, PROVIDER_VALUES, Place, read_place, read_stack

CIDR = r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}"
VERSION = r"1\.[0-9]{2}(\.[0-9]+-gke\.[0-9]+)?"
SCALAR_KEYS = (
    *PLACE_KEYS,
    "foundationStack",
    "kubernetesVersion",
    "podRange",
    "podsPerNode",
    "systemInstanceType",
    "systemNodeCount",
    "sharedStorageGib",
    "installCharts",
    "apiFromOutside",
    "grantKeyUse",
    "deletionProtection",
    "stopWhenIdleMinutes",
)
OBJECT_KEYS = (*PLACE_OBJECTS, "nodeType", "operatorCidrs")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings:
    """Everything that the cluster layer needs to know.

    Attributes:
        kubernetes_version: a minor version, or one release of GKE.
        pod_range_prefix: size of the range that pods take addresses from; GKE finds the range itself.
        operator_cidrs: who may reach the API server from outside the network; none means nobody.
        api_from_outside: whether whoever runs this program reaches it by the cloud's own gate.
        shared_storage_gib: 0 where the foundation has no file system.
        install_charts: false while nothing that runs this program reaches the private endpoint yet.
        stop_when_idle_minutes: of the nodes layer; nodes then report how many GPUs are busy. 0 for never.
        grant_key_use: false where somebody else made the key and its grants.
    """

    place: Place
    foundation_stack: str
    kubernetes_version: str
    node_type: NodeType
    pod_range_prefix: int
    pods_per_node: int
    operator_cidrs: tuple[str, ...]
    api_from_outside: bool
    system_instance_type: str
    system_node_count: int
    shared_storage_gib: int
    install_charts: bool
    grant_key_use: bool
    deletion_protection: bool
    stop_when_idle_minutes: int


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected stack, `project` and `region` of Google Cloud among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=PROVIDER_VALUES)


def read_settings(raw: Mapping[str, object]) -> ClusterSettings:
    """Check the raw configuration and turn it into a record. Raises ConfigError with every problem at once."""
    values = Values(values=raw)
    node_type = read_node_type(values, with_image=False)
    operator_cidrs = values.texts("operatorCidrs", CIDR, "an IPv4 range like 203.0.113.0/24")
    settings = ClusterSettings(
        place=read_place(values, "cluster"),
        foundation_stack=read_stack(values, "foundation"),
        kubernetes_version=values.text("kubernetesVersion", VERSION, "a version like 1.34", default="1.34"),
        node_type=node_type,
        pod_range_prefix=values.whole("podRange", 9, 24, default=14),
        pods_per_node=values.whole("podsPerNode", 8, 256, default=32),
        operator_cidrs=operator_cidrs,
        api_from_outside=read_from_outside(values, operator_cidrs),
        system_instance_type=values.text("systemInstanceType", MACHINE_TYPE, "a machine type", default="n2-standard-4"),
        system_node_count=values.whole("systemNodeCount", 2, 20, default=2),
        shared_storage_gib=values.whole("sharedStorageGib", 0, 100_000_000, default=0),
        install_charts=values.flag("installCharts", default=True),
        grant_key_use=values.flag("grantKeyUse", default=True),
        deletion_protection=values.flag("deletionProtection", default=False),
        stop_when_idle_minutes=read_stop_when_idle(values, node_type),
    )
    for place, cidr in enumerate(settings.operator_cidrs):
        if cidr.endswith("/0"):
            values.fail(f"operatorCidrs.{place}", "lets the whole Internet reach the API server")
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS, *PROVIDER_VALUES))
    if values.problems:
        raise ConfigError(values.problems)
    return settings
