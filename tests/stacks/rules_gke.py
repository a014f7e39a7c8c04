"""What must hold for GKE and its pools of GPU nodes and TPU slices."""

import math
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record, Resource

from .kubernetes_nodes import GKE_POOL, is_gpu_group
from .rules import Problem, Wanted

CLUSTER = "gcp:container/cluster:Cluster"
NETWORK = "kubernetes:networking.gke.io/v1:Network"
PARAMETERS = "kubernetes:networking.gke.io/v1:GKENetworkParamSet"
#: GKE refuses the pool otherwise; GoogleCloudPlatform/cluster-toolkit gke-node-pool main.tf @10470803.
_MOST_NODES = 1000


def gke_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with cluster and pools."""
    pools = [one for one in record.of(GKE_POOL) if is_gpu_group(one)]
    return [
        *_cluster(record, wanted),
        *(problem for one in record.of(GKE_POOL) for problem in _any_pool(one)),
        *(problem for one in pools for problem in _pool(one, wanted)),
        *(problem for one in pools for problem in _capacity(one, wanted)),
        *_networks(record, wanted),
    ]


def _interfaces(wanted: Wanted) -> int:
    """Return the networks beside the primary one."""
    facts = wanted.instance
    return (facts.gpu_networks or 0) + (facts.rdma_subnets or 0)


def _cluster(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for one in record.of(CLUSTER):
        inputs = one.inputs
        if _interfaces(wanted) and inputs.get("enableMultiNetworking") is not True:
            yield Problem(id="GKE001", resource=one.name, message="several networks per node are off, for good")
        if inputs.get("datapathProvider") != "ADVANCED_DATAPATH":
            yield Problem(id="GKE002", resource=one.name, message="several networks need Dataplane V2, from the start")
        if inputs.get("deletionProtection") is not False:
            yield Problem(id="GKE003", resource=one.name, message="deletion protection makes `destroy` fail")
        private = inputs.get("privateClusterConfig") or {}
        listed = (inputs.get("masterAuthorizedNetworksConfig") or {}).get("cidrBlocks")
        if private.get("enablePrivateEndpoint") is not True and not listed:
            yield Problem(id="GKE004", resource=one.name, message="the API server is open to the Internet")
        if (inputs.get("databaseEncryption") or {}).get("state") != "ENCRYPTED":
            yield Problem(id="GKE005", resource=one.name, message="secrets are not under the cluster's own key")
        if not (inputs.get("workloadIdentityConfig") or {}).get("workloadPool"):
            yield Problem(id="GKE006", resource=one.name, message="pods get the rights of the node")
        if (inputs.get("releaseChannel") or {}).get("channel") != "UNSPECIFIED":
            yield Problem(id="GKE007", resource=one.name, message="a release channel upgrades nodes under their jobs")
        if inputs.get("removeDefaultNodePool") is not True:
            yield Problem(id="GKE008", resource=one.name, message="the default pool stays")


def _any_pool(one: Resource) -> Iterator[Problem]:
    network, config = one.inputs.get("networkConfig") or {}, one.inputs.get("nodeConfig") or {}
    if network.get("enablePrivateNodes") is not True:
        yield Problem(id="GKE010", resource=one.name, message="nodes have public addresses")
    if not config.get("serviceAccount"):
        yield Problem(id="GKE011", resource=one.name, message="nodes have the project's default account")
    if not config.get("bootDiskKmsKey"):
        yield Problem(id="GKE012", resource=one.name, message="a disk is not under the cluster's own key")
    if (config.get("workloadMetadataConfig") or {}).get("mode") != "GKE_METADATA":
        yield Problem(id="GKE013", resource=one.name, message="pods get the rights of the node")
    if len(one.inputs.get("nodeLocations") or []) != 1:
        yield Problem(id="GKE014", resource=one.name, message="nodes are in several zones")


def _pool(one: Resource, wanted: Wanted) -> Iterator[Problem]:
    inputs, config = one.inputs, one.inputs.get("nodeConfig") or {}
    networks = (inputs.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
    if len(networks) != _interfaces(wanted):
        yield Problem(id="GKE020", resource=one.name, message=f"{len(networks)} networks, not {_interfaces(wanted)}")
    if _interfaces(wanted) and config.get("imageType") != "COS_CONTAINERD":
        message = f"{config.get('imageType')} has no drivers of the fabric: only COS_CONTAINERD has"
        yield Problem(id="GKE043", resource=one.name, message=message)
    if (config.get("gvnic") or {}).get("enabled") is not True:
        yield Problem(id="GKE044", resource=one.name, message="without gVNIC the fabric's networks do not come up")
    if config.get("machineType") != wanted.instance.id:
        yield Problem(id="GKE021", resource=one.name, message=f"is a {config.get('machineType')}")
    counts = [gpu.get("count") for gpu in config.get("guestAccelerators") or []]
    tpu = wanted.instance.id.startswith("ct")
    if counts != ([] if tpu else [wanted.instance.gpus]):
        yield Problem(id="GKE022", resource=one.name, message=f"{counts} accelerators")
    if (inputs.get("nodeCount") or 0) > _MOST_NODES and not tpu:
        yield Problem(id="GKE023", resource=one.name, message=f"a pool holds {_MOST_NODES} nodes in a zone")
    upgrade = inputs.get("upgradeSettings") or {}
    if upgrade.get("strategy") != "SURGE" or upgrade.get("maxSurge") != 0:
        yield Problem(id="GKE024", resource=one.name, message="an upgrade wants spare nodes that nobody has")
    if tpu and (inputs.get("nodeCount") or 0) > 1:
        topology = str((inputs.get("placementPolicy") or {}).get("tpuTopology") or "0")
        chips = math.prod(int(side) for side in topology.split("x"))
        if chips != inputs.get("nodeCount", 0) * (wanted.instance.gpus or 0):
            yield Problem(id="GKE025", resource=one.name, message=f"topology {topology} is not that of the slice")


def _capacity(one: Resource, wanted: Wanted) -> Iterator[Problem]:
    inputs, config = one.inputs, one.inputs.get("nodeConfig") or {}
    compact = (inputs.get("placementPolicy") or {}).get("type") == "COMPACT"
    affinity = config.get("reservationAffinity") or {}
    specific = affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION"
    queued = bool((inputs.get("queuedProvisioning") or {}).get("enabled"))
    tpu = wanted.instance.id.startswith("ct")
    if compact and (specific or queued or config.get("flexStart")) and not tpu:
        yield Problem(id="GKE030", resource=one.name, message="compact placement where the capacity places by itself")
    if specific != (wanted.capacity == "reservation") or (specific and not affinity.get("values")):
        yield Problem(id="GKE031", resource=one.name, message=f"reservation {dict(affinity)} for {wanted.capacity}")
    if not specific and affinity.get("consumeReservationType") != "NO_RESERVATION":
        yield Problem(id="GKE032", resource=one.name, message="takes whichever reservation happens to fit")
    if bool(config.get("spot")) != (wanted.capacity == "spot"):
        yield Problem(id="GKE033", resource=one.name, message=f"spot is {config.get('spot')} for {wanted.capacity}")
    if bool(config.get("flexStart")) != (wanted.capacity == "flex-start"):
        yield Problem(id="GKE034", resource=one.name, message=f"flex start is {config.get('flexStart')}")
    if config.get("flexStart"):
        if inputs.get("nodeCount") is not None or (inputs.get("autoscaling") or {}).get("totalMinNodeCount") != 0:
            yield Problem(id="GKE035", resource=one.name, message="flex-start nodes come by the autoscaler, from 0")
        if (inputs.get("management") or {}).get("autoRepair") is not False:
            yield Problem(id="GKE036", resource=one.name, message="flex-start nodes cannot be repaired")
        if not config.get("maxRunDuration"):
            yield Problem(id="GKE037", resource=one.name, message="flex-start nodes need a duration")


def _networks(record: Record, wanted: Wanted) -> Iterator[Problem]:
    names = [one.inputs.get("metadata", {}).get("name") for one in record.of(NETWORK)]
    if len(names) != _interfaces(wanted):
        yield Problem(id="GKE040", resource="networks", message=f"pods see {len(names)} of {_interfaces(wanted)}")
    modes = [one.inputs.get("spec", {}).get("deviceMode") for one in record.of(PARAMETERS)]
    if modes.count("RDMA") != (wanted.instance.rdma_subnets or 0):
        yield Problem(id="GKE041", resource="networks", message=f"{modes.count('RDMA')} of them are RDMA")
    subnets = [one.inputs.get("spec", {}).get("vpcSubnet") for one in record.of(PARAMETERS)]
    if len(set(subnets)) != len(subnets):
        yield Problem(id="GKE042", resource="networks", message="two names lead to one subnetwork")
