"""What must hold on Google Cloud beside networks and nodes: secrets, database, watchdog, budget, TPU slices."""

import json
import re
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record

from .rules import Problem, Wanted

SECRET = "gcp:secretmanager/secret:Secret"  # noqa: S105 - a resource type
SECRET_GRANT = "gcp:secretmanager/secretIamMember:SecretIamMember"  # noqa: S105 - a resource type
SECRET_VERSION = "gcp:secretmanager/secretVersion:SecretVersion"  # noqa: S105 - a resource type
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
DATABASE_USER = "gcp:sql/user:User"
CUSTOM_ROLE = "gcp:projects/iAMCustomRole:IAMCustomRole"
PROJECT_GRANT = "gcp:projects/iAMMember:IAMMember"
WORKFLOW = "gcp:workflows/workflow:Workflow"
JOB = "gcp:cloudscheduler/job:Job"
BUDGET = "gcp:billing/budget:Budget"
ALERT = "gcp:monitoring/alertPolicy:AlertPolicy"
TPU_VM = "gcp:tpu/v2Vm:V2Vm"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"

#: Permissions that change machines, and are granted only upon a condition.
_CHANGING = ("compute.instanceGroupManagers.update",)
_WATCHDOG_PERMISSIONS = {
    "compute.instanceGroupManagers.get",
    "compute.instanceGroupManagers.update",
    "compute.zoneOperations.get",
    "logging.logEntries.create",
    "monitoring.timeSeries.list",
    "workflows.executions.create",
}
_SECRET_ROLES = ("roles/secretmanager.secretAccessor", "roles/secretmanager.secretVersionAdder")
#: cloud.google.com/tpu/docs/v5p: hosts of four chips, the largest slice has 6,144.
_TPU_CHIPS_PER_HOST = 4
_TPU_MAX_CHIPS = 6144
_TPU_CUBE = 4


def services_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with what is neither network nor node."""
    return [
        *_secrets(record),
        *_database(record),
        *_watchdog(record),
        *_money(record, wanted),
        *_tpu(record, wanted),
    ]


def _secrets(record: Record) -> Iterator[Problem]:
    for one in record.of(SECRET):
        replicas = ((one.inputs.get("replication") or {}).get("userManaged") or {}).get("replicas") or []
        if not replicas or any("kmsKeyName" not in (r.get("customerManagedEncryption") or {}) for r in replicas):
            yield Problem(id="GCP070", resource=one.name, message="is not encrypted with the cluster's key")
    for one in record.of(SECRET_GRANT):
        if one.inputs.get("role") not in _SECRET_ROLES:
            yield Problem(id="GCP071", resource=one.name, message=f"grants {one.inputs.get('role')}")
        member = str(one.inputs.get("member"))
        if "password" in one.name and "controller" not in member and "controller" not in one.name:
            yield Problem(id="GCP072", resource=one.name, message=f"lets {member} read the database's password")

    for one in record.of(SECRET_VERSION):
        if not re.search("password|-users", str(one.inputs.get("secret"))):
            yield Problem(id="GCP079", resource=one.name, message="holds a value that is made by the controller itself")


def _database(record: Record) -> Iterator[Problem]:
    for one in record.of(DATABASE):
        settings = one.inputs.get("settings") or {}
        address = settings.get("ipConfiguration") or {}
        if address.get("ipv4Enabled") is not False or not address.get("privateNetwork"):
            yield Problem(id="GCP073", resource=one.name, message="has a public address")
        if address.get("authorizedNetworks"):
            yield Problem(id="GCP073", resource=one.name, message="lets other networks in")
        if address.get("sslMode") not in ("ENCRYPTED_ONLY", "TRUSTED_CLIENT_CERTIFICATE_REQUIRED"):
            yield Problem(id="GCP074", resource=one.name, message="takes connections that are not encrypted")
        if not one.inputs.get("encryptionKeyName"):
            yield Problem(id="GCP075", resource=one.name, message="is not encrypted with the cluster's key")
        if one.inputs.get("deletionProtection") is not True or settings.get("deletionProtectionEnabled") is not True:
            yield Problem(id="GCP076", resource=one.name, message="can be deleted by mistake")
        backup = settings.get("backupConfiguration") or {}
        if backup.get("enabled") is not True or backup.get("binaryLogEnabled") is not True:
            yield Problem(id="GCP077", resource=one.name, message="cannot be restored to a point in time")
        if not str(one.inputs.get("databaseVersion")).startswith("MYSQL_"):
            yield Problem(id="GCP078", resource=one.name, message="is no MySQL, which slurmdbd needs")

    for one in record.of(DATABASE_USER):
        if not one.inputs.get("password"):
            yield Problem(id="GCP069", resource=one.name, message="needs no password")


def _watchdog(record: Record) -> Iterator[Problem]:
    groups = [one.name for one in record.of(GROUP)]
    changing = set()
    for one in record.of(CUSTOM_ROLE):
        permissions = set(one.inputs.get("permissions") or [])
        if permissions - _WATCHDOG_PERMISSIONS or any("*" in permission for permission in permissions):
            message = f"allows {sorted(permissions - _WATCHDOG_PERMISSIONS)}"
            yield Problem(id="GCP080", resource=one.name, message=message)
        if permissions & set(_CHANGING):
            changing.add(one.name)
    for one in record.of(PROJECT_GRANT):
        if one.name in changing:
            expression = str((one.inputs.get("condition") or {}).get("expression", ""))
            if (
                any(f"/instanceGroupManagers/{name}" not in expression for name in groups)
                or "resource.name" not in expression
            ):
                yield Problem(id="GCP081", resource=one.name, message="may resize groups of others")
            if "||" in expression and expression.count("==") != len(groups):
                yield Problem(id="GCP081", resource=one.name, message="may resize groups of others")
    for one in record.of(WORKFLOW):
        named = str((one.inputs.get("userEnvVars") or {}).get("GROUPS", "")).split(",")
        if sorted(named) != sorted(groups):
            yield Problem(id="GCP082", resource=one.name, message=f"watches {named}, not {groups}")
        if not one.inputs.get("serviceAccount"):
            yield Problem(id="GCP083", resource=one.name, message="runs as the project's default account")
    for one in record.of(JOB):
        target = one.inputs.get("httpTarget") or {}
        if not (target.get("oauthToken") or {}).get("serviceAccountEmail") or not one.inputs.get("schedule"):
            yield Problem(id="GCP084", resource=one.name, message="starts nothing, since it has no account")
    if len(record.of(WORKFLOW)) != len(record.of(JOB)):
        yield Problem(id="GCP085", resource="watchdog", message="a workflow without a schedule, or the other way round")


def _money(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for one in record.of(BUDGET):
        labels = (one.inputs.get("budgetFilter") or {}).get("labels") or {}
        name = wanted.tags.get("gpu-cluster")
        if labels != {"gpu-cluster": name}:
            yield Problem(id="GCP086", resource=one.name, message=f"watches {labels}, not this cluster")
        if not one.inputs.get("thresholdRules"):
            yield Problem(id="GCP087", resource=one.name, message="warns at no amount")
    counted = any("instance_group/size" in json.dumps(one.inputs.get("conditions")) for one in record.of(ALERT))
    if wanted.instance.id != "ct5p-hightpu-4t" and record.of(GROUP) and wanted.nodes and not counted:
        yield Problem(id="GCP088", resource="alerts", message="nobody hears of missing nodes")


def _tpu(record: Record, wanted: Wanted) -> Iterator[Problem]:
    is_tpu = wanted.instance.accelerator.startswith("tpu-")
    slices = record.of(TPU_VM)
    if is_tpu and (len(slices) != 1 or record.of(TEMPLATE)):
        yield Problem(
            id="GCP090", resource="slice", message=f"{len(slices)} slices and {len(record.of(TEMPLATE))} templates"
        )
    if slices and not is_tpu:
        yield Problem(id="GCP090", resource="slice", message=f"{wanted.instance.id} is no TPU")
    for one in slices:
        network = one.inputs.get("networkConfig") or {}
        if network.get("enableExternalIps") is not False:
            yield Problem(id="GCP091", resource=one.name, message="has public addresses")
        if not (one.inputs.get("serviceAccount") or {}).get("email"):
            yield Problem(id="GCP092", resource=one.name, message="runs as the project's default account")
        topology = str((one.inputs.get("acceleratorConfig") or {}).get("topology"))
        sides = [int(side) for side in topology.split("x")] if topology.count("x") == 2 else [0]
        chips = 1
        for side in sides:
            chips *= side
        if chips != wanted.nodes * _TPU_CHIPS_PER_HOST or chips > _TPU_MAX_CHIPS:
            yield Problem(id="GCP093", resource=one.name, message=f"{topology} is not {wanted.nodes} hosts of 4 chips")
        if chips >= _TPU_CUBE**3 and (any(side % _TPU_CUBE for side in sides) or sides != sorted(sides)):
            yield Problem(id="GCP093", resource=one.name, message=f"{topology} is made of no whole cubes")
        if not str(one.inputs.get("runtimeVersion")).startswith("v2-alpha-tpuv5"):
            yield Problem(id="GCP094", resource=one.name, message=f"runtime {one.inputs.get('runtimeVersion')}")
        scheduling = one.inputs.get("schedulingConfig") or {}
        if (scheduling.get("spot") is True) != (wanted.capacity == "spot"):
            yield Problem(id="GCP095", resource=one.name, message=f"spot is {scheduling.get('spot')}")
        if (scheduling.get("reserved") is True) != (wanted.capacity == "reservation"):
            yield Problem(id="GCP095", resource=one.name, message=f"reserved is {scheduling.get('reserved')}")
