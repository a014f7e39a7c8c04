"""What must hold for every cluster, as functions that list what is wrong in a recording.

The mocks accept any value, so these rules are the only thing between a wrong value and a failed or unsafe deployment.
"""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import yaml

from recording import Recording, Registration, every_text
from settings import CLUSTER_TAG

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
GROUP = "aws:autoscaling/group:Group"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
SUBNET = "aws:ec2/subnet:Subnet"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
KEY = "aws:kms/key:Key"
BUCKET = "aws:s3/bucket:Bucket"
MARKET_RESERVED = "capacity-block"
# Calls that know no resource in IAM; they may name `*` when a condition holds them to the region.
DESCRIBE_ONLY = {
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeTags",
    "fsx:DescribeFileSystems",
}


def interface_problems(recording: Recording, expected: list[tuple[int, int, str]]) -> list[str]:
    """Compare (card, device, type) of each interface with the documented pattern, and how each is secured."""
    template = recording.one(TEMPLATE).inputs
    interfaces = template["networkInterfaces"]
    cluster = recording.one(SECURITY_GROUP, "cluster").name + "-id"
    problems = [
        f"interface {index} has security groups {interface.get('securityGroups')}"
        for index, interface in enumerate(interfaces)
        if interface.get("securityGroups") != [cluster]
    ]
    found = [(one["networkCardIndex"], one["deviceIndex"], one["interfaceType"]) for one in interfaces]
    if found != expected:
        problems.append(f"interfaces are {found}, not {expected}")
    if any(one.get("deleteOnTermination") != "true" for one in interfaces):
        problems.append("an interface outlives its node")
    if "vpcSecurityGroupIds" in template:
        problems.append("vpcSecurityGroupIds clashes with interfaces")
    public = [one.get("associatePublicIpAddress") for one in interfaces]
    if public != (["false"] if len(interfaces) == 1 else [None] * len(interfaces)):
        problems.append(f"associatePublicIpAddress is {public}")
    return problems


def fabric_rule_problems(recording: Recording) -> list[str]:
    """EFA needs all traffic to and from the group itself, as an inbound and as an outbound rule."""
    cluster = recording.one(SECURITY_GROUP, "cluster").name + "-id"
    self_rule = {"securityGroupId": cluster, "referencedSecurityGroupId": cluster, "ipProtocol": "-1"}
    return [
        f"no all-traffic self rule: {kind}"
        for kind in (INGRESS, EGRESS)
        if not any(self_rule.items() <= rule.inputs.items() for rule in recording.of(kind))
    ]


def lustre_rule_problems(recording: Recording) -> list[str]:
    """Lustre needs TCP 988 and 1018-1023 in, both ways between clients and servers, and among servers."""
    groups = {name: recording.one(SECURITY_GROUP, name).name + "-id" for name in ("cluster", "lustre")}
    problems: list[str] = []
    for source, target in (("cluster", "lustre"), ("lustre", "cluster"), ("lustre", "lustre")):
        for kind, owner, peer in ((EGRESS, source, target), (INGRESS, target, source)):
            ports = {
                (rule.inputs.get("fromPort"), rule.inputs.get("toPort"))
                for rule in recording.of(kind)
                if rule.inputs["securityGroupId"] == groups[owner]
                and rule.inputs.get("referencedSecurityGroupId") == groups[peer]
                and rule.inputs["ipProtocol"] == "tcp"
            }
            if ports != {(988, 988), (1018, 1023)}:
                problems.append(f"{source} to {target}: {kind} opens {sorted(ports)}")
    if groups["lustre"] not in recording.one(LUSTRE).inputs["securityGroupIds"]:
        problems.append("the file system is not in its own security group")
    return problems


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
    private = recording.one(SUBNET, "nodes").name + "-id"
    for instance in recording.of(INSTANCE):
        if instance.inputs.get("associatePublicIpAddress") is not False or instance.inputs["subnetId"] != private:
            problems.append(f"{instance.name} is reachable from outside")
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
    root = recording.one(INSTANCE).inputs["rootBlockDevice"]
    disk = recording.one(TEMPLATE).inputs["blockDeviceMappings"][0]["ebs"]
    rule = recording.one(
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    ).inputs["rules"][0]["applyServerSideEncryptionByDefault"]
    checks = [
        ("key rotation", key_resource.inputs.get("enableKeyRotation") is True),
        ("controller disk", root.get("encrypted") is True and root.get("kmsKeyId") == key),
        ("node disk", disk.get("encrypted") == "true" and disk.get("kmsKeyId") == key),
        ("Lustre", recording.one(LUSTRE).inputs.get("kmsKeyId") == key),
        ("bucket", rule.get("sseAlgorithm") == "aws:kms" and rule.get("kmsMasterKeyId") == key),
        ("secret", recording.one("aws:secretsmanager/secret:Secret").inputs.get("kmsKeyId") == key),
    ]
    checks += [
        (log.name, log.inputs.get("kmsKeyId") == key) for log in recording.of("aws:cloudwatch/logGroup:LogGroup")
    ]
    checks += [(topic.name, topic.inputs.get("kmsMasterKeyId") == key) for topic in recording.of("aws:sns/topic:Topic")]
    return [f"not encrypted with the cluster's key: {what}" for what, fine in checks if not fine]


def metadata_problems(recording: Recording) -> list[str]:
    """Instance metadata is on, needs a session token (IMDSv2), and is two hops away for containers."""
    wanted = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2}
    return [
        f"{one.name}: metadata options are {one.inputs.get('metadataOptions')}"
        for one in (*recording.of(INSTANCE), *recording.of(TEMPLATE))
        if not wanted.items() <= one.inputs.get("metadataOptions", {}).items()
    ]


def placement_problems(recording: Recording) -> list[str]:
    """A placement group or a reservation decides where nodes are, never both and never neither."""
    template = recording.one(TEMPLATE).inputs
    placed = "groupName" in template.get("placement", {})
    target = template.get("capacityReservationSpecification", {}).get("capacityReservationTarget", {})
    reserved = "capacityReservationId" in target
    problems = [] if placed != reserved else [f"placement group: {placed}, reservation: {reserved}"]
    if placed != bool(recording.of("aws:ec2/placementGroup:PlacementGroup")):
        problems.append("a placement group exists without being used, or the other way round")
    if "capacityReservationPreference" in template.get("capacityReservationSpecification", {}):
        problems.append("EC2 refuses a reservation preference beside a target")
    market = template.get("instanceMarketOptions", {}).get("marketType")
    if market == MARKET_RESERVED and not reserved:
        problems.append("a capacity block needs its reservation id")
    return problems


def group_problems(recording: Recording, node_count: int) -> list[str]:
    """Groups hold exactly the wanted nodes, never scale by themselves, and stay in one subnet."""
    groups = [group.inputs for group in recording.of(GROUP)]
    problems = [
        "a group can change its size by itself"
        for one in groups
        if not one["minSize"] == one["maxSize"] == one["desiredCapacity"]
    ]
    total = sum(one["desiredCapacity"] for one in groups)
    if total != node_count:
        problems.append(f"groups hold {total} nodes, not {node_count}")
    problems += ["a group rebalances zones" for one in groups if "AZRebalance" not in one["suspendedProcesses"]]
    problems += ["a group spans subnets" for one in groups if len(one["vpcZoneIdentifiers"]) != 1]
    problems += ["a group floats with $Latest" for one in groups if one["launchTemplate"]["version"] != "7"]
    return problems


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
            if not (set(actions) <= DESCRIBE_ONLY and regional):
                problems.append(f"{where} allows {actions} on everything")
        if principal.get("AWS") == "*":
            narrow = "kms:CallerAccount" in condition.get("StringEquals", {}) and "ArnLike" in condition
            if not narrow:
                problems.append(f"{where} allows anyone")
        if "secretsmanager:PutSecretValue" in actions and "controller" not in resource.name:
            problems.append(f"{where} may overwrite the authentication key")
    return problems


def user_data(resource: Registration) -> tuple[int, dict[str, dict[str, Any]], list[list[str]]]:
    """Unpack user-data: bytes that count against EC2's limit, files by path, commands."""
    packed = base64.b64decode(resource.inputs.get("userData") or resource.inputs["userDataBase64"], validate=True)
    text = gzip.decompress(packed).decode()
    assert text.startswith("#cloud-config\n")
    body = yaml.safe_load(text)
    return len(packed), {file["path"]: file for file in body["write_files"]}, body["runcmd"]


def secret_problems(recording: Recording) -> list[str]:
    """No secret value is in any input: the secret is an empty container, and user-data only names it."""
    problems = [f"{one.name} puts a value into state" for one in recording.resources if "SecretVersion" in one.type]
    for resource in recording.resources:
        texts = list(every_text(resource.inputs))
        if resource.type in (TEMPLATE, INSTANCE):
            texts += [str(file["content"]) for file in user_data(resource)[1].values()]
        problems += [
            f"{resource.name} carries {word}"
            for word in ("secretString", "secretBinary", "BEGIN PRIVATE KEY", "BEGIN OPENSSH")
            if any(word in text for text in texts)
        ]
    return problems


def text_problems(recording: Recording) -> list[str]:
    """No value that is only known later was turned into text too early."""
    return [
        f"{resource.name}: {text[:80]}"
        for resource in recording.resources
        for text in every_text(resource.inputs)
        if "Calling __str__ on an Output" in text or text == "None" or "<pulumi." in text
    ]


def tag_problems(recording: Recording, expected: dict[str, str]) -> list[str]:
    """Tags reach everything: by the provider, and by themselves where the provider's do not reach."""
    wanted = expected.items()
    default = json.loads(recording.one("pulumi:providers:aws").inputs["defaultTags"])["tags"]
    problems = [] if wanted <= default.items() else ["the provider's default tags lack some"]
    provider = recording.one("pulumi:providers:aws").urn
    problems += [
        f"{one.name} does not use the tagging provider"
        for one in recording.resources
        if one.type.startswith("aws:") and not one.provider.startswith(provider)
    ]
    launched = {one["resourceType"]: one["tags"] for one in recording.one(TEMPLATE).inputs["tagSpecifications"]}
    problems += [
        f"launched {kind} lacks tags"
        for kind in ("instance", "volume", "network-interface")
        if not wanted <= launched.get(kind, {}).items()
    ]
    for group in recording.of(GROUP):
        given = {tag["key"]: tag["value"] for tag in group.inputs["tags"] if tag["propagateAtLaunch"]}
        if not wanted <= given.items():
            problems.append(f"{group.name} does not hand on tags")
    if CLUSTER_TAG not in default:
        problems.append("no tag tells which cluster a resource belongs to")
    return problems


def protection_problems(recording: Recording) -> list[str]:
    """Key, bucket and file system are protected from deletion; nothing else is, so that the rest can go."""
    kept = sorted(one.type for one in recording.resources if one.protected)
    problems = [] if kept == sorted([KEY, BUCKET, LUSTRE]) else [f"protected are {kept}"]
    if recording.one(BUCKET).inputs.get("forceDestroy") is not False:
        problems.append("the bucket can be deleted with its content")
    data = recording.one("clusterwright:aws:Data").urn
    nodes = recording.one("clusterwright:aws:Nodes").urn
    for one in recording.resources:
        if one.type in (BUCKET, LUSTRE) and one.parent != data:
            problems.append(f"{one.name} is not part of the data component")
        if one.type in (TEMPLATE, GROUP) and one.parent != nodes:
            problems.append(f"{one.name} is not part of the nodes component")
    return problems


def order_problems(recording: Recording) -> list[str]:
    """Machines wait for their way out, endpoints and permissions; the file system waits for its ports."""
    needed = Counter[str]()
    way_out = [one.urn for one in recording.of("aws:ec2/route:Route") if "nodes" in one.name]
    endpoints = [one.urn for one in recording.of("aws:ec2/vpcEndpoint:VpcEndpoint")]
    permissions = [
        one.urn
        for kind in ("aws:iam/rolePolicy:RolePolicy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        for one in recording.of(kind)
        if "role" in one.name
    ]
    for machine in (*recording.of(INSTANCE), *recording.of(GROUP)):
        for urn in (*way_out, *endpoints, *permissions):
            needed[f"{machine.name} does not wait for {urn}"] += urn not in machine.dependencies
    rules = [rule.urn for kind in (INGRESS, EGRESS) for rule in recording.of(kind) if "lustre" in rule.name]
    for urn in rules:
        needed[f"Lustre does not wait for {urn}"] += urn not in recording.one(LUSTRE).dependencies
    return [problem for problem, count in needed.items() if count]
