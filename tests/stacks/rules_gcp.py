"""What must hold for a cluster on Google Cloud, as its networks, template, policies and file system show it."""

import ipaddress
from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record

from . import rules_gcp_nodes, rules_gcp_services, rules_gcp_ways
from .rules import Problem, Wanted

TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
FIREWALL = "gcp:compute/firewall:Firewall"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
LUSTRE = "gcp:lustre/instance:Instance"
BUCKET = "gcp:storage/bucket:Bucket"
INSTANCE = "gcp:compute/instance:Instance"

KEPT = {"gcp:kms/keyRing:KeyRing": 1, "gcp:kms/cryptoKey:CryptoKey": 1, BUCKET: 1, LUSTRE: 1}
#: Machine type -> gVNIC networks, RDMA subnets, MTU (GoogleCloudPlatform/cluster-toolkit @10470803, 2026-06-25).
_FABRICS = {
    "a3-highgpu-8g": (5, 0, 8244),
    "a3-megagpu-8g": (9, 0, 8244),
    "a3-ultragpu-8g": (2, 8, 8896),
    "a4-highgpu-8g": (2, 8, 8896),
}
_PLAIN = (1, 0, None)
#: Managed Lustre performance tiers: MB/s per TiB -> smallest size and step in GiB.
_LUSTRE_STEP_GIB = {125: 72_000, 250: 36_000, 500: 18_000, 1000: 9_000}
#: What an account may do in the whole project; everything else is granted on single resources.
_PROJECT_ROLES = ("roles/logging.logWriter", "roles/monitoring.metricWriter")
_IAP_RANGE = "35.235.240.0/20"
_FILE_SYSTEM_NAME_LETTERS = 8
_FLEX_START_A3_NODES = 256
#: Types whose groups take a workload policy with flex-start (Google, "placement policy and workload policy").
_WORKLOAD_POLICY_TYPES = ("a3-ultragpu-8g", "a4-highgpu-8g")
#: Machines of a zonal managed instance group (Compute Engine reference, instanceGroupManagers).
_GROUP_NODES = 1000
_FLEX_START_S = 7 * 24 * 3600


def gcp_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong in a record of the Google Cloud stack."""
    return [
        *_interfaces(record, wanted),
        *_networks(record, wanted),
        *_capacity(record, wanted),
        *_group(record, wanted),
        *_lustre(record, _zone_of(record)),
        *_access(record),
        *_data(record),
        *rules_gcp_services.services_problems(record, wanted),
        *rules_gcp_ways.way_problems(record),
        *rules_gcp_nodes.node_problems(record),
    ]


def _zone_of(record: Record) -> str:
    """Return the zone of the nodes: of their groups, of their TPU slice, or of the file system beside them."""
    zones = [one.inputs.get("zone") for one in (*record.of(GROUP), *record.of(rules_gcp_services.TPU_VM))]
    return str([*zones, *(one.inputs.get("location") for one in record.of(LUSTRE)), ""][0])


def _interfaces(record: Record, wanted: Wanted) -> Iterator[Problem]:
    gvnics, rdma, _ = _FABRICS.get(wanted.instance.id, _PLAIN)
    for template in record.of(TEMPLATE):
        kinds = [one.get("nicType") for one in template.inputs["networkInterfaces"]]
        if kinds != ["GVNIC"] * gvnics + ["MRDMA"] * rdma:
            yield Problem(id="GCP001", resource=template.name, message=f"interfaces are {kinds}")
        if any("accessConfigs" in one for one in template.inputs["networkInterfaces"]):
            yield Problem(id="GCP002", resource=template.name, message="has a public address")
        if template.inputs.get("machineType") != wanted.instance.id:
            yield Problem(id="GCP003", resource=template.name, message=f"is no {wanted.instance.id}")
        subnetworks = [one.get("subnetwork") for one in template.inputs["networkInterfaces"]]
        if len(set(subnetworks)) != len(subnetworks):
            yield Problem(id="GCP004", resource=template.name, message="two interfaces share a subnetwork")


def _networks(record: Record, wanted: Wanted) -> Iterator[Problem]:
    gvnics, rdma, mtu = _FABRICS.get(wanted.instance.id, _PLAIN)
    networks = record.of(NETWORK)
    # None of them: somebody else's are used.
    if networks and len(networks) != gvnics + (1 if rdma else 0):
        yield Problem(id="GCP010", resource="networks", message=f"{len(networks)} networks")
    zone = _zone_of(record)
    for one in networks:
        if mtu is not None and one.inputs.get("mtu") != mtu:
            yield Problem(id="GCP011", resource=one.name, message=f"MTU {one.inputs.get('mtu')}, not {mtu}")
        profile = one.inputs.get("networkProfile")
        if (profile is not None) != one.name.endswith("-rdma"):
            yield Problem(id="GCP012", resource=one.name, message=f"network profile {profile}")
        if profile is not None and not str(profile).endswith(f"/{zone}-vpc-roce"):
            yield Problem(id="GCP013", resource=one.name, message=f"profile {profile} is not of zone {zone}")
        if one.inputs.get("autoCreateSubnetworks") is not False:
            yield Problem(id="GCP014", resource=one.name, message="makes a subnetwork in every region")
    for one in record.of(FIREWALL):
        if "rdma" in str(one.inputs.get("network")):
            yield Problem(id="GCP015", resource=one.name, message="the RDMA network takes no firewall rule")
    ranges = [ipaddress.ip_network(one.inputs["ipCidrRange"]) for one in record.of(SUBNETWORK)]
    if any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :]):
        yield Problem(id="GCP016", resource="subnetworks", message="overlap")
    # Google keeps four addresses of a subnetwork; controller and login machine have one each.
    if any(one.num_addresses - 6 < wanted.nodes for one in ranges):
        yield Problem(id="GCP017", resource="subnetworks", message=f"are too small for {wanted.nodes} nodes")
    for one in record.of(SUBNETWORK):
        if one.name.endswith("-primary") and "logConfig" not in one.inputs:
            yield Problem(id="GCP018", resource=one.name, message="keeps no flow logs")
        if one.name.endswith("-primary") and one.inputs.get("privateIpGoogleAccess") is not True:
            yield Problem(id="GCP019", resource=one.name, message="does not reach Google's services privately")


def _capacity(record: Record, wanted: Wanted) -> Iterator[Problem]:
    policies = record.of(POLICY)
    compact = [one for one in policies if "groupPlacementPolicy" in one.inputs]
    workload = [one for one in policies if "workloadPolicy" in one.inputs]
    for template in record.of(TEMPLATE):
        scheduling = template.inputs.get("scheduling") or {}
        affinity = template.inputs.get("reservationAffinity") or {}
        model = scheduling.get("provisioningModel")
        models = {
            "on-demand": ("STANDARD",),
            "spot": ("SPOT",),
            "flex-start": ("FLEX_START",),
            "reservation": ("RESERVATION_BOUND", "STANDARD"),
        }
        if model not in models[wanted.capacity]:
            yield Problem(id="GCP020", resource=template.name, message=f"model {model} for {wanted.capacity}")
        reserved = affinity.get("type") == "SPECIFIC_RESERVATION"
        if reserved != (wanted.capacity == "reservation") or affinity.get("type") not in (
            "SPECIFIC_RESERVATION",
            "NO_RESERVATION",
        ):
            yield Problem(id="GCP021", resource=template.name, message=f"affinity {affinity.get('type')}")
        if compact and (reserved or model == "FLEX_START"):
            yield Problem(id="GCP022", resource=template.name, message="compact placement beside what places by itself")
        if bool(template.inputs.get("resourcePolicies")) != bool(compact):
            yield Problem(id="GCP023", resource=template.name, message="its placement policy is not its own")
        if scheduling.get("onHostMaintenance") != "TERMINATE":
            yield Problem(id="GCP024", resource=template.name, message="a GPU machine cannot move")
        run_s = (scheduling.get("maxRunDuration") or {}).get("seconds", 0)
        if model == "FLEX_START" and not 0 < run_s <= _FLEX_START_S:
            yield Problem(id="GCP025", resource=template.name, message=f"flex-start for {run_s} s")
    if not compact and wanted.capacity in ("on-demand", "spot") and record.of(TEMPLATE):
        yield Problem(id="GCP028", resource="placement", message="no compact placement: nodes may be far apart")
    takes_workload_policy = wanted.instance.id in _WORKLOAD_POLICY_TYPES
    if takes_workload_policy and wanted.capacity == "flex-start" and not workload:
        yield Problem(id="GCP029", resource="placement", message="no workload policy: nodes may be far apart")
    for one in compact:
        policy = one.inputs["groupPlacementPolicy"]
        distance = policy.get("maxDistance")
        a3 = wanted.instance.id.startswith("a3-")
        if policy.get("collocation") != "COLLOCATED" or (
            distance is not None and not (2 if a3 else 1) <= distance <= 3
        ):
            yield Problem(id="GCP026", resource=one.name, message=f"policy {policy}")
    for one in workload:
        if wanted.capacity != "flex-start" or one.inputs["workloadPolicy"].get("type") != "HIGH_THROUGHPUT":
            yield Problem(id="GCP027", resource=one.name, message="workload policy out of place")


def _group(record: Record, wanted: Wanted) -> Iterator[Problem]:
    flex = wanted.capacity == "flex-start"
    requested = sum(one.inputs.get("resizeBy", 0) for one in record.of("gcp:compute/resizeRequest:ResizeRequest"))
    groups = record.of(GROUP)
    sizes = [one.inputs.get("targetSize", 0) for one in groups]
    if groups and sum(sizes) + requested != wanted.nodes:
        message = f"{sum(sizes) + requested} nodes, not {wanted.nodes}"
        yield Problem(id="GCP030", resource=groups[0].name, message=message)
    if len({str(one.inputs.get("zone")) for one in groups}) > 1:
        yield Problem(id="GCP035", resource=groups[0].name, message="its groups are in several zones")
    for one in groups:
        if one.inputs.get("targetSize", 0) > _GROUP_NODES:
            yield Problem(id="GCP034", resource=one.name, message=f"one group holds {_GROUP_NODES} machines")
        if flex and (one.inputs.get("instanceLifecyclePolicy") or {}).get("defaultActionOnFailure") != "DO_NOTHING":
            yield Problem(id="GCP031", resource=one.name, message="flex-start machines are not repaired")
        if (one.inputs.get("updatePolicy") or {}).get("type") != "OPPORTUNISTIC":
            yield Problem(id="GCP032", resource=one.name, message="a new template stops running jobs")
    if flex and wanted.instance.id.startswith("a3-") and wanted.nodes > _FLEX_START_A3_NODES:
        yield Problem(id="GCP033", resource="group", message=f"one request holds {_FLEX_START_A3_NODES} nodes")


def _lustre(record: Record, zone: str) -> Iterator[Problem]:
    for one in record.of(LUSTRE):
        inputs = one.inputs
        try:
            tier, size = int(inputs.get("perUnitStorageThroughput", 0)), int(inputs.get("capacityGib", 0))
        except (TypeError, ValueError):
            yield Problem(id="GCP040", resource=one.name, message="size or tier is no number")
            continue
        if tier not in _LUSTRE_STEP_GIB or size <= 0 or size % _LUSTRE_STEP_GIB.get(tier, 1):
            yield Problem(id="GCP041", resource=one.name, message=f"no {size} GiB at {tier} MB/s per TiB")
        name = str(inputs.get("filesystem"))
        if len(name) > _FILE_SYSTEM_NAME_LETTERS or not name.isalnum():
            yield Problem(id="GCP042", resource=one.name, message=f"file system name {name}")
        peerings = [peer.urn for peer in record.of("gcp:servicenetworking/connection:Connection")]
        # Somebody else's network is peered already.
        if record.of(NETWORK) and not set(peerings) & set(one.dependencies):
            yield Problem(id="GCP043", resource=one.name, message="does not wait for its network's peering")
        if inputs.get("location") != zone:
            yield Problem(id="GCP044", resource=one.name, message="is in another zone than the nodes")
        if inputs.get("deletionPolicy") != "PREVENT":
            yield Problem(id="GCP045", resource=one.name, message="can be deleted")
        if not inputs.get("kmsKey"):
            yield Problem(id="GCP046", resource=one.name, message="is not encrypted with the cluster's key")


def _access(record: Record) -> Iterator[Problem]:
    ranges = [ipaddress.ip_network(one.inputs["ipCidrRange"]) for one in record.of(SUBNETWORK)]
    for one in record.of(FIREWALL):
        for source in one.inputs.get("sourceRanges", []):
            if not isinstance(source, str) or source == _IAP_RANGE:
                continue
            network = ipaddress.ip_network(source)
            if not network.is_private:
                yield Problem(id="GCP050", resource=one.name, message=f"lets {source} in")
            # The one range that is no subnetwork's own is the peered one of Google's services.
            elif one.name.endswith("-internal") and network not in ranges:
                yield Problem(id="GCP057", resource=one.name, message=f"lets {source} in, which is no subnetwork's")
        if one.inputs.get("sourceRanges") == [_IAP_RANGE]:
            ports = [port for allow in one.inputs.get("allows", []) for port in allow.get("ports") or ["all"]]
            if ports != ["22"]:
                yield Problem(id="GCP058", resource=one.name, message=f"lets the proxy to ports {ports}")
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        if (one.inputs.get("metadata") or {}).get("enable-oslogin") != "TRUE":
            yield Problem(id="GCP051", resource=one.name, message="takes keys from the project's metadata")
        if any("accessConfigs" in interface for interface in one.inputs["networkInterfaces"]):
            yield Problem(id="GCP052", resource=one.name, message="has a public address")
    # Roles of our own are held to their permissions elsewhere.
    allowed = (*_PROJECT_ROLES, *(one.name for one in record.of(rules_gcp_services.CUSTOM_ROLE)))
    for one in record.of("gcp:projects/iAMMember:IAMMember"):
        role = str(one.inputs.get("role"))
        if role.rpartition("/")[2] not in allowed and role not in allowed:
            yield Problem(id="GCP053", resource=one.name, message=f"grants {role} on the whole project")
    for one in record.of(INSTANCE):
        if not (one.inputs.get("bootDisk") or {}).get("kmsKeySelfLink"):
            yield Problem(id="GCP054", resource=one.name, message="its disk is not encrypted with the cluster's key")
        shielded = one.inputs.get("shieldedInstanceConfig") or {}
        if not all(
            shielded.get(key) is True for key in ("enableSecureBoot", "enableVtpm", "enableIntegrityMonitoring")
        ):
            yield Problem(id="GCP059", resource=one.name, message="is no Shielded VM")
        if not (one.inputs.get("serviceAccount") or {}).get("email"):
            yield Problem(id="GCP064", resource=one.name, message="runs as the project's default account")
    for one in record.of(TEMPLATE):
        if not (one.inputs.get("serviceAccount") or {}).get("email"):
            yield Problem(id="GCP064", resource=one.name, message="runs as the project's default account")
        for disk in one.inputs["disks"]:
            image = str(disk.get("sourceImage"))
            if "kmsKeySelfLink" not in (disk.get("diskEncryptionKey") or {}):
                yield Problem(id="GCP054", resource=one.name, message="a disk is not encrypted with the cluster's key")
            if "/family/" in image:
                yield Problem(id="GCP055", resource=one.name, message="an image family moves")
            if one.inputs.get("machineType") == "a3-highgpu-8g" and image.startswith("ubuntu-os"):
                yield Problem(id="GCP056", resource=one.name, message="TCPX needs a kernel that no public image has")


def _data(record: Record) -> Iterator[Problem]:
    for one in record.of(BUCKET):
        if (
            one.inputs.get("publicAccessPrevention") != "enforced"
            or one.inputs.get("uniformBucketLevelAccess") is not True
        ):
            yield Problem(id="GCP060", resource=one.name, message="can be made public")
        if "defaultKmsKeyName" not in (one.inputs.get("encryption") or {}):
            yield Problem(id="GCP061", resource=one.name, message="is not encrypted with the cluster's key")
        if (one.inputs.get("versioning") or {}).get("enabled") is not True:
            yield Problem(id="GCP065", resource=one.name, message="keeps no overwritten object")
    for one in record.of("gcp:projects/service:Service"):
        if one.inputs.get("disableOnDestroy") is not False:
            yield Problem(id="GCP062", resource=one.name, message="is switched off for everybody at the end")
    for one in record.of("gcp:kms/cryptoKey:CryptoKey"):
        if not one.inputs.get("rotationPeriod"):
            yield Problem(id="GCP063", resource=one.name, message="does not rotate")
        if one.inputs.get("deletionPolicy") != "PREVENT":
            yield Problem(id="GCP066", resource=one.name, message="can be deleted, and all data with it")
