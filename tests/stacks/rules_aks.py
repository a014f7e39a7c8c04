"""What must hold for AKS and its pools of GPU nodes."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from clusterwright.checks.preflight.records import Record, Resource, texts

from .kubernetes_nodes import AKS_POOL
from .rules import Problem, Wanted

CLUSTER = "azure-native:containerservice:ManagedCluster"
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
_RFC_3339 = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def aks_problems(record: Record, wanted: Wanted) -> list[Problem]:
    """Return everything that is wrong with cluster and pools."""
    return [
        *_cluster(record),
        *_addresses(record, wanted),
        *(problem for one in record.of(AKS_POOL) for problem in _pool(one, wanted)),
        *_grants(record),
        *_watchdog(record),
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
