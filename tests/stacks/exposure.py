"""What every cloud's rules have in common: nothing is open to everybody, and what can have a customer's key has one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.checks.preflight.recorder.shapes import Sdk, UnknownTypeError
from clusterwright.checks.preflight.records import Record

from .rules import Problem

#: Inputs by which a type takes a customer's key.
_KEYS = (
    "kmsKeyId",
    "kmsKeyArn",
    "kmsMasterKeyId",
    "kmsKeyName",
    "kmsKey",
    "encryptionKeyName",
    "masterUserSecretKmsKeyId",
)
#: Types that take a key for a use that these stacks do not have, with the use.
KEYLESS: Mapping[str, str] = {}
#: Type and path where every address may stand: the way out.
WAYS_OUT: Mapping[str, Sequence[str]] = {
    "aws:ec2/routeTable:RouteTable": ("routes.cidrBlock",),
    "aws:ec2/defaultRouteTable:DefaultRouteTable": ("routes.cidrBlock",),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("cidrIpv4",),
    "gcp:compute/firewall:Firewall": ("destinationRanges",),
    "kubernetes:networking.k8s.io/v1:NetworkPolicy": ("spec.egress.to.ipBlock.cidr",),
}
#: Inputs in which a number below 0 means something: any port; and on Azure, spot up to the price on demand.
BELOW_ZERO = ("fromPort", "toPort", "virtualMachineProfile.billingProfile.maxPrice", "spotMaxPrice")
_EVERYBODY = ("0.0.0.0/0", "::/0")


def exposure_problems(record: Record, sdk: Sdk) -> Iterator[Problem]:
    """Yield resources that are open to everybody, or not encrypted with the cluster's key."""
    for one in record.cloud_resources:
        for path, value in _texts(one.inputs, ""):
            if value in _EVERYBODY and path not in WAYS_OUT.get(one.type, ()):
                yield Problem(id="OPEN001", resource=one.name, message=f"{path} is open to {value}")
        try:
            properties = sdk.inputs(one.type).properties
        except UnknownTypeError:
            continue
        for key in _KEYS:
            if key in properties and not one.inputs.get(key) and one.type not in KEYLESS:
                yield Problem(id="ENC001", resource=one.name, message=f"{one.type} has no {key}")


def value_problems(record: Record) -> Iterator[Problem]:
    """Yield numbers below 0 where that means nothing, and lists that say one thing twice."""
    for one in record.cloud_resources:
        for path, value in _values(one.inputs, ""):
            if isinstance(value, int | float) and value < 0 and path not in BELOW_ZERO:
                yield Problem(id="VAL001", resource=one.name, message=f"{path} is {value}")
            if isinstance(value, list):
                said = [repr(item) for item in value]
                twice = next((text for text in said if said.count(text) > 1), None)
                if twice is not None:
                    yield Problem(id="VAL002", resource=one.name, message=f"{path} has {twice[:60]} twice")


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield every value inside a value, lists among them, with the names on the way to it."""
    if path:
        yield path, value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _values(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Mapping | list | tuple):
                yield from _values(item, path)
            elif isinstance(item, int | float):
                yield path, item


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, path)
