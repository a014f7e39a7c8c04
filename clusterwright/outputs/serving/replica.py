"""The pods of a replica, and what keeps this many of them: a Deployment, or a LeaderWorkerSet where nodes make one up.

Pods pass the level "restricted" of Pod Security: no root, no rights, a root file system that is only read.
"""

import re
from collections.abc import Mapping
from typing import Any

from clusterwright.outputs.serving.engine import PORT
from clusterwright.outputs.serving.places import PodPlace, ReplicaShape
from clusterwright.outputs.serving.pools import WHOLE, Pool

#: Stand where `deploy.sh` puts the images; no registry has them, since names are in lower case.
UNSET_IMAGE, UNSET_FETCH_IMAGE = "IMAGE-IS-NOT-SET", "FETCH-IMAGE-IS-NOT-SET"
CONTAINER, FETCH = "engine", "fetch"
#: Requests that are under way get so long to end before a pod is killed.
GRACE_S = 120
_USER = 10001
_PROBE_S = 10
#: Shared memory of a pod, for the collective library; an assumption.
_SHARED_MEMORY_GIB = 32
#: Compiled kernels, logs and temporary files of a pod; an assumption.
_SCRATCH_GIB = 32


def workload(pool: Pool, place: PodPlace) -> dict[str, Any]:
    """Return what keeps the replicas of a pool, as many as the peak takes to begin with; an autoscaler changes them."""
    name, shape = pool.name, pool.shape
    if shape.pods == 1:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": place.namespace, "labels": pool.labels},
            "spec": {
                "replicas": pool.most,
                "revisionHistoryLimit": 3,
                # Accelerators for one replica more than there are may not exist: one goes before one comes.
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "progressDeadlineSeconds": int(shape.longest_start_s) + 600,
                "selector": {"matchLabels": pool.labels},
                "template": _template(pool, place, leads=True),
            },
        }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": place.namespace, "labels": pool.labels},
        "spec": {
            "replicas": pool.most,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "leaderWorkerTemplate": {
                "size": shape.pods,
                # A replica without one of its pods answers nothing.
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": _template(pool, place, leads=True),
                "workerTemplate": _template(pool, place, leads=False),
            },
        },
    }


def _template(pool: Pool, place: PodPlace, *, leads: bool) -> dict[str, Any]:
    fabric, annotations = fabric_of(pool, place)
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "nodeSelector": dict(place.selector),
        "tolerations": [dict(one) for one in place.tolerations],
        "topologySpreadConstraints": _spread(pool, place),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [_fetch(pool.service, place)],
        "containers": [_engine(pool, place, fabric, leads=leads)],
        "volumes": _volumes(pool, place),
    }
    if place.service_account:
        pod["serviceAccountName"] = place.service_account
    metadata: dict[str, Any] = {"labels": pool.labels}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod}


def _spread(pool: Pool, place: PodPlace) -> list[dict[str, Any]]:
    keys = ("kubernetes.io/hostname", *((place.racks,) if place.racks else ()))
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            # As even as it can be: a full node keeps no replica from starting on another.
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": pool.labels},
        }
        for key in keys
    ]


def fabric_of(pool: Pool, place: PodPlace) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the devices of the fabric that a pod of a pool gets, and the annotations by which it does.

    A pod with all accelerators of a node gets all. One of a part sends nothing over the fabric, unless keys and values
    are handed between pools: then it gets its part of the devices, where that is a whole one.
    """
    shape = pool.shape
    if shape.gpus == place.gpus and not shape.slice:
        return place.fabric, place.annotations
    if pool.role == WHOLE or shape.slice:
        return {}, {}
    parts = {name: _part(name, value, shape.gpus, place.gpus) for name, value in place.fabric.items()}
    networks = {key: value.split(",") for key, value in place.annotations.items()}
    fewer = {key: names[: len(names) * shape.gpus // place.gpus] for key, names in networks.items()}
    return (
        {name: value for name, value in parts.items() if value},
        {key: ",".join(names) for key, names in fewer.items() if names},
    )


def _part(name: str, value: object, gpus: int, of: int) -> object:
    """Return a part of an amount, rounded down; what is shared by the pods of a node each has whole."""
    if "shared" in name:
        return value
    number = re.match(r"\d+", str(value))
    part = int(number[0]) * gpus // of if number else 0
    unit = str(value)[number.end() :] if number else ""
    return 0 if not part else f"{part}{unit}" if isinstance(value, str) else part


def _confined() -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _fetch(name: str, place: PodPlace) -> dict[str, Any]:
    mounts = [
        {"name": "model", "mountPath": "/model"},
        {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - of the pod
        {"name": "start", "mountPath": "/start", "readOnly": True},
    ]
    if place.claim:
        mounts.append({"name": "shared", "mountPath": place.mount, "readOnly": True})
    token = {"name": "model-access", "key": "token", "optional": True}
    return {
        "name": FETCH,
        "image": UNSET_FETCH_IMAGE,
        "command": ["sh", "/start/fetch_model.sh"],
        "env": [
            {
                "name": "MODEL_SOURCE",
                "valueFrom": {"configMapKeyRef": {"name": f"{name}-settings", "key": "MODEL_SOURCE"}},
            },
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": token}},
            {"name": "HOME", "value": "/tmp"},  # noqa: S108
        ],
        # Keys of an object store, where pods have no identity of their own there: by reference, never here.
        "envFrom": [{"secretRef": {"name": "model-store", "optional": True}}],
        # Of a small node no more than pods may have of it at all.
        "resources": {
            "requests": {"cpu": str(min(4, place.cpus)), "memory": f"{min(8, place.memory_gib)}Gi"},
            "limits": {"memory": f"{min(16, place.memory_gib)}Gi"},
        },
        "securityContext": _confined(),
        "volumeMounts": mounts,
    }


def _engine(pool: Pool, place: PodPlace, fabric: Mapping[str, Any], *, leads: bool) -> dict[str, Any]:
    shape, engine = pool.shape, pool.engine
    share = shape.share
    memory = f"{int(place.memory_gib * share)}Gi"
    resource = f"nvidia.com/mig-{shape.slice}" if shape.slice else place.gpu_resource
    limits: dict[str, Any] = {resource: shape.gpus, "memory": memory, **fabric}
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": UNSET_IMAGE,
        "command": ["bash", "/start/serve.sh"],
        "args": list(engine.arguments),
        "env": [
            *({"name": key, "value": value} for key, value in _ENVIRONMENT.items()),
            *(_setting(key, value) for key, value in engine.settings.items()),
            {"name": "REPLICA_PODS", "value": str(shape.pods)},
        ],
        "resources": {"requests": {"cpu": str(max(int(place.cpus * share), 1)), "memory": memory}, "limits": limits},
        "securityContext": _confined(),
        "volumeMounts": [
            {"name": "model", "mountPath": "/model", "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108
            {"name": "memory", "mountPath": "/dev/shm"},  # noqa: S108
            {"name": "start", "mountPath": "/start", "readOnly": True},
        ],
    }
    ports = [{"name": name, "containerPort": port} for name, port in engine.ports.items()]
    if leads:
        ports.insert(0, {"name": "http", "containerPort": PORT})
    if ports:
        container["ports"] = ports
    if leads:
        container |= _probes(shape)
    return container


def _setting(name: str, value: str) -> dict[str, Any]:
    """Return a setting of the environment; the pod's own address is known when it starts."""
    if value == "ADDRESS":
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {"name": name, "value": value}


#: Users without a name of the image have no home; what engines compile and keep goes to the scratch volume.
_ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/tmp",  # noqa: S108
    "USER": "engine",
    "XDG_CACHE_HOME": "/tmp/cache",  # noqa: S108
    "TRITON_CACHE_DIR": "/tmp/cache/triton",  # noqa: S108
    "TORCHINDUCTOR_CACHE_DIR": "/tmp/cache/inductor",  # noqa: S108
    "HF_HUB_OFFLINE": "1",
}


def _probes(shape: ReplicaShape) -> dict[str, Any]:
    def health(**further: int) -> dict[str, Any]:
        return {"httpGet": {"path": "/health", "port": "http"}, **further}

    return {
        # Until the weights are read and graphs are captured; then the other two begin.
        "startupProbe": health(
            periodSeconds=_PROBE_S, timeoutSeconds=5, failureThreshold=-(-int(shape.longest_start_s) // _PROBE_S)
        ),
        "readinessProbe": health(periodSeconds=5, timeoutSeconds=5, failureThreshold=3),
        # Slow answers are no reason to end what others wait for: only minutes without any are.
        "livenessProbe": health(periodSeconds=_PROBE_S, timeoutSeconds=10, failureThreshold=12),
        # Routers stop sending first, then the engine is reported to end.
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "15"]}}},
    }


def _volumes(pool: Pool, place: PodPlace) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [
        {"name": "model", "emptyDir": {"sizeLimit": f"{pool.shape.cache_gib}Gi"}},
        {"name": "scratch", "emptyDir": {"sizeLimit": f"{_SCRATCH_GIB}Gi"}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{_SHARED_MEMORY_GIB}Gi"}},
        {"name": "start", "configMap": {"name": f"{pool.name}-start"}},
    ]
    if place.claim:
        volumes.append({"name": "shared", "persistentVolumeClaim": {"claimName": place.claim, "readOnly": True}})
    return volumes
