"""What must hold on Azure beside network and nodes: logs, private endpoints, accounting database, watchdog, budget."""

import re
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record, texts

from .rules import Problem

ENDPOINT = "azure-native:network:PrivateEndpoint"
NAMES = "azure-native:network:PrivateDnsZoneGroup"
DATABASE = "azure-native:dbformysql:Server"
SECRET = "azure-native:keyvault:Secret"  # noqa: S105 - a resource type
WORKFLOW = "azure-native:logic:Workflow"
GRANT = "azure-native:authorization:RoleAssignment"
ROLE = "azure-native:authorization:RoleDefinition"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
FLOW_LOG = "azure-native:network:FlowLog"
NETWORK = "azure-native:network:VirtualNetwork"
AUDIT = "azure-native:monitor:DiagnosticSetting"

#: Services that are reached from the network alone, and Azure's name of what an endpoint leads to.
_PRIVATE = {
    "azure-native:keyvault:Vault": "vault",
    "azure-native:storage:StorageAccount": "blob",
    DATABASE: "mysqlServer",
}
#: Closed to everybody but Azure's own flow logs and Lustre, so nothing in the network needs to reach them.
_FOR_AZURE_ALONE = ("flsmall", "lvsmall")
_AUDITED = ("azure-native:keyvault:Vault", DATABASE)
_SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
_SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
_LEAST_BACKUP_DAYS = 7
_WATCHDOG_ACTIONS = {
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Insights/metrics/read",
}
_RFC_3339 = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def service_problems(record: Record) -> Iterator[Problem]:
    """Return everything that is wrong with the services around network and nodes."""
    yield from _logs(record)
    yield from _endpoints(record)
    yield from _database(record)
    yield from _secrets(record)
    yield from _watchdog(record)
    yield from _budget(record)


def _logs(record: Record) -> Iterator[Problem]:
    for network in record.of(NETWORK):
        logs = [one for one in record.of(FLOW_LOG) if one.inputs.get("enabled") is True]
        if not any(str(one.inputs.get("targetResourceId")).endswith(f"/{network.name}") for one in logs):
            yield Problem(id="AZ045", resource=network.name, message="nobody can see who talked to whom")
    audited = [
        str(one.inputs.get("resourceUri"))
        for one in record.of(AUDIT)
        if any(log.get("enabled") is True for log in one.inputs.get("logs", ()))
    ]
    for kind in _AUDITED:
        for one in record.of(kind):
            if not any(uri.endswith(f"/{one.name}") for uri in audited):
                yield Problem(id="AZ062", resource=one.name, message="keeps no audit log")


def _endpoints(record: Record) -> Iterator[Problem]:
    led_to: dict[str, tuple[str, str]] = {}
    for one in record.of(ENDPOINT):
        for connection in one.inputs["privateLinkServiceConnections"]:
            led_to[str(connection["privateLinkServiceId"]).lower()] = (one.name, connection["groupIds"][0])
    named = {str(one.inputs["privateEndpointName"]) for one in record.of(NAMES)}
    for kind, service in _PRIVATE.items():
        for one in record.of(kind):
            if one.name in _FOR_AZURE_ALONE:
                continue
            endpoint = next((found for target, found in led_to.items() if target.endswith(f"/{one.name}")), None)
            if endpoint is None or endpoint[1] != service:
                yield Problem(id="AZ046", resource=one.name, message="has no private endpoint, and no other door")
            elif endpoint[0] not in named:
                yield Problem(
                    id="AZ047", resource=one.name, message="has no private name: clients go to its closed door"
                )


def _database(record: Record) -> Iterator[Problem]:
    for one in record.of(DATABASE):
        inputs = one.inputs
        if (inputs.get("network") or {}).get("publicNetworkAccess") != "Disabled":
            yield Problem(id="AZ055", resource=one.name, message="is open to the Internet")
        encryption = inputs.get("dataEncryption") or {}
        if encryption.get("type") != "AzureKeyVault" or not encryption.get("primaryUserAssignedIdentityId"):
            yield Problem(id="AZ056", resource=one.name, message="is not encrypted with the cluster's key")
        kept = (inputs.get("backup") or {}).get("backupRetentionDays", 0)
        if kept < _LEAST_BACKUP_DAYS:
            yield Problem(id="AZ057", resource=one.name, message=f"keeps backups for {kept} days")


def _secrets(record: Record) -> Iterator[Problem]:
    # Every machine reads the list of users.
    closed = [one for one in record.of(SECRET) if not str(one.inputs.get("secretName")).endswith("-users")]
    guarded = {f"/secrets/{one.name}" for one in closed}
    guarded |= {f"/vaults/{one.inputs.get('vaultName')}" for one in closed}
    for one in record.of(GRANT):
        role = str(one.inputs.get("roleDefinitionId")).rpartition("/")[2]
        scope, controller = str(one.inputs.get("scope")), "-controller-" in str(one.inputs.get("principalId"))
        if role == _SECRETS_OFFICER and not controller:
            yield Problem(id="AZ058", resource=one.name, message="may write the cluster's secret")
        if role not in (_SECRETS_OFFICER, _SECRETS_USER) or controller:
            continue
        if any(scope.endswith(end) for end in guarded):
            yield Problem(id="AZ059", resource=one.name, message="may read the password of the database")


def _watchdog(record: Record) -> Iterator[Problem]:
    sets = record.of(SCALE_SET)
    for one in record.of(ROLE):
        actions = {action for permission in one.inputs["permissions"] for action in permission.get("actions", ())}
        if not actions <= _WATCHDOG_ACTIONS:
            more = ", ".join(sorted(actions - _WATCHDOG_ACTIONS))
            yield Problem(id="AZ070", resource=one.name, message=f"allows {more}")
    watched = "".join(text for one in record.of(WORKFLOW) for text, _ in texts(one.inputs.get("parameters")))
    for one in sets:
        expiry = (one.inputs.get("tags") or {}).get("expires-at")
        if expiry is not None and re.fullmatch(_RFC_3339, str(expiry)) is None:
            yield Problem(id="AZ071", resource=one.name, message=f"expires at {expiry}, which the watchdog cannot read")
        if expiry is not None and not any("expires-at" in path for path in one.ignore_changes):
            yield Problem(id="AZ072", resource=one.name, message="every `up` would put off its expiry")
        if (expiry is not None or record.of(WORKFLOW)) and f"/{one.name}" not in watched:
            yield Problem(id="AZ073", resource=one.name, message="nobody watches it")
    for one in record.of(WORKFLOW):
        if one.inputs.get("state") != "Enabled":
            yield Problem(id="AZ074", resource=one.name, message="is switched off")


def _budget(record: Record) -> Iterator[Problem]:
    for one in record.of("azure-native:consumption:Budget"):
        tags = (one.inputs.get("filter") or {}).get("tags") or {}
        if tags.get("name") != "gpu-cluster" or tags.get("values") != ["small"]:
            yield Problem(id="AZ061", resource=one.name, message="does not count every layer of this cluster")
