"""Machines do not use the bucket: whoever is root on one, or asks its metadata service, would have all data."""

import re
from collections.abc import Iterator, Sequence

from reading import objects, texts
from rights import allowed
from rule import Registered, StackRule

ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/policy:Policy"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_MACHINES = "ec2.amazonaws.com"
_AMAZONS_OWN = re.compile(r"arn:[^:]*:iam::aws:policy/AmazonS3\w*")


def no_data_for_machines(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """No role that machines take may do anything in S3; a role of another layer is that of machines."""
    others = {one.urn for one in resources if one.type == ROLE and not _taken_by_machines(one)}
    return [
        (one.urn, f"gives {given} to machines: jobs use the file system, which mirrors the bucket, or a role of theirs")
        for one in resources
        if one.type in (ROLE_POLICY, ATTACHMENT) and not others.intersection(one.behind.get("role", ()))
        for given in _data_rights(one, resources)
    ]


def _taken_by_machines(role: Registered) -> bool:
    return any(
        _MACHINES in texts(principal, "Service")
        for statement in allowed(role.type, role.inputs)
        for principal in objects(statement, "Principal")
    )


def _data_rights(grant: Registered, resources: Sequence[Registered]) -> Iterator[str]:
    attached = str(grant.inputs.get("policyArn"))
    if grant.type == ATTACHMENT and _AMAZONS_OWN.fullmatch(attached):
        yield attached.rpartition("/")[2]
    policies = [one for one in resources if one.type == POLICY and grant.leads_to("policyArn", one.urn)]
    for policy in [grant, *policies]:
        for statement in allowed(policy.type, policy.inputs):
            yield from (action for action in texts(statement, "Action") if action.startswith("s3:") or action == "*")


STACK_RULES = (
    StackRule(name="no-data-for-machines", description="Machines do not use the bucket.", check=no_data_for_machines),
)
