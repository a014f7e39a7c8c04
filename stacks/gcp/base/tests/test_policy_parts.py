"""The policy pack's rules of what belongs together on Google Cloud: networks, zones, rights, and parts of GKE."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import cluster_parts
from rule import UNKNOWN, Registered
from stack_cases import resource, said, with_inputs, without

TEMPLATE, POOL = "gcp:compute/instanceTemplate:InstanceTemplate", "gcp:container/nodePool:NodePool"
CLUSTER, GROUP = "gcp:container/cluster:Cluster", "gcp:compute/instanceGroupManager:InstanceGroupManager"
SUBNETWORK, NETWORK = "gcp:compute/subnetwork:Subnetwork", "gcp:compute/network:Network"
ACCOUNT, GRANT = "gcp:serviceaccount/account:Account", "gcp:secretmanager/secretIamMember:SecretIamMember"
PARAMETERS, POD_NETWORK = (
    "kubernetes:networking.gke.io/v1:GKENetworkParamSet",
    "kubernetes:networking.gke.io/v1:Network",
)
WRITER, READER = "roles/secretmanager.secretVersionAdder", "roles/secretmanager.secretAccessor"
ADDED = [{"subnetwork": f"s{number}"} for number in range(4)]
GPUS: dict[str, Any] = {
    "nodeConfig": {"machineType": "a3-highgpu-8g", "guestAccelerators": [{"type": "nvidia-h100-80gb"}]},
    "nodeLocations": ["us-central1-a"],
    "networkConfig": {"additionalNodeNetworkConfigs": ADDED},
    "placementPolicy": {"type": "COMPACT"},
}


def parameters(name: str, network: str, subnet: str, mode: str) -> Registered:
    """A network of pods that leads to a subnetwork."""
    spec = {"vpcSubnet": subnet, "deviceMode": mode}
    return resource(name, PARAMETERS, {"metadata": {"name": name}, "spec": spec}, spec=network)


STACK: Sequence[Registered] = (
    resource("network", NETWORK),
    resource("rail", NETWORK, {"networkProfile": "roce"}),
    resource("subnet", SUBNETWORK, {"logConfig": {"metadata": "x"}}, network="network"),
    resource("router", "gcp:compute/router:Router", network="network"),
    resource(
        "nat",
        "gcp:compute/routerNat:RouterNat",
        {"sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"},
        router="router",
    ),
    resource(
        "template",
        TEMPLATE,
        {"networkInterfaces": [{"subnetwork": "a"}, {"subnetwork": "b"}]},
        serviceAccount="compute",
    ),
    resource("group", GROUP, {"zone": "us-central1-a"}),
    resource("shared", "gcp:lustre/instance:Instance", {"location": "us-central1-a"}),
    resource("pool", POOL, GPUS),
    resource(
        "cluster",
        CLUSTER,
        {
            "datapathProvider": "ADVANCED_DATAPATH",
            "enableMultiNetworking": True,
            "loggingConfig": {"enableComponents": ["APISERVER"]},
            "addonsConfig": {"lustreCsiDriverConfig": {"enabled": True}},
        },
    ),
    resource("policy", "kubernetes:networking.k8s.io/v1:NetworkPolicy"),
    resource(
        "volume", "kubernetes:core/v1:PersistentVolume", {"spec": {"csi": {"driver": "lustre.csi.storage.gke.io"}}}
    ),
    parameters("vpc1", "network", "s1", "NetDevice"),
    parameters("rdma-0", "rail", "s2", "RDMA"),
    resource("pods", POD_NETWORK, {"spec": {"parametersRef": {"name": "vpc1"}}}),
    resource("compute", ACCOUNT),
    resource("controller", ACCOUNT),
    resource(
        "machine",
        "gcp:compute/instance:Instance",
        {"metadata": {"user-data": "CLUSTER_ROLE='controller'"}},
        serviceAccount="controller",
    ),
    resource(
        "other-machine",
        "gcp:compute/instance:Instance",
        {"metadata": {"user-data": "CLUSTER_ROLE='login'"}},
        serviceAccount="login",
    ),
    resource("writes", GRANT, {"role": WRITER}, member="controller", secretId="key"),
    resource("reads", GRANT, {"role": READER}, member="controller", secretId="key"),
    resource("reads-too", GRANT, {"role": READER}, member="compute", secretId="key"),
)
OPERATOR = resource("operator", "kubernetes:helm.sh/v3:Release", {"chart": "gpu-operator"})
BROKEN: list[tuple[str, str, Sequence[Registered]]] = [
    ("nat-is-there", "router", without(STACK, "nat")),
    (
        "own-subnetworks-of-interfaces",
        "template",
        with_inputs(STACK, "template", networkInterfaces=[{"subnetwork": "a"}] * 2),
    ),
    (
        "own-subnetworks-of-interfaces",
        "pool",
        with_inputs(STACK, "pool", networkConfig={"additionalNodeNetworkConfigs": ADDED[:3]}),
    ),
    (
        "own-subnetworks-of-interfaces",
        "pool",
        with_inputs(STACK, "pool", networkConfig={"additionalNodeNetworkConfigs": [*ADDED[:3], ADDED[0]]}),
    ),
    ("pod-networks", "vpc2", [*STACK, parameters("vpc2", "network", "s1", "NetDevice")]),
    ("pod-networks", "vpc2", [*STACK, parameters("vpc2", "rail", "s3", "NetDevice")]),
    ("pod-networks", "vpc2", [*STACK, parameters("vpc2", "network", "s3", "RDMA")]),
    ("pod-networks", "pods", with_inputs(STACK, "pods", spec={"parametersRef": {"name": "vpc9"}})),
    ("zone-of-the-data", "group", with_inputs(STACK, "group", zone="us-central1-b")),
    ("zone-of-the-data", "pool", with_inputs(STACK, "pool", nodeLocations=["us-central1-b"])),
    (
        "one-writer-of-secrets",
        "more",
        [*STACK, resource("more", GRANT, {"role": WRITER}, member="compute", secretId="key")],
    ),
    (
        "one-writer-of-secrets",
        "more",
        [*STACK, resource("more", GRANT, {"role": WRITER}, member="login", secretId="key")],
    ),
    ("clusters-stay", "cluster", with_inputs(STACK, "cluster", removeDefaultNodePool=True)),
    ("parts-of-gke", "cluster", with_inputs(STACK, "cluster", datapathProvider="LEGACY_DATAPATH")),
    ("parts-of-gke", "cluster", with_inputs(STACK, "cluster", enableMultiNetworking=False)),
    ("parts-of-gke", "cluster", with_inputs(STACK, "cluster", addonsConfig={})),
    ("parts-of-gke", "cluster", with_inputs(STACK, "cluster", loggingConfig={"enableComponents": ["WORKLOADS"]})),
    ("networks-are-watched", "subnet", with_inputs(STACK, "subnet", logConfig=None)),
    ("one-driver", "operator", [*STACK, OPERATOR]),
    (
        "adapters-of-the-fabric",
        "adapters",
        [*STACK, resource("adapters", "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy", {"spec": {}})],
    ),
]


def test_a_right_stack_passes() -> None:
    """With all of it, and without anything."""
    assert said(cluster_parts.STACK_RULES, STACK) == said(cluster_parts.STACK_RULES, ()) == set()


def test_a_cluster_that_ignores_its_first_pool_stays() -> None:
    """Both parts of what was said of that pool are left alone."""
    first = with_inputs(STACK, "cluster", removeDefaultNodePool=True)
    kept = [replace(one, ignores=("nodeConfig", "initialNodeCount")) if one.urn == "cluster" else one for one in first]
    assert said(cluster_parts.STACK_RULES, kept) == set()


@pytest.mark.parametrize(("rule", "urn", "stack"), BROKEN)
def test_each_mistake_is_named(rule: str, urn: str, stack: Sequence[Registered]) -> None:
    """The rule names the resource at which the mistake is."""
    assert (rule, urn) in said(cluster_parts.STACK_RULES, stack)


NAT, KEY = "gcp:compute/routerNat:RouterNat", "gcp:kms/cryptoKey:CryptoKey"
BUCKET_GRANT, INSTANCE = "gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:compute/instance:Instance"
PODS = "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/ns/a/sa/b"
CLOSED = {"serial-port-enable": "FALSE", "block-project-ssh-keys": "TRUE"}
DATABASE, POLICY = "gcp:sql/databaseInstance:DatabaseInstance", "gcp:compute/resourcePolicy:ResourcePolicy"
BUDGET = "gcp:billing/budget:Budget"
RIGHT: list[tuple[str, dict[str, Any]]] = [
    (NAT, {"sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS", "subnetworks": [{"name": "a"}]}),
    (BUCKET_GRANT, {"role": "roles/storage.objectUser", "member": PODS}),
    (BUCKET_GRANT, {"role": "roles/storage.admin", "member": "group:people@example.com"}),
    (KEY, {"rotationPeriod": "7776000s"}),
    (KEY, {"purpose": "ASYMMETRIC_SIGN"}),
    (INSTANCE, {"metadata": CLOSED}),
    (INSTANCE, {"metadata": UNKNOWN}),
    (DATABASE, {"settings": {"ipConfiguration": {"ipv4Enabled": False}}}),
    (TEMPLATE, {"reservationAffinity": {"type": "SPECIFIC_RESERVATION"}}),
    (POLICY, {"groupPlacementPolicy": {"collocation": "COLLOCATED", "maxDistance": 2.0}}),
    (BUDGET, {"thresholdRules": [{"thresholdPercent": 0.5}, {"thresholdPercent": 1.5}]}),
    ("gcp:monitoring/alertPolicy:AlertPolicy", {}),
    (POOL, GPUS),
    (POOL, {"nodeConfig": {"machineType": "n2-standard-4"}, "nodeCount": 2.0}),
    (
        POOL,
        {
            "nodeConfig": {"machineType": "ct5p-hightpu-4t"},
            "nodeCount": 16.0,
            "placementPolicy": {"tpuTopology": "4x4x4"},
        },
    ),
]
WRONG: list[tuple[str, dict[str, Any], str]] = [
    (NAT, {"sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"}, "ways-out-of-machines"),
    (BUCKET_GRANT, {"role": "roles/storage.admin", "member": PODS}, "rights-of-jobs"),
    (
        BUCKET_GRANT,
        {"role": "roles/storage.objectUser", "member": PODS.replace("principal:", "principalSet:")},
        "rights-of-jobs",
    ),
    (KEY, {}, "keys-rotate"),
    (KEY, {"rotationPeriod": "315360000s"}, "keys-rotate"),
    (INSTANCE, {"metadata": {**CLOSED, "serial-port-enable": "TRUE"}}, "closed-machines"),
    (TEMPLATE, {"metadata": {**CLOSED, "block-project-ssh-keys": "FALSE"}}, "closed-machines"),
    (TEMPLATE, {"metadata": {**CLOSED, "startup-script-url": "gs://x/y"}}, "closed-machines"),
    (DATABASE, {"settings": {"ipConfiguration": {"authorizedNetworks": [{"value": "0.0.0.0/0"}]}}}, "closed-databases"),
    (TEMPLATE, {"reservationAffinity": {"type": "ANY_RESERVATION"}}, "chosen-reservation"),
    (POLICY, {"groupPlacementPolicy": {"vmCount": 48.0}}, "chosen-reservation"),
    (BUDGET, {"thresholdRules": [{"thresholdPercent": 5.0}]}, "told-in-time"),
    (BUDGET, {"thresholdRules": [{"thresholdPercent": 1.0}, {"thresholdPercent": 50.0}]}, "told-in-time"),
    (
        BUDGET,
        {"thresholdRules": [{"thresholdPercent": 0.5}], "allUpdatesRule": {"disableDefaultIamRecipients": True}},
        "told-in-time",
    ),
    ("gcp:monitoring/alertPolicy:AlertPolicy", {"enabled": False}, "told-in-time"),
    ("gcp:monitoring/notificationChannel:NotificationChannel", {"enabled": False}, "told-in-time"),
    ("gcp:cloudscheduler/job:Job", {"paused": True}, "told-in-time"),
    (POOL, {**GPUS, "placementPolicy": {}}, "pools-of-gpus"),
    (
        POOL,
        {**GPUS, "nodeConfig": {**GPUS["nodeConfig"], "guestAccelerators": [{"type": "nvidia-h100-mega-80gb"}]}},
        "pools-of-gpus",
    ),
    (POOL, {"nodeConfig": {"machineType": "ct5p-hightpu-4t"}, "nodeCount": 16.0}, "pools-of-gpus"),
]


@pytest.mark.parametrize(("kind", "inputs"), RIGHT)
def test_what_is_right_passes(kind: str, inputs: dict[str, Any]) -> None:
    """Nothing is said of what is closed, named and awake."""
    assert [rule.name for rule in cluster_parts.RULES if rule.check(kind, inputs)] == []


@pytest.mark.parametrize(("kind", "inputs", "name"), WRONG)
def test_each_mistake_is_noticed(kind: str, inputs: dict[str, Any], name: str) -> None:
    """One rule says something of a single mistake."""
    assert [rule.name for rule in cluster_parts.RULES if rule.check(kind, inputs)] == [name]


def test_every_rule_is_broken() -> None:
    """No rule of this module is without a mistake that it names; plugins are Google's own."""
    assert {name for _, _, name in WRONG} == {rule.name for rule in cluster_parts.RULES}
    assert {rule for rule, _, _ in BROKEN} == {rule.name for rule in cluster_parts.STACK_RULES} - {
        "devices-are-offered"
    }
