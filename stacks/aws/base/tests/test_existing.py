"""Checks what a network, key and bucket that exist already are held against."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pulumi_aws import ec2

from gpu_cluster.config_values import ConfigError, Values
from gpu_cluster.existing import (
    Existing,
    dns_problems,
    node_subnet_problems,
    read_existing,
    service_subnet_problems,
)
from recording import EXISTING_VPC, Recording, RecordingMonitor, engine_config, example, run_layer

KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
NODES, FIRST, SECOND = (f"subnet-0aaaaaaaaaaaaaaa{number}" for number in (1, 2, 3))
VPC = {"vpcId": EXISTING_VPC, "nodeSubnetId": NODES, "serviceSubnetIds": [FIRST, SECOND]}
EVERYTHING = {**VPC, "keyArn": KEY, "bucketName": "team-data"}


def foundation(project: Path, existing: dict[str, Any], **changes: Any) -> Recording:
    """Run the foundation on what exists."""
    config = engine_config(
        project, "foundation", example(project, "foundation"), {"existingNetwork": existing, **changes}
    )
    monitor = RecordingMonitor("foundation", {})
    outputs = run_layer(project, "foundation", config, monitor)
    return Recording(resources=tuple(monitor.recorded), outputs={"foundation": outputs})


def test_nothing_that_exists_is_made_again(project: Path) -> None:
    """With network, key and bucket given, none is made, and every output names what was given."""
    recording = foundation(project, EVERYTHING)
    made = {one.type for one in recording.resources}
    assert not made & {
        "aws:ec2/vpc:Vpc",
        "aws:ec2/subnet:Subnet",
        "aws:ec2/natGateway:NatGateway",
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        "aws:ec2/flowLog:FlowLog",
        "aws:kms/key:Key",
        "aws:s3/bucket:Bucket",
        "aws:s3/bucketPolicy:BucketPolicy",
    }
    outputs = recording.outputs["foundation"]
    assert (outputs["vpc_id"], outputs["node_subnet_id"]) == (EXISTING_VPC, NODES)
    assert outputs["service_subnet_ids"] == [FIRST, SECOND]
    assert (outputs["key_arn"], outputs["bucket_name"]) == (KEY, "team-data")
    file_system = recording.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
    assert (file_system["subnetIds"], file_system["kmsKeyId"]) == (NODES, KEY)
    links = recording.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    assert {one.inputs["dataRepositoryPath"] for one in links} == {
        "s3://team-data/datasets",
        "s3://team-data/checkpoints",
    }
    assert all(one.inputs["vpcId"] == EXISTING_VPC for one in recording.of("aws:ec2/securityGroup:SecurityGroup"))


@pytest.mark.parametrize(
    ("existing", "made", "not_made"),
    [
        (VPC, {"aws:kms/key:Key", "aws:s3/bucket:Bucket"}, {"aws:ec2/vpc:Vpc"}),
        ({"keyArn": KEY}, {"aws:ec2/vpc:Vpc", "aws:s3/bucket:Bucket"}, {"aws:kms/key:Key"}),
        ({"bucketName": "team-data"}, {"aws:ec2/vpc:Vpc", "aws:kms/key:Key"}, {"aws:s3/bucket:Bucket"}),
    ],
)
def test_each_part_may_be_given_alone(
    project: Path, existing: dict[str, Any], made: set[str], not_made: set[str]
) -> None:
    """What is not given is made."""
    types = {one.type for one in foundation(project, existing).resources}
    assert made <= types
    assert not not_made & types


def test_a_network_that_does_not_fit_ends_the_program(project: Path) -> None:
    """Nodes in another zone than the subnet are refused, with the subnet's name."""
    with pytest.raises(Exception, match=f"{NODES} is in us-east-1a, but nodes go to us-east-1b"):
        foundation(project, VPC, availabilityZone="us-east-1b")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"vpcId": EXISTING_VPC}, "serviceSubnetIds: needs subnets in two zones, got 0"),
        ({"nodeSubnetId": NODES}, "vpcId: needs a VPC id"),
        ({**VPC, "vpcId": "vpc-1"}, "vpcId: needs a VPC id"),
        ({**VPC, "serviceSubnetIds": [FIRST, FIRST]}, "serviceSubnetIds: needs subnets in two zones, got 1"),
        ({**VPC, "serviceSubnetIds": [FIRST, "b"]}, "serviceSubnetIds.1: needs a subnet id"),
        ({"keyArn": "alias/team"}, "keyArn: needs the ARN of a KMS key"),
        ({"keyArn": KEY.replace("us-east-1", "eu-west-1")}, "keyArn: is of another region than us-east-1"),
        ({"bucketName": "Team_Data"}, "bucketName: needs the name of an S3 bucket"),
        ({"vpc": EXISTING_VPC}, "vpc: unknown key"),
    ],
)
def test_wrong_ids_are_refused(section: dict[str, Any], message: str) -> None:
    """Ids that cannot be, and networks without all of their subnets, are named before anything is looked up."""
    values = Values(values={"existingNetwork": section})
    read_existing(values, "us-east-1")
    assert any(f"existingNetwork.{message}" in problem for problem in values.problems)


def test_nothing_given_is_nothing() -> None:
    """An empty section, and none at all, make everything."""
    assert read_existing(Values(values={}), "us-east-1") == Existing()
    assert read_existing(Values(values={"existingNetwork": {}}), "us-east-1") == Existing()


def subnet(**differences: Any) -> ec2.GetSubnetResult:
    """A subnet that fits 100 addresses, with differences."""
    facts = {
        "id": "subnet-1",
        "vpc_id": "vpc-1",
        "availability_zone": "us-east-1a",
        "cidr_block": "10.0.0.0/24",
        "map_public_ip_on_launch": False,
    }
    return cast("ec2.GetSubnetResult", SimpleNamespace(**{**facts, **differences}))


@pytest.mark.parametrize(
    ("differences", "message"),
    [
        ({"vpc_id": "vpc-2"}, "is in vpc-2, not in vpc-1"),
        ({"availability_zone": "us-east-1b"}, "is in us-east-1b, but nodes go to us-east-1a"),
        ({"map_public_ip_on_launch": True}, "gives public addresses"),
        ({"cidr_block": "10.0.0.0/26"}, "has room for 43 addresses, but 100 are needed"),
    ],
)
def test_node_subnet_has_to_fit(differences: dict[str, Any], message: str) -> None:
    """Network, zone, privacy and size are looked at."""
    arguments: dict[str, Any] = {"vpc_id": "vpc-1", "availability_zone": "us-east-1a", "addresses": 100}
    assert node_subnet_problems(subnet(), **arguments) == []
    (problem,) = node_subnet_problems(subnet(**differences), **arguments)
    assert message in problem


def test_services_want_two_private_zones() -> None:
    """Two subnets in one zone, of another network, or public, are refused."""
    first, second = subnet(), subnet(id="subnet-2", availability_zone="us-east-1b")
    assert service_subnet_problems([first, second], "vpc-1") == []
    assert "in one zone" in service_subnet_problems([first, subnet(id="subnet-3")], "vpc-1")[0]
    public = subnet(id="subnet-4", availability_zone="us-east-1c", map_public_ip_on_launch=True)
    assert "public addresses" in service_subnet_problems([first, public], "vpc-1")[0]
    assert len(service_subnet_problems([first, second], "vpc-2")) == 2


def test_network_answers_names() -> None:
    """Without DNS, endpoints and the file system are not found."""
    assert dns_problems("vpc-1", support=True, hostnames=True) == []
    assert dns_problems("vpc-1", support=True, hostnames=False) == ["vpc-1 has DNS hostnames switched off"]


def test_recording_says_which_layer(project: Path) -> None:
    """Security groups are the cluster's own also in a network that exists."""
    names = {one.name for one in foundation(project, VPC).resources if one.layer == "foundation"}
    assert "gpt3-security-cluster" in names


def test_wrong_section_is_a_configuration_error(project: Path) -> None:
    """The program refuses it before anything is registered."""
    with pytest.raises(ConfigError, match=r"existingNetwork\.vpcId: needs a VPC id"):
        foundation(project, {**VPC, "vpcId": "vpc"})
