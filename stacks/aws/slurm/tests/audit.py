"""What must hold for every cluster, as functions that list what is wrong in a recording.

The mocks accept any value, so these rules are the only thing between a wrong value and a failed or unsafe deployment.
"""

import base64
import gzip
import json
from collections import Counter
from typing import Any

import yaml

from gpu_cluster.layer import CLUSTER_TAG, LAYER_TAG
from recording import LAYERS, Recording, Registration, every_text

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
DATABASE = "aws:rds/cluster:Cluster"
DATABASE_SERVER = "aws:rds/clusterInstance:ClusterInstance"
ADDRESS = "aws:ec2/networkInterface:NetworkInterface"
MARKET_RESERVED = "capacity-block"


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
            if ports != {(988, 1023)}:
                problems.append(f"{source} to {target}: {kind} opens {sorted(ports)}")
    if groups["lustre"] not in recording.one(LUSTRE).inputs["securityGroupIds"]:
        problems.append("the file system is not in its own security group")
    return problems


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


def user_data(resource: Registration) -> tuple[int, dict[str, dict[str, Any]], list[list[str]]]:
    """Unpack user-data: bytes that count against EC2's limit, files by path, commands."""
    packed = base64.b64decode(resource.inputs.get("userData") or resource.inputs["userDataBase64"], validate=True)
    text = gzip.decompress(packed).decode()
    assert text.startswith("#cloud-config\n")
    body = yaml.safe_load(text)
    return len(packed), {file["path"]: file for file in body["write_files"]}, body["runcmd"]


def text_problems(recording: Recording) -> list[str]:
    """No value that is only known later was turned into text too early."""
    return [
        f"{resource.name}: {text[:80]}"
        for resource in recording.resources
        for text in every_text(resource.inputs)
        if "Calling __str__ on an Output" in text or text == "None" or "<pulumi." in text
    ]


def tag_problems(recording: Recording, expected: dict[str, str]) -> list[str]:
    """Tags reach everything: by the provider of each layer, and by themselves where the provider's do not reach."""
    problems: list[str] = []
    for layer in LAYERS:
        wanted = {**expected, LAYER_TAG: layer}.items()
        provider = recording.one("pulumi:providers:aws", layer=layer)
        default = json.loads(provider.inputs["defaultTags"])["tags"]
        problems += [] if wanted <= default.items() else [f"the provider's default tags of {layer} lack some"]
        problems += [] if CLUSTER_TAG in default else ["no tag tells which cluster a resource belongs to"]
        problems += [
            f"{one.name} does not use the tagging provider"
            for one in recording.resources
            if one.layer == layer and one.type.startswith("aws:") and not one.provider.startswith(provider.urn)
        ]
    wanted = {**expected, LAYER_TAG: "nodes"}.items()
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
    return problems


def protection_problems(recording: Recording) -> list[str]:
    """Key, bucket and file system are protected from deletion; nothing else is, so that the rest can go."""
    kept = sorted(one.type for one in recording.resources if one.protected)
    problems = [] if kept == sorted([KEY, BUCKET, LUSTRE]) else [f"protected are {kept}"]
    problems += [
        f"{one.name} is protected" for one in recording.resources if one.protected and one.layer != "foundation"
    ]
    if recording.one(BUCKET).inputs.get("forceDestroy") is not False:
        problems.append("the bucket can be deleted with its content")
    for one in recording.of(DATABASE):
        if one.inputs.get("deletionProtection") is not True or one.inputs.get("skipFinalSnapshot") is not False:
            problems.append("the accounting records can be lost")
    parts = {BUCKET: "Bucket", LUSTRE: "FileSystem", TEMPLATE: "Nodes", GROUP: "Nodes"}
    for one in recording.resources:
        if one.type in parts and f"gpucluster:aws:{parts[one.type]}" not in one.parent:
            problems.append(f"{one.name} is not part of {parts[one.type]}")
        if one.type in (TEMPLATE, GROUP) and one.layer != "nodes":
            problems.append(f"{one.name} is not in the nodes layer")
        if one.layer == "nodes" and one.type in (BUCKET, LUSTRE, KEY, DATABASE):
            problems.append(f"{one.name} is data in the nodes layer")
    return problems


def order_problems(recording: Recording) -> list[str]:
    """Machines wait for their permissions and database; the file system waits for its ports and way out."""
    needed = Counter[str]()
    permissions = [one.urn for one in recording.of("aws:iam/rolePolicy:RolePolicy", "cluster")]
    databases = [one.urn for one in recording.of(DATABASE)]
    for machine in recording.of(INSTANCE):
        for urn in (*permissions, *databases):
            needed[f"{machine.name} does not wait for {urn}"] += urn not in machine.dependencies
    links = recording.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    access = [one.urn for one in recording.of("aws:s3/bucketPolicy:BucketPolicy")]
    for link in links:
        for urn in access:
            needed[f"{link.name} does not wait for {urn}"] += urn not in link.dependencies
    # FSx fails links that are made at the same time.
    chained = sum(one.urn in other.dependencies for one in links for other in links)
    needed["links to the bucket are made at once"] += chained != len(links) - 1
    rules = [rule.urn for kind in (INGRESS, EGRESS) for rule in recording.of(kind) if "lustre" in rule.name]
    for urn in rules:
        needed[f"Lustre does not wait for {urn}"] += urn not in recording.one(LUSTRE).dependencies
    for gateway in recording.of("aws:ec2/natGateway:NatGateway"):
        ways = [one.urn for one in recording.of("aws:ec2/routeTableAssociation:RouteTableAssociation")]
        needed["the NAT gateway does not wait for its way out"] += not set(ways) <= gateway.dependencies
    functions = recording.of("aws:lambda/function:Function")
    for function in functions:
        own = [one.urn for one in recording.of("aws:iam/rolePolicy:RolePolicy") if "watchdog-function" in one.name]
        needed["the watchdog does not wait for its permissions"] += not set(own) <= function.dependencies
    return [problem for problem, count in needed.items() if count]
