"""Rules for what must not be lost or read: storage, vaults, databases, locks."""

from collections.abc import Mapping, Sequence
from typing import Any

from reading import mapping
from rule import UNKNOWN, Rule

_YES = (True, UNKNOWN)


def _closed_storage(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:storage:StorageAccount":
        return []
    found: list[str] = []
    if inputs.get("publicNetworkAccess") not in ("Disabled", UNKNOWN):
        found.append("takes public traffic")
    if mapping(inputs.get("networkRuleSet")).get("defaultAction") == "Allow":
        found.append("lets every network in: set networkRuleSet.defaultAction to Deny")
    if inputs.get("allowBlobPublicAccess") is not False:
        found.append("may hold public containers")
    if inputs.get("minimumTlsVersion") not in ("TLS1_2", "TLS1_3", UNKNOWN):
        found.append("takes old TLS")
    if mapping(inputs.get("encryption")).get("keySource") not in ("Microsoft.Keyvault", UNKNOWN):
        found.append("is not encrypted with the cluster's key")
    return found


def _closed_vaults(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:keyvault:Vault":
        return []
    properties = mapping(inputs.get("properties"))
    found = [
        message
        for name, message in (
            ("enablePurgeProtection", "can be purged, and with its key all data is lost"),
            ("enableRbacAuthorization", "grants by access policies instead of roles"),
        )
        if properties.get(name) not in _YES
    ]
    if mapping(properties.get("networkAcls")).get("defaultAction") == "Allow":
        found.append("lets every network in: set networkAcls.defaultAction to Deny")
    return [*found, *([] if _lets_nobody_in(inputs) else ["takes public traffic"])]


def _lets_nobody_in(inputs: Mapping[str, Any]) -> bool:
    """Tell whether no address reaches a vault; Azure Managed Lustre asks for one whose public access is on."""
    properties = mapping(inputs.get("properties"))
    if properties.get("publicNetworkAccess") == "Disabled":
        return True
    rules = mapping(properties.get("networkAcls"))
    listed = rules.get("ipRules") or rules.get("virtualNetworkRules")
    is_for_lustre = mapping(inputs.get("tags")).get("opened-for") == "lustre"
    return is_for_lustre and rules.get("defaultAction") == "Deny" and not listed


def _closed_containers(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:storage:BlobContainer" or inputs.get("publicAccess") in (None, "None", UNKNOWN):
        return []
    return [f"publicAccess is {inputs.get('publicAccess')}: anybody may read it"]


def _closed_databases(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:dbformysql:Server":
        return []
    found: list[str] = []
    if mapping(inputs.get("network")).get("publicNetworkAccess") != "Disabled":
        found.append("takes public traffic")
    if mapping(inputs.get("dataEncryption")).get("type") != "AzureKeyVault":
        found.append("is not encrypted with the cluster's key")
    return found


def _locks_forbid_deletion(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:authorization:ManagementLockByScope":
        return []
    return [] if inputs.get("level") == "CanNotDelete" else ["does not forbid deletion"]


RULES: Sequence[Rule] = (
    Rule(
        name="closed-storage",
        description="Storage takes no public traffic and is encrypted with the cluster's key.",
        check=_closed_storage,
    ),
    Rule(name="closed-containers", description="Nobody reads without a login.", check=_closed_containers),
    Rule(name="closed-vaults", description="Vaults are private and cannot be purged.", check=_closed_vaults),
    Rule(
        name="closed-databases",
        description="Databases are private and encrypted with the cluster's key.",
        check=_closed_databases,
    ),
    Rule(name="locks-forbid-deletion", description="Locks on data forbid deletion.", check=_locks_forbid_deletion),
)
