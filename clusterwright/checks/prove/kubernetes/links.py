"""What objects of a service name of each other: pods by their labels, ports, accounts, gateways, what is scaled."""

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, values_at, wrong
from clusterwright.checks.prove.kubernetes.pods import templates
from clusterwright.errors import Finding

_ID = "K8S005"
_PODS = ("Job", "Deployment", "LeaderWorkerSet", "StatefulSet", "DaemonSet")
#: Kind, where it names an object, and the kinds of that. Names of another namespace are not ours to look up.
_NAMES = (
    ("ScaledObject", "spec.scaleTargetRef.name", ("Deployment", "LeaderWorkerSet")),
    ("HTTPRoute", "spec.parentRefs.*.name", ("Gateway",)),
    ("HTTPRoute", "spec.rules.*.backendRefs.*.name", ("InferencePool", "Service")),
    ("InferencePool", "spec.endpointPickerRef.name", ("Service",)),
    ("RoleBinding", "roleRef.name", ("Role",)),
    ("RoleBinding", "subjects.*.name", ("ServiceAccount",)),
    ("Deployment", "spec.template.spec.serviceAccountName", ("ServiceAccount",)),
)
#: Kind, and where it has the labels of the pods that it means.
_SELECTORS = (
    ("Service", "spec.selector"),
    ("PodDisruptionBudget", "spec.selector.matchLabels"),
    ("NetworkPolicy", "spec.podSelector.matchLabels"),
    ("PodMonitor", "spec.selector.matchLabels"),
    ("InferencePool", "spec.selector.matchLabels"),
    ("Deployment", "spec.selector.matchLabels"),
)
#: Kind, and where it names ports of those pods.
_PORTS = (
    ("Service", "spec.ports.*.targetPort"),
    ("PodMonitor", "spec.podMetricsEndpoints.*.port"),
    ("InferencePool", "spec.targetPorts.*.number"),
    ("NetworkPolicy", "spec.ingress.*.ports.*.port"),
    ("Deployment", "spec.template.spec.containers.*.startupProbe.httpGet.port"),
    ("Deployment", "spec.template.spec.containers.*.readinessProbe.httpGet.port"),
    ("Deployment", "spec.template.spec.containers.*.livenessProbe.httpGet.port"),
)


def names(cluster: Cluster) -> Iterator[Finding]:
    """Yield objects that name another one which is not there, though others of its kind are."""
    for kind, path, kinds in _NAMES:
        there = {one.name for one in cluster.of(*kinds)}
        for one in cluster.of(kind) if there else ():
            for value in values_at(one.body, path):
                if value not in there:
                    yield wrong(_ID, one.place, path, value, ", ".join(sorted(there)), "objects name what is there")


def _labels(template: Mapping[str, Any]) -> dict[str, str]:
    found = (template.get("metadata") or {}).get("labels") or {}
    return {str(key): str(value) for key, value in found.items()}


def _pods(cluster: Cluster) -> list[tuple[str, dict[str, str], Mapping[str, Any]]]:
    """Return name, labels and template of the pods that the folder starts."""
    found = []
    for one in cluster.of(*_PODS):
        for template in templates(one):
            labels = _labels(template) | ({"job-name": one.name} if one.kind == "Job" else {})
            found.append((one.name, labels, template))
    return found


def selected(cluster: Cluster) -> Iterator[Finding]:
    """Yield objects of a service that select no pod of the folder, or ports that the selected pods do not open."""
    pods = _pods(cluster)
    for kind, path in _SELECTORS:
        for one in cluster.of(kind):
            if not any(one.name.startswith(name) for name, _, _ in pods):
                continue
            selector = next(iter(values_at(one.body, path)), None)
            if not isinstance(selector, Mapping) or not selector:
                continue
            wanted = {str(key): str(value) for key, value in selector.items()}
            meant = [template for _, labels, template in pods if wanted.items() <= labels.items()]
            if not meant:
                said = ", ".join(f"{key}={value}" for key, value in wanted.items())
                yield wrong(_ID, one.place, path, said, "the labels of pods in this folder", "it is for these pods")
            else:
                yield from _ports(one, meant)


def _ports(one: Object, meant: list[Mapping[str, Any]]) -> Iterator[Finding]:
    opened = {
        value
        for template in meant
        for key in ("name", "containerPort")
        for value in values_at(template, f"spec.containers.*.ports.*.{key}")
    }
    for kind, path in _PORTS:
        for value in values_at(one.body, path) if kind == one.kind else ():
            if opened and value not in opened:
                expected = " or ".join(sorted(map(str, opened)))
                yield wrong(_ID, one.place, path, value, expected, "the pods listen there")


def drained(cluster: Cluster) -> Iterator[Finding]:
    """Yield budgets that let no pod go: a node with one of them is never drained."""
    for budget in cluster.of("PodDisruptionBudget"):
        most = budget.at("spec.maxUnavailable")
        if most is not None and str(most).rstrip("%") == "0":
            rule = "upgrades drain a node at a time"
            yield wrong(_ID, budget.place, "maxUnavailable", most, "1 or more", rule)
