"""Configuration of the layers on AWS."""

from typing import Any

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cloud_bill import controller_of
from clusterwright.outputs.project.configuration.shared import (
    directory,
    monthly_budget_usd,
    prefixed,
    shared_values,
    users,
)
from clusterwright.plan.deployment import AwsExistingIds
from clusterwright.plan.record import Option, Plan

_MIB = 2.0**20
#: The default of the cluster layer.
_KUBERNETES_VERSION = "1.34"


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Return layer to full key to value."""
    layers = {
        "foundation": _foundation(option),
        "cluster": _cluster(plan, option, catalogue),
        "nodes": _nodes(option, catalogue),
    }
    return {
        layer: {
            "aws:region": option.deployment.region,
            **prefixed(option, layer, {**shared_values(plan, option, layer), **values}),
        }
        for layer, values in layers.items()
    }


def _foundation(option: Option) -> dict[str, Any]:
    deployment = option.deployment
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - checked before
    return {
        "availabilityZone": deployment.zone or f"{deployment.region}a",
        "vpcCidr": deployment.network_cidr or None,
        "nodeCount": option.cluster.nodes,
        "sharedStorage": {
            "capacityGib": file_system.capacity_gib,
            "throughputMbPerSPerTib": file_system.tier.mb_per_s_per_tib,
            "mountPath": "/shared",
        },
        "existingNetwork": _existing(option),
        "budgetUsdPerMonth": monthly_budget_usd(option),
    }


def _existing(option: Option) -> dict[str, Any]:
    existing = option.deployment.existing_network
    if not isinstance(existing, AwsExistingIds):
        return {}
    return {
        "vpcId": existing.vpc_id,
        "nodeSubnetId": existing.node_subnet_id,
        "serviceSubnetIds": list(existing.service_subnet_ids) if existing.service_subnet_ids else None,
        "keyArn": existing.key_arn,
        "bucketName": existing.bucket_name,
    }


def _cluster(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, Any]:
    node_type = _node_type(option, catalogue)
    if option.deployment.scheduler == "kubernetes":
        file_system = option.design.file_system
        assert file_system is not None  # noqa: S101 - checked before
        return {
            "nodeType": node_type,
            "sharedStorageGib": file_system.capacity_gib,
            "stopWhenIdleMinutes": _whole(option.deployment.stop_when_idle_minutes),
        }
    return {
        "partition": plan.cluster.partition,
        "nodeType": node_type,
        "controllerInstanceType": controller_of("aws"),
        **users(plan),
        **directory(plan),
    }


def _nodes(option: Option, catalogue: Catalogue) -> dict[str, Any]:
    deployment = option.deployment
    return {
        "nodeCount": option.cluster.nodes,
        "nodeType": _node_type(option, catalogue),
        "capacity": deployment.capacity,
        "reservationId": deployment.reservation or None,
        "timeToLiveHours": _whole(deployment.time_to_live_hours),
        "stopWhenIdleMinutes": _whole(deployment.stop_when_idle_minutes),
    }


def _whole(amount: float | None) -> int | None:
    return None if amount is None else max(1, round(amount))


def _node_type(option: Option, catalogue: Catalogue) -> dict[str, Any]:
    cluster = option.cluster
    instance = catalogue.instances[cluster.instance]
    image = instance.image
    if option.deployment.scheduler == "kubernetes" and instance.kubernetes_image is not None:
        image = instance.kubernetes_image.replace("KUBERNETES_VERSION", _KUBERNETES_VERSION)
    block = catalogue.capacity(instance, "capacity-block")
    return {
        "instanceType": cluster.instance,
        "gpusPerNode": cluster.gpus_per_node,
        "gpuType": catalogue.accelerators[instance.accelerator].gres_type,
        "cpus": instance.vcpus,
        "memoryMib": None if instance.memory_bytes is None else int(instance.memory_bytes // _MIB),
        "fabric": instance.fabric_kind,
        "image": image,
        # Without EFA there is one card with one ordinary interface.
        "networkCards": instance.network_cards or 1,
        "fabricInterfaces": instance.fabric_interfaces or 0,
        "cardZeroHasFabric": bool(instance.card_zero_has_fabric),
        "maxInterfacesPerCard": instance.interfaces_per_card or 1,
        "software": instance.vendor_software,
        "capacities": [catalogue.capacity_objects[one].kind for one in instance.capacity_objects] or None,
        "capacityBlockMaxNodes": block.max_nodes if block else None,
    }
