"""Configuration of the layers on Azure."""

from ipaddress import IPv4Network
from typing import Any

from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.facility.cloud_bill import controller_of
from clusterwright.outputs.project.configuration.shared import (
    directory,
    monthly_budget_usd,
    prefixed,
    shared_values,
    users,
)
from clusterwright.plan.deployment import AzureExistingIds
from clusterwright.plan.record import Option, Plan

_MIB = 2.0**20
_GIB_PER_TIB = 1024
#: Azure's limit without a support request; the catalogue holds the limit with one.
_SCALE_SET_NODES = 100


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Return the configuration of every layer: full key to value, in the order in which it is written.

    Args:
        plan: the plan.
        option: its option for Azure.
        catalogue: facts of the instance type.
    """
    cluster, deployment = option.cluster, option.deployment
    instance = catalogue.instances[cluster.instance]
    gpu_type = catalogue.accelerators[instance.accelerator].gres_type
    place = {"location": deployment.region, "zone": deployment.zone or "1"}
    node = {"nodeType": _node_type(option, instance, gpu_type)}
    by_layer: dict[str, dict[str, Any]] = {
        "foundation": {"nodeCount": cluster.nodes, **_foundation(option)},
        "cluster": {**node, **_CLUSTER[deployment.scheduler](plan, option)},
        "nodes": {"nodeCount": cluster.nodes, **node, **_nodes(option)},
    }
    return {
        layer: prefixed(option, layer, {**_first(plan, option, layer, place), **values, **_last(plan, option, layer)})
        for layer, values in by_layer.items()
    }


def _first(plan: Plan, option: Option, layer: str, place: dict[str, Any]) -> dict[str, Any]:
    shared = shared_values(plan, option, layer)
    return {"clusterName": shared.pop("clusterName"), **place} | {
        key: value for key, value in shared.items() if key != "tags"
    }


def _last(plan: Plan, option: Option, layer: str) -> dict[str, Any]:
    return {"tags": shared_values(plan, option, layer)["tags"]}


def _foundation(option: Option) -> dict[str, Any]:
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - every cloud has one
    return {
        "vnetAddressSpace": option.deployment.network_cidr or None,
        "existingNetwork": _existing(option),
        "sharedStorage": {
            "capacityTib": file_system.capacity_gib // _GIB_PER_TIB,
            "throughputMbPerSPerTib": file_system.tier.mb_per_s_per_tib,
            "mountPath": "/shared",
        },
        "budgetUsdPerMonth": monthly_budget_usd(option),
    }


def _existing(option: Option) -> dict[str, Any] | None:
    ids = option.deployment.existing_network
    if not isinstance(ids, AzureExistingIds):
        return None
    return {
        "virtualNetworkId": ids.virtual_network_id,
        "nodeSubnetId": ids.node_subnet_id,
        "serviceSubnetId": ids.service_subnet_id,
        "lustreSubnetId": ids.lustre_subnet_id,
        "vaultZoneId": ids.vault_zone_id,
        "blobZoneId": ids.blob_zone_id,
        "databaseZoneId": ids.database_zone_id,
        "keyVaultId": ids.key_vault_id,
        "keyUrl": ids.key_url,
        "storageAccountId": ids.storage_account_id,
        "containerName": ids.container_name,
    }


def _node_type(option: Option, instance: Instance, gpu_type: str) -> dict[str, Any]:
    cluster = option.cluster
    largest = max(cluster.nodes, _SCALE_SET_NODES)
    return {
        "instanceType": cluster.instance,
        "gpusPerNode": cluster.gpus_per_node,
        "gpuType": gpu_type,
        "cpus": instance.vcpus,
        "memoryMib": None if instance.memory_bytes is None else int(instance.memory_bytes // _MIB),
        "fabric": instance.fabric_kind,
        "fabricInterfaces": instance.fabric_interfaces,
        "maxNodesPerScaleSet": largest
        if instance.placement_max_nodes is None
        else min(largest, instance.placement_max_nodes),
        # The services of managed Kubernetes choose the image that fits their version.
        "image": instance.image if option.deployment.scheduler == "slurm" else None,
    }


def _slurm(plan: Plan, _option: Option) -> dict[str, Any]:
    return {
        "controllerInstanceType": controller_of("azure"),
        "partition": plan.cluster.partition,
        **users(plan, "entra_object_id"),
        **directory(plan),
    }


def _kubernetes(_plan: Plan, option: Option) -> dict[str, Any]:
    deployment = option.deployment
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - every cloud has one
    return {
        "sharedStorageGib": file_system.capacity_gib,
        "stopWhenIdleMinutes": _whole(deployment.stop_when_idle_minutes),
        "serviceCidr": deployment.service_cidr or None,
        # The foundation leaves the end of its network free.
        "apiServerCidr": _last_part(deployment.network_cidr) if deployment.network_cidr else None,
        # A network that exists gets no Bastion, through which charts would come from outside.
        "apiFromOutside": False if _has_network(option) else None,
    }


def _has_network(option: Option) -> bool:
    ids = option.deployment.existing_network
    return isinstance(ids, AzureExistingIds) and bool(ids.virtual_network_id)


def _last_part(cidr: str) -> str:
    """Return the last /28 of a range.

    >>> _last_part("10.40.0.0/16")
    '10.40.255.240/28'
    """
    network = IPv4Network(cidr)
    return f"{network.broadcast_address - 15}/28"


#: What only the cluster layer of one scheduler is reported.
_CLUSTER = {"slurm": _slurm, "kubernetes": _kubernetes}


def _nodes(option: Option) -> dict[str, Any]:
    deployment = option.deployment
    return {
        "capacity": deployment.capacity,
        "reservationId": deployment.reservation or None,
        "timeToLiveHours": _whole(deployment.time_to_live_hours),
        "stopWhenIdleMinutes": _whole(deployment.stop_when_idle_minutes),
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else max(1, round(value))
