"""What is around the replicas on Kubernetes: service, bounds of scaling, budget of disruptions, network rules."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.outputs.serving.engine import PORT, Engine
from clusterwright.outputs.serving.places import PodPlace, ReplicaShape
from clusterwright.outputs.serving.replica import answering, labels
from clusterwright.plan.serving.record import ServingOption

#: What `deploy.sh` puts the address of Prometheus in the place of.
UNSET_PROMETHEUS = "PROMETHEUS-IS-NOT-SET"
#: Namespaces and pods with this label may ask the replicas: gateways, routers, Prometheus, clients.
CLIENT_LABEL = "serving-client"
#: Of the pool of keys and values, beyond which sequences are likely to be put off; an assumption.
_CACHE_SHARE = 0.8
#: A replica is given back after the load was lower for so long; an assumption, twice a start of ten minutes.
_COOL_DOWN_S = 1200
#: Where pods of a cloud ask for their own rights: addresses that exist on each node alone, with their ports.
_IDENTITY: Mapping[str, tuple[tuple[str, int], ...]] = {
    "aws": (("169.254.170.23/32", 80),),
    "gcp": (("169.254.169.254/32", 80), ("169.254.169.252/32", 988)),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingRules:
    """How replicas follow the load: figures that are watched, when one goes, and whether all may go."""

    metrics: tuple[str, ...]
    cool_down_s: int
    to_zero: bool


def scaling_rules(option: ServingOption) -> ScalingRules:
    """Return what the blueprint says of the autoscaler, or what holds where it says nothing."""
    start = "replicas.autoscaling."
    said = {one.path.removeprefix(start): one.value for one in option.design.constraints if one.path.startswith(start)}
    return ScalingRules(
        metrics=(said["metric"],) if "metric" in said else ("requests", "cache"),
        cool_down_s=int(float(said.get("cool_down", _COOL_DOWN_S))),
        to_zero=said.get("scale_to_zero") == "True",
    )


def service(name: str, place: PodPlace, shape: ReplicaShape) -> dict[str, Any]:
    """Return the address of all replicas: connections go to any of them, whatever its load."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": place.namespace, "labels": labels(name)},
        "spec": {
            "selector": answering(name, shape),
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"}],
        },
    }


def disruption_budget(name: str, place: PodPlace, shape: ReplicaShape, *, spare: int) -> dict[str, Any]:
    """Return how many replicas may be missing while nodes are drained: the spare ones, and one where there is none."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": place.namespace, "labels": labels(name)},
        "spec": {
            "maxUnavailable": max(spare, 1),
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": answering(name, shape)},
        },
    }


def query_text(text: str) -> str:
    """Return a text as a string of PromQL, which escapes as JSON does for what a name can hold."""
    return json.dumps(text, ensure_ascii=False)


def scaling(
    name: str,
    engine: Engine,
    place: PodPlace,
    shape: ReplicaShape,
    *,
    model: str,
    fewest: int,
    most: int,
    each: float,
    rules: ScalingRules,
) -> dict[str, Any]:
    """Return what keeps as many replicas as requests need, by what waits and runs and by keys and values.

    Args:
        name: of the service.
        engine: whose metrics are asked.
        place: of the pods.
        shape: of a replica.
        model: as the engine names it in its metrics.
        fewest: replicas.
        most: replicas, those of the peak with the spare ones.
        each: requests of one replica, waiting ones too, with which the plan meets its goals at the peak.
        rules: of the blueprint.
    """
    of = f"{{model_name={query_text(model)}}}"
    running, waiting, cache = (
        engine.metrics[field].metric for field in ("requests_running", "requests_waiting", "cache_share")
    )
    kind, version = ("Deployment", "apps/v1") if shape.pods == 1 else ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1")
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": place.namespace, "labels": labels(name)},
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": name},
            "minReplicaCount": fewest,
            "maxReplicaCount": most,
            "pollingInterval": 15,
            # Without metrics nobody knows the load: what the peak needs is kept.
            "fallback": {"failureThreshold": 4, "replicas": most},
            "advanced": {
                "horizontalPodAutoscalerConfig": {
                    "behavior": {
                        "scaleUp": {
                            "stabilizationWindowSeconds": 0,
                            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}],
                        },
                        "scaleDown": {
                            "stabilizationWindowSeconds": rules.cool_down_s,
                            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
                        },
                    }
                }
            },
            "triggers": [
                trigger
                for metric, trigger in (
                    (
                        "requests",
                        _trigger("requests", f"sum({running}{of}) + sum({waiting}{of})", f"{max(each, 1.0):.0f}"),
                    ),
                    ("cache", _trigger("keys-and-values", f"sum({cache}{of})", f"{_CACHE_SHARE:g}")),
                    ("queue", _trigger("queue", f"sum({waiting}{of})", "1")),
                )
                if metric in rules.metrics
            ],
        },
    }


def _trigger(name: str, query: str, threshold: str) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": name,
        "metricType": "AverageValue",
        "metadata": {"serverAddress": UNSET_PROMETHEUS, "query": query, "threshold": threshold},
    }


def network_rules(name: str, place: PodPlace, shape: ReplicaShape) -> list[dict[str, Any]]:
    """Return what denies all traffic of the replicas, and what allows the requests and the names they need."""
    clients = [
        {"namespaceSelector": {"matchLabels": {CLIENT_LABEL: "true"}}},
        {"podSelector": {"matchLabels": {CLIENT_LABEL: "true"}}},
    ]
    ingress: list[dict[str, Any]] = [{"from": clients, "ports": [{"protocol": "TCP", "port": PORT}]}]
    egress: list[dict[str, Any]] = [
        {
            "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}],
            "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
        }
    ]
    if shape.pods > 1:
        # Pods of a replica talk on ports that the collective library chooses.
        ingress.append({"from": [{"podSelector": {"matchLabels": labels(name)}}]})
        egress.append({"to": [{"podSelector": {"matchLabels": labels(name)}}]})
    return [
        _policy(f"{name}-deny", name, place, {"policyTypes": ["Ingress", "Egress"]}),
        _policy(
            f"{name}-serve",
            name,
            place,
            {"policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress},
        ),
    ]


def fetch_rule(name: str, place: PodPlace, *, target: str) -> dict[str, Any]:
    """Return what lets replicas read the model from an object store or a hub; where it is shared, none needs it."""
    https: dict[str, Any] = {
        "to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}],
        "ports": [{"protocol": "TCP", "port": 443}],
    }
    identity = [
        {"to": [{"ipBlock": {"cidr": address}}], "ports": [{"protocol": "TCP", "port": port}]}
        for address, port in _IDENTITY.get(target, ())
    ]
    return _policy(f"{name}-fetch", name, place, {"policyTypes": ["Egress"], "egress": [https, *identity]})


def _policy(policy: str, name: str, place: PodPlace, rules: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": policy, "namespace": place.namespace, "labels": labels(name)},
        "spec": {"podSelector": {"matchLabels": labels(name)}, **rules},
    }
