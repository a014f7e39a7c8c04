"""The layers above the foundation ask GKE for what the settings say, and refuse what GKE would refuse later."""

import json
from typing import Any

import pytest

from gpu_cluster import settings_cluster, settings_nodes
from gpu_cluster.config_values import ConfigError
from gpu_cluster.kubernetes.node_pools import pool_sizes
from layer_run import LayerRun, Registered, raw_settings, run_layer
from reporting import PODS, check_reports

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
COMPUTE = "projects/my-gpu-project"
ULTRA: dict[str, Any] = {
    "nodeType.instanceType": "a3-ultragpu-8g",
    "nodeType.gpuType": "h200",
    "nodeType.fabric": "roce",
    "nodeType.nicType": "MRDMA",
    "nodeType.gpuNetworks": 1,
    "nodeType.mtu": 8896,
    "nodeType.rdma": True,
    "nodeType.rdmaSubnets": 8,
}
TPU: dict[str, Any] = {
    "nodeType.instanceType": "ct5p-hightpu-4t",
    "nodeType.gpuType": "tpu_v5p",
    "nodeType.gpusPerNode": 4,
    "nodeType.fabric": "ici",
    "nodeType.gpuNetworks": 0,
    "nodeType.mtu": None,
    "nodeCount": 16,
}
RESERVED = {"capacity": "reservation", "reservationId": "dense-1"}


def stacks(networks: int = 9) -> dict[str, Any]:
    """Outputs of the layers before."""
    return {
        "organization/gcp-gpu-foundation/small": {
            "network_id": f"{COMPUTE}/global/networks/gpt3-primary",
            "subnetwork_id": f"{COMPUTE}/regions/us-central1/subnetworks/gpt3-primary",
            "gpu_networks": [
                {
                    "network": f"{COMPUTE}/global/networks/gpt3-gpu-{number}",
                    "subnetwork": f"{COMPUTE}/regions/us-central1/subnetworks/gpt3-gpu-{number}",
                }
                for number in range(networks)
            ],
            "key_id": f"{COMPUTE}/locations/us-central1/keyRings/gpt3/cryptoKeys/data",
            "node_addresses": 1000,
            "bucket_name": "gpt3-data",
            "compute_service_account_email": "gpt3-compute@my-gpu-project.iam.gserviceaccount.com",
            "file_system_id": f"{COMPUTE}/locations/us-central1-a/instances/gpt3",
            "file_system_mount_source": "10.1.2.3@tcp:/lustre",
        },
        "organization/gcp-gpu-cluster/small": {"cluster_name": "gpt3"},
    }


def layer(name: str, changes: dict[str, Any], networks: int = 9) -> LayerRun:
    """Run one layer with changes of its configuration."""
    return run_layer(
        name,
        changes=changes,
        stacks=stacks(networks),
        outputs={
            CLUSTER: {
                "endpoint": "10.0.0.2",
                "masterAuth": {"clusterCaCertificate": "YQ=="},
                "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-1.us-central1.gke.goog"}},
            },
            POOL: {"managedInstanceGroupUrls": ["https://compute/zones/us-central1-a/instanceGroupManagers/gke-gpu-0"]},
            "gcp:projects/serviceIdentity:ServiceIdentity": {"email": "gke@example.iam.gserviceaccount.com"},
        },
        look_ups={"gcp:organizations/getProject:getProject": {"number": "123456789012"}},
    )


def pool(changes: dict[str, Any]) -> Registered:
    """The GPU pool of a run."""
    return layer("nodes", changes).one(POOL)


def test_nodes_and_api_server_are_private() -> None:
    """Nobody outside the network reaches either, and secrets are under the cluster's own key."""
    run = layer("cluster", {})
    cluster = run.one(CLUSTER).inputs
    assert cluster["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": True}
    assert cluster["databaseEncryption"]["state"] == "ENCRYPTED"
    assert cluster["workloadIdentityConfig"] == {"workloadPool": "my-gpu-project.svc.id.goog"}
    for one in (*run.of(POOL), pool({})):
        assert one.inputs["networkConfig"]["enablePrivateNodes"] is True
        assert one.inputs["nodeConfig"]["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert one.inputs["nodeConfig"]["bootDiskKmsKey"].endswith("cryptoKeys/data")


def test_operators_are_let_in_by_their_addresses_only() -> None:
    """A public endpoint has a list of who may use it."""
    cluster = layer("cluster", {"operatorCidrs": ["203.0.113.0/24"]}).one(CLUSTER).inputs
    assert cluster["privateClusterConfig"]["enablePrivateEndpoint"] is False
    assert cluster["masterAuthorizedNetworksConfig"]["cidrBlocks"] == [{"cidrBlock": "203.0.113.0/24"}]


@pytest.mark.parametrize(
    ("changes", "server"),
    [
        ({}, {"server": "https://gke-1.us-central1.gke.goog"}),
        ({"operatorCidrs": ["203.0.113.0/24"]}, {"server": "https://10.0.0.2", "certificate-authority-data": "YQ=="}),
        ({"apiFromOutside": False}, {"server": "https://10.0.0.2", "certificate-authority-data": "YQ=="}),
    ],
)
def test_charts_reach_the_private_api_server_by_googles_gate(changes: dict[str, Any], server: dict[str, str]) -> None:
    """Without addresses of operators the DNS name is open to those whom IAM lets in, and charts go by it."""
    run = layer("cluster", changes)
    endpoints = run.one(CLUSTER).inputs["controlPlaneEndpointsConfig"]
    assert endpoints == {"dnsEndpointConfig": {"allowExternalTraffic": not changes}}
    (entry,) = json.loads(run.one("pulumi:providers:kubernetes").inputs["kubeconfig"])["clusters"]
    assert entry["cluster"] == server


def test_several_networks_are_decided_when_the_cluster_is_made() -> None:
    """They need Dataplane V2, and neither can be changed later."""
    cluster = layer("cluster", {}).one(CLUSTER).inputs
    assert cluster["enableMultiNetworking"] is True
    assert cluster["datapathProvider"] == "ADVANCED_DATAPATH"


def test_the_cluster_can_be_destroyed() -> None:
    """GKE's own default refuses it."""
    assert layer("cluster", {}).one(CLUSTER).inputs["deletionProtection"] is False
    assert layer("cluster", {"deletionProtection": True}).one(CLUSTER).inputs["deletionProtection"] is True


def test_pods_find_every_network_by_name() -> None:
    """One pair of objects per network: RDMA rails are handed on as RDMA devices."""
    run = layer("cluster", ULTRA)
    found = [one for one in run.resources if one.type.startswith("kubernetes:networking.gke.io/v1:GKENetworkParamSet")]
    modes = {one.inputs["metadata"]["name"]: one.inputs["spec"]["deviceMode"] for one in found}
    assert modes == {"gvnic-1": "NetDevice"} | {f"rdma-{rail}": "RDMA" for rail in range(8)}
    assert found[0].inputs["spec"]["vpc"] == "gpt3-gpu-0"
    assert len([one for one in run.resources if one.type == "kubernetes:networking.gke.io/v1:Network"]) == 9


def test_the_volume_is_the_foundations_file_system() -> None:
    """By the parts of its id and of its mount source."""
    volume = layer("cluster", {}).one("kubernetes:core/v1:PersistentVolume").inputs["spec"]
    assert volume["csi"]["volumeHandle"] == "my-gpu-project/us-central1-a/gpt3"
    assert volume["csi"]["volumeAttributes"] == {"ip": "10.1.2.3", "filesystem": "lustre"}
    assert volume["persistentVolumeReclaimPolicy"] == "Retain"
    assert not layer("cluster", {"sharedStorageGib": 0}).of("kubernetes:core/v1:PersistentVolume")


def test_gke_brings_driver_plugin_and_figures() -> None:
    """So the queue is the only chart, and nothing is there twice."""
    run = layer("cluster", {})
    assert [one.inputs["name"] for one in run.of("kubernetes:helm.sh/v3:Release")] == ["kueue"]
    assert "DCGM" in run.one(CLUSTER).inputs["monitoringConfig"]["enableComponents"]
    accelerators = pool(ULTRA).inputs["nodeConfig"]["guestAccelerators"]
    assert accelerators == [
        {"type": "nvidia-h200-141gb", "count": 8, "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}
    ]


def test_pools_have_every_interface_and_stand_close_together() -> None:
    """The interfaces of the fabric in their order, compact placement, and no upgrade by itself."""
    inputs = pool({}).inputs
    assert len(inputs["networkConfig"]["additionalNodeNetworkConfigs"]) == 9
    assert inputs["placementPolicy"] == {"type": "COMPACT"}
    assert inputs["management"] == {"autoRepair": True, "autoUpgrade": False}
    assert inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert inputs["nodeConfig"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert inputs["nodeConfig"]["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


def test_a_distance_makes_a_policy_of_its_own() -> None:
    """GKE's own policy has none."""
    run = layer("nodes", {"placementMaxDistance": 2})
    policy = run.one("gcp:compute/resourcePolicy:ResourcePolicy").inputs
    assert policy["groupPlacementPolicy"] == {"collocation": "COLLOCATED", "maxDistance": 2}
    assert run.one(POOL).inputs["placementPolicy"]["policyName"] == policy["name"]


def test_a_reservation_brings_its_own_placement() -> None:
    """And is the only one that the nodes come from."""
    inputs = pool(RESERVED).inputs
    assert "placementPolicy" not in inputs
    assert inputs["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["dense-1"],
    }


def test_flex_start_waits_in_a_queue() -> None:
    """No fixed number, no reservation, no placement, no repair (gke-node-pool of GoogleCloudPlatform/cluster-toolkit)."""
    inputs = pool({"capacity": "flex-start", "flexStartRunHours": 24}).inputs
    assert "nodeCount" not in inputs
    assert "placementPolicy" not in inputs
    assert inputs["autoscaling"]["totalMinNodeCount"] == 0
    assert inputs["queuedProvisioning"] == {"enabled": True}
    assert inputs["management"]["autoRepair"] is False
    assert inputs["nodeConfig"]["flexStart"] is True
    assert inputs["nodeConfig"]["maxRunDuration"] == "86400s"
    assert inputs["nodeConfig"]["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


@pytest.mark.parametrize(
    ("parts", "partition", "sharing"),
    [
        ({"partition": "1g.10gb"}, "1g.10gb", None),
        (
            {"way": "time-slicing", "clients": 4},
            None,
            {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4},
        ),
        ({"way": "mps", "clients": 8}, None, {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 8}),
    ],
)
def test_nodes_with_parts_of_gpus_are_pools_of_their_own(
    parts: dict[str, Any], partition: str | None, sharing: dict[str, Any] | None
) -> None:
    """A part is the same resource as a GPU to GKE: a taint keeps pods for whole ones away, and reports do not count it."""
    whole, shared = layer("nodes", {"gpuParts": {"nodes": 2, **parts}}).of(POOL)
    assert (whole.inputs["nodeCount"], shared.inputs["nodeCount"]) == (46, 2)
    assert (whole.inputs["name"], shared.inputs["name"]) == ("gpu-0", "gpu-parts-0")
    (gpu,) = shared.inputs["nodeConfig"]["guestAccelerators"]
    assert (gpu.get("gpuPartitionSize"), gpu.get("gpuSharingConfig")) == (partition, sharing)
    (gpu,) = whole.inputs["nodeConfig"]["guestAccelerators"]
    assert not {"gpuPartitionSize", "gpuSharingConfig"} & gpu.keys()
    keys = [[taint["key"] for taint in one.inputs["nodeConfig"]["taints"]] for one in (whole, shared)]
    assert keys == [["nvidia.com/gpu"], ["nvidia.com/gpu", "gpu-parts"]]
    kinds = [one.inputs["nodeConfig"]["labels"]["node-kind"] for one in (whole, shared)]
    assert kinds == ["gpu", "gpu-parts"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpuParts": {"nodes": 2, "partition": "4g.40gb"}}, "gpuParts.partition: GKE divides .* into 1g.10gb"),
        ({"gpuParts": {"nodes": 49, "partition": "1g.10gb"}}, "gpuParts.nodes: needs a whole number from 1 to 48"),
        ({"gpuParts": {"nodes": 2, "way": "hami", "clients": 2}}, "gpuParts.way: needs one of time-slicing, mps"),
        ({"gpuParts": {"nodes": 2, "way": "mps"}}, "gpuParts.clients: needs a whole number from 2 to 48"),
        ({"gpuParts": {"nodes": 2, "partition": "1g.10gb"}, "stopWhenIdleMinutes": 60}, "no stopWhenIdleMinutes"),
        ({**TPU, "gpuParts": {"nodes": 2, "way": "mps", "clients": 2}}, "no TPU"),
    ],
)
def test_parts_that_gke_cannot_make_are_refused(changes: dict[str, Any], said: str) -> None:
    """Before anything is registered."""
    with pytest.raises(ConfigError, match=said):
        settings_nodes.read_settings(raw_settings("nodes", changes))


def test_spot_is_said_once() -> None:
    """And leaves compact placement open."""
    inputs = pool({"capacity": "spot"}).inputs
    assert inputs["nodeConfig"]["spot"] is True
    assert inputs["placementPolicy"] == {"type": "COMPACT"}


def test_a_tpu_slice_is_one_pool_with_its_topology() -> None:
    """16 hosts of 4 chips are a cube of 4x4x4."""
    inputs = pool(TPU).inputs
    assert inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4x4"}
    assert inputs["nodeConfig"]["machineType"] == "ct5p-hightpu-4t"
    assert inputs["nodeConfig"]["taints"][0]["key"] == "google.com/tpu"
    assert "guestAccelerators" not in inputs["nodeConfig"]
    assert "placementPolicy" not in pool({**TPU, "nodeCount": 1}).inputs


def test_the_watchdog_may_scale_these_groups_only() -> None:
    """It is there when the nodes have a time to live, and its role names the groups behind the pools."""
    kind = "gcp:workflows/workflow:Workflow"
    assert not layer("nodes", {}).of(kind)
    run = layer("nodes", {"timeToLiveHours": 48})
    variables = run.one(kind).inputs["userEnvVars"]
    assert (variables["GROUPS"], variables["TIME_TO_LIVE_S"], variables["IDLE_S"]) == ("gke-gpu-0", "172800", "0")
    scaler = run.one("gcp:projects/iAMMember:IAMMember", "scaler").inputs["condition"]
    assert scaler["expression"].endswith('/zones/us-central1-a/instanceGroupManagers/gke-gpu-0"')


def test_nodes_report_busy_gpus_when_idle_ones_are_to_stop() -> None:
    """One small pod on each GPU node that may write metrics, and nothing else; the watchdog waits for its reports."""
    assert not layer("cluster", {}).of(PODS)
    run = layer("cluster", {"stopWhenIdleMinutes": 60})
    check_reports(run, cloud="gcp", exporter="gke-managed-dcgm-exporter")
    right = run.one("gcp:projects/iAMMember:IAMMember", "reports").inputs
    assert right["role"] == "roles/monitoring.metricWriter"
    assert right["member"].endswith("/subject/ns/gpu-reports/sa/busy-gpus")
    variables = layer("nodes", {"stopWhenIdleMinutes": 60}).one("gcp:workflows/workflow:Workflow").inputs["userEnvVars"]
    assert (variables["TIME_TO_LIVE_S"], variables["IDLE_S"]) == ("0", "3600")


@pytest.mark.parametrize(("count", "expected"), [(0, [0]), (1000, [1000]), (1001, [1000, 1])])
def test_pools_are_filled_in_turn(count: int, expected: list[int]) -> None:
    """A larger cluster never shrinks a pool."""
    assert pool_sizes(count, 1000) == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"capacity": "flex-start", "placementMaxDistance": 2}, "makes no compact placement policy"),
        ({**RESERVED, "placementMaxDistance": 2}, "a reservation brings its own placement"),
        ({"capacity": "reservation"}, "needs the name of a reservation"),
        ({"capacity": "flex-start", "nodeCount": 257}, "capped at 256"),
        ({"placementMaxDistance": 1}, "A3 supports 2 and 3"),
        ({"nodeType.gpuNetworks": 7}, "needs 8, got 7"),
        ({"tpuTopology": "4x4x4"}, "has no TPUs"),
        ({**TPU, "nodeCount": 17}, "no v5p slice has 68 chips"),
        ({"maxNodesPerPool": 1001}, "from 1 to 1,000"),
        ({"stopWhenIdleMinutes": 10}, "nodes report every 5 minutes"),
        ({**TPU, "stopWhenIdleMinutes": 60}, "TPUs do not report"),
        ({"capacity": "flex-start", "stopWhenIdleMinutes": 60}, "when no job needs them"),
        ({"capacity": "flex-start", "timeToLiveHours": 24}, "end by themselves"),
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
        ({"kubernetesVersion": "latest"}, "a version like 1.34"),
        ({"podRange": 8}, "from 9 to 24"),
        ({"zone": "us-east4-b"}, "is not in gcp:region"),
    ],
)
def test_wrong_clusters_are_refused(changes: dict[str, Any], said: str) -> None:
    """Before anything is registered."""
    with pytest.raises(ConfigError, match=said):
        settings_cluster.read_settings(raw_settings("cluster", changes))
