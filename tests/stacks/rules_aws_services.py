"""What must hold on AWS beside network and machines: accounting database, rights, watchdog, alerts, key, bucket."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import UNKNOWN, Record, Resource

from .rules import Problem
from .rules_aws_machines import environment

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
DATABASE = "aws:rds/cluster:Cluster"
FUNCTION = "aws:lambda/function:Function"
SCHEDULE = "aws:scheduler/schedule:Schedule"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
KEY = "aws:kms/key:Key"
#: Calls that IAM can hold to no resource (Service Authorization Reference of each service).
_WITHOUT_RESOURCE = (
    "autoscaling:Describe",
    "cloudwatch:GetMetric",
    "cloudwatch:ListMetrics",
    "cloudwatch:PutMetricData",
    "ec2:Describe",
    "fsx:Describe",
    "sts:GetCallerIdentity",
    # The agent of Systems Manager, on the machine itself.
    "ec2messages:",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:",
)


def services_problems(record: Record) -> list[Problem]:
    """Return everything that is wrong with what is neither network nor node."""
    return [
        *_ways(record),
        *_database(record),
        *_policies(record),
        *_rights(record),
        *_watchdog(record),
        *_alerts(record),
        *_data(record),
    ]


def statements(resource: Resource) -> list[Mapping[str, Any]]:
    """Return the statements of a resource's policies that are known."""
    found: list[Mapping[str, Any]] = []
    for field in ("policy", "assumeRolePolicy"):
        if isinstance(text := resource.inputs.get(field), str):
            found += json.loads(text)["Statement"]
    return found


def _ways(record: Record) -> Iterator[Problem]:
    for one in record.of("aws:ec2/defaultRouteTable:DefaultRouteTable"):
        if any("gatewayId" in route for route in one.inputs.get("routes", [])):
            yield Problem(id="AWS066", resource=one.name, message="leads private subnets to the internet gateway")
        if not any("natGatewayId" in route for route in one.inputs.get("routes", [])):
            yield Problem(id="AWS068", resource=one.name, message="private subnets have no way out")
    for one in record.of("aws:ec2/routeTable:RouteTable"):
        if not any("gatewayId" in route for route in one.inputs.get("routes", [])):
            yield Problem(id="AWS068", resource=one.name, message="the NAT gateway has no way out")
    for one in record.of(ENDPOINT):
        if one.inputs.get("vpcEndpointType") == "Gateway":
            if not one.inputs.get("routeTableIds"):
                yield Problem(id="AWS067", resource=one.name, message="is in no route table")
            continue
        if not one.inputs.get("securityGroupIds"):
            yield Problem(id="AWS067", resource=one.name, message="has no security group that lets machines in")
        if one.inputs.get("privateDnsEnabled") is not True:
            yield Problem(id="AWS067", resource=one.name, message="has no private name")
        if not one.inputs.get("subnetIds"):
            yield Problem(id="AWS067", resource=one.name, message="is in no subnet")


def _database(record: Record) -> Iterator[Problem]:
    for one in record.of("aws:rds/clusterInstance:ClusterInstance"):
        if one.inputs.get("publiclyAccessible") is not False:
            yield Problem(id="AWS100", resource=one.name, message="has a public address")
    for one in record.of(DATABASE):
        given = one.inputs
        if given.get("storageEncrypted") is not True or not given.get("kmsKeyId"):
            yield Problem(id="AWS101", resource=one.name, message="is not encrypted with the cluster's key")
        if given.get("manageMasterUserPassword") is not True or not given.get("masterUserSecretKmsKeyId"):
            yield Problem(id="AWS102", resource=one.name, message="its password is not made and kept by AWS")
        if given.get("skipFinalSnapshot") is not False or not given.get("finalSnapshotIdentifier"):
            yield Problem(id="AWS103", resource=one.name, message="leaves no snapshot behind")
        if given.get("deletionProtection") is not True:
            yield Problem(id="AWS104", resource=one.name, message="any deletion takes it")
        if given.get("backupRetentionPeriod") not in range(1, 36):  # days that RDS takes
            yield Problem(id="AWS108", resource=one.name, message="keeps no backups")
        groups = {str(group) for group in given.get("vpcSecurityGroupIds", [])}
        inside = {
            str(rule.inputs.get("referencedSecurityGroupId"))
            for rule in record.of(INGRESS)
            if str(rule.inputs.get("securityGroupId")) in groups and _holds(rule, given.get("port"))
        }
        outside = {
            str(rule.inputs.get("securityGroupId"))
            for rule in record.of(EGRESS)
            if str(rule.inputs.get("referencedSecurityGroupId")) in groups and _holds(rule, given.get("port"))
        }
        if not groups or not inside & outside:
            yield Problem(id="AWS106", resource=one.name, message="the cluster's machines cannot reach it")
    for one in record.of("aws:rds/clusterParameterGroup:ClusterParameterGroup"):
        parameters = {each.get("name"): each.get("value") for each in one.inputs.get("parameters", [])}
        if parameters.get("require_secure_transport") != "ON":
            yield Problem(id="AWS105", resource=one.name, message="takes plain connections")
    for one in record.of("aws:rds/subnetGroup:SubnetGroup"):
        if len(set(map(str, one.inputs.get("subnetIds", [])))) < 2:
            yield Problem(id="AWS107", resource=one.name, message="is not in two zones")


def _holds(rule: Resource, port: object) -> bool:
    first, last = rule.inputs.get("fromPort"), rule.inputs.get("toPort")
    return isinstance(port, int) and isinstance(first, int) and isinstance(last, int) and first <= port <= last


def _policies(record: Record) -> Iterator[Problem]:
    allowed: set[str] = set()
    for one in record.cloud_resources:
        for field in ("policy", "assumeRolePolicy"):
            for statement in json.loads(one.inputs.get(field) or '{"Statement": []}')["Statement"]:
                if statement["Effect"] != "Allow":
                    continue
                actions, resources = statement["Action"], statement.get("Resource", [])
                allowed |= set(actions)
                if "*" in actions or (
                    "*" in resources and any(action.endswith(":*") for action in actions) and one.type != KEY
                ):
                    yield Problem(id="AWS080", resource=one.name, message=f"allows {actions} on {resources}")
                anyone = (statement.get("Principal") or {}).get("AWS") == "*"
                if anyone and "kms:CallerAccount" not in (statement.get("Condition") or {}).get("StringEquals", {}):
                    yield Problem(id="AWS081", resource=one.name, message="allows anyone")
    if "fsx:DescribeFileSystems" not in allowed:
        yield Problem(id="AWS082", resource="roles", message="Lustre over EFA falls back to TCP in silence")


def _rights(record: Record) -> Iterator[Problem]:
    publishing = False
    for one in record.of(ROLE_POLICY):
        for statement in statements(one):
            actions = [str(action) for action in statement["Action"]]
            publishing |= "cloudwatch:PutMetricData" in actions and "compute" in one.name
            if "secretsmanager:PutSecretValue" in actions and "controller" not in one.name:
                yield Problem(id="AWS083", resource=one.name, message="may overwrite the authentication key")
            wide = [action for action in actions if not action.startswith(_WITHOUT_RESOURCE)]
            if "*" in statement.get("Resource", []) and (wide or not statement.get("Condition")):
                yield Problem(id="AWS084", resource=one.name, message=f"allows {wide or actions} on any resource")
    if any("compute" in one.name for one in record.of("aws:iam/role:Role")) and not publishing:
        yield Problem(id="AWS085", resource="roles", message="no node has cloudwatch:PutMetricData")


def _watchdog(record: Record) -> Iterator[Problem]:
    called = {
        str((one.inputs.get("target") or {}).get("arn"))
        for one in record.of(SCHEDULE)
        if one.inputs.get("state") in (None, "ENABLED")
    }
    groups = [one.name for one in record.of("aws:autoscaling/group:Group")]
    for one in record.of(FUNCTION):
        if not any(one.name in arn for arn in called):
            yield Problem(id="AWS110", resource=one.name, message="nobody calls the watchdog")
        told = (one.inputs.get("environment") or {}).get("variables", {})
        cluster = next(iter({environment(each).get("CLUSTER_NAME") for each in record.of(TEMPLATE)} - {None}), None)
        if cluster is not None and told.get("CLUSTER") != cluster:
            yield Problem(id="AWS111", resource=one.name, message=f"CLUSTER is {told.get('CLUSTER')}")
        watched = told.get("GROUPS", "[]")
        missing = [] if UNKNOWN in str(watched) else [name for name in groups if name not in watched]
        if missing:
            yield Problem(id="AWS111", resource=one.name, message=f"GROUPS lacks {missing}")
        if not one.inputs.get("kmsKeyArn"):
            yield Problem(id="AWS113", resource=one.name, message="is not encrypted with the cluster's key")


def _alerts(record: Record) -> Iterator[Problem]:
    for one in record.of("aws:sns/topicPolicy:TopicPolicy"):
        services = {str((each.get("Principal") or {}).get("Service")) for each in statements(one)}
        missing = {f"{name}.amazonaws.com" for name in ("budgets", "cloudwatch", "events")} - services
        if missing:
            yield Problem(id="AWS095", resource=one.name, message=f"does not let {sorted(missing)} publish")
    for one in record.of("aws:sns/topic:Topic"):
        if not one.inputs.get("kmsMasterKeyId"):
            yield Problem(id="AWS098", resource=one.name, message="is not encrypted with the cluster's key")
    for one in record.of("aws:cloudwatch/logGroup:LogGroup"):
        if not one.inputs.get("kmsKeyId") or not one.inputs.get("retentionInDays"):
            yield Problem(id="AWS098", resource=one.name, message="is kept for ever, or under no key")
    for key in record.of(KEY):
        found = statements(key)
        of_events = [one for one in found if (one.get("Principal") or {}).get("Service") == "events.amazonaws.com"]
        # Amazon SNS Developer Guide, "Key management": no condition on the source is supported here.
        if not of_events or any(one.get("Condition") for one in of_events):
            yield Problem(id="AWS096", resource=key.name, message="EventBridge cannot publish to the encrypted topic")
        text = json.dumps(found)
        if text.count("role/aws-service-role/autoscaling.amazonaws.com/") < 2:
            yield Problem(id="AWS097", resource=key.name, message="Auto Scaling cannot use it for disks")
        if not any("autoscaling." in json.dumps(one) and "kms:CreateGrant" in one.get("Action", []) for one in found):
            yield Problem(id="AWS136", resource=key.name, message="Auto Scaling may make no grants for disks of nodes")
        if "s3.data-source.lustre.fsx.amazonaws.com/" not in text:
            yield Problem(id="AWS099", resource=key.name, message="Lustre cannot use it for objects of the bucket")


def _data(record: Record) -> Iterator[Problem]:
    for one in record.of(LUSTRE):
        if one.inputs.get("automaticBackupRetentionDays") != 0:
            yield Problem(id="AWS058", resource=one.name, message="FSx refuses backups beside links to a bucket")
    links = record.of(LINK)
    chained = sum(one.urn in other.dependencies for one in links for other in links)
    if links and chained != len(links) - 1:
        yield Problem(id="AWS059", resource="links", message="are made at once, which FSx refuses")
    for one in links:
        exported = ((one.inputs.get("s3") or {}).get("autoExportPolicy") or {}).get("events", [])
        if "DELETED" in exported:
            yield Problem(id="AWS047", resource=one.name, message="exports DELETED: clearing Lustre loses checkpoints")
    for one in record.of("aws:s3/bucketVersioning:BucketVersioning"):
        if (one.inputs.get("versioningConfiguration") or {}).get("status") != "Enabled":
            yield Problem(id="AWS093", resource=one.name, message="keeps no versions")
    kind = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    for one in record.of(kind):
        asked = [each.get("applyServerSideEncryptionByDefault") or {} for each in one.inputs.get("rules", [])]
        if not asked or any(each.get("sseAlgorithm") != "aws:kms" or not each.get("kmsMasterKeyId") for each in asked):
            yield Problem(id="AWS094", resource=one.name, message="is not encrypted with your own key")
