"""Configuration of the layers on Google Cloud."""

from typing import Any

from clusterwright.catalog.offerings import zone_verdict
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cloud_bill import controller_of
from clusterwright.outputs.project.configuration.shared import monthly_budget_usd, prefixed, shared_values, users
from clusterwright.plan.deployment import GcpExistingIds
from clusterwright.plan.record import Option, Plan

_MIB = 2.0**20
_SHARED_PATH = "/shared"


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Return layer to full key to value."""
    node_type = _node_type(option, catalogue)
    place = {"zone": _zone(option, catalogue)}
    layers = {
        "foundation": {"nodeCount": option.nodes, "nodeType": node_type, **_foundation(option)},
        "cluster": _cluster(plan, option, node_type),
        "nodes": {"nodeCount": option.nodes, **_nodes(plan, option, node_type, catalogue)},
    }
    return {
        layer: {
            "gcp:region": option.region,
            **prefixed(option, layer, {**shared_values(plan, option, layer), **place, **values}),
        }
        for layer, values in layers.items()
    }


def _zone(option: Option, catalogue: Catalogue) -> str:
    """Return the zone: as the plan has it, else the region's first that is listed for the type, or known at all."""
    listed = [zone for zone in catalogue.instances[option.instance].regions if zone.startswith(f"{option.region}-")]
    listed += zone_verdict(catalogue, "gcp", option.region, "").known
    return option.zone or next(iter(listed), f"{option.region}-a")


def _foundation(option: Option) -> dict[str, Any]:
    file_system = option.file_system
    assert file_system is not None  # noqa: S101 - checked before
    return {
        "networkCidr": option.network_cidr or None,
        "existingNetwork": _existing(option),
        "sharedStorage": {
            "capacityGib": file_system.capacity_gib,
            "throughputMbPerSPerTib": file_system.tier.mb_per_s_per_tib,
        },
        "budgetUsdPerMonth": monthly_budget_usd(option),
    }


def _existing(option: Option) -> dict[str, Any]:
    existing = option.existing_network
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
    if option.scheduler == "kubernetes":
        file_system = option.file_system
        assert file_system is not None  # noqa: S101 - checked before
        return {
            **values,
            "sharedStorageGib": file_system.capacity_gib,
            "stopWhenIdleMinutes": _whole(option.stop_when_idle_minutes),
        }
    return {
        **values,
        "partition": plan.cluster.partition,
        "sharedPath": _SHARED_PATH,
        "controllerInstanceType": controller_of("gcp"),
        **users(plan, "google_account"),
    }


def _nodes(plan: Plan, option: Option, node_type: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    instance = catalogue.instances[option.instance]
    # What the catalogue calls the image of a TPU host is the version of its software; it takes no image.
    is_tpu = instance.accelerator.startswith("tpu-")
    values: dict[str, Any] = {
        "nodeType": {**node_type, "image": None if is_tpu else instance.image},
        "capacity": option.capacity,
        "reservationId": option.reservation or None,
        "timeToLiveHours": _whole(option.time_to_live_hours),
        "stopWhenIdleMinutes": _whole(option.stop_when_idle_minutes),
    }
    if option.scheduler == "kubernetes":
        return values
    return {
        **values,
        "partition": plan.cluster.partition,
        "sharedPath": _SHARED_PATH,
        "tpuRuntimeVersion": instance.image if is_tpu else None,
    }


def _whole(amount: float | None) -> int | None:
    return None if amount is None else max(1, round(amount))


def _node_type(option: Option, catalogue: Catalogue) -> dict[str, Any]:
    instance = catalogue.instances[option.instance]
    return {
        "instanceType": option.instance,
        "gpusPerNode": option.gpus_per_node,
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
