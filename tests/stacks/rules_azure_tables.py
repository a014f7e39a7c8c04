"""What Azure's resources of this cluster always are: tables for `rules_azure_values`."""

from collections.abc import Mapping
from typing import Any

_SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
_SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
_KEY_USER = "e147488a-f6f5-4113-8e2d-b22465e65bf6"
_BLOBS = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"

#: Name of a grant -> whose it is, role, and what it is on; those of the layer `cluster` only where it has a database.
GRANTS: Mapping[str, tuple[str, str, str]] = {
    "disks-key": ("disks", _KEY_USER, "/keys/"),
    "storage-key": ("storage", _KEY_USER, "/keys/"),
    "lustre-key": ("lustre", _KEY_USER, "/keys/"),
    "accounting-key": ("accounting", _KEY_USER, "/keys/"),
    "flow-logs-write": ("flow-logs", _BLOBS, "/flsmall"),
    "controller-secret": ("controller", _SECRETS_OFFICER, "/svsmall"),
    "login-secret": ("login", _SECRETS_USER, "/svsmall"),
    "compute-secret": ("compute", _SECRETS_USER, "/svsmall"),
    "data-bucket": ("data", _BLOBS, "ontainers/"),
    "controller-accounting": ("controller", _SECRETS_USER, "/secrets/small-accounting"),
}
#: Grants that come with something else: name of the grant -> type of what it belongs to.
WITH = {
    "accounting-key": "azure-native:dbformysql:Server",
    "controller-accounting": "azure-native:dbformysql:Server",
    "flow-logs-write": "azure-native:network:FlowLog",
    "data-bucket": "azure-native:compute:VirtualMachine",
}

#: Type and end of the name, path -> end of the id that has to be there.
REFERENCES: Mapping[tuple[str, str, str], str] = {
    ("network:Subnet", "-nodes", "networkSecurityGroup.id"): "/small-nodes-rules",
    ("network:Subnet", "-lustre", "networkSecurityGroup.id"): "/small-lustre-rules",
    ("network:Subnet", "-endpoints", "networkSecurityGroup.id"): "/small-endpoints-rules",
    ("network:NatGateway", "-nat", "publicIpAddresses.0.id"): "/small-nat-address",
    ("network:BastionHost", "-bastion", "ipConfigurations.0.publicIPAddress.id"): "/small-bastion-address",
    ("network:BastionHost", "-bastion", "ipConfigurations.0.subnet.id"): "/small-bastion",
    ("network:FlowLog", "-flow-logs", "storageId"): "/flsmall",
    ("network:FlowLog", "-flow-logs", "identity.userAssignedIdentities.0"): "/small-flow-logs",
    ("network:PrivateDnsZoneGroup", "-keys-names", "privateDnsZoneConfigs.0.privateDnsZoneId"): "/small-vault-zone",
    ("network:PrivateDnsZoneGroup", "-secret-names", "privateDnsZoneConfigs.0.privateDnsZoneId"): "/small-vault-zone",
    ("network:PrivateDnsZoneGroup", "-blob-names", "privateDnsZoneConfigs.0.privateDnsZoneId"): "/small-blob-zone",
    (
        "network:PrivateDnsZoneGroup",
        "-accounting-names",
        "privateDnsZoneConfigs.0.privateDnsZoneId",
    ): "/small-database-zone",
    ("compute:VirtualMachine", "-controller", "identity.userAssignedIdentities.0"): "/small-controller",
    ("compute:VirtualMachine", "-login", "identity.userAssignedIdentities.0"): "/small-login",
    ("compute:VirtualMachine", "-controller", "networkProfile.networkInterfaces.0.id"): "/small-controller",
    ("compute:VirtualMachine", "-login", "networkProfile.networkInterfaces.0.id"): "/small-login",
    ("compute:VirtualMachineScaleSet", "", "identity.userAssignedIdentities.0"): "/small-compute",
    ("dbformysql:Server", "", "identity.userAssignedIdentities.0"): "/small-accounting",
    ("dbformysql:Server", "", "dataEncryption.primaryUserAssignedIdentityId"): "/small-accounting",
    ("storagecache:AmlFilesystem", "", "identity.userAssignedIdentities.0"): "/small-lustre",
    ("storagecache:AmlFilesystem", "", "encryptionSettings.keyEncryptionKey.sourceVault.id"): "/lvsmall",
    ("storage:StorageAccount", "", "identity.userAssignedIdentities.0"): "/small-storage",
    ("storage:StorageAccount", "", "encryption.encryptionIdentity.encryptionUserAssignedIdentity"): "/small-storage",
    ("authorization:ManagementLockByScope", "-data-lock", "scope"): "/small-data",
    ("authorization:ManagementLockByScope", "-accounting-lock", "scope"): "/servers/small-accounting",
}
#: The same for what lies in the network that is made here; in a network that exists the ids are the user's.
IN_OUR_NETWORK: Mapping[tuple[str, str, str], str] = {
    ("network:NetworkInterface", "", "ipConfigurations.0.subnet.id"): "/small-nodes",
    ("network:PrivateEndpoint", "", "subnet.id"): "/small-endpoints",
    (
        "compute:VirtualMachineScaleSet",
        "",
        "virtualMachineProfile.networkProfile.networkInterfaceConfigurations.0.ipConfigurations.0.subnet.id",
    ): "/small-nodes",
    ("storagecache:AmlFilesystem", "", "filesystemSubnet"): "/small-lustre",
    ("privatedns:VirtualNetworkLink", "", "virtualNetwork.id"): "/small-vnet",
}

_INTERFACE = "virtualMachineProfile.networkProfile.networkInterfaceConfigurations.0"
#: Type, path -> the one value that is right.
VALUES: Mapping[tuple[str, str], Any] = {
    ("compute:DiskEncryptionSet", "rotationToLatestKeyVersionEnabled"): True,
    ("compute:DiskEncryptionSet", "encryptionType"): "EncryptionAtRestWithCustomerKey",
    ("compute:VirtualMachine", "diagnosticsProfile.bootDiagnostics.enabled"): True,
    ("compute:VirtualMachine", "networkProfile.networkInterfaces.0.primary"): True,
    ("compute:VirtualMachine", "identity.type"): "UserAssigned",
    ("compute:VirtualMachineScaleSet", "virtualMachineProfile.diagnosticsProfile.bootDiagnostics.enabled"): True,
    ("compute:VirtualMachineScaleSet", f"{_INTERFACE}.enableAcceleratedNetworking"): True,
    ("compute:VirtualMachineScaleSet", f"{_INTERFACE}.enableIPForwarding"): False,
    ("compute:VirtualMachineScaleSet", f"{_INTERFACE}.primary"): True,
    ("compute:VirtualMachineScaleSet", f"{_INTERFACE}.ipConfigurations.0.primary"): True,
    ("compute:VirtualMachineScaleSet", "sku.tier"): "Standard",
    ("compute:VirtualMachineScaleSet", "identity.type"): "UserAssigned",
    ("consumption:Budget", "category"): "Cost",
    ("consumption:Budget", "timeGrain"): "Monthly",
    ("keyvault:Vault", "properties.enableSoftDelete"): True,
    ("keyvault:Vault", "properties.softDeleteRetentionInDays"): 90,
    ("keyvault:Vault", "properties.enabledForDeployment"): False,
    ("keyvault:Vault", "properties.enabledForDiskEncryption"): False,
    ("keyvault:Vault", "properties.enabledForTemplateDeployment"): False,
    ("keyvault:Vault", "properties.networkAcls.defaultAction"): "Deny",
    ("keyvault:Vault", "properties.networkAcls.bypass"): "AzureServices",
    ("keyvault:Key", "properties.kty"): "RSA",
    ("storagecache:AmlFilesystem", "identity.type"): "UserAssigned",
    ("monitor:ActionGroup", "enabled"): True,
    ("monitor:ActivityLogAlert", "enabled"): True,
    ("network:BastionHost", "enableTunneling"): True,
    ("network:BastionHost", "enableShareableLink"): False,
    ("network:BastionHost", "disableCopyPaste"): False,
    ("network:BastionHost", "enableFileCopy"): False,
    ("network:BastionHost", "enableIpConnect"): False,
    ("network:BastionHost", "enableKerberos"): False,
    ("network:BastionHost", "enablePrivateOnlyBastion"): False,
    ("network:BastionHost", "enableSessionRecording"): False,
    ("network:BastionHost", "sku.name"): "Standard",
    ("network:FlowLog", "flowAnalyticsConfiguration.networkWatcherFlowAnalyticsConfiguration.enabled"): True,
    ("network:FlowLog", "retentionPolicy.enabled"): True,
    ("network:FlowLog", "format.version"): 2,
    ("network:NetworkInterface", "enableAcceleratedNetworking"): True,
    ("network:NetworkInterface", "ipConfigurations.0.primary"): True,
    ("network:NatGateway", "sku.name"): "Standard",
    ("network:PublicIPAddress", "sku.name"): "Standard",
    ("network:PublicIPAddress", "publicIPAllocationMethod"): "Static",
    ("operationalinsights:Workspace", "features.disableLocalAuth"): True,
    ("operationalinsights:Workspace", "sku.name"): "PerGB2018",
    ("privatedns:VirtualNetworkLink", "registrationEnabled"): False,
    ("storage:BlobServiceProperties", "containerDeleteRetentionPolicy.enabled"): True,
    ("storage:BlobServiceProperties", "deleteRetentionPolicy.enabled"): True,
    ("storage:BlobContainer", "publicAccess"): "None",
    ("storage:StorageAccount", "allowCrossTenantReplication"): False,
    ("storage:StorageAccount", "enableHttpsTrafficOnly"): True,
    ("storage:StorageAccount", "networkRuleSet.defaultAction"): "Deny",
    ("storage:StorageAccount", "networkRuleSet.bypass"): "AzureServices",
    ("storage:StorageAccount", "kind"): "StorageV2",
    ("dbformysql:Server", "sku.tier"): "GeneralPurpose",
    ("authorization:RoleAssignment", "principalType"): "ServicePrincipal",
}
#: Type, path -> least and most.
RANGES: Mapping[tuple[str, str], tuple[float, float]] = {
    ("compute:VirtualMachine", "storageProfile.osDisk.diskSizeGB"): (64, 512),
    ("compute:VirtualMachineScaleSet", "virtualMachineProfile.storageProfile.osDisk.diskSizeGB"): (64, 512),
    ("dbformysql:Server", "backup.backupRetentionDays"): (7, 35),
    ("dbformysql:Server", "storage.storageSizeGB"): (20, 512),
    ("keyvault:Key", "properties.keySize"): (2048, 4096),
    ("network:FlowLog", "retentionPolicy.days"): (30, 365 * 2),
    (
        "network:FlowLog",
        "flowAnalyticsConfiguration.networkWatcherFlowAnalyticsConfiguration.trafficAnalyticsInterval",
    ): (
        10,
        60,
    ),
    ("operationalinsights:Workspace", "retentionInDays"): (30, 730),
    ("storage:BlobServiceProperties", "containerDeleteRetentionPolicy.days"): (7, 365),
    ("storage:BlobServiceProperties", "deleteRetentionPolicy.days"): (7, 365),
}
#: Of the budget: spent or foreseen, percent.
THRESHOLDS = {("Actual", 50), ("Actual", 80), ("Actual", 100), ("Forecasted", 100)}
#: Types that every cluster has, and how many at least.
ALWAYS: Mapping[str, int] = {
    "compute:DiskEncryptionSet": 1,
    "keyvault:Vault": 1,
    "monitor:ActionGroup": 1,
    "monitor:ActivityLogAlert": 1,
    "operationalinsights:Workspace": 1,
    "resources:ResourceGroup": 2,
    "storagecache:AmlFilesystem": 1,
}
#: Whose identity there is, and the type that it comes with; empty for always.
IDENTITIES: Mapping[str, str] = {
    "controller": "",
    "login": "",
    "compute": "",
    "storage": "",
    "lustre": "",
    "data": "compute:VirtualMachine",
    "accounting": "dbformysql:Server",
    "flow-logs": "network:FlowLog",
}
#: With a network of its own.
WITH_NETWORK: Mapping[str, int] = {
    "storage:StorageAccount": 1,
    "network:NatGateway": 1,
    "network:BastionHost": 1,
    "network:PublicIPAddress": 2,
    "network:Subnet": 4,
    "network:NetworkSecurityGroup": 3,
    "network:FlowLog": 1,
    "privatedns:PrivateZone": 3,
    "privatedns:VirtualNetworkLink": 3,
}
#: With Slurm.
WITH_SLURM: Mapping[str, int] = {
    "compute:VirtualMachine": 2,
    "network:NetworkInterface": 2,
    "dbformysql:Server": 1,
    "dbformysql:Configuration": 2,
    "keyvault:Secret": 1,
    "compute:VirtualMachineScaleSet": 1,
    "resources:ResourceGroup": 4,
}
