"""The cluster layer's configuration as a frozen record, checked as a whole before any resource is registered."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import layer
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.kubernetes.api_access import read_from_outside
from gpu_cluster.kubernetes.managed_add_ons import ADD_ONS
from gpu_cluster.kubernetes.vendor import check_reports, read_kubernetes_node_type
from gpu_cluster.layer import Layer, read_layer
from gpu_cluster.node_type import NodeType, read_instance_type
from gpu_cluster.watchdog import read_stop_when_idle

STACK_NAME = r"[^/\s]+/[^/\s]+/[^/\s]+"
# Amazon EKS User Guide, "Kubernetes versions"; the newest ones are for whoever sets them.
KUBERNETES_VERSION = r"1\.[0-9]{2}"
# As `aws eks describe-addon-versions` prints them.
ADD_ON_VERSION = r"v[0-9]+(\.[0-9]+){2}-eksbuild\.[0-9]+"
CIDR = r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}"
SCALAR_KEYS = (
    "foundationStack",
    "kubernetesVersion",
    "systemInstanceType",
    "systemNodeCount",
    "sharedStorageGib",
    "installCharts",
    "apiFromOutside",
    "logRetentionDays",
    "deletionProtection",
    "stopWhenIdleMinutes",
)
OBJECT_KEYS = ("nodeType", "operatorCidrs", "adminRoleArns", "addOnVersions")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings:
    """Everything that the cluster layer needs to know.

    Attributes:
        operator_cidrs: who may reach the API server from outside the network; none means nobody.
        api_from_outside: whether whoever runs this program reaches it by the cloud's own gate.
        add_on_versions: of EKS's own add-ons by name; one that is left out gets EKS's default when it is made.
        admin_role_arns: roles that administer the cluster, besides whoever runs this program.
        stop_when_idle_minutes: of the nodes layer; nodes then report how many GPUs are busy. None for never.
        install_charts: false while nothing that runs this program reaches the private endpoint yet.
    """

    layer: Layer
    foundation_stack: str
    kubernetes_version: str
    add_on_versions: Mapping[str, str]
    operator_cidrs: tuple[str, ...]
    api_from_outside: bool
    admin_role_arns: tuple[str, ...]
    system_instance_type: str
    system_node_count: int
    shared_storage_gib: int
    install_charts: bool
    log_retention_days: int
    deletion_protection: bool
    stop_when_idle_minutes: int | None
    node_type: NodeType


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi."""
    return collect(
        (*layer.SCALAR_KEYS, *SCALAR_KEYS), (*layer.OBJECT_KEYS, *OBJECT_KEYS), of_provider=layer.OF_PROVIDER
    )


def read_settings(raw: Mapping[str, object]) -> ClusterSettings:
    """Check the raw configuration and turn it into a record.

    Raises:
        ConfigError: with every problem at once.
    """
    values = Values(values=raw)
    operator_cidrs = values.texts("operatorCidrs", CIDR, "an IPv4 range such as 203.0.113.0/24")
    settings = ClusterSettings(
        layer=read_layer(values, "cluster"),
        foundation_stack=values.text("foundationStack", STACK_NAME, "a stack's full name (organization/project/stack)"),
        kubernetes_version=values.text("kubernetesVersion", KUBERNETES_VERSION, "a version such as 1.34", "1.34"),
        add_on_versions=values.text_map(
            "addOnVersions",
            keys="|".join(one.name for one in ADD_ONS),
            values=ADD_ON_VERSION,
            meaning=f"an add-on ({', '.join(one.name for one in ADD_ONS)}) with a version such as v1.2.3-eksbuild.1",
        ),
        operator_cidrs=operator_cidrs,
        api_from_outside=read_from_outside(values, operator_cidrs),
        admin_role_arns=values.texts("adminRoleArns", r"arn:aws[a-z-]*:iam::[0-9]{12}:role/.+", "the ARN of a role"),
        system_instance_type=read_instance_type(values, "systemInstanceType", "m7i.xlarge"),
        system_node_count=values.whole("systemNodeCount", 2, 20, default=2),
        shared_storage_gib=values.whole("sharedStorageGib", 1, 2**31),
        install_charts=values.flag("installCharts", default=True),
        log_retention_days=values.whole("logRetentionDays", 1, 3653, default=90),
        deletion_protection=values.flag("deletionProtection", default=False),
        stop_when_idle_minutes=read_stop_when_idle(values),
        node_type=read_kubernetes_node_type(values),
    )
    check_reports(values, settings.stop_when_idle_minutes, settings.node_type)
    for place, cidr in enumerate(settings.operator_cidrs):
        if cidr.endswith("/0"):
            values.fail(f"operatorCidrs.{place}", "lets the whole Internet reach the API server")
    values.refuse_unknown()
    if values.problems:
        raise ConfigError(values.problems)
    return settings
