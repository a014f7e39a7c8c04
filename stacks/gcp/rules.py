"""Rules between settings that Google would refuse only after minutes, or not refuse at all."""

from typing import TYPE_CHECKING

import limits

if TYPE_CHECKING:
    from settings import NodeType, Settings


def problems_of(settings: "Settings") -> list[str]:
    """Every reason why these settings cannot work, one sentence each."""
    return [
        *_zone(settings),
        *_fabric(settings.node_type),
        *_image(settings.node_type),
        *_lustre(settings),
        *_capacity(settings),
        *_placement(settings),
        *_addresses(settings),
    ]


def warnings_of(settings: "Settings") -> list[str]:
    """What may not work because the published facts are silent or disagree."""
    found: list[str] = []
    storage = settings.shared_storage
    if storage is not None:
        tier = limits.LUSTRE_TIERS[storage.throughput_mb_per_s_per_tib]
        if storage.capacity_gib > tier.documented_max_gib:
            found.append(
                f"sharedStorage.capacityGib: above {tier.documented_max_gib} GiB Google's pages disagree on maximum "
                f"and increment of this tier; the service may refuse {storage.capacity_gib} GiB"
            )
    if settings.capacity.model == "on-demand" and settings.node_type.instance_type in limits.ON_DEMAND_NOT_LISTED_TYPES:
        found.append(
            f"capacity: Google's guide for {settings.node_type.instance_type} lists reservation, flex-start and spot, "
            "not on-demand; Google may refuse the nodes"
        )
    if "/family/" in settings.node_type.image:
        found.append("nodeType.image: an image family moves; name one image so that nodes made later are the same")
    return found


def _zone(settings: "Settings") -> list[str]:
    if settings.zone and settings.region and settings.zone[:-2] != settings.region:
        return [f"zone: {settings.zone} is not in gcp:region {settings.region}; nodes and Lustre share one zone"]
    return []


def _fabric(node_type: "NodeType") -> list[str]:
    machine_type = node_type.instance_type
    if limits.family_of(machine_type) in limits.UNSUPPORTED_FAMILIES:
        return [f"nodeType.instanceType: {machine_type} needs NVLink-domain placement, which this stack does not make"]
    expected = limits.FABRIC_OF_MACHINE_TYPE.get(machine_type, "none")
    if node_type.fabric not in limits.FABRICS or not machine_type:
        return []
    if node_type.fabric != expected:
        return [f"nodeType.fabric: {machine_type} has the fabric {expected}, got {node_type.fabric}"]
    pattern = limits.FABRICS[expected]
    wanted = {
        "gpuNetworks": (pattern.extra_gvnic_networks, node_type.gpu_networks),
        "rdmaSubnets": (pattern.rdma_subnets, node_type.rdma_subnets),
        "rdma": (pattern.rdma_subnets > 0, node_type.rdma),
        # An unreadable MTU is 0 and has been reported already.
        "mtu": ((pattern.mtu_bytes if node_type.mtu_bytes else None) or node_type.mtu_bytes, node_type.mtu_bytes),
    }
    found = [
        f"nodeType.{key}: {machine_type} needs {str(want).lower()}, got {str(got).lower()}"
        for key, (want, got) in wanted.items()
        if want != got
    ]
    if node_type.nic_type == "MRDMA" and not pattern.rdma_subnets:
        found.append(f"nodeType.nicType: {machine_type} has no RDMA interfaces; use GVNIC")
    return found


def _image(node_type: "NodeType") -> list[str]:
    if limits.FABRIC_OF_MACHINE_TYPE.get(node_type.instance_type) != "tcpx":
        wanted = "an image with the NVIDIA driver, on Ubuntu 24.04 or the like (README.md, Image)"
        return [] if node_type.image else [f"nodeType.image: is required: {wanted}"]
    own_image = "projects/YOUR-PROJECT/global/images/YOUR-IMAGE"
    reason = (
        "GPUDirect-TCPX needs a kernel that no public image has: build an image with it (README.md, Image), "
        f"and give it as {own_image}"
    )
    parts = node_type.image.removeprefix("https://www.googleapis.com/compute/v1/").split("/")
    project = parts[1] if parts[0] == "projects" and len(parts) > 1 else parts[0] if len(parts) > 1 else ""
    if not project or project in limits.PUBLIC_IMAGE_PROJECTS:
        return [f"nodeType.image: {reason}; got {node_type.image or 'nothing'}"]
    return []


def _lustre(settings: "Settings") -> list[str]:
    storage = settings.shared_storage
    if storage is None or not storage.throughput_mb_per_s_per_tib:
        return []
    tier = limits.LUSTRE_TIERS.get(storage.throughput_mb_per_s_per_tib)
    if tier is None:
        tiers = ", ".join(str(tier) for tier in limits.LUSTRE_TIERS)
        return [
            f"sharedStorage.throughputMbPerSPerTib: expected one of {tiers}, got {storage.throughput_mb_per_s_per_tib}"
        ]
    if storage.capacity_gib and storage.capacity_gib % tier.step_gib:
        nearest = -(-storage.capacity_gib // tier.step_gib) * tier.step_gib
        return [
            f"sharedStorage.capacityGib: at {storage.throughput_mb_per_s_per_tib} MB/s per TiB a size is a multiple of "
            f"{tier.step_gib} GiB, got {storage.capacity_gib}; the next size is {nearest}"
        ]
    return []


def _capacity(settings: "Settings") -> list[str]:
    capacity, machine_type = settings.capacity, settings.node_type.instance_type
    found: list[str] = []
    if capacity.model == "reservation" and capacity.reservation_id is None:
        found.append("reservationId: capacity reservation needs the name of a reservation")
    if capacity.model != "reservation" and capacity.reservation_id is not None:
        found.append(f"reservationId: set, but capacity is {capacity.model}; choose one of the two")
    is_flex_on_a3 = capacity.model == "flex-start" and limits.family_of(machine_type) == "a3"
    if is_flex_on_a3 and settings.node_count > limits.FLEX_START_MAX_A3_NODES:
        found.append(
            f"nodeCount: one flex-start request on A3 is capped at {limits.FLEX_START_MAX_A3_NODES} nodes, "
            f"got {settings.node_count}"
        )
    return found


def _placement(settings: "Settings") -> list[str]:
    capacity, node_type = settings.capacity, settings.node_type
    family = limits.family_of(node_type.instance_type)
    distance = capacity.placement_max_distance
    if not has_compact_placement(settings):
        if distance is None:
            return []
        return [
            f"placementMaxDistance: set, but capacity {capacity.model} on {node_type.instance_type} makes no compact "
            "placement policy (a reservation brings its own placement); remove one of the two"
        ]
    found: list[str] = []
    if distance is not None and family == "a3" and distance < limits.MAX_DISTANCE_MIN_A3:
        found.append(f"placementMaxDistance: A3 supports 2 and 3, got {distance}")
    if node_type.placement_max_nodes is not None and settings.node_count > node_type.placement_max_nodes:
        found.append(
            f"nodeCount: one compact placement policy holds {node_type.placement_max_nodes} nodes of "
            f"{node_type.instance_type}, got {settings.node_count}; use a reservation or fewer nodes"
        )
    return found


def has_compact_placement(settings: "Settings") -> bool:
    """Whether the nodes get a compact placement policy: never together with a reservation or flex-start."""
    family = limits.family_of(settings.node_type.instance_type)
    return settings.capacity.model in {"on-demand", "spot"} and family in limits.COMPACT_FAMILIES


def has_workload_policy(settings: "Settings") -> bool:
    """Whether the instance group gets a high-throughput workload policy instead."""
    is_supported = settings.node_type.instance_type in limits.FLEX_START_WORKLOAD_POLICY_TYPES
    return settings.capacity.model == "flex-start" and is_supported


def _addresses(settings: "Settings") -> list[str]:
    available = settings.subnets[0].num_addresses - limits.RESERVED_ADDRESSES_PER_SUBNET - 1
    if settings.node_count > available:
        return [
            f"networkCidr: {settings.network_cidr} gives every network {available} addresses for nodes, "
            f"got nodeCount {settings.node_count}; use a larger range"
        ]
    return []
