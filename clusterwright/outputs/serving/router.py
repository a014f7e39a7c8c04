"""The router of two pools on Kubernetes: finds the workers by their labels, and sends each request to one of either.

It has the address of the service; workers answer it and Prometheus alone.
"""

from typing import Any

from clusterwright.outputs.serving.engine import PORT
from clusterwright.outputs.serving.manifests import CLIENT_LABEL, address, budget, clients, policy
from clusterwright.outputs.serving.places import PodPlace
from clusterwright.outputs.serving.pools import NAME_LABEL, ROLE_LABEL, ROUTER, Pool, router_of

#: What `deploy.sh` puts the image of the router in the place of.
UNSET_ROUTER = "ROUTER-IMAGE-IS-NOT-SET"
#: One may go while a node is drained; each keeps its own picture of what the caches of the workers hold.
REPLICAS = 2
_USER = 10001


def router_name(service: str) -> str:
    """Return the name of the router of a service."""
    return f"{service}-{ROUTER}"


def router_labels(service: str) -> dict[str, str]:
    """Return the labels of the router's pods."""
    return {NAME_LABEL: service, ROLE_LABEL: ROUTER}


def router(before: Pool, after: Pool, place: PodPlace) -> list[dict[str, Any]]:
    """Return the router with its rights, address, budget and network rules.

    Args:
        before: the pool that prefills.
        after: that which decodes.
        place: of the pods.
    """
    service = before.service
    name, own = router_name(service), router_labels(service)
    group = "rbac.authorization.k8s.io"
    metadata = {"name": name, "namespace": place.namespace, "labels": own}
    metrics = router_of(before, after, place.namespace).metrics_port
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": place.namespace}],
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": REPLICAS,
                "selector": {"matchLabels": own},
                "template": {
                    # As a client it may ask the workers.
                    "metadata": {"labels": own | {CLIENT_LABEL: "true"}},
                    "spec": _pod(before, after, place),
                },
            },
        },
        address(service, place, own, own),
        budget(name, place, own, own, missing=1),
        policy(
            name,
            place,
            own,
            {
                "policyTypes": ["Ingress"],
                "ingress": [
                    {
                        "from": clients(),
                        "ports": [{"protocol": "TCP", "port": PORT}, {"protocol": "TCP", "port": metrics}],
                    }
                ],
            },
        ),
    ]


def _pod(before: Pool, after: Pool, place: PodPlace) -> dict[str, Any]:
    started = router_of(before, after, place.namespace)

    def probe(path: str) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5}

    return {
        "serviceAccountName": router_name(before.service),
        "terminationGracePeriodSeconds": 130,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": router_labels(before.service)},
            }
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": ROUTER,
                "image": UNSET_ROUTER,
                "command": list(started.command),
                "args": list(started.found),
                "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - of the pod
                "ports": [
                    {"name": "http", "containerPort": PORT},
                    {"name": "metrics", "containerPort": started.metrics_port},
                ],
                "livenessProbe": probe("/liveness"),
                "readinessProbe": probe("/readiness"),
                "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "8Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],  # noqa: S108
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
    }
