"""The layers above the foundation ask EKS for what the settings say, and refuse what EKS would refuse later."""

import base64
import json
from typing import Any

import pytest

from gpu_cluster import settings_cluster, settings_nodes
from gpu_cluster.config_values import ConfigError
from gpu_cluster.kubernetes.node_groups import group_sizes
from layer_run import LayerRun, raw_settings, run_layer
from reporting import PODS, check_reports

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:eks/nodeGroup:NodeGroup"
RELEASE = "kubernetes:helm.sh/v3:Release"
RESERVED = {"capacity": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
TRAINIUM: dict[str, Any] = {
    "nodeType.instanceType": "trn2.48xlarge",
    "nodeType.gpuType": "trainium2",
    "nodeType.image": "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/neuron/recommended/image_id",
    "nodeType.networkCards": 16,
    "nodeType.fabricInterfaces": 16,
}
STACKS: dict[str, Any] = {
    "organization/aws-gpu-foundation/small": {
        "node_subnet_id": "subnet-nodes",
        "node_addresses": 1000,
        "service_subnet_ids": ["subnet-a", "subnet-b"],
        "cluster_security_group_id": "sg-fabric",
        "key_arn": "arn:aws:kms:us-east-1:123456789012:key/one",
        "bucket_name": "data",
        "file_system_id": "fs-0",
        "file_system_mount_source": "fs-0.fsx.us-east-1.amazonaws.com@tcp:/mount",
        "compute_role_name": "compute",
        "compute_role_arn": "arn:aws:iam::123456789012:role/compute",
        "alert_topic_arns": ["arn:aws:sns:us-east-1:123456789012:alerts"],
    },
    "organization/aws-gpu-cluster/small": {"cluster_name": "gpt3", "cluster_security_group_id": "sg-kubernetes"},
}
OUTPUTS: dict[str, Any] = {
    "aws:eks/cluster:Cluster": {
        "identities": [{"oidcs": [{"issuer": "https://oidc.example.com/id"}]}],
        "certificateAuthority": {"data": "YQ=="},
        "arn": "arn:aws:eks:us-east-1:123456789012:cluster/gpt3",
        "endpoint": "https://private.example.com",
        "vpcConfig": {"clusterSecurityGroupId": "sg-kubernetes"},
    },
    TEMPLATE: {"latestVersion": 7},
}
LOOK_UPS: dict[str, Any] = {
    "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": "123456789012"},
    "aws:index/getPartition:getPartition": {"partition": "aws"},
    "aws:ssm/getParameter:getParameter": {"insecureValue": "1.34.2-20261105", "value": "1.34.2-20261105"},
}


def layer(name: str, **changes: Any) -> LayerRun:
    """Run one layer with changes of its configuration."""
    return run_layer(name, changes=changes, stacks=STACKS, outputs=OUTPUTS, look_ups=LOOK_UPS)


def nodes(changes: dict[str, Any]) -> LayerRun:
    """Run the nodes layer."""
    return run_layer("nodes", changes=changes, stacks=STACKS, outputs=OUTPUTS, look_ups=LOOK_UPS)


def test_the_api_server_is_private_and_its_secrets_are_under_the_clusters_key() -> None:
    """Nobody outside the network reaches it, and the whole audit log is kept."""
    run = layer("cluster")
    cluster = run.one("aws:eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["encryptionConfig"]["provider"]["keyArn"] == "arn:aws:kms:us-east-1:123456789012:key/one"
    assert "audit" in cluster["enabledClusterLogTypes"]
    logs = run.one("aws:cloudwatch/logGroup:LogGroup").inputs
    assert logs["name"] == "/aws/eks/gpt3/cluster"
    assert logs["kmsKeyId"] == cluster["encryptionConfig"]["provider"]["keyArn"]


def test_operators_are_let_in_by_their_addresses_only() -> None:
    """A public endpoint has a list of who may use it."""
    network = layer("cluster", operatorCidrs=["203.0.113.0/24"]).one("aws:eks/cluster:Cluster").inputs["vpcConfig"]
    assert network["endpointPublicAccess"] is True
    assert network["publicAccessCidrs"] == ["203.0.113.0/24"]


@pytest.mark.parametrize(
    ("changes", "server"),
    [
        ({}, {"server": "https://127.0.0.1:16443", "tls-server-name": "private.example.com"}),
        ({"operatorCidrs": ["203.0.113.0/24"]}, {"server": "https://private.example.com"}),
        ({"apiFromOutside": False}, {"server": "https://private.example.com"}),
    ],
)
def test_charts_reach_the_private_api_server_through_a_tunnel(changes: dict[str, Any], server: dict[str, str]) -> None:
    """The certificate is checked against the server's own name; another way to the cluster is no other cluster."""
    provider = layer("cluster", **changes).one("pulumi:providers:kubernetes").inputs
    (entry,) = json.loads(provider["kubeconfig"])["clusters"]
    assert entry["cluster"] == {**server, "certificate-authority-data": "YQ=="}
    assert provider["clusterIdentifier"] == "arn:aws:eks:us-east-1:123456789012:cluster/gpt3"


def test_drivers_come_from_the_image_alone() -> None:
    """A device plugin for GPUs and one for EFA, and no operator that brings a second driver."""
    charts = {one.inputs["name"]: one.inputs for one in layer("cluster").of(RELEASE)}
    assert set(charts) == {"aws-efa-k8s-device-plugin", "dcgm-exporter", "kueue", "nvidia-device-plugin"}
    assert all(one["version"] for one in charts.values())
    assert charts["aws-efa-k8s-device-plugin"]["values"]["supportedInstanceLabels"]["values"] == ["p5.48xlarge"]


def test_what_version_an_add_on_got_is_recorded() -> None:
    """EKS chooses it; the layer neither asks for one nor keeps quiet about it."""
    run = layer("cluster")
    add_ons = run.of("aws:eks/addon:Addon")
    assert len(add_ons) == 7
    assert all("addonVersion" not in one.inputs for one in add_ons)


def test_an_add_on_gets_the_version_that_is_set() -> None:
    """A version in the configuration is asked for; the others stay EKS's own."""
    version = "v1.20.4-eksbuild.2"
    add_ons = layer("cluster", addOnVersions={"vpc-cni": version}).of("aws:eks/addon:Addon")
    asked = {one.inputs["addonName"]: one.inputs.get("addonVersion") for one in add_ons}
    assert {name: found for name, found in asked.items() if found} == {"vpc-cni": version}


def test_trainium_has_charts_of_its_own() -> None:
    """Nothing of NVIDIA's, and the image that holds the Neuron driver."""
    charts = {one.inputs["name"] for one in layer("cluster", **TRAINIUM).of(RELEASE)}
    assert charts == {"aws-efa-k8s-device-plugin", "kueue", "neuron-helm-chart"}
    assert nodes(TRAINIUM).one(GROUP).inputs["amiType"] == "AL2023_x86_64_NEURON"


def test_charts_wait_until_the_endpoint_can_be_reached() -> None:
    """Without them nothing of the layer needs the API server."""
    assert not [one for one in layer("cluster", installCharts=False).resources if one.type.startswith("kubernetes:")]


def test_pods_get_no_rights_of_the_node() -> None:
    """One hop keeps the metadata service from containers; jobs have a role of their own."""
    for run in (layer("cluster"), nodes({})):
        for template in run.of(TEMPLATE):
            assert template.inputs["metadataOptions"]["httpTokens"] == "required"
            assert template.inputs["metadataOptions"]["httpPutResponseHopLimit"] == 1
    association = layer("cluster").one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (association["namespace"], association["serviceAccount"]) == ("workload", "workload")


def test_the_template_leaves_to_eks_what_eks_sets() -> None:
    """EKS refuses a subnet, an instance profile or a spot request in the template (LaunchTemplateSpecification)."""
    for changes in ({}, {"capacity": "spot"}):
        inputs = nodes(changes).one(TEMPLATE).inputs
        assert not {"iamInstanceProfile", "instanceMarketOptions"} & set(inputs)
        assert not [one for one in inputs["networkInterfaces"] if "subnetId" in one]
    assert nodes({"capacity": "spot"}).one(GROUP).inputs["capacityType"] == "SPOT"


def test_every_interface_is_in_both_security_groups() -> None:
    """EFA's own group, and the cluster's, which a template with groups leaves out."""
    interfaces = nodes({}).one(TEMPLATE).inputs["networkInterfaces"]
    assert len(interfaces) == 33
    assert all(one["securityGroups"] == ["sg-kubernetes", "sg-fabric"] for one in interfaces)


def test_a_capacity_block_needs_three_things_and_no_placement_group() -> None:
    """Market type and reservation in the template, capacity type in the group."""
    run = nodes(RESERVED)
    template = run.one(TEMPLATE).inputs
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
    assert run.one(GROUP).inputs["capacityType"] == "CAPACITY_BLOCK"
    assert not run.of("aws:ec2/placementGroup:PlacementGroup")
    assert "placement" not in template


def test_groups_are_tainted_repaired_and_replaced_one_by_one() -> None:
    """Only GPU work lands there, and no update needs spare GPUs."""
    group = nodes({}).one(GROUP).inputs
    assert group["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert group["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
    assert group["nodeRepairConfig"]["enabled"] is True
    assert group["subnetIds"] == ["subnet-nodes"]


def test_local_disks_are_joined() -> None:
    """The node's configuration is one part of a message to which EKS adds its own."""
    text = base64.b64decode(nodes({}).one(TEMPLATE).inputs["userData"]).decode()
    assert text.startswith("MIME-Version: 1.0\n")
    assert "strategy: RAID0" in text
    assert "application/node.eks.aws" in text


def test_a_pinned_image_is_followed_and_the_newest_is_not() -> None:
    """A new release must not replace a running cluster, a new pin must."""
    pinned = (
        "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/"
        "amazon-eks-node-al2023-x86_64-nvidia-1.34-v20261105/image_id"
    )
    assert nodes({}).one(GROUP).ignored_changes == ("releaseVersion",)
    assert nodes({"nodeType.image": pinned}).one(GROUP).ignored_changes == ()


@pytest.mark.parametrize(("count", "expected"), [(0, [0]), (64, [64]), (65, [64, 1]), (200, [64, 64, 64, 8])])
def test_groups_are_filled_in_turn(count: int, expected: list[int]) -> None:
    """A larger cluster never shrinks a group."""
    assert group_sizes(count, 64) == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"capacity": "capacity-block"}, "is needed because capacity is capacity-block"),
        ({**RESERVED, "nodeCount": 65}, "a capacity block holds at most 64"),
        ({"reservationId": "cr-0123456789abcdef0"}, "must be empty because capacity is on-demand"),
        ({"nodeType.image": "ami-0123456789abcdef0"}, "needs the SSM parameter of an EKS image"),
        ({"nodeType.instanceType": "trn2.48xlarge"}, "is an image for nvidia"),
        ({"maxNodesPerGroup": 451}, "from 1 to 450"),
        ({"clusterStack": "small"}, "a stack's full name"),
        ({"stopWhenIdleMinutes": 10}, "nodes report every 5 minutes"),
        ({**TRAINIUM, "stopWhenIdleMinutes": 60}, "only NVIDIA's exporter"),
        ({"nodeCuont": 3}, "did you mean 'nodeCount'"),
    ],
)
def test_wrong_nodes_are_refused(changes: dict[str, Any], said: str) -> None:
    """Before anything is registered."""
    with pytest.raises(ConfigError, match=said):
        settings_nodes.read_settings(raw_settings("nodes", changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"operatorCidrs": ["0.0.0.0/0"]}, "the whole Internet"),
        ({"kubernetesVersion": "1"}, "a version such as"),
        ({"systemNodeCount": 1}, "from 2 to 20"),
        ({"adminRoleArns": ["me"]}, "the ARN of a role"),
        ({"addOnVersions": {"vpc-cnj": "v1.2.3-eksbuild.1"}}, "addOnVersions.vpc-cnj: needs an add-on"),
        ({"addOnVersions": {"vpc-cni": "latest"}}, "addOnVersions.vpc-cni: needs an add-on"),
        ({**TRAINIUM, "stopWhenIdleMinutes": 60}, "only NVIDIA's exporter"),
    ],
)
def test_wrong_clusters_are_refused(changes: dict[str, Any], said: str) -> None:
    """Before anything is registered."""
    with pytest.raises(ConfigError, match=said):
        settings_cluster.read_settings(raw_settings("cluster", changes))


def test_the_watchdog_may_stop_these_groups_only() -> None:
    """It is there when the nodes have a time to live, and its role names them."""
    assert not nodes({}).of("aws:lambda/function:Function")
    run = nodes({"timeToLiveHours": 48})
    assert run.one("aws:lambda/function:Function")
    rights = json.loads(run.one("aws:iam/rolePolicy:RolePolicy", "function").inputs["policy"])["Statement"]
    changes = next(one for one in rights if "eks:UpdateNodegroupConfig" in one["Action"])
    assert changes["Resource"] == ["arn:gpt3-gpu-group-0"]


def test_nodes_report_busy_gpus_when_idle_ones_are_to_stop() -> None:
    """One small pod on each GPU node, whose role publishes to one name space; the watchdog waits for its reports."""
    assert not layer("cluster").of(PODS)
    run = layer("cluster", stopWhenIdleMinutes=60)
    assert check_reports(run, cloud="aws", exporter="dcgm-exporter")["CLUSTER_REGION"] == "us-east-1"
    association = run.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "reports").inputs
    assert (association["namespace"], association["serviceAccount"]) == ("gpu-reports", "busy-gpus")
    (right,) = json.loads(run.one("aws:iam/rolePolicy:RolePolicy", "reports").inputs["policy"])["Statement"]
    assert right["Action"] == ["cloudwatch:PutMetricData"]
    assert right["Condition"] == {"StringEquals": {"cloudwatch:namespace": "gpu-cluster/gpt3"}}
    function = nodes({"stopWhenIdleMinutes": 60}).one("aws:lambda/function:Function").inputs
    assert function["environment"]["variables"]["STOP_WHEN_IDLE_MINUTES"] == "60"
    # What needs the API server waits with the charts; the role does not.
    later = layer("cluster", stopWhenIdleMinutes=60, installCharts=False)
    assert not later.of(PODS)
    assert later.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "reports")


def test_no_policy_allows_everything() -> None:
    """Each statement names its actions, and its resources or a condition."""
    run = layer("cluster", stopWhenIdleMinutes=60)
    for one in (*run.of("aws:iam/rolePolicy:RolePolicy"), *run.of("aws:iam/role:Role")):
        text = one.inputs.get("policy") or one.inputs["assumeRolePolicy"]
        for statement in json.loads(text)["Statement"]:
            assert "*" not in statement["Action"]
            assert statement.get("Resource") != ["*"] or statement["Condition"]
