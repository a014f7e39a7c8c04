"""Does what the program asks for on AWS lie in the network of the settings, and does it let machines out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from clusterwright.checks.preflight.configuration.accounts import directory_of
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.judging import named, registered
from clusterwright.checks.preflight.programs.recorded_checks import unrecorded
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.scripts.manifests import items, mapping
from clusterwright.checks.preflight.subject import Subject
from clusterwright.clouds import CLOUDS

_GROUP, _OUT = "aws:ec2/securityGroup:SecurityGroup", "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
_ALL_PROTOCOLS = "-1"
_HTTPS = 443
_LITERAL = re.compile(r"subnet-[0-9a-f]{8,17}")


def in_its_network(subject: Subject) -> Iterator[Outcome]:
    """Check groups and subnets against an existing network, and the ways out that every machine takes."""
    recorded = subject.recorded
    if unrecorded(subject) is not None or recorded is None or recorded.run is None:
        return
    resources = list(registered(recorded.run))
    for message, fix in (*_groups(subject, resources), *_subnets(subject, resources), *_ways_out(subject, resources)):
        yield Outcome(status="FAIL", message=message, fix=fix)


def _existing(subject: Subject, key: str) -> list[str]:
    found = subject.project.setting(f"existingNetwork.{key}")
    value = found.value if found is not None else None
    return [text(one) for one in (items(value) or ([value] if value else []))]


def _groups(subject: Subject, resources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    network = next(iter(_existing(subject, "vpcId")), "")
    for one in resources:
        if one["type"] != _GROUP:
            continue
        own = one["inputs"].get("vpcId")
        if not own:
            yield f"{named(one['urn'])} names no VPC: AWS makes it in the default one", "vpc_id of the network"
        elif network and own != network and text(own).startswith("vpc-"):
            yield f"{named(one['urn'])} is in {own}, the network of the settings is {network}", "vpc_id of the network"


def _subnets(subject: Subject, resources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    known = {*_existing(subject, "nodeSubnetId"), *_existing(subject, "serviceSubnetIds")}
    for one in resources if known else ():
        for name in ("subnetId", "subnetIds", "vpcZoneIdentifiers"):
            value = one["inputs"].get(name)
            for each in map(text, items(value) or [value]):
                if _LITERAL.fullmatch(each) and each not in known:
                    yield f"{named(one['urn'])} is in {each}, which existingNetwork does not have", "one of its subnets"


def _ways_out(subject: Subject, resources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    rules = [one["inputs"] for one in resources if one["type"] == _OUT]
    inline = [
        mapping(rule) for one in resources if one["type"] == _GROUP for rule in items(one["inputs"].get("egress"))
    ]
    ranges = [one for one in (*rules, *inline) if not one.get("referencedSecurityGroupId")]
    if rules and not any(_covers(one, _HTTPS) for one in ranges):
        yield (
            "no rule lets machines out to HTTPS: they reach neither packages nor the cloud's services",
            "an outbound rule for port 443",
        )
    if not CLOUDS[subject.cloud].names_ways_out:
        return
    setting = subject.project.setting("directory")
    directory = directory_of(setting.value) if setting is not None and isinstance(setting.value, dict) else None
    if directory is None:
        return
    for network in directory.networks:
        for port in directory.ports():
            if not any(_covers(one, port) and _holds(one, network) for one in ranges):
                yield (
                    f"no rule lets machines out to {network}, port {port}: the directory does not answer",
                    "an outbound rule for it",
                )


def _covers(rule: Mapping[str, Any], port: int) -> bool:
    if text(rule.get("ipProtocol") or rule.get("protocol")) == _ALL_PROTOCOLS:
        return True
    first, last = whole(rule.get("fromPort")), whole(rule.get("toPort"))
    return first is not None and last is not None and first <= port <= last


def _holds(rule: Mapping[str, Any], network: str) -> bool:
    """Tell whether a rule is about a range; one whose range is not known may be."""
    given = [text(one) for one in (rule.get("cidrIpv4"), *items(rule.get("cidrBlocks"))) if one]
    try:
        return not given or any(IPv4Network(network).subnet_of(IPv4Network(one)) for one in given)
    except ValueError:
        return True
