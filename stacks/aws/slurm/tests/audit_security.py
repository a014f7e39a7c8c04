"""What must hold for every cluster so that it is not open, not readable and not powerful beyond need."""

import json
from collections.abc import Iterable
from typing import Any

from audit import (
    ADDRESS,
    DATABASE,
    DATABASE_SERVER,
    GROUP,
    INGRESS,
    INSTANCE,
    KEY,
    LUSTRE,
    SECURITY_GROUP,
    SUBNET,
    TEMPLATE,
    user_data,
)
from recording import Recording, Registration, every_text

# Calls that know no resource in IAM; they may name `*` when a condition holds them to the region.
DESCRIBE_ONLY = {
    "autoscaling:DescribeAutoScalingGroups",
    "cloudwatch:GetMetricStatistics",
    "ec2:DescribeInstances",
    "ec2:DescribeTags",
    "fsx:DescribeFileSystems",
}

# What the agent of Systems Manager calls, on the machine itself; none of it knows a resource.
SESSION_MANAGER = {
    "ssm:UpdateInstanceInformation",
    *(f"ssmmessages:{verb}{what}Channel" for verb in ("Create", "Open") for what in ("Control", "Data")),
    *(f"ec2messages:{what}" for what in ("AcknowledgeMessage", "DeleteMessage", "FailMessage", "GetEndpoint")),
    *(f"ec2messages:{what}" for what in ("GetMessages", "SendReply")),
}

# Knows no resource either, but a name space.
PUBLISH = "cloudwatch:PutMetricData"


def exposure_problems(recording: Recording) -> list[str]:
    """Nothing has a public address or accepts traffic from an address range."""
    problems = [
        f"{rule.name} accepts traffic from an address range"
        for rule in recording.of(INGRESS)
        if "cidrIpv4" in rule.inputs or "cidrIpv6" in rule.inputs or "referencedSecurityGroupId" not in rule.inputs
    ]
    problems += [
        f"{group.name} has inline rules"
        for group in recording.of(SECURITY_GROUP)
        if group.inputs.keys() & {"ingress", "egress"}
    ]
    problems += [
        f"{one.name} gives public addresses" for one in recording.of(SUBNET) if one.inputs["mapPublicIpOnLaunch"]
    ]
    private = recording.outputs["foundation"]["node_subnet_id"]
    addresses = {f"{one.name}-id": one.inputs["subnetId"] for one in recording.of(ADDRESS)}
    for instance in recording.of(INSTANCE):
        own = instance.inputs.get("primaryNetworkInterface", {}).get("networkInterfaceId")
        if instance.inputs.get("associatePublicIpAddress") or addresses.get(own) != private:
            problems.append(f"{instance.name} is reachable from outside")
    if any(one.inputs.get("publiclyAccessible") is not False for one in recording.of(DATABASE_SERVER)):
        problems.append("the database has a public address")
    problems += [
        f"{group.name} is not in the private subnet"
        for group in recording.of(GROUP)
        if group.inputs["vpcZoneIdentifiers"] != [private]
    ]
    block = recording.one("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").inputs
    problems += [
        f"bucket: {setting} is off"
        for setting in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
        if block.get(setting) is not True
    ]
    return problems


def encryption_problems(recording: Recording) -> list[str]:
    """Everything at rest is encrypted with the cluster's own key, and that key rotates."""
    key_resource = recording.one(KEY)
    key = f"arn:aws:kms:us-east-1:123456789012:{key_resource.name}"
    disk = recording.one(TEMPLATE).inputs["blockDeviceMappings"][0]["ebs"]
    rule = recording.one(
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    ).inputs["rules"][0]["applyServerSideEncryptionByDefault"]
    checks = [
        ("key rotation", key_resource.inputs.get("enableKeyRotation") is True),
        ("node disk", disk.get("encrypted") == "true" and disk.get("kmsKeyId") == key),
        ("Lustre", recording.one(LUSTRE).inputs.get("kmsKeyId") == key),
        ("bucket", rule.get("sseAlgorithm") == "aws:kms" and rule.get("kmsMasterKeyId") == key),
    ]
    checks += [
        (f"secret {one.name}", one.inputs.get("kmsKeyId") == key)
        for one in recording.of("aws:secretsmanager/secret:Secret")
    ]
    for machine in recording.of(INSTANCE):
        root = machine.inputs["rootBlockDevice"]
        checks.append((f"{machine.name} disk", root.get("encrypted") is True and root.get("kmsKeyId") == key))
    for database in recording.of(DATABASE):
        given = database.inputs
        checks.append((database.name, given.get("storageEncrypted") is True and given.get("kmsKeyId") == key))
        checks.append((f"password of {database.name}", given.get("masterUserSecretKmsKeyId") == key))
    checks += [
        (function.name, function.inputs.get("kmsKeyArn") == key)
        for kind in ("aws:lambda/function:Function", "aws:scheduler/schedule:Schedule")
        for function in recording.of(kind)
    ]
    checks += [
        (log.name, log.inputs.get("kmsKeyId") == key) for log in recording.of("aws:cloudwatch/logGroup:LogGroup")
    ]
    checks += [(topic.name, topic.inputs.get("kmsMasterKeyId") == key) for topic in recording.of("aws:sns/topic:Topic")]
    return [f"not encrypted with the cluster's key: {what}" for what, fine in checks if not fine]


def metadata_problems(recording: Recording) -> list[str]:
    """Instance metadata is on, needs a session token (IMDSv2), and answers no container behind a hop of its own."""
    wanted = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
    return [
        f"{one.name}: metadata options are {one.inputs.get('metadataOptions')}"
        for one in (*recording.of(INSTANCE), *recording.of(TEMPLATE))
        if not wanted.items() <= one.inputs.get("metadataOptions", {}).items()
    ]


def _policies(recording: Recording) -> Iterable[tuple[Registration, dict[str, Any]]]:
    for resource in recording.resources:
        for field in ("policy", "assumeRolePolicy"):
            if field in resource.inputs:
                for statement in json.loads(resource.inputs[field])["Statement"]:
                    yield resource, statement


def permission_problems(recording: Recording) -> list[str]:
    """No statement allows every action, any resource without need, or anyone without a condition."""
    problems: list[str] = []
    for resource, statement in _policies(recording):
        if statement["Effect"] != "Allow":
            continue
        where = f"{resource.name}/{statement['Sid']}"
        actions, resources = statement["Action"], statement.get("Resource", [])
        in_key_policy = resource.type == KEY  # there `*` means the key itself
        principal, condition = statement.get("Principal", {}), statement.get("Condition", {})
        if any(action == "*" or action.endswith(":*") for action in actions) and not (
            in_key_policy and principal == {"AWS": "arn:aws:iam::123456789012:root"}
        ):
            problems.append(f"{where} allows every action of a service")
        if "*" in resources and not in_key_policy:
            regional = "aws:RequestedRegion" in condition.get("StringEquals", {})
            one_name_space = "cloudwatch:namespace" in condition.get("StringEquals", {})
            if not (
                (set(actions) <= DESCRIBE_ONLY | SESSION_MANAGER and regional)
                or (actions == [PUBLISH] and one_name_space)
            ):
                problems.append(f"{where} allows {actions} on everything")
        if principal.get("AWS") == "*":
            narrow = "kms:CallerAccount" in condition.get("StringEquals", {}) and "ArnLike" in condition
            if not narrow:
                problems.append(f"{where} allows anyone")
        if any(action.startswith("s3:") for action in actions) and resource.type == "aws:iam/rolePolicy:RolePolicy":
            problems.append(f"{where} lets a machine use the bucket, which the file system mirrors")
        if "secretsmanager:PutSecretValue" in actions and "controller" not in resource.name:
            problems.append(f"{where} may overwrite the authentication key")
    return problems


def secret_problems(recording: Recording) -> list[str]:
    """No secret value is in any input: the secret is an empty container, and user-data only names it."""
    # The list of users is public: names and public keys.
    public = {one.urn for one in recording.of("aws:secretsmanager/secretVersion:SecretVersion") if "users" in one.name}
    problems = [
        f"{one.name} puts a value into state"
        for one in recording.resources
        if "secretVersion" in one.type and one.urn not in public
    ]
    problems += [
        f"{one.name} has a password in state"
        for one in recording.of(DATABASE)
        if "masterPassword" in one.inputs or one.inputs.get("manageMasterUserPassword") is not True
    ]
    for resource in recording.resources:
        texts = list(every_text(resource.inputs))
        if resource.type in (TEMPLATE, INSTANCE):
            texts += [str(file["content"]) for file in user_data(resource)[1].values()]
        problems += [
            f"{resource.name} carries {word}"
            for word in ("secretString", "secretBinary", "BEGIN PRIVATE KEY", "BEGIN OPENSSH")
            if any(word in text for text in texts) and not (word == "secretString" and resource.urn in public)
        ]
    return problems
