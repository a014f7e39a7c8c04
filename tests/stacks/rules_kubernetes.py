"""What must hold for managed Kubernetes on every cloud, and then for each: charts, drivers, taints, volumes.

Expected figures come from the catalogue and from the sources named here, never from the stack's own tables.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from clusterwright.checks.preflight.programs.admission import OPENING, ORDINARY, NotEvaluatedError, Rule, refusal
from clusterwright.checks.preflight.recorder.shapes import Sdk
from clusterwright.checks.preflight.records import Record

from . import rules_aks, rules_eks, rules_gke
from .kubernetes_nodes import NODES_OF, NodeGroup
from .rules import Problem, Wanted
from .rules_reports import report_problems

RELEASE = "kubernetes:helm.sh/v3:Release"
VOLUME = "kubernetes:core/v1:PersistentVolume"
NETWORK = "kubernetes:networking.gke.io/v1:Network"
POLICY = "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy"
#: A release of a chart; ranges and words that move are none.
_VERSION = r"v?[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.-]+)?"
#: Charts that bring a driver along unless they are told not to.
_OPERATORS = ("gpu-operator", "gpu-operator-charts")
#: Which chart offers the accelerators where the cloud itself does not.
_DEVICE_PLUGINS = ("nvidia-device-plugin", "neuron-helm-chart", *_OPERATORS)
_FABRIC_CHARTS = {"aws": "aws-efa-k8s-device-plugin", "azure": "network-operator"}
#: Charts of this list run on the GPU nodes and have to tolerate their taint.
_ON_GPU_NODES = ("nvidia-device-plugin", "dcgm-exporter", "aws-efa-k8s-device-plugin")


def kubernetes_problems(record: Record, sdk: Sdk, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong in the cluster and the nodes of a stack with managed Kubernetes."""
    groups = list(NODES_OF[wanted.cloud](record))
    found = [
        *_charts(record),
        *_drivers(record, wanted, groups),
        *_fabric(record, wanted),
        *_nodes(record, wanted, groups),
        *_volumes(record),
        *_namespaces(record),
        *report_problems(record),
    ]
    match wanted.cloud:
        case "aws":
            return [*found, *rules_eks.eks_problems(record, sdk, wanted)]
        case "gcp":
            return [*found, *rules_gke.gke_problems(record, wanted)]
        case _:
            return [*found, *rules_aks.aks_problems(record, wanted)]


def _installed(record: Record) -> dict[str, Mapping[str, Any]]:
    """Return the inputs of every release by the chart's name."""
    return {str(one.inputs.get("chart", "")).rpartition("/")[2]: one.inputs for one in record.of(RELEASE)}


def _charts(record: Record) -> Iterator[Problem]:
    for name, inputs in _installed(record).items():
        version = inputs.get("version")
        if not isinstance(version, str) or re.fullmatch(_VERSION, version) is None:
            yield Problem(id="KUB001", resource=name, message=f"version {version} is another chart with every `up`")
        if not inputs.get("namespace"):
            yield Problem(id="KUB002", resource=name, message="has no namespace of its own")


def _drivers(record: Record, wanted: Wanted, groups: list[NodeGroup]) -> Iterator[Problem]:
    charts = _installed(record)
    by_operator = [
        name
        for name in _OPERATORS
        if name in charts and (charts[name].get("values") or {}).get("driver", {}).get("enabled") is not False
    ]
    for group in groups:
        if group.driver_on_node and by_operator:
            message = f"the node has a driver already, and {by_operator[0]} installs another"
            yield Problem(id="KUB010", resource=group.name, message=message)
        if not group.driver_on_node and not by_operator:
            yield Problem(id="KUB011", resource=group.name, message="nobody installs a driver")
    if wanted.cloud != "gcp" and not any(name in charts for name in _DEVICE_PLUGINS):
        yield Problem(id="KUB012", resource="charts", message="no device plugin offers the accelerators")
    for name in _ON_GPU_NODES:
        tolerated = {one.get("key") for one in (charts.get(name, {}).get("values") or {}).get("tolerations", [])}
        if name in charts and not any(key in tolerated for group in groups for key in group.taints):
            yield Problem(id="KUB013", resource=name, message="does not tolerate the taint of the GPU nodes")


def _fabric(record: Record, wanted: Wanted) -> Iterator[Problem]:
    facts = wanted.instance
    chart = _FABRIC_CHARTS.get(wanted.cloud)
    charts = _installed(record)
    if chart and facts.fabric_interfaces and chart not in charts:
        yield Problem(id="KUB020", resource="charts", message=f"without {chart} jobs fall back to TCP in silence")
    if wanted.cloud == "aws" and chart in charts:
        listed = (charts[str(chart)].get("values") or {}).get("supportedInstanceLabels", {}).get("values", [])
        if facts.id not in listed:
            yield Problem(id="KUB021", resource=str(chart), message=f"may not know {facts.id}")
    if wanted.cloud == "azure" and chart in charts:
        policies = record.of(POLICY)
        plugins = [one for one in policies if "shared_ib" in str(one.inputs.get("spec", {}))]
        if len(policies) != 1 or not plugins:
            yield Problem(id="KUB022", resource="adapters", message="nothing offers the adapters to pods")


def _nodes(record: Record, wanted: Wanted, groups: list[NodeGroup]) -> Iterator[Problem]:
    if sum(group.nodes for group in groups) != wanted.nodes:
        yield Problem(id="KUB030", resource="nodes", message=f"{[group.nodes for group in groups]} for {wanted.nodes}")
    for group in groups:
        if not group.taints:
            yield Problem(id="KUB031", resource=group.name, message="no taint keeps other work off")
        if group.labels.get("node-kind") != "gpu":
            yield Problem(id="KUB032", resource=group.name, message="jobs do not find it: no label node-kind")
        if group.upgrades_by_itself:
            yield Problem(id="KUB033", resource=group.name, message="is upgraded under a running job")


def _namespaces(record: Record) -> Iterator[Problem]:
    """A namespace without a level of pod security has rules of its own, and a network policy."""
    for one in record.of("kubernetes:core/v1:Namespace"):
        labels = one.inputs["metadata"].get("labels") or {}
        if labels.get("pod-security.kubernetes.io/enforce") != "privileged":
            continue
        own = one.inputs["metadata"]["name"]
        bound = _bound_policies(record, own)
        if not bound:
            yield Problem(id="KUB058", resource=one.name, message="privileged pods are admitted by no rule")
        rules = tuple(
            Rule(expression=rule["expression"], message=rule.get("message", ""))
            for policy in record.of("kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy")
            if policy.inputs["metadata"].get("name") in bound and policy.inputs["spec"].get("failurePolicy") == "Fail"
            for rule in policy.inputs["spec"].get("validations") or []
        )
        yield from _admission(rules, one.name)
        policies = record.of("kubernetes:networking.k8s.io/v1:NetworkPolicy")
        closed = [each.inputs["spec"] for each in policies if each.inputs["metadata"]["namespace"] == own]
        if not any(each.get("podSelector") == {} and "Ingress" in (each.get("policyTypes") or ()) for each in closed):
            yield Problem(id="KUB057", resource=one.name, message="every pod of the cluster reaches its pods")


def _bound_policies(record: Record, namespace: str) -> set[str]:
    """Return the names of the policies whose rules refuse pods of a namespace."""
    bindings = record.of("kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding")
    return {
        spec["policyName"]
        for spec in (one.inputs["spec"] for one in bindings)
        if spec.get("validationActions") == ["Deny"]
        and spec["matchResources"]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": namespace}
    }


@cache
def _admission(rules: tuple[Rule, ...], namespace: str) -> tuple[Problem, ...]:
    """Return whom the rules of a namespace let in that opens its node, and whom they refuse that does not."""
    try:
        refused = {what: refusal(rules, {"spec": spec}) is not None for what, spec in (*OPENING, *ORDINARY)}
    except NotEvaluatedError as error:
        # The API server takes no policy whose expression does not compile.
        return (Problem(id="KUB060", resource=namespace, message=f"an expression is no CEL: {error}"),)
    return (
        *(
            Problem(id="KUB056", resource=namespace, message=f"lets in pods {what}")
            for what, _ in OPENING
            if not refused[what]
        ),
        *(Problem(id="KUB059", resource=namespace, message=f"refuses {what}") for what, _ in ORDINARY if refused[what]),
    )


def _volumes(record: Record) -> Iterator[Problem]:
    for one in record.of(VOLUME):
        if one.inputs.get("spec", {}).get("persistentVolumeReclaimPolicy") != "Retain":
            yield Problem(id="KUB040", resource=one.name, message="the file system goes with its volume")
