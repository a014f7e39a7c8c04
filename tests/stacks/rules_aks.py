"""What must hold for AKS, for its pools of GPU nodes, and for what pods of jobs reach."""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource, texts
from clusterwright.outputs.serving.pools import DECODE, NAME_LABEL, PREFILL, ROLE_LABEL, WHOLE

from .kubernetes_nodes import AKS_POOL
from .rules import Problem, Wanted

CLUSTER = "azure-native:containerservice:ManagedCluster"
_REPLICAS = [{NAME_LABEL: "service", ROLE_LABEL: role} for role in (WHOLE, PREFILL, DECODE)]
#: Reserved on InfiniBand sizes (Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25).
_RDMA_NETWORK = IPv4Network("172.16.0.0/16")
#: Machines that one scale set, and so one InfiniBand domain, holds on request (same page).
_MOST_NODES = 300
WORKFLOW = "azure-native:logic:Workflow"
_POOLS = "Microsoft.ContainerService/managedClusters/agentPools"
_WATCHDOG_ACTIONS = {
    f"{_POOLS}/read",
    f"{_POOLS}/machines/read",
    f"{_POOLS}/deleteMachines/action",
    "Microsoft.Insights/metrics/read",
}
#: What answers with the identity and settings of a node (Microsoft, "Block pod access to the Azure Instance Metadata
#: Service (IMDS) endpoint", 2024-10-23, and "What is IP address 168.63.129.16?"): address, protocol, port.
_OF_THE_NODE = (("169.254.169.254", "TCP", 80), ("168.63.129.16", "TCP", 80), ("168.63.129.16", "TCP", 32526))
#: What jobs need: names from Azure's own server and from the cluster's, a registry, another pod, the file system.
_NEEDED = (
    ("168.63.129.16", "UDP", 53),
    ("168.63.129.16", "TCP", 53),
    ("10.132.0.10", "UDP", 53),
    ("203.0.113.9", "TCP", 443),
    ("10.40.0.77", "TCP", 29500),
    ("10.40.128.4", "TCP", 988),
)
_RFC_3339 = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def aks_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with cluster and pools."""
    return [
        *_cluster(record),
        *_addresses(record, wanted),
        *(problem for one in record.of(AKS_POOL) for problem in _pool(one, wanted)),
        *_grants(record),
        *_watchdog(record),
        *_jobs(record),
    ]


def _cluster(record: Record) -> Iterator[Problem]:
    for one in record.of(CLUSTER):
        inputs = one.inputs
        access, security = inputs.get("apiServerAccessProfile") or {}, inputs.get("securityProfile") or {}
        if access.get("enablePrivateCluster") is not True and not access.get("authorizedIPRanges"):
            yield Problem(id="AKS001", resource=one.name, message="the API server is open to the Internet")
        if inputs.get("disableLocalAccounts") is not True:
            yield Problem(id="AKS002", resource=one.name, message="certificates that cannot be taken back")
        kms = security.get("azureKeyVaultKms") or {}
        if kms.get("enabled") is not True or not kms.get("keyId"):
            yield Problem(id="AKS003", resource=one.name, message="secrets are not under the cluster's own key")
        if kms.get("keyVaultNetworkAccess") == "Private" and access.get("enableVnetIntegration") is not True:
            yield Problem(id="AKS004", resource=one.name, message="the API server does not reach a closed vault")
        if (security.get("workloadIdentity") or {}).get("enabled") is not True:
            yield Problem(id="AKS005", resource=one.name, message="pods get the rights of the node")
        if not inputs.get("diskEncryptionSetID"):
            yield Problem(id="AKS006", resource=one.name, message="disks are not under the cluster's own key")
        network = inputs.get("networkProfile") or {}
        if IPv4Network(network.get("serviceCidr", "0.0.0.0/0")).overlaps(_RDMA_NETWORK):
            yield Problem(id="AKS007", resource=one.name, message="serviceCidr overlaps the RDMA network")
        if network.get("networkPluginMode") == "overlay":
            yield Problem(id="AKS010", resource=one.name, message="the subnet's rules shut the pods of an overlay out")
        if network.get("outboundType") != "userAssignedNATGateway":
            yield Problem(id="AKS008", resource=one.name, message="nodes get a public way out of their own")
        audited = [
            log.get("category")
            for setting in record.of("azure-native:monitor:DiagnosticSetting")
            if one.name in str(setting.inputs.get("resourceUri", ""))
            for log in setting.inputs.get("logs") or []
        ]
        if not {"kube-audit", "kube-audit-admin"} & set(audited):
            yield Problem(id="AKS009", resource=one.name, message="there is no audit log")


def _addresses(record: Record, wanted: Wanted) -> Iterator[Problem]:
    for one in record.of(CLUSTER):
        network = one.inputs.get("networkProfile") or {}
        services, names = network.get("serviceCidr"), network.get("dnsServiceIP")
        if services and IPv4Address(names) not in IPv4Network(services):
            yield Problem(id="AKS011", resource=one.name, message=f"names are answered by {names}, outside {services}")
        system = one.inputs.get("agentPoolProfiles") or []
        pods = {int(pool.get("maxPods") or 0) for pool in (*system, *(each.inputs for each in record.of(AKS_POOL)))}
        taken = (wanted.nodes + sum(pool.get("count", 0) for pool in system)) * (1 + max(pods))
        for subnet in record.of("azure-native:network:Subnet"):
            room = IPv4Network(subnet.inputs["addressPrefix"]).num_addresses - 5  # Azure keeps five of a subnet.
            if subnet.name.endswith("-nodes") and network.get("networkPluginMode") != "overlay" and taken > room:
                message = f"nodes and their pods take {taken} addresses, and {subnet.name} has {room}"
                yield Problem(id="AKS012", resource=one.name, message=message)


def _pool(one: Resource, wanted: Wanted) -> Iterator[Problem]:
    inputs = one.inputs
    if inputs.get("enableAutoScaling") is not False:
        yield Problem(id="AKS020", resource=one.name, message="the autoscaler takes a node of a running job")
    if inputs.get("enableNodePublicIP") is not False:
        yield Problem(id="AKS021", resource=one.name, message="nodes have public addresses")
    if len(inputs.get("availabilityZones") or []) != 1:
        yield Problem(id="AKS022", resource=one.name, message="nodes are in several zones")
    if inputs.get("vmSize") != wanted.instance.id:
        yield Problem(id="AKS023", resource=one.name, message=f"is a {inputs.get('vmSize')}")
    if wanted.instance.fabric_interfaces and inputs.get("count", 0) > _MOST_NODES:
        yield Problem(id="AKS024", resource=one.name, message=f"InfiniBand joins {_MOST_NODES} machines of a scale set")
    spot = inputs.get("scaleSetPriority") == "Spot"
    if spot != (wanted.capacity == "spot"):
        yield Problem(id="AKS025", resource=one.name, message=f"{inputs.get('scaleSetPriority')} for {wanted.capacity}")
    if spot and (not inputs.get("scaleSetEvictionPolicy") or inputs.get("spotMaxPrice") != -1):
        yield Problem(id="AKS026", resource=one.name, message="what happens at eviction is left open")
    reserved = bool(inputs.get("capacityReservationGroupID"))
    if reserved and wanted.capacity != "block-reservation" and "_ND" in wanted.instance.id:
        yield Problem(id="AKS027", resource=one.name, message="on-demand capacity reservation takes no ND size")
    if inputs.get("proximityPlacementGroupID"):
        yield Problem(id="AKS028", resource=one.name, message="a proximity group beside the scale set's own placement")
    upgrade = inputs.get("upgradeSettings") or {}
    if upgrade.get("maxSurge") != "0":
        yield Problem(id="AKS029", resource=one.name, message="an upgrade wants spare nodes that nobody has")


def _grants(record: Record) -> Iterator[Problem]:
    for one in record.of("azure-native:authorization:RoleAssignment"):
        scope = str(one.inputs.get("scope", ""))
        if scope.count("/") in (2, 4) and "/resourceGroups" in f"{scope}/resourceGroups":
            yield Problem(id="AKS040", resource=one.name, message=f"is a grant on {scope}")


def _watchdog(record: Record) -> Iterator[Problem]:
    for one in record.of("azure-native:authorization:RoleDefinition"):
        actions = {action for permission in one.inputs["permissions"] for action in permission.get("actions", ())}
        if not actions <= _WATCHDOG_ACTIONS:
            more = ", ".join(sorted(actions - _WATCHDOG_ACTIONS))
            yield Problem(id="AKS050", resource=one.name, message=f"allows {more}")
    for one in record.of("azure-native:authorization:RoleAssignment"):
        if "watchdog-pools" in one.name and "/agentPools/" not in str(one.inputs.get("scope")):
            yield Problem(id="AKS051", resource=one.name, message="may delete machines of other pools")
    watched = "".join(text for one in record.of(WORKFLOW) for text, _ in texts(one.inputs.get("parameters")))
    for one in record.of(AKS_POOL):
        expiry = (one.inputs.get("tags") or {}).get("expires-at")
        if expiry is not None and re.fullmatch(_RFC_3339, str(expiry)) is None:
            yield Problem(
                id="AKS052", resource=one.name, message=f"expires at {expiry}, which the watchdog cannot read"
            )
        if expiry is not None and not any("expires-at" in path for path in one.ignore_changes):
            yield Problem(id="AKS053", resource=one.name, message="every `up` would put off its expiry")
        if (expiry is not None or record.of(WORKFLOW)) and f"/{one.name}" not in watched:
            yield Problem(id="AKS054", resource=one.name, message="nobody watches it")
    for one in record.of(WORKFLOW):
        if one.inputs.get("state") != "Enabled":
            yield Problem(id="AKS055", resource=one.name, message="is switched off")


def _jobs(record: Record) -> Iterator[Problem]:
    """AKS itself lets every pod ask the metadata service, so that network policies keep jobs from it."""
    for namespace in record.of("kubernetes:core/v1:Namespace"):
        metadata = namespace.inputs["metadata"]
        if (metadata.get("labels") or {}).get("pod-security.kubernetes.io/enforce") != "privileged":
            continue
        policies = [
            one.inputs["spec"]
            for one in record.of("kubernetes:networking.k8s.io/v1:NetworkPolicy")
            if one.inputs["metadata"]["namespace"] == metadata["name"]
        ]
        for labels in ({}, {"app": "job"}, *_REPLICAS):
            for address, protocol, port in _OF_THE_NODE:
                if _reaches(policies, labels, address, protocol, port):
                    message = f"pods labelled {labels} reach {address}:{port}, and have the node's identity"
                    yield Problem(id="AKS013", resource=namespace.name, message=message)
        for address, protocol, port in _NEEDED:
            if not _reaches(policies, {"app": "job"}, address, protocol, port):
                yield Problem(
                    id="AKS014", resource=namespace.name, message=f"jobs do not reach {address}:{port} by {protocol}"
                )
            if any(_reaches(policies, one, address, protocol, port) for one in _REPLICAS):
                message = f"replicas of a service reach {address}:{port}, which their own policies leave closed"
                yield Problem(id="AKS015", resource=namespace.name, message=message)


def _reaches(
    policies: list[Mapping[str, Any]], labels: Mapping[str, str], address: str, protocol: str, port: int
) -> bool:
    """Tell whether a pod reaches an address, as Kubernetes decides: anything is open until a policy selects the pod."""
    selected = [
        one
        for one in policies
        if "Egress" in (one.get("policyTypes") or ()) and _selects(one.get("podSelector") or {}, labels)
    ]
    if not selected:
        return True
    target = IPv4Address(address)
    for rule in (rule for one in selected for rule in one.get("egress") or ()):
        ports = rule.get("ports") or [{"protocol": protocol, "port": port}]
        blocks = [
            peer["ipBlock"] for peer in rule.get("to") or [{"ipBlock": {"cidr": "0.0.0.0/0"}}] if "ipBlock" in peer
        ]
        if any(one.get("protocol", "TCP") == protocol and one.get("port", port) == port for one in ports) and any(
            target in IPv4Network(block["cidr"])
            and not any(target in IPv4Network(less) for less in block.get("except") or ())
            for block in blocks
        ):
            return True
    return False


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for one in selector.get("matchExpressions") or ():
        value, values = labels.get(one["key"]), one.get("values") or ()
        fits = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not fits[one["operator"]]:
            return False
    return True
