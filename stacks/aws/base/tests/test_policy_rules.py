"""Every rule of the policy pack passes on what the layers ask for, and names what breaks it."""

import copy
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

import kubernetes_parts
import watches
from row_cases import never_broken, never_met
from rule import UNKNOWN, Registered, Rule
from rules import RULES, STACK_RULES
from wanted_kubernetes import KUBERNETES
from wanted_values import VALUES

BY_NAME: dict[str, Rule] = {rule.name: rule for rule in RULES}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


def policy(**statement: Any) -> str:
    """A policy with one statement that allows something."""
    return json.dumps({"Statement": [{"Sid": "One", "Effect": "Allow", **statement}]})


def interfaces(count: int, *, on_card_zero: bool) -> list[dict[str, Any]]:
    """The interfaces of a node with `count` EFA interfaces."""
    slots = [(0, 0, "interface"), *([(0, 1, "efa-only")] if on_card_zero else [])]
    slots += [(card, 0, "efa-only") for card in range(1, count + (0 if on_card_zero else 1))]
    return [
        {
            "networkCardIndex": float(card),  # as the engine hands numbers over
            "deviceIndex": device,
            "interfaceType": kind,
            "securityGroups": ["sg-1"],
            "deleteOnTermination": "true",
        }
        for card, device, kind in slots
    ]


GROUP = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
VPC = "aws:ec2/vpc:Vpc"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
EKS = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
SECRET_POLICY = "aws:secretsmanager/secretPolicy:SecretPolicy"
BUCKET = "aws:s3/bucket:Bucket"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
# Refuses every request without TLS, as the foundation has it.
OVER_TLS: dict[str, Any] = {
    "Effect": "Deny",
    "Action": ["s3:*"],
    "Resource": ["arn:aws:s3:::one", "arn:aws:s3:::one/*"],
    "Principal": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
GOOD: dict[str, dict[str, Any]] = {
    TEMPLATE: {
        "instanceType": "p5.48xlarge",
        "networkInterfaces": interfaces(32, on_card_zero=True),
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"encrypted": "true", "kmsKeyId": UNKNOWN}}],
        "placement": {"groupName": UNKNOWN},
        "tagSpecifications": [
            {"resourceType": kind, "tags": {"gpu-cluster": "gpt3"}} for kind in ("instance", "volume")
        ],
    },
    GROUP: {
        "minSize": 4,
        "maxSize": 4,
        "vpcZoneIdentifiers": [UNKNOWN],
        "tags": [{"key": "gpu-cluster", "value": "gpt3", "propagateAtLaunch": True}],
        "waitForCapacityTimeout": "30m",
        "suspendedProcesses": ["AZRebalance"],
        "maxInstanceLifetime": 0.0,
    },
    VPC: {"enableDnsHostnames": True, "enableDnsSupport": True},
    ENDPOINT: {"vpcEndpointType": "Interface", "privateDnsEnabled": True},
    PLACEMENT_GROUP: {"strategy": "cluster"},
    NODE_GROUP: {
        "amiType": "AL2023_x86_64_NVIDIA",
        "labels": {"node-kind": "gpu"},
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
    },
    LUSTRE: {"deploymentType": "PERSISTENT_2", "kmsKeyId": UNKNOWN},
    LINK: {"deleteDataInFilesystem": False, "s3": {"autoExportPolicy": {"events": ["NEW", "CHANGED"]}}},
    SECRET_POLICY: {"blockPublicPolicy": True, "policy": UNKNOWN},
    "aws:ec2/instance:Instance": {
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "rootBlockDevice": {"encrypted": True, "kmsKeyId": KEY},
    },
    "aws:ec2/subnet:Subnet": {"mapPublicIpOnLaunch": False},
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {"referencedSecurityGroupId": UNKNOWN},
    "aws:ec2/securityGroup:SecurityGroup": {"description": "one"},
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    },
    "aws:s3/bucket:Bucket": {"forceDestroy": False},
    "aws:s3/bucketVersioning:BucketVersioning": {"versioningConfiguration": {"status": "Enabled"}},
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": {
        "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": UNKNOWN}}]
    },
    EKS: {
        "vpcConfig": {
            "endpointPrivateAccess": True,
            "endpointPublicAccess": True,
            "publicAccessCidrs": ["203.0.113.0/24"],
        },
        "accessConfig": {"authenticationMode": "API"},
        "encryptionConfig": {"resources": ["secrets"]},
        "enabledClusterLogTypes": ["api", "audit"],
    },
    "aws:kms/key:Key": {
        "enableKeyRotation": True,
        "deletionWindowInDays": 30,
        "policy": policy(Action=["kms:*"], Resource=["*"], Principal={"AWS": "arn:aws:iam::1:root"}),
    },
    "aws:cloudwatch/logGroup:LogGroup": {"kmsKeyId": UNKNOWN, "retentionInDays": 30.0},
    "aws:rds/cluster:Cluster": {
        "kmsKeyId": UNKNOWN,
        "storageEncrypted": True,
        "manageMasterUserPassword": True,
        "skipFinalSnapshot": False,
        "backupRetentionPeriod": 14,
        "deletionProtection": True,
    },
    "aws:rds/clusterParameterGroup:ClusterParameterGroup": {
        "parameters": [{"name": "require_secure_transport", "value": "ON"}]
    },
    "aws:secretsmanager/secret:Secret": {"kmsKeyId": UNKNOWN, "recoveryWindowInDays": 7},
    "aws:iam/rolePolicy:RolePolicy": {"policy": policy(Action=["s3:GetObject"], Resource=["arn:aws:s3:::one/*"])},
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
        "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    },
    BUCKET_POLICY: {"policy": policy(**OVER_TLS)},
    LIFECYCLE: {
        "rules": [
            {"status": "Enabled", "noncurrentVersionExpiration": {"noncurrentDays": 7.0}},
            {"status": "Enabled", "filter": {"prefix": "scratch/"}, "expiration": {"days": 30.0}},
            {"status": "Disabled", "expiration": {"days": 1.0}},
        ]
    },
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": {"vpcId": UNKNOWN},
}
REMOVED = "removed"
# (type, path to an input, its value, rule that has to notice)
BAD: list[tuple[str, str, Any, str]] = [
    (TEMPLATE, "networkInterfaces", interfaces(31, on_card_zero=True), "every-fabric-interface"),
    (TEMPLATE, "networkInterfaces", interfaces(16, on_card_zero=False), "every-fabric-interface"),
    (TEMPLATE, "networkInterfaces.5.deviceIndex", 1, "every-fabric-interface"),
    (TEMPLATE, "networkInterfaces.0.interfaceType", "efa-only", "every-fabric-interface"),
    (TEMPLATE, "networkInterfaces.8.networkCardIndex", 6, "every-fabric-interface"),
    (TEMPLATE, "instanceType", "p6-b300.48xlarge", "every-fabric-interface"),
    (TEMPLATE, "networkInterfaces.3.securityGroups", REMOVED, "interfaces-with-groups"),
    (TEMPLATE, "vpcSecurityGroupIds", ["sg-1"], "interfaces-with-groups"),
    (TEMPLATE, "networkInterfaces.3.deleteOnTermination", "false", "interfaces-with-groups"),
    (TEMPLATE, "networkInterfaces.0.associatePublicIpAddress", "true", "no-public-address"),
    (TEMPLATE, "metadataOptions.httpTokens", "optional", "metadata-by-token"),
    (TEMPLATE, "metadataOptions", REMOVED, "metadata-by-token"),
    (TEMPLATE, "metadataOptions.httpPutResponseHopLimit", 2, "metadata-one-hop"),
    ("aws:ec2/instance:Instance", "metadataOptions.httpPutResponseHopLimit", 2, "metadata-one-hop"),
    (TEMPLATE, "blockDeviceMappings", REMOVED, "encrypted-with-own-key"),
    (TEMPLATE, "blockDeviceMappings.0.ebs.kmsKeyId", REMOVED, "encrypted-with-own-key"),
    (TEMPLATE, "capacityReservationSpecification", {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}, "placed-or-reserved"),
    (TEMPLATE, "instanceMarketOptions", {"marketType": "capacity-block"}, "placed-or-reserved"),
    (TEMPLATE, "tagSpecifications.0.tags", {"owner": "x"}, "tagged-nodes"),
    (TEMPLATE, "tagSpecifications", REMOVED, "tagged-nodes"),
    (GROUP, "maxSize", 5, "one-place"),
    (GROUP, "vpcZoneIdentifiers", ["subnet-1", "subnet-2"], "one-place"),
    (GROUP, "tags.0.propagateAtLaunch", False, "tagged-nodes"),
    ("aws:ec2/capacityBlockReservation:CapacityBlockReservation", "capacityBlockOfferingId", "cb-1", "placed-or-reserved"),
    ("aws:ec2/instance:Instance", "associatePublicIpAddress", True, "no-public-address"),
    ("aws:ec2/instance:Instance", "rootBlockDevice.encrypted", False, "encrypted-with-own-key"),
    ("aws:ec2/instance:Instance", "metadataOptions", REMOVED, "metadata-by-token"),
    ("aws:ec2/subnet:Subnet", "mapPublicIpOnLaunch", True, "no-public-address"),
    ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "cidrIpv4", "0.0.0.0/0", "no-open-ingress"),
    ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "cidrIpv6", "::/0", "no-open-ingress"),
    ("aws:ec2/securityGroup:SecurityGroup", "ingress", [{"cidrBlocks": ["10.0.0.0/8", "0.0.0.0/0"]}], "no-open-ingress"),
    ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "blockPublicPolicy", False, "no-public-bucket"),
    ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "blockPublicAcls", REMOVED, "no-public-bucket"),
    ("aws:s3/bucket:Bucket", "forceDestroy", True, "bucket-keeps-objects"),
    ("aws:s3/bucketVersioning:BucketVersioning", "versioningConfiguration.status", "Suspended", "bucket-keeps-versions"),
    ("aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration", "rules.0.applyServerSideEncryptionByDefault.sseAlgorithm", "AES256", "encrypted-with-own-key"),
    (EKS, "vpcConfig.publicAccessCidrs", ["0.0.0.0/0"], "no-public-api-server"),
    (EKS, "vpcConfig", {}, "no-public-api-server"),
    (EKS, "encryptionConfig", REMOVED, "encrypted-with-own-key"),
    ("aws:kms/key:Key", "enableKeyRotation", REMOVED, "keys-rotate"),
    ("aws:kms/key:Key", "deletionWindowInDays", 1, "records-survive"),
    ("aws:kms/key:Key", "policy", policy(Action=["kms:*"], Resource=["*"], Principal={"AWS": "*"}), "no-right-for-anyone"),
    ("aws:cloudwatch/logGroup:LogGroup", "kmsKeyId", REMOVED, "encrypted-with-own-key"),
    ("aws:rds/cluster:Cluster", "kmsKeyId", REMOVED, "encrypted-with-own-key"),
    ("aws:rds/cluster:Cluster", "storageEncrypted", REMOVED, "encrypted-with-own-key"),
    ("aws:rds/cluster:Cluster", "publiclyAccessible", True, "no-public-address"),
    ("aws:rds/cluster:Cluster", "manageMasterUserPassword", REMOVED, "no-password-in-state"),
    ("aws:rds/cluster:Cluster", "skipFinalSnapshot", True, "records-survive"),
    ("aws:rds/cluster:Cluster", "backupRetentionPeriod", 0, "records-survive"),
    ("aws:rds/cluster:Cluster", "backupRetentionPeriod", 6.0, "records-survive"),
    (LIFECYCLE, "rules.0.expiration", {"days": 30.0}, "objects-do-not-expire"),
    (LIFECYCLE, "rules.1.filter.prefix", "/", "objects-do-not-expire"),
    ("aws:rds/clusterParameterGroup:ClusterParameterGroup", "parameters", [], "database-over-tls"),
    ("aws:secretsmanager/secret:Secret", "recoveryWindowInDays", 0, "records-survive"),
    ("aws:secretsmanager/secretVersion:SecretVersion", "secretString", "x", "no-password-in-state"),
    ("aws:secretsmanager/secretVersion:SecretVersion", "secretString", "user ada 10001 yes\nhunter2\n", "no-password-in-state"),
    ("aws:secretsmanager/secretVersion:SecretVersion", "secretString", "key ada ssh-ed25519 hunter2\n", "no-password-in-state"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["fsx:DescribeFileSystems"], Resource=["arn:aws:fsx:us-east-1:1:file-system/*"]), "resources-exist"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["s3:GetObject", "cloudwatch:PutMetricData"], Resource=["arn:aws:s3:::one/*"]), "resources-exist"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action="*", Resource="*"), "no-right-to-everything"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["ec2:*"], Resource=["*"]), "no-right-to-everything"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["kms:*"], Resource=[KEY]), "no-right-to-everything"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["ec2:TerminateInstances"], Resource=["*"]), "rights-on-all-are-held"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["s3:GetObject"], Resource=["arn:aws:s3:::*"]), "rights-on-all-are-held"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["s3:GetObject"], Resource="arn:aws:s3:::*/*"), "rights-on-all-are-held"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["kms:Decrypt"], Resource=["arn:aws:kms:*:1:key/*"]), "rights-on-all-are-held"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["ec2:RunInstances"], Resource=["*"], Condition={"StringEquals": {"aws:RequestTagg/owner": "x"}}), "conditions-exist"),
    ("aws:iam/rolePolicy:RolePolicy", "policy", policy(Action=["iam:PassRole"], Resource=["r"], Condition={"StringEquals": {"iam:PassToService": "ec2"}}), "conditions-exist"),
    ("aws:iam/role:Role", "assumeRolePolicy", policy(Action=["sts:AssumeRole"], Condition={"StringEqual": {"aws:SourceAccount": "1"}}), "conditions-exist"),
    ("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "ingress", [{"protocol": "-1"}], "closed-default-group"),
    ("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "egress", [{"protocol": "-1"}], "closed-default-group"),
    ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn", "arn:aws:iam::aws:policy/AdministratorAccess", "no-right-to-everything"),
    ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn", "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore", "no-right-to-everything"),
    (BUCKET_POLICY, "policy", policy(Action=["s3:GetObject"], Resource=["a"], Principal="*"), "no-right-for-anyone"),
    (BUCKET_POLICY, "policy", policy(Action=["s3:GetObject"], Resource=["a"], Principal={"AWS": "arn:aws:iam::1:root"}), "requests-over-tls"),
    (BUCKET_POLICY, "policy", policy(**{**OVER_TLS, "Action": ["s3:PutObject"]}), "requests-over-tls"),
    (BUCKET_POLICY, "policy", policy(**{**OVER_TLS, "Effect": "Allow"}), "requests-over-tls"),
    (BUCKET_POLICY, "policy", policy(**{**OVER_TLS, "Condition": {"Bool": {"aws:SecureTransport": "true"}}}), "requests-over-tls"),
    (VPC, "enableDnsHostnames", REMOVED, "names-resolve"),
    (VPC, "enableDnsSupport", False, "names-resolve"),
    (ENDPOINT, "privateDnsEnabled", REMOVED, "names-resolve"),
    (GROUP, "waitForCapacityTimeout", "0", "capacity-is-waited-for"),
    (GROUP, "waitForCapacityTimeout", "0m", "capacity-is-waited-for"),
    (GROUP, "suspendedProcesses", ["ReplaceUnhealthy"], "nodes-stay-under-jobs"),
    (GROUP, "suspendedProcesses", REMOVED, "nodes-stay-under-jobs"),
    (GROUP, "maxInstanceLifetime", 604800.0, "nodes-stay-under-jobs"),
    (PLACEMENT_GROUP, "strategy", "spread", "compact-placement"),
    (NODE_GROUP, "amiType", "AL2023_x86_64_STANDARD", "images-have-a-driver"),
    (NODE_GROUP, "taints", REMOVED, "gpu-nodes-are-tainted"),
    (NODE_GROUP, "taints.0.effect", "PREFER_NO_SCHEDULE", "gpu-nodes-are-tainted"),
    (EKS, "accessConfig", REMOVED, "access-by-the-api"),
    (EKS, "accessConfig.authenticationMode", "API_AND_CONFIG_MAP", "access-by-the-api"),
    (EKS, "enabledClusterLogTypes", ["api", "scheduler"], "audit-log"),
    (EKS, "enabledClusterLogTypes", [], "audit-log"),
    (EKS, "enabledClusterLogTypes", REMOVED, "audit-log"),
    (EKS, "vpcConfig.endpointPrivateAccess", False, "api-server-inside"),
    (EKS, "vpcConfig.endpointPrivateAccess", REMOVED, "api-server-inside"),
    (EKS, "encryptionConfig.resources", ["configmaps"], "encrypted-kubernetes-secrets"),
    (LUSTRE, "deploymentType", "SCRATCH_2", "supported-file-system"),
    (LUSTRE, "deploymentType", REMOVED, "supported-file-system"),
    (LUSTRE, "kmsKeyId", REMOVED, "encrypted-with-own-key"),
    (LINK, "deleteDataInFilesystem", True, "links-keep-data"),
    (LINK, "s3.autoExportPolicy.events", ["NEW", "CHANGED", "DELETED"], "links-keep-data"),
    (SECRET_POLICY, "blockPublicPolicy", REMOVED, "closed-secrets"),
    ("aws:rds/cluster:Cluster", "deletionProtection", REMOVED, "database-stays"),
    ("aws:rds/cluster:Cluster", "deletionProtection", False, "database-stays"),
]  # fmt: skip


def changed(token: str, path: str, value: Any) -> dict[str, Any]:
    """The good inputs of a type with one of them changed."""
    inputs = copy.deepcopy(GOOD.get(token, {}))
    *outer, last = path.split(".")
    target: Any = inputs
    for step in outer:
        target = target[int(step)] if isinstance(target, list) else target[step]
    if value == REMOVED:
        target.pop(last)
    else:
        target[last] = value
    return inputs


@pytest.mark.parametrize("token", GOOD)
def test_rules_hold(token: str) -> None:
    """Nothing is said of what is right, nor of a policy that is not known yet."""
    for rule in RULES:
        assert list(rule.check(token, GOOD[token])) == [], rule.name
        assert list(rule.check("aws:ec2/eip:Eip", {"domain": "vpc"})) == []
        assert list(rule.check(BUCKET_POLICY, {"policy": UNKNOWN})) == []


@pytest.mark.parametrize(("token", "path", "value", "name"), BAD)
def test_rule_notices(token: str, path: str, value: Any, name: str) -> None:
    """What breaks a rule is named by that rule."""
    assert BY_NAME[name].check(token, changed(token, path, value))


def test_every_rule_is_broken_once() -> None:
    """No rule of AWS is without a case that it has to notice, and no name is taken twice."""
    of_kubernetes = {row.name for row in KUBERNETES}  # those are in test_policy_kubernetes.py
    of_parts = {rule.name for rule in (*watches.RULES, *kubernetes_parts.RULES)}  # those are in test_policy_parts.py
    assert {name for _, _, _, name in BAD} == set(BY_NAME) - of_kubernetes - of_parts
    assert len(BY_NAME) == len(RULES)


def test_every_row_is_broken_and_met() -> None:
    """Of each row of the tables there is a case that it has to notice, and one that is right."""
    assert never_broken(VALUES, [(token, changed(token, path, value)) for token, path, value, _ in BAD]) == []
    assert never_met(VALUES, list(GOOD.items())) == []


def registered(name: str, type_: str, inputs: dict[str, Any] | None = None, **behind: str) -> Registered:
    """A resource whose inputs are made of outputs of others; what holds data is protected."""
    return Registered(
        urn=name,
        type=type_,
        inputs=inputs or {},
        behind={key: (urn,) for key, urn in behind.items()},
        protect=type_ == BUCKET,
    )


SUBNET, TABLE = "aws:ec2/subnet:Subnet", "aws:ec2/routeTable:RouteTable"
OF_A_BUCKET = (
    BUCKET_POLICY,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
)
STACK = (
    registered("gateway", "aws:ec2/internetGateway:InternetGateway"),
    registered("public", SUBNET),
    registered("private", SUBNET),
    registered("table", TABLE, {"routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": UNKNOWN}]}, routes="gateway"),
    registered(
        "joined", "aws:ec2/routeTableAssociation:RouteTableAssociation", subnetId="public", routeTableId="table"
    ),
    registered("nat", "aws:ec2/natGateway:NatGateway", subnetId="public"),
    registered("data", BUCKET),
    *(registered(kind, kind, bucket="data") for kind in OF_A_BUCKET),
)


def said_of_stack(*resources: Registered) -> list[tuple[str, str]]:
    """The names of the rules that have something against a stack, with the resource."""
    return [(rule.name, urn) for rule in STACK_RULES for urn, _ in rule.check(resources)]


def test_rules_of_the_whole_stack() -> None:
    """A NAT gateway in a subnet without a way out, and a bucket without protection or a resource of its own."""
    assert said_of_stack(*STACK) == []
    shut_in = [one for one in STACK if one.urn != "nat"] + [registered("nat", STACK[5].type, subnetId="private")]
    assert said_of_stack(*shut_in) == [("nat-gateways-reach-out", "nat")]
    lost = [one for one in STACK if one.urn != "joined"]
    assert said_of_stack(*lost) == [("nat-gateways-reach-out", "nat")]
    # One that is in a subnet of somebody else's network.
    assert said_of_stack(registered("nat", STACK[5].type, {"subnetId": "subnet-1"})) == []
    for kind in OF_A_BUCKET:
        assert said_of_stack(*(one for one in STACK if one.type != kind)) == [("whole-buckets", "data")]
    unprotected = [replace(one, protect=False) for one in STACK]
    assert said_of_stack(*unprotected) == [("data-is-protected", "data")]
    by_route = [one for one in STACK if one.urn != "table"] + [
        registered("table", TABLE),
        registered("route", "aws:ec2/route:Route", routeTableId="table", gatewayId="gateway"),
    ]
    assert said_of_stack(*by_route) == []


def test_budgets_are_heard_by_their_topic() -> None:
    """A topic takes what budgets publish; one that lets other services alone is told nothing, and others are not known."""
    topic, kind = "aws:sns/topic:Topic", "aws:sns/topicPolicy:TopicPolicy"

    def stack(service: str) -> tuple[Registered, ...]:
        text = policy(Action=["sns:Publish"], Resource=["topic"], Principal={"Service": f"{service}.amazonaws.com"})
        return (
            registered("topic", topic),
            registered("policy", kind, {"policy": UNKNOWN if service == "later" else text}, arn="topic"),
            registered("budget", "aws:budgets/budget:Budget", notifications="topic"),
        )

    assert said_of_stack(*stack("budgets")) == said_of_stack(*stack("later")) == []
    assert said_of_stack(*stack("cloudwatch")) == [("budgets-are-heard", "budget")]


def test_conditions_of_every_kind() -> None:
    """Sets, absent keys, tags, upper and lower case, and services that nothing is known of, are let through."""
    rule = BY_NAME["conditions-exist"]
    good = {
        "ForAllValues:StringEquals": {"aws:TagKeys": ["a"]},
        "StringEqualsIfExists": {"aws:ResourceTag/owner": "x", "AWS:SourceAccount": "1"},
        "Null": {"kms:EncryptionContext:aws:logs:arn": "true"},
        "StringLike": {"oidc.eks.us-east-1.amazonaws.com/id/1:sub": "x", "quantum:Phase": "x"},
    }
    token = "aws:iam/rolePolicy:RolePolicy"
    assert rule.check(token, {"policy": policy(Action=["a"], Resource=["*"], Condition=good)}) == []
    denied = {
        "policy": json.dumps(
            {"Statement": [{"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransprt": "false"}}}]}
        )
    }
    assert rule.check(token, denied) == ["aws:SecureTransprt is no key of conditions: it is never met"]
