"""Settings of the layer `cluster`: managed Kubernetes, its system nodes and add-ons."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi

from gpu_cluster import cluster_identity
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.images import size
from gpu_cluster.kubernetes.api_access import read_from_outside
from gpu_cluster.kubernetes.vendor import check_reports
from gpu_cluster.node_type import NodeType, node_type
from gpu_cluster.watchdog import read_stop_when_idle

SCALARS = (
    "clusterName",
    "location",
    "zone",
    "foundationStack",
    "kubernetesVersion",
    "apiServerCidr",
    "serviceCidr",
    "systemInstanceType",
    "systemNodeCount",
    "sharedStorageGib",
    "installCharts",
    "apiFromOutside",
    "encryptionAtHost",
    "stopWhenIdleMinutes",
)
OBJECTS = ("nodeType", "operatorCidrs", "adminGroupObjectIds", "tags")
CIDR = r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}"
# Microsoft, "API Server VNet Integration": the subnet is the API server's own, a /28 at least.
_LONGEST_API_SERVER_PREFIX = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The cluster layer.

    Attributes:
        api_server_cidr: a free part of the virtual network, for the API server alone.
        operator_cidrs: who may reach the API server from outside the network; none means nobody.
        api_from_outside: whether whoever runs this program reaches it by the cloud's own gate.
        admin_group_object_ids: groups of Microsoft Entra that administer the cluster, besides whoever makes it.
        stop_when_idle_minutes: of the nodes layer; nodes then report how many GPUs are busy. None for never.
        install_charts: false while nothing that runs this program reaches the private endpoint yet.
    """

    cluster_name: str
    location: str
    zone: str
    foundation_stack: str
    kubernetes_version: str
    node_type: NodeType
    api_server_cidr: IPv4Network
    service_cidr: IPv4Network
    operator_cidrs: tuple[str, ...]
    api_from_outside: bool
    admin_group_object_ids: tuple[str, ...]
    system_instance_type: str
    system_node_count: int
    shared_storage_gib: int
    install_charts: bool
    encryption_at_host: bool
    stop_when_idle_minutes: int | None
    tags: Mapping[str, str]


def load_settings() -> ClusterSettings:
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


def read_settings(given: Mapping[str, object]) -> ClusterSettings:
    """Turn configuration values into checked settings.

    Raises:
        ConfigError: naming every value that cannot be used.
    """
    # Pulumi.yaml declares optional texts with the default "", because a key without a default is required there.
    values = Values(values={key: value for key, value in given.items() if value not in (None, "")})
    values.refuse_unknown((*SCALARS, *OBJECTS))
    operator_cidrs = values.texts("operatorCidrs", CIDR, "an IPv4 range such as 203.0.113.0/24")
    settings = ClusterSettings(
        cluster_name=cluster_identity.cluster_name(values),
        location=cluster_identity.location(values),
        zone=cluster_identity.zone(values),
        foundation_stack=cluster_identity.stack_name(values, "foundationStack"),
        kubernetes_version=values.text(
            "kubernetesVersion", r"1\.[0-9]{2}(\.[0-9]+)?", "a version such as 1.34", "1.34"
        ),
        node_type=node_type(values, with_image=False),
        api_server_cidr=values.private_network(
            "apiServerCidr", 8, _LONGEST_API_SERVER_PREFIX, default="10.40.255.240/28"
        ),
        service_cidr=values.private_network("serviceCidr", 12, 24, default="10.132.0.0/20"),
        operator_cidrs=operator_cidrs,
        api_from_outside=read_from_outside(values, operator_cidrs),
        admin_group_object_ids=values.texts("adminGroupObjectIds", r"[0-9a-f-]{36}", "the object id of a group"),
        system_instance_type=size(values, "systemInstanceType", "Standard_D4s_v5"),
        system_node_count=values.whole("systemNodeCount", 2, 20, 2),
        shared_storage_gib=values.whole("sharedStorageGib", 1, 100_000_000),
        install_charts=values.flag("installCharts", default=True),
        encryption_at_host=values.flag("encryptionAtHost", default=False),
        stop_when_idle_minutes=read_stop_when_idle(values),
        tags=cluster_identity.tags(values, "cluster"),
    )
    check_reports(values, settings.stop_when_idle_minutes, settings.node_type)
    _check_ranges(values, settings)
    for place, cidr in enumerate(settings.operator_cidrs):
        if cidr.endswith("/0"):
            values.fail(f"operatorCidrs.{place}", "lets the whole Internet reach the API server")
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _check_ranges(values: Values, settings: ClusterSettings) -> None:
    ranges = {
        "apiServerCidr": settings.api_server_cidr,
        "serviceCidr": settings.service_cidr,
        "the RDMA network of InfiniBand sizes": IPv4Network("172.16.0.0/16"),
    }
    names = list(ranges)
    for place, name in enumerate(names[:-1]):
        for other in names[place + 1 :]:
            if ranges[name].overlaps(ranges[other]):
                values.fail(name, f"{ranges[name]} overlaps {other} ({ranges[other]})")
