"""Questions to AWS through boto3, with the login that the AWS command line uses."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from clusterwright.checks.preflight.configuration.quotas import Ask
from clusterwright.checks.preflight.online.answers import (
    GroupRules,
    Image,
    NoAnswerError,
    NoLoginError,
    Offer,
    Quota,
    Reservation,
    Subnet,
)
from clusterwright.checks.preflight.subject import Subject

_MISSING = ("NotFound", "Malformed", "Unknown", "ParameterNotFound")
_LOGIN = ("ExpiredToken", "InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure", "ExpiredTokenException")
_CLUSTER_TAG = "gpu-cluster"
_USED_WITHIN = dt.timedelta(hours=1)


def provider(subject: Subject) -> "Aws":
    """Return what asks the account of the default login in the subject's region."""
    return Aws(region=subject.region)


class Aws:
    """One account in one region."""

    def __init__(self, *, region: str, client: Callable[[str], Any] | None = None) -> None:
        self._region = region
        self._client = client or (lambda service: boto3.client(service, region_name=region))

    def account(self) -> str:
        """Return the account's number and the caller."""
        try:
            caller = self._client("sts").get_caller_identity()
        except (NoCredentialsError, BotoCoreError, ClientError) as error:
            raise NoLoginError(
                f"AWS does not take the login: {error}",
                help="aws sso login, or set AWS_PROFILE; see clusterwright docs preflight",
            ) from None
        return f"account {caller['Account']} as {caller['Arn']}"

    def quota(self, ask: Ask) -> Quota:
        """Return a quota of Amazon EC2 by its code, or by its name."""
        with _answered("servicequotas:ListServiceQuotas"):
            for page in self._pages("service-quotas", "list_service_quotas", ServiceCode="ec2"):
                for quota in page["Quotas"]:
                    if ask.code == quota.get("QuotaCode") or ask.name == quota["QuotaName"]:
                        return Quota(
                            name=quota["QuotaName"], limit=quota["Value"], used=self._used(quota.get("UsageMetric"))
                        )
        return Quota(name=ask.name, limit=None, used=None)

    def _used(self, metric: dict[str, Any] | None) -> float | None:
        """Return the highest use within the last hour, None where AWS does not count it or may not be asked."""
        if not metric:
            return None
        now = dt.datetime.now(dt.UTC)
        dimensions = [{"Name": name, "Value": value} for name, value in metric["MetricDimensions"].items()]
        try:
            found = self._client("cloudwatch").get_metric_statistics(
                Namespace=metric["MetricNamespace"],
                MetricName=metric["MetricName"],
                Dimensions=dimensions,
                StartTime=now - _USED_WITHIN,
                EndTime=now,
                Period=300,
                Statistics=["Maximum"],
            )["Datapoints"]
        except (BotoCoreError, ClientError):
            return None
        return max((float(point["Maximum"]) for point in found), default=0.0)

    def network_quota(self) -> Quota | None:
        """Networks are no concern: a cluster makes one VPC."""
        return None

    def offer(self, instance_type: str) -> Offer:
        """Return the zones that offer a type."""
        with _answered("ec2:DescribeInstanceTypeOfferings"):
            pages = self._pages(
                "ec2",
                "describe_instance_type_offerings",
                LocationType="availability-zone",
                Filters=[{"Name": "instance-type", "Values": [instance_type]}],
            )
            zones = sorted(offering["Location"] for page in pages for offering in page["InstanceTypeOfferings"])
        return Offer(zones=tuple(zones))

    def reservation(self, reservation_id: str, zone: str) -> tuple[Reservation, ...]:
        """Return a capacity reservation or capacity block."""
        del zone
        with _answered("ec2:DescribeCapacityReservations"):
            try:
                found = self._client("ec2").describe_capacity_reservations(CapacityReservationIds=[reservation_id])
            except ClientError as error:
                if _is_missing(error):
                    return ()
                raise
        return tuple(
            Reservation(
                id=entry["CapacityReservationId"],
                instance_type=entry["InstanceType"],
                zone=entry["AvailabilityZone"],
                total=entry["TotalInstanceCount"],
                # A block that has not begun has nothing free yet; all of it will be.
                free=entry["TotalInstanceCount"]
                if entry["State"] in ("scheduled", "payment-pending")
                else entry["AvailableInstanceCount"],
                state=entry["State"],
                usable=entry["State"] in ("active", "scheduled"),
                ends=entry.get("EndDate"),
            )
            for entry in found["CapacityReservations"]
        )

    def image(self, reference: str) -> Image | None:
        """Return an image by its id, or the one that a parameter of SSM names today."""
        ami = reference
        if reference.startswith("/"):
            with _answered("ssm:GetParameter"):
                try:
                    ami = self._client("ssm").get_parameter(Name=reference)["Parameter"]["Value"]
                except ClientError as error:
                    if _is_missing(error):
                        return None
                    raise
        with _answered("ec2:DescribeImages"):
            try:
                found = self._client("ec2").describe_images(ImageIds=[ami])["Images"]
            except ClientError as error:
                if _is_missing(error):
                    return None
                raise
        return Image(pinned=ami, architecture=found[0].get("Architecture", "")) if found else None

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnet."""
        with _answered("ec2:DescribeSubnets"):
            try:
                found = self._client("ec2").describe_subnets(SubnetIds=[subnet_id])["Subnets"]
            except ClientError as error:
                if _is_missing(error):
                    return None
                raise
        return next(
            (
                Subnet(
                    id=subnet_id,
                    zone=entry["AvailabilityZone"],
                    free_addresses=entry["AvailableIpAddressCount"],
                    network=entry["VpcId"],
                )
                for entry in found
            ),
            None,
        )

    def network_problems(self, network_id: str) -> tuple[str, ...]:
        """Return whether a VPC lacks name resolution, without which endpoints and the file system have no names."""
        with _answered("ec2:DescribeVpcAttribute"):
            try:
                attributes = {
                    name: self._client("ec2").describe_vpc_attribute(VpcId=network_id, Attribute=name)[key]["Value"]
                    for name, key in (
                        ("enableDnsSupport", "EnableDnsSupport"),
                        ("enableDnsHostnames", "EnableDnsHostnames"),
                    )
                }
            except ClientError as error:
                if _is_missing(error):
                    return (f"there is no VPC {network_id} in {self._region}",)
                raise
        return tuple(
            f"{network_id} has {name} off, endpoints would have no names" for name, on in attributes.items() if not on
        )

    def groups(self, cluster: str) -> tuple[GroupRules, ...]:
        """Return the security groups with the cluster's tag, with their rules for themselves."""
        with _answered("ec2:DescribeSecurityGroups"):
            pages = self._pages(
                "ec2", "describe_security_groups", Filters=[{"Name": f"tag:{_CLUSTER_TAG}", "Values": [cluster]}]
            )
            return tuple(
                GroupRules(
                    id=group["GroupId"],
                    from_itself=_itself(group["IpPermissions"], group["GroupId"]),
                    to_itself=_itself(group["IpPermissionsEgress"], group["GroupId"]),
                )
                for page in pages
                for group in page["SecurityGroups"]
            )

    def _pages(self, service: str, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
        yield from self._client(service).get_paginator(operation).paginate(**arguments)


def _itself(permissions: list[dict[str, Any]], group: str) -> bool:
    return any(
        rule["IpProtocol"] == "-1" and any(pair.get("GroupId") == group for pair in rule.get("UserIdGroupPairs", ()))
        for rule in permissions
    )


def _is_missing(error: ClientError) -> bool:
    code = error.response["Error"]["Code"]
    return any(word in code for word in _MISSING)


@contextmanager
def _answered(permission: str) -> Iterator[None]:
    """Turn what AWS refuses into an answer that says which permission is needed."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _LOGIN:
            raise NoLoginError(f"AWS does not take the login: {code}", help="aws sso login") from None
        raise NoAnswerError(f"AWS does not answer: {error}", help=f"the login needs {permission}") from None
    except BotoCoreError as error:
        raise NoAnswerError(f"AWS cannot be asked: {error}", help="check network and region") from None
