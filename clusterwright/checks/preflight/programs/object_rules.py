"""What has to hold of Kubernetes objects that ask for no pods by themselves: services, policies, scaling, bindings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.programs import service_rules
from clusterwright.checks.preflight.programs.pod_rules import Found
from clusterwright.checks.preflight.scripts.manifests import Manifest, items, mapping
from clusterwright.checks.preflight.subject import Subject

_INTERNAL = re.compile(r"(?i)internal|private")
_OUTSIDE = ("false", "internet-facing", "external")


def object_problems(subject: Subject, found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Yield what is wrong with an object among those of the project's files."""
    rule = _RULES.get(one.kind)
    if rule is not None:
        yield from rule(found, one)
    for further in _OF_SERVICES.get(one.kind, ()):
        yield from further(subject, found, one)


def _service(_found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    limited = [text(each) for each in items(one.spec.get("loadBalancerSourceRanges"))]
    everybody = not limited or any(each.endswith("/0") for each in limited)
    if (
        one.spec.get("type") == "LoadBalancer"
        and everybody
        and not _is_inside(mapping(one.metadata.get("annotations")))
    ):
        yield Found(
            message="gets a public address: everybody reaches it",
            fix="type ClusterIP, or the annotation of an internal load balancer",
            about="LoadBalancer",
        )
    if one.spec.get("type") == "NodePort":
        yield Found(message="opens a port of every node", fix="type ClusterIP", about="NodePort")


def _is_inside(annotations: Mapping[str, Any]) -> bool:
    """Tell whether a load balancer is one of the network, by the annotations of the three clouds."""
    return any(
        _INTERNAL.search(f"{key} {value}") and text(value).lower() not in _OUTSIDE
        for key, value in annotations.items()
        if re.search("load-?balancer", key, re.IGNORECASE)
    )


def _network_policy(_found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    kinds = [text(each) for each in items(one.spec.get("policyTypes"))]
    if kinds and "Ingress" not in kinds and "ingress" in one.spec:
        yield Found(
            message="has rules of what comes in, and is not about it", fix="policyTypes: Ingress", about="policyTypes"
        )
    for rule in items(one.spec.get("ingress")):
        peers = [mapping(each) for each in items(mapping(rule).get("from"))]
        if not peers:
            yield Found(message="lets everybody reach its pods", fix="from: the pods that ask", about="ingress")
        for peer in peers:
            if _every_namespace(peer):
                yield Found(
                    message="lets pods of every namespace reach its pods",
                    fix="namespaceSelector: with labels",
                    about="namespaceSelector",
                )
            if text(mapping(peer.get("ipBlock")).get("cidr")).endswith("/0"):
                yield Found(message="lets every address reach its pods", fix="the addresses that ask", about="ipBlock")


def _every_namespace(peer: Mapping[str, Any]) -> bool:
    chosen = mapping(peer.get("namespaceSelector")) or mapping(peer.get("podSelector"))
    return "namespaceSelector" in peer and not chosen


def _scaling(found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    target = mapping(one.spec.get("scaleTargetRef"))
    wanted = (text(target.get("kind")), text(target.get("name")), one.namespace)
    if not any((each.kind, each.name, each.namespace) == wanted for each in found):
        yield Found(
            message=f"scales {wanted[1]}, which there is not", fix="name the Deployment", about="scaleTargetRef"
        )


def _deployment(_found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    wanted = mapping(mapping(one.spec.get("selector")).get("matchLabels"))
    labels = mapping(mapping(mapping(one.spec.get("template")).get("metadata")).get("labels"))
    if any(labels.get(key) != value for key, value in wanted.items()):
        yield Found(message="selects pods that it does not make", fix="labels of the template", about="matchLabels")


def _binding(_found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    if mapping(one.value.get("roleRef")).get("name") == "cluster-admin":
        yield Found(
            message="makes somebody administrator of the cluster", fix="a Role of what is needed", about="cluster-admin"
        )


_RULES: Mapping[str, Callable[[Sequence[Manifest], Manifest], Iterator[Found]]] = {
    "Service": _service,
    "NetworkPolicy": _network_policy,
    "ScaledObject": _scaling,
    "HorizontalPodAutoscaler": _scaling,
    "Deployment": _deployment,
    "ClusterRoleBinding": _binding,
}

_OF_SERVICES: Mapping[str, tuple[Callable[[Subject, Sequence[Manifest], Manifest], Iterator[Found]], ...]] = {
    "NetworkPolicy": (service_rules.ways_out,),
    "ScaledObject": (service_rules.scaled,),
    "HorizontalPodAutoscaler": (service_rules.scaled,),
    "Deployment": (service_rules.updates,),
    "PodDisruptionBudget": (service_rules.disruptions,),
    "Role": (service_rules.rights,),
    "ClusterRole": (service_rules.rights,),
    "ClusterQueue": (service_rules.queue,),
}
