"""What is around the replicas on Kubernetes: service, bounds of scaling, budget of disruptions, network rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.outputs.serving.engine import PORT
from clusterwright.outputs.serving.places import PodPlace
from clusterwright.outputs.serving.pools import PREFILL, Pool
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


def service(pool: Pool, place: PodPlace) -> dict[str, Any]:
    """Return the address of all replicas: connections go to any of them, whatever its load."""
    return address(pool.service, place, pool.labels, pool.answering)


def address(name: str, place: PodPlace, labels: Mapping[str, str], selector: Mapping[str, str]) -> dict[str, Any]:
    """Return the service by which clients reach the pods with some labels."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": place.namespace, "labels": dict(labels)},
        "spec": {
            "selector": dict(selector),
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"}],
        },
    }


def disruption_budget(pool: Pool, place: PodPlace) -> dict[str, Any]:
    """Return how many replicas may be missing while nodes are drained: the spare ones, and one where there is none."""
    return budget(pool.name, place, pool.labels, pool.answering, missing=max(pool.option.performance.spare_replicas, 1))


def budget(
    name: str, place: PodPlace, labels: Mapping[str, str], selector: Mapping[str, str], *, missing: int
) -> dict[str, Any]:
    """Return how many of the pods with some labels may be missing while nodes are drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": place.namespace, "labels": dict(labels)},
        "spec": {
            "maxUnavailable": missing,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": dict(selector)},
        },
    }


def scaling(pool: Pool, place: PodPlace, *, model: str, rules: ScalingRules) -> dict[str, Any]:
    """Return what keeps as many replicas as requests need, by what waits and runs and by keys and values.

    Workers that prefill follow the inputs at them alone, whatever the blueprint watches: their keys and values leave.

    Args:
        pool: of the replicas; the load of one, waiting requests too, is that with which the plan meets its goals at the
            peak.
        place: of the pods.
        model: as the engine names it in its metrics.
        rules: of the blueprint.
    """
    name, engine, shape, most = pool.name, pool.engine, pool.shape, pool.most

    def total(field: str) -> str:
        return f"sum({engine.series(field, model)})"

    asked = f"{total('requests_running')} + {total('requests_waiting')}"
    each = pool.option.performance.in_flight
    watched = ("inputs",) if pool.role == PREFILL else rules.metrics
    kind, version = ("Deployment", "apps/v1") if shape.pods == 1 else ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1")
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": place.namespace, "labels": pool.labels},
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": name},
            "minReplicaCount": pool.fewest,
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
                    ("requests", _trigger("requests", asked, f"{max(each, 1.0):.0f}")),
                    ("inputs", _trigger("queue", asked, f"{max(each, 1.0):.3g}")),
                    ("cache", _trigger("keys-and-values", total("cache_share"), f"{_CACHE_SHARE:g}")),
                    ("queue", _trigger("queue", total("requests_waiting"), "1")),
                )
                if metric in watched
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


def clients() -> list[dict[str, Any]]:
    """Return who may ask: namespaces and pods with the label of clients."""
    return [
        {"namespaceSelector": {"matchLabels": {CLIENT_LABEL: "true"}}},
        {"podSelector": {"matchLabels": {CLIENT_LABEL: "true"}}},
    ]


def network_rules(pool: Pool, place: PodPlace) -> list[dict[str, Any]]:
    """Return what denies all traffic of the replicas, and what allows the requests and the names they need."""
    ingress: list[dict[str, Any]] = [{"from": clients(), "ports": [{"protocol": "TCP", "port": PORT}]}]
    egress: list[dict[str, Any]] = [
        {
            "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}],
            "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
        }
    ]
    if pool.shape.pods > 1:
        # Pods of a replica talk on ports that the collective library chooses.
        ingress.append({"from": [{"podSelector": {"matchLabels": pool.labels}}]})
        egress.append({"to": [{"podSelector": {"matchLabels": pool.labels}}]})
    return [
        policy(f"{pool.name}-deny", place, pool.labels, {"policyTypes": ["Ingress", "Egress"]}),
        policy(
            f"{pool.name}-serve",
            place,
            pool.labels,
            {"policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress},
        ),
    ]


def handing_rules(before: Pool, after: Pool, place: PodPlace) -> list[dict[str, Any]]:
    """Return what lets workers of two pools hand keys and values to each other.

    The agents meet at the port of the handshake; ports of the transfers themselves are chosen by the library (UCX).
    """

    def peer(pool: Pool) -> list[dict[str, Any]]:
        return [{"podSelector": {"matchLabels": pool.labels}}]

    return [
        policy(
            f"{own.name}-hand",
            place,
            own.labels,
            {
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": peer(other)}],
                "egress": [{"to": peer(other)}],
            },
        )
        for own, other in ((before, after), (after, before))
    ]


def fetch_rule(pool: Pool, place: PodPlace, *, target: str) -> dict[str, Any]:
    """Return what lets replicas read the model from an object store or a hub; where it is shared, none needs it."""
    https: dict[str, Any] = {
        "to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}],
        "ports": [{"protocol": "TCP", "port": 443}],
    }
    identity = [
        {"to": [{"ipBlock": {"cidr": address}}], "ports": [{"protocol": "TCP", "port": port}]}
        for address, port in _IDENTITY.get(target, ())
    ]
    rules = {"policyTypes": ["Egress"], "egress": [https, *identity]}
    return policy(f"{pool.name}-fetch", place, pool.labels, rules)


def policy(name: str, place: PodPlace, labels: Mapping[str, str], rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network rules of the pods with some labels."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": place.namespace, "labels": dict(labels)},
        "spec": {"podSelector": {"matchLabels": dict(labels)}, **rules},
    }
