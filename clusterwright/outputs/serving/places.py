"""Where replicas run on Kubernetes: what a pod asks a node for, which nodes, which claim, and as whom."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.outputs.kubernetes.cluster import NAMESPACE, RACK_LABEL, KubernetesCluster
from clusterwright.outputs.kubernetes.network import rail_annotation
from clusterwright.outputs.kubernetes.queues import SHARED, tolerated
from clusterwright.outputs.launch.adapters import hosts_per_node
from clusterwright.plan.serving.record import ServingOption

#: Asked for beside accelerators, and not devices of the fabric.
_COMMON = ("cpu", "memory")
#: Space for what the weights are laid out in: tokenizer, configuration, a second index. An assumption.
_CACHE_MARGIN = 1.1
_GIB = 2**30


@dataclass(frozen=True, kw_only=True, slots=True)
class PodPlace:
    """What pods of a cluster share, and what a whole node of it has.

    Attributes:
        namespace: of the service; service_account: that pods run as, empty for the namespace's own.
        selector, tolerations: of nodes with accelerators; racks: label of a rack, empty where nodes have none.
        gpu_resource: what accelerators are asked for as; gpus, cpus, memory_gib: of a node.
        fabric: devices of the compute fabric that a whole node has; annotations: by which a pod gets them.
        claim, mount: of the shared file system; an empty claim for none.
        kubectl: how the owner reaches the API server, from the folder of the files.
    """

    namespace: str
    service_account: str
    selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, str]]
    racks: str
    gpu_resource: str
    gpus: int
    cpus: int
    memory_gib: int
    fabric: Mapping[str, Any]
    annotations: Mapping[str, str]
    claim: str
    mount: str
    kubectl: str


def of_project(job: Mapping[str, Any], gpu_resources: Sequence[str]) -> PodPlace:
    """Return the place of a cloud's project, from its example job, which is shaped for one whole node.

    Args:
        job: the example job, as read.
        gpu_resources: names that accelerators can have.
    """
    pod = job["spec"]["template"]["spec"]
    resources = pod["containers"][0]["resources"]
    limits = resources["limits"]
    gpu_resource = next(name for name in limits if name in gpu_resources)
    claims = [one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"] if "persistentVolumeClaim" in one]
    return PodPlace(
        namespace=job["metadata"]["namespace"],
        service_account=pod.get("serviceAccountName", ""),
        selector=dict(pod["nodeSelector"]),
        tolerations=[dict(one) for one in pod["tolerations"]],
        racks="",
        gpu_resource=gpu_resource,
        gpus=int(limits[gpu_resource]),
        cpus=int(resources["requests"]["cpu"]),
        memory_gib=int(str(limits["memory"]).removesuffix("Gi")),
        fabric={name: value for name, value in limits.items() if name not in (*_COMMON, gpu_resource)},
        annotations={},
        claim=claims[0] if claims else "",
        mount=SHARED,
        kubectl="./cluster.sh kubectl",
    )


def of_cluster(cluster: KubernetesCluster) -> PodPlace:
    """Return the place of a cluster on premises."""
    return PodPlace(
        namespace=NAMESPACE,
        service_account="",
        selector={"node-kind": "gpu"},
        tolerations=[tolerated(cluster)],
        racks=RACK_LABEL,
        gpu_resource=cluster.gpu_resource,
        gpus=cluster.gpus_per_node,
        cpus=cluster.cpus,
        memory_gib=cluster.memory_gib,
        fabric={name: str(count) for name, count in cluster.rail_resources.items()},
        annotations=rail_annotation(cluster),
        claim="shared" if cluster.posix else "",
        mount=SHARED,
        kubectl="kubectl",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaShape:
    """How a replica lies on nodes, and what its start needs.

    Attributes:
        pods: of a replica, each on a node of its own where there are several; gpus: of each.
        slice: profile that a pod has in the place of a whole accelerator; share: of a node that a pod takes.
        per_node: replicas that share a node, 1 where one takes a node or more.
        weights_bytes: of the checkpoint, as one pod reads it; cache_gib: of its copy on the node.
        start_s: in which the plan has all nodes read the weights once; longest_start_s: with a copy for every replica
            of a node, compiling and capturing of graphs: what probes wait for.
    """

    pods: int
    gpus: int
    slice: str
    share: float
    per_node: int
    weights_bytes: float
    cache_gib: int
    start_s: float
    longest_start_s: float


#: Compiling kernels and capturing graphs after the weights are read; an assumption.
_WARM_UP_S = 600.0


def gpus_per_host(option: ServingOption) -> int:
    """Return the accelerators of a host: of a compute tray, where a system is a whole rack."""
    return option.cluster.gpus_per_node // hosts_per_node(option)


def shape_of(option: ServingOption, node_gpus: int) -> ReplicaShape:
    """Return how a replica of an option lies on nodes with a given number of accelerators."""
    cluster, layout = option.cluster, option.performance.layout
    gpus = layout.gpus
    pods, per_node = max(gpus // node_gpus, 1), max(node_gpus // gpus, 1) * layout.per_gpu
    weights, storage = option.performance.replica_memory.weights * gpus, option.design.storage
    readers = max(cluster.work_gpus / max(gpus, node_gpus), 1.0)
    start = weights * readers / storage.restart_read_bytes_per_s if storage.restart_read_bytes_per_s else 0.0
    return ReplicaShape(
        pods=pods,
        gpus=min(gpus, node_gpus),
        slice=layout.slice,
        share=min(gpus / node_gpus, 1.0) / layout.per_gpu,
        per_node=per_node,
        weights_bytes=weights,
        cache_gib=math.ceil(weights * _CACHE_MARGIN / _GIB),
        start_s=start,
        longest_start_s=start * per_node + _WARM_UP_S,
    )
