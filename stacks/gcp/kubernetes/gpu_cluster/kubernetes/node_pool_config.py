"""What the node pools for the system and for GPUs have in common."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import container

from gpu_cluster import limits
from gpu_cluster.kubernetes.control_plane import SCOPES


def node_config(
    *,
    machine_type: str,
    boot_disk_gb: int,
    account_email: pulumi.Input[str],
    key_id: pulumi.Input[str],
    kubernetes_labels: Mapping[str, str],
    resource_labels: Mapping[str, str],
    taints: Sequence[container.NodePoolNodeConfigTaintArgs] = (),
    accelerators: Sequence[container.NodePoolNodeConfigGuestAcceleratorArgs] = (),
    reservation: container.NodePoolNodeConfigReservationAffinityArgs | None = None,
    spot: bool | None = None,
    flex_start: bool | None = None,
    max_run_duration: str | None = None,
) -> container.NodePoolNodeConfigArgs:
    """Describe a node: Google's own image, disk under the cluster's key, and pods that see no rights of the node."""
    return container.NodePoolNodeConfigArgs(
        machine_type=machine_type,
        image_type="COS_CONTAINERD",
        disk_size_gb=boot_disk_gb,
        disk_type=limits.boot_disk_type_for(machine_type),
        boot_disk_kms_key=key_id,
        service_account=account_email,
        oauth_scopes=list(SCOPES),
        gvnic=container.NodePoolNodeConfigGvnicArgs(enabled=True),
        shielded_instance_config=container.NodePoolNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
        workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        metadata={"disable-legacy-endpoints": "true"},
        labels=kubernetes_labels,
        resource_labels=resource_labels,
        taints=list(taints) or None,
        guest_accelerators=list(accelerators) or None,
        reservation_affinity=reservation,
        spot=spot,
        flex_start=flex_start,
        max_run_duration=max_run_duration,
    )
