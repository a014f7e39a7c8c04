"""What belongs together on Google Cloud: ways out, interfaces and pod networks, one zone, rights, parts of GKE."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devices import Nodes, devices
from fabric_rules import FILE_SYSTEM, NETWORK, SUBNETWORK, TEMPLATE
from reading import mapping, mappings, texts
from rule import PLACEMENT, UNKNOWN, Registered, Rule, StackRule
from rules_machines import INSTANCE, INTERFACES

ROUTER, NAT = "gcp:compute/router:Router", "gcp:compute/routerNat:RouterNat"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
POOL, CLUSTER = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
SLICE = "gcp:tpu/v2Vm:V2Vm"
POD_NETWORK = "kubernetes:networking.gke.io/v1:Network"
PARAMETERS = "kubernetes:networking.gke.io/v1:GKENetworkParamSet"
VOLUME = "kubernetes:core/v1:PersistentVolume"
WRITERS_GRANT = "gcp:secretmanager/secretIamMember:SecretIamMember"
_LUSTRE_CSI = "lustre.csi.storage.gke.io"
#: Roles by which a secret gets another value.
_WRITERS = re.compile(r"roles/(secretmanager\.(secretVersionAdder|secretVersionManager|admin)|owner|editor)")
#: Roles of pods on buckets; more decides who else may read.
_OF_PODS = re.compile(
    r"roles/(storage\.(objectUser|objectViewer|objectCreator|legacyBucketReader|bucketViewer)|monitoring\.metricWriter"
    r"|logging\.logWriter|artifactregistry\.reader|secretmanager\.secretAccessor)"
)
#: Above it, a share of a budget was meant as a percentage.
_MOST_OF_A_BUDGET = 10
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
#: GPUs of machine types as GKE names them (cloud.google.com/kubernetes-engine/docs/concepts/gpus, 2026-11).
GPU_TYPES = {
    "a2-highgpu": "nvidia-tesla-a100",
    "a2-ultragpu": "nvidia-a100-80gb",
    "a3-highgpu": "nvidia-h100-80gb",
    "a3-megagpu": "nvidia-h100-mega-80gb",
    "a3-ultragpu": "nvidia-h200-141gb",
    "a4-highgpu": "nvidia-b200",
    "a4x-highgpu": "nvidia-gb200",
    "g2-standard": "nvidia-l4",
}


def ways_out(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """NAT serves the subnetworks of machines."""
    if kind != NAT:
        return []
    of = inputs.get("sourceSubnetworkIpRangesToNat")
    if of in ("ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES", UNKNOWN):
        return []
    return [] if inputs.get("subnetworks") else ["serves a list of subnetworks that is empty: no machine gets out"]


def nat_is_there(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A router without NAT lets nobody out."""
    served = {urn for one in resources if one.type == NAT for urn in one.behind.get("router", ())}
    return [
        (one.urn, "has no NAT: machines reach no package")
        for one in resources
        if one.type == ROUTER and one.urn not in served
    ]


def own_subnetworks(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Each interface of a machine is in a network of its own: Google refuses two in one."""
    messages: list[tuple[str, str]] = []
    for one in resources:
        if one.type == TEMPLATE:
            named = [
                str(each.get("subnetwork"))
                for each in mappings(one.inputs.get("networkInterfaces"))
                if each.get("subnetwork") not in (None, UNKNOWN)
            ]
            twice = sorted({name for name in named if named.count(name) > 1})
            if twice:
                messages.append((one.urn, f"has several interfaces in {twice[0]}: each needs a network of its own"))
        if one.type == POOL:
            found = mappings(mapping(one.inputs.get("networkConfig")).get("additionalNodeNetworkConfigs"))
            named = [str(each.get("subnetwork")) for each in found if each.get("subnetwork") not in (None, UNKNOWN)]
            if len(set(named)) < len(named):
                messages.append((one.urn, "has several interfaces in one subnetwork: each needs a network of its own"))
            wanted = INTERFACES.get(str(mapping(one.inputs.get("nodeConfig")).get("machineType")))
            if wanted is not None and len(found) != sum(wanted) - 1:
                messages.append(
                    (one.urn, f"has {len(found)} networks beside its own, its machine type has {sum(wanted) - 1}")
                )
    return messages


def pod_networks(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Networks of pods lead each to a network of its own, in the mode of that network."""
    messages: list[tuple[str, str]] = []
    known = {str(mapping(one.inputs.get("metadata")).get("name")) for one in resources if one.type == PARAMETERS}
    seen: dict[str, str] = {}
    rdma = {one.urn for one in resources if one.type == NETWORK and one.inputs.get("networkProfile")}
    networks = {one.urn for one in resources if one.type == NETWORK}
    for one in resources:
        if one.type == PARAMETERS:
            spec = mapping(one.inputs.get("spec"))
            subnet = str(spec.get("vpcSubnet"))
            if subnet in seen and subnet != UNKNOWN:
                messages.append(
                    (one.urn, f"leads to {subnet}, as {seen[subnet]} does: a rail of the fabric is missing")
                )
            seen.setdefault(subnet, one.urn.rpartition("::")[2])
            behind = set(one.behind.get("spec", ())) & networks
            wanted = "RDMA" if behind & rdma else "NetDevice"
            mode = spec.get("deviceMode")
            if behind and mode != UNKNOWN and (mode == "RDMA") != (wanted == "RDMA"):
                messages.append((one.urn, f"deviceMode is {mode}, its network needs {wanted}"))
        if one.type == POD_NETWORK and known:
            name = mapping(mapping(one.inputs.get("spec")).get("parametersRef")).get("name")
            if name != UNKNOWN and str(name) not in known:
                messages.append((one.urn, f"refers to {name}, which there is not"))
    return messages


def one_zone(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """Nodes are in the zone of their file system."""
    home = {str(one.inputs.get("location")) for one in resources if one.type == FILE_SYSTEM} - {UNKNOWN}
    messages: list[tuple[str, str]] = []
    for one in resources:
        if one.type == POOL and mapping(one.inputs.get("nodeConfig")).get("guestAccelerators"):
            own = set(texts(one.inputs.get("nodeLocations")))
        elif one.type in (GROUP, SLICE):
            own = {str(one.inputs.get("zone"))}
        else:
            continue
        if home and own and UNKNOWN not in own and not own & home:
            messages.append(
                (one.urn, f"is in {', '.join(sorted(own))}, and its file system in {', '.join(sorted(home))}")
            )
    return messages


def one_writer(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """The controller's account alone writes a secret: whoever is root on a machine has what its account may."""
    grants = [one for one in resources if one.type == WRITERS_GRANT and _WRITERS.fullmatch(str(one.inputs.get("role")))]
    nodes = {urn for one in resources if one.type in (TEMPLATE, SLICE) for urn in one.behind.get("serviceAccount", ())}
    heads = [one for one in resources if one.type == INSTANCE]
    controllers = {urn for one in heads if _is_controller(one) for urn in one.behind.get("serviceAccount", ())}
    messages: list[tuple[str, str]] = []
    for one in grants:
        behind = {urn for name in ("member", "members") for urn in one.behind.get(name, ())}
        if behind & nodes and not behind & controllers:
            messages.append((one.urn, "lets nodes write a secret: one of them could replace the key of all"))
        elif controllers and behind and not behind & controllers:
            messages.append((one.urn, "lets others than the controller write a secret, which makes the key of all"))
    return messages


def _is_controller(machine: Registered) -> bool:
    """Whether a machine boots as the controller, by the environment in its user data."""
    told = mapping(machine.inputs.get("metadata")).get("user-data")
    return told is None or told == UNKNOWN or "CLUSTER_ROLE='controller'" in str(told)


def rights_of_pods(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Pods have rights on data, by the name of their service account."""
    members = [*texts([inputs.get("member")]), *texts(inputs.get("members"))]
    pods = [one for one in members if "workloadIdentityPools" in one or one.startswith("principal")]
    role, found = str(inputs.get("role")), list[str]()
    if not pods or not kind.lower().endswith("iammember"):
        return []
    if role.startswith("roles/") and not _OF_PODS.fullmatch(role):
        found.append(f"gives pods {role}: name a role of data, such as storage.objectUser")
    found += [
        f"gives {role} to {one}: name one service account"
        for one in pods
        if one.startswith("principalSet:") or one.endswith("/*")
    ]
    return found


def kept_keys(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Keys rotate."""
    if kind != "gcp:kms/cryptoKey:CryptoKey" or inputs.get("purpose") not in (None, "ENCRYPT_DECRYPT"):
        return []
    period = str(inputs.get("rotationPeriod", ""))
    if period == UNKNOWN or (
        period.endswith("s") and period[:-1].replace(".", "").isdigit() and float(period[:-1]) <= _YEAR_S
    ):
        return []
    return [f"rotationPeriod is {period or 'left out'}: the key stays the same for ever; choose a year or less"]


_YEAR_S = 366 * 86_400


def closed_machines(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Nobody gets to a machine by the project's keys or its console."""
    metadata = mapping(inputs.get("metadata"))
    if kind not in (INSTANCE, TEMPLATE) or not metadata:
        return []
    found: list[str] = []
    if str(metadata.get("serial-port-enable", "FALSE")).upper() not in ("FALSE", "0", "N", "NO", UNKNOWN.upper()):
        found.append("opens its serial console to the network: set serial-port-enable to FALSE")
    if str(metadata.get("block-project-ssh-keys", "FALSE")).upper() not in ("TRUE", "1", "Y", "YES", UNKNOWN.upper()):
        found.append("takes the SSH keys of the project: set block-project-ssh-keys to TRUE")
    if "startup-script-url" in metadata:
        found.append("runs a script that lies elsewhere: startup-script-url")
    return found


def closed_databases(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """No range of addresses is let in to a database beside its network."""
    if kind != "gcp:sql/databaseInstance:DatabaseInstance":
        return []
    given = mapping(mapping(inputs.get("settings")).get("ipConfiguration")).get("authorizedNetworks")
    return [f"lets {one.get('value')} in: leave authorizedNetworks out" for one in mappings(given)]


def chosen_reservation(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Machines take the reservation that is named, or none."""
    affinity = mapping(
        inputs.get("reservationAffinity") or mapping(inputs.get("nodeConfig")).get("reservationAffinity")
    )
    chosen = affinity.get("type") or affinity.get("consumeReservationType")
    found = ["takes whichever reservation fits: name one, or NO_RESERVATION"] if chosen == "ANY_RESERVATION" else []
    placement = mapping(inputs.get("groupPlacementPolicy"))
    if kind == "gcp:compute/resourcePolicy:ResourcePolicy" and placement.get("vmCount"):
        found.append("vmCount is set, which a policy of a group does not take: a lost node cannot be replaced")
    return found


def parts_of_gke(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A cluster has what its nodes, volumes and policies need."""
    messages: list[tuple[str, str]] = []
    several = [
        one
        for one in resources
        if one.type == POOL and mapping(one.inputs.get("networkConfig")).get("additionalNodeNetworkConfigs")
    ]
    policies = any(one.type == "kubernetes:networking.k8s.io/v1:NetworkPolicy" for one in resources)
    lustre = any(
        mapping(mapping(one.inputs.get("spec")).get("csi")).get("driver") == _LUSTRE_CSI
        for one in resources
        if one.type == VOLUME
    )
    for one in resources:
        if one.type != CLUSTER:
            continue
        path = one.inputs.get("datapathProvider")
        policed = mapping(one.inputs.get("networkPolicy")).get("enabled") is True
        if (policies or several) and path not in ("ADVANCED_DATAPATH", UNKNOWN) and (several or not policed):
            messages.append(
                (
                    one.urn,
                    f"datapathProvider is {path}: network policies, and several networks of a pod, have no effect",
                )
            )
        if several and one.inputs.get("enableMultiNetworking") not in (True, UNKNOWN):
            messages.append((one.urn, "enableMultiNetworking is not set: pods do not get the networks of the fabric"))
        if lustre and mapping(mapping(one.inputs.get("addonsConfig")).get("lustreCsiDriverConfig")).get(
            "enabled"
        ) not in (True, UNKNOWN):
            messages.append(
                (one.urn, "has no driver of the shared file system: set addonsConfig.lustreCsiDriverConfig")
            )
        logged = texts(mapping(one.inputs.get("loggingConfig")).get("enableComponents"))
        if "APISERVER" not in logged and one.inputs.get("loggingConfig") != UNKNOWN:
            messages.append(
                (one.urn, "writes down nothing of the API server: add APISERVER to loggingConfig.enableComponents")
            )
    return messages


def told_in_time(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """Budgets tell somebody before they are spent; alerts, schedules and workflows are on."""
    if kind == "gcp:billing/budget:Budget":
        rules, told = mappings(inputs.get("thresholdRules")), mapping(inputs.get("allUpdatesRule"))
        found: list[str] = []
        if not any(
            isinstance(one.get("thresholdPercent"), int | float) and one["thresholdPercent"] <= 1 for one in rules
        ):
            found.append("tells nobody before it is spent: add thresholdRules of 1.0 or less")
        shares = [one["thresholdPercent"] for one in rules if isinstance(one.get("thresholdPercent"), int | float)]
        if any(share > _MOST_OF_A_BUDGET for share in shares):
            found.append(
                f"tells when {max(shares):g} times the budget is spent: thresholdPercent is a share, 1.0 is all"
            )
        if (
            told.get("disableDefaultIamRecipients") is True
            and not told.get("monitoringNotificationChannels")
            and not told.get("pubsubTopic")
        ):
            found.append("tells nobody: it has no recipient")
        return found
    if kind == "gcp:monitoring/alertPolicy:AlertPolicy":
        return ["is switched off: nobody is told"] if inputs.get("enabled") is False else []
    if kind == "gcp:monitoring/notificationChannel:NotificationChannel":
        return ["is switched off: nobody is told"] if inputs.get("enabled") is False else []
    if kind == "gcp:cloudscheduler/job:Job":
        return ["is paused: nothing starts it"] if inputs.get("paused") is True else []
    return []


def pools_of_gpus(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    """A pool asks for the GPUs that its machine type has, in the slice's shape, next to each other."""
    if kind != POOL:
        return []
    config = mapping(inputs.get("nodeConfig"))
    machine, found = str(config.get("machineType")), list[str]()
    wanted = GPU_TYPES.get(machine.rpartition("-")[0])
    kinds = [str(one.get("type")) for one in mappings(config.get("guestAccelerators"))]
    if wanted is not None and kinds and UNKNOWN not in kinds and kinds != [wanted]:
        found.append(f"asks for {', '.join(kinds)}, and {machine} has {wanted}")
    placement = mapping(inputs.get("placementPolicy"))
    reserved = mapping(config.get("reservationAffinity")).get("consumeReservationType") == "SPECIFIC_RESERVATION"
    flexible = config.get("flexStart") is True or mapping(inputs.get("queuedProvisioning")).get("enabled") is True
    fabric = sum(INTERFACES.get(machine, (1, 0))) > 1
    if fabric and not reserved and not flexible and not config.get("spot") and placement.get("type") != "COMPACT":
        found.append("has no compact placement: nodes are spread over the zone")
    hosts = inputs.get("nodeCount") or inputs.get("initialNodeCount")
    if (
        re.match(r"(ct|tpu)\d", machine)
        and isinstance(hosts, int | float)
        and hosts > 1
        and not placement.get("tpuTopology")
    ):
        found.append("is no slice: set placementPolicy.tpuTopology")
    return found


def gpu_nodes(resources: Sequence[Registered]) -> Sequence[Nodes]:
    """Return the pools of nodes with GPUs; Google offers them to pods by itself."""
    return [
        Nodes(
            urn=one.urn,
            resource="nvidia.com/gpu",
            taints=tuple(_taints(config)),
            has_driver=any(
                mapping(each.get("gpuDriverInstallationConfig")).get("gpuDriverVersion") != "INSTALLATION_DISABLED"
                for each in mappings(config.get("guestAccelerators"))
            ),
            offered=True,
        )
        for one in resources
        if one.type == POOL
        for config in [mapping(one.inputs.get("nodeConfig"))]
        if config.get("guestAccelerators")
    ]


def _taints(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in mappings(config.get("taints")):
        if one.get("effect") in _EFFECTS:
            yield str(one.get("key")), _EFFECTS[str(one.get("effect"))]


def watched_networks(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """What goes through the network of people and services is written down."""
    outward = {urn for one in resources if one.type == ROUTER for urn in one.behind.get("network", ())}
    return [
        (one.urn, "has no flow logs: nobody sees what happened; set logConfig")
        for one in resources
        if one.type == SUBNETWORK
        and outward & set(one.behind.get("network", ()))
        and not one.inputs.get("logConfig")
        and one.inputs.get("purpose") in (None, "PRIVATE")
    ]


def clusters_stay(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A cluster without its first pool ignores what it said of that pool: else the next `up` makes the cluster anew."""
    return [
        (one.urn, "is made anew by the next `up`: ignore changes of nodeConfig and initialNodeCount")
        for one in resources
        if one.type == CLUSTER and one.inputs.get("removeDefaultNodePool") is True
        if not {"nodeConfig", "initialNodeCount"} <= set(one.ignores)
    ]


RULES: Sequence[Rule] = (
    Rule(name="ways-out-of-machines", description="NAT serves machines.", check=ways_out),
    Rule(name="rights-of-jobs", description="Pods have rights on data alone.", check=rights_of_pods),
    Rule(name="keys-rotate", description="Keys rotate.", check=kept_keys),
    Rule(name="closed-machines", description="Machines are closed to keys of the project.", check=closed_machines),
    Rule(name="closed-databases", description="Databases are reached from their network.", check=closed_databases),
    Rule(name="chosen-reservation", description="Reservations are named.", check=chosen_reservation),
    Rule(name="told-in-time", description="Budgets and alerts reach somebody.", check=told_in_time),
    Rule(name="pools-of-gpus", description="Pools are as their machine type.", check=pools_of_gpus),
)
STACK_RULES: Sequence[StackRule] = (
    StackRule(name="nat-is-there", description="Routers have NAT.", check=nat_is_there),
    StackRule(
        name="own-subnetworks-of-interfaces",
        description="Interfaces have networks of their own.",
        check=own_subnetworks,
    ),
    StackRule(name="pod-networks", description="Pods get every network of the fabric.", check=pod_networks),
    StackRule(
        name="zone-of-the-data",
        description="Nodes are in the zone of their file system.",
        check=one_zone,
        about=PLACEMENT,
    ),
    StackRule(name="one-writer-of-secrets", description="One account writes a secret.", check=one_writer),
    StackRule(name="clusters-stay", description="`up` replaces no cluster.", check=clusters_stay),
    StackRule(name="parts-of-gke", description="A cluster has what is used.", check=parts_of_gke),
    StackRule(name="networks-are-watched", description="Networks have flow logs.", check=watched_networks),
    *devices(gpu_nodes),
)
