"""Configuration of the layers on Google Cloud."""

from typing import Any

from clusterwright.catalog.offerings import zone_verdict
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cloud_bill import controller_of
from clusterwright.outputs.project.configuration.shared import (
    directory,
    monthly_budget_usd,
    prefixed,
    shared_values,
    users,
)
from clusterwright.plan.deployment import GcpExistingIds
from clusterwright.plan.findings.slices import by_node_pools
from clusterwright.plan.record import Option, Plan

_MIB = 2.0**20
_SHARED_PATH = "/shared"


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Return layer to full key to value."""
    node_type = _node_type(option, catalogue)
    place = {"zone": _zone(option, catalogue)}
    layers = {
        "foundation": {"nodeCount": option.cluster.nodes, "nodeType": node_type, **_foundation(option)},
        "cluster": _cluster(plan, option, node_type),
        "nodes": {"nodeCount": option.cluster.nodes, **_nodes(plan, option, node_type, catalogue)},
    }
    return {
        layer: {
            "gcp:region": option.deployment.region,
            **prefixed(option, layer, {**shared_values(plan, option, layer), **place, **values}),
        }
        for layer, values in layers.items()
    }


def _zone(option: Option, catalogue: Catalogue) -> str:
    """Return the zone: as the plan has it, else the region's first that is listed for the type, or known at all."""
    deployment = option.deployment
    listed = [
        zone
        for zone in catalogue.instances[option.cluster.instance].regions
        if zone.startswith(f"{deployment.region}-")
    ]
    listed += zone_verdict(catalogue, "gcp", deployment.region, "").known
    return deployment.zone or next(iter(listed), f"{deployment.region}-a")


def _foundation(option: Option) -> dict[str, Any]:
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - checked before
    return {
        "networkCidr": option.deployment.network_cidr or None,
        "existingNetwork": _existing(option),
        "sharedStorage": {
            "capacityGib": file_system.capacity_gib,
            "throughputMbPerSPerTib": file_system.tier.mb_per_s_per_tib,
        },
        "budgetUsdPerMonth": monthly_budget_usd(option),
    }


def _existing(option: Option) -> dict[str, Any]:
    existing = option.deployment.existing_network
    if not isinstance(existing, GcpExistingIds):
        return {}
    return {
        "network": existing.network_id,
        "subnetwork": existing.subnetwork_id,
        "gpuSubnetworks": list(existing.gpu_subnetwork_ids) if existing.gpu_subnetwork_ids else None,
        "keyId": existing.key_id,
        "bucketName": existing.bucket_name,
    }


def _cluster(plan: Plan, option: Option, node_type: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "nodeType": node_type,
        # The grants of a key that others use too are not this cluster's to make and to remove.
        "grantKeyUse": False if _existing(option).get("keyId") else None,
    }
    if option.deployment.scheduler == "kubernetes":
        file_system = option.design.file_system
        assert file_system is not None  # noqa: S101 - checked before
        return {
            **values,
            "sharedStorageGib": file_system.capacity_gib,
            "stopWhenIdleMinutes": _whole(option.deployment.stop_when_idle_minutes),
        }
    return {
        **values,
        "partition": plan.cluster.partition,
        "sharedPath": _SHARED_PATH,
        "controllerInstanceType": controller_of("gcp"),
        **users(plan, "google_account"),
        **directory(plan),
    }


def _nodes(plan: Plan, option: Option, node_type: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    deployment = option.deployment
    instance = catalogue.instances[option.cluster.instance]
    # What the catalogue calls the image of a TPU host is the version of its software; it takes no image.
    is_tpu = instance.accelerator.startswith("tpu-")
    values: dict[str, Any] = {
        "nodeType": {**node_type, "image": None if is_tpu else instance.image},
        "capacity": deployment.capacity,
        "reservationId": deployment.reservation or None,
        "timeToLiveHours": _whole(deployment.time_to_live_hours),
        "stopWhenIdleMinutes": _whole(deployment.stop_when_idle_minutes),
    }
    if deployment.scheduler == "kubernetes":
        return {**values, "gpuParts": _gpu_parts(plan, option)}
    return {
        **values,
        "partition": plan.cluster.partition,
        "sharedPath": _SHARED_PATH,
        "tpuRuntimeVersion": instance.image if is_tpu else None,
    }


def _gpu_parts(plan: Plan, option: Option) -> dict[str, str | int]:
    """Return nodes beside the work whose GPUs are divided or shared, and how; empty where node pools cannot."""
    software = plan.software_of(option.target)
    if software is None or not by_node_pools(software, option):
        return {}
    return {"nodes": option.cluster.divided_nodes, **software.pool_parts(option.cluster.gpus_per_node)}


def _whole(amount: float | None) -> int | None:
    return None if amount is None else max(1, round(amount))


def _node_type(option: Option, catalogue: Catalogue) -> dict[str, Any]:
    cluster = option.cluster
    instance = catalogue.instances[cluster.instance]
    return {
        "instanceType": cluster.instance,
        "gpusPerNode": cluster.gpus_per_node,
        "gpuType": catalogue.accelerators[instance.accelerator].gres_type,
        "cpus": instance.vcpus,
        "memoryMib": None if instance.memory_bytes is None else int(instance.memory_bytes // _MIB),
        "fabric": instance.fabric_kind,
        "nicType": instance.nic_type,
        "gpuNetworks": instance.gpu_networks,
        "mtu": None if instance.mtu_bytes is None else int(instance.mtu_bytes),
        "rdma": instance.fabric_kind == "roce",
        "rdmaSubnets": instance.rdma_subnets or 0,
        "placementMaxNodes": instance.placement_max_nodes,
    }
