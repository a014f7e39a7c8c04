"""The policy pack's rules of nodes, fabric and Lustre together: a right stack passes, and each mistake is named."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

import data_rights
from fabric_rules import STACK_RULES
from rule import Registered
from stack_cases import resource, said, with_inputs, without

GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ROLE_POLICY, ATTACHMENT = "aws:iam/rolePolicy:RolePolicy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
FIRST_PORTS, LAST_PORTS = {"fromPort": 988, "toPort": 988}, {"fromPort": 1018, "toPort": 1023}


def lustre(name: str, kind: str, group: str, peer: str, ports: dict[str, int]) -> Registered:
    """A rule that lets ports of Lustre through between two groups."""
    inputs = {"ipProtocol": "tcp", **ports}
    return resource(name, kind, inputs, securityGroupId=group, referencedSecurityGroupId=peer)


STACK: Sequence[Registered] = (
    resource("network", "aws:ec2/vpc:Vpc"),
    resource("nat", "aws:ec2/natGateway:NatGateway"),
    resource("nodes", GROUP),
    resource("servers", GROUP),
    *(
        resource(
            f"within-{way}", kind, {"ipProtocol": "-1"}, securityGroupId="nodes", referencedSecurityGroupId="nodes"
        )
        for way, kind in (("in", INGRESS), ("out", EGRESS))
    ),
    resource(
        "https",
        EGRESS,
        {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "0.0.0.0/0"},
        securityGroupId="nodes",
    ),
    *(
        lustre(f"{group}-{peer}-{way}-{ports['fromPort']}", kind, group, peer, ports)
        for group, peer in (("servers", "servers"), ("servers", "nodes"), ("nodes", "servers"))
        for way, kind in (("in", INGRESS), ("out", EGRESS))
        for ports in (FIRST_PORTS, LAST_PORTS)
    ),
    resource("shared", "aws:fsx/lustreFileSystem:LustreFileSystem", securityGroupIds="servers"),
    resource("close", "aws:ec2/placementGroup:PlacementGroup", {"strategy": "cluster"}),
    resource(
        "template",
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"networkInterfaces": [{"interfaceType": "efa"}], "placement": {"groupName": "close"}},
        networkInterfaces="nodes",
        placement="close",
    ),
    replace(
        resource("controller", "aws:ec2/instance:Instance", {"userDataBase64": "IyEvYmluL3No"}),
        ignores=("userData", "userDataBase64"),
    ),
)
FOUNDATION = without(STACK, "template", "close")
#: Nodes that name no placement group.
UNPLACED = [
    replace(one, behind={"networkInterfaces": ("nodes",)}) if one.urn == "template" else one
    for one in with_inputs(STACK, "template", placement=None)
]

BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("way-out", "network", without(STACK, "https")),
    ("way-out", "network", with_inputs(STACK, "https", fromPort=80, toPort=80)),
    ("fabric-within-its-group", "nodes", without(STACK, "within-in")),
    ("fabric-within-its-group", "nodes", without(STACK, "within-out")),
    ("fabric-within-its-group", "nodes", with_inputs(STACK, "within-in", ipProtocol="tcp", fromPort=0, toPort=65535)),
    ("fabric-within-its-group", "network", without(FOUNDATION, "within-in")),
    *(
        ("lustre-is-let-through", name.partition("-")[0], without(STACK, name))
        for name in (
            "servers-nodes-in-988",
            "servers-servers-out-1018",
            "nodes-servers-out-988",
            "nodes-servers-in-1018",
        )
    ),
    ("lustre-is-let-through", "servers", with_inputs(STACK, "servers-nodes-in-1018", toPort=1022)),
    ("placement-is-used", "close", UNPLACED),
    ("placement-is-used", "template", UNPLACED),
    ("machines-stay", "controller", [replace(one, ignores=()) for one in STACK]),
    # Either form counts, since it is the provider that chooses in which one it keeps the other.
    ("machines-stay", "controller", [replace(one, ignores=("userData",)) for one in STACK]),
    ("machines-stay", "controller", [replace(one, ignores=("userDataBase64",)) for one in STACK]),
]


@pytest.mark.parametrize("stack", [STACK, FOUNDATION, ()])
def test_a_right_stack_passes(stack: Sequence[Registered]) -> None:
    """With nodes, without them, and without anything."""
    assert said(STACK_RULES, stack) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), BROKEN)
def test_each_mistake_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(STACK_RULES, stack)


def test_what_decides_otherwise_is_no_mistake() -> None:
    """A reservation places nodes itself, and a network without a NAT gateway has another way out or none."""
    target = {"capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}}
    assert said(STACK_RULES, without(with_inputs(UNPLACED, "template", **target), "close")) == set()
    assert said(STACK_RULES, without(STACK, "https", "nat")) == set()


def trust(service: str) -> dict[str, str]:
    """Who may take a role."""
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    return {"assumeRolePolicy": json.dumps({"Statement": [statement]})}


def rights(*actions: str) -> dict[str, str]:
    """What a policy allows."""
    return {"policy": json.dumps({"Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "x"}]})}


ROLES = (
    resource("machine", "aws:iam/role:Role", trust("ec2.amazonaws.com")),
    resource("pods", "aws:iam/role:Role", trust("pods.eks.amazonaws.com")),
    resource("pods-data", ROLE_POLICY, rights("s3:GetObject", "s3:PutObject"), role="pods"),
    resource("machine-secret", ROLE_POLICY, rights("secretsmanager:GetSecretValue"), role="machine"),
    resource(
        "registry", ATTACHMENT, {"policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}, role="machine"
    ),
)
FULL = {"policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"}


@pytest.mark.parametrize(
    "grants",
    [
        (resource("more", ROLE_POLICY, rights("s3:GetObject"), role="machine"),),
        (resource("more", ROLE_POLICY, rights("logs:PutLogEvents", "s3:*"), role="machine"),),
        (resource("more", ROLE_POLICY, rights("*"), role="machine"),),
        (resource("more", ATTACHMENT, FULL, role="machine"),),
        (
            resource("shared-policy", "aws:iam/policy:Policy", rights("s3:ListBucket")),
            resource("more", ATTACHMENT, role="machine", policyArn="shared-policy"),
        ),
    ],
)
def test_machines_do_not_use_the_bucket(grants: Sequence[Registered]) -> None:
    """Pods may have a role with data; that of machines gets no right in S3, in its own layer or in another one."""
    assert said(data_rights.STACK_RULES, ROLES) == set()
    assert said(data_rights.STACK_RULES, [*ROLES, *grants]) == {("no-data-for-machines", "more")}
    elsewhere = [replace(one, behind={k: v for k, v in one.behind.items() if k != "role"}) for one in grants]
    assert said(data_rights.STACK_RULES, elsewhere) == {("no-data-for-machines", "more")}


def test_every_rule_is_broken() -> None:
    """No rule is without a mistake that it names."""
    assert {rule for rule, _, _ in BROKEN} == {rule.name for rule in STACK_RULES}
