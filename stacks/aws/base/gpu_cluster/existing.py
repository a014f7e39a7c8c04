"""A network, key and bucket that are there already: looked up and checked, never changed."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.addresses import addresses_of
from gpu_cluster.config_values import ConfigError, Values

EXISTING_KEYS = ("vpcId", "nodeSubnetId", "serviceSubnetIds", "keyArn", "bucketName")
VPC_ID = r"vpc-[0-9a-f]{8,17}"
SUBNET_ID = r"subnet-[0-9a-f]{8,17}"
KEY_ARN = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{36}"
BUCKET_NAME = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingVpc:
    """A VPC with its subnet for nodes and its subnets, in two zones or more, for services."""

    vpc_id: str
    node_subnet_id: str
    service_subnet_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Existing:
    """What is there already; None is made by the foundation."""

    vpc: ExistingVpc | None = None
    key_arn: str | None = None
    bucket_name: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkIds:
    """Where machines and services go, in a network of either kind.

    Attributes:
        node_addresses: of the node subnet, that nodes, endpoints and Lustre can have.
    """

    vpc_id: pulumi.Output[str]
    node_subnet_id: pulumi.Output[str]
    service_subnet_ids: pulumi.Output[Sequence[str]]
    node_addresses: pulumi.Output[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketIds:
    """A bucket of either kind, and what settles the access to it."""

    name: pulumi.Output[str]
    settled: Sequence[pulumi.Resource]


def read_existing(values: Values, region: str) -> Existing:
    """Read the section `existingNetwork`, which may be absent."""
    section = values.optional_section("existingNetwork")
    if section is None:
        return Existing()
    key_arn = section.optional_text("keyArn", KEY_ARN, "the ARN of a KMS key (arn:aws:kms:...:key/...)")
    if key_arn is not None and region and key_arn.split(":")[3:4] != [region]:
        section.fail("keyArn", f"is of another region than {region}")
    existing = Existing(
        vpc=_read_vpc(section),
        key_arn=key_arn,
        bucket_name=section.optional_text("bucketName", BUCKET_NAME, "the name of an S3 bucket"),
    )
    section.refuse_unknown(EXISTING_KEYS)
    return existing


def _read_vpc(section: Values) -> ExistingVpc | None:
    if not any(section.has(key) for key in ("vpcId", "nodeSubnetId", "serviceSubnetIds")):
        return None
    services = section.texts("serviceSubnetIds", SUBNET_ID, "a subnet id (subnet-...)")
    if len(set(services)) < 2:  # noqa: PLR2004 - databases and Kubernetes want two zones
        section.fail("serviceSubnetIds", f"needs subnets in two zones, got {len(set(services))}")
    return ExistingVpc(
        vpc_id=section.text("vpcId", VPC_ID, "a VPC id (vpc-...)"),
        node_subnet_id=section.text("nodeSubnetId", SUBNET_ID, "a subnet id (subnet-...)"),
        service_subnet_ids=services,
    )


def look_up_network(
    existing: ExistingVpc, *, availability_zone: str, addresses: int, options: pulumi.InvokeOptions
) -> NetworkIds:
    """Look the network up and hold it against what a cluster needs; what does not fit ends the program.

    Args:
        existing: ids from the configuration.
        availability_zone: of the nodes.
        addresses: that nodes, endpoints and Lustre take of the node subnet.
        options: with the provider to ask.
    """
    vpc = aws.ec2.get_vpc_output(id=existing.vpc_id, opts=options)
    nodes = aws.ec2.get_subnet_output(id=existing.node_subnet_id, opts=options)
    services = [aws.ec2.get_subnet_output(id=one, opts=options) for one in existing.service_subnet_ids]

    vpc_problems = pulumi.Output.all(vpc.enable_dns_support, vpc.enable_dns_hostnames).apply(
        lambda known: dns_problems(existing.vpc_id, support=bool(known[0]), hostnames=bool(known[1]))
    )
    subnet_problems = nodes.apply(
        lambda found: node_subnet_problems(
            found, vpc_id=existing.vpc_id, availability_zone=availability_zone, addresses=addresses
        )
    )
    zone_problems = pulumi.Output.all(*services).apply(lambda found: service_subnet_problems(found, existing.vpc_id))

    def checked(problems: Sequence[Sequence[str]]) -> ExistingVpc:
        found = [f"existingNetwork: {problem}" for part in problems for problem in part]
        if found:
            raise ConfigError(found)
        return existing

    fine = pulumi.Output.all(vpc_problems, subnet_problems, zone_problems).apply(checked)
    return NetworkIds(
        vpc_id=fine.apply(lambda ids: ids.vpc_id),
        node_subnet_id=fine.apply(lambda ids: ids.node_subnet_id),
        service_subnet_ids=fine.apply(lambda ids: list(ids.service_subnet_ids)),
        node_addresses=nodes.apply(lambda found: addresses_of(ipaddress.IPv4Network(found.cidr_block))),
    )


def dns_problems(vpc_id: str, *, support: bool, hostnames: bool) -> list[str]:
    """Say which DNS setting of a VPC is off: private endpoints and Lustre are found by name."""
    settings = {"DNS resolution": support, "DNS hostnames": hostnames}
    return [f"{vpc_id} has {name} switched off" for name, on in settings.items() if not on]


def node_subnet_problems(
    found: aws.ec2.GetSubnetResult, *, vpc_id: str, availability_zone: str, addresses: int
) -> list[str]:
    """Say why nodes cannot be in a subnet."""
    problems: list[str] = []
    if found.vpc_id != vpc_id:
        problems.append(f"{found.id} is in {found.vpc_id}, not in {vpc_id}")
    if found.availability_zone != availability_zone:
        problems.append(f"{found.id} is in {found.availability_zone}, but nodes go to {availability_zone}")
    if found.map_public_ip_on_launch:
        problems.append(f"{found.id} gives public addresses; nodes want a private subnet")
    # The size and not what is free now, since the nodes of this very cluster take addresses too.
    room = addresses_of(ipaddress.IPv4Network(found.cidr_block))
    if room < addresses:
        problems.append(f"{found.id} ({found.cidr_block}) has room for {room} addresses, but {addresses} are needed")
    return problems


def service_subnet_problems(found: Sequence[aws.ec2.GetSubnetResult], vpc_id: str) -> list[str]:
    """Say why databases and Kubernetes cannot be in two subnets."""
    problems = [f"{one.id} is in {one.vpc_id}, not in {vpc_id}" for one in found if one.vpc_id != vpc_id]
    if len({one.availability_zone for one in found}) == 1:
        problems.append(f"{' and '.join(one.id for one in found)} are in one zone; services want two")
    problems += [f"{one.id} gives public addresses" for one in found if one.map_public_ip_on_launch]
    return problems


def look_up_key(arn: str, options: pulumi.InvokeOptions) -> pulumi.Output[str]:
    """Look a key up; one that cannot encrypt ends the program."""

    def checked(found: aws.kms.GetKeyResult) -> str:
        if not found.enabled or found.key_usage != "ENCRYPT_DECRYPT":
            raise ConfigError([f"existingNetwork: {arn} is {found.key_state} for {found.key_usage}, it cannot encrypt"])
        return found.arn

    return aws.kms.get_key_output(key_id=arn, opts=options).apply(checked)


def look_up_bucket(name: str, region: str, options: pulumi.InvokeOptions) -> BucketIds:
    """Look a bucket up; one of another region, which the file system cannot be linked to, ends the program."""

    def checked(found: aws.s3.GetBucketResult) -> aws.s3.GetBucketResult:
        if found.bucket_region != region:
            raise ConfigError([f"existingNetwork: bucket {name} is in {found.bucket_region}, not in {region}"])
        return found

    found = aws.s3.get_bucket_output(bucket=name, opts=options).apply(checked)
    return BucketIds(name=found.apply(lambda one: one.bucket), settled=())
