"""A gateway that sends each request to the replica with the least load: Gateway API with its inference extension.

Fields as of gateway-api v1.3.0 and gateway-api-inference-extension v1.0.0 (their custom resource definitions).
"""

from typing import Any

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.serving.engine import PORT, Engine
from clusterwright.outputs.serving.manifests import CLIENT_LABEL
from clusterwright.outputs.serving.places import PodPlace
from clusterwright.outputs.serving.pools import NAME_LABEL, ROLE_LABEL, Pool

#: What `deploy.sh` puts the class of the gateway, and the image of the picker, in the place of.
UNSET_CLASS, UNSET_PICKER = "gateway-class-is-not-set", "PICKER-IMAGE-IS-NOT-SET"
_GROUP = "inference.networking.k8s.io"
_PICKER_PORT, _HEALTH_PORT, _METRICS_PORT = 9002, 9003, 9090
#: By what a replica is chosen, each with the same weight: what waits, keys and values, and what of the input is there.
_SCORERS = ("queue-scorer", "kv-cache-utilization-scorer", "prefix-cache-scorer")


def routed(name: str, place: PodPlace) -> list[dict[str, Any]]:
    """Return a gateway whose route ends at the service of a name: the router of two pools picks the workers itself."""
    return [_gateway(name, place), _route(name, place, {"kind": "Service", "name": name, "port": 80})]


def gateway(pool: Pool, place: PodPlace) -> list[dict[str, Any]]:
    """Return the gateway, its route, the pool of replicas, and the program that picks one for each request."""
    name, engine = pool.service, pool.engine
    picker = f"{name}-picker"
    return [
        _gateway(name, place),
        _route(name, place, {"group": _GROUP, "kind": "InferencePool", "name": name}),
        {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "InferencePool",
            "metadata": {"name": name, "namespace": place.namespace},
            "spec": {
                "selector": {"matchLabels": pool.answering},
                "targetPorts": [{"number": PORT}],
                "endpointPickerRef": {
                    "name": picker,
                    "port": {"number": _PICKER_PORT},
                    # Without the picker any replica is better than none.
                    "failureMode": "FailOpen",
                },
            },
        },
        *_picker(picker, name, engine, place),
    ]


def _gateway(name: str, place: PodPlace) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": place.namespace},
        "spec": {
            "gatewayClassName": UNSET_CLASS,
            "listeners": [
                {
                    "name": "http",
                    "port": 80,
                    "protocol": "HTTP",
                    "allowedRoutes": {"namespaces": {"from": "Same"}},
                }
            ],
        },
    }


def _route(name: str, place: PodPlace, backend: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": place.namespace},
        "spec": {
            "parentRefs": [{"name": name}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}],
                    "backendRefs": [backend],
                    # Answers are streamed for as long as they take.
                    "timeouts": {"request": "0s"},
                }
            ],
        },
    }


def _picker(picker: str, name: str, engine: Engine, place: PodPlace) -> list[dict[str, Any]]:
    own = {NAME_LABEL: name, ROLE_LABEL: "picker"}
    group = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(picker, name, place)},
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": _metadata(picker, name, place),
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": [_GROUP], "resources": ["inferencepools"], "verbs": ["get", "list", "watch"]},
                {
                    "apiGroups": ["inference.networking.x-k8s.io"],
                    "resources": ["inferenceobjectives", "inferencepools"],
                    "verbs": ["get", "list", "watch"],
                },
            ],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": _metadata(picker, name, place),
            "subjects": [{"kind": "ServiceAccount", "name": picker, "namespace": place.namespace}],
            "roleRef": {"apiGroup": group, "kind": "Role", "name": picker},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata(picker, name, place),
            "data": {"plugins.yaml": LiteralScalarString(documents_text([_plugins()]))},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(picker, name, place),
            "spec": {
                "selector": dict(own),
                "ports": [{"name": "grpc", "port": _PICKER_PORT, "appProtocol": "http2"}],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _metadata(picker, name, place),
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": dict(own)},
                "template": {
                    "metadata": {"labels": own | {CLIENT_LABEL: "true"}},
                    "spec": _picker_pod(picker, name, engine, place),
                },
            },
        },
    ]


def _metadata(picker: str, name: str, place: PodPlace) -> dict[str, Any]:
    return {
        "name": picker,
        "namespace": place.namespace,
        "labels": {NAME_LABEL: name, ROLE_LABEL: "picker"},
    }


def _plugins() -> dict[str, Any]:
    return {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": kind} for kind in _SCORERS],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": kind} for kind in _SCORERS]}],
    }


def _picker_pod(picker: str, name: str, engine: Engine, place: PodPlace) -> dict[str, Any]:
    def probe() -> dict[str, Any]:
        return {"grpc": {"port": _HEALTH_PORT, "service": "inference-extension"}, "periodSeconds": 10}

    return {
        "serviceAccountName": picker,
        "terminationGracePeriodSeconds": 130,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "picker",
                "image": UNSET_PICKER,
                "args": [
                    *("--pool-name", name, "--pool-namespace", place.namespace),
                    *("--config-file", "/config/plugins.yaml"),
                    *("--total-queued-requests-metric", engine.metrics["requests_waiting"].metric),
                    *("--kv-cache-usage-percentage-metric", engine.metrics["cache_share"].metric),
                    # No adapters are counted by the plan.
                    *("--lora-info-metric", ""),
                ],
                "ports": [
                    {"name": "grpc", "containerPort": _PICKER_PORT},
                    {"name": "health", "containerPort": _HEALTH_PORT},
                    {"name": "metrics", "containerPort": _METRICS_PORT},
                ],
                "livenessProbe": probe(),
                "readinessProbe": probe(),
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "config", "configMap": {"name": picker}}],
    }
