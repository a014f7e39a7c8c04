"""Where traffic, data and rights lead on AWS: to what the cluster has, and to nothing beside it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import Record

from .rules import Problem

PROVIDER = "pulumi:providers:aws"
SUBNET = "aws:ec2/subnet:Subnet"
NAT = "aws:ec2/natGateway:NatGateway"
ROUTES = "aws:ec2/routeTable:RouteTable"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
VPC = "aws:ec2/vpc:Vpc"
DEFAULT_ROUTES = "aws:ec2/defaultRouteTable:DefaultRouteTable"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
_HTTPS = 443
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
BUCKET = "aws:s3/bucket:Bucket"
FUNCTION = "aws:lambda/function:Function"
ROLE = "aws:iam/role:Role"
#: Keys of conditions that exist (AWS Service Authorization Reference); a misspelt one is never met, or never denies.
_CONDITION_KEYS = re.compile(
    r"aws:(PrincipalAccount|PrincipalArn|PrincipalTag/[\w-]+|RequestedRegion|RequestTag/[\w-]+|ResourceTag/[\w-]+|SecureTransport"
    r"|SourceAccount|SourceArn|TagKeys|ResourceAccount|SourceVpce)"
    r"|kms:(CallerAccount|ViaService|GrantIsForAWSResource|EncryptionContext:aws:[\w:-]+)"
    r"|ssm:SessionDocumentAccessCheck"
    r"|cloudwatch:namespace|iam:PassedToService|ec2:[A-Z]\w+(/[\w-]+)?|eks:[\w-]+|s3:prefix|oidc[\w./-]*:(aud|sub)"
)
#: Every one of a kind, whoever it belongs to.
_EVERY = re.compile(
    r"arn:[^:]*:(s3:::\*|(kms|secretsmanager|sns|lambda|rds|iam|autoscaling):[^:]*:[^:]*:([a-z-]+[:/])?\*)"
)


def way_problems(record: Record) -> list[Problem]:
    """Return everything that leads out of the cluster, or nowhere."""
    return [
        *_region(record),
        *_ways_out(record),
        *_names(record),
        *_links(record),
        *_rights(record),
        *_functions(record),
    ]


def _region(record: Record) -> Iterator[Problem]:
    regions = {str(one.inputs.get("region")) for one in record.resources if one.type == PROVIDER}
    if len(regions) > 1:
        yield Problem(id="AWS120", resource="provider", message=f"layers are in several regions: {sorted(regions)}")
    for one in record.of(SUBNET):
        # A zone that is looked up is the provider's, whose region is the one checked here.
        zone = None if "availabilityZone" in one.ignore_changes else one.inputs.get("availabilityZone")
        if isinstance(zone, str) and regions and not any(zone.startswith(region) for region in regions):
            yield Problem(id="AWS120", resource=one.name, message=f"{zone} is in no region of {sorted(regions)}")


def _ways_out(record: Record) -> Iterator[Problem]:
    public = {
        f"{one.name}-route-table-id"
        for one in record.of(ROUTES)
        if any(route.get("gatewayId") for route in one.inputs.get("routes", []))
    }
    open_subnets = {
        one.inputs.get("subnetId") for one in record.of(ASSOCIATION) if one.inputs.get("routeTableId") in public
    }
    for one in record.of(NAT):
        if one.inputs.get("subnetId") not in open_subnets:
            yield Problem(id="AWS121", resource=one.name, message="is in a subnet without a way to the Internet")
    for one in record.of(DEFAULT_GROUP):
        if one.inputs.get("ingress") or one.inputs.get("egress"):
            yield Problem(id="AWS122", resource=one.name, message="lets traffic through that nobody asked for")


def _names(record: Record) -> Iterator[Problem]:
    for one in record.of(VPC):
        if one.inputs.get("enableDnsSupport") is not True or one.inputs.get("enableDnsHostnames") is not True:
            message = "answers no names, or gives none: private names of endpoints need both"
            yield Problem(id="AWS132", resource=one.name, message=message)
    private = {text for one in record.of(DEFAULT_ROUTES) for text in one.identities}
    for one in record.of(ENDPOINT):
        tables = {str(table) for table in one.inputs.get("routeTableIds") or []}
        if private and tables and not tables & private:
            message = "is not in the route table of the private subnets: traffic goes through NAT, and is charged"
            yield Problem(id="AWS133", resource=one.name, message=message)
    ways = {one.urn for one in record.of(ASSOCIATION)}
    for one in record.of(NAT):
        if ways and not ways & set(one.dependencies):
            yield Problem(id="AWS134", resource=one.name, message="does not wait for its way out, and is marked failed")
    out = [
        (one.inputs.get("fromPort"), one.inputs.get("toPort"))
        for one in record.of(EGRESS)
        if one.inputs.get("cidrIpv4") == "0.0.0.0/0"
    ]
    if record.of(EGRESS) and not any(_is_port(first) and first <= _HTTPS <= last for first, last in out):
        yield Problem(
            id="AWS138", resource="security groups", message="no way out for HTTPS: no service of AWS answers"
        )


def _is_port(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _links(record: Record) -> Iterator[Problem]:
    paths = [one.inputs.get("fileSystemPath") for one in record.of(LINK)]
    if len(set(paths)) < len(paths):
        yield Problem(id="AWS123", resource="links", message=f"two folders of the bucket have one path: {paths}")
    for one in record.of(LINK):
        if one.inputs.get("deleteDataInFilesystem") is not False:
            yield Problem(id="AWS135", resource=one.name, message="deletes files that are not exported, with the link")
    own = [one.name for one in record.of(BUCKET)]
    for one in record.of(LINK):
        path = str(one.inputs.get("dataRepositoryPath"))
        if own and not any(path.startswith(f"s3://{name}") for name in own):
            yield Problem(id="AWS123", resource=one.name, message=f"leads to {path}, which is not the cluster's")


def _statements(record: Record) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in record.cloud_resources:
        for field in ("policy", "assumeRolePolicy"):
            text = one.inputs.get(field)
            if isinstance(text, str) and text.startswith("{"):
                for statement in json.loads(text).get("Statement", []):
                    yield one.name, statement


def _rights(record: Record) -> Iterator[Problem]:
    for name, statement in _statements(record):
        for operator, condition in (statement.get("Condition") or {}).items():
            for key in condition:
                if _CONDITION_KEYS.fullmatch(key) is None:
                    yield Problem(id="AWS124", resource=name, message=f"{operator} asks for {key}, which is no key")
        resources = statement.get("Resource") or []
        every = [one for one in ([resources] if isinstance(resources, str) else resources) if _EVERY.fullmatch(one)]
        if statement.get("Effect") == "Allow" and every:
            yield Problem(id="AWS125", resource=name, message=f"allows {statement.get('Action')} on every {every}")


def _functions(record: Record) -> Iterator[Problem]:
    trusted = {one.name: str(one.inputs.get("assumeRolePolicy")) for one in record.of(ROLE)}
    for one in record.of(FUNCTION):
        role = str(one.inputs.get("role"))
        if not any(role.endswith(f"/{name}") and "lambda.amazonaws.com" in text for name, text in trusted.items()):
            yield Problem(id="AWS126", resource=one.name, message="runs in a role that Lambda may not take")
        module = f"{str(one.inputs.get('handler')).partition('.')[0]}.py"
        if f"'{module}'" not in str(one.inputs.get("code")):
            yield Problem(id="AWS126", resource=one.name, message=f"its code has no {module}")
