"""The policy pack's rules of what belongs together on AWS: ways out, one zone, watches, and the parts of a cluster."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

import kubernetes_parts
import watches
import ways_out
from rule import UNKNOWN, Registered
from stack_cases import resource, said, with_inputs, without

SUBNET, NAT, TABLE = "aws:ec2/subnet:Subnet", "aws:ec2/natGateway:NatGateway", "aws:ec2/routeTable:RouteTable"
MAIN, ROUTE = "aws:ec2/defaultRouteTable:DefaultRouteTable", "aws:ec2/route:Route"
ASSOCIATION, GROUP = "aws:ec2/routeTableAssociation:RouteTableAssociation", "aws:autoscaling/group:Group"
NODE_GROUP, ADD_ON = "aws:eks/nodeGroup:NodeGroup", "aws:eks/addon:Addon"
RELEASE, VOLUME = "kubernetes:helm.sh/v3:Release", "kubernetes:core/v1:PersistentVolume"
OUT = {"cidrBlock": "0.0.0.0/0", "natGatewayId": "nat-1"}
STACK: Sequence[Registered] = (
    resource("network", "aws:ec2/vpc:Vpc"),
    resource("gateway", "aws:ec2/internetGateway:InternetGateway", vpcId="network"),
    resource("nat", NAT, subnetId="public"),
    resource("main", MAIN, {"routes": [OUT]}, defaultRouteTableId="network", routes="nat"),
    resource("table", TABLE, {"routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": "igw-1"}]}, routes="gateway"),
    resource("join", ASSOCIATION, subnetId="public", routeTableId="table"),
    resource("public", SUBNET, {"availabilityZone": "us-east-1a"}, vpcId="network"),
    resource("nodes", SUBNET, {"availabilityZone": "us-east-1a"}, vpcId="network"),
    resource("other", SUBNET, {"availabilityZone": "us-east-1b"}, vpcId="network"),
    resource("shared", "aws:fsx/lustreFileSystem:LustreFileSystem", subnetIds="nodes"),
    resource("flow", "aws:ec2/flowLog:FlowLog", {"trafficType": "REJECT"}, vpcId="network"),
    resource("machines", GROUP, {"vpcZoneIdentifiers": ["subnet-1"]}, vpcZoneIdentifiers="nodes"),
)
JOINED = resource("join-nodes", ASSOCIATION, subnetId="nodes", routeTableId="table")
NETWORK_BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("ways-out-of-machines", "nodes", with_inputs(STACK, "main", routes=[])),
    ("ways-out-of-machines", "nodes", [*STACK, JOINED]),
    (
        "ways-out-of-machines",
        "nodes",
        [
            *with_inputs(STACK, "main", routes=[]),
            resource(
                "route",
                ROUTE,
                {"destinationCidrBlock": "0.0.0.0/0", "gatewayId": "x"},
                routeTableId="main",
                gatewayId="gateway",
            ),
        ],
    ),
    (
        "one-zone",
        "machines",
        with_inputs(STACK, "machines", vpcZoneIdentifiers=None, availabilityZones=["us-east-1a", "us-east-1b"]),
    ),
    (
        "one-zone",
        "machines",
        [
            replace(one, behind={"vpcZoneIdentifiers": ("nodes", "other")}) if one.urn == "machines" else one
            for one in STACK
        ],
    ),
    (
        "one-zone",
        "machines",
        [replace(one, behind={"vpcZoneIdentifiers": ("other",)}) if one.urn == "machines" else one for one in STACK],
    ),
    ("networks-are-watched", "network", without(STACK, "flow")),
]


@pytest.mark.parametrize("stack", [STACK, (), without(STACK, "nat", "main")])
def test_a_right_network_passes(stack: Sequence[Registered]) -> None:
    """With a NAT gateway, without anything, and where nothing is meant to get out."""
    assert said(ways_out.STACK_RULES, stack) == set()


def test_another_way_out_is_one() -> None:
    """A transit gateway, and a route beside its table, lead out too."""
    beside = resource(
        "route", ROUTE, {"destinationCidrBlock": "0.0.0.0/0", "transitGatewayId": "tgw-1"}, routeTableId="main"
    )
    assert said(ways_out.STACK_RULES, [*with_inputs(STACK, "main", routes=[]), beside]) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), NETWORK_BROKEN)
def test_each_mistake_of_a_network_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(ways_out.STACK_RULES, stack)


TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
CSI = {"spec": {"csi": {"driver": "fsx.csi.aws.com"}}}


def release(urn: str, chart: str, **values: Any) -> Registered:
    """A chart with some of its values."""
    return resource(urn, RELEASE, {"chart": chart, "values": values})


CLUSTER: Sequence[Registered] = (
    resource("cluster", "aws:eks/cluster:Cluster"),
    *(
        resource(name, ADD_ON, {"addonName": name, "configurationValues": json.dumps({"enableNetworkPolicy": "true"})})
        for name in ("coredns", "kube-proxy", "vpc-cni", "eks-pod-identity-agent", "aws-fsx-csi-driver")
    ),
    resource("volume", VOLUME, CSI),
    resource("pods", "aws:eks/podIdentityAssociation:PodIdentityAssociation"),
    resource(
        "template",
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"networkInterfaces": [{"interfaceType": "efa-only"}], "blockDeviceMappings": [{"deviceName": "/dev/xvda"}]},
    ),
    resource(
        "gpus",
        NODE_GROUP,
        {
            "amiType": "AL2023_x86_64_NVIDIA",
            "labels": {"node-kind": "gpu"},
            "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        },
        launchTemplate="template",
    ),
    release("plugin", "nvidia-device-plugin", tolerations=TOLERATED),
    release("efa", "aws-efa-k8s-device-plugin", tolerations=TOLERATED),
    resource("rules", "kubernetes:networking.k8s.io/v1:NetworkPolicy"),
)
CLUSTER_BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("devices-are-offered", "gpus", without(CLUSTER, "plugin")),
    ("devices-are-offered", "gpus", without(CLUSTER, "efa")),
    (
        "devices-are-offered",
        "plugin",
        [release("plugin", "nvidia-device-plugin", tolerations=[]) if one.urn == "plugin" else one for one in CLUSTER],
    ),
    (
        "devices-are-offered",
        "efa",
        [
            release("efa", "aws-efa-k8s-device-plugin", tolerations=[{"key": "other", "operator": "Exists"}])
            if one.urn == "efa"
            else one
            for one in CLUSTER
        ],
    ),
    ("one-driver", "operator", [*CLUSTER, release("operator", "https://x.example/gpu-operator")]),
    (
        "adapters-of-the-fabric",
        "adapters",
        [*CLUSTER, resource("adapters", "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy", {"spec": {}})],
    ),
    *(
        ("parts-of-the-cluster", "cluster", without(CLUSTER, name))
        for name in ("coredns", "kube-proxy", "eks-pod-identity-agent", "aws-fsx-csi-driver")
    ),
    ("disks-of-nodes", "template", with_inputs(CLUSTER, "template", blockDeviceMappings=[{"deviceName": "/dev/sda1"}])),
]


def test_a_whole_cluster_passes() -> None:
    """With every part, with an operator that brings no driver, and of another layer."""
    assert said(kubernetes_parts.STACK_RULES, CLUSTER) == said(kubernetes_parts.STACK_RULES, ()) == set()
    operator = release("operator", "gpu-operator", driver={"enabled": False})
    assert said(kubernetes_parts.STACK_RULES, [*CLUSTER, operator]) == set()
    # What a chart tolerates by itself is its own.
    assert (
        said(
            kubernetes_parts.STACK_RULES,
            [release("plugin", "nvidia-device-plugin") if one.urn == "plugin" else one for one in CLUSTER],
        )
        == set()
    )


@pytest.mark.parametrize(("rule", "urn", "stack"), CLUSTER_BROKEN)
def test_each_mistake_of_a_cluster_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(kubernetes_parts.STACK_RULES, stack)


BUDGET, SCHEDULE = "aws:budgets/budget:Budget", "aws:scheduler/schedule:Schedule"
ALARM, LOG, FLOW = (
    "aws:cloudwatch/metricAlarm:MetricAlarm",
    "aws:cloudwatch/logGroup:LogGroup",
    "aws:ec2/flowLog:FlowLog",
)
TELLS = {"threshold": 80.0, "thresholdType": "PERCENTAGE", "subscriberSnsTopicArns": ["arn"]}
RIGHT: list[tuple[str, dict[str, Any]]] = [
    (BUDGET, {"notifications": [TELLS, {**TELLS, "threshold": 150.0}]}),
    (BUDGET, {"notifications": [{**TELLS, "threshold": 5000.0, "thresholdType": "ABSOLUTE_VALUE"}]}),
    (BUDGET, {"notifications": UNKNOWN}),
    (SCHEDULE, {"scheduleExpression": "rate(10 minutes)"}),
    (ALARM, {"alarmActions": ["arn"]}),
    (LOG, {"retentionInDays": 30.0}),
    (FLOW, {"trafficType": "ALL"}),
    ("aws:kms/key:Key", {"isEnabled": True}),
    (GROUP, {"suspendedProcesses": ["AZRebalance", "AlarmNotification"]}),
    (ADD_ON, {"addonName": "vpc-cni", "configurationValues": '{"enableNetworkPolicy": "true"}'}),
    (ADD_ON, {"addonName": "vpc-cni", "configurationValues": UNKNOWN}),
    (ADD_ON, {"addonName": "coredns"}),
    (NODE_GROUP, {"updateConfig": {"maxUnavailable": 2.0}}),
    (NODE_GROUP, {"updateConfig": {"maxUnavailablePercentage": 5.0}}),
]
WRONG: list[tuple[str, dict[str, Any], str]] = [
    (BUDGET, {"notifications": []}, "told-in-time"),
    (BUDGET, {"notifications": [{"threshold": 80.0}]}, "told-in-time"),
    (BUDGET, {"notifications": [{**TELLS, "threshold": 1000.0}]}, "told-in-time"),
    (SCHEDULE, {"state": "DISABLED"}, "watches-are-awake"),
    ("aws:cloudwatch/eventRule:EventRule", {"isEnabled": False}, "watches-are-awake"),
    (ALARM, {"alarmActions": []}, "watches-are-awake"),
    (ALARM, {"alarmActions": ["arn"], "actionsEnabled": False}, "watches-are-awake"),
    (FLOW, {"trafficType": "ACCEPT"}, "logs-are-kept"),
    (LOG, {}, "logs-are-kept"),
    ("aws:kms/key:Key", {"isEnabled": False}, "keys-are-on"),
    (GROUP, {"suspendedProcesses": ["AZRebalance", "Launch"]}, "nodes-are-replaced"),
    (ADD_ON, {"addonName": "vpc-cni", "configurationValues": "{}"}, "policies-of-pods-are-kept"),
    (ADD_ON, {"addonName": "vpc-cni"}, "policies-of-pods-are-kept"),
    (NODE_GROUP, {"updateConfig": {"maxUnavailablePercentage": 100.0}}, "small-steps"),
    (NODE_GROUP, {"updateConfig": {"maxUnavailable": 48.0}}, "small-steps"),
]
RULES = (*watches.RULES, *kubernetes_parts.RULES)


@pytest.mark.parametrize(("kind", "inputs"), RIGHT)
def test_what_is_right_passes(kind: str, inputs: dict[str, Any]) -> None:
    """Nothing is said of what tells somebody in time, is awake and stays."""
    assert [rule.name for rule in RULES if rule.check(kind, inputs)] == []


@pytest.mark.parametrize(("kind", "inputs", "name"), WRONG)
def test_each_mistake_is_noticed(kind: str, inputs: dict[str, Any], name: str) -> None:
    """One rule says something of a single mistake."""
    assert [rule.name for rule in RULES if rule.check(kind, inputs)] == [name]


def test_every_rule_is_broken() -> None:
    """No rule of these modules is without a mistake that it names."""
    assert {name for _, _, name in WRONG} == {rule.name for rule in RULES}
    stack_rules = {rule.name for rule in (*ways_out.STACK_RULES, *kubernetes_parts.STACK_RULES)}
    assert {rule for rule, _, _ in (*NETWORK_BROKEN, *CLUSTER_BROKEN)} == stack_rules
