"""What must hold for EKS and its managed groups of GPU nodes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.recorder.shapes import EnumShape, Nested, Sdk, described
from clusterwright.checks.preflight.records import Record, Resource

from .kubernetes_nodes import EKS_GROUP, is_gpu_group
from .rules import Problem, Wanted
from .rules_aws import expected_interfaces

CLUSTER = "aws:eks/cluster:Cluster"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
ADD_ON = "aws:eks/addon:Addon"
#: Without these a node has no network, and is never ready.
_BEFORE_NODES = ("vpc-cni", "kube-proxy")
LOGS = "aws:cloudwatch/logGroup:LogGroup"
#: EKS refuses these in a template of a managed group (CloudFormation, AWS::EKS::Nodegroup LaunchTemplateSpecification).
_NOT_IN_TEMPLATE = ("iamInstanceProfile", "hibernationOptions")
_CAPACITY_TYPES = {
    "on-demand": "ON_DEMAND",
    "spot": "SPOT",
    "reservation": "ON_DEMAND",
    "capacity-block": "CAPACITY_BLOCK",
}


def eks_problems(record: Record, sdk: Sdk, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with cluster and node groups."""
    templates = [one for one in record.of(TEMPLATE) if is_gpu_group(one)]
    return [
        *_cluster(record),
        *(problem for one in templates for problem in _template(one, sdk, wanted)),
        *_capacity(record, templates, wanted),
        *_groups(record, wanted),
        *_order(record),
        *_machines(record),
        *_policies(record),
    ]


def _cluster(record: Record) -> Iterator[Problem]:
    for one in record.of(CLUSTER):
        network = one.inputs.get("vpcConfig", {})
        if network.get("endpointPrivateAccess") is not True:
            yield Problem(id="EKS001", resource=one.name, message="nodes reach the API server over the Internet")
        if network.get("endpointPublicAccess") is not False and not network.get("publicAccessCidrs"):
            yield Problem(id="EKS002", resource=one.name, message="the API server is open to the Internet")
        encryption = one.inputs.get("encryptionConfig") or {}
        if encryption.get("resources") != ["secrets"] or not encryption.get("provider", {}).get("keyArn"):
            yield Problem(id="EKS003", resource=one.name, message="secrets are not under the cluster's own key")
        if "audit" not in (one.inputs.get("enabledClusterLogTypes") or []):
            yield Problem(id="EKS004", resource=one.name, message="there is no audit log")
        logs = [
            log for log in record.of(LOGS) if log.inputs.get("name") == f"/aws/eks/{one.inputs.get('name')}/cluster"
        ]
        if not logs or not logs[0].inputs.get("retentionInDays") or not logs[0].inputs.get("kmsKeyId"):
            yield Problem(id="EKS005", resource=one.name, message="EKS makes its log group without key and end")
        if one.inputs.get("bootstrapSelfManagedAddons") is not False:
            yield Problem(
                id="EKS007", resource=one.name, message="self-managed add-ons stand in the way of managed ones"
            )
        if (one.inputs.get("upgradePolicy") or {}).get("supportType") != "STANDARD":
            yield Problem(id="EKS008", resource=one.name, message="extended support: six times the price, in silence")
        if (one.inputs.get("accessConfig") or {}).get("authenticationMode") != "API":
            yield Problem(id="EKS006", resource=one.name, message="access is kept in a map inside the cluster")


def _template(one: Resource, sdk: Sdk, wanted: Wanted) -> Iterator[Problem]:
    inputs = one.inputs
    interfaces = inputs.get("networkInterfaces") or []
    for name in _NOT_IN_TEMPLATE:
        if inputs.get(name):
            yield Problem(id="EKS010", resource=one.name, message=f"EKS refuses {name} in the template")
    if any(nic.get("subnetId") for nic in interfaces):
        yield Problem(id="EKS010", resource=one.name, message="EKS refuses a subnet in the template")
    if (inputs.get("instanceMarketOptions") or {}).get("marketType") == "spot":
        yield Problem(id="EKS010", resource=one.name, message="EKS refuses a spot request in the template")
    found = [(nic.get("networkCardIndex"), nic.get("deviceIndex"), nic.get("interfaceType")) for nic in interfaces]
    if found != expected_interfaces(wanted):
        yield Problem(id="EKS011", resource=one.name, message=f"{len(found)} interfaces: {found[:3]}")
    if any(len(nic.get("securityGroups") or []) != 2 for nic in interfaces):
        yield Problem(id="EKS012", resource=one.name, message="not every interface is in both security groups")
    if any(nic.get("associatePublicIpAddress") == "true" for nic in interfaces):
        yield Problem(id="EKS013", resource=one.name, message="asks for a public address")
    listed = described(Nested(module=sdk.site_packages / "pulumi_aws" / "ec2", name="InstanceType"))
    assert isinstance(listed, EnumShape)
    if inputs.get("instanceType") != wanted.instance.id or inputs.get("instanceType") not in listed.values:
        yield Problem(id="EKS014", resource=one.name, message=f"is a {inputs.get('instanceType')}")


def _capacity(record: Record, templates: list[Resource], wanted: Wanted) -> Iterator[Problem]:
    reserved = wanted.capacity in ("reservation", "capacity-block")
    for one in templates:
        specification: Mapping[str, Any] = one.inputs.get("capacityReservationSpecification") or {}
        target = (specification.get("capacityReservationTarget") or {}).get("capacityReservationId")
        if reserved and not str(target or "").startswith("cr-"):
            yield Problem(id="EKS020", resource=one.name, message=f"{wanted.capacity} without the id of a reservation")
        if (target or reserved) and one.inputs.get("placement"):
            yield Problem(id="EKS021", resource=one.name, message="a placement group on top of a reservation")
        if not reserved and wanted.instance.fabric_interfaces and not one.inputs.get("placement"):
            yield Problem(id="EKS022", resource=one.name, message="nothing places the nodes close together")
        market = (one.inputs.get("instanceMarketOptions") or {}).get("marketType")
        if (market == "capacity-block") != (wanted.capacity == "capacity-block"):
            yield Problem(id="EKS023", resource=one.name, message=f"market type {market} for {wanted.capacity}")
    for group in filter(is_gpu_group, record.of(EKS_GROUP)):
        if group.inputs.get("capacityType") != _CAPACITY_TYPES[wanted.capacity]:
            message = f"{group.inputs.get('capacityType')} for {wanted.capacity}"
            yield Problem(id="EKS024", resource=group.name, message=message)
    for one in record.of("aws:ec2/capacityBlockReservation:CapacityBlockReservation"):
        yield Problem(id="EKS025", resource=one.name, message="`up` buys a capacity block")


def _groups(record: Record, wanted: Wanted) -> Iterator[Problem]:
    variant = "NEURON" if wanted.instance.id.startswith(("trn", "inf")) else "NVIDIA"
    for one in filter(is_gpu_group, record.of(EKS_GROUP)):
        inputs, scaling = one.inputs, one.inputs.get("scalingConfig", {})
        if len(inputs.get("subnetIds") or []) != 1:
            yield Problem(id="EKS030", resource=one.name, message="nodes of one fabric are in several subnets")
        if not 1 <= scaling.get("maxSize", 0) <= 450 or scaling.get("minSize") != scaling.get("desiredSize"):
            yield Problem(id="EKS031", resource=one.name, message=f"sizes are {dict(scaling)}")
        if not str(inputs.get("amiType")).endswith(variant):
            yield Problem(id="EKS032", resource=one.name, message=f"{inputs.get('amiType')} lacks the {variant} driver")
        arm = "arm" in wanted.instance.architecture
        if ("ARM" in str(inputs.get("amiType"))) != arm:
            yield Problem(id="EKS036", resource=one.name, message=f"{inputs.get('amiType')} is of another processor")
        if inputs.get("forceUpdateVersion"):
            yield Problem(id="EKS037", resource=one.name, message="an update forces pods off that may not go")
        if inputs.get("instanceTypes"):
            yield Problem(id="EKS033", resource=one.name, message="instance types beside those of the template")
        if (inputs.get("nodeRepairConfig") or {}).get("enabled") is not True:
            yield Problem(id="EKS034", resource=one.name, message="a broken node stays")
        if (inputs.get("updateConfig") or {}).get("maxUnavailable") != 1:
            yield Problem(id="EKS035", resource=one.name, message="an update takes several nodes at once")


def _order(record: Record) -> Iterator[Problem]:
    needed = [one for one in record.of(ADD_ON) if one.inputs.get("addonName") in _BEFORE_NODES]
    for group in record.of(EKS_GROUP):
        project = group.urn.split("::")[1]
        late = [one.name for one in needed if one.urn.split("::")[1] == project and one.urn not in group.dependencies]
        if late:
            yield Problem(id="EKS038", resource=group.name, message=f"comes before {', '.join(late)}: never ready")


def _machines(record: Record) -> Iterator[Problem]:
    for one in record.of(TEMPLATE):
        metadata = one.inputs.get("metadataOptions") or {}
        if metadata.get("httpTokens") != "required" or metadata.get("httpPutResponseHopLimit") != 1:
            yield Problem(id="EKS040", resource=one.name, message="pods get the rights of the node")
        disks = [disk.get("ebs", {}) for disk in one.inputs.get("blockDeviceMappings") or []]
        if not disks or any(disk.get("encrypted") != "true" or not disk.get("kmsKeyId") for disk in disks):
            yield Problem(id="EKS041", resource=one.name, message="a disk is not under the cluster's own key")


def _policies(record: Record) -> Iterator[Problem]:
    for one in record.of("aws:iam/rolePolicy:RolePolicy"):
        document = one.inputs.get("policy")
        for statement in json.loads(document)["Statement"] if isinstance(document, str) else ():
            actions, resources = statement.get("Action", []), statement.get("Resource", [])
            if "*" in actions or ("*" in resources and not statement.get("Condition")):
                yield Problem(id="EKS050", resource=one.name, message=f"allows {actions[:2]} on {resources[:1]}")
