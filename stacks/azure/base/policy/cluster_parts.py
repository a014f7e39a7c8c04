"""What a cluster on Azure needs of identities, locks, logs and charts that belong together."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from devices import ADAPTERS, Nodes, devices
from fabric_rules import POOL
from reading import mapping, mappings, texts
from rule import PROTECTION, UNKNOWN, Registered, Rule, StackRule

GRANT = "azure-native:authorization:RoleAssignment"
FEDERATED = "azure-native:managedidentity:FederatedIdentityCredential"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
VAULT = "azure-native:keyvault:Vault"
DATABASE = "azure-native:dbformysql:Server"
LOCK = "azure-native:authorization:ManagementLockByScope"
SETTING = "azure-native:monitor:DiagnosticSetting"
CLUSTER = "azure-native:containerservice:ManagedCluster"
# Definition ids of Azure's own roles that change secrets (Microsoft, "Azure built-in roles").
WRITERS = ("b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "00482a5a-887f-4fb3-b363-3b7fe8e74483")
# What jobs may have: data of a container, metrics, and reading.
OF_JOBS = {
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": "Reader",
    "4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
}
_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+")
# In the URN of what comes from another layer.
_LAYER = "::pulumi:pulumi:StackReference::"
_TAINT = re.compile(r"(?P<key>[^=:]+)(=[^:]*)?:(?P<effect>\w+)")
_AMD = re.compile(r"Standard_ND.*MI\d")


def _role(grant: Registered) -> str:
    return str(grant.inputs.get("roleDefinitionId")).rpartition("/")[2].lower()


def one_writer(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """One identity writes secrets, and it is none of nodes: whoever is root on a machine has what its identity may."""
    grants = [one for one in resources if one.type == GRANT and _role(one) in WRITERS]
    nodes = {urn for one in resources if one.type == SCALE_SET for urn in one.behind.get("identity", ())}
    writers = sorted({urn for one in grants for urn in one.behind.get("principalId", ()) if _LAYER not in urn})
    messages = [
        (one.urn, "lets nodes write secrets: one of them could replace the key of all")
        for one in grants
        if nodes & set(one.behind.get("principalId", ()))
    ]
    if len(writers) > 1:
        messages += [
            (one.urn, f"is one of {len(writers)} identities that write secrets: the controller alone makes the key")
            for one in grants
        ]
    return messages


def rights_of_jobs(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """What pods may act as has rights on data, and on nothing that decides about them."""
    of_pods = {urn for one in resources if one.type == FEDERATED for urn in one.behind.get("resourceName", ())}
    return [
        (one.urn, f"gives pods the role {_role(one)}: name one of data, such as Storage Blob Data Contributor")
        for one in resources
        if one.type == GRANT and _role(one) not in OF_JOBS and of_pods & set(one.behind.get("principalId", ()))
    ]


def named_accounts(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """One service account acts as an identity."""
    subject = inputs.get("subject")
    if kind != FEDERATED or subject == UNKNOWN or _SERVICE_ACCOUNT.fullmatch(str(subject)):
        return []
    return [f"lets {subject} act as it: name one service account"]


def locked_records(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Azure itself refuses to delete the database with the history of all jobs."""
    locked = {urn for one in resources if one.type == LOCK for urn in one.behind.get("scope", ())}
    groups = {one.urn: set(one.behind.get("resourceGroupName", ())) for one in resources}
    return [
        (one.urn, "has no lock: a slip deletes it")
        for one in resources
        if one.type == DATABASE and one.urn not in locked and not locked & groups[one.urn]
    ]


def written_down(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Who used a vault or a database is written down."""
    settings = [one for one in resources if one.type == SETTING]
    told = {urn for one in settings if _has_audit(one) for urn in one.behind.get("resourceUri", ())}
    return [
        (one.urn, "writes down nothing of who used it: add a DiagnosticSetting with the category group audit")
        for one in resources
        if one.type in (VAULT, DATABASE, CLUSTER) and one.urn not in told
    ]


def _has_audit(setting: Registered) -> bool:
    if (
        not setting.inputs.get("workspaceId")
        and not setting.inputs.get("storageAccountId")
        and not setting.inputs.get("eventHubName")
    ):
        return False
    return any(
        one.get("enabled") in (True, UNKNOWN)
        and re.search("(?i)audit|alllogs", f"{one.get('category')} {one.get('categoryGroup')}")
        for one in mappings(setting.inputs.get("logs"))
    )


def told_in_time(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Budgets and alerts reach somebody."""
    if kind == "azure-native:monitor:ActionGroup":
        receivers = [key for key, value in inputs.items() if key.endswith("Receivers") and value]
        found = [] if receivers or UNKNOWN in inputs.values() else ["has no receiver: nobody is told"]
        return [*found, *([] if inputs.get("enabled") in (True, UNKNOWN) else ["is switched off: nobody is told"])]
    if kind in ("azure-native:monitor:ActivityLogAlert", "azure-native:insights:ActivityLogAlert"):
        return ["is switched off"] if inputs.get("enabled") is False else []
    if kind == "azure-native:logic:Workflow":
        return [] if inputs.get("state") in (None, "Enabled", UNKNOWN) else ["is switched off: nothing starts it"]
    if kind != "azure-native:consumption:Budget" or inputs.get("notifications") == UNKNOWN:
        return []
    notifications = [mapping(one) for one in mapping(inputs.get("notifications")).values()]
    heard = [
        one
        for one in notifications
        if one.get("enabled") in (True, UNKNOWN)
        and (one.get("contactEmails") or one.get("contactGroups") or one.get("contactRoles"))
    ]
    if not heard:
        return ["tells nobody: its notifications are off, or without a contact"]
    early = [
        one for one in heard if not isinstance(one.get("threshold"), int | float) or one["threshold"] <= _LATE_PERCENT
    ]
    return [] if early else [f"tells when more than {_LATE_PERCENT} % of it is spent: add a lower threshold"]


_LATE_PERCENT = 100


def gpu_nodes(resources: Sequence[Registered]) -> Sequence[Nodes]:
    """Return the pools of nodes with accelerators."""
    return [
        Nodes(
            urn=one.urn,
            resource="amd.com/gpu" if _AMD.match(size) else "nvidia.com/gpu",
            taints=tuple(
                (found["key"], found["effect"])
                for taint in texts(one.inputs.get("nodeTaints"))
                if (found := _TAINT.fullmatch(taint)) and found["effect"] != "PreferNoSchedule"
            ),
            has_driver=mapping(one.inputs.get("gpuProfile")).get("driver") == "Install",
            fabric=ADAPTERS if "_ND" in size and "r_" in size else "",
        )
        for one in resources
        if one.type == POOL
        for size in [str(one.inputs.get("vmSize"))]
        if size.startswith("Standard_N")
    ]


def taints_of_the_vendor(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """The taint of GPU nodes is that which their vendor's plugin and jobs tolerate."""
    size = str(inputs.get("vmSize"))
    if kind != POOL or not size.startswith("Standard_N"):
        return []
    wanted = "amd.com/gpu" if _AMD.match(size) else "nvidia.com/gpu"
    keys = {found["key"] for taint in texts(inputs.get("nodeTaints")) if (found := _TAINT.fullmatch(taint))}
    return (
        [f"has the taint {', '.join(sorted(keys))}: its vendor's plugin tolerates {wanted}"]
        if keys and wanted not in keys
        else []
    )


def budgets_stay(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A budget keeps the month in which it began: Azure takes no new one, and the next month's `up` would fail."""
    return [
        (one.urn, "gets another first month with the next `up`, which Azure refuses: ignore changes of timePeriod")
        for one in resources
        if one.type == "azure-native:consumption:Budget" and "timePeriod" not in one.ignores
    ]


RULES: Sequence[Rule] = (
    Rule(name="named-accounts", description="One service account acts as an identity.", check=named_accounts),
    Rule(name="told-in-time", description="Budgets and alerts reach somebody.", check=told_in_time),
    Rule(name="taints-of-the-vendor", description="Plugins get onto GPU nodes.", check=taints_of_the_vendor),
)
STACK_RULES: Sequence[StackRule] = (
    StackRule(name="one-writer-of-secrets", description="One identity writes secrets.", check=one_writer),
    StackRule(name="rights-of-jobs", description="Pods have rights on data alone.", check=rights_of_jobs),
    StackRule(
        name="records-are-locked", description="The database has a lock.", check=locked_records, about=PROTECTION
    ),
    StackRule(name="budgets-stay", description="Budgets keep their first month.", check=budgets_stay),
    StackRule(name="use-is-written-down", description="Who used what is written down.", check=written_down),
    *devices(gpu_nodes),
)
