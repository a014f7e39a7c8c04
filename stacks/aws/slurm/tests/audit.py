"""What must hold for every cluster, as functions that list what is wrong in a recording.

The mocks accept any value, so these rules are the only thing between a wrong value and a failed or unsafe deployment.
"""

import base64
import gzip
import json
from collections import Counter
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
    kept = recording.one("aws:ec2/subnetCidrReservation:SubnetCidrReservation")
    links = recording.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    for taker in (*recording.of(INSTANCE), *recording.of(GROUP), *recording.of(LUSTRE)):
        needed[f"{taker.name} may take the controller's address"] += kept.urn not in taker.dependencies
    # FSx fails links that are made at the same time.
    chained = sum(one.urn in other.dependencies for one in links for other in links)
    needed["links to the bucket are made at once"] += chained != len(links) - 1
    rules = [rule.urn for kind in (INGRESS, EGRESS) for rule in recording.of(kind) if "lustre" in rule.name]
    for urn in rules:
        needed[f"Lustre does not wait for {urn}"] += urn not in recording.one(LUSTRE).dependencies
    return [problem for problem, count in needed.items() if count]
