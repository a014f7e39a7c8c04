"""What machines of every cloud have in common: nothing outlives them, nobody waits for them, their disks suit them.

Google Cloud's and Azure's documentation of disk types by machine series, and the EC2 User Guide's of volume types, say
which disks there are; the rest is what a person who pays for what is left behind would ask for.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem, Wanted

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
INSTANCE_TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
#: Type -> path to what has to be there, so that nothing is left of a machine; `[]` stands for each of a list. The
#: second word of a pair says whether the provider does so anyway if nothing is said.
_GOES: Mapping[tuple[str, str], tuple[Any, bool]] = {
    (TEMPLATE, "blockDeviceMappings[].ebs.deleteOnTermination"): ("true", False),
    ("aws:ec2/instance:Instance", "rootBlockDevice.deleteOnTermination"): (True, True),
    ("aws:ec2/securityGroup:SecurityGroup", "revokeRulesOnDelete"): (True, False),
    (INSTANCE_TEMPLATE, "disks[].autoDelete"): (True, True),
    ("gcp:compute/instance:Instance", "bootDisk.autoDelete"): (True, True),
    (MACHINE, "storageProfile.osDisk.deleteOption"): ("Delete", False),
    ("azure-native:containerservice:AgentPool", "scaleDownMode"): ("Delete", True),
}
#: Ways to buy whose machines end by themselves: stopped ones keep their disks.
_ENDING = ("SPOT", "FLEX_START")
_LONGEST_WAIT_S = 3600
_EBS = ("gp3", "io2")
_MANAGED_DISKS = ("Premium_LRS", "PremiumV2_LRS", "Premium_ZRS", "UltraSSD_LRS")
#: Machine series that boot from Hyperdisk alone (Compute Engine, "About Hyperdisk"), as a pattern of the type.
_HYPERDISK_ONLY = re.compile(r"(a3-ultragpu|a4|a4x|c4|n4)-")
_PERSISTENT = ("pd-balanced", "pd-ssd", "hyperdisk-balanced")
#: How images name their root disk: Canonical's, and Amazon Linux 2023 on the nodes of EKS.
_ROOT_DEVICE = {"slurm": "/dev/sda1", "kubernetes": "/dev/xvda"}


def machine_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with disks, waiting and what stays behind."""
    return [*_leftovers(record), *_waits(record), *_disks(record), *_ephemeral(record), *_root_disks(record, wanted)]


def values(value: Any, path: str) -> list[Any]:  # noqa: ANN401 - JSON
    """Return what lies at a path: one value, None where nothing does, or one for each of a list."""
    head, _, rest = path.partition(".")
    name, each = head.removesuffix("[]"), head.endswith("[]")
    found = value.get(name) if isinstance(value, Mapping) else None
    inner = (found or []) if each else [found]
    return [one for item in inner for one in (values(item, rest) if rest else [item])]


def _leftovers(record: Record) -> Iterator[Problem]:
    for (kind, path), (right, by_default) in _GOES.items():
        for one in record.of(kind):
            for found in values(one.inputs, path):
                if found != right and not (found is None and by_default):
                    yield Problem(id="LEF001", resource=one.name, message=f"{path} is {found}: it stays behind")
    for one in record.of(INSTANCE_TEMPLATE):
        scheduling = one.inputs.get("scheduling") or {}
        action = scheduling.get("instanceTerminationAction")
        if scheduling.get("provisioningModel") in _ENDING and action != "DELETE":
            message = f"instanceTerminationAction is {action}: its disk stays behind"
            yield Problem(id="LEF001", resource=one.name, message=message)


def _waits(record: Record) -> Iterator[Problem]:
    for one in record.of(GROUP):
        balanced = any(one.inputs.get(name) for name in ("targetGroupArns", "loadBalancers", "trafficSources"))
        if one.inputs.get("healthCheckType") not in (None, "EC2") and not balanced:
            message = f"healthCheckType is {one.inputs.get('healthCheckType')}, and nothing balances load: all are ill"
            yield Problem(id="WAI001", resource=one.name, message=message)
        if not balanced and (one.inputs.get("minElbCapacity") or one.inputs.get("waitForElbCapacity")):
            yield Problem(id="WAI001", resource=one.name, message="waits for a load balancer that there is not")
        wait_s = _seconds(str(one.inputs.get("waitForCapacityTimeout", "10m")))
        if wait_s is None or wait_s > _LONGEST_WAIT_S:
            message = f"waitForCapacityTimeout is {one.inputs.get('waitForCapacityTimeout')}: `up` hangs that long"
            yield Problem(id="WAI001", resource=one.name, message=message)
    for one in record.cloud_resources:
        # On a managed instance group, and on whatever else takes it.
        if one.type.startswith("gcp:") and one.inputs.get("waitForInstances") is True:
            yield Problem(id="WAI001", resource=one.name, message="waitForInstances: `up` hangs until all are there")


def _seconds(text: str) -> int | None:
    units = {"h": 3600, "m": 60, "s": 1}
    parts = re.fullmatch(r"((\d+)h)?((\d+)m)?((\d+)s)?|0", text)
    return sum(int(n) * units[u] for n, u in re.findall(r"(\d+)([hms])", text)) if parts else None


def _disks(record: Record) -> Iterator[Problem]:
    for one in record.cloud_resources:
        for disk, right in _disk_types(one):
            if disk not in right:
                yield Problem(id="DSK001", resource=one.name, message=f"a disk of {disk}, not of {' or '.join(right)}")


def _disk_types(one: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the type of every disk of a machine, and the types that it may have."""
    inputs = one.inputs
    match one.type:
        case "aws:ec2/launchTemplate:LaunchTemplate":
            yield from ((str(found), _EBS) for found in values(inputs, "blockDeviceMappings[].ebs.volumeType"))
        case "aws:ec2/instance:Instance":
            yield str((inputs.get("rootBlockDevice") or {}).get("volumeType")), _EBS
        case "gcp:compute/instanceTemplate:InstanceTemplate":
            right = _google_disks(str(inputs.get("machineType")))
            yield from ((str(found), right) for found in values(inputs, "disks[].diskType"))
        case "gcp:compute/instance:Instance":
            disk = ((inputs.get("bootDisk") or {}).get("initializeParams") or {}).get("type")
            yield str(disk), _google_disks(str(inputs.get("machineType")))
        case "gcp:container/nodePool:NodePool":
            config = inputs.get("nodeConfig") or {}
            yield str(config.get("diskType")), _google_disks(str(config.get("machineType")))
        case "azure-native:compute:VirtualMachineScaleSet" | "azure-native:compute:VirtualMachine":
            profile = inputs.get("virtualMachineProfile", inputs)
            found = values(profile, "storageProfile.osDisk.managedDisk.storageAccountType")
            found += values(profile, "storageProfile.dataDisks[].managedDisk.storageAccountType")
            yield from ((str(each), _MANAGED_DISKS) for each in found)


def _google_disks(machine_type: str) -> tuple[str, ...]:
    return ("hyperdisk-balanced",) if _HYPERDISK_ONLY.match(machine_type) else _PERSISTENT


def _ephemeral(record: Record) -> Iterator[Problem]:
    said = "is ephemeral: nothing says that it fits the size's local disk, and what it holds goes with a re-deployment"
    for one in (*record.of(SCALE_SET), *record.of(MACHINE)):
        profile = one.inputs.get("virtualMachineProfile", one.inputs)
        if any(values(profile, "storageProfile.osDisk.diffDiskSettings")):
            yield Problem(id="DSK003", resource=one.name, message=said)
    for one in record.of("azure-native:containerservice:AgentPool"):
        # Without a word AKS takes an ephemeral one where the size allows it.
        if one.inputs.get("osDiskType") != "Managed":
            yield Problem(id="DSK003", resource=one.name, message=said)


def _root_disks(record: Record, wanted: Wanted) -> Iterator[Problem]:
    right = _ROOT_DEVICE[wanted.scheduler]
    for one in record.of(TEMPLATE):
        names = values(one.inputs, "blockDeviceMappings[].deviceName")
        if right not in names:
            message = f"sizes {', '.join(map(str, names)) or 'no disk'}, and not the image's root disk {right}"
            yield Problem(id="DSK002", resource=one.name, message=message)
