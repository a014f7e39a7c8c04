"""Names, places and lists of Azure's resources: each in its resource group and location, nothing twice or empty."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem
from .rules_azure_values import at

_AZURE = "azure-native:"
#: Types that are nowhere in particular.
_GLOBAL = ("PrivateZone", "VirtualNetworkLink", "ActionGroup", "ActivityLogAlert")
#: Types of the foundation that lie in the locked group of the data, by the last part of their token.
_DATA = ("Vault", "Key", "DiskEncryptionSet", "BlobContainer", "BlobServiceProperties", "AmlFilesystem")
#: A subnet has the file system's name too, and is the network's.
_IN_DATA_BY_NAME = (
    ("StorageAccount", "stsmall"),
    ("UserAssignedIdentity", "small-storage"),
    ("UserAssignedIdentity", "small-lustre"),
)
#: Property -> type that it names.
_PARENTS = {
    "virtualNetworkName": "network:VirtualNetwork",
    "accountName": "storage:StorageAccount",
    "serverName": "dbformysql:Server",
    "privateEndpointName": "network:PrivateEndpoint",
}
_DOMAINS = {
    "small-vault-zone": "privatelink.vaultcore.azure.net",
    "small-blob-zone": "privatelink.blob.core.windows.net",
    "small-database-zone": "privatelink.mysql.database.azure.com",
}
_IMAGE = "storageProfile.imageReference"
_SYSTEM = "osProfile"
_SET = "virtualMachineProfile."
_SSH = r"/home/[a-z][a-z0-9_-]*/\.ssh/authorized_keys"
_KEY = r"ssh-(ed25519|rsa) [A-Za-z0-9+/]+=*( .*)?"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PORTS = r"\*|\d{1,5}(-\d{1,5})?"
_EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"

#: Type, path -> pattern of the whole text that has to be there.
PATTERNS: Mapping[tuple[str, str], str] = {
    ("compute:DiskEncryptionSet", "activeKey.sourceVault.id"): r".*/vaults/.+",
    ("compute:DiskEncryptionSet", "activeKey.keyUrl"): r".+",
    ("compute:DiskEncryptionSet", "identity.type"): r"SystemAssigned",
    ("compute:VirtualMachine", "hardwareProfile.vmSize"): r"Standard_\w+",
    ("compute:VirtualMachine", "storageProfile.osDisk.deleteOption"): r"Delete",
    ("compute:VirtualMachine", "storageProfile.osDisk.managedDisk.storageAccountType"): r"Premium_LRS",
    ("compute:VirtualMachine", "storageProfile.osDisk.managedDisk.diskEncryptionSet.id"): r".*/diskEncryptionSets/.+",
    **{
        (kind, f"{before}{path}"): pattern
        for kind, before in (("compute:VirtualMachine", ""), ("compute:VirtualMachineScaleSet", _SET))
        for path, pattern in (
            (f"{_IMAGE}.publisher", r"microsoft-dsvm"),
            (f"{_IMAGE}.offer", r"ubuntu-hpc"),
            (f"{_IMAGE}.sku", r"2[24]04(-gb|-rocm)?"),
            (f"{_IMAGE}.version", r"\d+(\.\d+)+"),
            (f"{_SYSTEM}.adminUsername", r"clusteradmin"),
            (f"{_SYSTEM}.linuxConfiguration.ssh.publicKeys.0.path", _SSH.replace("[a-z][a-z0-9_-]*", "clusteradmin")),
            (f"{_SYSTEM}.linuxConfiguration.ssh.publicKeys.0.keyData", _KEY),
            (f"{_SYSTEM}.customData", r".+"),
        )
    },
    ("compute:VirtualMachineScaleSet", f"{_SET}{_SYSTEM}.computerNamePrefix"): r"small-g\d+",
    (
        "compute:VirtualMachineScaleSet",
        f"{_SET}storageProfile.osDisk.managedDisk.storageAccountType",
    ): r"Premium_LRS",
    (
        "compute:VirtualMachineScaleSet",
        f"{_SET}scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout",
    ): r"PT([5-9]|1[0-5])M",
    ("consumption:Budget", "scope"): rf"/subscriptions/{_UUID}",
    ("consumption:Budget", "timePeriod.startDate"): r"20\d\d-\d\d-01T00:00:00Z",
    ("dbformysql:Server", "administratorLogin"): r"slurm",
    ("dbformysql:Server", "version"): r"8\.0\.\d+",
    ("dbformysql:Server", "sku.name"): r"Standard_\w+",
    ("dbformysql:Server", "dataEncryption.primaryKeyURI"): r".+",
    ("dbformysql:Server", "identity.type"): r"UserAssigned",
    ("dbformysql:Server", "storage.autoGrow"): r"Enabled",
    ("dbformysql:Configuration", "source"): r"user-override",
    ("keyvault:Vault", "properties.tenantId"): _UUID,
    ("keyvault:Secret", "secretName"): r"small-(accounting-database|users)",
    ("monitor:ActivityLogAlert", "scopes.0"): rf"/subscriptions/{_UUID}",
    ("monitor:ActivityLogAlert", "condition.allOf.0.field"): r"category",
    ("monitor:ActivityLogAlert", "condition.allOf.0.equals"): r"ServiceHealth",
    (
        "monitor:ActivityLogAlert",
        "condition.allOf.1.field",
    ): r"properties\.impactedServices\[\*\]\.ImpactedRegions\[\*\]\.RegionName",
    ("monitor:ActivityLogAlert", "condition.allOf.1.containsAny.0"): r"[a-z]+\d?",
    ("monitor:ActivityLogAlert", "condition.allOf.1.containsAny.1"): r"Global",
    ("monitor:ActivityLogAlert", "actions.actionGroups.0.actionGroupId"): r".*/actionGroups/small-alerts",
    ("monitor:DiagnosticSetting", "logs.0.categoryGroup"): r"audit",
    ("monitor:DiagnosticSetting", "workspaceId"): r".*/workspaces/small-logs",
    ("network:FlowLog", "networkWatcherName"): r"NetworkWatcher_[a-z0-9]+",
    ("network:FlowLog", "resourceGroupName"): r"NetworkWatcherRG",
    ("network:PrivateDnsZoneGroup", "privateDnsZoneGroupName"): r"default",
    ("storage:BlobContainer", "containerName"): r"data|lustre-logs",
    ("storage:BlobServiceProperties", "blobServicesName"): r"default",
    ("storage:StorageAccount", "sku.name"): r"Standard_(LRS|ZRS)",
    ("storage:StorageAccount", "encryption.keyVaultProperties.keyVaultUri"): r".+",
    ("storagecache:AmlFilesystem", "maintenanceWindow.timeOfDayUTC"): r"([01]\d|2[0-3]):[0-5]\d",
}


def name_problems(record: Record) -> Iterator[Problem]:
    """Return what lies in the wrong place, has a wrong name, or is there twice."""
    location = next(
        str(one.inputs.get("location")) for one in record.resources if one.type == "pulumi:providers:azure-native"
    )
    if re.fullmatch(r"[a-z]+\d?", location) is None:
        yield Problem(id="AZ110", resource="provider", message=f"is for no location: {location}")
    names = {kind: {one.name for one in record.of(f"{_AZURE}{kind}")} for kind in _PARENTS.values()}
    for one in record.cloud_resources:
        if not one.type.startswith(_AZURE):
            continue
        yield from _place(one, location)
        for key, kind in _PARENTS.items():
            if key in one.inputs and names[kind] and one.inputs[key] not in names[kind]:
                yield Problem(
                    id="AZ111", resource=one.name, message=f"{key} is {one.inputs[key]}, which is none of ours"
                )
        yield from (
            Problem(id="AZ112", resource=one.name, message=f"{path} has an element twice")
            for path in _doubled(one.inputs, "")
        )
        if one.type.endswith(":PrivateZone") and one.inputs.get("privateZoneName") != _DOMAINS.get(one.name):
            yield Problem(id="AZ111", resource=one.name, message=f"is for {one.inputs.get('privateZoneName')}")
    for (kind, path), pattern in PATTERNS.items():
        for one in record.of(f"{_AZURE}{kind}"):
            found = at(one.inputs, path)
            if isinstance(found, str | None) and re.fullmatch(pattern, found or "") is None:
                yield Problem(id="AZ113", resource=one.name, message=f"{path} is {found}")
    yield from _shared_keys(record)
    yield from _rules(record)


def _place(one: Resource, location: str) -> Iterator[Problem]:
    kind = one.type.rpartition(":")[2]
    found = one.inputs.get("location")
    wanted = "Global" if kind in _GLOBAL else location
    if found is not None and found != wanted:
        yield Problem(id="AZ110", resource=one.name, message=f"is in {found}, not in {wanted}")
    group = one.inputs.get("resourceGroupName")
    if group is None or kind in ("FlowLog", "Secret"):
        return
    layer = re.search(r"azure-gpu-(foundation|cluster|nodes)", one.urn)
    own = "network" if layer is None or layer[1] == "foundation" else layer[1]
    if own == "network" and (kind in _DATA or (kind, one.name) in _IN_DATA_BY_NAME):
        own = "data"
    if group != f"small-{own}":
        yield Problem(id="AZ114", resource=one.name, message=f"is in resource group {group}, not in small-{own}")


def _doubled(value: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _doubled(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if any(item in value[:index] for index, item in enumerate(value)):
            yield path
        for index, item in enumerate(value):
            yield from _doubled(item, f"{path}[{index}]")


def _shared_keys(record: Record) -> Iterator[Problem]:
    imports = any("hsm" in one.inputs for one in record.of("azure-native:storagecache:AmlFilesystem"))
    for one in record.of("azure-native:storage:StorageAccount"):
        allowed = imports and one.name.startswith("st")
        if one.inputs.get("allowSharedKeyAccess") is not allowed:
            yield Problem(id="AZ115", resource=one.name, message="takes signatures of the account's key")


def _rules(record: Record) -> Iterator[Problem]:
    for group in record.of("azure-native:network:NetworkSecurityGroup"):
        for rule in group.inputs["securityRules"]:
            ports = rule.get("destinationPortRanges") or [rule.get("destinationPortRange")]
            if rule.get("sourcePortRange") != "*" or any(re.fullmatch(_PORTS, str(port)) is None for port in ports):
                yield Problem(id="AZ096", resource=group.name, message=f"{rule.get('name')} is for ports {ports}")
            denial = rule["access"] == "Deny"
            if denial and {rule.get("destinationAddressPrefix"), rule.get("sourceAddressPrefix"), *ports} != {"*"}:
                yield Problem(id="AZ096", resource=group.name, message=f"{rule.get('name')} does not deny everything")
    for group in record.of("azure-native:monitor:ActionGroup"):
        emails = [str(one.get("emailAddress")) for one in group.inputs.get("emailReceivers", ())]
        people = [*emails, *group.inputs.get("armRoleReceivers", ())]
        if not people or any(re.fullmatch(_EMAIL, email) is None for email in emails):
            yield Problem(id="AZ097", resource=group.name, message="tells nobody")
    for budget in record.of("azure-native:consumption:Budget"):
        for label, entry in (budget.inputs.get("notifications") or {}).items():
            if not any(str(target).endswith("/small-alerts") for target in entry.get("contactGroups") or ()):
                yield Problem(id="AZ097", resource=budget.name, message=f"{label} does not reach the action group")
