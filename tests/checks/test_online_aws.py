"""Questions to AWS, answered by moto and, where moto has no answer, by recorded ones."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from .projects import asked, configuration, subject

boto3 = pytest.importorskip("boto3", reason="the extra clusterwright[aws] is not installed")
moto = pytest.importorskip("moto")
from botocore.stub import Stubber  # noqa: E402

from clusterwright.checks.preflight.online import online  # noqa: E402
from clusterwright.checks.preflight.online.answers import NoAnswerError, NoLoginError  # noqa: E402
from clusterwright.checks.preflight.online.aws import Aws  # noqa: E402

REGION = "us-east-1"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Return an account that lives in this process."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with moto.mock_aws():
        yield Aws(region=REGION)


def recorded(service: str, *answers: tuple[str, Any]) -> Aws:
    """Return an account whose service gives recorded answers, an error where an answer is a code."""
    client = boto3.client(service, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="y")  # noqa: S106
    stubber = Stubber(client)
    for operation, answer in answers:
        if isinstance(answer, str):
            stubber.add_client_error(operation, answer)
        else:
            stubber.add_response(operation, answer)
    stubber.activate()

    def service_client(name: str) -> Any:  # noqa: ANN401
        assert name == service
        return client

    return Aws(region=REGION, client=service_client)


def test_account(aws: Aws) -> None:
    """The account is named."""
    assert "account 123456789012" in aws.account()


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials the error says how to log in, and no request leaves the machine."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(NoLoginError, match="does not take the login") as raised:
        Aws(region=REGION).account()
    assert raised.value.help is not None
    assert "aws sso login" in raised.value.help


def test_offer(aws: Aws) -> None:
    """Zones are those of moto's snapshot of the real offerings; what does not exist is offered nowhere."""
    assert REGION + "a" in aws.offer("p5.48xlarge").zones
    assert aws.offer("p5.49xlarge").zones == ()


def test_image(aws: Aws) -> None:
    """An image by id and by parameter is found with its architecture; a missing one is not."""
    client = boto3.client("ec2", region_name=REGION)
    known = client.describe_images()["Images"][0]["ImageId"]
    boto3.client("ssm", region_name=REGION).put_parameter(Name="/own/image", Value=known, Type="String")
    found = aws.image(known)
    assert found is not None
    assert (found.pinned, found.architecture) == (known, "x86_64")
    by_name = aws.image("/own/image")
    assert by_name is not None
    assert by_name.pinned == known
    assert aws.image("ami-0123456789abcdef0") is None
    assert aws.image("/own/other") is None


def test_subnet_and_network(aws: Aws) -> None:
    """A /28 has eleven free addresses; a VPC without host names is found; missing ids are none."""
    client = boto3.client("ec2", region_name=REGION)
    vpc = client.create_vpc(CidrBlock="10.64.0.0/24")["Vpc"]["VpcId"]
    made = client.create_subnet(VpcId=vpc, CidrBlock="10.64.0.0/28", AvailabilityZone=f"{REGION}b")["Subnet"][
        "SubnetId"
    ]
    subnet = aws.subnet(made)
    assert subnet is not None
    assert (subnet.zone, subnet.free_addresses, subnet.network) == (f"{REGION}b", 11, vpc)
    assert aws.network_problems(vpc) == (f"{vpc} has enableDnsHostnames off, endpoints would have no names",)
    client.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    assert aws.network_problems(vpc) == ()
    assert aws.subnet("subnet-0123456789abcdef0") is None
    assert "there is no VPC" in aws.network_problems("vpc-0123456789abcdef0")[0]


def test_groups(aws: Aws) -> None:
    """A group is found by its tag; the rule for every address is not one for itself."""
    client = boto3.client("ec2", region_name=REGION)
    vpc = client.create_vpc(CidrBlock="10.64.0.0/24")["Vpc"]["VpcId"]
    tags = [{"ResourceType": "security-group", "Tags": [{"Key": "gpu-cluster", "Value": "small"}]}]
    group = client.create_security_group(GroupName="c", Description="c", VpcId=vpc, TagSpecifications=tags)["GroupId"]
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    client.authorize_security_group_ingress(GroupId=group, IpPermissions=itself)
    (found,) = aws.groups("small")
    assert (found.from_itself, found.to_itself) == (True, False)
    client.authorize_security_group_egress(GroupId=group, IpPermissions=itself)
    (found,) = aws.groups("small")
    assert (found.from_itself, found.to_itself) == (True, True)
    assert aws.groups("other") == ()


def test_quota() -> None:
    """A quota is found by its name among those of Amazon EC2."""
    quotas = [
        {"QuotaName": "Running On-Demand G and VT instances", "Value": 64.0},
        {"QuotaName": "Running On-Demand P instances", "QuotaCode": "L-417A185B", "Value": 384.0},
    ]
    ask = asked("Running On-Demand P instances", "L-417A185B")
    found = recorded("service-quotas", ("list_service_quotas", {"Quotas": quotas})).quota(ask)
    assert (found.limit, found.used) == (384.0, None)
    missing = asked("Running On-Demand Trn instances", "L-2C3B7624")
    assert recorded("service-quotas", ("list_service_quotas", {"Quotas": quotas})).quota(missing).limit is None


def test_a_refused_question_names_the_permission() -> None:
    """What the login may not ask is unknown, with the permission that is missing; an old login is no login."""
    ask = asked("Running On-Demand P instances", "L-417A185B")
    with pytest.raises(NoAnswerError, match="AccessDenied") as raised:
        recorded("service-quotas", ("list_service_quotas", "AccessDeniedException")).quota(ask)
    assert raised.value.help == "the login needs servicequotas:ListServiceQuotas"
    with pytest.raises(NoLoginError):
        recorded("service-quotas", ("list_service_quotas", "ExpiredTokenException")).quota(ask)


def test_reservation() -> None:
    """A capacity block is read with its free count and end; one that has not begun is wholly free; none is none."""
    ends = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    block = {
        "CapacityReservationId": "cr-0123456789abcdef0",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": f"{REGION}a",
        "TotalInstanceCount": 16,
        "AvailableInstanceCount": 11,
        "State": "active",
        "EndDate": ends,
    }
    (found,) = recorded("ec2", ("describe_capacity_reservations", {"CapacityReservations": [block]})).reservation(
        "cr-0123456789abcdef0", ""
    )
    assert (found.total, found.free, found.usable, found.ends) == (16, 11, True, ends)
    later = {**block, "State": "scheduled", "AvailableInstanceCount": 0}
    (found,) = recorded("ec2", ("describe_capacity_reservations", {"CapacityReservations": [later]})).reservation(
        "cr-0123456789abcdef0", ""
    )
    assert (found.free, found.usable) == (16, True)
    code = "InvalidCapacityReservationId.NotFound"
    assert recorded("ec2", ("describe_capacity_reservations", code)).reservation("cr-0", "") == ()


def test_a_project_against_an_account(aws: Aws) -> None:
    """The checks run against an account as a whole: what moto does not know is unknown, the image is missing."""
    client = boto3.client("ec2", region_name=REGION)
    config = configuration("aws")
    config["nodes"]["nodeType"]["image"] = client.describe_images()["Images"][0]["ImageId"]
    results = {result.check: result.outcome.status for result in _online(aws, config)}
    assert results == {"PRE101": "PASS", "PRE103": "PASS", "PRE105": "PASS", "PRE107": "PASS"}


def _online(aws: Aws, config: dict[str, dict[str, Any]]) -> list[Any]:
    config["nodes"]["capacity"] = "capacity-block"  # quotas of instances, which moto has not, are not asked for
    return list(online(subject("aws", config), aws))
