"""What objects of a service name of each other: pods by their labels, ports, accounts, gateways, what is scaled."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, amount, value_at, values_at, wrong
from clusterwright.checks.prove.kubernetes.pods import templates
from clusterwright.errors import Finding

_ID = "K8S005"
_THERE = "objects name what is there"
_POOL, _HEALTH = "--pool-name", "/health"
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
_PODS = ("Job", "Deployment", "LeaderWorkerSet", "StatefulSet", "DaemonSet")
#: Kind, where it names an object, and the kinds of that. Names of another namespace are not ours to look up.
_NAMES = (
    ("ScaledObject", "spec.scaleTargetRef.name", ("Deployment", "LeaderWorkerSet")),
    ("HTTPRoute", "spec.parentRefs.*.name", ("Gateway",)),
    ("InferencePool", "spec.endpointPickerRef.name", ("Service",)),
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
                    yield wrong(_ID, one.place, path, value, ", ".join(sorted(there)), _THERE)
    for route in cluster.of("HTTPRoute"):
        for backend in values_at(route.body, "spec.rules.*.backendRefs.*"):
            kind = str(backend.get("kind", "Service"))
            yield from _named(cluster, route, f"backendRefs of kind {kind}", backend.get("name"), kind)
    yield from _bound(cluster)
    for picker in cluster.of("Deployment"):
        arguments = [str(word) for word in picker.at("spec.template.spec.containers.0.args") or []]
        for option, value in pairwise(arguments):
            if option == _POOL:
                yield from _named(cluster, picker, option, value, "InferencePool")


def _bound(cluster: Cluster) -> Iterator[Finding]:
    """Roles and accounts of a binding; roles of the whole cluster, and groups, are Kubernetes' own or a directory's."""
    for binding in cluster.of("RoleBinding"):
        for path, kind in (("roleRef", "Role"), ("subjects.*", "ServiceAccount")):
            for one in values_at(binding.body, path):
                if one.get("kind") == kind:
                    yield from _named(cluster, binding, f"{path}.name", one.get("name"), kind)


def _named(cluster: Cluster, one: Object, what: str, value: object, kind: str) -> Iterator[Finding]:
    """A name of another object of a kind, of which the folder has some."""
    there = {other.name for other in cluster.of(kind)}
    if there and value not in there:
        yield wrong(_ID, one.place, what, value, ", ".join(sorted(there)), _THERE)


def ports_of_services(cluster: Cluster) -> Iterator[Finding]:
    """Yield ports that are asked of a Service which does not have them."""
    offered = {
        (one.namespace, one.name): set(values_at(one.body, "spec.ports.*.port")) for one in cluster.of("Service")
    }
    for pool in cluster.of("InferencePool"):
        picker, port = pool.at("spec.endpointPickerRef.name"), pool.at("spec.endpointPickerRef.port.number")
        ports = offered.get((pool.namespace, str(picker)), set())
        if port is not None and ports and port not in ports:
            expected = " or ".join(sorted(map(str, ports)))
            yield wrong(_ID, pool.place, "endpointPickerRef.port", port, expected, f"Service {picker} has it")


def probed(cluster: Cluster) -> Iterator[Finding]:
    """Yield engines that are asked for their health at another path than the one that they all answer."""
    for one in cluster.of("Deployment", "LeaderWorkerSet", "StatefulSet"):
        for template in templates(one):
            for container in values_at(template, "spec.containers.*"):
                for probe in _PROBES:
                    path = value_at(container, f"{probe}.httpGet.path")
                    if path not in {None, _HEALTH} and _engine(container):
                        rule = "vLLM, SGLang and TensorRT-LLM answer there"
                        yield wrong(_ID, one.place, f"{probe}.path", path, _HEALTH, rule)


def held(cluster: Cluster) -> Iterator[Finding]:
    """Yield volumes for a service's weights that are smaller than these (`K8S006`)."""
    documents = cluster.papers.documents
    # What a service reads from storage is its weights.
    weights = documents.option.design.storage.dataset_bytes if documents.plan.workload.kind == "serve" else 0.0
    for one in cluster.of("Deployment", "LeaderWorkerSet", "StatefulSet"):
        for template in templates(one):
            for volume in values_at(template, "spec.volumes.*"):
                limit = value_at(volume, "emptyDir.sizeLimit")
                if volume.get("name") == "model" and limit is not None and amount(limit) < weights:
                    rule = "all weights are read into it"
                    least = f"at least {weights / 2**30:,.0f}Gi"
                    yield wrong("K8S006", one.place, "sizeLimit of model", limit, least, rule)


def _engine(container: Mapping[str, Any]) -> bool:
    """Tell whether a container is the serving engine: it has accelerators, its helpers have none."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return any(str(name).endswith(("/gpu", "/gaudi")) or "/mig-" in str(name) for name in limits)


def _labels(template: Mapping[str, Any]) -> dict[str, str]:
    found = (template.get("metadata") or {}).get("labels") or {}
    return {str(key): str(value) for key, value in found.items()}


def _pods(cluster: Cluster) -> list[tuple[str, dict[str, str], Mapping[str, Any]]]:
    """Return name, labels and template of the pods that the folder starts."""
    return [
        (one.name, _labels(template) | _given_labels(one, template), template)
        for one in cluster.of(*_PODS)
        for template in templates(one)
    ]


def _given_labels(one: Object, template: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels that a controller gives to pods of a template, beside the template's own."""
    if one.kind == "Job":
        return {"job-name": one.name}
    leader = one.at("spec.leaderWorkerTemplate.leaderTemplate") or one.at("spec.leaderWorkerTemplate.workerTemplate")
    # Those of workers differ from pod to pod, so that no selector can mean them all.
    return {_WORKER_INDEX: "0"} if template is leader else {}


def selected(cluster: Cluster) -> Iterator[Finding]:
    """Yield objects of a service that select no pod of the folder, or ports that the selected pods do not open."""
    pods = _pods(cluster)
    for kind, path in _SELECTORS:
        for one in cluster.of(kind):
            # Pools of a service have its name before their own.
            if not any(one.name.startswith(name) or name.startswith(f"{one.name}-") for name, _, _ in pods):
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
