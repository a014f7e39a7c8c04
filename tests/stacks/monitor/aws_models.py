"""Hold recorded AWS inputs against Amazon's own service models (botocore): names, types, ranges, enumerations.

Standard input: a JSON list of `{"name", "type", "inputs"}`. Standard output: a JSON list of findings as text, and the
names that were checked. Runs in the stacks' environment, without credentials and without a network.

The provider takes most properties by the name of the API in another case; what it names or nests otherwise stands in
`CALLS`. Types that are no single call of an API are left to the shapes of the SDK.
"""

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.validate import ParamValidator


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """The API call that makes a resource.

    Attributes:
        renamed: the provider's path to the API's name, or to "" for what belongs to another call.
        inside: name of the parameter that everything not in `outside` is nested in.
        added: parameters that the provider adds by itself.
    """

    service: str
    operation: str
    renamed: dict[str, str] = field(default_factory=dict)
    inside: str = ""
    outside: tuple[str, ...] = ()
    added: dict[str, Any] = field(default_factory=dict)


_RULE = {"securityGroupId": "GroupId", "referencedSecurityGroupId": "", "description": "", "cidrIpv4": "CidrIp"}
CALLS = {
    "aws:ec2/launchTemplate:LaunchTemplate": Call(
        service="ec2",
        operation="CreateLaunchTemplate",
        inside="LaunchTemplateData",
        added={"LaunchTemplateName": "name"},
        renamed={
            "tags": "",
            "updateDefaultVersion": "",
            "networkInterfaces.securityGroups": "Groups",
        },
    ),
    "aws:ec2/placementGroup:PlacementGroup": Call(
        service="ec2", operation="CreatePlacementGroup", added={"GroupName": "name"}
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Call(
        service="ec2", operation="CreateVpcEndpoint", renamed={"tags": "", "privateDnsEnabled": "PrivateDnsEnabled"}
    ),
    "aws:ec2/subnet:Subnet": Call(
        service="ec2", operation="CreateSubnet", renamed={"tags": "", "mapPublicIpOnLaunch": ""}
    ),
    "aws:ec2/vpc:Vpc": Call(
        service="ec2", operation="CreateVpc", renamed={"tags": "", "enableDnsHostnames": "", "enableDnsSupport": ""}
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Call(
        service="ec2", operation="AuthorizeSecurityGroupIngress", renamed=_RULE
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Call(
        service="fsx",
        operation="CreateFileSystem",
        inside="LustreConfiguration",
        outside=(
            "subnetIds",
            "securityGroupIds",
            "storageCapacity",
            "storageType",
            "kmsKeyId",
            "fileSystemTypeVersion",
        ),
        added={"FileSystemType": "LUSTRE"},
        renamed={"tags": ""},
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Call(
        service="fsx",
        operation="CreateDataRepositoryAssociation",
        renamed={"batchImportMetaDataOnCreate": "BatchImportMetaDataOnCreate", "deleteDataInFilesystem": ""},
    ),
    "aws:autoscaling/group:Group": Call(
        service="autoscaling",
        operation="CreateAutoScalingGroup",
        added={"AutoScalingGroupName": "name"},
        renamed={
            "vpcZoneIdentifiers": "VPCZoneIdentifier",
            "launchTemplate.id": "LaunchTemplateId",
            "suspendedProcesses": "",
            "waitForCapacityTimeout": "",
            "enabledMetrics": "",
            "metricsGranularity": "",
            "forceDelete": "",
            "forceDeleteWarmPool": "",
            "ignoreFailedScalingActivities": "",
        },
    ),
    "aws:kms/key:Key": Call(
        service="kms",
        operation="CreateKey",
        renamed={"tags": "", "enableKeyRotation": "", "deletionWindowInDays": "", "isEnabled": "", "skipDestroy": ""},
    ),
    "aws:secretsmanager/secret:Secret": Call(
        service="secretsmanager",
        operation="CreateSecret",
        added={"Name": "name"},
        renamed={"tags": "", "namePrefix": "", "recoveryWindowInDays": "", "forceOverwriteReplicaSecret": ""},
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": Call(
        service="cloudwatch",
        operation="PutMetricAlarm",
        added={"AlarmName": "name"},
        renamed={"dimensions": "", "tags": ""},
    ),
    "aws:iam/role:Role": Call(
        service="iam",
        operation="CreateRole",
        added={"RoleName": "name"},
        renamed={"assumeRolePolicy": "AssumeRolePolicyDocument", "forceDetachPolicies": "", "tags": ""},
    ),
}


def findings(resource: dict[str, Any], session: Any) -> list[str]:  # noqa: ANN401
    """Return what the service's model says against one resource."""
    call = CALLS[resource["type"]]
    shape = session.get_service_model(call.service).operation_model(call.operation).input_shape
    parameters: dict[str, Any] = {}
    inner = shape.members[call.inside] if call.inside else shape
    for name, value in resource["inputs"].items():
        target, model = (shape, parameters) if name in call.outside or not call.inside else (inner, None)
        spelled = _spelled(name, name, target, call)
        if spelled:
            holder = parameters if model is parameters else parameters.setdefault(call.inside, {})
            holder[spelled] = _converted(value, target.members.get(spelled), name, call)
    parameters = {**call.added, **parameters}
    report = ParamValidator().validate(parameters, shape)
    problems = report.generate_report().splitlines() if report.has_errors() else []
    return [f"{resource['name']}: {text}" for text in (*problems, *_unlisted(parameters, shape, ""))]


def _spelled(name: str, path: str, shape: Shape, call: Call) -> str:
    """Return the API's name of a property: the one that differs only in case, or as the table says."""
    if path in call.renamed:
        return call.renamed[path]
    if not isinstance(shape, StructureShape):
        return name
    singular = name.removesuffix("s")
    known = {member.lower(): member for member in shape.members}
    return known.get(name.lower()) or known.get(singular.lower()) or name[0].upper() + name[1:]


def _converted(value: Any, shape: Shape | None, path: str, call: Call) -> Any:  # noqa: ANN401
    if isinstance(value, dict) and "$secret" in value:
        value = value["$secret"]
    if isinstance(shape, ListShape) and isinstance(value, dict) and "Key" in getattr(shape.member, "members", {}):
        # The provider takes tags as a map, the API as a list of pairs.
        return [{"Key": key, "Value": item} for key, item in value.items()]
    if isinstance(shape, ListShape):
        items = value if isinstance(value, list) else [value]
        return [_converted(item, shape.member, path, call) for item in items]
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        converted = {}
        for key, item in value.items():
            if spelled := _spelled(key, f"{path}.{key}", shape, call):
                converted[spelled] = _converted(item, shape.members.get(spelled), f"{path}.{key}", call)
        return converted
    if shape is not None and shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if shape is not None and shape.type_name == "string" and isinstance(value, list):
        return ",".join(str(item) for item in value)
    return value


def _unlisted(value: Any, shape: Shape, path: str) -> list[str]:  # noqa: ANN401
    """Return values outside an enumeration: the validator of botocore does not look at them."""
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return [
            text
            for key, item in value.items()
            if key in shape.members
            for text in _unlisted(item, shape.members[key], f"{path}.{key}")
        ]
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [text for item in value for text in _unlisted(item, shape.member, path)]
    if isinstance(shape, MapShape):
        return []
    listed = getattr(shape, "enum", [])
    return [f"{path}: {value!r} is none of {shape.name}"] if listed and value not in listed else []


def main() -> None:
    """Check the resources of standard input."""
    session = botocore.session.Session()
    resources = [one for one in json.load(sys.stdin) if one["type"] in CALLS]
    said = [text for one in resources for text in findings(one, session)]
    json.dump({"findings": said, "checked": sorted({one["type"] for one in resources})}, sys.stdout)


if __name__ == "__main__":
    main()
