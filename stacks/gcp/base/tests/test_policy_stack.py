"""The policy pack's rules of a whole stack: a right one passes, and each mistake is named."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

import cluster_parts
from job_pods import NAMES as OF_JOB_PODS
from rule import Registered
from rules import STACK_RULES
from stack_cases import resource, said, with_inputs, without
from volumes import claims_find_their_volumes

FIREWALL = "gcp:compute/firewall:Firewall"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
ACCOUNT = "gcp:serviceaccount/account:Account"
GRANT = "gcp:storage/bucketIAMMember:BucketIAMMember"
NODES, SERVICES = "10.0.0.0/16", "10.1.0.0/24"
STACK: Sequence[Registered] = (
    resource("network", "gcp:compute/network:Network"),
    resource("subnet", "gcp:compute/subnetwork:Subnetwork", {"ipCidrRange": NODES}, network="network"),
    resource("within", FIREWALL, {"sourceRanges": [NODES], "allows": [{"protocol": "all"}]}, network="network"),
    resource(
        "servers",
        FIREWALL,
        {"sourceRanges": [SERVICES], "allows": [{"protocol": "tcp", "ports": ["988"]}]},
        network="network",
    ),
    resource("shared", "gcp:lustre/instance:Instance", protect=True, network="network"),
    resource(
        "close", "gcp:compute/resourcePolicy:ResourcePolicy", {"groupPlacementPolicy": {"collocation": "COLLOCATED"}}
    ),
    resource("machine", ACCOUNT),
    resource("data", ACCOUNT),
    resource("logs", "gcp:projects/iAMMember:IAMMember", {"role": "roles/logging.logWriter"}, member="machine"),
    resource("bucket-right", GRANT, {"role": "roles/storage.objectUser"}, member="data"),
    resource(
        "template",
        TEMPLATE,
        {"resourcePolicies": "close"},
        resourcePolicies="close",
        serviceAccount="machine",
    ),
)
TO_MACHINES = resource("more", GRANT, {"role": "roles/storage.objectViewer"}, member="machine")
FOUNDATION = "urn:pulumi:s::p::pulumi:pulumi:StackReference::organization/gcp-gpu-foundation/s"
SERVICE, DOMAIN = "serviceAccount:", ".iam.gserviceaccount.com"
BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("nodes-reach-each-other", "network", without(STACK, "within")),
    ("nodes-reach-each-other", "network", with_inputs(STACK, "within", allows=[{"protocol": "tcp"}])),
    ("nodes-reach-each-other", "network", with_inputs(STACK, "within", sourceRanges=["10.0.0.0/24"])),
    (
        "nodes-reach-each-other",
        "network",
        [
            *STACK,
            resource(
                "closed",
                FIREWALL,
                {"sourceRanges": ["0.0.0.0/0"], "denies": [{"protocol": "udp"}], "priority": 900.0},
                network="network",
            ),
        ],
    ),
    ("lustre-is-let-through", "shared", without(STACK, "servers")),
    ("lustre-is-let-through", "shared", with_inputs(STACK, "servers", allows=[{"protocol": "tcp", "ports": ["989"]}])),
    ("lustre-is-let-through", "shared", with_inputs(STACK, "servers", disabled=True)),
    ("placement-is-used", "close", [replace(one, behind={}) if one.urn == "template" else one for one in STACK]),
    ("placement-is-used", "template", with_inputs(STACK, "template", resourcePolicies=None)),
    ("no-data-for-machines", "more", [*STACK, TO_MACHINES]),
    ("no-data-for-machines", "more", [*without(STACK, "logs"), TO_MACHINES]),
    ("no-data-for-machines", "more", [*without(STACK, "template"), TO_MACHINES]),
    ("no-data-for-machines", "more", [replace(TO_MACHINES, behind={"members": ("machine",)}), *STACK]),
    (
        "no-data-for-machines",
        "more",
        [*STACK, resource("more", GRANT, {"role": "r", "member": f"{SERVICE}compute"}, member=FOUNDATION)],
    ),
    (
        "no-data-for-machines",
        "more",
        [resource("more", GRANT, {"role": "roles/storage.objectUser", "member": f"{SERVICE}c@p{DOMAIN}"})],
    ),
    ("data-is-protected", "shared", [replace(one, protect=False) for one in STACK]),
]


def test_a_right_stack_passes() -> None:
    """With all of it, and without anything."""
    assert said(STACK_RULES, STACK) == said(STACK_RULES, ()) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), BROKEN)
def test_each_mistake_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(STACK_RULES, stack)


def test_what_a_reservation_places_needs_no_policy() -> None:
    """A specific reservation, or spot, has a placement of its own."""
    reserved = {"reservationAffinity": {"type": "SPECIFIC_RESERVATION"}, "resourcePolicies": None}
    assert ("placement-is-used", "template") not in said(STACK_RULES, with_inputs(STACK, "template", **reserved))


@pytest.mark.parametrize(
    "member",
    [
        f"{SERVICE}service-1@gcp-sa-lustre{DOMAIN}",
        "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/ns/a/sa/b",
        "group:research@example.com",
    ],
)
def test_who_is_no_machine_may_use_the_bucket(member: str) -> None:
    """Google's own agents, pods and people have rights on data; hosts of a TPU slice mount nothing, and so they too."""
    granted = resource("more", GRANT, {"role": "roles/storage.objectUser", "member": member})
    assert said(STACK_RULES, [*STACK, granted]) == set()
    assert said(STACK_RULES, [*STACK, TO_MACHINES, resource("slice", "gcp:tpu/v2Vm:V2Vm")]) == set()


def test_every_rule_is_broken() -> None:
    """No rule is without a mistake that it names, here or in a test file of its part."""
    of_parts = {rule.name for rule in (*cluster_parts.STACK_RULES, *claims_find_their_volumes())}
    assert {rule for rule, _, _ in BROKEN} == {rule.name for rule in STACK_RULES} - set(OF_JOB_PODS) - of_parts
