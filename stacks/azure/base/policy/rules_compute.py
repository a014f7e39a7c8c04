"""Rules for machines: one InfiniBand domain, fixed images, own key, no passwords, tags."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reading import mapping, mappings, texts
from rule import PLACEMENT, UNKNOWN, Rule

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
POOL = "azure-native:containerservice:AgentPool"
# Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25.
MOST_NODES_PER_SCALE_SET = 300
# Types that take no tags.
UNTAGGED = (
    "RoleAssignment",
    "RoleDefinition",
    "ManagementLockByScope",
    "SecurityRule",
    "Subnet",
    "PrivateDnsZoneGroup",
    "BlobContainer",
    "BlobServiceProperties",
    "Budget",
    "DiagnosticSetting",
    "Configuration",
    "AgentPool",
    "FederatedIdentityCredential",
)


def _profile(kind: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(inputs.get("virtualMachineProfile")) if kind == SCALE_SET else inputs


def _one_fabric(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != SCALE_SET:
        return []
    sku = mapping(inputs.get("sku"))
    size, capacity = str(sku.get("name")), sku.get("capacity")
    found: list[str] = []
    # The r in ND96isr and ND96asr stands for RDMA.
    fabric = "_ND" in size and "r_" in size
    if fabric and inputs.get("singlePlacementGroup") is not True:
        found.append("InfiniBand needs singlePlacementGroup")
    if fabric and inputs.get("orchestrationMode") not in (None, "Uniform", UNKNOWN):
        found.append("InfiniBand needs machines of one kind in one domain: set orchestrationMode to Uniform")
    if inputs.get("overprovision") is not False:
        found.append("surplus machines would join and vanish: set overprovision to false")
    if isinstance(capacity, int | float) and capacity > MOST_NODES_PER_SCALE_SET:
        found.append(f"{capacity:.0f} machines; a scale set takes {MOST_NODES_PER_SCALE_SET} at most")
    return found


def _one_zone(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    size = mapping(inputs.get("sku")).get("name") if kind == SCALE_SET else inputs.get("vmSize")
    if kind not in (SCALE_SET, POOL) or not str(size).startswith("Standard_N"):
        return []
    zones = set(texts(inputs.get("zones" if kind == SCALE_SET else "availabilityZones")))
    message = f"is spread over {len(zones)} zones: its fabric is within one, and so is the file system"
    return [message] if len(zones) > 1 else []


def _fixed_image(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind not in (SCALE_SET, MACHINE):
        return []
    image = mapping(mapping(_profile(kind, inputs).get("storageProfile")).get("imageReference"))
    return ["its image moves: name a version"] if str(image.get("version", "latest")).lower() == "latest" else []


def _own_key_on_disks(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind == "azure-native:containerservice:ManagedCluster" and not inputs.get("diskEncryptionSetID"):
        return ["disks of its nodes lack the cluster's key: set diskEncryptionSetID"]
    if kind == "azure-native:compute:Disk" and not mapping(inputs.get("encryption")).get("diskEncryptionSetId"):
        return ["lacks the cluster's key"]
    if kind not in (SCALE_SET, MACHINE):
        return []
    profile = mapping(_profile(kind, inputs).get("storageProfile"))
    disks = [("its disk", mapping(profile.get("osDisk")))]
    disks += [(f"data disk {disk.get('lun', '')}", disk) for disk in mappings(profile.get("dataDisks"))]
    return [
        f"{name} lacks the cluster's key"
        for name, disk in disks
        if not mapping(disk.get("managedDisk")).get("diskEncryptionSet")
    ]


def _no_passwords(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind == "azure-native:containerservice:ManagedCluster" and inputs.get("disableLocalAccounts") is not True:
        return ["hands out certificates that cannot be taken back: set disableLocalAccounts"]
    if kind not in (SCALE_SET, MACHINE):
        return []
    system = mapping(_profile(kind, inputs).get("osProfile"))
    closed = mapping(system.get("linuxConfiguration")).get("disablePasswordAuthentication") in (True, UNKNOWN)
    return [] if closed and not system.get("adminPassword") else ["lets passwords in"]


def _missing_tags(inputs: Mapping[str, Any]) -> Iterator[str]:
    tags = inputs.get("tags")
    for name in ("gpu-cluster", "layer"):
        if tags != UNKNOWN and not mapping(tags).get(name):
            yield f"has no tag {name}, so costs and clean-up miss it"


def _tags(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    ours = kind.startswith("azure-native:") and kind.rpartition(":")[2] not in UNTAGGED
    return list(_missing_tags(inputs)) if ours else []


RULES: Sequence[Rule] = (
    Rule(
        name="one-fabric",
        description="Nodes with InfiniBand share one placement group within a scale set's limit.",
        check=_one_fabric,
    ),
    Rule(
        name="one-zone", description="GPU nodes are in one zone, next to each other.", check=_one_zone, about=PLACEMENT
    ),
    Rule(name="fixed-image", description="Images have a fixed version.", check=_fixed_image),
    Rule(name="own-key-on-disks", description="Disks are encrypted with the cluster's key.", check=_own_key_on_disks),
    Rule(name="no-passwords", description="Machines take no password.", check=_no_passwords),
    Rule(name="tags", description="Everything carries the tags of cluster and layer.", check=_tags),
)
