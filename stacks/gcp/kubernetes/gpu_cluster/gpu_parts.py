"""Nodes whose GPUs several pods share: by slices of MIG, in turns, or by NVIDIA's MPS; pools of GKE do all three."""

from dataclasses import dataclass
from typing import Final

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType

# GKE's names of the ways in which pods share whole GPUs.
STRATEGIES: Final = {"time-slicing": "TIME_SHARING", "mps": "MPS"}
# Google Kubernetes Engine, "Run multi-instance GPUs": sizes by the model of the GPU (from-memory).
PARTITIONS: Final = {
    "a2-highgpu-8g": ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"),
    "a2-megagpu-16g": ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"),
    "a2-ultragpu-8g": ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "a3-highgpu-8g": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "a3-megagpu-8g": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "a3-ultragpu-8g": ("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "7g.141gb"),
    "a4-highgpu-8g": ("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "7g.180gb"),
}
# "Time-share GPUs on GKE", "GPU MPS": most pods on one GPU.
MOST_CLIENTS: Final = 48
# Keeps pods that want whole GPUs away: the parts are the same resource to GKE.
LABEL: Final = "gpu-parts"


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuParts:
    """The nodes with parts, beside those with whole GPUs.

    Attributes:
        nodes: how many of `nodeCount`.
        partition: profile of MIG that each GPU is divided into; empty where GPUs are shared whole.
        strategy: GKE's name of the way, empty with a partition; clients: pods on one GPU.
    """

    nodes: int
    partition: str = ""
    strategy: str = ""
    clients: int = 0


def read_gpu_parts(values: Values, node_type: NodeType, node_count: int, *, fixed: bool) -> GpuParts | None:
    """Read the section `gpuParts`; None where it is empty.

    Args:
        values: configuration of the layer.
        node_type: of all nodes.
        node_count: of nodes with whole GPUs and with parts, together.
        fixed: whether nodes stay: neither their number follows the jobs, nor do they stop when idle.
    """
    section = values.optional_section("gpuParts")
    if section is None or not section.values:
        return None
    if node_type.is_tpu or not fixed:
        section.fail("nodes", "parts are for pools of GPUs that stay: no TPU, no flex-start, no stopWhenIdleMinutes")
    nodes = section.whole("nodes", 1, max(1, node_count))
    if section.has("partition"):
        sizes = PARTITIONS.get(node_type.instance_type, ())
        found = GpuParts(nodes=nodes, partition=section.text("partition"))
        if found.partition not in sizes:
            section.fail(
                "partition", f"GKE divides GPUs of {node_type.instance_type} into {', '.join(sizes) or 'no parts'}"
            )
    else:
        found = GpuParts(
            nodes=nodes,
            strategy=STRATEGIES[section.choice("way", tuple(STRATEGIES))],
            clients=section.whole("clients", 2, MOST_CLIENTS),
        )
    section.refuse_unknown()
    return found
