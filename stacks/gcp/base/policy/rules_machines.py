"""Rules for machines: interfaces of the machine type, encrypted disks, logins by IAM, one kind of placement."""

from collections.abc import Mapping, Sequence
from typing import Any

from reading import mapping, mappings, texts
from rule import PLACEMENT, UNKNOWN, Rule

INSTANCE = "gcp:compute/instance:Instance"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
# Interfaces with gVNIC, then with MRDMA (GoogleCloudPlatform/cluster-toolkit @10470803, 2026-06-25).
INTERFACES = {
    "a2-highgpu-8g": (1, 0),
    "a2-ultragpu-8g": (1, 0),
    "a3-highgpu-8g": (5, 0),
    "a3-megagpu-8g": (9, 0),
    "a3-ultragpu-8g": (2, 8),
    "a4-highgpu-8g": (2, 8),
    "g2-standard-96": (1, 0),
}


def _interfaces_of_the_type(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    wanted = INTERFACES.get(str(inputs.get("machineType")))
    if kind != TEMPLATE or wanted is None:
        return []
    kinds = [interface.get("nicType") for interface in mappings(inputs.get("networkInterfaces"))]
    gvnic, rdma = wanted
    if kinds == ["GVNIC"] * gvnic + ["MRDMA"] * rdma:
        return []
    return [f"{inputs.get('machineType')} needs {gvnic} GVNIC and then {rdma} MRDMA interfaces, got {kinds}"]


def _encrypted_disks(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind == TEMPLATE:
        return [
            f"disk {place} has no key of the cluster: set diskEncryptionKey.kmsKeySelfLink"
            for place, disk in enumerate(mappings(inputs.get("disks")))
            if not mapping(disk.get("diskEncryptionKey")).get("kmsKeySelfLink")
        ]
    if kind == INSTANCE and not mapping(inputs.get("bootDisk")).get("kmsKeySelfLink"):
        return ["its disk has no key of the cluster: set bootDisk.kmsKeySelfLink"]
    return []


def _logins_by_iam(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind not in (INSTANCE, TEMPLATE) or "metadata" not in inputs:
        return []
    metadata = mapping(inputs.get("metadata"))
    # Metadata that is known only after deployment says nothing.
    if not metadata or metadata.get("enable-oslogin") == "TRUE":
        return []
    return ["takes logins by keys in its metadata: set enable-oslogin to TRUE"]


def _nodes_of_kubernetes(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind not in ("gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"):
        return []
    found: list[str] = []
    config = mapping(inputs.get("nodeConfig"))
    if kind.endswith(":Cluster"):
        if mapping(inputs.get("databaseEncryption")).get("state") != "ENCRYPTED":
            found.append("keeps secrets under Google's key: set databaseEncryption")
        if not mapping(inputs.get("workloadIdentityConfig")).get("workloadPool"):
            found.append("pods get the rights of their node: set workloadIdentityConfig.workloadPool")
        # The default pool, whose nodes these would be, is removed at once.
        return found
    if not config.get("bootDiskKmsKey"):
        found.append("disks have no key of the cluster: set nodeConfig.bootDiskKmsKey")
    if not config.get("serviceAccount"):
        found.append("runs as the project's default account: set nodeConfig.serviceAccount")
    if mapping(config.get("workloadMetadataConfig")).get("mode") not in ("GKE_METADATA", UNKNOWN):
        found.append("pods get the rights of their node: set workloadMetadataConfig.mode to GKE_METADATA")
    if mapping(inputs.get("networkConfig")).get("enablePrivateNodes") is not True:
        found.append("nodes get public addresses: set networkConfig.enablePrivateNodes to true")
    return found


def _own_account(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    kinds = (INSTANCE, TEMPLATE, "gcp:tpu/v2Vm:V2Vm")
    if kind not in kinds or mapping(inputs.get("serviceAccount")).get("email"):
        return []
    return ["runs as the project's default account: name a service account"]


def _measured_boot(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind not in (INSTANCE, TEMPLATE):
        return []
    shielded = mapping(inputs.get("shieldedInstanceConfig"))
    missing = [key for key in ("enableVtpm", "enableIntegrityMonitoring") if shielded.get(key) is not True]
    return [f"set shieldedInstanceConfig.{key} to true" for key in missing]


def _one_placement(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != TEMPLATE:
        return []
    scheduling, found = mapping(inputs.get("scheduling")), list[str]()
    if scheduling.get("onHostMaintenance") != "TERMINATE":
        found.append("a GPU machine cannot move at maintenance: set onHostMaintenance to TERMINATE")
    if inputs.get("resourcePolicies"):
        if mapping(inputs.get("reservationAffinity")).get("type") == "SPECIFIC_RESERVATION":
            found.append("has a placement policy beside a reservation, which brings its own placement")
        if scheduling.get("provisioningModel") == "FLEX_START":
            found.append("has a compact placement policy, which flex-start in a group does not take")
    return found


def _one_zone(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:container/nodePool:NodePool" or not mapping(inputs.get("nodeConfig")).get("guestAccelerators"):
        return []
    zones = set(texts(inputs.get("nodeLocations")))
    message = f"is spread over {len(zones)} zones: its fabric is within one, and so is the file system"
    return [message] if len(zones) > 1 else []


RULES: Sequence[Rule] = (
    Rule(
        name="interfaces-of-the-type",
        description="GPU machines have the interfaces of their type, in order; one less is a silent fall back to TCP.",
        check=_interfaces_of_the_type,
    ),
    Rule(name="encrypted-disks", description="Disks use the cluster's key.", check=_encrypted_disks),
    Rule(name="logins-by-iam", description="People log in by IAM, not by keys in metadata.", check=_logins_by_iam),
    Rule(
        name="closed-kubernetes-nodes",
        description="Nodes of Kubernetes are private, encrypted, and keep their rights from pods.",
        check=_nodes_of_kubernetes,
    ),
    Rule(name="own-account", description="Machines run as an account of their own.", check=_own_account),
    Rule(name="measured-boot", description="Machines are Shielded VMs.", check=_measured_boot),
    Rule(
        name="one-zone", description="GPU nodes are in one zone, next to each other.", check=_one_zone, about=PLACEMENT
    ),
    Rule(name="one-placement", description="A reservation or flex-start stands alone.", check=_one_placement),
)
