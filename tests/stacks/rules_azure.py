"""What must hold for a cluster on Azure, as its scale sets, subnets, file system and grants show it."""

import ipaddress
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record

from .rules import Problem, Wanted
from .rules_azure_names import name_problems
from .rules_azure_nodes import node_problems
from .rules_azure_services import service_problems
from .rules_azure_values import value_problems

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
SUBNET = "azure-native:network:Subnet"
VIRTUAL_NETWORK = "azure-native:network:VirtualNetwork"
SECURITY_GROUP = "azure-native:network:NetworkSecurityGroup"
FILE_SYSTEM = "azure-native:storagecache:AmlFilesystem"
ACCOUNT = "azure-native:storage:StorageAccount"
VAULT = "azure-native:keyvault:Vault"
DATABASE = "azure-native:dbformysql:Server"
GRANT = "azure-native:authorization:RoleAssignment"

KEPT = {
    "azure-native:resources:ResourceGroup": 1,
    VAULT: 3,
    "azure-native:keyvault:Key": 2,
    ACCOUNT: 1,
    "azure-native:storage:BlobContainer": 1,
    FILE_SYSTEM: 1,
}
#: Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25.
_MOST_IN_A_SCALE_SET = 300
_MOST_IN_A_BLOCK = 64
_RDMA_NETWORK = ipaddress.ip_network("172.16.0.0/16")
#: Microsoft, "Create an Azure Managed Lustre file system", 2024-11: tier -> least, most, step in TiB.
_LUSTRE = {40: (48, 768, 48), 125: (16, 128, 16), 250: (8, 128, 8), 500: (4, 128, 4)}
#: Microsoft, "Azure Managed Lustre file system prerequisites": a /24 holds up to 196 TiB, a /23 up to 400.
_LUSTRE_PREFIXES = ((196, 24), (400, 23), (768, 22))
#: Virtual machines of one NVLink domain of GB200 (Microsoft, ND GB200 v6).
_NVLINK_DOMAIN = 18
#: Grants wider than one resource.
_OWNER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
_CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"


def azure_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong in a record of the Azure stack."""
    return [
        *_scale_sets(record, wanted),
        *_machines(record),
        *_images(record, wanted),
        *_file_system(record),
        *_network(record),
        *_data(record),
        *_budget(record),
        *service_problems(record),
        *value_problems(record, scheduler=wanted.scheduler),
        *name_problems(record),
        *node_problems(record),
    ]


def _scale_sets(record: Record, wanted: Wanted) -> Iterator[Problem]:
    sets = record.of(SCALE_SET)
    total = 0
    infiniband = wanted.instance.fabric_kind == "infiniband"
    for one in sets:
        inputs, profile = one.inputs, one.inputs["virtualMachineProfile"]
        sku = inputs.get("sku") or {}
        size = sku.get("capacity")
        total += size if isinstance(size, int) else 0
        reserved = "capacityReservation" in profile
        if infiniband and inputs.get("singlePlacementGroup") is not True:
            yield Problem(id="AZ001", resource=one.name, message="InfiniBand needs a single placement group")
        if isinstance(size, int) and size > _MOST_IN_A_SCALE_SET:
            yield Problem(
                id="AZ002", resource=one.name, message=f"{size} machines; the most are {_MOST_IN_A_SCALE_SET}"
            )
        block = reserved and wanted.capacity == "block-reservation"
        if reserved and not block and ("_ND" in str(sku.get("name")) or inputs.get("singlePlacementGroup")):
            yield Problem(id="AZ003", resource=one.name, message="capacity reservation takes no ND size")
        if block and isinstance(size, int) and size > _MOST_IN_A_BLOCK:
            yield Problem(id="AZ015", resource=one.name, message=f"{size} machines do not fit into a block")
        if reserved != wanted.capacity.endswith("reservation"):
            yield Problem(id="AZ016", resource=one.name, message=f"is not what {wanted.capacity} asks for")
        notice = (profile.get("scheduledEventsProfile") or {}).get("terminateNotificationProfile") or {}
        if notice.get("enable") is not True:
            yield Problem(id="AZ017", resource=one.name, message="goes without notice")
        if inputs.get("overprovision") is not False or (inputs.get("upgradePolicy") or {}).get("mode") != "Manual":
            yield Problem(id="AZ004", resource=one.name, message="machines come and go by themselves")
        if inputs.get("orchestrationMode") != "Uniform" or len(inputs.get("zones", [])) != 1:
            yield Problem(id="AZ005", resource=one.name, message="is not one zone of equal machines")
        if sku.get("name") != wanted.instance.id:
            yield Problem(id="AZ006", resource=one.name, message=f"is no {wanted.instance.id}")
        if "proximityPlacementGroup" in inputs and reserved:
            yield Problem(id="AZ007", resource=one.name, message="proximity placement beside a reservation")
        spot = profile.get("priority") == "Spot"
        if spot != (wanted.capacity == "spot") or (spot and "evictionPolicy" not in profile):
            yield Problem(id="AZ008", resource=one.name, message=f"priority {profile.get('priority')}")
        for interface in profile["networkProfile"]["networkInterfaceConfigurations"]:
            if any("publicIPAddressConfiguration" in address for address in interface["ipConfigurations"]):
                yield Problem(id="AZ009", resource=one.name, message="has a public address")
        if not profile["osProfile"]["linuxConfiguration"].get("disablePasswordAuthentication"):
            yield Problem(id="AZ010", resource=one.name, message="lets passwords in")
        if "diskEncryptionSet" not in profile["storageProfile"]["osDisk"]["managedDisk"]:
            yield Problem(id="AZ011", resource=one.name, message="a disk is not encrypted with the cluster's key")
    if total != wanted.nodes:
        yield Problem(id="AZ012", resource="scale sets", message=f"hold {total} nodes, not {wanted.nodes}")
    if infiniband and len(sets) > 1:
        yield Problem(id="AZ013", resource="scale sets", message="InfiniBand does not reach from one to another")
    if "GB200" in wanted.instance.id and total > _NVLINK_DOMAIN and total % _NVLINK_DOMAIN:
        yield Problem(id="AZ014", resource="scale sets", message=f"{total} machines are no whole racks")


def _machines(record: Record) -> Iterator[Problem]:
    """Controller and login machine: the same care as for nodes."""
    machines = record.of(MACHINE)
    for one in machines:
        if not one.inputs["osProfile"]["linuxConfiguration"].get("disablePasswordAuthentication"):
            yield Problem(id="AZ018", resource=one.name, message="lets passwords in")
        if "diskEncryptionSet" not in one.inputs["storageProfile"]["osDisk"]["managedDisk"]:
            yield Problem(id="AZ019", resource=one.name, message="a disk is not encrypted with the cluster's key")
        if "osProfile.customData" not in one.ignore_changes:
            yield Problem(id="AZ022", resource=one.name, message="is replaced, and its queue lost, by other boot data")
    # The first is the machine's own; that of jobs' data is shared.
    identities = {str(one.inputs["identity"]["userAssignedIdentities"][0]) for one in machines}
    if len(identities) != len(machines):
        yield Problem(id="AZ023", resource="machines", message="share an identity")


def _images(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for one in (*record.of(SCALE_SET), *record.of(MACHINE)):
        profile = one.inputs.get("virtualMachineProfile", one.inputs)
        image = profile["storageProfile"]["imageReference"]
        if str(image.get("version")).lower() == "latest":
            yield Problem(id="AZ020", resource=one.name, message="the image moves")
        arm = "arm" in wanted.instance.architecture or "GB200" in wanted.instance.id
        if one.type == SCALE_SET and arm != str(image.get("sku")).endswith("-gb"):
            yield Problem(id="AZ021", resource=one.name, message=f"image {image.get('sku')} is of another processor")


def _file_system(record: Record) -> Iterator[Problem]:
    for one in record.of(FILE_SYSTEM):
        inputs = one.inputs
        head, _, tier_text = str((inputs.get("sku") or {}).get("name")).rpartition("-")
        tier = int(tier_text) if tier_text.isdigit() else 0
        size = inputs.get("storageCapacityTiB")
        if head != "AMLFS-Durable-Premium" or tier not in _LUSTRE:
            yield Problem(id="AZ030", resource=one.name, message=f"no tier {inputs.get('sku')}")
            continue
        least, most, step = _LUSTRE[tier]
        if not isinstance(size, int) or not least <= size <= most or size % step:
            yield Problem(id="AZ031", resource=one.name, message=f"{size} TiB would be rounded up or refused")
            continue
        if len(inputs.get("zones", [])) != 1:
            yield Problem(id="AZ032", resource=one.name, message="needs one zone")
        subnets = [subnet for subnet in record.of(SUBNET) if subnet.name.endswith("-lustre")]
        longest = next(prefix for most_tib, prefix in _LUSTRE_PREFIXES if size <= most_tib)
        for subnet in subnets:
            if ipaddress.ip_network(subnet.inputs["addressPrefix"]).prefixlen > longest:
                yield Problem(id="AZ033", resource=subnet.name, message=f"needs a /{longest} for {size} TiB")
        hsm = (inputs.get("hsm") or {}).get("settings")
        if hsm is not None and not (hsm.get("container") and hsm.get("loggingContainer")):
            yield Problem(id="AZ034", resource=one.name, message="import needs a container for data and one for logs")
        if hsm is not None and sum(one.name.startswith("small-lustre-") for one in record.of(GRANT)) < 2:
            yield Problem(id="AZ035", resource=one.name, message="import lacks its grants on the storage account")


def _network(record: Record) -> Iterator[Problem]:
    for one in record.of(VIRTUAL_NETWORK):
        for prefix in one.inputs["addressSpace"]["addressPrefixes"]:
            if ipaddress.ip_network(prefix).overlaps(_RDMA_NETWORK):
                yield Problem(id="AZ040", resource=one.name, message=f"{prefix} overlaps the RDMA network")
    for one in record.of(SUBNET):
        bastion = one.inputs.get("subnetName") == "AzureBastionSubnet"
        if not bastion and (
            one.inputs.get("defaultOutboundAccess") is not False or "networkSecurityGroup" not in one.inputs
        ):
            yield Problem(id="AZ041", resource=one.name, message="has a way out or in that nobody wrote")
    for one in record.of(SECURITY_GROUP):
        for rule in one.inputs["securityRules"]:
            if (
                rule["access"] == "Allow"
                and rule["direction"] == "Inbound"
                and rule.get("sourceAddressPrefix") in ("*", "Internet", "0.0.0.0/0")
            ):
                yield Problem(id="AZ042", resource=one.name, message=f"{rule['name']} lets the Internet in")
        allowed = {
            tuple(rule.get("destinationPortRanges") or [rule.get("destinationPortRange")])
            for rule in one.inputs["securityRules"]
            if rule["access"] == "Allow" and rule["direction"] == "Inbound"
        }
        if one.name.endswith("-lustre-rules") and ("988", "1019-1023") not in allowed:
            yield Problem(id="AZ043", resource=one.name, message="Lustre's ports are closed")
    for one in record.of("azure-native:network:NetworkInterface"):
        if any("publicIPAddress" in address for address in one.inputs["ipConfigurations"]):
            yield Problem(id="AZ044", resource=one.name, message="has a public address")


def _data(record: Record) -> Iterator[Problem]:
    for one in record.of(ACCOUNT):
        inputs = one.inputs
        closed = (
            inputs.get("allowBlobPublicAccess") is False
            and inputs.get("publicNetworkAccess") == "Disabled"
            and inputs.get("minimumTlsVersion") == "TLS1_2"
        )
        if not closed:
            yield Problem(id="AZ050", resource=one.name, message="is open to the Internet")
        if (inputs.get("encryption") or {}).get("keySource") != "Microsoft.Keyvault":
            yield Problem(id="AZ051", resource=one.name, message="is not encrypted with the cluster's key")
    for one in record.of(VAULT):
        properties = one.inputs["properties"]
        if not (properties.get("enablePurgeProtection") and properties.get("enableRbacAuthorization")):
            yield Problem(id="AZ052", resource=one.name, message="a key can be lost")
        # Azure Managed Lustre reads no key from a vault whose public access is off.
        door = "Enabled" if one.name.startswith("lv") else "Disabled"
        if properties.get("publicNetworkAccess") != door:
            yield Problem(id="AZ066", resource=one.name, message=f"public access is not {door}")
    for one in record.of("azure-native:storagecache:AmlFilesystem"):
        settings = one.inputs.get("encryptionSettings") or {}
        if not (settings.get("keyEncryptionKey") or {}).get("keyUrl"):
            yield Problem(id="AZ065", resource=one.name, message="is not encrypted with a key of the project")
    for one in record.of("azure-native:keyvault:Key"):
        if one.name.endswith("-lustre-key") and one.inputs["properties"].get("keySize") != 2048:
            yield Problem(id="AZ067", resource=one.name, message="Lustre takes RSA keys of 2048 bit alone")
    for one in record.of(GRANT):
        role = str(one.inputs.get("roleDefinitionId")).rpartition("/")[2]
        scope = str(one.inputs.get("scope"))
        if role in (_OWNER, _CONTRIBUTOR) or scope.count("/") <= 4:
            yield Problem(id="AZ053", resource=one.name, message=f"grants {role} on {scope}")
    locked = {
        lock.name.removeprefix("small-").removesuffix("-lock")
        for lock in record.of("azure-native:authorization:ManagementLockByScope")
        if lock.inputs.get("level") == "CanNotDelete"
    }
    for what in ["data", *(["accounting"] if record.of(DATABASE) else [])]:
        if what not in locked:
            yield Problem(id="AZ054", resource=what, message="can be deleted by hand")


def _budget(record: Record) -> Iterator[Problem]:
    for one in record.of("azure-native:consumption:Budget"):
        notifications = (one.inputs.get("notifications") or {}).values()
        if not any(entry.get("contactGroups") or entry.get("contactEmails") for entry in notifications):
            yield Problem(id="AZ060", resource=one.name, message="warns nobody")
