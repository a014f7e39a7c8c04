"""The layers above the foundation ask AKS for what the settings say, and refuse what AKS would refuse later."""

import base64
import json
from typing import Any

import pytest
import yaml

from gpu_cluster import settings_cluster, settings_nodes
from gpu_cluster.config_values import ConfigError
from gpu_cluster.kubernetes.control_plane import kubeconfig_with_entra
from gpu_cluster.roles import BuiltinRole
from layer_run import LayerRun, raw_settings, run_layer
from reporting import ACCOUNT, PODS, check_reports

CLUSTER = "azure-native:containerservice:ManagedCluster"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
POOL = "azure-native:containerservice:AgentPool"
RELEASE = "kubernetes:helm.sh/v3:Release"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
GROUP = "/subscriptions/1/resourceGroups/data/providers"
KUBERNETES = "/subscriptions/1/resourceGroups/gpt3-cluster/providers/Microsoft.ContainerService/managedClusters/gpt3"
RESERVATIONS = "/subscriptions/1/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/one"
AMD: dict[str, Any] = {
    "nodeType.instanceType": "Standard_ND96isr_MI300X_v5",
    "nodeType.gpuType": "mi300x",
}
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "gpt3", "cluster": {"server": "https://private", "certificate-authority-data": "YQ=="}}],
    "users": [{"name": "clusterUser", "user": {"exec": {"command": "kubelogin", "args": ["--login", "devicecode"]}}}],
}
STACKS: dict[str, Any] = {
    "organization/azure-gpu-foundation/small": {
        "data_resource_group_name": "data",
        "virtual_network_id": "/subscriptions/1/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet",
        "node_subnet_id": f"{GROUP}/nodes",
        "node_addresses": 1000,
        "key_vault_id": f"{GROUP}/Microsoft.KeyVault/vaults/kv",
        "key_id": f"{GROUP}/Microsoft.KeyVault/vaults/kv/keys/key",
        "key_url": "https://kv.vault.azure.net/keys/key/1",
        "disk_encryption_set_id": f"{GROUP}/disks",
        "container_id": f"{GROUP}/Microsoft.Storage/storageAccounts/account/blobServices/default/containers/container",
        "file_system_mount_source": "10.40.128.4@tcp:/lustrefs",
        "compute_identity_id": f"{GROUP}/compute",
        "compute_identity_client_id": "client",
        "compute_identity_principal_id": "principal",
        "log_workspace_id": f"{GROUP}/logs",
    },
    "organization/azure-gpu-cluster/small": {
        "cluster_name": "gpt3-aks",
        "cluster_id": KUBERNETES,
        "cluster_resource_group_name": "gpt3-cluster",
        "cluster_resource_group_id": "/subscriptions/1/resourceGroups/gpt3-cluster",
    },
}


def layer(name: str, changes: dict[str, Any]) -> LayerRun:
    """Run one layer with changes of its configuration."""
    return run_layer(
        name,
        changes=changes,
        stacks=STACKS,
        outputs={
            CLUSTER: {
                # Azure takes identities as a list and returns them as a map.
                "identity": {"type": "UserAssigned"},
                "oidcIssuerProfile": {"issuerURL": "https://issuer"},
                "privateFQDN": "gpt3.private",
            },
            IDENTITY: {"clientId": "client", "principalId": "principal"},
        },
        look_ups={
            "azure-native:authorization:getClientConfig": {
                "subscriptionId": "1",
                "tenantId": "2",
                "clientId": "3",
                "objectId": "4",
            },
            "azure-native:containerservice:listManagedClusterUserCredentials": {
                "kubeconfigs": [
                    {"name": "user", "value": base64.b64encode(yaml.safe_dump(KUBECONFIG).encode()).decode()}
                ]
            },
        },
    )


def test_the_api_server_is_in_the_network_and_its_secrets_are_under_the_clusters_key() -> None:
    """Nobody outside reaches it, nobody signs in with a certificate, and the vault stays closed."""
    run = layer("cluster", {})
    cluster = run.one(CLUSTER).inputs
    access = cluster["apiServerAccessProfile"]
    assert access["enablePrivateCluster"] is True
    assert access["enableVnetIntegration"] is True
    assert cluster["disableLocalAccounts"] is True
    kms = cluster["securityProfile"]["azureKeyVaultKms"]
    assert kms["keyId"] == "https://kv.vault.azure.net/keys/key/1"
    assert kms["keyVaultNetworkAccess"] == "Private"
    assert cluster["securityProfile"]["workloadIdentity"] == {"enabled": True}
    assert cluster["diskEncryptionSetID"] == f"{GROUP}/disks"
    assert cluster["autoUpgradeProfile"] == {"upgradeChannel": "none", "nodeOSUpgradeChannel": "None"}
    logs = run.one("azure-native:monitor:DiagnosticSetting").inputs["logs"]
    assert "kube-audit-admin" in [one["category"] for one in logs]


def test_operators_are_let_in_by_their_addresses_only() -> None:
    """A public endpoint has a list of who may use it."""
    access = layer("cluster", {"operatorCidrs": ["203.0.113.0/24"]}).one(CLUSTER).inputs["apiServerAccessProfile"]
    assert access["enablePrivateCluster"] is False
    assert access["authorizedIPRanges"] == ["203.0.113.0/24"]


def test_every_grant_is_on_one_resource() -> None:
    """None is on a group or a subscription."""
    for one in layer("cluster", {}).of("azure-native:authorization:RoleAssignment"):
        assert one.inputs["scope"] not in ("/subscriptions/1", "/subscriptions/1/resourceGroups/data")


def test_jobs_do_not_reach_the_nodes_identity() -> None:
    """Metadata service and WireServer are closed to pods of jobs; names, pods and all other addresses are open."""
    run = layer("cluster", {})
    found = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in run.of(NETWORK_POLICY)}
    assert found["egress-denied"] == {"podSelector": {}, "policyTypes": ["Egress"]}
    everywhere, names = found["egress-except-closed"]["egress"]
    assert everywhere == {
        "to": [
            {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32", "168.63.129.16/32"]}},
            {"namespaceSelector": {}},
        ]
    }
    assert names["to"] == [{"ipBlock": {"cidr": "168.63.129.16/32"}}]
    assert {(one["port"], one["protocol"]) for one in names["ports"]} == {(53, "TCP"), (53, "UDP")}
    # Replicas of a service reach what their own policies name, and nothing else.
    roles = ["engine", "prefill", "decode"]
    assert found["egress-except-closed"]["podSelector"] == {
        "matchExpressions": [{"key": "app.kubernetes.io/component", "operator": "NotIn", "values": roles}]
    }


def test_drivers_are_installed_once() -> None:
    """NVIDIA's by AKS, AMD's by its operator."""
    nvidia = {one.inputs["name"] for one in layer("cluster", {}).of(RELEASE)}
    assert nvidia == {"dcgm-exporter", "kueue", "network-operator", "nvidia-device-plugin"}
    assert layer("nodes", {}).one(POOL).inputs["gpuProfile"] == {"driver": "Install"}
    amd = {one.inputs["name"] for one in layer("cluster", AMD).of(RELEASE)}
    assert amd == {"cert-manager", "gpu-operator-charts", "kueue", "network-operator"}
    pool = layer("nodes", AMD).one(POOL).inputs
    assert pool["gpuProfile"] == {"driver": "None"}
    assert pool["nodeTaints"] == ["amd.com/gpu=present:NoSchedule"]


def test_adapters_have_a_driver_and_a_plugin() -> None:
    """Pods ask for rdma/shared_ib."""
    policy = layer("cluster", {}).one("kubernetes:mellanox.com/v1alpha1:NicClusterPolicy").inputs["spec"]
    assert policy["ofedDriver"]["version"].startswith("doca")
    assert json.loads(policy["rdmaSharedDevicePlugin"]["config"])["configList"][0]["resourceName"] == "shared_ib"


def test_jobs_sign_in_without_a_secret() -> None:
    """The service account of the examples is an identity of Azure with access to one container."""
    run = layer("cluster", {})
    credential = run.one("azure-native:managedidentity:FederatedIdentityCredential").inputs
    assert credential["subject"] == "system:serviceaccount:workload:workload"
    bucket = run.one("azure-native:authorization:RoleAssignment", "jobs-bucket").inputs
    assert bucket["scope"].endswith("/storageAccounts/account/blobServices/default/containers/container")


def test_one_pool_is_one_infiniband_domain() -> None:
    """More nodes than one scale set holds only when every job fits into one."""
    pools = layer("nodes", {"nodeCount": 150, "allowSplitFabric": True}).of(POOL)
    assert [pool.inputs["count"] for pool in pools] == [75, 75]
    for pool in pools:
        assert pool.inputs["enableAutoScaling"] is False
        assert pool.inputs["enableNodePublicIP"] is False
        assert pool.inputs["availabilityZones"] == ["1"]
        assert pool.inputs["upgradeSettings"] == {"maxSurge": "0", "maxUnavailable": "1"}


def test_spot_nodes_say_so() -> None:
    """With the label and the taint that AKS would add anyway."""
    pool = layer("nodes", {"capacity": "spot"}).one(POOL).inputs
    assert pool["scaleSetPriority"] == "Spot"
    assert pool["scaleSetEvictionPolicy"] == "Delete"
    assert pool["spotMaxPrice"] == -1
    assert "kubernetes.azure.com/scalesetpriority=spot:NoSchedule" in pool["nodeTaints"]


def test_a_block_is_an_existing_one() -> None:
    """Nothing is bought here."""
    pool = layer("nodes", {"capacity": "block-reservation", "reservationId": RESERVATIONS}).one(POOL).inputs
    assert pool["capacityReservationGroupID"] == RESERVATIONS


def test_nodes_report_busy_gpus_when_idle_ones_are_to_stop() -> None:
    """One small pod on each GPU node, with an identity that may publish metrics of this cluster and nothing else."""
    assert not layer("cluster", {}).of(PODS)
    run = layer("cluster", {"stopWhenIdleMinutes": 60})
    told = check_reports(run, cloud="azure", exporter="dcgm-exporter")
    assert (told["CLUSTER_REGION"], told["CLUSTER_METRIC_RESOURCE"]) == ("eastus", "gpt3-aks-id")
    assert run.one(PODS).inputs["spec"]["template"]["metadata"]["labels"]["azure.workload.identity/use"] == "true"
    assert "azure.workload.identity/client-id" in run.one(ACCOUNT, "reports").inputs["metadata"]["annotations"]
    credential = run.one("azure-native:managedidentity:FederatedIdentityCredential", "reports").inputs
    assert credential["subject"] == "system:serviceaccount:gpu-reports:busy-gpus"
    right = run.one("azure-native:authorization:RoleAssignment", "reports").inputs
    assert right["scope"] == "gpt3-aks-id"
    assert right["roleDefinitionId"].endswith(BuiltinRole.MONITORING_METRICS_PUBLISHER.value)


def test_sign_in_is_by_the_command_line_session() -> None:
    """AKS's own file asks for a code to type into a browser."""
    encoded = base64.b64encode(yaml.safe_dump(KUBECONFIG).encode()).decode()
    document = yaml.safe_load(kubeconfig_with_entra(encoded, tunnel=False))
    assert document["clusters"] == KUBECONFIG["clusters"]
    assert "azurecli" in document["users"][0]["user"]["exec"]["args"]


@pytest.mark.parametrize(
    ("changes", "server"),
    [
        ({}, {"server": "https://127.0.0.1:16443", "tls-server-name": "private"}),
        ({"operatorCidrs": ["203.0.113.0/24"]}, {"server": "https://private"}),
        ({"apiFromOutside": False}, {"server": "https://private"}),
    ],
)
def test_charts_reach_the_private_api_server_through_bastion(changes: dict[str, Any], server: dict[str, str]) -> None:
    """The certificate is checked against the server's own name; another way to the cluster is no other cluster."""
    provider = layer("cluster", changes).one("pulumi:providers:kubernetes").inputs
    (entry,) = yaml.safe_load(provider["kubeconfig"])["clusters"]
    assert entry["cluster"] == {**server, "certificate-authority-data": "YQ=="}
    assert provider["clusterIdentifier"] == "gpt3-aks-id"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodeCount": 101}, "InfiniBand does not reach from one scale set to another"),
        ({"capacity": "reservation", "reservationId": RESERVATIONS}, "takes no ND size"),
        ({"capacity": "capacity-block"}, "an offer of AWS"),
        ({"capacity": "block-reservation", "reservationId": RESERVATIONS, "nodeCount": 65}, "holds at most 64"),
        ({"timeToLiveHours": 8761}, "from 1 to 8,760"),
        ({"stopWhenIdleMinutes": 20}, "from 30 to 1,440"),
        ({**AMD, "stopWhenIdleMinutes": 60}, "only NVIDIA's exporter"),
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
        ({"serviceCidr": "172.16.0.0/20"}, "overlaps the RDMA network"),
        ({"serviceCidr": "10.40.240.0/20"}, "overlaps serviceCidr"),
        ({"apiServerCidr": "10.40.255.248/29"}, "from /8 to /28"),
        ({"kubernetesVersion": "latest"}, "a version such as"),
        ({**AMD, "stopWhenIdleMinutes": 60}, "only NVIDIA's exporter"),
    ],
)
def test_wrong_clusters_are_refused(changes: dict[str, Any], said: str) -> None:
    """Before anything is registered."""
    with pytest.raises(ConfigError, match=said):
        settings_cluster.read_settings(raw_settings("cluster", changes))
