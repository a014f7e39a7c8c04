"""Rules for rights: single resources and single actions, never all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from reading import mappings, texts
from rule import UNKNOWN, Rule

# Definition ids of Azure's own roles (Microsoft, "Azure built-in roles").
TOO_MUCH = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
    "00482a5a-887f-4fb3-b363-3b7fe8e74483": "Key Vault Administrator",
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "9980e02c-c2be-4d73-94e8-173b1dc7cf3c": "Virtual Machine Contributor",
}
# /subscriptions/S/resourceGroups/G has four slashes; a resource below it has more.
_SLASHES_OF_A_GROUP = 4


def _small_grants(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:authorization:RoleAssignment":
        return []
    role = str(inputs.get("roleDefinitionId")).rpartition("/")[2].lower()
    scope = str(inputs.get("scope"))
    found = [f"gives the role {TOO_MUCH[role]}"] if role in TOO_MUCH else []
    if scope != UNKNOWN and scope.count("/") <= _SLASHES_OF_A_GROUP:
        found.append(f"reaches all of {scope}")
    return found


def _named_actions(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "azure-native:authorization:RoleDefinition":
        return []
    return [
        f"allows {action}: name the actions"
        for permission in mappings(inputs.get("permissions"))
        for action in (*texts(permission.get("actions")), *texts(permission.get("dataActions")))
        if "*" in action
    ]


RULES: Sequence[Rule] = (
    Rule(
        name="small-grants",
        description="Grants are on single resources, and none gives power over all of one.",
        check=_small_grants,
    ),
    Rule(name="named-actions", description="Own roles name their actions.", check=_named_actions),
)
