"""What GKE calls the accelerators of a machine type, and the networks that its pods see."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gpu_cluster.node_type import NodeType

GPU_RESOURCE: Final = "nvidia.com/gpu"
TPU_RESOURCE: Final = "google.com/tpu"
# Of the pods that report busy GPUs: bash, curl and Python, as pinned in public by whoever pulled it.
REPORTS_IMAGE: Final = (
    "gcr.io/google.com/cloudsdktool/google-cloud-cli:562.0.0-slim"
    "@sha256:0da2de42ae51cd6092b5caf7c96d25003659fd15548760eb4c50c2623e7bf9c2"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuModel:
    """A GPU as a node pool names it, and which driver release GKE puts onto the node: its default or its latest."""

    type: str
    driver: str = "DEFAULT"


# Google Kubernetes Engine, "About GPUs in GKE" (from-memory); H200 and B200 want the latest driver, as
# in GoogleCloudPlatform/cluster-toolkit's A3 Ultra and A4 blueprints @10470803.
GPU_MODELS: Final[Mapping[str, GpuModel]] = MappingProxyType(
    {
        "a2-highgpu-8g": GpuModel(type="nvidia-tesla-a100"),
        "a2-megagpu-16g": GpuModel(type="nvidia-tesla-a100"),
        "a2-ultragpu-8g": GpuModel(type="nvidia-a100-80gb"),
        "a3-highgpu-8g": GpuModel(type="nvidia-h100-80gb"),
        "a3-edgegpu-8g": GpuModel(type="nvidia-h100-80gb"),
        "a3-megagpu-8g": GpuModel(type="nvidia-h100-mega-80gb"),
        "a3-ultragpu-8g": GpuModel(type="nvidia-h200-141gb", driver="LATEST"),
        "a3-ultragpu-8g-nolssd": GpuModel(type="nvidia-h200-141gb", driver="LATEST"),
        "a4-highgpu-8g": GpuModel(type="nvidia-b200", driver="LATEST"),
        "g2-standard-96": GpuModel(type="nvidia-l4"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodNetwork:
    """A network besides the primary one: the name by which pods ask for it, and how its interfaces are handed on."""

    name: str
    device_mode: str


def pod_networks(node_type: NodeType) -> tuple[PodNetwork, ...]:
    """List the further networks in the order of the foundation's output `gpu_networks`.

    Ordinary interfaces come first, then the rails of the RDMA network; GKE's guides call them gvnic-1 and rdma-0 to
    rdma-7 on A3 Ultra and A4, and vpc1 to vpc8 on A3 High and Mega.
    """
    ordinary = "gvnic-" if node_type.rdma else "vpc"
    return (
        *(
            PodNetwork(name=f"{ordinary}{number}", device_mode="NetDevice")
            for number in range(1, node_type.gpu_networks + 1)
        ),
        *(
            PodNetwork(name=f"rdma-{rail}", device_mode="RDMA")
            for rail in range(node_type.rdma_subnets if node_type.rdma else 0)
        ),
    )


def taint_key(node_type: NodeType) -> str:
    """Name the taint that keeps other work off the nodes, which is also the resource that jobs ask for."""
    return TPU_RESOURCE if node_type.is_tpu else GPU_RESOURCE
