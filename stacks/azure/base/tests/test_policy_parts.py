"""The policy pack's rules of what belongs together on Azure: ways out, names, locks, rights, and parts of a cluster."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import cluster_parts
import ways_out
from rule import UNKNOWN, Registered
from stack_cases import resource, said, with_inputs, without

SUBNET, POOL = "azure-native:network:Subnet", "azure-native:containerservice:AgentPool"
GROUP, ZONE = "azure-native:network:NetworkSecurityGroup", "azure-native:privatedns:PrivateZone"
SCALE_SET, GRANT = "azure-native:compute:VirtualMachineScaleSet", "azure-native:authorization:RoleAssignment"
IDENTITY, LOCK = "azure-native:managedidentity:UserAssignedIdentity", "azure-native:authorization:ManagementLockByScope"
SETTING, SERVER = "azure-native:monitor:DiagnosticSetting", "azure-native:dbformysql:Server"
DENY = {
    "access": "Deny",
    "direction": "Inbound",
    "protocol": "*",
    "sourceAddressPrefix": "*",
    "destinationPortRange": "*",
}
CONNECTION = {"privateLinkServiceConnections": [{"groupIds": ["vault"]}]}
NETWORK: Sequence[Registered] = (
    resource("network", "azure-native:network:VirtualNetwork"),
    resource("flow", "azure-native:network:FlowLog", targetResourceId="network"),
    resource("nat", "azure-native:network:NatGateway"),
    resource("nodes", SUBNET, {"natGateway": {"id": "nat"}}),
    resource("endpoints", SUBNET),
    resource("rules", GROUP, {"securityRules": [DENY]}),
    resource("zone", ZONE, {"privateZoneName": "privatelink.vaultcore.azure.net"}),
    resource("endpoint", "azure-native:network:PrivateEndpoint", CONNECTION),
    resource(
        "names",
        "azure-native:network:PrivateDnsZoneGroup",
        privateEndpointName="endpoint",
        privateDnsZoneConfigs="zone",
    ),
    resource("shared", "azure-native:storagecache:AmlFilesystem", {"zones": ["1"]}),
    resource("machines", SCALE_SET, {"zones": ["1"]}, virtualMachineProfile="nodes"),
)
NETWORK_BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("ways-out-of-machines", "nodes", with_inputs(NETWORK, "nodes", natGateway=None)),
    ("names-fit-endpoints", "zone", with_inputs(NETWORK, "zone", privateZoneName="privatelink.vault.azure.net")),
    ("names-fit-endpoints", "other", [*NETWORK, resource("other", "azure-native:network:PrivateEndpoint", CONNECTION)]),
    ("the-rest-is-denied", "rules", with_inputs(NETWORK, "rules", securityRules=[{**DENY, "access": "Allow"}])),
    (
        "the-rest-is-denied",
        "rules",
        with_inputs(NETWORK, "rules", securityRules=[{**DENY, "destinationPortRange": "22"}]),
    ),
    ("zone-of-the-data", "machines", with_inputs(NETWORK, "machines", zones=["2"])),
    ("zone-of-the-data", "pool", [*NETWORK, resource("pool", POOL, {"availabilityZones": ["3"]})]),
    ("networks-are-watched", "network", without(NETWORK, "flow")),
]
WRITER, READER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "4633458b-17de-408a-b874-0445c86b69e6"
BLOBS, ACCOUNT = "ba92f5b4-2d11-453d-a403-e96b0029c9fe", "17d1049b-9a84-46fb-8f53-869881c3d3ab"


def granted(urn: str, role: str, to: str) -> Registered:
    """A role given to an identity."""
    return resource(urn, GRANT, {"roleDefinitionId": f"/x/roleDefinitions/{role}"}, principalId=to)


def audit(urn: str, of: str, **changes: Any) -> Registered:
    """A setting that writes down who used a resource."""
    given = {"workspaceId": "w", "logs": [{"categoryGroup": "audit", "enabled": True}], **changes}
    return resource(urn, SETTING, given, resourceUri=of)


TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
ADAPTERS: dict[str, Any] = {
    "spec": {
        "tolerations": TOLERATED,
        "ofedDriver": {"version": "25.10-1"},
        "rdmaSharedDevicePlugin": {
            "version": "v25.10.0",
            "config": '{"configList": [{"resourceName": "x", "selectors": {"linkTypes": ["infiniband"]}}]}',
        },
    }
}


def adapters(**changes: Any) -> dict[str, Any]:
    """What offers the adapters, with parts of it changed."""
    return {"spec": {**ADAPTERS["spec"], **changes}}


PARTS: Sequence[Registered] = (
    *(resource(name, IDENTITY) for name in ("controller", "compute", "login", "jobs")),
    granted("writes", WRITER, "controller"),
    granted("reads", READER, "compute"),
    resource("machines", SCALE_SET, identity="compute"),
    resource(
        "token",
        "azure-native:managedidentity:FederatedIdentityCredential",
        {"subject": "system:serviceaccount:a:b"},
        resourceName="jobs",
    ),
    granted("data", BLOBS, "jobs"),
    resource("vault", "azure-native:keyvault:Vault"),
    audit("vault-audit", "vault"),
    resource("database", SERVER),
    audit("database-audit", "database"),
    resource("lock", LOCK, scope="database"),
    resource(
        "pool",
        POOL,
        {
            "vmSize": "Standard_ND96isr_H100_v5",
            "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
            "gpuProfile": {"driver": "Install"},
        },
    ),
    resource(
        "plugin",
        "kubernetes:helm.sh/v3:Release",
        {"chart": "nvidia-device-plugin", "values": {"tolerations": TOLERATED}},
    ),
    resource("adapters", "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy", ADAPTERS),
)
PARTS_BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("one-writer-of-secrets", "more", [*PARTS, granted("more", WRITER, "login")]),
    (
        "one-writer-of-secrets",
        "writes",
        [granted("writes", WRITER, "compute") if one.urn == "writes" else one for one in PARTS],
    ),
    ("rights-of-jobs", "data", [granted("data", ACCOUNT, "jobs") if one.urn == "data" else one for one in PARTS]),
    ("records-are-locked", "database", without(PARTS, "lock")),
    ("use-is-written-down", "vault", without(PARTS, "vault-audit")),
    (
        "use-is-written-down",
        "database",
        [
            audit("database-audit", "database", logs=[{"categoryGroup": "audit", "enabled": False}])
            if one.urn == "database-audit"
            else one
            for one in PARTS
        ],
    ),
    (
        "use-is-written-down",
        "vault",
        [audit("vault-audit", "vault", workspaceId=None) if one.urn == "vault-audit" else one for one in PARTS],
    ),
    ("budgets-stay", "budget", [*PARTS, resource("budget", "azure-native:consumption:Budget")]),
    ("devices-are-offered", "pool", without(PARTS, "plugin")),
    ("devices-are-offered", "pool", without(PARTS, "adapters")),
    (
        "one-driver",
        "operator",
        [*PARTS, resource("operator", "kubernetes:helm.sh/v3:Release", {"chart": "gpu-operator"})],
    ),
    *(
        ("adapters-of-the-fabric", "adapters", with_inputs(PARTS, "adapters", **adapters(**changes)))
        for changes in (
            {"tolerations": []},
            {"ofedDriver": None},
            {"ofedDriver": {"version": "latest"}},
            {"rdmaSharedDevicePlugin": None},
            {"rdmaSharedDevicePlugin": {"config": '{"configList": [{"selectors": {"linkTypes": ["ether"]}}]}'}},
        )
    ),
]


@pytest.mark.parametrize("stack", [NETWORK, (), without(NETWORK, "nat", "nodes")])
def test_a_right_network_passes(stack: Sequence[Registered]) -> None:
    """With a NAT gateway, without anything, and where nothing is meant to get out."""
    assert said(ways_out.STACK_RULES, stack) == set()


def test_whole_parts_pass() -> None:
    """With every part, and without anything; a lock on the group of a database is one, too."""
    assert said(cluster_parts.STACK_RULES, PARTS) == said(cluster_parts.STACK_RULES, ()) == set()
    kept = replace(resource("budget", "azure-native:consumption:Budget"), ignores=("timePeriod",))
    assert said(cluster_parts.STACK_RULES, [*PARTS, kept]) == set()
    grouped = [
        replace(one, behind={"resourceGroupName": ("group",)}) if one.urn == "database" else one
        for one in without(PARTS, "lock")
    ]
    assert said(cluster_parts.STACK_RULES, [*grouped, resource("lock", LOCK, scope="group")]) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), [*NETWORK_BROKEN, *PARTS_BROKEN])
def test_each_mistake_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said((*ways_out.STACK_RULES, *cluster_parts.STACK_RULES), stack)


BUDGET, TELLS = "azure-native:consumption:Budget", {"enabled": True, "threshold": 80.0, "contactGroups": ["g"]}
RECEIVER, CREDENTIAL = "azure-native:monitor:ActionGroup", "azure-native:managedidentity:FederatedIdentityCredential"
RIGHT: list[tuple[str, dict[str, Any]]] = [
    (BUDGET, {"notifications": {"early": TELLS, "late": {**TELLS, "threshold": 150.0}}}),
    (BUDGET, {"notifications": UNKNOWN}),
    (RECEIVER, {"enabled": True, "armRoleReceivers": [{"name": "owners"}]}),
    ("azure-native:logic:Workflow", {"state": "Enabled"}),
    (CREDENTIAL, {"subject": "system:serviceaccount:workload:workload"}),
    (CREDENTIAL, {"subject": UNKNOWN}),
    (
        POOL,
        {
            "vmSize": "Standard_ND96isr_H100_v5",
            "nodeTaints": ["nvidia.com/gpu=present:NoSchedule", "team=x:NoSchedule"],
        },
    ),
    (POOL, {"vmSize": "Standard_ND96isr_MI300X_v5", "nodeTaints": ["amd.com/gpu=present:NoSchedule"]}),
    (POOL, {"vmSize": "Standard_D8s_v5"}),
]
WRONG: list[tuple[str, dict[str, Any], str]] = [
    (BUDGET, {"notifications": {"early": {**TELLS, "enabled": False}}}, "told-in-time"),
    (BUDGET, {"notifications": {"early": {"enabled": True, "threshold": 80.0}}}, "told-in-time"),
    (BUDGET, {"notifications": {"late": {**TELLS, "threshold": 500.0}}}, "told-in-time"),
    (RECEIVER, {"enabled": False, "armRoleReceivers": [{"name": "owners"}]}, "told-in-time"),
    (RECEIVER, {"enabled": True}, "told-in-time"),
    ("azure-native:monitor:ActivityLogAlert", {"enabled": False}, "told-in-time"),
    ("azure-native:logic:Workflow", {"state": "Disabled"}, "told-in-time"),
    (CREDENTIAL, {"subject": "system:serviceaccount:workload:*"}, "named-accounts"),
    (
        POOL,
        {"vmSize": "Standard_ND96isr_H100_v5", "nodeTaints": ["amd.com/gpu=present:NoSchedule"]},
        "taints-of-the-vendor",
    ),
]


@pytest.mark.parametrize(("kind", "inputs"), RIGHT)
def test_what_is_right_passes(kind: str, inputs: dict[str, Any]) -> None:
    """Nothing is said of what tells somebody in time, and of names that are whole."""
    assert [rule.name for rule in cluster_parts.RULES if rule.check(kind, inputs)] == []


@pytest.mark.parametrize(("kind", "inputs", "name"), WRONG)
def test_each_mistake_is_noticed(kind: str, inputs: dict[str, Any], name: str) -> None:
    """One rule says something of a single mistake."""
    assert [rule.name for rule in cluster_parts.RULES if rule.check(kind, inputs)] == [name]


def test_every_rule_is_broken() -> None:
    """No rule of these modules is without a mistake that it names."""
    assert {name for _, _, name in WRONG} == {rule.name for rule in cluster_parts.RULES}
    stack_rules = {rule.name for rule in (*ways_out.STACK_RULES, *cluster_parts.STACK_RULES)}
    assert {rule for rule, _, _ in (*NETWORK_BROKEN, *PARTS_BROKEN)} == stack_rules
