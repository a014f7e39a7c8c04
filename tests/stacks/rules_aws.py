"""What must hold for a cluster on AWS, as the launch templates, groups, rules and file systems of a record show it.

Expected figures come from the catalogue and from the sources named here, never from the stack's own tables.
"""

import base64
import gzip
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.recorder.shapes import EnumShape, Nested, Sdk, described
from clusterwright.checks.preflight.records import Record, Resource

from . import rules_aws_machines, rules_aws_services, rules_aws_ways
from .rules import Problem, Wanted

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
INSTANCE = "aws:ec2/instance:Instance"
SUBNET = "aws:ec2/subnet:Subnet"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
BUCKET = "aws:s3/bucket:Bucket"
KEY = "aws:kms/key:Key"

KEPT = {KEY: 1, BUCKET: 1, LUSTRE: 1}
#: EC2 takes 16 KiB of user-data before base64 (Amazon EC2 User Guide, "Run commands at launch").
_USER_DATA_BYTES = 16 * 1024
#: A capacity block holds at most 64 instances (Amazon EC2 User Guide, "Capacity Blocks for ML").
_BLOCK_NODES = 64
#: Families whose usage classes list capacity-block (EC2 DescribeInstanceTypes).
_BLOCK_FAMILIES = ("p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "trn1", "trn2")
#: FSx for Lustre User Guide, "Increasing storage capacity": step with EFA by tier, and without.
_EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
#: FSx for Lustre User Guide, "File system access control": these have to be open, and nothing outside their range.
_LUSTRE_PORTS = {988, *range(1018, 1024)}


def expected_interfaces(wanted: Wanted) -> list[tuple[int, int, str]]:
    """Return (card, device, type) of every interface, primary first.

    Amazon EC2 User Guide, "Maximize network bandwidth on accelerated instances": the primary is plain; card 0 carries
    its EFA as an extra interface on device 1, the others on device 0.
    """
    facts = wanted.instance
    if not facts.fabric_interfaces:
        return [(0, 0, "interface")]
    own = [(0, 1, "efa-only")] if facts.card_zero_has_fabric else []
    return [(0, 0, "interface"), *own, *((card, 0, "efa-only") for card in range(1, facts.network_cards or 1))]


def aws_problems(record: Record, sdk: Sdk, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong in a record of the AWS stack."""
    return [
        *_interfaces(record, wanted),
        *_type(record, sdk, wanted),
        *_fabric_rules(record),
        *_capacity(record, wanted),
        *_groups(record, wanted),
        *_lustre(record),
        *_network(record, wanted),
        *_machines(record),
        *_budget(record),
        *rules_aws_machines.machine_problems(record, wanted),
        *rules_aws_services.services_problems(record),
        *rules_aws_ways.way_problems(record),
    ]


def _interfaces(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for template in record.of(TEMPLATE):
        interfaces = template.inputs.get("networkInterfaces", [])
        found = [(one.get("networkCardIndex"), one.get("deviceIndex"), one.get("interfaceType")) for one in interfaces]
        expected = expected_interfaces(wanted)
        if len(found) != len(expected):
            yield Problem(id="AWS001", resource=template.name, message=f"{len(found)} interfaces, not {len(expected)}")
        if len({slot[:2] for slot in found}) != len(found):
            yield Problem(id="AWS002", resource=template.name, message="two interfaces have one place on a card")
        wrong = [slot for slot in found if slot not in expected]
        if wrong:
            yield Problem(id="AWS003", resource=template.name, message=f"no such place or type: {wrong[:3]}")
        per_card = wanted.instance.interfaces_per_card or 1
        if any(isinstance(slot[1], int) and slot[1] >= per_card for slot in found):
            yield Problem(id="AWS004", resource=template.name, message=f"a card takes {per_card} interfaces")
        if any(not one.get("securityGroups") for one in interfaces):
            yield Problem(id="AWS005", resource=template.name, message="an interface has no security group")
        if template.inputs.get("vpcSecurityGroupIds") and interfaces:
            yield Problem(id="AWS006", resource=template.name, message="security groups beside interfaces")
        public = [one.get("associatePublicIpAddress") for one in interfaces]
        if (len(public) > 1 and any(one is not None for one in public)) or "true" in public:
            yield Problem(id="AWS007", resource=template.name, message=f"public address: {public[:2]}")
        if any(one.get("deleteOnTermination") != "true" for one in interfaces):
            yield Problem(id="AWS008", resource=template.name, message="an interface outlives its node")


def _type(record: Record, sdk: Sdk, wanted: Wanted) -> Iterator[Problem]:
    listed = described(Nested(module=sdk.site_packages / "pulumi_aws" / "ec2", name="InstanceType"))
    assert isinstance(listed, EnumShape)
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        if one.inputs.get("instanceType") not in listed.values:
            yield Problem(id="AWS010", resource=one.name, message=f"EC2 has no {one.inputs.get('instanceType')}")
    for one in record.of(TEMPLATE):
        if one.inputs.get("instanceType") != wanted.instance.id:
            yield Problem(id="AWS011", resource=one.name, message=f"is no {wanted.instance.id}")


def _fabric_rules(record: Record) -> Iterator[Problem]:
    groups = {one.name.rpartition("-")[2]: f"{one.name}-security-group-id" for one in record.of(SECURITY_GROUP)}
    cluster, lustre = groups.get("cluster"), groups.get("lustre")
    own = {"securityGroupId": cluster, "referencedSecurityGroupId": cluster, "ipProtocol": "-1"}
    for kind in (INGRESS, EGRESS):
        if not any(own.items() <= rule.inputs.items() for rule in record.of(kind)):
            yield Problem(id="AWS020", resource=str(cluster), message=f"EFA lacks its self rule: {kind}")
    pairs = ((cluster, lustre), (lustre, cluster), (lustre, lustre))
    for source, target in pairs:
        for kind, owner, peer in ((EGRESS, source, target), (INGRESS, target, source)):
            ports = {
                port
                for rule in record.of(kind)
                if rule.inputs.get("securityGroupId") == owner
                and rule.inputs.get("referencedSecurityGroupId") == peer
                and rule.inputs.get("ipProtocol") == "tcp"
                for port in range(rule.inputs.get("fromPort", 0), rule.inputs.get("toPort", -1) + 1)
            }
            if not ports >= _LUSTRE_PORTS or not ports <= set(range(min(_LUSTRE_PORTS), max(_LUSTRE_PORTS) + 1)):
                missing, more = sorted(_LUSTRE_PORTS - ports), len(ports)
                yield Problem(id="AWS021", resource=str(owner), message=f"Lustre ports: of {more}, lacks {missing}")
    for rule in record.of(INGRESS):
        if "cidrIpv4" in rule.inputs or "cidrIpv6" in rule.inputs:
            yield Problem(id="AWS022", resource=rule.name, message="accepts traffic from an address range")


def _capacity(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for template in record.of(TEMPLATE):
        inputs = template.inputs
        placed = "groupName" in (inputs.get("placement") or {})
        specification = inputs.get("capacityReservationSpecification") or {}
        reserved = "capacityReservationId" in (specification.get("capacityReservationTarget") or {})
        market = (inputs.get("instanceMarketOptions") or {}).get("marketType")
        if placed and reserved:
            yield Problem(id="AWS030", resource=template.name, message="placement group on top of a reservation")
        if not placed and not reserved:
            yield Problem(id="AWS031", resource=template.name, message="nothing keeps the nodes close")
        if market not in {None, "spot", "capacity-block"}:
            yield Problem(id="AWS032", resource=template.name, message=f"market type {market}")
        if (market == "capacity-block") != (wanted.capacity == "capacity-block"):
            yield Problem(id="AWS033", resource=template.name, message=f"market type {market} for {wanted.capacity}")
        options = (inputs.get("instanceMarketOptions") or {}).get("spotOptions") or {}
        once = (options.get("spotInstanceType"), options.get("instanceInterruptionBehavior")) == (
            "one-time",
            "terminate",
        )
        if (market == "spot") != (wanted.capacity == "spot") or (market == "spot" and not once):
            message = f"spot nodes of a group are one-time and end; {market} {dict(options)}"
            yield Problem(id="AWS037", resource=template.name, message=message)
        if inputs.get("instanceInitiatedShutdownBehavior") != "terminate":
            yield Problem(id="AWS045", resource=template.name, message="does not terminate: it stays, and is paid for")
        if market == "capacity-block":
            family = str(inputs.get("instanceType")).partition(".")[0]
            if not reserved or wanted.nodes > _BLOCK_NODES or family not in _BLOCK_FAMILIES:
                yield Problem(id="AWS034", resource=template.name, message="no capacity block can be like this")
    for group in record.of(PLACEMENT):
        if group.inputs.get("strategy") != "cluster":
            yield Problem(id="AWS035", resource=group.name, message=f"strategy {group.inputs.get('strategy')}")
    for one in record.of("aws:ec2/capacityBlockReservation:CapacityBlockReservation"):
        yield Problem(id="AWS036", resource=one.name, message="buys a capacity block at `up`")


def _groups(record: Record, wanted: Wanted) -> Iterator[Problem]:
    groups = record.of(GROUP)
    total = sum(group.inputs.get("desiredCapacity", 0) for group in groups)
    if total != wanted.nodes:
        yield Problem(id="AWS040", resource="groups", message=f"hold {total} nodes, not {wanted.nodes}")
    for group in groups:
        inputs = group.inputs
        if not inputs.get("minSize") == inputs.get("maxSize") == inputs.get("desiredCapacity"):
            yield Problem(id="AWS041", resource=group.name, message="changes its size by itself")
        if len(inputs.get("vpcZoneIdentifiers", [])) != 1 or "AZRebalance" not in inputs.get("suspendedProcesses", []):
            yield Problem(id="AWS042", resource=group.name, message="moves nodes between subnets")
        if str((inputs.get("launchTemplate") or {}).get("version", "")).startswith("$"):
            yield Problem(id="AWS043", resource=group.name, message="floats with the newest template")
        given = {tag["key"]: tag["value"] for tag in inputs.get("tags", []) if tag.get("propagateAtLaunch")}
        if not wanted.tags.items() <= given.items():
            yield Problem(id="AWS044", resource=group.name, message="does not hand its tags on")


def _lustre(record: Record) -> Iterator[Problem]:
    for one in record.of(LUSTRE):
        inputs = one.inputs
        tier, size = inputs.get("perUnitStorageThroughput"), inputs.get("storageCapacity")
        if inputs.get("deploymentType") != "PERSISTENT_2":
            yield Problem(id="AWS050", resource=one.name, message=f"deployment type {inputs.get('deploymentType')}")
        if tier not in _EFA_STEP_GIB:
            yield Problem(id="AWS051", resource=one.name, message=f"no tier of {tier} MB/s per TiB")
        efa = inputs.get("efaEnabled") is True
        step = _EFA_STEP_GIB.get(tier, 2400) if efa else 2400
        if not isinstance(size, int) or (size % step and (efa or size != 1200)):
            yield Problem(id="AWS052", resource=one.name, message=f"no size of {size} GiB; the step is {step}")
        if efa and not inputs.get("metadataConfiguration"):
            yield Problem(id="AWS053", resource=one.name, message="EFA needs a metadata configuration")
        groups = inputs.get("securityGroupIds", [])
        if not any("lustre" in str(group) for group in groups) or (efa and len(groups) < 2):
            yield Problem(id="AWS054", resource=one.name, message=f"security groups {groups}")
        if "importPath" in inputs or "exportPath" in inputs:
            yield Problem(id="AWS055", resource=one.name, message="PERSISTENT_2 takes no import or export path")
        if not inputs.get("kmsKeyId"):
            yield Problem(id="AWS056", resource=one.name, message="is not encrypted with the cluster's key")
    if record.of(LUSTRE) and not record.of(LINK):
        yield Problem(id="AWS057", resource="lustre", message="is linked to no bucket")


def _network(record: Record, wanted: Wanted) -> Iterator[Problem]:
    zones = {subnet.inputs.get("availabilityZone") for subnet in record.of(SUBNET) if "-services-" not in subnet.name}
    if record.of(SUBNET) and len(zones) != 1:
        yield Problem(id="AWS060", resource="subnets", message=f"are in {sorted(map(str, zones))}")
    services = {subnet.inputs.get("availabilityZone") for subnet in record.of(SUBNET) if "-services-" in subnet.name}
    if record.of(SUBNET) and len(services) != 2:
        yield Problem(id="AWS065", resource="service subnets", message=f"are in {sorted(map(str, services))}")
    for subnet in record.of(SUBNET):
        if subnet.inputs.get("mapPublicIpOnLaunch") is not False:
            yield Problem(id="AWS061", resource=subnet.name, message="gives public addresses")
    for template in record.of(TEMPLATE):
        with_address = [
            one for one in template.inputs.get("networkInterfaces", []) if one.get("interfaceType") != "efa-only"
        ]
        for subnet in record.of(SUBNET):
            if subnet.name.endswith("-nodes"):
                # Amazon VPC keeps five addresses of a subnet.
                room = ipaddress.ip_network(subnet.inputs["cidrBlock"]).num_addresses - 5
                if wanted.nodes * len(with_address) > room:
                    yield Problem(id="AWS062", resource=subnet.name, message=f"has {room} addresses")
    endpoints = {
        one.inputs.get("serviceName", "").rpartition(".")[2] for one in record.of("aws:ec2/vpcEndpoint:VpcEndpoint")
    }
    missing = {"s3", "ssm", "ssmmessages", "ec2messages"} - endpoints
    if missing:
        yield Problem(id="AWS063", resource="endpoints", message=f"no shell without {sorted(missing)}")
    if not record.of("aws:ec2/flowLog:FlowLog"):
        yield Problem(id="AWS064", resource="network", message="keeps no flow log")


def _machines(record: Record) -> Iterator[Problem]:
    metadata = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        if not metadata.items() <= (one.inputs.get("metadataOptions") or {}).items():
            yield Problem(id="AWS070", resource=one.name, message="metadata without a token, or a hop away")
        if not all(disk.get("encrypted") in (True, "true") and disk.get("kmsKeyId") for disk in _disks(one)):
            yield Problem(id="AWS071", resource=one.name, message="a disk is not encrypted with the cluster's key")
        image, ignored = one.inputs.get("imageId") or one.inputs.get("ami"), one.ignore_changes
        if not str(image).startswith("ami-"):
            yield Problem(id="AWS072", resource=one.name, message=f"image {image} moves")
        if image == "ami-0abc0abc0abc0abc0" and not {"imageId", "ami"} & set(ignored):
            yield Problem(id="AWS073", resource=one.name, message="a new release of the image replaces the machine")
        packed = base64.b64decode(one.inputs.get("userData") or one.inputs.get("userDataBase64") or "")
        if len(packed) > _USER_DATA_BYTES or not gzip.decompress(packed).startswith(b"#cloud-config"):
            yield Problem(id="AWS074", resource=one.name, message=f"user-data of {len(packed)} bytes")
        if one.inputs.get("associatePublicIpAddress") not in (None, False):
            yield Problem(id="AWS075", resource=one.name, message="has a public address")


def _disks(machine: Resource) -> list[Mapping[str, Any]]:
    mapped = [one.get("ebs") or {} for one in machine.inputs.get("blockDeviceMappings", [])]
    root = machine.inputs.get("rootBlockDevice")
    return [*mapped, *([root] if root else [])]


def _budget(record: Record) -> Iterator[Problem]:
    for one in record.of("aws:budgets/budget:Budget"):
        if not one.inputs.get("notifications") or not float(one.inputs.get("limitAmount", 0)) > 0:
            yield Problem(id="AWS090", resource=one.name, message="warns nobody")
    for one in record.of(BUCKET):
        name = f"{one.name}-bucket"
        block = record.of("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock")
        if not block or not all(
            block[0].inputs.get(setting) is True
            for setting in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
        ):
            yield Problem(id="AWS091", resource=name, message="can be made public")
    if any(one.inputs.get("enableKeyRotation") is not True for one in record.of(KEY)):
        yield Problem(id="AWS092", resource="key", message="does not rotate")
