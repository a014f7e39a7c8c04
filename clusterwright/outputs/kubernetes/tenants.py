"""Tenants in Kubernetes: a namespace and a queue each, quotas that lend and take back, who may reach whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.plan.tenants import Tenant, gpus_of

#: Queues of one cohort lend each other what is free.
COHORT = "cluster"
#: The label by which a queue knows the namespaces that may use it.
LABEL = "tenants.gpu-cluster/name"
#: Groups of the identity provider, whose members may work in the namespace.
GROUP = "tenant-{name}"


def shares_of(tenants: Sequence[Tenant], amounts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return what each tenant has of every resource, whole units by largest remainder.

    >>> half = dict(borrows=True, users=(), most_gpus=None, most_gpus_per_user=None, longest_job_s=None, weight=1.0)
    >>> shares_of([Tenant(name="a", share=0.5, **half)], {"cpu": 10, "nvidia.com/gpu": 8})
    {'a': {'cpu': 5, 'nvidia.com/gpu': 4}}

    Args:
        tenants: of the plan.
        amounts: of the cluster, by resource.
    """
    each = {resource: gpus_of(tenants, amount) for resource, amount in amounts.items()}
    return {tenant.name: {resource: counts[tenant.name] for resource, counts in each.items()} for tenant in tenants}


def rest_of(tenants: Sequence[Tenant], amounts: Mapping[str, int]) -> dict[str, int]:
    """Return what no tenant has a share of."""
    shares = shares_of(tenants, amounts)
    return {name: amount - sum(share[name] for share in shares.values()) for name, amount in amounts.items()}


def tenant_queue(tenant: Tenant, own: Mapping[str, int], gpu_resource: str, unit: str) -> dict[str, Any]:
    """Return the part of a tenant's ClusterQueue that makes it one.

    Args:
        tenant: of the plan.
        own: its share of every resource.
        gpu_resource: to which its limit belongs.
        unit: of memory quantities.
    """
    resources = [_quota(name, amount, tenant, gpu_resource, unit) for name, amount in own.items()]
    return {
        "cohort": COHORT,
        "namespaceSelector": {"matchLabels": {LABEL: tenant.name}},
        "queueingStrategy": "BestEffortFIFO",
        # Kueue takes no weight of 0.
        "fairSharing": {"weight": f"{max(tenant.weight, 0.001):g}"},
        "preemption": {
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "Never"},
            "withinClusterQueue": "LowerPriority",
        },
        "resourceGroups": [{"coveredResources": list(own), "flavors": [{"name": "gpu-nodes", "resources": resources}]}],
    }


def _quota(name: str, amount: int, tenant: Tenant, gpu_resource: str, unit: str) -> dict[str, str]:
    quota = {"name": name, "nominalQuota": f"{amount}{unit if name == 'memory' else ''}"}
    if not tenant.borrows:
        quota["borrowingLimit"] = "0"
    elif tenant.most_gpus is not None and name == gpu_resource:
        quota["borrowingLimit"] = str(max(0, tenant.most_gpus - amount))
    return quota


def namespace_objects(tenant: Tenant, gpu_resource: str, gpus: int, queue_api: str) -> list[dict[str, Any]]:
    """Return what a tenant's namespace holds: its queue, a ceiling, who works there, and who reaches its pods.

    Args:
        tenant: of the plan.
        gpu_resource: that pods ask for.
        gpus: of the cluster.
        queue_api: version of Kueue's objects.
    """
    name = tenant.name
    ceiling = gpus if tenant.most_gpus is None else min(gpus, tenant.most_gpus)
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                # RDMA pins memory; what else this level lets in, admission.py refuses.
                "labels": {LABEL: name, "pod-security.kubernetes.io/enforce": "privileged"},
            },
        },
        {
            "apiVersion": queue_api,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": name},
            "spec": {"clusterQueue": name},
        },
        {
            # A pod without the queue's label never waits: this is what it meets.
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "ceiling", "namespace": name},
            "spec": {"hard": {f"requests.{gpu_resource}": str(ceiling), "services.loadbalancers": "0"}},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "members", "namespace": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": GROUP.format(name=name)},
            ],
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "own-pods", "namespace": name},
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"podSelector": {}}]}],
            },
        },
    ]
