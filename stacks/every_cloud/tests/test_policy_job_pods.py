"""The policy pack's rules of the pods of jobs: a closed namespace passes, and each way to the node is named."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

from job_pods import ADMISSION, BINDING, NAMES, NAMESPACE, NETWORK_POLICY, pods_keep_off_the_node
from rule import UNKNOWN, Registered
from rules import STACK_RULES
from stack_cases import resource, said, with_inputs, without

METADATA, SETTINGS = "169.254.169.254", "168.63.129.16"
CLOSED = ((METADATA, 80), (SETTINGS, 80), (SETTINGS, 32526))
NETWORK, AMONG, IDENTITY = NAMES
LABELS = {"pod-security.kubernetes.io/enforce": "privileged"}
REFUSED = "!(has(object.spec.hostNetwork) && object.spec.hostNetwork)"


def network_policy(urn: str, *, selector: dict[str, Any] | None = None, **spec: Any) -> Registered:
    """A network policy of the namespace for what its pods reach."""
    whole = {"podSelector": selector or {}, "policyTypes": ["Egress"], **spec}
    return resource(urn, NETWORK_POLICY, {"metadata": {"name": urn, "namespace": "workload"}, "spec": whole})


def way(cidr: str, *ports: dict[str, Any], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """A rule that opens a range of addresses."""
    peer = {"ipBlock": {"cidr": cidr, **({"except": list(left_out)} if left_out else {})}}
    return {"to": [peer], **({"ports": list(ports)} if ports else {})}


OPENED = [
    {"to": [*way("0.0.0.0/0", left_out=(f"{METADATA}/32", f"{SETTINGS}/32"))["to"], {"namespaceSelector": {}}]},
    way(f"{SETTINGS}/32", {"port": 53.0, "protocol": "TCP"}, {"port": 53.0, "protocol": "UDP"}),
]
ADMISSION_RULES = {"failurePolicy": "Fail", "validations": [{"expression": "true"}, {"expression": REFUSED}]}
BOUND: dict[str, Any] = {
    "policyName": "workload-pods",
    "validationActions": ["Deny"],
    "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "workload"}}},
}
STACK: Sequence[Registered] = (
    resource("jobs", NAMESPACE, {"metadata": {"name": "workload", "labels": LABELS}}),
    resource("rules", ADMISSION, {"metadata": {"name": "workload-pods"}, "spec": ADMISSION_RULES}),
    resource("binding", BINDING, {"metadata": {"name": "workload-pods"}, "spec": BOUND}),
    network_policy("opened", egress=OPENED),
    network_policy("denied"),
    network_policy("among", policyTypes=["Ingress"], ingress=[{"from": [{"podSelector": {}}]}]),
    # Of other namespaces that name no level, nothing is known.
    resource("reports", NAMESPACE, {"metadata": {"name": "gpu-reports", "labels": {}}}),
)


def opened(*more: dict[str, Any]) -> list[Registered]:
    """The stack with more ways out of its namespace."""
    return [*STACK, network_policy("more", selector={"matchLabels": {"app": "x"}}, egress=list(more))]


def admitting(urn: str, **changes: Any) -> list[Registered]:
    """The stack with another rule of admission, or another binding of it."""
    (spec,) = (one.inputs["spec"] for one in STACK if one.urn == urn)
    return with_inputs(STACK, urn, spec={**spec, **changes})


BROKEN: list[tuple[str, Sequence[Registered]]] = [
    (NETWORK, without(STACK, "rules")),
    (NETWORK, without(STACK, "binding")),
    (NETWORK, admitting("rules", validations=[{"expression": "true"}])),
    (NETWORK, admitting("rules", validations=[{"expression": "has(object.spec.hostNetwork)"}])),
    (NETWORK, admitting("rules", failurePolicy="Ignore")),
    (NETWORK, admitting("binding", validationActions=["Audit"])),
    (NETWORK, admitting("binding", policyName="another")),
    (NETWORK, admitting("binding", matchResources={"namespaceSelector": {"matchLabels": {"team": "a"}}})),
    (IDENTITY, without(STACK, "opened", "denied")),
    # Pods that no policy selects reach everything.
    (
        IDENTITY,
        with_inputs(
            without(STACK, "denied"),
            "opened",
            spec={
                "podSelector": {"matchLabels": {"app": "x"}},
                "policyTypes": ["Egress"],
                "egress": OPENED,
            },
        ),
    ),
    (IDENTITY, with_inputs(without(STACK, "opened"), "denied", spec={"podSelector": {}, "policyTypes": ["Ingress"]})),
    (IDENTITY, opened({})),
    (IDENTITY, opened(way("0.0.0.0/0"))),
    (IDENTITY, opened(way("0.0.0.0/0", left_out=(f"{METADATA}/32",)))),
    (IDENTITY, opened(way("169.254.0.0/16", {"port": 80.0}))),
    (IDENTITY, opened(way(f"{SETTINGS}/32", {"port": 32000.0, "endPort": 33000.0, "protocol": "TCP"}))),
    (IDENTITY, opened(way(f"{SETTINGS}/32", {"protocol": "TCP"}))),
]


RIGHT: list[Sequence[Registered]] = [
    STACK,
    (),
    opened(way("10.0.0.0/8"), way(f"{METADATA}/32", {"port": 80.0, "protocol": "UDP"})),
    opened(way("0.0.0.0/0", {"port": 443.0}), {"to": [{"podSelector": {}}]}),
    admitting("rules", validations=[{"expression": UNKNOWN}]),
    admitting(
        "rules",
        validations=[
            {"expression": "object.spec.?hostNetwork.orValue(false) == false"},
            {"expression": "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"},
        ],
    ),
    # A level that refuses the host's network by itself.
    [
        one
        for one in with_inputs(
            STACK,
            "jobs",
            metadata={
                "name": "workload",
                "labels": {"pod-security.kubernetes.io/enforce": "baseline"},
            },
        )
        if one.urn == "jobs"
    ],
]


@pytest.mark.parametrize("stack", RIGHT)
def test_closed_namespaces_pass(stack: Sequence[Registered]) -> None:
    """Nothing is said of what the layers make, of nothing, and of further ways that lead elsewhere."""
    assert said(pods_keep_off_the_node(CLOSED), stack) == set()


@pytest.mark.parametrize(("rule", "stack"), BROKEN)
def test_each_way_to_the_node_is_named(rule: str, stack: Sequence[Registered]) -> None:
    """One rule names the namespace, and the other has nothing to say."""
    assert said(pods_keep_off_the_node(CLOSED), stack) == {(rule, "jobs")}


def test_a_namespace_of_jobs_without_a_level_is_open() -> None:
    """Kubernetes enforces nothing there."""
    bare = [resource("jobs", NAMESPACE, {"metadata": {"name": "workload"}})]
    assert said(pods_keep_off_the_node(CLOSED), bare) == {(NETWORK, "jobs"), (AMONG, "jobs"), (IDENTITY, "jobs")}


def test_where_the_cloud_keeps_pods_away_no_network_policy_is_wanted() -> None:
    """The rule of the host's network is there all the same, and the pack has it."""
    assert said(pods_keep_off_the_node(), without(STACK, "opened", "denied")) == set()
    assert {rule.name for rule in STACK_RULES} & set(NAMES) >= {NETWORK}


@pytest.mark.parametrize(
    "peers",
    [
        [],
        [{"namespaceSelector": {}}],
        [{"ipBlock": {"cidr": "0.0.0.0/0"}}],
        [{"podSelector": {}}, {"ipBlock": {"cidr": "::/0"}}],
    ],
)
def test_who_reaches_jobs_without_being_named_is_said(peers: list[dict[str, Any]]) -> None:
    """Policies add to each other: one that lets everybody in opens what another one closes."""
    more = network_policy("more", policyTypes=["Ingress"], ingress=[{"from": peers} if peers else {}])
    assert said(pods_keep_off_the_node(CLOSED), [*STACK, more]) == {(AMONG, "more")}


def test_jobs_that_no_policy_closes_are_named() -> None:
    """Without a policy for all pods of the namespace every other one reaches them."""
    assert said(pods_keep_off_the_node(CLOSED), without(STACK, "among")) == {(AMONG, "jobs")}


def test_who_is_named_may_reach_jobs() -> None:
    """A namespace with a label, an office's range and the pods themselves are let in on purpose."""
    named = [{"namespaceSelector": {"matchLabels": {"team": "a"}}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}]
    more = network_policy("more", policyTypes=["Ingress"], ingress=[{"from": named}])
    assert said(pods_keep_off_the_node(CLOSED), [*STACK, more]) == set()
