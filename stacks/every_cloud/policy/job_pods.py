"""What pods of jobs must not reach: the node's network, and the services that answer with the node's identity."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, ip_network
from typing import Any, cast

from rule import UNKNOWN, Registered, StackRule

NAMESPACE = "kubernetes:core/v1:Namespace"
ADMISSION = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
_LEVEL = "pod-security.kubernetes.io/enforce"
_NAME = "kubernetes.io/metadata.name"
#: Levels of pod security that refuse the network of the host by themselves; a namespace without one refuses nothing.
_CLOSED_LEVELS = ("baseline", "restricted", UNKNOWN)
_JOBS = "workload"
#: Of the rules: pods outside the host's network, pods that only their own reach, and closed services.
NAMES = ("jobs-off-the-hosts-network", "jobs-among-themselves", "jobs-off-the-nodes-identity")
#: Nobody who is let in on purpose has more addresses than this.
_SHORTEST_PREFIX = 8

#: Address, and the TCP port at which a service of the node answers.
Service = tuple[str, int]


def pods_keep_off_the_node(closed: Sequence[Service] = ()) -> tuple[StackRule, ...]:
    """The rules for the namespace of jobs, and for others that let any pod in by their level of pod security.

    Args:
        closed: what network policies have to keep from pods; empty where the cloud does that itself.
    """
    network = StackRule(
        name="jobs-off-the-hosts-network",
        description="Jobs do not run in the network of their node.",
        check=lambda resources: list(_of_the_host(resources)),
    )
    among = StackRule(
        name="jobs-among-themselves",
        description="Jobs are reached by pods that are named.",
        check=lambda resources: list(_reached_by_others(resources)),
    )
    services = StackRule(
        name="jobs-off-the-nodes-identity",
        description="Jobs do not reach the services that answer with the identity of their node.",
        check=_reaching(closed),
    )
    return (network, among, services) if closed else (network, among)


def _namespaces(resources: Sequence[Registered]) -> Iterator[tuple[str, str]]:
    """Yield URN and name of every namespace that admits any pod; another without a level may hold what needs it."""
    for one in resources:
        if one.type == NAMESPACE:
            metadata = _object(one.inputs.get("metadata"))
            level, name = _object(metadata.get("labels")).get(_LEVEL), str(metadata.get("name"))
            if level == "privileged" or (name == _JOBS and level not in _CLOSED_LEVELS):
                yield one.urn, name


def _of_the_host(resources: Sequence[Registered]) -> Iterator[tuple[str, str]]:
    refusing = {
        str(_object(one.inputs.get("metadata")).get("name"))
        for one in resources
        if one.type == ADMISSION and _refuses_the_hosts_network(_object(one.inputs.get("spec")))
    }
    bound = [_object(one.inputs.get("spec")) for one in resources if one.type == BINDING]
    for urn, name in _namespaces(resources):
        if not any(
            spec.get("policyName") in refusing
            and "Deny" in _texts(spec.get("validationActions"))
            and _selects(spec, name)
            for spec in bound
        ):
            yield urn, "admits pods with hostNetwork: they pass by every network policy and have the node's identity"


def _refuses_the_hosts_network(spec: Mapping[str, Any]) -> bool:
    expressions = [str(one.get("expression")) for one in _objects(spec.get("validations"))]
    return spec.get("failurePolicy") != "Ignore" and any(
        one == UNKNOWN or ("object.spec.hostNetwork" in one and ("!" in one or "false" in one)) for one in expressions
    )


def _selects(spec: Mapping[str, Any], name: str) -> bool:
    labels = _object(_object(_object(spec.get("matchResources")).get("namespaceSelector")).get("matchLabels"))
    return labels.get(_NAME) == name


def _reached_by_others(resources: Sequence[Registered]) -> Iterator[tuple[str, str]]:
    """Yield every namespace, or policy in it, by which others reach its pods: policies add to each other."""
    for urn, name in _namespaces(resources):
        ways_in = [
            one
            for one in resources
            if one.type == NETWORK_POLICY
            and _object(one.inputs.get("metadata")).get("namespace") == name
            and _is_inbound(_object(one.inputs.get("spec")))
        ]
        if not any(not _object(_object(one.inputs.get("spec")).get("podSelector")) for one in ways_in):
            yield urn, "lets every pod of the cluster reach its pods: no network policy is for all of them"
        for one in ways_in:
            for rule in _objects(_object(one.inputs.get("spec")).get("ingress")):
                for who in _others(rule):
                    yield one.urn, f"lets {who} reach pods of {name}"


def _is_inbound(spec: Mapping[str, Any]) -> bool:
    kinds = _texts(spec.get("policyTypes"))
    return "Ingress" in kinds or (not kinds and "ingress" in spec)


def _others(rule: Mapping[str, Any]) -> Iterator[str]:
    """Yield who is let in without being named."""
    peers = _objects(rule.get("from"))
    if not peers and rule.get("from") != UNKNOWN:
        yield "everybody"
    for peer in peers:
        if (
            "namespaceSelector" in peer
            and not _object(peer["namespaceSelector"])
            and not _object(peer.get("podSelector"))
        ):
            yield "pods of every namespace"
        block = str(_object(peer.get("ipBlock")).get("cidr", ""))
        try:
            network = ip_network(block, strict=False)
        except ValueError:
            continue
        if network.prefixlen == 0 or (network.prefixlen < _SHORTEST_PREFIX and not network.is_private):
            yield f"everybody ({block})"


def _reaching(closed: Sequence[Service]) -> Callable[[Sequence[Registered]], Sequence[tuple[str, str]]]:
    def check(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
        return [
            (urn, f"lets its pods reach {address} on port {port}, which answers with the node's identity")
            for urn, name in _namespaces(resources)
            for address, port in closed
            if _reached(resources, name, address, port)
        ]

    return check


def _reached(resources: Sequence[Registered], namespace: str, address: str, port: int) -> bool:
    """Whether any pod of a namespace reaches an address: policies add to each other, and no policy is no limit."""
    ways_out = [
        _object(one.inputs.get("spec"))
        for one in resources
        if one.type == NETWORK_POLICY
        and _object(one.inputs.get("metadata")).get("namespace") == namespace
        and "Egress" in _texts(_object(one.inputs.get("spec")).get("policyTypes"))
    ]
    for_every_pod = any(not _object(spec.get("podSelector")) for spec in ways_out)
    opened = any(_opens(rule, address, port) for spec in ways_out for rule in _objects(spec.get("egress")))
    return opened or not for_every_pod


def _opens(rule: Mapping[str, Any], address: str, port: int) -> bool:
    ports, peers = _objects(rule.get("ports")), _objects(rule.get("to"))
    if ports and not any(_has(one, port) for one in ports):
        return False
    return not peers or any(_holds(_object(one["ipBlock"]), address) for one in peers if "ipBlock" in one)


def _has(one: Mapping[str, Any], port: int) -> bool:
    """Whether a port of a rule is a TCP port: a missing one is every port, and a named one is no port of a node."""
    if one.get("protocol", "TCP") != "TCP":
        return False
    first = one.get("port")
    if not isinstance(first, int | float):
        return first is None
    return first <= port <= cast("float", one.get("endPort") or first)


def _holds(block: Mapping[str, Any], address: str) -> bool:
    def within(text: object) -> bool:
        try:
            return IPv4Address(address) in ip_network(str(text), strict=False)
        except ValueError:
            return False

    return within(block.get("cidr")) and not any(within(one) for one in _texts(block.get("except")))


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
