"""What must hold on AWS of head machines, of what machines are told at boot, and of those who hear of interruptions."""

import base64
import gzip
import json
import re
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem, Wanted

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
ADDRESS = "aws:ec2/networkInterface:NetworkInterface"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
DATABASE = "aws:rds/cluster:Cluster"
FUNCTION = "aws:lambda/function:Function"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
#: EC2 User Guide, "Spot Instance interruption notices" and "Monitor Capacity Blocks using EventBridge".
_NOTICE = {
    "spot": "EC2 Spot Instance Interruption Warning",
    "capacity-block": "Capacity Block Reservation Expiration Warning",
}


def machine_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with machines beside their hardware."""
    return [*_machines(record), *_profiles(record), *_boot(record, wanted), *_interruptions(record, wanted)]


def _machines(record: Record) -> Iterator[Problem]:
    addresses = {f"{one.name}" for one in record.of(ADDRESS)}
    for one in record.of(ADDRESS):
        own_network = bool(record.of("aws:ec2/subnet:Subnet"))
        outside = own_network and "nodes" not in str(one.inputs.get("subnetId"))
        if not one.inputs.get("securityGroups") or outside:
            yield Problem(id="AWS139", resource=one.name, message="is outside the private subnet or any group")
    alarms = {
        str(alarm.inputs.get("dimensions", {}).get("InstanceId")): [
            str(action) for action in alarm.inputs.get("alarmActions", [])
        ]
        for alarm in record.of(ALARM)
        if alarm.inputs.get("metricName") == "StatusCheckFailed_System"
    }
    for one in record.of(INSTANCE):
        own = str((one.inputs.get("primaryNetworkInterface") or {}).get("networkInterfaceId"))
        if not any(address in own for address in addresses):
            yield Problem(id="AWS076", resource=one.name, message="has no address of its own that outlives it")
        if not one.delete_before_replace:
            yield Problem(id="AWS076", resource=one.name, message="is replaced while its address is still taken")
        actions = next((found for machine, found in alarms.items() if one.name in machine), [])
        if not any(action.endswith(":ec2:recover") for action in actions):
            yield Problem(id="AWS077", resource=one.name, message="nothing recovers it when its host fails")
        project = one.urn.split("::")[1]
        needed = [each.urn for each in record.of(ROLE_POLICY) if each.urn.split("::")[1] == project]
        needed += [each.urn for each in record.of(DATABASE)]
        missing = [urn.rpartition("::")[2] for urn in needed if urn not in one.dependencies]
        if missing:
            yield Problem(id="AWS079", resource=one.name, message=f"does not wait for {', '.join(missing)}")


def _profiles(record: Record) -> Iterator[Problem]:
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        if not one.inputs.get("iamInstanceProfile"):
            message = "has no instance profile: no shell, no secret, no Lustre over EFA"
            yield Problem(id="AWS130", resource=one.name, message=message)


def environment(machine: Resource) -> dict[str, str]:
    """Return what a machine is told at boot; nothing while it is not known."""
    packed = machine.inputs.get("userData") or machine.inputs.get("userDataBase64")
    if not isinstance(packed, str):
        return {}
    try:
        body = gzip.decompress(base64.b64decode(packed)).decode().partition("\n")[2]
        files = {one["path"]: one["content"] for one in json.loads(body)["write_files"]}
    except (OSError, ValueError, KeyError):
        return {}
    text = files.get("/etc/gpu-cluster/node.env", "")
    return dict(re.findall(r"^([A-Z_]+)='(.*)'$", text, re.MULTILINE))


def _boot(record: Record, wanted: Wanted) -> Iterator[Problem]:
    idle = [
        (one.inputs.get("environment") or {}).get("variables", {}).get("STOP_WHEN_IDLE_MINUTES", "0")
        for one in record.of(FUNCTION)
    ]
    for one in record.of(TEMPLATE):
        told = environment(one)
        if not told:
            continue
        if (told.get("CLUSTER_SPOT") == "yes") != (wanted.capacity == "spot"):
            yield Problem(id="AWS078", resource=one.name, message=f"CLUSTER_SPOT is {told.get('CLUSTER_SPOT')}")
        if any(minutes != "0" for minutes in idle) and told.get("CLUSTER_BUSY_METRIC") != "yes":
            yield Problem(id="AWS112", resource=one.name, message="CLUSTER_BUSY_METRIC is not yes")
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        told = environment(one)
        role = "compute" if one.type == TEMPLATE else "controller" if "controller" in one.name else "login"
        expected = {
            "CLUSTER_CLOUD": "aws",
            "CLUSTER_ROLE": role,
            "CLUSTER_GPUS_PER_NODE": str(wanted.instance.gpus),
            "CLUSTER_ACCELERATOR_DEVICE": wanted.instance.vendor_software,
            "CLUSTER_FABRIC": wanted.instance.fabric_kind,
            "CLUSTER_FABRIC_INTERFACES": str(wanted.instance.fabric_interfaces or 0),
            "CLUSTER_NAME": wanted.tags["gpu-cluster"],
        }
        wrong = [f"{key} is {told.get(key)}" for key, value in expected.items() if told and told.get(key) != value]
        empty = [
            key
            for key in ("SECRET_ID", "CONTROLLER_ADDRESS", "SHARED_SOURCE", "BUCKET")
            if told and not told.get(f"CLUSTER_{key}")
        ]
        if wrong or empty:
            message = f"{'; '.join([*wrong, *(f'{key} is empty' for key in empty)])}"
            yield Problem(id="AWS086", resource=one.name, message=message)
        if role != "compute" and record.of(DATABASE) and told and not told.get("CLUSTER_DATABASE_HOST"):
            yield Problem(id="AWS086", resource=one.name, message="does not know the accounting database")


def _interruptions(record: Record, wanted: Wanted) -> Iterator[Problem]:
    notice = _NOTICE.get(wanted.capacity)
    if notice is None or not record.of(TEMPLATE):
        return
    told = {str(one.inputs.get("rule")) for one in record.of(TARGET) if one.inputs.get("arn")}
    heard = any(
        notice in json.loads(rule.inputs["eventPattern"])["detail-type"] and any(rule.name in each for each in told)
        for rule in record.of(RULE)
    )
    if not heard:
        yield Problem(id="AWS038", resource="interruptions", message=f"nobody hears of '{notice}'")
