"""Groups of GPU nodes as three clouds write them, in one form."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

EKS_GROUP = "aws:eks/nodeGroup:NodeGroup"
GKE_POOL = "gcp:container/nodePool:NodePool"
AKS_POOL = "azure-native:containerservice:AgentPool"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeGroup:
    """One group of GPU nodes.

    Attributes:
        nodes: that run, or that run at most where a queue makes them.
        taints: keys of those that keep other pods off.
        driver_on_node: whether image or service puts the driver there.
        upgrades_by_itself: without anybody asking.
    """

    name: str
    nodes: int
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    driver_on_node: bool
    upgrades_by_itself: bool


def is_gpu_group(group: Resource) -> bool:
    """Tell GPU nodes from the system's own, which share a type of resource."""
    return "system" not in group.name


def _eks(record: Record) -> Iterator[NodeGroup]:
    for one in filter(is_gpu_group, record.of(EKS_GROUP)):
        inputs = one.inputs
        yield NodeGroup(
            name=one.name,
            nodes=inputs.get("scalingConfig", {}).get("desiredSize", 0),
            labels=inputs.get("labels") or {},
            taints=tuple(taint["key"] for taint in inputs.get("taints") or [] if taint.get("effect") == "NO_SCHEDULE"),
            driver_on_node=str(inputs.get("amiType", "")).endswith(("_NVIDIA", "_NEURON")),
            upgrades_by_itself=False,
        )


def _gke(record: Record) -> Iterator[NodeGroup]:
    for one in filter(is_gpu_group, record.of(GKE_POOL)):
        inputs, config = one.inputs, one.inputs.get("nodeConfig", {})
        versions = [
            gpu.get("gpuDriverInstallationConfig", {}).get("gpuDriverVersion")
            for gpu in config.get("guestAccelerators") or []
        ]
        nodes = inputs.get("nodeCount")
        yield NodeGroup(
            name=one.name,
            nodes=nodes if nodes is not None else inputs.get("autoscaling", {}).get("totalMaxNodeCount", 0),
            labels=config.get("labels") or {},
            taints=tuple(taint["key"] for taint in config.get("taints") or [] if taint.get("effect") == "NO_SCHEDULE"),
            # TPUs need none; of GPUs GKE installs it where it is told which.
            driver_on_node=all(version in ("DEFAULT", "LATEST") for version in versions),
            upgrades_by_itself=bool(inputs.get("management", {}).get("autoUpgrade")),
        )


def _aks(record: Record) -> Iterator[NodeGroup]:
    channels: list[Any] = [
        one.inputs.get("autoUpgradeProfile", {}) for one in record.of("azure-native:containerservice:ManagedCluster")
    ]
    upgraded = any(
        profile.get("upgradeChannel") != "none" or profile.get("nodeOSUpgradeChannel") != "None" for profile in channels
    )
    for one in filter(is_gpu_group, record.of(AKS_POOL)):
        inputs = one.inputs
        taints = [str(taint) for taint in inputs.get("nodeTaints") or []]
        yield NodeGroup(
            name=one.name,
            nodes=inputs.get("count", 0),
            labels=inputs.get("nodeLabels") or {},
            taints=tuple(taint.partition("=")[0] for taint in taints if taint.endswith(":NoSchedule")),
            driver_on_node=(inputs.get("gpuProfile") or {}).get("driver") == "Install",
            upgrades_by_itself=upgraded,
        )


NODES_OF: Mapping[str, Callable[[Record], Iterator[NodeGroup]]] = {"aws": _eks, "gcp": _gke, "azure": _aks}
