"""Namespace, shared claim and Kueue's queue of a cluster on premises, as records that become YAML."""

from typing import Any

from clusterwright.outputs.kubernetes.admission import admission, closed_jobs
from clusterwright.outputs.kubernetes.cluster import (
    NAMESPACE,
    QUEUE,
    RACK_LABEL,
    UNIT_LABEL,
    KubernetesCluster,
)
from clusterwright.outputs.kubernetes.tenants import COHORT, namespace_objects, rest_of, shares_of, tenant_queue

KUEUE = "kueue.x-k8s.io/v1beta1"
SHARED = "/shared"
TOPOLOGY = "units"
#: Of memory, and the label that Kubernetes itself gives every namespace.
_UNIT, NAME_LABEL = "Gi", "kubernetes.io/metadata.name"


def namespace(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the namespace that jobs run in, the rules for its pods and those of tenants, and who reaches its jobs."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
        },
        *admission([NAMESPACE, *(tenant.name for tenant in cluster.tenants)]),
        closed_jobs(),
    ]


def storage(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the shared file system as a volume and its claim: the mount that every node has, whatever its client."""
    size = {"storage": f"{int(cluster.storage_bytes / 2**30)}Gi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{NAMESPACE}-shared"},
            "spec": {
                "capacity": size,
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": NAMESPACE, "name": "shared"},
                # Made once on the file system: where it is not mounted, no pod starts and fills the system disk.
                "hostPath": {"path": f"{SHARED}/{NAMESPACE}", "type": "Directory"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "shared", "namespace": NAMESPACE},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "volumeName": f"{NAMESPACE}-shared",
                "resources": {"requests": size},
            },
        },
    ]


def queues(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the topology of units and nodes, and one queue whose quota is the whole cluster."""
    amounts = amounts_of(cluster)
    # What no tenant has a share of is the queue's of the planned work; it borrows the rest, and gives it back.
    left = rest_of(cluster.tenants, amounts)
    quota = {name: f"{amount}{_UNIT if name == 'memory' else ''}" for name, amount in left.items()}
    shares = shares_of(cluster.tenants, amounts)
    return [
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": TOPOLOGY},
            "spec": {"levels": [{"nodeLabel": label} for label in _levels(cluster)]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": "gpu-nodes"},
            "spec": {
                "nodeLabels": {"node-kind": "gpu"},
                "tolerations": [tolerated(cluster)],
                "topologyName": TOPOLOGY,
            },
        },
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": QUEUE},
            "spec": {
                **({"cohort": COHORT, "preemption": {"reclaimWithinCohort": "Any"}} if cluster.tenants else {}),
                # Without tenants there is one queue, which every namespace may use.
                "namespaceSelector": {"matchLabels": {NAME_LABEL: NAMESPACE}} if cluster.tenants else {},
                "queueingStrategy": "BestEffortFIFO",
                "resourceGroups": [
                    {
                        "coveredResources": list(quota),
                        "flavors": [
                            {
                                "name": "gpu-nodes",
                                "resources": [{"name": name, "nominalQuota": amount} for name, amount in quota.items()],
                            }
                        ],
                    }
                ],
            },
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": QUEUE, "namespace": NAMESPACE},
            "spec": {"clusterQueue": QUEUE},
        },
        *(
            {
                "apiVersion": KUEUE,
                "kind": "ClusterQueue",
                "metadata": {"name": tenant.name},
                "spec": tenant_queue(tenant, shares[tenant.name], cluster.gpu_resource, _UNIT),
            }
            for tenant in cluster.tenants
        ),
    ]


def amounts_of(cluster: KubernetesCluster) -> dict[str, int]:
    """Return what the nodes have of every resource that is queued for; memory in GiB."""
    nodes = len(cluster.nodes)
    rails = {name: nodes * count for name, count in cluster.rail_resources.items()}
    return {
        "cpu": nodes * cluster.cpus,
        "memory": nodes * cluster.memory_gib,
        cluster.gpu_resource: cluster.whole_gpus,
        **cluster.slices,
        **cluster.parts,
        **rails,
    }


def tenants(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the namespaces of the tenants, with what each holds."""
    return [
        entry
        for tenant in cluster.tenants
        for entry in namespace_objects(tenant, cluster.gpu_resource, cluster.whole_gpus, KUEUE)
    ]


def _levels(cluster: KubernetesCluster) -> list[str]:
    """Return labels from the widest level to a host; a rack that is one system is an NVLink domain, and a level."""
    return [UNIT_LABEL, *([RACK_LABEL] if cluster.rack_scale else []), "kubernetes.io/hostname"]


def tolerated(cluster: KubernetesCluster) -> dict[str, str]:
    """Return the toleration of the taint that GPU nodes have."""
    return {"key": cluster.gpu_resource, "operator": "Exists", "effect": "NoSchedule"}
