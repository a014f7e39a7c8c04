"""Hold recorded AWS inputs against cfn-lint: the same resources, translated to a CloudFormation template.

Standard input: a JSON object `{"region", "resources"}`, each resource `{"name", "type", "inputs", "identities"}`.
Standard output: a JSON object with findings as text, and the types that were translated: those that have a twin.
cfn-lint knows required and conflicting properties, enumerations, formats of ids, and which instance types a region has;
it takes free text for FSx's configuration and for interface types. Runs in the stacks' environment, without a network.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from typing import Any

from cfnlint.api import lint
from cfnlint.config import ManualArgs
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

_MARKS = ("$secret", "$unknown", "$resource", "$asset", "$archive")


@dataclass(frozen=True, kw_only=True, slots=True)
class Twin:
    """A type of CloudFormation.

    Attributes:
        renamed: the provider's path to CloudFormation's name, or to "" for what belongs to another resource there.
        inside: property that everything not in `outside` is nested in.
        added: properties that the provider adds by itself.
    """

    type: str
    renamed: dict[str, str] = field(default_factory=dict)
    inside: str = ""
    outside: tuple[str, ...] = ()
    added: dict[str, Any] = field(default_factory=dict)


_RULE = {
    "securityGroupId": "GroupId",
    "cidrIpv4": "CidrIp",
    "prefixListId": "SourcePrefixListId",
    "tags": "",
}
TWINS = {
    "aws:ec2/vpc:Vpc": Twin(type="AWS::EC2::VPC"),
    "aws:ec2/subnet:Subnet": Twin(type="AWS::EC2::Subnet"),
    "aws:ec2/securityGroup:SecurityGroup": Twin(
        type="AWS::EC2::SecurityGroup",
        renamed={"description": "GroupDescription", "revokeRulesOnDelete": "", "name": "GroupName"},
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Twin(
        type="AWS::EC2::SecurityGroupIngress",
        renamed=_RULE | {"referencedSecurityGroupId": "SourceSecurityGroupId"},
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Twin(
        type="AWS::EC2::SecurityGroupEgress",
        renamed=_RULE
        | {"referencedSecurityGroupId": "DestinationSecurityGroupId", "prefixListId": "DestinationPrefixListId"},
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Twin(
        type="AWS::EC2::LaunchTemplate",
        inside="LaunchTemplateData",
        outside=("name",),
        renamed={
            "name": "LaunchTemplateName",
            "namePrefix": "",
            "updateDefaultVersion": "",
            "tags": "",
            "vpcSecurityGroupIds": "SecurityGroupIds",
            "networkInterfaces.securityGroups": "Groups",
        },
    ),
    "aws:ec2/placementGroup:PlacementGroup": Twin(type="AWS::EC2::PlacementGroup", renamed={"name": ""}),
    "aws:autoscaling/group:Group": Twin(
        type="AWS::AutoScaling::AutoScalingGroup",
        renamed={
            "name": "AutoScalingGroupName",
            "vpcZoneIdentifiers": "VPCZoneIdentifier",
            "launchTemplate.id": "LaunchTemplateId",
            "suspendedProcesses": "",
            "waitForCapacityTimeout": "",
            "enabledMetrics": "",
            "forceDelete": "",
            "protectFromScaleIn": "NewInstancesProtectedFromScaleIn",
        },
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Twin(
        type="AWS::FSx::FileSystem",
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
        renamed={"tags": "", "logConfiguration": "", "skipFinalBackup": ""},
    ),
    "aws:s3/bucket:Bucket": Twin(
        type="AWS::S3::Bucket", renamed={"bucket": "BucketName", "bucketPrefix": "", "forceDestroy": ""}
    ),
    "aws:kms/key:Key": Twin(
        type="AWS::KMS::Key",
        renamed={"policy": "KeyPolicy", "deletionWindowInDays": "PendingWindowInDays", "isEnabled": "Enabled"},
    ),
    "aws:iam/role:Role": Twin(
        type="AWS::IAM::Role",
        renamed={
            "assumeRolePolicy": "AssumeRolePolicyDocument",
            "name": "RoleName",
            "namePrefix": "",
            "forceDetachPolicies": "",
        },
    ),
    "aws:eks/cluster:Cluster": Twin(
        type="AWS::EKS::Cluster",
        renamed={
            "vpcConfig": "ResourcesVpcConfig",
            "defaultAddonsToRemoves": "",
            "bootstrapSelfManagedAddons": "",
            "enabledClusterLogTypes": "",
            "deletionProtection": "DeletionProtection",
            "vpcConfig.publicAccessCidrs": "PublicAccessCidrs",
            "encryptionConfig.provider.keyArn": "KeyArn",
        },
    ),
    "aws:eks/nodeGroup:NodeGroup": Twin(
        type="AWS::EKS::Nodegroup",
        renamed={
            "subnetIds": "Subnets",
            "nodeRoleArn": "NodeRole",
            "nodeGroupName": "NodegroupName",
            "nodeGroupNamePrefix": "",
            "launchTemplate.id": "Id",
            "nodeRepairConfig": "NodeRepairConfig",
        },
    ),
    "aws:rds/cluster:Cluster": Twin(
        type="AWS::RDS::DBCluster",
        renamed={
            "clusterIdentifier": "DBClusterIdentifier",
            "clusterIdentifierPrefix": "",
            "skipFinalSnapshot": "",
            "finalSnapshotIdentifier": "",
            "applyImmediately": "",
            "masterUserSecretKmsKeyId": "",
            "enabledCloudwatchLogsExports": "EnableCloudwatchLogsExports",
            "dbClusterParameterGroupName": "DBClusterParameterGroupName",
            "iamDatabaseAuthenticationEnabled": "EnableIAMDatabaseAuthentication",
            "backupRetentionPeriod": "BackupRetentionPeriod",
            "copyTagsToSnapshot": "CopyTagsToSnapshot",
        },
    ),
    "aws:rds/clusterInstance:ClusterInstance": Twin(
        type="AWS::RDS::DBInstance",
        renamed={
            "clusterIdentifier": "DBClusterIdentifier",
            "identifier": "DBInstanceIdentifier",
            "identifierPrefix": "",
            "instanceClass": "DBInstanceClass",
            "applyImmediately": "",
            "performanceInsightsEnabled": "EnablePerformanceInsights",
            "performanceInsightsKmsKeyId": "PerformanceInsightsKMSKeyId",
        },
    ),
}


class Template:
    """One template; what it refers to outside itself becomes a parameter."""

    def __init__(self, region: str, resources: list[dict[str, Any]]) -> None:
        self._region = region
        self.parameters: dict[str, dict[str, str]] = {}
        self._known = {
            text: (_logical(one["name"], TWINS[one["type"]].type), TWINS[one["type"]].type)
            for one in resources
            if one["type"] in TWINS
            for text in one.get("identities", ())
        }
        self.resources = {
            _logical(one["name"], TWINS[one["type"]].type): self._translated(one)
            for one in resources
            if one["type"] in TWINS
        }

    def _schema(self, type_: str) -> dict[str, Any]:
        schema: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(self._region, type_).schema
        return schema

    def _translated(self, one: dict[str, Any]) -> dict[str, Any]:
        twin = TWINS[one["type"]]
        schema = self._schema(twin.type)
        outer: dict[str, Any] = dict(twin.added)
        for key, value in one["inputs"].items():
            if value is None:
                continue
            nested = twin.inside if twin.inside and key not in twin.outside else ""
            target = _resolved(schema["properties"][nested], schema) if nested else schema
            name = _spelled(key, key, target, twin)
            if name:
                holder = outer.setdefault(nested, {}) if nested else outer
                holder[name] = self._converted(value, target.get("properties", {}).get(name, {}), schema, key, twin)
        return {"Type": twin.type, "Properties": outer}

    def _converted(self, value: Any, shape: dict[str, Any], root: dict[str, Any], path: str, twin: Twin) -> Any:  # noqa: ANN401
        shape = _resolved(shape, root)
        if isinstance(value, dict) and any(mark in value for mark in _MARKS):
            return self._parameter()
        if isinstance(value, str) and shape.get("type") != "array" and value in self._known:
            return self._reference(value)
        if (
            isinstance(value, str)
            and shape.get("type") != "array"
            and re.fullmatch(r".*-id|.*-[a-z]\w*Id|arn:aws:.*123456789012:.*/.*", value)
        ):
            return self._parameter()
        if shape.get("type") == "array":
            item = _resolved(shape.get("items", {}), root)
            if isinstance(value, dict) and {"Key", "Value"} <= item.get("properties", {}).keys():
                return [{"Key": key, "Value": text} for key, text in value.items()]
            each = value if isinstance(value, list) else [value]
            return [self._converted(one, item, root, path, twin) for one in each]
        if isinstance(value, list):
            return [self._converted(one, {}, root, path, twin) for one in value]
        if isinstance(value, dict):
            converted = {}
            for key, item in value.items():
                name = _spelled(key, f"{path}.{key}", shape, twin)
                if name:
                    inner = shape.get("properties", {}).get(name, {})
                    converted[name] = self._converted(item, inner, root, f"{path}.{key}", twin)
            return converted
        return _scalar(value, shape)

    def _reference(self, text: str) -> dict[str, Any]:
        logical, type_ = self._known[text]
        read_only = self._schema(type_).get("readOnlyProperties", [])
        if text.startswith("arn:"):
            return {"Fn::GetAtt": [logical, "Arn"]} if "/properties/Arn" in read_only else self._parameter()
        return {"Ref": logical} if text.endswith("-id") else self._parameter()

    def _parameter(self) -> dict[str, str]:
        self.parameters["Given"] = {"Type": "String"}
        return {"Ref": "Given"}

    def text(self) -> str:
        """Return the template as JSON."""
        document = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": self.resources}
        return json.dumps(document | ({"Parameters": self.parameters} if self.parameters else {}), indent=1)


def _logical(name: str, type_: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", f"{type_.rpartition('::')[2]} {name.title()}")


def _resolved(shape: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in shape:
        shape = root["definitions"][shape["$ref"].rpartition("/")[2]]
    return shape


def _spelled(name: str, path: str, shape: dict[str, Any], twin: Twin) -> str:
    if path in twin.renamed:
        return twin.renamed[path]
    known = {member.lower(): member for member in shape.get("properties", {})}
    singular = name.lower().removesuffix("s")
    return known.get(name.lower()) or known.get(singular) or known.get(f"{name.lower()}s") or name[0].upper() + name[1:]


def _scalar(value: Any, shape: dict[str, Any]) -> Any:  # noqa: ANN401
    kinds = shape.get("type")
    if isinstance(value, str) and value.startswith("{") and (kinds == "object" or isinstance(kinds, list)):
        return json.loads(value)
    if kinds == "boolean" and value in ("true", "false"):
        return value == "true"
    if kinds == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def main() -> None:
    """Check the resources of standard input."""
    job = json.load(sys.stdin)
    template = Template(job["region"], job["resources"])
    found = lint(template.text(), config=ManualArgs(regions=[job["region"]]))
    logical = {
        _logical(one["name"], TWINS[one["type"]].type): one["name"] for one in job["resources"] if one["type"] in TWINS
    }
    said = []
    for match in found:
        if match.rule.id.startswith("E"):
            where = [str(step) for step in (match.path or ())]
            name = logical.get(where[1], "") if len(where) > 1 else ""
            said.append(f"{name}: {match.rule.id} {'.'.join(where[2:])}: {match.message}")
    types = sorted({one["type"] for one in job["resources"] if one["type"] in TWINS})
    json.dump({"findings": said, "checked": types}, sys.stdout)


if __name__ == "__main__":
    main()
