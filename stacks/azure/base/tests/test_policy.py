"""The policy pack's rules hold for the foundation, and each notices what it is for."""

from collections.abc import Callable
from typing import Any

import pytest

import cluster_parts
from recording import Program
from row_cases import never_broken, never_met
from rules import RULES
from wanted_kubernetes import KUBERNETES as OF_KUBERNETES
from wanted_values import VALUES

Run = Callable[..., Program]

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE: dict[str, Any] = {
    "osProfile": {"linuxConfiguration": {"disablePasswordAuthentication": True}},
    "storageProfile": {
        "imageReference": {"version": "1.0"},
        "osDisk": {"managedDisk": {"diskEncryptionSet": {"id": "set"}}},
    },
}
INTERFACES = {"networkInterfaceConfigurations": [{"name": "one", "enableAcceleratedNetworking": True}]}
SET: dict[str, Any] = {
    "sku": {"name": "Standard_ND96isr_H100_v5", "capacity": 300},
    "singlePlacementGroup": True,
    "overprovision": False,
    "virtualMachineProfile": {**MACHINE, "networkProfile": INTERFACES},
    "upgradePolicy": {"mode": "Manual"},
    "platformFaultDomainCount": 1.0,  # as the engine hands numbers over
    "tags": {"gpu-cluster": "x", "layer": "nodes"},
}


def messages(kind: str, inputs: dict[str, Any]) -> list[str]:
    """Return everything that the pack says of one resource, with the rule's name."""
    return [f"{rule.name}: {message}" for rule in RULES for message in rule.check(kind, inputs)]


def without(path: str, inputs: dict[str, Any] = SET) -> dict[str, Any]:
    """Return inputs without one of their parts."""
    head, _, rest = path.partition(".")
    if not rest:
        return {key: value for key, value in inputs.items() if key != head}
    return {**inputs, head: without(rest, inputs[head])}


def test_the_foundation_passes(run: Run) -> None:
    """No rule has anything against the foundation."""
    found = [
        f"{one.name}: {message}"
        for one in run("foundation").resources
        for message in messages(one.type, dict(one.inputs))
    ]
    assert found == []


def with_image(image: dict[str, str]) -> dict[str, Any]:
    """Return the good scale set with another image."""
    machine = SET["virtualMachineProfile"]
    storage = {**machine["storageProfile"], "imageReference": image}
    return {**SET, "virtualMachineProfile": {**machine, "storageProfile": storage}}


ACCOUNT = {
    "publicNetworkAccess": "Disabled",
    "allowBlobPublicAccess": False,
    "minimumTlsVersion": "TLS1_2",
    "enableHttpsTrafficOnly": True,
    "allowSharedKeyAccess": False,
    "encryption": {"keySource": "Microsoft.Keyvault"},
    "tags": SET["tags"],
}
VAULT = {
    "properties": {"enablePurgeProtection": True, "enableRbacAuthorization": True, "publicNetworkAccess": "Disabled"},
    "tags": SET["tags"],
}
LUSTRE_VAULT: dict[str, Any] = {
    "properties": {
        **VAULT["properties"],
        "publicNetworkAccess": "Enabled",
        "networkAcls": {"defaultAction": "Deny", "bypass": "AzureServices"},
    },
    "tags": {**SET["tags"], "opened-for": "lustre"},
}
LUSTRE: dict[str, Any] = {
    "encryptionSettings": {"keyEncryptionKey": {"keyUrl": "https://v.vault.azure.net/keys/k/0001"}},
    "tags": SET["tags"],
}
DATABASE = {
    "network": {"publicNetworkAccess": "Disabled"},
    "dataEncryption": {"type": "AzureKeyVault"},
    "tags": SET["tags"],
    "backup": {"backupRetentionDays": 14.0},
}
FLOW = {"enabled": True, "retentionPolicy": {"days": 30.0}, "tags": SET["tags"]}
WORKSPACE = {"retentionInDays": 30.0, "tags": SET["tags"]}
BLOBS = {
    "deleteRetentionPolicy": {"enabled": True, "days": 7.0},
    "containerDeleteRetentionPolicy": {"enabled": True},
}
SUBNET = {"networkSecurityGroup": {"id": "group"}, "defaultOutboundAccess": False}
OPEN = {"name": "ssh", "access": "Allow", "direction": "Inbound", "sourceAddressPrefix": "Internet"}
GRANT = {
    "roleDefinitionId": "/roleDefinitions/ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "scope": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
}
KUBERNETES: dict[str, Any] = {
    "apiServerAccessProfile": {"enablePrivateCluster": True, "disableRunCommand": True},
    "diskEncryptionSetID": "set",
    "disableLocalAccounts": True,
    "tags": SET["tags"],
    "enableRBAC": True,
    "aadProfile": {"managed": True, "enableAzureRBAC": True},
    "networkProfile": {"networkPolicy": "cilium", "outboundType": "userAssignedNATGateway"},
    "agentPoolProfiles": [{"name": "system", "maxPods": 30.0}],
    "securityProfile": {"azureKeyVaultKms": {"enabled": True}},
    "autoUpgradeProfile": {"upgradeChannel": "none", "nodeOSUpgradeChannel": "None"},
}
POOL: dict[str, Any] = {
    "vmSize": "Standard_ND96isr_H100_v5",
    "maxPods": 30.0,
    "gpuProfile": {"driver": "Install"},
    "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
    "upgradeSettings": {"maxUnavailable": "1", "maxSurge": "0"},
}
AUDIT: dict[str, Any] = {
    "logs": [{"category": "kube-audit-admin", "enabled": True}, {"category": "guard", "enabled": True}]
}
ADDRESS = {"publicIPAddressConfiguration": {"name": "x"}}
PUBLIC_INTERFACE = {"enableAcceleratedNetworking": True, "ipConfigurations": [ADDRESS]}
PUBLIC_SET = {"networkProfile": {"networkInterfaceConfigurations": [PUBLIC_INTERFACE]}}
MARKETPLACE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "1.0"}

VIOLATIONS: list[tuple[str, dict[str, Any], str]] = [
    (SCALE_SET, without("singlePlacementGroup"), "one-fabric: InfiniBand needs singlePlacementGroup"),
    (SCALE_SET, without("overprovision"), "one-fabric: surplus machines"),
    (SCALE_SET, {**SET, "sku": {"name": "Standard_ND96asr_v4", "capacity": 301}}, "one-fabric: 301 machines"),
    (SCALE_SET, {**SET, "zones": ["1", "2"]}, "one-zone: is spread over 2 zones"),
    (SCALE_SET, without("virtualMachineProfile.storageProfile.imageReference.version"), "fixed-image"),
    (
        SCALE_SET,
        without("virtualMachineProfile.storageProfile.osDisk.managedDisk.diskEncryptionSet"),
        "own-key-on-disks",
    ),
    (SCALE_SET, without("virtualMachineProfile.osProfile.linuxConfiguration"), "no-passwords"),
    (SCALE_SET, without("tags.layer"), "tags: has no tag layer"),
    (SCALE_SET, {**SET, "virtualMachineProfile": {**MACHINE, **PUBLIC_SET}}, "no-public-address-on-machines"),
    ("azure-native:compute:VirtualMachine", {**MACHINE, "tags": {"layer": "x"}}, "tags: has no tag gpu-cluster"),
    (
        "azure-native:network:NetworkInterface",
        {"ipConfigurations": [{"publicIPAddress": {"id": "x"}}], "tags": SET["tags"]},
        "no-public-address-on-machines",
    ),
    (
        "azure-native:network:NetworkSecurityGroup",
        {"securityRules": [OPEN], "tags": SET["tags"]},
        "ssh lets the Internet in",
    ),
    (
        "azure-native:network:NetworkSecurityGroup",
        {
            "securityRules": [{**OPEN, "sourceAddressPrefixes": ["0.0.0.0/1"], "sourceAddressPrefix": None}],
            "tags": SET["tags"],
        },
        "ssh lets the Internet in",
    ),
    ("azure-native:network:SecurityRule", {**OPEN, "tags": SET["tags"]}, "ssh lets the Internet in"),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "apiServerAccessProfile": {"enablePrivateCluster": False, "disableRunCommand": True}},
        "closed-api-server: the API server is open",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "apiServerAccessProfile": {"authorizedIPRanges": ["0.0.0.0/0"], "disableRunCommand": True}},
        "closed-api-server: lets 0.0.0.0/0",
    ),
    ("azure-native:containerservice:ManagedCluster", without("diskEncryptionSetID", KUBERNETES), "own-key-on-disks"),
    ("azure-native:containerservice:ManagedCluster", without("disableLocalAccounts", KUBERNETES), "no-passwords"),
    ("azure-native:containerservice:AgentPool", {**POOL, "enableNodePublicIP": True}, "nodes have public addresses"),
    ("azure-native:compute:Disk", {"encryption": {}, "tags": SET["tags"]}, "own-key-on-disks"),
    (
        "azure-native:compute:VirtualMachine",
        {**MACHINE, "storageProfile": {**MACHINE["storageProfile"], "dataDisks": [{"lun": 0}]}, "tags": SET["tags"]},
        "own-key-on-disks: data disk 0 lacks",
    ),
    ("azure-native:network:Subnet", without("networkSecurityGroup", SUBNET), "has no security group"),
    ("azure-native:network:Subnet", without("defaultOutboundAccess", SUBNET), "has Azure's own way out"),
    (
        "azure-native:network:VirtualNetwork",
        {"addressSpace": {"addressPrefixes": ["172.16.8.0/21"]}, "tags": SET["tags"]},
        "172.16.8.0/21 overlaps 172.16.0.0/16",
    ),
    ("azure-native:network:FlowLog", {**FLOW, "enabled": False}, "flow-logs-are-on"),
    ("azure-native:storage:StorageAccount", without("publicNetworkAccess", ACCOUNT), "takes public traffic"),
    ("azure-native:storage:StorageAccount", without("allowBlobPublicAccess", ACCOUNT), "may hold public containers"),
    ("azure-native:storage:StorageAccount", {**ACCOUNT, "minimumTlsVersion": "TLS1_0"}, "takes old TLS"),
    ("azure-native:storage:StorageAccount", without("encryption", ACCOUNT), "not encrypted with the cluster's key"),
    (
        "azure-native:storage:StorageAccount",
        {**ACCOUNT, "networkRuleSet": {"defaultAction": "Allow"}},
        "lets every network in",
    ),
    (
        "azure-native:keyvault:Vault",
        {**VAULT, "properties": {**VAULT["properties"], "networkAcls": {"defaultAction": "Allow"}}},
        "lets every network in",
    ),
    ("azure-native:storage:BlobContainer", {"publicAccess": "Blob"}, "closed-containers"),
    (
        "azure-native:authorization:RoleAssignment",
        {**GRANT, "roleDefinitionId": "/roleDefinitions/00482a5a-887f-4fb3-b363-3b7fe8e74483"},
        "gives the role Key Vault Administrator",
    ),
    ("azure-native:keyvault:Vault", without("properties.enablePurgeProtection", VAULT), "can be purged"),
    ("azure-native:keyvault:Vault", without("properties.enableRbacAuthorization", VAULT), "access policies"),
    ("azure-native:keyvault:Vault", without("properties.publicNetworkAccess", VAULT), "takes public traffic"),
    ("azure-native:keyvault:Vault", {**LUSTRE_VAULT, "tags": SET["tags"]}, "closed-vaults: takes public traffic"),
    (
        "azure-native:keyvault:Vault",
        without("properties.networkAcls.defaultAction", LUSTRE_VAULT),
        "closed-vaults: takes public traffic",
    ),
    (
        "azure-native:keyvault:Vault",
        {
            **LUSTRE_VAULT,
            "properties": {
                **LUSTRE_VAULT["properties"],
                "networkAcls": {"defaultAction": "Deny", "ipRules": [{"value": "0.0.0.0/0"}]},
            },
        },
        "closed-vaults: takes public traffic",
    ),
    (
        "azure-native:storagecache:AmlFilesystem",
        without("encryptionSettings", LUSTRE),
        "own-key-on-lustre: keyEncryptionKey is left out",
    ),
    ("azure-native:dbformysql:Server", without("network", DATABASE), "closed-databases: takes public traffic"),
    ("azure-native:dbformysql:Server", without("dataEncryption", DATABASE), "not encrypted with the cluster's key"),
    ("azure-native:authorization:ManagementLockByScope", {"level": "ReadOnly"}, "locks-forbid-deletion"),
    (
        "azure-native:authorization:RoleAssignment",
        {**GRANT, "roleDefinitionId": "/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"},
        "gives the role Contributor",
    ),
    (
        "azure-native:authorization:RoleAssignment",
        {**GRANT, "scope": "/subscriptions/s/resourceGroups/g"},
        "reaches all",
    ),
    ("azure-native:authorization:RoleDefinition", {"permissions": [{"actions": ["*/read"]}]}, "allows */read"),
    *(
        (SCALE_SET, with_image({**MARKETPLACE, "publisher": publisher}), f"the image of {publisher} has no driver")
        for publisher in ("Canonical", "almalinux", "MicrosoftWindowsServer")
    ),
    ("azure-native:containerservice:AgentPool", {**POOL, "gpuProfile": {"driver": "None"}}, "driver is None"),
    (
        SCALE_SET,
        without("virtualMachineProfile.networkProfile"),
        "fast-interfaces: enableAcceleratedNetworking is left",
    ),
    (SCALE_SET, {**SET, "platformFaultDomainCount": 5.0}, "one-scale-set: platformFaultDomainCount is 5"),
    (SCALE_SET, without("upgradePolicy"), "nodes-stay-under-jobs: upgradePolicy.mode is left out"),
    (SCALE_SET, {**SET, "upgradePolicy": {"mode": "Rolling"}}, "nodes-stay-under-jobs: upgradePolicy.mode is Rolling"),
    *(
        (
            "azure-native:containerservice:AgentPool",
            {**POOL, "maxPods": count},
            f"pods-have-addresses: maxPods is {said}",
        )
        for count, said in ((None, "left out"), (9.0, "9"), (251.0, "251"))
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "agentPoolProfiles": [{"name": "system", "maxPods": 300.0}]},
        "pods-have-addresses: maxPods is 300",
    ),
    ("azure-native:containerservice:AgentPool", {**POOL, "enableAutoScaling": True}, "pool-has-its-size"),
    (
        "azure-native:containerservice:AgentPool",
        {**POOL, "availabilityZones": ["1", "2", "3"]},
        "one-zone: is spread over 3 zones",
    ),
    (
        "azure-native:containerservice:AgentPool",
        without("nodeTaints", POOL),
        "gpu-nodes-are-tainted: the taint is left",
    ),
    (
        "azure-native:containerservice:AgentPool",
        {**POOL, "nodeTaints": ["nvidia.com/gpu=present:PreferNoSchedule"]},
        "gpu-nodes-are-tainted",
    ),
    ("azure-native:containerservice:ManagedCluster", without("enableRBAC", KUBERNETES), "access-by-roles: enableRBAC"),
    ("azure-native:containerservice:ManagedCluster", without("aadProfile", KUBERNETES), "access-by-roles: aadProfile"),
    (
        "azure-native:monitor:DiagnosticSetting",
        {"logs": [{"category": "kube-apiserver", "enabled": True}]},
        "audit-log: logs.category is kube-apiserver",
    ),
    (
        "azure-native:monitor:DiagnosticSetting",
        {"logs": [{**AUDIT["logs"][0], "enabled": False}]},
        "audit-log: logs.enabled is false",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        without("networkProfile.networkPolicy", KUBERNETES),
        "networks-of-pods-are-ruled",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "autoUpgradeProfile": {"upgradeChannel": "stable", "nodeOSUpgradeChannel": "None"}},
        "nodes-stay-under-jobs: autoUpgradeProfile.upgradeChannel is stable",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "autoUpgradeProfile": {"upgradeChannel": "none", "nodeOSUpgradeChannel": "NodeImage"}},
        "nodes-stay-under-jobs: autoUpgradeProfile.nodeOSUpgradeChannel is NodeImage",
    ),
    (
        "azure-native:storage:StorageAccount",
        {**ACCOUNT, "enableHttpsTrafficOnly": False},
        "storage-over-tls: enableHttpsTrafficOnly is false",
    ),
    ("azure-native:storage:StorageAccount", without("allowSharedKeyAccess", ACCOUNT), "storage-over-tls: allowShared"),
    *(
        (
            "azure-native:dbformysql:Configuration",
            {"configurationName": name, "value": value},
            f"database-over-tls: {name} is {value}",
        )
        for name, value in (("require_secure_transport", "OFF"), ("tls_version", "TLSv1.1,TLSv1.2"))
    ),
    *(
        (
            "azure-native:containerservice:AgentPool",
            {**POOL, "upgradeSettings": {**POOL["upgradeSettings"], name: value}},
            f"nodes-stay-under-jobs: upgradeSettings.{name} is {value}",
        )
        for name, value in (("maxUnavailable", "50%"), ("maxUnavailable", "24"), ("maxSurge", "100%"))
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        without("securityProfile", KUBERNETES),
        "encrypted-kubernetes-secrets: azureKeyVaultKms.enabled is left out",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        without("apiServerAccessProfile.disableRunCommand", KUBERNETES),
        "commands-by-the-network: disableRunCommand is left out",
    ),
    (
        "azure-native:containerservice:ManagedCluster",
        {**KUBERNETES, "networkProfile": {"networkPolicy": "cilium", "outboundType": "loadBalancer"}},
        "chosen-way-out: outboundType is loadBalancer",
    ),
    *(
        (
            "azure-native:keyvault:Vault",
            {**VAULT, "properties": {**VAULT["properties"], name: value}},
            f"deleted-data-comes-back: properties.{name} is",
        )
        for name, value in (("softDeleteRetentionInDays", 7.0), ("enableSoftDelete", False))
    ),
    *(
        (
            "azure-native:storage:BlobServiceProperties",
            {**BLOBS, name: policy},
            f"deleted-data-comes-back: {name}.{key}",
        )
        for name, policy, key in (
            ("deleteRetentionPolicy", {"enabled": False, "days": 7.0}, "enabled"),
            ("deleteRetentionPolicy", {"enabled": True, "days": 1.0}, "days"),
            ("containerDeleteRetentionPolicy", {"enabled": False}, "enabled"),
        )
    ),
    (
        "azure-native:dbformysql:Server",
        {**DATABASE, "backup": {"backupRetentionDays": 1.0}},
        "deleted-data-comes-back: backup.backupRetentionDays is 1",
    ),
    (
        "azure-native:operationalinsights:Workspace",
        {**WORKSPACE, "retentionInDays": 7.0},
        "logs-are-kept: retentionInDays is 7",
    ),
    (
        "azure-native:network:FlowLog",
        {**FLOW, "retentionPolicy": {"days": 1.0}},
        "logs-are-kept: retentionPolicy.days is 1",
    ),
]


RIGHT: list[tuple[str, dict[str, Any]]] = [
    (SCALE_SET, SET),
    (SCALE_SET, with_image(MARKETPLACE)),
    ("azure-native:containerservice:AgentPool", {**POOL, "enableAutoScaling": False}),
    ("azure-native:storage:StorageAccount", ACCOUNT),
    ("azure-native:keyvault:Vault", VAULT),
    (
        "azure-native:keyvault:Vault",
        {**VAULT, "properties": {**VAULT["properties"], "enableSoftDelete": True, "softDeleteRetentionInDays": 90.0}},
    ),
    ("azure-native:storage:BlobServiceProperties", BLOBS),
    ("azure-native:network:FlowLog", FLOW),
    ("azure-native:operationalinsights:Workspace", WORKSPACE),
    ("azure-native:keyvault:Vault", LUSTRE_VAULT),
    ("azure-native:storagecache:AmlFilesystem", LUSTRE),
    ("azure-native:dbformysql:Server", DATABASE),
    ("azure-native:network:Subnet", SUBNET),
    ("azure-native:authorization:RoleAssignment", GRANT),
    ("azure-native:containerservice:ManagedCluster", KUBERNETES),
    ("azure-native:containerservice:AgentPool", POOL),
    ("azure-native:monitor:DiagnosticSetting", AUDIT),
    # A vault writes down another category.
    ("azure-native:monitor:DiagnosticSetting", {"logs": [{"categoryGroup": "audit", "enabled": True}]}),
    # A pool of machines without accelerators needs neither a driver nor a taint.
    ("azure-native:containerservice:AgentPool", {"vmSize": "Standard_D8s_v5", "maxPods": 110.0}),
    ("azure-native:dbformysql:Configuration", {"configurationName": "require_secure_transport", "value": "on"}),
    ("azure-native:dbformysql:Configuration", {"configurationName": "tls_version", "value": "TLSv1.2,TLSv1.3"}),
    ("azure-native:dbformysql:Configuration", {"configurationName": "max_connections", "value": "200"}),
]


@pytest.mark.parametrize(("kind", "inputs"), RIGHT)
def test_what_is_right_passes(kind: str, inputs: dict[str, Any]) -> None:
    """The base cases of the table above are fine, so that what is noticed there is the one change."""
    assert messages(kind, inputs) == []


@pytest.mark.parametrize(("kind", "inputs", "part"), VIOLATIONS, ids=[part for _, _, part in VIOLATIONS])
def test_violations_are_noticed(kind: str, inputs: dict[str, Any], part: str) -> None:
    """Exactly one rule has exactly one message."""
    (message,) = messages(kind, inputs)
    assert part in message


def test_every_rule_is_in_the_table() -> None:
    """A rule that nothing violates here, in test_policy_kubernetes.py or in test_policy_parts.py, might notice nothing."""
    noticed = {message.partition(":")[0] for kind, inputs, _ in VIOLATIONS for message in messages(kind, inputs)}
    elsewhere = {row.name for row in OF_KUBERNETES} | {rule.name for rule in cluster_parts.RULES}
    assert noticed == {rule.name for rule in RULES} - elsewhere


def test_every_row_is_broken_and_met() -> None:
    """Of each row of the tables there is a case that it has to notice, and one that is right."""
    assert never_broken(VALUES, [(kind, inputs) for kind, inputs, _ in VIOLATIONS]) == []
    assert never_met(VALUES, RIGHT) == []
