"""The policy pack's rules of a whole stack: a right one passes, and each mistake is named."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import cluster_parts
import ways_out
from job_pods import NAMES as OF_JOB_PODS
from rule import Registered
from rules import STACK_RULES
from stack_cases import resource, said, with_inputs, without
from volumes import claims_find_their_volumes

GROUP = "azure-native:network:NetworkSecurityGroup"
NODES, LUSTRE = "10.40.0.0/20", "10.40.16.0/24"


def opening(name: str, direction: str, ends: tuple[str, str], ports: Sequence[str], order: int) -> dict[str, Any]:
    """A rule of a group that lets something through, from one end to the other."""
    source, target = ends
    return {
        "name": name,
        "priority": float(order),
        "direction": direction,
        "access": "Allow",
        "protocol": "*",
        "sourceAddressPrefix": source,
        "destinationAddressPrefix": target,
        "destinationPortRanges": list(ports),
    }


def closing(direction: str) -> dict[str, Any]:
    """A group's last rule."""
    last = opening("nothing-else", direction, ("*", "*"), ("*",), 4096)
    return {**last, "access": "Deny"}


PORTS = ("988", "1019-1023")
NODE_RULES = [
    opening("within", "Inbound", (NODES, NODES), ("*",), 100),
    opening("within-out", "Outbound", (NODES, NODES), ("*",), 100),
    opening("lustre", "Inbound", (LUSTRE, NODES), PORTS, 110),
    opening("lustre-out", "Outbound", (NODES, LUSTRE), PORTS, 110),
    closing("Inbound"),
    closing("Outbound"),
]
SERVER_RULES = [
    opening("clients", "Inbound", (NODES, LUSTRE), PORTS, 100),
    opening("clients-out", "Outbound", (LUSTRE, NODES), PORTS, 100),
    opening("within", "Inbound", (LUSTRE, LUSTRE), PORTS, 110),
    opening("within-out", "Outbound", (LUSTRE, LUSTRE), PORTS, 110),
    closing("Inbound"),
    closing("Outbound"),
]
FOUNDATION = "urn:pulumi:s::p::pulumi:pulumi:StackReference::organization/azure-gpu-foundation/s"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
SECRETS, READER, WRITER = (
    "4633458b-17de-408a-b874-0445c86b69e6",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
)


def granted(urn: str, role: str, *, kind: str = "ServicePrincipal", to: str = "") -> Registered:
    """A role given to somebody."""
    given = {"roleDefinitionId": f"/subscriptions/s/providers/x/roleDefinitions/{role}", "principalType": kind}
    made = resource(urn, "azure-native:authorization:RoleAssignment", given)
    return replace(made, behind={"principalId": (to,)}) if to else made


SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
STACK: Sequence[Registered] = (
    resource("network", "azure-native:network:VirtualNetwork"),
    resource("flow", "azure-native:network:FlowLog", targetResourceId="network"),
    resource("data", "azure-native:resources:ResourceGroup", {"tags": {"layer": "foundation"}}),
    resource("lock", "azure-native:authorization:ManagementLockByScope", scope="data"),
    resource("node-rules", GROUP, {"securityRules": NODE_RULES}),
    resource("server-rules", GROUP, {"securityRules": SERVER_RULES}),
    resource("node-subnet", "azure-native:network:Subnet", {"addressPrefix": NODES}, networkSecurityGroup="node-rules"),
    resource(
        "lustre-subnet", "azure-native:network:Subnet", {"addressPrefix": LUSTRE}, networkSecurityGroup="server-rules"
    ),
    resource(
        "shared",
        "azure-native:storagecache:AmlFilesystem",
        protect=True,
        filesystemSubnet="lustre-subnet",
        resourceGroupName="data",
    ),
    resource("zone", "azure-native:privatedns:PrivateZone"),
    resource("link", "azure-native:privatedns:VirtualNetworkLink", privateZoneName="zone"),
    resource("nodes", SCALE_SET, {"singlePlacementGroup": True}, virtualMachineProfile="node-subnet"),
    resource("machine", IDENTITY),
    granted("machine-secret", SECRETS, to="machine"),
    resource("data-identity", IDENTITY),
    granted("data-right", WRITER, to="data-identity"),
    # Azure's own, such as that of Lustre.
    granted("azures", WRITER),
)


def ruled(urn: str, rules: Sequence[dict[str, Any]], *left_out: str) -> list[Registered]:
    """The stack with a group that lacks some of its rules."""
    return with_inputs(STACK, urn, securityRules=[one for one in rules if one["name"] not in left_out])


BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("nodes-reach-each-other", "node-rules", ruled("node-rules", NODE_RULES, "within")),
    ("nodes-reach-each-other", "node-rules", ruled("node-rules", NODE_RULES, "within-out")),
    (
        "nodes-reach-each-other",
        "node-rules",
        ruled("node-rules", [{**one, "protocol": "Tcp"} if one["name"] == "within" else one for one in NODE_RULES]),
    ),
    *(
        ("lustre-is-let-through", group, ruled(group, rules, name))
        for group, rules, names in (
            ("node-rules", NODE_RULES, ("lustre", "lustre-out")),
            ("server-rules", SERVER_RULES, ("clients", "clients-out", "within", "within-out")),
        )
        for name in names
    ),
    (
        "lustre-is-let-through",
        "server-rules",
        ruled(
            "server-rules", [opening("first", "Inbound", (NODES, LUSTRE), ("1019-1023",), 90), *SERVER_RULES], "clients"
        ),
    ),
    ("one-infiniband-domain", "nodes", with_inputs(STACK, "nodes", proximityPlacementGroup={"id": "near"})),
    ("names-resolve", "zone", without(STACK, "link")),
    ("data-is-locked", "data", without(STACK, "lock")),
    *(
        ("no-data-for-machines", "more", [*STACK, granted("more", role, to=whose)])
        for role, whose in ((WRITER, "machine"), (READER, "machine"), (READER, "nodes"), (WRITER, FOUNDATION))
    ),
    ("no-data-for-machines", "more", [granted("more", WRITER)]),
    ("data-is-protected", "shared", [replace(one, protect=False) for one in STACK]),
]


def test_a_right_stack_passes() -> None:
    """With all of it, and without anything."""
    assert said(STACK_RULES, STACK) == said(STACK_RULES, ()) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), BROKEN)
def test_each_mistake_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(STACK_RULES, stack)


def test_people_and_other_identities_may_use_the_data() -> None:
    """A layer without the machines' identities may make others, and give people what they need."""
    layer = [resource("own", IDENTITY), granted("right", WRITER, to="own"), granted("p", READER, kind="User")]
    assert said(STACK_RULES, layer) == set()


def test_every_rule_is_broken() -> None:
    """No rule is without a mistake that it names, here or in a test file of its part."""
    of_parts = {rule.name for rule in (*ways_out.STACK_RULES, *cluster_parts.STACK_RULES, *claims_find_their_volumes())}
    assert {rule for rule, _, _ in BROKEN} == {rule.name for rule in STACK_RULES} - set(OF_JOB_PODS) - of_parts
